"""Zeros of which all that change them have a copy.

One constant serves all of a shape, and one kernel writes the copies (`DoCopyFusion` in
xla/service/gpu/transforms/copy_fusion.cc). Where one of those that change it waits for all others, it has what was
copied. Where none does, as of the two directions of a layer, or of Adam's two scatters for a table, nobody reads that;
it is written nevertheless when XLA compares orders, and taken out behind that. A walk that looks ahead begins with what
has no reader, so that these zeros are its first kernels (loop_broadcast_fusion.4 in rivers_attended; the zeros of
Adam's scatters are the first kernel of small_reader and replaced_words, and of no step in which a unit compares with
them). In the order of what is read it comes to that last, and room is kept for it until then (65.2 MiB in insults, 22.3
in headlines_weighed: what XLA's log has beyond the rest).
"""

from __future__ import annotations

from oomlint.estimate.worker.graph.ahead import AHEAD, ZEROS_AHEAD
from oomlint.estimate.worker.graph.operations import Operation, Program, sources_and_readers, waits_for


def left_over(program: Program) -> dict[int, int]:
    """The kernels of such zeros, with the bytes of what was copied."""
    operations = program.operations
    sources, readers = sources_and_readers(operations)
    found = {}
    for number, operation in enumerate(operations):
        if operation.type == ZEROS_AHEAD:
            arrays = [one for one in readers[number] if operations[one].type == AHEAD]
            loops = {loop for one in arrays for loop in readers[one]}
            read = len(arrays) < len(readers[number])  # by others than loops
            if loops and not read and not _waits_for_all(max(loops), loops, sources):
                found[number] = sum(operations[arrays[0]].outputs)
        elif operation.type == "Zeros" and not sources[number]:
            copies = [one for one in readers[number] if operations[one].type == "ZerosCopy"]
            changing = {one for copy in copies for one in readers[copy]}
            changing.update(one for one in readers[number] if one not in copies)
            if len(changing) > 1 and not any(_has_it(one, changing, operations, sources) for one in changing):
                found[number] = sum(operation.outputs)
    return found


def _has_it(number: int, changing: set[int], operations: list[Operation], sources: list[list[int]]) -> bool:
    others = changing - {number}
    return operations[number].type != "PoolScatter" or waits_for(
        number, others, lambda one: set(sources[one])
    )


def _waits_for_all(last: int, others: set[int], sources: list[list[int]]) -> bool:
    seen, stack = {last}, [last]
    while stack and not others <= seen:
        new = set(sources[stack.pop()]) - seen
        seen |= new
        stack += new
    return others <= seen
