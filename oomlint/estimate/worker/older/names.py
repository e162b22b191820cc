"""Functions of older Keras that are gone or took other arguments: `Merge`, `multi_gpu_model`, `Input(shape=77)`,
TensorFlow 1's optimizers."""

from __future__ import annotations

import functools
import inspect
import sys
from collections.abc import Callable
from contextlib import ExitStack
from importlib import import_module
from types import ModuleType
from typing import Any
from unittest.mock import patch


def old_helpers(keras: Any, stack: ExitStack, used: set[str], assumptions: list[str]) -> None:
    """They are found, until the stack is left."""
    layers = [keras.layers, *namesakes(keras, "layers")]
    for name, helper in (("merge", _merge(keras, used)), ("Merge", _merge_layer(keras, used))):
        _put(layers, name, helper, stack)
    utilities = [keras.utils, *namesakes(keras, "utils")]
    converted = ModuleType(
        "tf_utils"
    )  # `@tf_utils.shape_type_conversion`: shapes are tuples in Keras 3 anyway
    converted.__dict__["shape_type_conversion"] = lambda function: function
    _put(utilities, "tf_utils", converted, stack)
    _put(utilities, "multi_gpu_model", _multi_gpu_model(assumptions), stack)
    for module in ("optimizers", "layers"):  # what Keras 2's models.py imported for itself
        _put([keras.models, *namesakes(keras, "models")], module, getattr(keras, module), stack)
    spaces = [keras.optimizers, *namesakes(keras, "optimizers")]
    for name in "SGD RMSprop Adagrad Adadelta Adam Adamax Nadam".split():  # `optimizers.adam(lr=0.01)`
        _put(spaces, name.lower(), getattr(keras.optimizers, name), stack)
    tensorflow = sys.modules.get("tensorflow")
    if tensorflow is None:
        return
    for namespace in (tensorflow.train, tensorflow.compat.v1.train):
        for old, new in _OPTIMIZERS.items():
            optimizer = _named(getattr(keras.optimizers, new), f"tf.train.{old}", used)
            stack.enter_context(patch.object(namespace, old, optimizer, create=True))


# Keras 1's (keras/regularizers.py of 1.2.2): those of activations were others.
_CONSTRAINTS = {"maxnorm": "MaxNorm", "nonneg": "NonNeg", "unitnorm": "UnitNorm"}
_REGULARIZERS = {"activity_l1": "L1", "activity_l2": "L2", "activity_l1l2": "L1L2", "l1l2": "L1L2"}
_OPTIMIZERS = {
    "AdamOptimizer": "Adam",
    "RMSPropOptimizer": "RMSprop",
    "GradientDescentOptimizer": "SGD",
    "MomentumOptimizer": "SGD",
    "AdagradOptimizer": "Adagrad",
    "AdadeltaOptimizer": "Adadelta",
    "FtrlOptimizer": "Ftrl",
}


def namesakes(keras: Any, name: str) -> list[Any]:
    """The modules beside `keras.NAME` that are called so, each with names of its own.

    That is what `tf.keras.NAME` and `import tensorflow.keras.NAME` give; before Keras 3.10 `import keras.NAME`, too.
    """
    roots = ["keras"]
    if keras.backend.backend() == "tensorflow":
        roots += ["keras._tf_keras.keras", "tensorflow.keras"]
    found = []
    for root in roots:
        try:
            found.append(import_module(f"{root}.{name}"))
        except ImportError:  # before TensorFlow 2.16
            continue
    return [module for module in found if module is not _part_of(keras, name)]


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
    if callable(mode):
        return keras.layers.Lambda(mode)
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


def old_functions(keras: Any, stack: ExitStack, used: set[str]) -> None:
    """`Input(shape=77)`, `l2(l=0.01)`, metrics that are functions."""
    make_input = keras.Input

    @functools.wraps(make_input)
    def Input(shape: Any = None, *args: Any, **kwargs: Any) -> Any:
        if isinstance(shape, int):
            shape = (shape,)
            used.add("Input(shape=NUMBER)")
        if isinstance(shape, list | tuple) and any(isinstance(one, float) for one in shape):
            shape = tuple(int(one) if isinstance(one, float) and one.is_integer() else one for one in shape)
            used.add("Input((SIZE / 2, ...))")
        if "batch_input_shape" in kwargs:
            kwargs["batch_shape"] = kwargs.pop("batch_input_shape")
        return make_input(shape, *args, **kwargs)

    namespaces = [keras, keras.layers]
    for name in (
        "tensorflow.keras",
        "tensorflow.keras.layers",
        "keras._tf_keras.keras",
        "keras._tf_keras.keras.layers",
    ):
        if name in sys.modules:
            namespaces.append(sys.modules[name])
    for namespace in namespaces:
        stack.enter_context(patch.object(namespace, "Input", Input))
    for name in ("L1", "L2"):
        cls = getattr(keras.regularizers, name)
        stack.enter_context(patch.object(cls, "__init__", _of_l(name.lower(), cls.__init__)))
    for namespace in (keras.regularizers, *namesakes(keras, "regularizers")):
        for name, kind in _REGULARIZERS.items():
            made = _named(getattr(keras.regularizers, kind), name, used)
            stack.enter_context(patch.object(namespace, name, made, create=True))
    for place in ("losses", "metrics", "layers", "constraints", "regularizers", "preprocessing.image"):
        _share(keras, place)
    _add([keras.losses, *namesakes(keras, "losses")], {"Reduction": _Reduction})
    _take_auto()
    old = {name: getattr(keras.constraints, kind) for name, kind in _CONSTRAINTS.items()}
    _add([keras.constraints, *namesakes(keras, "constraints")], old)
    functions = {name: getattr(keras.losses, name) for name in dir(keras.losses) if name[0].islower()}
    _add([keras.metrics, *namesakes(keras, "metrics")], functions)
    utils = keras.applications.imagenet_utils
    source = sys.modules.get("keras.src.applications.imagenet_utils", utils)
    if hasattr(source, "obtain_input_shape"):
        for namespace in (utils, source):
            stack.enter_context(
                patch.object(namespace, "_obtain_input_shape", source.obtain_input_shape, create=True)
            )


class _Reduction:
    """`tf.keras.losses.Reduction`, which Keras 3 spells as text."""

    NONE, SUM, SUM_OVER_BATCH_SIZE = "none", "sum", "sum_over_batch_size"
    AUTO = SUM_OVER_BATCH_SIZE


def _take_auto() -> None:
    """`reduction="auto"`, which `Reduction.AUTO` still is, from now on."""
    module = import_module("keras.src.losses.loss")
    original = getattr(module, "standardize_reduction", None)
    if original is None or hasattr(original, "oomlint_auto"):
        return

    @functools.wraps(original)
    def standardize(reduction: Any) -> Any:
        return original(_Reduction.AUTO if reduction == "auto" else reduction)

    standardize.oomlint_auto = True  # type: ignore[attr-defined]
    module.standardize_reduction = standardize  # type: ignore[attr-defined]


def _share(keras: Any, place: str) -> None:
    """`keras.losses` and `tf.keras.losses` of Keras 3 each lack names that the other one kept of Keras 2."""
    modules = [_part_of(keras, place), *namesakes(keras, place)]
    for module in modules:
        _add(modules, {name: getattr(module, name) for name in dir(module) if not name.startswith("_")})


def _add(namespaces: list[Any], values: dict[str, Any]) -> None:
    """From now on: losses and layers call them when the step is traced, long after."""
    for namespace in namespaces:
        for name, value in values.items():
            if not hasattr(namespace, name):
                setattr(namespace, name, value)


def _part_of(keras: Any, place: str) -> Any:
    return functools.reduce(getattr, place.split("."), keras)


def _of_l(name: str, original: Any) -> Any:
    @functools.wraps(original)
    def init(self: Any, *args: Any, **kwargs: Any) -> None:
        if "l" in kwargs:
            kwargs[name] = kwargs.pop("l")
        original(self, *args, **kwargs)

    return signed(init, original)


def signed(init: Any, original: Any) -> Any:
    """Keras reads the constructor's signature (`Operation.__new__`)."""
    init.__signature__ = inspect.signature(original)
    init.autograph_info__ = {}  # AutoGraph leaves it alone
    return init
