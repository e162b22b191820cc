"""What an operation is to XLA's fusion: its kind, the bytes that it writes, and what computing it costs.

The costs are a model of XLA's (xla/service/gpu/model); the constants without a source there were fitted to compilations
(benchmarks/estimate/compare_xla.py).
"""

from __future__ import annotations

import math

from oomlint.estimate.worker.graph.kinds import ALIASES, LOOPS, NOTHING, READS
from oomlint.estimate.worker.graph.loops import stacked_bytes
from oomlint.estimate.worker.graph.operations import Operation

# Values that are another's under a new name or shape, or a variable's. A list is one array, so also what it is made of
# or read as: what a loop reads stays while it runs (loop_transpose_fusion{0} in the assignment of same_question).
_SAME = ALIASES | READS | {"TensorListFromTensor", "TensorListStack"}
# Small results that no kernel computes twice.
REDUCTIONS = frozenset(
    "Sum Mean Max Min Prod Any All ArgMax ArgMin BiasAddGrad L2Loss EuclideanNorm VectorSum".split()
)
# Kernels that compute their inputs' elements themselves, too.
_POOLS = frozenset(
    "MaxPool AvgPool MaxPool3D AvgPool3D PoolWindows PoolScatter Base Padded Difference".split()
)
# Of operations with scratch: how many of their outputs are results.
_RESULTS = {
    "PoolWindows": 1,
    "Conv2DBackpropInput": 1,
    "Conv3DBackpropInputV2": 1,
    "DepthwiseConv2dNativeBackpropInput": 1,
    "If": 1,
    "StatelessIf": 1,
    "SparseSoftmaxCrossEntropyWithLogits": 2,
    "TopKV2": 2,
}
_WHOLE = tuple(
    """
    Conv MatMul BatchMatMul _FusedMatMul _FusedConv DepthwiseConv _FusedBatch FusedBatchNorm Einsum Zeros
    While StatelessWhile PartitionedCall StatefulPartitionedCall Sort TopK FFT Cumsum Cumprod Unsorted Scatter
    TensorScatter TensorList Resize Cudnn Segment Ahead IFFT RFFT IRFFT
    """.split()
)
# Updates in place, and branches that hold only such (a loss scale's check).
_UPDATES = ("Assign", "Resource", "If", "StatelessIf", "Case", "StatelessCase")
_BY_ROW = ("Softmax", "LogSoftmax", "SparseSoftmaxCrossEntropyWithLogits", "SoftmaxCrossEntropyWithLogits")
# Longer rows are summed in two steps (ReductionDimensionRaceFreeBound in xla/service/gpu/reduction_utils.cc: 1,024
# threads of sixteen elements), and no kernel of Triton's is made of them.
_LONGEST_ROW = 1024 * 16
WARP = 32  # threads that run together
# Bytes that could be moved while an element of joined tensors is chosen (400 operations, as long as a tanh).
JOINED = 10
# What computing an element costs, in bytes: a counter-based random number, the error function of gelu, tanh and elu;
# others in proportion to the cycles that XLA has measured for float32 on an H100
# (xla/service/gpu/model/hlo_op_profiles_data.h). Softplus is log1p(exp(x)), chosen from by two comparisons.
_RANDOM, _ERF, _TANH = 40, 24, 12
_CYCLES = {
    "Tanh": 467,
    "Sin": 958,
    "Cos": 978,
    "Exp": 79,
    "Expm1": 190,
    "Elu": 190,
    "Log": 166,
    "Log1p": 229,
    "Softplus": 320,
}
# The cycles of others in float32 there; three where there is no figure (kDefaultFlopsPerElement in
# gpu_hlo_cost_analysis.cc), and those of several operations are added up.
_SIMPLE = {
    **dict.fromkeys("Add AddV2 BiasAdd Sub".split(), 7),
    **dict.fromkeys("RealDiv Reciprocal".split(), 19),
    **dict.fromkeys("SigmoidGrad TanhGrad".split(), 13),
    "SquaredDifference": 10,
}
_CYCLES_OF_OTHERS, _CYCLES_OF_A_SUM = 3, 7
# They pass while memory is waited for, but for a twentieth (kMemoryComputeParallelism in
# xla/service/gpu/model/gpu_performance_model_base.h): 3.35 TB/s beside 67 T operations/s of an H100.
_CYCLE = 0.05 * 3.35 / 67


def kind_of(operation: Operation) -> str:
    """`mapped` where readers may compute it themselves, `whole` where it and what it reads is written, and others."""
    kind = operation.type
    if kind == "Argument":
        return "argument"
    if kind in NOTHING:
        return "nothing"
    if kind in _SAME:
        return "same"
    if kind in REDUCTIONS or kind in _POOLS:
        return "reduction"
    if kind.startswith(_UPDATES):
        return "whole" if operation.body is not None and any(operation.outputs[:1]) else "update"
    return "whole" if kind.startswith(_WHOLE) else "mapped"


def is_by_row(operation: Operation) -> bool:
    """Whether a kernel of Triton's is made of it, a row at a time."""
    return operation.type in _BY_ROW and max(shape[-1:] for shape in operation.shapes) <= (_LONGEST_ROW,)


def size_of(operation: Operation) -> int:
    """Bytes of its results."""
    if operation.type in LOOPS and operation.body is not None:
        return stacked_bytes(operation)
    return sum(operation.outputs) - scratch_of(operation)


def scratch_of(operation: Operation) -> int:
    """What a kernel writes beside its result and gives back at once."""
    return sum(operation.outputs[_RESULTS.get(operation.type, len(operation.outputs)) :])


def cost_of(operation: Operation) -> float:
    """What computing it takes, as bytes that could have been moved meanwhile."""
    elements = sum(math.prod(shape) for shape in operation.shapes)
    if operation.type in ("Erf", "Erfc"):
        return _ERF * elements
    if operation.type in _CYCLES:
        return _TANH * _CYCLES[operation.type] / _CYCLES["Tanh"] * elements
    if operation.type.startswith(("Stateless", "Random")) and operation.type not in LOOPS:
        return _RANDOM * elements
    cycles = _SIMPLE.get(operation.type, _CYCLES_OF_OTHERS)
    if operation.type == "AddN":
        cycles = _CYCLES_OF_A_SUM * max(len(operation.inputs) - 1, 1)
    return _CYCLE * cycles * elements


def is_joined_anywhere(operation: Operation, operations: list[Operation]) -> bool:
    """Whether threads that run together may have to read from different tensors: each reads from all of them.

    (`HandleConcatenate` in xla/service/gpu/model/gpu_hlo_cost_analysis.cc: 400 operations an element, else six)
    """
    number, position = operation.inputs[0]
    if not operation.shapes or position >= len(operations[number].shapes):
        return False
    given, made = operations[number].shapes[position], operation.shapes[0]
    if operation.type == "Pack":
        return given != made[1:]
    axis = next((axis for axis, (a, b) in enumerate(zip(given, made, strict=False)) if a != b), 0)
    return axis > 0 and given[axis] % WARP > 0
