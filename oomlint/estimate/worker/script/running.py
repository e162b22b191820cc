"""Runs a slice, statement by statement: one that fails binds "not known" to its names, and the rest goes on.

So that what the slice kept without need (a path that is not there, a library that is not installed) does not
matter, while what the model needs is reported with the line where it was lost.
"""

from __future__ import annotations

import builtins
import contextlib
import functools
import json
import re
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

from oomlint.estimate.errors import EstimateError
from oomlint.estimate.request import Request
from oomlint.estimate.slicing.vocabulary import TF_KERAS, is_model
from oomlint.estimate.worker.absent import own_environments, stand_ins
from oomlint.estimate.worker.absent.command_words import Words
from oomlint.estimate.worker.absent.stand_ins import Missing, NeededError, TrainedSignal
from oomlint.estimate.worker.keras import adapted
from oomlint.estimate.worker.older import layer_names
from oomlint.estimate.worker.older.layers import OF_OLD_KERAS
from oomlint.estimate.worker.older.wrappers import Wrapped
from oomlint.estimate.worker.script import (
    altered,
    choices,
    failed_statements,
    making,
    project_modules,
    spellings,
)
from oomlint.estimate.worker.script.guards import FAILED, compiled
from oomlint.estimate.worker.script.harmless import harmless
from oomlint.estimate.worker.script.leading import called_on
from oomlint.estimate.worker.script.making import Made
from oomlint.estimate.worker.script.refusals import NAMED, how_to_give, instead_of, of_use, refused
from oomlint.estimate.worker.values import classes, example_samples, lengths, project_values, roles
from oomlint.estimate.worker.values.option_names import plain_name

_EXAMPLE = [example_samples.IMAGE]  # a sample such as the script's models may take


def run(request: Request, assumptions: list[str]) -> Made:
    """The model that the slice trains, or that its function makes; what may be assumed is, and is said."""
    assumed: dict[str, Any] = {}
    notes: list[str] = []
    stand_ins.NONE_IS_UNSET[0] = False
    skipped = int(request.names.get("skipped", "0"))
    while True:
        said: list[str] = []
        stand_ins.SKIPPED[0] = skipped
        try:
            made = _run(request, assumed, said)
        except EstimateError as error:
            if skipped and not error.asked and stand_ins.SKIPPED[0] < skipped:
                skipped = 0  # what comes between the rounds cannot be followed: the first one
                continue
            known = assumed | request.arguments
            offered = map(classes.assumption, (error.asked, *error.instead))
            found = next((one for one in offered if one is not None and one[0] not in known), None)
            if found is not None:
                name, assumed[name], note = found
                notes.append(note)
            elif not _of_none(error):
                raise
            continue
        assumptions += said + notes + stand_ins.defaults() + adapted.said()
        return made


def _of_none(error: EstimateError) -> bool:
    """Whether to try again, attributes that are None until something is read being not known."""
    of_none = not error.asked and "'NoneType' object" in error.message and not stand_ins.NONE_IS_UNSET[0]
    stand_ins.NONE_IS_UNSET[0] |= of_none
    return of_none


def _run(request: Request, assumed: dict[str, Any], assumptions: list[str]) -> Made:
    path = request.names.get("path", "script.py")
    of_before: tuple[Any, ...] = (stand_ins.GIVEN, stand_ins.OF_CLASSES, stand_ins.LINES, stand_ins.EXAMPLES)
    for known in (
        *of_before,
        stand_ins.NAMED,
        stand_ins.UNSET,
        own_environments.OBSERVED,
        own_environments.ACTED,
    ):
        known.clear()
    altered.HALF_MADE.clear()
    spellings.CAPPED.clear()
    choices.FILES[:] = [path, *(file for key, file in request.names.items() if key.startswith("file:"))]
    stand_ins.GIVEN.update(assumed | request.arguments)
    texts = "\n".join(
        [request.source, *(text for key, text in request.names.items() if key.startswith("module:"))]
    )
    _EXAMPLE[0] = example_samples.of_layers(texts)
    old = request.names.get("keras") == "2" and not TF_KERAS.search(texts)
    OF_OLD_KERAS[0] = old and re.search(r"(?m)^\s*(import|from) keras\b", texts) is not None
    layer_names.count_anew(OF_OLD_KERAS[0] and layer_names.is_counted_from_one(texts))
    Missing.touched = None
    project_values.TAKEN.clear()
    project_values.USUAL.clear()
    project_values.PROJECT.clear()
    project_values.PROJECT.update(json.loads(request.names.get("values", "{}")))
    stand_ins.INPUT_SHAPE[:] = [request.input_shape] if request.input_shape is not None else []
    failures: list[Missing] = []
    way, others = json.loads(request.names.get("way", "{}")), altered.modules(request.names)
    compile_ = functools.partial(compiled, way=way, others=others)
    lines = json.loads(request.names.get("lines:__main__", "[]"))
    module = ModuleType("__main__")
    module.__dict__.update(
        __file__=path, __builtins__=builtins, **{FAILED: failed_statements.failed_in(failures)}
    )
    before, arguments = sys.modules.get("__main__"), sys.argv
    # `try: name = sys.argv[1] except IndexError: name = "default"` has to get its error.
    guarded = re.search(r"IndexError|except(\s+Exception)?(\s+as\s+\w+)?\s*:", request.source)
    sys.modules["__main__"], sys.argv = module, [path] if guarded else Words([path])
    try:
        with (
            project_modules.provided(request.names, compile_),
            harmless(
                assumed | request.arguments, assumptions, request.source + "".join(request.names.values())
            ),
        ):
            # A command line may end the script; the function that was asked for is defined by then.
            ends = (
                contextlib.suppress(SystemExit) if "function" in request.names else contextlib.nullcontext()
            )
            with ends:
                exec(compile_(request.source, path, lines), module.__dict__)
            if "function" in request.names:
                return _of_function(module, request, assumptions)
    except TrainedSignal as signal:
        made = _made(signal, request, failures, path, assumptions)
        assumptions += spellings.said()
        if "length" not in request.names:
            request.names.update(lengths.named(module.__dict__))
        named = signal.facts.get("batch_named")
        if made.batch is None and "batch_else" in request.names:
            made.batch, named = int(request.names["batch_else"]), request.names["batch_else_named"]
        if made.batch is not None and named and not request.batch_size:
            assumptions.append(f"batch size {made.batch}, as {named} says (another: --batch-size)")
        return made
    except NeededError as error:
        raise asked(error.value, path, failures) from error
    except EstimateError:
        raise
    except (Exception, SystemExit) as error:
        # A script may end by that, as `app.run(main)` does.
        if not isinstance(error, SystemExit) or error.code:
            if (lacks := _lacking(error)) is not None:
                raise asked(lacks.value, path, failures) from error
            raise _broken(error, path, failures) from error
    finally:
        sys.argv = arguments
        if before is not None:
            sys.modules["__main__"] = before
    if failures:
        raise asked(of_use(failures, called_on(request.source, path, way)), path, failures)
    where = (request.names.get("trained_in", path), _line_of(request))
    raise EstimateError("the training call was not reached", "slice", *where)


def _lacking(error: BaseException) -> NeededError | None:
    """The value that is not known behind an exception that says nothing of it: Keras' of a `Lambda`'s output."""
    if "could not automatically infer" in str(error) and Missing.touched is not None:
        return NeededError(Missing.touched)  # what it was calculated with has become unknown as a whole
    before: BaseException | None = error
    for _ in range(8):
        before = None if before is None else before.__cause__ or before.__context__
        if isinstance(before, NeededError):
            return before
    return None


def _line_of(request: Request) -> int | None:
    return int(line) if (line := request.names.get("line", "")).isdigit() else None


def _of_function(module: ModuleType, request: Request, assumptions: list[str]) -> Made:
    value: Any = module
    for part in request.names["function"].split("."):
        owner, value = value, getattr(value, part, None)
    if value is None or isinstance(value, Missing):
        raise EstimateError(f"{request.target} could not be defined", "build")
    if "maker" in request.names:
        from oomlint.estimate.worker.tries import last_resort

        return last_resort.made(value, owner, request, assumptions)
    return Made(making.model_of(value, request, request.names["function"]))


def _made(
    signal: TrainedSignal, request: Request, failures: list[Missing], path: str, notes: list[str]
) -> Made:
    model, facts = signal.model, signal.facts
    if isinstance(model, Missing):
        raise asked(model, path, failures)
    own_batch = model.batch_size if isinstance(model, Wrapped) else None
    by_hand = facts.get("by_hand", "")
    several = making.models_of(model := making.of_layer(model)) if by_hand else []
    try:
        model = several[0] if several else making.model_in(model, "what the script trains")
    except EstimateError as error:
        if failures:
            raise _first(failures, path) from error
        error.file, error.line = request.names.get("trained_in", path), _line_of(request)
        raise (choices.not_made((error.file, error.line)) if model is None else None) or error from None
    lack = altered.half_made(model)
    if isinstance(lack, NeededError):
        raise asked(lack.value, path, failures) from lack
    if lack is not None:
        raise _broken(lack, path, failures) from lack
    if by_hand and (part := making.part_that_is_called(model)) is not None:
        notes.append(f"{type(model).__name__} has no call: estimated is the model in it, {part[0]}")
        model = part[1]
    batch, optimizer = own_batch or facts.get("batch_size"), facts.get("optimizer")
    element = facts.get("element")
    return Made(
        model,
        optimizer=optimizer,
        batch=batch if isinstance(batch, int) and not isinstance(batch, bool) else None,
        element=element,
        rest=tuple(facts.get("rest") or ()),
        step=facts.get("step"),
        handed=dict(facts.get("handed", {})),
        arguments=list(facts.get("arguments", ())),
        named=dict(facts.get("named", {})),
        by_hand=by_hand,
        others=[*facts.get("others", ()), *((one, optimizer) for one in several[1:])],
    )


def _first(failures: list[Missing], path: str) -> EstimateError:
    """The failure that the others follow from."""
    return asked(of_use(failures, set()), path, failures)


def asked(value: Missing, path: str, failures: list[Missing]) -> EstimateError:
    """What a value that is not known follows from, as an error: another value, or an exception."""
    seen: set[int] = set()
    names: list[str] = []
    shapes: list[str] = []  # of which the model needs no more than the shape
    while id(value) not in seen:
        seen.add(id(value))
        if space := next((one for one in stand_ins.SPACES if one in value.oomlint_name.split(".")), None):
            message = f"{value.oomlint_name} comes from the environment, and the model needs it"
            hint = f"Give its size: --data {space}=4"
            return EstimateError(message, "build", path, value.oomlint_line or None, hint, asked=space)
        names.append(plain_name(value.oomlint_name))
        shapes += [names[-1]] if ".shape" in value.oomlint_name else []
        cause = value.oomlint_cause
        if cause is None:
            break
        before = cause.value if isinstance(cause, NeededError) else named_in(cause, failures)
        if before is not None and before.oomlint_name.startswith("sys.argv"):
            break  # it can be given by the name that the script gives it
        if before is None and isinstance(cause, FileNotFoundError) and shapes:
            message = (
                f"{shapes[0]}.shape comes from {cause.filename}, which is not there, and the model needs it"
            )
            hint = f"Run it where the file is, or give the shape: --data {roles.example(shapes[0])}"
            instead = tuple(name for name in names if name != shapes[0])
            line = value.oomlint_line or None
            return EstimateError(
                message, "build", path, line, hint, asked=f"{shapes[0]}.array", instead=instead
            )
        if before is None and isinstance(cause, FileNotFoundError) and cause.filename:
            message = f"{value.oomlint_name} is read from {cause.filename}, which is not there"
            plain = plain_name(value.oomlint_name)
            hint = f"Run it where the file is, or give the value: --arg {plain}=VALUE"
            return EstimateError(
                message,
                "build",
                path,
                value.oomlint_line or None,
                hint,
                asked=plain,
                instead=tuple(names[:-1]),
            )
        if before is None:
            broken = _broken(cause, path, failures, value.oomlint_line or None)
            broken.instead = broken.instead or instead_of(cause, names)
            return broken
        if not before.oomlint_line:
            before.oomlint_line = value.oomlint_line
        value = before
    line = value.oomlint_line or None
    name = value.oomlint_name
    plain = plain_name(name)
    instead = tuple(names[:-1])
    if name in ("the data itself", "a part of the data"):
        message = "the numbers of the data are needed there: an estimate knows its shape and reads none of it"
        hint = "Name the function that builds the model instead: FILE.py:function, with --arg name=value."
        return EstimateError(message, "build", path, line, hint, instead=instead)
    if name == "the number of samples":
        hint = "Describe the data, for example --data x=1000x16"
        message = f"{name} comes from data, and the model needs it"
        return EstimateError(message, "build", path, line, hint, asked="x.array", instead=instead)
    if name.endswith(".shape[0]") and plain in stand_ins.OPEN:
        hint = f"Describe it: --data '{roles.description(plain, stand_ins.OPEN[plain])}'"
        message = f"how many there are of {plain} comes from data, and the step needs it"
        return EstimateError(message, "build", path, line, hint, asked=f"{plain}.array", instead=instead)
    if ".shape" in name and (roles.is_weights(plain) or roles.is_anchors(plain)):
        hint = f"Give its shape, for example --data {roles.example(plain)}"
        message = f"{name} comes from data, and the model needs it"
        return EstimateError(message, "build", path, line, hint, asked=f"{plain}.array", instead=instead)
    if ".shape" in name and roles.of_targets(plain):
        hint = f"Give its shape, with what is not known as None: --arg '{plain}=(None, 10)'"
        message = f"{name} comes from data, and the model needs it"
        return EstimateError(message, "build", path, line, hint, asked=f"{plain}.shape", instead=instead)
    if ".shape" in name or roles.side_of(plain) is not None:
        hint = f"Give one sample's shape, for example --input-shape {_EXAMPLE[0]}"
        message = f"{name} comes from data, and the model needs it"
        return EstimateError(message, "build", path, line, hint, instead=instead)
    message = f"{name} comes from data or from outside, and the model needs it"
    known = [one for one in stand_ins.examples_of(plain) if type(one) is str]
    hint = how_to_give(plain, known, path, whole="[" not in name)
    if not known and name.startswith(plain) and roles.is_samples(plain):
        hint = f"Give its shape: --data {roles.example(plain)}"
    wanted = f"{plain}.classes" if plain in stand_ins.OF_CLASSES else plain
    return EstimateError(message, "build", path, line, hint, asked=wanted, instead=instead)


def named_in(error: BaseException, failures: list[Missing]) -> Missing | None:
    """The value that is not known and that an exception complains of."""
    found = NAMED.search(str(error))
    if found is None:
        return None
    name = found[1]
    if isinstance(error, KeyError):
        stand_ins.EXAMPLES.setdefault(name, []).extend(choices.keys(error))
    root = re.split(r"[.(\[]", name)[0]
    for missing in reversed(failures):
        if missing.oomlint_name in (name, root):
            return _part(missing, name)
    for known in (name, root):
        if known in stand_ins.NAMED:
            return _part(stand_ins.NAMED[known], name)
    return Missing(name, stand_ins.LINES.get(root, 0))


def _part(whole: Missing, name: str) -> Missing:
    """A value, or what was taken of it: `x.shape[...]`."""
    if name == whole.oomlint_name:
        return whole
    return Missing(name, whole.oomlint_line, whole.oomlint_cause or NeededError(whole))


def _broken(
    error: BaseException, path: str, failures: list[Missing], line: int | None = None
) -> EstimateError:
    import traceback

    named = named_in(error, failures)
    if named is not None and named.oomlint_cause is not error:
        return asked(named, path, failures)
    file = path
    for frame in traceback.extract_tb(error.__traceback__):
        if making.of_the_user(frame.filename) and Path(frame.filename).suffix == ".py":
            file, line = frame.filename, frame.lineno
    if isinstance(error, NameError) and (chosen := choices.unchosen(error, file, line)) is not None:
        return chosen
    if (
        failures
        and isinstance(error, NameError | AttributeError)
        and "oomlint_followed" not in error.__dict__
    ):
        error.__dict__["oomlint_followed"] = True  # it may be why the first one is reported
        if (
            isinstance(error, NameError)
            or "NoneType" in str(error)
            or "object has no attribute" in str(error)
        ):
            return _first(failures, path)
    # `models["one"] = ...` under a condition that is not known is left out, and its name is nobody's.
    unnamed = [one for one in failures if not one.oomlint_name and one.oomlint_cause is not error]
    if isinstance(error, KeyError) and unnamed and "oomlint_asked" not in error.__dict__:
        error.__dict__["oomlint_asked"] = True  # two of them would be followed to each other
        return asked(unnamed[-1], path, failures)
    if any(map(is_model, choices.none_in(error))) and (chosen := choices.not_made((file, line))) is not None:
        return chosen
    if re.search(r"\bNone(Type)?\b", str(error)) and (unset := choices.unset(file, line)):
        message = f"{unset[0]} has no default on the command line, and the model needs it"
        hint = f"Give it: --arg {unset[0]}=VALUE"
        return EstimateError(message, "build", file, line, hint, asked=unset[0], instead=tuple(unset[1:]))
    # Keras before 3.13 complains of the shape that a size of None gives.
    if re.search("NoneType|=None|no `None` dimensions", str(error)) and (unset := choices.none_in(error)):
        message = f"{unset[0]} is None there: what gives it a value reads data, or comes after"
        hint = f"Give it: --arg {unset[0]}=VALUE"
        return EstimateError(message, "build", file, line, hint, asked=unset[0], instead=tuple(unset[1:]))
    return refused(error, file, line)
