"""The largest batch that fits, every candidate estimated.

The need is nearly linear in the batch, but only nearly: XLA recomputes more when a program nears the device's size.
So lines through estimated points choose which batch to estimate next, and never answer by themselves.
"""

from __future__ import annotations

import dataclasses
import math
import time
from collections.abc import Callable
from dataclasses import dataclass

from oomlint.estimate.request import Request
from oomlint.estimate.result import Estimate
from oomlint.estimate.verdicts import MOST_BATCH
from oomlint.estimate.worker.what_if.changes import what_if

_PATIENCE = 180.0  # seconds for a largest batch that nobody asked for by name


def completed(request: Request, answer: Estimate, estimate: Callable[[Request], Estimate]) -> Estimate:
    """The answer with the largest batch and the what-if table, where the request asks for them."""
    usable = int(answer.gpu["usable_bytes"])
    assumptions = list(answer.assumptions)
    over = request.max_batch_if_over and answer.peak_bytes > usable
    if request.max_batch or over:
        end = math.inf if request.max_batch else time.monotonic() + _PATIENCE

        def at(size: int) -> Estimate:
            if time.monotonic() > end:
                raise TimeoutError(f"it takes more than {_PATIENCE:g} s")
            return estimate(_at(request, size))

        try:
            batch = max_batch(answer, at, usable, 12 if request.max_batch else 5)
        except Exception as error:
            assumptions.append(f"largest batch: not found, an estimate on the way failed ({error})")
        else:
            answer = dataclasses.replace(answer, max_batch=batch)
    if request.what_if:

        def largest(changed: Request, then: Estimate) -> int | None:
            if not request.max_batch:
                return None
            return max_batch(then, lambda size: estimate(_at(changed, size)), usable, 5)["batch_size"]

        remedies, left_out = what_if(request, answer, estimate, largest)
        answer = dataclasses.replace(answer, what_if=tuple(remedies))
        assumptions += [f"what-if: {text}" for text in left_out]
    return dataclasses.replace(answer, assumptions=tuple(assumptions))


def _at(request: Request, batch: int) -> Request:
    return dataclasses.replace(request, batch_size=batch)


@dataclass(slots=True)
class _Points:
    """The batches estimated so far."""

    estimate_at: Callable[[int], Estimate]
    usable: int
    fixed: int  # bytes that do not grow with the batch: where the first line starts
    known: dict[int, Estimate]

    def at(self, batch: int) -> Estimate:
        if batch not in self.known:
            self.known[batch] = self.estimate_at(batch)
        return self.known[batch]

    def failing(self) -> int:
        """The smallest batch known not to fit; beyond all where there is none."""
        return min(
            (b for b, one in self.known.items() if one.peak_bytes > self.usable), default=MOST_BATCH + 1
        )

    def fitting(self) -> int:
        """The largest batch known to fit; 0 where there is none. Whoever asks only between the two keeps them apart."""
        return max((b for b, one in self.known.items() if one.peak_bytes <= self.usable), default=0)

    def guess(self, limit: int) -> int:
        """Where the line through the two points nearest to `limit` meets it."""
        near = sorted(self.known, key=lambda batch: abs(self.known[batch].peak_bytes - limit))[:2]
        first, peak = near[0], self.known[near[0]].peak_bytes
        slope = (peak - self.fixed) / first
        if len(near) == 2:
            slope = (self.known[near[1]].peak_bytes - peak) / (near[1] - first)
        if slope <= 0:
            return MOST_BATCH if peak <= limit else first // 2
        return int(first + (limit - peak) / slope)

    def sure(self, batch: int) -> bool:
        return self.at(batch).range_bytes[1] <= self.usable


def max_batch(
    answer: Estimate, estimate_at: Callable[[int], Estimate], usable: int, most_estimates: int
) -> dict[str, int]:
    """The largest batch that fits, within a hundredth where it is large.

    `batch_size` and `peak_bytes`: the largest whose peak fits. `sure_batch_size`: the largest found whose whole range
    fits. `friendly_batch_size` and `friendly_peak_bytes`: the largest multiple of 32 up to that (of 8, or a power of
    two, where it is smaller). Where not even one sample fits all are 0, but `peak_bytes`, which is one sample's.
    """
    fixed = sum(answer.parts.get(part, 0) for part in ("weights", "optimizer_state", "gradients"))
    points = _Points(estimate_at, usable, fixed, {answer.batch_size: answer})
    slow = 0
    while len(points.known) < most_estimates or not points.fitting():
        low, high = points.fitting(), points.failing()
        if high - low <= max(1, low // 128):
            break
        guess = min(max(points.guess(usable), low + 1), high - 1)
        if slow >= 2:  # the line creeps: the need bends
            guess = (low + high) // 2 if high <= MOST_BATCH else min(2 * low, MOST_BATCH)
        points.at(guess)
        left = points.failing() - points.fitting()
        slow = slow + 1 if left > (high - low) / 2 else 0
    largest = points.fitting()
    if not largest:
        return _row(0, points.at(1).peak_bytes, 0, 0, 0)
    sure = _sure(points, largest)
    friendly = _friendly(sure)
    if friendly and not points.sure(friendly):
        friendly = 0  # the smaller batch needs more: nothing to recommend
    friendly_peak = points.known[friendly].peak_bytes if friendly else 0
    return _row(largest, points.known[largest].peak_bytes, sure, friendly, friendly_peak)


def _row(batch: int, peak: int, sure: int, friendly: int, friendly_peak: int) -> dict[str, int]:
    return {
        "batch_size": batch,
        "peak_bytes": peak,
        "sure_batch_size": sure,
        "friendly_batch_size": friendly,
        "friendly_peak_bytes": friendly_peak,
    }


def _sure(points: _Points, largest: int) -> int:
    if points.sure(largest):
        return largest
    one = points.known[largest]
    batch = min(points.guess(round(points.usable * one.peak_bytes / one.range_bytes[1])), largest - 1)
    for _ in range(3):
        if batch < 1 or points.sure(batch):
            break
        batch = batch * 63 // 64
    return max((known for known in points.known if points.sure(known)), default=0)


def _friendly(batch: int) -> int:
    for step in (32, 8):
        if batch >= step:
            return batch // step * step
    return 1 << (batch.bit_length() - 1) if batch else 0
