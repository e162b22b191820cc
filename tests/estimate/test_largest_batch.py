"""The search for the largest batch, step by step: which batches are estimated, in which order, and what comes out.

Each estimate costs seconds to minutes of the user's time, so that the order is part of what is promised. A byte here stands
for what is a mebibyte in a real answer; the steps beside each case are worked out by hand from the straight line through
the two points nearest to the limit.
"""

from __future__ import annotations

import dataclasses
from math import isqrt

import pytest
from estimate.estimates import estimate

from oomlint.estimate.request import Request
from oomlint.estimate.worker.what_if import solve

USABLE = 1_000


def made(batch, peak, upper=None, fixed=0, **more):
    """An answer of so many bytes; what does not grow is spread over the parts that do not."""
    parts = {
        "weights": fixed // 2,
        "optimizer_state": fixed // 3,
        "gradients": fixed - fixed // 2 - fixed // 3,
    }
    answer = estimate(batch_size=batch, peak_bytes=peak, range_bytes=(peak, upper or peak), **more)
    return dataclasses.replace(answer, parts=parts)


def search(need, start, *, upper=None, fixed=0, usable=USABLE, most=12):
    """What the search finds, and the batches that it asked for."""
    asked = []

    def at(batch):
        assert batch >= 1
        asked.append(batch)
        return made(batch, need(batch), upper and upper(batch), fixed)

    first = at(start)
    asked.clear()
    return solve.max_batch(first, at, usable, most), asked


def row(batch, peak, sure, friendly, friendly_peak):
    return {
        "batch_size": batch,
        "peak_bytes": peak,
        "sure_batch_size": sure,
        "friendly_batch_size": friendly,
        "friendly_peak_bytes": friendly_peak,
    }


def step(up_to):
    """A byte a sample up to there, and from there on far too much."""
    return lambda batch: batch if batch <= up_to else 10_000


CASES = {
    # (1,000 - 100) / 10 = 90, which fits to the byte, and 91 does not.
    "a line from what does not grow": (lambda b: 100 + 10 * b, 10, 100, [90, 91, 64], (90, 1_000, 90, 64, 740)),
    # Taken for 20 bytes a sample at first: 10 + 800 / 20 = 50; then 10: 50 + 400 / 10. Two that leave the end open, so twice
    # as many; from 90 and 50 it is 90 again.
    "a line from two points": (lambda b: 100 + 10 * b, 10, 0, [50, 90, 180, 91, 64], (90, 1_000, 90, 64, 740)),
    # 12 x 10 / 12 = 10; the gap of 2 is closed too.
    "a small gap is closed": (lambda b: 100 * b, 12, 0, [10, 11, 8], (10, 1_000, 10, 8, 800)),
    # The line never meets the limit: the most that is looked for, at once.
    "nothing grows": (lambda b: 500, 8, 500, [65_536], (65_536, 500, 65_536, 65_536, 500)),
    # Taken for an eighth of a byte at first: 8 + 500 x 8; then a thousandth: beyond the most.
    "next to nothing grows": (
        lambda b: 500 + b // 1_000, 8, 499, [4_008, 65_536], (65_536, 565, 65_536, 65_536, 565),
    ),
    "more than is looked for": (lambda b: b // 200, 100_000, 0, [], (100_000, 500, 100_000, 100_000, 500)),
    # 1,000; from 10 and 1,000: 108; the same again, so one less each time; after two that do not halve what is left the
    # middle of 10 and 106, 58, which does; 57, 56, the middle 33 fits; 55, 54, the middle 43, and twelve are enough.
    "a step": (
        step(37), 10, 0, [1_000, 108, 107, 106, 58, 57, 56, 33, 55, 54, 43, 32], (33, 33, 33, 32, 32),
    ),
    # All that is known does not grow, and does not fit: half; one less, twice; the middle of 0 and 30, 15. From 15 and 64:
    # 31, so one less, twice; the middle 21, which leaves less than half; 20; 19.
    "flat above the limit": (
        lambda b: 2_000 if b >= 20 else 500, 64, 2_000, [32, 31, 30, 15, 29, 28, 21, 20, 19, 16],
        (19, 500, 19, 16, 500),
    ),
    # 300 at 10, 600 at 41: two that leave more than half, so twice that, and again. 164 is too much: between 82 and 164
    # at 109; 110; the middle 137; 136, 135, the middle 122; 121.
    "a need that bends": (
        lambda b: 100 * isqrt(b), 1, 0, [10, 41, 82, 164, 109, 110, 137, 136, 135, 122, 121, 96],
        (110, 1_000, 110, 96, 900),
    ),
}  # fmt: skip


@pytest.mark.parametrize("case", CASES)
def test_the_batches_that_are_estimated(case):
    need, start, fixed, steps, found = CASES[case]
    assert search(need, start, fixed=fixed) == (row(*found), steps)


def test_a_large_batch_is_found_within_a_128th():
    # 12,900 x 25,600 / 25,800 = 12,800: 100 less than what is known not to fit, and a 128th of it.
    found, asked = search(lambda b: 2 * b, 12_900, usable=25_600)
    assert (found["batch_size"], asked) == (12_800, [12_800])
    # 102 less, where a 128th is 101: one more. A multiple of 32 below it is 12,928.
    found, asked = search(lambda b: 2 * b, 13_056, usable=25_908)
    assert (found["batch_size"], asked) == (12_954, [12_954, 12_955, 12_928])


def test_as_few_as_are_allowed_but_one_that_fits():
    # Two points would do; 6 by the line (64 - 9,000 / 156), then one less, twice, and the middle, until one sample fits.
    found, asked = search(lambda b: 10_000 if b > 1 else 5, 64, most=2)
    assert (found, asked) == (row(1, 5, 1, 1, 5), [6, 5, 4, 2, 1])
    found, asked = search(lambda b: 100 + 10 * b, 10, most=2)
    assert (found, asked) == (row(50, 600, 50, 32, 420), [50, 32])


@pytest.mark.parametrize(
    ("batch", "friendly"),
    [
        (1, 1),
        (2, 2),
        (3, 2),
        (7, 4),
        (8, 8),
        (9, 8),
        (15, 8),
        (17, 16),
        (31, 24),
        (32, 32),
        (63, 32),
        (64, 64),
    ],
)
def test_batches_that_gpus_like(batch, friendly):
    found, _ = search(lambda b: b, 4, usable=batch)
    assert (found["batch_size"], found["friendly_batch_size"]) == (batch, friendly)
    assert found["friendly_peak_bytes"] == friendly


def test_no_friendly_batch_where_the_smaller_one_needs_more():
    # As XLA's choice of a kernel may make it: 90 fits, 64 would not.
    found, asked = search(lambda b: 2_000 if b == 64 else 100 + 10 * b, 10, fixed=100)
    assert (found, asked) == (row(90, 1_000, 90, 0, 0), [90, 91, 64])


SURE = {
    # A tenth more: 1,000 x 1,000 / 1,100 = 909, 90 by the line, and 1.1 x 900 = 990.
    "by the line": (lambda b: 11 * b, [90, 64], (90, 64)),
    # 1,000 x 1,000 / 1,150 = 870: 87 by the line, but 870 + 150 is too much; a 64th less is 85, and 1,000.
    "a 64th less": (lambda b: 10 * b + 150, [87, 85, 64], (85, 64)),
    # Sure up to 81: 87, 85 and 83 are not, and it is left at that. What is known to be sure is the first, 10.
    "three times": (lambda b: 10 * b + (150 if b == 100 else 190), [87, 85, 83, 8], (10, 8)),
    "all that fits": (lambda b: 10 * b, [96], (100, 96)),
}


@pytest.mark.parametrize("case", SURE)
def test_the_largest_that_fits_for_sure(case):
    upper, then, (sure, friendly) = SURE[case]
    found, asked = search(lambda b: 10 * b, 10, upper=upper)
    assert asked == [100, 101, *then]
    assert found == row(100, 1_000, sure, friendly, 10 * friendly)


@pytest.mark.parametrize(
    ("more", "then", "sure"),
    [
        # 1,000 x 1,000 / 1,090 = 917; 5 - (950 - 917) / 10 = 1.7: one sample, and 910 + 90 fits.
        (90, [1], 1),
        # 901: 0.1, and no sample at all is no batch.
        (110, [], 0),
        # 833: below that.
        (200, [], 0),
    ],
)
def test_one_sample_for_sure_or_none(more, then, sure):
    found, asked = search(lambda b: 900 + 10 * b, 5, upper=lambda b: 900 + 10 * b + more, fixed=900)
    assert asked == [10, 11, *then]
    assert found == row(10, 1_000, sure, sure, 910 if sure else 0)


def test_what_is_sure_is_less_than_what_is_not():
    # 10 + 8 / 0.2 = 50; from 10 and 50: 13; the same again, so 12 and 11. 10 fits and is not sure; the line says 10 again.
    found, asked = search(
        lambda b: 2 if b <= 10 else 100,
        10,
        upper=lambda b: 11 if b == 10 else 2 if b < 10 else 100,
        usable=10,
    )
    assert (found, asked) == (row(10, 2, 9, 8, 2), [50, 13, 12, 11, 9, 8])


class Script:
    """Answers for a script by a need; notes what was asked."""

    def __init__(self, need, start, **more):
        self.need, self.asked = need, []
        self.answer = made(start, need(start), gpu={"usable_bytes": USABLE}, **more)

    def __call__(self, request):
        self.asked.append(request)
        return dataclasses.replace(self.answer, batch_size=request.batch_size, peak_bytes=self.need(request.batch_size),
                                   range_bytes=(self.need(request.batch_size),) * 2)  # fmt: skip

    def completed(self, **wanted):
        return solve.completed(Request("train.py", loss="mse", **wanted), self.answer, self)

    @property
    def batches(self):
        assert all(one.loss == "mse" for one in self.asked)
        return [one.batch_size for one in self.asked]


def wall(batch):
    return batch if batch <= 45 else 1_600


def test_a_largest_batch_that_was_asked_for_takes_up_to_twelve_estimates():
    script = Script(lambda b: 100 * isqrt(b), 1)
    done = script.completed(max_batch=True)
    assert done.max_batch == row(110, 1_000, 110, 96, 900)
    assert script.batches == CASES["a need that bends"][3]
    assert done.peak_bytes == 100 and done.assumptions == script.answer.assumptions


def test_one_that_nobody_asked_for_by_name_takes_up_to_five():
    # 64 - 600 / 25 = 40; 54; 41; the middle of 41 and 54. With twelve it would be 45.
    script = Script(wall, 64)
    done = script.completed(max_batch_if_over=True)
    assert (done.max_batch, script.batches) == (row(41, 41, 41, 32, 32), [40, 54, 41, 47, 32])
    assert Script(wall, 64).completed(max_batch=True).max_batch["batch_size"] == 45


@pytest.mark.parametrize(
    ("peak", "wanted"),
    [(USABLE, {"max_batch_if_over": True}), (10, {"max_batch_if_over": True}), (1_600, {}), (USABLE, {})],
)
def test_no_largest_batch_where_it_fits_or_nobody_asks(peak, wanted):
    script = Script(lambda batch: peak, 64)
    done = script.completed(**wanted)
    assert (done.max_batch, done.what_if, script.asked) == (None, (), [])


@pytest.mark.parametrize(
    ("seconds", "answered"),
    [
        # Asked at 1,000, 1,100 and 1,200: the third is after 1,180.
        (100, 2),
        # 1,000, 1,090, 1,180: that is not.
        (90, 3),
    ],
)
def test_nobody_waits_long_for_what_nobody_asked_for(monkeypatch, seconds, answered):
    now = 1_000.0
    script = Script(step(20), 64)

    def slow(request):
        nonlocal now
        now += seconds
        return script(request)

    monkeypatch.setattr(solve.time, "monotonic", lambda: now)
    done = solve.completed(Request("train.py", max_batch_if_over=True, loss="mse"), script.answer, slow)
    assert len(script.batches) == answered
    assert done.max_batch is None
    assert done.assumptions[-1] == (
        "largest batch: not found, an estimate on the way failed (it takes more than 180 s)"
    )
    script.asked.clear()
    done = solve.completed(Request("train.py", max_batch=True, loss="mse"), script.answer, slow)
    assert done.max_batch is not None and len(script.batches) > answered


def test_the_largest_batch_with_each_change():
    asked = []
    answer = dataclasses.replace(
        made(64, 1_700, mode="predict", gpu={"usable_bytes": USABLE}), parts={"activations": 1_700}
    )

    def half(request):
        peak = wall(request.batch_size) if request.policy else 1_700
        asked.append((request.policy, request.batch_size))
        return dataclasses.replace(
            answer, batch_size=request.batch_size, peak_bytes=peak, range_bytes=(peak, peak)
        )

    request = Request("train.py", batch_size=64, mode="predict")
    done = solve.completed(dataclasses.replace(request, what_if=True), answer, half)
    assert [(one.saved_bytes, one.max_batch) for one in done.what_if] == [(100, None)]
    asked.clear()
    done = solve.completed(dataclasses.replace(request, what_if=True, max_batch=True), answer, half)
    # Five estimates for each, as where nobody asks by name.
    assert [(one.saved_bytes, one.max_batch) for one in done.what_if] == [(100, 41)]
    assert [batch for policy, batch in asked if policy] == [64, 40, 54, 41, 47, 32]
