"""What an optimizer keeps for a convolution's weights is written beside its place, and copied there at the step's end.

cuDNN gives the gradient with its axes in another order than the weights and their slots have. The kernel that changes
a slot reads it turned, so that it cannot write where it reads: what it writes stays until all is copied (the second
and third result of loop_transpose_fusion, and copy.785, in the assignment of norms_before_eighteen for an H100, all
slots of a ResNet-18 at once; loop_add_subtract_fusion.2 in that of moves_on_a_board for an A100). The weights
themselves were copied for the convolution, and their place is free.
"""

from __future__ import annotations

import math
from dataclasses import replace

from oomlint.estimate.worker.graph.operations import Operation, Program, sources_and_readers

_GRADIENTS = ("Conv2DBackpropFilter", "Conv3DBackpropFilterV2")
_COPY = "SlotCopy"


def write_beside(program: Program) -> Program:
    """The kernels with room for such slots until the end. `program` is of kernels that are not joined yet."""
    operations = program.operations
    sources, readers = sources_and_readers(operations)
    # Weights are read by more than what changes them.
    weights = {
        one.name
        for number, one in enumerate(operations)
        if one.type == "Argument" and any(operations[reader].type != "Update" for reader in readers[number])
    }
    made = list(operations)
    for number, operation in enumerate(operations):
        if operation.type != "Update" or not operation.shapes or operation.variable in weights:
            continue
        elements = math.prod(operation.shapes[0])
        gradients = [operations[one] for one in sources[number] if operations[one].type in _GRADIENTS]
        if any(one.shapes and math.prod(one.shapes[0]) == elements for one in gradients):
            outputs = (4 * elements, *operation.outputs[1:])  # in float32
            made[number] = replace(operation, outputs=outputs, variable="")
            name, shapes = f"{operation.name}/copied", operation.shapes[:1]
            made.append(Operation(name, _COPY, ((number, 0),), shapes=shapes, variable=operation.variable))
    return replace(program, operations=made)
