"""The model of a target, as its own code makes it."""

from __future__ import annotations

import inspect
import os
import sys
import sysconfig
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from oomlint.estimate.errors import EstimateError, words_of
from oomlint.estimate.request import Request
from oomlint.estimate.worker.absent.stand_ins import NeededError
from oomlint.estimate.worker.keras import generation, strategies
from oomlint.estimate.worker.script.confinement import confined
from oomlint.estimate.worker.script.refusals import not_imported


@dataclass(slots=True)
class Made:
    """A model, and what its training call said of it."""

    model: Any
    optimizer: Any = None  # where it is trained by hand
    loss: Any = None
    batch: int | None = None
    compiled: bool = False
    element: Any = None  # a nest of (shape, dtype): what the data set hands over, where the dry run knows
    rest: tuple[Any, ...] = ()  # what each batch of data holds beside that; None for what is not known
    step: Any = None  # the function of a step that is followed whole
    handed: dict[str, Any] = field(default_factory=dict)  # what that is given: shapes and dtypes
    # What the script calls it on, where that is several things: shapes or numbers, None for what is not known.
    arguments: list[Any] = field(default_factory=list)
    named: dict[str, Any] = field(default_factory=dict)
    by_hand: str = ""  # "graph" or "eager": how a hand-written loop runs
    # What else is trained there: models, and their optimizers where they are not compiled.
    others: list[tuple[Any, Any]] = field(default_factory=list)

    @property
    def second(self) -> Any:
        """What comes second in each batch of data: labels mostly."""
        return self.rest[0] if self.rest else None

    @property
    def has_no_call(self) -> bool:
        """Whether only its `train_step` says what it does: a GAN that is never called as a whole."""
        cls = type(self.model)
        keras = generation.keras_of(self.model)
        own = [
            getattr(cls, name, None) is not getattr(keras.Model, name, None)
            for name in ("call", "train_step")
        ]
        return own == [False, True] and not generation.inputs_of(self.model)


def make(request: Request, assumptions: list[str]) -> Made:
    """The model of a request."""
    # The libraries, imported by now, may keep their bytecode: compiling TensorFlow anew takes longer than the estimate.
    # Nothing is written beside the user's own modules.
    sys.dont_write_bytecode = True
    for folder in reversed(os.environ.get("OOMLINT_FOLDERS", "").split(os.pathsep)):
        if folder and folder not in sys.path:
            sys.path.append(folder)
    if request.target.startswith("keras:"):
        return Made(_application(request, assumptions))
    with confined(Path(os.environ.get("OOMLINT_WORK") or Path.cwd())), strategies.standing_in(request):
        if request.source:
            from oomlint.estimate.worker.script import running

            return running.run(request, assumptions)
        if request.names.get("saved"):
            from oomlint.estimate.worker.script import saved

            return Made(saved.load(Path(request.names["saved"]), assumptions))
        return _of_function(request, assumptions)


def model_in(value: Any, where: str) -> Any:
    """The model that a function gave back, alone or as the first of several values."""
    kinds = tuple(keras.Model for keras in generation.present())
    if isinstance(value, kinds):
        return value
    if isinstance(value, tuple | list):
        found = [item for item in value if isinstance(item, kinds)]
        if found:
            return max(found, key=_parameters)
    if isinstance(value, dict):
        return model_in(list(value.values()), where)
    inner = getattr(value, "model", None)  # a wrapper of the user's own
    if isinstance(inner, kinds):
        return inner
    if not isinstance(value, type) and isinstance(getattr(value, "__dict__", None), dict):
        held = [item for item in vars(value).values() if isinstance(item, kinds)]
        if held:
            return max(held, key=_parameters)
    kind = "nothing" if value is None else f"a {type(value).__name__}"
    raise EstimateError(f"{where} gives back {kind}, not a Keras model")


def of_layer(value: Any) -> Any:
    """A layer that a loop by hand trains, as the model that it is used as; anything else as it is."""
    kinds = tuple(keras.layers.Layer for keras in generation.present())
    if not isinstance(value, kinds) or isinstance(
        value, tuple(keras.Model for keras in generation.present())
    ):
        return value
    keras = generation.keras_of(value)

    class OfLayer(keras.Model):  # type: ignore[misc, name-defined]
        def __init__(self) -> None:
            super().__init__(name=value.name)
            self.layer = value

        def call(self, inputs: Any) -> Any:
            return self.layer(inputs)

    OfLayer.__name__ = type(value).__name__
    return OfLayer()


def models_of(value: Any) -> list[Any]:
    """The models whose variables an object that is none hands out as its own: an ensemble's, the largest first."""
    kinds = tuple(keras.Model for keras in generation.present())
    if isinstance(value, (*kinds, type)) or not isinstance(getattr(value, "__dict__", None), dict):
        return []
    try:
        ids = {id(one) for one in value.trainable_variables}
    except Exception:  # the user's own code, or none
        return []
    held: dict[int, Any] = {}
    for part in vars(value).values():
        several = (
            part.values() if isinstance(part, dict) else part if isinstance(part, list | tuple) else [part]
        )
        held |= {id(one): one for one in several if isinstance(one, kinds)}
    found = [one for one in held.values() if one.built and one.trainable_variables]
    found = [one for one in found if all(id(variable) in ids for variable in one.trainable_variables)]
    return sorted(found, key=_parameters, reverse=True)


def _says_what_it_does(model: Any) -> bool:
    """Whether it has a `call` or step of its own, or inputs: else it only holds other models."""
    keras = generation.keras_of(model)
    own = any(
        getattr(type(model), name, None) is not getattr(keras.Model, name, None)
        for name in ("call", "train_step", "__call__")
    )
    return own or bool(generation.inputs_of(model))


def part_that_is_called(model: Any) -> tuple[str, Any] | None:
    """Of a model that has neither `call` nor inputs the one model in it that has: an agent's network."""
    kinds = tuple(keras.Model for keras in generation.present())
    if _says_what_it_does(model):
        return None
    parts = [(name, one) for name, one in vars(model).items() if isinstance(one, kinds)]
    parts = list({id(one): (name, one) for name, one in parts}.values())
    return parts[0] if len(parts) == 1 else None


def parts_that_are_called(model: Any) -> list[Any]:
    """Of a model without `call`, step and inputs the models in it, the largest first: an encoder and a decoder."""
    keras = generation.keras_of(model)
    if _says_what_it_does(model) or isinstance(model, keras.Sequential):
        return []
    parts = [one for one in vars(model).values() if isinstance(one, keras.Model)]
    return sorted({id(one): one for one in parts}.values(), key=_parameters, reverse=True)


def _parameters(model: Any) -> int:
    return int(model.count_params()) if model.built else 0


def _application(request: Request, assumptions: list[str]) -> Any:
    keras = generation.chosen()
    name = request.target.partition(":")[2]
    function = getattr(keras.applications, name, None)
    if function is None:
        raise EstimateError(f"this Keras has no keras.applications.{name}", "target")
    arguments = dict(request.arguments)
    arguments.setdefault("weights", None)
    if request.input_shape is not None:
        arguments["input_shape"] = request.input_shape
        # With its own classifier MobileNet and NASNet take other sizes only by name.
    return call(function, arguments, f"keras.applications.{name}")


def _of_function(request: Request, assumptions: list[str]) -> Made:
    module_name, _, path = request.target.partition(":")
    import importlib

    try:
        value: Any = importlib.import_module(module_name)
    except ImportError as error:
        raise EstimateError(f"cannot import {module_name}: {error}", "target") from error
    for part in path.split("."):
        if not hasattr(value, part):
            raise EstimateError(f"{module_name} has no {path}", "target", hint=near(part, dir(value)))
        value = getattr(value, part)
    return Made(model_of(value, request, request.target))


def model_of(value: Any, request: Request, where: str) -> Any:
    """The model that a function, class or object of the user's stands for."""
    if isinstance(value, tuple(keras.Model for keras in generation.present())):
        return value
    if callable(value):
        arguments = _with_shape(value, request)
        return model_in(call(value, arguments, where), where)
    return model_in(value, where)


def _with_shape(function: Any, request: Request) -> dict[str, Any]:
    """The arguments given, and the input shape for the parameter that is called so and has no value."""
    arguments = dict(request.arguments)
    if request.input_shape is None:
        return arguments
    try:
        parameters = inspect.signature(function).parameters
    except (TypeError, ValueError):
        return arguments
    for name in (
        "input_shape",
        "shape",
        "input_dim",
        "img_shape",
        "image_shape",
        "input_size",
        "inputs_shape",
    ):
        if name in parameters and name not in arguments:
            shape = request.input_shape
            arguments[name] = shape[0] if name == "input_dim" and len(shape) == 1 else shape
            break
    return arguments


def call(function: Any, arguments: dict[str, Any], where: str) -> Any:
    """Call what builds the model; what it lacks is named with the option that gives it."""
    try:
        signature = inspect.signature(function)
    except (TypeError, ValueError):
        signature = None
    if signature is not None:
        parameters = signature.parameters
        takes_all = any(one.kind is inspect.Parameter.VAR_KEYWORD for one in parameters.values())
        for name in arguments:
            if name not in parameters and not takes_all:
                raise EstimateError(
                    f"{where} has no parameter {name!r}", "target", hint=near(name, parameters)
                )
        lacking = [
            name
            for name, one in parameters.items()
            if one.default is inspect.Parameter.empty
            and one.kind not in (inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD)
            and name not in arguments
        ]
        if lacking:
            hint = "Give " + " ".join(f"--arg {name}=VALUE" for name in lacking)
            raise EstimateError(f"{where} needs {', '.join(lacking)}", "target", hint=hint)
    try:
        return function(**arguments)
    except (EstimateError, NeededError):
        raise
    except Exception as error:
        if "<not known: " in str(error):
            raise  # it is asked for
        raise _failed(error, where) from error


def _failed(error: Exception, where: str) -> EstimateError:
    import traceback

    frames = [frame for frame in traceback.extract_tb(error.__traceback__) if of_the_user(frame.filename)]
    text = f"{type(error).__name__}: {words_of(error)}"
    file, line = (frames[-1].filename, frames[-1].lineno) if frames else (None, None)
    if (absent := not_imported(error, file, line)) is not None:
        return absent
    apart = "missing a required argument" in text
    hint = "Its call takes several arrays apart: models that take one, or a list of them, are estimated."
    return EstimateError(f"{where} failed with {text}", "build", file, line, hint if apart else "")


def of_the_user(file: str) -> bool:
    """Whether code is the user's own, of no installed library (in dist-packages on Debian and Colab) nor of Python."""
    path = file.replace("\\", "/")
    others = ("/site-packages/", "/dist-packages/", "/oomlint/estimate/")
    of_python = path.startswith(("<", sysconfig.get_path("stdlib").replace("\\", "/") + "/"))
    of_python |= "/__autograph_generated_file" in path  # TensorFlow's copy of the user's code
    return not of_python and not any(part in path for part in others)


def near(name: str, names: Any) -> str:
    """A question whether the nearest of the names was meant, or nothing."""
    import difflib

    found = difflib.get_close_matches(name, [one for one in names if not one.startswith("__")], n=1)
    return f"Did you mean {found[0]!r}?" if found else ""
