"""Variables without memory: the way to make them depends on Keras' backend."""

from __future__ import annotations

import functools
import os
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from importlib.util import find_spec
from typing import Any
from unittest.mock import patch


def backend_name() -> str:
    """Keras' backend, known without importing Keras (which the context must come before)."""
    return os.environ.get("KERAS_BACKEND", "tensorflow")


def without_memory() -> AbstractContextManager[None]:
    """Inside, Keras makes variables that have a shape and a dtype and occupy nothing."""
    if find_spec(f"oomlint.estimate.worker.keras.weightless_{backend_name()}") is None:
        return nullcontext()
    if backend_name() == "jax":
        from oomlint.estimate.worker.keras import weightless_jax

        on_jax: AbstractContextManager[None] = weightless_jax.without_memory()
        return on_jax
    from oomlint.estimate.worker.keras import weightless_tensorflow

    on_tensorflow: AbstractContextManager[None] = weightless_tensorflow.without_memory()
    return on_tensorflow


def initializers_replaced(cls: Any, value: Callable[..., Any]) -> AbstractContextManager[Any]:
    """Inside, variables of a class get `value(initializer, shape, dtype=...)` where an initializer would be called.

    Keras before 3.5 calls it in the middle of making a variable: there is no method to be replaced.
    """
    original = cls.__init__

    @functools.wraps(original)
    def __init__(self: Any, initializer: Any, *args: Any, **kwargs: Any) -> None:
        given = functools.partial(value, initializer) if callable(initializer) else initializer
        original(self, given, *args, **kwargs)

    return patch.object(cls, "__init__", __init__)
