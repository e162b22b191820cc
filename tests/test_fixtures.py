"""Every fixture, with its own rule: bad ones give what their markers say, the others nothing."""

from __future__ import annotations

import ast
from collections import defaultdict
from pathlib import Path

import pytest
from fixture_files import Fixture, by_id, fixtures

from oomlint.findings.model import Safety
from oomlint.testing import expectations, mismatches

BOLDNESS = {Safety.DISPLAY: 0, Safety.SAFE: 1, Safety.UNSAFE: 2, None: 0}


@pytest.mark.parametrize("fixture", **by_id(fixtures("bad")))
def test_bad_is_found_as_marked(fixture: Fixture):
    text = fixture.document().text
    found = defaultdict(list)
    for diagnostic in fixture.check():
        found[diagnostic.filename].append(diagnostic)
        assert diagnostic.help, "it does not say what to do"
        assert "\n" not in diagnostic.message, "code that is written on several rows is quoted in one"
        assert BOLDNESS[diagnostic.safety] <= BOLDNESS[fixture.rules[0].rule.fix], (
            "bolder than its rule's record"
        )
    wrong = mismatches(text, found.pop(str(fixture.path), []))
    # What is found in a module beside it is marked there.
    for filename, diagnostics in found.items():
        wrong += [
            f"{filename}: {line}" for line in mismatches(Path(filename).read_text("utf-8"), diagnostics)
        ]
    assert not wrong, "\n".join(wrong)


@pytest.mark.parametrize("fixture", **by_id(fixtures("bad")))
def test_bad_has_markers_for_its_rule_only(fixture: Fixture):
    marked = expectations(fixture.document().text)
    beside = [
        one for path in fixture.path.parent.glob("*.py") for one in expectations(path.read_text("utf-8"))
    ]
    assert marked or beside
    assert {expected.code for expected in marked} <= {fixture.code}


@pytest.mark.parametrize("fixture", **by_id(fixtures("good", "like")))
def test_good_and_lookalikes_are_silent(fixture: Fixture):
    found = fixture.check()
    assert not found, mismatches("", found)
    assert not expectations(fixture.document().text)


@pytest.mark.parametrize("fixture", **by_id(fixtures("bad")))
def test_fixes_give_the_fixed_file(fixture: Fixture):
    before = fixture.document().text
    after = fixture.mend()
    if not fixture.fixed.exists():
        assert after == before, "it can be mended and has no fixed file"
        return
    expected = Fixture(fixture.fixed).document().text
    assert after == expected
    assert after != before


@pytest.mark.parametrize("fixture", **by_id(fixtures("fixed")))
def test_fixed_parses_and_fixing_it_again_changes_nothing(fixture: Fixture):
    text = fixture.document().text
    ast.parse(text)
    assert fixture.mend() == text
    assert fixture.path.with_name(fixture.path.name.replace("fixed", "bad", 1)).exists()
