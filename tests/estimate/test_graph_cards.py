"""What XLA does otherwise by the generation of the card, where its own kernels do not fit, and other special buffers."""

from __future__ import annotations

import pytest
from estimate.graph_programs import MIB, op, program

from oomlint.estimate.worker.graph.cards import Card, card_of
from oomlint.estimate.worker.graph.compiled import compiled
from oomlint.estimate.worker.graph.lives import simulate
from oomlint.estimate.worker.graph.operations import Program

T4, A100, H100 = map(card_of, ("T4", "A100-40GB", "H100-80GB"))


def peak(made: Program, card: Card) -> int:
    return compiled(made, card)[1].peak // MIB


def test_cards_by_generation():
    assert (T4.triton, A100.triton, H100.triton) == (False, True, True)
    assert (T4.channels_first, A100.channels_first, H100.channels_first) == (True, True, False)
    # cuBLAS' own advice: https://docs.nvidia.com/cuda/cublas/#cublassetworkspace
    assert [card.lent_to_cublas // MIB for card in (T4, A100, H100)] == [4, 4, 32]
    assert card_of("24GiB") == A100


def attention(positions: int, width: int = 16, kind: str = "Einsum") -> Program:
    """Heads, and the projection that reads them as rows of 64."""
    heads = op("Argument", mib=8, shape=(32, 4, positions, width))
    weights = op("Argument", mib=1, shape=(64, 64))
    exchanged = op(kind, 0, mib=8, shape=(32, positions, 4, width))
    rows = op("Reshape", 2, mib=8, shape=(32, positions, 64))
    return program(heads, weights, exchanged, rows, op("MatMul", 3, 1, mib=8, shape=(32, positions, 64)))


@pytest.mark.parametrize("kind", ["Einsum", "Transpose"])
def test_attention_whose_positions_fill_no_tiles_leaves_all_products_to_cublas(kind: str):
    # Both arguments, what the projection reads, and its result.
    assert peak(attention(192, kind=kind), H100) == 8 + 1 + 8 + 8
    assert peak(attention(200, kind=kind), H100) == 8 + 1 + 8 + 8 + 32
    assert peak(attention(200, kind=kind), A100) == 8 + 1 + 8 + 8 + 4
    assert peak(attention(192, width=36, kind=kind), H100) == 8 + 1 + 8 + 8 + 32


def test_before_ampere_all_products_but_those_of_vectors_are_cublas_s():
    for shape, lent in (((512, 64), 4), ((512, 1), 0)):
        made = program(
            op("Argument", mib=8, shape=(512, 64)),
            op("Argument", mib=1, shape=(64, shape[1])),
            op("MatMul", 0, 1, mib=8, shape=shape),
        )
        assert peak(made, T4) == 8 + 1 + 8 + lent
        assert peak(made, H100) == 8 + 1 + 8


def test_rows_too_long_for_one_kernel_are_written_over():
    def softmax(classes: int) -> Program:
        shape = (64 * MIB // 4 // classes, classes)
        return program(
            op("Argument", mib=8),
            op("MatMul", 0, mib=64, shape=shape),
            op("Softmax", 1, mib=64, shape=shape),
            op("MatMul", 2, mib=8),
        )

    assert peak(softmax(16384), H100) == 8 + 64 + 64
    assert peak(softmax(32768), H100) == 8 + 64 + 8
    # No kernels of Triton's there, but what cuBLAS makes is not written over.
    assert peak(softmax(1024), T4) == 8 + 64 + 64


def test_the_zeros_of_all_tables_gradients_are_written_at_once():
    tables = 4
    made = program(
        op("Argument", mib=8),
        *(op("UnsortedSegmentSum", 0, mib=64) for _ in range(tables)),
        *(op("ResourceApplyGradientDescent", 1 + number) for number in range(tables)),
        op("Sum", 0, mib=1),
    )
    # Each would be done with before the next, were its zeros written for it alone.
    assert peak(made, H100) == 8 + tables * 64


def test_sums_in_a_temporary_variable_take_one_buffer():
    made = program(
        op("Argument", mib=8),
        op("TemporaryVariable", mib=64),
        op("MatMul", 0, mib=64),
        op("AssignAdd", 1, 2, mib=64),
        op("MatMul", 0, mib=64),
        op("AssignAdd", 3, 4, mib=64),
        op("DestroyTemporaryVariable", 5, mib=64),
        op("Sum", 6, mib=1),
    )
    # The input, the variable, and one summand at a time.
    assert simulate(made, range(8)).peak == (8 + 64 + 64) * MIB


def test_zeros_do_not_wait_for_a_relu_behind_the_pooling_that_reads_them():
    made = program(
        op("Argument", mib=8),
        op("Conv2D", 0, mib=64),
        op("Relu", 1, mib=64),
        op("MaxPool", 2, mib=16),
        op("Conv2D", 3, mib=64),
        op("Relu", 4, mib=64),
        op("MatMul", 5, mib=16),
        op("MaxPoolGrad", 2, 3, 6, mib=64),
        op("MatMul", 7, 5, mib=8),
    )
    names = [operation.name for operation in compiled(made)[0].operations]
    assert names.index("zeros") < names.index("MaxPool") < names.index("MatMul")
