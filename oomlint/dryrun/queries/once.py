"""Answers that several rules ask of the same trace are worked out once."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import TYPE_CHECKING, Concatenate, ParamSpec, TypeVar
from weakref import WeakKeyDictionary

if TYPE_CHECKING:
    from oomlint.dryrun.trace import Trace

T = TypeVar("T")
P = ParamSpec("P")


def once_per_trace(question: Callable[Concatenate[Trace, P], T]) -> Callable[Concatenate[Trace, P], T]:
    """The question with a memory that lasts as long as the trace; it may ask something more, by position."""
    answers: WeakKeyDictionary[Trace, dict[tuple[object, ...], T]] = WeakKeyDictionary()

    @wraps(question)
    def remembered(trace: Trace, /, *more: P.args, **named: P.kwargs) -> T:
        known = answers.setdefault(trace, {})
        if more not in known:
            known[more] = question(trace, *more, **named)
        return known[more]

    return remembered
