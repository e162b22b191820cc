"""Whether something is a few of many: a slice that the script cuts off early, of what is as long as it may be."""

from __future__ import annotations

from typing import TYPE_CHECKING

import libcst as cst

from oomlint.dryrun.imports import dotted
from oomlint.dryrun.trace import Loop
from oomlint.dryrun.values.base import Const, Sequence, Slice, Unknown, Value, deref, tags_of
from oomlint.dryrun.values.indexing import FEW, FEW_TAG, few_tags, is_window, most_of

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping
    from collections.abc import Sequence as Items

    from oomlint.dryrun.trace import Assign

# Folders of a data set whose number nobody knows: ImageNet's challenge has 1,000 classes, LIDC-IDRI 1,010 patients.
FOLDERS = 1_000


def is_few(value: Value | None) -> bool:
    """`paths[:9]`, whatever `paths` is, and a window that is cut out of them."""
    if value is None:
        return False
    value = deref(value)
    if FEW_TAG in tags_of(value):
        return True
    taken = deref(value.taken) if isinstance(value, Unknown) and value.taken is not None else None
    if not isinstance(taken, Slice):
        return False
    stop = deref(taken.stop)
    return is_window(taken) or (
        isinstance(stop, Const) and isinstance(stop.value, int) and 0 <= stop.value <= FEW
    )


def are_few(loops: list[Loop]) -> bool:
    """Whether loops inside one another, innermost first, take a few of each of as many as the script counts out."""
    return bool(loops) and is_few(loops[0].iterable) and all(_is_bounded(loop) for loop in loops[1:])


def a_few_of_each(loops: list[Loop]) -> int | None:
    """How often the body of such loops may run where an outer one is over folders; None where a few are a window."""
    rounds = 1
    for loop in loops:
        trip = loop.trip.value if loop.trip is not None and isinstance(loop.trip.value, int) else None
        if trip is None and is_few(loop.iterable):
            trip = _most(loop.iterable)
            if trip is None:
                return None
        rounds *= FOLDERS if trip is None else trip
    return rounds


def _most(value: Value | None) -> int | None:
    value = Unknown() if value is None else deref(value)
    taken = deref(value.taken) if isinstance(value, Unknown) and value.taken is not None else None
    return most_of(few_tags(taken) if isinstance(taken, Slice) else tags_of(value))


def _is_bounded(loop: Loop) -> bool:
    return loop.trip is not None or loop.kind == "while" or is_few(loop.iterable)


def sweeps(loop: Loop, assigns: Mapping[str, Items[Assign]], grown: Collection[str], limit: int) -> bool:
    """Whether it goes over a list that the script writes out, on each way another: `[size]`, `[size - 32, size]`."""
    walk = getattr(loop.place.node, "iter", None)
    walked = [argument.value for argument in walk.args] if isinstance(walk, cst.Call) else [walk]
    if isinstance(walk, cst.Call) and dotted(walk.func) not in ("zip", "enumerate"):
        return False
    for node in walked:
        path = dotted(node) if isinstance(node, cst.Name | cst.Attribute) else ""
        # `self.sizes` of one class may be `scorer.sizes` where it is added to.
        name = path.rpartition(".")[2]
        if not path or any(other.rpartition(".")[2] == name for other in grown):
            continue
        bound = [deref(assign.value) for assign in assigns.get(path, ())]
        counts = [len(value.items or ()) if isinstance(value, Sequence) else 0 for value in bound]
        listed = all(isinstance(value, Sequence) and value.items is not None for value in bound)
        if listed and 0 < max(counts, default=0) <= limit:
            return True
    return False
