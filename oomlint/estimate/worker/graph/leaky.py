"""Leaky units: chosen by where what they are given is positive, which the gradient asks, too."""

from __future__ import annotations

import math
from collections.abc import Callable

from oomlint.estimate.worker.graph.operations import Operation, Output
from oomlint.estimate.worker.keras.state import item_size

MASK = "/positive in leaky units"  # how the names of such end
_WRITTEN = "reduction"


def keep_leaky(operations: list[Operation], kinds: list[str], origin: Callable[[Output], int]) -> None:
    """The masks behind a slice: written with the units, so that what is sliced need not stay.

    That is a merged product, or a transposed convolution whose window goes over its sides: cuDNN writes one place more
    (loop_compare_select_fusion in the assignment of volumes_again; bottles_rebuilt, whose windows end with the sides,
    has no such masks).
    """
    for number, operation in enumerate(operations):
        if operation.name.endswith(MASK):
            source = origin(operation.inputs[0])
            if _is_sliced(source, operations, origin):
                kinds[number] = _WRITTEN


def _is_sliced(number: int, operations: list[Operation], origin: Callable[[Output], int]) -> bool:
    if operations[number].type == "BiasAdd":
        number = origin(operations[number].inputs[0])
    source = operations[number]
    return source.type == "Slice" or (source.type.startswith("Conv") and _has_more(source))


def _has_more(transposed: Operation) -> bool:
    """Whether what it writes is larger than what is read of it."""
    if "BackpropInput" not in transposed.type or not transposed.shapes or not transposed.dtypes:
        return False
    return transposed.outputs[0] > item_size(transposed.dtypes[0]) * math.prod(transposed.shapes[0])
