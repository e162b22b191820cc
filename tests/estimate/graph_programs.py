"""Programs of the graph engine, small enough to follow by hand."""

from __future__ import annotations

from oomlint.estimate.worker.graph.operations import Operation, Program

MIB = 1 << 20


def op(
    kind: str,
    *inputs: int,
    mib: int = 0,
    name: str = "",
    shape: tuple[int, ...] = (),
    dtype: str = "float32",
) -> Operation:
    """An operation with one output of so many MiB, or none."""
    sizes = (mib * MIB,) if mib else ()
    return Operation(
        name or kind,
        kind,
        tuple((number, 0) for number in inputs),
        outputs=sizes,
        shapes=tuple(shape or (size // 4,) for size in sizes),
        dtypes=(dtype,) * len(sizes),
    )


def program(*operations: Operation) -> Program:
    """All of them, for the last one's sake."""
    return Program(list(operations), ((len(operations) - 1, 0),))
