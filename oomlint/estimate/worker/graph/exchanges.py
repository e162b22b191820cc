"""Tensors that XLA writes once more with their sides exchanged, for products to which no view of them is a matrix.

What becomes rows and what becomes columns take turns in them, so that no kernel that multiplies reads them as they are
(input_transpose_fusion beside gemm_fusion_dot.6 in the assignment of ties_of_many_kinds).
"""

from __future__ import annotations

from dataclasses import replace

from oomlint.estimate.worker.graph.convolutions import source_of
from oomlint.estimate.worker.graph.einsums import interleaved
from oomlint.estimate.worker.graph.operations import Operation, Output, new_operation


def exchange_for_products(operations: list[Operation]) -> None:
    """One copy of an operand for all Einsums that read it; the product is exchanged as it is read."""
    made: dict[int, Output] = {}
    for number, operation in enumerate(list(operations)):
        if operation.type != "Einsum" or len(operation.inputs) != 2:
            continue
        shapes = [operations[one].shapes[position] for one, position in operation.inputs]
        found = interleaved(operation, shapes)
        if found is None or not any(found):
            continue
        inputs = []
        for output, shape, copied in zip(operation.inputs, shapes, found, strict=False):
            source = source_of(operations, output)
            if copied and source not in made:
                given = operations[output[0]]
                made[source] = len(operations), 0
                size = given.outputs[output[1]]
                name = f"{given.name}/exchanged"
                operations.append(new_operation(name, "Padded", (output,), (shape,), size, given.dtypes[:1]))
            inputs.append(made[source] if copied else output)
        if not found[2]:
            operations[number] = replace(operation, inputs=tuple(inputs))
            continue
        operations[number] = replace(operation, type="Transpose", inputs=((len(operations), 0),), equation="")
        operations.append(replace(operation, inputs=tuple(inputs), controls=()))
