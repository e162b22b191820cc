"""What is written of leaky units, and not computed again by what reads it."""

from __future__ import annotations

from collections.abc import Callable

from oomlint.estimate.worker.graph.operations import Operation, Output

_WRITTEN = "reduction"


def keep_leaky(operations: list[Operation], kinds: list[str], origin: Callable[[Output], int]) -> None:
    """Where they are positive, behind a merged product or before a pooling; and what is pooled.

    Written with them, so that the merged product need not stay. What is pooled is compared in windows, for the pooling
    and for its gradient: leaky units in them would be computed again with the normalization before them
    (loop_broadcast_compare_fusion{0} and {1} in the assignment of faces_three_answers).
    """
    windows = (one for one in operations if one.type == "PoolWindows")
    pooled = {origin(one.inputs[0]) for one in windows}
    pooled = {number for number in pooled if operations[number].type == "LeakyRelu"}
    given = {origin(operations[number].inputs[0]) for number in pooled}
    for number in pooled:
        kinds[number] = _WRITTEN
    for number, operation in enumerate(operations):
        if operation.type == "Compare" and "LeakyRelu" in operation.name:
            source = origin(operation.inputs[0])
            if source in given or _is_of_a_merged_product(source, operations, origin):
                kinds[number] = _WRITTEN


def _is_of_a_merged_product(
    number: int, operations: list[Operation], origin: Callable[[Output], int]
) -> bool:
    if operations[number].type == "BiasAdd":
        number = origin(operations[number].inputs[0])
    return operations[number].type == "Slice"
