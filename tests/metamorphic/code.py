"""Texts whose characters know where they came from, and Python code as such a text with its syntax tree."""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field

NEW = -1


class Traced:
    """A text; each character has the offset in the first text that it was copied from or stands for, or NEW."""

    __slots__ = ("origins", "text")

    def __init__(self, text: str, origins: Sequence[int]) -> None:
        assert len(text) == len(origins)
        self.text = text
        self.origins = tuple(origins)

    @classmethod
    def first(cls, text: str) -> Traced:
        return cls(text, range(len(text)))

    @classmethod
    def new(cls, text: str, origin: int = NEW) -> Traced:
        return cls(text, (origin,) * len(text))

    def __len__(self) -> int:
        return len(self.text)

    def __getitem__(self, span: slice) -> Traced:
        return Traced(self.text[span], self.origins[span])

    def __add__(self, other: Traced | str) -> Traced:
        other = Traced.new(other) if isinstance(other, str) else other
        return Traced(self.text + other.text, self.origins + other.origins)

    def __radd__(self, other: str) -> Traced:
        return Traced.new(other) + self

    def put(self, changes: Iterable[tuple[int, int, Traced | str]]) -> Traced:
        """The text with spans replaced. What is put there stands for the span; an empty span stands for nothing."""
        pieces, done = [], 0
        for start, end, new in sorted(changes, key=lambda change: change[:2]):
            assert done <= start <= end, "changes overlap"
            if isinstance(new, str):
                new = Traced.new(new, self.origins[start] if start < end else NEW)
            pieces += (self[done:start], new)
            done = end
        return joined([*pieces, self[done:]])


def joined(pieces: Iterable[Traced | str]) -> Traced:
    text, origins = [], []
    for piece in pieces:
        piece = Traced.new(piece) if isinstance(piece, str) else piece
        text.append(piece.text)
        origins += piece.origins
    return Traced("".join(text), origins)


SCOPES = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef, ast.Lambda)
COMPREHENSIONS = (ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp)
DEFINITIONS = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)
IMPORTS = (ast.Import, ast.ImportFrom)


class Code:
    """A text as Python: its tree, and the spans of nodes in characters."""

    def __init__(self, traced: Traced) -> None:
        self.traced = traced
        self.text = traced.text
        self.tree = ast.parse(self.text)
        self._rows = self.text.split("\n")
        self._starts = [0]
        for row in self._rows:
            self._starts.append(self._starts[-1] + len(row) + 1)
        self.nodes = list(ast.walk(self.tree))
        self.parents = {child: node for node in self.nodes for child in ast.iter_child_nodes(node)}

    def offset(self, row: int, column: int) -> int:
        """Where a row and a column in bytes are."""
        line = self._rows[row - 1]
        if not line.isascii():
            column = len(line.encode()[:column].decode())
        return self._starts[row - 1] + column

    def span(self, node: ast.AST) -> tuple[int, int]:
        return (
            self.offset(node.lineno, node.col_offset),
            self.offset(node.end_lineno, node.end_col_offset),
        )

    def source(self, node: ast.AST) -> Traced:
        start, end = self.span(node)
        return self.traced[start:end]

    def row_start(self, row: int) -> int:
        return min(self._starts[row - 1], len(self.text))

    def of(self, *types: type[ast.AST]) -> Iterator[ast.AST]:
        return (node for node in self.nodes if isinstance(node, types))

    def ancestors(self, node: ast.AST) -> Iterator[ast.AST]:
        while node in self.parents:
            node = self.parents[node]
            yield node

    def bodies(self) -> Iterator[tuple[ast.AST, list[ast.stmt]]]:
        """The blocks of statements, with what they belong to."""
        for node in self.nodes:
            for name in ("body", "orelse", "finalbody"):
                body = getattr(node, name, None)
                if isinstance(body, list) and body and isinstance(body[0], ast.stmt):
                    yield node, body

    def first_row(self, node: ast.stmt) -> int:
        """The row where a statement starts, decorators included."""
        return min([node.lineno, *(one.lineno for one in getattr(node, "decorator_list", ()))])

    def comment_row(self, node: ast.stmt) -> int:
        """The row where the comments right above a statement start."""
        row = self.first_row(node)
        while row > 1 and self._rows[row - 2].lstrip().startswith("#"):
            row -= 1
        return row

    def own_rows(self, node: ast.stmt) -> bool:
        """Whether a statement shares no row with another one."""
        if self.text.startswith("elif", self.span(node)[0]):
            return False
        before = self._rows[node.lineno - 1].encode()[: node.col_offset].decode()
        after = self._rows[node.end_lineno - 1].encode()[node.end_col_offset :].decode().strip()
        return not before.strip() and (not after or after.startswith("#"))

    def rows(self, first: int, last: int) -> Traced:
        """Whole rows, the last one included."""
        return self.traced[self.row_start(first) : self.row_start(last + 1)]

    def indent_of(self, node: ast.stmt) -> str:
        return self._rows[node.lineno - 1].encode()[: node.col_offset].decode()

    def after_preamble(self) -> int:
        """The row before which something can be put on top: behind the docstring and future imports."""
        for node in self.tree.body:
            if not is_preamble(node):
                return self.first_row(node)
        return len(self._rows)

    def indented(self, first: int, last: int, by: str) -> Traced:
        """Rows moved to the right; what continues a string stays where it is."""
        frozen: set[int] = set()
        for node in self.of(ast.Constant, ast.JoinedStr):
            if isinstance(getattr(node, "value", ""), (str, bytes)) and hasattr(node, "lineno"):
                frozen.update(range(node.lineno + 1, node.end_lineno + 1))
        pieces: list[Traced | str] = []
        for row in range(first, last + 1):
            own = self.rows(row, row)
            if own.text.strip() and row not in frozen:
                pieces.append(by)
            pieces.append(own)
        return joined(pieces)

    @property
    def last_row(self) -> int:
        return len(self._rows) - (not self._rows[-1])

    def binds(self, node: ast.AST) -> set[str]:
        """The names that a statement binds in its own scope."""
        return {name for name, _ in _bound(node)}

    def module_imports(self) -> list[ast.stmt]:
        return [node for node in self.tree.body if isinstance(node, IMPORTS)]


def is_preamble(node: ast.stmt) -> bool:
    is_text = (
        isinstance(node, ast.Expr)
        and isinstance(node.value, ast.Constant)
        and isinstance(node.value.value, str)
    )
    return is_text or (isinstance(node, ast.ImportFrom) and node.module == "__future__")


def _bound(node: ast.AST) -> Iterator[tuple[str, ast.AST]]:
    if isinstance(node, DEFINITIONS):
        yield node.name, node
        return
    if isinstance(node, (ast.Lambda, *COMPREHENSIONS)):
        for part in ast.walk(node):
            if isinstance(part, ast.NamedExpr) and not isinstance(node, ast.Lambda):
                yield part.target.id, part
        return
    if isinstance(node, IMPORTS):
        for alias in node.names:
            yield (alias.asname or alias.name).partition(".")[0], node
        return
    if isinstance(node, ast.Name) and isinstance(node.ctx, (ast.Store, ast.Del)):
        yield node.id, node
    if isinstance(node, ast.ExceptHandler) and node.name:
        yield node.name, node
    if isinstance(node, (ast.MatchAs, ast.MatchStar)) and node.name:
        yield node.name, node
    if isinstance(node, ast.MatchMapping) and node.rest:
        yield node.rest, node
    for child in ast.iter_child_nodes(node):
        yield from _bound(child)


def loaded(nodes: Iterable[ast.AST]) -> set[str]:
    """Every name that is read, in whatever scope; an augmented assignment reads its target."""
    found = set()
    for node in nodes:
        for part in ast.walk(node):
            if isinstance(part, ast.Name) and isinstance(part.ctx, ast.Load):
                found.add(part.id)
            elif isinstance(part, ast.AugAssign) and isinstance(part.target, ast.Name):
                found.add(part.target.id)
    return found


def keywords(nodes: Iterable[ast.AST]) -> set[str]:
    """Names by which arguments are passed."""
    return {
        keyword.arg
        for node in nodes
        for part in ast.walk(node)
        if isinstance(part, ast.Call)
        for keyword in part.keywords
        if keyword.arg
    }


@dataclass(frozen=True)
class Rewriting:
    """A program that means the same. `names`: what new names in it stand for; a notebook's text is its cells'."""

    files: dict[str, Traced]
    names: dict[str, str] = field(default_factory=dict)
    notebook: bool = False

    @property
    def script(self) -> Traced:
        return self.files["script"]


def single(text: Traced, names: dict[str, str] | None = None) -> Rewriting:
    return Rewriting({"script": text}, names or {})


Transformation = Callable[[Code], "Rewriting | None"]
TRANSFORMATIONS: dict[str, Transformation] = {}


def transformation(make: Transformation) -> Transformation:
    """Register a way of saying the same; it gives None where it has nothing to change or cannot be sure."""
    TRANSFORMATIONS[make.__name__.strip("_").replace("_", " ")] = make
    return make


_OPAQUE = {"globals", "locals", "vars", "exec", "eval", "dir", "inspect", "__file__"}


def opaque(code: Code) -> bool:
    """Whether a script asks for its own names or text, so that a change of them may mean something."""
    for node in code.nodes:
        if isinstance(node, ast.Name) and node.id in _OPAQUE:
            return True
        if isinstance(node, ast.ImportFrom) and node.names[0].name == "*":
            return True
    return False
