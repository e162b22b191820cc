"""Loops by hand whose tape records several passes of the model: two views of a picture, labeled rows and others.

What each of them keeps waits for the one backward pass, so that one pass followed alone would be far too little.
"""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from oomlint.estimate.slicing.arguments import matched
from oomlint.estimate.slicing.functions import Functions, statements
from oomlint.estimate.slicing.inner_gradients import tapes_of
from oomlint.estimate.slicing.program import Scope, Unit

if TYPE_CHECKING:
    from oomlint.estimate.slicing.trainings import Training

_DEEP = 3  # functions within functions
_REPEATED = (ast.For, ast.While, ast.ListComp, ast.GeneratorExp)


def several_passes(training: Training, functions: Functions) -> tuple[Unit, int] | None:
    """Where a tape of the function that trains is opened, if the one model that it learns is called more than once."""
    if not training.by_hand or training.others:
        return None
    scope = training.way[-1].scope
    for block in statements(scope.node.body):
        if isinstance(block, ast.With) and tapes_of(block):
            passes = _Passes(functions)
            if passes.of_body(block.body, ast.unparse(training.receiver), scope, _DEEP) > 1:
                return scope.unit, block.lineno
    return None


class _Passes:
    """Counts calls of a model by its name, in branches the more of both, in loops twice: whatever more is several."""

    def __init__(self, functions: Functions) -> None:
        self.functions = functions

    def of_body(self, body: list[ast.stmt], model: str, scope: Scope, deep: int) -> int:
        """How many calls a block makes for sure."""
        return sum(self.of(one, model, scope, deep) for one in body)

    def of(self, node: ast.AST, model: str, scope: Scope, deep: int) -> int:
        """The same of any part of the tree."""
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef | ast.Lambda):
            return 0
        if isinstance(node, ast.If):
            return max(self.of_body(one, model, scope, deep) for one in (node.body, node.orelse))
        if isinstance(node, ast.IfExp):
            return max(self.of(one, model, scope, deep) for one in (node.body, node.orelse))
        found = sum(self.of(child, model, scope, deep) for child in ast.iter_child_nodes(node))
        if isinstance(node, _REPEATED):
            return 2 * found
        return found + (self._of_call(node, model, scope, deep) if isinstance(node, ast.Call) else 0)

    def _of_call(self, call: ast.Call, model: str, scope: Scope, deep: int) -> int:
        if ast.unparse(call.func) in (model, f"{model}.call", f"{model}.__call__"):
            return 1
        handed = [*call.args, *(one.value for one in call.keywords)]
        if not deep or not any(ast.unparse(one) == model for one in handed):
            return 0
        found = 0
        for callee in self.functions.callees(scope.unit, scope, call):
            for name, value in matched(call, callee):
                if name is not None and ast.unparse(value) == model:
                    found = max(found, self.of_body(callee.node.body, name, callee, deep - 1))
        return found
