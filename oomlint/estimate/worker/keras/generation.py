"""Which Keras makes and trains the models: Keras 3, or Keras 2 as the package `tf_keras`.

TensorFlow from 2.16 on has both: `tf.keras` is the one that TF_USE_LEGACY_KERAS chooses before TensorFlow is imported,
`keras` is always the third (tensorflow/python/util/lazy_loader.py).
"""

from __future__ import annotations

import os
import sys
from typing import Any

from oomlint.estimate.errors import EstimateError

LEGACY = "TF_USE_LEGACY_KERAS"


def legacy_asked() -> bool:
    """Whether `tf.keras` is tf_keras in this process."""
    return os.environ.get(LEGACY) in ("1", "true", "True")


def chosen() -> Any:
    """The Keras that a target is for. Raises EstimateError where it is not installed."""
    try:
        if legacy_asked():
            import tf_keras

            return tf_keras
        import keras
    except ImportError as error:
        name = getattr(error, "name", None) or "keras"
        if legacy_asked() and name == "tf_keras":
            raise EstimateError(
                "it is for Keras 2 (tf_keras), which is not installed",
                "extra",
                hint="Install it: pip install tf_keras",
            ) from None
        raise EstimateError(
            f"estimating needs TensorFlow and Keras, and {name} is not installed",
            "extra",
            hint='Install them: pip install "oomlint[estimate]"',
        ) from None
    return keras


def floatx() -> str:
    """The width of the floats that Keras computes with."""
    return str(chosen().backend.floatx())


def present() -> list[Any]:
    """The packages whose models may turn up, the chosen one first."""
    first = chosen()
    others = (sys.modules.get(name) for name in ("keras", "tf_keras"))
    return [first, *(one for one in others if one is not None and one is not first and hasattr(one, "Model"))]


def is_legacy(model: Any) -> bool:
    """Whether it is a model, or a layer, of Keras 2: tf_keras, or `keras` before it was 3."""
    return any(base.__module__.startswith(("tf_keras", "keras.engine")) for base in type(model).__mro__)


def keras_of(model: Any) -> Any:
    """The package that a model is of."""
    if any(base.__module__.partition(".")[0] == "tf_keras" for base in type(model).__mro__):
        return sys.modules["tf_keras"]
    import keras

    return keras


def tree() -> Any:
    """Functions on nests: `flatten`, `map_structure`, `pack_sequence_as`."""
    import keras

    if hasattr(keras, "tree"):
        return keras.tree
    import tensorflow

    return tensorflow.nest


def inputs_of(model: Any) -> Any:
    """The symbolic inputs of a model that has input layers, else None or nothing."""
    try:
        return getattr(model, "inputs", None)
    except ValueError:  # of a Sequential that is not built, before Keras 3.6
        return None


def layers_of(model: Any) -> list[Any]:
    """A model, the layers in it and in its layers, as far as they are made yet."""
    return list(model._flatten_layers()) if hasattr(model, "_flatten_layers") else []


def dtype_of(tensor: Any) -> str:
    """The name of a tensor's type, which a generation gives as text or as an object."""
    return str(getattr(tensor.dtype, "name", tensor.dtype))
