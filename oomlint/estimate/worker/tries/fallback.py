"""The last of the ways to an estimate, where a script's own step cannot be followed: its model, with what is assumed.

Two things may be assumed: sizes that only the data tells, if examples of them make the model, and a plain step, one
pass forward and back with a usual loss, in place of the script's. Neither is silent: what was not followed, what was
estimated in its place and how to say it better are the first lines of the report, and the range is as wide as what
was assumed makes it.
"""

from __future__ import annotations

import dataclasses
import json
import re
from collections.abc import Callable, Iterator
from typing import TypeVar

from oomlint.estimate.assumed import GRADIENTS, SIZES, STEP, Assumed, of_sizes, plain_step, with_words
from oomlint.estimate.descriptions import read_data
from oomlint.estimate.errors import EstimateError
from oomlint.estimate.request import Request
from oomlint.estimate.result import Estimate
from oomlint.estimate.slicing.whole_steps import STEP as WHOLE_STEP
from oomlint.estimate.worker.step import beside
from oomlint.estimate.worker.subject import Subject
from oomlint.estimate.worker.values.named_values import spelled
from oomlint.estimate.worker.values.sizes import is_of_network

_NOT_FOLLOWED = ("slice", "build", "engine")
_VALUE = re.compile(r"[\d.]+|\d+(?:x\d+)*( \w+)?( <\d+)?")

Estimated = Callable[[Request], Estimate]
_Made = TypeVar("_Made")


def together_or_apart(request: Request, estimated: Estimated) -> tuple[Request, Estimate]:
    """The estimate, and the request that it is of: a step of several models whole if it can be, else each by itself."""
    if (found := _together(request, estimated)) is not None:
        return found
    if request.fallback and request.names.keys() & {"together", "apart"}:
        request = with_words(request, Assumed(_APART, *STEP))
    return request, estimated(request)


def built_together(request: Request, build: Callable[[Request], Subject]) -> Subject:
    """The same of what is built: of two networks one may take what the other gives, and not be called apart."""
    found = _together(request, build)
    return build(request) if found is None else found[1]


def _together(request: Request, made: Callable[[Request], _Made]) -> tuple[Request, _Made] | None:
    """What is made of the step of several models as a whole, if it is one and that can be; and of which request."""
    # What-if changes models, and nothing in a step that is followed whole.
    if "together" not in request.names or request.what_if:
        return None
    whole = dataclasses.replace(request, names=request.names | {"whole": "1"})
    try:
        return whole, made(whole)
    except EstimateError as error:
        if error.asked:  # it is not made, whichever way
            raise
    except Exception:  # the user's own code, with data that is only like it
        pass
    return None


_APART = (
    "the step trains several models, and is not followed whole: estimated is the sum of what each takes by itself",
    "passes of one through another, and of one several times, are not in the figure: the need may be several times "
    "as large",
)


def estimated_instead(
    error: EstimateError, request: Request, estimated: Estimated
) -> tuple[Request, Estimate] | None:
    """The first way that gives an estimate, and the request that it is the answer to."""
    if (
        not request.fallback
        or not request.source
        or request.names.keys() & {"function", "maker"} == {"function"}
    ):
        return None
    if error.kind not in _NOT_FOLLOWED:
        return None
    for changed in _ways(error, request):
        try:
            plain = "plainly" in changed.names
            changed, found = (changed, estimated(changed)) if plain else together_or_apart(changed, estimated)
        except Exception:  # the user's own code, with what is only assumed
            continue
        if any(beside.NOT_INCLUDED in one for one in found.assumptions):
            continue  # of models that are trained together it may be the larger one that is left out
        return changed, found
    return None


def _ways(error: EstimateError, request: Request) -> Iterator[Request]:
    if error.needs:
        with_sizes = _with_sizes(error, request)
        if with_sizes is not None:
            yield with_sizes
            yield _plainly(error, with_sizes)
    elif not error.asked and (not error.parts or _is_whole(request)):
        yield _plainly(error, request)


def _with_sizes(error: EstimateError, request: Request) -> Request | None:
    """The request with the examples, where they are sizes: of a choice between networks nobody can say which."""
    if not all(_VALUE.fullmatch(one.partition("=")[2]) for one in error.needs):
        return None
    whole = ", ".join(error.needs)
    described = read_data([whole])
    what = error.message.rpartition(": ")[2] if error.needs and ": " in error.message else error.message
    said = (
        f"what only the data tells is not known: {what}",
        f"assumed in its place, {_which(error, request)} that the model takes: {whole}. "
        f"Give your own: --data '{whole}'",
    )
    changed = dataclasses.replace(
        request,
        data=request.data | described.arrays,
        arguments=request.arguments | described.values,
    )
    changed = of_sizes(changed, *said)
    if any(is_of_network(one.partition("=")[0]) for one in error.needs):
        changed = with_words(changed, Assumed((_OF_NETWORK,), *SIZES))
    return changed


_OF_NETWORK = "of these some are the network's own: twice as wide, it has four times the weights"


def _which(error: EstimateError, request: Request) -> str:
    """Where the values are from that are assumed."""
    known = json.loads(request.names.get("known", "{}"))
    pairs = (one.partition("=") for one in error.needs)
    if any(str(known.get(spelled(name))) == value for name, _, value in pairs):
        return "what the project says of these names elsewhere, or a usual size"
    return "a usual size"


def _plainly(error: EstimateError, request: Request) -> Request:
    """The request for the same model with a plain step."""
    changed = dataclasses.replace(request, names=request.names | {"plainly": "1"})
    return with_words(changed, plain_step(error, GRADIENTS if _is_whole(request) else STEP))


def _is_whole(request: Request) -> bool:
    """Whether the step was to be followed as the function that it is, for what its loss takes gradients of."""
    return f"step={WHOLE_STEP}" in request.source and "together" not in request.names
