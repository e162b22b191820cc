"""Layers that a model makes as it is called: those without weights are followed, `Dropout(0.5)(x)` among them.

A layer that draws random numbers has a generator, two numbers in a variable. Keras 2 had none, and a step
without `tf.function` may make one each time; a traced function may not, so that all of them share one here.
"""

from __future__ import annotations

import functools
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any
from unittest.mock import patch


@contextmanager
def one_generator() -> Iterator[None]:
    """Inside, generators that are made in a function that is traced are one."""
    try:
        import tensorflow as tf
        from keras.src.random.seed_generator import SeedGenerator
    except ImportError:  # Keras 2, or another Keras
        yield
        return
    original = SeedGenerator.__init__
    shared = SeedGenerator(1)

    @functools.wraps(original)
    def init(self: Any, *args: Any, **kwargs: Any) -> None:
        if tf.inside_function():
            vars(self).update(vars(shared))
        else:
            original(self, *args, **kwargs)

    with patch.object(SeedGenerator, "__init__", init):
        yield
