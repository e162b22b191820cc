"""The same verdict however TensorFlow, Keras and NumPy are imported."""

from __future__ import annotations

import ast

import pytest
from fixture_files import Fixture, by_id, fixtures

from oomlint.testing import SPELLINGS, mismatches, spelled

SCRIPT = """\
import tensorflow as tf
from tensorflow import keras
import numpy as np


def build(tf_rate=0.1):
    model = keras.Sequential([keras.layers.Dense(4), keras.layers.Dense(2)])
    print(f"{np.pi} {tf.version}", "tf.zeros", model.keras)  # tf, np
    return tf.zeros(np.prod((2, 3)))
"""


@pytest.mark.parametrize("fixture", **by_id(fixtures("bad", "good", "like")))
def test_verdict_does_not_depend_on_the_imports(fixture: Fixture):
    wrong = []
    for name, text in spelled(fixture.document().text):
        found = [diagnostic for diagnostic in fixture.check(text) if diagnostic.filename == str(fixture.path)]
        wrong += [f"{name}: {line}" for line in mismatches(text, found)]
    assert not wrong, "\n".join(wrong)


def test_rewrites_say_the_same_in_other_words():
    ways = dict(spelled(SCRIPT))
    assert set(ways) == {spelling.name for spelling in SPELLINGS} - {"as written"}
    assert ways["tf.keras"].splitlines()[1] == "import tensorflow"
    assert "tf.keras.Sequential([tf.keras.layers.Dense(4)" in ways["tf.keras"]
    assert "model.keras" in ways["tf.keras"]
    assert ways["import tensorflow as flow"].splitlines()[0] == "import tensorflow as flow"
    assert 'print(f"{np.pi} {flow.version}", "tf.zeros"' in ways["import tensorflow as flow"]
    assert "tf_rate=0.1" in ways["import tensorflow as flow"]
    assert "numpy.prod" in ways["import numpy"]
    assert "from tensorflow.keras.layers import Dense" in ways["names from modules"]
    assert "[Dense(4), Dense(2)]" in ways["names from modules"]
    assert "[La.Dense(4), La.Dense(2)]" in ways["module aliases"]
    for text in ways.values():
        ast.parse(text)
        assert text.count("\n") == SCRIPT.count("\n")


def test_a_script_for_one_generation_is_not_spelled_as_the_other():
    third = dict(spelled("# keras: 3\n" + SCRIPT))
    second = dict(spelled("# source: somewhere\n# keras: 2\n" + SCRIPT))
    assert "import tf_keras as keras" not in third
    assert "import keras" in third
    assert "import tf_keras as keras" in second
    assert "import keras" not in second
