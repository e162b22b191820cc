"""Findings as the diagnostics of the protocol."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from lsprotocol import types as lsp

from oomlint.documents.lines import Location
from oomlint.findings.diagnostic import Diagnostic, EvidenceNote
from oomlint.findings.model import Severity
from oomlint.findings.own import UNUSED_SUPPRESSION
from oomlint.report.pages import rule_url
from oomlint.server.checking import Checked
from oomlint.server.positions import Sheet
from oomlint.server.uris import uri_of

SOURCE = "oomlint"

_SEVERITIES = {
    Severity.ERROR: lsp.DiagnosticSeverity.Error,
    Severity.WARNING: lsp.DiagnosticSeverity.Warning,
    Severity.NOTE: lsp.DiagnosticSeverity.Information,
}

# A text of the editor, or of a module that is not open, by file name and place.
FindSheet = Callable[[str, Location], "Sheet | None"]


@dataclass(frozen=True, slots=True)
class Shown:
    """A finding beside what the editor got of it."""

    diagnostic: Diagnostic
    sent: lsp.Diagnostic


@dataclass(frozen=True, slots=True)
class Speaker:
    """What the editor understands."""

    encoding: str = "utf-16"
    related: bool = True
    links: bool = True
    tags: bool = True
    data: bool = True

    @classmethod
    def of(cls, capabilities: lsp.ClientCapabilities, encoding: str) -> Speaker:
        """What the editor said that it understands."""
        document = capabilities.text_document
        pushed = document.publish_diagnostics if document is not None else None
        pulled = document.diagnostic if document is not None else None
        either = [one for one in (pushed, pulled) if one is not None]

        def has(name: str) -> bool:
            return any(getattr(one, name, None) for one in either)

        return cls(
            encoding,
            related=has("related_information"),
            links=has("code_description_support"),
            tags=has("tag_support"),
            data=has("data_support"),
        )

    def range(self, sheet: Sheet, start: Location, end: Location) -> lsp.Range:
        """A span of a text."""
        return lsp.Range(
            sheet.position(start.row, start.column, self.encoding),
            sheet.position(end.row, end.column, self.encoding),
        )

    def shown(self, checked: Checked, find: FindSheet) -> dict[str, list[Shown]]:
        """The diagnostics of a file, by address: each cell of a notebook has its own."""
        found: dict[str, list[Shown]] = {}
        if checked.opened is not None:
            found = {sheet.uri: [] for sheet in checked.opened.sheets.values()}
        for diagnostic in checked.diagnostics:
            sheet = find(diagnostic.filename, diagnostic.location)
            if sheet is not None:
                found.setdefault(sheet.uri, []).append(Shown(diagnostic, self._sent(diagnostic, sheet, find)))
        return found

    def _sent(self, diagnostic: Diagnostic, sheet: Sheet, find: FindSheet) -> lsp.Diagnostic:
        address = rule_url(diagnostic.code)
        notes = [(note, self._place(note, find)) for note in diagnostic.evidence]
        message = diagnostic.message
        # What has no place to point to, or an editor that shows no places, has it in the message.
        message += "".join(f"\n- {note.text}" for note, place in notes if place is None or not self.related)
        if diagnostic.help:
            message += f"\nhelp: {diagnostic.help}"
        related = [
            lsp.DiagnosticRelatedInformation(place, note.text) for note, place in notes if place is not None
        ]
        fix = diagnostic.fixable
        unused = diagnostic.code == UNUSED_SUPPRESSION.code
        return lsp.Diagnostic(
            range=self.range(sheet, diagnostic.location, diagnostic.end_location),
            severity=lsp.DiagnosticSeverity.Hint if unused else _SEVERITIES[diagnostic.severity],
            code=diagnostic.code,
            code_description=lsp.CodeDescription(address) if address and self.links else None,
            source=SOURCE,
            message=message,
            tags=[lsp.DiagnosticTag.Unnecessary] if unused and self.tags else None,
            related_information=(related or None) if self.related else None,
            data={"name": diagnostic.name, "fix": fix.value if fix else None} if self.data else None,
        )

    def _place(self, note: EvidenceNote, find: FindSheet) -> lsp.Location | None:
        if note.filename is None or note.location is None:
            return None
        sheet = find(note.filename, note.location)
        if sheet is None:
            return None
        row = sheet.lines.text_of(min(note.location.row, sheet.lines.count))
        end = Location(
            note.location.row, max(note.location.column, len(row.rstrip()) + 1), note.location.cell
        )
        return lsp.Location(sheet.uri, self.range(sheet, note.location, end))


def module_sheet(filename: str, text: str) -> Sheet:
    """The text of a module that is not open."""
    return Sheet.of(uri_of(str(Path(filename))), None, text)
