"""Documents whose program stands in parts: a notebook's cells, the code blocks of a text.

The program is the parts in order. Between two of them stands an empty row that belongs to neither, so that what
is inserted behind the last statement of one part and before the first of the next are two different places.
"""

from __future__ import annotations

import re
from abc import abstractmethod
from bisect import bisect_right
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TypeVar

from oomlint.documents.lines import LineIndex, Location
from oomlint.documents.python_file import Document, DocumentError
from oomlint.documents.python_syntax import SyntaxFault
from oomlint.documents.text_edits import TextEdit

SEPARATOR = "\n\n"
_NEWLINE = re.compile(r"\r\n?|\n")


@dataclass(frozen=True, slots=True)
class Part:
    """One part: as it stands in the file (`source`) and its program (`text`), which has the same rows.

    `prefixes` says for each row how many characters of it are not of the program (the indentation of a code
    block); empty where none are. `neutral` are spans of the program that stand for something else, `prelude` is what
    the program says before the part for something that is not Python in it (rows with their newlines).
    """

    number: int
    source: str
    text: str
    prefixes: tuple[int, ...] = ()
    prefix: str = ""
    neutral: tuple[tuple[int, int], ...] = ()
    prelude: str = ""
    start: int = 0  # where its text starts in the program
    rows: LineIndex = field(init=False, repr=False, compare=False)
    source_rows: LineIndex = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "rows", LineIndex(self.text))
        object.__setattr__(
            self, "source_rows", self.rows if self.text == self.source else LineIndex(self.source)
        )

    @property
    def end(self) -> int:
        """Where its text ends in the program."""
        return self.start + len(self.text)

    def to_source(self, offset: int) -> int:
        """The offset in the source of one in the part's text."""
        if not self.prefixes:
            return offset
        row = self.rows.row(offset)
        return self.source_rows.start(row) + self.prefixes[row - 1] + offset - self.rows.start(row)

    def to_text(self, row: int, column: int) -> int:
        """The offset in the part's text of a row and column in the source."""
        return self.rows.offset(row, column - (self.prefixes[row - 1] if self.prefixes else 0))

    def in_source(self, edit: TextEdit) -> TextEdit:
        """An edit of the part's text as one of its source. Raises DocumentError where it would change a magic."""
        for start, end in self.neutral:
            if (edit.start < end and start < edit.end) or start < edit.start < end:
                raise DocumentError("it would change a line that is IPython's, not Python's")
        found = _NEWLINE.search(self.source)
        text = edit.text if found is None else _NEWLINE.sub(found.group(), edit.text)
        if not self.prefixes:
            return TextEdit(edit.start, edit.end, text)
        return self._prefixed(edit.start, edit.end, text)

    def _prefixed(self, start: int, end: int, text: str) -> TextEdit:
        first, last = self.rows.row(start), self.rows.row(end)
        ends_row = text.endswith(("\n", "\r"))
        to_row_start = end == self.rows.start(last) and (ends_row or (not text and start < end))
        whole_rows = to_row_start and start == self.rows.start(first)
        rows = LineIndex(text)
        parts = []
        for row in range(1, rows.count + 1):
            content = text[rows.start(row) : rows.next_start(row)]
            goes_first = row > 1 or whole_rows
            parts.append(self.prefix + content if goes_first and content.strip() else content)
        if not to_row_start and rows.count > 1 and not rows.text_of(rows.count):
            parts.append(self.prefix)  # what follows in the row had its own prefix before
        return TextEdit(
            self.source_rows.start(first) if whole_rows else self.to_source(start),
            self.source_rows.start(last) if to_row_start else self.to_source(end),
            "".join(parts),
        )


@dataclass(frozen=True, slots=True)
class Broken:
    """A part that is no Python: why, and its row."""

    number: int
    fault: SyntaxFault
    row: str


Changed = TypeVar("Changed", bound="PartedDocument")


class PartedDocument(Document):
    """A file whose program stands in parts. `text` is the program; `broken` are parts that are left out of it."""

    __slots__ = ("_starts", "broken", "parts")

    def __init__(
        self,
        path: Path | None,
        filename: str,
        raw: bytes,
        parts: Iterable[Part],
        broken: Sequence[Broken] = (),
        bom: bytes = b"",
    ) -> None:
        placed: list[Part] = []
        at = 0
        for part in parts:
            at += len(part.prelude)
            placed.append(replace(part, start=at))
            at += len(part.text) + len(SEPARATOR)
        text = "".join(part.prelude + part.text + SEPARATOR for part in placed)
        super().__init__(path, filename, raw, text, "utf-8", bom)
        self.parts = tuple(placed)
        self.broken = tuple(broken)
        self._starts = [part.start for part in placed]

    @property
    def is_whole(self) -> bool:
        """A program of parts is not all of the file."""
        return False

    def with_text(self, new_text: str) -> Document:
        """Nobody knows which part another text belongs to."""
        raise ValueError("a document of parts is changed by edits")

    def with_edits(self: Changed, edits: Iterable[TextEdit]) -> Changed:
        """The same file with some parts changed. An edit that goes over two parts raises DocumentError."""
        local: dict[int, list[TextEdit]] = defaultdict(list)
        for edit in edits:
            number = self._number(edit.start)
            if number is None:
                raise ValueError("an edit outside of the program")
            found = self._inside(number, edit)
            if found is not None:
                local[found[0]].append(found[1])
        changes = {
            number: [self.parts[number].in_source(edit) for edit in _tidied(self.parts[number], own)]
            for number, own in local.items()
        }
        return self.with_changes(changes)

    def _number(self, offset: int) -> int | None:
        return max(0, bisect_right(self._starts, offset) - 1) if self.parts else None

    def _inside(self, number: int, edit: TextEdit) -> tuple[int, TextEdit] | None:
        """The edit in offsets of the part that it changes; nothing where it only changes rows between parts."""
        part = self.parts[number]
        start, end = max(0, edit.start - part.start), max(0, edit.end - part.start)
        size = len(part.text)
        behind = number + 1 < len(self.parts) and edit.end > self.parts[number + 1].start
        if start > size:  # between two parts
            if behind:
                below = self.parts[number + 1]
                return self._inside(number + 1, replace(edit, start=below.start))
            return (number, TextEdit(size, size, _behind(part, edit.text))) if edit.text else None
        if behind:
            raise DocumentError("it would change two cells or code blocks at once")
        return number, TextEdit(start, min(end, size + 1), edit.text)

    @abstractmethod
    def with_changes(self: Changed, changes: Mapping[int, Sequence[TextEdit]]) -> Changed:
        """The document after edits of the sources of some parts, by their index."""

    def part_at(self, offset: int) -> tuple[Part, int]:
        """The part of an offset of the program, and the offset inside of it."""
        number = self._number(offset)
        if number is None:
            raise ValueError("a document without code has no places")
        part = self.parts[number]
        return part, min(max(0, offset - part.start), len(part.text))

    def location(self, offset: int) -> Location:
        """The place of an offset of the program in its cell or in the file."""
        if not self.parts:
            return self.place(None, 1, 1)
        part, inside = self.part_at(offset)
        there = part.source_rows.location(part.to_source(inside))
        return self.place(part, there.row, there.column)

    @abstractmethod
    def place(self, part: Part | None, row: int, column: int) -> Location:
        """How a report names a row and column of a part's source."""

    def shown(self, start: int, end: int) -> tuple[str, ...]:
        """The rows of a span as they stand in the file."""
        if not self.parts:
            return ()
        part, first = self.part_at(start)
        last = min(max(end - part.start, first), len(part.text))
        rows = range(part.rows.row(first), part.rows.row(last) + 1)
        return tuple(part.source_rows.text_of(row) for row in rows)


def _has_newline(part: Part) -> bool:
    return not part.text or part.text[-1] in "\r\n"


def _behind(part: Part, rows: str) -> str:
    """Whole rows, to be written behind the last row of a part, which keeps or does without its newline."""
    return rows if _has_newline(part) else "\n" + rows.removesuffix("\n").removesuffix("\r")


def _gone_together(part: Part, edits: list[TextEdit]) -> list[TextEdit]:
    """The edits, with rows that go directly above last rows that go in one with those."""
    last = next((edit for edit in edits if edit.end > len(part.text) and not edit.text), None)
    above = {edit.end: edit for edit in edits if edit.start < edit.end and not edit.text}
    gone = [last] if last is not None else []
    while (
        gone and gone[-1].start == part.rows.start(part.rows.row(gone[-1].start)) and gone[-1].start in above
    ):
        gone.append(above[gone[-1].start])
    if len(gone) < 2:
        return edits
    together = TextEdit(gone[-1].start, gone[0].end, "")
    return [together if edit is gone[0] else edit for edit in edits if edit not in gone[1:]]


def _tidied(part: Part, edits: list[TextEdit]) -> list[TextEdit]:
    """Edits that reach behind the part's last row, held inside of it."""
    size = len(part.text)
    edits = _gone_together(part, edits)
    tidy: list[TextEdit] = []
    last = None  # where the last row begins, if it goes: rows that are put in there are the last ones
    for edit in edits:
        if edit.end <= size:
            tidy.append(edit)
            continue
        start, text = edit.start, edit.text.removesuffix("\n").removesuffix("\r")
        row = part.rows.row(start)
        if not text and start == part.rows.start(row) and not _has_newline(part):
            last = start
        if not text and row > 1 and start == part.rows.start(row) and not _has_newline(part):
            above_end = part.rows.end(row - 1)
            if not any(above_end <= other.start <= start for other in edits if other is not edit):
                start = above_end  # the row above is the last one now, and has no newline either
        tidy.append(TextEdit(start, size, text))
    put = [number for number, edit in enumerate(tidy) if edit.start == edit.end == last]
    for number in put[-1:]:
        tidy[number] = replace(tidy[number], text=tidy[number].text.removesuffix("\n").removesuffix("\r"))
    return tidy
