"""Public reports, retold as scripts: the mistake is found at its line, its repaired twin is clean.

`bad.py` marks what its rule must say; `good.py` is the same job done right. `silent.py` looks like a
report that was no mistake (or is none on current versions): no rule may warn about its subject.
"""

from __future__ import annotations

import re
from pathlib import Path

import case_table
import pytest

from oomlint.findings.diagnostic import Diagnostic
from oomlint.findings.model import Severity
from oomlint.findings.registry import load_rules
from oomlint.project.gpus import parse_memory
from oomlint.project.settings import Budget, Settings
from oomlint.testing import MemoryModules, expectations, mismatches, run_rule, run_rules

CASES = Path(__file__).parent.parent / "fixtures" / "cases"
BAD = sorted(CASES.glob("*/bad.py"))
SILENT = sorted(CASES.glob("*/silent.py"))

# The rule that would be the false alarm.
SUBJECT = {
    "oom-105": ("OOM301", "OOM302"),
    "oom-156": ("OOM407",),
    "oom-166": ("OOM403", "OOM404"),
    "oom-171": ("OOM403", "OOM404"),
    "oom-189": ("OOM606", "OOM607"),
    "oom-212": ("OOM501",),
}

SOURCE = re.compile(r"# source: [\w.-]+/[\w.-]+#\d+\n")


# The Keras of the report where the mistake is none on current ones; its card or machine where that is not the
# default budget's.
VERSION = re.compile(r"^# keras: ([\d.]+)$", re.MULTILINE)
MEMORY = re.compile(r"^# (gpu|host): (.+)$", re.MULTILINE)


def _settings(text: str, codes: list[str]) -> Settings | None:
    """The settings that a case asks for; None for the defaults."""
    version = VERSION.search(text)
    sizes = {kind: parse_memory(amount) for kind, amount in MEMORY.findall(text)}
    if not sizes and version is None:
        return None
    keras = tuple(map(int, version[1].split("."))) if version is not None else None
    budget = Budget(**sizes, **{f"{kind}_label": f"the report's {kind} memory" for kind in sizes})
    return Settings(
        root=Path("/"), select=(*codes, "OOM001"), preview=True, budget=budget, target_keras=keras
    )


def _findings(path: Path, codes: list[str]) -> list[Diagnostic]:
    text = path.read_text("utf-8")
    settings = _settings(text, codes)
    return [one for code in codes for one in run_rule(code, text, settings=settings, modules=_modules(path))]


def _case(path: Path) -> str:
    return path.parent.name


def _modules(path: Path) -> dict[str, str]:
    """The case's own helper modules, by name."""
    roles = {"bad", "good", "silent"}
    return {
        other.stem: other.read_text("utf-8") for other in path.parent.glob("*.py") if other.stem not in roles
    }


def _codes(bad: Path) -> list[str]:
    return sorted({marker.code for marker in expectations(bad.read_text("utf-8"))})


@pytest.mark.parametrize("path", BAD, ids=_case)
def test_mistake_is_found_at_its_line(path: Path) -> None:
    text = path.read_text("utf-8")
    codes = _codes(path)
    assert codes, "a case without a marker shows nothing"
    assert mismatches(text, _findings(path, codes)) == []


@pytest.mark.parametrize("path", BAD, ids=_case)
def test_repaired_twin_is_clean(path: Path) -> None:
    good = path.with_name("good.py")
    text = good.read_text("utf-8")
    assert expectations(text) == []
    assert mismatches(text, _findings(good, _codes(path))) == []


@pytest.mark.parametrize("path", SILENT, ids=_case)
def test_false_alarm_is_not_raised(path: Path) -> None:
    text = path.read_text("utf-8")
    assert mismatches(text, _findings(path, list(SUBJECT[_case(path)]))) == []


@pytest.mark.parametrize("path", [bad.with_name("good.py") for bad in BAD] + SILENT, ids=_case)
def test_no_other_rule_warns(path: Path) -> None:
    """The right way is right altogether; notes (no memory growth, a file of unknown size) may stand."""
    text = path.read_text("utf-8")
    settings = _settings(text, [entry.code for entry in load_rules()])
    found = run_rules(load_rules(), text, settings=settings, resolver=MemoryModules(_modules(path)))
    assert [(one.code, one.message) for one in found if one.severity > Severity.NOTE] == []


def test_cases_are_complete() -> None:
    assert len(BAD) >= 36
    assert {_case(path) for path in SILENT} == SUBJECT.keys()
    installed = {entry.code for entry in load_rules()}
    assert {code for codes in SUBJECT.values() for code in codes} <= installed
    for path in CASES.glob("*/*.py"):
        text = path.read_text("utf-8")
        helper = path.stem not in ("bad", "good", "silent")
        assert helper or SOURCE.match(text), (
            f"{path.parent.name}/{path.name} does not say which report it retells"
        )


# --- the whole collection -----------------------------------------------------------------------------


def test_each_report_is_in_exactly_one_class() -> None:
    sorted_out = case_table.sorting()
    numbers = [number for group in sorted_out["visible"].values() for number in group]
    assert len(numbers) == len(set(numbers)) == 153
    retold = {int(path.name[4:]) for path in CASES.glob("oom-*")}
    estimate, unseen = ({int(number) for number in sorted_out[kind]} for kind in ("estimate", "unseen"))
    assert not retold & estimate
    assert not retold & unseen
    assert not estimate & unseen
    assert retold | estimate | unseen == set(numbers)
    assert all(
        isinstance(reason, str) and reason
        for kind in ("estimate", "unseen")
        for reason in sorted_out[kind].values()
    )


@pytest.mark.parametrize(("visible", "share"), [("yes", 0.95), ("partly", 0.60)])
def test_enough_of_what_can_be_seen_is_found(visible: str, share: float) -> None:
    outcomes = [case.outcome for case in case_table.cases() if case.visible == visible]
    mistakes = len(outcomes) - outcomes.count("silent")
    assert outcomes.count("found") / mistakes >= share


def test_table_of_the_cases_is_as_the_fixtures_are() -> None:
    text = case_table.README.read_text("utf-8")
    assert text == case_table.with_table(text), "run python tests/case_table.py"
