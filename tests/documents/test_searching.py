"""What the search of the C library says is what Python's own says."""

from __future__ import annotations

import ctypes

import pytest

from oomlint.documents import searching


@pytest.mark.parametrize(
    ("raw", "word", "held"),
    [
        (b"import keras\n", b"keras", True),
        (b"import kera\0s", b"keras", False),
        (b"\0\0keras", b"keras", True),  # a zero ends a string of C, and no file
        (b"\xff\xfekeras\xe9", b"keras", True),
        (b"keras", b"keras", True),
        (b"kera", b"keras", False),
        (b"", b"keras", False),
        (b"tensorflo" * 5000 + b"tensorflow", b"tensorflow", True),
        (b"tensorflo" * 5000, b"tensorflow", False),
    ],
)
def test_a_word_is_held_or_not(raw, word, held):
    assert searching.contains(raw, word) is held
    assert searching.by_python(raw, word) is held


@pytest.mark.parametrize("fault", [TypeError, OSError, AttributeError])
def test_where_the_c_library_has_none_python_searches(monkeypatch, fault):
    def library(name):
        raise fault

    monkeypatch.setattr(ctypes, "PyDLL", library)
    assert searching._by_c() is searching.by_python
