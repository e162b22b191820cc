"""`oomlint`: chooses the command, and turns what stops it into a line and exit status 2."""

from __future__ import annotations

import errno
import os
import sys
from collections.abc import Sequence
from importlib import import_module
from typing import TYPE_CHECKING

import oomlint

if TYPE_CHECKING:
    from oomlint.cli.parsing import Parser

# What a write meets where a disk, a quota or a limit is at its end.
_NO_ROOM = (errno.ENOSPC, errno.EFBIG, errno.EIO, getattr(errno, "EDQUOT", errno.ENOSPC))

COMMANDS = ("check", "estimate", "rule", "config", "gpus", "server", "completion")


def build_parser(command: str | None = None) -> Parser:
    """The parser of the whole command line, or of one command's: what a run does not need is not imported."""
    from oomlint.cli.parsing import Parser

    parser = Parser(
        prog="oomlint",
        description="Finds where a Keras or TensorFlow training script will run out of memory, and mends it.",
    )
    parser.add_argument("--version", action="version", version=f"oomlint {oomlint.__version__}")
    commands = parser.add_subparsers(title="commands", metavar="COMMAND", required=True)
    for name in COMMANDS if command is None else (command,):
        import_module(f"oomlint.cli.{name}").add_parser(commands)
    return parser


def main(argv: Sequence[str] | None = None) -> int:
    """Run a command; the exit status."""
    for stream in (sys.stdout, sys.stderr):
        # A path or a source line that the terminal's encoding lacks must not end the run.
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(errors="backslashreplace")
    words = list(sys.argv[1:] if argv is None else argv)
    if words == ["--version"]:  # what every editor asks at its start: no parser for it
        print(f"oomlint {oomlint.__version__}")
        return 0
    arguments = build_parser(words[0] if words[:1] and words[0] in COMMANDS else None).parse_args(words)
    try:
        status: int = arguments.run(arguments)
        sys.stdout.flush()
    except KeyboardInterrupt:
        return 130
    except BrokenPipeError:  # the reader (`head`) has what it wanted
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0
    except Exception as error:
        if isinstance(error, OSError) and error.filename is None and error.errno in _NO_ROOM:
            # The report could not be written; what is left of it must not fail again when Python ends.
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
            print(f"oomlint: standard output: {error.strerror}", file=sys.stderr)
            return 2
        if not is_expected(error):
            raise
        print(f"oomlint: {error}", file=sys.stderr)
        return 2
    return status


def is_expected(error: Exception) -> bool:
    """Errors whose message is all that the user needs."""
    from oomlint.project.configuration import ConfigurationError

    if isinstance(error, ConfigurationError):
        return True
    registry = sys.modules.get("oomlint.findings.registry")
    return registry is not None and isinstance(error, registry.RegistryError)
