"""All that a script needs from its data, in one message: the user gives it in one option, not in one run for each.

The first value that is missing hides the next one. So examples are put in, one after the other, until the model can be
built; no estimate is made of them.
"""

from __future__ import annotations

import dataclasses
import json
import re
import time
from collections.abc import Callable, Iterator
from typing import Any

from oomlint.estimate.descriptions import read_data
from oomlint.estimate.errors import EstimateError
from oomlint.estimate.places import row_of
from oomlint.estimate.request import Request
from oomlint.estimate.slicing.vocabulary import is_model
from oomlint.estimate.worker.absent import stand_ins
from oomlint.estimate.worker.step import entrances
from oomlint.estimate.worker.tries import dead_ends
from oomlint.estimate.worker.tries.dead_ends import DeadEnd, plainly
from oomlint.estimate.worker.values import roles
from oomlint.estimate.worker.values.named_values import spelled
from oomlint.estimate.worker.values.roles import of_targets, side_of
from oomlint.estimate.worker.values.sizes import usual_size

SECONDS = 25.0  # of the processor's time: on a machine with other work the clock says nothing
_TRIES = 14
_INPUT = "--input-shape"
_X_NAMES = ("x", *(f"x{number}" for number in range(2, 2 + _TRIES)))  # of a model with several inputs
_X = re.compile(r"x\d*")
_SIZES = re.compile(r"[\[(][\d, ]*[\])]")
_SAMPLES = ((224, 224, 3), (128,), (128, 16), (32, 32, 1))


def all_of(
    error: EstimateError,
    request: Request,
    build: Callable[[Request], Any],
    follow: Callable[[Any, Request], None] | None = None,
    seconds: float = SECONDS,
) -> EstimateError:
    """The error, with everything else that is missing if examples for it make the model; else as it is.

    Examples with which the step can be followed as well go before those that only make the model.
    """
    if error.parts and follow is not None:
        return entrances.with_examples(error, request, build, follow)
    if not _missing(error):
        return error
    search = _Search(build, follow, seconds)
    whole = search.complete(error, request, [])
    found = whole or search.made
    if found is None and search.samples:
        tried = "; ".join(",".join(map(str, one)) for one in search.samples)
        hint = f" ({tried}). Give its own with {_INPUT}, or name a function that builds the model: FILE.py:function."
        if (reason := search.reason()) is not None:
            words = f"So it is with each of the usual shapes of one sample{hint}"
            return dataclasses.replace(reason, message=plainly(reason), hint=words)
        words = f"None of the usual shapes of one sample does{hint}"
        if search.refusals:
            first = dataclasses.replace(search.refusals[0], message=plainly(search.refusals[0]), hint="")
            words += f"\n  With the first of them: {first!s}"
        return dataclasses.replace(error, hint=words)
    if found is None:
        return dead_ends.told(error, search.dead)
    places = dict.fromkeys(f"{name} ({_row(error.file, line)})" if line else name for name, _, line in found)
    count = "it" if len(places) == 1 else "them"
    message = f"the model needs what only the data tells: {', '.join(places)}"
    texts = tuple(roles.description(name, value) for name, value, _ in found)
    hint = f"Give {count} with --data"
    if whole is None and search.failed is not None:
        hint += f". With these sizes the model is made, and its step fails: {plainly(search.failed)}"
    return dataclasses.replace(error, message=message, hint=hint, needs=texts, file=error.file)


def with_named_sample(error: EstimateError, request: Request) -> Request | None:
    """For an error that asks for a picture or for texts: the request with the sizes that the script's names say."""
    if error.parts and not error.asked:
        return _with_named_length(error, request)
    told = re.search(rf"{_INPUT} ([\d,]+)", error.hint)
    sample = _sample(request)
    if told is None or error.asked or request.input_shape is not None or request.data:
        return None
    if not sample or len(told[1].split(",")) != len(sample):
        return None
    named = request.names["sample_named"]
    words = f"a sample is {'x'.join(map(str, sample))}, as {named} says (another: {_INPUT})"
    return dataclasses.replace(request, input_shape=sample, names=request.names | {"said": words})


def _with_named_length(error: EstimateError, request: Request) -> Request | None:
    length = request.names.get("length", "")
    ids = [one.partition("=")[0] for one in error.parts if one.endswith(f"x{length} int32")]
    if not length or len(ids) != len(error.parts) or request.data or request.input_shape is not None:
        return None
    named = request.names["length_named"]
    words = (
        f"{', '.join(ids)}: {length} numbers of words, as {named} says (another: --data {error.parts[0]!r})"
    )
    data = read_data([", ".join(error.parts)]).arrays
    return dataclasses.replace(request, data=data, names=request.names | {"said": words})


def _row(file: str | None, line: int) -> str:
    row = row_of(file or "", line)
    return row if ":" in row else f"line {row}"


def _missing(error: EstimateError) -> bool:
    return bool(error.asked or error.instead) or _INPUT in error.hint


Need = tuple[str, Any, "int | None"]


class _Search:
    """Tries examples, a few for each value, until the model is built and its step followed, or time is up."""

    def __init__(
        self, build: Callable[[Request], Any], follow: Callable[[Any, Request], None] | None, seconds: float
    ) -> None:
        self.build = build
        self.follow = follow
        self.samples: list[tuple[int, ...]] = []  # what a model that says nothing of its input was called on
        self.made: list[Need] | None = None  # what made a model first, whose step could not be followed
        self.failed: EstimateError | None = None  # what that step failed with
        self.refusals: list[EstimateError] = []  # what samples failed with
        self.dead: list[DeadEnd] = []  # what was put in, and what nothing helped against then
        self.end = time.process_time() + seconds
        self.left = _TRIES

    def complete(self, error: EstimateError, request: Request, so_far: list[Need]) -> list[Need] | None:
        """What was put in, if the model can be built with it."""
        for name, value in _examples(error, request):
            if (
                any(name == known for known, _, _ in so_far)
                or self.left <= 0
                or time.process_time() > self.end
            ):
                return None
            self.left -= 1
            if name == "x" and not error.asked and isinstance(value, tuple) and not so_far:
                self.samples.append(value[1:])
            with_it = [*so_far, (name, value, error.line)]
            changed = _given(request, name, value)
            try:
                subject = self.build(changed)
                other = next((one for one, size, _ in with_it if not _takes(subject, one, size)), None)
                if other == name:
                    continue
                if other is not None:  # sizes were taken of what has another rank: that of the model's input
                    fitting = _of_input(subject)
                    with_it = [(one, fitting if one == other else size, line) for one, size, line in with_it]
                    changed = _given(changed, other, fitting)
                    subject = self.build(changed)
                    if not _takes(subject, other, fitting):
                        continue
                self.made = self.made or with_it
                if self.follow is not None:
                    self.followed(subject, changed)
            except EstimateError as other:
                if other.parts and self.follow is not None:
                    told = entrances.with_examples(other, changed, self.build, self.follow)
                    if told.needs:
                        pairs = (one.partition("=") for one in told.needs)
                        return [*with_it, *((part, text, None) for part, _, text in pairs)]
                before = len(self.dead)
                if _missing(other):
                    found = self.complete(other, changed, with_it)
                    if found is not None:
                        return found
                elif name == "x":
                    self.refusals.append(other)
                if len(self.dead) == before:
                    self.dead.append((tuple((one, size) for one, size, _ in with_it), other))
            except Exception:  # the user's own code, with a value that is only an example
                continue
            else:
                return with_it
        return None

    def followed(self, subject: Any, changed: Request) -> None:
        """Follow the step; what the first one fails with is kept."""
        assert self.follow is not None
        try:
            self.follow(subject, changed)
        except EstimateError as error:
            self.failed = self.failed or error
            raise

    def reason(self) -> EstimateError | None:
        """What every sample failed with at the same place, whatever its shape: no other shape will do, either."""
        told = {_SIZES.sub("", plainly(one)) for one in self.refusals}
        return self.refusals[0] if len(told) == 1 and len(self.refusals) == len(self.samples) > 1 else None


def _takes(subject: Any, name: str, example: Any) -> bool:
    """Whether a model is called on something of the example's rank: sizes of an image are no vector's."""
    if not _X.fullmatch(name) or not isinstance(example, tuple):
        return True
    from oomlint.estimate.worker.keras.generation import tree

    return any(len(spec.shape) == len(example) for spec in tree().flatten(subject.data[0]))


def _of_input(subject: Any) -> tuple[int, ...]:
    from oomlint.estimate.worker.keras.generation import tree

    return (32, *map(int, tree().flatten(subject.data[0])[0].shape[1:]))


def _given(request: Request, name: str, value: Any) -> Request:
    if isinstance(value, tuple):
        array = {"shape": value, "dtype": roles.usual_dtype(name), "below": None}
        return dataclasses.replace(request, data=request.data | {name: array})
    return dataclasses.replace(request, arguments=request.arguments | {name: value})


def _examples(error: EstimateError, request: Request) -> Iterator[tuple[str, Any]]:
    """Values to try for what an error asks for, then for what was computed with it."""
    known = {*request.data, *request.arguments}
    values: dict[str, Any] = json.loads(request.names.get("known", "{}"))
    for asked in dict.fromkeys((error.asked, *error.instead)):
        value = values.get(spelled(asked))
        if _BOXES.fullmatch(asked):
            yield asked, (9, 2)  # a number that the project has under that name is of those of one place
        if isinstance(value, int | float) and not isinstance(value, bool):
            yield asked, value  # the project says it of that name elsewhere
        yield from _examples_of(error, asked, known, _sample(request))


_BOXES = re.compile(r"(?:(?!num|count|len)[a-z]+_)?anchors")


def _sample(request: Request) -> tuple[int, ...]:
    """A sample's sizes as the script's names say them; empty if they do not."""
    return tuple(map(int, filter(None, request.names.get("sample", "").split(","))))


def _examples_of(
    error: EstimateError, asked: str, known: set[str], sample: tuple[int, ...]
) -> Iterator[tuple[str, Any]]:
    name, _, attribute = asked.partition(".")
    if not name and _INPUT not in error.hint:
        return
    if not name:
        open_sizes = re.search(r"takes any size: \(([^)]*)\)", error.message)
        if open_sizes:
            sizes = [size.strip() for size in open_sizes[1].split(",") if size.strip()]
            usual = 224 if len(sizes) == 3 else 128
            x = next(one for one in _X_NAMES if one not in known)
            if len(sample) == len(sizes) and all(
                size in ("?", str(one)) for size, one in zip(sizes, sample, strict=True)
            ):
                yield x, (32, *sample)
            yield x, (32, *(usual if size == "?" else int(size) for size in sizes))
            return
        told = re.search(rf"{_INPUT} ([\d,]+)", error.hint)
        first = [tuple(map(int, told[1].split(",")))] if told else []
        # A U with eight halvings takes 256, and not 224.
        larger = [(256, 256, 3)] if first == [(224, 224, 3)] else []
        columns = (
            [(10,)] if 10 in stand_ins.GIVEN.values() else []
        )  # of a table, of which so many were assumed
        for sample in dict.fromkeys([*first, *columns, *larger, *_SAMPLES]):
            yield "x", (32, *sample)
        return
    if roles.is_adjacency(name):
        yield name, (1000, 1000)
    if name in stand_ins.OPEN:
        yield name, (1000, *stand_ins.OPEN[name][1:])
    if attribute in ("shape", "array"):
        if roles.is_anchors(name):
            yield name, (9, 2)
        yield name, (20_000, 300) if roles.is_weights(name) else (1000, 10 if attribute == "shape" else 16)
        return
    for example in stand_ins.examples_of(name)[:4]:
        yield name, example
    if is_model(name) or _OF_A_PAIR.fullmatch(name.lower()):
        return  # it is what is to be made
    if name in stand_ins.SPACES:
        yield name, 4
        return
    if name.endswith("shape"):
        yield from ((name, sample) for sample in _SAMPLES)
    role = roles.value(name, stand_ins.USUAL)
    side = side_of(name)
    if side is not None:
        yield name, 3 if side == 2 else 224
    elif found := _OF_PICTURES.fullmatch(name.lower()):
        yield name, (3, 64, 2)[(found.lastindex or 1) - 1]
    elif isinstance(role, int):
        yield name, role
    elif role is not None and of_targets(name):
        yield name, (1000, 10)
    elif role is not None:
        for sample in ((16,), (100, 16), (64, 64, 3)):
            yield name, (1000, *sample)
    if (size := usual_size(name)) is not None:
        yield name, size
    yield name, 10
    yield name, (1000, 16)


# Networks that learn from each other; no size is called so.
_OF_A_PAIR = re.compile(r"(?:\w+_)?(?:generator|discriminator|critic|actor)(?:_?[a-z0-9])?")
# Channels, sides and scales of pictures, in names of more words: `number_channels`, `lr_height`, `upscale_factor`.
_OF_PICTURES = re.compile(r"\w+_(channels?)|\w+_(height|width|rows|cols)|(\w*scale|\w*factor)")
