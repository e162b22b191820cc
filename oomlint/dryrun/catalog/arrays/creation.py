"""NumPy: arrays made from nothing, from numbers and from other arrays."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import TYPE_CHECKING

from oomlint.dryrun.catalog.arrays.making import (
    TENSORS,
    NumpyFloat,
    NumpyFloat16,
    NumpyFloat32,
    NumpyInt,
    as_array,
    blank,
    figures,
    made,
    read_whole,
    step,
)
from oomlint.dryrun.catalog.registry import constant, function
from oomlint.dryrun.values.arrays import Array, Shape
from oomlint.dryrun.values.base import Const, Sequence, Unknown, Value, deref, tags_of
from oomlint.dryrun.values.dtypes import dtype_of, named
from oomlint.dryrun.values.shapes import derived, dim_of, number, shape_of

if TYPE_CHECKING:
    from oomlint.dryrun.interpreter import Run
    from oomlint.dryrun.trace import Call

for _name, _number in (("pi", math.pi), ("e", math.e), ("inf", math.inf), ("nan", math.nan)):
    constant(f"numpy.{_name}", Const(_number))
constant("numpy.newaxis", Const(None))


def asked(call: Call, default: str | None) -> str | None:
    """The dtype that the call asks for; the default if it says nothing (or None)."""
    argument = call.argument("dtype")
    if argument is None:
        return None if call.opaque_arguments else default
    value = deref(argument.value)
    if isinstance(value, Const) and value.value is None:
        return default
    return dtype_of(value)


@function("numpy.zeros", "numpy.ones", "numpy.empty", "numpy.ndarray", parameters="shape dtype order")
def zeros(call: Call, run: Run) -> Value:
    """An array of a given shape: float64 unless the call says otherwise."""
    return made(call, shape_of(call.value("shape")), asked(call, "float64"), blank(call))


@function("numpy.full", parameters="shape fill_value dtype order")
def full(call: Call, run: Run) -> Value:
    """An array of one value, whose type it has."""
    fill = as_array(call.value("fill_value"))
    return made(call, shape_of(call.value("shape")), asked(call, fill.dtype if fill is not None else None))


@function("numpy.zeros_like", "numpy.ones_like", "numpy.empty_like", parameters="a dtype order subok shape")
def like(call: Call, run: Run) -> Value:
    """An array in the image of another."""
    return _like(call)


@function("numpy.full_like", parameters="a fill_value dtype order subok shape")
def full_like(call: Call, run: Run) -> Value:
    """An array of one value in the image of another."""
    return _like(call)


def _like(call: Call) -> Value:
    array = as_array(call.value("a"))
    shape = call.argument("shape")
    if array is None:
        return made(call, None if shape is None else shape_of(shape.value), asked(call, None))
    return made(call, array.shape if shape is None else shape_of(shape.value), asked(call, array.dtype))


@function("numpy.eye", parameters="N M k dtype order")
def eye(call: Call, run: Run) -> Value:
    """Ones on a diagonal."""
    rows = dim_of(call.value("N"))
    columns = call.argument("M")
    return made(call, (rows, rows if columns is None else dim_of(columns.value)), asked(call, "float64"))


@function("numpy.identity", parameters="n dtype")
def identity(call: Call, run: Run) -> Value:
    """The identity matrix."""
    rows = dim_of(call.value("n"))
    return made(call, (rows, rows), asked(call, "float64"))


@function("numpy.arange", parameters="start stop step dtype")
def arange(call: Call, run: Run) -> Value:
    """Numbers in steps."""
    given = [deref(argument.value) for argument in call.arguments if argument.name is None][:3]
    values = [value.value for value in given if isinstance(value, Const)]
    numbers: list[int | float] = [value for value in values if isinstance(value, int | float)]
    if not numbers or len(numbers) != len(given):
        return made(call, (None,), asked(call, None))
    dtype = asked(call, "float64" if any(isinstance(value, float) for value in numbers) else "int64")
    start, stop = (0, numbers[0]) if len(numbers) == 1 else (numbers[0], numbers[1])
    by = numbers[2] if len(numbers) == 3 else 1
    try:
        count = max(0, math.ceil((stop - start) / by))
    except (ZeroDivisionError, OverflowError, ValueError, TypeError):
        return made(call, (None,), dtype)
    return made(call, (derived(count, *(value for value in given if isinstance(value, Const))),), dtype)


@function(
    "numpy.linspace",
    "numpy.logspace",
    "numpy.geomspace",
    parameters="start stop num endpoint retstep dtype",
)
def linspace(call: Call, run: Run) -> Value:
    """Evenly spaced numbers: fifty unless the call says otherwise."""
    num = call.argument("num")
    return made(call, (Const(50) if num is None else dim_of(num.value),), asked(call, "float64"))


@function(
    "numpy.array",
    "numpy.asarray",
    "numpy.ascontiguousarray",
    "numpy.asfortranarray",
    "numpy.copy",
    "numpy.asanyarray",
    parameters="object dtype",
)
def array(call: Call, run: Run) -> Value:
    """An array of a list, or of another array. A stored or mapped one is read."""
    value = call.value("object") or call.value("a")
    result = as_array(value)
    if result is None:
        tags = tags_of(value) if value is not None else frozenset()
        # What an unknown call made of data (a model's outputs, say) carries its tags and need not be data.
        unknown = isinstance(value, Unknown | Sequence)
        return made(call, None, asked(call, None), figures(tags) if unknown else tags)
    tags = result.tags | (read_whole(call, value) if isinstance(value, Array) else frozenset())
    dtype = asked(call, result.dtype)
    kept = isinstance(value, Array) and dtype == result.dtype and result.origin is not None
    return replace(result, dtype=dtype, origin=result.origin if kept else step(call), tags=tags)


@function("numpy.frombuffer", "numpy.fromstring", parameters="buffer dtype count")
def frombuffer(call: Call, run: Run) -> Value:
    """Bytes taken as an array; how many there are is not known."""
    count = dim_of(call.value("count"))
    return made(call, (count if number(count) != -1 else None,), asked(call, "float64"))


# --- scalars ------------------------------------------------------------------------------------------

_FLOATS = {"float64": NumpyFloat, "float32": NumpyFloat32, "float16": NumpyFloat16}
_SCALARS = (
    "float64", "float32", "float16", "float_", "double", "single", "half", "int64", "int32", "int16", "int8",
    "int_", "intp", "uint64", "uint32", "uint16", "uint8", "bool_",
)  # fmt: skip


@function(*(f"numpy.{name}" for name in _SCALARS), parameters="value")
def scalar(call: Call, run: Run) -> Value:
    """A scalar of one type, or an array cast to it."""
    dtype = named(call.name.rpartition(".")[2])
    value = call.value("value")
    if isinstance(value, Const) and isinstance(value.value, int | float):
        try:
            if dtype in _FLOATS:
                return Const(_FLOATS[dtype](value.value), value.trail, value.soft)
            if dtype == "int64":
                return Const(NumpyInt(value.value), value.trail, value.soft)
        except (ValueError, OverflowError):
            return Unknown()
    if isinstance(value, Array) and value.library in TENSORS:
        value = as_array(value)
    result = as_array(value)
    tags = tags_of(value) if value is not None else frozenset()
    return made(call, () if result is None else result.shape, dtype, tags)


@function("numpy.dtype", parameters="dtype")
def dtype(call: Call, run: Run) -> Value:
    """A dtype by name."""
    name = dtype_of(call.value("dtype"))
    return Unknown() if name is None else Const(name)


# --- grids --------------------------------------------------------------------------------------------


@function("numpy.meshgrid")
def meshgrid(call: Call, run: Run) -> Value:
    """One grid per argument."""
    arrays = [as_array(argument.value) for argument in call.arguments if argument.name is None]
    dims = [item.shape[0] if item is not None and item.shape else None for item in arrays]
    if call.const("indexing", "xy") == "xy" and len(dims) >= 2:
        dims[0], dims[1] = dims[1], dims[0]
    dtypes = [item.dtype if item is not None else None for item in arrays]
    grids: list[Value] = [made(call, tuple(dims), dtype) for dtype in dtypes]
    return Sequence("tuple", items=grids)


@function("numpy.indices", parameters="dimensions dtype")
def indices(call: Call, run: Run) -> Value:
    """The indices of a grid."""
    dims = shape_of(call.value("dimensions"))
    shape: Shape | None = None if dims is None else (Const(len(dims)), *dims)
    return made(call, shape, asked(call, "int64"))


@function("numpy.diag", "numpy.diagflat", parameters="v k")
def diag(call: Call, run: Run) -> Value:
    """A matrix with these on its diagonal, or the diagonal of one."""
    value = as_array(call.value("v"))
    if value is None or value.shape is None or call.const("k", 0) != 0:
        return made(call, None, value.dtype if value is not None else None)
    shape = (value.shape[0],) * 2 if len(value.shape) == 1 else None
    return made(call, shape, value.dtype)


@function("numpy.tri", parameters="N M k dtype")
def tri(call: Call, run: Run) -> Value:
    """Ones at and below a diagonal."""
    rows = dim_of(call.value("N"))
    columns = call.argument("M")
    return made(call, (rows, rows if columns is None else dim_of(columns.value)), asked(call, "float64"))


@function("numpy.triu_indices", "numpy.tril_indices", parameters="n k m")
def triangle(call: Call, run: Run) -> Value:
    """Rows and columns of a triangle."""
    n, k = number(call.value("n")), call.const("k", 0)
    count = None
    if n is not None and k in (0, 1) and call.argument("m") is None and "triu" in call.name:
        count = Const(n * (n + 1) // 2 - k * n)
    part = made(call, (count,), "int64")
    return Sequence("tuple", items=[part, part])
