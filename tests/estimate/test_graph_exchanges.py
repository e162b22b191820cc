"""Einsums to which no view of a tensor is a matrix: XLA writes it once more, its sides exchanged."""

from __future__ import annotations

import pytest

from oomlint.estimate.worker.graph.lowering import lowered
from oomlint.estimate.worker.graph.operations import Operation, Program

SIDES = dict(zip("bkuvioth", (2, 3, 4, 4, 8, 16, 6, 5), strict=True))


@pytest.mark.parametrize(
    ("equation", "copies", "exchanged"),
    [
        ("bkui,kio->buo", 1, False),  # b, u are rows, k, i summed over: they take turns in the first
        ("buo,kio->bkui", 0, True),  # so they do in what this gives, where u lies between k and i
        ("bthi,hio->bto", 0, False),  # rows, then what is summed over
        ("bthi,buhi->bhtu", 0, False),  # b and h are products at once
    ],
)
def test_what_takes_turns_is_written_once_more(equation: str, copies: int, exchanged: bool):
    given, _, output = equation.partition("->")
    operations = []
    for labels in (*given.split(","), output):
        shape, size = tuple(SIDES[one] for one in labels), 4
        for side in shape:
            size *= side
        operations.append(Operation(labels, "Argument", (), (), (size,), (shape,), ("float32",)))
    product = operations[2]
    product.type, product.inputs, product.equation = "Einsum", ((0, 0), (1, 0)), equation
    found = lowered(Program(operations, ((2, 0),))).operations
    assert sum(one.type == "Padded" for one in found) == copies
    assert any(one.type == "Transpose" for one in found) == exchanged
