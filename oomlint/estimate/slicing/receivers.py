"""The models whose variables a gradient is taken of, one or an encoder and a decoder together, and what applies it."""

from __future__ import annotations

import ast

from oomlint.estimate.slicing.functions import calls_in, statements
from oomlint.estimate.slicing.program import Scope

_VARIABLES = ("trainable_variables", "trainable_weights", "weights", "variables")


def models_in(call: ast.AST, scope: Scope) -> list[ast.expr]:
    """Those of `tape.gradient(loss, one.trainable_variables + other.trainable_variables)`, names followed."""
    found: dict[str, ast.expr] = {}
    _take(call, found)
    if not found:
        names = {node.id for node in ast.walk(call) if isinstance(node, ast.Name)}
        for statement in statements(scope.node.body):
            match statement:
                case ast.Assign(targets=targets, value=value):
                    bound = {one.id for one in targets if isinstance(one, ast.Name)}
                case ast.AugAssign(target=ast.Name(id=name), value=value):
                    bound = {name}
                case ast.Expr(
                    value=ast.Call(func=ast.Attribute(attr="extend", value=ast.Name(id=name)), args=[value])
                ):
                    bound = {name}
                case _:
                    continue
            if bound & names and _is_sum(value):
                _take(value, found)
    if not found:
        found |= _of_attributes(call, scope)
    if not found:
        for method in _handing_out(call, scope):
            for statement in statements(method.node.body):
                if isinstance(statement, ast.Return) and statement.value is not None:
                    found |= _of_self(statement.value, method)
    return list(found.values())


def watching(scope: Scope, tape: str) -> list[ast.Call]:
    """Where a tape is told to watch what is no variable."""
    return [
        node
        for node in ast.walk(scope.node)
        if isinstance(node, ast.Call) and ast.unparse(node.func) == f"{tape}.watch"
    ]


def _of_attributes(call: ast.AST, scope: Scope) -> dict[str, ast.expr]:
    """The models whose variables an attribute of the object holds: `self.params = self.net.trainable_variables`."""
    names = {
        node.attr
        for node in ast.walk(call)
        if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.value.id == "self"
    }
    found: dict[str, ast.expr] = {}
    for method in scope.unit.scopes.values() if scope.owner is not None and names else ():
        for statement in statements(method.node.body) if method.owner is scope.owner else ():
            match statement:
                case ast.Assign(
                    targets=[ast.Attribute(value=ast.Name(id="self"), attr=name)], value=value
                ) if name in names and _is_sum(value):
                    found |= _of_self(value, method)
    return found


def _handing_out(call: ast.AST, scope: Scope) -> list[Scope]:
    """The methods of the same class, by which a call gets the variables: `self.get_variables()`."""
    names = {
        node.func.attr
        for node in ast.walk(call)
        if isinstance(node, ast.Call)
        and isinstance(node.func, ast.Attribute)
        and isinstance(node.func.value, ast.Name)
        and node.func.value.id == "self"
    }
    others = scope.unit.scopes.values() if scope.owner is not None else ()
    return [one for one in others if one.owner is scope.owner and getattr(one.node, "name", "") in names]


def _of_self(value: ast.expr, method: Scope) -> dict[str, ast.expr]:
    """The models whose variables a method gives back, where they are the object's own: `self.net`."""
    found: dict[str, ast.expr] = {}
    if _is_sum(value):
        _take(value, found)
    elif isinstance(value, ast.Name):
        for statement in statements(method.node.body):
            match statement:
                case ast.Assign(targets=[ast.Name(id=name)], value=bound) if name == value.id and _is_sum(
                    bound
                ):
                    _take(bound, found)
    return {text: one for text, one in found.items() if text.startswith("self.")}


def _take(node: ast.AST, found: dict[str, ast.expr]) -> None:
    for one in ast.walk(node):
        if isinstance(one, ast.Attribute) and one.attr in _VARIABLES:
            found.setdefault(ast.unparse(one.value), one.value)


def _is_sum(value: ast.expr) -> bool:
    """Whether it is variables of models, added or listed, and no call that is handed them."""
    match value:
        case ast.Attribute():
            return True
        case ast.BinOp(op=ast.Add(), left=left, right=right):
            return _is_sum(left) and _is_sum(right)
        case ast.List(elts=elements) | ast.Tuple(elts=elements):
            return all(_is_sum(one) for one in elements)
        case ast.Starred(value=inner):
            return _is_sum(inner)
    return False


def applying(scope: Scope) -> ast.expr | None:
    """What applies gradients in a function, if it is one thing."""
    found = {
        ast.unparse(call.func.value): call.func.value
        for _, call in calls_in(scope)
        if isinstance(call.func, ast.Attribute)
        and call.func.attr in ("apply_gradients", "minimize")
        and isinstance(call.func.value, ast.Name | ast.Attribute)
    }
    return next(iter(found.values())) if len(found) == 1 else None
