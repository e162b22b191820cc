"""Leaky units that are pooled are written, with a mask, and not computed in windows again."""

from __future__ import annotations

from estimate.graph_programs import MIB, op, program

from oomlint.estimate.worker.graph.compiled import compiled
from oomlint.estimate.worker.graph.operations import Program

WIDE = (16, 64, 64, 64)  # 16 MiB
POOLED = (16, 32, 32, 64)


def pooled(units: str, gradient: str) -> Program:
    return program(
        op("Argument", mib=16, shape=WIDE, name="x"),
        op("Conv2D", 0, mib=16, shape=WIDE, name="conv"),
        op("Mul", 1, mib=16, shape=WIDE, name="normalized"),
        op(units, 2, mib=16, shape=WIDE, name=units),
        op("MaxPool", 3, mib=4, shape=POOLED, name="pool"),
        op("Conv2D", 4, mib=4, shape=POOLED, name="next"),
        op("MaxPoolGrad", 3, 4, 5, mib=16, shape=WIDE, name="MaxPoolGrad"),
        op(gradient, 6, 2, mib=16, shape=WIDE, name=gradient),
        op("Conv2D", 7, mib=16, shape=WIDE, name="last"),
    )


def written(made: Program) -> dict[str, int]:
    return {one.name: sum(one.outputs) for one in compiled(made)[0].operations}


def test_leaky_units_before_a_pooling_are_written_with_their_mask():
    found = written(pooled("LeakyRelu", "LeakyReluGrad"))
    assert found["LeakyRelu"] == 16 * MIB
    assert found["LeakyReluGrad/positive"] == 4 * MIB
    assert "normalized" not in found  # what they are computed of is not


def test_other_units_before_a_pooling_are_computed_in_its_windows():
    assert "Neg" not in written(pooled("Neg", "Mul"))


def test_leaky_units_that_nobody_pools_are_computed_where_they_are_read():
    made = program(
        op("Argument", mib=16, shape=WIDE, name="x"),
        op("Conv2D", 0, mib=16, shape=WIDE, name="conv"),
        op("LeakyRelu", 1, mib=16, shape=WIDE, name="leaky"),
        op("Mul", 2, mib=16, shape=WIDE, name="scaled"),
        op("Conv2D", 3, mib=16, shape=WIDE, name="next"),
        op("LeakyReluGrad", 4, 1, mib=16, shape=WIDE, name="LeakyReluGrad"),
        op("Conv2D", 5, mib=16, shape=WIDE, name="last"),
    )
    assert "leaky" not in written(made) and "LeakyReluGrad/positive" not in written(made)
