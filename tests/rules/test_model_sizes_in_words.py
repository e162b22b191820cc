"""What the rules on models say about sizes: which tensors are named, where numbers come from, which finding is kept."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import libcst as cst
from oomlint.rules.model_size.amounts import largest, largest_tensors, origins, way

from oomlint.dryrun.queries.saved_activations import Saved
from oomlint.dryrun.queries.tensor_sizes import Factor
from oomlint.dryrun.values.base import Const, Step
from oomlint.dryrun.values.training import Layer

MIB = 1 << 20


def place(name: str = "x") -> Any:
    return SimpleNamespace(node=cst.Name(name), source=None)


def tensor(elements: int) -> Saved:
    """One of so many float32 numbers."""
    return Saved(Layer("keras.layers.Dense"), None, place(), (Factor("units", Const(elements)),), 4)


def said(*elements: int) -> list[str]:
    return [one.text for one in largest_tensors([tensor(count) for count in elements])]


def test_the_three_largest_tensors_are_named_and_all_are_counted():
    mib = MIB // 4
    lines = said(1 * mib, 5 * mib, 3 * mib, 4 * mib)
    assert lines[:-1] == ["1,310,720 x 4 B = 5 MiB", "1,048,576 x 4 B = 4 MiB", "786,432 x 4 B = 3 MiB"]
    assert lines[3].startswith("4 such tensors, 13 MiB; counted at 75%")


def test_one_tensor_is_not_counted():
    lines = said(MIB // 4)
    assert len(lines) == 2
    assert lines[1].startswith("1 MiB; counted at 75%")
    assert said(MIB // 4, MIB // 4)[2].startswith("2 such tensors, 2 MiB")


def test_a_hundredth_is_not_worth_a_line():
    # Of 10,000 B a hundredth is 100 B: not more than that. 104 B of 10,004 B are.
    assert len(said(2_475, 25)) == 2
    assert len(said(2_475, 26)) == 3


def test_each_stop_of_a_number_is_told_once_and_no_more_than_eight():
    def factor(number: int, *names: str, placed: bool = True) -> Factor:
        steps = tuple(Step(name, place(name) if placed else None) for name in names)
        return Factor("units", Const(number, steps))

    assert [one.text for one in origins([factor(1_000, "a", "b"), factor(1_000, "b", "c")])] == [
        "1,000 units: a", "1,000 units: b", "1,000 units: c",
    ]  # fmt: skip
    # The same name with another number is another stop; one without a place cannot be shown.
    assert len(list(origins([factor(1, "a"), factor(2, "a"), factor(3, "z", placed=False)]))) == 2
    assert len(list(origins([factor(1, *"abcdefgh")]))) == 8
    assert [one.text for one in origins([factor(1, *"abcdefghij")])][-1] == "1 units: h"


def test_the_way_of_a_number_leaves_out_what_has_no_place():
    steps = (Step("UNITS", place()), Step("nowhere"), Step("config", place()))
    assert [one.text for one in way("500 units", steps)] == ["500 units from UNITS", "500 units from config"]


def test_of_the_findings_at_one_place_the_one_with_most_bytes():
    here, there = place(), place()
    found = {name: SimpleNamespace(place=where) for name, where in
             (("small", here), ("large", here), ("equal", here), ("other", there))}  # fmt: skip

    def kept(*pairs: tuple[int, str]) -> list[str]:
        names = {id(one): name for name, one in found.items()}
        return [names[id(one)] for one in largest((size, found[name]) for size, name in pairs)]  # type: ignore[misc]

    assert kept((1, "small"), (9, "large"), (5, "other")) == ["large", "other"]
    assert kept((9, "large"), (1, "small")) == ["large"]
    assert kept((9, "large"), (9, "equal")) == ["large"]  # the first
