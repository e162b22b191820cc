"""What a model's own parts say of the arrays that it hands to them: `self.text_encoder(features["caption"])`."""

from __future__ import annotations

import ast
import inspect
import textwrap
from collections.abc import Iterator
from typing import Any

from oomlint.estimate.worker.keras.generation import dtype_of, inputs_of
from oomlint.estimate.worker.subject import Spec


def taken_by_parts(model: Any, names: tuple[str, ...], batch: int) -> Iterator[tuple[str, Spec]]:
    """Shapes of a batch of the arrays with these names, where a part with one input layer is called on one.

    The names are those of arguments, of keys, or what an argument is taken apart into, of the model's `call`.
    """
    function: Any = getattr(type(model), "call", None)
    function = inspect.unwrap(getattr(function, "python_function", function))
    try:
        tree = ast.parse(textwrap.dedent(inspect.getsource(function)))
    except (OSError, TypeError, SyntaxError):
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


def _array(node: ast.expr, called: dict[str, str], names: tuple[str, ...]) -> str:
    """The name of the array that an expression is; empty for anything else."""
    match node:
        case ast.Subscript(value=ast.Name(), slice=ast.Constant(value=str() as key)) if key in names:
            return key
        case ast.Name(id=name):
            return called.get(name, name if name in names else "")
    return ""
