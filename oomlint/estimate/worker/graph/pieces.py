"""Operations whose outputs are pieces of their input's memory: what is cut along the first side is not copied.

Only where the pieces are aligned as whole buffers are (ComputeEasyCases in tensorflow/core/kernels/split_op.cc and
split_v_op.cc, unpack_op.cc, SharedSliceCommonCases in slice_op.cc, strided_slice_op.cc): on a GPU and a CPU alike.
"""

from __future__ import annotations

import math
from typing import Any

ALIGNED = 64  # bytes: kAllocatorAlignment in xla/tsl/framework/allocator.h; Eigen asks for as many or fewer
_SOURCES = {"Split": 1, "SplitV": 0, "Unpack": 0, "Slice": 0, "StridedSlice": 0}


def whole_of(operation: Any, shape: tuple[int, ...], made: tuple[int, ...], item: int) -> int:
    """The input that the outputs of TensorFlow's operation lie in, -1 for none.

    `shape` is that input's, `made` the first output's, `item` the bytes of an element.
    """
    source = _SOURCES[operation.type]
    if made == shape and _steps_of_one(operation):
        return source
    aligned = len(shape) > 1 and math.prod(shape[1:]) * item % ALIGNED == 0
    return source if aligned and _along_the_first(operation, shape, made) else -1


def source_of(kind: str) -> int | None:
    """The input that an operation of that kind takes pieces of; None for all other kinds."""
    return _SOURCES.get(kind)


def _along_the_first(operation: Any, shape: tuple[int, ...], made: tuple[int, ...]) -> bool:
    if operation.type == "Unpack":
        return bool(operation.get_attr("axis") in (0, -len(shape)))
    if operation.type in ("Split", "SplitV"):
        axis = _constant(operation, 0 if operation.type == "Split" else 2)
        return axis is not None and int(axis) in (0, -len(shape))
    if operation.type == "StridedSlice":
        if operation.get_attr("new_axis_mask") or not _steps_of_one(operation):
            return False
        shrunk = operation.get_attr("shrink_axis_mask")
        return made == shape[1:] if shrunk == 1 else shrunk == 0 and made[1:] == shape[1:]
    return made[1:] == shape[1:]


def _steps_of_one(operation: Any) -> bool:
    if operation.type != "StridedSlice":
        return True
    steps = _constant(operation, 3)
    return steps is not None and bool((steps == 1).all())


def _constant(operation: Any, position: int) -> Any:
    from tensorflow.python.framework import tensor_util

    return tensor_util.constant_value(operation.inputs[position])
