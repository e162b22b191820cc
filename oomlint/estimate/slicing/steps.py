"""Classes that say what a training step is: their methods are kept as they stand, as the step is what is estimated."""

from __future__ import annotations

import ast


def trains_itself(node: ast.ClassDef | None) -> bool:
    """Whether a class has a `train_step` of its own, which `fit` will run."""
    return node is not None and any(
        isinstance(one, ast.FunctionDef | ast.AsyncFunctionDef) and one.name == "train_step"
        for one in node.body
    )
