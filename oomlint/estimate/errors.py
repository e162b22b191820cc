"""What keeps an estimate from being made, in words for the user."""

from __future__ import annotations

import dataclasses
import re
from dataclasses import dataclass
from typing import Any, Literal

from oomlint.estimate.places import row_of

# How the message begins where a script trains nothing that is seen.
NO_TRAINING = "no training call was found"

Kind = Literal["target", "slice", "build", "engine", "extra", "timeout", "memory", "internal"]


@dataclass(slots=True)
class EstimateError(Exception):
    """No estimate: what happened, where in the user's file, and what to do about it.

    `output` is the end of what the user's own code printed. `asked` is the name whose value `--arg` would give,
    `instead` are names of what was computed with it, nearest to the model first; `needs` is all that `--data` would
    have to give, with examples; `parts` are the arrays that a model takes, by name, of which no shape is known.
    """

    message: str
    kind: Kind = "build"
    file: str | None = None
    line: int | None = None
    hint: str = ""
    output: str = ""
    asked: str = ""
    instead: tuple[str, ...] = ()
    needs: tuple[str, ...] = ()
    parts: tuple[str, ...] = ()

    def __str__(self) -> str:
        where = ""
        if self.file:
            where = f"{self.file}:{row_of(self.file, self.line)}: " if self.line else f"{self.file}: "
        elif self.line:
            where = f"line {self.line}: "
        return where + self.message + (f"\n  {self.hint}" if self.hint else "")

    def to_dict(self) -> dict[str, Any]:
        """As data for the parent process."""
        return dataclasses.asdict(self)


_COLOUR = re.compile(r"\x1b\[[\d;]*m")


def words_of(error: BaseException, length: int = 600) -> str:
    """What an exception says, on one line of so many characters and without the colours that Keras gives it."""
    return " ".join(plain(str(error)).split())[:length]


def plain(text: str) -> str:
    """A text without colours."""
    return _COLOUR.sub("", text)
