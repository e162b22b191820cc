"""Finding nodes of a small text by their code, and applying edits to it."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

import libcst as cst

from oomlint.documents.python_file import document_from_text
from oomlint.documents.text_edits import apply_edits
from oomlint.syntax.edits import Edit
from oomlint.syntax.parse import parse_whole as parse
from oomlint.syntax.place import Place
from oomlint.syntax.resolve import resolve_one
from oomlint.syntax.source import Source


def walk(node: cst.CSTNode) -> Iterator[cst.CSTNode]:
    yield node
    for child in node.children:
        yield from walk(child)


class Code:
    """A parsed text, whose nodes are asked for by the code that they start with."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.source: Source = parse(document_from_text(text, "script.py"))

    def node(self, code: str, kind: type[cst.CSTNode] | None = None, number: int = 0) -> cst.CSTNode:
        wanted = kind or cst.BaseExpression
        found = [
            node for node in walk(self.source.module) if isinstance(node, wanted) and self._code(node) == code
        ]
        return found[number]

    def _code(self, node: cst.CSTNode) -> str:
        code = self.source.code(node).strip()
        if isinstance(node, (cst.Arg, cst.Element)):
            code = code.removesuffix(",").strip()
        elif isinstance(node, cst.BaseSmallStatement):
            code = code.removesuffix(";").strip()
        elif isinstance(node, cst.BaseExpression):
            for left, right in zip(node.lpar, node.rpar):
                code = code[len(self.source.code(left)) : len(code) - len(self.source.code(right))]
        return code

    def at(self, code: str, kind: type[cst.CSTNode] | None = None, number: int = 0) -> Place:
        return self.source.place(self.node(code, kind, number))

    def statement(self, start: str) -> Place:
        """The innermost statement line or compound statement whose code starts so."""
        found = [
            node
            for node in walk(self.source.module)
            if isinstance(node, (cst.BaseStatement, cst.BaseSmallStatement))
            and self._bare(node).startswith(start)
        ]
        return self.source.place(found[-1])

    def _bare(self, node: cst.CSTNode) -> str:
        if isinstance(node, (cst.FunctionDef, cst.ClassDef)):
            node = node.with_changes(decorators=(), leading_lines=())
        lines = self.source.code(node).splitlines()
        return "\n".join(line for line in lines if not line.strip().startswith("#")).strip()

    def after(self, *edits: Edit) -> str:
        """The text after one fix of these edits; it must parse."""
        text = apply_edits(self.text, resolve_one(self.source, edits))
        parse(document_from_text(text, "script.py"))
        return text


Make = Callable[[Code], Sequence[Edit] | Edit]


def edited(text: str, make: Make) -> str:
    """The text after the fix that `make` builds."""
    code = Code(text)
    edits = make(code)
    return code.after(*([edits] if not isinstance(edits, (list, tuple)) else edits))
