"""Where a name is used in a block of code: what a fix must know before it changes what the name holds."""

from __future__ import annotations

from dataclasses import dataclass

import libcst as cst

from oomlint.syntax.children import is_node


@dataclass(frozen=True, slots=True)
class Use:
    """One occurrence of a dotted name: its node and the nodes around it, innermost first."""

    node: cst.CSTNode
    around: tuple[cst.CSTNode, ...]

    @property
    def parent(self) -> cst.CSTNode:
        """The node directly around it."""
        return self.around[0]


def uses(block: cst.CSTNode, name: str) -> list[Use]:
    """Every occurrence of a dotted name (`losses`, `self.losses`) in a block, nested functions included.

    Keyword names and attribute names are not occurrences. Scopes are not told apart: a name that another
    function binds anew counts too, so that what is claimed of all uses holds for those that matter.
    """
    found: list[Use] = []
    stack: list[tuple[cst.CSTNode, tuple[cst.CSTNode, ...]]] = [(block, ())]
    while stack:
        node, around = stack.pop()
        if isinstance(node, cst.Name | cst.Attribute) and around and _dotted(node) == name:
            found.append(Use(node, around))
            continue
        below = (node, *around)
        for field in node.__dataclass_fields__:
            if field in _SKIPPED or (field == "attr" and isinstance(node, cst.Attribute)):
                continue
            if field == "keyword" and isinstance(node, cst.Arg):
                continue
            value = getattr(node, field)
            if is_node(value):
                stack.append((value, below))
            elif isinstance(value, list | tuple):
                stack.extend((part, below) for part in reversed(value) if is_node(part))
    return found


def _dotted(node: cst.CSTNode) -> str:
    parts: list[str] = []
    while isinstance(node, cst.Attribute):
        parts.append(node.attr.value)
        node = node.value
    if not isinstance(node, cst.Name):
        return ""
    return ".".join([node.value, *reversed(parts)])


_SKIPPED = frozenset(
    """lpar rpar leading_lines lines_after_decorators header footer indent comma semicolon colon equal dot lbracket
    rbracket lbrace rbrace trailing_whitespace operator asynchronous first_line newline comment""".split()
)


def names_in(node: cst.CSTNode) -> set[str]:
    """The dotted names that an expression reads, and the beginnings of each."""
    found: set[str] = set()
    stack = [node]
    while stack:
        current = stack.pop()
        dotted = _dotted(current) if isinstance(current, cst.Name | cst.Attribute) else ""
        if dotted:
            parts = dotted.split(".")
            found.update(".".join(parts[:end]) for end in range(1, len(parts) + 1))
            continue
        stack.extend(current.children)
    return found


_LATER_OR_NEVER = (
    cst.Lambda, cst.ListComp, cst.SetComp, cst.DictComp, cst.GeneratorExp, cst.IfExp, cst.BooleanOperation,
)  # fmt: skip


def evaluated_by(statement: cst.CSTNode, node: cst.CSTNode) -> bool:
    """Whether a line of one statement evaluates an expression once, with names that the line before it has too.

    Not so in a lambda or comprehension, which have names of their own, nor on a side that is perhaps not taken.
    """
    if not isinstance(statement, cst.SimpleStatementLine) or len(statement.body) != 1:
        return False
    stack: list[cst.CSTNode] = [statement]
    while stack:
        current = stack.pop()
        if current is node:
            return True
        if not isinstance(current, _LATER_OR_NEVER):
            stack.extend(current.children)
    return False
