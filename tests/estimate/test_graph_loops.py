"""Loops of a step that XLA compiles: what they keep, what XLA counts for them when it compares orders, who reads them."""

from __future__ import annotations

import pytest
from estimate.graph_programs import MIB, op, program

from oomlint.estimate.worker.graph.compiled import compiled, occupied, plans
from oomlint.estimate.worker.graph.copied import left_over
from oomlint.estimate.worker.graph.operands import Operands
from oomlint.estimate.worker.graph.operations import Operation, Program
from oomlint.estimate.worker.graph.schedules import depth_first, frees_most, post_order


def loop_of(body: Program, lists: int) -> Operation:
    return Operation(
        "loop",
        "While",
        ((0, 0),),
        outputs=(0,) * lists,
        shapes=((),) * lists,
        dtypes=("variant",) * lists,
        body=body,
        rounds=10,
    )


def test_what_is_kept_for_several_gradients_is_one_array():
    """A state that four convolutions read: while.12 in the assignment of a ConvLSTM1D has one array of it, not four."""
    body = Program(
        [
            op("Given"),
            op("MatMul", 0, mib=2, name="state"),
            op("Sigmoid", 1, mib=1),
            *(op("TensorListPushBack", 0, 1) for _ in range(4)),
            op("TensorListPushBack", 0, 2),
        ]
    )
    made = Program([op("Argument", mib=8), loop_of(body, 5), op("Sum", 1, mib=1)], ((2, 0),))
    assert compiled(made)[1].peak == (8 + 10 * (2 + 1) + 1) * MIB


def test_orders_are_compared_with_what_a_loop_changes_once_more_while_it_runs():
    """XLA adds what the body takes, whose parameters are the arrays again.

    In the log of its scheduler unwanted_messages needs 77.6, 71.4 and 66.5 MiB (list, both walks), of which the arrays
    of the loop are 15.3; the rules had said 62.1, 51.1 and 51.1.
    """
    body = Program([op("Given"), op("MatMul", 0, mib=2), op("TensorListPushBack", 0, 1)])
    made = Program([op("Argument", mib=8), loop_of(body, 1), op("Sum", 1, mib=1)], ((2, 0),))
    written, _ = compiled(made)
    order = list(range(len(written.operations)))
    assert occupied(written, order).peak == (8 + 20 + 1) * MIB
    assert occupied(written, order, planned=True).peak == (8 + 20 + 20) * MIB


def test_a_list_that_is_given_with_what_it_holds_is_written_into():
    """The way back empties the gradient of what a layer gave at each time as it reads it: no second array of it."""
    body = Program(
        [
            op("Given"),
            op("Const"),
            op("MatMul", 0, mib=2),
            op("TensorListSetItem", 0, 2, 2),
        ],
        ((3, 0),),
        (0,),
    )

    def peak(*made: Operation) -> int:
        loop = loop_of(body, 1)
        loop.inputs = ((len(made) - 1, 0),)
        end = op("Sum", len(made), mib=1)
        return compiled(Program([*made, loop, end], ((len(made) + 1, 0),)))[1].peak

    whole = op("Argument", mib=8)
    filled = [whole, op("MatMul", 0, mib=20), op("TensorListFromTensor", 1)]
    assert peak(*filled) == (8 + 20) * MIB
    assert peak(whole, op("TensorListReserve", 0)) == (8 + 10 * 2 + 1) * MIB


@pytest.mark.parametrize(("read", "order"), [("While", [2, 0, 4]), ("Conv2D", [2, 4, 0])])
def test_a_scatter_reads_what_a_loop_made_from_its_list(read: str, order: list[int]):
    """input_scatter_fusion in the assignments of phones_in_pockets (while.5 last) and bearings (wrapped_transpose.5)."""
    kinds = ("PoolWindows", "Mul", "ZerosCopy", "PoolScatter", read)
    operands = Operands([Operation(kind, kind, (), (), (4,)) for kind in kinds], channels_first=True)
    operands.begin(3, [0, 1, 2])
    operands.begin(1, [4])
    operands.fuse(1, 3)
    assert operands.of(3, {0, 2, 4}) == order


@pytest.mark.parametrize("kind", ["Zeros", "ZerosCopy", "Base"])
def test_what_a_scatter_writes_into_comes_first(kind: str):
    """In the assignment of unwanted_messages input_scatter_fusion.1 reads zeros, what is scattered, where."""
    operands = Operands(
        [Operation(one, one, (), (), (4,)) for one in ("Mul", kind, "PoolScatter")], channels_first=False
    )
    operands.begin(2, [0, 1])
    assert operands.of(2, {0, 1}) == [1, 0]


def rows_of_a_table(*between: Operation) -> Program:
    """A gradient that comes late; its rows are put on zeros for both of Adam's averages."""
    return program(
        op("Argument", mib=8),
        op("MatMul", 0, mib=32, name="gradient", shape=(1024, 8192)),
        op("Zeros", mib=16, name="zeros"),
        op("ZerosCopy", 2, mib=16, name="copy"),
        op("PoolScatter", 2, 1, mib=16, name="first"),
        op("PoolScatter", 3, 1, mib=16, name="second"),
        *(op("Sum", 1, mib=1, name="norm") for _ in range(4)),
        *between,
        op("MatMul", 4, 5, 6, 7, 8, 9, mib=1, name="last", shape=(256, 1024)),
    )


def test_zeros_of_which_all_are_copies_are_written_before_all_else_by_a_walk_that_looks_ahead():
    """The first kernel of small_reader's 303 and the first two of replaced_words' 372: Adam's tables of words."""
    made = rows_of_a_table()
    assert [made.operations[one].name for one in depth_first(made)][:4] == [
        "Argument", "zeros", "copy", "gradient",
    ]  # fmt: skip
    assert [made.operations[one].name for one in post_order(made)][:2] == ["Argument", "zeros"]
    # Where a unit compares with them they have another reader, which what is copied is for.
    compared = rows_of_a_table(op("Fusion", 2, 1, mib=16, name="mask"))
    compared.operations[-1].inputs += ((10, 0),)
    assert [compared.operations[one].name for one in depth_first(compared)][:2] == ["Argument", "gradient"]
    # Where one scatter waits for the other, the later may have what was copied.
    made.operations[5].inputs += ((4, 0),)
    assert [made.operations[one].name for one in depth_first(made)][:2] == ["Argument", "gradient"]


def two_loops(second_reads: int) -> Program:
    """Each fills an array of 20 MiB; the second reads the input, or what the first made."""
    body = Program([op("Given"), op("MatMul", 0, mib=2), op("TensorListPushBack", 0, 1)])
    first, second = loop_of(body, 1), loop_of(body, 1)
    first.inputs, second.inputs = ((1, 0),), ((second_reads, 0),)
    ended = op("Sum", 2, 3, mib=1)
    before = op("MatMul", 0, mib=4, name="before", shape=(1024, 1024))
    return compiled(Program([op("Argument", mib=8), before, first, second, ended], ((4, 0),)))[0]


def test_zeros_of_loops_of_which_none_waits_for_the_others_have_one_more_that_nobody_reads():
    """Two directions of a layer; in XLA's log insults needs 530.9, 530.9 and 572.8 MiB, 65.2 of these for such zeros."""
    apart, behind = two_loops(1), two_loops(2)
    zeros = next(place for place, one in enumerate(apart.operations) if one.type == "AheadZeros")
    assert left_over(apart) == {zeros: 20 * MIB} and left_over(behind) == {}
    # A walk that looks ahead begins with them; they lie there while what the loops read is made.
    names = [apart.operations[one].type for one in depth_first(apart)]
    assert names.index("AheadZeros") < names.index("MatMul")
    # Both arrays, then one of them once more as it is changed, and in the third order the one that nobody reads.
    needed = [peak // MIB for _, peak in plans(apart)]
    assert needed[2] - needed[0] == 20


def test_zeros_are_their_own_kernel_for_a_list_that_frees_bytes():
    """tweets: zeros for rows of a table (29.3 MiB with what is copied) come behind loops whose zeros are less each."""
    body = Program(
        [
            op("Given"),
            op("MatMul", 0, mib=2, shape=(512, 1024)),
            op("TensorListPushBack", 0, 1),
            op("MatMul", 0, mib=2, shape=(1024, 512), name="other"),
            op("TensorListPushBack", 0, 3),
        ]
    )
    made = Program(
        [
            op("Argument", mib=8),
            loop_of(body, 2),
            op("Zeros", mib=30, name="zeros of rows"),
            op("PoolScatter", 2, 1, mib=30, name="scatter"),
        ],
        ((3, 0),),
    )
    found, _ = compiled(made)
    names = [found.operations[one].name for one in frees_most(found)]
    assert names.index("loop") < names.index("zeros of rows")


def layer(*behind: Operation) -> Program:
    """A loop that fills an array which a loop on the way back reads, and one that only what stands behind it reads."""
    forward = Program(
        [
            op("Given"),
            op("Given"),
            op("MatMul", 0, mib=2, shape=(1024, 512), name="state"),
            op("TensorListPushBack", 0, 2),
            op("Tanh", 2, mib=1, shape=(512, 512), name="out"),
            op("TensorListPushBack", 1, 4),
        ],
        ((3, 0), (5, 0)),
        (0, 1),
    )
    backward = Program([op("Given"), op("MatMul", 0, mib=1, name="gradient")], ((0, 0),), (0,))
    first, last = loop_of(forward, 2), loop_of(backward, 1)
    first.inputs = ((1, 0), (2, 0))
    last.inputs, last.name = ((3, 0),), "back"
    operations = [op("Argument", mib=8), op("EmptyTensorList", 0), op("EmptyTensorList", 0), first]
    for one in behind:
        one.inputs = tuple((number, int(number == 3)) for number, _ in one.inputs)
    return Program([*operations, *behind, last, op("Sum", 4 + len(behind), mib=1)], ((5 + len(behind), 0),))


def test_what_a_layer_gives_ends_where_the_next_has_read_it():
    """while.19 of machines_rebuilt has eight arrays, of which while.20, its gradient, is given seven."""
    read = op("MatMul", 3, mib=1, shape=(256, 1024), name="next")
    found, lives = compiled(layer(read, op("MatMul", 4, mib=4, shape=(1024, 1024), name="dense")))
    steps = {found.operations[number].name: step for step, number in enumerate(lives.order)}
    arrays = {one.size: one.died for one in lives.buffers if found.operations[one.maker].type == "Ahead"}
    assert arrays[10 * MIB] == steps["next"] and arrays[20 * MIB] >= steps["back"]


def test_zeros_of_a_loop_s_shape_do_not_wait_for_the_loop():
    """Of a sum of gradients: fill of the weight's shape, which the loop hands on."""
    found, _ = compiled(layer(op("ZerosLike", 3, mib=4, name="zeros like"), op("Neg", 4, mib=4, name="sum")))
    loop = next(place for place, one in enumerate(found.operations) if one.name == "loop")
    assert all(
        one.name not in ("zeros like", "sum") or (loop, 0) not in one.inputs for one in found.operations
    )


def test_dropout_beside_a_layer_reads_the_zeros_that_its_loop_s_are_copied_from():
    """With the time in front; in the log of trucks_wear_out 3.8 MiB of 96 are for them."""
    chosen = [
        op("GreaterEqual", 0, mib=10, dtype="bool", shape=(512, 10, 512), name="mask"),
        op("Const"),
        op("SelectV2", 4, 3, 5, mib=10, shape=(512, 10, 512), name="dropout"),
        op("Transpose", 6, mib=10, shape=(10, 512, 512), name="time in front"),
        op("MatMul", 7, mib=1, shape=(256, 1024), name="next"),
    ]
    found, _ = compiled(layer(*chosen))
    (constant,) = (place for place, one in enumerate(found.operations) if one.type == "AheadConstant")
    assert sum(found.operations[constant].outputs) == 10 * MIB
    assert [one.name for one in found.operations if (constant, 0) in one.inputs] == ["time in front"]
    chosen[-2].type = "Reshape"  # as it lies: another constant
    assert "AheadConstant" not in [one.type for one in compiled(layer(*chosen))[0].operations]
