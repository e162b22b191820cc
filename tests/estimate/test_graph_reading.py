"""How often kernels read what they spread over more elements, or read elsewhere, and what that takes on which card."""

from __future__ import annotations

import pytest
from estimate.graph_programs import MIB, op, program

from oomlint.estimate.worker.graph.cards import HOPPER, card_of
from oomlint.estimate.worker.graph.fusion import kernels
from oomlint.estimate.worker.graph.operations import Operation, Program
from oomlint.estimate.worker.graph.reading import Place, Reading, share_of

ROWS = 262144  # times 64 channels of four bytes: 64 MiB


def vector() -> Operation:
    made = op("Argument", mib=1, shape=(64,))
    made.outputs = (256,)
    return made


def scaled_and_summed(*, spread: bool) -> Program:
    """Three products, each times something, summed for two who read the sum."""
    scales = [vector() if spread else op("Argument", mib=64, shape=(ROWS, 64)) for _ in range(3)]
    products = [op("MatMul", number, mib=64, shape=(ROWS, 64)) for number in range(3)]
    scaled = [
        op("Mul", 3 + number, number if spread else 3 + number, mib=64, shape=(ROWS, 64))
        for number in range(3)
    ]
    return program(
        *scales,
        *products,
        *scaled,
        op("AddN", 6, 7, 8, mib=64, shape=(ROWS, 64), name="sum"),
        op("Max", 9, mib=1),
        op("Min", 9, mib=1),
        op("MatMul", 10, 11, mib=1),
    )


def test_vectors_that_are_spread_over_rows_are_read_for_each():
    # Computed by both readers the sum reads three tensors twice, as many bytes as it reads, is written and read twice:
    # then the start of its kernel decides. Of a vector each element is read again from the first-level cache, 64 MiB
    # / 20 for each kernel and vector, ten MiB that the start does not outweigh.
    for spread, kept in ((False, []), (True, ["sum"])):
        found = kernels(scaled_and_summed(spread=spread)).operations
        assert [one.name for one in found if one.name == "sum"] == kept


def reading(card=HOPPER) -> Reading:
    operations = [
        op("Argument", mib=1, name="small", shape=(256, 1024)),
        op("Slice", 0, mib=1),
        op("Neg", 0, mib=1),
        op("Mul", 0, mib=16, shape=(16, 256, 1024)),
    ]
    kinds = ["argument", "mapped", "mapped", "mapped"]
    reads: list[set[int]] = [set(), {0}, {0}, {0}]
    return Reading(operations, kinds, reads, [MIB, MIB, MIB, 16 * MIB], lambda output: output[0], card)


def test_two_pieces_of_a_kernel_that_read_elsewhere_read_twice():
    found = reading()
    as_written = {-1: Place(1.0, 1)}
    # The same element by element is read once, whoever reads it; a slice that two pieces compute is read by each.
    assert share_of(found.joined(as_written, 2, 0) | found.joined(as_written, 2, 0)) == 1
    assert share_of(found.joined(as_written, 1, 0) | found.joined(as_written, 1, 0)) == 2


@pytest.mark.parametrize(("card", "again"), [("H100-80GB", 0.4), ("T4", 0.4)])
def test_what_is_read_again_comes_from_the_cache_that_holds_it(card: str, again: float):
    # One MiB is more than the 2 KiB of each multiprocessor, and less than the second-level cache.
    found = reading(card_of(card))
    assert found.time(0, found.places[3][0]) == pytest.approx((1 + 15 * again) * MIB)


def test_what_starting_a_kernel_costs_follows_the_memory_s_speed():
    # 320 GB/s, 1,555 GB/s and 3,352 GB/s for a microsecond: data sheets.
    starts = [card_of(name).start for name in ("T4", "A100-40GB", "H100-80GB")]
    assert starts == pytest.approx([320e3, 1555e3, 3352e3])
    assert card_of("H100-80GB") == HOPPER


def test_ways_that_are_too_many_are_counted_together():
    # Each of forty pieces reads by itself, as does every piece that computes one of them again: what is kept of a
    # tensor that is read so must not double with each.
    found = reading()
    for _ in range(40):
        found.add(2, 0, found.joined({-1: Place(1.0, 1)}, 1, 0))
    assert len(found.places[2][0]) <= 17
    assert share_of(found.places[2][0]) == 41  # with itself, where it writes


def test_of_what_takes_a_piece_only_that_is_read():
    # GetShapeSize of a slice's result, not of what it is a slice of (gpu_hlo_cost_analysis.cc): gates of a GRU's cell,
    # thirds of a product, are computed again from it in the assignment of drugs_dissolved.
    split = op("Split", 0, mib=8, shape=(256, 8192))
    split.outputs, split.shapes = split.outputs * 4, split.shapes * 4
    operations = [
        op("Argument", mib=32, name="whole", shape=(256, 32768)),
        op("StridedSlice", 0, mib=8, shape=(256, 8192)),
        split,
        op("Sigmoid", 2, mib=8, shape=(256, 8192)),
        Operation("two", "Mul", ((2, 0), (2, 3)), (), (8 * MIB,), ((256, 8192),)),
    ]
    reads: list[set[int]] = [set(), {0}, {0}, {2}, {2}]
    sizes = [32 * MIB, 8 * MIB, 32 * MIB, 8 * MIB, 8 * MIB]
    kinds = ["argument", *["mapped"] * 4]
    found = Reading(operations, kinds, reads, sizes, lambda output: output[0], HOPPER)
    assert share_of(found.places[1][0]) == 1 / 4
    assert [share_of(found.places[number][2]) for number in (3, 4)] == [1 / 4, 2 / 4]
    # Computed again in one of them, the other way.
    assert share_of(found.joined(found.places[3][2], 2, 0)) == 1 / 4
