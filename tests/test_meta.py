"""Tests about the project itself: what is said in two places agrees, and the layers hold."""

from __future__ import annotations

import ast
import re
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from fixture_files import FIXTURES, ROOT, WITH_RECORDS, fixtures, recorded, rule_folders, settings

from oomlint.documents.python_file import document_from_text
from oomlint.dryrun import Trace
from oomlint.findings.estimates import Estimated
from oomlint.findings.model import Safety
from oomlint.findings.own import OWN_RULES, PAGES
from oomlint.findings.registry import RegisteredRule, load_rules
from oomlint.project.settings import Settings
from oomlint.testing import expectations, run_rules

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

RULES = load_rules()
FAMILIES = {
    "1": "device",
    "2": "host_data",
    "3": "feeding",
    "4": "training_loop",
    "5": "distribution",
    "6": "model_size",
    "9": "advice",
}
HEADINGS = ["What it does", "Why is this bad?", "Example", "Use instead", "Fix safety", "References"]
# Lowest first: a module imports from its own layer and from those before it.
LAYERS = (
    "project",
    "documents",
    "syntax",
    "dryrun",
    "estimate",
    "findings",
    "rules",
    "engine",
    "report",
    "testing",
    "server",
    "cli",
)


def _rules(found: tuple[RegisteredRule, ...] = RULES) -> dict[str, object]:
    return {"argvalues": found, "ids": [entry.code for entry in found]}


def _modules() -> list[Path]:
    return sorted([*(ROOT / "oomlint").rglob("*.py"), *(ROOT / "rules").rglob("*.py")])


def _short(path: Path) -> str:
    return path.relative_to(ROOT).as_posix()


def test_there_are_rules():
    assert len(RULES) >= 25


@pytest.mark.parametrize("entry", **_rules())
def test_code_name_module_and_family_agree(entry: RegisteredRule):
    rule = entry.rule
    assert re.fullmatch(r"OOM[1-9]\d\d", rule.code)
    assert re.fullmatch(r"[a-z0-9]+(-[a-z0-9]+)*", rule.name)
    assert entry.module == f"oomlint.rules.{FAMILIES[rule.code[3]]}.{rule.name.replace('-', '_')}"
    assert rule.literals, "without literals every file would have to be parsed"


def test_names_are_unique():
    names = [entry.rule.name for entry in RULES] + [rule.name for rule in OWN_RULES]
    assert len(names) == len(set(names))


def test_fixture_folders_and_rules_are_the_same():
    assert [path.name for path in rule_folders()] == [f"{entry.code}-{entry.rule.name}" for entry in RULES]
    strangers = {path.name for path in FIXTURES.iterdir() if path.is_dir()} - {
        path.name for path in rule_folders()
    }
    assert strangers <= {"seeds", "cases", "models", "project", "documents"}


@pytest.mark.parametrize("entry", **_rules())
def test_each_rule_has_its_fixtures(entry: RegisteredRule):
    own = [fixture for fixture in fixtures() if fixture.code == entry.code]
    names = {fixture.path.name for fixture in own}
    assert {"bad.py", "good.py"} <= names
    assert sum(fixture.kind == "like" for fixture in own) >= 3
    can_be_applied = entry.rule.fix in (Safety.SAFE, Safety.UNSAFE)
    assert any(fixture.kind == "fixed" for fixture in own) == can_be_applied


@pytest.mark.parametrize("entry", **_rules())
def test_the_severity_of_the_record_is_one_that_the_fixtures_show(entry: RegisteredRule):
    shown = {
        marker.severity
        for fixture in fixtures("bad")
        if fixture.code == entry.code
        for marker in expectations(fixture.path.read_text("utf-8"))
    }
    assert str(entry.rule.severity) in shown


def _sections(page: str) -> dict[str, str]:
    parts = re.split(r"^## (.+)$", page, flags=re.MULTILINE)
    return {title.strip(): body for title, body in zip(parts[1::2], parts[2::2])}


def _blocks(section: str) -> Iterator[str]:
    yield from re.findall(r"^```python\n(.*?)^```", section, flags=re.MULTILINE | re.DOTALL)


def blocks_of(entry: RegisteredRule) -> list[tuple[str, str]]:
    """The code blocks of a rule's page, named `example`, `example_2`, `instead` ..."""
    sections = _sections(entry.page)
    return [
        (name if number == 1 else f"{name}_{number}", block)
        for name, title in (("example", "Example"), ("instead", "Use instead"))
        for number, block in enumerate(_blocks(sections[title]), 1)
    ]


def page_estimate(entry: RegisteredRule, name: str) -> Callable[[Trace, Settings], Estimated | None]:
    """The estimate of a page's code block, as it was recorded."""
    path = FIXTURES / f"{entry.code}-{entry.rule.name}" / f"{name}.json"
    return lambda trace, settings: recorded(path, trace, settings)


PAGES_OF_ALL = {rule.code: page for rule, page in PAGES.items()} | {entry.code: entry.page for entry in RULES}


@pytest.mark.parametrize("code", PAGES_OF_ALL)
def test_pages_have_a_summary_and_all_headings(code: str):
    page = PAGES_OF_ALL[code]
    summary, _, rest = page.partition("\n")
    assert summary.endswith(".")
    assert rest.startswith("\n")
    assert list(_sections(page)) == HEADINGS
    assert all(body.strip() for body in _sections(page).values())


@pytest.mark.parametrize("entry", **_rules())
def test_examples_trigger_and_what_to_use_instead_does_not(entry: RegisteredRule):
    found = {name.partition("_")[0] for name, _ in blocks_of(entry)}
    assert found == {"example", "instead"}
    for name, block in blocks_of(entry):
        ast.parse(block)
        document = document_from_text(block, "example.py")
        estimate = page_estimate(entry, name) if entry.code in WITH_RECORDS else None
        found = run_rules([entry], document, settings=settings(entry.code, block), estimate=estimate)
        assert bool(found) is name.startswith("example"), block


# Those about what a training step holds on the GPU, whose bytes an estimate knows better than the text.
ESTIMATED = {"OOM601", "OOM602", "OOM603", "OOM604", "OOM605", "OOM606"}
PREVIEW = {"OOM210", "OOM309", "OOM507"}
OF_TENSORFLOW = tuple(entry for entry in RULES if entry.rule.backends is not None)


@pytest.mark.parametrize("entry", **_rules(OF_TENSORFLOW))
def test_examples_of_tensorflow_are_silent_where_keras_runs_on_jax(entry: RegisteredRule):
    for name, block in blocks_of(entry):
        if name.startswith("example"):
            text = f'import os\nos.environ["KERAS_BACKEND"] = "jax"\n{block}'
            assert run_rules([entry], text, settings=settings(entry.code, block)) == []


def test_rules_that_say_more_with_an_estimate_and_those_still_in_preview():
    assert {entry.code for entry in RULES if entry.rule.estimated} == ESTIMATED
    assert {entry.code for entry in RULES if entry.rule.preview} == PREVIEW


@pytest.mark.parametrize("entry", **_rules())
def test_changelog_names_every_rule(entry: RegisteredRule):
    assert f"- {entry.code} {entry.rule.name}:" in (ROOT / "CHANGELOG.md").read_text("utf-8")


def test_changelog_names_no_rule_that_is_not():
    named = set(re.findall(r"^- (OOM\d{3}) ", (ROOT / "CHANGELOG.md").read_text("utf-8"), flags=re.MULTILINE))
    assert named == set(PAGES_OF_ALL)


def test_packages_that_are_installed_are_those_that_are_there():
    configured = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["tool"]["setuptools"]["packages"]
    there = {path.parent.relative_to(ROOT).as_posix().replace("/", ".") for path in _modules()}
    assert set(configured) == {re.sub(r"^rules", "oomlint.rules", name) for name in there}


@pytest.mark.parametrize("path", _modules(), ids=_short)
def test_modules_are_small(path: Path):
    assert len(path.read_text("utf-8").splitlines()) <= 400


def _imports(path: Path) -> Iterator[str]:
    for node in ast.walk(ast.parse(path.read_text("utf-8"))):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, "absolute imports only"
            yield from (f"{node.module}.{alias.name}" for alias in node.names)


def _layer(dotted: str) -> int | None:
    parts = dotted.split(".")
    return LAYERS.index(parts[1]) if parts[0] == "oomlint" and len(parts) > 1 and parts[1] in LAYERS else None


@pytest.mark.parametrize("path", _modules(), ids=_short)
def test_imports_go_one_way(path: Path):
    dotted = _short(path).removesuffix(".py").replace("/", ".")
    own = _layer(f"oomlint.{dotted}" if dotted.startswith("rules") else dotted)
    if own is None:
        return
    upward = [name for name in _imports(path) if (layer := _layer(name)) is not None and layer > own]
    assert not upward
    if LAYERS[own] == "rules":
        used = {name.split(".")[1] for name in _imports(path) if name.startswith("oomlint.")}
        assert used <= {"findings", "dryrun", "syntax", "project", "rules"}


@pytest.mark.parametrize("path", _modules(), ids=_short)
def test_slow_parts_of_libcst_are_not_used(path: Path):
    assert not [name for name in _imports(path) if name.startswith(("libcst.metadata", "libcst.matchers"))]
    words = {
        node.attr for node in ast.walk(ast.parse(path.read_text("utf-8"))) if isinstance(node, ast.Attribute)
    }
    assert not words & {"CSTVisitor", "CSTTransformer", "MetadataWrapper", "BatchableCSTVisitor"}
