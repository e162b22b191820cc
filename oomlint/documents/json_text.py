"""JSON as text: where some of its values stand, and edits of a string in it that leave every other byte alone."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

from oomlint.documents.text_edits import TextEdit

_BLANK = re.compile(r"[ \t\r\n]*")
_STRING = re.compile(r'"((?:[^"\\]|\\.)*)"', re.DOTALL)
# What stands for one character of a string. Two escaped surrogates are one character.
_UNIT = re.compile(
    r"\\u[dD][89abAB][0-9a-fA-F]{2}\\u[dD][c-fC-F][0-9a-fA-F]{2}|\\u[0-9a-fA-F]{4}|\\.|[^\\]", re.DOTALL
)
_DECODER = json.JSONDecoder()

Reader = Callable[[str, int], tuple[Any, int]]


@dataclass(frozen=True, slots=True)
class Spanned:
    """A value, and where it stands in the text."""

    value: Any
    start: int
    end: int


def read_any(text: str, at: int) -> tuple[Any, int]:
    """The value that starts here, and its end. Raises JSONDecodeError."""
    return _DECODER.raw_decode(text, at)


def read_spanned(text: str, at: int) -> tuple[Spanned, int]:
    """The same, with its place."""
    value, end = read_any(text, at)
    return Spanned(value, at, end), end


def object_reader(readers: Mapping[str, Reader]) -> Reader:
    """Reads an object; the values of some keys by readers of their own. Of a key given twice the last one counts."""

    def read(text: str, at: int) -> tuple[Any, int]:
        if text[at : at + 1] != "{":
            return read_any(text, at)
        members: dict[str, Any] = {}
        at = _after_blank(text, at + 1)
        while text[at : at + 1] != "}":
            key, at = read_any(text, at)
            at = _after_blank(text, at)
            if not isinstance(key, str) or text[at : at + 1] != ":":
                raise json.JSONDecodeError("expected a key and a colon", text, at)
            members[key], at = readers.get(key, read_any)(text, _after_blank(text, at + 1))
            at = _after_item(text, at, "}")
        return members, at + 1

    return read


def list_reader(read_item: Reader) -> Reader:
    """Reads a list, whose items have a reader of their own."""

    def read(text: str, at: int) -> tuple[Any, int]:
        if text[at : at + 1] != "[":
            return read_any(text, at)
        items = []
        at = _after_blank(text, at + 1)
        while text[at : at + 1] != "]":
            item, at = read_item(text, at)
            items.append(item)
            at = _after_item(text, at, "]")
        return items, at + 1

    return read


def read_whole(text: str, reader: Reader) -> Any:
    """What a text of JSON holds. Raises JSONDecodeError."""
    value, at = reader(text, _after_blank(text, 0))
    at = _after_blank(text, at)
    if at != len(text):
        raise json.JSONDecodeError("something stands behind the end", text, at)
    return value


def _after_blank(text: str, at: int) -> int:
    found = _BLANK.match(text, at)
    assert found is not None  # the pattern matches anywhere
    return found.end()


def _after_item(text: str, at: int, closing: str) -> int:
    at = _after_blank(text, at)
    if text[at : at + 1] == ",":
        at = _after_blank(text, at + 1)
        if text[at : at + 1] in (closing, ""):
            raise json.JSONDecodeError("expected a value after the comma", text, at)
    elif text[at : at + 1] != closing:
        raise json.JSONDecodeError(f"expected a comma or {closing}", text, at)
    return at


@dataclass(frozen=True, slots=True)
class _Unit:
    """A character as it is written. `gap`: what stands between its string and the next one, if it ends one."""

    written: str
    gap: str | None = None


def string_at(written: str, row: int) -> int:
    """Where the string starts that has a row of the text in it; the text is a string, or a list of strings."""
    passed = 1
    found = 0
    for token in _STRING.finditer(written):
        if token[1]:
            found = token.start()
            units = _UNIT.findall(token[1])
            passed += units.count("\\n")
            if row < passed or (row == passed and units[-1] != "\\n"):
                break
    return found


def edited_strings(written: str, edits: Sequence[TextEdit], *, ascii_only: bool) -> str:
    """A JSON string, or list of strings that are the rows of a text, after edits of that text.

    What is not edited keeps its spelling; new rows become strings of their own where the rows were.
    """
    is_list = written.startswith("[")
    # An empty string holds no character, so that it counts as what stands between two others.
    tokens = [token for token in _STRING.finditer(written) if token[1]]
    if not tokens:
        raise ValueError("there is no text to edit")
    opening, closing = written[: tokens[0].start()], written[tokens[-1].end() :]
    own = f",{_BLANK.match(written, 1).group() or ' '}"  # type: ignore[union-attr]  # matches anywhere
    gaps = [written[one.end() : other.start()] for one, other in pairwise(tokens)]
    gap = next((between for between in gaps if '"' not in between), own)
    units: list[_Unit] = []
    for token, behind in zip(tokens, (*gaps, gap), strict=True):
        *spelled, last = _UNIT.findall(token[1])
        units += (_Unit(one) for one in spelled)
        units.append(_Unit(last, behind))
    if units[-1].written != "\\n":  # what is added to the last row belongs to it
        units[-1] = _Unit(units[-1].written)
    new: list[_Unit] = []
    done = 0
    for edit in sorted(edits, key=lambda edit: (edit.start, edit.end)):
        if edit.start < done or edit.end > len(units):
            raise ValueError(f"edit {edit.start}..{edit.end} overlaps another one or lies outside the text")
        new += units[done : edit.start]
        for character in edit.text:
            spelled_new = json.dumps(character, ensure_ascii=ascii_only)[1:-1]
            new.append(_Unit(spelled_new, gap if is_list and character == "\n" else None))
        done = edit.end
    new += units[done:]
    if not new:
        return "[]" if is_list else '""'
    strings = [opening, '"']
    for number, unit in enumerate(new):
        strings.append(unit.written)
        if unit.gap is not None and is_list and number + 1 < len(new):
            strings.append(f'"{unit.gap}"')
    return "".join((*strings, '"', closing))
