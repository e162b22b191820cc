"""The slices of the project's modules, importable under their names; nothing is read from the project's folder."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from importlib import import_module
from importlib.abc import Loader, MetaPathFinder
from importlib.machinery import ModuleSpec
from types import ModuleType
from typing import Any


class _Provider(MetaPathFinder, Loader):
    def __init__(self, names: Mapping[str, str], compiled: Callable[[str, str, list[int]], Any]) -> None:
        self.names = names
        self.compiled = compiled
        self.modules = {key.partition(":")[2] for key in names if key.startswith("module:")}
        self.packages = {name.rpartition(".")[0] for name in self.modules} - {""}
        self.packages |= {
            ".".join(name.split(".")[:depth])
            for name in self.modules
            for depth in range(1, name.count(".") + 1)
        }

    def find_spec(self, fullname: str, path: Any = None, target: Any = None) -> ModuleSpec | None:
        if fullname in self.modules or fullname in self.packages:
            return ModuleSpec(fullname, self, is_package=True)
        return None

    def create_module(self, spec: ModuleSpec) -> ModuleType | None:
        return None

    def exec_module(self, module: ModuleType) -> None:
        inner = f"{module.__name__}."

        def submodule(name: str) -> Any:
            if inner + name in self.modules or inner + name in self.packages:
                return import_module(inner + name)
            raise AttributeError(f"module {module.__name__!r} has no attribute {name!r}")

        module.__getattr__ = submodule  # type: ignore[method-assign]
        text = self.names.get(f"module:{module.__name__}")
        if text is None:
            return
        from oomlint.estimate.worker.guards import FAILED

        path = self.names[f"file:{module.__name__}"]
        module.__file__ = path
        module.__dict__[FAILED] = sys.modules["__main__"].__dict__.get(FAILED)
        lines = json.loads(self.names.get(f"lines:{module.__name__}", "[]"))
        exec(self.compiled(text, path, lines), module.__dict__)


@contextmanager
def provided(names: Mapping[str, str], compiled: Callable[[str, str, list[int]], Any]) -> Iterator[None]:
    """Inside, the project's modules can be imported; those of an earlier build are forgotten."""
    provider = _Provider(names, compiled)
    for name in [*provider.modules, *provider.packages]:
        sys.modules.pop(name, None)
    sys.meta_path.insert(0, provider)
    try:
        yield
    finally:
        sys.meta_path.remove(provider)
