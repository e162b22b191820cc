"""Large files parsed in pieces: the tree that LibCST makes of the whole, node by node."""

from __future__ import annotations

from pathlib import Path

import libcst as cst
import pytest

from oomlint.documents.python_file import document_from_text
from oomlint.syntax import pieces
from oomlint.syntax.parse import LARGE
from oomlint.syntax.parse import parse_whole as parse


@pytest.fixture(autouse=True)
def small_pieces(monkeypatch):
    monkeypatch.setattr(pieces, "_PIECE", 60)


@pytest.mark.parametrize("name", ["layout", "positions", "import_edits", "place", "gates"])
def test_pieces_of_a_real_file_make_its_tree(name):
    text = Path(pieces.__file__).with_name(f"{name}.py").read_text(encoding="utf-8")
    made = pieces.parsed_in_pieces(text)
    assert made is not None
    assert made.deep_equals(cst.parse_module(text))


FILLING = "".join(f"value_{number} = {number}\n" for number in range(8))
METHODS = "".join(f"    def method_{number}(self):\n        return {number}\n\n" for number in range(6))
SHAPES = {
    "comments on top": f"# a\n\n# b\n{FILLING}",
    "comments between": FILLING.replace("\n", "\n\n# of the next\n"),
    "a comment of the block above": f"{FILLING}def f():\n    pass\n    # still of f\n{FILLING}",
    "a comment between columns": f"class A:\n{METHODS}  # of nobody\n{METHODS}",
    "a blank row with blanks": f"def f():\n    pass\n    \n{FILLING}",
    "several statements in a row": "a = 1; b = 2\n" * 20,
    "decorated": "@decorator\n@other(\n    1\n)\ndef f():\n    pass\n\n\n" * 6,
    "a class of many methods": f"import os\n\n\nclass A(B):\n    # first\n{METHODS}\n\nend = 1\n# last\n",
    "a class with an indented end": f"class A:\n{METHODS}    # of the class\n\n# of the module\n",
    "two blanks": f"{FILLING}class A:\n{METHODS}".replace("    ", "  ") + FILLING,
    "tabs": f"{FILLING}class A:\n{METHODS}".replace("    ", "\t") + FILLING,
    "two ways to indent": f"class A:\n{METHODS}\n\nclass B:\n{METHODS.replace('    ', '  ')}",
    "a class in a row": "class A: x = 1\n" * 12,
    "text over rows": 's = """\nclass A:\n    pass\n"""\n' * 8,
    "other ends of rows in text": "s = 'a\x0bb\x85c'\n" * 8,
    "no newline at the end": f"{FILLING}x = 1",
    "comments at the end": f"{FILLING}# a\n\n\n# b",
    "branches": f"if a:\n    pass\nelse:\n    pass\n# c\nfor x in y:\n    pass\nelse:\n    z\n{FILLING}" * 2,
}


@pytest.mark.parametrize("text", SHAPES.values(), ids=SHAPES)
def test_pieces_of_a_shape_make_its_tree_or_are_not_made(text):
    made = pieces.parsed_in_pieces(text)
    assert made is None or made.deep_equals(cst.parse_module(text))


def test_what_is_not_taken_apart():
    assert pieces.parsed_in_pieces(SHAPES["two ways to indent"]) is None
    assert (
        pieces.parsed_in_pieces(FILLING.replace("\n", "\r\n")) is None
    )  # a piece would have another newline
    assert pieces.parsed_in_pieces(FILLING + "def f(:\n") is None
    assert pieces.parsed_in_pieces("") is None
    assert pieces.parsed_in_pieces(SHAPES["a class of many methods"]) is not None


@pytest.mark.filterwarnings("error")
def test_what_python_warns_of_is_not_said():
    text = "import re\n" + 'digits = re.compile("\\d+")\n' * 3_000
    made = pieces.parsed_in_pieces(text)
    assert made is not None and made.code == text


def test_a_large_document_is_parsed_in_pieces(monkeypatch):
    parsed: list[str] = []
    whole = cst.parse_module
    monkeypatch.setattr(cst, "parse_module", lambda text: parsed.append(text) or whole(text))
    monkeypatch.setattr(pieces, "_PIECE", 20_000)
    text = "value = [1, 2, 3]\n" * (LARGE // 18 + 1)
    assert parse(document_from_text(text, "s.py")).module.code == text
    assert "".join(parsed) == text
    assert max(map(len, parsed)) <= 20_000
