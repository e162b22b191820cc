"""Edits in terms of nodes, so that a rule never counts characters.

The engine resolves them to spans of the text (:mod:`oomlint.syntax.resolve`); every byte outside
the spans stays as it was.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Union

if TYPE_CHECKING:
    import libcst as cst

    from oomlint.syntax.place import Place


@dataclass(frozen=True, slots=True)
class Replace:
    """Write `text` in place of an expression, argument or small statement.

    Write a bare expression: parentheses are added where the context needs them.
    """

    place: Place
    text: str


@dataclass(frozen=True, slots=True)
class Wrap:
    """Write `before` and `after` around an expression, which itself stays untouched.

    Parentheses are added where the expression needs them inside, or the whole outside.
    """

    place: Place
    before: str
    after: str


@dataclass(frozen=True, slots=True)
class AddArgument:
    """Append an argument to a call. Fails where the call already has a keyword of that name."""

    place: Place  # the cst.Call
    text: str


@dataclass(frozen=True, slots=True)
class RemoveArgument:
    """Remove one argument of a call, with its comma and the blanks that belong to it."""

    place: Place  # the cst.Call
    argument: cst.Arg


@dataclass(frozen=True, slots=True)
class InsertBefore:
    """Insert whole lines before a statement, at its indentation.

    They go above the comment lines that stand directly on the statement, because those describe it, but
    below the comments at the top of the file. `lines` are written relative to the statement's own
    indentation, with four blanks for each deeper level, which become the file's own unit; `blank` asks for
    an empty line after them. The place may be any node inside the statement; an `elif` means its `if`.
    """

    place: Place
    lines: tuple[str, ...]
    blank: bool = False


@dataclass(frozen=True, slots=True)
class InsertAfter:
    """Insert whole lines after a statement, at its indentation; `lines` as for :class:`InsertBefore`."""

    place: Place
    lines: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class RemoveStatement:
    """Remove a whole statement, its line ends and the comment at its end; comments above it stay.

    `pass` is left in a block that would be empty otherwise.
    """

    place: Place


@dataclass(frozen=True, slots=True)
class MoveBefore:
    """Move statements that stand next to each other before another statement, re-indented.

    The comment lines directly above the first one go with it.
    """

    place: Place  # the first statement moved
    last: Place  # the last statement moved (may be the same)
    target: Place


@dataclass(frozen=True, slots=True)
class MoveAfter:
    """The same, to behind another statement, which may be the one that they stand in."""

    place: Place  # the first statement moved
    last: Place  # the last statement moved (may be the same)
    target: Place


@dataclass(frozen=True, slots=True)
class AddImport:
    """Make sure that the file imports this (e.g. `import tensorflow as tf`), after the imports it has."""

    place: Place  # what needs the import
    statement: str


@dataclass(frozen=True, slots=True)
class MoveInChain:
    """Move a method call of a chain in front of others: `x.map(f).shuffle(n)` becomes `x.shuffle(n).map(f)`.

    What stands between the calls (dots, rows, comments) stays where it is.
    """

    place: Place  # the cst.Call moved
    over: tuple[cst.Call, ...]  # the calls that directly precede it, first one first


@dataclass(frozen=True, slots=True)
class CallOn:
    """Call a method on an expression as another call does: `.shuffle(n)` of `ds.shuffle(n)` after `source(...)`."""

    place: Place  # the expression
    call: cst.Call  # whose method and arguments are copied


Edit = Union[
    Replace,
    Wrap,
    AddArgument,
    RemoveArgument,
    InsertBefore,
    InsertAfter,
    RemoveStatement,
    MoveBefore,
    MoveAfter,
    AddImport,
    MoveInChain,
    CallOn,
]
