"""Fixes applied to a fixed point; nothing that makes it worse is kept."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from oomlint.documents.python_file import Document, document_from_bytes, document_from_text
from oomlint.documents.text_edits import TextEdit
from oomlint.findings.applying import PASSES, FixOutcome, fix_document
from oomlint.findings.model import Safety


@dataclass(frozen=True)
class Found:
    code: str
    edits: Sequence[TextEdit] = ()
    safety: Safety | None = Safety.SAFE
    message: str = "is wrong"


Maker = Callable[[re.Match[str]], Sequence[TextEdit]]


def rule(
    code: str, pattern: str, make: Maker, safety: Safety = Safety.SAFE
) -> Callable[[Document], list[Found]]:
    """A rule that finds a pattern and fixes it by the edits of `make`."""
    return lambda document: [
        Found(code, tuple(make(match)), safety) for match in re.finditer(pattern, document.text)
    ]


def swap(text: str) -> Maker:
    return lambda match: [TextEdit(match.start(), match.end(), text)]


def fixed(
    text: str, *rules: Callable[[Document], list[Found]], allowed: frozenset[Safety] = frozenset(Safety)
) -> FixOutcome[Found]:
    document = document_from_text(text, "s.py")
    return fix_document(document, lambda now: [found for check in rules for found in check(now)], allowed)


def test_all_fixes_of_a_pass_are_applied_at_once() -> None:
    outcome = fixed("a = 1\nb = 1\n", rule("OOM1", "1", swap("2")))
    assert outcome.document.text == "a = 2\nb = 2\n"
    assert (len(outcome.applied), outcome.remaining, outcome.dropped, outcome.passes) == (2, [], [], 1)
    assert outcome.changed


def test_only_allowed_fixes_are_applied_and_display_never() -> None:
    rules = [
        rule("OOM1", "1", swap("one")),
        rule("OOM2", "2", swap("two"), Safety.UNSAFE),
        rule("OOM3", "3", swap("three"), Safety.DISPLAY),
    ]
    safe = fixed("f(1, 2, 3)\n", *rules, allowed=frozenset({Safety.SAFE}))
    assert safe.document.text == "f(one, 2, 3)\n"
    assert [found.code for found in safe.remaining] == ["OOM2", "OOM3"]
    assert fixed("f(1, 2, 3)\n", *rules).document.text == "f(one, two, 3)\n"


def test_overlapping_fixes_wait_for_the_next_pass() -> None:
    outcome = fixed(
        "f(g(x))\n", rule("OOM1", r"f\((.*)\)", swap("F(g(x))")), rule("OOM2", r"g\(x\)", swap("G(x)"))
    )
    assert outcome.document.text == "F(G(x))\n"
    assert outcome.passes == 2


def test_a_pair_of_parentheses_around_one_place_is_not_mixed_with_another() -> None:
    """Two fixes wrap `x` and `x.y`: the same opening at the same offset, but not the same end."""

    def wrap(match: re.Match[str]) -> list[TextEdit]:
        return [TextEdit(match.start(), match.start(), "f("), TextEdit(match.end(), match.end(), ")")]

    outcome = fixed("a = x.y\n", rule("OOM1", r"(?<!\()x(?!\))", wrap), rule("OOM2", r"(?<!f\()x\.y", wrap))
    assert outcome.document.text in ("a = f(f(x).y)\n", "a = f(x).y\n")
    assert outcome.dropped == []


def test_rows_that_two_fixes_insert_are_inserted_once() -> None:
    def use(name: str) -> Maker:
        return lambda match: [
            TextEdit(0, 0, "import tensorflow as tf\n"),
            TextEdit(match.start(), match.end(), f"tf.{name}"),
        ]

    outcome = fixed("a = x\nb = y\n", rule("OOM1", r"\bx\b", use("xx")), rule("OOM2", r"\by\b", use("yy")))
    assert outcome.document.text == "import tensorflow as tf\na = tf.xx\nb = tf.yy\n"
    assert (outcome.passes, len(outcome.applied)) == (1, 2)


def test_a_fix_that_breaks_the_syntax_is_dropped_and_the_others_stay() -> None:
    outcome = fixed(
        "a = 1\nb = 2\nc = 3\nd = 4\n", rule("OOM1", "[134]", swap("9")), rule("OOM2", "2", swap("("))
    )
    assert outcome.document.text == "a = 9\nb = 2\nc = 9\nd = 9\n"
    (dropped,) = outcome.dropped
    assert dropped.finding.code == "OOM2"
    assert "would not parse" in dropped.reason
    assert [found.code for found in outcome.remaining] == ["OOM2"]


def test_a_fix_that_brings_another_finding_is_dropped() -> None:
    outcome = fixed(
        "a = 1\nb = 2\n",
        rule("OOM1", "1", swap("3")),
        rule("OOM2", "2", swap("5")),
        rule("OOM3", "3", lambda _: []),
    )
    assert outcome.document.text == "a = 1\nb = 5\n"
    assert [(one.finding.code, one.reason) for one in outcome.dropped] == [
        ("OOM1", "it would bring a finding: OOM3 is wrong")
    ]


def test_a_suppression_that_a_fix_makes_needless_goes_with_the_next_pass() -> None:
    def unused(document: Document) -> list[Found]:
        text = document.text
        start = text.find("  # noqa")
        return [] if "1" in text or start < 0 else [Found("OOM000", (TextEdit(start, len(text) - 1, ""),))]

    outcome = fixed("a = 1  # noqa: OOM2\n", rule("OOM1", "1", swap("3")), unused)
    assert (outcome.document.text, outcome.passes) == ("a = 3\n", 2)


def test_a_fix_that_leaves_its_finding_is_dropped_and_not_piled_up() -> None:
    outcome = fixed("f(a)\n", rule("OOM1", r"f\([^)]*", lambda m: [TextEdit(m.end(), m.end(), ", n=1")]))
    assert outcome.document.text == "f(a)\n"
    assert not outcome.changed
    assert "still" in outcome.dropped[0].reason


def test_fixes_that_undo_each_other_end() -> None:
    outcome = fixed("a\n", rule("OOM1", "a", swap("b")), rule("OOM2", "b", swap("a")))
    assert outcome.passes <= PASSES
    assert outcome.document.text in ("a\n", "b\n")
    assert not outcome.changed


def test_a_fix_that_cannot_be_encoded_is_dropped() -> None:
    document = document_from_bytes(b"# coding: latin-1\na = '\xe9', 1, 2\n", "s.py")
    rules = (rule("OOM1", "1(?!-)", swap("'\u20ac'")), rule("OOM2", "2", swap("3")))
    outcome = fix_document(
        document, lambda now: [f for check in rules for f in check(now)], frozenset(Safety)
    )
    assert outcome.document.raw == b"# coding: latin-1\na = '\xe9', 1, 3\n"
    assert "iso8859-1" in outcome.dropped[0].reason


def test_edits_of_one_fix_that_overlap_drop_the_fix() -> None:
    outcome = fixed("abc\n", rule("OOM1", "abc", lambda m: [TextEdit(0, 2, "x"), TextEdit(1, 3, "y")]))
    assert outcome.document.text == "abc\n"
    assert "overlap" in outcome.dropped[0].reason


def test_the_fixed_document_is_checked_once_for_each_pass() -> None:
    calls = []

    def check(document: Document) -> list[Found]:
        calls.append(document.text)
        return [
            Found("OOM1", (TextEdit(match.start(), match.end(), "2"),))
            for match in re.finditer("1", document.text)
        ]

    fix_document(document_from_text("a = 1\nb = 1\n", "s.py"), check, {Safety.SAFE})
    assert calls == ["a = 1\nb = 1\n", "a = 2\nb = 2\n"]


GOOD, BREAKS, BRINGS = "g", "k", "r"


@settings(deadline=None)
@given(st.lists(st.sampled_from([GOOD, BREAKS, BRINGS, "n"]), min_size=1, max_size=12))
def test_exactly_the_good_fixes_are_kept_and_a_second_run_changes_nothing(kinds: list[str]) -> None:
    text = "".join(f"v{number} = {kind}{number}\n" for number, kind in enumerate(kinds))
    rules = [
        rule("OOM1", rf"\b{GOOD}\d+\n", lambda match: [TextEdit(match.start(), match.end(), "0\n")]),
        rule("OOM2", rf"\b{BREAKS}(?=\d)", swap("(")),
        rule("OOM3", rf"\b{BRINGS}(?=\d)", swap("bad")),
        rule("OOM4", "bad", lambda _: []),
    ]
    outcome = fixed(text, *rules)
    expected = "".join(
        f"v{number} = {'0' if kind == GOOD else f'{kind}{number}'}\n" for number, kind in enumerate(kinds)
    )
    assert outcome.document.text == expected
    assert len(outcome.applied) == kinds.count(GOOD)
    assert sorted(one.finding.code for one in outcome.dropped) == ["OOM2"] * kinds.count(BREAKS) + [
        "OOM3"
    ] * kinds.count(BRINGS)
    again = fixed(outcome.document.text, *rules)
    assert not again.changed


@pytest.mark.parametrize("text", ["a = 1\r\n\tb = 1\r", "\x0ca = 1\n", "a = 1"])
def test_other_bytes_stay(text: str) -> None:
    outcome = fixed(f"if x:\r\n\t{text}" if "\t" in text else text, rule("OOM1", "1", swap("2")))
    assert outcome.document.text.replace("2", "1").endswith(text)
    assert not outcome.remaining
