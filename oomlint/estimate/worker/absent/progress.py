"""Progress bars of tqdm where it is not installed: what one goes through is what it was given.

Scripts walk over their batches in one. That it draws nothing is all that is lost.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.util import find_spec
from types import ModuleType
from typing import Any
from unittest.mock import patch

_ROOT = "tqdm"
_PARTS = ("auto", "autonotebook", "notebook", "std")


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


@contextmanager
def progress_bars() -> Iterator[None]:
    """Inside, `from tqdm import tqdm` gives a bar that draws nothing, unless tqdm is installed."""
    if _ROOT in sys.modules or find_spec(_ROOT) is not None:
        yield
        return
    names = {"tqdm": Bar, "trange": _range, "tqdm_notebook": Bar, "tnrange": _range, "tqdm_gui": Bar}
    root = ModuleType(_ROOT)
    modules = {_ROOT: root}
    for part in _PARTS:
        module = modules[f"{_ROOT}.{part}"] = ModuleType(f"{_ROOT}.{part}")
        setattr(root, part, module)
    for module in modules.values():
        module.__dict__.update(names)
    with patch.dict(sys.modules, modules):
        yield
