"""Replay memories that are arrays: one method writes a row for each transition, another draws rows."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from oomlint.dryrun.catalog.python.records import Record
from oomlint.dryrun.queries.unit_tests import in_test
from oomlint.dryrun.sizes import Size
from oomlint.dryrun.trace import Body, Call, Loop, Trace
from oomlint.dryrun.values.arrays import Array
from oomlint.dryrun.values.base import Mapping, Sequence, Slice, Unknown, Value, deref
from oomlint.dryrun.values.program import Instance
from oomlint.dryrun.values.shapes import dimension_at


@dataclass(frozen=True, slots=True)
class Rows:
    """One array of a memory, and its bytes when it is full."""

    array: Array
    size: Size


def row_memories(trace: Trace) -> Iterator[list[Rows]]:
    """The arrays of each object that keeps transitions in their rows."""
    filled, drawn = _written(trace), _drawn(trace)
    together: dict[int, list[Rows]] = {}
    for assign in trace.assigns() if filled and drawn else ():
        array = deref(assign.value)
        if not isinstance(array, Array) or array.origin is None or not isinstance(assign.target, Instance):
            continue
        put = filled.get(id(array.origin))
        if put is None or id(array.origin) not in drawn:
            continue
        size = _held(trace, array, put)
        if size is not None:
            together.setdefault(id(assign.target), []).append(Rows(array, size))
    yield from together.values()


def arrays_of(trace: Trace, put: Call, value: Value) -> list[Array]:
    """The arrays of one transition; one that is the next transition's first (`state = next_state`) is that one's."""
    arrays = {
        id(leaf): leaf
        for leaf in _leaves(value)
        if isinstance(leaf, Array) and leaf.size is not None and leaf.library in ("numpy", "tensor")
    }
    own = [array for array in arrays.values() if not _carried_on(trace, put, array)]
    return own or list(arrays.values())[:1]


def _carried_on(trace: Trace, put: Call, array: Array) -> bool:
    """Whether the array gets another name after it was put in."""
    return any(item.index > put.index and item.value is array for item in trace.assigns())


def _leaves(value: Value, depth: int = 0) -> Iterator[Value]:
    """What a transition holds, tuples and dictionaries taken apart."""
    value = deref(value)
    match value:
        case Sequence(items=list(items)) if depth < 4:
            for item in items[:16]:
                yield from _leaves(item, depth + 1)
        case Mapping(entries=entries) | Record(attributes=entries) if depth < 4:
            for item in entries.values():
                yield from _leaves(item, depth + 1)
        case _:
            yield value


def _held(trace: Trace, array: Array, put: tuple[Call, Value]) -> Size | None:
    """The bytes of the array; of one of objects, those that its rows hold."""
    if array.dtype != "object":
        return array.size
    rows = dimension_at(array.shape, 0)
    one = sum(part.size.bytes for part in arrays_of(trace, put[0], put[1]) if part.size is not None)
    return None if rows is None or not one or array.rank != 1 else Size(one * rows.value, True, ())


def _written(trace: Trace) -> dict[int, tuple[Call, Value]]:
    """Origins of arrays one row of which is written in another function than the one that made them."""
    found: dict[int, tuple[Call, Value]] = {}
    makers = {
        id(call.node): call for call in trace.calls("numpy.zeros", "numpy.empty", "numpy.ones", "numpy.full")
    }
    for call in trace.calls("operator.setitem"):
        array, key, value = (deref(argument.value) for argument in call.arguments[:3])
        origin = array.origin if isinstance(array, Array) else None
        made = makers.get(id(origin.place.node)) if origin is not None and origin.place is not None else None
        if origin is None or made is None or isinstance(key, Slice) or in_test(call):
            continue
        keys = key.items if isinstance(key, Sequence) and key.kind == "tuple" and key.items else [key]
        if isinstance(deref(keys[0]), Slice) or call.context.function() is made.context.function():
            continue
        if not _in_own_loop(call):
            found[id(origin)] = call, value
    return found


def _in_own_loop(call: Call) -> bool:
    """Whether its function loops around the call: a loop over files fills a data set, no memory."""
    for frame in call.context.frames():
        if isinstance(frame, Loop | Body):
            return isinstance(frame, Loop)
    return False


def _drawn(trace: Trace) -> set[int]:
    """Origins of arrays of which a list of rows is taken."""
    found: set[int] = set()
    for call in trace.calls("operator.getitem"):
        array = deref(call.receiver) if call.receiver is not None else None
        key = deref(call.arguments[1].value)
        if isinstance(array, Array) and array.origin is not None:
            if isinstance(key, Array | Unknown) or (isinstance(key, Sequence) and key.kind != "tuple"):
                found.add(id(array.origin))
    return found
