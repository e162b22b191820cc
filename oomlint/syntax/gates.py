"""The two gates that a file passes before LibCST parses it, which costs ten times as much.

The first looks at bytes, the second at the tree of the standard library's `ast`. Nothing here
imports LibCST, so that a hook over files without Keras stays near the interpreter's own start.
"""

from __future__ import annotations

import ast
import re
import sys
import warnings
from dataclasses import dataclass

from oomlint.documents.encodings import UnknownEncoding, encoding_of, keeps_ascii, wide_encoding
from oomlint.documents.python_file import Document


class SyntaxFault(Exception):
    """A file that does not parse. Line and column start at 1.

    `newer` marks syntax that a later Python than the running one may accept.
    """

    def __init__(self, message: str, line: int, column: int, *, newer: bool = False) -> None:
        super().__init__(message)
        self.message = message
        self.line = line
        self.column = column
        self.newer = newer


@dataclass(slots=True)
class ParseCounts:
    """How often each parser ran in this process; the tests hold the engine to its promise with it."""

    ast: int = 0
    libcst: int = 0

    def reset(self) -> None:
        """Start counting anew."""
        self.ast = self.libcst = 0


PARSES = ParseCounts()

# "keras" is also in tf_keras.
_NAMES = ("tensorflow", "keras")
_NAME_BYTES = tuple(name.encode() for name in _NAMES)


def names_keras(raw: bytes) -> bool:
    """Whether the file mentions TensorFlow or Keras at all."""
    if any(name in raw for name in _NAME_BYTES):
        return True
    encoding = wide_encoding(raw)
    if encoding is None:
        try:
            encoding = encoding_of(raw)
        except UnknownEncoding:
            return False
        if keeps_ascii(encoding):
            return False
    text = raw.decode(encoding, errors="replace")
    return any(name in text for name in _NAMES)


def parse_ast(document: Document) -> ast.Module:
    """The standard library's tree of a document."""
    PARSES.ast += 1
    text = document.text
    try:
        with warnings.catch_warnings():
            # Under -W error an invalid escape in the checked file would become a syntax error.
            warnings.simplefilter("ignore")
            return ast.parse(text)
    except SyntaxError as error:
        raise _fault(document, error) from None
    except (RecursionError, MemoryError):
        raise SyntaxFault("an expression or block is nested too deeply to be parsed", 1, 1) from None
    except ValueError as error:  # NUL characters, lone surrogates
        raise SyntaxFault(str(error), 1, 1) from None


def check_syntax(document: Document) -> ast.Module | None:
    """The tree, or None where the syntax may be newer than this Python and LibCST has to say."""
    try:
        return parse_ast(document)
    except SyntaxFault as fault:
        if fault.newer:
            return None
        raise


# What says the name that a node calls, uses or defines.
_NAME_FIELD: dict[type[ast.AST], str] = {
    ast.Name: "id",
    ast.Attribute: "attr",
    ast.keyword: "arg",
    ast.FunctionDef: "name",
    ast.AsyncFunctionDef: "name",
    ast.ClassDef: "name",
}


def has_candidate(tree: ast.Module, literals: frozenset[str]) -> bool:
    """Whether the file calls, uses, imports or defines one of these names."""
    stack: list[ast.AST] = [tree]
    while stack:
        node = stack.pop()
        kind = type(node)
        field = _NAME_FIELD.get(kind)
        if field is not None:
            if getattr(node, field) in literals:
                return True
        elif kind in _IMPORTS and not literals.isdisjoint(_imported(node)):
            return True
        for value in node.__dict__.values():
            if isinstance(value, ast.AST):
                stack.append(value)
            elif type(value) is list:
                stack += [item for item in value if isinstance(item, ast.AST)]
    return False


_IMPORTS = (ast.alias, ast.ImportFrom)


def _imported(node: ast.AST) -> list[str]:
    if isinstance(node, ast.ImportFrom):
        return (node.module or "").split(".")
    assert isinstance(node, ast.alias)
    names = node.name.split(".")
    return names if node.asname is None else [*names, node.asname]


def is_candidate(document: Document, literals: frozenset[str]) -> bool:
    """Whether a document is worth its LibCST parse; a SyntaxFault where it is no Python."""
    tree = check_syntax(document)
    if tree is not None:
        return has_candidate(tree, literals)
    return not literals.isdisjoint(re.findall(r"\w+", document.text))


def _fault(document: Document, error: SyntaxError) -> SyntaxFault:
    lines = document.lines
    line = min(max(error.lineno or 1, 1), lines.count)
    column = max(error.offset or 1, 1)
    row = lines.text_of(line)
    message = error.msg
    if _is_python_2(message, row):
        return SyntaxFault("this is Python 2 code, and oomlint reads Python 3", line, column)
    return SyntaxFault(message, line, column, newer=_may_be_newer(message, row))


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
