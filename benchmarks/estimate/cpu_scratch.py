"""What TensorFlow's convolutions take on a CPU, beside inputs and outputs, while they run.

The gradients of a convolution unfold patches of several images into one matrix; how many follows from a working set of
30 MiB (Conv2DCustomBackpropFilterOp and Conv2DCustomBackpropInputOp in tensorflow/core/kernels/conv_grad_filter_ops.cc
and conv_grad_input_ops.cc). A GPU has other scratch; this is only for the comparison.
"""

from __future__ import annotations

import math
from collections.abc import Callable

from oomlint.estimate.worker.graph.operations import Operation, Program

WORKING_SET = 30 << 20


def scratch_of(program: Program) -> Callable[[Operation], int]:
    """The bytes for each operation of a program."""

    def shape(operation: Operation, position: int) -> tuple[int, ...]:
        source, output = operation.inputs[position]
        return program.operations[source].shapes[output]

    def scratch(operation: Operation) -> int:
        if operation.type == "Conv2DBackpropFilter":
            kernel, gradient = operation.shapes[0], shape(operation, 2)
        elif operation.type == "Conv2DBackpropInput":
            kernel, gradient = shape(operation, 1), shape(operation, 2)
        else:
            return 0
        height, width, depth, filters = kernel
        pixels, patch = math.prod(gradient[1:3]), height * width * depth
        unit = pixels * patch + pixels * filters + patch * filters
        images = min(-(-(WORKING_SET // 4) // unit), gradient[0])
        return 4 * images * pixels * patch

    return scratch
