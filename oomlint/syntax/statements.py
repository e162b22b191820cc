"""Where a statement stands: its block, its rows, and the other statements of its line."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import libcst as cst

from oomlint.syntax.layout import EditError, Layout

Line = cst.SimpleStatementLine | cst.SimpleStatementSuite
Statement = cst.SimpleStatementLine | cst.SimpleStatementSuite | cst.BaseCompoundStatement


@dataclass(frozen=True, slots=True)
class Anchor:
    """The statement that holds a node.

    `statement` is a whole line (of one or more small statements), the small statements behind the colon of
    a one-line block, or a compound statement; `small` is the number of the small statement that is meant.
    """

    statement: Statement
    holder: cst.CSTNode  # cst.Module, cst.IndentedBlock, or whatever has the one-line block
    path: tuple[cst.CSTNode, ...]  # down to the statement
    small: int | None

    @property
    def smalls(self) -> Sequence[cst.BaseSmallStatement]:
        """The small statements of the line; none for a compound statement."""
        return self.statement.body if isinstance(self.statement, Line) else ()

    @property
    def is_inline(self) -> bool:
        """Whether it stands behind the colon of its block."""
        return isinstance(self.statement, cst.SimpleStatementSuite)

    @property
    def siblings(self) -> Sequence[cst.CSTNode]:
        """The statements of its block."""
        if isinstance(self.holder, (cst.Module, cst.IndentedBlock)):
            return self.holder.body
        return (self.statement,)

    def nodes(self) -> Iterator[cst.CSTNode]:
        """The nodes whose positions the methods below need."""
        yield self.statement
        yield self._head
        yield from self.smalls

    @property
    def _head(self) -> cst.CSTNode:
        match self.statement:
            case cst.FunctionDef(decorators=[first, *_]) | cst.ClassDef(decorators=[first, *_]):
                return first
        return self.statement

    def indent(self, layout: Layout) -> str:
        """The indentation of its block; of the block it will get if it stands behind a colon now."""
        own = layout.block_indent(self.statement)
        return own + layout.unit if self.is_inline else own

    def gap(self, layout: Layout, number: int) -> tuple[int, int]:
        """What stands before a small statement of the line: the `; `, or the blanks behind the colon."""
        start = layout.span(self.smalls[number])[0]
        if number:
            return layout.span(self.smalls[number - 1])[1], start
        assert isinstance(self.statement, cst.SimpleStatementSuite)
        return start - len(layout.source.code(self.statement.leading_whitespace)), start

    def start(self, layout: Layout) -> int:
        """Where it starts, decorators included."""
        return layout.span(self._head)[0]

    def end(self, layout: Layout) -> int:
        """Where it ends, without the comment at its end."""
        return layout.span(self.statement)[1]

    def comment_rows(self) -> int:
        """How many comment rows stand directly above it. The comments at the top of the file are not its own."""
        holder, statement = self.holder, self.statement
        if isinstance(holder, cst.Module) and holder.body[0] is statement:
            return 0
        count = 0
        for line in reversed(getattr(statement, "leading_lines", ())):
            if line.comment is None:
                break
            count += 1
        return count

    def first_row(self, layout: Layout) -> int:
        """Where the row of the first of those comments, or of the statement, starts."""
        row = layout.lines.row(self.start(layout))
        return layout.lines.start(row - self.comment_rows())


def anchor(layout: Layout, node: cst.CSTNode) -> Anchor:
    """The innermost statement that holds a node; for an `elif` the whole `if`."""
    path = layout.path(node)
    small: int | None = None
    for index in range(len(path) - 1, 0, -1):
        here, holder = path[index], path[index - 1]
        if isinstance(here, cst.BaseSmallStatement) and isinstance(holder, Line):
            small = next(n for n, own in enumerate(holder.body) if own is here)
        elif isinstance(here, Line) or (
            isinstance(here, cst.BaseCompoundStatement) and not isinstance(holder, cst.If)
        ):
            return Anchor(here, holder, path[: index + 1], small)
    raise EditError("the place is not inside of a statement")
