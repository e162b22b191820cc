"""What XLA makes one kernel of, on programs small enough to follow by hand."""

from __future__ import annotations

from oomlint.estimate.worker.graph.compiled import compiled
from oomlint.estimate.worker.graph.fusion import kernels
from oomlint.estimate.worker.graph.operations import Operation, Program

MIB = 1 << 20


def op(kind: str, *inputs: int, mib: int = 0, name: str = "") -> Operation:
    sizes = (mib * MIB,) if mib else ()
    return Operation(
        name or kind,
        kind,
        tuple((number, 0) for number in inputs),
        outputs=sizes,
        shapes=tuple((size // 4,) for size in sizes),
    )


def program(*operations: Operation) -> Program:
    return Program(list(operations), ((len(operations) - 1, 0),))


def kinds(made: Program) -> list[str]:
    return [operation.type for operation in kernels(made).operations]


def test_a_chain_of_elements_is_one_kernel():
    made = program(
        op("Argument", mib=8),
        op("MatMul", 0, mib=64),
        op("Mul", 1, mib=64),
        op("Tanh", 2, mib=64),
        op("MatMul", 3, mib=8),
    )
    assert kinds(made) == ["Argument", "MatMul", "Fusion", "MatMul"]
    # The input, the product, which the only kernel that reads it writes over, and the result.
    assert compiled(made)[1].peak == (8 + 64 + 8) * MIB


def test_what_a_product_reads_is_written():
    made = program(op("Argument", mib=8), op("Mul", 0, mib=64), op("MatMul", 1, mib=8), op("Tanh", 1, mib=64))
    assert kinds(made) == ["Argument", "Fusion", "MatMul", "Fusion"]


def test_an_element_is_computed_again_where_it_is_read_twice():
    made = program(
        op("Argument", mib=8),
        op("MatMul", 0, mib=64),
        op("Mul", 1, mib=64),
        op("Sum", 2, mib=1),
        op("Max", 2, mib=1),
    )
    assert kinds(made) == ["Argument", "MatMul", "Sum", "Max"]


def test_an_element_of_many_inputs_with_many_readers_is_written():
    # Four readers would read three tensors each, 12 x 64 MiB, in place of 3 + 1 + 4 x 64.
    sources = [op("MatMul", 0, mib=64, name=f"product {number}") for number in range(3)]
    made = program(
        op("Argument", mib=8), *sources, op("AddN", 1, 2, 3, mib=64), *(op("Sum", 4, mib=1) for _ in range(4))
    )
    assert "Kernel" in kinds(made)


def test_random_numbers_are_not_drawn_twice():
    made = program(
        op("Argument", mib=8),
        op("StatelessRandomUniformV2", 0, mib=64),
        op("Sum", 1, mib=1),
        op("Max", 1, mib=1),
    )
    assert kinds(made) == ["Argument", "Fusion", "Sum", "Max"]


def relu_behind(kind: str) -> Operation:
    """What the gradient of a ReLU behind an operation of that kind becomes."""
    made = program(
        op("Argument", mib=8),
        op(kind, 0, mib=64),
        op("Relu", 1, mib=64),
        op("MatMul", 2, mib=64),
        op("ReluGrad", 3, 2, mib=64),
        op("MatMul", 4, mib=8),
    )
    return kernels(made).operations[4]


def test_the_gradient_of_a_relu_reads_the_convolution_before_it():
    assert relu_behind("Conv2D").inputs == ((1, 0), (3, 0))


def test_the_gradient_of_a_relu_in_a_product_s_kernel_reads_the_relu():
    assert relu_behind("MatMul").inputs == ((2, 0), (3, 0))


def test_pooling_s_gradient_holds_zeros_from_the_relu_on_and_an_index_for_each_axis():
    made = program(
        op("Argument", mib=8),
        op("Conv2D", 0, mib=64),
        op("Relu", 1, mib=64),
        op("MaxPool", 2, mib=16),
        op("MaxPoolGrad", 2, 3, 3, mib=64),
        op("MatMul", 4, mib=8),
    )
    found, lives = compiled(made)
    zeros = [operation for operation in found.operations if operation.type == "Zeros"]
    assert [operation.outputs for operation in zeros] == [(64 * MIB,)]
    # Input, ReLU, zeros and the gradient, the pooled (16), and its value with one index (the shapes here have one axis).
    assert lives.peak == (8 + 3 * 64 + 16 + 2 * 16) * MIB


def test_updates_take_nothing_and_come_as_soon_as_they_can():
    made = Program(
        [
            op("Argument", mib=8),
            op("MatMul", 0, mib=64, name="gradient"),
            op("MatMul", 0, mib=64, name="next"),
            op("Sum", 2, mib=1),
            op("ResourceApplyAdam", 1),
        ],
        ((3, 0),),
    )
    assert compiled(made)[1].peak == (8 + 64 + 1) * MIB


def test_a_loop_keeps_the_kernel_for_each_round_where_lists_are_arrays():
    body = Program(
        [
            op("Given"),
            op("ReadVariableOp", mib=4),
            op("MatMul", 1, mib=2),
            op("TensorListPushBack", 0, 1),
            op("TensorListPushBack", 0, 2),
        ]
    )
    loop = Operation(
        "loop", "While", ((0, 0),), (), (0, 0), ((), ()), ("variant", "variant"), body=body, rounds=10
    )
    made = Program([op("Argument", mib=8), loop, op("Sum", 1, mib=1)], ((2, 0),))
    assert compiled(made)[1].peak == (8 + 10 * (4 + 2) + 1) * MIB
