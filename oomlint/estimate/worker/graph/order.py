"""The order in which TensorFlow's executor runs the operations of a graph.

An operation is ready when all that it waits for is done. On a GPU every kernel counts as cheap, so that the ready
ones run in a queue, first in, first out (`ScheduleReady` in tensorflow/core/common_runtime/executor.cc). On a CPU the
costly ones go to the thread pool, whose thread takes the last one first, except for one that the executor keeps.
"""

from __future__ import annotations

import random
from collections import deque

from oomlint.estimate.worker.graph.operations import Operation, Program

# Kernels that count as cheap on a CPU too: their classes say so (`IsExpensive` in tensorflow/core/kernels); the others
# count as costly for the first hundred runs at least (KernelStats in tensorflow/core/common_runtime/costs_model).
CHEAP = frozenset(
    """
    Argument Given Const Placeholder NoOp Identity IdentityN StopGradient PreventGradient Reshape Squeeze ExpandDims
    Shape ShapeN Size Rank VarHandleOp Switch Merge ControlTrigger BroadcastGradientArgs
    Enter Exit NextIteration LoopCond
    """.split()
)
# A kernel that was seen to take few cycles counts as cheap, too, after some ninety runs (kOpIsExpensiveThresholdCycles,
# KernelStats in tensorflow/core/common_runtime/executor.cc). In a loop that comes within a step or few.
_LIGHT = ("TensorList", "EmptyTensorList", "ReadVariableOp")
_SCALAR = 64  # bytes


def costly(operation: Operation) -> bool:
    """Whether a CPU's executor takes the operation for one that takes long."""
    if operation.type in CHEAP:
        return False
    light = operation.type.startswith(_LIGHT) or sum(operation.outputs) <= _SCALAR
    return not (light and operation.rounds > 1)


IN_ORDER = 8  # edges


def queued(program: Program, draw: int | None = None) -> list[int]:
    """First in, first out. `draw` as in `on_one_thread`; without, in the order of the program."""
    waiting, roots, after = _edges(program, draw)
    ready = deque(roots)
    done: list[int] = []
    while ready:
        number = ready.popleft()
        done.append(number)
        for following in after[number]:
            waiting[following] -= 1
            if waiting[following] == 0:
                ready.append(following)
    return _all(done, program)


def as_made(program: Program) -> list[int]:
    """One after the other, as Python called them."""
    return list(range(len(program.operations)))


def on_one_thread(program: Program, draw: int = 0) -> list[int]:
    """A CPU with one thread: cheap operations in a queue, costly ones on a stack.

    Where more than a few wait for an operation, or for nothing, their order is another each time the graph is made:
    the edges are in a set, by their addresses (EdgeSet in tensorflow/core/graph/edgeset.h). `draw` chooses one.
    """
    waiting, roots, after = _edges(program, draw)
    inline: deque[int] = deque()
    stack: list[int] = []
    done: list[int] = []

    def schedule(ready: list[int]) -> None:
        kept: int | None = None
        for number in ready:
            if not costly(program.operations[number]):
                inline.append(number)
                continue
            if kept is not None:
                stack.append(kept)
            kept = number
        if kept is not None:
            (stack if inline else inline).append(kept)

    schedule(roots)
    while inline or stack:
        number = inline.popleft() if inline else stack.pop()
        done.append(number)
        ready = []
        for following in after[number]:
            waiting[following] -= 1
            if waiting[following] == 0:
                ready.append(following)
        schedule(ready)
    return _all(done, program)


def _edges(program: Program, draw: int | None) -> tuple[list[int], list[int], list[list[int]]]:
    """How many each waits for, those that wait for nothing, and those that wait for each."""
    waiting = [len(operation.inputs) + len(operation.controls) for operation in program.operations]
    after = program.consumers()
    roots = [number for number, count in enumerate(waiting) if count == 0]
    if draw is not None:
        random.Random(draw).shuffle(roots)
        for operation, many in zip(program.operations, after, strict=True):
            if len(many) > IN_ORDER:  # the same for each round of a loop: the graph has its operations once
                random.Random(f"{draw} {operation.name}").shuffle(many)
    return waiting, roots, after


def _all(done: list[int], program: Program) -> list[int]:
    if len(done) != len(program.operations):
        raise ValueError(f"{len(program.operations) - len(done)} operations wait for each other")
    return done
