"""A step's operations as XLA sees them where they are not TensorFlow's.

Seen in the buffers that XLA assigns (benchmarks/estimate/xla_points.py writes them down), each rule in several models.
"""

from __future__ import annotations

import math
from dataclasses import replace

from oomlint.estimate.worker.graph.ahead import write_ahead
from oomlint.estimate.worker.graph.cards import HOPPER, Card
from oomlint.estimate.worker.graph.convolutions import CONVOLUTIONS, Copies, source_of
from oomlint.estimate.worker.graph.eights import fill_up_to_eights
from oomlint.estimate.worker.graph.equals import merge_equals
from oomlint.estimate.worker.graph.exchanges import exchange_for_products
from oomlint.estimate.worker.graph.leaky import MASK
from oomlint.estimate.worker.graph.merging import merge_products
from oomlint.estimate.worker.graph.operations import Operation, Output, Program, new_operation
from oomlint.estimate.worker.graph.rows import ROWS, summed_rows
from oomlint.estimate.worker.graph.split import split_products
from oomlint.estimate.worker.graph.sums import add_rows
from oomlint.estimate.worker.graph.units import RELUS, elements_of, is_written, positive
from oomlint.estimate.worker.graph.unread import leave_out_unread
from oomlint.estimate.worker.graph.updates import read_after_updates
from oomlint.estimate.worker.graph.vectors import multiply_over_one, sum_over_vectors

_BRANCHES = ("If", "StatelessIf")
_ENTROPY = "SparseSoftmaxCrossEntropyWithLogits"
_INDEX = 4  # bytes
Like = tuple[tuple[tuple[int, ...], ...], tuple[str, ...]]  # shape and type
Zeros = dict[Like, int]


def lowered(program: Program, card: Card = HOPPER, cublas: bool = False) -> Program:
    """The operations that become several, or others: ReLUs' and max pooling's gradients, sums by row, convolutions.

    A constant of zeros is one for all operations of a size. It is written where something cannot do without: a scatter.
    """
    channels_first = card.channels_first
    program = leave_out_unread(program)
    operations = list(program.operations)
    read_after_updates(operations)
    multiply_over_one(operations)
    sum_over_vectors(operations)
    merge_equals(operations)
    program = replace(program, operations=list(operations))
    readers = _readers(program)
    zeros: Zeros = {}  # those with which ReLUs compare
    pooled = _pooled(program, readers)
    for relu in program.operations:
        if relu.type not in (*RELUS, "LeakyRelu") or _like(relu, operations) in zeros:
            continue
        if _like(relu, operations) in pooled:
            zeros[_like(relu, operations)] = len(operations)
            size = sum(relu.outputs)
            operations.append(new_operation("zeros", "Zeros", (), relu.shapes[:1], size, relu.dtypes[:1]))
    copies = Copies(operations, channels_first)
    masks: dict[int, int] = {}  # by what leaky units are given
    for number, operation in enumerate(program.operations):
        if operation.type == "LeakyRelu" and operation.inputs:
            asked = operation.inputs[0]
            like = _like(operation, operations)
            masks[source_of(operations, asked)] = len(operations)
            operations[number] = replace(operation, inputs=(asked, (len(operations), 0)))
            operations.append(_mask(operation, asked, ((zeros[like], 0),) if like in zeros else ()))
        elif operation.type in RELUS and _like(operation, operations) in zeros:
            operations[number] = replace(
                operation, inputs=(*operation.inputs, (zeros[_like(operation, operations)], 0))
            )
        elif operation.type in ("MaxPool", "MaxPool3D") and operation.inputs:
            source = operations[source_of(operations, operation.inputs[0])]
            if (
                source.type in RELUS and _like(source, operations) in zeros
            ):  # which the ReLU's kernel writes, too
                operations[number] = replace(
                    operation, inputs=(*operation.inputs, (zeros[_like(source, operations)], 0))
                )
        elif operation.type in ("ReluGrad", "Relu6Grad") and len(operation.inputs) > 1:
            compared = (
                ((zeros[_like(operation, operations)], 0),) if _like(operation, operations) in zeros else ()
            )
            both = cublas or is_written(operation, program, readers)
            operations.append(positive(operation, operations, compared, both))
            chosen = (operation.inputs[0], (len(operations) - 1, 0), *compared)
            operations[number] = replace(operation, type="Select", inputs=chosen)
        elif operation.type == "LeakyReluGrad" and len(operation.inputs) > 1:
            asked = operation.inputs[1]
            mask = masks.get(source_of(operations, asked))
            if mask is None:
                masks[source_of(operations, asked)] = mask = len(operations)
                operations.append(_mask(operation, asked))
            operations[number] = replace(operation, type="Select", inputs=(operation.inputs[0], (mask, 0)))
        elif is_pooling_gradient(operation) and len(operation.inputs) > 2:
            _scattered(number, operations, program, readers, zeros)
        elif operation.type == _ENTROPY and channels_first:
            source = operations[source_of(operations, operation.inputs[0])]
            if source.type == "BiasAdd":
                source = operations[source_of(operations, source.inputs[0])]
            if source.type.startswith("Conv") and "16" not in "".join(source.dtypes):
                # From one layout to the other: what the loss sums is written beside the gradient.
                operations[number] = replace(
                    operation, outputs=(*operation.outputs[:2], operation.outputs[1])
                )
        elif operation.type == "TopKV2" and len(operation.outputs) == 2:
            # All are sorted, beside their places.
            given, position = operation.inputs[0]
            size = operations[given].outputs[position] + 4 * math.prod(operations[given].shapes[position])
            operations[number] = replace(operation, outputs=(*operation.outputs, size))
        elif operation.type in _BRANCHES and operation.body is not None:
            operations[number] = replace(operation, outputs=_chosen(operation, program))
        elif operation.type.startswith(CONVOLUTIONS):
            operations[number] = copies.convolution(operation)
    add_rows(program, operations, readers)
    _write_differences(program, operations, channels_first)
    merge_products(program, operations)
    write_ahead(program, operations)
    exchange_for_products(operations)
    if cublas:
        fill_up_to_eights(operations)
    else:
        split_products(operations, card)
    return _in_order(replace(program, operations=operations))


def _write_differences(program: Program, operations: list[Operation], channels_first: bool) -> None:
    """What batch normalization subtracts its mean from, where few rows are summed: written once for both passes.

    Sums of more rows are taken in two steps, which compute it again. The limit lies between 4096 rows, which were seen
    to be written, and 6272, which were not (unet_norm, resnet18, separable_swish; 32 to 1024 channels). Where channels
    are first, a channel's rows lie in a row, and it is computed again (ResNet50V2, chests: in neither's assignment),
    also where each channel is a group of its own (painter).
    """
    made: dict[tuple[int, int], int] = {}
    for number, operation in enumerate(program.operations):
        if operation.type != "SquaredDifference" or not operation.shapes or len(operation.inputs) < 2:
            continue
        sources = [source_of(program.operations, one) for one in operation.inputs[:2]]
        cast = any(program.operations[one].type == "Cast" for one in sources)  # of 16 bits: channels are last
        if channels_first and len(operation.shapes[0]) - (operation.shapes[0][-1] == 1) == 4 and not cast:
            continue
        means = [program.operations[one].shapes[0] for one in sources if program.operations[one].shapes]
        if not any(1 < summed_rows(operation.shapes[0], mean) <= ROWS for mean in means):
            continue
        made[sources[0], sources[1]] = made[sources[1], sources[0]] = len(operations)
        size, name = sum(operation.outputs), f"{operation.name}/difference"
        operations.append(
            new_operation(
                name, "Difference", operation.inputs[:2], operation.shapes[:1], size, operation.dtypes[:1]
            )
        )
        operations[number] = replace(operation, inputs=((len(operations) - 1, 0),))
    for number, operation in enumerate(program.operations):
        if operation.type == "Sub" and len(operation.inputs) == 2:
            left, right = (source_of(program.operations, one) for one in operation.inputs)
            if (left, right) in made:
                operations[number] = replace(operation, type="Identity", inputs=((made[left, right], 0),))


def _dense(branch: Operation, program: Program) -> int:
    """Bytes of the largest gradient of a table that is made dense in a branch.

    Its rows are not known there; the mask of what is finite has as many.
    """
    assert branch.body is not None
    if not any(operation.type == "UnsortedSegmentSum" for operation in branch.body.operations):
        return 0
    masks = (
        one for one in program.operations if one.type == "TensorScatterUpdate" and one.dtypes == ("bool",)
    )
    return 4 * max((sum(one.outputs) for one in masks), default=0)


def _chosen(branch: Operation, program: Program) -> tuple[int, int]:
    """What a branch gives, and what it needs meanwhile.

    Rows that are counted as it runs have room for as many as it is given; so does what a choice within gives them
    (RMSprop's rows of a table in the assignment of questions_to_stories).
    """
    assert branch.body is not None
    dense = _dense(branch, program)
    if not any(operation.type == "Where" for operation in branch.body.operations):
        return 0, dense
    given = [(program.operations[number], position) for number, position in branch.inputs]
    rows = 0
    for shape in branch.shapes:
        if len(shape) > 1 and shape[0] == 1:
            alike = (
                one.outputs[at]
                for one, at in given
                if at < len(one.shapes) and one.shapes[at][1:] == shape[1:]
            )
            rows += max(alike, default=0)
    return rows, max(rows, dense)


def _mask(units: Operation, asked: Output, zeros: tuple[Output, ...] = ()) -> Operation:
    return new_operation(
        units.name + MASK, "Compare", (asked, *zeros), units.shapes[:1], elements_of(units), ("bool",)
    )


def _scattered(
    number: int,
    operations: list[Operation],
    program: Program,
    readers: list[list[int]],
    zeros: Zeros,
) -> None:
    """The gradient of max pooling: where each window's largest is, by axis; the gradient is put there.

    On zeros: those with which a ReLU compares, or its own. Where it is added to another gradient, on that.
    """
    gradient = program.operations[number]
    pooled, size = program.operations[gradient.inputs[-1][0]], sum(gradient.outputs)
    forward = program.operations[gradient.inputs[1][0]]
    axes = max(len(gradient.shapes[0]), 1) if gradient.shapes else 1
    windows = new_operation(
        f"{gradient.name}/windows",
        "PoolWindows",
        gradient.inputs[:1],
        pooled.shapes[:1],
        axes * _INDEX * elements_of(pooled),
        ("int32",),
    )
    windows.outputs += pooled.outputs[:1]  # the value, which nobody needs any more
    windows.overlap = forward.overlap
    relu = program.operations[source_of(operations, gradient.inputs[0])]
    if relu.type in RELUS and _like(relu, operations) in zeros:
        windows.inputs += ((zeros[_like(relu, operations)], 0),)
    operations.append(windows)
    inputs = [(len(operations) - 1, 0), gradient.inputs[-1]]
    total = _sum_with_others(number, program, readers)
    if total is not None:
        others = tuple(one for one in program.operations[total].inputs if one[0] != number)
        base = new_operation(
            f"{gradient.name}/others", "Base", others, gradient.shapes[:1], size, gradient.dtypes[:1]
        )
        operations[total] = replace(operations[total], type="Identity", inputs=((number, 0),))
    elif _like(gradient, operations) in zeros:
        base = new_operation(
            "zeros",
            "ZerosCopy",
            ((zeros[_like(gradient, operations)], 0),),
            gradient.shapes[:1],
            size,
            gradient.dtypes[:1],
        )
    else:
        base = new_operation("zeros", "Zeros", (), gradient.shapes[:1], size, gradient.dtypes[:1])
    inputs.append((len(operations), 0))
    operations.append(base)
    operations[number] = replace(gradient, type="PoolScatter", inputs=tuple(inputs))


def _sum_with_others(number: int, program: Program, readers: list[list[int]]) -> int | None:
    """The sum that alone reads it, with something else."""
    if len(readers[number]) != 1:
        return None
    total = readers[number][0]
    operation = program.operations[total]
    if operation.type not in ("AddN", "AddV2") or len({one for one, _ in operation.inputs}) < 2:
        return None
    return total


def _readers(program: Program) -> list[list[int]]:
    readers: list[list[int]] = [[] for _ in program.operations]
    for number, operation in enumerate(program.operations):
        for source, _ in operation.inputs:
            readers[source].append(number)
    return readers


def _in_order(program: Program) -> Program:
    """Each operation after those that it reads."""
    order: list[int] = []
    seen: set[int] = set()
    for root in range(len(program.operations)):
        stack = [root]
        while stack:
            number = stack[-1]
            waits = [source for source, _ in program.operations[number].inputs if source not in seen]
            if not waits or number in seen:
                stack.pop()
                if number not in seen:
                    seen.add(number)
                    order.append(number)
            else:
                stack += reversed(waits)
    places = {number: place for place, number in enumerate(order)}

    def moved(outputs: tuple[Output, ...]) -> tuple[Output, ...]:
        return tuple((places[number], position) for number, position in outputs)

    operations = [
        replace(program.operations[number], inputs=moved(program.operations[number].inputs), controls=())
        for number in order
    ]
    return Program(operations, moved(program.fetched), tuple(places[one] for one in program.arguments))


def _pooled(program: Program, readers: list[list[int]]) -> set[Like]:
    """What is pooled with a gradient that is scattered over zeros: a constant of another shape is another one."""
    operations = program.operations
    return {
        _like(operation, operations)
        for number, operation in enumerate(program.operations)
        if is_pooling_gradient(operation)
        and operation.inputs
        and _sum_with_others(number, program, readers) is None
    }


def _like(operation: Operation, operations: list[Operation]) -> Like:
    """Of a ReLU right behind a convolution the convolution's shape, which along one axis has a side more.

    XLA takes the squeeze between them out where only a bias comes in between (characters_convolved,
    conv_then_lstm), not where a normalization does (sound_cnn).
    """
    shapes, asked = operation.shapes[:1], operation.inputs[:1]
    if operation.type.startswith(("ReluGrad", "Relu6Grad")) and len(operation.inputs) > 1:
        asked = operations[source_of(operations, operation.inputs[1])].inputs[:1]
    if asked and operation.type.startswith("Relu"):
        before = operations[source_of(operations, asked[0])]
        if before.type == "BiasAdd":
            before = operations[source_of(operations, before.inputs[0])]
        if before.type.startswith(CONVOLUTIONS) and math.prod(*before.shapes[:1]) == math.prod(*shapes):
            shapes = before.shapes[:1]
    return shapes, operation.dtypes[:1]


def is_pooling_gradient(operation: Operation) -> bool:
    """Of max pooling: a scatter in XLA."""
    return operation.type.startswith("MaxPool") and "Grad" in operation.type
