"""Leaky units: chosen by where what they are given is positive, which the gradient asks, too."""

from __future__ import annotations

from collections.abc import Callable

from oomlint.estimate.worker.graph.operations import Operation, Output

MASK = "/positive in leaky units"  # how the names of such end
_WRITTEN = "reduction"


def keep_leaky(operations: list[Operation], kinds: list[str], origin: Callable[[Output], int]) -> None:
    """The masks behind a merged product: written with the units, so that the product need not stay."""
    for number, operation in enumerate(operations):
        if operation.name.endswith(MASK):
            source = origin(operation.inputs[0])
            if _is_of_a_merged_product(source, operations, origin):
                kinds[number] = _WRITTEN


def _is_of_a_merged_product(
    number: int, operations: list[Operation], origin: Callable[[Output], int]
) -> bool:
    if operations[number].type == "BiasAdd":
        number = origin(operations[number].inputs[0])
    return operations[number].type == "Slice"
