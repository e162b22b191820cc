"""Settings whose entries are attributes: small libraries for them that are not installed, EasyDict, yacs and the like.

What is in them makes the model, and all of them do the same with it.
"""

from __future__ import annotations

import importlib.util
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import ModuleType
from typing import Any
from unittest.mock import patch

# Module -> the class in it, and a function that makes such an object of a dict.
_LIBRARIES = {
    "easydict": ("EasyDict", ""),
    "attrdict": ("AttrDict", ""),
    "addict": ("Dict", ""),
    "munch": ("Munch", "munchify"),
    "dotmap": ("DotMap", ""),
    "box": ("Box", ""),
    "bunch": ("Bunch", "bunchify"),
    "yacs.config": ("CfgNode", ""),
    "ml_collections": ("ConfigDict", ""),
}


class AttributeDict(dict[str, Any]):
    """A dict whose entries are attributes, those of the dicts inside it too."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__()
        first = args[0] if args and isinstance(args[0], dict | list | tuple) else {}
        named = {} if "new_allowed" in kwargs or "default_box" in kwargs else kwargs
        for name, value in (dict(first) | named).items():
            self[name] = value

    def __setitem__(self, name: str, value: Any) -> None:
        super().__setitem__(name, _inside(value, type(self)))

    def __getattr__(self, name: str) -> Any:
        if name in self:
            return self[name]
        raise AttributeError(name)

    def __setattr__(self, name: str, value: Any) -> None:
        self[name] = value

    def update(self, *args: Any, **kwargs: Any) -> None:
        """As a dict's, with what is inside."""
        for name, value in dict(*args, **kwargs).items():
            self[name] = value

    def clone(self) -> AttributeDict:
        """A copy, and of the dicts inside it."""
        return type(self)(self)

    def freeze(self, *args: Any) -> None:
        """Nothing: who reads the settings does not change them."""

    defrost = lock = unlock = set_new_allowed = freeze

    def merge(self, other: dict[str, Any]) -> None:
        """Take over what another one says, entry by entry."""
        for name, value in other.items():
            mine = self.get(name)
            if isinstance(mine, AttributeDict) and isinstance(value, dict):
                mine.merge(value)
            else:
                self[name] = value

    merge_from_other_cfg = merge

    def merge_from_file(self, path: Any) -> None:
        """Take over a file of settings."""
        import yaml  # type: ignore[import-untyped, unused-ignore]

        with Path(path).open(encoding="utf-8") as file:
            self.merge(yaml.safe_load(file) or {})

    def merge_from_list(self, pairs: Any) -> None:
        """Take over the rest of a command line: names with dots, each before its value."""
        for name, value in zip(pairs[::2], pairs[1::2], strict=False):
            *way, last = name.split(".")
            inner = self
            for part in way:
                inner = inner[part]
            inner[last] = value


def _inside(value: Any, kind: type[AttributeDict]) -> Any:
    if isinstance(value, dict) and not isinstance(value, kind):
        return kind(value)
    if type(value) in (list, tuple):
        return type(value)(_inside(one, kind) for one in value)
    return value


@contextmanager
def attribute_dicts() -> Iterator[None]:
    """Inside, those of the libraries that are not installed can be imported."""
    with patch.dict(sys.modules):
        for name, (kind, function) in _LIBRARIES.items():
            root = name.partition(".")[0]
            if root in sys.modules or importlib.util.find_spec(root) is not None:
                continue
            module = ModuleType(name)
            for given in filter(None, (kind, function)):
                setattr(module, given, AttributeDict)
            sys.modules[name] = module
            if name != root:
                sys.modules[root] = ModuleType(root)
                setattr(sys.modules[root], name.rpartition(".")[2], module)
        yield
