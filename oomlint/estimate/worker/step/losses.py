"""The loss of a step: what the model was compiled with, adds itself, its loop calls, or its output asks for."""

from __future__ import annotations

from typing import Any

from oomlint.estimate.request import Request
from oomlint.estimate.worker.absent.stand_ins import Missing
from oomlint.estimate.worker.keras.generation import is_legacy, keras_of, tree


def compiled_loss(model: Any) -> Any:
    """What `compile` was given; None for nothing."""
    loss = getattr(model, "loss", None)
    if loss is None:
        loss = getattr(getattr(model, "_compile_loss", None), "_user_loss", None)
    if isinstance(loss, list | tuple) and all(one is None for one in loss):
        return None  # its losses were added to it
    return None if isinstance(loss, Missing) else loss


def own_losses(model: Any, compiled_so: bool = False) -> bool:
    """Whether it computes its loss itself: `add_loss`, or a `train_step` or `compute_loss` of its own.

    What regularizers say of weights is no loss of a batch: a step of nothing else would keep no activation. A model
    that was `compiled_so`, without a loss, and is trained with `fit` has none but what its layers add.
    """
    if own_step(model) or (compiled_so and _adds_in_call(model)):
        return True
    if not hasattr(model, "_flatten_layers") or not getattr(model, "losses", None):
        return False
    layers = list(model._flatten_layers())
    if is_legacy(model):
        called = [one for layer in layers for one in getattr(layer, "_callable_losses", ())]
        of_weights = [one for one in called if "_loss_for_variable" in repr(getattr(one, "func", ""))]
        return len(model.losses) > len(of_weights)
    return any(layer._get_own_losses() for layer in layers if hasattr(layer, "_get_own_losses"))


def _adds_in_call(model: Any) -> bool:
    """Whether a layer of the user's own names `add_loss` in one of its methods.

    Keras 3 forgets the losses of a call that only works out shapes, as those are that a functional model is made by:
    an "endpoint" layer, which takes labels and gives a loss, has none to show yet.
    """
    return any(
        "add_loss" in getattr(getattr(method, "__code__", None), "co_names", ())
        for layer in getattr(model, "_flatten_layers", list)()
        for cls in type(layer).__mro__
        if cls.__module__.partition(".")[0] not in ("keras", "tf_keras")
        for method in vars(cls).values()
    )


def own_step(model: Any) -> bool:
    """Whether it has a `train_step` or `compute_loss` of its own."""
    return has_own(model, "train_step") or has_own(model, "compute_loss")


def has_own(model: Any, name: str) -> bool:
    """Whether its class has another method of this name than Keras' models have."""
    base = keras_of(model).Model
    return hasattr(base, name) and getattr(type(model), name, None) is not getattr(base, name)


def called_loss(request: Request, model: Any, outputs: Any) -> Any:
    """The loss of Keras that the loop calls, for one output that suits it; else None."""
    name = request.names.get("loss_called", "").replace("_", "").lower()
    leaves = tree().flatten(outputs)
    if not name or len(leaves) != 1:
        return None
    if name.startswith("sparse") and (len(leaves[0].shape) < 2 or leaves[0].shape[-1] == 1):
        return None
    losses = keras_of(model).losses
    classes = {one.lower(): cls for one, cls in vars(losses).items() if isinstance(cls, type)}
    cls = classes.get(name)
    if cls is None:
        return None
    return cls(from_logits=True) if "loss_logits" in request.names else cls()


def default_loss(model: Any, outputs: Any) -> Any:
    """The usual loss for an output, by its last activation and width; one for all outputs."""
    leaves = tree().flatten(outputs)
    losses = [_loss_of(leaf, model) for leaf in leaves]
    return losses[0] if len(set(losses)) == 1 else losses


def _loss_of(leaf: Any, model: Any) -> str:
    history = getattr(leaf, "_keras_history", None)
    layer = getattr(history, "operation", None) or getattr(history, "layer", None)
    layer = layer or next(iter(reversed(getattr(model, "layers", []) or [])), None)
    while inner := getattr(layer, "layers", None):  # the last layer of the last model
        layer = inner[-1]
    activation = getattr(getattr(layer, "activation", None), "__name__", "")
    if activation == "softmax" and leaf.shape[-1] != 1:
        return "sparse_categorical_crossentropy"
    if activation == "sigmoid":
        return "binary_crossentropy"
    return "mean_squared_error"


def loss_words(loss: Any) -> str:
    """A loss, or one for each output, by name."""
    return ", ".join(loss) if isinstance(loss, list) else str(getattr(loss, "name", loss))
