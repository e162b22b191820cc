"""What computing again costs by XLA's measure: tensors joined, sums, windows; and how kernels move."""

from __future__ import annotations

import pytest
from estimate.graph_programs import MIB, op, program

from oomlint.estimate.worker.graph.fusion import kernels
from oomlint.estimate.worker.graph.lowering import lowered
from oomlint.estimate.worker.graph.operations import Operation, Program


def written(made: Program, *kinds: str) -> list[str]:
    return [one.name for one in kernels(made).operations if one.name in kinds]


@pytest.mark.parametrize(
    ("kind", "given", "joined", "kept"),
    [
        ("ConcatV2", (65536, 48), (65536, 96), ["joined"]),
        ("ConcatV2", (65536, 64), (65536, 128), []),  # whole warps read the same tensor
        ("ConcatV2", (65536, 48), (131072, 48), []),  # one behind the other
        ("Pack", (65536, 64), (65536, 2, 64), ["joined"]),
        ("Pack", (65536, 64), (2, 65536, 64), []),
    ],
)
def test_what_joins_tensors_within_a_warp_is_not_computed_twice(kind, given, joined, kept):
    mib = given[0] * given[1] * 4 // MIB
    made = program(
        op("Argument", mib=8),
        op("MatMul", 0, mib=mib, shape=given),
        op("MatMul", 0, mib=mib, shape=given),
        op(kind, 1, 2, mib=2 * mib, shape=joined, name="joined"),
        op("Max", 3, mib=1),
        op("Min", 3, mib=1),
    )
    assert written(made, "joined") == kept


@pytest.mark.parametrize(
    ("given", "sums", "kept"),
    [
        ((1024, 2048), (2048,), ["Mul"]),  # a batch as a whole: 64 blocks of 32 sums
        ((64, 128, 256), (64, 256), []),  # each sample by itself: 512 blocks
    ],
)
def test_what_few_sums_read_is_written_with_them(given, sums, kept):
    made = program(
        op("Argument", mib=8),
        op("MatMul", 0, mib=8, shape=given),
        op("Mul", 1, mib=8, shape=given),
        op("Mean", 2, mib=1, shape=sums),
        op("Max", 2, mib=1),
    )
    assert written(made, "Mul") == kept


def test_of_normalization_and_unit_before_windows_that_overlap_the_unit_is_written():
    made = program(
        op("Argument", mib=8),
        op("MatMul", 0, mib=32, name="product"),
        op("Mul", 1, mib=32),
        op("Zeros", mib=32),
        op("Relu", 2, 3, mib=32),
        op("MaxPool", 4, 3, mib=8),
        op("Compare", 2, 3, mib=8),
        op("Sum", 6, mib=1),
        op("MatMul", 5, 7, mib=1),
    )
    made.operations[5].overlap = 2.25
    assert written(made, "Mul", "Relu") == ["Relu"]


def filter_gradient(strides: tuple[int, ...], padded: bool) -> dict[str, tuple[int, ...]]:
    """Of 16 x 16 kernels over 128 rows and columns, to 12 each."""
    shapes = (1, 128, 128, 1), (16, 16, 1, 8), (1, 12, 12, 8)
    first = [op("Argument", mib=16, shape=shape, name=name) for shape, name in zip(shapes, "xwy")]
    made = op("Conv2DBackpropFilter", 0, 1, 2, mib=1, shape=shapes[1])
    made.strides, made.padded = strides, padded
    return {one.name: one.outputs for one in lowered(Program([*first, made], ((3, 0),))).operations}


def test_a_filter_s_gradient_is_spread_only_where_padding_is_odd():
    # Steps of ten without padding: (12 - 1) * 10 + 16 = 126 of 128 rows. With padding and steps of eleven, which make
    # twelve of 128 as well, 9 rows of padding: the gradient with ten rows of zeros between each two.
    assert "y/spread" not in filter_gradient((10, 10), padded=False)
    spread = filter_gradient((11, 11), padded=True)["y/spread"]
    assert spread == (int(16 * MIB * ((11 * 11 + 1) / 12) ** 2),)


def test_a_dilated_kernel_is_as_wide_as_what_it_spans():
    # Width four, every second row: it spans seven, so that six rows are added, three on each side. Of four next to one
    # another, three, one more on one side.
    for dilations, copied in (((2, 2), False), ((1, 1), True)):
        first = [
            op("Argument", mib=16, shape=shape, name=name)
            for shape, name in (((1, 8, 8, 4), "x"), ((4, 4, 4, 4), "w"))
        ]
        made = op("Conv2D", 0, 1, mib=16, shape=(1, 8, 8, 4))
        made.strides, made.dilations = (1, 1), dilations
        names = {one.name for one in lowered(Program([*first, made], ((2, 0),))).operations}
        assert ("x/pad" in names) == copied


def test_strides_and_padding_are_read_from_the_graph():
    import keras
    from keras import layers

    from oomlint.estimate.worker.graph.tracing import traced
    from oomlint.estimate.worker.subject import Spec, Subject

    i = keras.Input((64, 48, 1))
    x = layers.Conv2D(2, 16, 10, "valid")(i)
    model = keras.Model(i, layers.Conv2D(2, 3, padding="same")(x))
    model.compile("sgd", "mse")
    data = Spec((2, 64, 48, 1), "float32"), Spec((2, 5, 4, 2), "float32")
    found: list[Operation] = [one for one in traced(Subject(model, data)).operations if one.type == "Conv2D"]
    moves = [(one.strides, one.dilations, one.padded) for one in found if one.shapes[0][1:3] == (5, 4)]
    assert moves == [((10, 10), (1, 1), False), ((1, 1), (1, 1), True)]


@pytest.mark.parametrize(
    ("widths", "tensor", "joined"),
    [
        ((100, 60), 1, 3),  # neither is a number of whole tiles: written side by side, 1 + 2 MiB
        ((128, 64), 1, 0),  # read from where they lie
        ((100, 60), 62, 3),  # 62 + 1 + 1 MiB: one of two is small enough
        ((100, 60), 63, 0),  # 63 + 1 + 1 MiB: neither product is small enough to be merged
    ],
)
def test_gradients_of_weights_that_one_tensor_met_are_multiplied_together(widths, tensor, joined):
    first, second = widths
    made = Program(
        [
            op("Argument", mib=tensor, shape=(512, 48), name="x"),
            op("Tanh", mib=1, shape=(512, first)),
            op("Tanh", mib=2, shape=(512, second)),
            op("MatMul", 0, 1, mib=1, shape=(48, first), name="one"),
            op("MatMul", 0, 2, mib=1, shape=(48, second), name="two"),
        ],
        ((3, 0), (4, 0)),
    )
    found = {operation.name: operation for operation in lowered(made).operations}
    assert sum(found["one/joined"].outputs if "one/joined" in found else ()) == joined * MIB
    assert ("one/merged" in found) == bool(joined)
