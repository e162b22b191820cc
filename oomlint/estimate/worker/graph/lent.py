"""What a step holds in the places of weights that it changes, while these stand elsewhere.

A kernel that XLA has written in another layout is read from that copy, by its update, too. Its argument is the step's
to write into, holds nothing of use until then, and takes what fits, the largest first (`MaybeAssignBuffer` in
xla/service/buffer_assignment.cc; fronts_of_houses: loop_select_fusion.5 where parameter 28 was).
"""

from __future__ import annotations

from dataclasses import dataclass, field

from oomlint.estimate.worker.graph.lives import Buffer, Lives
from oomlint.estimate.worker.graph.operations import Program
from oomlint.estimate.worker.graph.together import BESIDE


@dataclass(slots=True)
class _Place:
    """An argument's bytes, free from one step of the order to another."""

    size: int
    first: int
    last: int
    taken: list[tuple[int, int]] = field(default_factory=list)

    def has_room(self, buffer: Buffer) -> bool:
        """For all of its life."""
        if buffer.size > self.size or buffer.born < self.first or buffer.died > self.last:
            return False
        return all(buffer.died < first or last < buffer.born for first, last in self.taken)


def lend(found: Lives, program: Program) -> set[int]:
    """Take out of the timeline what lies in such places. The buffers (by id) that do."""
    places = _places(found, program)
    lent: set[int] = set()
    if not places:
        return lent
    for buffer in sorted(found.buffers, key=lambda one: -one.size):
        place = next((one for one in places if one.has_room(buffer)), None)
        if place is None:
            continue
        place.taken.append((buffer.born, buffer.died))
        lent.add(id(buffer))
        for step in range(buffer.born, buffer.died + 1):
            found.timeline[step] -= buffer.size
    found.peak = max(found.timeline)
    top = found.timeline.index(found.peak)
    found.peak_at = found.order[top]
    found.at_peak = tuple(one for one in found.buffers if one.born <= top <= one.died and id(one) not in lent)
    return lent


def _places(found: Lives, program: Program) -> list[_Place]:
    """The smallest first."""
    steps = {number: step for step, number in enumerate(found.order)}
    changed: dict[str, int] = {}
    for number, operation in enumerate(program.operations):
        if operation.variable and operation.type != "Padded":
            # What is written beside another is written as that is.
            at = steps[operation.inputs[0][0] if operation.type == BESIDE else number]
            changed[operation.variable] = min(changed.get(operation.variable, at), at)
    places = [
        _Place(sum(operation.outputs[:1]), steps[number] + 1, changed[operation.variable] - 1)
        for number, operation in enumerate(program.operations)
        if operation.type == "Padded" and operation.variable in changed
    ]
    return sorted(places, key=lambda one: one.size)
