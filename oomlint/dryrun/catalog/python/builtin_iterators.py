"""Builtins that pair, map and filter: `zip`, `map`, `filter`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from oomlint.dryrun.catalog.arrays.making import tags_of_all
from oomlint.dryrun.catalog.python.builtin_functions import items_of, one_of, positional
from oomlint.dryrun.catalog.registry import function
from oomlint.dryrun.trace import Argument, Iterate, Loop
from oomlint.dryrun.values.base import Sequence, Value, deref, tags_of
from oomlint.dryrun.values.data import Dataset

if TYPE_CHECKING:
    from oomlint.dryrun.interpreter import Run
    from oomlint.dryrun.trace import Call


def _columns(values: list[Value]) -> Sequence:
    """`zip(*rows)`: where the rows are tuples of known length, one tuple for each place in them."""
    rows = deref(values[0]) if len(values) == 1 else None
    row = deref(rows.any) if isinstance(rows, Sequence) else None
    if not (isinstance(rows, Sequence) and isinstance(row, Sequence) and row.kind == "tuple" and row.items):
        return Sequence("generator", tags=tags_of_all(*values))
    columns: list[Value] = [
        Sequence("tuple", element=item, count=rows.length, context=rows.context, parts=(rows,))
        for item in row.items
    ]
    return Sequence("generator", items=columns, tags=tags_of_all(*values))


def _given(argument: Argument) -> Value:
    return deref(argument.value)


@function("builtins.zip")
def zip_(call: Call, run: Run) -> Value:
    """Items side by side, as many as the shortest has."""
    values = positional(call)
    if any(argument.star for argument in call.arguments):
        if any(
            isinstance(value, Dataset) or "tf.data" in tags_of(value) for value in map(_given, call.arguments)
        ):
            run.record(call)  # `zip(*dataset)` takes every element first
        return _columns([deref(argument.value) for argument in call.arguments])
    columns = [items_of(run, value) for value in values]
    exact = [column.items for column in columns]
    if columns and all(items is not None for items in exact):
        rows = zip(*(items for items in exact if items is not None))
        return Sequence("generator", items=[Sequence("tuple", items=list(row)) for row in rows])
    ones = [one_of(column, value) for column, value in zip(columns, values)]
    counts = [column.count for column in columns]
    known = [count for count in counts if count is not None]
    count = min(known, key=lambda item: int(item.value)) if known and len(known) == len(counts) else None
    return Sequence(
        "generator", element=Sequence("tuple", items=ones), count=count, tags=tags_of_all(*values)
    )


@function("builtins.map")
def map_(call: Call, run: Run) -> Value:
    """A function over the items of iterables."""
    values = positional(call)
    if len(values) < 2:
        return Sequence("generator")
    mapped, iterables = values[0], values[1:]
    columns = [items_of(run, value) for value in iterables]
    first = columns[0]
    loop = Loop(call.place, "comprehension", iterables[0], first.count)
    run.trace.add(Iterate(iterables[0], loop, run.context))
    with run.inside(run.context.inside(loop)):
        if len(columns) == 1 and first.items is not None and len(first.items) <= 64:
            return Sequence("generator", items=[run.call(mapped, [item], call) for item in first.items])
        ones = [one_of(column, value) for column, value in zip(columns, iterables)]
        element = run.call(mapped, ones, call)
    return Sequence("generator", element=element, count=first.count, tags=tags_of(element), loop=loop)


@function("builtins.filter", parameters="function iterable")
def filter_(call: Call, run: Run) -> Value:
    """Some of the items; how many is not known."""
    value = call.value("iterable")
    inner = items_of(run, value)
    return Sequence("generator", element=one_of(inner, value), tags=tags_of_all(value))
