"""What a report ends with: how many findings, and what would be mended."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from oomlint.findings.diagnostic import Diagnostic
from oomlint.findings.model import Safety, Severity
from oomlint.report.reported import Reported
from oomlint.report.style import Style


def plural(count: int, word: str) -> str:
    """`1 file`, `2 files`, `1,000 files`."""
    return f"{count:,} {word}" + ("" if count == 1 else "s")


def severities(diagnostics: Sequence[Diagnostic]) -> str:
    """`2 errors, 1 note`."""
    counts = Counter(diagnostic.severity for diagnostic in diagnostics)
    return ", ".join(
        plural(counts[severity], str(severity))
        for severity in sorted(Severity, reverse=True)
        if counts[severity]
    )


def summary(diagnostics: Sequence[Diagnostic], *, files: int, fixed: int, style: Style) -> str:
    """The closing lines."""
    lines = []
    if fixed:
        lines.append(style.good(f"Fixed {plural(fixed, 'finding')}."))
    if not diagnostics:
        left = "No findings left" if fixed else "No findings"
        lines.append(style.good(f"{left} in {plural(files, 'file')}."))
        return "\n".join(lines)
    left = " left" if fixed else ""
    lines.append(style.bold(f"{plural(len(diagnostics), 'finding')}{left}: {severities(diagnostics)}."))
    safe = sum(diagnostic.fixable is Safety.SAFE for diagnostic in diagnostics)
    unsafe = sum(diagnostic.fixable is Safety.UNSAFE for diagnostic in diagnostics)
    if safe:
        lines.append(
            f"[*] {safe:,} can be mended with --fix"
            + (f", {unsafe:,} more with --fix --unsafe-fixes." if unsafe else ".")
        )
    elif unsafe:
        lines.append(f"[*] {unsafe:,} can be mended with --fix --unsafe-fixes.")
    return "\n".join(lines)


def closing(run: Reported) -> str:
    """The closing lines of a run's report."""
    if run.quiet:
        return ""
    lines = (summary(run.diagnostics, files=run.files, fixed=run.fixed, style=run.style), *run.footnotes)
    return "\n".join(lines) + "\n"
