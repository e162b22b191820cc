"""Rows and columns of texts, and edits by offsets."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from oomlint.documents.lines import LineIndex, Location
from oomlint.documents.text_edits import TextEdit, apply_edits

texts = st.text(st.sampled_from("ab\n\r\x0c\u2028\U0001f600"), max_size=30)


@given(texts, st.data())
def test_locations_count_python_rows_and_code_points(text: str, data: st.DataObject) -> None:
    offset = data.draw(st.integers(0, len(text)))
    if text[offset - 1 : offset + 1] == "\r\n":
        offset += 1  # inside a newline there is no place
    lines = LineIndex(text)
    rows = re.split("\r\n|\r|\n", text[:offset])
    assert lines.location(offset) == Location(len(rows), len(rows[-1]) + 1)
    assert lines.offset(len(rows), len(rows[-1]) + 1) == offset


@given(texts)
def test_rows_put_together_are_the_text(text: str) -> None:
    lines = LineIndex(text)
    numbers = range(1, lines.count + 1)
    assert "".join(text[lines.start(row) : lines.next_start(row)] for row in numbers) == text
    assert all(lines.end(row) == lines.start(row) + len(lines.text_of(row)) for row in numbers)
    assert not any(set(lines.text_of(row)) & {"\r", "\n"} for row in numbers)


def test_places_are_ordered_by_cell_row_and_column() -> None:
    places = [Location(9, 9), Location(1, 7, 2), Location(3, 1, 2), Location(3, 4, 2), Location(1, 1, 10)]
    backwards = places[::-1]
    assert sorted(backwards) == places
    assert Location(9, 9) < Location(1, 1, 1) <= Location(1, 1, 1)
    assert Location(1, 1, 2) > Location(9, 9, 1) >= Location(9, 9, 1)
    assert sorted([("b", places[0]), ("a", places[2]), ("a", places[1])])[0] == ("a", places[1])


def test_an_offset_beyond_its_row_is_held_inside() -> None:
    lines = LineIndex("ab\ncd")
    assert lines.offset(1, 99) == 2
    assert lines.offset(99, 1) == 3


def test_edits_are_applied_by_the_offsets_of_the_text_before() -> None:
    edits = [
        TextEdit(4, 6, "EF"),
        TextEdit(0, 0, "1"),
        TextEdit(2, 2, "2"),
        TextEdit(2, 4, ""),
        TextEdit(2, 2, "3"),
    ]
    assert apply_edits("abcdefgh", edits) == "1ab23EFgh"


@pytest.mark.parametrize(
    "edits", [[TextEdit(0, 3, ""), TextEdit(2, 4, "")], [TextEdit(7, 9, "")], [TextEdit(3, 1, "")]]
)
def test_edits_that_overlap_or_lie_outside_are_refused(edits: list[TextEdit]) -> None:
    with pytest.raises(ValueError, match="edit"):
        apply_edits("abcdefgh", edits)
