"""Patterns of files, as ruff's users write them, on any system's paths.

`*` and `?` match slashes too, `**/` also no folder at all, `[ab]` and `{a,b}` one of several. On Windows a backslash
separates like a slash, letter case does not count, and the prefix of long paths (`\\\\?\\`) says nothing.
"""

from __future__ import annotations

import re
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


@lru_cache(maxsize=1000)
def _compiled(pattern: str, ignore_case: bool) -> re.Pattern[str]:
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
        return re.compile(
            "".join(parts) + ")" * open_braces, re.DOTALL | (re.IGNORECASE if ignore_case else 0)
        )
    except re.error:  # a range that runs backwards: taken by the letter, as fnmatch takes it
        return re.compile(re.escape(pattern))
