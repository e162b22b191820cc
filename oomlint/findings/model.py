"""What a rule says: findings, their evidence and their fixes.

Nothing here knows lines, columns or output; a finding names nodes, the engine resolves them.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum, IntEnum
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable

    from oomlint.syntax.edits import Edit
    from oomlint.syntax.place import Place


class Severity(IntEnum):
    """How sure and how bad: the one axis that `--fail-on` cuts."""

    NOTE = 1
    WARNING = 2
    ERROR = 3

    def __str__(self) -> str:
        return self.name.lower()


class Safety(Enum):
    """What a fix may change. Display-only fixes are shown, never applied."""

    SAFE = "safe"
    UNSAFE = "unsafe"
    DISPLAY = "display"


@dataclass(frozen=True, slots=True)
class Evidence:
    """One link of the chain that led to a finding."""

    text: str
    place: Place | None = None


@dataclass(frozen=True, slots=True)
class Fix:
    """A mend: what it does in words, and the edits that do it (none for display-only advice)."""

    message: str
    safety: Safety
    edits: tuple[Edit, ...] = ()


@dataclass(frozen=True, slots=True)
class Finding:
    """One mistake at one place. `help` says what to do about it."""

    code: str
    name: str
    severity: Severity
    place: Place
    message: str
    evidence: tuple[Evidence, ...] = ()
    help: str = ""
    fix: Fix | None = None


# For rules whose cause exists only while Keras computes with TensorFlow.
TENSORFLOW_BACKEND = frozenset({"tensorflow"})


@dataclass(frozen=True, slots=True)
class Rule:
    """The record of a rule; its module's docstring is its page.

    `severity` is the usual one (`Rule.finding` can say otherwise); `fix` is the boldest fix it offers;
    `literals` are identifiers of which the file must call or define one for the rule to have work;
    `backends` are those of Keras on which its cause exists (None: whatever Keras runs on);
    `estimated`: it has more to say where the script's training step was estimated (`check --estimate`).
    """

    code: str
    name: str
    severity: Severity
    fix: Safety | None
    literals: tuple[str, ...]
    preview: bool = False
    backends: frozenset[str] | None = None
    estimated: bool = False

    def finding(
        self,
        place: Place,
        message: str,
        *,
        evidence: Iterable[Evidence] = (),
        help: str = "",
        fix: Fix | None = None,
        severity: Severity | None = None,
    ) -> Finding:
        """A finding of this rule at `place`."""
        return Finding(
            code=self.code,
            name=self.name,
            severity=self.severity if severity is None else severity,
            place=place,
            message=message,
            evidence=tuple(evidence),
            help=help,
            fix=fix,
        )
