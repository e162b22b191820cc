"""What convolutions read and write beside their tensors when XLA hands them to cuDNN: padded and transposed copies."""

from __future__ import annotations

import math
from dataclasses import replace

from oomlint.estimate.worker.graph.kinds import ALIASES
from oomlint.estimate.worker.graph.operations import Operation, Output

CONVOLUTIONS = ("Conv", "DepthwiseConv", "_FusedConv")

Shape = tuple[int, ...]


class Copies:
    """Appends the copies to the operations: one for all that read a tensor in the same form.

    `channels_first`: the layout of convolutions of float32 on cards before Hopper.
    """

    def __init__(self, operations: list[Operation], channels_first: bool) -> None:
        self.operations = operations
        self.channels_first = channels_first
        self.made: dict[tuple[int, int, str], int] = {}

    def convolution(self, operation: Operation) -> Operation:
        """The convolution as it reads copies, and writes a gradient with the padding or scratch."""
        shapes = [self.operations[number].shapes for number, _ in operation.inputs]
        own = operation.shapes[:1]
        gradient = "Backprop" in operation.type
        if not own or len(shapes) < 2 + gradient or not all(shapes[: 2 + gradient]):
            return operation
        given, second, third = shapes[0][0], shapes[1][0], shapes[2][0] if gradient else ()
        if "BackpropInput" in operation.type:
            return _of_the_input(operation, own[0], second, third)
        if "BackpropFilter" in operation.type:
            if _is_taken_for_forward(given, own[0], third):
                left, sizes, right = operation.inputs[:3]
                exchanged = self._whole(left, "exchanged"), sizes, self._whole(right, "exchanged")
                return replace(operation, inputs=exchanged)
            return self._padded(operation, given, one_more(given, own[0], third))
        return self._padded(operation, given, one_more(given, second, own[0]))

    def _padded(self, operation: Operation, given: Shape, more: float) -> Operation:
        number, position = operation.inputs[0]
        half = any("16" in dtype for dtype in self.operations[number].dtypes)
        if half and given[-1] == 3:
            more *= (
                4 / 3
            )  # fours for the tensor cores: xla/service/gpu/transforms/cudnn_pad_for_convolutions.cc
        first = "3D" in operation.type or (self.channels_first and not half)
        source = self.operations[source_of(self.operations, operation.inputs[0])]
        if more == 1.0 and not (
            first and source.type == "Argument"
        ):  # others are written in that layout at once
            return operation
        size = int(self.operations[number].outputs[position] * more)
        return replace(
            operation, inputs=(self._copy(operation.inputs[0], size, "pad"), *operation.inputs[1:])
        )

    def _whole(self, output: Output, form: str) -> Output:
        return self._copy(output, self.operations[output[0]].outputs[output[1]], form)

    def _copy(self, output: Output, size: int, form: str) -> Output:
        key = source_of(self.operations, output), size, form
        if key not in self.made:
            given = self.operations[output[0]]
            self.made[key] = len(self.operations)
            name = f"{given.name}/{form}"
            self.operations.append(
                Operation(name, "Pad", (output,), (), (size,), given.shapes[:1], given.dtypes[:1])
            )
        return self.made[key], 0


def _of_the_input(operation: Operation, given: Shape, kernel: Shape, gradient: Shape) -> Operation:
    size, *others = operation.outputs
    if operation.type.startswith(
        "Depthwise"
    ):  # a convolution over the gradient, which is spread out and padded
        sides = zip(given[1:-1], kernel[:-2], strict=False)
        spread = math.prod((side + width - 1) / side for side, width in sides if side)
        return replace(operation, outputs=(size, int(size * spread)))
    return replace(operation, outputs=(int(size * one_more(given, kernel, gradient)), *others))


def _is_taken_for_forward(given: Shape, kernel: Shape, gradient: Shape) -> bool:
    """The filter's gradient of a one-dimensional convolution without padding: cuDNN gets it as a convolution.

    Of both tensors with batch and channels exchanged (`MatchBackwardFilter` in
    xla/service/gpu/transforms/conv_rewriter.cc; seen in the assignment of text_cnn).
    """
    if not len(given) == len(kernel) == len(gradient) == 4:
        return False
    return given[1] == kernel[0] == 1 and kernel[1] > 2 and gradient[2] == given[2] - kernel[1] + 1


def one_more(given: Shape, kernel: Shape, made: Shape) -> float:
    """How much larger the input is with a row more on each axis whose padding is odd.

    cuDNN pads both sides alike (xla/service/gpu/transforms/conv_padding_legalization.cc).
    """
    if not len(given) == len(kernel) == len(made):
        return 1.0
    more = 1.0
    for side, width, result in zip(given[1:-1], kernel[:-2], made[1:-1], strict=True):
        step = -(-side // result) if result else 0
        if step and -(-side // step) == result:  # else without padding
            padding = (result - 1) * step + width - side
            if padding > 0 and padding % 2:
                more *= (side + 1) / side
    return more


def source_of(operations: list[Operation], output: Output) -> int:
    """The operation behind other names and shapes."""
    number = output[0]
    while operations[number].type in ALIASES and operations[number].inputs:
        number = operations[number].inputs[0][0]
    return number
