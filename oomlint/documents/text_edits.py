"""Edits of a text by offsets."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass


@dataclass(frozen=True, slots=True, order=True)
class TextEdit:
    """Write `text` in place of ``[start, end)``; an insertion has `start` equal to `end`."""

    start: int
    end: int
    text: str


def apply_edits(text: str, edits: Iterable[TextEdit]) -> str:
    """The text after all edits, whose offsets mean the text before any of them.

    Insertions at one offset come out in the order given, before whatever replaces the text there.
    """
    pieces: list[str] = []
    done = 0
    for edit in sorted(edits, key=lambda edit: (edit.start, edit.end)):
        if edit.start < done or edit.end < edit.start or edit.end > len(text):
            raise ValueError(f"edit {edit.start}..{edit.end} overlaps another one or lies outside the text")
        pieces += (text[done : edit.start], edit.text)
        done = edit.end
    pieces.append(text[done:])
    return "".join(pieces)
