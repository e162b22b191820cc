"""Whether something is a few of many: a slice that the script cuts off early, of what is as long as it may be."""

from __future__ import annotations

from oomlint.dryrun.values.base import Const, Slice, Unknown, Value, deref, tags_of
from oomlint.dryrun.values.indexing import FEW, FEW_TAG, is_window


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
