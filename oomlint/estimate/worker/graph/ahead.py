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
AHEAD_CONSTANT = "AheadConstant"  # what is copied, where others read that
WAY_BACK = "lists of another loop"  # what stands for a variable of a loop that reads such
SHORT = "/zeros of what no loop reads"  # how the names of such end
_OF_SHAPES = ("VariableShape", "ZerosLike", "OnesLike")
_POINTERS = 8  # bytes of its own: a pointer to each, of which one counts here
_EMPTY = ("EmptyTensorList", "TensorListReserve")


def write_ahead(program: Program, operations: list[Operation]) -> None:
    """Loops read what one kernel for each shape has written for all of them."""
    _leave_shapes(program, operations)
    makers: dict[tuple[int, ...], int] = {}
    read: set[Output] = set()
    for number, operation in enumerate(program.operations):
        if operation.type in LOOPS:
            lists = {(source_of(program.operations, one), one[1]) for one in operation.inputs}
            read |= lists
            if any(program.operations[one].type in LOOPS for one, _ in lists):
                operations[number] = replace(operations[number], variable=WAY_BACK)
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
            kept = any((number, place) in read for place in array.places)
            name, size = operation.name + ("/zeros" if kept else SHORT), array.size
            operations.append(new_operation(name, AHEAD, (maker,), ((size,),), size, ("float32",)))
        operations[number] = replace(
            operations[number],
            inputs=_as_named(operation.body, inputs),
            body=_in_place(operation.body, given),
        )
    _read_constants(operations, makers)


def _read_constants(operations: list[Operation], makers: dict[tuple[int, ...], int]) -> None:
    """Dropout in front of a layer takes the zeros of its shape from there, and between two the gradient's does, too.

    There XLA has the time in front (loop_select_fusion and loop_multiply_fusion.2 read the first of
    loop_broadcast_fusion.15 in trucks_wear_out).
    """
    constants: dict[int, int] = {}
    turned = {number for one in operations if one.type == "Transpose" for number, _ in one.inputs[:1]}
    scaled = {
        number
        for place, one in enumerate(operations)
        if one.type == "Mul" and place in turned
        for number, _ in one.inputs
    }
    for number, operation in enumerate(list(operations)):
        if operation.type not in ("Select", "SelectV2") or number not in turned | scaled:
            continue
        if len(operation.inputs) < 3 or not operation.shapes:
            continue
        other, shape = operations[operation.inputs[2][0]], operation.shapes[0]
        maker = makers.get(shape, makers.get((*shape[1:2], *shape[:1], *shape[2:])))
        if maker is None or other.type != "Const" or any(other.shapes):
            continue
        if maker not in constants:
            constants[maker] = len(operations)
            size = sum(operation.outputs)
            operations.append(
                new_operation("zeros", AHEAD_CONSTANT, ((maker, 0),), (shape,), size, operation.dtypes[:1])
            )
        operations[number] = replace(operation, inputs=(*operation.inputs, (constants[maker], 0)))


def _leave_shapes(program: Program, operations: list[Operation]) -> None:
    """What only asks for the shape of what a loop gives is a constant: zeros for the sum of a weight's gradients."""
    for number, operation in enumerate(program.operations):
        if operation.type in _OF_SHAPES and operation.inputs:
            if program.operations[source_of(program.operations, operation.inputs[0])].type in LOOPS:
                operations[number] = replace(operations[number], inputs=())


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
