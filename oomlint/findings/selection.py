"""Which rules run: codes, prefixes and ALL of `select`, `extend-select` and `ignore`.

The longest selector that fits a code decides, so `--select OOM3 --ignore OOM301` and
`--ignore OOM3 --select OOM301` both do what they say; at equal length `ignore` wins.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from pathlib import PurePath
from typing import TYPE_CHECKING

from oomlint.findings.own import OWN_RULES
from oomlint.findings.registry import RESERVED, RegisteredRule, rule_problems
from oomlint.findings.rule_options import check_options
from oomlint.project.configuration import Configuration, ConfigurationError
from oomlint.project.options import OptionError, nearest
from oomlint.project.patterns import below, fits, on_windows
from oomlint.project.settings import DEFAULT_SELECT

if TYPE_CHECKING:
    from oomlint.project.settings import Settings

ALL = "ALL"


def matches(selector: str, code: str) -> bool:
    """Whether a code, a prefix or ALL covers a code."""
    return selector == ALL or code.startswith(selector)


def _length(selectors: Iterable[str], code: str) -> int:
    """The length of the longest selector that covers a code; ALL is the shortest, -1 is none."""
    return max((0 if s == ALL else len(s) for s in selectors if matches(s, code)), default=-1)


def is_selected(code: str, settings: Settings) -> bool:
    """Whether the settings ask for this code."""
    asked = max(_length(settings.select, code), _length(settings.extend_select, code))
    is_others = not code.startswith(RESERVED)
    if settings.select == DEFAULT_SELECT and (asked >= 0 or is_others):
        # Nobody wrote these prefixes; any `ignore` is more to the point than they are. Rules of other packages
        # were installed to be run.
        asked = max(0, _length(settings.extend_select, code))
    return asked > _length(settings.ignore, code)


def selected_rules(rules: Iterable[RegisteredRule], settings: Settings) -> tuple[RegisteredRule, ...]:
    """The rules that the settings ask for."""
    return tuple(
        entry
        for entry in rules
        if is_selected(entry.code, settings) and (settings.preview or not entry.rule.preview)
    )


def ignored_for(path: PurePath, settings: Settings) -> tuple[str, ...]:
    """The selectors that `per-file-ignores` gives for a file.

    A pattern fits the path relative to the project's root, or the file's name alone; `!` turns it round.
    """
    if not settings.per_file_ignores:
        return ()
    relative, windows = below(path, settings.root), on_windows(path)
    found: list[str] = []
    for pattern, codes in settings.per_file_ignores.items():
        bare = pattern.removeprefix("!")
        names = (relative,) if bare.startswith("./") else (relative, path.name)
        bare = bare.removeprefix("./")
        covered = any(fits(form, name, windows=windows) for name in names for form in (bare, f"{bare}/*"))
        if covered != pattern.startswith("!"):
            found.extend(codes)
    return tuple(found)


def check_codes(configuration: Configuration, rules: Sequence[RegisteredRule]) -> None:
    """Refuse a configuration that names codes, or options of rules, that no rule has."""
    codes = {entry.code for entry in rules} | {rule.code for rule in OWN_RULES}
    names = {entry.rule.name: entry.code for entry in rules} | {rule.name: rule.code for rule in OWN_RULES}
    settings = configuration.settings
    lists: Mapping[str, Iterable[str]] = {
        "select": settings.select,
        "ignore": settings.ignore,
        "extend-select": settings.extend_select,
        "extend-safe-fixes": settings.extend_safe_fixes,
        "extend-unsafe-fixes": settings.extend_unsafe_fixes,
        "per-file-ignores": [code for found in settings.per_file_ignores.values() for code in found],
        "severity": settings.severity,
    }
    for key, selectors in lists.items():
        if key not in configuration.origins:
            continue
        for selector in selectors:
            if not _known(selector, codes, exact=key == "severity"):
                hint = names.get(selector) or nearest(_digits(selector.upper()), codes)
                origin = configuration.origins[key]
                where = origin if origin == f"--{key}" else f"{origin}: {key}"
                raise ConfigurationError(
                    f"{where}: unknown code {selector!r}: did you mean {hint!r}?{_missing()}"
                )
    if settings.rules:
        records = {entry.code: entry.rule for entry in rules} | {rule.code: rule for rule in OWN_RULES}
        try:
            check_options(dict(settings.rules), records, names)
        except OptionError as error:
            raise ConfigurationError(
                f"{configuration.origins['rules']}: rules: {error}{_missing()}"
            ) from None


def _missing() -> str:
    """That a rule may be unknown because its module is broken."""
    return "".join(f"\n  {problem}" for problem in rule_problems())


def _digits(code: str) -> str:
    """A code with the letters that are easily taken for digits set right."""
    return code[:3] + code[3:].translate(str.maketrans("OIL", "011"))


def _known(selector: str, codes: Iterable[str], *, exact: bool) -> bool:
    if exact:
        return selector in codes
    return selector == ALL or (
        re.fullmatch(r"[A-Z]{3}\d{0,3}", selector) is not None
        and any(code.startswith(selector) for code in codes)
    )
