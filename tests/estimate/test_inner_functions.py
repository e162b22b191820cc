"""Models whose `call` is under `tf.function`: as those that are not."""

from __future__ import annotations

import tempfile
from pathlib import Path

import pytest
from estimate.scripts import build

from oomlint.estimate.worker.graph.engine import footprint

TWO = """
import tensorflow as tf
from tensorflow import keras

class Judge(keras.Model):
    def __init__(self):
        super().__init__()
        self.first = keras.layers.Dense(128, activation="relu")
        self.last = keras.layers.Dense(1)

    @tf.function
    def call(self, x, training=True):
        return self.last(self.first(tf.reshape(x, (-1, 784))))

optimizer = keras.optimizers.Adam()

@tf.function
def step(x, model):
    with tf.GradientTape() as tape:
        loss = tf.reduce_mean(model(x, True))
    gradients = tape.gradient(loss, model.trainable_variables)
    optimizer.apply_gradients(zip(gradients, model.trainable_variables))

(x, y), _ = keras.datasets.mnist.load_data()
model = Judge()
for batch in tf.data.Dataset.from_tensor_slices(x).batch(64):
    step(batch, model)
"""


def test_a_call_under_a_function_of_tensorflow_is_part_of_the_step(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    inside = footprint(build(tmp_path, TWO, monkeypatch), "graph")
    plain = footprint(build(tmp_path, TWO.replace("    @tf.function\n", ""), monkeypatch), "graph")
    assert inside.parts == plain.parts
    assert inside.parts["gradients"] >= 784 * 128 * 4


def test_its_conditions_and_loops_are_still_those_of_tensors(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    text = """
import tensorflow as tf
from tensorflow import keras

class Grown(keras.layers.Layer):
    def build(self, shape):
        self.inner = keras.layers.Dense(5)
        self.inner.build(shape)

    @tf.function
    def call(self, x):
        if tf.reduce_sum(x) > 0:
            x = x * 2
        for _ in tf.range(3):
            x = x + 1.0
        return self.inner(x)

model = keras.Sequential([keras.Input((784,)), Grown()])
model.compile("adam", "sparse_categorical_crossentropy")
model.fit(x, y, batch_size=64)
"""
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "work"))  # where the child may write
    subject = build(tmp_path, text, monkeypatch)
    assert subject.model.count_params() == 784 * 5 + 5
    assert footprint(subject, "graph").parts["optimizer_state"] >= 2 * (784 * 5 + 5) * 4
