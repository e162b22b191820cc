"""The rules there are: found by walking the packages that entry points of group `oomlint.rules` name.

A rule is a module with RULE, check() and a docstring. Adding one changes no list.
"""

from __future__ import annotations

import functools
import importlib
import importlib.util
import pkgutil
import sys
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from importlib.metadata import entry_points
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING

from oomlint.findings.model import Finding, Rule

if TYPE_CHECKING:
    from oomlint.dryrun import Trace
    from oomlint.project.settings import Settings

GROUP = "oomlint.rules"
BUILT_IN = "oomlint.rules"

Check = Callable[["Trace", "Settings"], Iterator[Finding]]


class RegistryError(Exception):
    """Rules that cannot be used together, or a module that is only half a rule."""


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


@functools.cache
def load_rules() -> tuple[RegisteredRule, ...]:
    """All installed rules, by code."""
    return collect(_package(name) for name in rule_packages())


def rule_packages() -> list[str]:
    """The names of the packages that bring rules."""
    return sorted({point.value for point in entry_points(group=GROUP)} or {BUILT_IN})


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


def collect(roots: Iterable[ModuleType]) -> tuple[RegisteredRule, ...]:
    """The rules of some packages or modules, by code."""
    found: dict[str, RegisteredRule] = {}
    for root in roots:
        for module in _modules(root):
            entry = _rule_of(module)
            if entry is None:
                continue
            other = found.get(entry.code)
            if other is not None and other.module != entry.module:
                raise RegistryError(f"{entry.code} is the code of both {other.module} and {entry.module}")
            found[entry.code] = entry
    return tuple(found[code] for code in sorted(found))


def _modules(root: ModuleType) -> Iterator[ModuleType]:
    yield root
    for info in pkgutil.walk_packages(getattr(root, "__path__", ()), root.__name__ + "."):
        yield importlib.import_module(info.name)


def _rule_of(module: ModuleType) -> RegisteredRule | None:
    rule = getattr(module, "RULE", None)
    if not isinstance(rule, Rule):
        return None
    check = getattr(module, "check", None)
    if not callable(check):
        raise RegistryError(f"{module.__name__} has a RULE and no check(trace, settings)")
    return RegisteredRule(rule, check, (module.__doc__ or "").strip() + "\n", module.__name__)
