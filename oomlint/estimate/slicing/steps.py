"""Classes that say what a training step is: their methods are kept as they stand, as the step is what is estimated."""

from __future__ import annotations

import ast
from collections.abc import Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from oomlint.estimate.slicing.trainings import Training


def trains_itself(node: ast.ClassDef | None) -> bool:
    """Whether a class has a `train_step` of its own, which `fit` will run."""
    return node is not None and any(
        isinstance(one, ast.FunctionDef | ast.AsyncFunctionDef) and one.name == "train_step"
        for one in node.body
    )


def pairs(others: Sequence[Training]) -> ast.expr:
    """What else a step trains, for the child: `[(model, optimizer), ...]`."""
    return ast.List(
        [ast.Tuple([one.receiver, one.optimizer or ast.Constant(None)], ast.Load()) for one in others],
        ast.Load(),
    )
