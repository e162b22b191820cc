"""What the rules on gradient accumulation share: updates, the divisors on the way to them, optimizers."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

import libcst as cst

from oomlint.dryrun.catalog.tensorflow.gradients import gradients_of
from oomlint.dryrun.queries.inverses import purpose_of
from oomlint.dryrun.queries.losses import MULTIPLY, unwrapped
from oomlint.dryrun.trace import Branch
from oomlint.dryrun.values.arrays import Array
from oomlint.dryrun.values.base import Const, Unknown, Value, deref, tags_of
from oomlint.dryrun.values.training import Division, Gradients, Loss, Optimizer
from oomlint.findings.model import Evidence

if TYPE_CHECKING:
    from oomlint.dryrun.trace import Argument, Call, Context, Trace

APPLY = ("keras.Optimizer.apply_gradients", "keras.Optimizer.apply")
# These divide gradients by their own size, so a constant factor drops out.
SCALE_FREE = frozenset("Adam AdamW Nadam RMSprop Lion Adamax".split())
CLIPPING = ("clipnorm", "clipvalue", "global_clipnorm")

BATCHING = (
    "tf.data.Dataset.batch",
    "tf.data.Dataset.padded_batch",
    "keras.Model.fit",
    "keras.utils.image_dataset_from_directory",
)

_ACCUMULATION = re.compile(r"accum|micro", re.IGNORECASE)
# Words that say what else a divisor is: replicas, a batch, a count of examples, a scale or weight of the loss.
_OTHERWISE = frozenset(
    """batch batchsize bs replica world worker gpu ngpu device host node rank core size scale norm temp temperature tau
    sigma std var variance weight alpha beta gamma lam lambda task head loss losse len length sample example total mask
    seq token pixel dim width height area freq eps epsilon denom denominator critic clas class tower shard agent env
    episode horizon time timestep frame t""".split()
)
_CASTS = frozenset("int float cast constant convert_to_tensor float16 float32 float64".split())
_WORD = re.compile(r"[A-Z]?[a-z]+|[A-Z]+(?![a-z])")


@dataclass(frozen=True, slots=True)
class Update:
    """One update: the call that applies, the argument with the gradients, and what they are."""

    call: Call
    argument: Argument
    gradients: list[Value]

    @property
    def optimizer(self) -> Optimizer | None:
        """The optimizer, or the one inside a LossScaleOptimizer."""
        optimizer = deref(self.call.receiver) if self.call.receiver is not None else None
        if isinstance(optimizer, Optimizer) and optimizer.inner is not None:
            inner = deref(optimizer.inner)
            return inner if isinstance(inner, Optimizer) else None
        return optimizer if isinstance(optimizer, Optimizer) else None


def updates(trace: Trace) -> Iterator[Update]:
    """Every update of the run, each place once (a loop that was unrolled passes it many times)."""
    seen: set[int] = set()
    for call in trace.calls(*APPLY, "keras.Optimizer.minimize"):
        if not call.arguments or id(call.node) in seen:
            continue
        minimized = isinstance(deref(call.result), Gradients)
        found = [deref(call.result)] if minimized else gradients_of(call.arguments[0].value)
        if any(isinstance(value, Gradients | Array) for value in found):
            seen.add(id(call.node))
            yield Update(call, call.arguments[0], found)


def conditional(inner: Context, outer: Context) -> bool:
    """Whether something happens under a condition that the other does not stand under."""
    around = {id(frame) for frame in outer.frames()}
    return any(isinstance(frame, Branch) and id(frame) not in around for frame in inner.frames())


def accumulation_divisor(
    division: Division, gradients: Gradients, trace: Trace, sizes: list[Const]
) -> Const | Unknown | None:
    """The number of accumulation steps that a division is by; None if it is, or may be, something else.

    What decides is where the divisor comes from: a constant or a plain parameter that is no batch size, number
    of replicas, number of losses or scale of the loss.
    """
    value = unwrapped(division.by, trace)
    loss = gradients.loss or Loss()
    if not isinstance(value, Const | Unknown) or tags_of(value) or not _plain(division):
        return None
    names = _names(value, division)
    accumulates = any(_ACCUMULATION.search(name) for name in names)
    if isinstance(value, Unknown) and trace.maker(value) is not None and not accumulates:
        return None
    if not accumulates and any(_means_otherwise(name) for name in names):
        return None
    if any(_same(value, unwrapped(factor, trace)) for factor in (*loss.factors, *gradients.factors)):
        return None  # scaled up before, scaled down again
    if isinstance(value, Const):
        number = value.value
        if (
            isinstance(number, bool)
            or not isinstance(number, int | float)
            or number <= 1
            or number != int(number)
        ):
            return None
        if loss.terms == number or (division.of_loss and isinstance(number, float) and not accumulates):
            return None
        if division.of_loss and not value.trail and (number == 2 or loss.factors or len(loss.divisions) > 1):
            return None  # half a squared error, or a weight that the text writes out
        if not accumulates and _is_batch(value, sizes):
            return None
    if loss.terms is None or (loss.reduction in ("sum", "none") and not accumulates):
        return None
    return value


def _plain(division: Division) -> bool:
    """Whether the text divides by a name, a number or a cast of one (not by a length or another computation)."""
    divisor = _divisor(division)  # None: a product with 1 / N
    return divisor is None or isinstance(
        divisor, cst.Name | cst.Attribute | cst.Integer | cst.Float | cst.Subscript
    )


def _divisor(division: Division) -> cst.CSTNode | None:
    """What the text divides by, without a cast around it."""
    if division.call.name in MULTIPLY:
        return None  # `tf.multiply(gradient, 1 / steps)`
    match division.call.node:
        case cst.BinaryOperation(operator=cst.Divide() | cst.FloorDivide(), right=divisor):
            pass
        case cst.AugAssign(value=divisor) | cst.Call(args=[_, cst.Arg(value=divisor), *_]):
            pass
        case _:
            return None
    match divisor:
        case cst.Call(
            func=cst.Name(value=name) | cst.Attribute(attr=cst.Name(value=name)), args=[first, *_]
        ) if name in _CASTS:
            return first.value
    return divisor


def _means_otherwise(name: str) -> bool:
    """Whether a name says that it counts or scales something else (`global_batch_size`, `NUM_GPUS`)."""
    words = [word.lower() for word in _WORD.findall(name)]
    return any(word in _OTHERWISE or (word.endswith("s") and word[:-1] in _OTHERWISE) for word in words)


def _names(value: Value, division: Division) -> list[str]:
    names = (
        [step.text for step in value.trail]
        if isinstance(value, Const)
        else [getattr(value, "name", None) or ""]
    )
    if division.call.name in MULTIPLY:
        names.append(purpose_of(division.call))
    elif len(division.call.arguments) > 1:
        names.append((division.call.arguments[1].path or "").rpartition(".")[2])
    return names


def _same(one: Value, other: Value) -> bool:
    if isinstance(one, Const) and isinstance(other, Const):
        return bool(one.value == other.value)
    return one is other


def batch_sizes(trace: Trace) -> list[Const]:
    """The constants that are sizes of batches in a script."""
    found: dict[tuple[object, tuple[int, ...]], Const] = {}
    for call in trace.calls(*BATCHING):
        size = call.value("batch_size")
        if isinstance(size, Const):
            found[size.value, tuple(id(step) for step in size.trail)] = size
    return list(found.values())


def _is_batch(value: Const, sizes: list[Const]) -> bool:
    """Whether a constant is the size of a batch: the same name, or the same number where neither has a name."""
    for size in sizes:
        if size.value == value.value:
            shared = {id(step) for step in size.trail} & {id(step) for step in value.trail}
            if shared or not (size.trail and value.trail):
                return True
    return False


def divisor_evidence(value: Const | Unknown) -> list[Evidence]:
    """Where the number of steps comes from."""
    if not isinstance(value, Const):
        return []
    texts = {
        f"{step.text} = {value.value}": step.place for step in reversed(value.trail)
    }  # the first of each name
    return [Evidence(text, place) for text, place in reversed(texts.items())][:3]


def divisor_text(value: Const | Unknown, division: Division) -> str:
    """The divisor as a reader knows it: its number, else its name."""
    if isinstance(value, Const):
        return f"{int(value.value)}"
    divisor = _divisor(division)
    return f"`{division.call.source.quoted(divisor)}`" if divisor is not None else f"`{value.name or 'N'}`"


def kind(optimizer: Optimizer | None) -> str:
    """The optimizer's class without its package; empty where it is not known."""
    name = optimizer.type.rpartition(".")[2] if optimizer is not None else ""
    return "" if name == "Optimizer" else name


def clipping(optimizer: Optimizer | None) -> str:
    """The argument by which an optimizer clips gradients, if it does."""
    config = optimizer.config if optimizer is not None else {}
    for name in CLIPPING:
        value = deref(config[name]) if name in config else None
        if value is not None and not (isinstance(value, Const) and value.value is None):
            return name
    return ""


def learning_rate(optimizer: Optimizer | None) -> float | None:
    """The learning rate, where it is a number."""
    value = deref(optimizer.config.get("learning_rate", Unknown())) if optimizer is not None else None
    if isinstance(value, Const) and isinstance(value.value, int | float):
        return float(value.value)
    return None


def mirrored(trace: Trace) -> Call | None:
    """The strategy with replicas that a script makes, if it makes one."""
    for call in trace.calls_under("tf.distribute."):
        name = call.name.rpartition(".")[2]
        if name.endswith("Strategy") and name != "OneDeviceStrategy":
            return call
    return None
