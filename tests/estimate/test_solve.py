"""The largest batch and the what-if table, on needs that are known in closed form."""

from __future__ import annotations

import dataclasses

import pytest
from estimate.estimates import MIB, estimate

from oomlint.estimate.request import Request
from oomlint.estimate.verdicts import MOST_BATCH
from oomlint.estimate.worker.what_if import solve
from oomlint.estimate.worker.what_if.changes import changes, scaled

USABLE = 13_584 * MIB


class Model:
    """Estimates by a formula, and counts how many."""

    def __init__(self, need, error=(0.0, 0.0)):
        self.need, self.error, self.asked = need, error, []

    def at(self, batch):
        self.asked.append(batch)
        fixed = 392
        grows = (self.need(batch) - fixed * MIB) / MIB
        made = estimate(
            {"activations": 0, "temporaries": 0, "input": 0},
            error=self.error,
            usable=USABLE,
            batch_size=batch,
        )
        parts = {**made.parts, "activations": round(grows * MIB)}
        peak = sum(parts.values())
        between = (round(peak * (1 - self.error[0])), round(peak * (1 + self.error[1])))
        return dataclasses.replace(made, parts=parts, peak_bytes=peak, range_bytes=between)


def linear(batch):
    return 392 * MIB + 75 * MIB * batch


def bends(batch):
    """As XLA does near the device's size: recomputes, and then needs far less for each further sample."""
    full = linear(batch)
    knee = 0.8 * USABLE
    return round(full if full <= knee else knee + (full - knee) / 4)


def largest_by_hand(need):
    return max(batch for batch in range(1, 5_000) if need(batch) <= USABLE)


@pytest.mark.parametrize("start", [1, 32, 175, 176, 177, 500])
@pytest.mark.parametrize("need", [linear, bends])
def test_the_largest_batch_is_found_wherever_one_starts(start, need):
    model = Model(need)
    row = solve.max_batch(model.at(start), model.at, USABLE, 12)
    right = largest_by_hand(need)
    # Within a hundredth, and never one that does not fit.
    assert right - max(1, right // 100) <= row["batch_size"] <= right
    assert row["peak_bytes"] == need(row["batch_size"]) <= USABLE
    assert row["sure_batch_size"] == row["batch_size"]
    assert row["friendly_batch_size"] == right // 32 * 32
    assert row["friendly_peak_bytes"] == need(row["friendly_batch_size"])
    assert len(model.asked) <= 12


def test_a_linear_need_takes_few_estimates():
    model = Model(linear)
    row = solve.max_batch(model.at(32), model.at, USABLE, 12)
    # (13,584 - 392) / 75 = 175.9
    assert row["batch_size"] == 175
    assert len(model.asked) <= 4  # the first, two beside the limit, and the friendly one


def test_the_range_counts_for_the_sure_batch():
    model = Model(linear, error=(0.1, 0.1))
    row = solve.max_batch(model.at(32), model.at, USABLE, 12)
    # 1.1 x (392 + 75 b) <= 13,584 for b <= 159.4; the friendly one below is 128.
    assert row["batch_size"] == 175
    assert 155 <= row["sure_batch_size"] <= 159
    assert row["friendly_batch_size"] == 128


def test_no_batch_fits():
    model = Model(lambda batch: 20_000 * MIB + batch)
    row = solve.max_batch(model.at(16), model.at, USABLE, 12)
    assert row == {
        "batch_size": 0,
        "peak_bytes": 20_000 * MIB + 1,
        "sure_batch_size": 0,
        "friendly_batch_size": 0,
        "friendly_peak_bytes": 0,
    }


def test_a_need_that_does_not_grow_ends():
    model = Model(lambda batch: 500 * MIB)
    row = solve.max_batch(model.at(8), model.at, USABLE, 12)
    assert row["batch_size"] == MOST_BATCH
    # 392 MiB are weights and the like: 8 + 13,084 x 8 / 108 = 977 at first; then nothing grows.
    assert model.asked == [8, 977, MOST_BATCH]


def test_a_larger_batch_that_fits_by_chance_does_not_count():
    def need(batch):
        return linear(batch) if not 60 <= batch < 70 else USABLE + 1

    model = Model(need)
    first = model.at(64)
    row = solve.max_batch(first, model.at, USABLE, 12)
    assert row["batch_size"] == 59


def request(**changed):
    return Request("train.py", batch_size=64, usable_bytes=USABLE, **changed)


def fake(asked):
    """Answers what-if's requests as hand-made truths about each change."""
    answer = estimate(usable=USABLE)

    def run(changed):
        asked.append(changed)
        if changed.remat:
            raise ValueError(
                "Exception encountered.\n\n\x1b[1mRematScope is not there in Keras 2\x1b[0m\nsecond line"
            )
        if changed.policy:
            return dataclasses.replace(answer, peak_bytes=answer.peak_bytes - 2_000 * MIB)
        if changed.optimizer == "lion":
            return dataclasses.replace(answer, peak_bytes=answer.peak_bytes - 98 * MIB)
        if changed.frozen:
            return dataclasses.replace(answer, peak_bytes=answer.peak_bytes + 5)
        return dataclasses.replace(answer, peak_bytes=answer.peak_bytes - 300 * MIB)

    return answer, run


def test_what_if_estimates_each_change_and_sorts_by_what_it_saves():
    # 9% of the peak is optimizer state: worth a try.
    answer, run = fake(asked := [])
    answer = dataclasses.replace(answer, parts={**answer.parts, "optimizer_state": 600 * MIB})
    done = solve.completed(request(what_if=True), answer, run)
    saved = [remedy.saved_bytes for remedy in done.what_if]
    assert saved == sorted(saved, reverse=True)
    assert done.what_if[0].change == 'mixed precision (set_global_policy("mixed_float16"))'  # T4: 7.5
    assert done.what_if[0].peak_bytes == answer.peak_bytes - 2_000 * MIB
    assert all(remedy.max_batch is None and remedy.cost for remedy in done.what_if)
    assert {one.optimizer for one in asked} == {None, "lion", "sgd"}
    assert {one.input_scale for one in asked} == {1.0, 0.75, 0.5}
    (micro,) = [one for one in asked if one.accumulate_steps > 1]
    assert (micro.batch_size, micro.accumulate_steps) == (32, 2)
    said = "\n".join(done.assumptions)
    assert "RematScope is not there in Keras 2" in said and "second line" not in said and "\x1b" not in said
    assert "freeze the first half of the layers saves nothing here" in said


def test_bfloat16_from_the_generation_that_computes_it():
    (first, *_) = changes(request(gpu="A100-40GB"), estimate())
    assert first.request.policy == "mixed_bfloat16"
    assert not any("mixed" in one.words for one in changes(request(), estimate(policy="mixed_float16")))


def test_as_many_micro_batches_as_it_takes():
    # 40,000 MiB of activations; room for 13,584 - 98 - 196 - 2 x 98 = 13,094: four.
    answer = estimate({"activations": 40_000})
    (micro,) = [one.request for one in changes(request(), answer) if one.changes_the_batch]
    assert (micro.batch_size, micro.accumulate_steps) == (16, 4)


def test_prediction_has_no_optimizer_to_change():
    words = [one.words for one in changes(request(mode="predict"), estimate(mode="predict"))]
    assert len(words) == 3 and "mixed" in words[0]


def test_a_failing_search_leaves_the_answer():
    def fails(changed):
        raise RuntimeError("no such shape")

    done = solve.completed(request(max_batch=True), estimate(usable=USABLE), fails)
    assert done.max_batch is None
    assert done.peak_bytes == estimate().peak_bytes
    assert "no such shape" in done.assumptions[-1]


@pytest.mark.parametrize(
    ("side", "scale", "then"),
    [(224, 0.75, 160), (64, 0.75, 48), (512, 0.5, 256), (300, 0.5, 150), (1, 0.5, 1)],
)
def test_scaled_sides_stay_multiples_of_32(side, scale, then):
    assert scaled(side, scale) == then
