"""Patterns of files, as ruff's users write them, on any system's paths.

`*` and `?` match slashes too, `**/` also no folder at all, `[ab]` and `{a,b}` one of several. On Windows a backslash
separates like a slash, letter case does not count, and the prefix of long paths (`\\\\?\\`) says nothing.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from functools import lru_cache
from pathlib import PurePath, PureWindowsPath

_LONG = "\\\\?\\"
_LONG_SHARE = "\\\\?\\UNC\\"


def plain(path: PurePath) -> PurePath:
    """The path without Windows' prefix for long ones."""
    if isinstance(path, PureWindowsPath):
        text = str(path)
        if text.startswith(_LONG_SHARE):
            return type(path)("\\\\" + text[len(_LONG_SHARE) :])
        if text.startswith(_LONG):
            return type(path)(text[len(_LONG) :])
    return path


def below(path: PurePath, root: PurePath) -> str:
    """The path from `root` with slashes, or the whole path where it lies outside."""
    path, root = plain(path), plain(root)
    return (path.relative_to(root) if path.is_relative_to(root) else path).as_posix()


def fits(pattern: str, text: str, *, windows: bool) -> bool:
    """Whether a pattern covers a path with slashes, or a name."""
    if windows:
        pattern = pattern.replace("\\", "/")
    return _compiled(pattern, windows).fullmatch(text) is not None


def on_windows(path: PurePath) -> bool:
    """Whether the path is one of Windows."""
    return isinstance(path, PureWindowsPath)


def is_covered(path: PurePath, root: PurePath, patterns: Iterable[str]) -> bool:
    """Whether a pattern covers the path: its name, or, for patterns with a slash, where it lies in the project."""
    return Patterns(patterns, path, root).cover(path.name, path)


class Patterns:
    """Some patterns, to hold the files and folders of a project against them. `example` is a path of the system."""

    __slots__ = ("_kind", "_names", "_places", "_root")

    def __init__(self, patterns: Iterable[str], example: PurePath, root: PurePath) -> None:
        self._kind = type(example)
        self._root = root
        self._names, self._places = _sorted_out(tuple(patterns), on_windows(example))

    def cover(self, name: str, path: str | PurePath) -> bool:
        """Whether one of them covers a path with this name. No path is made of a text but for patterns with a slash."""
        if self._names is not None and self._names.fullmatch(name):
            return True
        if self._places is None:
            return False
        place = self._kind(path)
        return any(
            self._places.fullmatch(text) for text in (below(place, self._root), plain(place).as_posix())
        )


@lru_cache(maxsize=100)
def _sorted_out(
    patterns: tuple[str, ...], windows: bool
) -> tuple[re.Pattern[str] | None, re.Pattern[str] | None]:
    """One expression for all patterns of names, one for all of places: every file and folder is held against them."""
    names: list[str] = []
    places: list[str] = []
    for pattern in patterns:
        bare = pattern.replace("\\", "/") if windows else pattern
        bare = bare.removeprefix("./").removeprefix("**/").rstrip("/")
        (places if "/" in bare else names).append(f"(?:{_compiled(bare, windows).pattern})")
    flags = _flags(windows)
    return (
        re.compile("|".join(names), flags) if names else None,
        re.compile("|".join(places), flags) if places else None,
    )


def _flags(windows: bool) -> re.RegexFlag:
    return re.DOTALL | re.IGNORECASE if windows else re.DOTALL


@lru_cache(maxsize=1000)
def _compiled(pattern: str, windows: bool) -> re.Pattern[str]:
    parts: list[str] = []
    rest = pattern
    open_braces = 0
    while rest:
        if rest.startswith("**/"):
            parts.append("(?:.*/)?")
            rest = rest[3:]
            continue
        char, rest = rest[0], rest[1:]
        if char == "*":
            parts.append(".*")
        elif char == "?":
            parts.append(".")
        elif char == "[" and "]" in rest[1:]:
            end = rest.index("]", 1)
            inside = rest[:end].replace("\\", "\\\\")
            parts.append(f"[{'^' + inside[1:] if inside.startswith('!') else inside}]")
            rest = rest[end + 1 :]
        elif char == "{" and "}" in rest:
            open_braces += 1
            parts.append("(?:")
        elif char == "}" and open_braces:
            open_braces -= 1
            parts.append(")")
        elif char == "," and open_braces:
            parts.append("|")
        else:
            parts.append(re.escape(char))
    try:
        return re.compile("".join(parts) + ")" * open_braces, _flags(windows))
    except re.error:  # a range that runs backwards: taken by the letter, as fnmatch takes it
        return re.compile(re.escape(pattern))
