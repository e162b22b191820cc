"""How a check ends: the report or the patch, what went wrong, and the exit status."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable, Sequence
from collections.abc import Set as AbstractSet
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import argparse

    from oomlint.cli.check import Job
    from oomlint.cli.legacy import Narrowing
    from oomlint.engine.fixing import Fixed
    from oomlint.engine.project import ProjectReport
    from oomlint.findings.diagnostic import Diagnostic
    from oomlint.findings.model import Safety
    from oomlint.project.configuration import Configurations
    from oomlint.report.reported import Hidden
    from oomlint.report.style import Style


def finish(
    job: Job, report: ProjectReport, narrowing: Narrowing | None = None, fixed: Fixed | None = None
) -> int:
    """Print the report and work out the exit status."""
    from oomlint.report.formats import render, render_statistics
    from oomlint.report.reported import Reported

    arguments = job.arguments
    suppressed: Sequence[Hidden] = ()
    notes: Sequence[str] = ()
    if arguments.show_suppressed:
        from oomlint.cli.suppressed import hidden_findings

        suppressed = hidden_findings(job, report, narrowing)
    if narrowing is not None:
        from oomlint.cli.legacy import narrowed

        report, notes = narrowed(job, report, narrowing)
    troubles = (*job.problems, *report.problems)
    remarks = (*report.remarks, *(fixed.left_out if fixed else ()))
    applied = fixed.applied if fixed else 0
    diagnostics: Sequence[Diagnostic] = () if arguments.fix_only else report.diagnostics
    fails = partial(_fails, found=job.configurations)
    failed = any(map(fails, diagnostics)) and not arguments.exit_zero
    status = 1 if failed or (applied and arguments.exit_non_zero_on_fix) else 0
    reported = Reported(
        diagnostics,
        files=report.files,
        style=style_of(arguments),
        fixed=applied,
        status=2 if troubles or report.failed else status,
        problems=troubles,
        remarks=remarks,
        suppressed=suppressed,
        footnotes=notes,
        # "No findings in 0 files" would sound like good news beside a path that is not there.
        quiet=arguments.quiet or (bool(troubles) and not report.files and not diagnostics),
        fails=fails,
    )
    show = render_statistics if arguments.statistics else render
    aside = job.given is not None and fixed is not None
    if arguments.fix_only and arguments.output_format in ("full", "concise", "grouped"):
        from oomlint.report.summary import plural

        text = f"Fixed {plural(applied, 'finding')}.\n" if applied else "Nothing to mend.\n"
        _write("" if arguments.quiet else text, arguments, aside=aside)
    else:
        _write(show(arguments.output_format, reported), arguments, aside=aside)
    complain((*troubles, *remarks))
    return reported.status


def diff(job: Job, allowed: AbstractSet[Safety], narrowing: Narrowing | None = None) -> int:
    """Print what mending would change."""
    from oomlint.engine.fixing import fix, unified_diff
    from oomlint.report.summary import plural

    keeps = narrowing.keeps if narrowing is not None else None
    fixed = fix(job.run, allowed, to_disk=False, keeps=keeps)
    patch = "".join(unified_diff(before, after, Path.cwd()) for before, after in fixed.changed)
    _write(patch, job.arguments)
    complain((*job.problems, *fixed.report.problems, *fixed.report.remarks, *fixed.left_out))
    if not job.arguments.quiet:
        said = f"Would mend {plural(fixed.applied, 'finding')}." if patch else "Nothing to mend."
        print(said, file=sys.stderr)
    if job.problems or fixed.report.problems or fixed.report.failed:
        return 2
    return 1 if patch and not job.arguments.exit_zero else 0


def style_of(arguments: argparse.Namespace) -> Style:
    """Colour and hyperlinks as the flags, the environment and the terminal have it."""
    from oomlint.report.style import Style, wants_colour, wants_links

    if arguments.output_file is not None and arguments.color == "auto":
        return Style()
    colour = wants_colour(sys.stdout) if arguments.color == "auto" else arguments.color == "always"
    if colour and os.name == "nt":
        os.system("")  # makes an older console of Windows obey colours
    return Style(colour, links=colour and wants_links(sys.stdout))


def complain(lines: Iterable[str]) -> None:
    """Say on standard error what went wrong; paths as they are seen from here."""
    here = f"{Path.cwd()}{os.sep}"
    for line in lines:
        print(f"oomlint: {line.removeprefix(here)}", file=sys.stderr)


def _write(text: str, arguments: argparse.Namespace, *, aside: bool = False) -> None:
    from oomlint.documents.replacing import write_file
    from oomlint.project.configuration import ConfigurationError

    if arguments.output_file is None:
        (sys.stderr if aside else sys.stdout).write(text)
        return
    try:
        # A name that is no UTF-8 is written as on a terminal.
        write_file(arguments.output_file, text.encode("utf-8", "backslashreplace"))
    except OSError as error:
        raise ConfigurationError(f"{arguments.output_file}: {error.strerror or error}") from None


def _fails(diagnostic: Diagnostic, found: Configurations) -> bool:
    """Whether a finding is at or above `fail-on`, as its own file's configuration says."""
    limit = found.for_folder(Path(diagnostic.filename).absolute().parent).settings.fail_on
    return limit != "never" and diagnostic.severity >= _severity(limit)


def _severity(name: str) -> int:
    from oomlint.findings.model import Severity

    return Severity[name.upper()]
