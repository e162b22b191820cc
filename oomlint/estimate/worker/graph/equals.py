"""Operations that compute the same of the same, which XLA makes one of.

TensorFlow's gradients wait for what comes back to them before they compute anything (`control_dependencies` in
tensorflow/python/ops/math_grad.py), so that Grappler leaves a sine of the way there and one of the way back apart. XLA
knows no such waits (xla/service/hlo_cse.cc): one cosine was kept for both in the assignment of waves_of_numbers. Nor
does it know `stop_gradient`: a judge that is asked of what was made, and of the same with no way back, judges once
(maker_and_judge_in_balance).
"""

from __future__ import annotations

from dataclasses import replace

from oomlint.estimate.worker.graph.convolutions import source_of
from oomlint.estimate.worker.graph.kinds import READS
from oomlint.estimate.worker.graph.operations import Operation, Output

# Functions that have no other arguments than tensors, and convolutions, whose others are known.
_FUNCTIONS = frozenset(
    """
    Abs Acos Acosh Asin Asinh Atan Atanh Ceil Cos Cosh Digamma Erf Erfc Erfinv Exp Expm1 Floor Inv Lgamma Log Log1p Neg
    Reciprocal Rint Round Rsqrt Sigmoid Sign Sin Sinh Softplus Softsign Sqrt Square Tan Tanh
    Add AddV2 BiasAdd Cast Elu Maximum Minimum Mul RealDiv Relu Relu6 Selu SquaredDifference Sub
    Conv2D Conv3D DepthwiseConv2dNative MatMul
    """.split()
)


def merge_equals(operations: list[Operation]) -> None:
    """Later ones become other names of the first, whose numbers stay as they are."""
    first: dict[tuple[object, ...], int] = {}
    for number, operation in enumerate(operations):
        if operation.type not in _FUNCTIONS or not operation.inputs or _may_be_turned(operation, operations):
            continue
        given = tuple(_value(operations, one) for one in operation.inputs)
        window = operation.strides, operation.dilations, operation.padded
        made = operation.shapes, operation.dtypes
        known = first.setdefault((operation.type, given, window, made), number)
        if known != number:
            operations[number] = replace(operation, type="Identity", inputs=((known, 0),))


def _value(operations: list[Operation], output: Output) -> tuple[object, ...]:
    """What it is, and in which shape it is read. A variable is the same between two changes of it."""
    number, position = output
    shapes = operations[number].shapes
    shape = shapes[position] if position < len(shapes) else ()
    source = source_of(operations, output)
    read = operations[source]
    if read.type in READS and read.variable:
        changes = (one for one in read.controls if operations[one].type.startswith(("Assign", "Resource")))
        return read.variable, read.inputs, tuple(changes), shape
    return source, position if source == number else 0, shape


def _may_be_turned(operation: Operation, operations: list[Operation]) -> bool:
    """Whether a product could be one of a transposed matrix: which it is has no trace but in the shapes."""
    if operation.type != "MatMul":
        return False
    if len(operation.inputs) < 2:
        return True
    sides = [
        operations[number].shapes[position]
        for number, position in operation.inputs
        if position < len(operations[number].shapes)
    ]
    return any(len(set(shape)) == 1 for shape in sides)
