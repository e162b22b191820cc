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
from typing import Any, NamedTuple

import libcst as cst

from oomlint.documents.python_syntax import SyntaxFault, parsed

_PIECE = 30_000  # characters


class _NotInPieces(Exception):
    """The file has something in it that only the parse of the whole sees right."""


def parsed_in_pieces(text: str) -> cst.Module | None:
    """The tree of a large text; None where it has to be parsed as a whole."""
    if "\r" in text or "\f" in text:
        return None
    try:
        body = _statements(parsed(text).body)  # the tree itself takes 150 bytes for each character
        return _Pieces(text).module(body) if body else None
    except (_NotInPieces, cst.ParserSyntaxError, SyntaxFault, ValueError, RecursionError):
        return None


class _Statement(NamedTuple):
    """The rows of a statement, with its decorators, and its column; of a class its members."""

    first: int
    last: int
    column: int
    members: Sequence[_Statement] = ()


def _statements(body: Sequence[ast.stmt]) -> list[_Statement]:
    return [
        _Statement(
            min([one.lineno, *(decorator.lineno for decorator in getattr(one, "decorator_list", ()))]),
            one.end_lineno or one.lineno,
            one.col_offset,
            _statements(one.body) if isinstance(one, ast.ClassDef) else (),
        )
        for one in body
    ]


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

    def module(self, body: Sequence[_Statement]) -> cst.Module:
        pieces = list(self._cut(body, 0))
        if len(pieces) < 2 and not body[0].members:
            raise _NotInPieces
        made: list[cst.Module] = []
        statements: list[Any] = []
        before = 0
        for piece in pieces:
            last = len(self._rows) if piece is pieces[-1] else piece[-1].last
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

    def _piece(self, piece: Sequence[_Statement], before: int, last: int) -> cst.Module:
        """The rows behind `before` up to `last`; a large class of its own by its members."""
        (first, *others) = piece
        if others or not first.members or not self._is_large(first):
            return self._parsed(self._text[self._ends[before] : self._ends[last]])
        groups = list(self._cut(first.members, first.members[0].column))
        if len(groups) < 2:
            return self._parsed(self._text[self._ends[before] : self._ends[last]])
        members: list[Any] = []
        made: list[cst.Module] = []
        start = before
        for group in groups:
            end = last if group is groups[-1] else group[-1].last
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

    def _is_large(self, statement: _Statement) -> bool:
        return self._ends[statement.last] - self._ends[statement.first - 1] > 2 * _PIECE

    def _cut(self, body: Sequence[_Statement], column: int) -> Iterator[list[_Statement]]:
        """The statements of a block by some at a time; a large class by itself."""
        piece: list[_Statement] = []
        for statement in body:
            if piece and (self._ends[statement.last] - self._ends[piece[0].first - 1] > _PIECE):
                if self._may_part(piece[-1], statement, column):
                    yield piece
                    piece = []
            piece.append(statement)
        yield piece

    def _may_part(self, one: _Statement, other: _Statement, column: int) -> bool:
        """Whether what stands between two statements belongs to the second, without a doubt."""
        if other.column != column or other.first <= one.last:
            return False
        for row in self._rows[one.last : other.first - 1]:
            bare = row.lstrip()
            if row != "\n" and (not bare.startswith("#") or len(row) - len(bare) != column):
                return False
        return True


def _class(part: cst.Module) -> tuple[cst.ClassDef, cst.IndentedBlock]:
    (only,) = part.body
    if not isinstance(only, cst.ClassDef) or not isinstance(only.body, cst.IndentedBlock):
        raise _NotInPieces
    return only, only.body
