"""Progress bars of tqdm where it is not installed: what one goes through is what it was given.

Scripts walk over their batches in one. That it draws nothing is all that is lost.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.abc import Loader, MetaPathFinder
from importlib.machinery import ModuleSpec
from types import ModuleType
from typing import Any

_MODULES = frozenset(("tqdm", "tqdm.auto", "tqdm.autonotebook", "tqdm.notebook", "tqdm.std"))


class Bar:
    """Goes through what it was given; what else is asked of it does nothing."""

    def __init__(self, iterable: Any = None, *args: Any, **kwargs: Any) -> None:
        self.iterable = iterable
        self.n = 0
        self.total = kwargs.get("total")

    def __iter__(self) -> Iterator[Any]:
        return iter(self.iterable)

    def __len__(self) -> int:
        return len(self.iterable) if self.total is None else int(self.total)

    def __enter__(self) -> Bar:
        return self

    def __exit__(self, *error: Any) -> None:
        pass

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_"):
            raise AttributeError(name)
        return _nothing


def _nothing(*args: Any, **kwargs: Any) -> None:
    """`bar.set_postfix(loss=loss)`."""


def _range(*args: Any, **kwargs: Any) -> Bar:
    return Bar(range(*args))


class _Tqdm(MetaPathFinder, Loader):
    def find_spec(self, fullname: str, path: Any = None, target: Any = None) -> ModuleSpec | None:
        return ModuleSpec(fullname, self, is_package=True) if fullname in _MODULES else None

    def create_module(self, spec: ModuleSpec) -> ModuleType | None:
        return None

    def exec_module(self, module: ModuleType) -> None:
        names = {"tqdm": Bar, "trange": _range, "tqdm_notebook": Bar, "tnrange": _range, "tqdm_gui": Bar}
        module.__dict__.update(names)


@contextmanager
def progress_bars() -> Iterator[None]:
    """Inside, `from tqdm import tqdm` gives a bar that draws nothing, unless tqdm is installed."""
    finder = _Tqdm()
    sys.meta_path.append(finder)
    try:
        yield
    finally:
        sys.meta_path.remove(finder)
        for name in _MODULES:
            if getattr(getattr(sys.modules.get(name), "__spec__", None), "loader", None) is finder:
                del sys.modules[name]
