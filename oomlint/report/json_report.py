"""JSON with ruff's field names, so that what reads ruff's output reads this."""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import Any

from oomlint.documents.lines import Location
from oomlint.findings.diagnostic import Diagnostic, ProposedFix
from oomlint.report.pages import rule_url
from oomlint.report.reported import Reported


def _location(location: Location) -> dict[str, int]:
    return {"row": location.row, "column": location.column}


def _fix(fix: ProposedFix) -> dict[str, Any]:
    return {
        "applicability": fix.safety.value,
        "message": fix.message,
        "edits": [
            {
                "content": edit.edit.text,
                "location": _location(edit.location),
                "end_location": _location(edit.end_location),
            }
            for edit in fix.edits
        ],
    }


def record(diagnostic: Diagnostic) -> dict[str, Any]:
    """One finding as JSON data."""
    return {
        "cell": diagnostic.location.cell or None,
        "code": diagnostic.code,
        "name": diagnostic.name,
        "severity": str(diagnostic.severity),
        "message": diagnostic.message,
        "filename": diagnostic.filename,
        "location": _location(diagnostic.location),
        "end_location": _location(diagnostic.end_location),
        "evidence": [
            {
                "text": note.text,
                "filename": note.filename,
                "location": _location(note.location) if note.location else None,
            }
            for note in diagnostic.evidence
        ],
        "help": diagnostic.help or None,
        "fix": _fix(diagnostic.fix) if diagnostic.fix else None,
        "url": rule_url(diagnostic.code),
    }


def render(diagnostics: Iterable[Diagnostic]) -> str:
    """The whole report, in ASCII: it is read as UTF-8, and standard output may be anything."""
    return json.dumps([record(diagnostic) for diagnostic in diagnostics], indent=2) + "\n"


def report(run: Reported) -> str:
    """The findings; what went wrong is on standard error."""
    return render(run.diagnostics)
