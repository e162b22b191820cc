"""Parameters of Keras' losses, and the program's own functions among those that a model is compiled with."""

from __future__ import annotations

from typing import TYPE_CHECKING

import libcst as cst

from oomlint.dryrun.catalog.registry import signature
from oomlint.dryrun.values.base import Mapping, Sequence, Unknown, Value, deref
from oomlint.dryrun.values.program import Function

if TYPE_CHECKING:
    from oomlint.dryrun.interpreter import Run
    from oomlint.dryrun.trace import Argument, Call

# Losses whose `reduction` is not their first parameter; both generations agree up to there.
LOSSES = {
    "BinaryCrossentropy": "from_logits label_smoothing axis reduction",
    "CategoricalCrossentropy": "from_logits label_smoothing axis reduction",
    "SparseCategoricalCrossentropy": "from_logits ignore_class reduction",
    "BinaryFocalCrossentropy": "apply_class_balancing alpha gamma from_logits label_smoothing axis reduction",
    "CategoricalFocalCrossentropy": "alpha gamma from_logits label_smoothing axis reduction",
    "CategoricalGeneralizedCrossEntropy": "q reduction",
    "Circle": "gamma margin remove_diagonal reduction",
    "CosineSimilarity": "axis reduction",
    "Huber": "delta reduction",
    "Tversky": "alpha beta reduction",
}
REDUCED_FIRST = (
    "CTC CategoricalHinge Dice Hinge KLDivergence LogCosh MeanAbsoluteError MeanAbsolutePercentageError "
    "MeanSquaredError MeanSquaredLogarithmicError Poisson SquaredHinge"
)
for _name, _parameters in [*LOSSES.items(), *((name, "reduction") for name in REDUCED_FIRST.split())]:
    signature(f"keras.losses.{_name}", _parameters)

# Reductions to one number, by name and as members of `keras.losses.Reduction` (Keras 2).
TO_ONE_NUMBER = frozenset({"sum", "sum_over_batch_size", "mean", "mean_with_sample_weight", "auto"})


def reduces(reduction: Argument) -> bool:
    """Whether a loss object with this `reduction` gives one number."""
    chosen = getattr(deref(reduction.value), "name", reduction.const())
    return isinstance(chosen, str) and chosen.rpartition(".")[2].lower() in TO_ONE_NUMBER


def functions_in(loss: Value | None) -> list[Function]:
    """One function, those of a list, or those for each output."""
    match loss:
        case Function():
            return [loss]
        case Sequence(items=list(items)):
            return [item for item in map(deref, items) if isinstance(item, Function)]
        case Mapping(entries=entries):
            return [item for item in map(deref, entries.values()) if isinstance(item, Function)]
    return []


def run_lambdas(call: Call, run: Run, predicted: Value) -> None:
    """Run the lambdas among them once: nobody else calls them, where other functions are entered by themselves."""
    for loss in functions_in(call.value("loss")):
        if isinstance(loss.node, cst.Lambda):
            run.call(loss, [Unknown(), predicted], call, "keras.loss")
