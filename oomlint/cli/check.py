"""`oomlint check`: findings on files and folders, and their fixes."""

from __future__ import annotations

import argparse
import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from oomlint.cli.settings import add_flags, configurations
from oomlint.report.formats import FORMATS, STATISTICS

if TYPE_CHECKING:
    from oomlint.engine.estimating import Estimator
    from oomlint.engine.fixing import Fixed
    from oomlint.engine.project import ProjectReport, Run
    from oomlint.findings.model import Safety
    from oomlint.project.configuration import Configurations


def add_parser(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Describe the command."""
    parser = commands.add_parser(
        "check", help="report findings", description="Report findings; mend them with --fix."
    )
    parser.set_defaults(run=run)
    parser.add_argument(
        "paths", nargs="*", metavar="PATH", help='files and folders (default: "."); "-" is standard input'
    )
    parser.add_argument("--fix", action="store_true", help="apply safe fixes")
    parser.add_argument("--unsafe-fixes", action="store_true", help="with --fix or --diff: unsafe fixes too")
    parser.add_argument(
        "--diff", action="store_true", help="show what --fix would change, change nothing; exit 1 if anything"
    )
    parser.add_argument("--output-format", choices=tuple(FORMATS), default="full", help="default: full")
    parser.add_argument("-o", "--output-file", metavar="FILE", type=Path, help="write the report there")
    parser.add_argument("--statistics", action="store_true", help="counts by code in place of the findings")
    parser.add_argument("--exit-zero", action="store_true", help="exit with 0 even if there are findings")
    parser.add_argument(
        "--estimate",
        action="store_true",
        help="estimate the GPU memory of each script's training step too, in a process of its own (seconds each)",
    )
    parser.add_argument("--no-cache", action="store_true", help="do not use results of earlier runs")
    parser.add_argument("--stdin-filename", metavar="NAME", help='the name of what comes in by "-"')
    add_flags(parser)


def run(arguments: argparse.Namespace) -> int:
    """Check, and exit with 0, 1 or 2."""
    from oomlint.engine.project import Run
    from oomlint.project.configuration import ConfigurationError
    from oomlint.project.discovery import discover

    if arguments.statistics and arguments.output_format not in STATISTICS:
        raise ConfigurationError(f"--statistics has no form in --output-format {arguments.output_format}")
    found = configurations(arguments)
    problems: list[str] = []
    work = Run(found, estimating=_estimator(arguments))
    from_stdin = arguments.paths == ["-"] or (not arguments.paths and arguments.stdin_filename is not None)
    given = b""
    if from_stdin:
        given = sys.stdin.buffer.read()
        _take(given, arguments.stdin_filename or "-", work)
    else:
        paths = [Path(path) for path in arguments.paths or ["."]]
        work.add_files(discover(paths, lambda folder: found.for_folder(folder).settings, problems))
    _check_codes(found)
    if arguments.diff:
        return _diff(work, arguments, problems)
    if arguments.fix:
        from oomlint.engine.fixing import fix

        fixed = fix(work, _allowed(arguments), to_disk=not from_stdin)
        if from_stdin:
            _give_back(fixed.changed[0][1].raw if fixed.changed else given)
        return _finish(fixed.report, found, arguments, problems, fixed=fixed, aside=from_stdin)
    return _finish(work.check(), found, arguments, problems)


def _estimator(arguments: argparse.Namespace) -> type[Estimator] | None:
    if not arguments.estimate:
        return None
    from oomlint.engine.estimating import Estimator

    return Estimator


def _take(raw: bytes, filename: str, work: Run) -> None:
    from oomlint.documents.python_file import DocumentError, document_from_bytes
    from oomlint.engine.project import problem

    try:
        work.add(document_from_bytes(raw, filename))
    except DocumentError as error:
        work.problems.append(problem(filename, error))


def _check_codes(found: Configurations) -> None:
    """Mistyped codes are an error even where no file is relevant; only then do the rules have to be imported."""
    configuration = found.for_folder(Path.cwd())
    if configuration.names_codes:
        from oomlint.findings.registry import load_rules
        from oomlint.findings.selection import check_codes

        check_codes(configuration, load_rules())


def _allowed(arguments: argparse.Namespace) -> frozenset[Safety]:
    from oomlint.findings.model import Safety

    return frozenset((Safety.SAFE, Safety.UNSAFE) if arguments.unsafe_fixes else (Safety.SAFE,))


def _diff(work: Run, arguments: argparse.Namespace, problems: list[str]) -> int:
    from oomlint.engine.fixing import fix, unified_diff
    from oomlint.report.summary import plural

    fixed = fix(work, _allowed(arguments), to_disk=False)
    patch = "".join(unified_diff(before, after, Path.cwd()) for before, after in fixed.changed)
    _write(patch, arguments)
    _complain((*problems, *fixed.report.problems, *fixed.report.remarks, *fixed.left_out))
    print(f"Would mend {plural(fixed.applied, 'finding')}." if patch else "Nothing to mend.", file=sys.stderr)
    if problems or fixed.report.problems or fixed.report.failed:
        return 2
    return 1 if patch and not arguments.exit_zero else 0


def _finish(
    report: ProjectReport,
    found: Configurations,
    arguments: argparse.Namespace,
    problems: list[str],
    *,
    fixed: Fixed | None = None,
    aside: bool = False,
) -> int:
    """Print the report and work out the exit status."""
    from oomlint.report.formats import render, render_statistics
    from oomlint.report.reported import Reported
    from oomlint.report.style import Style, wants_colour

    troubles = (*problems, *report.problems)
    remarks = (*report.remarks, *(fixed.left_out if fixed else ()))
    status = 1 if _fails(report, found) and not arguments.exit_zero else 0
    reported = Reported(
        report.diagnostics,
        files=report.files,
        style=Style(wants_colour(sys.stdout) and arguments.output_file is None),
        fixed=fixed.applied if fixed else 0,
        status=2 if troubles or report.failed else status,
        problems=troubles,
        remarks=remarks,
    )
    show = render_statistics if arguments.statistics else render
    _write(show(arguments.output_format, reported), arguments, aside=aside)
    _complain((*troubles, *remarks))
    return reported.status


def _write(text: str, arguments: argparse.Namespace, *, aside: bool = False) -> None:
    from oomlint.project.configuration import ConfigurationError

    if arguments.output_file is None:
        (sys.stderr if aside else sys.stdout).write(text)
        return
    try:
        arguments.output_file.write_text(text, encoding="utf-8")
    except OSError as error:
        raise ConfigurationError(f"{arguments.output_file}: {error.strerror or error}") from None


def _complain(lines: tuple[str, ...]) -> None:
    here = f"{Path.cwd()}{os.sep}"
    for line in lines:
        print(f"oomlint: {line.removeprefix(here)}", file=sys.stderr)


def _fails(report: ProjectReport, found: Configurations) -> bool:
    """Whether a finding is at or above `fail-on`, as its own file's configuration says."""
    for diagnostic in report.diagnostics:
        limit = found.for_folder(Path(diagnostic.filename).absolute().parent).settings.fail_on
        if limit != "never" and diagnostic.severity >= _severity(limit):
            return True
    return False


def _severity(name: str) -> int:
    from oomlint.findings.model import Severity

    return Severity[name.upper()]


def _give_back(raw: bytes) -> None:
    """What came in by standard input, mended: byte for byte the same outside of the edits."""
    buffer = getattr(sys.stdout, "buffer", None)
    if buffer is None:
        sys.stdout.write(raw.decode())
    else:
        sys.stdout.flush()
        buffer.write(raw)
