"""A step as operations with buffers: what the simulation works on, with no TensorFlow in it."""

from __future__ import annotations

from collections.abc import Callable, Set
from dataclasses import dataclass

Output = tuple[int, int]  # an operation's number, and which of its outputs


@dataclass(slots=True)
class Operation:
    """One operation. `outputs` are bytes, `shapes` the outputs' shapes; `inputs` name other operations' outputs.

    `variable` is the handle that it reads or writes; `body` what a loop runs, for `rounds` rounds, each after its
    `condition`; `overlap` how often the windows of a pooling read an element; `equation` an Einsum's;
    `whole` the input whose memory the outputs are pieces of, -1 for none; `strides` and `dilations` a convolution's, by
    side, and `padded` whether it may be; `elsewhere` the operations that a kernel reads at other places than it writes.
    """

    name: str
    type: str
    inputs: tuple[Output, ...] = ()
    controls: tuple[int, ...] = ()
    outputs: tuple[int, ...] = ()
    shapes: tuple[tuple[int, ...], ...] = ()
    dtypes: tuple[str, ...] = ()
    variable: str = ""
    body: Program | None = None
    condition: Program | None = None
    rounds: int = 1
    overlap: float = 1.0
    equation: str = ""
    whole: int = -1
    strides: tuple[int, ...] = ()
    dilations: tuple[int, ...] = ()
    padded: bool = True
    elsewhere: tuple[int, ...] = ()


@dataclass(slots=True)
class Program:
    """Operations in the order in which they were made, what is fetched, and what the program is given.

    `arguments` are the operations that stand for its inputs, in order. `unknown` counts the outputs whose shape is not
    static: their sides of unknown length are taken as one. `bounded` counts those that have the size that they have
    where all values are chosen.
    """

    operations: list[Operation]
    fetched: tuple[Output, ...] = ()
    arguments: tuple[int, ...] = ()
    unknown: int = 0
    bounded: int = 0

    def consumers(self) -> list[list[int]]:
        """For each operation those that wait for it, in order, an edge each."""
        after: list[list[int]] = [[] for _ in self.operations]
        for number, operation in enumerate(self.operations):
            for source, _ in operation.inputs:
                after[source].append(number)
            for source in operation.controls:
                after[source].append(number)
        return after


def waits_for(number: int, others: Set[int], sources: Callable[[int], Set[int]]) -> bool:
    """Whether an operation needs one of the others, by what each reads (`sources`)."""
    seen, stack = {number}, [number]
    while stack:
        new = sources(stack.pop()) - seen
        if not new.isdisjoint(others):
            return True
        seen |= new
        stack += new
    return False


def sources_and_readers(operations: list[Operation]) -> tuple[list[list[int]], list[list[int]]]:
    """For each the operations that it reads, each once and in order, and those that read it."""
    sources = [list(dict.fromkeys(source for source, _ in one.inputs)) for one in operations]
    readers: list[list[int]] = [[] for _ in operations]
    for number, reads in enumerate(sources):
        for source in reads:
            readers[source].append(number)
    return sources, readers


def new_operation(
    name: str,
    kind: str,
    inputs: tuple[Output, ...],
    shapes: tuple[tuple[int, ...], ...],
    size: int,
    dtypes: tuple[str, ...],
) -> Operation:
    """One with a single output of `size` bytes."""
    return Operation(name, kind, inputs, (), (size,), shapes, dtypes)
