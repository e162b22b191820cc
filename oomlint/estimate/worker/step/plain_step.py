"""A plain step in place of the script's: one pass of the model forward and back, and Keras' own compile."""

from __future__ import annotations

import ast
import inspect
from typing import Any

from oomlint.estimate.worker.keras.generation import inputs_of, keras_of
from oomlint.estimate.worker.keras.state import own_optimizers
from oomlint.estimate.worker.script.making import Made
from oomlint.estimate.worker.sources import source_of
from oomlint.estimate.worker.step.losses import own_step

# What a class of the user's own may have in place of Keras' that only its own step makes sense of.
_OF_THE_STEP = ("train_step", "test_step", "compute_loss", "compile", "metrics", "compute_metrics", "fit")


def make(made: Made) -> None:
    """Have a model trained so; in place of one that is no more than the models in it those, beside each other."""
    made.step, made.rest = None, ()
    if made.has_no_call:
        _take_apart(made)
    elif (part := _only_part(made.model)) is not None:
        made.optimizer = made.optimizer or next(iter(own_optimizers(made.model)), None)
        made.optimizer = made.optimizer or getattr(made.model, "optimizer", None)
        made.model, made.by_hand = part, made.by_hand or "graph"
    model = made.model
    optimizers = [getattr(model, "optimizer", None), *own_optimizers(model)]
    made.optimizer = made.optimizer or next((one for one in optimizers if one is not None), None)
    if not own_step(model):
        return
    keras, cls = keras_of(model), type(model)
    known = [name for name in _OF_THE_STEP if hasattr(keras.Model, name)]
    plain = {name: inspect.getattr_static(keras.Model, name) for name in known}
    object.__setattr__(model, "__class__", type(cls.__name__, (cls,), plain))
    for name in ("optimizer", "loss", "_compile_loss", "_compile_metrics"):
        if getattr(model, name, None) is not None:
            object.__setattr__(model, name, None)


def _only_part(model: Any) -> Any:
    """The one model in a model that its own step calls, where that calls not the model itself: `self.net(pictures)`.

    What such a class's `call` does is for those who use it, and nothing may be learned of it: boxes are decoded there.
    """
    step = source_of(getattr(type(model), "train_step", None)) if own_step(model) else None
    if step is None:
        return None
    called = [one.func for one in ast.walk(step) if isinstance(one, ast.Call)]
    if any(ast.unparse(one) in ("self", "self.call", "self.__call__") for one in called):
        return None
    names = {
        one.attr
        for one in called
        if isinstance(one, ast.Attribute) and isinstance(one.value, ast.Name) and one.value.id == "self"
    }
    parts = {id(part): part for name in names if _is_model(part := getattr(model, name, None), model)}
    return next(iter(parts.values())) if len(parts) == 1 else None


def _is_model(value: Any, model: Any) -> bool:
    return isinstance(value, keras_of(model).Model)


def _take_apart(made: Made) -> None:
    keras = keras_of(made.model)
    parts = [one for one in vars(made.model).values() if isinstance(one, keras.Model) and inputs_of(one)]
    parts = sorted({id(one): one for one in parts}.values(), key=lambda one: -int(one.count_params()))
    if parts:
        optimizers: list[Any] = own_optimizers(made.model) or [getattr(made.model, "optimizer", None)]
        given = [*optimizers, *[None] * len(parts)]
        made.optimizer, made.model = given[0], parts[0]
        made.others = list(zip(parts[1:], given[1:], strict=False))
        made.by_hand = made.by_hand or "graph"
