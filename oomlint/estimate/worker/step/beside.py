"""Models that a script trains beside the one that is estimated, in turns with it or in the same step: a GAN's parts."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from oomlint.estimate.errors import EstimateError
from oomlint.estimate.request import Request
from oomlint.estimate.worker.absent.stand_ins import Missing
from oomlint.estimate.worker.keras.generation import dtype_of, present, tree
from oomlint.estimate.worker.keras.state import state_of_all
from oomlint.estimate.worker.script.making import Made
from oomlint.estimate.worker.subject import Footprint, Spec, Subject

NOT_INCLUDED = "is trained too, and not included"


def subjects(
    made: Made, x: Any, outputs: Any, request: Request, batch: int, assumptions: list[str]
) -> list[Subject]:
    """Those that can be built; the others are named.

    One that says nothing of its input takes what the first is given, or what that gives, if it can.
    """
    likely = [x, *_specs(outputs, batch)]
    kinds = tuple(keras.Model for keras in present())
    found = []
    for model, optimizer in made.others:
        if isinstance(model, Missing):
            assumptions.append(f"{model.oomlint_name} {NOT_INCLUDED}: it could not be made")
        if model is made.model or not isinstance(model, kinds):
            continue
        try:
            found.append(_subject(model, optimizer, made, request, batch, likely))
        except Exception as error:  # the user's own code runs in there
            assumptions.append(f"{model.name} {NOT_INCLUDED}: {_first_line(error)}")
    return found


def _specs(outputs: Any, batch: int) -> list[Spec]:
    """What the one output of a model is like, where that is known."""
    leaves = [] if outputs is None else tree().flatten(outputs)
    if len(leaves) != 1 or None in tuple(leaves[0].shape)[1:]:
        return []
    return [Spec((batch, *tuple(leaves[0].shape)[1:]), dtype_of(leaves[0]))]


def _input_and_outputs(
    model: Any, made: Made, request: Request, batch: int, likely: list[Any]
) -> tuple[Any, Any, str]:
    """What it takes, what it gives for that, and in words what is no more than likely of it."""
    from oomlint.estimate.worker.step import compiling, data_specs

    try:
        x = data_specs.inputs(made, request, batch, [])
    except EstimateError:
        for one in likely:
            try:
                outputs = compiling.built_outputs(model, one)
            except EstimateError:
                continue
            return one, outputs, _guessed(model, one)
        raise
    return x, compiling.built_outputs(model, x), ""


def _guessed(model: Any, x: Any) -> str:
    """Whether what is only likely decides the weights: a kernel with a row for each number of a picture.

    The kernels of convolutions hang on the channels alone. A head for regions of pictures takes regions.
    """
    if not isinstance(x, Spec) or len(x.shape) < 3 or not model.weights:
        return ""
    first = tuple(model.weights[0].shape)
    if len(first) != 2 or first[0] != math.prod(x.shape[1:]):
        return ""
    sample = "x".join(map(str, x.shape[1:]))
    return (
        f"what {model.name} takes is not known: it has {first[0]:,} x {first[1]:,} weights if it is {sample}"
    )


def _subject(
    model: Any, optimizer: Any, main: Made, request: Request, batch: int, likely: list[Any]
) -> Subject:
    from oomlint.estimate.worker.step import compiling, data_specs

    known = hasattr(optimizer, "apply_gradients") and not isinstance(optimizer, Missing)
    made = Made(model, optimizer=optimizer if known else None, by_hand=main.by_hand)
    plain = dataclasses.replace(request, input_shape=None, optimizer=None, loss=None)
    x, outputs, guessed = _input_and_outputs(model, made, plain, batch, likely)
    compiling.compile_model(made, plain, outputs, [])
    y = data_specs.targets(made, outputs, batch, [])
    data = (x,) if y is None else (x, y)
    with as_compiled(model):
        compiling.build_slots(model, data)
    return Subject(model, data, guessed=guessed)


@contextmanager
def as_compiled(model: Any) -> Iterator[None]:
    """Inside, a model that was frozen as a whole after its `compile` is trainable, as it stays in Keras 2.

    A GAN freezes its discriminator for the model behind it, and goes on to train it by itself.
    """
    # One by one: the flag of a model does not reach the layers of a model in it (Keras 3.15), which were frozen alone.
    flags: list[tuple[Any, bool]] = []
    if not model.trainable_variables:
        flags = [(layer, layer.trainable) for layer in model._flatten_layers()]
    for layer, _ in flags:
        layer.trainable = True
    try:
        yield
    finally:
        for layer, before in flags:
            layer.trainable = before


def together(subject: Subject, own: Footprint, engine: Callable[[Subject], Footprint]) -> Footprint:
    """What all of the models keep between steps, and the fullest of their steps; or all of these, if they are one."""
    steps = {id(subject): own}
    for one in subject.others:
        with as_compiled(one.model):
            steps[id(one)] = engine(one)
    models = [subject, *subject.others]
    fullest = max(models, key=lambda one: _passing(steps[id(one)]))
    chosen = steps[id(fullest)]
    parts = chosen.parts | state_of_all([one.model for one in models])
    names = ", ".join(str(one.model.name) for one in subject.others)
    if subject.one_step:
        for one in models:
            if one is not fullest:
                for name in ("gradients", "activations", "temporaries", "input"):
                    parts[name] += steps[id(one)].parts[name]
        said = (
            f"{subject.model.name} and {names} are trained in one step, or in turns through each other: the sum of "
            "what each takes by itself; one's passes through another are not traced"
        )
    else:
        said = (
            f"{subject.model.name} is trained in turns with {names}: what all of them keep, and the step of "
            f"{fullest.model.name}"
        )
    peak = sum(parts.values())
    more = peak - chosen.peak
    return dataclasses.replace(
        chosen,
        peak=peak,
        parts=parts,
        timeline=[(name, size + more) for name, size in chosen.timeline],
        assumptions=[said, *chosen.assumptions],
    )


def _passing(footprint: Footprint) -> int:
    """What a step takes and gives back."""
    return footprint.peak - footprint.parts["weights"] - footprint.parts["optimizer_state"]


def _first_line(error: Exception) -> str:
    return next(iter(str(error).strip().splitlines()), type(error).__name__)[:200]
