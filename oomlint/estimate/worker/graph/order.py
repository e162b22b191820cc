"""The order in which TensorFlow's executor runs the operations of a graph.

An operation is ready when all that it waits for is done. On a GPU every kernel counts as cheap, so that the ready
ones run in a queue, first in, first out (`ScheduleReady` in tensorflow/core/common_runtime/executor.cc). On a CPU the
costly ones go to the thread pool, whose thread takes the last one first, except for one that the executor keeps.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable

from oomlint.estimate.worker.graph.operations import Operation, Program

# Kernels that count as cheap on a CPU too: their classes say so (`IsExpensive` in tensorflow/core/kernels); the others
# count as costly for the first hundred runs at least (KernelStats in tensorflow/core/common_runtime/costs_model).
CHEAP = frozenset(
    """
    Argument Given Const Placeholder NoOp Identity IdentityN StopGradient PreventGradient Reshape Squeeze ExpandDims
    Shape ShapeN Size Rank VarHandleOp ReadVariableOp Switch Merge ControlTrigger BroadcastGradientArgs
    """.split()
)


def queued(program: Program) -> list[int]:
    """First in, first out."""
    waiting, after = _waiting(program), program.consumers()
    ready = deque(number for number, count in enumerate(waiting) if count == 0)
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


def on_one_thread(
    program: Program, costly: Callable[[Operation], bool] = lambda operation: operation.type not in CHEAP
) -> list[int]:
    """A CPU with one thread: cheap operations in a queue, costly ones on a stack."""
    waiting, after = _waiting(program), program.consumers()
    done: list[int] = []
    roots = [number for number, count in enumerate(waiting) if count == 0]
    # As the profiler shows it: variables are read, and what follows from them alone, before the step's input comes in.
    roots.sort(key=lambda number: program.operations[number].type == "Argument")
    for root in roots:
        stack = [root]
        while stack:
            inline = deque([stack.pop()])
            while inline:
                number = inline.popleft()
                done.append(number)
                kept: int | None = None
                for following in after[number]:
                    waiting[following] -= 1
                    if waiting[following]:
                        continue
                    if not costly(program.operations[following]):
                        inline.append(following)
                        continue
                    if kept is not None:
                        stack.append(kept)
                    kept = following
                if kept is not None:
                    (stack if inline else inline).append(kept)
    return _all(done, program)


def _waiting(program: Program) -> list[int]:
    return [len(operation.inputs) + len(operation.controls) for operation in program.operations]


def _all(done: list[int], program: Program) -> list[int]:
    if len(done) != len(program.operations):
        raise ValueError(f"{len(program.operations) - len(done)} operations wait for each other")
    return done
