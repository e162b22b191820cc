"""Large files parsed piece by piece.

LibCST's parser holds up to 850 bytes for each character while it works (386 MB for the 448,000 characters of one test
module of keras; its tree takes 28 of them), so a file of that size would be all of a process's memory. The statements
of a module, and those of a large class, are parsed by some at a time and put together: the same tree, where nothing but
blank rows and comments of the statements' own column stands between two pieces.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence
from itertools import accumulate
from typing import Any

import libcst as cst

_PIECE = 30_000  # characters


class _NotInPieces(Exception):
    """The file has something in it that only the parse of the whole sees right."""


def parsed_in_pieces(text: str) -> cst.Module | None:
    """The tree of a large text; None where it has to be parsed as a whole."""
    if "\r" in text or "\f" in text:
        return None
    try:
        body = ast.parse(text).body
        return _Pieces(text).module(body) if body else None
    except (_NotInPieces, cst.ParserSyntaxError, SyntaxError, ValueError, RecursionError, MemoryError):
        return None


class _Pieces:
    """The rows of one text, and how its pieces are indented."""

    def __init__(self, text: str) -> None:
        self._rows = [f"{row}\n" for row in text.split("\n")]  # `str.splitlines` knows more ends of rows
        self._rows[-1] = self._rows[-1][:-1]
        if not self._rows[-1]:
            self._rows.pop()
        self._ends = [0, *accumulate(map(len, self._rows))]
        self._text = text
        self._unit: str | None = None

    def module(self, body: Sequence[ast.stmt]) -> cst.Module:
        pieces = list(self._cut(body, 0))
        if len(pieces) < 2 and not isinstance(body[0], ast.ClassDef):
            raise _NotInPieces
        made: list[cst.Module] = []
        statements: list[Any] = []
        before = 0
        for piece in pieces:
            last = len(self._rows) if piece is pieces[-1] else _last_row(piece[-1])
            part = self._piece(piece, before, last)
            own = list(part.body)
            if made:
                own[0] = own[0].with_changes(leading_lines=[*part.header, *own[0].leading_lines])
            made.append(part)
            statements += own
            before = last
        end = made[-1]
        return made[0].with_changes(
            body=statements,
            footer=end.footer,
            default_indent=self._unit or end.default_indent,
            has_trailing_newline=end.has_trailing_newline,
        )

    def _piece(self, piece: Sequence[ast.stmt], before: int, last: int) -> cst.Module:
        """The rows behind `before` up to `last`; a large class of its own by its members."""
        (first, *others) = piece
        if others or not isinstance(first, ast.ClassDef) or not self._is_large(first):
            return self._parsed(self._text[self._ends[before] : self._ends[last]])
        groups = list(self._cut(first.body, first.body[0].col_offset))
        if len(groups) < 2:
            return self._parsed(self._text[self._ends[before] : self._ends[last]])
        members: list[Any] = []
        made: list[cst.Module] = []
        start = before
        for group in groups:
            end = last if group is groups[-1] else _last_row(group[-1])
            rows = self._text[self._ends[start] : self._ends[end]]
            made.append(self._parsed(f"class _:\n{rows}" if made else rows))
            members += _class(made[-1])[1].body
            start = end
        (whole, block), footer = _class(made[0]), _class(made[-1])[1].footer
        return made[0].with_changes(
            body=[whole.with_changes(body=block.with_changes(body=members, footer=footer))],
            footer=made[-1].footer,
            has_trailing_newline=made[-1].has_trailing_newline,
        )

    def _parsed(self, text: str) -> cst.Module:
        part = cst.parse_module(text)
        if any(row[0] in " \t" for row in text.split("\n") if row):
            # A block that is indented like the first of the file does not say so.
            if self._unit not in (None, part.default_indent):
                raise _NotInPieces
            self._unit = part.default_indent
        return part

    def _is_large(self, statement: ast.stmt) -> bool:
        return self._ends[_last_row(statement)] - self._ends[_first_row(statement) - 1] > 2 * _PIECE

    def _cut(self, body: Sequence[ast.stmt], column: int) -> Iterator[list[ast.stmt]]:
        """The statements of a block by some at a time; a large class by itself."""
        piece: list[ast.stmt] = []
        for statement in body:
            if piece and (self._ends[_last_row(statement)] - self._ends[_first_row(piece[0]) - 1] > _PIECE):
                if self._may_part(piece[-1], statement, column):
                    yield piece
                    piece = []
            piece.append(statement)
        yield piece

    def _may_part(self, one: ast.stmt, other: ast.stmt, column: int) -> bool:
        """Whether what stands between two statements belongs to the second, without a doubt."""
        if other.col_offset != column or _first_row(other) <= _last_row(one):
            return False
        for row in self._rows[_last_row(one) : _first_row(other) - 1]:
            bare = row.lstrip()
            if row != "\n" and (not bare.startswith("#") or len(row) - len(bare) != column):
                return False
        return True


def _class(part: cst.Module) -> tuple[cst.ClassDef, cst.IndentedBlock]:
    (only,) = part.body
    if not isinstance(only, cst.ClassDef) or not isinstance(only.body, cst.IndentedBlock):
        raise _NotInPieces
    return only, only.body


def _first_row(statement: ast.stmt) -> int:
    decorators: Sequence[ast.expr] = getattr(statement, "decorator_list", ())
    return min([statement.lineno, *(one.lineno for one in decorators)])


def _last_row(statement: ast.stmt) -> int:
    assert statement.end_lineno is not None
    return statement.end_lineno
