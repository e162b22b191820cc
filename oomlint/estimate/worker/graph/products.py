"""Matrix products: their sides, and which of them XLA leaves to cuBLAS, which is lent memory for each."""

from __future__ import annotations

import math
from collections.abc import Callable

from oomlint.estimate.worker.graph.cards import Card
from oomlint.estimate.worker.graph.convolutions import source_of
from oomlint.estimate.worker.graph.einsums import matrices_of
from oomlint.estimate.worker.graph.operations import Operation, Output, Program

PRODUCTS = ("MatMul", "BatchMatMul", "BatchMatMulV2", "BatchMatMulV3", "_FusedMatMul", "Einsum")

# The side of the tiles in which XLA's own kernels multiply where no autotuning chose one.
_TILE = 16


def by_cublas(program: Program, card: Card) -> bool:
    """Whether all products are left to it: before Ampere, and where one of them does not fit tiles.

    One that does not fails the whole compilation, which is then made without XLA's own (worker/xla/compiler.py).
    """
    return not card.triton or any(_does_not_fit(operation, program) for operation in program.operations)


def is_lent_memory(operation: Operation, program: Program) -> bool:
    """Not where vectors are multiplied: that is no product for cuBLAS (xla/service/gpu/transforms/gemv_rewriter.cc)."""
    if operation.type not in PRODUCTS:
        return False
    shapes = [program.operations[number].shapes for number, _ in operation.inputs[:2]]
    return not any(1 in one[0][-2:] for one in (*shapes, operation.shapes) if one)


def _does_not_fit(operation: Operation, program: Program) -> bool:
    """A projection behind attention's heads: it reads positions and heads, exchanged, as rows and columns.

    A tile of rows must end where the positions end, a tile of columns where a head does ("Couldn't find output tile
    sizes that satisfy", from XLA on text_transformer with 200 positions; 196 neither; 80, 96, 144 and 192 fit).
    """
    if not is_lent_memory(operation, program) or operation.type == "Einsum" or not operation.inputs:
        return False
    heads = program.operations[source_of(program.operations, operation.inputs[0])]
    if heads.type == "Padded":
        heads = program.operations[source_of(program.operations, heads.inputs[0])]
    if not _is_exchanged(heads, program) or len(heads.shapes[0]) != 4:
        return False
    _, positions, count, width = heads.shapes[0]
    return count > 1 and not (_fits(positions) and _fits(width))


def _is_exchanged(operation: Operation, program: Program) -> bool:
    if operation.type != "Transpose":  # of vectors, a multiplication by now (weights_from_squeezed_fields)
        return operation.type == "Einsum" or bool(operation.equation)
    given = program.operations[operation.inputs[0][0]].shapes[0]
    made = operation.shapes[0]
    return given != made and (given[0], given[2], given[1], *given[3:]) == made if len(given) > 3 else False


def _fits(side: int) -> bool:
    return side % _TILE == 0 or _TILE % side == 0


def sides_of(operation: Operation, operations: list[Operation]) -> tuple[int, int, int, int] | None:
    """Products at once, rows, what is summed over, columns; None for what is no product of two matrices."""
    if operation.type not in PRODUCTS or len(operation.inputs) != 2 or not operation.shapes:
        return None
    shapes = []
    for number, position in operation.inputs:
        known = operations[number].shapes
        if position >= len(known):
            return None
        shapes.append(known[position])
    if operation.type == "Einsum":
        return matrices_of(operation, shapes)
    made = operation.shapes[0]
    if len(made) < 2 or not math.prod(made):
        return None
    *outer, rows, columns = made
    times = math.prod(outer)
    inner, rest = divmod(math.prod(shapes[0]), times * rows)
    whole = not rest and inner and math.prod(shapes[1]) == times * inner * columns
    return (times, rows, inner, columns) if whole else None


def in_another_shape(operations: list[Operation], origin: Callable[[Output], int]) -> list[set[int]]:
    """For each operation the products that read it in a shape that XLA's own kernels do not read it from.

    There the other shape is an operation of its own (a bitcast), beside which others may compute the operation again:
    bitcast.1.0 of loop_exponential_fusion.1 in the assignment of splines.
    """
    found: list[set[int]] = [set() for _ in operations]
    for number, operation in enumerate(operations):
        if operation.type == "MatMul" and len(operation.inputs) == 2:
            apart: dict[int, bool] = {}
            for place, source in enumerate(operation.inputs):
                before = origin(source)
                other = not _is_read_from(operations[before], place, operation, operations)
                apart[before] = other and apart.get(before, True)
            for before, other in apart.items():
                if other:
                    found[before].add(number)
    return found


def _is_read_from(before: Operation, place: int, product: Operation, operations: list[Operation]) -> bool:
    """What is summed over must be one side there, the rows of the left one at most two, the columns of the right one.

    (`FromDotOperand` in xla/service/gpu/triton_fusion_analysis.cc)
    """
    sides = sides_of(product, operations)
    number, position = product.inputs[place]
    shape = operations[number].shapes[position : position + 1]
    if sides is None or not shape or not before.shapes or 1 in sides[1:]:
        return True
    _, rows, inner, columns = sides
    given = tuple(side for side in before.shapes[0] if side > 1)
    if len(shape[0]) != 2 or given == shape[0] or math.prod(given) != math.prod(shape[0]):
        return True
    kept = rows if place == 0 else columns
    whole = (shape[0] == (kept, inner) and given[-1] == inner) or (
        shape[0] == (inner, kept) and given[0] == inner
    )
    return whole and place == 0 and len(given) <= 3
