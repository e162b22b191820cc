"""Products of halves that cuBLAS gets with their sides filled up to eights, in copies.

(`CublasPadForGemms`, xla/service/gpu/transforms/cublas_pad_for_gemms.cc; not those that XLA's own kernels multiply.)
"""

from __future__ import annotations

from dataclasses import replace

from oomlint.estimate.worker.graph.convolutions import source_of
from oomlint.estimate.worker.graph.operations import Operation, Output, new_operation
from oomlint.estimate.worker.graph.products import sides_of

_EIGHT = 8  # xla/service/gpu/cublas_padding_requirements.h
_HALF = 2  # bytes


def fill_up_to_eights(operations: list[Operation]) -> None:
    """One copy for all that read a tensor filled up to one size; what the product is cut out of stays as long as it."""
    made: dict[tuple[int, int], Output] = {}
    for number, operation in enumerate(list(operations)):
        of_halves = operation.dtypes and "16" in operation.dtypes[0]
        sides = sides_of(operation, operations) if of_halves else None
        if sides is None:
            continue
        times, rows, inner, columns = sides
        if 1 in (rows, inner, columns) or not any(side % _EIGHT for side in (rows, inner, columns)):
            continue
        up = [-(-side // _EIGHT) * _EIGHT for side in (rows, inner, columns)]
        inputs = []
        for output, given, wanted in (
            (operation.inputs[0], rows * inner, up[0] * up[1]),
            (operation.inputs[1], inner * columns, up[1] * up[2]),
        ):
            size = times * wanted * _HALF
            key = source_of(operations, output), size
            if wanted != given and key not in made:
                source = operations[output[0]]
                made[key] = len(operations), 0
                operations.append(
                    new_operation(
                        f"{source.name}/eights",
                        "Padded",
                        (output,),
                        ((times, wanted),),
                        size,
                        operation.dtypes[:1],
                    )
                )
            inputs.append(output if wanted == given else made[key])
        whole = times * up[0] * up[2] * _HALF
        if whole == sum(operation.outputs[:1]):
            operations[number] = replace(operation, inputs=tuple(inputs))
            continue
        operations[number] = replace(operation, type="Slice", inputs=((len(operations), 0),))
        operations.append(
            replace(
                operation,
                inputs=tuple(inputs),
                outputs=(whole,),
                shapes=((times, up[0], up[2]),),
                controls=(),
            )
        )
