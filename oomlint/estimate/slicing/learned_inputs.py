"""Gradients of what is no weight of a model: a picture that learns a style, a dream, an adversarial example.

A script that takes only those trains no model. The models that it makes are read from, and a training of them, of as
many samples as Keras takes by itself, would be another script's.
"""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from oomlint.estimate.errors import EstimateError
from oomlint.estimate.slicing.arguments import matched
from oomlint.estimate.slicing.functions import Functions, calls_in, statements
from oomlint.estimate.slicing.program import Scope, Unit, dotted
from oomlint.estimate.slicing.receivers import models_in, watching

if TYPE_CHECKING:
    from oomlint.estimate.slicing.trainings import Training


def learned_input(training: Training, functions: Functions) -> EstimateError | None:
    """What is to be said where the script makes a model, trains none, and takes such a gradient."""
    if training.seen is not None or training.way[-1].statement is not None:
        return None
    found = _gradient(functions)
    if found is None:
        return None
    unit, line, name = found
    return EstimateError(
        f"what learns there is {name}, no weight of a model, and no other training was found",
        "slice",
        str(unit.path),
        line,
        hint=f"Of the network as if it were trained itself: --model {training.name}",
    )


def _gradient(functions: Functions) -> tuple[Unit, int, str] | None:
    """Where the first of them is taken, and of which name; None where nothing says that it is no weight."""
    for unit in functions.program.units:
        for scope in unit.scopes.values():
            for _, call in calls_in(scope):
                match call:
                    case ast.Call(
                        func=ast.Attribute(value=ast.Name(id=tape), attr="gradient"),
                        args=[_, ast.Name(id=name)],
                    ) if not models_in(call, scope):
                        told = [ast.unparse(one) for watch in watching(scope, tape) for one in watch.args]
                        if name in told or _is_variable(name, scope, functions):
                            return unit, call.lineno, name
    return None


def _is_variable(name: str, scope: Scope, functions: Functions) -> bool:
    """Whether it is one `tf.Variable`, here or as every caller hands it over."""
    where = scope.of(name)
    if where is None:
        return False
    if name in where.parameters:
        handed = _handed(name, where, functions)
        return bool(handed) and all(_bound_to_one(one, caller) for one, caller in handed)
    return _bound_to_one(ast.Name(name, ast.Load()), scope)


def _handed(name: str, callee: Scope, functions: Functions) -> list[tuple[ast.expr, Scope]]:
    found = []
    for unit in functions.program.units:
        for scope in unit.scopes.values():
            for _, call in calls_in(scope):
                if callee in functions.callees(unit, scope, call):
                    found += [(value, scope) for one, value in matched(call, callee) if one == name]
    return found


def _bound_to_one(value: ast.expr, scope: Scope) -> bool:
    if not isinstance(value, ast.Name) or (where := scope.of(value.id)) is None:
        return False
    made = [
        one.value
        for one in statements(where.node.body)
        if isinstance(one, ast.Assign) and any(ast.unparse(target) == value.id for target in one.targets)
    ]
    return bool(made) and all(
        isinstance(one, ast.Call) and dotted(one.func).endswith(("tf.Variable", "tensorflow.Variable"))
        for one in made
    )
