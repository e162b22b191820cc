"""SARIF 2.1.0, the exchange format of static analysis tools, which GitHub's code scanning and editors read."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import oomlint
from oomlint.documents.lines import Location
from oomlint.findings.diagnostic import Diagnostic, EvidenceNote, LocatedEdit
from oomlint.findings.fingerprints import fingerprints, path_from
from oomlint.report import explaining
from oomlint.report.file_rows import row_in_file
from oomlint.report.pages import home
from oomlint.report.reported import Reported
from oomlint.report.sarif_rules import descriptors

SCHEMA = "https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/sarif-schema-2.1.0.json"
_ROOT = "%SRCROOT%"
# A new way to compute the fingerprints gets a new name.
_FINGERPRINT = "oomlint/v1"
_LINK = re.compile(r"[\[\]]")


def report(run: Reported) -> str:
    """The log of one run."""
    reported = [*run.diagnostics, *(hidden.diagnostic for hidden in run.suppressed)]
    rules = descriptors(diagnostic.code for diagnostic in reported)
    order = {rule["id"]: index for index, rule in enumerate(rules)}
    marks = fingerprints(reported, run.root)
    results = [
        _Result(diagnostic, run).record(order[diagnostic.code], mark)
        for diagnostic, mark in zip(reported, marks)
    ]
    if run.suppressed:  # then each result says whether it is; none of them says nothing
        for result in results:
            result["suppressions"] = []
        for result, hidden in zip(results[len(run.diagnostics) :], run.suppressed):
            result["suppressions"] = [{"kind": hidden.by}]
    version = oomlint.__version__
    driver: dict[str, Any] = {
        "name": "oomlint",
        "fullName": f"oomlint {version}",
        "semanticVersion": version,
        "rules": rules,
    }
    address = home()
    if address:
        driver["informationUri"] = address
    whole = {
        "$schema": SCHEMA,
        "version": "2.1.0",
        "runs": [
            {
                "tool": {"driver": driver},
                "columnKind": "unicodeCodePoints",
                "originalUriBaseIds": {_ROOT: {"uri": _folder(run.root)}},
                "invocations": [_invocation(run)],
                "results": results,
            }
        ],
    }
    return json.dumps(whole, indent=2) + "\n"


def _invocation(run: Reported) -> dict[str, Any]:
    """How the run went. A file that could not be read is an error of the run, no finding."""
    notifications = [("error", text) for text in run.troubles] + [("note", text) for text in run.remarks]
    return {
        "executionSuccessful": run.status != 2,
        "exitCode": run.status,
        "workingDirectory": {"uri": _folder(run.here)},
        "toolExecutionNotifications": [
            {"level": level, "message": {"text": _braces(text)}} for level, text in notifications
        ],
    }


class _Result:
    """One finding, for one report."""

    def __init__(self, diagnostic: Diagnostic, run: Reported) -> None:
        self._diagnostic = diagnostic
        self._root = run.root
        self._related: list[dict[str, Any]] = []

    def record(self, rule: int, fingerprint: str) -> dict[str, Any]:
        diagnostic = self._diagnostic
        lines = [
            _literal(explaining.summary(diagnostic)),
            *explaining.details(_escaped(diagnostic), self._link),
        ]
        result: dict[str, Any] = {
            "ruleId": diagnostic.code,
            "ruleIndex": rule,
            "level": str(diagnostic.severity),
            "message": {"text": "\n".join(lines)},
            "locations": [self._location()],
            "partialFingerprints": {_FINGERPRINT: fingerprint},
        }
        if self._related:
            result["relatedLocations"] = self._related
        fix = diagnostic.fix
        # The places of a notebook's edits are those in its cells, which SARIF cannot name.
        if fix is not None and fix.edits and not diagnostic.location.cell:
            change = {
                "artifactLocation": _artifact(diagnostic.filename, self._root),
                "replacements": [_replacement(edit) for edit in fix.edits],
            }
            result["fixes"] = [
                {
                    "description": {"text": _literal(fix.message)},
                    "artifactChanges": [change],
                    "properties": {"applicability": fix.safety.value},
                }
            ]
        return result

    def _location(self) -> dict[str, Any]:
        diagnostic = self._diagnostic
        start, end = diagnostic.location, diagnostic.end_location
        physical = {
            "artifactLocation": _artifact(diagnostic.filename, self._root),
            "region": _region(diagnostic.filename, start, end),
        }
        if not start.cell and diagnostic.lines:
            physical["contextRegion"] = {
                "startLine": start.row,
                "endLine": end.row,
                "snippet": {"text": "\n".join(diagnostic.lines)},
            }
        return {"physicalLocation": physical, **_in_cell(start)}

    def _link(self, note: EvidenceNote) -> str:
        """A link to the place of a note, by the number of the related location that it becomes."""
        if note.filename is None or note.location is None:
            return ""
        start, number = note.location, len(self._related)
        self._related.append(
            {
                "id": number,
                "physicalLocation": {
                    "artifactLocation": _artifact(note.filename, self._root),
                    "region": _region(note.filename, start),
                },
                "message": {"text": note.text},
                **_in_cell(start),
            }
        )
        cell = f"cell {start.cell}:" if start.cell else ""
        name = Path(note.filename).name
        return f"[{_LINK.sub(_backslash, _braces(name))}:{cell}{start.row}]({number})"


def _escaped(diagnostic: Diagnostic) -> Diagnostic:
    """The texts of a finding with nothing in them that SARIF would take for a placeholder or a link."""
    from dataclasses import replace

    fix = diagnostic.fix
    return replace(
        diagnostic,
        evidence=tuple(replace(note, text=_literal(note.text)) for note in diagnostic.evidence),
        help=_literal(diagnostic.help),
        fix=fix and replace(fix, message=_literal(fix.message)),
    )


def _literal(text: str) -> str:
    """Text in which nothing is a placeholder, `{0}`, or a link, `[text](1)`."""
    text = _braces(text)
    return _LINK.sub(_backslash, text) if "](" in text else text


def _braces(text: str) -> str:
    return text.replace("{", "{{").replace("}", "}}")


def _backslash(found: re.Match[str]) -> str:
    return f"\\{found[0]}"


def _region(filename: str, start: Location, end: Location | None = None) -> dict[str, Any]:
    """Rows and columns of the file. The rows of a notebook are those of its JSON, without columns."""
    if start.cell:
        return {"startLine": row_in_file(filename, start), "endLine": row_in_file(filename, end or start)}
    return {"startLine": start.row, "startColumn": start.column} if end is None else _span(start, end)


def _span(start: Location, end: Location) -> dict[str, int]:
    places = {"startLine": start.row, "startColumn": start.column}
    return {**places, "endLine": end.row, "endColumn": end.column}


def _in_cell(location: Location) -> dict[str, Any]:
    if not location.cell:
        return {}
    cell = f"cell {location.cell}"
    name = {"name": cell, "fullyQualifiedName": f"{cell}:{location.row}:{location.column}", "kind": "cell"}
    return {"logicalLocations": [name]}


def _replacement(edit: LocatedEdit) -> dict[str, Any]:
    replacement: dict[str, Any] = {"deletedRegion": _span(edit.location, edit.end_location)}
    if edit.edit.text:
        replacement["insertedContent"] = {"text": edit.edit.text}
    return replacement


def _artifact(filename: str, root: Path) -> dict[str, str]:
    """The address of a file: from the repository, whole if it is elsewhere."""
    path = path_from(filename, root)
    if path.startswith("../") or Path(path).is_absolute():
        return {"uri": _as_uri(Path(filename).absolute())}
    return {"uri": _quoted(path), "uriBaseId": _ROOT}


def _folder(path: Path) -> str:
    return f"{_as_uri(path.absolute()).rstrip('/')}/"


def _as_uri(path: Path) -> str:
    """`Path.as_uri`, which also takes what no encoding knows."""
    posix = path.as_posix()
    return f"file://{_quoted(posix)}" if posix.startswith("/") else path.as_uri()


def _quoted(path: str) -> str:
    from os import fsencode
    from urllib.parse import quote

    return quote(fsencode(path))
