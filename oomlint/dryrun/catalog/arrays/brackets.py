"""Joining that NumPy spells with brackets."""

from __future__ import annotations

from typing import TYPE_CHECKING

from oomlint.dryrun.catalog.arrays.joining import Parts
from oomlint.dryrun.catalog.registry import function
from oomlint.dryrun.values.base import Sequence, Value

if TYPE_CHECKING:
    from oomlint.dryrun.interpreter import Run
    from oomlint.dryrun.trace import Call


@function("numpy.r_", "numpy.c_")
def brackets(call: Call, run: Run) -> Value:
    """`np.r_[a, b]` joins along the first axis, `np.c_[a, b]` columns; of slices and texts nothing is said."""
    parts = Parts(Sequence("tuple", items=[argument.value for argument in call.arguments]))
    ranks = {None if array is None else array.rank for array in parts.arrays}
    plain = call.name.endswith("r_") and len(ranks) == 1 and not ranks & {None, 0}
    return parts.joined(call, 0) if plain else parts.result(call, None)
