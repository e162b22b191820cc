"""Helpers that are gone without a successor of the same form: `Merge`, `multi_gpu_model`, TensorFlow 1's optimizers."""

from __future__ import annotations

import sys
from collections.abc import Callable
from contextlib import ExitStack
from typing import Any
from unittest.mock import patch


def old_helpers(keras: Any, stack: ExitStack, used: set[str], assumptions: list[str]) -> None:
    """They are found, until the stack is left."""
    layers = [keras.layers, *_loaded("keras._tf_keras.keras.layers")]
    for name, helper in (("merge", _merge(keras, used)), ("Merge", _merge_layer(keras, used))):
        _put(layers, name, helper, stack)
    utilities = [keras.utils, *_loaded("keras._tf_keras.keras.utils")]
    _put(utilities, "multi_gpu_model", _multi_gpu_model(assumptions), stack)
    tensorflow = sys.modules.get("tensorflow")
    if tensorflow is None:
        return
    for namespace in (tensorflow.train, tensorflow.compat.v1.train):
        for old, new in _OPTIMIZERS.items():
            optimizer = _named(getattr(keras.optimizers, new), f"tf.train.{old}", used)
            stack.enter_context(patch.object(namespace, old, optimizer, create=True))


_OPTIMIZERS = {
    "AdamOptimizer": "Adam",
    "RMSPropOptimizer": "RMSprop",
    "GradientDescentOptimizer": "SGD",
    "MomentumOptimizer": "SGD",
    "AdagradOptimizer": "Adagrad",
    "AdadeltaOptimizer": "Adadelta",
    "FtrlOptimizer": "Ftrl",
}


def _loaded(name: str) -> list[Any]:
    return [sys.modules[name]] if name in sys.modules else []


def _put(namespaces: list[Any], name: str, helper: Any, stack: ExitStack) -> None:
    for namespace in namespaces:
        if not hasattr(namespace, name):
            stack.enter_context(patch.object(namespace, name, helper, create=True))


def _named(make: Callable[..., Any], name: str, used: set[str]) -> Callable[..., Any]:
    def made(*args: Any, **kwargs: Any) -> Any:
        used.add(name)
        kwargs.pop("use_locking", None)
        kwargs.pop("name", None)
        return make(*args, **kwargs)

    return made


def _merging(keras: Any, mode: Any, axis: int) -> Any:
    layer = {"sum": "Add", "mul": "Multiply", "ave": "Average", "max": "Maximum"}.get(mode)
    if layer is not None:
        return getattr(keras.layers, layer)()
    if mode == "concat":
        return keras.layers.Concatenate(axis=axis)
    raise ValueError(f"Keras 1's merge with mode={mode!r} has no layer of today")


def _merge(keras: Any, used: set[str]) -> Callable[..., Any]:
    def merge(inputs: Any, mode: Any = "sum", concat_axis: int = -1, **rest: Any) -> Any:
        used.add("merge")
        return _merging(keras, mode, concat_axis)(inputs)

    return merge


def _merge_layer(keras: Any, used: set[str]) -> Callable[..., Any]:
    def Merge(layers: Any = None, mode: Any = "sum", concat_axis: int = -1, **rest: Any) -> Any:
        used.add("Merge")
        if layers is not None:
            raise ValueError("Keras 1's Merge of whole models has no layer of today")
        return _merging(keras, mode, concat_axis)

    return Merge


def _multi_gpu_model(assumptions: list[str]) -> Callable[..., Any]:
    def multi_gpu_model(model: Any, gpus: Any = None, *args: Any, **kwargs: Any) -> Any:
        count = len(gpus) if isinstance(gpus, list | tuple) else gpus
        share = f"1/{count}" if isinstance(count, int) and count > 1 else "its part"
        assumptions.append(
            f"multi_gpu_model: this is one GPU with the whole batch; with it each GPU takes {share} of it "
            "(give that with --batch-size)"
        )
        return model

    return multi_gpu_model
