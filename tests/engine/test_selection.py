"""Which rules run, and how rules are found."""

from __future__ import annotations

import types

import pytest

from oomlint.findings.model import Rule, Severity
from oomlint.findings.registry import RegistryError, collect, load_rules
from oomlint.findings.selection import check_codes, is_selected, selected_rules
from oomlint.project.configuration import Configuration, ConfigurationError
from oomlint.project.settings import Settings


@pytest.mark.parametrize(
    ("settings", "code", "selected"),
    [
        ({}, "OOM301", True),
        ({}, "OOM000", True),
        ({}, "OOM901", False),  # advice is asked for
        ({"select": ("ALL",)}, "OOM901", True),
        ({"extend_select": ("OOM9",)}, "OOM901", True),
        ({"select": ("OOM3",)}, "OOM301", True),
        ({"select": ("OOM3",)}, "OOM401", False),
        ({"select": ("OOM3",), "ignore": ("OOM301",)}, "OOM301", False),
        ({"select": ("OOM301",), "ignore": ("OOM3",)}, "OOM301", True),
        ({"select": ("OOM301",), "ignore": ("OOM301",)}, "OOM301", False),
        ({"select": ("ALL",), "ignore": ("OOM",)}, "OOM301", False),
        ({"ignore": ("ALL",)}, "OOM301", False),
        ({"ignore": ("OOM",)}, "OOM301", False),  # the default selection is as short as can be
        ({"ignore": ("OOM4",)}, "OOM301", True),
        ({"select": ("ALL",), "ignore": ("ALL",)}, "OOM301", False),
        ({"ignore": ("OOM",), "extend_select": ("OOM303",)}, "OOM303", True),
        ({"select": ()}, "OOM301", False),
    ],
)
def test_the_longest_selector_decides(settings, code, selected):
    assert is_selected(code, Settings(**settings)) is selected


def _module(
    name: str, rule: Rule | None, check: object = lambda trace, settings: iter(())
) -> types.ModuleType:
    module = types.ModuleType(name, "A page.\n\n## What it does\nNothing.")
    if rule is not None:
        module.RULE = rule
        module.check = check
    return module


def _rule(code: str, *, preview: bool = False) -> Rule:
    return Rule(code, f"name-{code.lower()}", Severity.NOTE, None, literals=("fit",), preview=preview)


def test_rules_in_preview_run_only_with_preview():
    found = collect([_module("a", _rule("OOM301", preview=True)), _module("b", _rule("OOM302"))])
    assert [entry.code for entry in selected_rules(found, Settings(select=("ALL",)))] == ["OOM302"]
    assert len(selected_rules(found, Settings(select=("ALL",), preview=True))) == 2


def test_collected_by_code_with_their_pages():
    found = collect([_module("b", _rule("OOM402")), _module("plain", None), _module("a", _rule("OOM301"))])
    assert [(entry.code, entry.module) for entry in found] == [("OOM301", "a"), ("OOM402", "b")]
    assert found[0].page.startswith("A page.\n")


def test_two_rules_with_one_code_and_half_a_rule_are_refused():
    with pytest.raises(RegistryError, match="OOM301 is the code of both a and b"):
        collect([_module("a", _rule("OOM301")), _module("b", _rule("OOM301"))])
    with pytest.raises(RegistryError, match="no check"):
        collect([_module("a", _rule("OOM301"), check=None)])


def test_the_built_in_rules_come_through_the_entry_point():
    assert {entry.module.rpartition(".")[0] for entry in load_rules()} >= {"oomlint.rules.training_loop"}


@pytest.mark.parametrize(
    ("key", "settings", "said"),
    [
        ("select", {"select": ("OOM405", "OOM4055")}, "unknown code 'OOM4055': did you mean 'OOM405'?"),
        ("ignore", {"ignore": ("oom405",)}, "unknown code 'oom405': did you mean 'OOM405'?"),
        ("ignore", {"ignore": ("persistent-tape",)}, "did you mean 'OOM405'?"),
        ("ignore", {"ignore": ("OOM8",)}, "unknown code 'OOM8'"),
        ("severity", {"severity": {"OOM4": "note"}}, "unknown code 'OOM4'"),
        ("per-file-ignores", {"per_file_ignores": {"a.py": ("E501",)}}, "unknown code 'E501'"),
        ("extend-safe-fixes", {"extend_safe_fixes": ("",)}, "unknown code ''"),
    ],
)
def test_unknown_codes_name_the_nearest(key, settings, said):
    with pytest.raises(ConfigurationError) as caught:
        check_codes(Configuration(Settings(**settings), {key: "oomlint.toml"}), load_rules())
    assert str(caught.value).startswith(f"oomlint.toml: {key}: ")
    assert said in str(caught.value)


def test_known_codes_and_prefixes_are_fine():
    settings = Settings(select=("ALL",), ignore=("OOM4", "OOM405", "OOM000"), severity={"OOM405": "error"})
    check_codes(Configuration(settings, dict.fromkeys(("select", "ignore", "severity"), "x")), load_rules())
