"""Moving a call within a pipeline: `x.map(f).shuffle(n)` becomes `x.shuffle(n).map(f)`.

Three ways of writing a pipeline can be edited: one chained expression, one statement per stage, and a
chain that a statement of its own follows. Anything else is left alone.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

import libcst as cst

from oomlint.syntax.edits import CallOn, Edit, MoveBefore, MoveInChain, RemoveStatement
from oomlint.syntax.place import Place


@dataclass(frozen=True, slots=True)
class Stage:
    """One call of a pipeline, and the statement it stands in."""

    call: Place
    statement: Place | None


def before(moving: Stage, over: Sequence[Stage]) -> tuple[Edit, ...] | None:
    """The edits that put `moving` in front of the stages `over`, which directly precede it; None if there are none."""
    if not over or any(stage.call.source is not moving.call.source for stage in over):
        return None
    return _within_a_chain(moving, over) or _between_statements(moving, over) or _into_a_chain(moving, over)


def _method(place: Place) -> tuple[cst.Call, cst.Attribute] | None:
    node = place.node
    if isinstance(node, cst.Call) and isinstance(node.func, cst.Attribute):
        return node, node.func
    return None


def _below(node: cst.Call) -> cst.BaseExpression | None:
    return node.func.value if isinstance(node.func, cst.Attribute) else None


def _chained(stages: Sequence[Stage]) -> bool:
    """Whether each stage is called directly on the one before."""
    pairs = pairwise(stages)
    return all(
        isinstance(two.call.node, cst.Call) and _below(two.call.node) is one.call.node for one, two in pairs
    )


def _within_a_chain(moving: Stage, over: Sequence[Stage]) -> tuple[Edit, ...] | None:
    calls = [stage.call.node for stage in over]
    if not _chained([*over, moving]) or _method(over[0].call) is None:
        return None
    return (MoveInChain(moving.call, tuple(call for call in calls if isinstance(call, cst.Call))),)


def _rebinds(stage: Stage) -> str | None:
    """The name of `ds` in a statement `ds = ds.method(...)`; None for any other statement."""
    own = stage.statement.node if stage.statement is not None else None
    if isinstance(own, cst.SimpleStatementLine) and len(own.body) == 1:
        own = own.body[0]
    found = _method(stage.call)
    match own:
        case cst.Assign(targets=[cst.AssignTarget(target=cst.Name(value=name))], value=value):
            if found is None or value is not stage.call.node:
                return None
            receiver = found[1].value
            return name if isinstance(receiver, cst.Name) and receiver.value == name else None
    return None


def _between_statements(moving: Stage, over: Sequence[Stage]) -> tuple[Edit, ...] | None:
    name = _rebinds(moving)
    if name is None or any(_rebinds(stage) != name for stage in over):
        return None
    first, own = over[0].statement, moving.statement
    if first is None or own is None:
        return None
    return (MoveBefore(own, own, first),)


def _into_a_chain(moving: Stage, over: Sequence[Stage]) -> tuple[Edit, ...] | None:
    """`ds = source(...).map(f)` and then `ds = ds.shuffle(n)`: the call moves into the first statement."""
    name, last = _rebinds(moving), over[-1]
    if name is None or not _chained(over) or last.statement is None or moving.statement is None:
        return None
    own = last.statement.node
    if isinstance(own, cst.SimpleStatementLine) and len(own.body) == 1:
        own = own.body[0]
    match own:
        case cst.Assign(targets=[cst.AssignTarget(target=cst.Name(value=bound))], value=value):
            if bound != name or value is not last.call.node:
                return None
        case _:
            return None
    lowest = over[0].call.node
    below = _below(lowest) if isinstance(lowest, cst.Call) else None
    if below is None:
        return None
    moved = moving.call.node
    assert isinstance(moved, cst.Call)
    return (CallOn(Place(moving.call.source, below), moved), RemoveStatement(moving.statement))
