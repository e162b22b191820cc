"""One line for each finding, under the name of its file."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import groupby
from pathlib import Path

from oomlint.findings.diagnostic import Diagnostic
from oomlint.report.paths import shown, spot
from oomlint.report.reported import Reported
from oomlint.report.style import Style
from oomlint.report.summary import closing


def render(diagnostics: Iterable[Diagnostic], here: Path, style: Style) -> str:
    """The report's body: a block for each file, with an empty line after it."""
    text = ""
    for filename, group in groupby(diagnostics, key=lambda diagnostic: diagnostic.filename):
        found = list(group)
        width = max(len(spot(diagnostic.location)) for diagnostic in found)
        text += f"{style.bold(shown(filename, here))}:\n"
        text += "".join(f"  {_line(diagnostic, width, style)}\n" for diagnostic in found) + "\n"
    return text


def _line(diagnostic: Diagnostic, width: int, style: Style) -> str:
    mark = f" [{style.good('*')}]" if diagnostic.fixable else ""
    code = style.severity(diagnostic.code, diagnostic.severity)
    return f"{spot(diagnostic.location):<{width}}  {code}{mark} {diagnostic.message} ({diagnostic.severity})"


def report(run: Reported) -> str:
    """The body and the closing lines."""
    return render(run.diagnostics, run.here, run.style) + closing(run)
