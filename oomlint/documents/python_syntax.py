"""What the standard library's parser says of a text: its tree, or a fault with the reason in the user's words."""

from __future__ import annotations

import ast
import re
import sys
import warnings
from collections.abc import Iterator
from contextlib import contextmanager

from oomlint.documents.lines import LineIndex


class SyntaxFault(Exception):
    """A text that does not parse. Line and column start at 1.

    `newer` marks syntax that a later Python than the running one may accept.
    """

    def __init__(self, message: str, line: int, column: int, *, newer: bool = False) -> None:
        super().__init__(message)
        self.message = message
        self.line = line
        self.column = column
        self.newer = newer


@contextmanager
def unwarned() -> Iterator[None]:
    """Inside, Python does not warn of what it reads, such as `"\\d"` from 3.12 on: `<unknown>:3` says nobody anything.

    Under -W error an invalid escape in a checked file would be a syntax error of it.
    """
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        yield


def parsed(text: str) -> ast.Module:
    """The tree of a text. Raises SyntaxFault."""
    try:
        with unwarned():
            return ast.parse(text)
    except SyntaxError as error:
        raise _fault(text, error) from None
    except (RecursionError, MemoryError):
        raise SyntaxFault("an expression or block is nested too deeply to be parsed", 1, 1) from None
    except ValueError as error:  # NUL characters, lone surrogates
        raise SyntaxFault(str(error), 1, 1) from None


def fault_of(text: str) -> SyntaxFault | None:
    """Why a text does not parse; None where it does, or where a later Python may accept it."""
    try:
        parsed(text)
    except SyntaxFault as fault:
        return None if fault.newer else fault
    return None


def parses(text: str) -> bool:
    """Whether a text is Python, as far as this Python can tell."""
    return fault_of(text) is None


def _fault(text: str, error: SyntaxError) -> SyntaxFault:
    lines = LineIndex(text)
    line = min(max(error.lineno or 1, 1), lines.count)
    column = max(error.offset or 1, 1)
    row = lines.text_of(line)
    message = error.msg
    if _is_python_2(message, row):
        return SyntaxFault(PYTHON_2, line, column)
    return SyntaxFault(message, line, column, newer=_may_be_newer(message, row))


def imported(node: ast.Import | ast.ImportFrom) -> Iterator[tuple[str, int]]:
    """The modules that an import names, with how many dots each begins with.

    Names that are imported from a package may be modules of it, and are among them.
    """
    if isinstance(node, ast.Import):
        yield from ((alias.name, 0) for alias in node.names)
    else:
        base = node.module or ""
        yield base, node.level
        yield from ((f"{base}.{alias.name}" if base else alias.name, node.level) for alias in node.names)


PYTHON_2 = "this is Python 2 code, and oomlint reads Python 3"

_PYTHON_2 = re.compile(
    r"""^\s*(?:
        print\s+["'\w%(]              # print "text"
      | print\s*>>                    # print >>sys.stderr, "text"
      | exec\s+["'\w]
      | except\s[^:]*,\s*[a-z_]\w*\s*:  # except Error, error:
      | raise\s+[\w.]+\s*,            # raise Error, "text"
    )""",
    re.VERBOSE,
)
_PYTHON_2_ANYWHERE = re.compile(r"<>|`[^`]*`|\b0[0-7]+\b|\b\d+[lL]\b|\b[uU][rR][\"']")


def _is_python_2(message: str, row: str) -> bool:
    if message.startswith("Missing parentheses in call to"):
        return True
    if _PYTHON_2.match(row):
        return True
    # Only for messages that such a token causes; the row may hold it in a string or comment otherwise.
    return "leading zeros" in message or (
        "invalid" in message and _PYTHON_2_ANYWHERE.search(re.sub(r"(['\"]).*?\1|#.*", "''", row)) is not None
    )


# Syntax that the running interpreter may be too old for: nested quotes in f-strings, `type X = ...`,
# `def f[T]()` and `class C[T]` came with Python 3.12, t"..." with 3.14.
_NEWER_3_12 = re.compile(r"^\s*(?:type\s+\w+\s*[=\[]|(?:async\s+)?def\s+\w+\s*\[|class\s+\w+\s*\[)")
_NEWER_3_14 = re.compile(r"\bt[rR]?[\"']")


def _may_be_newer(message: str, row: str) -> bool:
    if sys.version_info < (3, 12) and ("f-string" in message or _NEWER_3_12.search(row)):
        return True
    return sys.version_info < (3, 14) and _NEWER_3_14.search(row) is not None
