"""The references of the command line and of the configuration, from the parser and from the options."""

from __future__ import annotations

import argparse
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from rule_pages import wrapped

from oomlint.cli.main import build_parser
from oomlint.project.gpus import GIB
from oomlint.project.options import OPTIONS, Option
from oomlint.project.settings import DEFAULT_EXCLUDE, DEFAULT_GPU, DEFAULT_HOST, DEFAULT_SELECT, Settings

ROOT = Path(__file__).resolve().parents[2]


def pages() -> dict[str, str]:
    """Both."""
    return {"reference/commands.md": commands(), "reference/configuration.md": configuration()}


def commands() -> str:
    """Every command with its flags."""
    parser = build_parser()
    parts = ["# Commands", "What `oomlint COMMAND --help` says, on one page."]
    for name, command in _commands(parser):
        parts += [f"## oomlint {name}", _sentence(_text(command.description or ""))]
        for group in command._action_groups:
            actions = [action for action in group._group_actions if _shown(action)]
            if not actions:
                continue
            if group.title and group.title not in ("positional arguments", "options"):
                parts.append(f"### {name}: {group.title}")
                if group.description:
                    parts.append(_sentence(_text(group.description)))
            rows = ["| | |", "|---|---|", *(_row(action) for action in actions)]
            parts.append(wrapped("flags", rows))
        if command.epilog:
            parts.append(f"```text\n{command.epilog.strip()}\n```")
    parts.append(_exit_status())
    return "\n\n".join(part for part in parts if part)


def _commands(parser: argparse.ArgumentParser) -> Iterator[tuple[str, argparse.ArgumentParser]]:
    for action in parser._actions:
        if isinstance(action, argparse._SubParsersAction):
            yield from action.choices.items()


def _shown(action: argparse.Action) -> bool:
    return action.help != argparse.SUPPRESS and not isinstance(action, argparse._HelpAction)


def _row(action: argparse.Action) -> str:
    about = _text(action.help or "")
    if action.choices and action.metavar:
        about += f" One of {', '.join(f'`{choice}`' for choice in action.choices)}."
    return f"| {_names(action)} | {_sentence(about)} |"


def _names(action: argparse.Action) -> str:
    takes = action.nargs != 0
    value = action.metavar or (action.dest.upper() if takes else "")
    if takes and action.choices and not action.metavar:
        value = "|".join(str(choice) for choice in action.choices)
    if not action.option_strings:
        return f"`{value}`"
    if action.nargs == "?":
        joined = [f"{name}[={value}]" if name.startswith("--") else name for name in action.option_strings]
    else:
        # Some are given their value by "=" alone.
        joined = [f"{name} {value}".strip().replace(" [=", "[=") for name in action.option_strings[-1:]]
        joined = [*action.option_strings[:-1], *joined]
    return ", ".join(f"`{name}`" for name in joined)


def _text(text: str) -> str:
    text = text.replace("|", "\\|").replace("%%", "%").replace("<", "&lt;")
    return re.sub(r"(?<![\w`-])--[a-z][\w-]+", r"`\g<0>`", text)


def _sentence(text: str) -> str:
    text = text.strip()
    if not text:
        return text
    text = text[0].upper() + text[1:]
    return text if text.endswith((".", ")", "...")) else f"{text}."


def _exit_status() -> str:
    readme = (ROOT / "README.md").read_text("utf-8")
    table = readme.split("\n## Exit status\n")[1].split("\n## ")[0].strip()
    return f"## Exit status\n\n{table}"


def configuration() -> str:
    """Every key."""
    parts = [
        "# Configuration",
        "`[tool.oomlint]` in the nearest `pyproject.toml`, or `oomlint.toml` or `.oomlint.toml` without the table's "
        "name. All keys are optional. An unknown key or code is an error that names the nearest valid one. "
        "`oomlint config` shows what is in force for a folder, and which file or flag said so.",
        "```toml\n" + example() + "```",
        '`extend = "../oomlint.toml"` starts from another file; keys marked **adds up** add to what it says, the '
        "others replace it. Flags of the command line win over files.",
    ]
    flags = {
        name: command
        for command, parser in _commands(build_parser())
        for action in parser._actions
        for name in action.option_strings
        if command == "check"
    }
    for option in OPTIONS.values():
        parts += [f"## {option.key}", "\n\n".join(_key(option, flags))]
    return "\n\n".join(parts)


def example() -> str:
    """The README's configuration, which has every key."""
    readme = (ROOT / "README.md").read_text("utf-8")
    found = re.search(r"^```toml\n(.*?)^```", readme, re.MULTILINE | re.DOTALL)
    assert found is not None
    return found[1]


def _key(option: Option, flags: dict[str, str]) -> Iterator[str]:
    yield option.about
    facts = [f"Default: {default(option)}."]
    if f"--{option.key}" in flags:
        facts.append(f"Flag: `--{option.key}`.")
    if option.merges:
        facts.append("**Adds up** over `extend`.")
    yield " ".join(facts)
    shown = [line for line in example().splitlines() if line.startswith(f"{option.key} = ")]
    if shown:
        yield "```toml\n" + shown[0].partition("  #")[0].rstrip() + "\n```"
    else:
        block = re.search(rf"^\[tool\.oomlint\.{option.key}\]\n(?:[^\[\n].*\n?)*", example(), re.MULTILINE)
        if block:
            yield "```toml\n" + block[0].strip() + "\n```"


def default(option: Option) -> str:
    """The default, in words."""
    words = {
        "gpu": f'`"{DEFAULT_GPU}"`',
        "gpu-memory": "what TensorFlow can use on the `gpu`",
        "host-memory": f'`"{DEFAULT_HOST // GIB}GiB"`',
        "select": "`[" + ", ".join(f'"{code}"' for code in DEFAULT_SELECT) + "]`",
        "exclude": ", ".join(f"`{name}`" for name in DEFAULT_EXCLUDE),
    }
    if option.key in words:
        return words[option.key]
    value: Any = getattr(Settings(), option.field)
    if value is None or value == () or value == {}:
        return "none"
    if isinstance(value, bool):
        return f"`{str(value).lower()}`"
    return f'`"{value}"`' if isinstance(value, str) else f"`{value}`"
