"""What convolutions read and write beside their tensors when XLA hands them to cuDNN: padded and transposed copies."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

from oomlint.estimate.worker.graph.kinds import ALIASES, CHANGES, READS
from oomlint.estimate.worker.graph.operations import Operation, Output

_MOVED = ("SpaceToBatchND", "Transpose")
CONVOLUTIONS = ("Conv", "DepthwiseConv", "_FusedConv")

# The least side that XLA turns through shared memory (kMinDimensionToTransposeTiled in xla/service/gpu/
# ir_emission_utils.h; 4 in later versions of it, where the product counts as well). In the compiler of the `xla` extra
# as is seen of kernels: 3x3 are not, 4x4 are.
_TURNED = 16

Shape = tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Side:
    """An axis of a convolution; the kernel's width with what its dilation leaves out."""

    given: int
    width: int
    made: int
    step: int
    padding: int


@dataclass(frozen=True, slots=True)
class Window:
    """How a kernel moves over its input. Where that is not known, it follows from the shapes, nearly always."""

    strides: tuple[int, ...]
    dilations: tuple[int, ...]
    padded: bool

    @staticmethod
    def of(operation: Operation) -> Window:
        """An operation's own."""
        return Window(operation.strides, operation.dilations, operation.padded)

    def dilation(self, axis: int) -> int:
        """1 where the kernel's elements are next to one another."""
        return self.dilations[axis] if axis < len(self.dilations) else 1

    def step(self, axis: int, side: int, width: int, result: int) -> tuple[int, bool]:
        """How far it moves, and whether the input is padded."""
        if axis < len(self.strides):
            return self.strides[axis], self.padded
        padded = -(-side // result) if result else 0
        if padded and -(-side // padded) == result:
            return padded, True
        return (max((side - width) // (result - 1), 1) if result > 1 else 1), False


class Copies:
    """Appends the copies to the operations: one for all that read a tensor in the same form.

    `channels_first`: the layout of convolutions of float32 on cards before Hopper.
    """

    def __init__(self, operations: list[Operation], channels_first: bool) -> None:
        self.operations = operations
        self.channels_first = channels_first
        self.made: dict[tuple[object, int, str], int] = {}
        self.changed = {one.variable for one in operations if one.type.startswith(CHANGES)}

    def convolution(self, operation: Operation) -> Operation:
        """The convolution as it reads copies, and writes a gradient with the padding or scratch."""
        shapes = [self.operations[number].shapes for number, _ in operation.inputs]
        own = operation.shapes[:1]
        gradient = "Backprop" in operation.type
        if not own or len(shapes) < 2 + gradient or not all(shapes[: 2 + gradient]):
            return operation
        given, second, third = shapes[0][0], shapes[1][0], shapes[2][0] if gradient else ()
        window = Window.of(operation)
        if "BackpropInput" in operation.type:
            turned = 0 if operation.type.startswith("Depthwise") else _turned(own[0], second, third, window)
            if not turned:
                return _of_the_input(self._with_own_kernel(operation), own[0], second, third)
            sizes, kernel, right = operation.inputs[:3]
            kernel = self._copy(kernel, turned * operation.outputs[0] // max(math.prod(own[0]), 1), "turned")
            right = self._grown(right, "spread", _spread(own[0], second, third, window))
            return replace(_of_the_input(operation, own[0], second, third), inputs=(sizes, kernel, right))
        if "BackpropFilter" in operation.type:
            if _is_taken_for_forward(given, own[0], third):
                left, sizes, right = operation.inputs[:3]
                left = self._grown(left, "pad", _with_padding(given, own[0], third, window))
                right = self._grown(right, "spread", _spread(given, own[0], third, window))
                exchanged = self._whole(left, "exchanged"), sizes, self._whole(right, "exchanged")
                return replace(operation, inputs=exchanged)
            return self._padded(operation, given, _one_more(given, own[0], third, window))
        operation = self._with_own_kernel(operation)
        return self._padded(operation, given, _with_padding(given, second, own[0], window))

    def _with_own_kernel(self, operation: Operation) -> Operation:
        """Where channels are first, its weights are written so as well, once for the way there and back.

        Those that the step changes lend their own place meanwhile to what comes (fronts_of_houses); those that are
        frozen cannot (wrapped_transpose of arguments in the assignment of totally_alike). Nor do kernels too small to
        be turned as their update is written: the optimizer's slots are turned as well, into those places
        (wrapped_transpose.100 where parameter 245 of ResNet50V2 was). 16 bits are cast to that layout at once.
        """
        number, position = operation.inputs[1]
        source = self.operations[source_of(self.operations, operation.inputs[1])]
        half = "16" in "".join(self.operations[number].dtypes)
        if half or source.type not in READS:
            return operation
        kernel = self._copy(operation.inputs[1], self.operations[number].outputs[position], "transposed")
        shape = self.operations[number].shapes[position]
        if source.variable in self.changed and not 1 < math.prod(shape[:-2]) < _TURNED:
            self.operations[kernel[0]].variable = source.variable
        return replace(operation, inputs=(operation.inputs[0], kernel, *operation.inputs[2:]))

    def _padded(self, operation: Operation, given: Shape, more: float) -> Operation:
        number, position = operation.inputs[0]
        half = any("16" in dtype for dtype in self.operations[number].dtypes)
        if half and given[-1] == 3:
            more *= (
                4 / 3
            )  # fours for the tensor cores: xla/service/gpu/transforms/cudnn_pad_for_convolutions.cc
        # One channel lies first and last at once (bitcast.49 in the assignment of landmarks).
        first = given[-1] > 1 and ("3D" in operation.type or (self.channels_first and not half))
        source = self.operations[source_of(self.operations, operation.inputs[0])]
        if more == 1.0 and not (
            first and source.type == "Argument"
        ):  # others are written in that layout at once
            return operation
        size = int(self.operations[number].outputs[position] * more)
        return replace(
            operation, inputs=(self._copy(operation.inputs[0], size, "pad"), *operation.inputs[1:])
        )

    def _grown(self, output: Output, form: str, more: float) -> Output:
        size = int(self.operations[output[0]].outputs[output[1]] * more)
        return output if more == 1.0 else self._copy(output, size, form)

    def _whole(self, output: Output, form: str) -> Output:
        return self._copy(output, self.operations[output[0]].outputs[output[1]], form)

    def _copy(self, output: Output, size: int, form: str) -> Output:
        source = source_of(self.operations, output)
        if form == "exchanged" and not self.channels_first and self.operations[source].type in _MOVED:
            output = self.operations[source].inputs[0]  # two changes of places are one
        read = self.operations[source]
        # What is read after a change is another value, which waits for the change.
        key = (read.variable, read.inputs) if read.variable else source, size, form
        if key not in self.made:
            given = self.operations[output[0]]
            self.made[key] = len(self.operations)
            name = f"{given.name}/{form}"
            self.operations.append(
                Operation(name, "Padded", (output,), (), (size,), given.shapes[:1], given.dtypes[:1])
            )
        return self.made[key], 0


def _of_the_input(operation: Operation, given: Shape, kernel: Shape, gradient: Shape) -> Operation:
    size, *others = operation.outputs
    window = Window.of(operation)
    if not operation.type.startswith("Depthwise"):
        more = 1.0 if _turned(given, kernel, gradient, window) else _one_more(given, kernel, gradient, window)
        return replace(operation, outputs=(int(size * more), *others))
    # A convolution over the gradient, which is spread out and padded: in a copy where the steps are larger than one or
    # the padding is odd, else by cuDNN itself (cudnn-conv with pad=63_63 in the assignment of brain_signals). It
    # has all the channels that the input's are made into (f32[64,576,34,34] of 64 in that of pictures_by_cosines).
    if _steps_of_one(given, kernel, gradient) and _one_more(given, kernel, gradient, window) == 1.0:
        return operation
    sides = zip(given[1:-1], kernel[:-2], strict=False)
    spread = math.prod((side + width - 1) / side for side, width in sides if side)
    return replace(operation, outputs=(size, int(size * spread * max(kernel[-1], 1))))


def _turned(given: Shape, kernel: Shape, gradient: Shape, window: Window) -> int:
    """Elements of the kernel as the padded input of a convolution whose kernel is the gradient, where that is smaller.

    XLA takes the one for the other when that multiplies less (`SwapConvOperands` in
    xla/hlo/transforms/simplifiers/algebraic_simplifier.cc), and pads in a copy.
    """
    if not len(given) == len(kernel) == len(gradient) or math.prod(kernel[:-2]) <= math.prod(gradient[1:-1]):
        return 0
    elements = math.prod(kernel[-2:])
    for side in _sides(given, kernel, gradient, window):
        elements *= side.given + (side.made - 1) * side.step
    return elements


def _steps_of_one(given: Shape, kernel: Shape, gradient: Shape) -> bool:
    sides = zip(given[1:-1], kernel[:-2], gradient[1:-1], strict=False)
    return all(result in (side, side - width + 1) for side, width, result in sides)


def _is_taken_for_forward(given: Shape, kernel: Shape, gradient: Shape) -> bool:
    """The filter's gradient as a convolution of both tensors with batch and channels exchanged, in copies.

    So cuDNN gets it where the gradient is no larger than the filter on all axes, or on one axis with steps of one
    (`MatchBackwardFilter` in xla/service/gpu/transforms/conv_rewriter.cc), and a one-dimensional convolution without
    padding (seen in the assignment of text_cnn).
    """
    if not len(given) == len(kernel) == len(gradient) > 3:
        return False
    small = [side <= width for side, width in zip(gradient[1:-1], kernel[:-2], strict=True)]
    if len(given) == 4 and given[1] == kernel[0] == 1 and not all(small):
        return kernel[1] > 2 and gradient[2] == given[2] - kernel[1] + 1
    return all(small) or (any(small) and _steps_of_one(given, kernel, gradient))


def _one_more(given: Shape, kernel: Shape, made: Shape, window: Window) -> float:
    """How much larger the input is with a row more on each axis whose padding is odd.

    cuDNN pads both sides alike (xla/service/gpu/transforms/conv_padding_legalization.cc).
    """
    if not len(given) == len(kernel) == len(made):
        return 1.0
    more = 1.0
    for side in _sides(given, kernel, made, window):
        if side.padding % 2:
            more *= (side.given + 1) / side.given
    return more


def _with_padding(given: Shape, kernel: Shape, made: Shape, window: Window) -> float:
    """How much larger the input of a forward convolution is where the padding of an axis is odd: all of it is written.

    (`MaybePaddedAndSlicedInput` in xla/service/gpu/transforms/conv_padding_legalization.cc)
    """
    if _one_more(given, kernel, made, window) == 1.0:
        return 1.0
    more = 1.0
    for side in _sides(given, kernel, made, window):
        more *= max((side.made - 1) * side.step + side.width, side.given) / side.given
    return more


def _spread(given: Shape, kernel: Shape, gradient: Shape, window: Window) -> float:
    """How much larger a gradient is as a kernel, which the input's odd padding has written with zeros between."""
    if _one_more(given, kernel, gradient, window) == 1.0:
        return 1.0
    more = 1.0
    for side in _sides(given, kernel, gradient, window):
        more *= ((side.made - 1) * side.step + 1) / side.made
    return more


def _sides(given: Shape, kernel: Shape, made: Shape, window: Window) -> list[Side]:
    """Of what a convolution is given, and of what it makes of that."""
    found = []
    for axis, (side, width, result) in enumerate(zip(given[1:-1], kernel[:-2], made[1:-1], strict=True)):
        width = (width - 1) * window.dilation(axis) + 1
        step, padded = window.step(axis, side, width, result)
        padding = max((result - 1) * step + width - side, 0) if padded else 0
        found.append(Side(side, width, result, step, padding))
    return found


def source_of(operations: list[Operation], output: Output) -> int:
    """The operation behind other names and shapes."""
    number = output[0]
    while operations[number].type in ALIASES and operations[number].inputs:
        number = operations[number].inputs[0][0]
    return number
