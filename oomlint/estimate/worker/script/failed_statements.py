"""What the guarded statements of a slice call: a failure is remembered, and something stands for the value."""

from __future__ import annotations

import configparser
from typing import Any

from oomlint.estimate.worker.absent import environments, stand_ins
from oomlint.estimate.worker.absent.stand_ins import Missing, NeededError
from oomlint.estimate.worker.script import altered, spellings


def failed_in(failures: list[Missing]) -> Any:
    """What the guarded statements call: remembers the failure, and gives what stands for the value."""

    def failed(error: BaseException, name: str, line: int) -> Any:
        value = stand_ins.described(name)
        # No text: an option may be called as what it chooses, `model`.
        if value is not None and not isinstance(value, str):
            return value
        if "could not automatically infer" in str(error) and Missing.touched is not None:
            error = NeededError(Missing.touched)  # a `Lambda` calculates with it
        missing = environments.instead_of(error, name, line)
        if missing is None:
            missing = Missing(name, line, error)
        if isinstance(missing, Missing):
            failures.append(missing)
        return missing

    failed.decorator = _decorator  # type: ignore[attr-defined]

    def left(error: BaseException, name: str, line: int, read: Any, before: Any) -> Any:
        value = altered.held(read)
        return failed(error, name, line) if altered.left(value, before) else value

    def half_made(error: BaseException, read: Any) -> None:
        altered.HALF_MADE.append((altered.held(read), error))

    failed.half_made = half_made  # type: ignore[attr-defined]
    failed.named = _named  # type: ignore[attr-defined]
    failed.held, failed.left = altered.held, left  # type: ignore[attr-defined]

    def read(error: BaseException, name: str, line: int, value: Any) -> Any:
        return failed(error, name, line) if isinstance(value, configparser.RawConfigParser) else value

    failed.read = read  # type: ignore[attr-defined]
    failed.as_list, failed.size, failed.least = spellings.as_list, spellings.size, spellings.least  # type: ignore[attr-defined]
    failed.rank = spellings.rank  # type: ignore[attr-defined]
    failed.unset = stand_ins.unset  # type: ignore[attr-defined]
    failed.text = lambda value: value if isinstance(value, Missing) else str(value)  # type: ignore[attr-defined]
    return failed


def _named(value: Any, name: str, line: int) -> Any:
    """A value that a name is bound to; one that is not known gets the name, so that it can be asked for by it.

    What `--arg` gives takes the place of a plain value, as the next slice has it: examples are tried in this one.
    """
    if not isinstance(value, Missing):
        plain = value is None or isinstance(value, int | float | str)
        return stand_ins.described(name) if plain and name in stand_ins.GIVEN else value
    if value.oomlint_cause is None and not value.oomlint_name.startswith("sys.argv"):
        return value  # it has a name of the script's own already
    told = stand_ins.described(name)
    if told is not None:
        return told
    stand_ins.NAMED[name] = Missing(name, line, NeededError(value))
    return stand_ins.NAMED[name]


def _decorator(value: Any) -> Any:
    """A decorator; of a library that is not there, one that leaves what it decorates as it is."""
    return (lambda decorated: decorated) if isinstance(value, Missing) else value
