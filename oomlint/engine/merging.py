"""One list of findings out of several: doubles once, sorted, whatever the order in which documents were checked."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from oomlint.findings.diagnostic import Diagnostic
from oomlint.findings.own import INTERNAL_ERROR

if TYPE_CHECKING:
    from oomlint.engine.report import Report


def strongest(diagnostics: Iterable[Diagnostic]) -> list[Diagnostic]:
    """Of those with one code at one span, the most severe, and of these the first; but each rule that failed."""
    best: dict[tuple[object, ...], Diagnostic] = {}
    for diagnostic in diagnostics:
        failure = diagnostic.message if diagnostic.code == INTERNAL_ERROR.code else None
        key = (diagnostic.code, diagnostic.filename, diagnostic.location, diagnostic.end_location, failure)
        held = best.get(key)
        if held is None or diagnostic.severity > held.severity:
            best[key] = diagnostic
    return sorted(best.values(), key=lambda diagnostic: diagnostic.order)


def merged(reports: Iterable[Report]) -> list[Diagnostic]:
    """The findings of a run. A suppression is unused only if no document of the run used it."""
    found: list[Diagnostic] = []
    unused: dict[str, list[Diagnostic]] = {}
    checked = set()
    for report in reports:
        checked.add(report.filename)
        found += report.diagnostics
        for filename, sheet in report.unused.items():
            held = unused.get(filename)
            if held is None:
                unused[filename] = list(sheet)
            elif held:
                there = frozenset(sheet)
                unused[filename] = [one for one in held if one in there]
    # Of a module that was only imported nobody knows what its own check would have found.
    for filename in checked & unused.keys():
        found += unused[filename]
    return strongest(found)
