"""The slices of the project's modules, importable under their names.

A module of one of its packages that no import statement names (`importlib.import_module(f"networks.{name}")`) is in no
slice: it is read from the project's folder, whole, with each of its statements guarded like those of slices.
"""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from importlib import import_module
from importlib.abc import Loader, MetaPathFinder
from importlib.machinery import ModuleSpec, PathFinder
from pathlib import Path
from types import FrameType, ModuleType
from typing import Any

from oomlint.estimate.worker.script.making import of_the_user
from oomlint.estimate.worker.script.spellings import FAILED

_WHOLE = "oomlint_whole"  # in the names of a module that was run as it stands
_unnamed: set[str] = set()  # modules that were read from the project's folder


class _Provider(MetaPathFinder, Loader):
    def __init__(self, names: Mapping[str, str], compiled: Callable[[str, str, list[int]], Any]) -> None:
        self.names = names
        self.compiled = compiled
        self.wholes: dict[str, ModuleType] = {}
        of_project = {key.partition(":")[2] for key in names if key.startswith("module:")}
        self.modules = {name for name in of_project if not _is_of_python(name)}
        self.packages = {name.rpartition(".")[0] for name in self.modules} - {""}
        self.packages |= {
            ".".join(name.split(".")[:depth])
            for name in self.modules
            for depth in range(1, name.count(".") + 1)
        }

    def find_spec(self, fullname: str, path: Any = None, target: Any = None) -> ModuleSpec | None:
        if fullname in self.modules or fullname in self.packages:
            return ModuleSpec(fullname, self, is_package=True)
        if (found := _file_of(fullname)) is not None and (
            fullname.rpartition(".")[0] in self.packages | _unnamed or _is_at(found, fullname, path)
        ):
            _unnamed.add(fullname)
            return ModuleSpec(fullname, self, origin=str(found), is_package=found.name == "__init__.py")
        return None

    def create_module(self, spec: ModuleSpec) -> ModuleType | None:
        return None

    def asked_from_outside(self) -> bool:
        """Whether a file of the user's asks of which there is no slice: what it takes of others is in none, either."""
        frame: FrameType | None = sys._getframe(2)
        while frame is not None and "importlib" in frame.f_code.co_filename:
            frame = frame.f_back
        if frame is not None and _WHOLE in frame.f_globals:
            return True
        file = "" if frame is None else frame.f_code.co_filename
        sliced = {path for key, path in self.names.items() if key.startswith("file:") or key == "path"}
        return of_the_user(file) and file not in sliced

    def whole(self, module: ModuleType) -> dict[str, Any]:
        """What a module of which there is a slice binds as it stands in its file."""
        path = self.names.get(f"file:{module.__name__}", "")
        if path not in self.wholes:
            made = self.wholes[path] = ModuleType(module.__name__)
            failed = sys.modules["__main__"].__dict__.get(FAILED)
            made.__dict__.update({FAILED: failed, _WHOLE: True}, __file__=path)
            if path:
                exec(self.compiled(Path(path).read_text("utf-8", "replace"), path, []), made.__dict__)
        return self.wholes[path].__dict__

    def exec_module(self, module: ModuleType) -> None:
        inner = f"{module.__name__}."

        def submodule(name: str) -> Any:
            if inner + name in self.modules or inner + name in self.packages:
                return import_module(inner + name)
            if not name.startswith("__") and self.asked_from_outside():
                whole = self.whole(module)
                if name in whole:
                    return whole[name]
            raise AttributeError(f"module {module.__name__!r} has no attribute {name!r}")

        module.__getattr__ = submodule  # type: ignore[method-assign]
        text = self.names.get(f"module:{module.__name__}")
        path = self.names.get(f"file:{module.__name__}", "")
        origin = None if module.__spec__ is None else module.__spec__.origin
        if text is None and origin is not None:
            text, path = Path(origin).read_text("utf-8", "replace"), origin
        if text is None:
            return
        module.__file__ = path
        module.__dict__[FAILED] = sys.modules["__main__"].__dict__.get(FAILED)
        lines = json.loads(self.names.get(f"lines:{module.__name__}", "[]"))
        exec(self.compiled(text, path, lines), module.__dict__)


def _is_of_python(name: str) -> bool:
    """Whether Python's own module of that name is there already: a `typing.py` of the user's comes after it, too."""
    top = name.partition(".")[0]
    there = sys.modules.get(top) if top in sys.stdlib_module_names else None
    return there is not None and not isinstance(getattr(there.__spec__, "loader", None), _Provider)


def _file_of(name: str) -> Path | None:
    """The file of a module in the user's folders."""
    for folder in filter(None, os.environ.get("OOMLINT_FOLDERS", "").split(os.pathsep)):
        path = Path(folder, *name.split("."))
        for file in (path.with_suffix(".py"), path / "__init__.py"):
            if file.is_file():
                return file
    return None


def _is_at(file: Path, name: str, path: Any) -> bool:
    """Whether that file is what Python would import: no library's, of which a folder of the user's has the name."""
    spec = PathFinder.find_spec(name, path)
    return spec is not None and spec.origin is not None and Path(spec.origin).resolve() == file.resolve()


@contextmanager
def provided(names: Mapping[str, str], compiled: Callable[[str, str, list[int]], Any]) -> Iterator[None]:
    """Inside, the project's modules can be imported; those of an earlier build are forgotten."""
    provider = _Provider(names, compiled)
    for name in [*provider.modules, *provider.packages, *_unnamed]:
        sys.modules.pop(name, None)
    _unnamed.clear()
    sys.meta_path.insert(0, provider)
    try:
        yield
    finally:
        sys.meta_path.remove(provider)
