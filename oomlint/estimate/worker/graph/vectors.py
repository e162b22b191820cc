"""Products of vectors, which XLA has no kernel of matrices for: multiplications, and sums of such."""

from __future__ import annotations

import math
from dataclasses import replace

from oomlint.estimate.worker.graph.convolutions import source_of
from oomlint.estimate.worker.graph.operations import Operation, sources_and_readers
from oomlint.estimate.worker.graph.products import sides_of

_ADDITIONS = ("Add", "AddV2", "AddN")
_SMALL = 10_000_000  # multiplications, of a matrix and a vector beside it: kept products there have more


def multiply_over_one(operations: list[Operation]) -> None:
    """A product that sums over one, for each of many, is a multiplication, which others compute as they read it.

    (xla/hlo/transforms/simplifiers/algebraic_simplifier.cc; the gradients of matrices that a vector each was
    multiplied with are nowhere in the assignment of matrices_of_edges, nor those of what capsules say to each other in
    that of digits_in_capsules.) That of a layer with one result counts as written: its kernel sums what it reads for
    the weights, too, and cannot write over it (twin_critics). Not where another gradient is added to it: what that
    gradient's product made is written over then (gemm_fusion_MatMul.15 and input_multiply_reduce_fusion in
    policy_and_value).
    """
    _, readers = sources_and_readers(operations)
    for number, operation in enumerate(operations):
        sides = sides_of(operation, operations)
        if sides is None or sides[2] != 1 or min(sides[1], sides[3]) == 1:
            continue
        if len(operation.shapes[0]) > 2 or _is_added(number, operations, readers):
            # Its equation stays: what it exchanges is exchanged before a product (`by_cublas`).
            operations[number] = replace(operation, type="Mul")


def _is_added(number: int, operations: list[Operation], readers: list[list[int]]) -> bool:
    """Whether all that read it add a product of other sides to it."""
    found = [operations[reader] for reader in readers[number]]
    if not found or any(one.type not in _ADDITIONS for one in found):
        return False
    others = {source_of(operations, output) for one in found for output in one.inputs} - {number}
    sides = [sides_of(operations[other], operations) for other in others]
    return any(each is not None and each[2] > 1 for each in sides)


def sum_over_vectors(operations: list[Operation]) -> None:
    """An Einsum of a matrix and a vector, for each of many, is a sum of what is multiplied as it is read.

    (`ShouldStrengthReduceDotToReduce` in xla/service/gpu/transforms/algebraic_simplifier.cc, up to ten million
    multiplications each; input_reduce_fusion.4 in the assignment of molecules_by_edges.)
    """
    for number, operation in enumerate(operations):
        if operation.type != "Einsum":
            continue
        sides = sides_of(operation, operations)
        if sides is None or sides[2] == 1 or min(sides[1], sides[3]) > 1:
            continue
        _, rows, inner, columns = sides
        if (rows + columns) * inner >= _SMALL:
            continue
        # What is summed comes first.
        inputs = tuple(
            sorted(operation.inputs, key=lambda one: -math.prod(operations[one[0]].shapes[one[1]]))
        )
        operations[number] = replace(operation, type="VectorSum", inputs=inputs, equation="")
