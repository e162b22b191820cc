"""TensorFlow: making tensors, and calls that change only their shape or dtype."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from oomlint.dryrun.catalog.arrays.making import UNSCALED
from oomlint.dryrun.catalog.arrays.making import one_hot as one_hot_tag
from oomlint.dryrun.catalog.registry import function, method
from oomlint.dryrun.catalog.tensorflow.tensor_values import as_tensor, result, static, tensor
from oomlint.dryrun.values.arrays import Array, Dim, Shape
from oomlint.dryrun.values.base import Const, Sequence, Unknown, Value, deref, tags_of
from oomlint.dryrun.values.dtypes import dtype_of, is_float
from oomlint.dryrun.values.shapes import (
    derived,
    number,
    refined,
    shape_of,
    stack,
    steps_of,
    total,
)

if TYPE_CHECKING:
    from oomlint.dryrun.interpreter import Run
    from oomlint.dryrun.trace import Call


def shaped(value: Value | None) -> Shape | None:
    """The shape of an operand, where it is known."""
    known = as_tensor(value)
    return known.shape if known is not None else None


def typed(value: Value | None) -> str | None:
    """The dtype of an operand, where it is known."""
    known = as_tensor(value)
    return known.dtype if known is not None else None


def wanted(call: Call, name: str = "dtype", default: str | None = None) -> str | None:
    """The dtype that an argument asks for; `default` where it is not given (or None is)."""
    value = call.value(name)
    if value is None or (isinstance(value, Const) and value.value is None):
        return default
    return dtype_of(value)


def axis_of(call: Call, default: int, name: str = "axis") -> int | None:
    """One axis given by number."""
    value = call.value(name)
    if value is None and call.argument("dim") is not None:
        value = call.value("dim")
    return default if value is None else number(value)


# --- from Python values -------------------------------------------------------------------------------


@function("tf.constant", parameters="value dtype shape name")
@function("tf.convert_to_tensor", parameters="value dtype dtype_hint name")
@function("tf.convert_to_tensor_v2", parameters="value dtype dtype_hint name")
def constant(call: Call, run: Run) -> Value:
    """A copy as a tensor."""
    value = call.value(call.signature[0])
    shape = shape_of(call.value("shape")) if call.argument("shape") is not None else shaped(value)
    return result(call, value, shape, wanted(call, default=typed(value)))


@function("tf.cast", parameters="x dtype name")
@function("tf.saturate_cast", parameters="value dtype name")
def cast(call: Call, run: Run) -> Value:
    """Another dtype. A Python number stays one: it may be a divisor or a count."""
    value, dtype = call.value(call.signature[0]), wanted(call)
    if (
        isinstance(value, Const)
        and isinstance(value.value, int | float)
        and not isinstance(value.value, bool)
    ):
        if dtype is not None and "float" in dtype:
            return Const(float(value.value), value.trail, value.soft)
        return value if isinstance(value.value, int) and dtype is not None else Unknown()
    made = result(call, value, shaped(value), dtype)
    pictures = "image" in made.tags or ("dataset" in made.tags and (made.rank or 0) >= 2)  # not its labels
    return still_colours(made, value) if pictures else made


def still_colours(made: Array, operand: Value | None) -> Array:
    """Floats made of 8-bit colours without scaling them keep a tag that says so."""
    eight_bit = typed(operand) == "uint8" or "tfds" in tags_of(operand or Unknown())
    return replace(made, tags=made.tags | {UNSCALED}) if eight_bit and is_float(made.dtype) else made


@function("tf.identity", "tf.stop_gradient", "tf.ensure_shape_", parameters="input name")
@function("tf.debugging.check_numerics", parameters="tensor message")
def identity(call: Call, run: Run) -> Value:
    """The same; of a variable, a copy as a tensor."""
    value = call.value(call.signature[0])
    if isinstance(value, Array) and value.library == "variable":
        return result(call, value, value.shape, value.dtype)
    return value if value is not None else Unknown()


@function("tf.ensure_shape", parameters="x shape name")
def ensure_shape(call: Call, run: Run) -> Value:
    """What was not known of the shape is now."""
    value = call.value("x")
    return result(call, value, refined(shaped(value), static(call.value("shape"))), typed(value))


@method(Array, "set_shape", parameters="shape")
def set_shape(call: Call, run: Run) -> Value:
    """As `ensure_shape`, in place: the name is bound to the better-known tensor."""
    value = deref(call.receiver) if call.receiver is not None else None
    if isinstance(value, Array) and call.path is not None and "." not in call.path:
        shape = refined(value.shape, static(call.value("shape")))
        origin = result(call, value, shape, value.dtype).origin
        run.state.bind(run.scope, call.path, replace(value, shape=shape, origin=origin))
    return Const(None)


# --- filled -------------------------------------------------------------------------------------------


@function("tf.zeros", "tf.ones", parameters="shape dtype name")
@function("tf.random.normal", "tf.random.truncated_normal", parameters="shape mean stddev dtype seed name")
@function(
    "tf.random.stateless_normal",
    "tf.random.stateless_truncated_normal",
    parameters="shape seed mean stddev dtype",
)
@function("tf.random.uniform", parameters="shape minval maxval dtype seed name")
@function("tf.random.stateless_uniform", parameters="shape seed minval maxval dtype")
@function("tf.random.poisson", "tf.random.gamma", parameters="shape lam dtype seed")
def filled(call: Call, run: Run) -> Value:
    """A tensor of that shape, float32 unless told otherwise."""
    return tensor(call, static(call.value("shape")), wanted(call, default="float32"))


@function("tf.zeros_like", "tf.ones_like", parameters="input dtype name")
def filled_like(call: Call, run: Run) -> Value:
    """A tensor like another."""
    value = call.value("input") or call.value("tensor")
    if as_tensor(value) is None:
        return Unknown(tags=tags_of(value) if value is not None else frozenset())
    return result(call, value, shaped(value), wanted(call, default=typed(value)))


@function("tf.fill", parameters="dims value name")
def fill(call: Call, run: Run) -> Value:
    """One value everywhere."""
    return tensor(call, static(call.value("dims")), typed(call.value("value")))


@function("tf.eye", parameters="num_rows num_columns batch_shape dtype name")
def eye(call: Call, run: Run) -> Value:
    """The identity matrix."""
    if call.argument("batch_shape") is not None:
        return tensor(call, None, wanted(call, default="float32"))
    rows = (shape_of(call.value("num_rows")) or (None,))[0]
    columns = (
        rows if call.argument("num_columns") is None else (shape_of(call.value("num_columns")) or (None,))[0]
    )
    return tensor(call, (rows, columns), wanted(call, default="float32"))


@function("tf.range", parameters="start limit delta dtype name")
def ranged(call: Call, run: Run) -> Value:
    """Numbers in order."""
    given = [
        deref(argument.value)
        for argument in call.arguments
        if argument.name in (None, "start", "limit", "delta")
    ]
    numbers = [number(value) for value in given]
    count: Dim = None
    if 1 <= len(numbers) <= 3 and None not in numbers and numbers[2:] != [0]:
        ends = [value for value in given if isinstance(value, Const)]
        count = derived(steps_of(range(*[part for part in numbers if part is not None])), *ends)
    dtype = typed(given[0]) if given else None
    return tensor(call, (count,), wanted(call, default=dtype))


@function("tf.linspace", parameters="start stop num name axis")
def linspace(call: Call, run: Run) -> Value:
    """`num` numbers."""
    return tensor(call, shape_of(call.value("num")), typed(call.value("start")))


@function("tf.one_hot", parameters="indices depth on_value off_value axis dtype name")
def one_hot(call: Call, run: Run) -> Value:
    """One more dimension, as long as there are classes."""
    indices = call.value("indices")
    depth = (shape_of(call.value("depth")) or (None,))[0]
    axis = axis_of(call, -1)
    shape = None if axis is None else stack(shaped(indices), depth, axis)
    dtype = wanted(call, default=typed(call.value("on_value")) or "float32")
    tags = frozenset() if indices is None else tags_of(indices)
    return result(call, indices, shape, dtype, tags | one_hot_tag(call))


# --- shapes as values ---------------------------------------------------------------------------------


BATCH = frozenset(["open-batch"])  # on the number of rows where it is open: `reshape` finds it again


@function("tf.shape", parameters="input out_type name")
def shape(call: Call, run: Run) -> Value:
    """The dimensions, one by one: what is known of them goes on into reshapes and arithmetic."""
    known = shaped(call.value(call.signature[0]))
    if known is None:
        return Sequence("tensor", element=Unknown(type="int"))
    tags = [BATCH if axis == 0 else frozenset[str]() for axis in range(len(known))]
    dims = [Unknown(type="int", tags=tag) if dim is None else dim for dim, tag in zip(known, tags)]
    return Sequence("tensor", items=list(dims))


@function("tf.size", parameters="input out_type name")
def size(call: Call, run: Run) -> Value:
    """The number of elements."""
    count = total(shaped(call.value("input")))
    return count if count is not None else tensor(call, (), "int32")


@function("tf.rank", parameters="input name")
def rank(call: Call, run: Run) -> Value:
    """The number of dimensions."""
    known = shaped(call.value("input"))
    return derived(len(known)) if known is not None else tensor(call, (), "int32")
