"""Attributes that are set by a call: `setattr(self, f"conv{n}", layer)`, `self.__dict__.update(options)`."""

from __future__ import annotations

import ast

# Any attribute, as an effect of a function: which it is only a run tells. Somebody always needs one.
ANY = "*"
# Keras reads a model's `optimizer`, which a `compile` of the script's own may set, and whether a layer is `trainable`;
# of a cell what it hands on from step to step, of any layer whether masks go through it and numbers are cast for it.
ALWAYS = frozenset(
    {ANY, "__dict__", "optimizer", "trainable", "state_size", "output_size", "supports_masking", "autocast"}
)


def set_by(call: ast.Call) -> tuple[ast.expr, str] | None:
    """The object on which a call sets an attribute, and the attribute's name, or ANY."""
    match call:
        case ast.Call(func=ast.Name(id="setattr"), args=[holder, name, _]):
            pass
        case ast.Call(func=ast.Attribute(attr="__setattr__", value=holder), args=[name, _]):
            pass
        case _:
            return None
    return holder, name.value if isinstance(name, ast.Constant) and isinstance(name.value, str) else ANY
