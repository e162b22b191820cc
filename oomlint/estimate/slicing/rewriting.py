"""Small replacements inside kept statements: weights that would be downloaded, values that come from data."""

from __future__ import annotations

import ast
import re

from oomlint.estimate.slicing.missing import missing
from oomlint.estimate.slicing.program import Scope, canonical
from oomlint.estimate.slicing.taint import Taint
from oomlint.estimate.slicing.vocabulary import INERT_METHODS
from oomlint.estimate.slicing.ways import classes_of

_TRAINING = INERT_METHODS & frozenset(
    "fit fit_generator evaluate predict train_on_batch load_weights".split()
)


class Rewriter(ast.NodeTransformer):
    """Rewrites a copy of an expression."""

    def __init__(self, taint: Taint, scope: Scope) -> None:
        self.taint = taint
        self.scope = scope

    def visit(self, node: ast.AST) -> ast.AST:
        """The node, or what stands in its place."""
        if isinstance(node, ast.expr) and self.taint.is_read(node, self.scope):
            return ast.copy_location(missing(_name(node), node), node)
        rewritten: ast.AST = super().visit(node)
        return rewritten

    def visit_Call(self, node: ast.Call) -> ast.AST:
        """Weights that would be downloaded, calls that train, an argument that Keras 3 does not take."""
        name = canonical(self.scope.unit, node.func)
        if isinstance(node.func, ast.Attribute) and node.func.attr in _TRAINING and self._trains(node.func):
            return ast.copy_location(ast.Constant(None), node)
        self.generic_visit(node)
        if name == "self.add_loss":  # of graphs that were built by hand: the inputs that a loss depends on
            node.keywords = [one for one in node.keywords if one.arg != "inputs"]
        for keyword in node.keywords:
            if keyword.arg == "weights" and _downloads(keyword.value, name):
                keyword.value = ast.copy_location(ast.Constant(None), keyword.value)
        return node

    def _trains(self, function: ast.Attribute) -> bool:
        """Whether a call of that name may train: `words.fit(path)`, of a class of the program's, may only count."""
        own = [
            one
            for cls in classes_of(function, self.scope, self.taint.functions)
            for one in cls.body
            if isinstance(one, ast.FunctionDef) and one.name == function.attr
        ]
        if ast.unparse(function) in self._set_here():
            return False  # `self.predict = Dense(10)`: a layer that is called so
        called = {node.attr for one in own for node in ast.walk(one) if isinstance(node, ast.Attribute)}
        return not own or bool(called & (_TRAINING | {"apply_gradients", "gradient", "minimize"}))

    def _set_here(self) -> set[str]:
        """The attributes that the class sets in which an expression stands: `self.predict`."""
        owner = self.scope.owner
        nodes = ast.walk(owner) if owner is not None else ()
        return {
            ast.unparse(one)
            for one in nodes
            if isinstance(one, ast.Attribute) and isinstance(one.ctx, ast.Store)
        }


def _downloads(value: ast.expr, name: str) -> bool:
    if not isinstance(value, ast.Constant) or not isinstance(value.value, str):
        return False
    return value.value == "imagenet" or "applications" in name


def _name(node: ast.expr) -> str:
    """A word for a value that the user may give with `--arg`."""
    if isinstance(node, ast.Attribute):
        return node.attr
    words = re.findall(r"[A-Za-z_]\w*", ast.unparse(node.func if isinstance(node, ast.Call) else node))
    return words[-1] if words else "value"
