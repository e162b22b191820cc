"""The flags that stand for configuration keys, shared by the commands."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from oomlint.project.configuration import Configurations

# flag, metavar, whether it takes a list, help
_FLAGS = (
    ("select", "CODES", True, "run these rules: codes, prefixes or ALL, separated by commas"),
    ("ignore", "CODES", True, "do not run these"),
    ("extend-select", "CODES", True, "run these too"),
    ("gpu", "NAME", False, "the GPU that the job will run on: T4, A100-40GB, 24GiB, ... (default: T4)"),
    ("gpu-memory", "SIZE", False, "the GPU memory that the job can use: 16GB, 24GiB, ..."),
    ("host-memory", "SIZE", False, "the host memory that the job can use (default: 16GiB)"),
    (
        "fail-on",
        "SEVERITY",
        False,
        "exit with 1 from this severity on: note, warning (default), error or never",
    ),
)


def add_flags(parser: argparse.ArgumentParser) -> None:
    """Add them to a command's parser."""
    group = parser.add_argument_group("settings")
    for key, metavar, many, about in _FLAGS:
        group.add_argument(f"--{key}", metavar=metavar, action="append" if many else "store", help=about)
    group.add_argument("--preview", action="store_true", help="run rules that are still in preview too")
    group.add_argument("--config", metavar="FILE", type=Path, help="use this configuration file and no other")
    group.add_argument(
        "--isolated",
        action="store_true",
        help="look at no configuration file, pin, installed package or environment variable",
    )


def configurations(arguments: argparse.Namespace) -> Configurations:
    """The configuration files together with what the flags say."""
    from oomlint.project.configuration import Configurations

    overrides: dict[str, tuple[object, str]] = {}
    for key, _, many, _ in _FLAGS:
        given = getattr(arguments, key.replace("-", "_"))
        if given is None:
            continue
        if many:
            given = [code.strip() for text in given for code in text.split(",") if code.strip()]
        overrides[key] = (given, f"--{key}")
    if arguments.preview:
        overrides["preview"] = (True, "--preview")
    return Configurations(overrides, file=arguments.config, isolated=arguments.isolated)
