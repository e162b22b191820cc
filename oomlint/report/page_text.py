"""A rule's page on a terminal: lines as long as the terminal is wide, bold headings; code stays as it is."""

from __future__ import annotations

import re
import textwrap
from collections.abc import Iterator

from oomlint.report.style import Style

WIDEST = 100
_FENCE = re.compile(r"^```.*?^```$", re.MULTILINE | re.DOTALL)
_ITEM = re.compile(r"^- ", re.MULTILINE)


def render(page: str, style: Style, columns: int) -> str:
    """The page for a terminal with that many columns."""
    width = max(20, min(columns, WIDEST))
    parts: list[str] = []
    end = 0
    for fence in _FENCE.finditer(page):
        parts += _prose(page[end : fence.start()], style, width)
        parts.append(fence[0])
        end = fence.end()
    parts += _prose(page[end:], style, width)
    return "\n\n".join(parts)


def _prose(text: str, style: Style, width: int) -> Iterator[str]:
    for paragraph in re.split(r"\n\s*\n", text.strip("\n")):
        if paragraph.startswith("#"):
            heading, _, rest = paragraph.partition("\n")
            yield style.bold(heading)
            if rest:
                yield _filled(rest, width)
        elif paragraph:
            yield _filled(paragraph, width)


def _filled(paragraph: str, width: int) -> str:
    first, *items = _ITEM.split(paragraph)
    lines = [_wrapped(first, width)] if first else []
    lines += [_wrapped(item, width, "- ", "  ") for item in items]
    return "\n".join(lines)


def _wrapped(text: str, width: int, start: str = "", then: str = "") -> str:
    return textwrap.fill(
        " ".join(text.split()),
        width,
        initial_indent=start,
        subsequent_indent=then,
        break_long_words=False,
        break_on_hyphens=False,
    )
