"""Models that are trained by hand: a gradient of their variables is taken, and an optimizer applies it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from oomlint.dryrun.catalog.tensorflow.gradients import gradients_of
from oomlint.dryrun.values.arrays import Array
from oomlint.dryrun.values.base import Sequence, Value, deref
from oomlint.dryrun.values.program import Instance
from oomlint.dryrun.values.training import Gradients, Model

if TYPE_CHECKING:
    from collections.abc import Iterator

    from oomlint.dryrun.trace import Call, Trace


@dataclass(frozen=True, slots=True)
class TapeTraining:
    """One gradient call, the model whose variables it is taken of, and the call that applies it, if seen."""

    gradient: Call
    model: Model
    applied: Call | None


def tape_trainings(trace: Trace) -> Iterator[TapeTraining]:
    """Every model in every gradient call, in order."""
    applied: dict[int, Call] = {}
    for call in trace.calls("keras.Optimizer.apply_gradients", "keras.Optimizer.apply"):
        for item in gradients_of(call.arguments[0].value if call.arguments else None):
            made = deref(item)
            if isinstance(made, Gradients) and made.made_by is not None:
                applied.setdefault(id(made.made_by), call)
    for call in trace.calls("tf.GradientTape.gradient"):
        sources = call.value("sources")
        models = {id(model): model for model in _owners(sources)}
        for model in models.values():
            yield TapeTraining(call, model, applied.get(id(call)))


def trained_by(trace: Trace, gradient: Call | None) -> Model | None:
    """The model of whose variables a gradient call takes the gradient, the first of several."""
    return next((one.model for one in tape_trainings(trace) if one.gradient is gradient), None)


def model_of(value: Value | None) -> Model | None:
    """The model that a value is, an object of the program's own subclass included."""
    value = None if value is None else deref(value)
    if isinstance(value, Instance):
        value = value.facet
    return value if isinstance(value, Model) else None


def _owners(value: Value | None) -> Iterator[Model]:
    """The models whose variables these are."""
    leaves = [value.any] if isinstance(value, Sequence) else [value] if value is not None else []
    for leaf in leaves:
        owner = model_of(leaf.producer) if isinstance(leaf, Array) else None
        if owner is not None:
            yield owner
