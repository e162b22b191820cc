"""The order in which XLA runs the kernels of a program.

As its list scheduler has it (xla/hlo/transforms/simplifiers/hlo_memory_scheduler.cc in openxla/xla): of what is ready,
what frees the most bytes beyond those that it writes goes next. XLA tries walks from the results down, too, and takes
what needs least; for training steps that is this one nearly always.
"""

from __future__ import annotations

import heapq

from oomlint.estimate.worker.graph.convolutions import CONVOLUTIONS
from oomlint.estimate.worker.graph.operations import Program

_TUPLE = 16  # bytes: two pointers


def frees_most(program: Program) -> list[int]:
    """Numbers of operations, arguments first. Of equals, what has the most readers goes first, then the latest."""
    return _List(program).run()


class _List:
    def __init__(self, program: Program) -> None:
        self.operations = program.operations
        self.sources = [list(dict.fromkeys(source for source, _ in one.inputs)) for one in self.operations]
        self.readers: list[list[int]] = [[] for _ in self.operations]
        for number, sources in enumerate(self.sources):
            for source in sources:
                self.readers[source].append(number)
        self.uses = [len(readers) for readers in self.readers]
        for number, _ in program.fetched:
            self.uses[number] += 1
        self.waiting = [len(sources) for sources in self.sources]
        self.stamps = [0] * len(self.operations)  # 0: not ready yet, or done
        self.queue: list[tuple[int, int, int, int]] = []
        self.count = 0

    def run(self) -> list[int]:
        done = [number for number, one in enumerate(self.operations) if one.type == "Argument"]
        for number in done:
            for reader in self.readers[number]:
                self.waiting[reader] -= 1
        given = set(done)
        for number, left in enumerate(self.waiting):
            if left == 0 and number not in given:
                self._ready(number)
        while self.queue:
            _, _, stamp, number = heapq.heappop(self.queue)
            if -stamp == self.stamps[number]:  # else it frees more by now, and stands elsewhere too
                for one in (number, *self._copies(number)):
                    done.append(one)
                    self._finish(one)
        return done

    def _copies(self, number: int) -> list[int]:
        """Those that the kernel of zeros writes itself, all at once (xla/service/gpu/transforms/copy_fusion.cc)."""
        if self.operations[number].type != "Zeros" or self.sources[number]:
            return []
        return [one for one in self.readers[number] if self.operations[one].type == "ZerosCopy"]

    def _ready(self, number: int) -> None:
        self.count += 1
        self.stamps[number] = self.count
        freed = sum(self._size(source) for source in self.sources[number] if self.uses[source] == 1)
        place = self._written(number) - freed, -len(self.readers[number]), -self.count, number
        heapq.heappush(self.queue, place)

    def _finish(self, number: int) -> None:
        self.stamps[number] = 0
        changed: list[int] = []
        for source in self.sources[number]:
            self.uses[source] -= 1
            if self.uses[source] == 1:
                changed += [reader for reader in self.readers[source] if self.stamps[reader]]
        # Of those that become ready together, the first is the latest.
        for reader in reversed(self.readers[number]):
            self.waiting[reader] -= 1
            if self.waiting[reader] == 0:
                self._ready(reader)
        for reader in changed:
            self._ready(reader)

    def _size(self, number: int) -> int:
        operation = self.operations[number]
        return 0 if operation.type == "Argument" else sum(operation.outputs[:1])

    def _written(self, number: int) -> int:
        """Zeros come with their copies. Convolutions have a tuple of results, which takes room itself."""
        operation = self.operations[number]
        if operation.type == "ZerosCopy":
            return sum(operation.outputs) if self.sources[self.sources[number][0]] else 0
        if operation.type == "Zeros":
            if self.sources[number]:
                return 0
            copies = sum(self.operations[one].type == "ZerosCopy" for one in self.readers[number])
            return self._size(number) * (1 + copies)
        return sum(operation.outputs) + (_TUPLE if operation.type.startswith(CONVOLUTIONS) else 0)
