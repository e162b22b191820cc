"""More room for recursion, only when it is needed."""

from __future__ import annotations

import sys
import threading

import pytest

from oomlint.syntax.recursion import with_room


def depth(levels: int) -> int:
    return 0 if levels == 0 else 1 + depth(levels - 1)


def test_what_fits_runs_where_it_is_called() -> None:
    threads: list[threading.Thread] = []

    def work() -> int:
        threads.append(threading.current_thread())
        return depth(10)

    assert with_room(work) == 10
    assert threads == [threading.current_thread()]


def test_what_does_not_fit_gets_more_room_and_leaves_the_limit_as_it_was() -> None:
    limit, size = sys.getrecursionlimit(), threading.stack_size()
    assert with_room(lambda: depth(5 * limit)) == 5 * limit
    assert (sys.getrecursionlimit(), threading.stack_size()) == (limit, size)


def test_errors_come_out_as_they_are() -> None:
    levels = 2 * sys.getrecursionlimit()

    def work() -> int:
        depth(levels)
        raise KeyError("x")

    with pytest.raises(KeyError):
        with_room(work)


def test_what_never_ends_is_still_an_error() -> None:
    with pytest.raises(RecursionError):
        with_room(lambda: depth(-1))
