"""What XLA does with weights that are read, and with ReLUs whose few rows are averaged: followed by hand."""

from __future__ import annotations

from dataclasses import replace

import pytest
from estimate.graph_programs import MIB, op, program

from oomlint.estimate.worker.graph.cards import Card, card_of
from oomlint.estimate.worker.graph.compiled import compiled
from oomlint.estimate.worker.graph.lowering import lowered
from oomlint.estimate.worker.graph.operations import Operation, Program

AMPERE = card_of("A100-40GB")


def passes(*weights: str) -> Program:
    """Two passes of one network: each sorts what it is given, adds a weight, and sorts again."""
    handles = [op("Placeholder", name=name) for name in ("a", "b")]
    place = {"a": 2, "b": 3}
    return program(
        op("Argument", mib=1),
        op("Argument", mib=1),
        *handles,
        op("Sort", 0, mib=16, name="one"),
        op("Sort", 1, mib=16, name="other"),
        *(
            replace(op("ReadVariableOp", place[name], mib=16), variable=name, name=f"read {number}")
            for number, name in enumerate(weights)
        ),
        op("AddV2", 4, 6, mib=16),
        op("AddV2", 5, 7, mib=16),
        op("Sort", 8, mib=1),
        op("Sort", 9, mib=1),
        op("Concat", 10, 11, mib=2, name="end"),
    )


def test_passes_that_read_the_same_weights_run_side_by_side():
    # XLA makes kernels of one that read the same parameter in the same loop (`FuseSiblings` in multi_output_fusion.cc):
    # loop_maximum_fusion.1 with three results in its assignment of totally_alike.
    shared, shared_lives = compiled(passes("a", "a"))
    alone, alone_lives = compiled(passes("a", "b"))
    assert [one.type for one in shared.operations].count("Together") == 1
    assert "Together" not in [one.type for one in alone.operations]
    # Both sums are there when the first is read; else the second pass begins when the first is down to its result.
    assert shared_lives.peak == (2 + 16 + 16 + 1) * MIB
    assert alone_lives.peak == (2 + 1 + 16 + 1) * MIB


def of_a_kernel(*more: Operation) -> Program:
    read = replace(op("ReadVariableOp", 1, mib=4, name="kernel", shape=(1, 1, 1024, 1024)), variable="handle")
    pictures = [op("Sort", 0, mib=8, name=name, shape=(8, 16, 16, 1024)) for name in ("x", "y")]
    convolutions = [op("Conv2D", one, 4, mib=8, shape=(8, 16, 16, 1024)) for one in (2, 3)]
    return program(
        op("Argument", mib=1), op("Placeholder", name="handle"), *pictures, read, *convolutions,
        op("Sum", 5, mib=1), *more,
    )  # fmt: skip


def copies(made: Program, channels_first: bool) -> list[tuple[int, ...]]:
    operations = lowered(made, Card(channels_first=channels_first)).operations
    return [one.outputs for one in operations if one.name.endswith("/transposed")]


@pytest.mark.parametrize("channels_first", [True, False])
def test_a_kernel_is_written_once_in_the_layout_of_cudnn(channels_first: bool):
    # wrapped_transpose of [1, 1, 728, 728] as [728, 1, 1, 728] in XLA's assignment of dogs_beside_cats for an H100.
    assert copies(of_a_kernel(), channels_first) == [(4 * MIB,)]
    # So is one that the step changes, which lends its own place meanwhile.
    update = replace(op("AssignSubVariableOp", 1, 4), variable="handle")
    assert copies(of_a_kernel(update), channels_first) == [(4 * MIB,)]


@pytest.mark.parametrize("channels_first", [True, False])
def test_what_is_read_after_a_change_is_another_value(channels_first: bool):
    # A critic that takes several steps: each pass has the kernel of its own step, and waits for it (clothes_by_penalty).
    update = replace(op("AssignSubVariableOp", 1, 7), variable="handle")
    after = replace(
        op("ReadVariableOp", 1, mib=4, name="after", shape=(1, 1, 1024, 1024)),
        variable="handle", controls=(8,),
    )  # fmt: skip
    again = op("Conv2D", 2, 9, mib=8, shape=(8, 16, 16, 1024))
    made = of_a_kernel(update, after, again)
    assert copies(made, channels_first) == [(4 * MIB,), (4 * MIB,)]
    found = lowered(made, Card(channels_first=channels_first)).operations
    second = [one for one in found if one.name.endswith("/transposed")][1]
    assert found[found[second.inputs[0][0]].inputs[0][0]].type == "Sum"  # what it was changed by


def turned(side: int, changed: bool = True) -> int:
    """MiB at the peak of a step that keeps something as large as a kernel that is turned, up to the kernel's update."""
    shape = (side, side, MIB // side // side // 4, 4)  # 4 MiB
    read = replace(op("ReadVariableOp", 1, mib=4, name="kernel", shape=shape), variable="handle")
    update = replace(op("AssignSubVariableOp", 1, 7), variable="handle" if changed else "other")
    made = program(
        op("Argument", mib=1),
        op("Placeholder", name="handle"),
        op("Sort", 0, mib=1, name="x", shape=(8, 16, 16, 128)),
        read,
        op("Conv2D", 2, 3, mib=1, shape=(8, 16, 16, 128)),
        op("Sort", 4, mib=4, name="kept", shape=(1024, 1024)),
        op("Sort", 5, mib=16, shape=(4096, 1024)),
        op("Sort", 5, 6, mib=1, shape=(256, 1024)),
        update,
        op("Sum", 7, mib=1),
    )
    return compiled(made, AMPERE)[1].peak // MIB


def test_the_place_of_a_weight_that_stands_elsewhere_holds_what_fits():
    assert turned(4, changed=False) == 1 + 4 + 16 + 1
    assert turned(4) == 1 + 16 + 1
    # A smaller kernel's place is taken by the optimizer's slots, which are turned, too.
    assert turned(2, changed=False) == turned(2)


def normalized(dtype: str, channels_first: bool, shape: tuple[int, ...] = (8, 16, 16, 2048)) -> int:
    """How often a difference from the mean is written."""
    mean = (1, 1, 1, *shape[3:])
    source = op("Cast", 1, mib=16, shape=shape) if dtype == "float16" else op("Sort", 1, mib=16, shape=shape)
    made = program(
        op("Argument", mib=1),
        op("Sort", 0, mib=16, shape=shape, dtype=dtype),
        source,
        op("Mean", 2, mib=1, shape=mean),
        op("SquaredDifference", 2, 3, mib=16, shape=shape),
        op("Mean", 4, mib=1, shape=mean),
        op("Sub", 2, 3, mib=16, shape=shape),
        op("Sort", 5, 6, mib=1),
    )
    return sum(
        one.type == "Difference" for one in lowered(made, Card(channels_first=channels_first)).operations
    )


def test_where_channels_are_first_no_difference_from_the_mean_is_written():
    assert normalized("float32", False) == 1
    assert normalized("float32", True) == 0
    assert normalized("float16", True) == 1


def test_nor_where_each_channel_is_a_group_of_its_own():
    """GroupNormalization(-1) gives pictures a last side of one: in XLA's assignment of painter there is none."""
    assert normalized("float32", False, (8, 16, 16, 2048, 1)) == 1
    assert normalized("float32", True, (8, 16, 16, 2048, 1)) == 0


def averaged(rows: int, axis_kept: bool = True) -> set[str]:
    """What is kept of a dense layer and its ReLU for the gradient, where the ReLU is averaged over its rows."""
    side = 16 * MIB // 4 // rows
    made = program(
        op("Argument", mib=8),
        op("MatMul", 0, mib=16, shape=(rows, side)),
        op("Relu", 1, mib=16, shape=(rows, side)),
        op("Mean", 2, mib=1, shape=(1, side) if axis_kept else (rows, 1)),
        op("Sub", 2, 3, mib=16, shape=(rows, side)),
        op("MatMul", 4, mib=16, shape=(rows, side)),
        op("ReluGrad", 5, 2, mib=16, shape=(rows, side)),
        op("MatMul", 6, mib=1),
    )
    operations = lowered(made).operations
    (mask,) = (one for one in operations if one.name == "ReluGrad/positive")
    return {operations[mask.inputs[0][0]].type}


def test_a_relu_that_is_written_with_the_mean_of_few_rows_leaves_the_product_for_its_gradient():
    # gemm_fusion_MatMul.6 and input_maximum_reduce_fusion{1}, both [1024,512], in XLA's assignment of loans_repaid.
    assert averaged(1024) == {"MatMul"}
    assert averaged(8192) == {"Relu"}  # summed in two steps, which compute it again
    assert averaged(1024, axis_kept=False) == {"Relu"}


def biased(kind: str) -> int:
    """How many weights the kernels read of a convolution of that kind, its bias and its leaky units."""
    shape = (8, 16, 16, 512)
    made = program(
        op("Argument", mib=1),
        op("Placeholder", name="bias"),
        op(kind, 0, mib=4, shape=shape),
        replace(op("ReadVariableOp", 1, mib=1, shape=(512,)), variable="bias"),
        op("BiasAdd", 2, 3, mib=4, shape=shape),
        op("LeakyRelu", 4, mib=4, shape=shape),
        op("Sort", 5, mib=1),
    )
    return sum(one.type == "Argument" and one.name == "bias" for one in compiled(made)[0].operations)


def test_a_transposed_convolution_adds_no_bias_itself():
    # loop_select_fusion.1 with a result for either pass of one maker, in XLA's assignment of noise_to_faces: both read
    # the bias. A convolution of cuDNN's adds it (cudnn-conv-bias-activation).
    assert biased("Conv2DBackpropInput") == 1
    assert biased("Conv2D") == 0
