"""`tf.keras.experimental` and `tf.keras.mixed_precision.experimental`, whose names TensorFlow moved by version 2.10."""

from __future__ import annotations

import sys
from contextlib import ExitStack
from types import ModuleType
from typing import Any
from unittest.mock import patch

from oomlint.estimate.worker.older.names import namesakes


def experimental(keras: Any, stack: ExitStack) -> None:
    """They are found, until the stack is left."""
    whole = [
        sys.modules[name] for name in ("tensorflow.keras", "keras._tf_keras.keras") if name in sys.modules
    ]
    precisions = [keras.mixed_precision, *namesakes(keras, "mixed_precision")]
    for modules, holder in (([keras, *whole], _schedules(keras)), (precisions, _precision(keras))):
        for module in modules:
            if not hasattr(module, "experimental"):
                stack.enter_context(patch.object(module, "experimental", holder, create=True))


def _schedules(keras: Any) -> ModuleType:
    """`tf.keras.experimental.CosineDecay` and what else lay there."""
    holder = ModuleType("experimental")

    def find(name: str) -> Any:
        for place in (keras.optimizers.schedules, keras.layers, keras.models, keras.optimizers):
            if not name.startswith("_") and hasattr(place, name):
                return getattr(place, name)
        raise AttributeError(f"keras.experimental.{name}")

    holder.__getattr__ = find  # type: ignore[method-assign]
    return holder


def _precision(keras: Any) -> ModuleType:
    holder = ModuleType("experimental")
    today = keras.mixed_precision

    def scaled(optimizer: Any = None, loss_scale: Any = None, **kwargs: Any) -> Any:
        del loss_scale  # how it changes takes no memory
        return today.LossScaleOptimizer(optimizer, **kwargs)

    holder.Policy, holder.LossScaleOptimizer = keras.DTypePolicy, scaled  # type: ignore[attr-defined]
    holder.set_policy, holder.global_policy = today.set_global_policy, today.global_policy  # type: ignore[attr-defined]
    return holder
