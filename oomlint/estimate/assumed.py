"""What an estimate assumes in place of the script's own: in words, and how far off that may make the figure."""

from __future__ import annotations

import dataclasses
import json
from dataclasses import dataclass
from typing import Any

from oomlint.estimate.errors import EstimateError
from oomlint.estimate.places import row_of
from oomlint.estimate.request import Request

# Sizes of up to twice as much: a picture whose sides are twice as long takes four times, and so do the scores of
# attention over a sequence of twice the length, or a layer between two widths that are. Downwards there is no such
# limit (of a vector no part is the network's that a picture goes through): what stays between steps, a quarter of it.
SIZES = (0.25, 4.0)
# The need of the whole step as a share of a plain one's: of 33 models with batches of 32 and 512 from 0.67 to 4.9
# (benchmarks/estimate/plain_steps.py).
STEP = (0.5, 6.0)
# The same where gradients of gradients are left out (of such steps 1.2 to 4.7).
GRADIENTS = (0.5, 8.0)


@dataclass(frozen=True, slots=True)
class Assumed:
    """What was assumed, in words, and between which shares of the figure the truth may lie.

    `sample`: that of a sample's sizes, so that the least is a share of what stays between steps.
    """

    said: tuple[str, ...]
    least: float
    most: float
    sample: bool = False

    def to_json(self) -> str:
        """As text for the child process."""
        return json.dumps(dataclasses.asdict(self))


def plain_step(error: EstimateError, share: tuple[float, float]) -> Assumed:
    """A plain step in place of the one that an error is about."""
    where = f"{error.file}:{row_of(error.file, error.line)}: " if error.file and error.line else ""
    said = (
        f"the script's own step is not followed: {where}{error.message}",
        "estimated in its place: one pass of the model forward and back, with a usual loss and its optimizer",
        "what else the step keeps (other models, further passes, gradients of gradients) is not in the figure, and "
        "the need may be several times as large",
    )
    return Assumed(said, *share)


# A loop's batch that nothing says, taken as 32. Of 317 that 765 public files with a GradientTape name (counted in
# November 2026) 61% are between a quarter of that and four times, 24% below and 15% above.
BATCH = (0.25, 4.0)
_OF_BATCH = (
    "{what} is not known: {batch} is assumed, and the range is for {least} to {most}. Give your own: "
    "--batch-size"
)

_OF_SIZES = "the range is for sizes of up to twice as much, which is up to four times the memory, or less"


def of_sizes(request: Request, *said: str) -> Request:
    """The request with sizes assumed in it that nothing says."""
    return with_words(request, Assumed((*said, _OF_SIZES), *SIZES, sample=True))


# Of data that a call takes at once there is no usual size: from one sample to a thousand.
AT_ONCE = (1 / 32, 32.0)
_OF_ONE_CALL = (
    "train_on_batch takes all of {data} at once, and how much that is is not known: {batch} samples are assumed, and "
    "the range is for 1 to {most:,}. Give their number: --batch-size"
)


def of_batch(request: Request, batch: int) -> Request:
    """The request with a batch assumed in it that nothing says."""
    if data := request.names.get("at_once"):
        words = _OF_ONE_CALL.format(data=data, batch=batch, most=round(batch * AT_ONCE[1]))
        return with_words(request, Assumed((words,), *AT_ONCE, sample=True))
    least, most = BATCH
    yielded = request.names.get("yielded")
    what = "the loop's batch" if yielded is None else f"the batch of {yielded}"
    words = _OF_BATCH.format(what=what, batch=batch, least=round(batch * least), most=round(batch * most))
    return with_words(request, Assumed((words,), *BATCH, sample=True))


def with_words(request: Request, assumed: Assumed) -> Request:
    """The request with what is assumed in it, beside what was before."""
    before = assumed_in(request)
    said = tuple(dict.fromkeys((*before.said, *assumed.said)))
    both = Assumed(
        said, before.least * assumed.least, before.most * assumed.most, before.sample or assumed.sample
    )
    return dataclasses.replace(request, names=request.names | {"assumed": both.to_json()})


def assumed_in(request: Request) -> Assumed:
    """What is assumed in a request; nothing in one of the script's own step."""
    if "assumed" not in request.names:
        return Assumed((), 1.0, 1.0)
    content: dict[str, Any] = json.loads(request.names["assumed"])
    return Assumed(tuple(content["said"]), content["least"], content["most"], content["sample"])


def widened(between: tuple[int, int], parts: dict[str, int], request: Request) -> tuple[int, int]:
    """The range with what is assumed in it."""
    assumed = assumed_in(request)
    low = parts["weights"] + parts["optimizer_state"] if assumed.sample else between[0]
    return round(min(low, between[0]) * assumed.least), round(between[1] * assumed.most)
