"""`oomlint check` on code that was there before it: comments that suppress, the baseline."""

from __future__ import annotations

from typing import TYPE_CHECKING

from oomlint.cli.outcome import complain

if TYPE_CHECKING:
    from oomlint.cli.check import Job


def add_comments(job: Job) -> int:
    """Suppress what is found by comments in the files."""
    from oomlint.engine.excusing import excuse_project
    from oomlint.findings.comments import Kind
    from oomlint.project.configuration import ConfigurationError
    from oomlint.report.summary import plural

    arguments = job.arguments
    kind = Kind.IGNORE if arguments.add_noqa is None else Kind.NOQA
    reason = " ".join((arguments.add_noqa or arguments.add_ignore or "").split(" "))
    if not reason.isprintable():
        raise ConfigurationError("a reason is one line of text")
    report = job.run.check()
    excused = excuse_project(job.run, report.diagnostics, kind, reason.strip())
    if not arguments.quiet:
        where = f" in {plural(excused.files, 'file')}" if excused.added else ""
        print(f"Suppressed {plural(excused.added, 'finding')}{where}.")
    troubles = (*job.problems, *job.run.problems)
    complain((*troubles, *report.remarks, *excused.left_out))
    return 2 if troubles or report.failed else 0
