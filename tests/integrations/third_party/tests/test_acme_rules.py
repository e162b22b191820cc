"""Every fixture, for every way of importing Keras."""

from pathlib import Path

import pytest

from oomlint.project.settings import Settings
from oomlint.testing import fix_text, mismatches, rules_named, run_rule, spelled

FIXTURES = Path(__file__).parent.parent / "fixtures"
SCRIPTS = sorted(FIXTURES.glob("*/*.py"))


@pytest.mark.parametrize("path", SCRIPTS, ids=lambda path: f"{path.parent.name[:6]}-{path.stem}")
def test_findings_are_where_the_markers_are(path):
    code, text = path.parent.name[:6], path.read_text("utf-8")
    expected = "" if path.stem == "fixed" else text
    for way, script in [("as written", text), *spelled(text)]:
        found = run_rule(code, script)
        assert not mismatches(script if expected else "", found), way


def test_what_is_fixed():
    folder = FIXTURES / "ACM102-progress-bar-in-log"
    fixed = fix_text(rules_named(["ACM102"]), (folder / "bad.py").read_text("utf-8"))
    assert fixed == (folder / "fixed.py").read_text("utf-8")


def test_the_limit_is_an_option():
    script = (FIXTURES / "ACM101-batch-above-limit" / "good.py").read_text("utf-8")
    small = Settings(select=("ACM101",), rules={"ACM101.largest": 128})
    assert run_rule("ACM101", script) == []
    assert [finding.code for finding in run_rule("ACM101", script, settings=small)] == ["ACM101"]
