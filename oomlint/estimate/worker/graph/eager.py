"""What a step that runs operation by operation keeps beside what later operations read.

Nothing is written over an input: Python may still look at it. A GradientTape keeps what the gradients of the recorded
operations ask for, if only for a shape, until each has been computed: after those of everything that read its outputs.
Until the step returns Python keeps the variables' gradients, in a list, and what the model gave; until the call of a
functional model returns, what its layers gave one another. A loop (a recurrent
layer's) is one of Python: each round reads the weights anew, and the gradients of all rounds are there until the end.
"""

from __future__ import annotations

import re
from collections.abc import Collection
from dataclasses import replace

from oomlint.estimate.worker.graph.custom_gradients import CustomGradient, custom_gradients
from oomlint.estimate.worker.graph.kinds import CHANGES, LOOPS, OVER, READS
from oomlint.estimate.worker.graph.operations import Operation, Output, Program
from oomlint.estimate.worker.graph.order import as_made
from oomlint.estimate.worker.graph.parts import BACKWARD
from oomlint.estimate.worker.graph.unrolled import unrolled

_LOSS = "compile_loss/"  # where Keras computes the loss
_GRADIENT = f"{BACKWARD}/"
_KEPT = f"{_GRADIENT}kept"
# Gradients of one variable are added up when there are more than so many, of more bytes than these; else at the end
# (kMinAggregateCount and kMinAggregateBytes in tensorflow/c/eager/tape.h).
_SUMMED_FROM, _SUMMED_ABOVE = 4, 128 << 20

# What the gradient of an operation does not ask for, which the tape lets go; of others it keeps all
# (tensorflow/python/eager/pywrap_gradient_exclusions.cc, as far as models have them).
_NO_INPUTS = frozenset(
    """
    ArgMax ArgMin BiasAdd BiasAddV1 Ceil CheckNumerics Conj DepthToSpace Diag DiagPart Elu EnsureShape Equal Erfinv Exp
    FFT FFT2D FFT3D Fill Floor FloorDiv Greater GreaterEqual IFFT IFFT2D IFFT3D Identity IdentityN Imag Less LessEqual
    LogSoftmax LogicalAnd LogicalNot LogicalOr MatrixDiag MatrixInverse Neg NotEqual OneHot OnesLike Pack
    PreventGradient RandomStandardNormal RandomUniform Range ReadVariableOp Real Reciprocal Relu Relu6 Rint Round Rsqrt
    Selu Shape Sigmoid Size Softmax SpaceToDepth Sqrt StatelessRandomNormalV2 StatelessRandomUniformV2
    StatelessTruncatedNormalV2 StopGradient Tanh Unpack ZerosLike
    """.split()
)
_UNUSED_INPUTS = {
    "Conv2DBackpropInput": 0, "Conv3DBackpropInputV2": 0, "Cumsum": 0, "DepthwiseConv2dNativeBackpropInput": 0,
    "FusedBatchNorm": 2, "FusedBatchNormV2": 2, "FusedBatchNormV3": 2, "MatrixBandPart": 0, "MirrorPad": 0,
    "ReverseV2": 0, "Roll": 0, "Select": 2, "Slice": 2, "SoftmaxCrossEntropyWithLogits": 1,
    "SpaceToBatchND": 0, "BatchToSpaceND": 0, "SparseSoftmaxCrossEntropyWithLogits": 1, "Transpose": 0,
    "UnsortedSegmentSum": 0,
}  # fmt: skip
_OUTPUTS = frozenset(
    """
    Cholesky Elu Erfinv Exp Inv LRN LogSoftmax MatrixInverse Max MaxPool MaxPool3D Min Pow Reciprocal Relu Relu6 Rsqrt
    SegmentMax SelectV2 Selu Sigmoid Slice Softmax Sqrt Tanh UnsortedSegmentMax
    """.split()
)
# Keras hangs what it was given on what a softmax gives, for a loss to find (`_keras_logits` in
# keras/src/backend/tensorflow/nn.py).
_WITH_LOGITS = "Softmax"
_NORMALIZATIONS = ("FusedBatchNorm", "FusedBatchNormV2", "FusedBatchNormV3")  # keep all but the first three


def as_run_eagerly(traced: Program, functional: Collection[str] = ()) -> tuple[Program, list[int]]:
    """The program with an operation for each release that Python or the tape is late with, and the order of all.

    `functional`: the names of the models that are run layer by layer, those inside others included.
    """
    program = unrolled(traced)
    operations = program.operations
    spans = _backward(operations)
    if not spans:
        return program, as_made(program)
    made = list(operations)
    after: dict[int, list[int]] = {}
    custom = custom_gradients(operations, spans[0][0])
    for number, freed in _released(operations, spans, custom).items():
        one = operations[number]
        if number in custom:
            kept = (*one.inputs, *custom[number].named)
        else:
            kept = tuple(_asked_for(one, number))
        if kept:
            after.setdefault(freed, []).append(len(made))
            made.append(Operation(f"{_KEPT}/{one.name}", "NoOp", kept))
    for call, (outputs, last) in _between_layers(operations, spans[0][0], functional).items():
        after.setdefault(last, []).append(len(made))
        made.append(Operation(f"{_KEPT}/until_the_end_of/{call}", "NoOp", outputs))
    after.setdefault(spans[-1][1], []).append(len(made))
    made.append(Operation(f"{_KEPT}/of_all_rounds", "Kept", outputs=(_of_all_rounds(traced),)))
    order = [one for number in range(len(operations)) for one in (number, *after.get(number, ()))]
    order.append(len(made))
    made.append(Operation(f"{_KEPT}/by_the_step", "NoOp", _to_the_end(operations, spans)))
    return replace(program, operations=made), order


def _between_layers(
    operations: list[Operation], end: int, functional: Collection[str]
) -> dict[str, tuple[tuple[Output, ...], int]]:
    """For each call of a functional model before `end` what its layers gave one another, and its last operation.

    Keras has the outputs of all layers in a dictionary until the call returns (`_run_through_graph` in
    keras/src/ops/function.py).
    """
    if not functional:
        return {}
    scope = re.compile(rf"(?:^|.*/)(?:{'|'.join(map(re.escape, functional))})(?:_\d+)?(?=/)")
    given: dict[str, dict[Output, None]] = {}
    last: dict[str, int] = {}
    for number, one in enumerate(operations[:end]):
        found = scope.match(one.name)
        call = found[0] if found is not None else ""
        while call:  # it runs in the calls around this one as well
            last[call] = number
            layer = one.name[len(call) + 1 :].partition("/")[0]
            for source in one.inputs:
                maker = operations[source[0]].name
                if maker.startswith(f"{call}/") and maker[len(call) + 1 :].partition("/")[0] != layer:
                    given.setdefault(call, {})[source] = None
            found = scope.match(call)
            call = found[0] if found is not None else ""
    return {call: (tuple(outputs), last[call]) for call, outputs in given.items()}


def _backward(operations: list[Operation]) -> list[tuple[int, int]]:
    """First and last operation of each tape's gradients: between those of two tapes a variable changes."""
    spans: list[tuple[int, int]] = []
    changed = True
    for number, one in enumerate(operations):
        if one.name.startswith(_GRADIENT):
            first = number if changed else spans.pop()[0]
            spans.append((first, number))
            changed = False
        elif one.type.startswith(CHANGES):
            changed = True
    return spans


def _to_the_end(operations: list[Operation], spans: list[tuple[int, int]]) -> tuple[Output, ...]:
    """The gradients that something reads after their tape is done, and what the loss is of."""
    kept: dict[Output, None] = {}
    for number, one in enumerate(operations):
        of_loss = one.name.startswith(_LOSS)
        for source in one.inputs:
            gradient = any(first <= source[0] <= last < number for first, last in spans)
            if gradient or (of_loss and not operations[source[0]].name.startswith(_LOSS)):
                kept[source] = None
    return tuple(kept)


def _of_all_rounds(traced: Program) -> int:
    """The most bytes that the gradients of the variables which loops read take at once, the last loop's first."""
    total = most = 0
    for loop in reversed(traced.operations):
        if loop.type not in LOOPS or loop.body is None or loop.name.startswith(_GRADIENT):
            continue
        sizes = [sum(inner.outputs) for inner in loop.body.operations if inner.type in READS]
        counts = [0] * len(sizes)
        now = 0
        for _ in range(loop.rounds):
            for index, size in enumerate(sizes):
                counts[index] += 1
                if counts[index] > _SUMMED_FROM and counts[index] * size > _SUMMED_ABOVE:
                    counts[index] = 1
            now = sum(count * size for count, size in zip(counts, sizes))
            most = max(most, total + now)
        total += now
    return most


def _released(
    operations: list[Operation], spans: list[tuple[int, int]], custom: dict[int, CustomGradient]
) -> dict[int, int]:
    """For each recorded operation the last one of its gradient, or of those that come before it."""
    last = spans[-1][1]
    of_name = _last_of_gradients(operations, last)
    released: dict[int, int] = {}
    readers: dict[int, list[int]] = {}
    recorded = _recorded(operations[:last])
    inner = {number for one in custom.values() for number in one.inner}
    ends = {number: one.last for number, one in custom.items() if one.last is not None}
    for number in recorded:
        for source, _ in operations[number].inputs:
            readers.setdefault(source, []).append(number)
    for number in reversed(recorded):
        own = ends.get(number, of_name.get(operations[number].name, number))
        freed = max([own, *(released.get(reader, number) for reader in readers.get(number, ()))])
        if number in inner:
            freed = next(first for first, end in spans if number < end) - 1
        if freed > number:  # else nothing asks for its gradient: an optimizer's work, a metric
            released[number] = freed
    return released


def _recorded(operations: list[Operation]) -> list[int]:
    """The operations outside of gradients that a variable flows into."""
    flows: set[int] = set()
    for number, one in enumerate(operations):
        if one.name.startswith(_GRADIENT):
            continue
        reads = one.type in READS or one.type == "ResourceGather"
        floats = any("float" in each or each == "variant" for each in one.dtypes)  # a list of a loop's
        if reads or (floats and any(source in flows for source, _ in one.inputs)):
            flows.add(number)
    return sorted(flows)


def _last_of_gradients(operations: list[Operation], last: int) -> dict[str, int]:
    """The last operation of a gradient that is named for the one whose gradient it is."""
    found: dict[str, int] = {}
    names = {one.name for one in operations[:last] if not one.name.startswith(_GRADIENT)}
    for number, one in enumerate(operations[: last + 1]):
        if not one.name.startswith(_GRADIENT):
            continue
        name = one.name.removeprefix(_GRADIENT)
        while name and name not in names:
            name = name.rpartition("/")[0]
        if name:
            found[name] = number
    return found


def _asked_for(operation: Operation, number: int) -> list[Output]:
    """The inputs and outputs that the tape keeps of an operation."""
    kept: list[Output] = []
    if operation.type not in _NO_INPUTS or operation.type == _WITH_LOGITS:
        unused = _UNUSED_INPUTS.get(operation.type, -1)
        kept += [source for position, source in enumerate(operation.inputs) if position != unused]
    if operation.type in _OUTPUTS:
        kept.append((number, 0))
    elif operation.type in OVER:  # a loss, whose second output is its gradient
        kept.append((number, 1))
    elif operation.type in _NORMALIZATIONS:
        kept += [(number, position) for position in range(3, len(operation.outputs))]
    return kept
