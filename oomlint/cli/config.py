"""`oomlint config`: the settings in force, and where each comes from."""

from __future__ import annotations

import argparse
import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

from oomlint.cli.settings import add_flags, configurations

if TYPE_CHECKING:
    from collections.abc import Iterator

    from oomlint.project.configuration import Configuration, Configurations
    from oomlint.project.settings import Settings


def add_parser(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Describe the command."""
    parser = commands.add_parser(
        "config", help="show the settings in force", description="Show settings and origins."
    )
    parser.set_defaults(run=run)
    parser.add_argument(
        "path", nargs="?", default=".", type=Path, metavar="PATH", help="a file or folder they are for"
    )
    parser.add_argument("--output-format", choices=("text", "json"), default="text", help="default: text")
    add_flags(parser)


def run(arguments: argparse.Namespace) -> int:
    """Print one line for each key."""
    return show(configurations(arguments), arguments.path, as_json=arguments.output_format == "json")


def show(found: Configurations, path: Path, *, as_json: bool = False) -> int:
    """Print what is in force for a file or folder."""
    path = path.absolute()
    configuration = found.for_document(path if path.is_dir() else path.parent)
    if configuration.names_codes:
        from oomlint.findings.registry import load_rules
        from oomlint.findings.selection import check_codes

        check_codes(configuration, load_rules())
    rows = [*_rows(configuration), *_option_rows(configuration)]
    if as_json:
        print(json.dumps({key: {"value": value, "origin": origin} for key, value, origin in rows}, indent=2))
        return 0
    print(f"# root: {configuration.settings.root}")
    print(f"# file: {configuration.file or 'none'}")
    for key, value, origin in rows:
        print(f"{key} = {json.dumps(value)}  # {origin}")
    return 0


def _rows(configuration: Configuration) -> list[tuple[str, Any, str]]:
    from oomlint.project.options import OPTIONS

    return [
        (key, _value(key, configuration.settings), configuration.origins.get(key, "default"))
        for key in OPTIONS
        if key != "rules"
    ]


def _option_rows(configuration: Configuration) -> Iterator[tuple[str, Any, str]]:
    """The options of rules, as dotted keys of TOML."""
    from oomlint.findings.registry import load_rules
    from oomlint.findings.rule_options import option_key

    given = configuration.settings.rules
    for entry in load_rules():
        for option in entry.rule.options:
            key = option_key(entry.code, option.name)
            origin = configuration.origins["rules"] if key in given else "default"
            yield f"rules.{key}", entry.rule.value(option, configuration.settings), origin


def _value(key: str, settings: Settings) -> Any:
    """The value as it would stand in a configuration file."""
    budget = settings.budget
    if key in ("gpu", "gpu-memory"):
        return budget.gpu_name if key == "gpu" else budget.gpu
    if key == "host-memory":
        return budget.host
    value = getattr(settings, key.replace("-", "_"))
    if key == "target-keras" and value is not None:
        return ".".join(map(str, value))
    if isinstance(value, Path):
        return str(value)
    return dict(value) if hasattr(value, "items") else value
