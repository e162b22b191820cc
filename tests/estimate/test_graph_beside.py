"""What XLA fuses into some that read it, or into none, for the sake of the others; followed by hand."""

from __future__ import annotations

from estimate.graph_programs import MIB, op, program

from oomlint.estimate.worker.graph.fusion import kernels
from oomlint.estimate.worker.graph.lowering import lowered
from oomlint.estimate.worker.graph.operations import Program

NARROW, BUMPS, FLAT = (4096, 64), (4096, 64, 8), (4096, 512)  # 1, 8 and 8 MiB


def read_by(made: Program, name: str) -> list[str]:
    found = kernels(made).operations
    (operation,) = (one for one in found if one.name == name)
    return [found[number].name for number, _ in operation.inputs]


def bumps(shape: tuple[int, ...]) -> Program:
    """Each of 64 numbers in eight functions; their gradient is a sum over the eight."""
    return program(
        op("Argument", mib=1, shape=NARROW, name="x"),
        op("MatMul", 0, mib=1, shape=NARROW, name="numbers"),
        op("Tile", 1, mib=8, shape=BUMPS, name="eight times"),
        op("Exp", 2, mib=8, shape=BUMPS, name="bumps"),
        op("Reshape", 3, mib=8, shape=shape, name="flat"),
        op("Argument", mib=1, shape=(shape[-1], 64), name="weights"),
        op("MatMul", 4, 5, mib=shape[0] // 4096, shape=(shape[0], 64), name="curves"),
        op("Max", 6, mib=1, shape=NARROW, name="largest"),
        op("Mul", 3, 7, mib=8, shape=BUMPS, name="gradient"),
        op("Sum", 8, mib=1, shape=NARROW, name="sum"),
    )


def test_what_a_product_reads_in_another_shape_is_computed_again_beside_it():
    """What is summed over, 512, is two sides before: a bitcast reads it, and the sum asks the 64 numbers again.

    loop_exponential_fusion.1 and input_reduce_fusion.1 in XLA's assignment of splines.
    """
    made = bumps(FLAT)
    assert "bumps" in read_by(made, "curves")
    assert "bumps" not in read_by(made, "sum") and "numbers" in read_by(made, "sum")


def test_rows_of_two_sides_are_read_as_they_are():
    """XLA's own product takes the left one's rows apart, as of every dense layer on words: it is a reader like others."""
    made = bumps((4096 * 64, 8))
    assert "bumps" in read_by(made, "curves") and "bumps" in read_by(made, "sum")


def summed(*more: int, shape: tuple[int, ...] = (4096, 256)) -> Program:
    """A sum over the rows of a product of two, which alone reads it; what else reads the second is fused as well."""
    return program(
        op("Argument", mib=4, shape=shape, name="x"),
        op("MatMul", 0, mib=4, shape=shape, name="given"),
        op("MatMul", 0, mib=4, shape=shape, name="gradient"),
        op("Mul", 1, *more, mib=4, shape=shape, name="product"),
        op("Sum", 3, mib=1, shape=shape[-1:], name="sum"),
    )


def test_rows_of_a_table_made_of_two_are_written_for_the_sum_that_reads_them():
    """Few threads sum: input_reduce_fusion.25 in XLA's assignment of seen_clicked_bought reads what another wrote."""
    assert read_by(summed(2), "sum") == ["product"]
    assert read_by(summed(), "sum") == ["given"]  # of one: computed as it is summed
    assert read_by(summed(2, shape=(16, 16, 16, 256)), "sum") == ["given", "gradient"]  # pictures


def spread(kind: str) -> Program:
    """Pairs of 64 places and 32 centres, 128 numbers each: 128 MiB, which two sums read."""
    pairs, places, centres = (128, 64, 32, 128), (128, 64, 1, 128), (128, 1, 32, 128)
    return program(
        op("Argument", mib=4, shape=places, name="x"),
        op("Sort", 0, mib=4, shape=places, name="places"),
        op("Sort", 0, mib=2, shape=centres, name="centres"),
        op(kind, 1, 2, mib=128, shape=pairs, name="pairs"),
        op("Sum", 3, mib=4, shape=places, name="over centres"),
        op("Sum", 3, mib=2, shape=centres, name="over places"),
        op("Sort", 4, 5, mib=1, name="last"),
    )


def test_what_is_spread_from_less_is_computed_in_each_of_many_sums():
    """A million sums of 32 keep all of a card busy: XLA's assignment of places_by_clusters has no such array."""
    assert (
        read_by(spread("Mul"), "over centres")
        == read_by(spread("Mul"), "over places")
        == ["places", "centres"]
    )
    assert read_by(spread("Sort"), "over centres") == ["pairs"]


def test_transforms_of_fourier_are_kernels_of_their_own():
    """cuFFT's: rfft.6.0 and irfft.9.0 in XLA's assignment of waves_by_fading_states, kept for the gradient."""
    made = program(
        op("Argument", mib=8, name="x"),
        op("Mul", 0, mib=8, name="padded"),
        op("RFFT", 1, mib=8, name="there"),
        op("Mul", 2, mib=8, name="both"),
        op("IRFFT", 3, mib=8, name="back"),
        op("Tanh", 4, mib=8, name="bent"),
    )
    assert [one.name for one in kernels(made).operations] == ["x", "padded", "there", "both", "back", "bent"]


def spread_gradient(multiplier: int) -> int:
    """MiB of scratch of a depthwise convolution's gradient by its input, whose steps are of two."""
    made = program(
        op("Argument", mib=1, shape=(4,), name="sizes"),
        op("Argument", mib=1, shape=(3, 3, 64, multiplier), name="kernel"),
        op("Sort", 0, mib=4, shape=(64, 16, 16, 64 * multiplier), name="gradient"),
        op(
            "DepthwiseConv2dNativeBackpropInput", 0, 1, 2, mib=16, shape=(64, 32, 32, 64), name="of the input"
        ),
    )
    made.operations[3].strides = (2, 2)
    (found,) = (one for one in lowered(made).operations if one.name == "of the input")
    return found.outputs[1] // MIB


def test_a_spread_gradient_has_all_channels_that_the_input_is_made_into():
    """f32[64,576,34,34] for an input of 64 channels in XLA's assignment of pictures_by_cosines."""
    assert spread_gradient(1) == 64 * 64 * 34 * 34 * 4 // MIB
    assert spread_gradient(9) == 64 * 576 * 34 * 34 * 4 // MIB


def test_for_the_largest_all_are_sorted_beside_their_places():
    """fusion.6 = (f32[4096,6144], s32[4096,6144]) for the 32 largest, in XLA's assignment of few_features_of_many."""
    made = program(
        op("Argument", mib=8, shape=(4096, 512), name="x"),
        op("TopKV2", 0, mib=1, shape=(4096, 32), name="largest"),
    )
    made.operations[1].outputs, made.operations[1].shapes = (MIB // 2, MIB // 2), ((4096, 32), (4096, 32))
    (found,) = (one for one in lowered(made).operations if one.name == "largest")
    assert found.outputs == (MIB // 2, MIB // 2, (8 + 8) * MIB)
