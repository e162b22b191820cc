"""Comments that suppress findings, and comments that suppress nothing."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from oomlint.documents.python_file import document_from_text
from oomlint.documents.text_edits import apply_edits
from oomlint.findings import suppressions
from oomlint.findings.suppressions import Suppressions, Unused

KNOWN = {
    "OOM000": "unused-suppression",
    "OOM301": "shuffle-buffer-large",
    "OOM302": "cache-in-memory",
    "OOM403": "tensors-kept",
}


def of(text: str) -> Suppressions:
    return Suppressions.of(document_from_text(text, "s.py"))


def covered(text: str, line: int = 1, code: str = "OOM301", last: int | None = None) -> bool:
    return of(text).covers(code, line, last or line, KNOWN.get(code, ""))


@pytest.mark.parametrize(
    "comment",
    [
        "# noqa",
        "#noqa",
        "# NOQA",
        "# noqa: OOM301",
        "# noqa:OOM301",
        "# noqa : OOM301",
        "# noqa: oom301",
        "# noqa: E501,OOM301",
        "# noqa: OOM301, E501 fits in memory here",
        "# noqa: E501 OOM301",
        "# noqa: OOM301 fits",
        "# noqa: OOM301 # fits",
        "# noqa: OOM",
        "# noqa: OOM3",
        "# noqa: E501, OOM",
        "# type: ignore  # noqa: OOM301",
        "# noqa: E501  # noqa: OOM301",
        "# fits # noqa: OOM301",
        "# oomlint: ignore[OOM301]",
        "#oomlint:ignore[OOM301]",
        "# oomlint: ignore[OOM302, OOM301] fits",
        "# oomlint: ignore[OOM3]",
        "# oomlint: ignore[shuffle-buffer-large]",
        "# oomlint: ignore",
        "# noqa: E501  # oomlint: ignore[OOM301] fits",
    ],
)
def test_a_comment_at_the_end_of_the_line_covers(comment: str) -> None:
    assert covered(f"x = f()  {comment}\n")
    assert not covered(f"x = f()  {comment}\ny = g()\n", line=2)


@pytest.mark.parametrize(
    "comment",
    [
        "# noqa: OOM302",
        "# noqa: E501",
        "# noqa: OOM4",
        "# noqa: E501 OOM is no concern here",
        "# no qa",
        "# noqable",
        "# flake8: noqa",
        "# oomlint: ignore[OOM302]",
        "# oomlint: ignore[cache-in-memory]",
        "# oomlint: ignore[]",
        "# oomlint ignore[OOM301]",
    ],
)
def test_other_comments_do_not(comment: str) -> None:
    assert not covered(f"x = f()  {comment}\n")


def test_a_string_is_no_comment() -> None:
    assert not covered("x = '# noqa: OOM301'\n")
    assert not covered("x = '''\n# oomlint: skip-file\n'''\n", line=1, last=3)
    assert not of("x = '''\n# oomlint: skip-file\n'''\n").skip_file
    assert not covered("x = f'{a} # noqa'\n")


STATEMENT = "y\nx = f(\n    a,{middle}\n    b,\n){end}\nz\n"


def test_in_a_statement_of_several_lines_the_first_and_the_last_line_count() -> None:
    at_end = STATEMENT.format(middle="", end="  # noqa: OOM301")
    at_start = STATEMENT.format(middle="", end="").replace("f(", "f(  # noqa: OOM301")
    for text in (at_end, at_start):
        assert all(covered(text, line) for line in (2, 3, 4, 5))
        assert not covered(text, 1)
        assert not covered(text, 6)
    in_middle = STATEMENT.format(middle="  # noqa: OOM301", end="")
    assert [covered(in_middle, line) for line in (2, 3, 4, 5)] == [False, True, False, False]


def test_ignore_counts_on_any_line_of_the_statement() -> None:
    for text in (
        STATEMENT.format(middle="  # oomlint: ignore[OOM301]", end=""),
        STATEMENT.format(middle="\n    # oomlint: ignore[OOM301] b is small", end=""),
    ):
        assert all(covered(text, line) for line in (2, 3, 4, 5))
        assert not covered(text, 1)


def test_ignore_alone_on_the_line_above_counts_and_noqa_does_not() -> None:
    assert covered("# oomlint: ignore[OOM301] fits\nx = f()\n", 2)
    assert covered("if a:\n    # oomlint: ignore[OOM301]\n    # fits\n    x = f(\n        1)\n", 5)
    assert not covered("# oomlint: ignore[OOM301]\n\nx = f()\n", 3)
    assert not covered("# oomlint: ignore[OOM301]\nx = f()\ny = g()\n", 3)
    assert not covered("y = g()  # oomlint: ignore[OOM301]\nx = f()\n", 2)
    assert not covered("# noqa: OOM301\nx = f()\n", 2)


def test_above_a_block_only_its_header_is_covered() -> None:
    text = "# oomlint: ignore[OOM301]\nfor a in b:\n    x = f()\n"
    assert covered(text, 2, last=3)
    assert not covered(text, 3)
    assert not covered("for a in b:\n    x = f()  # noqa: OOM301\n", 1, last=2)


def test_decorators_count_with_what_they_decorate() -> None:
    text = "# oomlint: ignore[OOM301]\n@d\n@e(\n    1)\ndef f():\n    x\n"
    assert covered(text, 2)
    assert covered(text, 5)
    assert not covered(text, 6)


def test_disable_and_enable() -> None:
    text = "a\n# oomlint: disable[OOM301]\nb\nc\n# oomlint: enable[OOM301]\nd\n"
    assert [covered(text, line) for line in (1, 3, 4, 6)] == [False, True, True, False]
    assert not covered(text, 3, "OOM302")
    everything = "# oomlint: disable\na\n# oomlint: enable[OOM302]\nb\n"
    assert covered(everything, 4, "OOM301")
    assert covered(everything, 2, "OOM302")
    assert not covered(everything, 4, "OOM302")


def test_skip_file() -> None:
    assert of("import a\n# oomlint: skip-file\n").skip_file
    assert not of("import a\n").skip_file


@pytest.mark.parametrize(
    "text",
    [
        "x = 1  # noqa: OOM301\ny = (\n",
        "x = 1  # noqa: OOM301\n'''\n",
        "x = 1  # noqa: OOM301\nif a:\n        b\n  c\n",
        "x = 1  # noqa: OOM301\n$ ?\n",
        "x = 1  # noqa: OOM301",
        "x = 1  # noqa: OOM301\ry = 2\r",
        "x = 1  # noqa: OOM301\r\n\x0cy = 2\r\n",
    ],
)
def test_what_the_tokenizer_could_read_counts(text: str) -> None:
    assert covered(text, 1)
    assert not covered(text, 2)


@given(
    st.text(st.sampled_from("#:[]'\"\\\n\r\t (){}ax,"), max_size=25).map(
        lambda noise: noise + "# noqa: OOM301\n" + noise
    )
)
def test_no_text_breaks_it(text: str) -> None:
    sheet = of(text)
    sheet.covers("OOM301", 1, 1)
    for unused in sheet.unused({"OOM301"}, KNOWN):
        apply_edits(text, unused.edits)


def unused(text: str, *used: tuple[str, int], active: set[str] | None = None) -> list[Unused]:
    sheet = of(text)
    for code, line in used:
        assert sheet.covers(code, line, line, KNOWN[code])
    return sheet.unused(set(KNOWN) if active is None else active, KNOWN)


def mended(text: str, *used: tuple[str, int]) -> str:
    return apply_edits(text, [edit for one in unused(text, *used) for edit in one.edits])


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("x  # noqa: OOM301\n", "x\n"),
        ("x  # noqa: OOM301 because it fits\ny\n", "x\ny\n"),
        ("x  # noqa: OOM301, E501 why\n", "x  # noqa: E501 why\n"),
        ("x  # noqa: E501,OOM301,W1 why\n", "x  # noqa: E501,W1 why\n"),
        ("x  # noqa: OOM301,OOM302\n", "x\n"),
        ("x  # noqa: OOM\n", "x\n"),
        ("x  # noqa: OOM301  # type: ignore\n", "x  # type: ignore\n"),
        ("x  # type: ignore  # noqa: OOM301\n", "x  # type: ignore\n"),
        ("x  # why  # noqa: OOM301 see #12\n", "x  # why\n"),
        ("# noqa: OOM301\nx\n", "x\n"),
        ("if a:\r\n    # oomlint: ignore[OOM301]\r\n    x\r\n", "if a:\r\n    x\r\n"),
        ("x  # oomlint: ignore[OOM301] fits", "x"),
        ("x  # oomlint: ignore[OOM301, OOM302]\n", "x\n"),
        ("x  # oomlint: ignore\n", "x\n"),
        ("x  # oomlint: ignore[shuffle-buffer-large]\n", "x\n"),
        ("x  # oomlint: ignore[shufle-buffer]\n", "x\n"),
        ("x  # noqa: OOM999\n", "x\n"),
        ("# oomlint: disable[OOM301]\nx\n# oomlint: enable[OOM301]\ny\n", "x\ny\n"),
        ("# oomlint: disable\nx\n", "x\n"),
    ],
)
def test_what_suppresses_nothing_is_removed(before: str, after: str) -> None:
    assert mended(before) == after
    assert unused(after) == []


def test_only_the_part_that_suppresses_nothing_is_removed() -> None:
    text = "x  # oomlint: ignore[OOM301, OOM302, OOM403] why\n"
    (one,) = unused(text, ("OOM302", 1))
    assert one.message == "`OOM301`, `OOM403` suppress nothing here"
    assert mended(text, ("OOM302", 1)) == "x  # oomlint: ignore[OOM302] why\n"
    assert text[one.start : one.end] == "OOM301, OOM302, OOM403"


def test_messages_say_what_is_wrong() -> None:
    assert [one.message for one in unused("x  # noqa: OOM301\n")] == ["`# noqa: OOM301` suppresses nothing"]
    assert [one.message for one in unused("x  # oomlint: ignore[E501]\n")] == ["No rule is called `E501`"]
    (one,) = unused("x = 1  # a  # noqa: OOM301 why\n")
    assert "x = 1  # a  # noqa: OOM301 why\n"[one.start : one.end] == "# noqa: OOM301 why"


@pytest.mark.parametrize(
    "text",
    [
        "x  # noqa\n",
        "x  # noqa: E501\n",
        "x  # noqa: E501,W291 why\n",
        "# oomlint: skip-file\n",
        "x  # flake8: noqa\n",
        "x\n",
    ],
)
def test_other_comments_are_left_alone(text: str) -> None:
    assert unused(text) == []


@pytest.mark.parametrize(
    ("text", "used"),
    [
        ("x  # noqa: OOM301\n", ("OOM301", 1)),
        ("x  # noqa: OOM\n", ("OOM302", 1)),
        ("x  # noqa: OOM301  # oomlint: ignore[OOM301]\n", ("OOM301", 1)),
        ("# oomlint: disable[OOM301]\nx\n# oomlint: enable[OOM301]\n", ("OOM301", 2)),
        ("# oomlint: disable\nx\n", ("OOM403", 2)),
    ],
)
def test_what_suppressed_something_is_used(text: str, used: tuple[str, int]) -> None:
    assert unused(text, used) == []


def test_only_what_was_looked_for_can_be_missed() -> None:
    text = "x  # noqa: OOM301\ny  # noqa: OOM3\nz  # oomlint: ignore\n"
    assert unused(text, active={"OOM403"}) == []
    assert [one.start for one in unused(text, active={"OOM301"})] == [3]
    assert [one.start for one in unused(text, active={"OOM301", "OOM302"})] == [
        3,
        text.index("# noqa: OOM3\n"),
    ]


def test_an_unused_suppression_can_be_kept_on_purpose_but_does_not_keep_itself() -> None:
    assert covered("x  # noqa: OOM301, OOM000\n", 1, "OOM000")
    assert covered("x  # noqa: OOM301  # oomlint: ignore[unused-suppression]\n", 1, "OOM000")
    assert not covered("x  # noqa: OOM\n", 1, "OOM000")
    assert not covered("x  # oomlint: ignore\n", 1, "OOM000")


@pytest.mark.parametrize(
    "row",
    [
        "x = 1  # noqa: OOM301\n",
        "x = 1  # oomlint: ignore[OOM301]\n",
        "# oomlint: ignore[OOM301]\n",
        "# oomlint: disable[OOM301]\nx = 1\n# oomlint: enable[OOM301]\n",
    ],
)
def test_a_finding_asks_the_comments_beside_it_and_not_all_of_the_file(
    row: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked = 0
    real = suppressions._selects

    def counted(text: str, code: str, name: str) -> bool:
        nonlocal asked
        asked += 1
        return real(text, code, name)

    monkeypatch.setattr(suppressions, "_selects", counted)

    def cost(count: int) -> int:
        nonlocal asked
        asked = 0
        sheet = of(row * count + "y = 2\n")
        for line in range(1, count + 1):
            sheet.covers("OOM301", line, line, "shuffle-buffer-large")
            sheet.covers("OOM302", line, line, "cache-in-memory")
        return asked

    # Each comment is asked at most a few times: of the rows 1 to 200 only so many have one.
    assert 0 < cost(200) <= 2 * cost(100) <= 2 * 100 * 6
