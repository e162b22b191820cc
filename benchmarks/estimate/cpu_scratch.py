"""What TensorFlow's convolutions and the gradient of max pooling take on a CPU beside inputs and outputs.

A product of matrices of bfloat16 is one of float32 (BaseBatchMatMulOp in tensorflow/core/kernels/matmul_op_impl.h).
The gradients of a convolution unfold patches of several images into one matrix; for how many there is room follows from
a working set of 30 MiB, however many there are (Conv2DCustomBackpropFilterOp and Conv2DCustomBackpropInputOp in
tensorflow/core/kernels/conv_grad_filter_ops.cc and conv_grad_input_ops.cc). The gradient of the input takes one image
at a time where that is work enough. A GPU has other scratch; this is only for the comparison.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace

from cpu_products import packed

from oomlint.estimate.worker.graph.einsums import copied
from oomlint.estimate.worker.graph.kinds import OVER
from oomlint.estimate.worker.graph.operations import Operation, Program

# Written over an input, on a CPU only: (output, input).
CPU_OVER = OVER | {"MaxPoolGrad": (0, 0)}
PRODUCTS = ("MatMul", "BatchMatMul", "BatchMatMulV2", "BatchMatMulV3")
WORKING_SET = 30 << 20
_MAPPED, _PAGE, _HEADER = 8192, 4096, 80  # MALLOC_MMAP_THRESHOLD_ in measure_cpu.py
# Elements that an image must have for that: more than 49,664 and at most 77,824 in what measure_allocations.py sees.
WORK_ENOUGH = 64 << 10


def paged(program: Program) -> Program:
    """The program with whole pages for what malloc maps by itself, with a header and alignment."""

    def pages(size: int) -> int:
        return -(-(size + _HEADER) // _PAGE) * _PAGE if size > _MAPPED else size

    return replace(
        program,
        operations=[
            one if one.type == "Argument" else replace(one, outputs=tuple(map(pages, one.outputs)))
            for one in program.operations
        ],
    )


def scratch_of(program: Program, resident: bool = False) -> Callable[[Operation], int]:
    """The bytes for each operation of a program; `resident`: those that are touched, a batch being no larger."""

    def shape(operation: Operation, position: int) -> tuple[int, ...]:
        source, output = operation.inputs[position]
        return program.operations[source].shapes[output]

    def scratch(operation: Operation) -> int:
        if operation.type in PRODUCTS and operation.dtypes[0] == "bfloat16":  # copies of all three as float32
            sides = (shape(operation, 0), shape(operation, 1), operation.shapes[0])
            return 4 * sum(map(math.prod, sides))
        if resident and operation.type in ("MatMul", "_FusedMatMul"):
            (rows, columns), left, right = operation.shapes[0], shape(operation, 0), shape(operation, 1)
            inner = math.prod(left) // max(rows, 1)
            if min(rows, columns) == 1:  # nothing is packed beside a vector
                return 0
            turned = left != (rows, inner), right != (inner, columns)
            return packed(rows, inner, columns, left=turned[0], right=turned[1])
        if resident and operation.type in ("Conv2D", "_FusedConv2D"):
            height, width, depth, filters = shape(operation, 1)
            return packed(math.prod(operation.shapes[0][:3]), height * width * depth, filters, left=True)
        if operation.type == "MaxPoolGrad":  # of each pooled value where it was (maxpooling_op.cc)
            return math.prod(shape(operation, 1)) * 8
        if operation.type == "Conv2DBackpropFilter":
            kernel, gradient = operation.shapes[0], shape(operation, 2)
        elif operation.type == "Conv2DBackpropInput":
            kernel, gradient = shape(operation, 1), shape(operation, 2)
        else:
            return copied(program, operation)
        height, width, depth, filters = kernel
        pixels, patch = math.prod(gradient[1:3]), height * width * depth
        unit = pixels * patch + pixels * filters + patch * filters
        images = -(-(WORKING_SET // 4) // unit)
        if operation.type == "Conv2DBackpropInput" and (gradient[0] == 1 or unit >= WORK_ENOUGH):
            images = 1
        if not resident:
            return 4 * images * pixels * patch
        images = min(images, gradient[0])
        unfolded = images * pixels
        if operation.type == "Conv2DBackpropFilter":
            return 4 * unfolded * patch + packed(patch, unfolded, filters, left=True)
        return 4 * unfolded * patch + (packed(unfolded, filters, patch, right=True) if images > 1 else 0)

    return scratch
