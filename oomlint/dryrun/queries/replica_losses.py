"""What is wrong with a loss that is differentiated on the replicas of a strategy: read backwards from its gradient.

Measured under a strategy of two replicas (tests/claims/probe_distribution.py): gradients of the replicas are summed,
so each term has to be divided by the global batch, or by the batch of the replica and the number of replicas.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Literal, NamedTuple

from oomlint.dryrun.queries import replicas
from oomlint.dryrun.queries.losses import ADD, ADD_ALL, DIVIDE, MEAN, MULTIPLY, SUM, THROUGH
from oomlint.dryrun.trace import Body, Call, Context, Trace
from oomlint.dryrun.values.arrays import Array
from oomlint.dryrun.values.base import Const, Opaque, Sequence, Value, deref, tags_of
from oomlint.dryrun.values.devices import ReplicaCount
from oomlint.dryrun.values.training import Gradients, Layer, Model

if TYPE_CHECKING:
    from oomlint.dryrun.values.training import Strategy

MAX_DEPTH = 32
MAX_TERMS = 16
POWERS = ("tf.square", "tf.math.square", "tf.abs", "tf.math.abs", "tf.pow", "tf.math.pow", "operator.pow",
          "keras.ops.square", "keras.ops.abs", "keras.backend.square", "keras.backend.abs")  # fmt: skip
SQUARE_ROOT = ("tf.sqrt", "tf.math.sqrt", "keras.ops.sqrt", "keras.backend.sqrt")


class Fault(NamedTuple):
    """One wrong term: what it is, the call or operator that makes it, and which of its operands."""

    kind: Literal["mean", "ratio", "penalty", "scaled twice", "averaged again", "raises"]
    call: Call
    operand: int = 0


def gradients_scaled(trace: Trace) -> set[int] | None:
    """The `gradient` calls (by id) whose result the script scales itself; None if it sums over the replicas itself."""
    if any(call.name.endswith(".all_reduce") for call in trace.calls_under("tf.distribute.")):
        return None
    for call in trace.calls("keras.Optimizer.apply_gradients"):
        if call.argument("experimental_aggregate_gradients") or call.argument("skip_gradients_aggregation"):
            return None
    found: set[int] = set()
    for call in trace.calls(*DIVIDE, *MULTIPLY):
        values = [deref(argument.value) for argument in call.arguments]
        if any(by_replicas(value) for value in values):
            found |= {id(value.made_by) for value in values if isinstance(value, Gradients)}
    return found


def of_train_step(context: Context) -> Strategy | None:
    """The strategy of a model whose own `train_step` this is."""
    for body in context.all(Body):
        owner = body.function.owner
        if body.function.name == "train_step" and owner is not None and owner.instance is not None:
            model = owner.instance.facet
            return replicas.of_scope(model.context) if isinstance(model, Model) else None
    return None


def faults(trace: Trace, value: Value, keras3: bool, depth: int = 0) -> Iterator[Fault]:
    """What is wrong with the terms that make up a loss."""
    value = deref(value)
    if (
        isinstance(value, Sequence) and depth <= MAX_DEPTH
    ):  # a tape adds up a list of targets, as `add_n` does
        for term in (value.items if value.items is not None else [value.any])[:MAX_TERMS]:
            yield from faults(trace, term, keras3, depth + 1)
        return
    call = trace.maker(value)
    if call is None or depth > MAX_DEPTH:
        return
    values = [deref(argument.value) for argument in call.arguments]
    inner: list[Value] = []
    if call.name in ADD_ALL:
        inner = values[:1] if "penalty" not in tags_of(value) else []
    elif call.name in ADD and len(values) >= 2:
        for index, operand in enumerate(values[:2]):
            if _is_penalty(trace, operand):
                yield Fault("penalty", call, index)
            else:
                inner.append(operand)
    elif call.name in DIVIDE and len(values) >= 2:
        if by_replicas(values[1]):
            if keras3 and _reduced_by_keras(trace, values[0]):
                yield Fault("scaled twice", call)
        elif isinstance(values[1], Const):
            inner = values[:1]
        elif all(_of_whole_sums(trace, operand) for operand in values[:2]):
            yield Fault("ratio", call)
    elif call.name in MULTIPLY and len(values) >= 2:
        plain = [item for item in values[:2] if not isinstance(item, Const)]
        inner = plain if len(plain) == 1 else []
    elif call.name == "tf.nn.compute_average_loss":
        if keras3 and values and _reduced_by_keras(trace, values[0]):
            yield Fault("averaged again", call)
    elif call.name in THROUGH:
        inner = values[:1] if call.name != "tf.nn.scale_regularization_loss" else []
    elif call.name in MEAN and over_the_batch(call):
        if values and _reduced_by_keras(trace, values[0]):
            inner = values[:1]
        else:
            yield Fault("mean", call)
    elif not keras3 and _reduced_by_keras(trace, value):
        yield Fault("raises", call)
    for operand in inner:
        yield from faults(trace, operand, keras3, depth + 1)


def means_of(trace: Trace, value: Value, depth: int = 0) -> list[tuple[Call, bool]] | None:
    """The means over the batch that a number is made of, and whether it is linear in each; None if of anything else.

    A ratio of sums over everything (Dice, Tversky, Jaccard) is one number of the replica's share, as a mean is.
    One value per sample beside a mean makes the sum one value per sample, which Keras averages and scales.
    """
    value = deref(value)
    call = trace.maker(value)
    if isinstance(value, Const):
        return []
    if call is None or depth > MAX_DEPTH:
        return None
    values = [deref(argument.value) for argument in call.arguments]
    if call.name in MEAN:
        return [(call, True)] if over_the_batch(call) else None
    if call.name in (*THROUGH, *SQUARE_ROOT) and values:
        inner = means_of(trace, values[0], depth + 1)
        return inner and [(mean, linear and call.name in THROUGH) for mean, linear in inner]
    if call.name in DIVIDE and all(_of_whole_sums(trace, operand) for operand in values[:2]):
        return [(call, False)]
    if call.name in ADD or call.name in MULTIPLY or call.name in DIVIDE:
        sides = [means_of(trace, operand, depth + 1) for operand in values[:2]]
        plain = isinstance(values[-1], Const) and not by_replicas(values[-1])
        if None in sides or (call.name in DIVIDE and not plain) or (call.name in MULTIPLY and all(sides)):
            return None
        return [found for side in sides for found in side or ()]
    return None


def _of_whole_sums(trace: Trace, value: Value, depth: int = 0) -> bool:
    """Whether a number is made of sums over all axes, and numbers beside them: `2 * sum(a * b) + 1`."""
    call = trace.maker(deref(value))
    if call is None or depth > MAX_DEPTH:
        return False
    if call.name in SUM or call.name == "keras.ops.sum":
        given = call.value("axis")
        return given is None or given == Const(None)
    if call.name in ADD or call.name in MULTIPLY:
        sides = [deref(argument.value) for argument in call.arguments[:2]]
        inner = [side for side in sides if not isinstance(side, Const)]
        return bool(inner) and all(_of_whole_sums(trace, side, depth + 1) for side in inner)
    if call.name not in THROUGH or not call.arguments:
        return False
    return _of_whole_sums(trace, call.arguments[0].value, depth + 1)


def by_replicas(value: Value) -> bool:
    """A divisor that has to do with the number of replicas (the number, or a global batch)."""
    trail = value.trail if isinstance(value, Const) else ()
    return (
        isinstance(value, ReplicaCount)
        or "replicas" in tags_of(value)
        or any("num_replicas" in item.text for item in trail)
    )


def _reduced_by_keras(trace: Trace, value: Value) -> bool:
    """The result of a Keras loss object with the default reduction."""
    call = trace.maker(value)
    receiver = deref(call.receiver) if call is not None and call.receiver is not None else None
    if not isinstance(receiver, Opaque) or not receiver.type.startswith("keras.losses."):
        return False
    chosen = receiver.made_by.argument("reduction") if receiver.made_by is not None else None
    return chosen is None or chosen.const() in ("sum_over_batch_size", "mean", "auto")


def _is_penalty(trace: Trace, value: Value, depth: int = 0) -> bool:
    """`sum(model.losses)` or the sum of the weights' norms, as it is or times a number."""
    value = deref(value)
    call = trace.maker(value)
    if call is None or depth > MAX_DEPTH:
        return "penalty" in tags_of(value)
    values = [deref(argument.value) for argument in call.arguments]
    if call.name in MULTIPLY and len(values) >= 2:
        factors = [item for item in values[:2] if not isinstance(item, Const) or by_replicas(item)]
        return len(factors) == 1 and _is_penalty(trace, factors[0], depth + 1)
    if call.name in ADD_ALL and "penalty" in tags_of(value):
        return True
    if not values or (call.name not in ADD_ALL and call.name not in SUM):
        return False
    match values[0]:
        case Sequence(items=[_, *_] as terms):
            return all(_is_penalty(trace, term, depth + 1) for term in terms[:MAX_TERMS])
        case Sequence(items=None, any=term):
            return _is_penalty(trace, term, depth + 1)
    return call.name in SUM and _of_weights(trace, values[0])


def _of_weights(trace: Trace, value: Value) -> bool:
    """A model's weight, or the squares or absolute values of one."""
    call = trace.maker(value)
    if call is not None and call.name in POWERS and call.arguments:
        value = deref(call.arguments[0].value)
    return (
        isinstance(value, Array) and value.library == "variable" and isinstance(value.producer, Model | Layer)
    )


def over_the_batch(call: Call) -> bool:
    """A mean over all axes, or over the first."""
    given = call.value("axis")
    if call.receiver is not None and call.name.startswith("array."):
        return False
    match given:
        case None | Const(value=None | 0):
            operand = deref(call.arguments[0].value) if call.arguments else None
            return not isinstance(operand, Sequence)
        case Sequence(items=list(items)):
            return any(isinstance(item, Const) and item.value == 0 for item in map(deref, items))
    return False
