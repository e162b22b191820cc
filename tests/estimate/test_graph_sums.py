"""Gradients of tables, and loops of which not all is read: what XLA writes of them, followed by hand."""

from __future__ import annotations

from dataclasses import replace

from estimate.graph_programs import MIB, op, program

from oomlint.estimate.worker.graph.compiled import compiled
from oomlint.estimate.worker.graph.lowering import lowered
from oomlint.estimate.worker.graph.operations import Operation, Program
from oomlint.estimate.worker.graph.unread import leave_out_unread

TABLE = (4096, 1024)  # 16 MiB


def kinds(made: Program) -> list[str]:
    return sorted(
        one.type
        for one in lowered(made).operations
        if one.type in ("Zeros", "ZerosCopy", "Base", "PoolScatter")
    )


def looked_up(*more: Operation, count: int = 2) -> Program:
    rows = [op("Sort", 0, mib=1, shape=(256, 1024)) for _ in range(count)]
    sums = [op("UnsortedSegmentSum", 1 + one, 0, mib=16, shape=TABLE) for one in range(count)]
    return program(op("Argument", mib=1), *rows, *sums, *more)


def test_rows_of_one_table_go_into_one_sum():
    # `HandleAdd` in XLA's algebraic simplifier: scatters that are added are one scatter of all rows.
    made = looked_up(op("AddN", 3, 4, mib=16, shape=TABLE), op("Sort", 5, mib=16, shape=TABLE))
    assert kinds(made) == ["PoolScatter", "Zeros"]
    assert compiled(made)[1].peak == (1 + 16 + 16) * MIB  # the rows are gone by then


def test_what_is_added_to_a_whole_tensor_goes_into_that():
    dense = op("Mul", 0, mib=16, shape=TABLE)
    made = looked_up(dense, op("AddN", 5, 3, 4, mib=16, shape=TABLE), op("Sort", 6, mib=16, shape=TABLE))
    assert kinds(made) == ["Base", "PoolScatter"]


def test_rows_that_a_loop_stacked_are_a_sum_of_their_own():
    made = looked_up(op("AddN", 3, 4, mib=16, shape=TABLE), op("Sort", 5, mib=16, shape=TABLE))
    made.operations[2] = replace(made.operations[2], type="TensorListStack")
    assert kinds(made) == ["PoolScatter", "PoolScatter", "Zeros", "ZerosCopy"]


def test_two_tables_are_two_sums():
    made = looked_up(op("Sort", 3, 4, mib=16, shape=TABLE))
    assert kinds(made) == ["PoolScatter", "PoolScatter", "Zeros", "ZerosCopy"]


def loop(*read: int) -> Program:
    """A loop that counts, sums, and multiplies with a kernel for a gradient; `read` are its outputs that are read."""
    body = Program(
        [
            op("Given"),
            op("Given"),
            op("Given"),
            op("Given"),
            op("MatMul", 1, 3, mib=4, name="product"),
            op("TensorListSetItem", 2, 0, 4, name="written"),
            op("Add", 1, 1, mib=4, name="sum"),
        ],
        ((0, 0), (6, 0), (5, 0), (3, 0)),
        (0, 1, 2, 3),
    )
    given = [op("Const"), op("Sort", 0, mib=4), op("TensorListReserve"), op("Sort", 0, mib=8, name="kept")]
    made = replace(
        op("While", 0, 1, 2, 3),
        outputs=(4, 4 * MIB, 8, 8 * MIB),
        dtypes=("int32", "float32", "variant", "float32"),
        body=body,
        rounds=8,
    )
    last = replace(op("Sort", mib=1, name="end"), inputs=tuple((4, one) for one in read))
    return program(*given, made, last)


def test_a_list_that_nobody_reads_is_not_made_nor_what_only_it_needs():
    made = leave_out_unread(loop(1))
    left = made.operations[4]
    assert left.body is not None
    assert [one.type for one in left.body.operations] == ["Given"] * 4 + ["NoOp", "NoOp", "Add"]
    assert [made.operations[one].type for one, _ in left.inputs] == ["Const", "Sort", "Const", "Const"]
    whole = leave_out_unread(loop(1, 2)).operations[4]
    assert whole == loop(1, 2).operations[4]


def test_a_list_is_the_array_that_it_was_made_of():
    # What the loop reads stays while it runs: loop_transpose_fusion{0} in XLA's assignment of same_question.
    body = Program([op("Given"), op("Sort", 0, mib=1)], ((0, 0),), (0,))
    made = program(
        op("Argument", mib=1),
        op("Sort", 0, mib=32),
        op("TensorListFromTensor", 1),
        replace(op("While", 2, mib=4), body=body, dtypes=("float32",)),
        op("Sort", 3, mib=1),
    )
    assert compiled(made)[1].peak >= (1 + 32 + 4) * MIB
