"""How the nodes of a light tree are made: LibCST's own, whole and valid, that share their blanks.

Most of what LibCST's parser does is to make the nodes of blanks and punctuation, each anew. The nodes here have the
defaults of their class for these, one object for all, so that a light tree is one that LibCST's parser could have
made of the same code, written otherwise.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from functools import partial
from typing import Any, TypeVar

import libcst as cst

_N = TypeVar("_N", bound=cst.CSTNode)
_Setter = Callable[[cst.CSTNode, object], None]
_new = object.__new__


class Unlike(Exception):
    """A construct whose LibCST nodes are not made here: the file is parsed by LibCST."""


def made(kind: type[_N], **fields: object) -> _N:
    """A node with these fields; the others have their defaults.

    LibCST's constructors make the defaults anew and validate: four times the cost.
    """
    node = _new(kind)
    for name, setter, default in _PLANS.get(kind) or _plan(kind):
        setter(node, fields.get(name, default))
    return node


# Of each kind of node its fields: the name, what sets it, and the default (None too where it has to be given).
_PLANS: dict[type[cst.CSTNode], tuple[tuple[str, _Setter, object], ...]] = {}


def _plan(kind: type[cst.CSTNode]) -> tuple[tuple[str, _Setter, object], ...]:
    plan = tuple(
        (field.name, _setter(kind, field.name), _default(field)) for field in dataclasses.fields(kind)
    )
    _PLANS[kind] = plan
    return plan


def _setter(kind: type[cst.CSTNode], name: str) -> _Setter:
    """Sets a field of a new node, which is frozen."""
    slot: Any = getattr(kind, name, None)
    if hasattr(slot, "__set__"):
        setter: _Setter = slot.__set__
        return setter
    return partial(_set, name)  # LibCST's nodes have slots since 1.9


def _set(name: str, node: cst.CSTNode, value: object) -> None:
    object.__setattr__(node, name, value)


def _default(field: dataclasses.Field[Any]) -> object:
    if field.default_factory is not dataclasses.MISSING:
        return field.default_factory()
    return None if field.default is dataclasses.MISSING else field.default


(_, _set_value, _none), *_rest = _plan(cst.Name)


def name_of(text: str) -> cst.Name:
    """A name: half of all nodes are."""
    node = _new(cst.Name)
    _set_value(node, text)
    for _, setter, default in _rest:
        setter(node, default)
    return node
