"""Pages of rules on a terminal."""

from __future__ import annotations

import re

import pytest
from command import oomlint

FENCE = re.compile(r"^```.*?^```$", re.MULTILINE | re.DOTALL)
BOLD = re.compile(r"\x1b\[[01]m")


@pytest.fixture(scope="module")
def plain() -> str:
    return oomlint("rule", "--all").stdout


@pytest.mark.parametrize("columns", [60, 100])
def test_lines_fit_the_terminal_and_the_words_stay(plain: str, columns: int):
    shown = BOLD.sub("", oomlint("rule", "--all", FORCE_COLOR="1", COLUMNS=str(columns)).stdout)
    assert shown.split() == plain.split()
    assert FENCE.findall(shown) == FENCE.findall(plain)
    # A name or an address is never broken.
    prose = [line for line in FENCE.sub("", shown).splitlines() if " " in line.removeprefix("- ").strip()]
    assert [line for line in prose if len(line) > columns and not line.startswith("#")] == []
    assert max(map(len, prose)) > columns - 10


def test_items_stay_items_and_headings_are_bold():
    shown = oomlint("rule", "OOM104", FORCE_COLOR="1", COLUMNS="50").stdout
    assert (
        "\x1b[1m## What it does\x1b[0m\n\nReports settings that cancel out or come to\nnothing:\n\n- a memory limit,"
        in shown
    )
    assert shown.count("\n- ") == oomlint("rule", "OOM104").stdout.count("\n- ")


def test_a_pipe_gets_the_page_as_it_is(plain: str):
    assert "\x1b" not in plain
    assert max(map(len, FENCE.sub("", plain).splitlines())) > 100
