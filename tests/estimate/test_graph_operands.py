"""The order in which a fused kernel names what it reads, by XLA's own rule, followed by hand."""

from __future__ import annotations

from oomlint.estimate.worker.graph.operands import Operands
from oomlint.estimate.worker.graph.operations import Operation


def _operations(*kinds: str) -> list[Operation]:
    return [Operation(kind, kind, (), (), (4,)) for kind in kinds]


def test_what_a_fused_kernel_read_comes_behind_the_others():
    # Kernel 5 reads 0 and 4; 4 reads 3, 0 and 2. Fused, 4 goes from its operands, 3 and 2 are put behind, 0 is there.
    operands = Operands(_operations(*["Mul"] * 6), channels_first=False)
    operands.begin(4, [3, 0, 2])
    operands.begin(5, [0, 4])
    operands.fuse(4, 5)
    assert operands.of(5, {0, 2, 3}) == [0, 3, 2]
    # What it does not read any more is left out, what it reads by other ways comes last.
    assert operands.of(5, {0, 1, 2}) == [0, 2, 1]


def test_a_scatter_names_what_it_writes_into_first_and_where_last():
    kinds = ("PoolWindows", "Mul", "ZerosCopy", "PoolScatter", "Mul")
    operands = Operands(_operations(*kinds), channels_first=True)
    operands.begin(3, [0, 1, 2])
    assert operands.of(3, {0, 1, 2}) == [2, 1, 0]
    # With the channels first what is scattered is written first: what that kernel read stands in its place.
    operands.begin(1, [4])
    operands.fuse(1, 3)
    assert operands.of(3, {0, 2, 4}) == [2, 4, 0]
