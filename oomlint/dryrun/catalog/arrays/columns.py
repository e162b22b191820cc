"""Columns of a table that are spelled as attributes: `table.path`, its parts, and what it is turned into."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from oomlint.dryrun.catalog.arrays.making import without_loads
from oomlint.dryrun.catalog.arrays.tables import head, table_item
from oomlint.dryrun.catalog.registry import Iteration, attribute, item, iteration, method
from oomlint.dryrun.values.arrays import Array
from oomlint.dryrun.values.base import Unknown, Value, deref, tags_of
from oomlint.dryrun.values.program import Method
from oomlint.dryrun.values.shapes import dimension_at

if TYPE_CHECKING:
    from oomlint.dryrun.interpreter import Run
    from oomlint.dryrun.trace import Call


def _column(value: Value | None) -> Array | None:
    """The column, where it is one: what a table calls neither a method nor an attribute that the catalog knows."""
    if not isinstance(value, Method) or value.function is not None:
        return None
    owner = deref(value.receiver)
    if not isinstance(owner, Array) or owner.library != "pandas":
        return None
    rows = dimension_at(owner.shape, 0)
    return replace(owner, shape=(rows,), dtype=None, tags=without_loads(owner.tags))


@iteration(Method)
def column_by_attribute(value: Value, run: Run) -> Iteration:
    """A loop over `table.name`."""
    column = _column(value)
    return (
        Iteration() if column is None else Iteration(element=Unknown(), count=dimension_at(column.shape, 0))
    )


@item(Method)
def part_of_column(value: Value, key: Value, call: Call, run: Run) -> Value:
    """`table.name[:1000]`."""
    column = _column(value)
    return Unknown(tags=tags_of(value)) if column is None else table_item(column, key, call, run)


@attribute(Method, "values")
def array_of_column(value: Value, run: Run) -> Value:
    """`table.name.values`, the array behind it."""
    assert isinstance(value, Method)
    column = _column(value)
    return Method(value, "values") if column is None else replace(column, library="numpy")


@method(Method, "tolist", "to_list", "to_numpy")
def column_out_of_pandas(call: Call, run: Run) -> Value:
    """`table.name.tolist()`: as many rows."""
    column = _column(call.receiver)
    return Unknown() if column is None else replace(column, library="numpy")


@method(Method, "head", "tail", "sample", parameters="n frac")
def rows_of_column(call: Call, run: Run) -> Value:
    """`table.name.head(1000)`."""
    column = _column(call.receiver)
    if column is None:
        return Unknown()
    call.receiver = column
    return head(call, run)
