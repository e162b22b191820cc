"""Batches that the script's threads or processes read: where no file is, none comes, however long one waits."""

from __future__ import annotations

import functools
import queue
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any
from unittest.mock import patch

from oomlint.estimate.worker.absent.stand_ins import Missing, NeededError

_SECONDS = 2.0  # for what is ready, and only has to be handed over


@contextmanager
def short_waits() -> Iterator[None]:
    """Inside, the script waits for a queue no longer than that; libraries in threads of their own do."""
    original = queue.Queue.get

    @functools.wraps(original)
    def get(self: Any, block: bool = True, timeout: float | None = None) -> Any:
        if not block or timeout is not None or threading.current_thread() is not threading.main_thread():
            return original(self, block, timeout)
        try:
            return original(self, True, _SECONDS)
        except queue.Empty:
            raise NeededError(Missing("what another thread reads")) from None

    with patch.object(queue.Queue, "get", get):
        yield
