"""The simulation of buffers, on programs small enough to follow by hand."""

from __future__ import annotations

import pytest

from oomlint.estimate.worker.graph import order
from oomlint.estimate.worker.graph.lives import rounded, simulate
from oomlint.estimate.worker.graph.loops import list_bytes
from oomlint.estimate.worker.graph.operations import Operation, Program

K = 1024


def program(*operations: Operation, fetched: int | None = None) -> Program:
    return Program(list(operations), () if fetched is None else ((fetched, 0),))


def op(kind: str, *inputs: int, size: int = 0, **more) -> Operation:
    outputs = more.pop("outputs", (size,) if size else ())
    return Operation(
        f"{kind}_{len(inputs)}", kind, tuple((number, 0) for number in inputs), outputs=outputs, **more
    )


def peak(made: Program, **more) -> int:
    return simulate(made, order.queued(made), **more).peak


def test_the_allocator_rounds_to_256():
    assert [rounded(size) for size in (0, 1, 256, 257)] == [0, 256, 256, 512]


def test_what_is_read_last_is_freed():
    # input 4, a 8, b 16 (a still there), c 2 (only b): the peak is at b.
    chain = program(
        op("Argument", size=4 * K),
        op("MatMul", 0, size=8 * K),
        op("MatMul", 1, size=16 * K),
        op("MatMul", 2, size=2 * K),
    )
    assert simulate(chain, order.queued(chain)).timeline == [4 * K, 12 * K, 28 * K, 22 * K]


def test_element_wise_operations_write_into_what_nobody_else_reads():
    relu = program(
        op("Argument", size=K),
        op("MatMul", 0, size=8 * K),
        op("Relu", 1, size=8 * K),
        op("MatMul", 2, size=K),
    )
    assert peak(relu) == K + 8 * K + K
    # Read once more afterwards, it cannot be written into.
    kept = program(
        op("Argument", size=K),
        op("MatMul", 0, size=8 * K),
        op("Relu", 1, size=8 * K),
        op("MatMul", 2, 1, size=K),
    )
    assert peak(kept) == K + 8 * K + 8 * K + K


def test_an_input_of_the_step_is_never_written_into():
    assert peak(program(op("Argument", size=8 * K), op("Relu", 0, size=8 * K))) == 16 * K


def test_an_output_of_another_size_is_not_written_into_an_input():
    # The gradient of a broadcast: 8 KiB in, 1 KiB out.
    assert peak(program(op("Argument", size=K), op("MatMul", 0, size=8 * K), op("Mul", 1, size=K))) == 10 * K


def test_a_reshaped_tensor_is_the_tensor():
    made = program(
        op("Argument", size=K),
        op("MatMul", 0, size=8 * K),
        op("Reshape", 1, size=8 * K),
        op("MatMul", 2, size=K),
    )
    assert peak(made) == 10 * K
    assert peak(made, aliasing=False) == 17 * K + K - K


def test_reading_a_variable_copies_nothing():
    made = program(
        op("Argument", size=K),
        op("ReadVariableOp", size=64 * K, variable="w"),
        op("MatMul", 0, 1, size=8 * K),
    )
    assert peak(made) == 9 * K


def test_reading_a_variable_whose_rows_are_changed_copies_it():
    for kind, more in (("ResourceScatterSub", 64 * K), ("AssignSubVariableOp", 0)):
        table = program(
            op("VarHandleOp", size=8),
            op("ReadVariableOp", 0, size=64 * K, variable="table"),
            op("GatherV2", 1, size=2 * K),
            op(kind, 0, 2, variable="table"),
        )
        assert peak(table) == 2 * K + more


def test_a_variable_takes_over_the_buffer_of_its_new_value():
    # m <- m * 0.9: 8 KiB beside the old value, which goes as soon as nothing reads it.
    made = program(
        op("ReadVariableOp", size=8 * K, variable="m"),
        op("Mul", 0, size=8 * K),
        op("AssignVariableOp", 1, variable="m"),
        op("Argument", size=2 * K),
    )
    made.operations[3].controls = (2,)
    assert simulate(made, order.as_made(made)).timeline == [0, 8 * K, 0, 2 * K]


def test_an_old_value_that_is_still_read_stays():
    made = program(
        op("ReadVariableOp", size=8 * K, variable="m"),
        op("Mul", 0, size=8 * K),
        op("AssignVariableOp", 1, variable="m"),
        op("MatMul", 0, size=K, controls=(2,)),
        op("MatMul", 3, size=K),
    )
    assert simulate(made, order.as_made(made)).timeline == [0, 8 * K, 8 * K, 9 * K, 2 * K]


def test_an_update_is_in_place():
    made = program(
        op("ReadVariableOp", size=8 * K, variable="w"),
        op("MatMul", 0, size=K),
        op("AssignSubVariableOp", 1, variable="w"),
    )
    assert simulate(made, order.as_made(made)).timeline == [0, K, K]


def test_an_update_copies_a_value_that_is_still_to_be_read():
    # Seen in a real step: the kernel's update before the product that gives the gradient of the layer's input.
    made = program(
        op("ReadVariableOp", size=8 * K, variable="w"),
        op("Argument", size=K),
        op("AssignSubVariableOp", 1, variable="w"),
        op("MatMul", 0, size=2 * K),
        op("MatMul", 3, size=K),
    )
    assert simulate(made, order.as_made(made)).timeline == [0, K, 9 * K, 11 * K, 4 * K]


def test_the_gradient_of_a_cross_entropy_lies_where_its_logits_were():
    made = program(
        op("Argument", size=K),
        op("MatMul", 0, size=8 * K),
        op("SparseSoftmaxCrossEntropyWithLogits", 1, 0, outputs=(256, 8 * K)),
    )
    made.fetched = ((2, 0), (2, 1))
    assert peak(made) == K + 8 * K + 256


def test_scratch_is_taken_while_an_operation_runs():
    made = program(op("Argument", size=K), op("Conv2D", 0, size=2 * K), op("MatMul", 1, size=2 * K))
    assert peak(made, scratch=lambda operation: 10 * K if operation.type == "Conv2D" else 0) == 13 * K


def test_a_queue_runs_what_is_ready_first():
    #   0 -> 1 -> 3
    #   0 -> 2
    made = program(op("Argument", size=K), op("MatMul", 0), op("MatMul", 0), op("MatMul", 1))
    assert order.queued(made) == [0, 1, 2, 3]


def test_a_program_in_a_circle_is_none():
    with pytest.raises(ValueError, match="2 operations wait for each other"):
        order.queued(program(op("MatMul", 1), op("MatMul", 0)))


def loop(body: Program, lists: int = 1) -> Operation:
    return Operation(
        "while", "While", outputs=(0,) * lists, dtypes=("variant",) * lists, body=body, rounds=20
    )


def test_a_loop_keeps_what_each_round_pushes():
    body = program(
        op("Given", outputs=(0,)),
        op("Given", size=3 * K),
        op("MatMul", 1, size=3 * K),
        op("TensorListPushBack", 0, 2, outputs=(0,)),
        fetched=3,
    )
    assert list_bytes(loop(body)) == (20 * 3 * K,)


def test_a_list_that_a_loop_only_reads_does_not_grow():
    assert list_bytes(
        loop(program(op("Given", outputs=(0,)), op("Identity", 0, outputs=(0,)), fetched=1))
    ) == (0,)


def test_weights_that_a_loop_keeps_for_its_gradient_take_no_room():
    body = program(
        op("Given", outputs=(0,)),
        op("ReadVariableOp", size=64 * K, variable="w"),
        op("TensorListPushBack", 0, 1, outputs=(0,)),
        fetched=2,
    )
    assert list_bytes(loop(body)) == (0,)


def test_a_state_that_is_in_two_lists_is_held_once():
    body = program(
        op("Given", outputs=(0,)),
        op("Given", outputs=(0,)),
        op("Given", size=3 * K),
        op("MatMul", 2, size=3 * K),
        op("TensorListPushBack", 0, 3, outputs=(0,)),
        op("TensorListPushBack", 1, 2, outputs=(0,)),
    )
    body.fetched, body.arguments = ((4, 0), (5, 0), (3, 0)), (0, 1, 2)
    assert list_bytes(loop(body, lists=2)) == (20 * 3 * K, 0)
