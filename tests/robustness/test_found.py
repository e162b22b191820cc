"""What generated programs, mutated fixtures and files of installed packages brought to light, each at its smallest."""

from __future__ import annotations

import ast

import pytest
from robustness.properties import Checks

from oomlint.documents.python_file import document_from_text
from oomlint.findings.registry import load_rules
from oomlint.syntax.parse import parse

CHECKS = Checks(tuple(load_rules()))

FIT = "model = keras.Sequential([keras.Input((8,)), keras.layers.Dense(1)])\nmodel.compile('adam', 'mse')\nmodel.fit(x, y)\n"

PROGRAMS = {
    # LibCST made the form feed a part of each row's indentation, so that no finding had a place.
    "a form feed before the first row of a block": f"from tensorflow import keras\nif flag:\n\x0c    a = 1\n    b = 2\n{FIT}",
    # LibCST counted the form feed as a column and found no block that the row belongs to.
    "a form feed before a later row of a block": f"from tensorflow import keras\ndef f():\n    a = 1\n    def g():\n\x0c        b = 1\n        c = 2\n    d = 3\n{FIT}",
    "blanks before a form feed": f"from tensorflow import keras\nif a:\n      \x0c  b = 1\n  \x0c  c = '''\n\x0c  '''\n{FIT}",
    "form feeds and carriage returns": f"from tensorflow import keras\nif a:\n\x0c  if b:\n\x0c    c = 1\n\x0c  d = 2\n{FIT}".replace(
        "\n", "\r"
    ),
}


@pytest.mark.parametrize("name", PROGRAMS)
def test_a_program_that_went_wrong(name: str):
    text = PROGRAMS[name]
    found = CHECKS.check(document_from_text(text, "program.py"))
    assert found
    assert "OOM001" not in {one.code for one in found}
    assert not CHECKS.complaints(text, silence=9)


@pytest.mark.parametrize("name", [name for name in PROGRAMS if "form feed" in name])
def test_form_feeds_before_code_mean_nothing(name: str):
    document = document_from_text(PROGRAMS[name], "program.py")
    assert ast.dump(ast.parse(parse(document).module.code)) == ast.dump(ast.parse(document.text))
