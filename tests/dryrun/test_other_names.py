"""Parameters that a library names otherwise than the catalog: as the library itself has them, and read like the others."""

from __future__ import annotations

import inspect
import re
from typing import Any

import pytest

from oomlint.documents.python_file import document_from_text
from oomlint.dryrun.catalog.registry import load
from oomlint.dryrun.interpreter import dry_run
from oomlint.dryrun.values.arrays import Array
from oomlint.dryrun.values.base import deref
from oomlint.syntax.parse import parse

from .test_keras_shapes import IMPORTS, plain

CATALOG = load()


def _parameters(name: str) -> list[list[str]]:
    """In each of the libraries that have the function."""
    import keras
    import numpy
    import tensorflow as tf
    import tf_keras

    package, *parts = name.split(".")
    found = []
    for library in {"numpy": (numpy,), "tf": (tf,), "keras": (keras, tf_keras)}[package]:
        what: Any = library
        for part in parts:
            what = getattr(what, part, None)
        if what is not None:
            found.append([one for one in _names(what) if one != "self"])
    return found


def _names(function: Any) -> list[str]:
    """Its parameters in order. What NumPy 2.2 writes in C has no signature, but a first line of help."""
    try:
        return list(inspect.signature(function).parameters)
    except ValueError:
        inside = function.__doc__.partition("(")[2].partition(")")[0]
        return re.findall(r"(?:^|, )(\w+)", inside)


@pytest.mark.parametrize("name", sorted(CATALOG.other_names))
def test_the_library_has_that_name_in_that_place(name: str):
    for theirs, ours in CATALOG.other_names[name].items():
        place = CATALOG.signatures[name].index(ours)
        assert theirs in [one[place] for one in _parameters(name)]


@pytest.mark.parametrize(
    ("text", "shape"),
    [
        ("keras.utils.to_categorical(x=np.zeros((7,), int), num_classes=3)", (7, 3)),
        ("tf.nn.softmax(logits=tf.zeros((4, 5)))", (4, 5)),
        ("tf.nn.relu(features=tf.zeros((4, 5)))", (4, 5)),
        ("np.clip(a=np.zeros((2, 3)), a_min=0, a_max=1)", (2, 3)),
        ("np.asarray(a=np.zeros((2, 3)))", (2, 3)),
        ("np.empty_like(prototype=np.zeros((2, 3)))", (2, 3)),
        ("np.matmul(x1=np.zeros((2, 3)), x2=np.zeros((3, 4)))", (2, 4)),
    ],
)
def test_by_whatever_name_it_is_passed(text: str, shape: tuple[int, ...]):
    trace = dry_run(parse(document_from_text(f"{IMPORTS}value = {text}\n", "case.py")))
    [value] = [deref(event.value) for event in trace.assigns() if event.path == "value"]
    assert isinstance(value, Array)
    assert plain(value.shape) == shape
