"""Which Keras a script is written for, where its calls leave no doubt."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from oomlint.dryrun.trace import Trace

# Gone in Keras 3, where they raise (trainer.py and base_optimizer.py have neither).
_METHODS = ("fit_generator", "evaluate_generator", "predict_generator")
_ARGUMENTS = ("lr", "decay")


def for_keras_2(trace: Trace) -> bool:
    """Whether the script calls what only Keras 2 has: `fit_generator`, or an optimizer's `lr=` and `decay=`."""
    if trace.calls(*(f"keras.Model.{name}" for name in _METHODS)):
        return True
    return any(
        argument.name in _ARGUMENTS
        for call in trace.calls_under("keras.optimizers.")
        if not call.name.startswith("keras.optimizers.schedules.")
        for argument in call.arguments
    )
