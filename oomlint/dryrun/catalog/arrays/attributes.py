"""Attributes of arrays."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from oomlint.dryrun.catalog.arrays.making import NumpyInt, as_array
from oomlint.dryrun.catalog.registry import attribute, function, method
from oomlint.dryrun.values.arrays import ITEMSIZE, Array
from oomlint.dryrun.values.base import NONE, Const, Sequence, Unknown, Value
from oomlint.dryrun.values.dtypes import is_float
from oomlint.dryrun.values.shapes import dimension_at, total, transpose

if TYPE_CHECKING:
    from oomlint.dryrun.interpreter import Run
    from oomlint.dryrun.trace import Call


@attribute(Array, "shape", "_keras_shape")
def shape(value: Value, run: Run) -> Value:
    """The shape as a tuple; a dimension that is not known is an unknown number, the batch of a model's tensor None."""
    assert isinstance(value, Array)
    if value.shape is None:
        return Sequence("tuple", element=Unknown(type="int"))
    items: list[Value] = [Unknown(type="int") if dim is None else dim for dim in value.shape]
    if value.library == "keras" and value.shape[:1] == (None,):
        items[0] = NONE
    return Sequence("tuple", items=items)


@method(Array, "get_shape")
def get_shape(call: Call, run: Run) -> Value:
    """`x.get_shape()` of TensorFlow."""
    assert isinstance(call.receiver, Array)
    return shape(call.receiver, run)


@method(Sequence, "as_list")
def as_list(call: Call, run: Run) -> Value:
    """`x.shape.as_list()`."""
    assert isinstance(call.receiver, Sequence)
    inner = call.receiver
    items = None if inner.items is None else list(inner.items)
    return Sequence("list", items, inner.element, inner.count, inner.tags, run.context)


@attribute(Const, "value")
def constant_value(value: Value, run: Run) -> Value:
    """`x.shape[-1].value` of TensorFlow 1, or the member of an Enum."""
    return value


@attribute(Array, "dtype")
def dtype(value: Value, run: Run) -> Value:
    """The name of the dtype."""
    assert isinstance(value, Array)
    return Unknown() if value.dtype is None else Const(value.dtype)


@attribute(Array, "ndim")
def ndim(value: Value, run: Run) -> Value:
    """The number of dimensions."""
    assert isinstance(value, Array)
    return Unknown(type="int") if value.rank is None else Const(value.rank)


@attribute(Array, "size")
def size(value: Value, run: Run) -> Value:
    """The number of elements."""
    assert isinstance(value, Array)
    return total(value.shape) or Unknown(type="int")


@function("numpy.shape", parameters="a")
def shape_of_argument(call: Call, run: Run) -> Value:
    """`np.shape(x)`, of arrays, lists and numbers."""
    array = as_array(call.value("a"))
    return Sequence("tuple", element=Unknown(type="int")) if array is None else shape(array, run)


@function("numpy.ndim", parameters="a")
def ndim_of_argument(call: Call, run: Run) -> Value:
    """`np.ndim(x)`."""
    array = as_array(call.value("a"))
    return Unknown(type="int") if array is None else ndim(array, run)


@function("numpy.size", parameters="a axis")
def size_of_argument(call: Call, run: Run) -> Value:
    """`np.size(x)` and `np.size(x, axis)`."""
    array = as_array(call.value("a"))
    if array is None:
        return Unknown(type="int")
    if call.argument("axis") is None:
        return size(array, run)
    axis = call.const("axis")
    return (dimension_at(array.shape, axis) if isinstance(axis, int) else None) or Unknown(type="int")


@attribute(Array, "nbytes")
def nbytes(value: Value, run: Run) -> Value:
    """The bytes it takes."""
    assert isinstance(value, Array)
    bytes_ = value.size
    return Unknown(type="int") if bytes_ is None else Const(bytes_.bytes)


@attribute(Array, "itemsize")
def itemsize(value: Value, run: Run) -> Value:
    """The bytes of one element."""
    assert isinstance(value, Array)
    return Const(NumpyInt(ITEMSIZE[value.dtype])) if value.dtype in ITEMSIZE else Unknown(type="int")


@attribute(Array, "T")
def transposed(value: Value, run: Run) -> Value:
    """The array with its axes reversed."""
    assert isinstance(value, Array)
    return replace(value, shape=transpose(value.shape, ()))


@attribute(Array, "real", "imag")
def real(value: Value, run: Run) -> Value:
    """The real part."""
    assert isinstance(value, Array)
    dtype = value.dtype if is_float(value.dtype) else None
    return replace(value, dtype=dtype)
