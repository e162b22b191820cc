"""Arrays that are made empty and filled by a loop over files, one row each, to be trained on."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from oomlint.rules.host_data.amounts import in_generator
from oomlint.rules.host_data.feeds import feeds

from oomlint.dryrun.catalog.arrays.making import blanks_of
from oomlint.dryrun.queries.few import are_few
from oomlint.dryrun.queries.unit_tests import in_test
from oomlint.dryrun.trace import Call, Loop, Trace
from oomlint.dryrun.values.arrays import Array
from oomlint.dryrun.values.base import Sequence, Slice, Value, deref


@dataclass(frozen=True, slots=True)
class Filling:
    """The assignment of a row, the array, the call that made it, and what training gets it by."""

    call: Call
    array: Array
    made: Call
    value: Value
    feed: Call | None


def filled_by_files(trace: Trace) -> Iterator[Filling]:
    """Assignments of rows to arrays that then are the input of a training call, whole."""
    fed: dict[int, Call] = {}
    for feed, given, is_input in feeds(trace):
        for index in blanks_of(given) if is_input else ():
            fed.setdefault(index, feed)
    for call in trace.calls("operator.setitem"):
        array, key, value = (deref(argument.value) for argument in call.arguments[:3])
        made = _made(trace, array)
        if made is None or not isinstance(array, Array) or made.index not in fed or in_test(call):
            continue
        keys = key.items if isinstance(key, Sequence) and key.kind == "tuple" and key.items else [key]
        loop = call.context.innermost(Loop)
        if isinstance(deref(keys[0]), Slice) or loop is None or loop in made.context.loops():
            continue
        if are_few(call.context.loops()):
            continue
        if set(made.context.loops()) & set(fed[made.index].context.loops()):
            continue  # one part of the data at a time
        if not in_generator(call.context):
            yield Filling(call, array, made, value, fed[made.index])


def _made(trace: Trace, array: Value) -> Call | None:
    """The call that made the array, empty."""
    if not isinstance(array, Array):
        return None
    return next(iter(trace.numbered(sorted(blanks_of(array)))), None)
