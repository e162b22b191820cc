"""Applying fixes to a document until nothing changes, and never for the worse.

Works on text edits and on whatever the caller reports, so that it knows no rules, no trees and no output.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, field
from typing import Generic, Protocol, TypeVar

from oomlint.documents.python_file import Document, DocumentError
from oomlint.documents.text_edits import TextEdit
from oomlint.findings.model import Safety
from oomlint.findings.suppressions import CODE as UNUSED
from oomlint.syntax.gates import SyntaxFault, check_syntax

PASSES = 10


class Fixable(Protocol):
    """What a finding must tell to be fixed."""

    @property
    def code(self) -> str:
        """Which rule found it."""
        ...

    @property
    def message(self) -> str:
        """What it found."""
        ...

    @property
    def safety(self) -> Safety | None:
        """How bold its fix is; None without a fix."""
        ...

    @property
    def edits(self) -> Sequence[TextEdit]:
        """What its fix changes."""
        ...


F = TypeVar("F", bound=Fixable)
Check = Callable[[Document], Sequence[F]]


@dataclass(frozen=True, slots=True)
class Dropped(Generic[F]):
    """A finding whose fix was not applied, and why."""

    finding: F
    reason: str


@dataclass(slots=True)
class FixOutcome(Generic[F]):
    """The document after fixing, what was applied, what is left."""

    document: Document
    remaining: list[F]
    applied: list[F] = field(default_factory=list)
    dropped: list[Dropped[F]] = field(default_factory=list)
    passes: int = 0

    @property
    def changed(self) -> bool:
        """Whether the text is another now."""
        return bool(self.applied)


def fix_document(document: Document, check: Check[F], allowed: AbstractSet[Safety]) -> FixOutcome[F]:
    """Apply the allowed fixes of a document to a fixed point (at most ten passes).

    A fix after which the file would not parse, would have more findings of any code, or would still offer
    as many fixes of its own code as before, is dropped and reported; the others are kept.
    """
    fixing = _Fixing(document, check, frozenset(allowed) - {Safety.DISPLAY})
    outcome = fixing.outcome
    while outcome.passes < PASSES:
        batch = fixing.batch()
        if not batch:
            break
        outcome.passes += 1
        fixing.take(batch)
    return outcome


class _Fixing(Generic[F]):
    def __init__(self, document: Document, check: Check[F], allowed: frozenset[Safety]) -> None:
        self.check = check
        self.allowed = allowed
        self.given_up: set[object] = set()
        self.outcome: FixOutcome[F] = FixOutcome(document, list(check(document)))

    def batch(self) -> list[F]:
        """Fixes that can be applied at once, in the order of the text; the others wait for the next pass."""
        text = self.outcome.document.text
        chosen: list[F] = []
        edits: list[TextEdit] = []
        for finding in sorted(self._fixable(self.outcome.remaining), key=_order):
            if _mark(finding, text) in self.given_up:
                continue
            if all(_compatible(new, old, text) for new in finding.edits for old in edits):
                chosen.append(finding)
                edits += finding.edits
        return chosen

    def take(self, batch: list[F]) -> None:
        """Apply a batch; where it goes wrong, halve it until the fixes to blame are known."""
        before, base = self.outcome.document, self.outcome.remaining
        kept: list[F] = []
        parts = [batch]
        while parts:
            part = parts.pop()
            # Each attempt starts from `before`, whose offsets the edits of the whole batch mean.
            reason = self._attempt(before, base, kept + part)
            if reason is None:
                kept += part
            elif len(part) > 1:
                middle = len(part) // 2
                parts += (part[middle:], part[:middle])
            else:
                self.given_up.add(_mark(part[0], before.text))
                self.outcome.dropped.append(Dropped(part[0], reason))
        self.outcome.applied += kept

    def _attempt(self, before: Document, base: list[F], fixes: list[F]) -> str | None:
        """Apply these fixes; None and a new state where all is well, else why not."""
        try:
            after = before.with_edits(_merged(fixes))
            check_syntax(after)
            found = list(self.check(after))
        except SyntaxFault as fault:
            return f"the file would not parse afterwards: {fault.message} (line {fault.line})"
        except (DocumentError, ValueError) as error:
            return str(error)
        gained = Counter(finding.code for finding in found) - Counter(finding.code for finding in base)
        del gained[UNUSED]  # a suppression that is not needed any more does no harm
        if gained:
            new = next(finding for finding in found if finding.code in gained)
            return f"it would bring a finding: {new.code} {new.message}"
        # A fix that leaves its finding would be applied again in every pass.
        offered = Counter(finding.code for finding in self._fixable(base))
        offered.subtract(finding.code for finding in self._fixable(found))
        if any(offered[code] < count for code, count in Counter(fix.code for fix in fixes).items()):
            return "the finding would still be there afterwards"
        self.outcome.document, self.outcome.remaining = after, found
        return None

    def _fixable(self, findings: Iterable[F]) -> list[F]:
        return [finding for finding in findings if finding.safety in self.allowed and finding.edits]


def _order(finding: Fixable) -> tuple[int, str, list[TextEdit]]:
    edits = sorted(finding.edits)
    return edits[0].start, finding.code, edits


def _mark(finding: Fixable, text: str) -> object:
    """Knows a fix again after other fixes have moved it."""
    first = min(edit.start for edit in finding.edits)
    row = text[max(text.rfind("\n", 0, first), text.rfind("\r", 0, first)) + 1 :].split("\n", 1)[0]
    return finding.code, row, tuple((edit.text, text[edit.start : edit.end]) for edit in finding.edits)


def _merged(fixes: Iterable[Fixable]) -> list[TextEdit]:
    """The edits of several fixes; what two fixes both ask for is done once."""
    edits: list[TextEdit] = []
    seen: set[TextEdit] = set()
    for fix in fixes:
        edits += (edit for edit in fix.edits if edit not in seen)
        seen.update(fix.edits)
    return edits


def _compatible(new: TextEdit, old: TextEdit, text: str) -> bool:
    """Whether edits of two fixes can be applied in one pass."""
    new_lines, old_lines = _inserts_lines(new, text), _inserts_lines(old, text)
    if new == old:
        # Half of a pair of parentheses is not done once for two.
        return new_lines or new.start < new.end
    if new_lines or old_lines:
        # Whole lines may stand next to anything, but not inside of it.
        return new.start >= old.end or new.end <= old.start
    if new.start == new.end or old.start == old.end:
        return new.start > old.end or new.end < old.start
    return new.start >= old.end or new.end <= old.start


def _inserts_lines(edit: TextEdit, text: str) -> bool:
    at_row_start = edit.start == 0 or text[edit.start - 1] in "\r\n"
    return edit.start == edit.end and at_row_start and edit.text.endswith(("\n", "\r"))
