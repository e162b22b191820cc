"""SciPy's sparse matrices, and what makes them dense. A tag names the event that did.

A sparse matrix has a shape but no dtype here, so that nothing takes rows times columns for its bytes; the
tag `sparse:float64` says what its numbers become.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from oomlint.dryrun.catalog.arrays.loading import Unpickled
from oomlint.dryrun.catalog.arrays.making import as_array, dense, step, tags_of_all
from oomlint.dryrun.catalog.arrays.operators import LIBRARY_ITEMS
from oomlint.dryrun.catalog.registry import attribute, duck, function, method
from oomlint.dryrun.trace import Call
from oomlint.dryrun.values.arrays import Array, Dim, Shape
from oomlint.dryrun.values.base import Const, Sequence, Unknown, Value, deref
from oomlint.dryrun.values.dtypes import dtype_of
from oomlint.dryrun.values.indexing import index
from oomlint.dryrun.values.shapes import add_dims, dim_of, dimension_at, shape_of

if TYPE_CHECKING:
    from oomlint.dryrun.interpreter import Run
    from oomlint.dryrun.values.base import Pending

LIBRARY = "scipy"
_OF = "sparse:"
_FORMATS = ("csr", "csc", "coo", "lil", "dok", "bsr", "dia")


def sparse(
    call: Call, shape: Shape | None, dtype: str | None = "float64", tags: frozenset[str] = frozenset()
) -> Array:
    """A sparse matrix that this call makes."""
    return Array(LIBRARY, shape, None, step(call), tags | ({f"{_OF}{dtype}"} if dtype else frozenset()))


def made_dense(call: Call, array: Array) -> Array:
    """All of its numbers, the zeros too."""
    kinds = {tag[len(_OF) :] for tag in array.tags if tag.startswith(_OF)}
    dtype = kinds.pop() if len(kinds) == 1 else None
    tags = frozenset(tag for tag in array.tags if not tag.startswith(_OF)) | dense(call)
    return Array("numpy", array.shape, dtype, step(call, call.name.rpartition(".")[2]), tags)


@function(
    *(f"scipy.sparse.{name}_{kind}" for name in _FORMATS for kind in ("matrix", "array")),
    parameters="arg1 shape dtype",
)
def matrix(call: Call, run: Run) -> Value:
    """Made of a shape, of an array, or of numbers and their places."""
    given, shape, dtype = call.value("arg1"), call.argument("shape"), call.argument("dtype")
    dims, kind = shape_of(shape.value) if shape is not None else None, None
    if shape is None and isinstance(given, Array):
        dims, kind = given.shape, given.dtype
    elif shape is None:
        whole = shape_of(given)
        dims = whole if whole is not None and len(whole) == 2 and None not in whole else None
        kind = "float64" if dims is not None else None  # of zeros only
    elif isinstance(given, Sequence) and given.items:
        numbers = as_array(given.items[0])
        kind = numbers.dtype if numbers is not None else None
    kind = dtype_of(dtype.value) if dtype is not None else kind
    return sparse(call, dims, kind, tags_of_all(given))


@function("scipy.sparse.load_npz", "scipy.io.mmread")
def stored(call: Call, run: Run) -> Value:
    """A matrix from a file."""
    return sparse(call, None, None)


@function("scipy.sparse.random", "scipy.sparse.rand", parameters="m n density format dtype")
def drawn(call: Call, run: Run) -> Value:
    """Random numbers at random places."""
    return sparse(call, (dim_of(call.value("m")), dim_of(call.value("n"))))


@function("scipy.sparse.hstack", "scipy.sparse.vstack", parameters="blocks format dtype")
def joined(call: Call, run: Run) -> Value:
    """Several matrices, side by side or one above the other."""
    blocks = call.value("blocks")
    parts = [deref(item) for item in blocks.items or ()] if isinstance(blocks, Sequence) else []
    arrays = [part for part in parts if isinstance(part, Array)]
    if not arrays or len(arrays) != len(parts):
        return sparse(call, None, None)
    wide = call.name.endswith("hstack")
    along = add_dims(dimension_at(array.shape, int(wide)) for array in arrays)
    across: list[Dim] = [dimension_at(array.shape, int(not wide)) for array in arrays]
    other = next((dim for dim in across if dim is not None), None)
    tags = tags_of_all(*arrays)
    return Array(LIBRARY, (other, along) if wide else (along, other), None, step(call), tags)


@method(Array, "toarray", "todense")
def toarray(call: Call, run: Run) -> Value:
    """A dense array of a sparse matrix."""
    array = deref(call.receiver) if call.receiver is not None else None
    if not isinstance(array, Array) or array.library != LIBRARY:
        return Unknown(tags=tags_of_all(array))
    return made_dense(call, array)


@method(Unpickled, "toarray", "todense")
def unpickled_toarray(call: Call, run: Run) -> Value:
    """`pickle.load(file).toarray()`: then it was a sparse matrix that was pickled."""
    return made_dense(call, Array(LIBRARY, tags=tags_of_all(call.receiver)))


@attribute(Array, "A")
def as_attribute(value: Value, run: Run) -> Value:
    """`matrix.A`, the old short form."""
    assert isinstance(value, Array)
    if value.library != LIBRARY or value.origin is None or value.origin.place is None:
        return Unknown(tags=value.tags)
    call = run.record(Call("array.A", value.origin.place, run.context, value))
    call.result = made_dense(call, value)
    return call.result


@method(Array, "tocsr", "tocsc", "tocoo", "tolil", "todok", "tobsr", "asformat")
def reformatted(call: Call, run: Run) -> Value:
    """The same matrix in another format."""
    array = deref(call.receiver) if call.receiver is not None else None
    return (
        array if isinstance(array, Array) and array.library == LIBRARY else Unknown(tags=tags_of_all(array))
    )


@duck
def sparse_by_toarray(pending: Pending, run: Run) -> Value | None:
    """`x.toarray()`: only sparse matrices have it. What gave `x` need not be one."""
    if pending.method in ("toarray", "todense") and not pending.call.arguments:
        run.infer(pending.receiver, Array(LIBRARY, tags=pending.receiver.tags))
    return None


def sparse_item(value: Value, key: Value, call: Call, run: Run) -> Value:
    """Rows of a sparse matrix are one."""
    assert isinstance(value, Array)
    shape = index(value.shape, key)
    return replace(value, shape=(Const(1), *shape) if shape is not None and len(shape) == 1 else shape)


LIBRARY_ITEMS[LIBRARY] = sparse_item
