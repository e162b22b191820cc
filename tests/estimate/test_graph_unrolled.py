"""Loops in rounds, and the lists that they keep, on programs small enough to follow by hand."""

from __future__ import annotations

from oomlint.estimate.worker.graph import order
from oomlint.estimate.worker.graph.lives import simulate
from oomlint.estimate.worker.graph.operations import Operation, Program
from oomlint.estimate.worker.graph.unrolled import AT_ONCE, unrolled

K = 1024
LIST, COUNTER, STATE = "variant", "int32", "float32"


def op(kind: str, *inputs: tuple[int, int], size: int = 0, dtype: str = "float32", **more) -> Operation:
    outputs = more.pop("outputs", (size,) if size or dtype == LIST else ())
    dtypes = more.pop("dtypes", (dtype,) * len(outputs))
    shapes = more.pop("shapes", ((),) * len(outputs))
    return Operation(kind, kind, inputs, outputs=outputs, dtypes=dtypes, shapes=shapes, **more)


def given(dtype: str, size: int = 0) -> Operation:
    return op("Given", outputs=(size,), dtype=dtype)


def condition(*dtypes: str) -> Program:
    operations = [given(dtype, 4 if dtype == COUNTER else 0) for dtype in dtypes]
    operations.append(op("Less", (0, 0), size=1, dtype="bool"))
    return Program(operations, ((len(dtypes), 0),), tuple(range(len(dtypes))))


def recurrent(rounds: int) -> Program:
    """state <- state x kernel, 4 KiB each; every state is pushed; afterwards a stack of all is made."""
    body = Program(
        [
            given(COUNTER, 4),
            given(STATE, 4 * K),
            given(LIST),
            op("AddV2", (0, 0), size=4, dtype=COUNTER),
            op("MatMul", (1, 0), size=4 * K),
            op("TensorListPushBack", (2, 0), (4, 0), dtype=LIST),
        ],
        ((3, 0), (4, 0), (5, 0)),
        (0, 1, 2),
    )
    loop = op(
        "While",
        (0, 0),
        (1, 0),
        (2, 0),
        outputs=(4, 4 * K, 0),
        dtypes=(COUNTER, STATE, LIST),
        shapes=((), (), ()),
        body=body,
        condition=condition(COUNTER, STATE, LIST),
        rounds=rounds,
    )
    return Program(
        [
            op("Const", size=4, dtype=COUNTER),
            op("Argument", size=4 * K),
            op("TensorListReserve", dtype=LIST),
            loop,
            op("TensorListStack", (3, 2), size=rounds * 4 * K),
        ],
        ((4, 0),),
    )


def peak(program: Program) -> int:
    made = unrolled(program)
    return simulate(made, order.queued(made)).peak


def test_a_list_holds_the_states_of_all_rounds():
    # The first state, ten states, the stack of them; counters and what the condition gives are 256 B each.
    assert 0 <= peak(recurrent(10)) - (1 + 10 + 10) * 4 * K <= 4 * 256


def test_each_round_has_operations_of_its_own():
    kinds = [operation.type for operation in unrolled(recurrent(10)).operations]
    assert (kinds.count("MatMul"), kinds.count("Less"), kinds.count("While")) == (10, 11, 0)


def test_a_state_that_no_list_holds_goes_with_its_round():
    program = recurrent(10)
    program.operations[3].body.operations[5] = op("Identity", (2, 0), dtype=LIST)
    program.operations[4] = op("MatMul", (3, 1), size=K)
    # The first state is the step's input and stays; of the others two at a time.
    assert 0 <= peak(program) - 3 * 4 * K <= 4 * 256


def test_rounds_run_ahead_only_so_far():
    """What needs the counter only, 64 KiB a round, waits for a state that is computed one round after the other."""
    body = Program(
        [
            given(COUNTER, 4),
            given(STATE, 256),
            op("AddV2", (0, 0), size=4, dtype=COUNTER),
            op("Fill", (0, 0), size=64 * K),
            op("MatMul", (1, 0), size=256),
            *(op("MatMul", (number, 0), size=256) for number in range(4, 44)),
            op("MatMul", (44, 0), (3, 0), size=256),
        ],
        ((2, 0), (45, 0)),
        (0, 1),
    )
    loop = op(
        "While",
        (0, 0),
        (1, 0),
        outputs=(4, 256),
        dtypes=(COUNTER, STATE),
        shapes=((), ()),
        body=body,
        condition=condition(COUNTER, STATE),
        rounds=100,
    )
    program = Program([op("Const", size=4, dtype=COUNTER), op("Argument", size=256), loop], ((2, 1),))
    assert AT_ONCE == 32
    assert 0 <= peak(program) - 32 * 64 * K < 64 * K


def test_a_list_made_of_a_tensor_is_a_copy_of_its_rows_and_a_popped_row_goes():
    made = Program(
        [
            op("Argument", size=8 * K, shapes=((4, 512),)),
            op("TensorListFromTensor", (0, 0), dtype=LIST),
            op("TensorListPopBack", (1, 0), outputs=(0, 2 * K), dtypes=(LIST, "float32")),
            op("MatMul", (2, 1), size=256),
            op("TensorListStack", (2, 0), size=6 * K),
        ],
        ((3, 0), (4, 0)),
    )
    lives = simulate(made, order.as_made(made))
    assert lives.timeline == [8 * K, 16 * K, 16 * K, 16 * K + 256, 14 * K + 256 + 6 * K]


def test_zeros_like_a_list_are_zeros_for_each_row_and_a_sum_is_by_rows():
    made = Program(
        [
            op("Argument", size=8 * K, shapes=((4, 512),)),
            op("TensorListFromTensor", (0, 0), dtype=LIST),
            op("ZerosLike", (1, 0), dtype=LIST),
            op("AddN", (1, 0), (2, 0), dtype=LIST),
            op("TensorListStack", (3, 0), size=8 * K),
        ],
        ((4, 0),),
    )
    assert simulate(made, order.as_made(made)).timeline == [8 * K, 16 * K, 24 * K, 32 * K, 24 * K]
