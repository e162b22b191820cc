"""The text around the nodes that a fix changes: spans, rows, indentation, newlines."""

from __future__ import annotations

import re
from collections.abc import Iterable

import libcst as cst

from oomlint.syntax.positions import PositionError, Positions
from oomlint.syntax.source import Source

NEWLINE = re.compile(r"\r\n?|\n")
_TEXTS = re.compile(
    r"""#[^\r\n]*|(?P<quotes>'''|\"\"\"|'|")(?:\\.|(?!(?P=quotes)).)*(?P=quotes)""", re.DOTALL
)


class EditError(Exception):
    """A fix that cannot be written here: the finding stays, without it."""


class Layout:
    """One document, as the resolving of edits sees it."""

    def __init__(self, source: Source, nodes: Iterable[cst.CSTNode], known: Positions | None = None) -> None:
        self.source = source
        self.text = source.document.text
        self.lines = source.document.lines
        self.newline = source.whole.default_newline
        self.unit = source.whole.default_indent
        self._positions = [] if known is None else [known]
        self.look_up(nodes)

    def look_up(self, nodes: Iterable[cst.CSTNode]) -> None:
        """Work out the positions of more nodes."""
        missing = [node for node in nodes if not any(node in known for known in self._positions)]
        if missing:
            self._positions.append(Positions(self.source, missing))

    def span(self, node: cst.CSTNode) -> tuple[int, int]:
        """A node without blanks around it and its own parentheses."""
        return self._of(node).span(node)

    def outer(self, node: cst.CSTNode) -> tuple[int, int]:
        """A node with all that it generates."""
        return self._of(node).outer(node)

    def path(self, node: cst.CSTNode) -> tuple[cst.CSTNode, ...]:
        """The module, and so on down to the node itself."""
        return (*self._of(node).ancestors(node), self.source.written(node))

    def block_indent(self, node: cst.CSTNode) -> str:
        """The indentation of the block that holds a statement."""
        return self._of(node).indent(node)

    def _of(self, node: cst.CSTNode) -> Positions:
        for positions in self._positions:
            if node in positions:
                return positions
        raise PositionError(f"a {type(node).__name__} that is not part of this document")

    def row_start(self, offset: int) -> int:
        """Where the row of an offset starts."""
        return self.lines.start(self.lines.row(offset))

    def row_end(self, offset: int) -> int:
        """Where the row of an offset ends, before its newline."""
        return self.lines.end(self.lines.row(offset))

    def next_row(self, offset: int) -> int:
        """Where the row after that of an offset starts, or the end of the text."""
        return self.lines.next_start(self.lines.row(offset))

    def indent(self, offset: int) -> str:
        """The blanks that the row of an offset starts with."""
        row = self.text[self.row_start(offset) : self.row_end(offset)]
        return row[: len(row) - len(row.lstrip(" \t\f"))]

    def begins_row(self, offset: int) -> bool:
        """Whether only blanks stand before an offset in its row."""
        return not self.text[self.row_start(offset) : offset].strip()

    def in_own_unit(self, line: str) -> str:
        """A line of an edit, whose levels are four blanks or a tab, in the file's unit of indentation."""
        bare = line.lstrip(" \t")
        blanks = line[: len(line) - len(bare)].replace("\t", "    ")
        levels, rest = divmod(len(blanks), 4)
        return self.unit * levels + " " * rest + bare

    def rows(self, node: cst.CSTNode, text: str) -> str:
        """An expression of several rows in a node's place: the file's newlines, as far in as the node's block.

        The code of a node comes without the indentation of the block around it, and with the newlines of its file. A
        row that begins inside a string, or behind a backslash, is what it is.
        """
        if NEWLINE.search(text) is None:
            return text
        blocks = (above for above in self.path(node) if isinstance(above, cst.IndentedBlock))
        indent = "".join(self.unit if one.indent is None else one.indent for one in blocks)
        strings = [match.span() for match in _TEXTS.finditer(text)]

        def row(end: re.Match[str]) -> str:
            start = end.end()
            ends_here = start == len(text) or text[start] in "\r\n"
            kept = text[: end.start()].endswith("\\") or any(low < start < high for low, high in strings)
            return self.newline if ends_here or kept else self.newline + indent

        return NEWLINE.sub(row, text)

    def block(self, lines: Iterable[str], indent: str) -> str:
        """Lines of an edit as rows of the file, each with its newline."""
        rows = [row for line in lines for row in NEWLINE.split(line)]
        if len(rows) > 1 and any(row.count(quotes) % 2 for row in rows for quotes in ('"""', "'''")):
            raise EditError("a string over several rows would be indented anew")
        return "".join(
            f"{indent}{self.in_own_unit(row)}{self.newline}" if row.strip() else self.newline for row in rows
        )
