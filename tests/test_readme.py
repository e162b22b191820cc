"""What the README shows is what happens."""

from __future__ import annotations

import re

import pytest
from readme_parts import README, with_parts

from oomlint.cli.rule import fix_words
from oomlint.findings.registry import RegisteredRule, load_rules
from oomlint.project.options import OPTIONS

TEXT = README.read_text("utf-8")


def test_example_and_table_are_what_oomlint_says_and_has():
    assert with_parts(TEXT) == TEXT, "run: python tests/readme_parts.py"


@pytest.mark.parametrize("entry", load_rules(), ids=lambda entry: entry.code)
def test_each_rule_is_as_grave_and_as_mendable_as_the_table_says(entry: RegisteredRule):
    row = next(line for line in TEXT.splitlines() if line.startswith(f"| {entry.code} |"))
    _, name, severity, fix, _ = row.split(" | ", 4)
    assert (name, severity.removesuffix(", in preview"), fix) == (
        entry.rule.name,
        str(entry.rule.severity),
        fix_words(entry.rule),
    )


def test_quick_start_is_one_block_of_two_commands():
    section = TEXT.split("## Quick start")[1].split("\n## ")[0]
    (block,) = re.findall(r"^```sh\n(.*?)^```", section, flags=re.MULTILINE | re.DOTALL)
    install, test = block.splitlines()
    assert install.startswith("python3 -m venv .venv && ")
    assert "oomlint check fixtures/seeds" in install
    assert '".[test]"' in test


@pytest.mark.parametrize("key", OPTIONS)
def test_every_configuration_key_is_shown(key):
    block = TEXT.split("```toml")[1].split("```")[0]
    assert re.search(rf"^{key} = |^\[tool\.oomlint\.{key}\]", block, flags=re.MULTILINE)


def test_the_configuration_shown_can_be_read(tmp_path):
    from oomlint.project.configuration import Configurations

    block = TEXT.split("```toml")[1].split("```")[0]
    (tmp_path / "oomlint.toml").write_text("", encoding="utf-8")  # what the block extends
    folder = tmp_path / "project"
    folder.mkdir()
    (folder / "pyproject.toml").write_text(block, encoding="utf-8")
    settings = Configurations().for_folder(folder).settings
    assert settings.budget.gpu == 10_000_000_000
    assert settings.target_keras == (3, 8)
    assert settings.severity == {"OOM405": "error"}
