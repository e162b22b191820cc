"""Keras variables on TensorFlow whose values are zeros that occupy no memory."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from typing import Any
from unittest.mock import patch

from oomlint.estimate.worker.keras.weightless import initializers_replaced

# Scalars and short vectors are read while models are built and steps are traced (a learning rate, an iteration, the
# state of a random generator), and cost nothing.
SMALL = 4096  # numbers

# Numbers that DLPack knows, by their bytes: it has no name for bfloat16.
_UNSIGNED = {1: "uint8", 2: "uint16", 4: "uint32", 8: "uint64"}
_ALIGNED = 64  # bytes: where DLPack's memory must begin for TensorFlow to take it as it is


@contextmanager
def without_memory() -> Iterator[None]:
    """Variables made inside take no memory: their values are pages of zeros that nobody has touched.

    Keras 3 makes its variables in one class, whose two ways of initializing are replaced for the time; `tf_keras` and
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
    return _untouched(shape, dtype, given.get("trainable"), given.get("name"))


def _small(shape: Any) -> bool:
    return bool(math.prod(shape) <= SMALL)


def _untouched(shape: Any, dtype: Any, trainable: Any, name: Any) -> Any:
    from tensorflow.python.ops.resource_variable_ops import UninitializedVariable

    variable = UninitializedVariable(
        shape=shape, dtype=dtype, trainable=trainable is not False, name=name or "Variable"
    )
    give_value(variable)
    return variable


def give_value(variable: Any) -> None:
    """Zeros, so that what a model reads of its weights while it is built has the right shape."""
    import tensorflow as tf

    with tf.init_scope():
        if tf.executing_eagerly():
            value = zeros(variable.shape, variable.dtype.base_dtype)
            tf.raw_ops.AssignVariableOp(resource=variable.handle, value=value)


def zeros(shape: Any, dtype: Any) -> Any:
    """A tensor of zeros. All of them lie in one stretch of memory, whose pages occupy nothing until they are written.

    DLPack is the way into TensorFlow that does not copy them.
    """
    import tensorflow as tf

    whole = _UNSIGNED.get(dtype.size)
    if whole is None or not (dtype.is_floating or dtype.is_integer):
        return tf.zeros(shape, dtype)
    piece = _pages(math.prod(shape) * dtype.size).view(whole).reshape(shape)
    value = tf.experimental.dlpack.from_dlpack(piece.__dlpack__())
    return value if value.dtype == dtype else tf.bitcast(value, dtype)


_stretch: list[Any] = []


def _pages(size: int) -> Any:
    """So many bytes of the stretch, which grows with what is asked of it."""
    import numpy as np

    if not _stretch or len(_stretch[0]) < size:
        whole: Any = np.zeros(size + _ALIGNED, np.uint8)
        _stretch[:] = [whole[-whole.ctypes.data % _ALIGNED :]]
    return _stretch[0][:size]


# An initializer of the user's own, for an older Keras; or values of another shape, which Keras 2 took as they came.
_OF_OTHERS = (AttributeError, TypeError, ValueError)


@contextmanager
def _keras_variables() -> Iterator[None]:
    import tensorflow as tf

    try:
        from keras.src.backend.tensorflow.core import Variable
    except ImportError:  # Keras 2
        yield
        return
    value_given = Variable._initialize

    def from_value(self: Any, value: Any) -> None:
        shape = self._shape if self._shape is not None else getattr(value, "shape", None)
        if shape is None or callable(value) or _small(shape):
            value_given(self, value)
        else:
            self._value = _untouched(shape, self._dtype, self.trainable, self.name)

    def small_or_zeros(initializer: Any, shape: Any, dtype: Any = None) -> Any:
        if _small(shape):
            with suppress(*_OF_OTHERS, tf.errors.InvalidArgumentError):
                return initializer(shape, dtype=dtype)
        return zeros(shape, tf.as_dtype(dtype))

    with patch.object(Variable, "_initialize", from_value):
        if not hasattr(Variable, "_initialize_with_initializer"):
            with initializers_replaced(Variable, small_or_zeros):
                yield
            return
        initializer_given = Variable._initialize_with_initializer

        def from_initializer(self: Any, initializer: Any) -> None:
            if _small(self._shape):
                with suppress(*_OF_OTHERS, tf.errors.InvalidArgumentError):
                    initializer_given(self, initializer)
                    return
            self._value = _untouched(self._shape, self._dtype, self.trainable, self.name)

        with patch.object(Variable, "_initialize_with_initializer", from_initializer):
            yield
