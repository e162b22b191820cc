"""Variables without memory: the way to make them depends on Keras' backend."""

from __future__ import annotations

import os
from contextlib import AbstractContextManager, nullcontext
from importlib.util import find_spec


def backend_name() -> str:
    """Keras' backend, known without importing Keras (which the context must come before)."""
    return os.environ.get("KERAS_BACKEND", "tensorflow")


def without_memory() -> AbstractContextManager[None]:
    """Inside, Keras makes variables that have a shape and a dtype and occupy nothing."""
    if find_spec(f"oomlint.estimate.worker.weightless_{backend_name()}") is None:
        return nullcontext()
    if backend_name() == "jax":
        from oomlint.estimate.worker import weightless_jax

        on_jax: AbstractContextManager[None] = weightless_jax.without_memory()
        return on_jax
    from oomlint.estimate.worker import weightless_tensorflow

    on_tensorflow: AbstractContextManager[None] = weightless_tensorflow.without_memory()
    return on_tensorflow
