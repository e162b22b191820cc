"""One parsed document: its text, its LibCST tree, and code and places of its nodes."""

from __future__ import annotations

from typing import TYPE_CHECKING

from oomlint.syntax.place import Place

if TYPE_CHECKING:
    import libcst as cst

    from oomlint.documents.python_file import Document


class Source:
    """A document with its tree. Parsed once, however many rules look at it."""

    __slots__ = ("definitions", "document", "module", "statements")

    def __init__(self, document: Document, module: cst.Module) -> None:
        self.document = document
        self.module = module
        # What the dry run counts and looks up in a module each time that a script imports it.
        self.statements: int | None = None
        # Statements that are taken later, and the names that they bind.
        self.definitions: dict[int, str] | None = None

    def place(self, node: cst.CSTNode) -> Place:
        """The place of a node of this document."""
        return Place(self, node)

    def code(self, node: cst.CSTNode) -> str:
        """The node's own text, comments and blanks inside it as they are."""
        return self.module.code_for_node(node)
