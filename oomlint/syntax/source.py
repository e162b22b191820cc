"""One parsed document: its text, its tree, and code and places of its nodes."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from oomlint.syntax.place import Place

if TYPE_CHECKING:
    import libcst as cst

    from oomlint.documents.python_file import Document


class Source:
    """A document with its tree, which is made once, however many rules look at it.

    `module` is what the dry run walks: mostly a light tree (:mod:`oomlint.syntax.light`). The tree with every blank and
    comment, `whole`, is parsed where something is reported; `parse` does that. Of an `imported` module the bodies of
    functions are made when somebody looks into them.
    """

    __slots__ = (
        "__weakref__",
        "_parse",
        "_whole",
        "_written",
        "definitions",
        "document",
        "facts",
        "imported",
        "module",
        "statements",
    )

    def __init__(
        self,
        document: Document,
        module: cst.Module,
        parse: Callable[[Document], cst.Module] | None = None,
        *,
        imported: bool = False,
    ) -> None:
        self.document = document
        self.module = module
        self.imported = imported
        self._parse = parse
        self._whole = module if parse is None else None
        # The nodes of the whole tree, by the ids of the light ones.
        self._written: dict[int, cst.CSTNode] = {}
        # What the dry run counts and looks up in a module each time that a script imports it.
        self.statements: int | None = None
        # Statements that are taken later, and the names that they bind.
        self.definitions: dict[int, str] | None = None
        # What a look over loops and functions told, by the ids of their nodes.
        self.facts: dict[int, Any] = {}

    @property
    def whole(self) -> cst.Module:
        """LibCST's own tree, comments and blanks included. Raises SyntaxFault where only LibCST refuses the text."""
        self.read_whole()
        assert self._whole is not None
        return self._whole

    def read_whole(self) -> None:
        """Parse what `whole` is, if that has not been done."""
        if self._whole is None and self._parse is not None:
            self._whole = self._parse(self.document)

    def forget_whole(self) -> None:
        """Let go of what only reports need: it takes more memory than all else."""
        if self._parse is not None:
            self._whole, self._written = None, {}

    def written(self, node: cst.CSTNode) -> cst.CSTNode:
        """A node as it is written: that of the whole tree.

        Raises Unlike where that is not like the light one. From then on `module` is the whole tree: run it again.
        """
        whole = self.whole
        if whole is self.module:
            return node
        if not self._written:
            from oomlint.syntax.light.nodes import Unlike
            from oomlint.syntax.light.pairing import paired

            try:
                self._written = paired(self.module, whole)
            except Unlike:
                self.take_whole()
                raise
        return self._written.get(id(node), node)

    def take_whole(self) -> None:
        """From now on `module` is the whole tree: the light one is not like it."""
        self.module, self._parse = self.whole, None
        self.statements = self.definitions = None
        self.facts = {}

    def place(self, node: cst.CSTNode) -> Place:
        """The place of a node of this document."""
        return Place(self, node)

    def code(self, node: cst.CSTNode) -> str:
        """The node's own text, comments and blanks inside it as they are."""
        written = self.written(node)
        return self.whole.code_for_node(written)

    def words(self, node: cst.CSTNode) -> str:
        """The node's words in one row, at the price of no parse: blanks, quotes and brackets may differ."""
        return " ".join(self.module.code_for_node(node).split())

    def quoted(self, node: cst.CSTNode) -> str:
        """The node's text for a message: as it is written, or its words where that is on several rows."""
        code = self.code(node)
        return self.words(node) if "\n" in code else code
