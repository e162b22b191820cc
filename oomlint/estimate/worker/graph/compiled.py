"""The lives of the buffers of a step that XLA compiles, by rules: for where its compiler is not installed."""

from __future__ import annotations

import heapq
from collections.abc import Callable

from oomlint.estimate.worker.graph.fusion import is_pooling_gradient, kernels
from oomlint.estimate.worker.graph.lives import Lives, simulate
from oomlint.estimate.worker.graph.operations import Operation, Program


def compiled(step: Program) -> tuple[Program, Lives]:
    """The step's kernels, and their buffers in the better of two orders.

    XLA tries several schedules too and takes the one that needs least (xla/service/gpu/gpu_hlo_schedule.cc,
    xla/hlo/transforms/memory_scheduler.cc).
    """
    program = kernels(step)
    tried = [
        simulate(program, order, scratch=_scratch(program))
        for order in (updates_first(program), depth_first(program))
    ]
    return program, min(tried, key=lambda lives: lives.peak)


def updates_first(program: Program) -> list[int]:
    """In the order of the step, except that a variable is updated as soon as its gradient is there."""
    waiting, after = _edges(program)
    updates = _leading_to_updates(program, after)
    ready = [(number not in updates, number) for number, count in enumerate(waiting) if count == 0]
    heapq.heapify(ready)
    done: list[int] = []
    while ready:
        _, number = heapq.heappop(ready)
        done.append(number)
        for reader in after[number]:
            waiting[reader] -= 1
            if waiting[reader] == 0:
                heapq.heappush(ready, (reader not in updates, reader))
    return done


def depth_first(program: Program) -> list[int]:
    """Each kernel after all that it needs, needed ones as late as possible."""
    done: list[int] = []
    seen: set[int] = set()
    for root in range(len(program.operations)):
        if root in seen:
            continue
        seen.add(root)
        stack = [(root, iter(program.operations[root].inputs))]
        while stack:
            number, inputs = stack[-1]
            source = next((one for one, _ in inputs if one not in seen), None)
            if source is None:
                stack.pop()
                done.append(number)
            else:
                seen.add(source)
                stack.append((source, iter(program.operations[source].inputs)))
    return done


def _edges(program: Program) -> tuple[list[int], list[list[int]]]:
    waiting = [len(operation.inputs) for operation in program.operations]
    after: list[list[int]] = [[] for _ in program.operations]
    for number, operation in enumerate(program.operations):
        for source, _ in operation.inputs:
            after[source].append(number)
    return waiting, after


def _leading_to_updates(program: Program, after: list[list[int]]) -> set[int]:
    """Kernels without output, and element-wise ones that only they read."""
    found: set[int] = set()
    for number in reversed(depth_first(program)):
        operation = program.operations[number]
        light = not operation.outputs or operation.type in ("Fusion", "Sum", "BiasAddGrad")
        if (
            light
            and all(reader in found for reader in after[number])
            and (after[number] or not operation.outputs)
        ):
            found.add(number)
    return found


def _scratch(program: Program) -> Callable[[Operation], int]:
    def scratch(operation: Operation) -> int:
        """The gradient of max pooling first finds each window's largest: its value, and its index on every axis."""
        if not is_pooling_gradient(operation) or not operation.shapes:
            return 0
        windows = min((sum(program.operations[one].outputs) for one, _ in operation.inputs), default=0)
        return windows * (1 + len(operation.shapes[0]))

    return scratch
