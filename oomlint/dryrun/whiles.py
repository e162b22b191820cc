"""While loops.

Their body is taken once, as that of a loop that trains is. One that takes a list apart (`while skips: x = join(x,
skips.pop())`) or counts with constants (`while side > 4: ...; side //= 2`) builds, and is taken round by round.
"""

from __future__ import annotations

import operator
from typing import TYPE_CHECKING

import libcst as cst

from oomlint.dryrun import imports, loops, operators
from oomlint.dryrun.flow import Flow
from oomlint.dryrun.trace import Loop
from oomlint.dryrun.values.base import Const, Sequence, Value, deref
from oomlint.syntax.blocks import nodes

if TYPE_CHECKING:
    from oomlint.dryrun.interpreter import Run


def execute_while(run: Run, node: cst.While) -> Flow:
    """A while loop: its body is taken once, or round by round where the text tells how many there are."""
    facts = loops.body_facts(run, node)
    count = None if facts.trains or facts.jumps else _rounds(run, node)
    if count is not None:
        flow = _unrolled(run, node, count)
        if flow is not None:
            return flow
    loops.soften_assigned(run, facts)
    test = run.evaluate(node.test)
    decided = operators.truth(test)
    if decided is False:
        return loops.orelse(run, node)
    once = loops.ends_in_its_first_round(node, facts)
    endless = decided is True and not once
    trip = Const(1) if once else None
    loop = Loop(run.place(node), "while", None, trip, endless=endless, bound=_bound(run, node.test))
    flow = loops.once(run, node, loop, facts, lambda: run.execute_suite(node.body))
    if decided is True and flow in (Flow.LEAVE, Flow.RAISE):
        return flow
    return loops.orelse(run, node)


def _unrolled(run: Run, node: cst.While, count: int) -> Flow | None:
    """The rounds one by one. None where the test says otherwise than the text did: more may follow, or none."""
    loop = Loop(run.place(node), "while", None, Const(count), True)
    with run.inside(run.context.inside(loop)), loops.rounds(run, count):
        for _ in range(count):
            if _holds(run, node) is not True:
                return None
            run.burn()
            flow = run.execute_suite(node.body)
            if flow is Flow.LEAVE or flow is Flow.RAISE:
                return flow
    return loops.orelse(run, node) if _holds(run, node) is False else None


def _holds(run: Run, node: cst.While) -> bool | None:
    """Whether the test holds now; that of a list, where all that is in it is known, whether there is something."""
    value = deref(run.evaluate(node.test))
    if isinstance(value, Sequence) and value.items is not None:
        return bool(value.items)
    return operators.truth(value)


def _rounds(run: Run, node: cst.While) -> int | None:
    """How many rounds the loop has, where its test and one statement of its body tell it beforehand."""
    count = _items_left(run, node)
    if count is None:
        count = _counted(run, node)
    if count is None or not 0 < count <= loops.MAX_UNROLL or run.fuel < 1000:
        return None
    return count if run.rounds * count <= loops.MAX_ROUNDS else None


def _items_left(run: Run, node: cst.While) -> int | None:
    """`while skips:`, `while len(skips) > 0:` with one `skips.pop()` in the body, and nothing that puts into it."""
    test = node.test
    match test:
        case cst.Comparison(
            left=cst.Call(func=cst.Name(value="len"), args=[cst.Arg(value=inner)]),
            comparisons=[cst.ComparisonTarget(operator=cst.GreaterThan(), comparator=cst.Integer(value="0"))],
        ):
            test = inner
    path = imports.dotted(test)
    if not path:
        return None
    taken = [use for part in _statements(node) for use in _calls_on(part, path)]
    inside = _calls_on(node.body, path)
    if len(taken) != 1 or len(inside) != 1 or not taken[0].startswith("pop"):
        return None
    held = deref(run.evaluate(test))
    return len(held.items) if isinstance(held, Sequence) and held.items is not None else None


def _statements(node: cst.While) -> list[cst.SimpleStatementLine]:
    """The statements of the body that every round comes to."""
    return [line for line in node.body.body if isinstance(line, cst.SimpleStatementLine)]


def _calls_on(node: cst.CSTNode, path: str) -> list[str]:
    """The methods called on what a path names."""
    return [
        part.func.attr.value
        for part in nodes(node)
        if isinstance(part, cst.Call)
        and isinstance(part.func, cst.Attribute)
        and imports.dotted(part.func.value) == path
    ]


_STEPS = {
    cst.AddAssign: operator.add,
    cst.SubtractAssign: operator.sub,
    cst.MultiplyAssign: operator.mul,
    cst.FloorDivideAssign: operator.floordiv,
    cst.DivideAssign: operator.truediv,
}
_TESTS = {
    cst.LessThan: operator.lt,
    cst.LessThanEqual: operator.le,
    cst.GreaterThan: operator.gt,
    cst.GreaterThanEqual: operator.ge,
    cst.NotEqual: operator.ne,
}


def _counted(run: Run, node: cst.While) -> int | None:
    """`while side > 4:` with one `side //= 2` that every round comes to, all of them constants."""
    match node.test:
        case cst.Comparison(
            left=cst.Name(value=name), comparisons=[cst.ComparisonTarget(operator=kind, comparator=bound)]
        ):
            pass
        case _:
            return None
    compare = _TESTS.get(type(kind))
    steps = [
        small
        for line in _statements(node)
        for small in line.body
        if isinstance(small, cst.AugAssign) and imports.dotted(small.target) == name
    ]
    others = [
        part
        for part in nodes(node.body)
        if isinstance(part, cst.AssignTarget | cst.AugAssign | cst.NamedExpr | cst.For)
        and name in loops.target_names(part.target)
    ]
    step = _STEPS.get(type(steps[0].operator)) if len(steps) == 1 and others == steps else None
    if compare is None or step is None:
        return None
    bound_in_body = loops.body_facts(run, node).assigned
    if {_path(steps[0].value), _path(bound)} & bound_in_body:
        return None
    at, by, end = (_number(run, part) for part in (node.test.left, steps[0].value, bound))
    if at is None or by is None or end is None:
        return None
    count = 0
    while compare(at, end):
        try:
            at, count = step(at, by), count + 1
        except ArithmeticError:  # `n //= 0`, and numbers that no float holds
            return None
        if count > loops.MAX_UNROLL:
            return None
    return count


def _path(node: cst.BaseExpression) -> str:
    """What it is a name of, or an entry of."""
    return imports.dotted(node.value if isinstance(node, cst.Subscript) else node)


def _number(run: Run, node: cst.BaseExpression) -> float | None:
    if not isinstance(node, cst.Name | cst.Attribute | cst.Subscript | cst.Integer):
        return None
    value = deref(run.evaluate(node))
    if not isinstance(value, Const) or value.soft or not isinstance(value.value, int | float):
        return None
    return value.value


def _bound(run: Run, test: cst.BaseExpression) -> Value | None:
    """The right side of a comparison, where it is a number, a name, an attribute or an entry of a table."""
    match test:
        case cst.Comparison(
            comparisons=[
                cst.ComparisonTarget(comparator=cst.Integer() | cst.Name() | cst.Attribute() as bound)
            ]
        ):
            return run.evaluate(bound)
        case cst.Comparison(
            comparisons=[
                cst.ComparisonTarget(
                    comparator=cst.Subscript(
                        value=cst.Name() | cst.Attribute(),
                        slice=[
                            cst.SubscriptElement(slice=cst.Index(value=cst.SimpleString() | cst.Integer()))
                        ],
                    ) as bound
                )
            ]
        ):
            return run.evaluate(bound)
    return None
