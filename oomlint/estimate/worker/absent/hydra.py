"""Settings that Hydra puts together for a function, and OmegaConf where it is not installed.

`@hydra.main(config_path="conf", config_name="train")` hands `conf/train.yaml` on, with the files that its `defaults`
name. Nobody gives a command line when a script is estimated, so what these files say holds.
"""

from __future__ import annotations

import builtins
import importlib.util
import re
import sys
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from types import ModuleType
from typing import Any
from unittest.mock import patch

from oomlint.estimate.worker.absent.attribute_dicts import AttributeDict
from oomlint.estimate.worker.absent.stand_ins import Data, Missing

_SUFFIXES = ("", ".yaml", ".yml")
_REFERENCE = re.compile(r"\$\{([\w.]+)\}")
_DEEP = 5  # references to references


_said: list[list[str]] = [[]]  # what the answer says that is assumed, of the build that goes on


class _Settings(AttributeDict):
    """Settings of a file: an entry that only the data tells better keeps what the file says."""

    def __setitem__(self, name: str, value: Any) -> None:
        if isinstance(value, Missing | Data) and name in self:
            _said[0].append(
                f"{name} is {self[name]!r}, as the settings say: the script changes it by its data"
            )
            return
        super().__setitem__(name, value)


def settings(script: str, folder: Any, name: Any) -> Any:
    """What Hydra hands to a function of the script; not known where its files are not there."""
    if not isinstance(name, str):
        return Missing("the settings")
    found = _composed(Path(script).parent / (folder if isinstance(folder, str) else ""), name)
    return Missing("the settings") if found is None else _Settings(_referred(found))


def _composed(folder: Path, name: str) -> AttributeDict | None:
    path = next((one for end in _SUFFIXES if (one := folder / f"{name}{end}").is_file()), None)
    content = None if path is None else _read(path.read_text("utf-8", "replace"))
    if path is None or not isinstance(content, dict):
        return None
    whole = AttributeDict()
    own = False
    for one in content.pop("defaults", None) or ():
        if one == "_self_":
            whole.merge(AttributeDict(content))
            own = True
        else:
            _add(whole, path.parent, one)
    if not own:
        whole.merge(AttributeDict(content))
    return whole


def _add(whole: AttributeDict, folder: Path, default: Any) -> None:
    """One of the `defaults`: `base`, or `net: small`, whose file `net/small.yaml` is the entry `net`."""
    if isinstance(default, str):
        whole.merge(_composed(folder, default) or AttributeDict())
        return
    for group, name in default.items() if isinstance(default, dict) else ():
        words = str(group).split()
        if words[:1] == ["override"] or not isinstance(name, str):
            continue  # of Hydra's own: how it logs, where it runs
        place, _, package = words[-1].partition("@")
        inner = _composed(folder / place, name)
        if inner is None:
            continue
        for part in reversed([] if package == "_global_" else (package or place).split("/")):
            inner = AttributeDict({part: inner})
        whole.merge(inner)


def _read(text: str) -> Any:
    import yaml  # type: ignore[import-untyped, unused-ignore]

    return yaml.safe_load(text)


def _referred(whole: AttributeDict) -> AttributeDict:
    """With what `${data.size}` refers to in its place; `???` has to be given."""

    def value(written: Any, name: str, deep: int) -> Any:
        if isinstance(written, AttributeDict):
            return AttributeDict({key: value(inner, key, deep) for key, inner in written.items()})
        if isinstance(written, list):
            return [value(inner, name, deep) for inner in written]
        if written == "???":
            return Missing(name)
        if not isinstance(written, str) or not deep:
            return written
        if alone := _REFERENCE.fullmatch(written):
            return value(_at(whole, alone[1]), name, deep - 1)
        return _REFERENCE.sub(lambda one: str(value(_at(whole, one[1]), name, deep - 1)), written)

    found = value(whole, "", _DEEP)
    assert isinstance(found, AttributeDict)
    return found


def _at(whole: AttributeDict, way: str) -> Any:
    found: Any = whole
    for part in way.split("."):
        found = found.get(part) if isinstance(found, AttributeDict) else None
    return found


class _OmegaConf:
    """What scripts do with their settings."""

    @staticmethod
    def create(content: Any = None, **flags: Any) -> Any:
        """Of a dict, a list or a text."""
        content = _read(content) if isinstance(content, str) else content
        return content if isinstance(content, list) else AttributeDict(content or {})

    @staticmethod
    def load(file: Any) -> Any:
        """Of a file, which `open` also finds beside the script."""
        with Path(file).open(encoding="utf-8") as opened:
            return _Settings(_referred(AttributeDict(_read(opened.read()) or {})))

    @staticmethod
    def merge(*several: Any) -> Any:
        """Of several one, of which the last say most."""
        whole = AttributeDict()
        for one in several:
            whole.merge(AttributeDict(one))
        return whole

    @staticmethod
    def to_container(settings: Any, **how: Any) -> Any:
        """The same: it is a dict."""
        return settings

    @staticmethod
    def from_cli(words: Any = None) -> Any:
        """No command line."""
        return AttributeDict()

    @staticmethod
    def to_yaml(settings: Any, **how: Any) -> str:
        """To be printed."""
        return str(settings)

    @staticmethod
    def set_struct(settings: Any, flag: Any) -> None:
        """Nothing: any entry may be added."""

    @staticmethod
    def save(*args: Any, **how: Any) -> None:
        """Nothing."""

    set_readonly = register_new_resolver = resolve = save


@contextmanager
def composed_settings(assumptions: list[str]) -> Iterator[None]:
    """Inside, slices find `oomlint_settings`, and OmegaConf can be imported."""
    _said[0] = assumptions
    with ExitStack() as stack:
        stack.enter_context(patch.object(builtins, "oomlint_settings", settings, create=True))
        stack.enter_context(patch.dict(sys.modules))
        if "omegaconf" not in sys.modules and importlib.util.find_spec("omegaconf") is None:
            module = ModuleType("omegaconf")
            module.OmegaConf, module.DictConfig, module.ListConfig = _OmegaConf, AttributeDict, list  # type: ignore[attr-defined]
            sys.modules["omegaconf"] = module
        yield
