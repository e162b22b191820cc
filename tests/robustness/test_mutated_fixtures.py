"""Fixtures with a statement, name, literal, argument or operator changed: no internal error, no fix that breaks."""

from __future__ import annotations

import pytest
from fixture_files import FIXTURES
from mutations import MUTATIONS, complaints, mutated

from oomlint.findings.registry import load_rules

FILES = sorted(FIXTURES.glob("OOM*/*.py"))
RULES = tuple(load_rules())
SAMPLE = 60


def test_the_changes_change():
    names: set[str] = set()
    text = next(path for path in FILES if path.stem == "bad").read_text("utf-8")
    for seed in range(200):
        changed, name = mutated(text, seed)
        assert (changed, name) == mutated(text, seed)
        names.update(name.split("+") if changed != text else ())
    assert len(names) >= len(MUTATIONS) - 2, names  # a script may have no operator


@pytest.mark.parametrize("seed", range(SAMPLE))
def test_a_mutated_fixture_is_checked_and_mended(seed: int):
    path = FILES[seed * 7919 % len(FILES)]
    text, names = mutated(path.read_text("utf-8"), seed)
    wrong, _ = complaints(RULES, text)
    assert not wrong, f"{path.parent.name}/{path.name}, {names}:\n{text}"
