"""Methods of arrays: ndarray's, and those that tensors and tables share with it."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from oomlint.dryrun.catalog.arrays.making import as_array, figures, read_whole, step, without_loads
from oomlint.dryrun.catalog.arrays.operators import matmul
from oomlint.dryrun.catalog.registry import method
from oomlint.dryrun.values.arrays import Array, Shape
from oomlint.dryrun.values.base import Const, Sequence, Unknown, Value, deref, tags_of
from oomlint.dryrun.values.dtypes import divided, dtype_of, promote, summed
from oomlint.dryrun.values.shapes import (
    axes_of,
    dim_of,
    dimension_at,
    number,
    reduce,
    reshape,
    scale,
    shape_of,
    squeeze,
    total,
    transpose,
    with_dim,
)

if TYPE_CHECKING:
    from oomlint.dryrun.interpreter import Run
    from oomlint.dryrun.trace import Call


def receiver(call: Call) -> Array:
    """The array that a method is called on."""
    value = deref(call.receiver) if call.receiver is not None else None
    assert isinstance(value, Array)
    return value


def spread(call: Call) -> Value:
    """The positional arguments as one: `x.reshape(2, 3)` is `x.reshape((2, 3))`."""
    given = [argument for argument in call.arguments if argument.name is None]
    if len(given) == 1 and not given[0].star:
        return deref(given[0].value)
    if any(argument.star for argument in given):
        return Unknown()
    return Sequence("tuple", items=[argument.value for argument in given])


@method(Array, "astype", parameters="dtype order casting subok copy")
def astype(call: Call, run: Run) -> Value:
    """Another dtype."""
    array = receiver(call)
    dtype = dtype_of(call.value("dtype"))
    if dtype == array.dtype and dtype is not None and array.library != "memmap":
        return array
    return replace(_in_memory(call, array), dtype=dtype, origin=step(call, "astype"))


def _in_memory(call: Call, array: Array) -> Array:
    """A mapped array once all of it is copied."""
    if array.library != "memmap":
        return array
    return replace(array, library="numpy", tags=array.tags | read_whole(call, array))


@method(Array, "reshape", parameters="shape")
def reshaped(call: Call, run: Run) -> Value:
    """Another shape. What the shape says is the evidence, when the array's own is not known."""
    array = receiver(call)
    target = shape_of(call.value("newshape") or (spread(call) if call.arguments else None))
    origin = array.origin if array.shape is not None else step(call, "reshape")
    return replace(array, shape=reshape(array.shape, target), origin=origin)


@method(Array, "flatten", "ravel")
def flat(call: Call, run: Run) -> Value:
    """One dimension."""
    array = receiver(call)
    return replace(array, shape=(total(array.shape),))


@method(Array, "transpose", parameters="axes")
def transposed(call: Call, run: Run) -> Value:
    """Axes in another order."""
    array = receiver(call)
    given = spread(call)
    reverse = not call.arguments or (isinstance(given, Const) and given.value is None)
    axes = () if reverse else axes_of(given)
    return replace(array, shape=transpose(array.shape, axes))


@method(Array, "swapaxes", parameters="axis1 axis2")
def swapped(call: Call, run: Run) -> Value:
    """Two axes exchanged."""
    return swap(receiver(call), call.value("axis1"), call.value("axis2"))


def swap(array: Array, one: Value | None, two: Value | None) -> Array:
    """The array with two axes exchanged."""
    first, second = number(one), number(two)
    if array.shape is None or first is None or second is None:
        return replace(array, shape=None)
    order = list(range(len(array.shape)))
    try:
        order[first], order[second] = order[second], order[first]
    except IndexError:
        return replace(array, shape=None)
    return replace(array, shape=transpose(array.shape, tuple(order)))


@method(Array, "squeeze", parameters="axis")
def squeezed(call: Call, run: Run) -> Value:
    """Without dimensions of 1."""
    array = receiver(call)
    axis = call.argument("axis")
    axes = axes_of(axis.value) if axis is not None else None
    if axis is not None and axes is None:
        return replace(array, shape=None)
    return replace(array, shape=squeeze(array.shape, axes))


@method(Array, "repeat", parameters="repeats axis")
def repeated(call: Call, run: Run) -> Value:
    """Elements taken several times."""
    return repeat(receiver(call), call.value("repeats"), call.value("axis"))


def repeat(array: Array, repeats: Value | None, axis: Value | None) -> Array:
    """`np.repeat`: flat without an axis."""
    times = dim_of(repeats)
    at = number(axis)
    if at is None:
        shape: Shape | None = (scale(total(array.shape), times),) if not isinstance(axis, Unknown) else None
    else:
        shape = with_dim(array.shape, at, scale(dimension_at(array.shape, at), times))
    return replace(array, shape=shape)


@method(
    Array,
    "copy", "view", "clip", "round", "sort", "byteswap", "newbyteorder", "numpy", "cpu", "detach", "conj", "compute",
)  # fmt: skip
def same(call: Call, run: Run) -> Value:
    """The same shape and dtype."""
    array = receiver(call)
    name = call.name.rpartition(".")[2]
    if name == "view" and call.arguments:
        return replace(array, dtype=dtype_of(call.arguments[0].value), shape=None)
    if name == "sort":
        return Const(None)
    if name == "copy":
        return _in_memory(call, array)
    if name == "numpy":
        return replace(array, library="numpy", producer=None)
    return array


@method(Array, "item")
def item(call: Call, run: Run) -> Value:
    """The Python object inside: nothing of the array is kept."""
    array = receiver(call)
    kind = {"f": "float", "i": "int", "u": "int", "b": "bool"}.get((array.dtype or "?")[0])
    return Unknown(type=kind, tags=without_loads(array.tags))


@method(Array, "tolist")
def tolist(call: Call, run: Run) -> Value:
    """Nested lists; the outer one is enough."""
    array = receiver(call)
    kind = {"f": "float", "i": "int", "u": "int", "b": "bool", "s": "str"}.get((array.dtype or "?")[0])
    flat_ = array.rank == 1
    return Sequence(
        element=Unknown(type=kind if flat_ else None, tags=array.tags),
        count=dimension_at(array.shape, 0),
        tags=array.tags,
    )


# --- reductions ---------------------------------------------------------------------------------------

REDUCTIONS = (
    "sum", "prod", "mean", "std", "var", "median", "average", "max", "min", "amax", "amin", "any", "all",
    "argmax", "argmin", "nanmean", "nanstd", "nansum", "nanmax", "nanmin", "ptp", "count_nonzero",
)  # fmt: skip
_TRUTH = frozenset({"any", "all"})
_INDEX = frozenset({"argmax", "argmin", "count_nonzero"})
_MEAN = frozenset({"mean", "std", "var", "median", "average", "nanmean", "nanstd"})
_SUM = frozenset({"sum", "prod", "nansum"})


def reduction(call: Call, array: Array, name: str) -> Value:
    """`x.mean(axis=0)` and its like."""
    axis = call.argument("axis")
    given = deref(axis.value) if axis is not None else None
    everything = given is None or (isinstance(given, Const) and given.value is None)
    axes = tuple(range(array.rank or 0)) if everything else axes_of(given)
    keep = call.const("keepdims", False)
    shape = reduce(array.shape, axes, keep is True)
    if everything and not keep:
        shape = ()
    asked = call.argument("dtype")
    dtype = reduced_dtype(name, array.dtype) if asked is None else dtype_of(asked.value)
    return replace(array, shape=shape, dtype=dtype, origin=step(call), tags=figures(array.tags))


def reduced_dtype(name: str, dtype: str | None) -> str | None:
    """The dtype of a reduction."""
    if name in _TRUTH:
        return "bool"
    if name in _INDEX:
        return "int64"
    if name in _MEAN:
        return divided(dtype)
    return summed(dtype) if name in _SUM else dtype


@method(Array, *REDUCTIONS, parameters="axis dtype out keepdims")
def reduced(call: Call, run: Run) -> Value:
    """A reduction."""
    return reduction(call, receiver(call), call.name.rpartition(".")[2])


@method(Array, "cumsum", "cumprod", parameters="axis dtype")
def running(call: Call, run: Run) -> Value:
    """A running sum."""
    array = receiver(call)
    shape = array.shape if call.const("axis", None) is not None else (total(array.shape),)
    return replace(array, shape=shape, dtype=summed(array.dtype), origin=step(call))


@method(Array, "argsort", parameters="axis")
def argsorted(call: Call, run: Run) -> Value:
    """Indices that would sort it."""
    array = receiver(call)
    return replace(array, dtype="int64", origin=step(call), tags=without_loads(array.tags))


@method(Array, "dot", parameters="b")
def dotted(call: Call, run: Run) -> Value:
    """A matrix product."""
    left, right = receiver(call), as_array(call.value("b"))
    if right is None:
        return Unknown(tags=left.tags)
    tags = left.tags | tags_of(right)
    shape = matmul(left.shape, right.shape)
    return replace(left, shape=shape, dtype=promote(left.dtype, right.dtype), origin=step(call), tags=tags)
