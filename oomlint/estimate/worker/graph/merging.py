"""Products of matrices that XLA computes as one (xla/service/dot_merger.cc)."""

from __future__ import annotations

import math
from dataclasses import replace

from oomlint.estimate.worker.graph.convolutions import source_of
from oomlint.estimate.worker.graph.operations import Operation, Output, Program, new_operation
from oomlint.estimate.worker.graph.products import sides_of

_TILE = 64  # columns
# Bytes that one of two products may read and write (xla_gpu_dot_merger_threshold_mb in xla/debug_options_flags.cc): XLA
# merges two of 62 and 63 MiB beside their operands' one, not two of 66 and 67.
_MERGED = 64 << 20


def merge_products(program: Program, operations: list[Operation]) -> None:
    """Products of one tensor with several weights are one product, up to a size (xla/service/dot_merger.cc).

    So are those of several tensors with one weight, where none waits for another: in second derivatives.
    """
    by_tensor: dict[tuple[str, int], list[int]] = {}
    by_weight: dict[tuple[object, ...], list[int]] = {}
    for number, operation in enumerate(program.operations):
        if operation.type not in ("MatMul", "BatchMatMulV2") or len(operation.inputs) < 2:
            continue
        if not _is_weight(program, operation.inputs[1]):
            continue
        sides = sides_of(operation, program.operations)
        if sides is not None and sides[2] == 1:  # a multiplication by then (rooms_of_noise)
            continue
        tensor, weight = (source_of(program.operations, one) for one in operation.inputs[:2])
        by_tensor.setdefault((operation.type, tensor), []).append(number)
        by_weight.setdefault((operation.type, *_value_of(weight, program)), []).append(number)
    merged: set[int] = set()
    waits: list[int] = []  # as long as nothing is merged
    for members in by_tensor.values():
        members = _with_small(members, program)
        if len(members) > 1 and not _waits(members, operations):
            _merge(members, program, operations)
            merged.update(members)
    for members in by_weight.values():
        left = _with_small([member for member in members if member not in merged], program)
        if len(left) < 2:
            continue
        waits = waits or _all_waits(operations)
        groups: list[tuple[list[int], int, int]] = []  # with a bit for each, and for all that they wait for
        for member in left:
            shapes, own = program.operations[member].shapes, 1 << member
            for place, (group, bits, behind) in enumerate(groups):
                alike = program.operations[group[0]].shapes == shapes
                if alike and not behind & own and not waits[member] & bits:
                    group.append(member)
                    groups[place] = group, bits | own, behind | waits[member]
                    break
            else:
                groups.append(([member], own, waits[member]))
        for group, _, _ in groups:
            # What was merged meanwhile may make one of them wait for another.
            if len(group) > 1 and not _waits(group, operations):
                _merge(group, program, operations)
                merged.update(group)
                waits = []
    _merge_gradients(program, operations, merged)


def _merge_gradients(program: Program, operations: list[Operation], merged: set[int]) -> None:
    """Gradients of weights that were multiplied with one tensor: what comes back is joined for their product.

    XLA's own product reads what is whole tiles wide from where it lies; else it is written side by side
    (wrapped_concatenate in the assignment of wide_features; not in that of variables_as_tokens).
    """
    by_tensor: dict[int, list[int]] = {}
    for number, operation in enumerate(program.operations):
        if operation.type != "MatMul" or len(operation.inputs) < 2 or number in merged:
            continue
        tensor, other = (source_of(program.operations, one) for one in operation.inputs[:2])
        shapes = program.operations[tensor].shapes, program.operations[other].shapes
        if (
            not all(shapes)
            or _is_weight(program, operation.inputs[1])
            or _is_weight(program, operation.inputs[0])
        ):
            continue
        if math.prod(shapes[0][0][:-1]) == math.prod(shapes[1][0][:-1]) != operation.shapes[0][0]:
            by_tensor.setdefault(tensor, []).append(number)
    for members in by_tensor.values():
        widths = [program.operations[number].shapes[0][-1] for number in members]
        if (
            len(_with_small(members, program)) < 2
            or not any(width % _TILE for width in widths)
            or _waits(members, operations)
        ):
            continue
        joined = len(operations)
        parts = tuple(program.operations[number].inputs[1] for number in members)
        size = sum(program.operations[number].outputs[position] for number, position in parts)
        first = program.operations[members[0]]
        operations.append(
            new_operation(f"{first.name}/joined", "Padded", parts, first.shapes[:1], size, first.dtypes[:1])
        )
        for number in members:
            operations[number] = replace(operations[number], inputs=(first.inputs[0], (joined, 0)))
        _merge(members, replace(program, operations=list(operations)), operations)


def _with_small(members: list[int], program: Program) -> list[int]:
    """Those that become one: of two that do, one is small; what they become seldom is."""
    size, found = 0, list[int]()
    for member in members:
        moved = _moved(program, member)
        if not found or min(size, moved) <= _MERGED:
            found.append(member)
            size += moved
    return found


def _moved(program: Program, number: int) -> int:
    """Bytes that a product reads and writes."""
    operation = program.operations[number]
    return sum(operation.outputs) + sum(
        program.operations[one].outputs[position] for one, position in operation.inputs
    )


def _merge(members: list[int], program: Program, operations: list[Operation]) -> None:
    first = program.operations[members[0]]
    inputs = tuple(dict.fromkeys(source for one in members for source in program.operations[one].inputs[:2]))
    size = sum(sum(program.operations[one].outputs) for one in members)
    whole = len(operations)
    operations.append(
        new_operation(f"{first.name}/merged", first.type, inputs, first.shapes[:1], size, first.dtypes[:1])
    )
    for one in members:
        operations[one] = replace(operations[one], type="Slice", inputs=((whole, 0),))


def _waits(members: list[int], operations: list[Operation]) -> bool:
    """Whether one of them waits for another, with what is merged so far."""
    seen: set[int] = set()
    stack = list(members)
    asked = set(members)
    while stack:
        operation = operations[stack.pop()]
        new = {*(source for source, _ in operation.inputs), *operation.controls} - seen
        if not new.isdisjoint(asked):
            return True
        seen |= new
        stack += new
    return False


def _all_waits(operations: list[Operation]) -> list[int]:
    """For each operation a bit for every other that it waits for: a layer unrolled over many steps has thousands."""
    found = [-1] * len(operations)
    for root in range(len(operations)):
        stack = [root]
        while stack:
            number = stack[-1]
            operation = operations[number]
            sources = {*(source for source, _ in operation.inputs), *operation.controls}
            open_ones = [source for source in sources if found[source] < 0]
            if found[number] < 0 and open_ones:
                stack += open_ones
                continue
            stack.pop()
            if found[number] < 0:
                behind = 0
                for source in sources:
                    behind |= found[source] | 1 << source
                found[number] = behind
    return found


def _value_of(number: int, program: Program) -> tuple[object, ...]:
    """The same for all who read a variable between two changes of it."""
    operation = program.operations[number]
    while operation.type == "Cast":
        number = source_of(program.operations, operation.inputs[0])
        operation = program.operations[number]
    changes = (one for one in operation.controls if program.operations[one].type.startswith("Assign"))
    return operation.variable or number, *changes


def _is_weight(program: Program, output: Output) -> bool:
    operation = program.operations[source_of(program.operations, output)]
    if operation.type == "Cast" and operation.inputs:
        operation = program.operations[source_of(program.operations, operation.inputs[0])]
    return operation.type == "ReadVariableOp"
