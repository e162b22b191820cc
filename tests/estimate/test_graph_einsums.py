"""What an Einsum copies, by hand from what its kernel does with the sides of its operands."""

from __future__ import annotations

import pytest

from oomlint.estimate.worker.graph.einsums import copied
from oomlint.estimate.worker.graph.operations import Operation, Program

SIDES = dict(zip("btsnhde", (2, 30, 50, 4, 8, 16, 32), strict=True))


def size(labels: str) -> int:
    total = 4  # bytes of a float32
    for label in labels:
        total *= SIDES[label]
    return total


def einsum(equation: str, broadcast: tuple[int, ...] = ()) -> int:
    given, _, output = equation.partition("->")

    def made(labels: str, kind: str, **more: object) -> Operation:
        shape = tuple(side for one in labels for side in (broadcast if one == "." else (SIDES[one],)))
        total = 4
        for side in shape:
            total *= side
        return Operation(kind, kind, outputs=(total,), shapes=(shape,), **more)

    operands = [made(labels.replace("...", "."), "Argument") for labels in given.split(",")]
    inputs = tuple((number, 0) for number in range(len(operands)))
    last = made(output.replace("...", "."), "Einsum", inputs=inputs, equation=equation)
    return copied(Program([*operands, last], ((len(operands), 0),)), last)


@pytest.mark.parametrize(
    ("equation", "bytes_beside"),
    [
        ("btd,de->bte", 0),
        ("btd,dnh->btnh", 0),  # the second as a transposed matrix
        ("btnh,nhd->btd", 0),
        ("btnh,bsnh->bnts", size("btnh") + size("bsnh")),  # heads go in front, in both
        ("bnts,bsnh->btnh", size("bsnh") + size("btnh")),  # the second, and what comes out
        (
            "bnts,btnh->bsnh",
            size("btnh") + size("bsnh"),
        ),  # its gradient: the scores fit as a transposed matrix
        ("btd,bte->de", 0),  # what is contracted is in front: both as transposed matrices
        ("bts->bst", 0),  # the copy is the output
        ("bts->bt", 0),
        ("sbt->tb", size("bt")),  # summed up, then turned
    ],
)
def test_what_is_in_no_order_for_a_product_is_copied(equation, bytes_beside):
    assert einsum(equation) == bytes_beside


def test_the_sides_of_an_ellipsis_come_first():
    assert einsum("...td,de->...te", (3, 5)) == 0
    # The kernel wants the ellipsis in front.
    assert einsum("t...d,de->...te", (3, 5)) == 4 * 30 * 3 * 5 * 16


def test_other_operations_copy_nothing():
    assert copied(Program([]), Operation("x", "MatMul", outputs=(8,))) == 0
