"""A layer's own `tf.Variable`: Keras 2 counts it among the layer's weights, Keras 3 does not see it.

A script that relies on it would train nothing with Keras 3, and its estimate would lack the weights.
"""

from __future__ import annotations

import enum
import functools
import sys
from collections.abc import Sequence
from contextlib import ExitStack
from typing import Any
from unittest.mock import patch

from oomlint.estimate.worker.values.classes import Classes


def own_variables(keras: Any, stack: ExitStack, used: set[str]) -> None:
    """Inside, what a layer keeps of TensorFlow's variables is a weight of it."""
    tensorflow = sys.modules.get("tensorflow")
    if tensorflow is None or keras.backend.backend() != "tensorflow":
        return
    original = keras.Layer.__setattr__

    @functools.wraps(original)
    def kept(self: Any, name: str, value: Any) -> None:
        if isinstance(value, tensorflow.Variable):
            value = _weight(keras, value, used)
        elif isinstance(value, list) and any(isinstance(one, tensorflow.Variable) for one in value):
            value = [
                _weight(keras, one, used) if isinstance(one, tensorflow.Variable) else one for one in value
            ]
        original(self, name, value)

    stack.enter_context(patch.object(keras.Layer, "__setattr__", kept))


# Of where a weight lies and how it is read, and nothing of what it takes.
_GONE = frozenset("experimental_autocast use_resource partitioner getter collections synchronization".split())
_POSITIONAL = ("name", "shape", "dtype", "initializer", "regularizer", "trainable", "constraint")


_used: list[set[str]] = [set()]


def old_weights(keras: Any, used: set[str]) -> None:
    """`self.add_weight("kernel", (3, 4), "float32")`, `shape=4` for a vector, and what Keras 3 has no more.

    To the end of the process: a model that does not say what it takes makes its weights when the script has run.
    """
    _used[0] = used
    original = keras.Layer.add_weight
    if original.__module__ == __name__:
        return

    @functools.wraps(original)
    def add_weight(self: Any, *args: Any, **kwargs: Any) -> Any:
        if args and isinstance(args[0], str):
            _used[0].add("add_weight(NAME, ...)")
            kwargs |= dict(zip(_POSITIONAL, args, strict=False))
            args = ()
        if isinstance(kwargs.get("shape"), int):
            kwargs["shape"] = (kwargs["shape"],)
        if args and isinstance(args[0], tuple | list):
            args = (_plain(args[0]), *args[1:])
        if isinstance(kwargs.get("shape"), tuple | list):
            kwargs["shape"] = _plain(kwargs["shape"])
        for gone in _GONE & kwargs.keys():
            del kwargs[gone]
        if isinstance(kwargs.get("aggregation"), enum.Enum):
            kwargs["aggregation"] = kwargs["aggregation"].name.lower()  # tf.VariableAggregation.MEAN
        return original(self, *args, **kwargs)

    variable = keras.Layer.add_variable

    @functools.wraps(variable)
    def add_variable(self: Any, *args: Any, **kwargs: Any) -> Any:
        """That of Keras 2, `add_weight` by another name; in Keras 3 the shape comes first."""
        of_keras_2 = not args or isinstance(args[0], str)
        return (add_weight if of_keras_2 else variable)(self, *args, **kwargs)

    add_weight.__module__ = __name__
    keras.Layer.add_weight, keras.Layer.add_variable = add_weight, add_variable


def _plain(shape: Sequence[Any]) -> tuple[Any, ...]:
    """A shape of plain numbers, which Keras makes of it itself from 3.13 on (`standardize_shape`).

    A number of classes is a list of them as well, and TensorFlow takes it for that in a shape.
    """
    return tuple(int(size) if isinstance(size, Classes) else size for size in shape)


def _weight(keras: Any, variable: Any, used: set[str]) -> Any:
    dtype = variable.dtype.base_dtype
    if not variable.shape.is_fully_defined() or not (dtype.is_floating or dtype.is_integer or dtype.is_bool):
        return variable
    if variable.trainable:
        used.add("tf.Variable of a layer")
    return keras.Variable(
        "zeros",
        shape=tuple(variable.shape),
        dtype=dtype.name,
        trainable=variable.trainable,
    )
