"""The two gates that a file passes before LibCST parses it, which costs ten times as much.

The first looks at bytes, the second at the tree of the standard library's `ast`. Nothing here
imports LibCST, so that a hook over files without Keras stays near the interpreter's own start.
"""

from __future__ import annotations

import ast
import re
from dataclasses import dataclass

from oomlint.documents.encodings import UnknownEncoding, encoding_of, keeps_ascii, wide_encoding
from oomlint.documents.python_file import Document
from oomlint.documents.python_syntax import SyntaxFault, parsed
from oomlint.documents.searching import contains

__all__ = [
    "PARSES",
    "SyntaxFault",
    "check_syntax",
    "concerns",
    "has_candidate",
    "is_candidate",
    "names_keras",
    "parse_ast",
]


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


def names_keras(raw: bytes) -> bool:
    """Whether the file mentions TensorFlow or Keras at all."""
    if contains(raw, b"keras") or contains(raw, b"tensorflow"):
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


def concerns(document: Document) -> bool:
    """Whether the document mentions TensorFlow or Keras; of a notebook only its code counts, not its outputs."""
    if not names_keras(document.raw):
        return False
    return document.is_whole or any(name in document.text for name in _NAMES)


# The last tree: the second gate asks for a document's, and what passes is asked for again at once.
_last: list[tuple[Document, ast.Module] | None] = [None]


def parse_ast(document: Document) -> ast.Module:
    """The standard library's tree of a document, for reading only. Raises SyntaxFault."""
    last = _last[0]
    if last is not None and last[0] is document:
        return last[1]
    PARSES.ast += 1
    tree = parsed(document.text)
    _last[0] = document, tree
    return tree


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
        if not kind._fields:
            # `Load()`, `Add()` and such are one object for all trees of the process, and pyflakes notes on them
            # where it saw them last: from there on this would walk through another file's tree, and in circles.
            continue
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
