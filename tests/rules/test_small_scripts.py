"""Bounds and single conditions of the rules, in scripts of a few rows (`*.txt` beside this)."""

from __future__ import annotations

from pathlib import Path

import pytest
from small_scripts import Script, scripts

SCRIPTS = [script for path in sorted(Path(__file__).parent.glob("*.txt")) for script in scripts(path)]


@pytest.mark.parametrize("script", SCRIPTS, ids=str)
def test_small_script(script: Script):
    assert script.wrong() == []


def test_each_has_a_title_of_its_own():
    titles = [str(script) for script in SCRIPTS]
    assert len(set(titles)) == len(titles)
