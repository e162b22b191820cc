"""The order in which XLA runs the kernels of a program.

As its memory schedulers have it (xla/hlo/transforms/simplifiers/hlo_memory_scheduler.cc in openxla/xla). It tries
three: a list, where of what is ready that goes next which frees the most bytes beyond those that it writes; a walk from
the results down, where that goes first behind which the most is read several times; and the same walk in the order in
which each names what it reads. It takes what needs least, of equals the list, then the first walk (its log says what
each would need, with TF_CPP_VMODULE=hlo_memory_scheduler=2). Both walks done on XLA's own kernels give its order,
kernel by kernel, in 14 of 18 assignments that have one of them, all but four kernels in two: where it comes out
otherwise here, the kernels differ, or what they read.
"""

from __future__ import annotations

import heapq
from collections.abc import Callable

from oomlint.estimate.worker.graph.ahead import AHEAD, AHEAD_CONSTANT
from oomlint.estimate.worker.graph.convolutions import CONVOLUTIONS
from oomlint.estimate.worker.graph.copied import left_over
from oomlint.estimate.worker.graph.operations import Operation, Program, sources_and_readers
from oomlint.estimate.worker.graph.together import BESIDE

# What comes out of the kernel of another operation, and has no place of its own in an order.
OF_ANOTHER = (BESIDE, AHEAD, AHEAD_CONSTANT)

_POINTER = 8  # bytes: results of one kernel come in a tuple, which decides between equals
_TUPLE = 2 * _POINTER
# XLA makes several kernels with several results each of a random generator: so many readers beyond the first has what
# is drawn at least (input_concatenate_fusion in the assignment of landmarks; several times that where it is large).
_GENERATOR, _DRAWN = "StatelessRandomGetKeyCounter", 142


def frees_most(program: Program) -> list[int]:
    """Numbers of operations, arguments first. Of equals, what has the most readers goes first, then the latest."""
    return _List(program).run()


def depth_first(program: Program) -> list[int]:
    """Each operation after all that it reads, of which that goes first behind which the most is read several times."""
    walk = _Walk(program)
    places = walk.places()
    roots = [*left_over(program), *sorted(walk.roots, key=lambda number: places[number])]
    return walk.run(roots, lambda number: places[number])


def post_order(program: Program) -> list[int]:
    """Each operation after all that it reads, in the order in which it reads them."""
    walk = _Walk(program)
    return walk.run(walk.roots)


class _Walk:
    """From the results down. The results are in the order of the step's: what it returns, then the variables."""

    def __init__(self, program: Program) -> None:
        self.operations = program.operations
        self.sources, self.readers = sources_and_readers(self.operations)
        self.roots = self._roots(program)

    def _roots(self, program: Program) -> list[int]:
        fetched = list(dict.fromkeys(number for number, _ in program.fetched))
        variables = {one.name: number for number, one in enumerate(self.operations) if one.type == "Argument"}
        last = len(self.operations)
        ends = [number for number, readers in enumerate(self.readers) if not readers]
        ends.sort(key=lambda number: variables.get(self.operations[number].variable, last))
        return list(dict.fromkeys([*fetched, *ends]))

    def run(self, roots: list[int], place: Callable[[int], tuple[int, int]] | None = None) -> list[int]:
        done = [number for number, one in enumerate(self.operations) if one.type == "Argument"]
        seen = set(done)
        stack = [number for number in reversed(roots) if number not in seen]
        while stack:
            waits = [source for source in self.sources[stack[-1]] if source not in seen]
            if waits and stack[-1] not in seen:
                if place is not None:
                    waits.sort(key=place)
                stack += reversed(waits)
                continue
            number = stack.pop()
            for one in (number, *copies_of(number, self.operations, self.sources, self.readers)):
                if one not in seen:
                    seen.add(one)
                    done.append(one)
        return done

    def places(self) -> list[tuple[int, int]]:
        """For each value the readers beyond the first and the bytes, of it and all behind it, as often as read.

        Both are negative, since the most goes first. A kernel of several results has the bytes of all; each result has
        readers of its own.
        """
        beside: dict[int, list[int]] = {}
        for number, operation in enumerate(self.operations):
            if operation.type in OF_ANOTHER or (operation.type == "Zeros" and self.sources[number]):
                beside.setdefault(self.sources[number][0], []).append(number)
        members = {one for those in beside.values() for one in those}
        places = [(0, 0)] * len(self.operations)
        most, total = len(self.operations) + len(members) + len(beside), 0
        for number in self.run(self.roots):
            if self.operations[number].type == "Argument" or number in members:
                continue
            others = beside.get(number, [])
            size = sum(sum(self.operations[one].outputs) for one in (number, *others))
            total += size
            size += sum(-places[one][1] for one in self.sources[number])
            users = len(others) + sum(-places[one][0] for one in self.sources[number])
            if self.operations[number].name.endswith(_GENERATOR):
                users += _DRAWN
            for one in (number, *others):
                more = sum(reader not in others for reader in self.readers[one]) - 1
                places[one] = -min(users + max(more, 0), most), -min(size, total)
        return places


def copies_of(
    number: int, operations: list[Operation], sources: list[list[int]], readers: list[list[int]]
) -> list[int]:
    """Those that the kernel writes itself, all at once (xla/service/gpu/transforms/copy_fusion.cc for zeros)."""
    together = (*OF_ANOTHER, "Zeros")
    beside = [one for one in readers[number] if operations[one].type in together and sources[one] == [number]]
    if beside:
        return beside
    if operations[number].type != "Zeros" or sources[number]:
        return []
    return [one for one in readers[number] if operations[one].type == "ZerosCopy"]


class _List:
    def __init__(self, program: Program) -> None:
        self.operations = program.operations
        self.sources, self.readers = sources_and_readers(self.operations)
        self.uses = [len(readers) for readers in self.readers]
        for number, _ in program.fetched:
            self.uses[number] += 1
        self.waiting = [len(sources) for sources in self.sources]
        self.left_over = left_over(program)
        # Zeros and others that come out of another's kernel, by that.
        self.beside: dict[int, int] = {}
        for number, sources in enumerate(self.sources):
            if sources and self.operations[number].type in ("Zeros", *OF_ANOTHER):
                self.beside[sources[0]] = (
                    self.beside.get(sources[0], _POINTER) + _POINTER + self._size(number)
                )
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
                for one in (number, *copies_of(number, self.operations, self.sources, self.readers)):
                    done.append(one)
                    self._finish(one)
        return done

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
            return self._size(number) * (1 + copies) + self.left_over.get(number, 0)
        tuples = _TUPLE if operation.type.startswith(CONVOLUTIONS) else 0
        return sum(operation.outputs) + tuples + self.beside.get(number, 0) + self.left_over.get(number, 0)
