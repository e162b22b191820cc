"""Layers that learn from data before the training: `adapt` is not run, as nothing of the data is read.

It would have built a `Normalization` outside of any function that is traced. Where only the step calls the layer, it is
built in there, and the tensors that it makes of its mean and variance would belong to that one trace.

It would have filled the vocabulary of a `TextVectorization` or a lookup. Without it that has one or two entries, of
which an `Embedding` would be made. How many there would be is known as far as `max_tokens` limits them.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from typing import Any
from unittest.mock import patch

from oomlint.estimate.worker.absent.stand_ins import Missing
from oomlint.estimate.worker.keras.generation import present

_OF_WORDS = ("TextVectorization", "StringLookup", "IntegerLookup")
_LIMITS: dict[int, None] = {}  # of vocabularies whose size was asked for, in order


def said() -> list[str]:
    """What is to be said of vocabularies that were asked for, of the last model that was made."""
    sizes = ", ".join(f"{one:,}" for one in _LIMITS)
    return [f"a vocabulary that data fills is as large as its max_tokens allows: {sizes}"] if sizes else []


@contextmanager
def vocabularies() -> Iterator[None]:
    """Inside, a vocabulary that only `adapt` would have filled is as large as its limit, or not known."""
    _LIMITS.clear()

    def sized(original: Callable[..., Any]) -> Callable[..., Any]:
        @functools.wraps(original)
        def vocabulary_size(self: Any) -> Any:
            return original(self) if _is_filled(self) else _limit(self, "vocabulary_size")

        return vocabulary_size

    def listed(original: Callable[..., Any]) -> Callable[..., Any]:
        @functools.wraps(original)
        def get_vocabulary(self: Any, *args: Any, **kwargs: Any) -> Any:
            if _is_filled(self):
                return original(self, *args, **kwargs)
            limit = _limit(self, "get_vocabulary")
            if isinstance(limit, Missing):
                return limit
            more = range(limit - len(original(self)))  # what is left out of a list counts for the limit
            return [*original(self, *args, **kwargs), *(f"word {number}" for number in more)]

        return get_vocabulary

    with ExitStack() as stack:
        for keras in present():
            for name in _OF_WORDS:
                layer = getattr(keras.layers, name, None)
                if layer is not None:
                    stack.enter_context(patch.object(layer, "vocabulary_size", sized(layer.vocabulary_size)))
                    stack.enter_context(patch.object(layer, "get_vocabulary", listed(layer.get_vocabulary)))
        yield


def _is_filled(layer: Any) -> bool:
    """Whether a layer has a vocabulary of its own, or is asked in a graph, where that is a tensor."""
    import tensorflow as tf

    table = getattr(getattr(layer, "_lookup_layer", layer), "lookup_table", None)
    return table is None or not tf.executing_eagerly() or int(table.size()) > 0


def _limit(layer: Any, asked: str) -> Any:
    most = getattr(getattr(layer, "_lookup_layer", layer), "max_tokens", None)
    if not isinstance(most, int):
        return Missing(asked)
    _LIMITS[most] = None
    return most


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
