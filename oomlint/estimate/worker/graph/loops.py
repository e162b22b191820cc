"""Loops keep what their rounds make in tensor lists: an element for each round, held until the lists are read."""

from __future__ import annotations

from dataclasses import dataclass, replace

from oomlint.estimate.worker.graph.kinds import ALIASES, READS
from oomlint.estimate.worker.graph.lives import rounded
from oomlint.estimate.worker.graph.operations import Operation, Output, Program

_PUSHES = ("TensorListPushBack", "TensorListSetItem")
# Into a list that the loop was given with all that it holds: the array is there already.
IN_PLACE = "TensorListSetItemInPlace"
_CHANGED = (*_PUSHES, IN_PLACE, "TensorListPopBack", *ALIASES)  # give the list that they are given first
_THROUGH = ("Identity", "TensorListPopBack")
# What is pushed and takes no room: weights, constants, rows of a list that is there already.
_SHARED = frozenset({*READS, "Const", "TensorListGetItem"})


@dataclass(frozen=True, slots=True)
class Array:
    """What a list is under XLA: its sides, bytes, and the loop's argument that it comes from, -1 for none."""

    sides: tuple[int, ...]
    size: int
    argument: int
    maker: int  # what writes into it, an operation of the body
    places: frozenset[int]  # the loop's results that it is


def list_bytes(loop: Operation) -> tuple[int, ...]:
    """The loop's outputs in bytes, tensor lists at their full length.

    What several lists hold (a state that is both an output and kept for the gradient) is counted in the first.
    """
    body = loop.body
    assert body is not None
    seen: set[Output] = set()
    sizes = []
    for position, size in enumerate(loop.outputs):
        if loop.dtypes[position] == "variant" and position < len(body.fetched):
            pushed = _pushed(body, body.fetched[position])
            size = 0
            if pushed is not None and pushed not in seen:
                seen.add(pushed)
                size = loop.rounds * rounded(_bytes(body, pushed))
        sizes.append(size)
    return tuple(sizes)


def stacked_bytes(loop: Operation) -> int:
    """The same under XLA, where a list is an array that each round writes into: nothing that is pushed is shared.

    A kernel that is only read in the loop is kept once for each round, too (seen in XLA's buffers for SimpleRNN, GRU
    and LSTM: benchmarks/estimate/xla_points.py on the TensorFlow backend).
    """
    others = sum(size for size, dtype in zip(loop.outputs, loop.dtypes, strict=True) if dtype != "variant")
    return sum(array.size for array in arrays_of(loop)) + others


def arrays_of(loop: Operation) -> list[Array]:
    """The arrays that a loop's rounds write into."""
    body = loop.body
    assert body is not None
    # At the round's own place: the same values pushed once more are the same array.
    placed: dict[Output, Array] = {}
    pushed: dict[Output, Array] = {}
    places: dict[Output, set[int]] = {}
    for place, operation in enumerate(body.operations):
        if operation.type not in _PUSHES:
            continue
        number, position = operation.inputs[-1]
        source = _source(body, operation.inputs[-1])
        value = body.operations[number]
        shape = value.shapes[position] if position < len(value.shapes) else ()
        size = loop.rounds * rounded(_bytes(body, operation.inputs[-1]))
        argument = _argument(body, operation.inputs[0])
        places.setdefault(source, set()).add(argument)
        array = Array((loop.rounds, *shape), size, argument, place, frozenset())
        if operation.type == "TensorListSetItem":
            if body.operations[operation.inputs[1][0]].type != "Const":  # else one place for all rounds
                placed[source] = array
        else:
            pushed.setdefault(source, array)
    found = [*((one, array) for one, array in pushed.items() if one not in placed), *placed.items()]
    return [replace(array, places=frozenset(places[source])) for source, array in found]


def _argument(body: Program, output: Output) -> int:
    """Which of the loop's arguments a list was when the round began."""
    number = output[0]
    while number not in body.arguments:
        operation = body.operations[number]
        if operation.type not in _CHANGED or not operation.inputs:
            return -1
        number = operation.inputs[0][0]
    return body.arguments.index(number)


def _pushed(body: Program, result: Output) -> Output | None:
    """What one round adds to a list; None if the body only reads the list, or what it adds takes no room."""
    number = result[0]
    while True:
        operation = body.operations[number]
        if operation.type in _PUSHES:
            source = _source(body, operation.inputs[-1])
            if body.operations[source[0]].type == "Given" and source[0] in body.arguments:
                # The state that the round began with is what the one before made.
                source = _source(body, body.fetched[body.arguments.index(source[0])])
            kind = body.operations[source[0]].type
            return None if kind in _SHARED or kind == "Given" else source
        if operation.type not in _THROUGH or not operation.inputs:
            return None
        number = operation.inputs[0][0]


def _source(body: Program, output: Output) -> Output:
    """The tensor behind aliases."""
    while body.operations[output[0]].type in ALIASES and body.operations[output[0]].inputs:
        output = body.operations[output[0]].inputs[0]
    return output


def _bytes(body: Program, output: Output) -> int:
    sizes = body.operations[output[0]].outputs
    return sizes[output[1]] if output[1] < len(sizes) else 0
