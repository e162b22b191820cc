"""Where neither a script's training nor its model can be followed from it: what the project has that makes models.

Each is called by itself, with the arguments that the project's own calls tell and usual sizes for the rest, and trained
by a plain step. Of several that the script names beside each other the largest is answered for, the others are said.
"""

from __future__ import annotations

import dataclasses
import inspect
import json
import re
import time
from collections.abc import Callable
from itertools import groupby
from pathlib import Path
from typing import Any

from oomlint.estimate.assumed import SIZES, STEP, Assumed, with_words
from oomlint.estimate.errors import NO_TRAINING, EstimateError
from oomlint.estimate.places import row_of
from oomlint.estimate.request import Request
from oomlint.estimate.result import Estimate
from oomlint.estimate.slicing.program import Program
from oomlint.estimate.worker.keras import generation
from oomlint.estimate.worker.script import making
from oomlint.estimate.worker.script.making import Made
from oomlint.estimate.worker.tries import functions, usual
from oomlint.estimate.worker.tries.makers import Maker, is_chosen_by_name, is_named_after, makers
from oomlint.estimate.worker.values import project_values
from oomlint.estimate.worker.values.named_values import named_values, of_script, root_of, spelled

USUAL_SIZES = "usual sizes"
First = Callable[[Request, float], tuple[Request, Estimate]]

_MOST = 8  # makers that are tried
_MOST_FILES = 60  # beside a script, that are looked into where it imports nothing that makes a model
_SECONDS = 40.0  # of the processor's time for all of them
_OF_EACH = 8.0  # for finding sizes that one takes
# Refused for what they would need, not for what cannot be followed.
_REFUSED = re.compile(r"takes a gradient with regard to its inputs|whose memory is not followed")
# Modules that are chosen by name: `importlib.import_module(args.model)`.
_BY_NAME = re.compile(r"\b(?:import_module|__import__|find_spec|spec_from_file_location)\(")
_KEPT = ("backend", "legacy", "clustering", "sample", "sample_named", "length", "length_named")


def with_known(request: Request) -> Request:
    """The request with what the project says of names, for what is asked for by one."""
    path = Path(request.names.get("path", ""))
    if not request.fallback or path.suffix != ".py" or request.names.keys() & {"known", "values"}:
        return request
    known = of_script(path)
    if known is None:
        return request
    return dataclasses.replace(request, names=request.names | {"known": json.dumps(known)})


def of_makers(error: EstimateError, request: Request, first: First) -> tuple[Request, Estimate] | None:
    """The estimate of the largest model that the project's own functions and classes make, and what it answers."""
    path = request.names.get("path", "")
    if (
        not request.fallback
        or not path.endswith(".py")
        or ("function" in request.names)
        or _is_refused(error)
    ):
        return None
    try:
        program = Program(Path(path), root_of(Path(path)))
        program.read_on()
        tries = _Tries(program, error, request, first)
        found = tries.best()
        # Else a module beside it is another program, whose models are not this script's.
        if found is None and any(_BY_NAME.search(unit.text) for unit in program.units):
            found = _Tries(_around(program), error, request, first, tries).best()
        if found is None:
            error.hint = functions.proposed(error, request, _around(program), tries.known, first)
        return found
    except (SyntaxError, ValueError, OSError, RecursionError):
        return None


class _Tries:
    """Tries what a program makes models with, what nothing else uses first, until one level of it gives an answer."""

    def __init__(
        self,
        program: Program,
        error: EstimateError,
        request: Request,
        first: First,
        before: _Tries | None = None,
    ) -> None:
        self.program, self.error, self.request, self.first = program, error, request, first
        self.known = named_values(program)
        self.end: float = time.process_time() + _SECONDS if before is None else before.end
        self.failed: list[Maker] = [] if before is None else before.failed
        self.tried: set[str] = set() if before is None else before.tried

    def best(self) -> tuple[Request, Estimate] | None:
        """The estimate of the largest one of the first level that gives any."""
        found = makers(self.program, self.known)
        if self.error.message.startswith(NO_TRAINING):
            alone = sum(not one.depth for one in found) == 1
            one_of_these = alone or is_chosen_by_name(self.program)
            found = [one for one in found if one.named] or (found if one_of_these else [])
        found = [one for one in found if one.name not in self.tried]
        for _, level in groupby(found, key=lambda one: (one.named, one.depth)):
            answers: list[tuple[Maker, Request, Estimate]] = []
            failed: list[Maker] = []
            for maker in level:
                if len(self.tried) >= _MOST or time.process_time() > self.end:
                    failed.append(maker)  # it may be the larger one
                    continue
                self.tried.add(maker.name)
                answer = _of_one(maker, self.error, self.request, self.program, self.known, self.first)
                if answer is None:
                    failed.append(maker)
                else:
                    answers.append((maker, *answer))
            if answers:
                return _largest(answers, [*self.failed, *failed], self.error)
            self.failed += failed  # what follows may be only a part of these
        return None


def _is_refused(error: EstimateError) -> bool:
    return (
        error.kind in ("target", "extra", "timeout", "memory") or _REFUSED.search(error.message) is not None
    )


def _of_one(
    maker: Maker,
    error: EstimateError,
    request: Request,
    program: Program,
    known: dict[str, Any],
    first: First,
) -> tuple[Request, Estimate] | None:
    try:
        changed = _request(maker, error, request, program, known)
        answered, found = first(changed, _OF_EACH)
    except Exception:  # the user's own code, with what is only assumed
        return None
    return answered, found


def _request(
    maker: Maker, error: EstimateError, request: Request, program: Program, known: dict[str, Any]
) -> Request:
    from oomlint.estimate.slicing.script import slice_script

    of_script = maker.name in program.main.scope.bound
    path = program.main.path if of_script else maker.unit.path
    sliced = slice_script(path, function=maker.name, root=root_of(program.main.path), attributes=maker.kept)
    names = {name: text for name, text in request.names.items() if name in _KEPT}
    names |= sliced.names | {"maker": json.dumps(maker.given), "plainly": "1", "values": json.dumps(known)}
    names |= _of_texts("\n".join(unit.text for unit in program.units), known)
    changed = dataclasses.replace(request, source=sliced.text, names=names, arguments=dict(request.arguments))
    said = (
        f"the script's own training is not followed: {_where(error)}{' '.join(error.message.split())[:300]}",
        f"estimated in its place: what {maker.name} ({maker.unit.path.name}:{maker.node.lineno}) makes, one pass "
        "forward and back, with a usual loss",
        "which networks the script trains, on what, and what else its step keeps is not known: the need may be "
        "several times as large, or less",
    )
    return with_words(changed, Assumed(said, SIZES[0] * STEP[0], STEP[1], sample=True))


def _around(program: Program) -> Program:
    """The script with the modules that lie in its folder and in those below it."""
    folder = program.main.path.parent
    for file in sorted(folder.rglob("*.py"))[:_MOST_FILES]:
        parts = file.relative_to(folder).with_suffix("").parts
        if all(one.isidentifier() for one in parts) and len(parts) <= 3:
            program.module(program.main, ".".join(parts), 0)
    return program


def _where(error: EstimateError) -> str:
    return f"{error.file}:{row_of(error.file, error.line)}: " if error.file and error.line else ""


_BATCHES = (
    "batch_size",
    "batchsize",
    "train_batch_size",
    "mini_batch_size",
    "minibatch_size",
    "bs",
    "batch_sz",
)
_MADE = re.compile(
    r"\b(?:optimizers?\.(?:legacy\.)?)?(Adam|SGD|RMSprop|Adagrad|Adadelta|Adamax|Nadam|Ftrl|AdamW)\("
)


def _of_texts(text: str, known: dict[str, Any]) -> dict[str, str]:
    """The batch, the optimizer and how its loop runs, as far as the project's texts agree on them."""
    names: dict[str, str] = {}
    batch = next((known[one] for one in _BATCHES if type(known.get(one)) is int and known[one] > 0), None)
    # A name that is a number, `.batch(batch_num)`, is what a literal would be.
    batched = (
        known.get(spelled(one), one) for one in re.findall(r"\.batch\(\s*(?:\w+\.)*(\w+)\s*[,)]", text)
    )
    written = {int(one) for one in batched if str(one).isdigit() and int(one) > 0}
    handed = {int(one) for one in re.findall(r"\bbatch_size\s*=\s*(\d+)\s*[,)]", text)}
    if batch is not None:
        handed.discard(1)  # one at a time something is read, or predicted, beside the training
    if len(handed) == 1:
        batch = handed.pop()
    elif batch is None and len(written) == 1:
        batch = written.pop()
    if batch:
        names["batch"] = str(batch)
    optimizers = set(_MADE.findall(text))
    if len(optimizers) == 1:
        names["optimizer"] = optimizers.pop()
    if "GradientTape" in text:
        names["how"] = "graph" if re.search(r"\btf\.function\b", text) else "eager"
    return names


def made(value: Any, owner: Any, request: Request, assumptions: list[str]) -> Made:
    """The model that a maker makes, with arguments that are said. `owner` is the class of a method, or a module."""
    where = request.names["function"]
    kinds = tuple(keras.Model for keras in generation.present())
    said: dict[str, Any] = {}
    if (
        isinstance(owner, type)
        and inspect.isfunction(value)
        and next(iter(inspect.signature(value).parameters), "") == "self"
    ):
        value = getattr(_called(owner, owner.__name__, request, said), value.__name__)
    if not isinstance(value, kinds) and callable(value):
        value = _called(value, where, request, said)
    if said:
        words = ", ".join(f"{name}={value!r}" for name, value in said.items())
        assumptions.append(f"{where} is called with {USUAL_SIZES}, where nothing tells its own: {words}")
    model = making.model_in(value, where)
    if (part := making.part_that_is_called(model)) is not None:
        model = part[1]
    parts = making.parts_that_are_called(model)
    model = parts[0] if parts else model
    assumptions += project_values.said()
    found = Made(model)
    if getattr(model, "optimizer", None) is None:
        name = request.names.get("optimizer", "")
        kind = getattr(generation.keras_of(model).optimizers, name, None) if name else None
        found.optimizer = None if kind is None else kind()
        found.by_hand = request.names.get("how", "")
        if parts:
            found.by_hand = found.by_hand or "graph"
            found.others = [(one, None if kind is None else kind()) for one in parts[1:]]
    if "batch" in request.names:
        found.batch = int(request.names["batch"])
        assumptions.append(f"batch size {found.batch}, as the project's names say (another: --batch-size)")
    return found


def _called(function: Any, where: str, request: Request, said: dict[str, Any]) -> Any:
    arguments, usual_ones = usual.with_arguments(function, request)
    said |= usual_ones
    return making.call(function, arguments, where)


def _largest(
    answers: list[tuple[Maker, Request, Estimate]], failed: list[Maker], error: EstimateError
) -> tuple[Request, Estimate]:
    maker, request, found = max(answers, key=lambda one: one[2].peak_bytes)
    others = [one.name for one, _, _ in answers if one is not maker]
    said: list[str] = []
    if others:
        said.append(f"{maker.name} is the largest; beside it the script has {', '.join(others)}")
    if error.needs:
        said.append(
            f"the script's own training may be estimated with your values: --data '{', '.join(error.needs)}'"
        )
    lost = [one.name for one in failed if not is_named_after(one, maker) and one.name not in maker.uses]
    verdict = found.verdict
    if lost:
        said.append(f"not in the figure, as it could not be made: {', '.join(lost)}")
        verdict = "tight" if verdict == "fits" else verdict
    said += [one for one in found.assumptions if USUAL_SIZES in one or project_values.SAID in one]
    between = found.range_bytes
    if not maker.named and others:  # any of them may be the one
        between = (min(one.range_bytes[0] for _, _, one in answers), between[1])
    if any(USUAL_SIZES in one for one in said):
        said.append("the range is for sizes of the network of up to twice as much, or less")
        between = (between[0] // 4, between[1] * 4)  # twice as wide, it has four times the weights
    usable = found.gpu["usable_bytes"]
    if (verdict == "fits" and between[1] > usable) or (verdict == "does-not-fit" and between[0] <= usable):
        verdict = "tight"
    instead = (*found.instead, *said)
    rest = tuple(one for one in found.assumptions if one not in instead)
    return request, dataclasses.replace(
        found, verdict=verdict, range_bytes=between, instead=instead, assumptions=(*instead, *rest)
    )
