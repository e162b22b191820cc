"""The configuration keys: what each takes, and how a value from TOML or the command line becomes a setting.

A parser gets the raw value and returns the typed one, or raises :class:`OptionError` saying what it expected.
"""

from __future__ import annotations

import difflib
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

from oomlint.project.gpus import MemoryAmountError, find_gpu, parse_memory


class OptionError(ValueError):
    """A value that an option does not take."""


@dataclass(frozen=True, slots=True)
class Option:
    """One key. `merges`: a value adds to that of the configuration it extends, instead of replacing it."""

    key: str
    parse: Callable[[object], Any]
    about: str
    merges: bool = False

    @property
    def field(self) -> str:
        """The name of the field of :class:`oomlint.project.settings.Settings`."""
        return self.key.replace("-", "_")


def nearest(word: str, valid: Iterable[str]) -> str:
    """The valid word most like this one."""
    choices = sorted(valid)
    near = difflib.get_close_matches(word, choices, n=1, cutoff=0.0)
    return near[0] if near else choices[0]


def kind(value: object) -> str:
    """What a value from TOML is, in words."""
    names = {
        bool: "a boolean",
        int: "a number",
        float: "a number",
        str: "a string",
        list: "a list",
        dict: "a table",
    }
    return names.get(type(value), type(value).__name__)


def _text(value: object) -> str:
    if not isinstance(value, str):
        raise OptionError(f"expected a string, got {kind(value)}")
    return value


def _texts(value: object) -> tuple[str, ...]:
    if not isinstance(value, (list, tuple)):
        raise OptionError(f"expected a list of strings, got {kind(value)}")
    for item in value:
        if not isinstance(item, str):
            raise OptionError(f"expected a list of strings, got {kind(item)} in it")
    return tuple(value)


def _codes(value: object) -> tuple[str, ...]:
    return tuple(text.strip() for text in _texts(value))


def _flag(value: object) -> bool:
    if not isinstance(value, bool):
        raise OptionError(f"expected true or false, got {kind(value)}")
    return value


def _choice(*choices: str) -> Callable[[object], str]:
    def parse(value: object) -> str:
        text = _text(value)
        if text not in choices:
            raise OptionError(
                f"expected one of {', '.join(choices)}; got {text!r}: did you mean {nearest(text, choices)!r}?"
            )
        return text

    return parse


def _table(parse_value: Callable[[object], Any]) -> Callable[[object], dict[str, Any]]:
    def parse(value: object) -> dict[str, Any]:
        if not isinstance(value, dict):
            raise OptionError(f"expected a table, got {kind(value)}")
        return {str(key): parse_value(item) for key, item in value.items()}

    return parse


def _rule_options(value: object) -> dict[str, object]:
    """The options of rules by "CODE.name"; what they are to be is known to the rules."""
    if not isinstance(value, dict):
        raise OptionError(f"expected a table for each rule, got {kind(value)}")
    found: dict[str, object] = {}
    for code, table in value.items():
        if not isinstance(table, dict):
            raise OptionError(f"{code}: expected a table of options, got {kind(table)}")
        found |= {f"{code}.{name}": item for name, item in table.items()}
    return found


def _memory(value: object) -> int:
    if isinstance(value, bool) or not isinstance(value, (int, str)):
        raise OptionError(f'expected an amount such as "16GB", or a number of bytes; got {kind(value)}')
    try:
        return parse_memory(value)
    except MemoryAmountError as error:
        raise OptionError(str(error)) from None


def _gpu(value: object) -> tuple[str | None, int]:
    """The GPU's name where one is meant, and its bytes."""
    memory = _memory(value)
    gpu = find_gpu(value) if isinstance(value, str) else None
    return (gpu.name if gpu else None), memory


def _version(value: object) -> tuple[int, ...]:
    if isinstance(value, bool) or not isinstance(value, (int, str)):
        raise OptionError(f'expected a Keras version such as "3" or "3.8"; got {kind(value)}')
    parts = str(value).strip().split(".")
    if not all(part.isdecimal() for part in parts):
        raise OptionError(f'expected a Keras version such as "3" or "3.8"; got {value!r}')
    version = tuple(int(part) for part in parts)
    if version[0] not in (2, 3):
        raise OptionError(f"there are rules for Keras 2 and 3, not for {value!r}")
    return version


SEVERITY_NAMES = ("note", "warning", "error")

OPTIONS: dict[str, Option] = {
    option.key: option
    for option in (
        Option("select", _codes, 'Rules to run: codes, prefixes or "ALL".'),
        Option("ignore", _codes, "Rules not to run."),
        Option("extend-select", _codes, "Rules to run besides those of `select`.", merges=True),
        Option(
            "per-file-ignores", _table(_codes), "Glob pattern to the rules not to report there.", merges=True
        ),
        Option("exclude", _texts, "Files and folders that are not looked at (replaces the defaults)."),
        Option(
            "extend-exclude",
            _texts,
            "Files and folders that are not looked at, besides `exclude`.",
            merges=True,
        ),
        Option(
            "extend-include",
            _texts,
            "Files that are looked at besides scripts and notebooks: documents with Python code blocks.",
            merges=True,
        ),
        Option(
            "force-exclude", _flag, "Leave out what `exclude` names even where it is named to be checked."
        ),
        Option("respect-gitignore", _flag, "Leave out what git ignores."),
        Option("gpu", _gpu, "The GPU to train on: a name, or an amount of memory."),
        Option("gpu-memory", _memory, "GPU memory that the job can use; wins over `gpu`."),
        Option("host-memory", _memory, "Memory of the host that the job can use."),
        Option("severity", _table(_choice(*SEVERITY_NAMES)), "Code to note, warning or error.", merges=True),
        Option(
            "fail-on", _choice(*SEVERITY_NAMES, "never"), "The lowest severity that makes the exit status 1."
        ),
        Option("extend-safe-fixes", _codes, "Rules whose unsafe fixes `--fix` applies too.", merges=True),
        Option("extend-unsafe-fixes", _codes, "Rules whose fixes need `--unsafe-fixes`.", merges=True),
        Option(
            "target-keras",
            _version,
            "The Keras version of the project (else: its pins, what is installed).",
        ),
        Option(
            "keras-backend",
            _choice("tensorflow", "jax", "torch"),
            "The backend of Keras 3 (else: KERAS_BACKEND, keras.json).",
        ),
        Option("rules", _rule_options, "Options of rules, a table for each.", merges=True),
        Option("preview", _flag, "Run rules that are still in preview."),
        Option("cache-dir", _text, "Where results are kept between runs."),
    )
}
