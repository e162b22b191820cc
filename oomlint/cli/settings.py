"""The flags that stand for configuration keys, shared by the commands."""

from __future__ import annotations

import argparse
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from oomlint.project.configuration import Configurations


class _Flag(NamedTuple):
    key: str
    metavar: str | None  # None: a switch, with its --no-
    many: bool
    about: str


_GROUPS: dict[str, tuple[_Flag, ...]] = {
    "rule selection": (
        _Flag("select", "CODES", True, "run these rules: codes, prefixes or ALL, separated by commas"),
        _Flag("ignore", "CODES", True, "do not run these"),
        _Flag("extend-select", "CODES", True, "run these too"),
        _Flag("preview", None, False, "run rules that are still in preview too"),
    ),
    "file selection": (
        _Flag("exclude", "PATTERNS", True, "leave these files and folders out, in place of the defaults"),
        _Flag("extend-exclude", "PATTERNS", True, "leave these out too"),
        _Flag("force-exclude", None, False, "leave them out even where a path is named to be checked"),
        _Flag("respect-gitignore", None, False, "leave out what git ignores (the default)"),
    ),
    "the machine that the job runs on": (
        _Flag("gpu", "NAME", False, "its GPU: T4, A100-40GB, 24GiB, ... (default: T4)"),
        _Flag("gpu-memory", "SIZE", False, "the GPU memory that the job can use: 16GB, 24GiB, ..."),
        _Flag("host-memory", "SIZE", False, "the host memory that the job can use (default: 16GiB)"),
    ),
    "configuration": (
        _Flag(
            "fail-on",
            "SEVERITY",
            False,
            "exit with 1 from this severity on: note, warning (default), error or never",
        ),
    ),
}


def add_flags(parser: argparse.ArgumentParser) -> None:
    """Add them to a command's parser."""
    for title, flags in _GROUPS.items():
        group = parser.add_argument_group(title)
        for key, metavar, many, about in flags:
            if metavar is None:
                group.add_argument(
                    f"--{key}", action=argparse.BooleanOptionalAction, default=None, help=about
                )
            else:
                group.add_argument(
                    f"--{key}", metavar=metavar, action="append" if many else "store", help=about
                )
    group.add_argument(
        "--config",
        metavar="FILE|KEY=VALUE",
        action="append",
        help="use this configuration file and no other; or a key of it as TOML: --config 'severity.OOM303 = \"note\"'",
    )
    group.add_argument(
        "--isolated",
        action="store_true",
        help="look at no configuration file, pin, installed package or environment variable",
    )


def configurations(arguments: argparse.Namespace) -> Configurations:
    """The configuration files together with what the flags say."""
    from oomlint.project.configuration import Configurations

    overrides: dict[str, tuple[object, str]] = {}
    file = _inline(arguments.config or (), overrides)
    for key, metavar, many, _ in (flag for flags in _GROUPS.values() for flag in flags):
        given = getattr(arguments, key.replace("-", "_"))
        if given is None:
            continue
        if many:
            given = [item.strip() for text in given for item in text.split(",") if item.strip()]
            if metavar == "PATTERNS":
                given = [_from_here(pattern) for pattern in given]
        flag = f"--no-{key}" if given is False else f"--{key}"
        overrides[key] = (given, flag)
    return Configurations(overrides, file=file, isolated=arguments.isolated)


def _inline(given: Iterable[str], overrides: dict[str, tuple[object, str]]) -> Path | None:
    """Sort what `--config` was given: the keys into the overrides, the file into the answer."""
    from oomlint.project.configuration import ConfigurationError

    file = None
    for text in given:
        if "=" not in text or Path(text).exists():
            if file is not None:
                raise ConfigurationError("--config: one file is enough; `extend` in it names another")
            file = Path(text)
            continue
        from oomlint.project.toml import parse_toml

        try:
            table = parse_toml(text)
        except ValueError as error:
            raise ConfigurationError(f"--config: {text!r} is neither a file nor TOML: {error}") from None
        for key, value in table.items():
            held = overrides.get(key, ({}, ""))[0]
            both = {**held, **value} if isinstance(held, dict) and isinstance(value, dict) else value
            overrides[key] = (both, "--config")
    return file


def _from_here(pattern: str) -> str:
    """A pattern of the command line with a slash counts from where the command runs, not from the project's root."""
    bare = pattern.removeprefix("./")
    return (Path.cwd() / bare).as_posix() if "/" in bare.rstrip("/") and not bare.startswith("**") else bare
