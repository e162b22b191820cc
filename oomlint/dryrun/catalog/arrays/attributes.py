"""Attributes of arrays."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from oomlint.dryrun.catalog.arrays.making import NumpyInt
from oomlint.dryrun.catalog.registry import attribute
from oomlint.dryrun.values.arrays import ITEMSIZE, Array
from oomlint.dryrun.values.base import Const, Sequence, Unknown, Value
from oomlint.dryrun.values.dtypes import is_float
from oomlint.dryrun.values.shapes import total, transpose

if TYPE_CHECKING:
    from oomlint.dryrun.interpreter import Run


@attribute(Array, "shape")
def shape(value: Value, run: Run) -> Value:
    """The shape as a tuple; a dimension that is not known is an unknown number."""
    assert isinstance(value, Array)
    if value.shape is None:
        return Sequence("tuple", element=Unknown(type="int"))
    return Sequence("tuple", items=[Unknown(type="int") if dim is None else dim for dim in value.shape])


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
