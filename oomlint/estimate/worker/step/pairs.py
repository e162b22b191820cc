"""Batches of two parts, for a model whose own `train_step` takes them apart: `low, high = data`.

Keras has labels where a loss is compiled. A GAN of two sets of pictures has none, and a second part all the same.
"""

from __future__ import annotations

import ast
import inspect
import textwrap
from typing import Any

from oomlint.estimate.slicing.vocabulary import FLOATX
from oomlint.estimate.worker.absent import stand_ins
from oomlint.estimate.worker.keras.generation import floatx, tree
from oomlint.estimate.worker.script.making import Made
from oomlint.estimate.worker.step.compiling import own_step
from oomlint.estimate.worker.subject import Spec
from oomlint.estimate.worker.values import roles


def second_of(made: Made, x: Any, outputs: Any, batch: int, assumptions: list[str]) -> Any:
    """Shapes of the second part, where the model's step wants one: as data says, else like its output or input."""
    if not own_step(made.model) or not _in_two(type(made.model)):
        return None
    told = roles.labels_of(stand_ins.DESCRIBED)
    if told is not None and None not in told.sizes[1:]:
        return Spec((batch, *told.sizes[1:]), str(told.dtype))
    known = made.second
    if _is_leaf(known) and None not in known[0][1:]:
        return Spec((batch, *known[0][1:]), floatx() if known[1] == FLOATX else known[1])
    leaves = tree().flatten(outputs) if outputs is not None else []
    like, words = x, "what the model is given"
    if len(leaves) == 1 and all(isinstance(size, int) for size in tuple(leaves[0].shape)[1:]):
        like, words = Spec((batch, *map(int, leaves[0].shape[1:])), "float32"), "its output"
    assumptions.append(f"the second part of a batch is like {words} (another: --data 'x=..., y=...')")
    return like


def _is_leaf(nest: Any) -> bool:
    return isinstance(nest, tuple) and len(nest) == 2 and isinstance(nest[1], str)


def _in_two(model: type) -> bool:
    """Whether a `train_step` takes its data apart into two, in a statement of its own."""
    step: Any = getattr(model, "train_step", None)
    step = getattr(step, "python_function", step)
    try:
        function = ast.parse(textwrap.dedent(inspect.getsource(step))).body[0]
    except (OSError, TypeError, SyntaxError, IndexError):
        return False
    if not isinstance(function, ast.FunctionDef) or len(function.args.args) != 2:
        return False
    data = function.args.args[1].arg
    return any(
        isinstance(node, ast.Assign)
        and isinstance(node.value, ast.Name)
        and node.value.id == data
        and isinstance(node.targets[0], ast.Tuple | ast.List)
        and len(node.targets[0].elts) == 2
        for node in ast.walk(function)
    )
