"""The tree of a document: light, from the standard library's; by LibCST's own parser where that cannot be."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from contextlib import contextmanager
from weakref import ref

import libcst as cst

from oomlint.documents.python_file import Document
from oomlint.syntax.gates import (
    PARSES,
    SyntaxFault,
    check_syntax,
    has_candidate,
    is_candidate,
    names_keras,
    parse_ast,
)
from oomlint.syntax.generating import make_room
from oomlint.syntax.in_parts import may_be_deep, parse_in_parts
from oomlint.syntax.light.nodes import Unlike
from oomlint.syntax.light.statements import light_module
from oomlint.syntax.recursion import with_room
from oomlint.syntax.source import Source

__all__ = [
    "PARSES",
    "SyntaxFault",
    "has_candidate",
    "is_candidate",
    "names_keras",
    "parse",
    "parse_ast",
    "parse_whole",
    "parsed",
    "whole_module",
]

# The parser's own position is in its message ("error at 3:9: expected one of ..."); its attributes say 1:1.
_POSITION = re.compile(r"error at (\d+):(\d+)")
_MIXED = re.compile(r"(?: +\t|\t+ )[ \t]*[^\s#]")  # both in front of code

make_room()


def parse(document: Document, *, imported: bool = False) -> Source:
    """The tree of a document. Raises SyntaxFault.

    A light one costs a quarter of LibCST's parse, that of the standard library included (benchmarks/speed/trees.py).
    That of an imported module has bodies of functions where somebody looks into them.
    """
    tree = check_syntax(document)
    if tree is None:
        return parse_whole(document)

    # A tree that held its source would be garbage in a circle with it.
    owner: list[ref[Source]] = []

    def refused() -> None:
        source = owner[0]()
        if source is None:
            return
        try:
            source.take_whole()
        except (
            SyntaxFault
        ):  # LibCST does not read it: nothing is known of it, as of a module that does not parse
            source.module = cst.Module([])

    try:
        module = with_room(lambda: light_module(tree, document.text, refused if imported else None))
    except (Unlike, RecursionError):
        return parse_whole(document)
    source = Source(document, module, whole_module, imported=imported)
    owner.append(ref(source))
    return source


def parse_whole(document: Document) -> Source:
    """A document with LibCST's own tree from the start. Raises SyntaxFault."""
    return Source(document, whole_module(document))


def whole_module(document: Document) -> cst.Module:
    """LibCST's tree of a document. Raises SyntaxFault.

    It may lack a form feed or a blank line of the text (LibCST drops some); :mod:`oomlint.syntax.positions` maps back
    to the text as it is.
    """
    PARSES.libcst += 1
    try:
        with trusting_the_parser():
            return parsed(_without_form_feeds(document))
    except cst.ParserSyntaxError as error:
        raise _fault(document, error) from None
    except RecursionError:
        raise SyntaxFault("an expression or block is nested too deeply to be parsed", 1, 1) from None
    except (ValueError, UnicodeError) as error:
        raise SyntaxFault(str(error), 1, 1) from None


_FORM_FEED = re.compile(r"(?:^|(?<=[\r\n]))[ \t]*\f[ \t\f]*(?=[^\s#])")


def _without_form_feeds(document: Document) -> str:
    """The text without form feeds in front of code, and what blanks stand before them.

    For Python the indentation starts behind a form feed. LibCST counts it, finds no block that it is of, or gives it
    to every row of the block.
    """
    text = document.text
    found = _FORM_FEED.search(text)
    if found is None:
        return text
    try:
        tree = parse_ast(document)
    except SyntaxFault:
        return text
    in_strings: set[int] = set()
    for node in ast.walk(tree):
        if isinstance(node, (ast.Constant, ast.JoinedStr)):
            in_strings.update(range(node.lineno + 1, (node.end_lineno or node.lineno) + 1))
    parts, done = [], 0
    for found in _FORM_FEED.finditer(text):
        if document.lines.row(found.start()) not in in_strings:
            parts.append(text[done : found.start()])
            done = text.rindex("\f", found.start(), found.end()) + 1
    return "".join((*parts, text[done:]))


def parsed(text: str) -> cst.Module:
    """LibCST's tree of a text; a large one, and one with deep expressions, by its parts."""
    module = parse_in_parts(text, _by_statements) if may_be_deep(text) else None
    return module or _by_statements(text)


def _by_statements(text: str) -> cst.Module:
    module = None
    if len(text) > LARGE:
        from oomlint.syntax.pieces import parsed_in_pieces

        module = parsed_in_pieces(text)
    return module or cst.parse_module(text)


# Characters of a text from which on it is parsed in pieces, for the memory that the parser takes.
LARGE = 60_000

_VALIDATE = cst.CSTNode.__post_init__


@contextmanager
def trusting_the_parser() -> Iterator[None]:
    """Nodes that LibCST's parser makes are not validated: what it makes is valid, and asking takes a third of a parse.

    3.1 s without this, 2.05 s with it, for every eighth file of keras 3.15. LibCST's authors name the cost themselves
    (libcst/_nodes/base.py, `__post_init__`). Nodes made elsewhere meanwhile, by another thread, go unvalidated too.
    """
    cst.CSTNode.__post_init__ = _as_it_is  # type: ignore[assignment,method-assign]
    try:
        yield
    finally:
        cst.CSTNode.__post_init__ = _VALIDATE  # type: ignore[method-assign]


def _as_it_is(node: cst.CSTNode) -> None:
    pass


def _fault(document: Document, error: cst.ParserSyntaxError) -> SyntaxFault:
    try:
        parse_ast(document)
    except SyntaxFault as fault:  # says it better
        return SyntaxFault(fault.message, fault.line, fault.column)
    if "dedent" in error.message:  # the tokenizer's, which tells no row
        rows = range(1, document.lines.count + 1)
        line = next((row for row in rows if _MIXED.match(document.lines.text_of(row))), 1)
        return SyntaxFault(
            "LibCST, which reads the code for oomlint, does not accept its indentation", line, 1
        )
    found = _POSITION.search(error.message)
    line, column = (
        (int(found[1]), int(found[2])) if found is not None else (error.editor_line, error.editor_column)
    )
    line = min(max(line, 1), document.lines.count)
    return SyntaxFault(
        "LibCST, which reads the code for oomlint, does not accept this line", line, max(column, 1)
    )
