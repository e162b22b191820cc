"""When the thread that checks gets what to do: soon after a change, and never for what a newer change replaced."""

from __future__ import annotations

import asyncio
import sys
import threading
import traceback
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from typing import TypeVar

from oomlint.server.checking import Checker, Deliver, Stop, Superseded

T = TypeVar("T")

# Seconds of quiet that are waited for: half of what the file's last check took, because one that is given up halfway
# was in vain, and no longer than the pause between two keys of somebody who types fast.
_LEAST = 0.01
_MOST = 0.15

# Bytes of stack for the thread. Parsers recurse over what is nested, and a thread gets far less than the main
# one has on some systems (512 KB on macOS).
_STACK = 64 * 2**20


class Scheduler:
    """Work for the one thread that owns the checker. Used by the event loop's thread only."""

    def __init__(self, checker: Checker, deliver: Deliver) -> None:
        self._checker = checker
        self._deliver = deliver
        self._loop = asyncio.get_running_loop()
        self._pool = _pool()
        self._news: list[Callable[[Checker], None]] = []
        self._timer: asyncio.TimerHandle | None = None
        self._stop: Stop | None = None  # of the check that is under way
        self._closed = False

    def tell(self, news: Callable[[Checker], None], about: str = "", *, at_once: bool = False) -> None:
        """Let the checker know of a change (of a file), and check what it concerns after a moment of quiet."""
        self._news.append(news)
        if self._stop is not None:
            self._stop.set()
        cost = self._checker.costs.get(about, 0.0)
        self._arm(0.0 if at_once else min(max(cost / 2, _LEAST), _MOST))

    def hurry(self) -> None:
        """Somebody waits for the result: do not wait for quiet."""
        if self._timer is not None:
            self._arm(0.0)

    async def ask(self, work: Callable[[Checker, Stop], T]) -> T:
        """What some work in the checker's thread gives. It ends early if the request is cancelled."""
        stop = Stop()
        future = self._loop.run_in_executor(self._pool, self._asked_for, work, stop)
        try:
            return await asyncio.shield(future)
        except asyncio.CancelledError:
            stop.set()
            future.add_done_callback(_seen)
            raise

    def close(self) -> None:
        """End all work."""
        self._closed = True
        if self._timer is not None:
            self._timer.cancel()
        if self._stop is not None:
            self._stop.set()
        self._pool.shutdown(wait=False, cancel_futures=True)

    def _asked_for(self, work: Callable[[Checker, Stop], T], stop: Stop) -> T:
        try:
            stop.look()
            return work(self._checker, stop)
        except Superseded:
            raise asyncio.CancelledError from None

    def _arm(self, delay: float) -> None:
        if self._timer is not None:
            self._timer.cancel()
        self._timer = self._loop.call_later(delay, self._start)

    def _start(self) -> None:
        self._timer = None
        if self._closed or self._stop is not None:
            return  # the check under way starts the next when it ends
        news, self._news = self._news, []
        stop = self._stop = Stop()
        self._pool.submit(self._check, news, stop)

    def _check(self, news: list[Callable[[Checker], None]], stop: Stop) -> None:
        done = False
        try:
            for one in news:
                one(self._checker)
            self._checker.work(stop, self._hand_over)
            done = True
        except Superseded:
            pass
        except BaseException:
            traceback.print_exc(file=sys.stderr)
            done = True
        self._call(self._ended, done)

    def _hand_over(self, *found: object) -> None:
        self._call(self._deliver, *found)

    def _call(self, function: Callable[..., None], *arguments: object) -> None:
        with suppress(RuntimeError):  # the loop is closed: the server ends
            self._loop.call_soon_threadsafe(function, *arguments)

    def _ended(self, done: bool) -> None:
        self._stop = None
        if self._timer is None and (self._news or not done):
            self._start()


def _pool() -> ThreadPoolExecutor:
    """One thread with room on its stack, started now: the size holds for threads that start while it is set."""
    pool = ThreadPoolExecutor(1, "oomlint-check")
    before = threading.stack_size()
    try:
        threading.stack_size(_STACK)
        pool.submit(int).result()
    except (ValueError, RuntimeError):  # no such size on this system
        pass
    finally:
        threading.stack_size(before)
    return pool


def _seen(future: asyncio.Future[T]) -> None:
    """Nobody asks for what a cancelled request gave."""
    if not future.cancelled():
        future.exception()
