"""What XLA computes again where it is read, what it writes after all, and by what it compares orders."""

from __future__ import annotations

from dataclasses import replace

import pytest
from estimate.graph_programs import MIB, op, program

from oomlint.estimate.worker.graph.cards import card_of
from oomlint.estimate.worker.graph.compiled import compiled, occupied
from oomlint.estimate.worker.graph.equals import merge_equals
from oomlint.estimate.worker.graph.fusion import kernels
from oomlint.estimate.worker.graph.operations import Operation, Program

T4, A100, H100 = map(card_of, ("T4", "A100-40GB", "H100-80GB"))


def written(made: Program, *kinds: str) -> list[str]:
    return [one.name for one in compiled(made)[0].operations if one.name in kinds]


def waves(*more: Operation) -> Program:
    return program(
        op("Argument", mib=8),
        op("MatMul", 0, mib=64),
        op("Sin", 1, mib=64),
        op("MatMul", 2, mib=8),
        op("Cos", 1, mib=64),
        *more,
    )


def test_a_product_takes_the_sine_of_what_it_reads_itself():
    made = waves(op("MatMul", 4, 3, mib=8))
    assert written(made, "Sin", "Cos") == []
    # The input, the product that is kept, and both products of the sines.
    assert compiled(made)[1].peak == (8 + 64 + 8 + 8) * MIB


def test_cublas_cannot():
    found, _ = compiled(waves(op("MatMul", 4, 3, mib=8)), T4)
    assert [one.name for one in found.operations if one.name in ("Sin", "Cos")] == ["Sin", "Cos"]


def test_a_function_of_what_nothing_else_reads_is_written_in_its_place():
    made = program(
        op("Argument", mib=8), op("MatMul", 0, mib=64), op("Tanh", 1, mib=64), op("MatMul", 2, mib=8)
    )
    assert written(made, "Tanh") == ["Tanh"]
    assert compiled(made)[1].peak == (8 + 64 + 8) * MIB


def test_sines_are_not_computed_for_two_who_could_add_up():
    # 64 MiB are 16 Mi elements, and a sine costs more than the eight bytes of writing it and reading it once more.
    def twice(kind: str) -> list[str]:
        made = program(
            op("Argument", mib=8),
            op("MatMul", 0, mib=64),
            op(kind, 1, mib=64),
            op("Sum", 2, mib=1),
            op("Max", 2, mib=1),
        )
        return written(made, kind)

    assert twice("Sin") == ["Sin"]
    assert twice("Cos") == ["Cos"]
    assert twice("Exp") == []
    assert twice("Mul") == []


def test_the_same_of_the_same_is_one_also_where_it_waited():
    operations = [
        op("Argument", mib=8),
        op("Identity", 0, mib=8),
        op("Cos", 0, mib=8),
        replace(op("Cos", 1, mib=8, name="again"), controls=(2,)),
        op("Sin", 1, mib=8),
        op("Cos", 4, mib=8, name="of another"),
    ]
    merge_equals(operations)
    assert [one.type for one in operations] == ["Argument", "Identity", "Cos", "Identity", "Sin", "Cos"]
    assert operations[3].inputs == ((2, 0),)


def test_what_has_other_arguments_is_not_the_same():
    operations = [op("Argument", mib=8), op("Sum", 0, mib=1), op("Sum", 0, mib=1), op("Relu", 0, mib=8)]
    before = list(operations)
    merge_equals(operations)
    assert operations == before


def doubled(times: int, mib: int = 64) -> Program:
    """Each is added to itself, moved: the first would be read at twice as many places each time."""
    operations = [op("Argument", mib=mib)]
    for number in range(times):
        last = len(operations) - 1
        operations += [
            op("StridedSlice", last, mib=mib),
            op("PadV2", last + 1, mib=mib),
            op("AddV2", last, last + 2, mib=mib, name=f"sum {number}"),
        ]
    return program(*operations, op("Sum", len(operations) - 1, mib=1))


def sums(times: int, mib: int = 64) -> list[str]:
    return [one.name for one in kernels(doubled(times, mib)).operations if one.name.startswith("sum")]


def test_padding_is_computed_as_it_is_read():
    # Once or twice moved, one kernel reads the argument at two or four places.
    assert sums(1) == []
    assert kernels(doubled(1)).operations[1].type == "Sum"


def test_what_would_be_read_at_many_places_is_written_in_between():
    # 64 MiB are more than the cache holds, so that each place is read from memory: two places for each three tensors of
    # writing and reading at two are worth it, four are not. Of 1 MiB the kernels' starts cost more than reading at up to
    # fifteen places.
    assert sums(2) == []
    assert len(sums(4)) == 1
    assert sums(3, mib=1) == []
    assert len(sums(5, mib=1)) >= 1


def test_an_element_wise_kernel_does_not_write_into_what_cublas_made():
    made = program(
        op("Argument", mib=8), op("MatMul", 0, mib=64), op("Tanh", 1, mib=64), op("MatMul", 2, mib=8)
    )
    assert compiled(made, T4)[1].peak == (8 + 64 + 64) * MIB
    assert compiled(made, H100)[1].peak == (8 + 64 + 8) * MIB


def test_orders_are_compared_by_what_they_would_take_with_nothing_written_over():
    made = kernels(
        program(op("Argument", mib=8), op("MatMul", 0, mib=64), op("Tanh", 1, mib=64), op("MatMul", 2, mib=8))
    )
    order = list(range(len(made.operations)))
    assert occupied(made, order).peak == (8 + 64 + 8) * MIB
    assert occupied(made, order, planned=True).peak == (8 + 64 + 64) * MIB


def pooled_in_time(between: str) -> list[str]:
    """Kinds of kernels of zeros behind a convolution along one axis, which the ReLU knows without the second side."""
    wide, flat, small = (8, 1, 4096, 512), (8, 4096, 512), (8, 1, 1024, 512)
    made = program(
        op("Argument", mib=8),
        op("Conv2D", 0, mib=64, shape=wide),
        op("Squeeze", 1, mib=64, shape=flat),
        op(between, 2, mib=64, shape=flat),
        op("Relu", 3, mib=64, shape=flat),
        op("ExpandDims", 4, mib=64, shape=wide),
        op("MaxPool", 5, mib=16, shape=small),
        op("MaxPoolGrad", 5, 6, 6, mib=64, shape=wide),
        op("Squeeze", 7, mib=64, shape=flat, name="back"),
        op("ReluGrad", 8, 4, mib=64, shape=flat),
        op("MatMul", 9, mib=8),
    )
    return [one.type for one in compiled(made)[0].operations if one.type.startswith("Zeros")]


def test_zeros_behind_a_convolution_along_one_axis_are_the_pooling_s():
    assert pooled_in_time("BiasAdd") == ["Zeros", "ZerosCopy"]
    assert pooled_in_time("Mul") == ["Zeros"]


@pytest.mark.parametrize(("kind", "expected"), [("MatMul", ["Tanh"]), ("Conv2D", [])])
def test_rows_of_a_product_are_summed_at_once_where_convolutions_have_channels_first(
    kind: str, expected: list[str]
):
    shape = (1, 64, 64, 4)
    made = program(
        op("Argument", mib=8),
        op(kind, 0, mib=64, shape=(4096, 4) if kind == "MatMul" else shape),
        op("Reshape", 1, mib=64, shape=shape),
        op("Tanh", 2, mib=64, shape=shape),
        op("Mean", 3, mib=1, shape=(1, 4)),
        op("Max", 3, 4, mib=1),
    )
    found, _ = compiled(made, A100)
    assert [one.name for one in found.operations if one.name == "Tanh"] == expected


def test_without_xla_s_own_products_the_argument_of_the_error_function_is_computed_again():
    made = program(
        op("Argument", mib=8),
        op("MatMul", 0, mib=64, dtype="float16"),
        op("Mul", 1, mib=64, dtype="float16"),
        op("Erfc", 2, mib=64, dtype="float16"),
        op("MatMul", 3, mib=8, dtype="float16"),
    )
    for card, expected in ((H100, ["Mul", "Erfc"]), (T4, ["Erfc"])):
        names = [operation.name for operation in compiled(made, card)[0].operations]
        assert [name for name in names if name in ("Mul", "Erfc")] == expected


@pytest.mark.parametrize(
    ("kinds", "kept"), [(("MatMul", "MatMul"), ["one", "other", "units"]), (("MatMul", "Mul"), ["one"])]
)
def test_units_of_two_products_are_written_where_their_rows_are_summed(
    kinds: tuple[str, str], kept: list[str]
):
    """Layers that add what nodes and their neighbours say: input_maximum_reduce_fusion.2 of proteins_by_neighbours.

    Both products stay, by whose sum the gradient asks what is positive (parameters of loop_select_fusion.2 there).
    """
    shape = (8192, 512)
    made = program(
        op("Argument", mib=16, shape=shape),
        op(kinds[0], 0, mib=16, shape=shape, name="one"),
        op(kinds[1], 0, mib=16, shape=shape, name="other"),
        op("AddV2", 1, 2, mib=16, shape=shape, name="sum"),
        op("Relu", 3, mib=16, shape=shape, name="units"),
        op("Mean", 4, mib=1, shape=(512,), name="mean"),
        op("Sub", 4, 5, mib=16, shape=shape, name="centred"),
        op("MatMul", 6, mib=16, shape=shape, name="next"),
        op("MatMul", 7, mib=16, shape=shape, name="back"),
        op("Mul", 8, 4, mib=16, shape=shape, name="scaled"),
        op("ReluGrad", 9, 4, mib=16, shape=shape, name="ReluGrad"),
        op("MatMul", 10, mib=16, shape=shape, name="last"),
    )
    found, lives = compiled(made)
    steps = {found.operations[number].name: step for step, number in enumerate(lives.order)}
    lasting = {
        found.operations[one.maker].name for one in lives.buffers if one.born < steps["back"] <= one.died
    }
    assert [name for name in ("one", "other", "units") if name in lasting] == kept
