"""What stays on the GPU from step to step: weights, and what the optimizer keeps for each of them."""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import Any


def state_bytes(model: Any, optimizer: Any | None) -> dict[str, int]:
    """Bytes of `weights` (metrics and random states among them) and of `optimizer_state`.

    Counted from the variables that are built, whether a step uses them or not: Adafactor, for one, holds a velocity
    of full size that it never reads (keras/src/optimizers/adafactor.py). Gradient accumulators, moving averages of
    weights and the scale of a loss are variables of the optimizer.
    """
    own = _unique(getattr(optimizer, "variables", ()) if optimizer is not None else ())
    if optimizer is not None:
        own = _unique([*own, *(slot for one in own_optimizers(model) for slot in _unique(one.variables))])
    known = {id(variable) for variable in own}
    others = [*model.variables, *_metrics(model)]
    weights = [variable for variable in _unique(others) if id(variable) not in known]
    return {
        "weights": sum(map(variable_bytes, weights)),
        "optimizer_state": sum(map(variable_bytes, own)),
    }


def state_of_all(models: list[Any]) -> dict[str, int]:
    """The same of several models, each variable once: a GAN's generator is part of what trains it."""
    slots = [slot for model in models for slot in _unique(model.optimizer.variables)]
    known = {id(slot) for slot in slots}
    weights = [
        one for model in models for one in (*model.variables, *_metrics(model)) if id(one) not in known
    ]
    return {
        "weights": sum(map(variable_bytes, _unique(weights))),
        "optimizer_state": sum(map(variable_bytes, _unique(slots))),
    }


def own_optimizers(model: Any) -> list[Any]:
    """Optimizers that a model of the user's own holds beside `optimizer`: a GAN's two."""
    held = filter(is_optimizer, getattr(model, "__dict__", {}).values())
    usual = getattr(model, "optimizer", None)
    return list({id(one): one for one in held if one is not usual}.values())


def is_optimizer(value: Any) -> bool:
    """Whether a value is an optimizer by its class: what is not known, a required option, has every attribute.

    A model may have a method `apply_gradients` of its own; what is called on data is no optimizer.
    """
    cls = type(value)
    return hasattr(cls, "apply_gradients") and hasattr(cls, "variables") and not hasattr(cls, "call")


def variable_bytes(variable: Any) -> int:
    """Shape times item size; a variable on the host (a lookup table, a string) takes none of the GPU."""
    dtype = str(getattr(variable.dtype, "name", variable.dtype))
    return int(math.prod(variable.shape)) * item_size(dtype)


def item_size(dtype: str) -> int:
    """Bytes of one element: `float32`, `bfloat16`, `bool`, `float8_e4m3fn` (0 for strings and handles)."""
    if dtype in ("string", "resource", "variant"):
        return 0
    if dtype == "bool":
        return 1
    digits = "".join(character for character in dtype.partition("_")[0] if character.isdigit())
    bits = int(digits) if digits else 32
    return max(1, bits // 8)


def _metrics(model: Any) -> Iterable[Any]:
    for metric in getattr(model, "metrics", ()):
        yield from getattr(metric, "variables", ())


def _unique(variables: Any) -> list[Any]:
    listed = variables() if callable(variables) else variables  # a method in tf_keras
    return list({id(variable): variable for variable in listed}.values())
