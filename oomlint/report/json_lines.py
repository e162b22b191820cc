"""A JSON object on each line: for streams, and for tools that read line by line."""

from __future__ import annotations

import json

from oomlint.report.json_report import record
from oomlint.report.reported import Reported


def report(run: Reported) -> str:
    """The findings; what went wrong is on standard error."""
    return "".join(f"{json.dumps(record(diagnostic))}\n" for diagnostic in run.diagnostics)
