"""Files of settings in a project, which an option without a default may mean: the only one is taken and said."""

from __future__ import annotations

import argparse
import os
import re
from collections.abc import Iterator
from pathlib import Path

_SUFFIXES = frozenset((".json", ".yaml", ".yml", ".toml", ".cfg", ".ini", ".conf", ".config"))
_WORD = r"(?:configs?|configuration|cfgs?|conf|params?|parameters|hparams?|hyper_?params|hyper_?parameters|settings?)"
_OPTION = re.compile(rf"(?:\w+_)?{_WORD}(?:_?(?:file|path|name|filename|filepath|yaml|yml|json|toml))?")
_HELP = re.compile(
    rf"\b{_WORD}\b.*\b(?:file|path|json|ya?ml|toml)\b|\b(?:file|path|json|ya?ml|toml)\b.*\b{_WORD}\b"
)
_NAMED = re.compile(rf"(?:\w+[_.-])?{_WORD}(?:[_.-]\w+)?|default|defaults|base")
# Settings of tools, not of a training.
_OF_TOOLS = re.compile(
    r"(?:package(?:-lock)?|tsconfig|setup|pyproject|tox|mkdocs|environment|docker-compose|codecov|pytest|mypy|"
    r"pylintrc|requirements|tokenizer_config|manifest)\b.*"
)
_LEFT_OUT = frozenset(
    ("node_modules", "venv", "env", "build", "dist", "site-packages", "__pycache__", "tests")
)
_DEEP = 3
_MOST = 2000  # files that are looked at


def wanted(action: argparse.Action) -> bool:
    """Whether an option names a file of settings."""
    if action.choices or action.nargs in ("*", "+") or action.type not in (None, str, Path):
        return False
    help_ = action.help if isinstance(action.help, str) else ""
    return _OPTION.fullmatch(action.dest.lower()) is not None or _HELP.search(help_.lower()) is not None


def found(folders: list[str]) -> list[str]:
    """The files of settings in the script's folder and the working one, as they are written from there."""
    names: dict[Path, str] = {}
    for folder in folders:
        for path in _files(Path(folder)):
            names.setdefault(path.resolve(), path.relative_to(folder).as_posix())
    return sorted(names.values(), key=lambda name: (name.count("/"), name))


def taken(names: list[str]) -> str | None:
    """The one that is meant for sure: the only one, or the only one that is called the default."""
    plain = [name for name in names if re.match(r"defaults?\b|default_", Path(name).stem)]
    return names[0] if len(names) == 1 else plain[0] if len(plain) == 1 else None


def _files(folder: Path) -> Iterator[Path]:
    looked = 0
    for here, inner, files in os.walk(folder):
        depth = len(Path(here).relative_to(folder).parts)
        inner[:] = sorted(
            one for one in inner if depth < _DEEP and one.lower() not in _LEFT_OUT and not one.startswith(".")
        )
        for name in files:
            looked += 1
            if looked > _MOST:
                return
            path = Path(here, name)
            if path.suffix.lower() not in _SUFFIXES or _OF_TOOLS.fullmatch(name.lower()) or name[0] == ".":
                continue
            if _NAMED.fullmatch(path.stem.lower()) or (
                depth and re.fullmatch(rf"(?:\w+[_-])?{_WORD}", path.parent.name.lower())
            ):
                yield path
