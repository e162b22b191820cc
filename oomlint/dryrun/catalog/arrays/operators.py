"""Operators, subscripts and loops on arrays, of whatever library."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from oomlint.dryrun.catalog.arrays.making import (
    PART,
    TENSORS,
    UNSCALED,
    NumpyFloat,
    NumpyInt,
    as_array,
    leading,
    one_hot,
    step,
    without_loads,
)
from oomlint.dryrun.catalog.registry import Iteration, entry, item, iteration, operator
from oomlint.dryrun.values.arrays import Array, Shape, computed_from
from oomlint.dryrun.values.base import Const, Sequence, Slice, Unknown, Value, deref, tags_of
from oomlint.dryrun.values.dtypes import divided, is_float, parts, promote, with_python
from oomlint.dryrun.values.indexing import FEW, FEW_TAG, index, keys_of
from oomlint.dryrun.values.shapes import broadcast, dimension_at, number

if TYPE_CHECKING:
    from collections.abc import Callable

    from oomlint.dryrun.catalog.registry import Handler
    from oomlint.dryrun.interpreter import Run
    from oomlint.dryrun.trace import Call

_COMPARISONS = frozenset({"eq", "ne", "lt", "le", "gt", "ge"})
_UNARY = frozenset({"neg", "pos", "invert"})
_WEAK = {"int": 0, "float": 0.0, "bool": False}
WORDS = {
    "truediv": "division", "add": "addition", "sub": "subtraction", "mul": "multiplication",
    "pow": "a power", "matmul": "a matrix product", "floordiv": "division", "mod": "a remainder",
}  # fmt: skip

# What operators and subscripts do on arrays of another library (`tensor`); its module registers it.
LIBRARY_OPERATORS: dict[str, Handler] = {}
LIBRARY_ITEMS: dict[str, Callable[[Value, Value, Call, Run], Value]] = {}

# A sample this small of an array of unknown length is not the data set.
FEW_ROWS = 4096


@operator(Array)
def operate(call: Call, run: Run) -> Value:
    """An operator with an array on at least one side."""
    name = call.name.rpartition(".")[2]
    left, right = (deref(argument.value) for argument in call.arguments[:2])
    if name in _UNARY:
        return left
    for other in (left, right):
        handler = run.catalog.operators.get(type(other))
        if handler is not None and not isinstance(other, Array):
            return handler(call, run)  # gradients and the like know better what they are
    lead = leading(left, right)
    own = LIBRARY_OPERATORS.get(lead.library)
    if own is not None:
        return own(call, run)
    tags = data_tags(name, left, right) - {UNSCALED}
    one, two = _shape(left, lead), _shape(right, lead)
    shape = matmul(one, two) if name == "matmul" else broadcast(one, two)
    dtype = _dtype(name, left, right, lead)
    changed = lead.dtype != dtype or lead.origin is None
    origin = step(call, WORDS.get(name, "an operator")) if changed else lead.origin
    return computed_from(replace(lead, shape=shape, dtype=dtype, tags=tags, origin=origin), (left, right))


def data_tags(name: str, left: Value, right: Value) -> frozenset[str]:
    """The tags of an operation. What is read whole counts on the side that is the data.

    `(x - stats["mean"]) / stats["std"]` is x, computed with something small, also where x is a batch from elsewhere
    of which nothing is known.
    """
    left, right = deref(left), deref(right)
    data = isinstance(left, Array) or (
        name in ("sub", "truediv") and isinstance(left, Unknown) and left.type not in _WEAK
    )
    large, small = (left, right) if data else (right, left)
    return tags_of(large) | without_loads(tags_of(small))


def _shape(operand: Value, other: Array) -> Shape | None:
    """The shape of an operand. An unknown one is taken for a number; the dtype stays unknown, hence the size.

    Not beside a number: the data may be the unknown one, `boxes[:, 0] * width`.
    """
    if isinstance(operand, Array):
        return operand.shape
    if isinstance(operand, Unknown) and operand.type not in _WEAK and other.shape == ():
        return None
    if isinstance(operand, Sequence):
        array = as_array(operand)
        return array.shape if array is not None else None
    return ()


def matmul(left: Shape | None, right: Shape | None) -> Shape | None:
    """The shape of a matrix product."""
    if left is None or right is None or not left or not right:
        return None
    if len(right) == 1:
        return left[:-1]
    if len(left) == 1:
        return (*right[:-2], right[-1])
    outer = broadcast(left[:-2], right[:-2])
    return None if outer is None else (*outer, left[-2], right[-1])


def _dtype(name: str, left: Value, right: Value, lead: Array) -> str | None:
    if name in _COMPARISONS:
        return "bool"
    if lead.library in TENSORS:
        own = lead.dtype
        for operand in (left, right):
            if own is None and isinstance(operand, Array) and operand.library not in TENSORS:
                own = operand.dtype
        if name != "truediv" or own is None or is_float(own):
            return own
        known = parts(own)
        return None if known is None else "float32" if known[1] < 32 else "float64"
    result = mixed(left, right)
    return divided(result) if name == "truediv" else result


def mixed(left: Value, right: Value) -> str | None:
    """The type of an operation on two operands by the rules of NumPy 2."""
    if not isinstance(left, Array):
        left, right = right, left
    if not isinstance(left, Array):
        return None
    if isinstance(right, Array):
        return promote(left.dtype, right.dtype)
    if isinstance(right, Const):
        if isinstance(right.value, NumpyFloat | NumpyInt):
            return promote(left.dtype, right.value.dtype)
        if isinstance(right.value, bool | int | float | complex):
            return with_python(left.dtype, right.value)
        return None
    if isinstance(right, Sequence):
        array = as_array(right)
        return promote(left.dtype, array.dtype) if array is not None else None
    if isinstance(right, Unknown) and right.type in _WEAK:
        return with_python(left.dtype, _WEAK[right.type])
    return None


@item(Array)
def subscript(value: Value, key: Value, call: Call, run: Run) -> Value:
    """`x[key]`."""
    assert isinstance(value, Array)
    own = LIBRARY_ITEMS.get(value.library)
    if own is not None:
        return own(value, key, call, run)
    key = deref(key)
    if isinstance(key, Const) and isinstance(key.value, str):
        # A structured array, or an archive whose file name is not known: a member of unknown shape.
        return Array(value.library, tags=value.tags)
    shape = index(value.shape, key)
    tags = value.tags
    if value.size is None and _takes_few(key):
        tags = without_loads(tags)
    if shape == () and value.library not in TENSORS:
        tags = without_loads(tags)
    if _restricts_rows(key):
        tags = tags | {PART}
    if value.size is None and _stops_early(key):
        tags = tags | {FEW_TAG}
    if value.origin is not None and value.origin.text in ("np.eye", "np.identity") and _picks_rows(key):
        tags = tags | one_hot(call)
    library = "numpy" if value.library == "h5py" else value.library
    return replace(value, library=library, shape=shape, tags=tags)


def _picks_rows(key: Value) -> bool:
    """Whether a subscript takes a row for each of many numbers: `np.eye(classes)[labels]`."""
    return isinstance(key, Array | Unknown) or (isinstance(key, Sequence) and key.kind != "tuple")


def _restricts_rows(key: Value) -> bool:
    """Whether a subscript leaves rows out, or may."""
    first = keys_of(key)[0] if keys_of(key) else key
    if isinstance(first, Slice):
        ends = (deref(first.start), deref(first.stop))
        return not all(isinstance(end, Const) and end.value is None for end in ends)
    return not isinstance(first, Const) or isinstance(first.value, int)


def _stops_early(key: Value) -> bool:
    """Whether a slice takes no more than the first rows, of however many there are."""
    first = keys_of(key)[0] if keys_of(key) else key
    stop = number(first.stop) if isinstance(first, Slice) else None
    return stop is not None and 0 <= stop <= FEW


def _takes_few(key: Value) -> bool:
    """Whether a subscript takes one row, or a small number of them that the text states."""
    first = keys_of(key)[0] if keys_of(key) else key
    if isinstance(first, Slice):
        start, stop = number(first.start) or 0, number(first.stop)
        return stop is not None and stop >= start >= 0 and stop - start <= FEW_ROWS
    return isinstance(first, Const) and isinstance(first.value, int)


@iteration(Array)
def rows(value: Value, run: Run) -> Iteration:
    """A loop over an array takes its rows."""
    assert isinstance(value, Array)
    shape = None if not value.shape else value.shape[1:]
    element = replace(value, shape=shape, tags=without_loads(value.tags) - {FEW_TAG} | {PART})
    return Iteration(element=element, count=dimension_at(value.shape, 0))


@entry(Array)
def itself(value: Value, run: Run) -> Value:
    """`with np.load(path) as data` binds what was loaded."""
    return value
