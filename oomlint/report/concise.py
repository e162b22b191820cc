"""One line for each finding."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from oomlint.findings.diagnostic import Diagnostic
from oomlint.report.pages import rule_url
from oomlint.report.paths import shown, spot
from oomlint.report.reported import Reported
from oomlint.report.style import Style
from oomlint.report.summary import closing


def headline(diagnostic: Diagnostic, here: Path, style: Style) -> str:
    """`path:line:col: CODE [*] message`; in a notebook `path:cell 3:line:col`."""
    mark = f" [{style.good('*')}]" if diagnostic.fixable else ""
    code = style.link(style.severity(diagnostic.code, diagnostic.severity), rule_url(diagnostic.code) or "")
    where = f"{style.bold(shown(diagnostic.filename, here))}:{spot(diagnostic.location)}"
    if style.links and diagnostic.filename != "-":
        where = style.link(where, (here / diagnostic.filename).as_uri())
    return f"{where}: {code}{mark} {diagnostic.message}"


def render(diagnostics: Iterable[Diagnostic], here: Path, style: Style) -> str:
    """The report's body."""
    return "".join(
        f"{headline(diagnostic, here, style)} ({diagnostic.severity})\n" for diagnostic in diagnostics
    )


def report(run: Reported) -> str:
    """The body and the closing lines."""
    return render(run.diagnostics, run.here, run.style) + closing(run)
