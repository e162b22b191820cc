"""What a rule says: findings, their evidence and their fixes.

Nothing here knows lines, columns or output; a finding names nodes, the engine resolves them.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum, IntEnum
from types import NoneType
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterable

    from oomlint.findings.rule_options import RuleOption, T
    from oomlint.project.settings import Settings
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

    def __post_init__(self) -> None:
        """Say it where the rule makes it: later nobody knows which line of the rule was wrong."""
        made: Any = self  # nobody need have checked the rule's types
        right = (
            isinstance(made.severity, Severity)
            and isinstance(made.message, str)
            and isinstance(made.help, str)
            and isinstance(made.fix, (Fix, NoneType))
            and all(isinstance(one, Evidence) for one in made.evidence)
        )
        places = (made.place, *(one.place for one in made.evidence if one.place is not None))
        if not right or not all(hasattr(place, "node") and hasattr(place, "source") for place in places):
            raise TypeError(
                f"a finding of {self.code} is not made of a place, a text, evidence, a help and a fix"
            )


# For rules whose cause exists only while Keras computes with TensorFlow.
TENSORFLOW_BACKEND = frozenset({"tensorflow"})


@dataclass(frozen=True, slots=True)
class Rule:
    """The record of a rule; its module's docstring is its page.

    `severity` is the usual one (`Rule.finding` can say otherwise); `fix` is the boldest fix it offers;
    `literals` are identifiers of which the file must call or define one for the rule to have work;
    `backends` are those of Keras on which its cause exists (None: whatever Keras runs on);
    `estimated`: it has more to say where the script's training step was estimated (`check --estimate`);
    `options`: what a project can set for it in `[tool.oomlint.rules.CODE]`.
    """

    code: str
    name: str
    severity: Severity
    fix: Safety | None
    literals: tuple[str, ...]
    preview: bool = False
    backends: frozenset[str] | None = None
    estimated: bool = False
    options: tuple[RuleOption[Any], ...] = ()

    def value(self, option: RuleOption[T], settings: Settings) -> T:
        """What is in force for one of its options."""
        from oomlint.findings.rule_options import value_of

        return value_of(self, option, settings)

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
