"""What XLA writes by one kernel, and what waits for a variable's change, on programs small enough to follow by hand."""

from __future__ import annotations

from dataclasses import replace

import pytest
from estimate.graph_programs import MIB, op, program

from oomlint.estimate.worker.graph.compiled import compiled, occupied
from oomlint.estimate.worker.graph.lowering import lowered
from oomlint.estimate.worker.graph.merging import merge_products
from oomlint.estimate.worker.graph.operations import Operation, Program
from oomlint.estimate.worker.graph.schedules import depth_first, frees_most
from oomlint.estimate.worker.graph.together import together


def joined(*operations: Operation, cublas: bool = False) -> Program:
    ends = tuple((number, 0) for number, one in enumerate(operations) if one.name == "end")
    return together(Program(list(operations), ends), cublas)


def types(made: Program) -> list[str]:
    return [operation.type for operation in made.operations]


def test_kernels_that_read_one_tensor_in_the_same_loop_are_one():
    made = joined(
        op("Argument", mib=8),
        op("Sort", 0, mib=4),
        op("Fusion", 1, mib=16),
        op("Fusion", 1, mib=16),
        op("MatMul", 2, 3, name="end", mib=1),
    )
    assert types(made) == ["Argument", "Sort", "Together", "Beside", "MatMul"]
    for order in (frees_most(made), depth_first(made)):
        assert order == [0, 1, 2, 3, 4]
        assert occupied(made, order).timeline == [8 * MIB, 12 * MIB, 44 * MIB, 40 * MIB, 41 * MIB]


def test_not_those_of_other_sides_nor_those_of_a_product_of_xla_s_own_nor_one_that_waits_for_the_other():
    first = [op("Argument", mib=8), op("MatMul", 0, mib=4)]
    pair = [op("Fusion", 1, mib=16), op("Fusion", 1, mib=16), op("MatMul", 2, 3, name="end", mib=1)]
    assert "Together" not in types(joined(*first, *pair))
    assert "Together" in types(joined(*first, *pair, cublas=True))
    other = op("Fusion", 1, mib=16, shape=(2, MIB, 2))
    assert "Together" not in types(joined(*first, pair[0], other, pair[2], cublas=True))
    chain = op("Fusion", 1, 2, mib=16)
    assert "Together" not in types(joined(*first, pair[0], chain, pair[2], cublas=True))


def test_such_a_kernel_waits_for_all_that_any_of_them_reads():
    # Both losses read what is wanted: both passes forward come first, and what each keeps is there at once.
    made = joined(
        op("Argument", mib=1),
        op("Sort", 0, mib=2, name="wanted"),
        op("Sort", 0, mib=32, name="one"),
        op("Sort", 0, mib=64, name="other"),
        op("Fusion", 1, 2, mib=4, name="one's loss"),
        op("Fusion", 1, 3, mib=4, name="other's loss"),
        op("Sort", 4, 2, mib=1, name="end"),
        op("Sort", 5, 3, mib=1, name="end"),
    )
    names = [made.operations[number].name for number in frees_most(made)]
    assert max(names.index("one"), names.index("other")) < names.index("end")
    assert occupied(made, frees_most(made)).peak >= (1 + 2 + 32 + 64 + 4 + 4) * MIB


def test_each_writes_over_what_only_it_reads():
    made = joined(
        op("Argument", mib=1),
        op("Sort", 0, mib=16, name="shared"),
        op("Sort", 0, mib=16),
        op("Sort", 0, mib=16),
        op("Fusion", 1, 2, mib=16),
        op("Fusion", 1, 3, mib=16),
        op("Sort", 4, 5, mib=1, name="end"),
    )
    # The three; the two results lie where the two lay that one of them reads each, never where both read.
    assert occupied(made, frees_most(made)).peak == (1 + 3 * 16) * MIB
    alone = joined(
        op("Argument", mib=1),
        op("Sort", 0, mib=16, name="shared"),
        op("Fusion", 1, mib=16),
        op("Fusion", 1, mib=16),
        op("Sort", 2, 3, mib=1, name="end"),
    )
    assert occupied(alone, frees_most(alone)).peak == (1 + 3 * 16) * MIB


def test_a_variable_s_moments_and_value_are_changed_by_one_kernel():
    def change(number: int) -> Operation:
        return replace(op("Update", number), shapes=((4, 4),))

    made = joined(op("Argument", mib=1), op("MatMul", 0, mib=8), change(1), change(1), change(1), cublas=True)
    assert types(made) == ["Argument", "MatMul", "Update", "Beside", "Beside"]


def test_sums_of_one_tensor_are_one_kernel_where_they_go_the_same_way():
    def total(shape: tuple[int, ...]) -> Operation:
        return replace(op("Sum", 1, mib=1), shapes=(shape, (64, 32)))

    first = [op("Argument", mib=1), op("Sort", 0, mib=8)]
    assert types(joined(*first, total((32,)), total((1, 32))))[2:] == ["Sum", "Beside"]
    assert types(joined(*first, total((32,)), total((64,))))[2:] == ["Sum", "Sum"]


def test_a_pass_through_what_was_trained_comes_after_its_change():
    handle = replace(op("Placeholder"), outputs=(4,), dtypes=("resource",), shapes=((),))

    def read(*after: int) -> Operation:
        made = op("ReadVariableOp", 1, mib=1)
        return replace(made, variable="judge", controls=after)

    change = replace(op("AssignSubVariableOp", 1, 3), variable="judge")
    step = Program(
        [
            op("Argument", mib=8),
            handle,
            read(),
            op("MatMul", 0, 2, mib=1, name="gradient"),
            change,
            read(4),
            op("MatMul", 0, 5, mib=64, name="generator's"),
        ],
        ((6, 0),),
    )
    found = lowered(step)
    second = next(one for one in found.operations if one.name == "generator's")
    again = found.operations[second.inputs[1][0]]
    assert [found.operations[number].name for number, _ in again.inputs] == ["gradient"]
    program, lives = compiled(step)
    names = [program.operations[number].name for number in lives.order]
    assert names.index("gradient") < names.index("generator's")


def loop(name: str, source: int, begun: int, rounds: int = 10) -> Operation:
    """One that pushes a MiB in each round to the list that it is given second."""
    body = Program(
        [op("Given", mib=1), op("Given"), op("Tanh", 0, mib=1), op("TensorListPushBack", 1, 2)],
        ((2, 0), (3, 0)),
        arguments=(0, 1),
    )
    return Operation(
        name, "While", ((source, 0), (begun, 0)), (), (MIB, 0), ((4,), ()), ("float32", "variant"), body=body,
        rounds=rounds,
    )  # fmt: skip


def peak_of_two(begun: str, rounds: int) -> int:
    # The first loop's list of ten is given back as its sum is written, before a product of two sides of 48 MiB
    # that the second loop waits for.
    list_of = op(begun, name="list")
    second = op("TensorListFromTensor", 0, name="filled") if begun == "TensorListFromTensor" else list_of
    step = Program(
        [
            op("Argument", mib=1),
            op("EmptyTensorList"),
            loop("first", 0, 1),
            replace(op("Sum", mib=1), inputs=((2, 0), (2, 1))),
            op("Sort", 3, mib=48),
            op("Sum", 4, mib=1),
            second,
            loop("second", 5, 6, rounds),
        ],
        ((7, 0), (7, 1)),
    )
    return compiled(step)[1].peak // MIB


def test_lists_of_one_shape_are_written_before_the_first_of_their_loops():
    # Argument, first sum, sorted, its sum; and where it is ready, the second loop's ten.
    assert peak_of_two("EmptyTensorList", 10) == peak_of_two("EmptyTensorList", 9) + 10
    assert peak_of_two("TensorListFromTensor", 10) == peak_of_two("EmptyTensorList", 9)


def test_a_product_over_one_for_each_of_many_is_computed_where_it_is_read():
    def product(*sides: int) -> Program:
        left = replace(op("Relu", 0, mib=1), shapes=((64, sides[0], sides[1]),))
        right = replace(op("Relu", 0, mib=1), shapes=((64, sides[1], sides[2]),))
        made = replace(op("BatchMatMulV2", 1, 2, mib=64), shapes=((64, sides[0], sides[2]),))
        return Program(
            [op("Argument", mib=1), left, right, made, op("Sum", 3, mib=1)],
            ((4, 0),),
        )

    assert {one.type for one in lowered(product(8, 1, 8)).operations} >= {"Mul"}
    assert "Mul" not in {one.type for one in lowered(product(8, 2, 8)).operations}
    assert "Mul" not in {one.type for one in lowered(product(1, 1, 8)).operations}


def test_rows_of_several_lookups_are_written_for_the_sum_by_row():
    def peak(kind: str) -> int:
        step = Program(
            [
                op("Argument", mib=1),
                op("Sort", 0, mib=8),
                op("Sort", 0, mib=8),
                op(kind, 1, 2, mib=64),
                op("UnsortedSegmentSum", 3, mib=4),
            ],
            ((4, 0),),
        )
        return compiled(step)[1].peak // MIB

    # Argument, both, what is joined of them; else the sum's zeros beside both.
    assert peak("ConcatV2") == 1 + 8 + 8 + 64
    assert peak("AddV2") == 1 + 8 + 8 + 4


def test_where_cublas_multiplies_a_relu_s_gradient_asks_the_product():
    step = Program(
        [
            op("Argument", mib=1),
            op("MatMul", 0, mib=64),
            op("Relu", 1, mib=64),
            op("MatMul", 2, mib=64),
            op("ReluGrad", 3, 2, mib=64),
        ],
        ((4, 0),),
    )
    for cublas, asked in ((True, "MatMul"), (False, "Relu")):
        found = lowered(step, cublas=cublas).operations
        mask = next(one for one in found if one.name == "ReluGrad/positive")
        assert found[mask.inputs[0][0]].type == asked


# The other pair's weight is another, or the same for products of another shape.
@pytest.mark.parametrize(("other", "size"), [("w", 1), ("v", 2)])
def test_products_are_not_merged_into_a_circle(other, size):
    # The second of each pair waits for the first of the other: one pair can be one product, both cannot.
    made = program(
        op("Argument", mib=1, name="x"),
        op("Argument", mib=1, name="y"),
        replace(op("ReadVariableOp", mib=1, name="first"), variable="v"),
        replace(op("ReadVariableOp", mib=1, name="second"), variable=other),
        op("MatMul", 0, 2, mib=1),
        op("MatMul", 1, 3, mib=size),
        op("Neg", 5, mib=1),
        op("Neg", 4, mib=1),
        op("MatMul", 6, 2, mib=1),
        op("MatMul", 7, 3, mib=size),
    )
    operations = list(made.operations)
    merge_products(made, operations)
    assert [one.type for one in operations[len(made.operations) :]] == ["MatMul"]
    assert [number for number, one in enumerate(operations) if one.type == "Slice"] == [4, 8]
