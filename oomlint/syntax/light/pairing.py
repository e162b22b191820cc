"""Which node of LibCST's own tree each node of a light tree stands for."""

from __future__ import annotations

from typing import Any

import libcst as cst

from oomlint.syntax.children import code_fields, is_node
from oomlint.syntax.light.later import make_now
from oomlint.syntax.light.nodes import Unlike


def paired(light: cst.Module, whole: cst.Module) -> dict[int, cst.CSTNode]:
    """The whole tree's nodes by the ids of the light tree's.

    A string is one node here, which LibCST may have in several that stand behind each other, and its text stands for
    nothing. Raises Unlike where the two trees differ otherwise.
    """
    found: dict[int, cst.CSTNode] = {id(light): whole}
    stack: list[tuple[cst.CSTNode, cst.CSTNode]] = [(light, whole)]
    while stack:
        ours, theirs = stack.pop()
        make_now(ours)
        if type(ours) in _STRINGS and type(theirs) in _STRINGS:
            pairs = _parts(ours, theirs)
        elif type(ours) is type(theirs):
            pairs = _fields(ours, theirs)
        else:
            raise Unlike(type(ours).__name__)
        for pair in pairs:
            found[id(pair[0])] = pair[1]
        stack += pairs
    return found


_STRINGS = frozenset((cst.SimpleString, cst.FormattedString, cst.ConcatenatedString))
_Pairs = list[tuple[cst.CSTNode, cst.CSTNode]]


def _fields(ours: cst.CSTNode, theirs: cst.CSTNode) -> _Pairs:
    """The children of two nodes of a kind side by side. Raises Unlike if one has another number of them."""
    pairs: _Pairs = []
    for name in code_fields(type(ours), types=True):
        our: Any = getattr(ours, name)
        their: Any = getattr(theirs, name)
        if is_node(our) != is_node(their):
            raise Unlike(f"{type(ours).__name__}.{name}")
        if is_node(our):
            pairs.append((our, their))
        elif isinstance(our, (list, tuple)) and isinstance(their, (list, tuple)):
            if len(our) != len(their):
                raise Unlike(f"{type(ours).__name__}.{name}")
            pairs += (pair for pair in zip(our, their) if is_node(pair[0]))
    return pairs


def _parts(ours: cst.CSTNode, theirs: cst.CSTNode) -> _Pairs:
    """The replacement fields of two strings side by side."""
    here, there = _replaced(ours), _replaced(theirs)
    if len(here) != len(there):
        raise Unlike("FormattedString")
    return list(zip(here, there))


def _replaced(node: cst.CSTNode) -> list[cst.CSTNode]:
    """The replacement fields of a string, in order, without those in their format specs."""
    if isinstance(node, cst.ConcatenatedString):
        return [*_replaced(node.left), *_replaced(node.right)]
    if isinstance(node, cst.FormattedString):
        return [part for part in node.parts if isinstance(part, cst.FormattedStringExpression)]
    return []
