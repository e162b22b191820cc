"""GitLab's code quality report: a subset of Code Climate's issues."""

from __future__ import annotations

import json

from oomlint.findings.diagnostic import Diagnostic
from oomlint.findings.fingerprints import fingerprints, path_from
from oomlint.findings.model import Severity
from oomlint.report import explaining
from oomlint.report.file_rows import row_in_file
from oomlint.report.reported import Reported

_SEVERITIES = {Severity.ERROR: "critical", Severity.WARNING: "major", Severity.NOTE: "info"}


def report(run: Reported) -> str:
    """One issue for each finding. Paths count from the repository, as GitLab wants them."""
    marks = fingerprints(run.diagnostics, run.root)
    issues = [_issue(diagnostic, mark, run) for diagnostic, mark in zip(run.diagnostics, marks)]
    return json.dumps(issues, indent=2) + "\n"


def _issue(diagnostic: Diagnostic, fingerprint: str, run: Reported) -> dict[str, object]:
    places = {"begin": diagnostic.location, "end": diagnostic.end_location}
    rows = {name: row_in_file(diagnostic.filename, place) for name, place in places.items()}

    details = "\n".join(explaining.details(diagnostic, explaining.places(run.root)))
    return {
        "type": "issue",
        "categories": ["Performance"],
        "check_name": diagnostic.code,
        "description": f"{diagnostic.code}: {explaining.summary(diagnostic)}",
        "content": {"body": details},
        "fingerprint": fingerprint,
        "severity": _SEVERITIES[diagnostic.severity],
        "location": {"path": path_from(diagnostic.filename, run.root), "lines": rows},
    }
