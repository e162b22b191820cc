"""Products of halves by cuBLAS: sides that are no eights are filled up in copies."""

from __future__ import annotations

from dataclasses import replace

import pytest

from oomlint.estimate.worker.graph.lowering import lowered
from oomlint.estimate.worker.graph.operations import Operation, Program


def half(kind: str, *inputs: int, shape: tuple[int, ...], name: str = "", equation: str = "") -> Operation:
    size = 2
    for side in shape:
        size *= side
    sources = tuple((number, 0) for number in inputs)
    made = Operation(name or kind, kind, sources, (), (size,), (shape,), ("float16",))
    return replace(made, equation=equation)


def sizes(made: Program, cublas: bool) -> dict[str, int]:
    found = lowered(made, cublas=cublas).operations
    return {f"{one.type} {one.name}": one.outputs[0] for one in found if one.type != "Argument"}


def scores(positions: int) -> Program:
    """Of 4 x 2 heads, each position with each."""
    made = [half("Argument", shape=(4, 2, positions, 64), name=name) for name in ("q", "k")]
    product = half("BatchMatMulV2", 0, 1, shape=(4, 2, positions, positions), name="scores")
    return Program([*made, product], ((2, 0),))


def test_sides_are_filled_up_to_eights_for_cublas_alone():
    # 60 positions as 64: both tensors with four more rows each, and what the scores are cut out of.
    assert sizes(scores(60), cublas=True) == {
        "Padded q/eights": 8 * 64 * 64 * 2,
        "Padded k/eights": 8 * 64 * 64 * 2,
        "BatchMatMulV2 scores": 8 * 64 * 64 * 2,
        "Slice scores": 8 * 60 * 60 * 2,
    }
    assert sizes(scores(60), cublas=False) == {"BatchMatMulV2 scores": 8 * 60 * 60 * 2}
    assert sizes(scores(64), cublas=True) == {"BatchMatMulV2 scores": 8 * 64 * 64 * 2}


@pytest.mark.parametrize("equation", ["btvc,vw->btwc", "vw,btvc->btwc"])
def test_sides_of_an_einsum_are_those_of_its_matrices(equation: str):
    # 25 joints as 32, on both sides of the matrix between them; the others are 4 * 6 * 16 rows or columns.
    shapes = [(4, 6, 25, 16), (25, 25)] if equation.startswith("b") else [(25, 25), (4, 6, 25, 16)]
    made = [half("Argument", shape=shape, name=name) for shape, name in zip(shapes, "xy", strict=True)]
    product = half("Einsum", 0, 1, shape=(4, 6, 25, 16), name="told", equation=equation)
    found = sizes(Program([*made, product], ((2, 0),)), cublas=True)
    # The joints lie between rows: what is multiplied is exchanged before it is filled up, what is cut out afterwards.
    filled, exchanged = [384 * 32 * 2, 32 * 32 * 2, 384 * 32 * 2], [384 * 25 * 2] * 3
    assert sorted(found.values()) == sorted([*filled, *exchanged])


def test_vectors_and_floats_stay_as_they_are():
    made = scores(60)
    made.operations[2] = replace(made.operations[2], dtypes=("float32",))
    assert sizes(made, cublas=True) == {"BatchMatMulV2 scores": 8 * 60 * 60 * 2}
    rows = [half("Argument", shape=(60, 30)), half("Argument", shape=(30, 1))]
    column = Program([*rows, half("MatMul", 0, 1, shape=(60, 1), name="one")], ((2, 0),))
    assert sizes(column, cublas=True) == {"MatMul one": 120}
