"""Documents shared out to several processes, where there is enough to do.

Each process begins in a region of its own, since neighbours in the order of their names import the same modules, whose
trees it has then. Who is done with his own takes over the last of another's.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import TYPE_CHECKING

from oomlint.engine.collecting import collect, seldom_collected

if TYPE_CHECKING:
    from multiprocessing.context import BaseContext

    from oomlint.documents.python_file import Document
    from oomlint.engine.project import Run
    from oomlint.engine.report import Report

# Characters of text below which a second process is not worth its start: about a second of work for one
# (LibCST's parse alone takes 81 ms for a thousand lines of some 35 characters; benchmarks/speed).
_ENOUGH = 300_000

# Shares of each process' region: small enough that none is left waiting for the other's last one.
_SHARES = 24

# In a process of the pool: the run that it works for, what there is to do, and which region is its own.
_work: tuple[Run, Regions, int] | None = None


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


def collected(run: Run, document: Document) -> Report:
    """What a document gives; the dry run's objects are gone then."""
    report = run.examined(document)
    document.forget_lines()
    collect()
    return report


def processors() -> int:
    """How many processors this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


class Regions:
    """Names in order, in one region for each process, of which shares are taken."""

    def __init__(self, names: Sequence[str], count: int, context: BaseContext) -> None:
        size = max(1, len(names) // (count * _SHARES))
        bounds = [len(names) * number // count for number in range(count + 1)]
        self._shares: list[list[Sequence[str]]] = [
            [names[start : min(start + size, end)] for start in range(begin, end, size)]
            for begin, end in pairwise(bounds)
        ]
        self._workers = context.Value("i", 0)
        # The first share of each region that nobody has, and the one after the last, for all processes.
        self._first = context.Array("i", count)
        self._end = context.Array("i", [len(shares) for shares in self._shares])

    def __len__(self) -> int:
        return sum(map(len, self._shares))

    def worker(self) -> int:
        """The number of one more process."""
        with self._workers.get_lock():
            number: int = self._workers.value
            self._workers.value += 1
        return number

    def take(self, worker: int) -> Sequence[str]:
        """The next share of a process' own region, or the last of the longest; empty when there is none."""
        with self._workers.get_lock():
            begins: list[int] = self._first[:]
            ends: list[int] = self._end[:]
            left = [end - begin for begin, end in zip(begins, ends, strict=True)]
            other = left.index(max(left))
            if left[worker]:
                self._first[worker] += 1
                return self._shares[worker][begins[worker]]
            if left[other]:
                self._end[other] -= 1
                return self._shares[other][ends[other] - 1]
        return ()


def _pooled(run: Run, names: Sequence[str], count: int) -> Iterator[Report]:
    from concurrent.futures import ProcessPoolExecutor, as_completed
    from concurrent.futures.process import BrokenProcessPool
    from multiprocessing import get_context

    # A forked process has all that was read. Where forking is not safe (macOS) or not there, the run is sent over.
    context = get_context("fork" if sys.platform == "linux" else "spawn")
    regions = Regions(names, count, context)
    left = set(names)
    try:
        with ProcessPoolExecutor(count, context, _begin, (run, regions)) as pool:
            for done in as_completed([pool.submit(_next_share) for _ in range(len(regions))]):
                for report in done.result():
                    left.discard(report.filename)
                    yield report
    except BrokenProcessPool:
        # A process was killed, by the machine for memory or by a crash of the interpreter. The others' documents
        # are not lost by it: here they are checked one after another.
        yield from map(run.examined, [run.documents[name] for name in names if name in left])


def _begin(run: Run, regions: Regions) -> None:
    global _work
    _work = run, regions, regions.worker()


def _next_share() -> list[Report]:
    assert _work is not None
    run, regions, worker = _work
    with seldom_collected():
        return [collected(run, run.documents[name]) for name in regions.take(worker)]
