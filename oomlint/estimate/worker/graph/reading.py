"""At which places a kernel reads what others wrote, how often, and how long that takes: as XLA's cost model has it.

All that reads a tensor where it writes reads it once. What reads it elsewhere, or spreads it over more elements, reads
it once more, and computed again in another kernel it does so there, too (`FusionCalculateUtilizations` in
xla/service/gpu/model/gpu_hlo_cost_analysis.cc, `GetSharedOperandBytesAccessed` in gpu_performance_model_base.cc there).
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import NamedTuple

from oomlint.estimate.worker.graph.cards import Card
from oomlint.estimate.worker.graph.operations import Operation, Output

# What reads elements at other places than it writes them.
MOVING = frozenset(
    """
    BatchToSpaceND BroadcastTo ConcatV2 DepthToSpace GatherV2 MirrorPad Pack Pad PadV2 ReverseV2 Roll Slice
    SpaceToBatchND SpaceToDepth Split SplitV StridedSlice Tile Transpose Unpack
    """.split()
)
_PIECES = frozenset("Slice Split SplitV StridedSlice Unpack".split())
# How long reading again takes beside memory: from the second-level cache, and from the first (kL2CacheSpeedup and
# kL1CacheSpeedup in xla/service/gpu/model/gpu_performance_model_base.h).
_FROM_SECOND, _FROM_FIRST = 1 / 2.5, 1 / (2.5 * 8)


class Place(NamedTuple):
    """Elements that are read beside those that there are, and by how many pieces of the kernel's code."""

    share: float
    pieces: int


Ways = dict[int, Place]  # by what reads there
_AS_WRITTEN = -1
_TOGETHER = -(2**40)  # where they are too many to be told apart
_MOST = 16


class Reading:
    """`places`: for each operation the ways in which it reads each of its sources."""

    def __init__(
        self,
        operations: list[Operation],
        kinds: list[str],
        reads: list[set[int]],
        sizes: list[int],
        origin: Callable[[Output], int],
        card: Card,
    ) -> None:
        self.operations, self.kinds, self.sizes, self.card = operations, kinds, sizes, card
        self.origin = origin
        self.count = len(operations)
        self.places: list[dict[int, Ways]] = [
            {source: self._way(number, source) for source in reads[number]}
            for number in range(len(operations))
        ]

    def _way(self, number: int, source: int) -> Ways:
        operation = self.operations[number]
        part = self._part(operation, source)
        if operation.type in MOVING:
            return {number: Place(part, 1)}
        if part < 1:
            return {-2 - source: Place(part, 1)}
        if self.kinds[number] == "mapped" and operation.type != "AddN" and operation.shapes:
            made, given = math.prod(operation.shapes[0]), self._given(operation, source)
            if made > given > 0:
                return {-2 - source: Place(made / given, 1)}
        return {_AS_WRITTEN: Place(1.0, 1)}

    def _part(self, operation: Operation, source: int) -> float:
        """How much of a source is read by what takes a piece of it, or one of its pieces."""
        pieces = len(self.operations[source].shapes)
        if self.operations[source].type in _PIECES and pieces > 1:
            read = {position for one, position in operation.inputs if self.origin((one, position)) == source}
            return max(len(read), 1) / pieces
        if operation.type not in _PIECES or len(operation.shapes) != 1:
            return 1.0  # of several pieces who reads them reads some
        made, given = math.prod(operation.shapes[0]), self._given(operation, source)
        return min(made / given, 1.0) if given else 1.0

    def _given(self, operation: Operation, source: int) -> int:
        """Elements that it is given of a source."""
        given = 0
        for number, position in operation.inputs:
            shapes = self.operations[number].shapes
            if position < len(shapes) and self.origin((number, position)) == source:
                given = max(given, math.prod(shapes[position]))
        return given

    def time(self, source: int, ways: Ways) -> float:
        """As bytes from memory (`ReadTimeWithDRAMHeuristic` in gpu_performance_model_base.cc)."""
        size = self.sizes[source]
        whole = size * share_of(ways)
        again = 1.0
        if size <= self.card.near:
            again = _FROM_FIRST
        elif size <= self.card.cache:
            again = _FROM_SECOND
        return min(whole, size) + again * max(whole - size, 0.0)

    def joined(self, ways: Ways, number: int, source: int) -> Ways:
        """In which ways a reader reads the source if it computes what it reads in these ways itself."""
        found: Ways = {}
        share, pieces = share_of(ways), pieces_of(ways)
        for reader, place in self.places[number][source].items():
            if reader == _AS_WRITTEN:
                found |= ways
                continue
            self.count += 1  # its own piece of code there
            found[self.count] = Place(place.share * share, place.pieces * pieces)
        return found

    def is_elsewhere(self, reader: int, source: int) -> bool:
        """Whether an element is read that stands at another place than the one that is written then."""
        return any(way != _AS_WRITTEN for way in self.places[reader].get(source, ()))

    def add(self, reader: int, source: int, ways: Ways) -> None:
        """The reader reads the source in these ways as well."""
        both = self.places[reader].get(source, {}) | ways
        if len(both) > _MOST:
            rest = {_AS_WRITTEN: both.pop(_AS_WRITTEN)} if _AS_WRITTEN in both else {}
            both = {**rest, _TOGETHER: Place(share_of(both), min(pieces_of(both), 1 << 20))}
        self.places[reader][source] = both


def share_of(ways: Ways) -> float:
    """Elements that are read in all these ways beside those that there are."""
    return sum(place.share for place in ways.values())


def pieces_of(ways: Ways) -> int:
    """Pieces of code that read so."""
    return sum(place.pieces for place in ways.values())
