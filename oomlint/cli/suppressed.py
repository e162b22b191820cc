"""`--show-suppressed`: what comments and the baseline hide, for a report that says so of each finding."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from oomlint.cli.check import Job
    from oomlint.cli.legacy import Narrowing
    from oomlint.engine.project import ProjectReport
    from oomlint.findings.diagnostic import Diagnostic
    from oomlint.report.reported import Hidden


def hidden_findings(job: Job, report: ProjectReport, narrowing: Narrowing | None) -> list[Hidden]:
    """The findings of `report` that the baseline knows, and those that are not in it because of comments.

    The latter need a second check, one that heeds no comment; the parsed files are used again.
    """
    from oomlint.report.reported import Hidden

    found: list[Hidden] = []
    if narrowing is not None and narrowing.baseline is not None:
        new = narrowing.baseline.compared(report.diagnostics).new
        found += (Hidden(one, "external") for one, is_new in zip(report.diagnostics, new) if not is_new)
    shown = {_key(one) for one in report.diagnostics}
    found += (Hidden(one, "inSource") for one in job.run.unheeded() if _key(one) not in shown)
    return sorted(found, key=lambda hidden: hidden.diagnostic.order)


def _key(diagnostic: Diagnostic) -> tuple[object, ...]:
    return (diagnostic.code, diagnostic.filename, diagnostic.location, diagnostic.end_location)
