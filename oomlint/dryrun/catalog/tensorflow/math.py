"""TensorFlow: arithmetic, reductions and comparisons as functions."""

from __future__ import annotations

from typing import TYPE_CHECKING

from oomlint.dryrun import operators
from oomlint.dryrun.catalog.arrays.operators import matmul
from oomlint.dryrun.catalog.registry import function
from oomlint.dryrun.catalog.tensorflow.tensor_values import as_tensor, result, tensor
from oomlint.dryrun.catalog.tensorflow.tensors import axis_of, shaped, typed, wanted
from oomlint.dryrun.trace import Branch
from oomlint.dryrun.values.arrays import Array, Dim
from oomlint.dryrun.values.base import Const, Sequence, Unknown, Value, deref, join, tags_of
from oomlint.dryrun.values.shapes import (
    axes_of,
    broadcast,
    derived,
    einsum_shape,
    number,
    reduce,
    stack,
    transpose,
)

if TYPE_CHECKING:
    from oomlint.dryrun.interpreter import Run
    from oomlint.dryrun.trace import Call


def names(text: str) -> list[str]:
    """Short names under every package they are exported from."""
    return [f"{package}.{name}" for name in text.split() for package in ("tf", "tf.math")]


_ELEMENTWISE = """square sqrt rsqrt exp expm1 log log1p sin cos tan asin acos atan sinh cosh tanh sigmoid round floor
 ceil rint sign negative reciprocal erf lgamma digamma softplus softsign cumsum cumprod
 clip_by_norm"""
_ACTIVATIONS = """relu relu6 elu selu gelu silu swish leaky_relu softmax log_softmax sigmoid tanh softplus softsign
 l2_normalize dropout crelu_"""


@function(*names(_ELEMENTWISE), *(f"tf.nn.{name}" for name in _ACTIVATIONS.split()), parameters="x")
@function("tf.clip_by_value", parameters="t clip_value_min clip_value_max name")
@function(
    "tf.reverse", "tf.sort", "tf.roll", "tf.random.shuffle", "tf.math.l2_normalize", "tf.linalg.l2_normalize"
)
@function("tf.linalg.inv", "tf.linalg.cholesky", "tf.nn.local_response_normalization")
def elementwise(call: Call, run: Run) -> Value:
    """Shape and dtype stay."""
    value = deref(call.arguments[0].value) if call.arguments else None
    if as_tensor(value) is None:
        return Unknown(tags=tags_of(value) if value is not None else frozenset())
    return result(call, value, shaped(value), typed(value))


@function("tf.abs", "tf.math.abs", parameters="x name")
@function("tf.math.real", "tf.math.imag", "tf.math.angle", parameters="input name")
def magnitude(call: Call, run: Run) -> Value:
    """Real where complex numbers come in."""
    value = call.value(call.signature[0])
    dtype = typed(value)
    return result(
        call, value, shaped(value), {"complex64": "float32", "complex128": "float64"}.get(dtype or "", dtype)
    )


@function(*names("is_nan is_inf is_finite logical_not"), parameters="x name")
def tested(call: Call, run: Run) -> Value:
    """True or false for each."""
    value = call.value("x")
    return result(call, value, shaped(value), "bool")


_OPERATORS = {
    "add": "add", "subtract": "sub", "multiply": "mul", "divide": "truediv", "truediv": "truediv",
    "floordiv": "floordiv", "mod": "mod", "floormod": "mod", "pow": "pow", "equal": "eq", "not_equal": "ne",
    "less": "lt", "less_equal": "le", "greater": "gt", "greater_equal": "ge",
}  # fmt: skip


@function(*names(" ".join(_OPERATORS)), parameters="x y name")
def operated(call: Call, run: Run) -> Value:
    """An operator by another name."""
    if len(call.arguments) < 2:
        return Unknown()
    left, right = (deref(argument.value) for argument in call.arguments[:2])
    one, two = (as_tensor(side) or side for side in (left, right))
    paths = (call.arguments[0].path, call.arguments[1].path)
    name = _OPERATORS[call.name.rpartition(".")[2]]
    if isinstance(left, Const) and isinstance(right, Const):
        one, two = left, right
    return operators.binary(run, name, one, two, call.node, paths)


@function(
    *names("maximum minimum squared_difference divide_no_nan multiply_no_nan atan2 logical_and logical_or")
)
def paired(call: Call, run: Run) -> Value:
    """Two operands, broadcast."""
    if len(call.arguments) < 2:
        return Unknown()
    left, right = (deref(argument.value) for argument in call.arguments[:2])
    lead = left if isinstance(left, Array) else right
    return result(
        call, lead, broadcast(shaped(left), shaped(right)), typed(lead), tags_of(left) | tags_of(right)
    )


@function("tf.add_n", "tf.math.add_n", parameters="inputs name")
def summed(call: Call, run: Run) -> Value:
    """The sum of tensors of one shape."""
    inner = run.iterate(call.arguments[0].value) if call.arguments else None
    first = None if inner is None else inner.items[0] if inner.items else inner.element
    return result(call, first, shaped(first), typed(first))


@function(
    *names(
        "reduce_mean reduce_sum reduce_max reduce_min reduce_prod reduce_std reduce_variance reduce_logsumexp"
    ),
    *names("reduce_any reduce_all reduce_euclidean_norm"),
    parameters="input_tensor axis keepdims name",
)
@function("tf.norm", "tf.linalg.norm", parameters="tensor ord axis keepdims name")
@function(*names("count_nonzero"), parameters="input axis keepdims dtype")
def reduced(call: Call, run: Run) -> Value:
    """Without the dimensions that are reduced; all of them unless told which."""
    value, given = call.value(call.signature[0]), call.value("axis")
    keep = call.const("keepdims", call.const("keep_dims", False)) is True
    shape = shaped(value)
    dtype = "int64" if call.name.endswith("count_nonzero") else typed(value)
    if given is None or (isinstance(given, Const) and given.value is None):
        axes = None if shape is None else tuple(range(len(shape)))
        return result(
            call, value, reduce(shape, axes, keep) if shape is not None else None if keep else (), dtype
        )
    return result(call, value, reduce(shape, axes_of(given), keep), dtype)


@function(*names("argmax argmin"), parameters="input axis output_type name")
@function("tf.argsort", parameters="values axis direction stable name")
def arg(call: Call, run: Run) -> Value:
    """Places: int64, or int32 from argsort."""
    value = call.value(call.signature[0])
    if call.name == "tf.argsort":
        return result(call, value, shaped(value), "int32")
    axis = axis_of(call, 0)
    shape = None if axis is None else reduce(shaped(value), (axis,))
    return result(call, value, shape, wanted(call, "output_type", "int64"))


@function("tf.where", parameters="condition x y name")
def where(call: Call, run: Run) -> Value:
    """One or the other; without them the places where it holds."""
    condition, one, two = (call.value(name) for name in ("condition", "x", "y"))
    if one is None or two is None:
        shape = shaped(condition)
        return tensor(call, None if shape is None else (None, derived(len(shape))), "int64")
    lead = one if isinstance(one, Array) else two
    shape = broadcast(shaped(condition), shaped(one), shaped(two))
    return result(call, lead, shape, typed(lead), tags_of(one) | tags_of(two))


@function("tf.matmul", "tf.linalg.matmul", parameters="a b transpose_a transpose_b")
def multiplied(call: Call, run: Run) -> Value:
    """A matrix product, over the last two dimensions."""
    one, two = call.value("a"), call.value("b")
    shapes = []
    for value, flag in ((one, "transpose_a"), (two, "transpose_b")):
        shape = shaped(value)
        if shape is not None and len(shape) >= 2 and call.const(flag, False) is True:
            rank = len(shape)
            shape = transpose(shape, (*range(rank - 2), rank - 1, rank - 2))
        shapes.append(shape)
    lead = one if isinstance(one, Array) else two
    return result(
        call, lead, matmul(*shapes), typed(lead), tags_of(one or Unknown()) | tags_of(two or Unknown())
    )


@function("tf.einsum", "tf.linalg.einsum", parameters="equation")
def einsum(call: Call, run: Run) -> Value:
    """Products by letters."""
    operands = [deref(argument.value) for argument in call.arguments[1:] if argument.name is None]
    shape = einsum_shape(call.const("equation"), [shaped(operand) for operand in operands])
    lead = next((operand for operand in operands if isinstance(operand, Array)), None)
    tags = frozenset().union(*map(tags_of, operands))
    return Unknown(tags=tags) if lead is None else result(call, lead, shape, typed(lead), tags)


@function("tf.cond", "tf.case", parameters="pred true_fn false_fn")
def cond(call: Call, run: Run) -> Value:
    """Either way, each under its condition as in an `if`."""
    test = call.argument("pred")
    results = []
    for name in ("true_fn", "false_fn"):
        way = call.value(name)
        if way is None or test is None:
            continue
        node = test.arg.value if test.arg is not None else None
        branch = Branch(call.place, test.value, name == "true_fn", node)
        with run.inside(run.context.inside(branch)):
            results.append(run.call(way, [], call))
    return join(results[0], results[1]) if len(results) == 2 else Unknown()


@function("tf.map_fn", "tf.vectorized_map", parameters="fn elems dtype")
def map_fn(call: Call, run: Run) -> Value:
    """The function on each row, its results stacked."""
    mapped, rows = call.value("fn"), call.value("elems")
    if mapped is None or rows is None:
        return Unknown()
    inner = run.iterate(rows)
    row = inner.element if inner.element is not None else inner.items[0] if inner.items else Unknown()
    made = as_tensor(run.call(mapped, [row], call))
    if made is None:
        return Unknown(tags=tags_of(rows))
    return result(call, made, stack(made.shape, inner.count, 0), typed(made))


@function("tf.meshgrid", "tf.unique", "tf.nn.moments", "tf.nn.top_k", "tf.math.top_k")
def several(call: Call, run: Run) -> Value:
    """Two tensors or more of open shape."""
    value = deref(call.arguments[0].value) if call.arguments else None
    return Sequence("tuple", element=result(call, value, None, None))


@function("tf.signal.stft", parameters="signals frame_length frame_step fft_length window_fn pad_end name")
def stft(call: Call, run: Run) -> Value:
    """Frames by frequencies."""
    signals = call.value("signals")
    shape, length, step = (
        shaped(signals),
        number(call.value("frame_length")),
        number(call.value("frame_step")),
    )
    if shape is None or not shape or length is None or not step:
        return result(call, signals, None, "complex64")
    samples, given = number(shape[-1]), number(call.value("fft_length"))
    points = given if given is not None else 1 << (length - 1).bit_length()
    frames: Dim = None
    if samples is not None and samples >= length and call.const("pad_end", False) is False:
        frames = derived(1 + (samples - length) // step, shape[-1])
    counted = (*shape[:-1], frames, Const(points // 2 + 1))
    return result(call, signals, counted, "complex64")


@function("tf.signal.linear_to_mel_weight_matrix", parameters="num_mel_bins num_spectrogram_bins")
def mel_weights(call: Call, run: Run) -> Value:
    """A matrix from frequencies to mel bands."""
    dims = [call.value("num_spectrogram_bins"), call.value("num_mel_bins")]
    return tensor(call, tuple(dim if isinstance(dim, Const) else None for dim in dims), "float32")


@function("tf.tensordot", parameters="a b axes name")
def tensordot(call: Call, run: Run) -> Value:
    """The usual case: the last dimension with the first one of a matrix."""
    one, two, axes = call.value("a"), call.value("b"), call.const("axes")
    left, right = shaped(one), shaped(two)
    if left is None or right is None or axes != 1 or not left or not right:
        return result(call, one, None, typed(one))
    return result(call, one, (*left[:-1], *right[1:]), typed(one))
