"""When Python's garbage collector looks: where a document ends, at what its dry run made."""

from __future__ import annotations

import gc
from collections.abc import Iterator
from contextlib import contextmanager

# Objects in circles that one document may make before the collector looks: some 100 MB.
_MUCH = 1_000_000

_seldom = [False]


@contextmanager
def seldom_collected() -> Iterator[None]:
    """Let the garbage collector look only where a document ends (:func:`collect`), or makes very much.

    Trees are hundreds of thousands of objects that are no garbage while they are in use; what a dry run leaves is
    garbage in circles, all of it, when its document is done. Over every fourth file of tf-models the collector took
    1.85 of 15.0 s of processor time with a threshold of 50,000, and takes 0.78 of 13.5 s this way, with 102 MB instead
    of 111 (benchmarks/speed/collector.py).
    """
    before = gc.get_threshold()
    gc.set_threshold(_MUCH, 20, 20)
    _seldom[0] = True
    try:
        yield
    finally:
        _seldom[0] = False
        # Freezing also sets the counts to zero: else the collector went through all that there is, at once.
        gc.freeze()
        gc.unfreeze()
        gc.set_threshold(*before)


def settle() -> None:
    """What there is now, a document's tree above all, is not gone through when the document ends.

    It has no circles: a tree that is given up is gone at once.
    """
    if _seldom[0]:
        gc.freeze()


def collect() -> None:
    """What was made since the last document is gone if nobody has it; older trees are not gone through again."""
    gc.collect(0)
