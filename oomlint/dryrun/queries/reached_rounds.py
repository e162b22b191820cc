"""In how many rounds of a loop a statement of its body runs, where the text says so.

One fold of five is often all that is trained: `if fold != 0: continue`, `if fold not in [0, 1]: continue`, a `break`
at the end of the body.
"""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING

import libcst as cst

from oomlint.dryrun.imports import dotted
from oomlint.dryrun.loops import target_names
from oomlint.dryrun.queries.rounds import path_between
from oomlint.dryrun.values.base import Const, Mapping, Sequence, Value, deref
from oomlint.syntax.blocks import last_statement, nodes

if TYPE_CHECKING:
    from oomlint.dryrun.trace import Loop, Trace

_LEAVING = cst.Break | cst.Return | cst.Raise


def reached_rounds(trace: Trace, loop: Loop, node: cst.CSTNode) -> int | None:
    """The most rounds of a `for` loop that come to a node of its body; None where nothing in the text limits them."""
    body = loop.place.node
    path = path_between(body, node) if isinstance(body, cst.For) else []
    if not isinstance(body, cst.For) or not path:
        return None
    tests = _Tests(trace, *_counter(body))
    limits: list[int | None] = []
    for outer, inner in pairwise(path):
        if isinstance(outer, cst.If) and inner is outer.body:
            limits.append(tests.holds(outer.test))
        if isinstance(outer, cst.IndentedBlock):
            at = next(index for index, statement in enumerate(outer.body) if statement is inner)
            limits += [tests.left(statement) for statement in outer.body[:at]]
            if outer is body.body:
                after = outer.body[at + 1 :]
                limits += [tests.left(statement, after=True) for statement in after]
                last = last_statement(outer)
                # What goes on to the next round may come here before.
                if isinstance(last, _LEAVING) and not any(
                    isinstance(one, cst.Continue) for part in (inner, *after) for one in nodes(part)
                ):
                    limits.append(1)
    known = [limit for limit in limits if limit is not None]
    return max(0, min(known)) if known else None


def _counter(loop: cst.For) -> tuple[str | None, int]:
    """The name that counts the rounds, and with what it begins."""
    names = target_names(loop.target)
    match loop.iter:
        case cst.Call(func=cst.Name(value="enumerate"), args=[_]):
            return names[0] if names else None, 0
        case cst.Call(func=cst.Name(value="enumerate"), args=[_, cst.Arg(value=cst.Integer() as start)]):
            return names[0] if names else None, start.evaluated_value
        case cst.Call(func=cst.Name(value="range"), args=[_]):
            return names[0] if names else None, 0
        case cst.Call(func=cst.Name(value="range"), args=[cst.Arg(value=cst.Integer() as start), _]):
            return names[0] if names else None, start.evaluated_value
    return None, 0


class _Tests:
    """What tests of the counter say about the number of rounds."""

    def __init__(self, trace: Trace, counter: str | None, start: int) -> None:
        self._trace = trace
        self._counter = counter
        self._start = start

    def left(self, statement: cst.CSTNode, after: bool = False) -> int | None:
        """In how many rounds a statement such as `if fold > 2: continue` lets those behind it run.

        `after`: it stands behind, so that it counts only if it ends the loop.
        """
        if not isinstance(statement, cst.If) or statement.orelse is not None:
            return None
        last = last_statement(statement.body)
        ends = isinstance(last, _LEAVING)
        if after:
            return self._until(statement.test, 1) if ends else None
        if not ends and not isinstance(last, cst.Continue):
            return None
        fails = self._fails(statement.test)
        return fails if fails is not None or not ends else self._until(statement.test, 0)

    def holds(self, test: cst.BaseExpression) -> int | None:
        """In how many rounds a test is true."""
        match test:
            case cst.BooleanOperation(operator=cst.And(), left=left, right=right):
                return _least(self.holds(left), self.holds(right))
            case cst.UnaryOperation(operator=cst.Not(), expression=inner):
                return self._fails(inner)
        if self._is_one(test, cst.Equal):
            return 1
        match self._compared(test):
            case cst.In(), list(items):
                return len(items)
            case cst.LessThan(), int(bound):
                return bound - self._start
            case cst.LessThanEqual(), int(bound):
                return bound + 1 - self._start
        return None

    def _fails(self, test: cst.BaseExpression) -> int | None:
        """In how many rounds a test is false."""
        match test:
            case cst.BooleanOperation(operator=cst.Or(), left=left, right=right):
                return _least(self._fails(left), self._fails(right))
            case cst.UnaryOperation(operator=cst.Not(), expression=inner):
                return self.holds(inner)
        if self._is_one(test, cst.NotEqual):
            return 1
        match self._compared(test):
            case cst.NotIn(), list(items):
                return len(items)
            case cst.GreaterThan(), int(bound):
                return bound + 1 - self._start
            case cst.GreaterThanEqual(), int(bound):
                return bound - self._start
        return None

    def _until(self, test: cst.BaseExpression, own: int) -> int | None:
        """How many rounds there are until a test ends the loop; its own round counts or not."""
        match self._compared(test):
            case ((cst.Equal() | cst.GreaterThanEqual()), int(bound)):
                return bound - self._start + own
            case cst.GreaterThan(), int(bound):
                return bound + 1 - self._start + own
        return None

    def _is_one(self, test: cst.BaseExpression, kind: type[cst.BaseCompOp]) -> bool:
        """Whether the counter is compared with one number, whichever it is: `fold != args.fold`."""
        match test:
            case cst.Comparison(
                left=cst.Name(value=name), comparisons=[cst.ComparisonTarget(comparator=other)]
            ):
                one = isinstance(other, cst.Integer | cst.Name | cst.Attribute | cst.Subscript)
                return name == self._counter and isinstance(test.comparisons[0].operator, kind) and one
        return False

    def _compared(self, test: cst.BaseExpression) -> tuple[cst.BaseCompOp, int | list[object]] | None:
        """A comparison of the counter with a number, or with a list of them."""
        match test:
            case cst.Comparison(
                left=cst.Name(value=name),
                comparisons=[cst.ComparisonTarget(operator=operator, comparator=other)],
            ) if name == self._counter:
                known = self._known(other)
                return None if known is None else (operator, known)
        return None

    def _known(self, node: cst.BaseExpression) -> int | list[object] | None:
        """A number, or the items of a list, written there, bound to the name once, or in a dictionary of settings."""
        match node:
            case cst.Integer():
                return node.evaluated_value
            case cst.List(elements=elements) | cst.Tuple(elements=elements) | cst.Set(elements=elements):
                return list(elements)
            case cst.Subscript(
                value=whole, slice=[cst.SubscriptElement(slice=cst.Index(value=cst.SimpleString() as key))]
            ):
                found = [
                    value.entries.get(key.evaluated_value) if isinstance(value, Mapping) else None
                    for value in self._bound(whole)
                ]
            case _:
                found = self._bound(node)
        match [value if value is None else deref(value) for value in found]:
            case [Const(value=int(number), soft=False)]:
                return number
            case [Sequence(items=list(items))]:
                return list(items)
        return None

    def _bound(self, node: cst.BaseExpression) -> list[Value | None]:
        """What a name or attribute gets, each time."""
        path = dotted(node)
        names = (path, path.rpartition(".")[2]) if path else ()
        return [deref(assign.value) for assign in self._trace.assigns() if assign.path in names]


def _least(one: int | None, other: int | None) -> int | None:
    known = [value for value in (one, other) if value is not None]
    return min(known) if known else None
