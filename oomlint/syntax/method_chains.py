"""Moving a call within a pipeline: `x.map(f).shuffle(n)` becomes `x.shuffle(n).map(f)`.

Three ways of writing a pipeline can be edited: one chained expression, one statement per stage, and a
chain that a statement of its own follows. Anything else is left alone.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

import libcst as cst

from oomlint.syntax.edits import Edit, MoveBefore, RemoveStatement, Replace
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


def _text(place: Place, node: cst.CSTNode) -> str:
    if isinstance(node, cst.Call):
        node = node.with_changes(lpar=(), rpar=())
    return place.source.code(node)


def _with_method(node: cst.Call, donor: cst.Call) -> cst.Call:
    """The call at its place in the chain, with the name and arguments of another."""
    assert isinstance(node.func, cst.Attribute)
    assert isinstance(donor.func, cst.Attribute)
    return node.with_changes(
        func=node.func.with_changes(attr=donor.func.attr),
        args=donor.args,
        whitespace_after_func=donor.whitespace_after_func,
        whitespace_before_args=donor.whitespace_before_args,
    )


def _within_a_chain(moving: Stage, over: Sequence[Stage]) -> tuple[Edit, ...] | None:
    stages = [*over, moving]
    calls = [stage.call.node for stage in stages]
    if not _chained(stages):
        return None
    donors = [calls[-1], *calls[:-1]]
    lowest = calls[0]
    assert isinstance(lowest, cst.Call)
    value = _below(lowest)
    for node, donor in zip(calls, donors, strict=True):
        assert isinstance(node, cst.Call)
        assert isinstance(donor, cst.Call)
        assert isinstance(node.func, cst.Attribute)
        fresh = _with_method(node, donor)
        assert isinstance(fresh.func, cst.Attribute)
        value = fresh.with_changes(func=fresh.func.with_changes(value=value))
    assert value is not None
    return (Replace(moving.call, _text(moving.call, value)),)


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
    lowest, moved = over[0].call.node, moving.call.node
    assert isinstance(lowest, cst.Call)
    assert isinstance(moved, cst.Call)
    value_below = _below(lowest)
    if (
        value_below is None
        or not isinstance(lowest.func, cst.Attribute)
        or not isinstance(moved.func, cst.Attribute)
    ):
        return None
    inserted = moved.with_changes(
        func=lowest.func.with_changes(value=value_below, attr=moved.func.attr), lpar=(), rpar=()
    )
    return (
        Replace(Place(moving.call.source, value_below), _text(moving.call, inserted)),
        RemoveStatement(moving.statement),
    )
