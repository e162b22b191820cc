"""The flags of `oomlint check`, and which of them exclude each other."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import TYPE_CHECKING

from oomlint.cli.settings import add_flags as add_settings_flags
from oomlint.report.formats import FORMATS, STATISTICS

if TYPE_CHECKING:
    from oomlint.cli.parsing import Parser

# What may stand beside nothing else of the list.
_MODES = ("watch", "diff", "add_noqa", "add_ignore", "write_baseline", "show_files", "show_settings")

# A comment would be added beside the one that is there; a baseline of what changed would lose the rest.
_CONTRADICTIONS = (
    ("ignore_noqa", "add_noqa"),
    ("ignore_noqa", "add_ignore"),
    ("write_baseline", "changed_since"),
    ("quiet", "verbose"),
)


def add_flags(parser: Parser) -> None:
    """Describe them, in the order in which people need them."""
    parser.optional_values = {"--add-noqa": None, "--add-ignore": None, "--write-baseline": ".json"}
    parser.add_argument(
        "paths", nargs="*", metavar="PATH", help='files and folders (default: "."); "-" is standard input'
    )
    _fixing(parser.add_argument_group("mending"))
    _output(parser.add_argument_group("output"))
    _legacy(parser.add_argument_group("legacy code"))
    add_settings_flags(parser)
    _miscellaneous(parser.add_argument_group("miscellaneous"))


def _fixing(group: argparse._ArgumentGroup) -> None:
    group.add_argument("--fix", action="store_true", help="apply safe fixes, report what is left")
    group.add_argument("--fix-only", action="store_true", help="apply safe fixes, report nothing; exit 0")
    group.add_argument(
        "--unsafe-fixes", action="store_true", help="with --fix, --fix-only or --diff: unsafe fixes too"
    )
    group.add_argument(
        "--diff", action="store_true", help="show what --fix would change, change nothing; exit 1 if anything"
    )


def _output(group: argparse._ArgumentGroup) -> None:
    group.add_argument("--output-format", choices=tuple(FORMATS), default="full", help="default: full")
    group.add_argument("-o", "--output-file", metavar="FILE", type=Path, help="write the report there")
    group.add_argument("--statistics", action="store_true", help="counts by code in place of the findings")
    group.add_argument("-q", "--quiet", action="store_true", help="the findings, and nothing else")
    group.add_argument(
        "-v", "--verbose", action="store_true", help="what was read, skipped and parsed, and how long it took"
    )
    group.add_argument("--color", choices=("auto", "always", "never"), default="auto", help="default: auto")
    group.add_argument("--show-files", action="store_true", help="list the files it would look at")
    group.add_argument("--show-settings", action="store_true", help="show the settings in force for a file")


def _legacy(group: argparse._ArgumentGroup) -> None:
    group.add_argument(
        "--add-noqa",
        metavar="[=REASON]",
        help="write `# noqa: CODE` beside every finding, with a reason if one is given",
    )
    group.add_argument(
        "--add-ignore",
        metavar="[=REASON]",
        help="write `# oomlint: ignore[CODE]` instead, which other linters leave alone",
    )
    group.add_argument(
        "--show-suppressed",
        action="store_true",
        help="with --output-format sarif: what comments and the baseline suppress, too, and marked so",
    )
    group.add_argument("--ignore-noqa", action="store_true", help="report what comments suppress, too")
    group.add_argument("--baseline", metavar="FILE", type=Path, help="report only what is not in this file")
    group.add_argument(
        "--write-baseline",
        metavar="[FILE]",
        help="write all findings to the baseline (default: .oomlint-baseline.json in the project's root)",
    )
    group.add_argument(
        "--changed-since",
        metavar="REV",
        help="report only what lies on lines changed since a git revision, or comes from one of them",
    )


def _miscellaneous(group: argparse._ArgumentGroup) -> None:
    group.add_argument("-w", "--watch", action="store_true", help="check again whenever a file changes")
    group.add_argument(
        "--estimate",
        action="store_true",
        help="estimate the GPU memory of each script's training step too, in a process of its own (seconds each)",
    )
    group.add_argument(
        "-j",
        "--jobs",
        metavar="N",
        type=_jobs,
        help="processes that share the work (default: one for each processor, where there is enough to do)",
    )
    group.add_argument("-n", "--no-cache", action="store_true", help="do not use results of earlier runs")
    group.add_argument("--stdin-filename", metavar="NAME", help='the name of what comes in by "-"')
    group.add_argument(
        "-e", "--exit-zero", action="store_true", help="exit with 0 even if there are findings"
    )
    group.add_argument(
        "--exit-non-zero-on-fix", action="store_true", help="exit with 1 if something was mended"
    )


def _jobs(text: str) -> int:
    if not text.isdecimal() or int(text) < 1:
        raise argparse.ArgumentTypeError(f"{text!r} is no number of processes: 1 or more")
    return int(text)


def from_stdin(arguments: argparse.Namespace) -> bool:
    """Whether standard input is what is checked."""
    return arguments.paths == ["-"] or (not arguments.paths and arguments.stdin_filename is not None)


def check_flags(arguments: argparse.Namespace) -> None:
    """Refuse what cannot be done at once."""
    from oomlint.project.configuration import ConfigurationError

    modes = [name for name in _MODES if getattr(arguments, name) not in (None, False)]
    fixing = next((name for name in ("fix", "fix_only") if getattr(arguments, name)), None)
    # Watching mends as well; a patch says what mending would do, so that `--fix --diff` is just a patch.
    if fixing is not None and modes and modes[0] not in ("watch", "diff"):
        modes.insert(0, fixing)
    if len(modes) > 1:
        raise ConfigurationError(f"{_written(modes[0])} and {_written(modes[1])} exclude each other")
    for one, other in _CONTRADICTIONS:
        if all(getattr(arguments, name) not in (None, False) for name in (one, other)):
            raise ConfigurationError(f"{_written(one)} and {_written(other)} exclude each other")
    if "-" in arguments.paths and len(arguments.paths) > 1:
        raise ConfigurationError('"-" is standard input and goes with no other path')
    if from_stdin(arguments) and modes and modes[0] not in ("diff", "show_settings"):
        raise ConfigurationError(f"{_written(modes[0])} needs files, and this comes from standard input")
    if arguments.show_suppressed and arguments.output_format != "sarif":
        raise ConfigurationError("--show-suppressed needs --output-format sarif, which can mark them")
    if arguments.statistics and arguments.output_format not in STATISTICS:
        raise ConfigurationError(f"--statistics has no form in --output-format {arguments.output_format}")


def _written(name: str) -> str:
    return f"--{name.replace('_', '-')}"
