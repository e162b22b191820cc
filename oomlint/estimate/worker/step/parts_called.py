"""What a model's own parts say of the arrays that it hands to them: `self.text_encoder(features["caption"])`."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import Any

from oomlint.estimate.slicing.program import bound_names
from oomlint.estimate.worker.keras.generation import dtype_of, inputs_of
from oomlint.estimate.worker.sources import source_of
from oomlint.estimate.worker.subject import Spec


def taken_by_parts(model: Any, names: tuple[str, ...], batch: int) -> Iterator[tuple[str, Spec]]:
    """Shapes of a batch of the arrays with these names, where a part with one input layer is called on one.

    The names are those of arguments, of keys, or what an argument is taken apart into, of the model's `call`.
    """
    tree = _call_of(model)
    if tree is None:
        return
    called = {
        target.id: name
        for node in ast.walk(tree)
        if isinstance(node, ast.Assign) and (name := _array(node.value, {}, names))
        for target in node.targets
        if isinstance(target, ast.Name)
    }
    for node in ast.walk(tree):
        match node:
            case ast.Call(func=ast.Attribute(value=ast.Name(id="self"), attr=part), args=[given, *_]):
                name = _array(given, called, names)
                leaves: Any = inputs_of(getattr(model, part, None)) or ()
                if name and len(leaves) == 1 and None not in tuple(leaves[0].shape)[1:]:
                    yield name, Spec((batch, *tuple(leaves[0].shape)[1:]), dtype_of(leaves[0]))


def handed_on(model: Any) -> Any:
    """The part with several input layers to which the model's `call` hands what it is given, as it is; None without."""
    tree = _call_of(model)
    if tree is None or len(tree.args.args) < 2:
        return None
    whole = tree.args.args[1].arg
    for node in ast.walk(tree):
        match node:
            case ast.Assign() if whole in bound_names(node):
                return None
            case ast.Call(
                func=ast.Attribute(value=ast.Name(id="self"), attr=name), args=[ast.Name(id=given), *_]
            ):
                part = getattr(model, name, None)
                if given == whole and len(inputs_of(part) or ()) > 1:
                    return part
    return None


def _call_of(model: Any) -> ast.FunctionDef | None:
    tree = source_of(getattr(type(model), "call", None))
    return tree if isinstance(tree, ast.FunctionDef) else None


def _array(node: ast.expr, called: dict[str, str], names: tuple[str, ...]) -> str:
    """The name of the array that an expression is; empty for anything else."""
    match node:
        case ast.Subscript(value=ast.Name(), slice=ast.Constant(value=str() as key)) if key in names:
            return key
        case ast.Name(id=name):
            return called.get(name, name if name in names else "")
    return ""
