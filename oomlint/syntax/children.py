"""The children of a node that hold code (fifteen times cheaper than LibCST's `.children`)."""

from __future__ import annotations

from typing import Any

import libcst as cst

_BLANK = frozenset(
    """lpar rpar leading_lines lines_after_decorators header footer indent comma semicolon colon equal dot lbracket
    rbracket lbrace rbrace trailing_whitespace operator asynchronous first_line newline
    comment leading_whitespace second_colon separator posonly_ind""".split()
)
_TYPES = frozenset(("annotation", "returns"))


# LibCST's nodes are abstract base classes, of which `isinstance` is slow: each type is asked once.
_IS_NODE: dict[type, bool] = {}
_FIELDS: dict[tuple[type, bool], tuple[str, ...]] = {}


def is_node(value: object) -> bool:
    """Whether a value is a node of LibCST."""
    kind = type(value)
    known = _IS_NODE.get(kind)
    if known is None:
        known = _IS_NODE[kind] = issubclass(kind, cst.CSTNode)
    return known


def code_fields(kind: type[cst.CSTNode], types: bool = False) -> tuple[str, ...]:
    """The fields of a kind of node that hold code; annotations only if asked for."""
    names = _FIELDS.get((kind, types))
    if names is None:
        without = _BLANK if types else _BLANK | _TYPES
        names = _FIELDS[kind, types] = tuple(
            name
            for name in kind.__dataclass_fields__
            if name not in without and not name.startswith("whitespace")
        )
    return names


def code_children(node: cst.CSTNode, types: bool = False) -> list[cst.CSTNode]:
    """The children without whitespace and punctuation; annotations, which run nothing, only if asked for."""
    children: list[cst.CSTNode] = []
    for name in code_fields(type(node), types):
        value: Any = getattr(node, name)
        if type(value) is list or type(value) is tuple:
            children += [part for part in value if is_node(part)]
        elif is_node(value):
            children.append(value)
    return children
