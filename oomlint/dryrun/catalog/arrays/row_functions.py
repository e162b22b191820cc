"""Functions that pandas calls for every row: `table["path"].apply(read)`."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from oomlint.dryrun.catalog.arrays.making import DECODED
from oomlint.dryrun.catalog.registry import attribute, method
from oomlint.dryrun.trace import Iterate, Loop
from oomlint.dryrun.values.arrays import Array
from oomlint.dryrun.values.base import Sequence, Unknown, Value, deref, tags_of
from oomlint.dryrun.values.program import Function, Library, Method, Partial
from oomlint.dryrun.values.shapes import dimension_at

if TYPE_CHECKING:
    from oomlint.dryrun.interpreter import Run
    from oomlint.dryrun.trace import Call

_NAMES = ("apply", "map", "progress_apply")  # the last is tqdm's


@method(Array, *_NAMES, parameters="func axis")
def each_row(call: Call, run: Run) -> Value:
    """A column of what the function gives: a list, where that is decoded files."""
    table = call.receiver
    assert isinstance(table, Array)
    if table.library != "pandas":
        return Unknown(tags=table.tags)
    rows = call.const("axis") in (1, "columns") or table.rank == 1
    return (_decoded(call, run, table) if rows else None) or replace(table, dtype=None)


@method(Method, *_NAMES, parameters="func")
def each_of_attribute(call: Call, run: Run) -> Value:
    """The same of `table.path`, a column that is spelled as an attribute."""
    owner = deref(call.receiver.receiver) if isinstance(call.receiver, Method) else None
    if not isinstance(owner, Array) or owner.library != "pandas":
        return Unknown()
    return _decoded(call, run, owner) or Unknown()


def _decoded(call: Call, run: Run, table: Array) -> Sequence | None:
    function = deref(call.arguments[0].value) if call.arguments else None
    if not isinstance(function, Function | Library | Method | Partial):
        return None
    count = dimension_at(table.shape, 0)
    loop = Loop(call.place, "comprehension", table, count)
    run.trace.add(Iterate(table, loop, run.context))
    with run.inside(run.context.inside(loop)):
        element = run.call(function, [Unknown()], call)
    if not tags_of(deref(element)) >= DECODED:
        return None
    return Sequence("list", element=element, count=count, context=run.context, loop=loop)


@attribute(Sequence, "values")
def values(value: Value, run: Run) -> Value:
    """What a column of pandas holds."""
    return value


@method(Sequence, "to_numpy", "tolist", "to_list")
def as_list(call: Call, run: Run) -> Value:
    """The same, as NumPy's array of objects or as a list."""
    assert call.receiver is not None
    return call.receiver
