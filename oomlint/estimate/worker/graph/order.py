"""The order in which TensorFlow's executor runs the operations of a graph.

An operation is ready when all that it waits for is done. On a GPU every kernel counts as cheap, so that the ready
ones run in a queue, first in, first out (`ScheduleReady` in tensorflow/core/common_runtime/executor.cc).
"""

from __future__ import annotations

from collections import deque

from oomlint.estimate.worker.graph.operations import Program


def queued(program: Program) -> list[int]:
    """First in, first out."""
    waiting = [len(operation.inputs) + len(operation.controls) for operation in program.operations]
    after = program.consumers()
    ready = deque(number for number, count in enumerate(waiting) if count == 0)
    done: list[int] = []
    while ready:
        number = ready.popleft()
        done.append(number)
        for following in after[number]:
            waiting[following] -= 1
            if waiting[following] == 0:
                ready.append(following)
    if len(done) != len(program.operations):
        raise ValueError(f"{len(program.operations) - len(done)} operations wait for each other")
    return done


def as_made(program: Program) -> list[int]:
    """One after the other, as Python called them."""
    return list(range(len(program.operations)))
