"""A fix that needs Keras by name, where `keras` is the name of another Keras: nothing is bound anew."""

from __future__ import annotations

import ast

from oomlint.testing import fix_text, rules_named

SCRIPT = """\
{first}
import numpy as np
from keras.layers import Dense, Input
from keras.models import Sequential
{last}
x, y = np.load("x.npy"), np.load("y.npy")
model = Sequential([Input((4096,)), Dense(4096), Dense(4096), Dense(10)])
model.compile("adam", "mse", metrics=[{name}.metrics.MeanAbsoluteError()])
model.fit(x, y)
"""


def mended(first: str, name: str, last: str = "") -> str:
    return fix_text(rules_named(["OOM901"]), SCRIPT.format(first=first, name=name, last=last))


def test_the_policy_of_the_keras_that_is_trained():
    first = "from tensorflow import keras"
    text = mended(first, "keras")
    assert "from keras import mixed_precision\n" in text
    assert '\nmixed_precision.set_global_policy("mixed_float16")\n' in text
    assert "import keras\n" not in text.replace(first, "")
    ast.parse(text)


def test_a_name_that_is_free_is_taken():
    text = mended("import tensorflow as tf", "tf.keras")
    assert (
        "\nimport keras\n" in text and '\nkeras.mixed_precision.set_global_policy("mixed_float16")\n' in text
    )


def test_no_fix_where_both_names_are_taken():
    taken = "mixed_precision = True"
    first = "from tensorflow import keras"
    assert mended(first, "keras", taken) == SCRIPT.format(first=first, name="keras", last=taken)
