"""Steps by hand that are followed whole: a model that holds what such a function trains, and whose step it is.

What it is given is what its models take: pictures for the one that tells them apart, noise for the one that makes them.
"""

from __future__ import annotations

import inspect
import re
from collections.abc import Iterator
from typing import Any

from oomlint.estimate.errors import EstimateError
from oomlint.estimate.request import Request
from oomlint.estimate.worker.keras import generation
from oomlint.estimate.worker.keras.state import is_optimizer
from oomlint.estimate.worker.script.making import Made
from oomlint.estimate.worker.step import described
from oomlint.estimate.worker.subject import Spec, Subject

_NOISE = re.compile(r"(?:\w+_)?(?:noise|noises|latent|latents|z|seed|random\w*)(?:_\w+)?")
_LABELS = re.compile(r"(?:\w+_)?(?:labels?|cond\w*|class\w*|y)(?:_\w+)?")
# Which round it is: a number, whatever the models take.
_COUNTER = re.compile(
    r"(?:\w+_)?(?:step|epoch|iteration|iter|round)(?:_?(?:num|number|no|index|idx|count))?|it|i|idx|index|batch_(?:idx|index|id|num)"
)


def subject(made: Made, request: Request, batch: int, assumptions: list[str]) -> Subject:
    """The subject whose step is the script's function. Raises EstimateError where its data is not known."""
    keras = generation.keras_of(made.model)
    if (
        request.optimizer
        or request.loss
        or request.frozen
        or request.accumulate_steps > 1
        or request.input_scale < 1
    ):
        raise EstimateError(
            "the script's own step is followed whole, and that changes nothing in it", "target"
        )
    models, optimizers = _held(made)
    names = list(inspect.signature(made.step).parameters)
    told = {name: _spec(name, names, made, models, batch) for name in names}
    lacking = [name for name, spec in told.items() if spec is None]
    if lacking:
        message = f"the step is followed whole, and what it is given is not known: {', '.join(lacking)}"
        parts = tuple(f"{name}={'32 int32' if _LABELS.fullmatch(name) else '32x64x64x3'}" for name in lacking)
        hint = f"Describe it: --data '{', '.join(parts)}'"
        code = made.step.__code__
        raise EstimateError(message, "build", code.co_filename, code.co_firstlineno, hint, parts=parts)
    specs = tuple(spec for spec in told.values() if spec is not None)

    class Stepped(keras.Model):  # type: ignore[misc, name-defined]
        def __init__(self) -> None:
            super().__init__(name=made.model.name)
            for number, part in enumerate((*models, *optimizers)):
                setattr(self, f"part_{number}", part)

        def train_step(self, data: Any) -> Any:
            made.step(*data if isinstance(data, list | tuple) else (data,))
            return {}

    whole = Stepped()
    whole.built = True
    whole.compile(optimizer=keras.optimizers.SGD(), run_eagerly=made.by_hand == "eager", jit_compile=False)
    words = ", ".join(
        f"{name} {spec.dtype}[{', '.join(map(str, spec.shape))}]" for name, spec in told.items() if spec
    )
    assumptions.append(f"the script's own step is followed whole, with {words} (others: --data NAME=SIZES)")
    return Subject(whole, specs, "train", assumptions, one_step=True)


def _held(made: Made) -> tuple[list[Any], list[Any]]:
    """The models and optimizers that the function of a step finds around it."""
    keras = generation.keras_of(made.model)
    values = [*_around(made.step), made.model, *(one for one, _ in made.others)]
    for value in list(values):
        if not isinstance(value, type | keras.Model) and _is_of_user(value):
            values += vars(value).values()
        elif isinstance(value, keras.Model):  # a solver that keeps its own
            kept = [getattr(value, "optimizer", None), *vars(value).values()]
            values += filter(is_optimizer, kept)
    models = [one for one in values if isinstance(one, keras.Model)]
    optimizers = list(filter(is_optimizer, values))
    unique = [list({id(one): one for one in found}.values()) for found in (models, optimizers)]
    return unique[0], unique[1]


def _is_of_user(value: Any) -> bool:
    return (
        isinstance(getattr(value, "__dict__", None), dict)
        and not hasattr(value, "__file__")
        and not callable(value)
    )


def _around(function: Any) -> Iterator[Any]:
    names = set(function.__code__.co_names)
    for code in function.__code__.co_consts:
        names |= set(getattr(code, "co_names", ()))
    yield from (value for name, value in function.__globals__.items() if name in names)
    for cell in function.__closure__ or ():
        yield cell.cell_contents


def _spec(name: str, names: list[str], made: Made, models: list[Any], batch: int) -> Spec | None:
    told = described.whole(name, batch)
    if told is not None:
        return told
    if name in made.handed:  # columns of one input, say, each of as many points as it has
        return Spec(*made.handed[name])
    if _COUNTER.fullmatch(name):
        return Spec((), "int64")
    inputs = [leaf for model in models for leaf in generation.inputs_of(model) or ()]
    shapes = list(
        dict.fromkeys(tuple(leaf.shape)[1:] for leaf in inputs if None not in tuple(leaf.shape)[1:])
    )
    if _NOISE.fullmatch(name):
        wanted = [shape for shape in shapes if len(shape) == 1]
    elif _LABELS.fullmatch(name) and len(names) > 1:
        wanted = []
    else:
        wanted = [shape for shape in shapes if len(shape) == max(map(len, shapes))]
    return Spec((batch, *wanted[0]), "float32") if len(wanted) == 1 else None
