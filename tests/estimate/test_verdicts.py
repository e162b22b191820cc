"""The range against the memory there is."""

from __future__ import annotations

from dataclasses import replace

import pytest
from estimate.estimates import MIB, estimate

from oomlint.estimate.verdicts import MOST_BATCH, advice, amount, headline, range_of, verdict


@pytest.mark.parametrize(
    ("between", "usable", "said"),
    [
        ((90, 110), 110, "fits"),
        ((90, 111), 110, "tight"),
        ((110, 120), 110, "tight"),
        ((111, 120), 110, "does-not-fit"),
        ((5, 5), 5, "fits"),
    ],
)
def test_verdict(between, usable, said):
    assert verdict(between, usable) == said


def test_range_is_a_share_of_the_peak_to_either_side():
    assert range_of(1_000, 0.05, 0.2) == (950, 1_200)
    assert range_of(1_000, 0, 0) == (1_000, 1_000)


def test_headline_says_by_how_much():
    # 98 + 196 + 98 + 4,500 + 150 + 37 = 5,079 MiB of 13,584: 8,505 MiB left.
    assert headline(estimate()) == "Fits on T4: 8.31 GiB to spare"
    # 20,579 MiB: 6,995 MiB too much.
    assert headline(estimate({"activations": 20_000})) == "Does not fit on T4: 6.83 GiB too much"
    tight = estimate(usable=5_100 * MIB)
    assert headline(tight).startswith("Too close to call on T4: needs between 4.86 GiB and 5.11 GiB")
    assert "smaller batch" in advice(tight)
    assert advice(estimate()) == ""


@pytest.mark.parametrize(
    ("low", "said"),
    [
        (200, "Cannot be told on T4, with what is assumed below: needs between 200 MiB and 19.5 GiB"),
        (199, "Cannot be told on T4, with what is assumed below: the need hangs on what is assumed"),
    ],
)
def test_a_range_of_more_than_a_hundredfold_is_not_told_as_one(low, said):
    wide = replace(estimate(), instead=("assumed",), verdict="tight", range_bytes=(low * MIB, 20_000 * MIB))
    assert headline(wide).startswith(said)


def test_headline_of_an_amount_and_of_nothing_said():
    whole = estimate()
    assert headline(replace(whole, gpu={**whole.gpu, "name": "16 GB"})) == "Fits in 16 GB: 8.31 GiB to spare"
    assert headline(replace(whole, gpu={**whole.gpu, "name": None})) == "Fits on the GPU: 8.31 GiB to spare"


def test_no_batch_above_that_is_looked_for():
    assert MOST_BATCH == 65_536


@pytest.mark.parametrize(
    ("count", "words"),
    [
        (512, "512 B"),
        (1_023, "1023 B"),
        (1_024, "1.00 KiB"),
        (13_584 * MIB, "13.3 GiB"),
        (999 * MIB, "999 MiB"),
        (1_000 * MIB, "0.98 GiB"),
        (98 * MIB, "98.0 MiB"),
        (150 * MIB, "150 MiB"),
        (1_023_487, "999 KiB"),
        (1_023_488, "0.98 MiB"),  # 999.5 KiB would be 1000
        (2**50, "1024 TiB"),
    ],
)
def test_amounts_have_three_digits(count, words):
    assert amount(count) == words
