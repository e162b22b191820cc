"""The lives of the buffers of a step that XLA compiles, by rules: for where its compiler is not installed."""

from __future__ import annotations

from collections.abc import Mapping

from oomlint.estimate.worker.graph.ahead import AHEAD, SHORT, WAY_BACK
from oomlint.estimate.worker.graph.cards import HOPPER, Card
from oomlint.estimate.worker.graph.convolutions import CONVOLUTIONS
from oomlint.estimate.worker.graph.copied import left_over
from oomlint.estimate.worker.graph.fusion import kernels
from oomlint.estimate.worker.graph.kinds import LOOPS
from oomlint.estimate.worker.graph.lent import lend
from oomlint.estimate.worker.graph.lives import Buffer, Lives, rounded
from oomlint.estimate.worker.graph.lowering import lowered
from oomlint.estimate.worker.graph.operations import Operation, Program
from oomlint.estimate.worker.graph.packed import gaps
from oomlint.estimate.worker.graph.products import PRODUCTS, by_cublas
from oomlint.estimate.worker.graph.schedules import OF_ANOTHER, depth_first, frees_most, post_order
from oomlint.estimate.worker.graph.slots import write_beside
from oomlint.estimate.worker.graph.together import BESIDE, TOGETHER, together

ALIGNMENT = 256  # bytes: kXlaAllocatedBufferAlignBytes in xla/service/gpu/gpu_constants.h


def compiled(step: Program, card: Card = HOPPER) -> tuple[Program, Lives]:
    """The step's kernels, and their buffers in the order in which XLA runs them."""
    lower = lowered(step, card, by_cublas(step, card))
    program = together(write_beside(kernels(lower, card)), by_cublas(lower, card))
    return program, occupied(program, min(plans(program), key=lambda plan: plan[1])[0])


def plans(program: Program) -> list[tuple[list[int], int]]:
    """XLA's three orders, each with the bytes by which it compares them."""
    copied = left_over(program)
    orders = frees_most(program), depth_first(program), post_order(program)
    return [
        (order, occupied(program, order, True, copied if place == len(orders) - 1 else {}).peak)
        for place, order in enumerate(orders)
    ]


def occupied(
    program: Program, order: list[int], planned: bool = False, unread: Mapping[int, int] | None = None
) -> Lives:
    """Bytes that the kernels take in that order. Arguments are there throughout.

    `planned`: as XLA compares orders, before it finds what may be written over
    (`MinimumMemoryForComputation` in xla/service/heap_simulator/heap_simulator.cc). `unread` is what some kernels write
    that nobody reads, bytes until the end.
    """
    operations = program.operations
    uses = [0] * len(operations)
    for operation in operations:
        for source in {number for number, _ in operation.inputs}:
            uses[source] += 1
    for number, _ in program.fetched:
        uses[number] += 1
    beside: dict[int, list[int]] = {}
    for number, operation in enumerate(operations):
        if operation.type in OF_ANOTHER:
            beside.setdefault(operation.inputs[0][0], []).append(number)
    found, level = Lives(), 0
    holding: dict[int, Buffer] = {}
    alive: dict[int, Buffer] = {}
    parts: dict[int, list[Buffer]] = {}  # arrays that a loop was given and writes into, by its own buffer

    def end(buffer: Buffer) -> int:
        """Bytes that are free then."""
        ended = [buffer, *parts.pop(id(buffer), ())]
        for one in ended:
            del alive[id(one)]
            one.died = len(found.order) - 1
        return sum(one.size for one in ended)

    def end_short(loop: Buffer) -> int:
        """The same for arrays that no other loop reads."""
        ended = [one for one in parts.get(id(loop), ()) if operations[one.maker].name.endswith(SHORT)]
        for one in ended:
            parts[id(loop)].remove(one)
        return sum(end(one) for one in ended)

    outside = [0] * len(operations)  # readers of loops, but for those of what they keep
    for operation in operations:
        if operation.variable != WAY_BACK:
            for source in {source for source, _ in operation.inputs}:
                outside[source] += operations[source].type in LOOPS

    for number in order:
        operation = operations[number]
        sources = list(dict.fromkeys(source for source, _ in operation.inputs))
        given = [holding.pop(one) for one in sources if operations[one].type == AHEAD and one in holding]
        scratch = sum(operation.outputs[1:])
        if planned and operation.type in LOOPS:  # what its rounds change, as another computation's
            scratch += sum(operation.outputs[:1])
        made: dict[int, Buffer] = {}
        for one in () if operation.type in OF_ANOTHER else (number, *beside.get(number, ())):
            size = rounded(sum(operations[one].outputs[:1]), ALIGNMENT)
            if given:
                size = max(size - sum(array.size for array in given), 0)
            buffer = None if planned else _taken_over(operations[one], size, uses, operations, holding)
            if buffer is None and (size or given):
                buffer = Buffer(size, one, born=len(found.order))
                alive[id(buffer)] = buffer
                found.buffers.append(buffer)
                level += size
                if given:
                    parts[id(buffer)] = given
            if buffer is not None:
                made[one] = buffer
                buffer.holders.append(one)
        taken = {id(buffer) for buffer in made.values()}
        level += unread.get(number, 0) if unread else 0
        found.order.append(number)
        found.timeline.append(level + scratch)
        found.scratch.append(scratch)
        if level + scratch > found.peak:
            found.peak, found.peak_at, found.at_peak = level + scratch, number, tuple(alive.values())
        if operation.type == "Argument":
            holding |= made
            continue
        for source in sources:
            uses[source] -= 1
            if uses[source] == 0 and operations[source].type != "Argument" and source in holding:
                left = holding.pop(source)
                if id(left) not in taken:
                    level -= end(left)
            elif operation.variable != WAY_BACK and operations[source].type in LOOPS and source in holding:
                outside[source] -= 1
                if outside[source] == 0:
                    level -= end_short(holding[source])
        holding |= made
        if uses[number] == 0 and number in holding:
            level -= end(holding.pop(number))
    for left in alive.values():
        left.died = len(found.order) - 1
    if not planned:
        apart = lend(found, program)
        apart |= {id(one) for one in found.buffers if operations[one.maker].type == "Argument"}
        between = gaps(found, apart)
        found.peak += between
        if found.timeline:
            found.timeline[found.order.index(found.peak_at)] += between
    return found


def _taken_over(
    operation: Operation,
    size: int,
    uses: list[int],
    operations: list[Operation],
    holding: dict[int, Buffer],
) -> Buffer | None:
    """The buffer of an input that ends here, which an element-wise kernel may write into.

    Not a convolution's, nor that of a product by cuBLAS: they come in a tuple with their scratch (seen in XLA's
    assignments; custom-call.59 in that of hidden_history).
    """
    if operation.type in (TOGETHER, BESIDE):
        sources = list(operation.controls)
    elif operation.type in ("Fusion", "PoolScatter"):
        sources = [source for source, _ in operation.inputs if source not in operation.elsewhere]
    else:
        return None
    for source in sources:
        if (
            uses[source] == 1
            and source in holding
            and holding[source].size == size
            and operations[source].type != "Argument"
            and not operations[source].type.startswith(CONVOLUTIONS)
            and not (operations[source].type in PRODUCTS and any(operations[source].outputs[1:]))
        ):
            return holding[source]
    return None
