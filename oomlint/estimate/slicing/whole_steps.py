"""Steps by hand that are followed whole, as the function that they are: where the loss takes a gradient of its own.

The function is kept beside the place where its model is trained, as a function of the data that it is given; models,
optimizers and the object itself it finds around it.
"""

from __future__ import annotations

import ast
import copy
from typing import TYPE_CHECKING

from oomlint.estimate.slicing.program import FunctionNode, Scope, root_name

if TYPE_CHECKING:
    from oomlint.estimate.slicing.needs import Needs
    from oomlint.estimate.slicing.trainings import Training

STEP = "oomlint_step"
_DEEP = 4  # functions within functions
_OF_OBJECTS = frozenset(
    "trainable_variables trainable_weights variables weights apply_gradients minimize layers".split()
)


def keep_whole(training: Training, needs: Needs) -> bool:
    """Keep the function of a step, and those that it calls, as they stand; whether that can be done."""
    scope = training.way[-1].scope
    node = scope.node
    if isinstance(node, ast.Module) or len(training.way) < 2:
        return False
    inner = {one for one in scope.bound if one not in scope.parameters}
    receivers = [training.receiver, *(one.receiver for one in training.others)]
    if node.args.vararg or node.args.kwarg or any(root_name(one) in inner for one in receivers):
        return False
    objects = set(_objects(node, scope))
    _use(node, scope, objects, needs)
    waiting, seen = [(scope, 0)], {id(scope)}
    while waiting:
        where, depth = waiting.pop()
        for call in ast.walk(where.node):
            for callee in (
                needs.functions.callees(where.unit, where, call) if isinstance(call, ast.Call) else ()
            ):
                if id(callee) in seen or depth >= _DEEP or _builds(callee):
                    continue
                seen.add(id(callee))
                assert not isinstance(callee.node, ast.Module)
                needs.verbatim.add(id(callee.node))
                needs.use(callee.node, callee)
                waiting.append((callee, depth + 1))
    training.step = node
    return True


def _builds(scope: Scope) -> bool:
    return scope.owner is not None and getattr(scope.node, "name", "") in ("__init__", "build", "call")


def _objects(node: FunctionNode, scope: Scope) -> list[str]:
    """The parameters that are no data: the object itself, models that are called, what has variables or applies."""
    found = [*scope.parameters[:1]] if scope.owner is not None else []
    for one in ast.walk(node):
        match one:
            case ast.Call(func=ast.Name(id=name)) if name in scope.parameters:
                found.append(name)
            case ast.Attribute(value=ast.Name(id=name), attr=attribute) if (
                name in scope.parameters and attribute in _OF_OBJECTS
            ):
                found.append(name)
    return found


def _use(node: FunctionNode, scope: Scope, objects: set[str], needs: Needs) -> None:
    for statement in node.body:
        for one in ast.walk(statement):
            if isinstance(one, ast.Name) and (scope.of(one.id) is not scope or one.id in objects):
                needs.require(one.id, scope)
            elif isinstance(one, ast.Attribute):
                needs.use(ast.Attribute(ast.Constant(None), one.attr, ast.Load()), scope)


def written(training: Training, scope: Scope, call: ast.Call) -> list[ast.stmt]:
    """The function for a step, and the call that hands it over."""
    node = scope.node
    assert not isinstance(node, ast.Module)
    objects = set(_objects(node, scope))
    step = copy.copy(node)
    step.name, step.decorator_list, step.returns = STEP, [], None
    plain = [one.arg for one in (*node.args.posonlyargs, *node.args.args, *node.args.kwonlyargs)]
    data = [ast.arg(name) for name in plain if name not in objects]
    step.args = ast.arguments([], data, None, [], [], None, [])
    call.keywords.append(ast.keyword("step", ast.Name(STEP, ast.Load())))
    handed = ast.copy_location(ast.Expr(call), node.body[0])
    return [step, ast.fix_missing_locations(handed)]
