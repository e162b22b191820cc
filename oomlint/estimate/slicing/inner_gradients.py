"""Losses of hand-written loops that take gradients with regard to their inputs: a penalty, a differential equation.

Of such a loop the model's own pass is estimated, and not what the loss computes with it: that would be far too little.
"""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from oomlint.estimate.slicing.functions import Functions, statements
from oomlint.estimate.slicing.program import Scope, Unit, own_expressions, root_name
from oomlint.estimate.slicing.receivers import models_in, watching

if TYPE_CHECKING:
    from oomlint.estimate.slicing.trainings import Training

_TAKES = ("gradient", "jacobian", "batch_jacobian")
_DEEP = 4  # functions within functions


def inner_gradient(training: Training, functions: Functions) -> tuple[Unit, int, bool] | None:
    """Where the loss of a hand-written loop takes one, and whether that is of weights, to learn by it in there."""
    if not training.by_hand:
        return None
    waiting, seen = [(training.way[-1].scope, 0, False)], set[tuple[int, bool]]()
    while waiting:
        scope, depth, within = waiting.pop()
        if (id(scope), within) in seen:
            continue
        seen.add((id(scope), within))
        recorded = _recorded(scope)
        for statement in statements(scope.node.body):
            if isinstance(statement, ast.FunctionDef) and depth:  # what a function makes and gives back
                waiting.append((scope.unit.scopes[id(statement)], depth, within))
            for expression in own_expressions(statement):
                for node in ast.walk(expression):
                    inside = within or id(node) in recorded
                    if depth < _DEEP:
                        waiting += [(one, depth + 1, inside) for one in _entered(node, scope, functions)]
                    if not isinstance(node, ast.Call):
                        continue
                    # Of weights, in what another tape records: the steps of an inner loop.
                    learns = isinstance(node.func, ast.Attribute) and node.func.attr in _TAKES
                    learns = learns and (
                        within or bool(recorded.get(id(node), set()) - {root_name(node.func)})
                    )
                    learns = learns and bool(models_in(node, scope))
                    if _of_inputs(node, scope) or learns:
                        return scope.unit, node.lineno, learns
    return None


def _of_inputs(call: ast.Call, scope: Scope) -> bool:
    """A tape has to be told to watch what is no variable; `tf.gradients` has not."""
    match call:
        case ast.Call(func=ast.Attribute(value=ast.Name(id=tape), attr=method)) if method in _TAKES:
            return not models_in(call, scope) and bool(watching(scope, tape))
        case ast.Call(func=ast.Attribute(value=ast.Name(id=module), attr="gradients")):  # tf.gradients(y, x)
            return module in scope.unit.aliases and not models_in(call, scope)
    return False


def tapes_of(block: ast.With) -> list[ast.expr | None]:
    """The tapes that a `with` statement opens: for each what it is bound to, or None."""
    return [one.optional_vars for one in block.items if "GradientTape" in ast.unparse(one.context_expr)]


def _recorded(scope: Scope) -> dict[int, set[str]]:
    """What stands in the blocks of tapes, as ids, with the names of the tapes that record it.

    Of those that one statement opens, a GAN's two, a gradient by one of them is no matter of the other.
    """
    found: dict[int, set[str]] = {}
    for block in ast.walk(scope.node):
        if not isinstance(block, ast.With):
            continue
        names = {one.id if isinstance(one, ast.Name) else "" for one in tapes_of(block)}
        for node in (inner for statement in block.body for inner in ast.walk(statement)) if names else ():
            own = {root_name(node.func)} if isinstance(node, ast.Call) else set()
            found.setdefault(id(node), set()).update(names if len(names) == 1 or not names & own else own)
    return found


def _entered(node: ast.AST, scope: Scope, functions: Functions) -> list[Scope]:
    """Functions of the program that a call enters for sure, or methods of the object itself that are named."""
    match node:
        case ast.Call(func=ast.Name()):
            return functions.callees(scope.unit, scope, node)
        case ast.Call(func=function) if root_name(function) == "self":
            return functions.callees(scope.unit, scope, node)
        case ast.Attribute(
            value=ast.Name(id="self"), attr=name, ctx=ast.Load()
        ):  # `tf.map_fn(self.inner_loop, tasks)`
            return functions.methods(name)
    return []
