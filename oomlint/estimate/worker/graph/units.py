"""What the gradient of a ReLU is asked of: the unit's input, or what it made."""

from __future__ import annotations

from oomlint.estimate.worker.graph.convolutions import source_of
from oomlint.estimate.worker.graph.costs import kind_of
from oomlint.estimate.worker.graph.operations import Operation, Output, Program, new_operation
from oomlint.estimate.worker.graph.products import PRODUCTS
from oomlint.estimate.worker.graph.rows import ROWS, summed_rows

RELUS = frozenset({"Relu", "Relu6"})


def positive(
    gradient: Operation, operations: list[Operation], zeros: tuple[Output, ...], both: bool
) -> Operation:
    """Where a ReLU's input is positive, a byte for each element: asked of its input, which leaves its output alone.

    Not behind a product of matrices, whose kernel ends with the ReLU, or which the next computes it from. cuBLAS does
    neither where both are needed, and both stay (cublas-lt-matmul.55 and loop_maximum_fusion in small_reader's); so do
    they where a mean over few rows is taken of the ReLU (input_maximum_reduce_fusion in loans_repaid's), or something
    else than a product reads it whole, as a sort does (loop_maximum_fusion in few_features_of_many's).
    """
    asked = gradient.inputs[1]
    relu = operations[source_of(operations, asked)]
    if relu.type == "Relu" and (both or not _is_product(relu.inputs[0], operations)):
        asked = relu.inputs[0]
    name, count = f"{gradient.name}/positive", elements_of(gradient)
    return new_operation(name, "Compare", (asked, *zeros), gradient.shapes[:1], count, ("bool",))


def is_written(gradient: Operation, program: Program, readers: list[list[int]]) -> bool:
    """Whether the ReLU has memory of its own beside the product that it is taken of."""
    number = source_of(program.operations, gradient.inputs[1])
    relu = program.operations[number]
    if relu.type not in RELUS:
        return False
    stack = list(readers[number])
    while stack:
        reader = stack.pop()
        one = program.operations[reader]
        kind = kind_of(one)
        if kind == "same":
            stack += readers[reader]
        elif kind == "whole" and one.type not in PRODUCTS:
            return True
    return _is_averaged(relu, program, readers[number])


def _is_averaged(relu: Operation, program: Program, readers: list[int]) -> bool:
    """Whether few rows of the ReLU's are summed, which writes it (`_is_summed_at_once` in fusion.py)."""
    for reader in readers:
        one = program.operations[reader]
        if one.type == "Mean" and relu.shapes and one.shapes:
            if 1 < summed_rows(relu.shapes[0], one.shapes[0]) <= ROWS:
                return True
    return False


def _is_product(source: Output, operations: list[Operation]) -> bool:
    operation = operations[source_of(operations, source)]
    if is_sum_of_products(operation, operations):  # no kernel's of theirs ends with it
        return False
    return "MatMul" in _without_bias(operation, operations).type


def is_sum_of_products(operation: Operation, operations: list[Operation]) -> bool:
    """Two products, each perhaps with a bias, added."""
    if operation.type not in ("Add", "AddV2"):
        return False
    added = [operations[source_of(operations, one)] for one in operation.inputs]
    return sum("MatMul" in _without_bias(one, operations).type for one in added) > 1


def _without_bias(operation: Operation, operations: list[Operation]) -> Operation:
    if operation.type in ("BiasAdd", "Add", "AddV2") and operation.inputs:
        return operations[source_of(operations, operation.inputs[0])]
    return operation


def elements_of(operation: Operation) -> int:
    """Of its first output."""
    item = 2 if operation.dtypes and "16" in operation.dtypes[0] else 4
    return sum(operation.outputs[:1]) // item
