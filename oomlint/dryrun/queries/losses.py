"""How a loss was computed: read backwards from the value whose gradient is taken.

What divides a loss decides whether a training loop accumulates gradients, averages tasks or normalises a sum
over the batch, so the way from the first reduction to the gradient is kept: divisions, factors, terms.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from oomlint.dryrun.queries.inverses import inverse_of
from oomlint.dryrun.values.base import Const, Opaque, Sequence, Unknown, Value, deref
from oomlint.dryrun.values.training import Division, Loss

if TYPE_CHECKING:
    from oomlint.dryrun.trace import Call, Trace

DIVIDE = frozenset(
    [
        "operator.truediv",
        "operator.floordiv",
        "tf.divide",
        "tf.truediv",
        "tf.realdiv",
        "tf.math.divide",
        "tf.math.truediv",
        "tf.math.divide_no_nan",
        "tf.math.xdivy",
        "keras.ops.divide",
        "keras.ops.true_divide",
        "numpy.divide",
    ]
)
MULTIPLY = frozenset(
    [
        "operator.mul",
        "tf.multiply",
        "tf.math.multiply",
        "tf.scalar_mul",
        "tf.math.scalar_mul",
        "keras.ops.multiply",
        "numpy.multiply",
    ]
)
ADD = frozenset(
    [
        "operator.add",
        "operator.sub",
        "tf.add",
        "tf.math.add",
        "tf.subtract",
        "numpy.add",
        "keras.ops.add",
        "keras.ops.subtract",
    ]
)
ADD_ALL = frozenset(["tf.add_n", "tf.math.add_n", "builtins.sum", "keras.ops.sum", "tf.math.accumulate_n"])
MEAN = frozenset(
    [
        "tf.reduce_mean",
        "tf.math.reduce_mean",
        "keras.ops.mean",
        "keras.backend.mean",
        "array.mean",
        "numpy.mean",
        "tf.losses.mean_squared_error",
        "tf.compat.v1.losses.mean_squared_error",
    ]
)
SUM = frozenset(
    ["tf.reduce_sum", "tf.math.reduce_sum", "keras.backend.sum", "array.sum", "numpy.sum", "tf.nn.l2_loss"]
)
# One value in, the same value out, as far as its size and meaning as a loss go.
THROUGH = frozenset(
    [
        "tf.cast",
        "tf.identity",
        "tf.squeeze",
        "tf.reshape",
        "tf.convert_to_tensor",
        "tf.stop_gradient",
        "tf.debugging.check_numerics",
        "tf.constant",
        "keras.ops.cast",
        "keras.ops.squeeze",
        "keras.ops.convert_to_tensor",
        "keras.Optimizer.scale_loss",
        "keras.Optimizer.get_scaled_loss",
        "array.astype",
        "builtins.float",
        "builtins.int",
        "operator.neg",
        "operator.pos",
        "tf.negative",
        "tf.nn.scale_regularization_loss",
    ]
)
MAX_DEPTH = 64


@dataclass(slots=True)
class _Reading:
    trace: Trace
    divisions: list[Division] = field(default_factory=list)
    factors: list[Value] = field(default_factory=list)
    reduction: str = ""
    terms: int | None = 1
    seen: set[int] = field(default_factory=set)


def loss_of(value: Value, trace: Trace) -> Loss:
    """What is known about the way a loss was computed."""
    reading = _Reading(trace)
    _read(reading, value, 0)
    return Loss(tuple(reading.divisions), tuple(reading.factors), reading.reduction, reading.terms)


def unwrapped(value: Value, trace: Trace) -> Value:
    """A number behind casts (`tf.cast(N, tf.float32)`, `float(N)`)."""
    for _ in range(4):
        value = deref(value)
        call = trace.maker(value)
        if isinstance(value, Const) or call is None or call.name not in THROUGH or not call.arguments:
            break
        value = call.arguments[0].value
    return deref(value)


def _read(reading: _Reading, value: Value, depth: int) -> None:
    value = deref(value)
    if isinstance(value, Sequence):
        _add(reading, value)
        return
    call = reading.trace.maker(value)
    if call is None or id(call) in reading.seen or depth > MAX_DEPTH:
        return
    reading.seen.add(id(call))
    name, values = call.name, [deref(argument.value) for argument in call.arguments]
    if name in DIVIDE and len(values) >= 2:
        reading.divisions.append(Division(values[1], call, of_loss=True))
        _read(reading, values[0], depth + 1)
    elif name in MULTIPLY and len(values) >= 2:
        factor, rest = _factor(values[0], values[1])
        inverse = inverse_of(call)
        if inverse is not None:
            reading.divisions.append(Division(inverse, call, of_loss=True))
        else:
            reading.factors.append(factor)
        _read(reading, rest, depth + 1)
    elif name in ADD and len(values) >= 2:
        _sum(reading, call, values[0], values[1], depth)
    elif name in ADD_ALL and values:
        _read(reading, values[0], depth + 1) if not isinstance(values[0], Sequence) else _add(
            reading, values[0]
        )
    elif name in THROUGH and (values or call.receiver is not None):
        _read(reading, values[0] if values else call.receiver or Unknown(), depth + 1)
    else:
        reading.reduction = reading.reduction or _reduction(call, values)


def _factor(left: Value, right: Value) -> tuple[Value, Value]:
    """Which operand of a product is the factor: the number, else the right one."""
    return (left, right) if isinstance(left, Const) else (right, left)


def _sum(reading: _Reading, call: Call, left: Value, right: Value, depth: int) -> None:
    for one, other in ((left, right), (right, left)):
        if isinstance(one, Const):
            # `total = 0.0` before a loop and `total += loss` in it: as many terms as the loop has rounds.
            if one.value == 0 and any(loop.kind != "comprehension" for loop in call.context.loops()):
                reading.terms = None
            _read(reading, other, depth + 1)
            return
    sides = []
    for operand in (left, right):
        side = _Reading(reading.trace, seen=reading.seen)
        _read(side, operand, depth + 1)
        sides.append(side)
    weighted = [side for side in sides if side.factors]
    for side in sides:
        if len(weighted) == 1 and side is weighted[0]:
            continue  # a penalty beside the loss (`loss + 1e-4 * l2`) is no second loss
        reading.terms = None if reading.terms is None or side.terms is None else reading.terms + side.terms
        reading.reduction = reading.reduction or side.reduction
    if reading.terms is not None:
        reading.terms -= 1  # the sum itself was counted as one
    if len(weighted) == 1:
        return
    # A division of one term weighs it (`ce + kl / 10`); only one that all terms have divides the loss.
    shared = {id(item.by) for item in sides[0].divisions} & {id(item.by) for item in sides[1].divisions}
    reading.divisions.extend(item for side in sides for item in side.divisions if id(item.by) in shared)
    reading.factors.extend(item for side in sides for item in side.factors)


def _add(reading: _Reading, losses: Sequence) -> None:
    """The sum of a list of losses (a tape adds up the targets of a list, too)."""
    length = losses.length
    count = length.value if length is not None and isinstance(length.value, int) else None
    reading.terms = None if count is None or reading.terms is None else reading.terms + max(0, count - 1)
    for item in (losses.items or [losses.any])[:16]:
        _read(reading, item, 1)


def _reduction(call: Call, values: list[Value]) -> str:
    name = call.name
    receiver = deref(call.receiver) if call.receiver is not None else None
    if name in MEAN:
        # `tf.reduce_mean(tf.stack(losses))`, `tf.reduce_mean([a, b])` are means of losses: a mean all the same
        return "mean"
    if name in SUM:
        return "sum"
    if name == "tf.nn.compute_average_loss":
        return "average"
    if isinstance(receiver, Opaque) and receiver.type.startswith("keras.losses."):
        chosen = receiver.made_by.argument("reduction") if receiver.made_by is not None else None
        if chosen is None:
            return "mean"
        text = str(
            getattr(deref(chosen.value), "name", chosen.const())
        ).lower()  # tf.losses.Reduction.SUM, "sum"
        return text.rpartition(".")[2] if text.endswith(("sum", "none")) else "mean"
    if name.startswith(("keras.losses.", "tf.nn.", "keras.metrics.")) and values:
        return "none"
    return ""
