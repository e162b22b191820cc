"""Sizes in a branch that is only taken where the values that the sizes come from are others.

Both sides of a branch are taken where a default decides it. What stands in `if level == 2` with `level` 7 by default is
run for callers that give 2: what is computed from the 7 there is a size that nobody gets.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from oomlint.dryrun.trace import Branch
from oomlint.dryrun.values.base import Const

if TYPE_CHECKING:
    from oomlint.dryrun.trace import Context
    from oomlint.dryrun.values.base import Trail


def is_contradicted(context: Context, trail: Trail) -> bool:
    """Whether a branch around is one that a value on this trail speaks against."""
    places = _places(trail)
    for branch in context.all(Branch):
        test = branch.test
        if isinstance(test, Const) and bool(test.value) != branch.taken and places & _places(test.trail):
            return True
    return False


def _places(trail: Trail) -> set[tuple[int, int]]:
    return {(id(step.place.source), id(step.place.node)) for step in trail if step.place is not None}
