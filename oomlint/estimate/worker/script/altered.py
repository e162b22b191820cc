"""What a statement leaves half done when it fails: lists and dicts that it fills, attributes that a method sets.

An empty vocabulary is a vocabulary of size 0: a wrong estimate. So what was to be filled is not known any more.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from oomlint.estimate.slicing.filling import filled


class Altering:
    """What functions and methods of a module, and methods of others, alter of what is not their own, by name."""

    def __init__(self, tree: ast.Module, others: Sequence[ast.Module] = ()) -> None:
        self.functions: dict[str, set[str]] = {}
        self.methods: dict[str, set[str]] = {}
        inside = {id(one) for cls in ast.walk(tree) if isinstance(cls, ast.ClassDef) for one in cls.body}
        for node in ast.walk(tree):
            if isinstance(node, ast.FunctionDef):
                if id(node) in inside:
                    self.methods.setdefault(node.name, set()).update(_of_self(node))
                else:
                    self.functions.setdefault(node.name, set()).update(_of_others(node))
        for cls in (node for other in others for node in ast.walk(other)):
            for one in cls.body if isinstance(cls, ast.ClassDef) else ():
                if isinstance(one, ast.FunctionDef):
                    self.methods.setdefault(one.name, set()).update(_of_self(one))

    def of_call(self, statement: ast.stmt) -> list[str]:
        """What a call that stands alone alters, as its caller names it."""
        match statement:
            case ast.Expr(value=ast.Call(func=ast.Name(id=name))):
                return sorted(self.functions.get(name, ()))
            case ast.Expr(value=ast.Call(func=ast.Attribute(value=ast.Name(id=owner), attr=name))):
                return sorted(f"{owner}.{one}" for one in self.methods.get(name, ()))
        return []


def modules(names: Mapping[str, str]) -> list[ast.Module]:
    """The slices of a project's modules as trees."""
    return [ast.parse(text) for key, text in names.items() if key.startswith("module:")]


def _of_self(node: ast.FunctionDef) -> set[str]:
    names = {one.partition(".")[2] for one in filled(node) if one.startswith("self.")}
    for one in ast.walk(node):
        match one:
            case ast.Attribute(value=ast.Name(id="self"), attr=name, ctx=ast.Store()):
                names.add(name)
    return {one for one in names if "." not in one}


def _of_others(node: ast.FunctionDef) -> set[str]:
    own = {one.arg for one in ast.walk(node.args) if isinstance(one, ast.arg)}
    shared = {name for one in ast.walk(node) if isinstance(one, ast.Global) for name in one.names}
    for one in ast.walk(node):
        if isinstance(one, ast.Name) and isinstance(one.ctx, ast.Store):
            own.add(one.id)
    return {one for one in filled(node) if "." not in one and one not in own - shared} | shared


NOTHING = object()


def held(read: Callable[[], Any]) -> Any:
    """What a name holds before it may be altered."""
    try:
        return read()
    except Exception:  # it does not hold anything yet
        return NOTHING


def left(value: Any, before: Any) -> bool:
    """Whether a value was to be altered and may not have been."""
    return value is NOTHING or value is before or isinstance(value, dict | list | set)


# Models to which a layer could not be added, and why.
HALF_MADE: list[tuple[Any, BaseException]] = []


def half_made(model: Any) -> BaseException | None:
    """Why a model, or one in it, lacks layers."""
    parts = [model, *(getattr(model, "layers", None) or ())]
    return next((error for one, error in HALF_MADE if any(one is part for part in parts)), None)
