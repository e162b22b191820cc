"""Bodies of functions that are made when somebody looks into them.

A script enters few of the functions of the modules that it imports. The others cost the standard library's parse of
their module, and no nodes: of them rows of text are kept.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Sequence
from typing import Any

import libcst as cst

from oomlint.documents.python_syntax import SyntaxFault, parsed
from oomlint.syntax.light.nodes import Unlike, made

Statements = Sequence[ast.stmt]


class Rows:
    """What a body is made of: the rows of its text, and how. `statements` is how many there are in them, all told."""

    __slots__ = ("make", "refused", "rows", "statements")

    def __init__(
        self,
        rows: Sequence[bytes],
        statements: int,
        make: Callable[[list[bytes], Statements], list[Any]],
        refused: Callable[[], None],
    ) -> None:
        self.rows = rows
        self.statements = statements
        self.make = make
        self.refused = refused

    def made(self) -> list[Any]:
        """The nodes. Raises Unlike after telling whoever owns the tree, and RecursionError."""
        rows = [b"if 1:", *self.rows]
        try:
            (block,) = parsed(b"\n".join(rows).decode("utf-8", "surrogatepass")).body
            if not isinstance(block, ast.If) or block.orelse:
                raise Unlike("rows that are no block by themselves")
            return self.make(rows, block.body)
        except (SyntaxFault, ValueError, Unlike):
            self.refused()
            raise Unlike("a body") from None


class Later(cst.IndentedBlock):
    """A block whose statements are made when its `body` is read. From then on it is a plain IndentedBlock."""

    __slots__ = ()  # type: ignore[misc]

    @property
    def body(self) -> Any:  # type: ignore[override]
        """The statements."""
        _set_class(self, "__class__", cst.IndentedBlock)
        rows: Any = self.body
        try:
            _set_body(self, rows.made())
        except BaseException:
            _set_class(self, "__class__", Later)
            raise
        return self.body


_set_class = object.__setattr__


def _set_body(block: cst.IndentedBlock, body: list[Any]) -> None:
    object.__setattr__(block, "body", body)


def later(rows: Rows) -> cst.IndentedBlock:
    """A block that is made later."""
    block = made(cst.IndentedBlock, body=rows)
    _set_class(block, "__class__", Later)
    return block


def make_now(node: cst.CSTNode) -> None:
    """Make the statements of a block that is made later, so that its type is that of any other."""
    if type(node) is Later:
        _ = node.body


def unmade_statements(suite: object) -> int:
    """How many statements there are in a block that is not made yet; 0 for one that is."""
    if type(suite) is not Later:
        return 0
    rows: Rows = _rows(suite)
    return rows.statements


def _rows(block: Any) -> Any:
    slot: Any = cst.IndentedBlock.__dict__.get("body")
    return block.__dict__["body"] if slot is None else slot.__get__(block)


def statements_in(nodes: Statements) -> int:
    """How many statements there are, those in blocks included.

    Raises Unlike where one is of a kind that light trees lack: the module is LibCST's from the start then, and not
    after a run that came to the function. A project that writes `match` does so in many modules.
    """
    total = 0
    waiting: list[Any] = [nodes]
    while waiting:
        block = waiting.pop()
        total += len(block)
        for node in block:
            if type(node) is ast.Match:
                raise Unlike("Match")
            for name in _BLOCKS.get(type(node), ()):
                part = getattr(node, name)
                waiting += [one.body for one in part] if name == "handlers" else [part]
    return total


_BLOCKS: dict[type[ast.stmt], tuple[str, ...]] = {
    kind: tuple(name for name in ("body", "orelse", "finalbody", "handlers") if name in kind._fields)
    for kind in (
        ast.FunctionDef,
        ast.AsyncFunctionDef,
        ast.ClassDef,
        ast.If,
        ast.For,
        ast.AsyncFor,
        ast.While,
        ast.With,
        ast.AsyncWith,
        ast.Try,
        getattr(ast, "TryStar", ast.Try),
    )
}
