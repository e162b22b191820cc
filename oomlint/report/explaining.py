"""What a finding says, for formats that have one text for it and no picture of the source."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

from oomlint.findings.diagnostic import Diagnostic, EvidenceNote
from oomlint.findings.fingerprints import path_from
from oomlint.findings.model import Safety
from oomlint.report.paths import spot


def summary(diagnostic: Diagnostic) -> str:
    """The message; in a notebook with the place, because those formats know lines of files only."""
    location = diagnostic.location
    if not location.cell:
        return diagnostic.message
    return f"cell {location.cell}, line {location.row}: {diagnostic.message}"


def places(root: Path) -> Callable[[EvidenceNote], str]:
    """How the place of a note is written where paths count from `root`."""

    def where(note: EvidenceNote) -> str:
        if note.filename is None or note.location is None:
            return ""
        return f"{path_from(note.filename, root)}:{spot(note.location)}"

    return where


def details(diagnostic: Diagnostic, where: Callable[[EvidenceNote], str]) -> Iterator[str]:
    """The evidence, what to do, and the fix, a line each; `where` shows the place of a note."""
    for note in diagnostic.evidence:
        place = where(note)
        yield f"- {note.text}" + (f" ({place})" if place else "")
    if diagnostic.help:
        yield f"help: {diagnostic.help}"
    fix = diagnostic.fix
    if fix is not None and fix.message and fix.message not in diagnostic.help:
        yield f"fix: {fix.message} ({how(diagnostic)})"


def how(diagnostic: Diagnostic) -> str:
    """How its fix is applied."""
    safety = diagnostic.fixable
    if safety is Safety.SAFE:
        return "--fix"
    return "--fix --unsafe-fixes" if safety is Safety.UNSAFE else "by hand"
