"""Which kernel writes the zeros that units compare with and that gradients are put on."""

from __future__ import annotations

from oomlint.estimate.worker.graph.costs import REDUCTIONS
from oomlint.estimate.worker.graph.leaky import MASK
from oomlint.estimate.worker.graph.operations import Operation, waits_for
from oomlint.estimate.worker.graph.units import RELUS


def place_zeros(
    left: list[int],
    operations: list[Operation],
    kinds: list[str],
    sizes: list[int],
    reads: list[set[int]],
    readers: list[set[int]],
) -> None:
    """Zeros come out of the first kernel of their loop that reads them, and are copied for what is put on them.

    That is a ReLU that is written, what one is part of (units with slopes of their own in landmarks), the mask of leaky
    units (loop_broadcast_compare_fusion in faces_three_answers) or a sum of its elements: the zeros are another result
    of it. Without either they are a kernel of their own, and XLA has it write
    the copies, too (xla/service/gpu/transforms/copy_fusion.cc). `left` are the operations that are kernels.
    """
    written: dict[int, int] = {}
    for one in left:
        if operations[one].type in RELUS:
            written.setdefault(sizes[one], one)
    for one in left:
        if operations[one].type != "Zeros":
            continue
        if not any(operations[reader].type == "ZerosCopy" for reader in readers[one]):
            continue
        loops = {
            reader
            for reader in readers[one]
            if operations[reader].type in REDUCTIONS
            or (kinds[reader] == "mapped" and sizes[reader] == sizes[one])
            or operations[reader].name.endswith(MASK)
        }
        relu = written.get(sizes[one])
        for first in sorted(loops if relu is None else {*loops, relu}):
            read = one in reads[first]
            reads[first].discard(one)
            # It does where it comes after a pooling that reads the zeros.
            if not waits_for(first, {one}, reads.__getitem__):
                reads[one].add(first)
                break
            if read:
                reads[first].add(one)
