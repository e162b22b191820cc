"""`oomlint check`: findings on files and folders, and their fixes."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from oomlint.cli.check_flags import add_flags, check_flags, from_stdin
from oomlint.cli.settings import configurations

if TYPE_CHECKING:
    from oomlint.cli.parsing import Parser
    from oomlint.engine.estimating import Estimator
    from oomlint.engine.project import Run
    from oomlint.findings.model import Safety
    from oomlint.project.configuration import Configurations


def add_parser(commands: argparse._SubParsersAction[Parser]) -> None:
    """Describe the command."""
    parser = commands.add_parser(
        "check",
        help="report findings",
        description="Report findings; mend them with --fix.",
        usage="oomlint check [OPTIONS] [PATH ...]",
    )
    parser.set_defaults(run=run)
    add_flags(parser)


def run(arguments: argparse.Namespace) -> int:
    """Check, and exit with 0, 1 or 2."""
    check_flags(arguments)
    if arguments.watch:
        from oomlint.cli.watching import watch

        return watch(arguments, once)
    return once(arguments)


class Job:
    """What one run of the command works on. `given` is what came in by standard input."""

    def __init__(self, arguments: argparse.Namespace, configurations: Configurations, run: Run) -> None:
        self.arguments = arguments
        self.configurations = configurations
        self.run = run
        self.problems: list[str] = []
        self.files: list[str] = []
        self.given: bytes | None = None


def once(arguments: argparse.Namespace) -> int:
    """Do what the flags say, one time."""
    from oomlint.engine.project import Run

    found = configurations(arguments)
    work = Run(
        found,
        estimating=_estimator(arguments),
        heeded=not arguments.ignore_noqa,
        cached=not arguments.no_cache,
        jobs=arguments.jobs,
    )
    job = Job(arguments, found, work)
    if arguments.show_settings:
        from oomlint.cli.config import show

        return show(found, Path(arguments.paths[0] if arguments.paths else "."))
    if from_stdin(arguments):
        job.given = sys.stdin.buffer.read()
        _take(job.given, arguments.stdin_filename or "-", job.run)
    else:
        _discover(job)
    if arguments.show_files:
        from oomlint.cli.outcome import complain

        print("".join(f"{path}\n" for path in job.files), end="")
        complain(job.problems)
        return 2 if job.problems else 0
    job.run.add_files(job.files)
    _check_codes(found)
    from oomlint.cli.progress import watched

    with watched(job):
        return _do(job)


def _do(job: Job) -> int:
    from oomlint.cli import outcome

    arguments = job.arguments
    narrowing = None
    flags = ("add_noqa", "add_ignore", "write_baseline", "baseline", "changed_since")
    if any(getattr(arguments, flag) is not None for flag in flags):
        from oomlint.cli import legacy

        if arguments.add_noqa is not None or arguments.add_ignore is not None:
            return legacy.add_comments(job)
        if arguments.write_baseline is not None:
            return legacy.write_baseline(job)
        narrowing = legacy.narrowing(job)
    if arguments.diff:
        return outcome.diff(job, _allowed(arguments), narrowing)
    if not (arguments.fix or arguments.fix_only):
        return outcome.finish(job, job.run.check(), narrowing)
    from oomlint.engine.fixing import fix

    keeps = narrowing.keeps if narrowing is not None else None
    fixed = fix(job.run, _allowed(arguments), to_disk=job.given is None, keeps=keeps)
    if job.given is not None:
        _give_back(fixed.changed[0][1].raw if fixed.changed else job.given)
    return outcome.finish(job, fixed.report, narrowing, fixed)


def _discover(job: Job) -> None:
    from oomlint.project.discovery import discover

    paths = [Path(path) for path in job.arguments.paths or ["."]]
    job.files = discover(paths, lambda folder: job.configurations.for_folder(folder).settings, job.problems)


def _estimator(arguments: argparse.Namespace) -> type[Estimator] | None:
    if not arguments.estimate:
        return None
    from oomlint.engine.estimating import Estimator

    return Estimator


def _take(raw: bytes, filename: str, work: Run) -> None:
    from oomlint.documents.python_file import DocumentError
    from oomlint.documents.reading import document_of
    from oomlint.engine.project import problem

    try:
        work.add(document_of(raw, filename))
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


def _give_back(raw: bytes) -> None:
    """What came in by standard input, mended: byte for byte the same outside of the edits."""
    buffer = getattr(sys.stdout, "buffer", None)
    if buffer is None:
        sys.stdout.write(raw.decode())
    else:
        sys.stdout.flush()
        buffer.write(raw)
