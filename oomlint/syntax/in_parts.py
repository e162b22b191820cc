"""Deep expressions parsed in parts.

LibCST's parser copies what it has of an expression at each step deeper: a chain of 400 calls takes it 2.4 s and one of
800 four times as long, and brackets inside brackets cost as much (benchmarks/speed/growth.py). So an expression that is
deeper than :data:`DEPTH` levels is parsed without its depths, where a name stands for them, then the depths by
themselves, and what comes out is put in the name's place. The tree is the one that LibCST makes of the whole.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass

import libcst as cst

from oomlint.documents.python_syntax import SyntaxFault, parsed

# Levels of the standard library's tree; a call of a method is two.
DEPTH = 40

# Operands of one `and` or `or`: flat for the standard library, a level each for LibCST, whose parser ends the process
# at 20,000 of them (6,400 it takes).
FLAT = 3_000

# What a deep expression cannot do without: a row that is long or far to the right, or many rows that go on with what
# stands above or below them. Where neither is, the question costs next to nothing.
_LONG = 160
_FAR = 120
_MANY = 30
_STARTS = (".", "+", "-", "*", "/", "%", "|", "&", "^", "<", ">", "else ")
_ENDS = ("+", "-", "*", "/", "%", "|", "&", "^", "\\", " else")

# Expressions in whose place a name in brackets means the same.
_CUT = (
    ast.Attribute,
    ast.BinOp,
    ast.BoolOp,
    ast.Call,
    ast.Compare,
    ast.Dict,
    ast.DictComp,
    ast.IfExp,
    ast.Lambda,
    ast.List,
    ast.ListComp,
    ast.Set,
    ast.SetComp,
    ast.Subscript,
    ast.UnaryOp,
)
_READ = ast.Load()
_NEWLINE = re.compile(rb"\r\n|\r|\n")


@dataclass(slots=True, eq=False)
class _Part:
    """A piece of the text, as bytes from `start` to `end`, in which a name stands for each of `inner`."""

    start: int
    end: int
    indent: str
    inner: list[_Part]
    name: str = ""

    def text(self, data: bytes) -> str:
        """The piece, with names in brackets for the parts in it."""
        pieces: list[bytes] = []
        at = self.start
        for part in self.inner:
            pieces += (data[at : part.start], b"(", part.name.encode(), b")")
            at = part.end
        return b"".join((*pieces, data[at : self.end])).decode()


def may_be_deep(text: str) -> bool:
    """Whether a look at the standard library's tree is worth it."""
    rows = text.split("\n")
    longest = max(map(len, rows))
    if longest >= _LONG or (longest > _FAR and any(len(row) > _FAR and row[:_FAR].isspace() for row in rows)):
        return True
    going = 0
    for row in map(str.strip, rows):
        if row.startswith(_STARTS) or row.endswith(_ENDS):
            going += 1
    return going >= _MANY


def parse_in_parts(
    text: str, parse: Callable[[str], cst.Module] = cst.parse_module, depth: int = DEPTH
) -> cst.Module | None:
    """The tree of a text with deep expressions; None where it has none, or has to be parsed as a whole.

    `parse` is what parses the text without their depths. Raises `RecursionError` where nothing can parse it.
    """
    try:
        tree = parsed(text)
    except SyntaxFault:
        return None
    data = text.encode()
    parts = _parts(tree, data, depth)
    if not parts:
        return None
    stem = "_part"
    while stem in text:
        stem += "_"
    for number, part in enumerate(parts):
        part.name = f"{stem}{number}"
    nested = {id(inner) for part in parts for inner in part.inner}
    whole = _Part(0, len(data), "", sorted((one for one in parts if id(one) not in nested), key=_start))
    try:
        module = parse(whole.text(data))
        grown = {part.name: _expression(part, data, module.default_newline) for part in parts}
    except (cst.ParserSyntaxError, RecursionError, ValueError, LookupError, AttributeError):
        return None
    left = set(grown)
    for root in (module, *grown.values()):
        _put_in_place(root, grown, left)
    return None if left else module


def _start(part: _Part) -> int:
    return part.start


def _parts(tree: ast.Module, data: bytes, depth: int) -> list[_Part]:
    """What to cut out, the inner parts before those that hold them."""
    starts = [0, *(found.end() for found in _NEWLINE.finditer(data))]
    nodes: list[ast.AST] = [tree]
    above = [-1]
    statements: list[ast.stmt | None] = [None]
    whole: set[int] = set()
    at = 0
    while at < len(nodes):
        node = nodes[at]
        if isinstance(node, ast.withitem):  # `with (a):` has brackets of its own
            whole.add(id(node.context_expr))
        elif isinstance(node, ast.Match):
            whole.add(id(node.subject))
        elif isinstance(node, ast.BoolOp) and len(node.values) > FLAT:
            raise RecursionError
        statement = node if isinstance(node, ast.stmt) else statements[at]
        for child in _children(node):
            nodes.append(child)
            above.append(at)
            statements.append(statement)
        at += 1
    heights = [0] * len(nodes)
    inside: dict[int, list[_Part]] = {}
    parts: list[_Part] = []
    for at in range(len(nodes) - 1, 0, -1):
        node, parent = nodes[at], above[at]
        height = heights[at] + 1 if isinstance(node, ast.expr) else heights[at]
        held = inside.pop(at, [])
        if height >= depth and isinstance(node, _CUT) and id(node) not in whole and _is_read(node):
            indent = _indent(statements[at], data, starts)
            if indent is not None:
                start = starts[node.lineno - 1] + node.col_offset
                end = starts[(node.end_lineno or 0) - 1] + (node.end_col_offset or 0)
                parts.append(_Part(start, end, indent, sorted(held, key=_start)))
                held, height = [parts[-1]], 0
        if not isinstance(node, ast.stmt):
            heights[parent] = max(heights[parent], height)
        if held:
            inside.setdefault(parent, []).extend(held)
    return parts


def _children(node: ast.AST) -> Iterator[ast.AST]:
    """What stands in a node; nothing in f-strings, whose places older Pythons do not know, and in patterns."""
    if isinstance(node, (ast.JoinedStr, ast.pattern)):
        return
    for child in ast.iter_child_nodes(node):
        if type(child)._fields:
            yield child


def _is_read(node: ast.expr) -> bool:
    return isinstance(getattr(node, "ctx", _READ), ast.Load)


def _indent(statement: ast.stmt | None, data: bytes, starts: list[int]) -> str | None:
    """The blanks in front of a statement; None if something else stands there."""
    if statement is None:
        return None
    row = starts[statement.lineno - 1]
    blanks = data[row : row + statement.col_offset]
    return None if blanks.strip(b" \t") else blanks.decode()


def _expression(part: _Part, data: bytes, newline: str) -> cst.BaseExpression:
    """A part's tree, from a text in which it stands as far to the right as in its own."""
    text = f"({part.text(data)}){newline}"
    text = f"{newline}if 0:{newline}{part.indent}{text}" if part.indent else newline + text
    statement: object = cst.parse_module(text).body[0]
    if part.indent:
        statement = statement.body.body[0]  # type: ignore[attr-defined]
    expression: cst.BaseExpression = statement.body[0].value  # type: ignore[attr-defined]
    return expression


def _put_in_place(root: cst.CSTNode, grown: dict[str, cst.BaseExpression], left: set[str]) -> None:
    """Replace the names in a tree by what they stand for. The tree is new and nobody else's, so it is changed."""
    stack: list[cst.CSTNode] = [root]
    while stack:
        node = stack.pop()
        for field in node.__dataclass_fields__:
            value = getattr(node, field)
            kind = type(value)
            if kind is cst.Name:
                if value.value in left:
                    left.discard(value.value)
                    object.__setattr__(node, field, _bare(grown[value.value], value))
            elif kind is list or kind is tuple:
                stack += (item for item in value if hasattr(item, "__dataclass_fields__"))
            elif hasattr(kind, "__dataclass_fields__"):
                stack.append(value)


def _bare(expression: cst.BaseExpression, name: cst.Name) -> cst.BaseExpression:
    """The expression without the brackets that it was parsed in, in those that stood around the name's own."""
    # The innermost of the name's brackets was put there with it, the outermost of the expression's as well.
    object.__setattr__(expression, "lpar", [*name.lpar[:-1], *expression.lpar[1:]])
    object.__setattr__(expression, "rpar", [*expression.rpar[:-1], *name.rpar[1:]])
    return expression
