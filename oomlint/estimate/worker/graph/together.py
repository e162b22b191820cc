"""Kernels that XLA makes one: those that read the same tensor in the same loop write what they make together.

After the fusions that save memory (xla/service/gpu/transforms/multi_output_fusion.cc, `FuseSiblings`). The kernel waits
for all that any of them reads, which moves the order: two critics whose losses read one target are both run forward
before either is run backward.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import replace

from oomlint.estimate.worker.graph.costs import REDUCTIONS
from oomlint.estimate.worker.graph.operations import Operation, Program, sources_and_readers
from oomlint.estimate.worker.graph.products import PRODUCTS

Loop = tuple[tuple[int, ...], tuple[int, ...] | None]
TOGETHER, BESIDE = "Together", "Beside"
_MOST = 64  # results of one kernel, with what it reads: MaxOperandsAndOutputsPerFusion in xla/service/gpu/gpu_fusible.h


def together(program: Program, cublas: bool) -> Program:
    """The first of such kernels reads for all; the others are written as it runs."""
    return _Siblings(program, cublas).run()


class _Siblings:
    def __init__(self, program: Program, cublas: bool) -> None:
        self.program, self.cublas = program, cublas
        self.operations = program.operations
        self.sources, self.readers = sources_and_readers(self.operations)
        self.loops = [_loop(operation) for operation in self.operations]
        self.first = list(range(len(self.operations)))  # with whom each is written
        self.members: dict[int, list[int]] = {}
        self.waits = self._waits()

    def _waits(self) -> list[int]:
        """For each a bit for itself and all that it waits for."""
        waits = [0] * len(self.operations)
        for number, sources in enumerate(self.sources):
            waits[number] = 1 << number
            for source in sources:
                waits[number] |= waits[source]
        return waits

    def run(self) -> Program:
        for parent in reversed(range(len(self.operations))):
            if self._is_shared(parent):
                self._join(parent)
        return self._ordered()

    def _is_shared(self, parent: int) -> bool:
        operation = self.operations[parent]
        if operation.type == "Kernel" or (operation.type in PRODUCTS and not self.cublas):
            return False
        return any(side > 1 for side in (operation.shapes[0] if operation.shapes else ()))

    def _join(self, parent: int) -> None:
        readers = dict.fromkeys(self.first[reader] for reader in self.readers[parent])
        siblings = [one for one in readers if self.loops[one] is not None]
        for place, one in enumerate(siblings):
            if self.first[one] != one:
                continue
            for other in siblings[place + 1 :]:
                if self.first[other] == other and self._fits(one, other):
                    self._merge(one, other)

    def _fits(self, one: int, other: int) -> bool:
        first, second = self.loops[one], self.loops[other]
        if first is None or second is None or not _alike(first, second):
            return False
        if self.waits[one] >> other & 1 or self.waits[other] >> one & 1:
            return False
        both = len(self.members.get(one, ())) + len(self.members.get(other, ())) + 2
        return both + len({*self.sources[one], *self.sources[other]}) <= _MOST

    def _merge(self, one: int, other: int) -> None:
        self.members.setdefault(one, []).extend([other, *self.members.pop(other, [])])
        for member in self.members[one]:
            self.first[member] = one
        self.loops[one] = self.loops[one] if self._sums(one) else self.loops[other]
        self.sources[one] = list(dict.fromkeys([*self.sources[one], *self.sources[other]]))
        both = self.waits[one] | self.waits[other]
        asked = 1 << one | 1 << other
        for number, waits in enumerate(self.waits):
            if waits & asked:
                self.waits[number] = waits | both

    def _sums(self, number: int) -> bool:
        loop = self.loops[number]
        return loop is not None and loop[1] is not None

    def _ordered(self) -> Program:
        """Each after what it reads."""
        if not self.members:
            return self.program
        made: list[Operation] = []
        places: dict[int, int] = {}
        for root in range(len(self.operations)):
            stack = [root]
            while stack:
                number = stack[-1] = self.first[stack[-1]]
                waits = [one for one in self.sources[number] if one not in places]
                if number not in places and waits:
                    stack += waits
                    continue
                stack.pop()
                if number not in places:
                    self._place(number, made, places)
        fetched = tuple((places[number], position) for number, position in self.program.fetched)
        return Program(made, fetched)

    def _place(self, number: int, made: list[Operation], places: dict[int, int]) -> None:
        inputs = tuple((places[one], 0) for one in self.sources[number])
        members = [number, *self.members.get(number, ())]
        reads = [{source for source, _ in self.operations[member].inputs} for member in members]
        asked = Counter(source for each in reads for source in each)
        for member, each in zip(members, reads, strict=True):
            operation = self.operations[member]
            # What no other of them reads may be written over.
            moved = operation.elsewhere
            own = tuple(sorted(places[one] for one in each if asked[one] == 1 and one not in moved))
            operation = replace(operation, elsewhere=tuple(places[one] for one in moved))
            if member != number:
                operation = replace(operation, type=BESIDE, inputs=((places[number], 0),), controls=own)
            elif len(members) > 1 and operation.type == "Fusion":
                operation = replace(operation, type=TOGETHER, inputs=inputs, controls=own)
            else:
                operation = replace(operation, inputs=inputs)
            places[member] = len(made)
            made.append(operation)


def _alike(first: Loop, second: Loop) -> bool:
    """Whether one kernel can go over both: sums along the same sides, or a sum to a vector beside what is not summed.

    (input_add_reduce_fusion, which writes the gradient and the sum for a scale, in the assignment of landmarks; not a
    sum that keeps several sides, as in that of involutions)
    """
    if first[0] != second[0]:
        return False
    if first[1] is None or second[1] is None:
        return max(len(first[1] or ()), len(second[1] or ())) <= 1
    return first[1] == second[1]


def _loop(operation: Operation) -> Loop | None:
    """The sides over which a kernel goes, and those of sums; None for what is no such loop."""
    if operation.type in ("Fusion", "Update") and operation.shapes:
        return _sides(operation.shapes[0]), None
    if operation.type in REDUCTIONS and len(operation.shapes) > 1:
        return _sides(operation.shapes[1]), _sides(operation.shapes[0])
    return None


def _sides(shape: tuple[int, ...]) -> tuple[int, ...]:
    return tuple(side for side in shape if side > 1)
