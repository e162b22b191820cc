"""Layers that learn from data before the training: `adapt` is not run, as nothing of the data is read.

It would have built a `Normalization` outside of any function that is traced. Where only the step calls the layer, it is
built in there, and the tensors that it makes of its mean and variance would belong to that one trace.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from typing import Any
from unittest.mock import patch

from oomlint.estimate.worker.keras.generation import present


@contextmanager
def built_outside() -> Iterator[None]:
    """Inside, a `Normalization` is built outside of the function that calls it."""
    try:
        import tensorflow as tf
    except ImportError:
        yield
        return

    def outside(original: Callable[..., None]) -> Callable[..., None]:
        @functools.wraps(original)
        def build(self: Any, input_shape: Any) -> None:
            with tf.init_scope():
                original(self, input_shape)

        return build

    with ExitStack() as stack:
        for keras in present():
            layer = keras.layers.Normalization
            stack.enter_context(patch.object(layer, "build", outside(layer.build)))
        yield
