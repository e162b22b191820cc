"""What loops make and nobody reads: XLA leaves it out (hlo_dce.cc, while_loop_simplifier.cc of openxla/xla).

TensorFlow's gradient of a loop is one by everything that the loop was given. Of a recurrent layer that reads the data,
or vectors of words that are not trained, nobody wants the gradient of what it read, nor the kernel that was kept for it
in each round (same_question: while.12 has one array of words, the kernel [300,256] stands in none).
"""

from __future__ import annotations

from collections import defaultdict
from dataclasses import replace

from oomlint.estimate.worker.graph.kinds import CHANGES, LOOPS
from oomlint.estimate.worker.graph.operations import Operation, Output, Program

_NONE = "NoOp"


def leave_out_unread(program: Program) -> Program:
    """The program with loops that compute what somebody reads, later loops first."""
    operations = list(program.operations)
    if not any(operation.type in LOOPS for operation in operations):
        return program
    read: defaultdict[int, set[int]] = defaultdict(set)
    for number, position in (*program.fetched, *(one for each in operations for one in each.inputs)):
        read[number].add(position)
    pending = [number for number, operation in enumerate(operations) if operation.type in LOOPS]
    for number in reversed(pending):
        loop = operations[number]
        if loop.body is None or len(loop.body.fetched) != len(loop.inputs):
            continue
        operations[number] = _shortened(loop, read[number])
        dropped = set(loop.inputs) - set(operations[number].inputs)
        for source, position in dropped:
            if not any((source, position) in one.inputs for one in operations):
                read[source].discard(position)
    return replace(program, operations=operations)


def _shortened(loop: Operation, read: set[int]) -> Operation:
    body = loop.body
    assert body is not None
    places = {number: place for place, number in enumerate(body.arguments)}
    # Numbers and switches are for the condition.
    wanted = read | {
        place for place, kind in enumerate(loop.dtypes) if kind in ("bool", "int32", "int64", "resource")
    }
    changing = [number for number, one in enumerate(body.operations) if one.type.startswith(CHANGES)]
    needed = _behind(body, [(number, 0) for number in changing])
    waiting = sorted(wanted)
    while waiting:
        more = _behind(body, [body.fetched[place] for place in waiting if place < len(body.fetched)])
        needed |= more
        waiting = [places[one] for one in needed if one in places and places[one] not in wanted]
        wanted |= set(waiting)
    gone = [place for place in range(len(loop.inputs)) if place not in wanted]
    if not gone:
        return loop
    kept = next(iter(sorted(wanted)), 0)
    inputs = tuple(loop.inputs[kept if place in gone else place] for place in range(len(loop.inputs)))
    outputs = tuple(0 if place in gone else size for place, size in enumerate(loop.outputs))
    operations = [
        one if number in needed or number in places else replace(one, type=_NONE, inputs=(), outputs=())
        for number, one in enumerate(body.operations)
    ]
    return replace(loop, inputs=inputs, outputs=outputs, body=replace(body, operations=operations))


def _behind(body: Program, outputs: list[Output]) -> set[int]:
    found: set[int] = set()
    stack = [number for number, _ in outputs]
    while stack:
        number = stack.pop()
        if number not in found:
            found.add(number)
            operation = body.operations[number]
            stack += [source for source, _ in operation.inputs]
            stack += operation.controls
    return found
