"""Finders of modules of libraries that are not installed, or of an older Keras: asked where nothing else finds them."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.abc import MetaPathFinder


@contextmanager
def asked_last(finder: MetaPathFinder, *libraries: str) -> Iterator[None]:
    """Inside, the finder is asked; what it found of these libraries is forgotten afterwards."""
    sys.meta_path.append(finder)
    try:
        yield
    finally:
        sys.meta_path.remove(finder)
        for name in [one for one in sys.modules if one.partition(".")[0] in libraries]:
            del sys.modules[name]
