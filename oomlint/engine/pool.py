"""Documents shared out to several processes, where there is enough to do.

Neighbours in the order of their names go to one process: they import the same modules, whose trees it has.
"""

from __future__ import annotations

import gc
import os
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from oomlint.documents.python_file import Document
    from oomlint.engine.project import Run
    from oomlint.engine.report import Report

# Characters of text below which a second process is not worth its start: about a second of work for one
# (LibCST's parse alone takes 81 ms for a thousand lines of some 35 characters; benchmarks/speed).
_ENOUGH = 300_000

# Shares for each process: small enough that none is left waiting for the other's last one.
_SHARES = 12

# Objects in circles that one document may make before the collector looks: some 100 MB.
_MUCH = 1_000_000

_run: Run | None = None  # in a process of the pool: the run that it works for


def shared_out(run: Run, documents: Sequence[Document], jobs: int | None) -> Iterator[Report]:
    """The reports of documents, in any order. `jobs` None: as many processes as there are processors to use."""
    count = min(jobs or processors(), len(documents))
    if jobs is None and sum(len(document.text) for document in documents) < _ENOUGH:
        count = 1
    if count <= 1:
        with seldom_collected():
            for document in documents:
                yield collected(run, document)
        return
    yield from _pooled(run, [document.filename for document in documents], count)


@contextmanager
def seldom_collected() -> Iterator[None]:
    """Let the garbage collector look only where a document ends (:func:`collected`), or makes very much.

    Trees are hundreds of thousands of objects that are no garbage while they are in use; what a dry run leaves is
    garbage in circles, all of it, when its document is done. Over every fourth file of tf-models the collector took
    1.85 of 15.0 s of processor time with a threshold of 50,000, and takes 0.78 of 13.5 s this way, with 102 MB instead
    of 111 (benchmarks/speed/collector.py).
    """
    before = gc.get_threshold()
    gc.set_threshold(_MUCH, 20, 20)
    try:
        yield
    finally:
        gc.set_threshold(*before)


def collected(run: Run, document: Document) -> Report:
    """What a document gives; the dry run's objects are gone then."""
    report = run.examined(document)
    gc.collect(0)  # what was made since the last document: older trees are not gone through again
    return report


def processors() -> int:
    """How many processors this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def _pooled(run: Run, names: Sequence[str], count: int) -> Iterator[Report]:
    from concurrent.futures import ProcessPoolExecutor, as_completed
    from concurrent.futures.process import BrokenProcessPool
    from multiprocessing import get_context

    # A forked process has all that was read. Where forking is not safe (macOS) or not there, the run is sent over.
    context = get_context("fork" if sys.platform == "linux" else "spawn")
    size = max(1, len(names) // (count * _SHARES))
    shares = [names[start : start + size] for start in range(0, len(names), size)]
    left = set(names)
    try:
        with ProcessPoolExecutor(count, context, _begin, (run,)) as pool:
            for done in as_completed([pool.submit(_examine, share) for share in shares]):
                for report in done.result():
                    left.discard(report.filename)
                    yield report
    except BrokenProcessPool:
        # A process was killed, by the machine for memory or by a crash of the interpreter. The others' documents
        # are not lost by it: here they are checked one after another.
        yield from map(run.examined, [run.documents[name] for name in names if name in left])


def _begin(run: Run) -> None:
    global _run
    _run = run


def _examine(names: Sequence[str]) -> list[Report]:
    assert _run is not None
    with seldom_collected():
        return [collected(_run, _run.documents[name]) for name in names]
