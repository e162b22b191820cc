"""An array is made one piece larger in every round of a loop.

## What it does

Reports `x = np.append(x, new)`, and the same with `np.concatenate`, `np.vstack`, `np.hstack`, `np.r_` and
`pd.concat`, in a loop, where the pieces are data (read from a file, or trained on in the end). Where the sizes are
known it speaks only above a quarter of the host's memory.

Silent for rolling windows (`x[1:]`, or cut back in the loop), lists of figures such as losses, batches in a
generator, and a few rounds that the script states.

## Why is this bad?

Each round copies everything so far into a new array: the time grows with the square of the rounds, and at every
moment two copies lie in memory. What fits once does not fit twice, and the heap is left in pieces.

## Example

```python
import glob

import numpy as np
from tensorflow import keras

x = np.empty((0, 128))
for path in glob.glob("parts/*.npy"):
    part = np.load(path)
    x = np.concatenate((x, part))
```

## Use instead

```python
import glob

import numpy as np
from tensorflow import keras

parts = []
for path in glob.glob("parts/*.npy"):
    parts.append(np.load(path))
x = np.concatenate(parts)
```

## Fix safety

Unsafe: the array is whole only after the loop. It is offered where the loop's body uses it nowhere else.

## References

- <https://numpy.org/doc/stable/reference/generated/numpy.append.html>
- <https://github.com/ermongroup/Wifi_Activity_Recognition/issues/7>
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from math import prod

import libcst as cst
from oomlint.rules.host_data.amounts import in_generator
from oomlint.rules.host_data.feeds import feeds

from oomlint.dryrun.catalog.arrays.making import DECODED, as_array, grown_by, loads_of
from oomlint.dryrun.imports import dotted
from oomlint.dryrun.queries.function_names import parameters
from oomlint.dryrun.queries.unit_tests import in_test
from oomlint.dryrun.trace import Body, Call, Loop, Trace
from oomlint.dryrun.values.arrays import Array
from oomlint.dryrun.values.base import Const, Sequence, Value, deref
from oomlint.dryrun.values.shapes import number
from oomlint.findings.evidence import over
from oomlint.findings.model import Evidence, Finding, Fix, Rule, Safety, Severity
from oomlint.project.settings import Settings
from oomlint.syntax.edits import InsertAfter, InsertBefore, Replace
from oomlint.syntax.place import Several
from oomlint.syntax.uses import uses

RULE = Rule(
    code="OOM203",
    name="array-grown-in-loop",
    severity=Severity.WARNING,
    fix=Safety.UNSAFE,
    literals=("append", "concatenate", "vstack", "hstack", "row_stack", "r_", "c_", "concat"),
)

_GROWING = (
    "numpy.append", "numpy.concatenate", "numpy.vstack", "numpy.hstack", "numpy.row_stack", "numpy.r_", "numpy.c_",
    "pandas.concat",
)  # fmt: skip
FEW_ROUNDS = 16


def check(trace: Trace, settings: Settings) -> Iterator[Finding]:
    """One finding per call that makes its own operand larger."""
    trained: set[int] = set()
    calls = {call.index: call for call in trace.calls(*_GROWING)}
    for feed, array, _ in feeds(trace):
        around = set(feed.context.loops())
        for index in grown_by(array):
            # Grown anew in each round of a loop that also trains: a batch.
            if index in calls and not around & set(calls[index].context.loops()[1:]):
                trained.add(index)
    seen: set[int] = set()
    for call in trace.calls(*_GROWING):
        loop = call.context.innermost(Loop)
        if loop is None or loop.kind == "comprehension" or id(call.node) in seen:
            continue
        pieces = _pieces(call)
        if pieces is None or in_generator(call.context) or in_test(call) or _renewed(trace, call, loop):
            continue
        loops = _growing(trace, call, loop)
        rounds = _rounds(loops)
        if all(one.unrolled for one in loops) and rounds is not None and rounds <= FEW_ROUNDS:
            continue
        if not _matters(pieces[1], rounds, call.index in trained, settings):
            continue
        if call.name == "pandas.concat" and call.index not in trained:
            continue  # a table of paths, labels or results
        seen.add(id(call.node))
        yield _finding(call, pieces[0], loops)


def _pieces(call: Call) -> tuple[cst.BaseExpression, Value] | None:
    """What is put to the array that the result is bound to: its expression and its value."""
    returned = _returned(call)
    target = returned[1] if returned is not None else _target(call)
    if target is None or not call.arguments:
        return None
    if call.name == "numpy.append":
        more = call.argument("values")
        if more is None or call.arguments[0].path != target:
            return None
        return (
            (more.place.node, deref(more.value)) if isinstance(more.place.node, cst.BaseExpression) else None
        )
    nodes, values = _two(call)
    if len(nodes) != 2 or len(values) != 2:
        return None
    own = [bool(uses(cst.Expr(node), target)) for node in nodes]
    if own == [True, True]:  # rows of its own are put to it: `(x, x[chosen])`
        own = [isinstance(node, cst.Name | cst.Attribute) for node in nodes]
    if own not in ([True, False], [False, True]):
        return None
    grown, new = (0, 1) if own[0] else (1, 0)
    return (nodes[new], deref(values[new])) if isinstance(nodes[grown], cst.Name | cst.Attribute) else None


def _two(call: Call) -> tuple[list[cst.BaseExpression], list[Value]]:
    """What is joined: `(x, new)` as the first argument, or in the brackets of `np.r_[x, new]`."""
    first = call.arguments[0]
    match call.node, first.place.node, deref(first.value):
        case cst.Subscript(slice=parts), _, _:
            indices = [part.slice.value for part in parts if isinstance(part.slice, cst.Index)]
            return indices, [argument.value for argument in call.arguments]
        case _, cst.Tuple(elements=elements) | cst.List(elements=elements), Sequence(items=list(items)):
            return [element.value for element in elements], items
    return [], []


def _target(call: Call) -> str | None:
    """The one name that the result is bound to, also as a side of `new if x is None else np.append(x, new)`."""
    if len(call.targets) == 1:
        return call.targets[0]
    returned = _returned(call)
    if returned is not None:
        return returned[0]
    line = call.statement.node if call.statement is not None else None
    if not isinstance(line, cst.SimpleStatementLine):
        return None
    match line.body[0]:
        case (
            cst.Assign(targets=[cst.AssignTarget(target=target)], value=cst.IfExp(body=body, orelse=orelse))
            | cst.AnnAssign(target=target, value=cst.IfExp(body=body, orelse=orelse))
        ):
            return (dotted(target) or None) if call.node in (body, orelse) else None
    return None


def _returned(call: Call) -> tuple[str, str] | None:
    """The name that a function's result is bound to, `rows = joined(rows, part)`, and the function's own for it."""
    body, loop = call.context.innermost(Body), call.context.innermost(Loop)
    if body is None or not body.called or loop is None or body not in call.context.since(loop):
        return None
    returns = call.statement.node if call.statement is not None else None
    line = body.statement.node if body.statement is not None else None
    match returns, line, body.site.node if body.site is not None else None:
        case (
            cst.SimpleStatementLine(body=[cst.Return(value=value)]),
            cst.SimpleStatementLine(
                body=[
                    cst.Assign(targets=[cst.AssignTarget(target=target)], value=bound)
                    | cst.AnnAssign(target=target, value=bound)
                ]
            ),
            cst.Call() as site,
        ) if value is call.node and bound is site:
            name, own = dotted(target), parameters(body)
        case _:
            return None
    for index, argument in enumerate(site.args):
        if name and dotted(argument.value) == name and not argument.star:
            if argument.keyword is not None:
                return name, argument.keyword.value
            method = body.function.owner is not None and "staticmethod" not in body.function.flags
            return (name, own[index + method]) if index + method < len(own) else None
    return (name, name) if name and name.partition(".")[0] not in own[1:] else None


def _renewed(trace: Trace, call: Call, loop: Loop) -> bool:
    """Whether the loop cuts the array back, or begins it anew in every round."""
    target, around = _target(call), {id(frame) for frame in call.context.frames()}
    bound = next((at for at in trace.assigns() if at.index > call.index and at.path == target), None)
    for assign in trace.assigns():
        if assign.path != target or loop not in assign.context.loops() or assign is bound:
            continue
        cut = trace.maker(assign.value)
        if cut is not None and cut.node is call.node:
            continue  # the same line in another round
        own = cut is not None and cut.name == "operator.getitem" and cut.path == target
        # Under no test but those that it grows under, too.
        always = all(id(frame) in around for frame in assign.context.since(loop))
        if own or (assign.context.innermost(Loop) is loop and always):
            return True
    return False


def _growing(trace: Trace, call: Call, loop: Loop) -> list[Loop]:
    """The loops of one function in all of whose rounds the array grows, from the innermost: what none begins anew."""
    loops, target = [loop], _target(call)
    frames = list(call.context.frames())
    begun = [assign.context.innermost(Loop) for assign in trace.assigns() if assign.path == target]
    for frame in frames[frames.index(loop) + 1 :]:
        if isinstance(frame, Body) or (
            isinstance(frame, Loop) and (frame in begun or _renewed(trace, call, frame))
        ):
            break
        if isinstance(frame, Loop):
            loops.append(frame)
    return loops


def _rounds(loops: list[Loop]) -> int | None:
    """How many rounds they have together, where each of them has a number."""
    trips = [number(loop.trip) for loop in loops]
    return prod(trip for trip in trips if trip is not None) if None not in trips else None


def _matters(piece: Value, rounds: int | None, trained: bool, settings: Settings) -> bool:
    """Whether what grows is data, and may grow large."""
    if rounds is not None:
        size = None
        if isinstance(piece, Array):  # NumPy's numbers have eight bytes at most, complex ones left aside
            size = piece.size or replace(piece, dtype="float64").size
        if size is not None:
            held = size.times(Const(rounds), "rounds").times(Const(2), "copies")
            if over(held, settings.budget.host) is None:
                return False
            if isinstance(piece, Array) and piece.dtype is not None:
                return True
        if rounds <= FEW_ROUNDS:
            return False
    if (as_array(piece) or Array()).shape == ():
        return False  # one number a round, of a label or a score
    # What a call that is not known makes of data (a model's outputs) carries its tags and need not be data.
    data = isinstance(piece, Array) and (bool(loads_of(piece)) or piece.tags >= DECODED)
    return trained or data


def _finding(call: Call, piece: cst.BaseExpression, loops: list[Loop]) -> Finding:
    library, _, function = call.name.partition(".")
    name = f"{'pd' if library == 'pandas' else 'np'}.{function}"
    count = _rounds(loops)
    rounds = f"{count:,} rounds" if count is not None else "every round"
    which = "loop" if len(loops) == 1 else "loops"
    outer = [Evidence("a loop around it", one.place) for one in loops[1:]]
    return RULE.finding(
        call.place,
        f"{name} copies all of {_target(call)} in {rounds} of the {which}, and holds two copies while it does",
        evidence=[Evidence("the loop", loops[0].place), *outer],
        help=f"append the pieces to a list, and concatenate them once after the {which}",
        fix=_fix(call, piece, loops[-1]),
    )


def _fix(call: Call, piece: cst.BaseExpression, loop: Loop) -> Fix | None:
    """A list beside the array, joined once; only where the body uses the array nowhere else."""
    name, statement = _target(call), call.statement
    node = loop.place.node
    if (
        name is None
        or not call.targets
        or "." in name
        or statement is None
        or not isinstance(node, cst.For | cst.While)
        or node.orelse is not None
    ):
        return None
    if len(uses(node, name)) != 2 or not isinstance(statement.node, cst.SimpleStatementLine):
        return None
    parts = f"{name}_parts"
    joined = _joined(call, name, parts)
    assigned = statement.node.body[0]
    if joined is None or not isinstance(assigned, cst.Assign) or uses(call.source.module, parts):
        return None
    return Fix(
        "collect the pieces in a list and join them once",
        Safety.UNSAFE,
        (
            InsertBefore(loop.place, (f"{parts} = [{name}]",)),
            Replace(call.source.place(assigned), f"{parts}.append({call.source.code(piece)})"),
            InsertAfter(loop.place, (f"{name} = {joined}",)),
        ),
    )


def _joined(call: Call, name: str, parts: str) -> str | None:
    """The one call that joins the list afterwards, as the script spells NumPy."""
    node = call.node
    if not isinstance(node, cst.Call) or not _last(call, name):
        return None
    function, rest = (
        call.source.code(node.func),
        [call.source.code(arg).strip().rstrip(",") for arg in node.args[1:]],
    )
    if call.name == "numpy.append":
        axis = call.argument("axis")
        if axis is None or not isinstance(node.func, cst.Attribute) or isinstance(axis.place, Several):
            return None  # without an axis it flattens
        function = f"{call.source.code(node.func.value)}.concatenate"
        rest = [f"axis={call.source.code(axis.place.node)}"]
    return f"{function}({', '.join([parts, *rest])})"


def _last(call: Call, name: str) -> bool:
    """Whether the new piece is put behind the array: a list that pieces are put in front of joins otherwise."""
    first = call.arguments[0].place.node
    return not isinstance(first, cst.Tuple | cst.List) or bool(uses(cst.Expr(first.elements[0].value), name))
