"""What is parsed after an edit is the tree that the whole text has."""

from __future__ import annotations

import random
from pathlib import Path

import libcst as cst
import pytest

from oomlint.documents.python_file import document_from_text
from oomlint.syntax.gates import PARSES, SyntaxFault
from oomlint.syntax.parse import parse_whole as parse
from oomlint.syntax.reparse import Reparser

FIXTURES = Path(__file__).parents[2] / "fixtures"
TEXTS = [
    (FIXTURES / name).read_text("utf-8")
    for name in (
        "OOM301-shuffle-buffer-large/bad_config_class.py",
        "OOM401-accumulation-never-accumulates/bad.py",
        "OOM303-prefetch-many-batches/bad.py",
    )
]
ODD = """\
# -*- coding: utf-8 -*-

# what is above the first statement


import os
if os.name:
  pass
  # belongs to the block
 # so does this?
# this does not

else:
\tx = [
 1,
]
  # indented, and of nobody

@decorated

# in between
def f(): return 1; y = 2



class C:
    '''
doc
    '''

    def m(self):
        return {
            1}
    # end of C

# end of file
"""
# What is put in, taken out or doubled: letters, and what opens, closes or joins statements.
BITS = [
    "x",
    "\n",
    "    ",
    "#",
    "# c\n",
    "'''",
    "(",
    ")",
    ":",
    "\\\n",
    "if x:\n    y\n",
    "else:\n",
    "\n\n\n",
    "\r\n",
    "\t",
    ";",
    "@f\n",
]


def _same(text: str, reparser: Reparser) -> bool:
    """Whether both ways give the same; False where the text does not parse."""
    document = document_from_text(text, "a.py")
    try:
        expected = parse(document).module
    except SyntaxFault:
        with pytest.raises(SyntaxFault):
            reparser.parse(document)
        return False
    found = reparser.parse(document).module
    assert found.deep_equals(expected), text
    assert found.code == expected.code
    assert (found.default_indent, found.default_newline) == (
        expected.default_indent,
        expected.default_newline,
    )
    return True


@pytest.mark.parametrize("text", [*TEXTS, ODD, ODD.replace("\n", "\r\n"), ODD.rstrip("\n")], ids=range(6))
def test_edits_anywhere(text: str):
    rng = random.Random(len(text))
    reparser = Reparser()
    parsed = 0
    for _ in range(50):
        at = rng.randrange(len(text) + 1)
        until = min(len(text), at + rng.choice((0, 0, 0, 1, 5, 40)))
        edited = text[:at] + rng.choice(BITS) * rng.choice((0, 1, 1)) + text[until:]
        if _same(edited, reparser):
            parsed += 1
            if rng.random() < 0.3 and len(edited) < 4000:
                text = edited  # and go on from there
    assert parsed > 8


def test_a_keystroke_costs_a_few_statements(monkeypatch: pytest.MonkeyPatch):
    text = "".join(f"def f{n}(x):\n    y = x + {n}\n    return y\n\n\n" for n in range(200))
    reparser = Reparser()
    reparser.parse(document_from_text(text, "a.py"))
    parts: list[str] = []
    original = cst.parse_module

    def parse_module(source: str) -> cst.Module:
        parts.append(source)
        return original(source)

    monkeypatch.setattr(cst, "parse_module", parse_module)
    PARSES.reset()
    for edit in ("x + 100 + 7", "x + 100 + 77", "x + 100 + 777"):
        edited = text.replace("x + 100", edit)
        assert reparser.parse(document_from_text(edited, "a.py")).module.code == edited
    assert PARSES.libcst == 0
    assert [part.count("def ") for part in parts] == [
        4,
        4,
        4,
    ]  # the one before last, and three around the edit


def test_what_a_tree_leaves_out_is_parsed_as_a_whole_each_time():
    text = "import os\n\x0cx = 1\ny = 2\n"  # LibCST drops the form feed
    reparser = Reparser()
    for number in range(3):
        assert _same(f"{text}z = {number}\n", reparser)
