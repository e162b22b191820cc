"""A finding with its positions worked out: plain data, which reports print and processes can exchange."""

from __future__ import annotations

from dataclasses import dataclass

from oomlint.documents.lines import Location
from oomlint.documents.text_edits import TextEdit
from oomlint.findings.model import Safety, Severity


@dataclass(frozen=True, slots=True)
class EvidenceNote:
    """One link of the chain, and where it stands if it stands anywhere."""

    text: str
    filename: str | None = None
    location: Location | None = None


@dataclass(frozen=True, slots=True)
class LocatedEdit:
    """A text edit, with the rows and columns that it spans."""

    edit: TextEdit
    location: Location
    end_location: Location


@dataclass(frozen=True, slots=True)
class ProposedFix:
    """A fix in terms of text."""

    message: str
    safety: Safety
    edits: tuple[LocatedEdit, ...] = ()

    @property
    def applicable(self) -> bool:
        """Whether `--fix`, with `--unsafe-fixes` or without, would apply it."""
        return self.safety is not Safety.DISPLAY and bool(self.edits)


@dataclass(frozen=True, slots=True)
class Diagnostic:
    """What is reported. `lines` are the source lines from `location` to `end_location`."""

    code: str
    name: str
    severity: Severity
    message: str
    filename: str
    location: Location
    end_location: Location
    evidence: tuple[EvidenceNote, ...] = ()
    help: str = ""
    fix: ProposedFix | None = None
    lines: tuple[str, ...] = ()

    @property
    def order(self) -> tuple[str, Location, str, Location, str]:
        """What sorts a report."""
        return (self.filename, self.location, self.code, self.end_location, self.message)

    @property
    def fixable(self) -> Safety | None:
        """The safety of its fix, if that could be applied."""
        return self.fix.safety if self.fix is not None and self.fix.applicable else None

    @property
    def safety(self) -> Safety | None:
        """The safety of its fix (what :mod:`oomlint.findings.applying` asks for)."""
        return self.fix.safety if self.fix is not None else None

    @property
    def edits(self) -> tuple[TextEdit, ...]:
        """The fix's edits as offsets."""
        return tuple(located.edit for located in self.fix.edits) if self.fix is not None else ()
