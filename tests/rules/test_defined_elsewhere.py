"""Functions of another module, of which it is not known whether that module defines them."""

from __future__ import annotations

import pytest

from oomlint.testing import run_rule

SCRIPT = """\
import os

os.environ["KERAS_BACKEND"] = "torch"
import keras
import torch
from backend import where

model = keras.Sequential([keras.Input((4,)), keras.layers.Dense(1)])
model.compile("sgd", "mse")
model.fit(x, where(y))
"""
# One module for two generations of Keras, of which the script's backend has the newer one.
OLD_ONLY = """\
import keras

if keras.__version__ < "3.0":
    import tensorflow as tf

    def where(x):
        return tf.broadcast_to(x, (8, 1))
"""
ALWAYS = """\
import tensorflow as tf


def where(x):
    return tf.broadcast_to(x, (8, 1))
"""


@pytest.mark.parametrize(("module", "found"), [(OLD_ONLY, []), (ALWAYS, [10])])
def test_a_function_that_one_generation_of_keras_has(module: str, found: list[int]) -> None:
    said = run_rule("OOM106", SCRIPT, modules={"backend": module})
    assert [one.location.row for one in said] == found
