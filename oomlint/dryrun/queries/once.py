"""Answers that several rules ask of the same trace are worked out once."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import TYPE_CHECKING, Concatenate, ParamSpec, TypeVar

if TYPE_CHECKING:
    from oomlint.dryrun.trace import Trace

T = TypeVar("T")
P = ParamSpec("P")


def once_per_trace(question: Callable[Concatenate[Trace, P], T]) -> Callable[Concatenate[Trace, P], T]:
    """The question with a memory that lasts as long as the trace; it may ask something more, by position.

    The trace has the answers: they are of its calls, and would be left, in circles, by a memory of their own.
    """

    @wraps(question)
    def remembered(trace: Trace, /, *more: P.args, **named: P.kwargs) -> T:
        key = (question, *more)
        if key not in trace.answers:
            trace.answers[key] = question(trace, *more, **named)
        answer: T = trace.answers[key]
        return answer

    return remembered
