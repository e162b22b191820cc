"""The zeros that the lists of loops begin as: XLA writes all of one shape at once, before the first of the loops.

One constant serves all of them, and one kernel writes the copies that are written into
(xla/service/gpu/transforms/copy_fusion.cc): what the loops of the way back begin with is there on the way forward
(loop_broadcast_fusion.10 in the assignment of sentences_alike, four arrays of the four loops' gates).
"""

from __future__ import annotations

from dataclasses import replace

from oomlint.estimate.worker.graph.convolutions import source_of
from oomlint.estimate.worker.graph.kinds import LOOPS
from oomlint.estimate.worker.graph.loops import IN_PLACE, Array, arrays_of
from oomlint.estimate.worker.graph.operations import Operation, Output, Program, new_operation

AHEAD = "Ahead"
ZEROS_AHEAD = "AheadZeros"  # the kernel that writes them
_POINTERS = 8  # bytes of its own: a pointer to each, of which one counts here
_EMPTY = ("EmptyTensorList", "TensorListReserve")


def write_ahead(program: Program, operations: list[Operation]) -> None:
    """Loops read what one kernel for each shape has written for all of them."""
    makers: dict[tuple[int, ...], int] = {}
    for number, operation in enumerate(program.operations):
        if operation.type not in LOOPS or operation.body is None:
            continue
        given = []
        inputs = list(operations[number].inputs)
        places = set(range(len(inputs)))
        for array in arrays_of(operation):
            if not _begins_empty(operation, array, program):
                given.append(array.maker)
                continue
            if array.sides not in makers:
                makers[array.sides] = len(operations)
                operations.append(
                    new_operation("zeros", ZEROS_AHEAD, (), ((_POINTERS,),), _POINTERS, ("int8",))
                )
            written = len(operations), 0
            if array.argument in places:  # where the list stands: walks go by it
                places.discard(array.argument)
                inputs[array.argument] = written
            else:
                inputs.append(written)
            maker = makers[array.sides], 0
            name, size = f"{operation.name}/zeros", array.size
            operations.append(new_operation(name, AHEAD, (maker,), ((size,),), size, ("float32",)))
        operations[number] = replace(
            operations[number],
            inputs=_as_named(operation.body, inputs),
            body=_in_place(operation.body, given),
        )


def _as_named(body: Program, inputs: list[Output]) -> tuple[Output, ...]:
    """What a round leaves as it is comes last, as in the tuples that XLA's loops are given."""
    ends = [source_of(body.operations, one) for one in body.fetched]
    changed = [place >= len(ends) or ends[place] not in body.arguments for place in range(len(inputs))]
    return (
        *(one for one, new in zip(inputs, changed, strict=True) if new),
        *(one for one, new in zip(inputs, changed, strict=True) if not new),
    )


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
