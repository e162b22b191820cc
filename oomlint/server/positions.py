"""Columns in code points and in the units that the editor counts in (UTF-8, UTF-16 or UTF-32)."""

from __future__ import annotations

from dataclasses import dataclass

from lsprotocol import types as lsp

from oomlint.documents.lines import LineIndex, Location

_BOM = "\ufeff"


def units(text: str, encoding: str) -> int:
    """The length of some text in the units of an encoding."""
    if encoding == "utf-32" or text.isascii():
        return len(text)
    if encoding == "utf-8":
        return len(text.encode("utf-8", "surrogatepass"))
    return len(text) + sum(char > "\uffff" for char in text)


def code_points(text: str, count: int, encoding: str) -> int:
    """How many characters of a row make `count` units; all of them where it has fewer. None is cut in two."""
    if encoding == "utf-32" or text.isascii():
        return min(max(count, 0), len(text))
    done = 0
    for index, char in enumerate(text):
        done += units(char, encoding)
        if done > count:
            return index
    return len(text)


@dataclass(frozen=True, slots=True)
class Sheet:
    """One text of the editor: a file, or a cell of a notebook."""

    uri: str
    version: int | None
    text: str
    lines: LineIndex

    @classmethod
    def of(cls, uri: str, version: int | None, text: str) -> Sheet:
        """The sheet of a text."""
        return cls(uri, version, text, LineIndex(text))

    def position(self, row: int, column: int, encoding: str) -> lsp.Position:
        """Where row and column (from 1, in the text without its mark) are for the editor."""
        if row > self.lines.count:
            last = self.lines.text_of(self.lines.count)
            return lsp.Position(self.lines.count - 1, units(last, encoding))
        if row == 1 and self.text.startswith(_BOM):
            column += 1
        return lsp.Position(row - 1, units(self.lines.text_of(row)[: column - 1], encoding))

    def place(self, position: lsp.Position, encoding: str) -> Location:
        """The editor's position as row and column."""
        if position.line >= self.lines.count:
            return Location(self.lines.count, len(self.lines.text_of(self.lines.count)) + 1)
        row = self.lines.text_of(position.line + 1)
        column = code_points(row, position.character, encoding) + 1
        if position.line == 0 and self.text.startswith(_BOM):
            column = max(1, column - 1)
        return Location(position.line + 1, column)

    def offset(self, position: lsp.Position, encoding: str) -> int:
        """The offset in the text of a position of the editor."""
        if position.line >= self.lines.count:
            return len(self.text)
        start = self.lines.start(position.line + 1)
        return start + code_points(self.lines.text_of(position.line + 1), position.character, encoding)

    def changed(
        self, version: int | None, changes: list[lsp.TextDocumentContentChangeEvent], encoding: str
    ) -> Sheet:
        """The sheet after the changes of one notification, each of which means the text after those before it."""
        sheet = self
        for change in changes:
            text = change.text
            if isinstance(change, lsp.TextDocumentContentChangePartial):
                start = sheet.offset(change.range.start, encoding)
                end = max(start, sheet.offset(change.range.end, encoding))
                text = sheet.text[:start] + text + sheet.text[end:]
            sheet = Sheet.of(self.uri, version, text)
        return Sheet(self.uri, version, sheet.text, sheet.lines)
