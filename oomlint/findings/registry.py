"""The rules there are: found by walking the packages that entry points of group `oomlint.rules` name.

A rule is a module with RULE, check() and a docstring. Adding one changes no list. What is wrong with a module costs
that module and no other: it is left out, and said.
"""

from __future__ import annotations

import functools
import importlib
import importlib.util
import pkgutil
import re
import sys
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from importlib.metadata import entry_points
from pathlib import Path
from types import ModuleType, NoneType
from typing import TYPE_CHECKING, Any

from oomlint.findings.model import Finding, Rule, Safety, Severity
from oomlint.findings.rule_options import RuleOption

if TYPE_CHECKING:
    from oomlint.dryrun import Trace
    from oomlint.project.settings import Settings

GROUP = "oomlint.rules"
BUILT_IN = "oomlint.rules"

Check = Callable[["Trace", "Settings"], Iterator[Finding]]


# The letters that the codes of oomlint's own rules start with; other packages have three of theirs.
RESERVED = "OOM"


class RegistryError(Exception):
    """There are no rules at all."""


@dataclass(frozen=True, slots=True)
class RegisteredRule:
    """A rule with its function, its page and the module it came from."""

    rule: Rule
    check: Check
    page: str
    module: str

    @property
    def code(self) -> str:
        """The rule's code."""
        return self.rule.code


@dataclass(frozen=True, slots=True)
class Loaded:
    """The rules by code, and a line for each module that is left out."""

    rules: tuple[RegisteredRule, ...] = ()
    problems: tuple[str, ...] = ()


def load_rules() -> tuple[RegisteredRule, ...]:
    """All installed rules, by code."""
    return _loaded().rules


def rule_problems() -> tuple[str, ...]:
    """What is wrong with installed rules that are left out for it."""
    return _loaded().problems


@functools.cache
def _loaded() -> Loaded:
    return collect(rule_packages())


def rule_packages() -> list[str]:
    """The names of the packages that bring rules; oomlint's own comes first."""
    names = {point.value.partition(":")[0] for point in entry_points(group=GROUP)} | {BUILT_IN}
    return sorted(names, key=lambda name: (name != BUILT_IN, name))


def collect(roots: Iterable[str | ModuleType]) -> Loaded:
    """The rules of some packages or modules. Where two have one code or name, the first keeps it."""
    found: dict[str, RegisteredRule] = {}
    names: dict[str, RegisteredRule] = {}
    problems: list[str] = []
    for root in roots:
        for module in _modules(root, problems):
            try:
                entry = _rule_of(module)
            except ValueError as error:
                problems.append(_left_out(module.__name__, str(error)))
                continue
            if entry is None:
                continue
            other = found.get(entry.code) or names.get(entry.rule.name)
            if other is None:
                found[entry.code] = names[entry.rule.name] = entry
            elif other.module != entry.module:
                what = entry.code if other.code == entry.code else f"the name {entry.rule.name!r}"
                problems.append(_left_out(entry.module, f"{what} is taken by {other.module}"))
    return Loaded(tuple(found[code] for code in sorted(found)), tuple(problems))


def _left_out(name: str, reason: str) -> str:
    return f"rules of {name} are left out: {' '.join(reason.split())}"


def _modules(root: str | ModuleType, problems: list[str]) -> Iterator[ModuleType]:
    """A package and all that is in it; what cannot be imported is a problem."""
    if isinstance(root, str):
        try:
            module = _package(root)
        except RegistryError:
            raise
        except (Exception, SystemExit) as error:  # whatever somebody else's module does when it is imported
            problems.append(_left_out(root, f"{type(error).__name__}: {error}"))
            return
    else:
        module = root
    yield module
    for info in pkgutil.iter_modules(getattr(module, "__path__", ()), module.__name__ + "."):
        yield from _modules(info.name, problems)


def _package(name: str) -> ModuleType:
    try:
        return importlib.import_module(name)
    except ModuleNotFoundError as error:
        if name != BUILT_IN or error.name != name:
            raise
    # `python -m oomlint` in a checkout finds the package there, and its rules beside it instead of inside.
    folder = Path(__file__).parents[2] / "rules"
    spec = importlib.util.spec_from_file_location(
        name, folder / "__init__.py", submodule_search_locations=[str(folder)]
    )
    if spec is None or spec.loader is None or not folder.is_dir():
        raise RegistryError(f"the package {name} is not installed")
    module = sys.modules[name] = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def _rule_of(module: ModuleType) -> RegisteredRule | None:
    """The rule of a module, if it has one. Raises ValueError for half a rule."""
    rule = getattr(module, "RULE", None)
    if rule is None:
        return None
    if not isinstance(rule, Rule):
        raise ValueError(f"its RULE is a {type(rule).__name__}, not an oomlint.findings.model.Rule")
    check = getattr(module, "check", None)
    if not callable(check):
        raise ValueError("it has a RULE and no check(trace, settings)")
    fault = _fault(rule)
    if fault is not None:
        raise ValueError(f"its RULE {fault}")
    if rule.code.startswith(RESERVED) and not f"{module.__name__}.".startswith(f"{BUILT_IN}."):
        raise ValueError(f"{rule.code} is for oomlint's own rules: take three other letters")
    page = (module.__doc__ or "").strip()
    if not page:
        raise ValueError("it has no docstring, which is the rule's page")
    return RegisteredRule(rule, check, f"{page}\n", module.__name__)


def _fault(rule: Any) -> str | None:
    """What is wrong with a record; nobody need have checked its types."""
    if not isinstance(rule.code, str) or not re.fullmatch(r"[A-Z]{3}[0-9]{3}", rule.code):
        return f"has the code {rule.code!r}: expected three capital letters and three digits"
    if not isinstance(rule.name, str) or not re.fullmatch(r"[a-z0-9]+(-[a-z0-9]+)*", rule.name):
        return f"has the name {rule.name!r}: expected words in small letters with hyphens between them"
    if not isinstance(rule.severity, Severity):
        return f"has the severity {rule.severity!r}: expected a Severity"
    if not isinstance(rule.fix, (Safety, NoneType)):
        return f"has the fix {rule.fix!r}: expected a Safety or None"
    if not isinstance(rule.literals, tuple) or not all(isinstance(one, str) and one for one in rule.literals):
        return f"has the literals {rule.literals!r}: expected a tuple of strings"
    if not rule.literals:
        return "has no literals: name what a script calls or defines for the rule to have work"
    if not isinstance(rule.options, tuple) or not all(isinstance(one, RuleOption) for one in rule.options):
        return f"has the options {rule.options!r}: expected a tuple of RuleOption"
    return None
