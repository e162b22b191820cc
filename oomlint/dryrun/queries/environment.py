"""What a script sets in the environment of its process."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from oomlint.dryrun.values.base import Const, Mapping, Value, deref

if TYPE_CHECKING:
    from oomlint.dryrun.trace import Call, Trace


def environment(trace: Trace, name: str) -> Iterator[tuple[Call, Value]]:
    """The calls that set a variable, with what they set it to, in order."""
    for call in trace.calls_under("os."):
        values = [deref(argument.value) for argument in call.arguments]
        match call.name, values:
            case ("os.environ.__setitem__", [_, Const(value=key), value]) if key == name:
                yield call, value
            case ("os.environ.setdefault" | "os.putenv", [Const(value=key), value]) if key == name:
                yield call, value
            case ("os.environ.update", _):
                for argument, value in zip(call.arguments, values, strict=True):
                    if argument.name == name:
                        yield call, value
                    elif isinstance(value, Mapping) and name in value.entries:
                        yield call, deref(value.entries[name])
