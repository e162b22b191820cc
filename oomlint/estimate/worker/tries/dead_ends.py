"""What to say of a value that is not known where examples of it do not make the model: what they led to.

To propose a value again that was tried and did nothing sends the user in a circle. Where all examples end at the same
place, whatever they are, that place is what keeps the model from being made.
"""

from __future__ import annotations

import dataclasses
import re
from pathlib import Path
from typing import Any

from oomlint.estimate.errors import EstimateError
from oomlint.estimate.places import row_of
from oomlint.estimate.worker.values import roles

# What was put in, by name, and the error that nothing helped against then.
DeadEnd = tuple[tuple[tuple[str, Any], ...], EstimateError]

_MOST = 3  # that are told
_LONG = 160  # characters of each
# What Keras puts around an exception that a layer raises.
_OF_KERAS = re.compile(
    r"Exception encountered when calling ([\w.]+\(\)).*?Error encountered: (.*?)(Arguments|$).*"
)
# What an example is that stands for an object: nothing of this is the script's.
_OF_EXAMPLE = re.compile(r"'int64' object|<(?:class ')?oomlint\.|'Data' object|'Classes' object")
# A library that is not installed: nothing that stands in its place says more than that.
_NO_LIBRARY = "ModuleNotFoundError"
_WITHOUT = re.compile(r"(?:, or give|Give) (?:the value|it|its shape): --(?:arg|data) \S+")
_NO_VALUE = "It is an object of the script's, and nothing that --arg could give."
_NUMBERS = re.compile(r"\d[\d.x,]*|[\[(][\d, ]*[\])]|'[^']*'")


def told(error: EstimateError, dead: list[DeadEnd]) -> EstimateError:
    """The error, with what examples led to: as that, if all led to the same; else as it is, with what they did."""
    if not dead or error.message.startswith(_NO_LIBRARY):
        return error
    name = error.asked.partition(".")[0]
    dead = [one for one in dead if one[0][0][0] == name] or dead  # what follows from it comes after
    numbers = [one for one in dead if not any(isinstance(value, tuple) for _, value in one[0])]
    dead = numbers or dead  # an array in place of a number fails in a way of its own
    if all(map(_says_nothing, dead)):
        return dataclasses.replace(error, hint=_WITHOUT.sub("", error.hint) or _NO_VALUE)
    again = [one for one in dead if one[1].asked]
    kinds = {(one.file, one.line, _NUMBERS.sub("", plainly(one))) for _, one in dead}
    examples = list(dict.fromkeys(put_in(given) for given, _ in dead[:_MOST]))
    tried = "; ".join(examples if len(dead[0][0]) == 1 else examples[:1])
    if len(kinds) == 1 and not again:
        _, first = dead[0]
        words = f"The model needs {_of(error)}, and so it is with an example of that: {tried}."
        hint = f"{words}\n  {first.hint}" if first.hint else words
        return dataclasses.replace(
            first, message=plainly(first), hint=hint, asked=error.asked, instead=error.instead
        )
    if not error.asked:  # what it is about is no value
        return error
    if len(again) == len(dead):
        given, second = dead[0]
        names = ", ".join(
            f"{name}=VALUE" for name in dict.fromkeys([*(name for name, _ in given), second.asked])
        )
        words = f"With {put_in(given)} it needs more: {_short(second)}"
        # Nobody gives what an object keeps for itself.
        if any(one.asked.startswith("_") for one in (error, second)):
            return dataclasses.replace(error, hint=f"{words}\n  {_NO_VALUE}")
        return dataclasses.replace(error, hint=f"{words}\n  Give them together: --data '{names}'")
    ends = [f"{put_in(given)}: {_short(one)}" for given, one in dead[:_MOST]]
    return dataclasses.replace(
        error, hint=f"{error.hint}\n  Examples do not make the model. " + "\n  ".join(ends)
    )


def _says_nothing(end: DeadEnd) -> bool:
    """Whether it ends at the example itself, or at the value that was given for again."""
    given, error = end
    asked = error.asked.partition(".")[0]
    return _OF_EXAMPLE.search(error.message) is not None or any(name == asked for name, _ in given)


def plainly(error: EstimateError) -> str:
    """A message without what Keras puts around it."""
    return _OF_KERAS.sub(r"\1: \2", error.message)


def put_in(given: tuple[tuple[str, Any], ...]) -> str:
    """Values by name, as `--data` takes them."""
    return ", ".join(roles.description(name, value) for name, value in given)


def _of(error: EstimateError) -> str:
    name = error.asked.partition(".")[0] or "what only the data tells"
    return (
        f"{name} ({Path(error.file).name}:{row_of(error.file, error.line)})"
        if error.file and error.line
        else name
    )


def _short(error: EstimateError) -> str:
    where = f"{Path(error.file).name}:{row_of(error.file, error.line)}: " if error.file and error.line else ""
    words = " ".join(plainly(error).split())
    return where + (words if len(words) <= _LONG else words[: _LONG - 3] + "...")
