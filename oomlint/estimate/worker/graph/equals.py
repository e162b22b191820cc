"""Operations that compute the same of the same, which XLA makes one of.

TensorFlow's gradients wait for what comes back to them before they compute anything (`control_dependencies` in
tensorflow/python/ops/math_grad.py), so that Grappler leaves a sine of the way there and one of the way back apart. XLA
knows no such waits (xla/service/hlo_cse.cc): one cosine was kept for both in the assignment of waves_of_numbers.
"""

from __future__ import annotations

from dataclasses import replace

from oomlint.estimate.worker.graph.convolutions import source_of
from oomlint.estimate.worker.graph.operations import Operation, Output

# Functions of one tensor that have no other arguments.
_OF_ONE = frozenset(
    """
    Abs Acos Acosh Asin Asinh Atan Atanh Ceil Cos Cosh Digamma Erf Erfc Erfinv Exp Expm1 Floor Inv Lgamma Log Log1p Neg
    Reciprocal Rint Round Rsqrt Sigmoid Sign Sin Sinh Softplus Softsign Sqrt Square Tan Tanh
    """.split()
)


def merge_equals(operations: list[Operation]) -> None:
    """Later ones become other names of the first, whose numbers stay as they are."""
    first: dict[tuple[str, int, int], int] = {}
    for number, operation in enumerate(operations):
        if operation.type not in _OF_ONE or len(operation.inputs) != 1:
            continue
        source, position = _source(operations, operation.inputs[0])
        known = first.setdefault((operation.type, source, position), number)
        if known != number and operations[known].shapes == operation.shapes:
            operations[number] = replace(operation, type="Identity", inputs=((known, 0),))


def _source(operations: list[Operation], output: Output) -> Output:
    number = source_of(operations, output)
    return number, output[1] if number == output[0] else 0
