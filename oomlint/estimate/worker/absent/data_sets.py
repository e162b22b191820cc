"""Keras' own data sets, of which nothing is downloaded: arrays of their shapes, and word indices of their lengths.

The dry run knows them too; here they are for functions of a script that load them among other things.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from typing import Any
from unittest.mock import patch

from oomlint.estimate.worker.absent.stand_ins import Data
from oomlint.estimate.worker.keras import generation

# Entries of the files that get_word_index fetches (imdb_word_index.json, reuters_word_index.json); they begin at 1.
_NAMES = ("mnist", "fashion_mnist", "cifar10", "cifar100", "imdb")
_WORDS = {"imdb": 88_584, "reuters": 30_979}


@contextmanager
def known_data_sets() -> Iterator[None]:
    """Inside, `keras.datasets` hands out shapes."""
    with ExitStack() as stack:
        for keras in generation.present():
            for name in _NAMES:
                module = _module(keras, name)
                if module is not None:
                    stack.enter_context(patch.object(module, "load_data", _loading(name)))
            for name, count in _WORDS.items():
                module = _module(keras, name)
                if module is not None:
                    stack.enter_context(patch.object(module, "get_word_index", _indexing(count)))
        yield


def _module(keras: Any, name: str) -> Any:
    datasets = getattr(keras, "datasets", None)
    return getattr(datasets, name, None) or sys.modules.get(f"{keras.__name__}.datasets.{name}")


def _loading(name: str) -> Any:
    def load_data(*args: Any, **kwargs: Any) -> Any:
        # The parser that it brings takes a second to load.
        from oomlint.dryrun.catalog.keras.data import DATASETS

        shorter = name == "imdb" and kwargs.get("maxlen") is not None  # longer reviews are left out
        words = kwargs.get("num_words") if name == "imdb" else None
        parts = [
            Data(
                (None,) if shorter else shape, dtype or "float32", name, words if dtype == "object" else None
            )
            for shape, dtype in DATASETS[name]
        ]
        return (parts[0], parts[1]), (parts[2], parts[3])

    return load_data


def _indexing(count: int) -> Any:
    def get_word_index(*args: Any, **kwargs: Any) -> dict[str, int]:
        return {f"word {number}": number for number in range(1, count + 1)}

    return get_word_index
