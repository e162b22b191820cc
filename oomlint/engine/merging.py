"""One list of findings out of several: doubles once, sorted, whatever the order in which documents were checked."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from oomlint.findings.diagnostic import Diagnostic

if TYPE_CHECKING:
    from oomlint.engine.document import Report


def strongest(diagnostics: Iterable[Diagnostic]) -> list[Diagnostic]:
    """Of those with one code at one span, the most severe, and of these the first."""
    best: dict[tuple[object, ...], Diagnostic] = {}
    for diagnostic in diagnostics:
        key = (diagnostic.code, diagnostic.filename, diagnostic.location, diagnostic.end_location)
        held = best.get(key)
        if held is None or diagnostic.severity > held.severity:
            best[key] = diagnostic
    return sorted(best.values(), key=lambda diagnostic: diagnostic.order)


def merged(reports: Iterable[Report]) -> list[Diagnostic]:
    """The findings of a run. A suppression is unused only if no document of the run used it."""
    found: list[Diagnostic] = []
    unused: dict[str, dict[Diagnostic, None]] = {}
    for report in reports:
        found += report.diagnostics
        for filename, sheet in report.unused.items():
            if filename in unused:
                unused[filename] = {one: None for one in unused[filename] if one in sheet}
            else:
                unused[filename] = dict.fromkeys(sheet)
    for sheet in unused.values():
        found += sheet
    return strongest(found)
