"""The zeros that the lists of loops begin as: XLA writes all of one shape at once, before the first of the loops.

One constant serves all of them, and one kernel writes the copies that are written into
(xla/service/gpu/transforms/copy_fusion.cc): what the loops of the way back begin with is there on the way forward
(loop_broadcast_fusion.10 in the assignment of sentences_alike, four arrays of the four loops' gates).
"""

from __future__ import annotations

from collections import defaultdict
from dataclasses import replace

from oomlint.estimate.worker.graph.convolutions import source_of
from oomlint.estimate.worker.graph.kinds import LOOPS
from oomlint.estimate.worker.graph.loops import IN_PLACE, Array, arrays_of
from oomlint.estimate.worker.graph.operations import Operation, Program, new_operation

AHEAD = "Ahead"
_EMPTY = ("EmptyTensorList", "TensorListReserve")


def write_ahead(program: Program, operations: list[Operation]) -> None:
    """Later loops read what the first loop with such a list had written for them."""
    first: dict[tuple[int, ...], int] = {}
    for number, operation in enumerate(program.operations):
        if operation.type not in LOOPS or operation.body is None:
            continue
        waiting: defaultdict[int, int] = defaultdict(int)
        given = []
        for array in arrays_of(operation):
            if not _begins_empty(operation, array, program):
                given.append(array.maker)
                continue
            maker = first.setdefault(array.sides, number)
            if maker != number:
                waiting[maker] += array.size
        inputs = operations[number].inputs
        for maker, size in waiting.items():
            inputs = (*inputs, (len(operations), 0))
            name = f"{operation.name}/zeros"
            operations.append(new_operation(name, AHEAD, ((maker, 0),), ((size,),), size, ("float32",)))
        operations[number] = replace(operations[number], inputs=inputs, body=_in_place(operation.body, given))


def _in_place(body: Program, makers: list[int]) -> Program:
    """What is written into lists that are given: the gradient of a filled list is emptied as it is read."""
    operations = list(body.operations)
    for number in makers:
        if operations[number].type == "TensorListSetItem":
            operations[number] = replace(operations[number], type=IN_PLACE)
    return replace(body, operations=operations)


def _begins_empty(loop: Operation, array: Array, program: Program) -> bool:
    """Not where it is given what it holds, as the gradient of a list that was filled.

    A list that the round itself makes is added to one that began as zeros: the gradient of what is read by index.
    """
    if not 0 <= array.argument < len(loop.inputs):
        return True
    source = source_of(program.operations, loop.inputs[array.argument])
    return program.operations[source].type in _EMPTY
