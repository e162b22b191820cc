"""Products that XLA computes in parts, each over a stretch of what is summed, and adds up after.

Few rows and columns keep few multiprocessors busy: the sum over the batch in a weight's gradient is cut into as many
stretches as pay. The parts are written, float32 all of them; adding them up is part of what reads the product. A side
that is no multiple of the stretches, sixteen bytes each, is filled up in copies of both tensors
(xla/service/gpu/transforms/splitk_rewriter.cc, `GetPaddedK`; loop_pad_fusion in the assignment of wires_of_news).
"""

from __future__ import annotations

from dataclasses import replace

from oomlint.estimate.worker.graph.cards import Card
from oomlint.estimate.worker.graph.convolutions import source_of
from oomlint.estimate.worker.graph.operations import Operation, Output, new_operation
from oomlint.estimate.worker.graph.products import sides_of

# The costs have the form that they have there: rounds of tiles, each as long as its stretch, a kernel's start and
# the parts that are added up. Its figures in this version are not public: these are fitted to how XLA split 292
# products of each of two kinds of cards (H100, as B200 and RTX 5090; A100, as RTX 4090 and L4), of which 260 come out
# exactly, nearly all others by a factor of two.
_TILE = 128
# By whether the card is from before Hopper.
_START = {True: 120.0, False: 28.0}
_PART = {True: 8.0, False: 3.85}
_LEAST = 300_000  # multiplications; fewer are not split
_MOST = 7  # a hundred and twenty-eight parts
_ALIGNED = 16  # bytes
_WHOLE = 4  # bytes of what is added up


def split_products(operations: list[Operation], card: Card) -> None:
    """The parts, what adds them up, and the copies that are filled up, in place of the products."""
    filled: dict[tuple[int, int], Output] = {}
    for number, operation in enumerate(list(operations)):
        sides = sides_of(operation, operations)
        if sides is None or 1 in sides[1:]:
            continue
        parts = parts_of(*sides, card)
        if parts == 1:
            continue
        times, rows, inner, columns = sides
        item, rest = divmod(sum(operation.outputs[:1]), times * rows * columns)
        if rest or not item:
            continue
        unit = parts * _ALIGNED // item
        inputs = operation.inputs
        if inner % unit:
            up = -(-inner // unit) * unit
            inputs = tuple(
                _filled(one, times * side * up, item, operations, filled)
                for one, side in zip(inputs, (rows, columns), strict=True)
            )
        size = parts * times * rows * columns * _WHOLE
        operations[number] = replace(operation, type="PartsSum", inputs=((len(operations), 0),), equation="")
        operations.append(
            replace(
                operation,
                inputs=inputs,
                outputs=(size,),
                shapes=((parts * times, rows, columns),),
                dtypes=("float32",),
                controls=(),
            )
        )


def _filled(
    output: Output,
    elements: int,
    item: int,
    operations: list[Operation],
    filled: dict[tuple[int, int], Output],
) -> Output:
    """One copy for all that read a tensor filled up to one size."""
    key = source_of(operations, output), elements
    if key not in filled:
        source = operations[output[0]]
        filled[key] = len(operations), 0
        name, dtypes = f"{source.name}/filled", source.dtypes[:1]
        operations.append(new_operation(name, "Padded", (output,), ((elements,),), elements * item, dtypes))
    return filled[key]


def parts_of(times: int, rows: int, inner: int, columns: int, card: Card) -> int:
    """In how many parts it is computed."""
    if times * rows * inner * columns < _LEAST:
        return 1
    tiles = times * -(-rows // _TILE) * -(-columns // _TILE)

    def cost(parts: int) -> float:
        rounds = -(-tiles * parts // card.multiprocessors)
        added = _START[card.channels_first] + _PART[card.channels_first] * tiles * parts if parts > 1 else 0.0
        return rounds * inner / parts + added

    return min((1 << power for power in range(_MOST + 1)), key=cost)
