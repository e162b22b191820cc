"""Keras 2's `Tokenizer`: it learns its words from texts, which are not read, and has none before.

An empty vocabulary would be a table of one row.
"""

from __future__ import annotations

import functools
import sys
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from importlib import import_module
from typing import Any
from unittest.mock import patch

from oomlint.estimate.worker.absent.stand_ins import Missing, described

_MODULES = ("keras.src.legacy.preprocessing.text", "tf_keras.src.preprocessing.text")
_LEARNT = ("word_index", "index_word", "word_counts", "word_docs", "index_docs")


@contextmanager
def tokenizers() -> Iterator[None]:
    """Inside, what a tokenizer has learnt is not known."""
    with ExitStack() as stack:
        for name in _MODULES:
            if name.partition(".")[0] not in sys.modules:
                continue
            try:
                kind = import_module(name).Tokenizer
            except (ImportError, AttributeError):  # Keras before 3.0.3 has none
                continue
            stack.enter_context(patch.object(kind, "__init__", _knowing_nothing(kind.__init__)))
        yield


def _knowing_nothing(original: Any) -> Any:
    @functools.wraps(original)
    def init(self: Any, *args: Any, **kwargs: Any) -> None:
        original(self, *args, **kwargs)
        for name in _LEARNT:
            told = described(name)
            setattr(self, name, Missing(name) if told is None else told)

    return init
