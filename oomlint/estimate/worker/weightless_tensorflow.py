"""Keras variables on TensorFlow that have a handle, a shape and a dtype, and no value."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

# Scalars and short vectors are read while models are built and steps are traced (a learning rate, an iteration, the
# state of a random generator), and cost nothing.
SMALL = 4096  # numbers


@contextmanager
def without_memory() -> Iterator[None]:
    """Variables made inside are uninitialised resources: enough to build, compile and trace, too little to run.

    Keras 3 makes its variables in one class, whose two ways of initialising are replaced for the time; `tf_keras` and
    code of the user's own go through TensorFlow's variable creators.
    """
    import tensorflow as tf

    with tf.variable_creator_scope(_created), _keras_variables():
        yield


def _created(next_creator: Callable[..., Any], **given: Any) -> Any:
    """What `tf.Variable(...)` makes."""
    import tensorflow as tf

    value = given.get("initial_value")
    shape = tf.TensorShape(given.get("shape"))
    if not shape.is_fully_defined():
        shape = tf.TensorShape(getattr(value, "shape", None))
    if not shape.is_fully_defined() or _small(shape.as_list()):
        return next_creator(**given)
    dtype = given.get("dtype") or getattr(value, "dtype", None) or tf.float32
    return _uninitialised(shape, dtype, given.get("trainable"), given.get("name"))


def _small(shape: Any) -> bool:
    return bool(math.prod(shape) <= SMALL)


def _uninitialised(shape: Any, dtype: Any, trainable: Any, name: Any) -> Any:
    from tensorflow.python.ops.resource_variable_ops import UninitializedVariable

    return UninitializedVariable(
        shape=shape, dtype=dtype, trainable=trainable is not False, name=name or "Variable"
    )


@contextmanager
def _keras_variables() -> Iterator[None]:
    try:
        from keras.src.backend.tensorflow.core import Variable
    except ImportError:  # Keras 2
        yield
        return
    value_given, initializer_given = Variable._initialize, Variable._initialize_with_initializer

    def from_value(self: Any, value: Any) -> None:
        shape = self._shape if self._shape is not None else getattr(value, "shape", None)
        if shape is None or callable(value) or _small(shape):
            value_given(self, value)
        else:
            self._value = _uninitialised(shape, self._dtype, self.trainable, self.name)

    def from_initializer(self: Any, initializer: Any) -> None:
        if _small(self._shape):
            initializer_given(self, initializer)
        else:
            self._value = _uninitialised(self._shape, self._dtype, self.trainable, self.name)

    Variable._initialize, Variable._initialize_with_initializer = from_value, from_initializer
    try:
        yield
    finally:
        Variable._initialize, Variable._initialize_with_initializer = value_given, initializer_given
