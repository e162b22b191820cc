"""Workflow commands, which GitHub shows as annotations beside the code.

It shows ten of each kind for a step; code scanning (format sarif) has room for all.
"""

from __future__ import annotations

from oomlint.findings.diagnostic import Diagnostic
from oomlint.findings.fingerprints import path_from
from oomlint.findings.model import Severity
from oomlint.report import explaining
from oomlint.report.file_rows import row_in_file
from oomlint.report.reported import Reported
from oomlint.report.summary import closing

_COMMANDS = {Severity.ERROR: "error", Severity.WARNING: "warning", Severity.NOTE: "notice"}


def report(run: Reported) -> str:
    """A command for each finding and each problem; the closing lines, for whoever reads the log."""
    commands = [_annotation(diagnostic, run) for diagnostic in run.diagnostics]
    commands += (_command("error", {"title": "oomlint"}, text) for text in run.troubles)
    return "".join(f"{command}\n" for command in commands) + closing(run)


def _annotation(diagnostic: Diagnostic, run: Reported) -> str:
    start, end = diagnostic.location, diagnostic.end_location
    properties: dict[str, str | int] = {
        "title": f"{diagnostic.code} {diagnostic.name}",
        "file": path_from(diagnostic.filename, run.root),
    }
    properties |= {
        "line": row_in_file(diagnostic.filename, start),
        "endLine": row_in_file(diagnostic.filename, end),
    }
    # Columns of two rows are refused, and those of a cell are not those of the file.
    if start.row == end.row and not start.cell:
        properties |= {"col": start.column, "endColumn": end.column}

    lines = (explaining.summary(diagnostic), *explaining.details(diagnostic, explaining.places(run.root)))
    return _command(_COMMANDS[diagnostic.severity], properties, "\n".join(lines))


def _command(name: str, properties: dict[str, str | int], message: str) -> str:
    written = ",".join(f"{key}={_property(str(value))}" for key, value in properties.items())
    return f"::{name} {written}::{_data(message)}"


def _data(text: str) -> str:
    return text.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")


def _property(text: str) -> str:
    return _data(text).replace(":", "%3A").replace(",", "%2C")
