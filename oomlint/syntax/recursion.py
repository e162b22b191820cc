"""Room for code that recurses over a tree, when a file nests deeper than Python's usual limit."""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable
from typing import TypeVar

_T = TypeVar("_T")

# Real files go down 2,000 levels (a sum of as many terms), and `ast.parse` refuses about 3,000, at up to ten
# frames a level. Before Python 3.11 each frame took about half a kilobyte of the thread's stack, too.
_FRAMES = 50_000
_STACK = 256 * 2**20


def with_room(work: Callable[[], _T]) -> _T:
    """What `work` gives. If it runs out of recursion it is done again where there is more room.

    A second time, because more room for every file would cost a thread for each.
    """
    try:
        return work()
    except RecursionError:
        return _in_deep_thread(work)


def _in_deep_thread(work: Callable[[], _T]) -> _T:
    results: list[_T] = []
    errors: list[BaseException] = []

    def run() -> None:
        try:
            results.append(work())
        except BaseException as error:
            errors.append(error)

    limit, size = sys.getrecursionlimit(), threading.stack_size()
    try:
        threading.stack_size(_STACK)  # address space; memory only where it is used
    except (ValueError, RuntimeError):
        return work()  # no such stack on this system: the error stands
    sys.setrecursionlimit(max(limit, _FRAMES))
    try:
        thread = threading.Thread(target=run, name="oomlint-deep")
        thread.start()
        thread.join()
    finally:
        threading.stack_size(size)
        sys.setrecursionlimit(limit)
    if errors:
        raise errors[0]
    return results[0]
