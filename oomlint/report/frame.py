"""The source frame of a finding: the line, with the span underlined."""

from __future__ import annotations

import unicodedata
from collections.abc import Iterator

from oomlint.findings.diagnostic import Diagnostic
from oomlint.report.style import Style

_TAB = "    "
_MOST = 3  # lines of a span that are shown


def _visible(text: str) -> str:
    """Tabs as blanks, and nothing that a terminal would obey."""
    return "".join(
        _TAB if char == "\t" else char if char.isprintable() else "\N{REPLACEMENT CHARACTER}" for char in text
    )


def _width(text: str) -> int:
    """Terminal columns."""
    wide = 0
    for char in _visible(text):
        if not unicodedata.combining(char):
            wide += 2 if unicodedata.east_asian_width(char) in "WF" else 1
    return wide


def frame(diagnostic: Diagnostic, style: Style) -> Iterator[str]:
    """The lines of the frame; nothing where the source is not at hand."""
    if not diagnostic.lines:
        return
    first = diagnostic.location.row
    shown = diagnostic.lines[:_MOST]
    gutter = len(str(first + len(shown) - 1))
    empty = style.faint(" " * gutter + " |")
    yield empty
    for index, line in enumerate(shown):
        row = first + index
        yield f"{style.faint(f'{row:>{gutter}} |')} {_visible(line)}".rstrip()
        start = diagnostic.location.column - 1 if index == 0 else len(line) - len(line.lstrip())
        end = len(line.rstrip())
        if row == diagnostic.end_location.row:
            end = diagnostic.end_location.column - 1
        before, marked = _width(line[:start]), max(1, _width(line[start:end]))
        yield f"{empty} {' ' * before}{style.severity('^' * marked, diagnostic.severity)}"
    if len(diagnostic.lines) > _MOST:
        yield f"{style.faint(' ' * gutter + ' :')}"
