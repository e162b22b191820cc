"""Sums by row, the gradients of lookups in tables: XLA adds rows into something that was written before.

Zeros where there is nothing else. A sum to which it is added is what the rows go into, and two of the same table are
one with the rows of both (`HandleAdd` in xla/hlo/transforms/simplifiers/algebraic_simplifier.cc; input_scatter_fusion.1
on loop_multiply_fusion in the assignment of next_in_session).
"""

from __future__ import annotations

from dataclasses import replace

from oomlint.estimate.worker.graph.convolutions import source_of
from oomlint.estimate.worker.graph.operations import Operation, Program, new_operation

SUMS = ("UnsortedSegmentSum", "ResizeBilinearGrad")  # scatters
_ADDITIONS = ("AddN", "Add", "AddV2")
# Rows that a loop has stacked are in another order (next_in_session's session): a scatter of its own.
_STACKED = ("Transpose", "TensorListStack")


def add_rows(program: Program, operations: list[Operation], readers: list[list[int]]) -> None:
    """The scatters, in place of the operations of `program`; what has changed meanwhile stays."""
    zeros: dict[int, int] = {}
    for number, operation in enumerate(program.operations):
        if operation.type not in SUMS:
            continue
        rows = source_of(operations, operation.inputs[0])
        if operations[rows].type == "ConcatV2":  # of several lookups: written (facts_as_turns)
            operations[rows] = replace(operations[rows], type="Padded")
        if operations[number].type not in SUMS:  # one with the one before
            continue
        total = _added_to(number, program, operations, readers)
        together = _together(total, program, operations, readers) if total is not None else [number]
        if number != together[0]:
            together, total = [number], None
        size, shapes, dtypes = sum(operation.outputs), operation.shapes[:1], operation.dtypes[:1]
        others: tuple[tuple[int, int], ...] = ()
        if total is not None:
            others = tuple(one for one in operations[total].inputs if one[0] not in together)
            sums = [one for one, _ in others if program.operations[one].type in SUMS]
            others = tuple(one for one in others if one[0] not in sums)
            kept = [(number, 0), *((one, 0) for one in sums)]
            kind = operations[total].type if sums else "Identity"
            operations[total] = replace(operations[total], type=kind, inputs=tuple(kept))
        for one in together[1:]:
            operations[one] = replace(operations[one], type="Identity", inputs=((number, 0),))
        given = tuple(output for one in together for output in program.operations[one].inputs)
        operations[number] = replace(operation, type="PoolScatter", inputs=(*given, (len(operations), 0)))
        if others:
            name = f"{operation.name}/others"
            operations.append(new_operation(name, "Base", others, shapes, size, dtypes))
        elif size in zeros:
            operations.append(new_operation("zeros", "ZerosCopy", ((zeros[size], 0),), shapes, size, dtypes))
        else:
            zeros[size] = len(operations)
            operations.append(new_operation("zeros", "Zeros", (), shapes, size, dtypes))


def _added_to(
    number: int, program: Program, operations: list[Operation], readers: list[list[int]]
) -> int | None:
    """The sum that alone reads it, with something else."""
    if len(readers[number]) != 1:
        return None
    (total,) = readers[number]
    given = program.operations[total]
    if given.type not in _ADDITIONS or given is not operations[total] or len(set(given.inputs)) < 2:
        return None
    return total if sum(given.outputs) == sum(program.operations[number].outputs) else None


def _together(
    total: int, program: Program, operations: list[Operation], readers: list[list[int]]
) -> list[int]:
    """Those of its inputs that are one sum."""
    found: list[int] = []
    for number, _ in program.operations[total].inputs:
        one = program.operations[number]
        if one.type != SUMS[0] or readers[number] != [total]:
            continue
        stacked = program.operations[source_of(program.operations, one.inputs[0])].type in _STACKED
        if not (found and stacked):
            found.append(number)
    return found
