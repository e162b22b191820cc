"""Losses of hand-written loops that take gradients with regard to their inputs: a penalty, a differential equation.

Of such a loop the model's own pass is estimated, and not what the loss computes with it: that would be far too little.
"""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from oomlint.estimate.slicing.functions import Functions, statements
from oomlint.estimate.slicing.program import Scope, Unit, own_expressions, root_name
from oomlint.estimate.slicing.receivers import models_in

if TYPE_CHECKING:
    from oomlint.estimate.slicing.trainings import Training

_TAKES = ("gradient", "jacobian", "batch_jacobian")
_DEEP = 4  # functions within functions


def inner_gradient(training: Training, functions: Functions) -> tuple[Unit, int] | None:
    """Where the loss of a hand-written loop takes one."""
    if not training.by_hand:
        return None
    waiting, seen = [(training.way[-1].scope, 0)], set[int]()
    while waiting:
        scope, depth = waiting.pop()
        if id(scope) in seen:
            continue
        seen.add(id(scope))
        for statement in statements(scope.node.body):
            for expression in own_expressions(statement):
                for node in ast.walk(expression):
                    if not isinstance(node, ast.Call):
                        continue
                    if _of_inputs(node, scope):
                        return scope.unit, node.lineno
                    if depth < _DEEP:
                        waiting += [(one, depth + 1) for one in _entered(node, scope, functions)]
    return None


def _of_inputs(call: ast.Call, scope: Scope) -> bool:
    """A tape has to be told to watch what is no variable; `tf.gradients` has not."""
    match call:
        case ast.Call(func=ast.Attribute(value=ast.Name(id=tape), attr=method)) if method in _TAKES:
            return not models_in(call, scope) and any(_watches(node, tape) for node in ast.walk(scope.node))
        case ast.Call(func=ast.Attribute(value=ast.Name(id=module), attr="gradients")):  # tf.gradients(y, x)
            return module in scope.unit.aliases and not models_in(call, scope)
    return False


def _watches(node: ast.AST, tape: str) -> bool:
    match node:
        case ast.Call(func=ast.Attribute(value=ast.Name(id=name), attr="watch")):
            return name == tape
    return False


def _entered(call: ast.Call, scope: Scope, functions: Functions) -> list[Scope]:
    """Functions of the program that a call enters for sure, or a method of the object itself."""
    if isinstance(call.func, ast.Name) or root_name(call.func) == "self":
        return functions.callees(scope.unit, scope, call)
    return []
