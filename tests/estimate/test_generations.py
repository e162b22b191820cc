"""Scripts for Keras 2 as `tf_keras`, estimated whole, in child processes of their own."""

from __future__ import annotations

import textwrap
from pathlib import Path

import pytest

from oomlint.estimate import launch
from oomlint.estimate.errors import EstimateError
from oomlint.estimate.request import Request
from oomlint.estimate.slicing.script import slice_script

pytest.importorskip("tf_keras")

BY_VARIABLE = """
    import os
    os.environ["TF_USE_LEGACY_KERAS"] = "1"
    from tensorflow import keras
    import numpy as np
    x, y = np.zeros((500, 12, 12, 1), "float32"), np.zeros(500, "int32")
    model = keras.Sequential([
        keras.layers.Conv2D(4, 3, input_shape=(12, 12, 1)),
        keras.layers.Flatten(),
        keras.layers.Dense(9, activation="softmax"),
    ])
    model.compile("sgd", "sparse_categorical_crossentropy")
    model.fit(x, y, batch_size=20)
"""
BY_PACKAGE = """
    import tf_keras
    class Net(tf_keras.Model):
        def __init__(self):
            super().__init__()
            self.first, self.last = tf_keras.layers.Dense(50), tf_keras.layers.Dense(3)
        def call(self, x):
            return self.last(self.first(x))
    import numpy as np
    model = Net()
    model.compile(tf_keras.optimizers.legacy.Adam(lr=0.01), "mse")
    model.fit(np.zeros((100, 7), "float32"), np.zeros((100, 3), "float32"), batch_size=10)
"""
BUILT_IN_THE_STEP = """
    import numpy as np
    import tensorflow as tf
    import tf_keras
    class Filler(tf_keras.Model):
        def __init__(self, tail):
            super().__init__()
            self.cut, self.tail = tf_keras.layers.Dense(7), tail
        def train_step(self, x):
            with tf.GradientTape() as tape:
                loss = tf.reduce_mean((x - self.tail(self.cut(x))) ** 2)
            held = self.cut.trainable_variables + self.tail.trainable_variables
            self.optimizer.apply_gradients(zip(tape.gradient(loss, held), held))
            return {"loss": loss}
    model = Filler(tf_keras.Sequential([tf_keras.Input((7,)), tf_keras.layers.Dense(5)]))
    model.compile(tf_keras.optimizers.SGD(0.1, momentum=0.9))
    model.fit(tf.data.Dataset.from_tensor_slices(np.zeros((64, 5), "float32")).batch(16))
"""
# Counted by hand: numbers of the weights, and slots for each (SGD of Keras 2 keeps a momentum even if it is 0).
CONVOLUTION, NET = 3 * 3 * 4 + 4 + 10 * 10 * 4 * 9 + 9, 7 * 50 + 50 + 50 * 3 + 3
FILLER = 5 * 7 + 7 + 7 * 5 + 5


@pytest.mark.parametrize(
    ("text", "batch", "optimizer", "weights", "slots"),
    [
        (BY_VARIABLE, 20, "SGD", CONVOLUTION, 1),
        (BY_PACKAGE, 10, "Adam", NET, 2),
        (BUILT_IN_THE_STEP, 16, "SGD", FILLER, 1),
    ],
)
def test_a_script_for_keras_2_is_built_with_it(tmp_path: Path, text, batch, optimizer, weights, slots):
    path = tmp_path / "train.py"
    path.write_text(textwrap.dedent(text))
    found = slice_script(path)
    request = Request(str(path), source=found.text, names=found.names)
    answer = launch.estimate(request, environment=launch.backend_environment(request))
    assert (answer.program, answer.engine, answer.backend) == ("graph", "graph", "tensorflow")
    assert (answer.batch_size, answer.optimizer) == (batch, optimizer)
    assert not answer.instead
    # A few numbers more: the mean of the loss, the iteration, the learning rate.
    assert 4 * weights <= answer.parts["weights"] < 4 * weights + 40
    assert 4 * weights * slots <= answer.parts["optimizer_state"] < 4 * weights * slots + 40


def test_without_tf_keras_it_is_said_how_to_install_it(monkeypatch):
    from oomlint.estimate.worker.keras import generation

    monkeypatch.setenv("TF_USE_LEGACY_KERAS", "1")
    monkeypatch.setitem(__import__("sys").modules, "tf_keras", None)
    with pytest.raises(EstimateError) as caught:
        generation.chosen()
    assert caught.value.hint == "Install it: pip install tf_keras"
