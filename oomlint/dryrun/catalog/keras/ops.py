"""`keras.ops`, `keras.backend` and `keras.activations`: NumPy's functions on Keras tensors, and a few of their own."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from oomlint.dryrun.catalog.keras.apply import DATA_FORMAT
from oomlint.dryrun.catalog.keras.dims import split, unite
from oomlint.dryrun.catalog.keras.graph import tensors
from oomlint.dryrun.catalog.registry import function, prefix, signature
from oomlint.dryrun.values.arrays import Array, Shape
from oomlint.dryrun.values.base import NONE, Const, Sequence, Unknown, Value, deref
from oomlint.dryrun.values.dtypes import dtype_of
from oomlint.dryrun.values.shapes import reshape, shape_of

if TYPE_CHECKING:
    from oomlint.dryrun.interpreter import Run
    from oomlint.dryrun.trace import Call

# The older backend's names for NumPy's functions.
RENAMED = {"permute_dimensions": "transpose", "dot": "matmul", "flatten": "ravel", "pow": "power"}
# One number for each number: the shape stays.
ELEMENTWISE = frozenset(
    """relu relu6 leaky_relu elu selu gelu silu swish softplus softsign sigmoid hard_sigmoid log_sigmoid tanh softmax
    log_softmax exponential linear mish celu glu_ hard_tanh hard_silu squareplus cast stop_gradient clip normalize
    l2_normalize identity dropout convert_to_tensor rsqrt erf logical_not nan_to_num round sign""".split()
)


@prefix("keras.ops.", "keras.backend.", "keras.activations.")
def operation(call: Call, run: Run) -> Value:
    """A function of a tensor."""
    name = call.name.rpartition(".")[2]
    first = deref(call.arguments[0].value) if call.arguments else Unknown()
    if name in ELEMENTWISE:
        if not isinstance(first, Array):
            return Unknown()
        library = "tensor" if first.library == "numpy" else first.library
        wanted = (
            dtype_of(call.arguments[1].value) if name == "cast" and len(call.arguments) > 1 else first.dtype
        )
        return replace(first, library=library, dtype=wanted)
    if name == "reshape" and isinstance(first, Array) and (kept := _batch_kept(first, call)) is not None:
        return replace(first, shape=kept)
    handler = run.catalog.functions.get(f"numpy.{RENAMED.get(name, name)}")
    if handler is None or not call.name.startswith(("keras.ops.", "keras.backend.")):
        return Unknown()
    numpy = f"numpy.{RENAMED.get(name, name)}"
    made = replace(call, name=numpy, signature=run.catalog.signatures.get(numpy, ()))
    if name == "reshape" and (shape := call.value("newshape")) is not None:
        made.arguments = (*call.arguments[:1], replace(call.arguments[-1], value=shape, name="shape"))
    operands = [item for argument in call.arguments for item in tensors(argument.value)]
    return as_tensor(handler(made, run), operands)


def _batch_kept(value: Array, call: Call) -> Shape | None:
    """The shape after a reshape whose target begins with the open batch, as `ops.shape(x)[0]` gives it."""
    target = call.value("shape") or call.value("newshape")
    items = target.items if isinstance(target, Sequence) else None
    if not items or not value.shape or value.shape[0] is not None or deref(items[0]) != NONE:
        return None
    rest = reshape(value.shape[1:], shape_of(Sequence("tuple", items=list(items[1:]))))
    return None if rest is None else (None, *rest)


def as_tensor(value: Value, operands: list[Value]) -> Value:
    """What a NumPy function gives, as Keras gives it: a tensor, symbolic if an operand is, of single precision."""
    if isinstance(value, Sequence) and value.items is not None:
        return Sequence(value.kind, items=[as_tensor(item, operands) for item in value.items])
    if not isinstance(value, Array):
        return value
    sources = [item for item in operands if isinstance(item, Array) and item.library == "keras"]
    dtype = "float32" if value.dtype == "float64" else value.dtype
    if not sources:
        return replace(value, library="tensor", dtype=dtype, producer=None)
    return replace(value, library="keras", dtype=dtype, producer=Sequence("tuple", items=list(sources)))


signature("keras.ops.reshape keras.backend.reshape", "x newshape")


@function("keras.ops.shape", "keras.backend.shape", "keras.backend.int_shape", parameters="x")
def shape(call: Call, run: Run) -> Value:
    """The shape as a tuple."""
    first = call.value("x")
    return run.attribute(first, "shape", call.place) if isinstance(first, Array) else Unknown()


@function("keras.ops.convert_to_numpy", "keras.backend.get_value", "keras.backend.eval", parameters="x")
def to_numpy(call: Call, run: Run) -> Value:
    """On the host."""
    first = call.value("x")
    return replace(first, library="numpy", producer=None) if isinstance(first, Array) else Unknown()


@function("keras.ops.image.resize", parameters="images size interpolation")
def resize(call: Call, run: Run) -> Value:
    """Height and width as asked for; the dtype stays."""
    images, size = call.value("images"), shape_of(call.value("size"))
    if not isinstance(images, Array) or size is None or len(size) != 2 or images.shape is None:
        return Unknown()
    first = call.const("data_format", "channels_last") == "channels_first"
    padded = images.shape if len(images.shape) == 4 else (None, *images.shape)
    parts = split(padded, first)
    if parts is None:
        return replace(images, shape=None)
    whole = unite(parts[0], size, parts[2], first)
    return replace(images, shape=whole if len(images.shape) == 4 else whole[1:])


@function(
    "keras.random.normal",
    "keras.random.uniform",
    "keras.random.truncated_normal",
    "keras.backend.random_normal",
    "keras.backend.random_uniform",
    "keras.backend.random_bernoulli",
    "keras.backend.random_binomial",
    parameters="shape",
)
def random(call: Call, run: Run) -> Value:
    """A tensor of that shape."""
    kind = call.const("dtype")
    return Array("tensor", shape_of(call.value("shape")), kind if isinstance(kind, str) else "float32")


@function("keras.ops.unstack", parameters="x num axis")
def unstack(call: Call, run: Run) -> Value:
    """A list of parts."""
    return Sequence("list", element=Array("tensor"))


@function("keras.backend.floatx", "keras.config.floatx")
def floatx(call: Call, run: Run) -> Value:
    """Single precision unless the configuration says otherwise."""
    return Const("float32").softened()


@function("keras.backend.image_data_format", "keras.config.image_data_format")
def image_data_format(call: Call, run: Run) -> Value:
    """Channels last unless the script says otherwise: a file in the user's home hardly ever does any more."""
    order = run.state.get(DATA_FORMAT)
    return Const("channels_last") if order is None else order


signature("keras.backend.set_floatx keras.config.set_floatx", "value")
