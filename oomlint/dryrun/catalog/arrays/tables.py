"""pandas and HDF5: tables and data sets in files, and what taking parts of them reads."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, ClassVar

from oomlint.dryrun.catalog.arrays.making import (
    as_array,
    dense,
    grown,
    loaded,
    step,
    tags_of_all,
    without_loads,
)
from oomlint.dryrun.catalog.arrays.operators import FEW_ROWS, LIBRARY_ITEMS, LIBRARY_OPERATORS
from oomlint.dryrun.catalog.python.builtin_functions import items_of
from oomlint.dryrun.catalog.registry import attribute, function, item, method
from oomlint.dryrun.trace import Call
from oomlint.dryrun.values.arrays import Array, Dim
from oomlint.dryrun.values.base import Const, Sequence, Slice, Unknown, Value, deref, tags_of
from oomlint.dryrun.values.dtypes import dtype_of
from oomlint.dryrun.values.indexing import index, keys_of
from oomlint.dryrun.values.shapes import dim_of, dimension_at, number, shape_of

if TYPE_CHECKING:
    from oomlint.dryrun.interpreter import Run


def table(call: Call, rows: Dim = None, tags: frozenset[str] = frozenset()) -> Array:
    """A table: how many columns it has is not known."""
    return Array("pandas", (rows, None), None, step(call, call.name.replace("pandas.", "pd.")), tags)


# --- pandas -------------------------------------------------------------------------------------------


@function(
    *(f"pandas.{name}" for name in ("read_csv", "read_table", "read_parquet", "read_feather", "read_pickle",
                                    "read_hdf", "read_json", "read_sql")),
    parameters="filepath",
)  # fmt: skip
def read(call: Call, run: Run) -> Value:
    """A table read whole, its first rows, or piece by piece."""
    chunks = call.argument("chunksize")
    if (chunks is not None and chunks.const() is not None) or call.const("iterator", False) is True:
        return Sequence("generator", element=table(call, dim_of(call.value("chunksize"))))
    limit = call.argument("nrows")
    whole = limit is None or (isinstance(deref(limit.value), Const) and limit.const() is None)
    return table(call, dim_of(call.value("nrows")), loaded(call) if whole else frozenset())


@function("pandas.read_excel")
def read_excel(call: Call, run: Run) -> Value:
    """A sheet has a million rows at most."""
    return table(call)


@function("pandas.get_dummies", parameters="data prefix prefix_sep dummy_na columns sparse")
def get_dummies(call: Call, run: Run) -> Value:
    """One column per value that a column has."""
    data = as_array(call.value("data"))
    rows = dimension_at(data.shape, 0) if data is not None else None
    tags = tags_of_all(call.value("data"))
    return table(call, rows, tags if call.const("sparse", False) is True else tags | dense(call))


@function("pandas.DataFrame", "pandas.Series", parameters="data")
def frame(call: Call, run: Run) -> Value:
    """A table of other data."""
    data = call.value("data")
    array = as_array(data)
    rows = dimension_at(array.shape, 0) if array is not None else None
    if call.name.endswith("Series"):
        return Array(
            "pandas", (rows,), array.dtype if array is not None else None, step(call), tags_of_all(data)
        )
    return table(call, rows, tags_of_all(data))


@function("pandas.concat", "pandas.merge", parameters="objs right")
def concat(call: Call, run: Run) -> Value:
    """Tables together."""
    parts = [call.value("objs"), call.value("right")]
    tags = tags_of_all(*parts)
    for part in parts:
        inner = items_of(run, part) if isinstance(part, Sequence) else None
        if inner is not None:
            tags = tags | tags_of_all(*(inner.items or []), inner.element)
    return table(call, None, tags | grown(call))


def table_item(value: Value, key: Value, call: Call, run: Run) -> Value:
    """`table["name"]` is a column, which is no data set; rows and several columns are still one."""
    assert isinstance(value, Array)
    keys = keys_of(key)
    last = keys[-1] if keys else key
    rows = dimension_at(value.shape, 0)
    single = isinstance(last, Const) and isinstance(last.value, str | int) and value.rank == 2
    if isinstance(keys[0], Slice):
        part = index((rows,), keys[0])
        cut = part[0] if part else None
        rows = _first_rows(keys[0]) if rows is None and cut is None else cut
    elif len(keys) == 2 or isinstance(keys[0], Array):
        rows = None
    if single:
        return replace(value, shape=(rows,), dtype=None, tags=without_loads(value.tags))
    if value.rank == 1:
        return replace(value, shape=(rows,))
    names = last.items if isinstance(last, Sequence) else None  # `table[["a", "b"]]`
    chosen = None if names is None else Const(len(names))
    return replace(value, shape=(rows, chosen), dtype=None)


def _first_rows(key: Slice) -> Dim:
    """The rows of `table[:n]`: n, as with `head(n)`, which a shorter table does not reach."""
    start, stop = deref(key.start), deref(key.stop)
    from_the_top = isinstance(start, Const) and start.value in (None, 0)
    return stop if from_the_top and isinstance(stop, Const) and (number(stop) or 0) > 0 else None


def table_operator(call: Call, run: Run) -> Value:
    """Arithmetic on a table or column keeps its rows."""
    values = [deref(argument.value) for argument in call.arguments[:2]]
    array = next(value for value in values if isinstance(value, Array) and value.library == "pandas")
    compared = call.name.rpartition(".")[2] in ("eq", "ne", "lt", "le", "gt", "ge")
    return replace(array, dtype="bool" if compared else None, tags=tags_of_all(*values))


LIBRARY_ITEMS["pandas"] = table_item
LIBRARY_OPERATORS["pandas"] = table_operator


@attribute(Array, "values")
def values(value: Value, run: Run) -> Value:
    """The array behind a table."""
    assert isinstance(value, Array)
    return replace(value, library="numpy") if value.library == "pandas" else value


@attribute(Array, "iloc", "loc", "at", "iat", "str", "dt", "cat")
def accessor(value: Value, run: Run) -> Value:
    """The table itself, to be subscripted another way."""
    return value


@method(Array, "to_numpy", "to_list", parameters="dtype")
def to_numpy(call: Call, run: Run) -> Value:
    """The array behind a table."""
    value = call.receiver
    assert isinstance(value, Array)
    dtype = call.argument("dtype")
    return replace(value, library="numpy", dtype=value.dtype if dtype is None else dtype_of(dtype.value))


@method(Array, "pop", parameters="item")
def pop(call: Call, run: Run) -> Value:
    """A column taken out."""
    value = call.receiver
    assert isinstance(value, Array)
    return replace(value, shape=(dimension_at(value.shape, 0),), tags=without_loads(value.tags))


@method(Array, "head", "tail", "sample", parameters="n frac")
def head(call: Call, run: Run) -> Value:
    """Some of the rows: five unless the call says otherwise."""
    value = call.receiver
    assert isinstance(value, Array)
    rows = dim_of(call.value("n")) if call.argument("n") is not None else Const(5)
    if call.argument("frac") is not None or (rows is None and call.argument("n") is not None):
        return replace(value, shape=(None, *(value.shape or (None,))[1:]))
    tags = without_loads(value.tags) if rows is not None and rows.value <= FEW_ROWS else value.tags
    return replace(value, shape=(rows, *(value.shape or (None,))[1:]), tags=tags)


_SAME_ROWS = (
    "drop", "fillna", "rename", "assign", "reset_index", "sort_values", "set_index", "replace", "join",
    "merge", "interpolate", "select_dtypes",
)  # fmt: skip


@method(Array, *_SAME_ROWS)
def same_rows(call: Call, run: Run) -> Value:
    """A table with other columns or values."""
    value = call.receiver
    assert isinstance(value, Array)
    if value.library != "pandas":
        return Unknown(tags=value.tags)
    return replace(value, dtype=None)


@method(Array, "dropna", "query", "drop_duplicates", "groupby")
def fewer_rows(call: Call, run: Run) -> Value:
    """A table with fewer rows."""
    value = call.receiver
    assert isinstance(value, Array)
    if value.library != "pandas" or call.name.endswith("groupby"):
        return Unknown()
    return replace(value, shape=(None, *(value.shape or (None,))[1:]))


# --- HDF5 and its like --------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class StoredGroup(Value):
    """An open file of stored arrays, or a group in it."""

    api: ClassVar[str] = "h5py.Group"


@function("h5py.File", "zarr.open", "zarr.open_group", "zarr.load")
def open_store(call: Call, run: Run) -> Value:
    """An open file; nothing is read yet."""
    return StoredGroup()


@item(StoredGroup)
def stored(value: Value, key: Value, call: Call, run: Run) -> Value:
    """A data set (or a group, whose items are data sets again)."""
    return Array("h5py", None, None, step(call, "the data set"))


@method(StoredGroup, "get")
def stored_get(call: Call, run: Run) -> Value:
    """A data set by name."""
    return Array("h5py", None, None, step(call, "the data set"))


@method(StoredGroup, "create_dataset", "require_dataset", parameters="name shape dtype data")
def create(call: Call, run: Run) -> Value:
    """A new data set on the disk."""
    shape, dtype = call.argument("shape"), call.argument("dtype")
    dims = None if shape is None else shape_of(shape.value)
    return Array("h5py", dims, None if dtype is None else dtype_of(dtype.value), step(call, "create_dataset"))


def stored_item(value: Value, key: Value, call: Call, run: Run) -> Value:
    """`data[name]` goes deeper; `data[:]` reads all of it; `data[a:b]` reads a part."""
    assert isinstance(value, Array)
    first = keys_of(key)[0] if keys_of(key) else None
    if isinstance(first, Const) and isinstance(first.value, str):
        return replace(value, shape=None, dtype=None)
    shape = index(value.shape, key) if keys_of(key) else value.shape
    tags = tags_of(value) | loaded(call) if _whole(first) else tags_of(value)
    return Array("numpy", shape, value.dtype, step(call, "reading the data set"), tags)


def _whole(key: Value | None) -> bool:
    """Whether a first key takes all rows: `[:]`, `[...]`, `[()]`, or very many."""
    match key:
        case None:
            return True
        case Slice(start=Const(value=None), stop=Const(value=None), step=Const(value=None)):
            return True
        case Slice(stop=stop):
            count = number(stop)
            return count is not None and count > FEW_ROWS
        case Const(value=value):
            return value is Ellipsis
    return False


LIBRARY_ITEMS["h5py"] = stored_item


@attribute(Array, "value")
def old_value(value: Value, run: Run) -> Value:
    """`data.value` of old h5py: reads all of it."""
    assert isinstance(value, Array)
    if value.library != "h5py" or value.origin is None or value.origin.place is None:
        return Unknown(tags=value.tags)
    call = run.record(Call("h5py.Dataset.value", value.origin.place, run.context, value))
    call.result = replace(value, library="numpy", tags=value.tags | loaded(call))
    return call.result


@function("keras.utils.HDF5Matrix", "keras.utils.io_utils.HDF5Matrix", "tensorflow_io.IODataset.from_hdf5")
def lazy(call: Call, run: Run) -> Value:
    """A reader that reads what is asked for."""
    return Array("h5py", None, None, step(call))
