"""For a person: the finding, its source frame, the evidence, and what to do."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path

from oomlint.findings.diagnostic import Diagnostic
from oomlint.report.concise import headline
from oomlint.report.explaining import how
from oomlint.report.frame import frame
from oomlint.report.paths import shown
from oomlint.report.reported import Reported
from oomlint.report.style import Style
from oomlint.report.summary import closing


def _block(diagnostic: Diagnostic, here: Path, style: Style) -> Iterator[str]:
    yield headline(diagnostic, here, style)
    yield from (f"  {line}" for line in frame(diagnostic, style))
    yield f"  {style.severity(str(diagnostic.severity), diagnostic.severity)}: {diagnostic.name}"
    for note in diagnostic.evidence:
        where = ""
        if note.filename is not None and note.location is not None:
            cell = f"cell {note.location.cell}:" if note.location.cell else ""
            where = f" ({shown(note.filename, here)}:{cell}{note.location.row})"
        yield f"  - {note.text}{style.faint(where)}"
    if diagnostic.help:
        yield f"  {style.good('help')}: {diagnostic.help}"
    if diagnostic.fix is not None and not (
        diagnostic.fix.message and diagnostic.fix.message in diagnostic.help
    ):
        yield f"  {style.good('fix')}: {diagnostic.fix.message} ({how(diagnostic)})"


def render(diagnostics: Iterable[Diagnostic], here: Path, style: Style) -> str:
    """The report's body: a block for each finding, with an empty line after it."""
    return "".join("\n".join(_block(diagnostic, here, style)) + "\n\n" for diagnostic in diagnostics)


def report(run: Reported) -> str:
    """The body and the closing lines."""
    return render(run.diagnostics, run.here, run.style) + closing(run)
