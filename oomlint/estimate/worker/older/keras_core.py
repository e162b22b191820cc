"""Keras Core, as Keras 3 was called before it came out (July to November 2023): its modules, found in Keras 3.

`keras_core.ops` is `keras.ops`; the last version of the package, 0.1.7, is no more than that either.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from importlib import import_module
from importlib.abc import Loader, MetaPathFinder
from importlib.machinery import ModuleSpec
from importlib.util import find_spec
from types import ModuleType
from typing import Any

from oomlint.estimate.worker.older.finders import asked_last

_ROOT = "keras_core"


class _Core(MetaPathFinder, Loader):
    """Finds each module of Keras Core where nothing else does."""

    used = False

    def find_spec(self, fullname: str, path: Any = None, target: Any = None) -> ModuleSpec | None:
        if fullname.partition(".")[0] != _ROOT:
            return None
        today = _today(fullname)
        try:
            found = today in sys.modules or find_spec(today) is not None
        except (ImportError, ValueError):
            found = False
        return ModuleSpec(fullname, self, is_package=True) if found else None

    def create_module(self, spec: ModuleSpec) -> ModuleType | None:
        return None

    def exec_module(self, module: ModuleType) -> None:
        self.used = True
        # What is there after this is what `import` gives.
        sys.modules[module.__name__] = import_module(_today(module.__name__))


def _today(name: str) -> str:
    return "keras" + name.removeprefix(_ROOT)


@contextmanager
def keras_core(assumptions: list[str]) -> Iterator[None]:
    """Inside, `import keras_core` gives Keras 3, unless Keras Core is installed."""
    if _ROOT in sys.modules or find_spec(_ROOT) is not None:
        yield
        return
    finder = _Core()
    try:
        with asked_last(finder, _ROOT):
            yield
    finally:
        if finder.used:
            assumptions.append("keras_core is taken as Keras 3, which it became")
