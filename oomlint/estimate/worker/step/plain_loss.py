"""Losses and metrics that cannot be traced on the shapes that are known: they are replaced or left out, which is said.

A script's own loss may want labels of a shape that only the data tells, or count with NumPy. Next to the model it takes
little memory.
"""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable
from typing import Any, TypeVar

from oomlint.estimate.errors import EstimateError, words_of
from oomlint.estimate.worker.keras import generation
from oomlint.estimate.worker.keras.compilation import asked_jit
from oomlint.estimate.worker.script.making import Made
from oomlint.estimate.worker.step import compiling, data_specs, losses
from oomlint.estimate.worker.subject import Spec, Subject
from oomlint.estimate.worker.xla.tensorflow_step import NOT_LOWERED

# TensorFlow, of a function that makes them each time it is called (tensorflow/python/eager/polymorphic_function).
_NEW_VARIABLES = "only supports singleton tf.Variables"

_Answer = TypeVar("_Answer")


def or_plainly(subject: Subject, estimated: Callable[[], _Answer]) -> _Answer:
    """The estimate; if that fails, without metrics; if that fails too, with a usual loss."""
    try:
        return estimated()
    except Exception as error:
        if isinstance(error, EstimateError) and NOT_LOWERED not in error.message:
            raise
        if subject.mode != "train" or len(subject.data) < 2 or losses.own_step(subject.model):
            raise
        before = subject.data, list(subject.assumptions)
        cause = error.__cause__ if isinstance(error, EstimateError) and error.__cause__ is not None else error
        words = words_of(cause, 160)
        if _NEW_VARIABLES in words:
            message = "the script's loss makes variables, a model's perhaps, whose memory is not followed"
            raise EstimateError(
                message, "engine", hint="Make that model once, outside of the loss."
            ) from error
        ways = [_without_metrics, _with_usual_loss]
        if _takes_numbers_of_classes(subject):
            ways[:0] = [_with_numbers_of_classes, _with_numbers_in_rows_of_one]
        for without in ways:
            subject.data, subject.assumptions[:] = before[0], before[1]
            try:
                subject.assumptions.append(f"{without(subject)}: {type(cause).__name__}: {words}")
                return estimated()
            except Exception:  # the first error is what is reported
                continue
        raise


# In the code of a loss that takes the number of each label's class.
_OF_NUMBERS = re.compile(r"[Ss]parse|one_hot|\bint(32|64)\b|num_classes")


def _takes_numbers_of_classes(subject: Subject) -> bool:
    """Whether a loss of the script's is written for that, and is given labels like the output."""
    target = subject.data[1]
    if not isinstance(target, Spec) or len(target.shape) < 2 or not target.dtype.startswith("float"):
        return False
    loss = _loss_of(subject)
    # Of a class of the script itself Python finds no text, of its methods it does.
    routines = (
        [loss] if inspect.isroutine(loss) else list(filter(inspect.isroutine, vars(type(loss)).values()))
    )
    text = ""
    for one in routines:
        try:
            text += inspect.getsource(one)
        except (OSError, TypeError):
            continue
    return _OF_NUMBERS.search(text) is not None


def _with_numbers_of_classes(subject: Subject) -> str:
    target = subject.data[1]
    subject.data = (subject.data[0], Spec(target.shape[:-1], "int32"))
    return "labels are the numbers of classes: with those the script's loss can be traced"


def _with_numbers_in_rows_of_one(subject: Subject) -> str:
    said = _with_numbers_of_classes(subject)
    subject.data = (subject.data[0], Spec((*subject.data[1].shape, 1), "int32"))
    return said


def _loss_of(subject: Subject) -> Any:
    loss = getattr(subject.model, "loss", None)
    return (
        getattr(getattr(subject.model, "_compile_loss", None), "_user_loss", None) if loss is None else loss
    )


def _without_metrics(subject: Subject) -> str:
    _compile(subject, _loss_of(subject))
    return "the script's metrics are left out"


def _with_usual_loss(subject: Subject) -> str:
    model, x = subject.model, subject.data[0]
    outputs = compiling.built_outputs(model, x)
    loss = losses.default_loss(model, outputs)
    _compile(subject, loss)
    batch = int(generation.tree().flatten(x)[0].shape[0])
    subject.data = (x, data_specs.targets(Made(model, loss=loss), outputs, batch, []))
    name = loss if isinstance(loss, str) else ", ".join(loss)
    return f"{name} in place of the script's own loss, which could not be traced"


def _compile(subject: Subject, loss: object) -> None:
    model = subject.model
    model._compile_metrics = None  # Keras 3 leaves those of the compilation before
    model.compile(
        optimizer=model.optimizer,
        loss=loss,
        jit_compile=asked_jit(model),
        run_eagerly=bool(getattr(model, "run_eagerly", False)),
    )
