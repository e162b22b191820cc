"""Suppressing what a run finds by comments in its files (`--add-noqa`, `--add-ignore`)."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from oomlint.documents.python_file import DocumentError, write
from oomlint.engine.project import Run, problem
from oomlint.findings.comments import Kind
from oomlint.findings.excuses import excuse

if TYPE_CHECKING:
    from oomlint.findings.diagnostic import Diagnostic


@dataclass(slots=True)
class ExcusedProject:
    """What was added where. `left_out`: findings that stay, and why."""

    added: int = 0
    files: int = 0
    left_out: list[str] = field(default_factory=list)


def excuse_project(
    run: Run, diagnostics: Iterable[Diagnostic], kind: Kind, reason: str, files: Collection[Path]
) -> ExcusedProject:
    """Add comments for these findings of a run to the files they are in, if these are among `files`.

    A module without Keras can have findings as well, of the script that imports it; it is none of the run's documents.
    """
    outcome = ExcusedProject()
    by_file: dict[str, list[Diagnostic]] = defaultdict(list)
    for diagnostic in diagnostics:
        by_file[diagnostic.filename].append(diagnostic)
    for filename, found in sorted(by_file.items()):
        document = run.document(filename)
        if document is None or document.path not in files:
            outcome.left_out += (_left(one, "its file was not named to be checked") for one in found)
            continue
        excused = excuse(document, found, kind, reason)
        if excused.document is not document:
            try:
                write(document, excused.document)
            except DocumentError as error:
                run.problems.append(problem(filename, error))
                continue
            outcome.files += 1
            outcome.added += excused.added
        outcome.left_out += (_left(one, why) for one, why in excused.left)
    return outcome


def _left(diagnostic: Diagnostic, why: str) -> str:
    return f"{diagnostic.filename}:{diagnostic.location.row}: {diagnostic.code} stays: {why}"
