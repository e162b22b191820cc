"""In which order a kernel names what it reads: two of XLA's three schedules go by that.

What is fused into a kernel goes from its operands, and what that read is put behind the others, if it is not there yet
(`CloneAndAppendInstructionIntoCalledComputation` in xla/hlo/ir/hlo_instructions.cc).
"""

from __future__ import annotations

from collections.abc import Iterable

from oomlint.estimate.worker.graph.kinds import LOOPS
from oomlint.estimate.worker.graph.operations import Operation

# A scatter has what it writes into in front, then what; where it goes is computed in its kernel, and comes last.
_PLACES = {"Zeros": 0, "ZerosCopy": 0, "Base": 0, "PoolWindows": 2}


class Operands:
    """For each operation the numbers of those that it reads. `channels_first`: of convolutions of float32."""

    def __init__(self, operations: list[Operation], channels_first: bool) -> None:
        self._operations, self._channels_first = operations, channels_first
        self._of: list[dict[int, None]] = [{} for _ in operations]

    def begin(self, number: int, sources: Iterable[int]) -> None:
        """What it reads by itself."""
        if self._operations[number].type == "PoolScatter":
            sources = sorted(sources, key=lambda source: _PLACES.get(self._operations[source].type, 1))
        self._of[number] = dict.fromkeys(sources)

    def fuse(self, number: int, reader: int) -> None:
        """The reader reads what the other read, in place of it."""
        own, others = self._of[reader], self._of[number]
        of_a_loop = any(self._operations[one].type in LOOPS for one in others)
        if self._channels_first and self._operations[reader].type == "PoolScatter" and not of_a_loop:
            # What is scattered is written first, with the channels last (input_transpose_fusion.4 in road_signs). What
            # a loop made is read from its list (while.5 in the assignment of phones_in_pockets).
            inputs = (others if one == number else (one,) for one in own)
            self._of[reader] = dict.fromkeys(one for some in inputs for one in some)
            return
        own.pop(number, None)
        own.update(dict.fromkeys(one for one in others if one not in own))

    def of(self, number: int, reads: set[int]) -> list[int]:
        """Those that are read, in order; what was added by other ways comes last."""
        known = [source for source in self._of[number] if source in reads]
        return known + sorted(reads.difference(known))
