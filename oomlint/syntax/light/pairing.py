"""Which node of LibCST's own tree each node of a light tree stands for."""

from __future__ import annotations

from typing import Any

import libcst as cst

from oomlint.syntax.children import code_children, code_fields


def paired(light: cst.Module, whole: cst.Module) -> dict[int, cst.CSTNode]:
    """The whole tree's nodes by the ids of the light tree's.

    Where the two trees are not alike (strings in parts, `f"{x=}"`) all that stands in the light node stands for the
    whole one.
    """
    found: dict[int, cst.CSTNode] = {id(light): whole}
    stack: list[tuple[cst.CSTNode, cst.CSTNode]] = [(light, whole)]
    while stack:
        ours, theirs = stack.pop()
        alike = type(ours) is type(theirs) and type(ours) not in _STRINGS
        pairs = _fields(ours, theirs) if alike else None
        if pairs is None and type(ours) is cst.FormattedString:
            pairs = _expressions(ours, theirs)
        if pairs is None:
            pairs = [(child, theirs) for child in code_children(ours, types=True)]
        for pair in pairs:
            found[id(pair[0])] = pair[1]
        stack += pairs
    return found


_STRINGS = frozenset((cst.SimpleString, cst.FormattedString, cst.ConcatenatedString))
_Pairs = list[tuple[cst.CSTNode, cst.CSTNode]]


def _fields(ours: cst.CSTNode, theirs: cst.CSTNode) -> _Pairs | None:
    """The children of two nodes of a kind side by side; None if one has another number of them."""
    pairs: _Pairs = []
    for name in code_fields(type(ours), types=True):
        our: Any = getattr(ours, name)
        their: Any = getattr(theirs, name)
        if isinstance(our, cst.CSTNode) and isinstance(their, cst.CSTNode):
            pairs.append((our, their))
        elif isinstance(our, (list, tuple)) and isinstance(their, (list, tuple)):
            if len(our) != len(their):
                return None
            pairs += (pair for pair in zip(our, their) if isinstance(pair[0], cst.CSTNode))
    return pairs


def _expressions(ours: cst.CSTNode, theirs: cst.CSTNode) -> _Pairs | None:
    """The expressions in an f-string, which LibCST may have in several strings that stand behind each other."""
    here, there = _replaced(ours), _replaced(theirs)
    if len(here) != len(there):
        return None
    pairs: _Pairs = list(zip(here, there))
    others = [child for child in code_children(ours, types=True) if not any(child is one for one in here)]
    return [*pairs, *((child, theirs) for child in others)]


def _replaced(node: cst.CSTNode) -> list[cst.CSTNode]:
    """The replacement fields of a string, in order, without those in their format specs."""
    if isinstance(node, cst.ConcatenatedString):
        return [*_replaced(node.left), *_replaced(node.right)]
    if isinstance(node, cst.FormattedString):
        return [part for part in node.parts if isinstance(part, cst.FormattedStringExpression)]
    return []
