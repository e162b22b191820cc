"""Leaky units are chosen by a mask, which is written where an array of zeros would have to be read for it twice."""

from __future__ import annotations

from estimate.graph_programs import MIB, op, program

from oomlint.estimate.worker.graph.compiled import compiled
from oomlint.estimate.worker.graph.leaky import MASK
from oomlint.estimate.worker.graph.operations import Program

WIDE = (16, 64, 64, 64)  # 16 MiB
POOLED = (16, 32, 32, 64)


def pooled(units: str, gradient: str) -> Program:
    return program(
        op("Argument", mib=16, shape=WIDE, name="x"),
        op("Conv2D", 0, mib=16, shape=WIDE, name="conv"),
        op("Mul", 1, mib=16, shape=WIDE, name="normalized"),
        op(units, 2, mib=16, shape=WIDE, name=units),
        op("MaxPool", 3, mib=4, shape=POOLED, name="pool"),
        op("Conv2D", 4, mib=4, shape=POOLED, name="next"),
        op("MaxPoolGrad", 3, 4, 5, mib=16, shape=WIDE, name="MaxPoolGrad"),
        op(gradient, 6, 2, mib=16, shape=WIDE, name=gradient),
        op("Conv2D", 7, mib=16, shape=WIDE, name="last"),
    )


def written(made: Program) -> dict[str, int]:
    return {one.name: sum(one.outputs) for one in compiled(made)[0].operations}


def test_leaky_units_before_a_pooling_leave_their_mask_and_zeros():
    """As XLA has it of faces_three_answers: the pooling chooses by the mask, with which the zeros for its gradient come."""
    found = written(pooled("LeakyRelu", "LeakyReluGrad"))
    assert "LeakyRelu" not in found and "normalized" not in found
    assert found["LeakyRelu" + MASK] == 4 * MIB
    assert found["zeros"] == 16 * MIB


def test_leaky_units_of_a_pooled_shape_leave_their_mask_and_no_convolution():
    """As XLA has it of plankton: unit, mask and zeros are written as the first convolution ends, which is not kept."""
    made = program(
        op("Argument", mib=16, shape=WIDE, name="x"),
        op("Conv2D", 0, mib=16, shape=WIDE, name="conv"),
        op("LeakyRelu", 1, mib=16, shape=WIDE, name="first"),
        op("Conv2D", 2, mib=16, shape=WIDE, name="second conv"),
        op("LeakyRelu", 3, mib=16, shape=WIDE, name="second"),
        op("MaxPool", 4, mib=4, shape=POOLED, name="pool"),
        op("Conv2D", 5, mib=4, shape=POOLED, name="next"),
        op("MaxPoolGrad", 4, 5, 6, mib=16, shape=WIDE, name="MaxPoolGrad"),
        op("LeakyReluGrad", 7, 3, mib=16, shape=WIDE, name="back second"),
        op("Conv2DBackpropInput", 2, 8, mib=16, shape=WIDE, name="back conv"),
        op("LeakyReluGrad", 9, 1, mib=16, shape=WIDE, name="back first"),
        op("Conv2D", 10, mib=16, shape=WIDE, name="last"),
    )
    found, lives = compiled(made)
    sizes = {one.name: sum(one.outputs) for one in found.operations}
    assert sizes["first"] == 16 * MIB and sizes["first" + MASK] == sizes["second" + MASK] == 4 * MIB
    assert "second" not in sizes
    conv = next(one for one in lives.buffers if found.operations[one.maker].name == "conv")
    steps = {found.operations[number].name: step for step, number in enumerate(lives.order)}
    assert conv.died < steps["next"] < steps["back first"]


def test_other_units_before_a_pooling_are_computed_in_its_windows():
    assert "Neg" not in written(pooled("Neg", "Mul"))


def test_leaky_units_that_nobody_pools_are_computed_where_they_are_read():
    made = program(
        op("Argument", mib=16, shape=WIDE, name="x"),
        op("Conv2D", 0, mib=16, shape=WIDE, name="conv"),
        op("LeakyRelu", 1, mib=16, shape=WIDE, name="leaky"),
        op("Mul", 2, mib=16, shape=WIDE, name="scaled"),
        op("Conv2D", 3, mib=16, shape=WIDE, name="next"),
        op("LeakyReluGrad", 4, 1, mib=16, shape=WIDE, name="LeakyReluGrad"),
        op("Conv2D", 5, mib=16, shape=WIDE, name="last"),
    )
    assert "leaky" not in written(made) and "leaky" + MASK not in written(made)


def behind_a_transposed_convolution(mib: int) -> Program:
    return program(
        op("Argument", mib=4, shape=POOLED, name="x"),
        op("Conv2DBackpropInput", 0, mib=mib, shape=WIDE, name="transposed"),
        op("LeakyRelu", 1, mib=16, shape=WIDE, name="leaky"),
        op("Conv2D", 2, mib=16, shape=WIDE, name="next"),
        op("LeakyReluGrad", 3, 1, mib=16, shape=WIDE, name="LeakyReluGrad"),
        op("Conv2D", 4, mib=16, shape=WIDE, name="last"),
    )


def test_behind_a_transposed_convolution_with_a_place_to_cut_off_the_mask_is_written():
    """As XLA has it of volumes_again: cuDNN writes one place more than is read, and that need not stay."""
    assert written(behind_a_transposed_convolution(17))["leaky" + MASK] == 4 * MIB


def test_behind_one_that_ends_where_it_should_it_is_not():
    """As in bottles_rebuilt, whose windows are as wide as twice their steps."""
    assert "leaky" + MASK not in written(behind_a_transposed_convolution(16))
