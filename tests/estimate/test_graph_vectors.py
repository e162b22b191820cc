"""Products of vectors, ReLUs that are written beside the product they are of, and what cannot be written over.

Each as XLA's compiler has it in the assignment that the rule names, on programs small enough to follow by hand.
"""

from __future__ import annotations

import pytest
from estimate.graph_programs import MIB, op, program

from oomlint.estimate.worker.graph.cards import HOPPER
from oomlint.estimate.worker.graph.compiled import compiled
from oomlint.estimate.worker.graph.fusion import kernels
from oomlint.estimate.worker.graph.lowering import lowered
from oomlint.estimate.worker.graph.operations import Operation, Program
from oomlint.estimate.worker.graph.products import by_cublas

ROWS = 64 * MIB // 4 // 128  # of 128 columns: 64 MiB


def test_what_is_exchanged_is_not_written_over():
    """The kernel reads an element where it writes another: 64 MiB beside 64 (loop_transpose_fusion.2, digits_on_a_graph)."""
    sides = (512, ROWS // 512, 128)
    made = program(
        op("Argument", mib=8),
        op("MatMul", 0, mib=64, shape=sides),
        op("Transpose", 1, mib=64, shape=(sides[1], sides[0], sides[2])),
        op("Elu", 2, mib=64, shape=(sides[1], sides[0], sides[2])),
        op("MatMul", 3, mib=8),
    )
    assert [one.type for one in kernels(made).operations] == ["Argument", "MatMul", "Fusion", "MatMul"]
    assert compiled(made)[1].peak == (8 + 64 + 64) * MIB


@pytest.mark.parametrize(("reader", "both"), [("TopKV2", 64), ("MatMul", 0)])
def test_a_relu_that_is_sorted_stays_beside_its_product(reader: str, both: int):
    """Its gradient asks the product (gemm_fusion_MatMul.3 and loop_maximum_fusion, few_features_of_many)."""
    made = program(
        op("Argument", mib=8),
        op("MatMul", 0, mib=64, shape=(ROWS, 128)),
        op("Relu", 1, mib=64, shape=(ROWS, 128)),
        op(reader, 2, mib=1, name="reader"),
        op("MatMul", 3, mib=64, shape=(ROWS, 128), name="back"),
        op("ReluGrad", 4, 2, mib=64, shape=(ROWS, 128)),
        op("MatMul", 5, mib=8),
    )
    found, lives = compiled(made)
    step = next(step for step, number in enumerate(lives.order) if found.operations[number].name == "reader")
    # The input, the product that the unit is written over or beside, and what is read from it.
    assert lives.timeline[step] == (8 + 64 + both + 1) * MIB


def outer(*readers: Operation) -> Program:
    """A product that sums over one: what comes back through a layer with one result."""
    return program(
        op("Argument", mib=1, shape=(ROWS, 1)),
        op("Argument", mib=1, shape=(1, 128)),
        op("MatMul", 0, 1, mib=64, shape=(ROWS, 128), name="outer"),
        op("Argument", mib=1, shape=(ROWS, 2)),
        op("Argument", mib=1, shape=(2, 128)),
        op("MatMul", 3, 4, mib=64, shape=(ROWS, 128), name="other"),
        *readers,
        op("MatMul", 6, mib=1),
    )


def test_what_is_added_to_another_gradient_is_multiplied_in_its_kernel():
    """One result beside several on one trunk: 64 MiB, not twice (gemm_fusion_MatMul.15, policy_and_value)."""
    added = outer(op("AddN", 2, 5, mib=64, shape=(ROWS, 128)))
    assert compiled(added)[1].peak == (4 * 1 + 64 + 1) * MIB
    alone = outer(op("Tanh", 2, mib=64, shape=(ROWS, 128)))
    assert "MatMul" in {one.type for one in lowered(alone).operations if one.name == "outer"}


def einsum(equation: str, sides: dict[str, int]) -> str:
    """What the Einsum is then."""
    given, _, output = equation.partition("->")
    operations = []
    for labels in (*given.split(","), output):
        shape = tuple(sides[one] for one in labels)
        operations.append(Operation(labels, "Argument", (), (), (4,), (shape,), ("float32",)))
    operations[2] = Operation(
        "it", "Einsum", ((0, 0), (1, 0)), (), (4,), operations[2].shapes, ("float32",), equation=equation
    )
    found = lowered(Program(operations, ((2, 0),))).operations
    return next(one.type for one in found if one.name == "it")


@pytest.mark.parametrize(
    ("equation", "found"),
    [
        ("bkd,bki->bkid", "Mul"),  # nothing is summed over: digits_in_capsules
        (
            "bijoc,bjc->bio",
            "VectorSum",
        ),  # a matrix and a vector for each b: input_reduce_fusion.4, molecules_by_edges
        ("be,bec->bc", "VectorSum"),  # crossed_by_low_ranks
        ("bec,bcd->bed", "Einsum"),
    ],
)
def test_einsums_of_vectors(equation: str, found: str):
    assert einsum(equation, dict(zip("bkdiojce", (4, 10, 16, 12, 8, 6, 5, 3), strict=True))) == found


def test_a_vector_beside_a_large_matrix_is_a_product():
    """Ten million multiplications and more: 3,163 times 3,164 are, 3,161 times 3,162 are not."""
    assert einsum("bec,bc->be", {"b": 2, "e": 3163, "c": 3163}) == "Einsum"
    assert einsum("bec,bc->be", {"b": 2, "e": 3161, "c": 3161}) == "VectorSum"


@pytest.mark.parametrize(("first", "second", "merged"), [(62, 63, True), (66, 67, False), (62, 100, True)])
def test_of_two_merged_products_one_is_small(first: int, second: int, merged: bool):
    """As XLA's compiler merged them (62 and 63 MiB) and did not; 32.9 beside 105 in molecules_by_edges."""
    made = program(
        op("Argument", mib=1, name="x", shape=(32768, 8)),
        op("ReadVariableOp", shape=(8, 8 * first)),
        op("ReadVariableOp", shape=(8, 8 * second)),
        op("MatMul", 0, 1, mib=first, shape=(32768, 8 * first), name="one"),
        op("MatMul", 0, 2, mib=second, shape=(32768, 8 * second), name="two"),
        op("Sum", 3, mib=1),
        op("Sum", 4, mib=1),
        op("AddN", 5, 6, mib=1),
    )
    made.operations[1].outputs = made.operations[2].outputs = (4,)
    made.operations[1].shapes, made.operations[2].shapes = ((8, 8 * first),), ((8, 8 * second),)
    assert any(one.name == "one/merged" for one in lowered(made).operations) == merged


@pytest.mark.parametrize(("fields", "left"), [(20, True), (16, False)])
def test_a_product_of_what_vectors_gave_is_left_to_cublas(fields: int, left: bool):
    """Twenty fields fit no tile of sixteen: custom-call.23, lent 32 MiB, in weights_from_squeezed_fields."""
    made = program(
        op("Argument", mib=1, shape=(1024, fields, 16)),
        op("Argument", mib=1, shape=(1024, fields, 16)),
        op("Einsum", 0, 1, mib=25, shape=(1024, fields, fields, 16)),
        op("Argument", mib=6, shape=(fields * fields * 16, 256)),
        op("Reshape", 2, mib=25, shape=(1024, fields * fields * 16)),
        op("MatMul", 4, 3, mib=1, shape=(1024, 256)),
    )
    made.operations[2].equation = "bid,bjd->bijd"
    assert by_cublas(made, HOPPER) == left
    assert by_cublas(lowered(made), HOPPER) == left
