"""Variables of Keras' JAX backend without memory: a shape and a dtype in place of a value.

JAX traces from shapes alone, so nothing is lost for the step. Where a value is asked for all the same, zeros stand in:
inside a trace they are an instruction, not memory (a layer's scale that is multiplied in while the functional graph
is built); outside of one (`float(optimizer.learning_rate)`) they are made for the moment.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any
from unittest.mock import patch

from oomlint.estimate.worker.keras.weightless import initializers_replaced

# Values that are given, not drawn (a learning rate, a table of positions), are kept up to this size.
_KEPT_BYTES = 1 << 16


@contextmanager
def without_memory() -> Iterator[None]:
    """Inside, a Keras variable gets no value. Those made inside stay usable after it."""
    from keras.src.backend.jax import core

    cls = core.JaxVariable if hasattr(core, "JaxVariable") else core.Variable
    _make_readable(cls)
    with patch.object(cls, "_initialize", _from_value):
        if hasattr(cls, "_initialize_with_initializer"):
            with patch.object(cls, "_initialize_with_initializer", _from_initializer):
                yield
        else:
            with initializers_replaced(cls, _only_shape):
                yield


def shape_of(variable: Any) -> Any:
    """The variable as an argument of a traced function. Its own dtype, whatever an autocast scope says."""
    import jax

    return jax.ShapeDtypeStruct(tuple(variable.shape), variable._dtype)


def _from_value(self: Any, value: Any) -> None:
    self._shape = tuple(value.shape)
    size = getattr(value, "nbytes", _KEPT_BYTES + 1)
    self._value = value if isinstance(size, int) and size <= _KEPT_BYTES else _shape_only(self)


def _from_initializer(self: Any, initializer: Any) -> None:
    self._value = _shape_only(self)


def _only_shape(initializer: Any, shape: Any, dtype: Any = None) -> Any:
    import jax

    return jax.ShapeDtypeStruct(tuple(shape), dtype)


def _shape_only(variable: Any) -> Any:
    import jax

    return jax.ShapeDtypeStruct(tuple(variable._shape), variable._dtype)


def _make_readable(cls: Any) -> None:
    """Once: reading such a variable gives zeros, and assigning to it keeps nothing."""
    import jax
    import jax.numpy as jnp

    if getattr(cls, "_oomlint_readable", False):
        return
    read, assign = cls.value.fget, cls._direct_assign

    def value(self: Any) -> Any:
        return _read_shape(self) if isinstance(self._value, jax.ShapeDtypeStruct) else read(self)

    def _read_shape(self: Any) -> Any:
        from keras.src.backend.common.stateless_scope import get_stateless_scope, in_stateless_scope

        if in_stateless_scope():
            mapped = get_stateless_scope().get_current_value(self)
            if mapped is not None:
                return self._maybe_autocast(mapped)
        return self._maybe_autocast(jnp.zeros(self._value.shape, self._value.dtype))

    def direct_assign(self: Any, new: Any) -> None:
        if not isinstance(self._value, jax.ShapeDtypeStruct):
            assign(self, new)

    cls.value = property(value)
    cls._direct_assign = direct_assign
    cls._oomlint_readable = True
