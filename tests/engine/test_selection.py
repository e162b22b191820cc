"""Which rules run, and how rules are found."""

from __future__ import annotations

import types

import pytest

from oomlint.findings.model import Rule, Severity
from oomlint.findings.registry import collect, load_rules
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
        ({}, "ACM101", True),  # whoever installs rules wants them
        ({"select": ("OOM3",)}, "ACM101", False),
        ({"select": ("OOM3", "ACM")}, "ACM101", True),
        ({"ignore": ("ACM",)}, "ACM101", False),
        ({"ignore": ("ACM",), "extend_select": ("ACM101",)}, "ACM101", True),
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
    found = collect([_module("a", _rule("ACM301", preview=True)), _module("b", _rule("ACM302"))]).rules
    assert [entry.code for entry in selected_rules(found, Settings(select=("ALL",)))] == ["ACM302"]
    assert len(selected_rules(found, Settings(select=("ALL",), preview=True))) == 2


def test_collected_by_code_with_their_pages():
    modules = [_module("b", _rule("ACM402")), _module("plain", None), _module("a", _rule("ACM301"))]
    loaded = collect(modules)
    assert [(entry.code, entry.module) for entry in loaded.rules] == [("ACM301", "a"), ("ACM402", "b")]
    assert loaded.rules[0].page.startswith("A page.\n")
    assert loaded.problems == ()


GOOD = {"code": "ACM101", "name": "a-name", "severity": Severity.NOTE, "fix": None, "literals": ("fit",)}


@pytest.mark.parametrize(
    ("module", "said"),
    [
        (_module("x", Rule(**{**GOOD, "code": "ACM100"}), check=None), "it has a RULE and no check"),
        (_module("x", Rule(**{**GOOD, "code": "OOM399"})), "OOM399 is for oomlint's own rules"),
        (_module("x", Rule(**{**GOOD, "code": "AC1"})), "the code 'AC1': expected three capital letters"),
        (_module("x", Rule(**{**GOOD, "name": "A Name"})), "the name 'A Name': expected words"),
        (_module("x", Rule(**{**GOOD, "severity": "note"})), "the severity 'note': expected a Severity"),
        (_module("x", Rule(**{**GOOD, "fix": True})), "the fix True: expected a Safety or None"),
        (_module("x", Rule(**{**GOOD, "literals": "fit"})), "the literals 'fit': expected a tuple"),
        (_module("x", Rule(**{**GOOD, "literals": ()})), "no literals"),
        (_module("x", Rule(**{**GOOD, "options": ("n",)})), "expected a tuple of RuleOption"),
        (_module("x", {"code": "ACM101"}), "its RULE is a dict"),
        (_module("x", Rule(**{**GOOD, "name": "other"})), "ACM101 is taken by first"),
        (_module("x", Rule(**{**GOOD, "code": "ACM102"})), "the name 'a-name' is taken by first"),
    ],
)
def test_a_broken_rule_is_left_out_and_said(module, said):
    loaded = collect([_module("first", Rule(**GOOD)), module])
    assert [entry.module for entry in loaded.rules] == ["first"]
    (problem,) = loaded.problems
    assert problem.startswith("rules of x are left out: ")
    assert said in problem


def test_a_rule_without_a_page_is_left_out():
    module = _module("x", Rule(**GOOD))
    module.__doc__ = None
    loaded = collect([module])
    assert loaded.rules == ()
    assert "no docstring" in loaded.problems[0]


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
