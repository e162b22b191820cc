"""What a step that runs operation by operation keeps beside what later operations read.

Nothing is written over an input: Python may still look at it. A GradientTape keeps what the gradients of the recorded
operations ask for, if only for a shape, until each has been computed: after those of everything that read its outputs.
Until the step returns Python keeps the variables' gradients, in a list, and what the model gave. A loop (a recurrent
layer's) is one of Python: each round reads the weights anew, and the gradients of all rounds are there until the end.
"""

from __future__ import annotations

from dataclasses import replace

from oomlint.estimate.worker.graph.kinds import LOOPS, READS
from oomlint.estimate.worker.graph.operations import Operation, Output, Program
from oomlint.estimate.worker.graph.unrolled import unrolled

BACKWARD = "gradient_tape/"  # the scope of what a GradientTape computes
LOSS = "compile_loss/"  # where Keras computes the loss
KEPT = f"{BACKWARD}kept"
# Gradients of one variable are added up when there are more than so many, of more bytes than these; else at the end
# (kMinAggregateCount and kMinAggregateBytes in tensorflow/c/eager/tape.h).
SUMMED_FROM, SUMMED_ABOVE = 4, 128 << 20

# What the gradient of an operation does not ask for, which the tape lets go; of others it keeps all
# (tensorflow/python/eager/pywrap_gradient_exclusions.cc, as far as models have them).
NO_INPUTS = frozenset(
    """
    ArgMax ArgMin BiasAdd BiasAddV1 Ceil CheckNumerics Conj DepthToSpace Diag DiagPart Elu EnsureShape Equal Erfinv Exp
    FFT FFT2D FFT3D Fill Floor FloorDiv Greater GreaterEqual IFFT IFFT2D IFFT3D Identity IdentityN Imag Less LessEqual
    LogSoftmax LogicalAnd LogicalNot LogicalOr MatrixDiag MatrixInverse Neg NotEqual OneHot OnesLike Pack
    PreventGradient RandomStandardNormal RandomUniform Range ReadVariableOp Real Reciprocal Relu Relu6 Rint Round Rsqrt
    Selu Shape Sigmoid Size Softmax SpaceToDepth Sqrt StatelessRandomNormalV2 StatelessRandomUniformV2
    StatelessTruncatedNormalV2 StopGradient Tanh Unpack ZerosLike
    """.split()
)
UNUSED_INPUTS = {
    "Conv2DBackpropInput": 0, "Conv3DBackpropInputV2": 0, "Cumsum": 0, "DepthwiseConv2dNativeBackpropInput": 0,
    "FusedBatchNorm": 2, "FusedBatchNormV2": 2, "FusedBatchNormV3": 2, "MatrixBandPart": 0, "MirrorPad": 0,
    "ReverseV2": 0, "Roll": 0, "Select": 2, "Slice": 2, "SoftmaxCrossEntropyWithLogits": 1,
    "SpaceToBatchND": 0, "BatchToSpaceND": 0, "SparseSoftmaxCrossEntropyWithLogits": 1, "Transpose": 0,
    "UnsortedSegmentSum": 0,
}  # fmt: skip
OUTPUTS = frozenset(
    """
    Cholesky Elu Erfinv Exp Inv LRN LogSoftmax MatrixInverse Max MaxPool MaxPool3D Min Pow Reciprocal Relu Relu6 Rsqrt
    SegmentMax SelectV2 Selu Sigmoid Slice Softmax Sqrt Tanh UnsortedSegmentMax
    """.split()
)
# Keras hangs what it was given on what a softmax gives, for a loss to find (`_keras_logits` in
# keras/src/backend/tensorflow/nn.py).
WITH_LOGITS = "Softmax"
LOSSES = (
    "SoftmaxCrossEntropyWithLogits",
    "SparseSoftmaxCrossEntropyWithLogits",
)  # the second output is the gradient
NORMALIZATIONS = ("FusedBatchNorm", "FusedBatchNormV2", "FusedBatchNormV3")  # keep all but the first three


def as_run_eagerly(traced: Program) -> tuple[Program, list[int]]:
    """The program with an operation for each release that Python or the tape is late with, and the order of all."""
    program = unrolled(traced)
    operations = program.operations
    backward = [number for number, one in enumerate(operations) if one.name.startswith(BACKWARD)]
    if not backward:
        return program, list(range(len(operations)))
    first, last = backward[0], backward[-1]
    made = list(operations)
    after: dict[int, list[int]] = {}
    for number, freed in _released(operations, first, last).items():
        kept = tuple(_asked_for(operations[number], number))
        if kept:
            after.setdefault(freed, []).append(len(made))
            made.append(Operation(f"{KEPT}/{operations[number].name}", "NoOp", kept))
    after.setdefault(last, []).append(len(made))
    made.append(Operation(f"{KEPT}/of_all_rounds", "Kept", outputs=(_of_all_rounds(traced),)))
    order = [one for number in range(len(operations)) for one in (number, *after.get(number, ()))]
    to_the_end = [
        source for one in operations[last + 1 :] for source in one.inputs if first <= source[0] <= last
    ]
    to_the_end += [
        source
        for one in operations[:first]
        if one.name.startswith(LOSS)
        for source in one.inputs
        if not operations[source[0]].name.startswith(LOSS)
    ]
    order.append(len(made))
    made.append(Operation(f"{KEPT}/by_the_step", "NoOp", tuple(dict.fromkeys(to_the_end))))
    return replace(program, operations=made), order


def _of_all_rounds(traced: Program) -> int:
    """The most bytes that the gradients of the variables which loops read take at once, the last loop's first."""
    total = most = 0
    for loop in reversed(traced.operations):
        if loop.type not in LOOPS or loop.body is None or loop.name.startswith(BACKWARD):
            continue
        sizes = [sum(inner.outputs) for inner in loop.body.operations if inner.type in READS]
        counts = [0] * len(sizes)
        now = 0
        for _ in range(loop.rounds):
            for index, size in enumerate(sizes):
                counts[index] += 1
                if counts[index] > SUMMED_FROM and counts[index] * size > SUMMED_ABOVE:
                    counts[index] = 1
            now = sum(count * size for count, size in zip(counts, sizes))
            most = max(most, total + now)
        total += now
    return most


def _released(operations: list[Operation], first: int, last: int) -> dict[int, int]:
    """For each recorded operation the last one of its gradient, or of those that come before it."""
    recorded = _recorded(operations, first)
    of_name = _last_of_gradients(operations, first, last)
    readers: dict[int, list[int]] = {}
    for number in recorded:
        for source, _ in operations[number].inputs:
            readers.setdefault(source, []).append(number)
    released: dict[int, int] = {}
    for number in reversed(recorded):
        own = of_name.get(operations[number].name, first)
        released[number] = max([own, *(released[reader] for reader in readers.get(number, ()))])
    return released


def _recorded(operations: list[Operation], first: int) -> list[int]:
    """The operations before the gradients that a variable flows into."""
    flows: set[int] = set()
    for number, one in enumerate(operations[:first]):
        reads = one.type in READS or one.type == "ResourceGather"
        given = any("float" in each for each in one.dtypes) and any(
            source in flows for source, _ in one.inputs
        )
        if reads or given:
            flows.add(number)
    return sorted(flows)


def _last_of_gradients(operations: list[Operation], first: int, last: int) -> dict[str, int]:
    """The last operation of a gradient that is named for the one whose gradient it is."""
    found: dict[str, int] = {}
    names = {one.name for one in operations[:first]}
    for number in range(first, last + 1):
        name = operations[number].name.removeprefix(BACKWARD)
        while name and name not in names:
            name = name.rpartition("/")[0]
        if name:
            found[name] = number
    return found


def _asked_for(operation: Operation, number: int) -> list[Output]:
    """The inputs and outputs that the tape keeps of an operation."""
    kept: list[Output] = []
    if operation.type not in NO_INPUTS or operation.type == WITH_LOGITS:
        unused = UNUSED_INPUTS.get(operation.type, -1)
        kept += [source for position, source in enumerate(operation.inputs) if position != unused]
    if operation.type in OUTPUTS:
        kept.append((number, 0))
    elif operation.type in LOSSES:
        kept.append((number, 1))
    elif operation.type in NORMALIZATIONS:
        kept += [(number, position) for position in range(3, len(operation.outputs))]
    return kept
