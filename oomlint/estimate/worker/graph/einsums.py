"""What an Einsum takes while it runs: transposed copies of its operands and of the product.

The kernel multiplies matrices [batch, free, contracted]. An operand whose sides are in no such order is copied first,
and what comes out in another order than the equation wants is copied once more; the copies stay until the operation
has ended (EinsumOp in tensorflow/core/kernels/linalg/einsum_op_impl.h, the same for CPU and GPU).
"""

from __future__ import annotations

import math
from itertools import pairwise

from oomlint.estimate.worker.graph.operations import Operation, Program

_BROADCAST, _BATCH, _FREE, _CONTRACTED, _SUMMED = range(5)
_SWAPPED = (_BROADCAST, _BATCH, _CONTRACTED, _FREE, _SUMMED)  # also fits, as the transposed matrix


def copied(program: Program, operation: Operation) -> int:
    """Bytes beside the inputs and the output; none of an operation that is no Einsum."""
    if not operation.equation:
        return 0
    sources = [(program.operations[number], position) for number, position in operation.inputs]
    operands, wanted, named = _labels(
        operation.equation, [len(one.shapes[position]) for one, position in sources]
    )
    kinds = _kinds(operands, wanted, named)
    made = []
    result = sorted(label for label, kind in kinds.items() if kind == _BROADCAST)
    result += sorted(label for label, kind in kinds.items() if kind == _BATCH)
    for (source, position), labels in zip(sources, operands, strict=True):
        keys = [(kinds[label], label) for label in labels]
        sides = zip(source.shapes[position], keys, strict=True)
        summed = math.prod(side for side, (kind, _) in sides if kind == _SUMMED)
        if summed > 1:  # what is summed up over; a copy that this needed is gone by then
            made.append(source.outputs[position] // summed)
        elif keys != sorted(keys) and not _is_swapped(keys):
            made.append(source.outputs[position])
        result += [label for kind, label in sorted(keys) if kind == _FREE]
    made.append(operation.outputs[0])  # the product; with one operand there is none
    if result != wanted and len(wanted) > 1:
        made.append(operation.outputs[0])
    if len(operands) == 1:
        made.remove(operation.outputs[0])
    return sum(made[:-1])  # the last is the output


def matrices_of(operation: Operation, shapes: list[tuple[int, ...]]) -> tuple[int, int, int, int] | None:
    """Products at once, rows, what is summed over, columns of an Einsum of two; None where it is no such product."""
    if len(shapes) != 2 or "," not in operation.equation:
        return None
    operands, wanted, named = _labels(operation.equation, [len(shape) for shape in shapes])
    kinds = _kinds(operands, wanted, named)
    lengths = {
        label: side
        for labels, shape in zip(operands, shapes, strict=True)
        for label, side in zip(labels, shape)
    }
    if any(kind in (_BROADCAST, _SUMMED) for kind in kinds.values()):
        return None

    def product(kind: int, operand: list[int]) -> int:
        return math.prod(lengths[label] for label in set(operand) if kinds[label] == kind)

    left, right = operands
    return product(_BATCH, left), product(_FREE, left), product(_CONTRACTED, left), product(_FREE, right)


def interleaved(operation: Operation, shapes: list[tuple[int, ...]]) -> tuple[bool, bool, bool] | None:
    """Of both operands and the product: whether what becomes rows and what becomes columns take turns in it.

    None where it is not one product of two. Sides of all products at once, the heads of attention, do not count.
    """
    if matrices_of(operation, shapes) is None:
        return None
    operands, wanted, named = _labels(operation.equation, [len(shape) for shape in shapes])
    kinds = _kinds(operands, wanted, named)

    def turns(labels: list[int], columns: set[int]) -> int:
        sides = [label in columns for label in labels if kinds[label] != _BATCH]
        return sum(one != other for one, other in pairwise(sides))

    summed = {label for label, kind in kinds.items() if kind == _CONTRACTED}
    left, right = operands
    return turns(left, summed) > 1, turns(right, summed) > 1, turns(wanted, set(right)) > 1


def _labels(equation: str, ranks: list[int]) -> tuple[list[list[int]], list[int], int]:
    """Numbers for the letters, as they first come, and how many; the sides of an ellipsis are numbered after them."""
    given, _, output = equation.replace(" ", "").replace("...", ".").partition("->")
    operands = given.split(",")
    once = dict.fromkeys("".join([*operands, output]).replace(".", ""))
    letters = {letter: number for number, letter in enumerate(once)}

    def numbers(text: str, more: int) -> list[int]:
        found: list[int] = []
        for letter in text:
            found += range(len(letters), len(letters) + more) if letter == "." else [letters[letter]]
        return found

    more = [rank - len(text) + 1 if "." in text else 0 for text, rank in zip(operands, ranks, strict=True)]
    sides = [numbers(*one) for one in zip(operands, more, strict=True)]
    return sides, numbers(output, max(more)), len(letters)


def _kinds(operands: list[list[int]], wanted: list[int], named: int) -> dict[int, int]:
    """What each label is to the product."""
    kinds = {}
    for label in {label for labels in (*operands, wanted) for label in labels}:
        shared = len(operands) > 1 and all(label in labels for labels in operands)
        if label >= named:
            kinds[label] = _BROADCAST
        elif label in wanted:
            kinds[label] = _BATCH if shared else _FREE
        else:
            kinds[label] = _CONTRACTED if shared else _SUMMED
    return kinds


def _is_swapped(keys: list[tuple[int, int]]) -> bool:
    swapped = [(_SWAPPED[kind], label) for kind, label in keys]
    return swapped == sorted(swapped)
