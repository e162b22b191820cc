"""Answers that several rules ask of the same trace are worked out once."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import TYPE_CHECKING, TypeVar
from weakref import WeakKeyDictionary

if TYPE_CHECKING:
    from oomlint.dryrun.trace import Trace

T = TypeVar("T")


def once_per_trace(question: Callable[[Trace], T]) -> Callable[[Trace], T]:
    """The question with a memory that lasts as long as the trace."""
    answers: WeakKeyDictionary[Trace, T] = WeakKeyDictionary()

    @wraps(question)
    def remembered(trace: Trace) -> T:
        if trace not in answers:
            answers[trace] = question(trace)
        return answers[trace]

    return remembered
