"""Rows and columns of a text.

A row ends where Python ends it: at ``\\n``, ``\\r\\n`` or a lone ``\\r``. `str.splitlines` would
also end one at a form feed or at U+2028 and so number the rows differently from every editor.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from typing import NamedTuple

_ROW_END = re.compile(r"\r\n?|\n")


class Location(NamedTuple):
    """A place for people: numbers start at 1, columns count code points (as ruff's JSON does).

    `cell` is the number of a notebook's cell, counted over all of its cells, and row and column are those inside
    of it; 0 where the document is no notebook. Places are ordered by cell, row and column.
    """

    row: int
    column: int
    cell: int = 0

    @property
    def _order(self) -> tuple[int, int, int]:
        return (self.cell, self.row, self.column)

    def __lt__(self, other: tuple[int, ...]) -> bool:
        return self._order < Location(*other)._order

    def __le__(self, other: tuple[int, ...]) -> bool:
        return self._order <= Location(*other)._order

    def __gt__(self, other: tuple[int, ...]) -> bool:
        return self._order > Location(*other)._order

    def __ge__(self, other: tuple[int, ...]) -> bool:
        return self._order >= Location(*other)._order


class LineIndex:
    """Turns offsets of one text into rows and columns, and back."""

    __slots__ = ("_ends", "_starts", "_text")

    def __init__(self, text: str) -> None:
        starts, ends = [0], []
        for match in _ROW_END.finditer(text):
            ends.append(match.start())
            starts.append(match.end())
        ends.append(len(text))
        self._text = text
        self._starts = starts
        self._ends = ends

    @property
    def count(self) -> int:
        """How many rows there are; the empty one after a final newline counts."""
        return len(self._starts)

    def location(self, offset: int) -> Location:
        """Row and column of an offset (an offset inside ``\\r\\n`` belongs to the row that it ends)."""
        row = bisect_right(self._starts, offset)
        return Location(row, offset - self._starts[row - 1] + 1)

    def offset(self, row: int, column: int) -> int:
        """The offset of a row and column, held inside the row."""
        row = min(max(row, 1), self.count)
        return min(self._starts[row - 1] + max(column, 1) - 1, self._ends[row - 1])

    def row(self, offset: int) -> int:
        """The row of an offset."""
        return bisect_right(self._starts, offset)

    def start(self, row: int) -> int:
        """Where a row starts."""
        return self._starts[row - 1]

    def end(self, row: int) -> int:
        """Where a row ends, before its newline."""
        return self._ends[row - 1]

    def next_start(self, row: int) -> int:
        """Where the row after this one starts, or the end of the text."""
        return self._starts[row] if row < self.count else len(self._text)

    def text_of(self, row: int) -> str:
        """The row without its newline."""
        return self._text[self._starts[row - 1] : self._ends[row - 1]]
