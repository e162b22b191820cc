"""Edits in terms of nodes, so that a rule never counts characters.

The engine resolves them to spans of the text (:mod:`oomlint.syntax.positions`); every byte
outside the spans stays as it was.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Union

if TYPE_CHECKING:
    import libcst as cst

    from oomlint.syntax.place import Place


@dataclass(frozen=True, slots=True)
class Replace:
    """Write `text` in place of an expression, argument or small statement."""

    place: Place
    text: str


@dataclass(frozen=True, slots=True)
class Wrap:
    """Write `before` and `after` around an expression, which itself stays untouched."""

    place: Place
    before: str
    after: str


@dataclass(frozen=True, slots=True)
class AddArgument:
    """Append an argument to a call (after its last one; before a trailing comma or comment is handled)."""

    place: Place  # the cst.Call
    text: str


@dataclass(frozen=True, slots=True)
class RemoveArgument:
    """Remove one argument of a call, with its comma and the blanks that belong to it."""

    place: Place  # the cst.Call
    argument: cst.Arg


@dataclass(frozen=True, slots=True)
class InsertBefore:
    """Insert whole lines before a statement, at its indentation, after the comments above it stay above.

    `lines` are written relative to the statement's own indentation, with four blanks (or the
    file's own unit) for each deeper level; `blank` asks for an empty line after them.
    """

    place: Place  # a statement of a block: cst.SimpleStatementLine or a compound statement
    lines: tuple[str, ...]
    blank: bool = False


@dataclass(frozen=True, slots=True)
class InsertAfter:
    """Insert whole lines after a statement, at its indentation."""

    place: Place
    lines: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class RemoveStatement:
    """Remove a whole statement with its line ends (and the comment at its end); `pass` is left in a block that would be empty."""

    place: Place


@dataclass(frozen=True, slots=True)
class MoveBefore:
    """Move statement(s), which stand next to each other, before another statement, re-indented."""

    place: Place  # the first statement moved
    last: Place  # the last statement moved (may be the same)
    target: Place


@dataclass(frozen=True, slots=True)
class AddImport:
    """Make sure that the file imports this (e.g. `import tensorflow as tf`): inserted after the other imports if it is missing."""

    place: Place  # any node of the document
    statement: str


Edit = Union[
    Replace,
    Wrap,
    AddArgument,
    RemoveArgument,
    InsertBefore,
    InsertAfter,
    RemoveStatement,
    MoveBefore,
    AddImport,
]
