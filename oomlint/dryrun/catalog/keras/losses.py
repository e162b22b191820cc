"""The program's own functions among the losses that a model is compiled with."""

from __future__ import annotations

from typing import TYPE_CHECKING

import libcst as cst

from oomlint.dryrun.values.base import Mapping, Sequence, Unknown, Value, deref
from oomlint.dryrun.values.program import Function

if TYPE_CHECKING:
    from oomlint.dryrun.interpreter import Run
    from oomlint.dryrun.trace import Call


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
