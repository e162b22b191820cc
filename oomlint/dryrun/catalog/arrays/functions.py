"""NumPy: functions element by element, reductions, products."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import TYPE_CHECKING

from oomlint.dryrun.catalog.arrays.making import (
    NumpyFloat,
    NumpyInt,
    as_array,
    leading,
    made,
    step,
    tags_of_all,
    without_loads,
)
from oomlint.dryrun.catalog.arrays.methods import REDUCTIONS, reduction
from oomlint.dryrun.catalog.arrays.operators import data_tags, matmul, mixed
from oomlint.dryrun.catalog.registry import function
from oomlint.dryrun.values.arrays import Array
from oomlint.dryrun.values.base import Const, Sequence, Unknown, Value, deref
from oomlint.dryrun.values.dtypes import as_float, divided, dtype_of, promote, summed
from oomlint.dryrun.values.shapes import (
    broadcast,
    derived,
    dimension_at,
    einsum_shape,
    known,
    number,
    reduce,
    shape_of,
    total,
    with_dim,
)

if TYPE_CHECKING:
    from oomlint.dryrun.interpreter import Run
    from oomlint.dryrun.trace import Call


def first(call: Call) -> Array | None:
    """The first argument as an array."""
    return as_array(call.arguments[0].value) if call.arguments and not call.arguments[0].star else None


def nothing(call: Call) -> Unknown:
    """An unknown that keeps what flowed in."""
    return Unknown(tags=tags_of_all(*(argument.value for argument in call.arguments)))


# --- element by element -------------------------------------------------------------------------------

_FLOATING = (
    "sqrt", "exp", "exp2", "expm1", "log", "log2", "log10", "log1p", "sin", "cos", "tan", "arcsin", "arccos",
    "arctan", "sinh", "cosh", "tanh", "cbrt", "deg2rad", "rad2deg", "radians", "degrees", "ceil", "floor",
    "rint", "trunc",
)  # fmt: skip
_WHOLE = frozenset({"ceil", "floor", "rint", "trunc"})
_KEEPING = (
    "abs", "absolute", "negative", "positive", "sign", "square", "conj", "conjugate", "fabs", "clip", "round",
    "around", "nan_to_num", "real", "sort", "flip", "fliplr", "flipud", "roll", "triu", "tril",
    "require", "unwrap",
)  # fmt: skip
_TRUTH = ("isnan", "isfinite", "isinf", "logical_not", "signbit", "isin", "in1d")


def _number(call: Call, value: Value) -> Value | None:
    """The result for one known number, which keeps its value: `np.sqrt(2)` is a float64, not a float."""
    name = call.name.rpartition(".")[2]
    if (
        not isinstance(value, Const)
        or not isinstance(value.value, int | float)
        or value.value in (True, False)
    ):
        return None
    compute = getattr(math, {"absolute": "fabs", "fabs": "fabs"}.get(name, name), None)
    if name in ("abs", "absolute", "clip", "round", "around"):
        positive = name.startswith("abs") and value.value >= 0
        return value if positive else Unknown(type=type(value.value).__name__)
    if compute is None:
        return None
    try:
        return Const(NumpyFloat(compute(float(value.value))), value.trail, value.soft)
    except (ValueError, OverflowError):
        return Unknown(type="float")


@function(*(f"numpy.{name}" for name in _FLOATING), parameters="x out")
def floating(call: Call, run: Run) -> Value:
    """Functions whose result is a float."""
    value = call.value("x")
    plain = _number(call, value) if value is not None else None
    if plain is not None:
        return plain
    array = first(call)
    if array is None:
        return nothing(call)
    whole = call.name.rpartition(".")[2] in _WHOLE
    dtype = array.dtype if whole else as_float(array.dtype)
    return array if dtype == array.dtype else replace(array, dtype=dtype, origin=step(call))


@function(*(f"numpy.{name}" for name in _KEEPING), parameters="x")
def keeping(call: Call, run: Run) -> Value:
    """Functions that keep shape and dtype."""
    value = deref(call.arguments[0].value) if call.arguments else None
    plain = _number(call, value) if value is not None else None
    if plain is not None:
        return plain
    array = first(call)
    return nothing(call) if array is None else array


@function("numpy.rot90", parameters="m k axes")
def rot90(call: Call, run: Run) -> Value:
    """A quarter turn exchanges two axes."""
    array = first(call)
    if array is None or array.shape is None or len(array.shape) < 2:
        return nothing(call)
    turns = number(call.value("k")) if call.argument("k") is not None else 1
    if call.argument("axes") is not None or turns is None:
        return replace(array, shape=(None,) * len(array.shape))
    swapped = (array.shape[1], array.shape[0], *array.shape[2:]) if turns % 2 else array.shape
    return replace(array, shape=swapped)


@function(*(f"numpy.{name}" for name in _TRUTH), parameters="x")
def truth(call: Call, run: Run) -> Value:
    """Functions that give true and false."""
    array = first(call)
    return nothing(call) if array is None else replace(array, dtype="bool", origin=step(call))


_BINARY = {
    "add": "add", "subtract": "sub", "multiply": "mul", "divide": "truediv", "true_divide": "truediv",
    "power": "pow", "maximum": "add", "minimum": "add", "fmax": "add", "fmin": "add", "mod": "mod",
    "remainder": "mod", "floor_divide": "floordiv", "hypot": "float", "arctan2": "float",
    "greater": "eq", "less": "eq", "greater_equal": "eq", "less_equal": "eq", "equal": "eq", "not_equal": "eq",
    "logical_and": "eq", "logical_or": "eq", "logical_xor": "eq", "bitwise_and": "add", "bitwise_or": "add",
    "isclose": "eq",
}  # fmt: skip


@function(*(f"numpy.{name}" for name in _BINARY), parameters="x1 x2 out")
def binary(call: Call, run: Run) -> Value:
    """Functions of two operands."""
    left, right = call.value("x1"), call.value("x2")
    if left is None or right is None:
        return nothing(call)
    one, two = as_array(left), as_array(right)
    kind = _BINARY[call.name.rpartition(".")[2]]
    sides = [
        array or operand if isinstance(operand, Sequence) else operand
        for operand, array in ((left, one), (right, two))
    ]
    tags = data_tags(kind, *sides)
    if one is None or two is None:
        known_one = one or two
        return nothing(call) if known_one is None else replace(known_one, shape=None, dtype=None, tags=tags)
    arrays = isinstance(left, Array) or isinstance(right, Array)
    dtype = mixed(left, right) if arrays else promote(one.dtype, two.dtype)
    dtype = {"eq": "bool", "truediv": divided(dtype), "float": as_float(dtype)}.get(kind, dtype)
    lead = leading(one, two)
    shape = broadcast(one.shape, two.shape)
    return replace(lead, shape=shape, dtype=dtype, origin=step(call), tags=tags)


@function("numpy.where", parameters="condition x y")
def where(call: Call, run: Run) -> Value:
    """A choice between two, or (with one argument) the places where it holds."""
    condition = as_array(call.value("condition"))
    if call.argument("x") is None:
        rank = condition.rank if condition is not None else None
        part = made(call, (None,), "int64")
        return Sequence("tuple", items=[part] * rank) if rank is not None else Sequence("tuple", element=part)
    one, two = call.value("x"), call.value("y")
    left, right = as_array(one), as_array(two)
    if condition is None or left is None or right is None or one is None or two is None:
        return nothing(call)
    dtype = promote(left.dtype, right.dtype)
    if isinstance(one, Array) != isinstance(two, Array):
        dtype = mixed(one, two)
    return made(call, broadcast(condition.shape, left.shape, right.shape), dtype, left.tags | right.tags)


@function("numpy.diff", parameters="a n axis")
def diff(call: Call, run: Run) -> Value:
    """Differences of neighbours."""
    array = first(call)
    order = number(call.value("n")) if call.argument("n") is not None else 1
    axis = number(call.value("axis")) if call.argument("axis") is not None else -1
    if array is None or order is None or axis is None:
        return nothing(call)
    dim = dimension_at(array.shape, axis)
    fewer = None if dim is None else derived(dim.value - order, dim)
    return replace(array, shape=with_dim(array.shape, axis, fewer))


# --- reductions ---------------------------------------------------------------------------------------


@function(*(f"numpy.{name}" for name in REDUCTIONS), parameters="a axis dtype out keepdims")
def reductions(call: Call, run: Run) -> Value:
    """`np.mean(x, axis=0)` and its like."""
    name = call.name.rpartition(".")[2]
    if name == "prod" and call.argument("axis") is None:
        product = _product(call.value("a"))
        if product is not None:
            return product
    array = first(call)
    return nothing(call) if array is None else reduction(call, array, name)


def _product(value: Value | None) -> Const | None:
    """The product of a shape, with its value."""
    shape = shape_of(value)
    sizes = known(shape)
    if sizes is None or shape is None or not isinstance(value, Sequence):
        return None
    product = derived(math.prod(sizes), *shape)
    return Const(NumpyInt(product.value), product.trail)


@function("numpy.cumsum", "numpy.cumprod", parameters="a axis dtype")
def running(call: Call, run: Run) -> Value:
    """A running sum."""
    array = first(call)
    if array is None:
        return nothing(call)
    shape = array.shape if call.argument("axis") is not None else (total(array.shape),)
    return replace(array, shape=shape, dtype=summed(array.dtype), origin=step(call))


@function("numpy.argsort", "numpy.argpartition", parameters="a axis")
def argsort(call: Call, run: Run) -> Value:
    """Indices that would sort it."""
    array = first(call)
    if array is None:
        return nothing(call)
    return replace(array, dtype="int64", origin=step(call), tags=without_loads(array.tags))


@function("numpy.percentile", "numpy.quantile", parameters="a q axis")
def percentile(call: Call, run: Run) -> Value:
    """Percentiles: floats, one for each asked."""
    array, asked = first(call), as_array(call.value("q"))
    if array is None or asked is None or asked.shape is None:
        return nothing(call)
    axis = call.argument("axis")
    at = number(axis.value) if axis is not None else None
    rest = () if axis is None else reduce(array.shape, None if at is None else (at,))
    shape = None if rest is None else (*asked.shape, *rest)
    return replace(array, shape=shape, dtype=divided(array.dtype), origin=step(call))


@function("numpy.linalg.norm", parameters="x ord axis keepdims")
def norm(call: Call, run: Run) -> Value:
    """A norm is a reduction that gives floats."""
    array = first(call)
    if array is None:
        return nothing(call)
    result = reduction(call, array, "sum")
    return replace(result, dtype=as_float(array.dtype)) if isinstance(result, Array) else result


# How many different labels the data sets of Keras have.
CLASSES = {"mnist": 10, "fashion_mnist": 10, "cifar10": 10, "imdb": 2, "reuters": 46}


def classes_of(array: Array | None) -> Const | None:
    """How many values the labels of a data set that comes with Keras take."""
    if array is None or "dataset" not in array.tags or array.dtype == "object" or not array.shape:
        return None
    if len(array.shape) > 1 and array.shape[1:] != (Const(1),):
        return None
    for stop in array.shape[0].trail if array.shape[0] is not None else ():
        known = CLASSES.get(stop.text.removeprefix("keras.datasets."))
        if known is not None and stop.text.startswith("keras.datasets."):
            return Const(known, (stop,))
    return None


@function("numpy.unique", parameters="ar return_index return_inverse return_counts axis")
def unique(call: Call, run: Run) -> Value:
    """The distinct values; how many is known of the labels of well-known data sets only."""
    array = first(call)
    flags = [call.const(name, False) for name in ("return_index", "return_inverse", "return_counts")]
    values = made(call, (classes_of(array),), array.dtype if array is not None else None)
    if all(flag is False for flag in flags):
        return values
    indices: list[Value] = [made(call, (None,), "int64") for flag in flags if flag is not False]
    return Sequence("tuple", items=[values, *indices])


# --- products -----------------------------------------------------------------------------------------


@function("numpy.dot", "numpy.matmul", "numpy.inner", parameters="a b out")
def product(call: Call, run: Run) -> Value:
    """A matrix product."""
    left, right = as_array(call.value("a")), as_array(call.value("b"))
    if left is None or right is None:
        return nothing(call)
    shape = matmul(left.shape, right.shape) if "inner" not in call.name else None
    return made(call, shape, promote(left.dtype, right.dtype), left.tags | right.tags)


@function("numpy.outer", parameters="a b")
def outer(call: Call, run: Run) -> Value:
    """Every product of two."""
    left, right = as_array(call.value("a")), as_array(call.value("b"))
    if left is None or right is None:
        return nothing(call)
    return made(call, (total(left.shape), total(right.shape)), promote(left.dtype, right.dtype))


@function("numpy.einsum")
def einsum(call: Call, run: Run) -> Value:
    """Products by letters, where the letters say what comes out."""
    text = call.arguments[0].const() if call.arguments else None
    operands = [as_array(argument.value) for argument in call.arguments[1:] if argument.name is None]
    shape = einsum_shape(text, [None if operand is None else operand.shape for operand in operands])
    if shape is None or not operands:
        return nothing(call)
    dtype = operands[0].dtype if operands[0] is not None else None
    for operand in operands[1:]:
        dtype = promote(dtype, operand.dtype if operand is not None else None)
    return made(call, shape, dtype)


@function("numpy.cov", "numpy.corrcoef", parameters="m")
def cov(call: Call, run: Run) -> Value:
    """A square matrix of float64, one row per row."""
    array = first(call)
    if array is None or array.rank != 2:
        return nothing(call)
    rows = dimension_at(array.shape, 0)
    return made(call, (rows, rows), "float64")


# The dtype helpers of users: `np.issubdtype` and the like give no arrays.
@function("numpy.result_type", "numpy.promote_types")
def result_type(call: Call, run: Run) -> Value:
    """The common type of two."""
    names = [dtype_of(argument.value) for argument in call.arguments]
    if len(names) != 2 or None in names:
        return Unknown()
    common = promote(names[0], names[1])
    return Unknown() if common is None else Const(common)
