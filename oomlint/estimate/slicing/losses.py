"""The loss that a loop by hand calls, where it is one of Keras' or TensorFlow's own."""

from __future__ import annotations

from typing import TYPE_CHECKING

from oomlint.dryrun.queries.losses import THROUGH
from oomlint.dryrun.queries.tape_training import model_of, trained_by
from oomlint.dryrun.trace import Call
from oomlint.dryrun.values.base import Opaque, Value, deref

if TYPE_CHECKING:
    from oomlint.dryrun import Trace
    from oomlint.dryrun.values.training import Model
    from oomlint.estimate.slicing.known import Known
    from oomlint.estimate.slicing.trainings import Training

# What TensorFlow calls a loss of logits, and what Keras does.
_OF_LOGITS = {
    "tf.nn.sparse_softmax_cross_entropy_with_logits": "sparse_categorical_crossentropy",
    "tf.nn.softmax_cross_entropy_with_logits": "categorical_crossentropy",
    "tf.nn.sigmoid_cross_entropy_with_logits": "binary_crossentropy",
}
_KERAS = "keras.losses."


def loss_by_hand(training: Training, trace: Trace, known: Known) -> dict[str, str]:
    """`loss_called`, its name; `loss_logits` where it is of logits; `loss_named`, where. Nothing if it calls several.

    That of what the model gives, else the only one there is.
    """
    model = trained_by(trace, training.seen)
    called = [(call, loss) for call in trace.events if isinstance(call, Call) and (loss := _loss(call))]
    direct = [pair for pair in called if model is not None and _is_of(trace, pair[0], model)]
    kinds = {loss: call for call, loss in reversed(direct or ([] if training.others else called))}
    if len(kinds) != 1:
        return {}
    (((name, logits), call),) = kinds.items()
    names = {"loss_called": name, "loss_named": known.named(call.place)}
    return names | {"loss_logits": "1"} if logits else names


def _loss(call: Call) -> tuple[str, bool] | None:
    """The loss that a call computes, and whether of logits."""
    if call.name in _OF_LOGITS:
        return _OF_LOGITS[call.name], True
    receiver = None if call.receiver is None else deref(call.receiver)
    if isinstance(receiver, Opaque) and receiver.type.startswith(_KERAS) and receiver.made_by is not None:
        return receiver.type.removeprefix(_KERAS), receiver.made_by.const("from_logits") is True
    name = call.name.removeprefix(_KERAS)
    if name == call.name or name != name.lower() or "." in name or len(call.arguments) < 2:
        return None
    plain = [argument for argument in call.arguments if argument.name is None]
    third = plain[2].const() if name.endswith("crossentropy") and len(plain) > 2 else False
    return name, third is True or call.const("from_logits") is True


def _is_of(trace: Trace, call: Call, model: Model) -> bool:
    return any(_given_by(trace, argument.value, model) for argument in call.arguments)


def _given_by(trace: Trace, value: Value, model: Model) -> bool:
    """Whether the model gave a value, that of another shape or type included."""
    for _ in range(4):
        made = trace.maker(deref(value))
        if made is None:
            return False
        if made.name == "keras.Model.__call__":
            return model_of(made.receiver) is model
        if made.name not in THROUGH or not made.arguments:
            return False
        value = made.arguments[0].value
    return False
