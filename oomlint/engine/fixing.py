"""Applying fixes in a project: each file to a fixed point, by what every document says of it."""

from __future__ import annotations

import difflib
from collections.abc import Callable, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING

from oomlint.documents.python_file import Document, DocumentError, write
from oomlint.engine.merging import merged
from oomlint.engine.project import ProjectReport, Run, problem
from oomlint.findings.applying import fix_document
from oomlint.findings.model import Safety

if TYPE_CHECKING:
    from oomlint.engine.report import Report
    from oomlint.findings.diagnostic import Diagnostic


@dataclass(slots=True)
class Fixed:
    """What fixing did. `left_out`: fixes that were not applied, and why."""

    report: ProjectReport
    applied: int = 0
    left_out: list[str] = field(default_factory=list)
    changed: list[tuple[Document, Document]] = field(default_factory=list)  # before, after


Keeps = Callable[["Sequence[Diagnostic]"], "list[bool]"]


def fix(run: Run, allowed: AbstractSet[Safety], *, to_disk: bool, keeps: Keeps | None = None) -> Fixed:
    """Apply the allowed fixes to the documents of a run. With `to_disk` false the files stay as they are.

    `keeps` says which findings are reported; the others are not mended either (they are in a baseline).
    """
    reports = run.reports()
    fixed = Fixed(run.summed(reports))
    wanted = _unmended(fixed.report.diagnostics, keeps)
    for filename in sorted({d.filename for d in wanted if d.fixable in allowed}):
        document = run.documents.get(filename)
        if document is not None:  # a module that was only reached through an import is reported, not changed
            _fix_one(run, document, reports, allowed, to_disk, fixed, keeps)
    if fixed.changed:
        fixed.report = run.check()
    else:  # none could be written, perhaps
        fixed.report = replace(fixed.report, problems=tuple(run.problems))
    return fixed


def _unmended(diagnostics: Sequence[Diagnostic], keeps: Keeps | None) -> list[Diagnostic]:
    """The findings, without the fixes of those that are not reported."""
    if keeps is None:
        return list(diagnostics)
    return [one if kept else replace(one, fix=None) for one, kept in zip(diagnostics, keeps(diagnostics))]


def _fix_one(
    run: Run,
    document: Document,
    reports: Sequence[Report],
    allowed: AbstractSet[Safety],
    to_disk: bool,
    fixed: Fixed,
    keeps: Keeps | None,
) -> None:
    filename = document.filename
    # The documents that found something in this one: what they say may change with it.
    speakers = [
        report.filename
        for report in reports
        if report.filename == filename or any(d.filename == filename for d in report.diagnostics)
    ]

    def check(changed: Document) -> list[Diagnostic]:
        run.put(changed)
        again = [run.report(run.documents[name]) for name in speakers if name in run.documents]
        return _unmended([one for one in merged(again) if one.filename == filename], keeps)

    outcome = fix_document(document, check, allowed)
    for dropped in outcome.dropped:
        place = dropped.finding.location
        where = f"cell {place.cell}:{place.row}" if place.cell else f"{place.row}"
        fixed.left_out.append(f"{filename}:{where}: {dropped.finding.code} was not mended: {dropped.reason}")
    after = outcome.document
    if outcome.changed and to_disk:
        try:
            write(document, after)
        except DocumentError as error:
            run.problems.append(problem(filename, error))
            run.put(document)
            return
    run.put(after)
    if outcome.changed:
        fixed.applied += len(outcome.applied)
        fixed.changed.append((document, after))


def unified_diff(before: Document, after: Document, here: Path) -> str:
    """The change of one file as a patch; of a notebook one for each cell, in terms of its code."""
    path = Path(before.filename)
    name = (
        path.relative_to(here).as_posix()
        if path.is_absolute() and path.is_relative_to(here)
        else before.filename
    )
    pairs = zip(before.readable(), after.readable(), strict=True)
    return "".join(_patch(old, new, f"{name}{where}") for (where, old), (_, new) in pairs if old != new)


def _patch(old: str, new: str, name: str) -> str:
    lines = difflib.unified_diff(_lines(old), _lines(new), name, name)
    return "".join(
        line if line.endswith("\n") else f"{line}\n\\ No newline at end of file\n" for line in lines
    )


def _lines(text: str) -> list[str]:
    """Lines with their ends; str.splitlines would also split at form feeds."""
    *whole, last = text.split("\n")
    return [f"{line}\n" for line in whole] + ([last] if last else [])
