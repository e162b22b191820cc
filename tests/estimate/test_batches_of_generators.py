"""What a generator hands to `fit` says what a model takes that leaves its sizes open."""

from __future__ import annotations

from pathlib import Path

import pytest
from estimate.scripts import answered, build

_NETWORK = """
import numpy as np
import tensorflow as tf
from tensorflow.keras.preprocessing.image import ImageDataGenerator

inputs = tf.keras.Input((None, None, 3))
x = tf.keras.layers.GlobalAveragePooling2D()(tf.keras.layers.Conv2D(4, 3)(inputs))
model = tf.keras.Model(inputs, tf.keras.layers.Dense(2)(x))
model.compile("sgd", "categorical_crossentropy")
"""


@pytest.mark.parametrize(
    ("made", "batch"),
    [
        (
            """
            def batches(folder, batch_size, target_size=(224, 224)):
                return ImageDataGenerator(horizontal_flip=True).flow_from_directory(
                    directory=folder, target_size=target_size, batch_size=batch_size)
            model.fit(batches("pictures", 6, (40, 48)), epochs=2)
            """,
            6,
        ),
        (
            """
            def batches(files, batch_size):
                while True:
                    x, y = np.zeros((batch_size, 40, 48, 3)), np.zeros((batch_size, 2))
                    for place in range(batch_size):
                        x[place] = np.load(np.random.choice(files))
                    yield x, y
            model.fit(batches(open("names.txt").read().split(), 5), steps_per_epoch=9)
            """,
            5,
        ),
        (
            """
            class Batches(tf.keras.utils.Sequence):
                def __init__(self, files, size):
                    super().__init__()
                    self.files, self.size = files, size

                def __len__(self):
                    return len(self.files) // self.size

                def __getitem__(self, number):
                    x, y = np.empty((self.size, 40, 48, 3)), np.empty((self.size, 2))
                    for place, file in enumerate(self.files[number * self.size:]):
                        x[place,] = np.load(file)
                    return x, y
            model.fit(Batches(open("names.txt").read().split(), 7))
            """,
            7,
        ),
        (
            """
            class Batches(tf.keras.utils.Sequence):
                def __init__(self, files, size):
                    super().__init__()
                    self.files, self.size = files, size

                def __getitem__(self, number):
                    part = self.files[number * self.size : (number + 1) * self.size]
                    x, y = np.empty((len(part), 40, 48, 3)), np.empty((len(part), 2))
                    for place, file in enumerate(part):
                        x[place,] = np.load(file)
                    return x, y
            names = open("names.txt").read().split()
            model.fit(Batches(list(zip(names, names)), 9))
            """,
            9,
        ),
    ],
)
def test_a_generators_batches(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, made: str, batch: int):
    import textwrap

    subject = build(tmp_path, _NETWORK + textwrap.dedent(made), monkeypatch)
    assert tuple(subject.data[0].shape) == (batch, 40, 48, 3)
    assert tuple(subject.data[1].shape) == (batch, 2)


def test_a_model_without_input_layers_gets_them_as_they_are(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    text = """
        import numpy as np
        import tensorflow as tf

        def batches():
            while True:
                yield np.zeros((3, 6)), np.zeros((3, 2))

        model = tf.keras.Sequential([tf.keras.layers.Dense(2)])
        model.compile("sgd", "mse")
        model.fit(batches(), steps_per_epoch=4)
    """
    subject = build(tmp_path, text, monkeypatch)
    # Keras makes floats of its own width of arrays, and leaves those of a generator as they are.
    assert (tuple(subject.data[0].shape), subject.data[0].dtype) == ((3, 6), "float64")
    assert subject.model.count_params() == 6 * 2 + 2


def test_a_generator_whose_batches_nothing_tells_has_no_default_of_keras(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    text = """
        import numpy as np
        from tensorflow import keras

        def pairs(texts):
            while True:
                for one in texts:
                    x, y = windows(one)
                    yield np.array(x), np.array(y)

        model = keras.Sequential([keras.Input((4,)), keras.layers.Dense(2)])
        model.compile("sgd", "mse", jit_compile=False)
        for epoch in range(3):
            rounds = pairs(open("texts.txt").read().split())
            model.{fit}(rounds, steps_per_epoch=10)
    """
    for fit in ("fit_generator", "fit"):
        found = answered(tmp_path, text.format(fit=fit), monkeypatch)
        assert found.batch_size == 32
        assert "the batch of pairs(open('texts.txt').read().split()) is not known: 32" in found.instead[0]
        assert found.range_bytes[1] > 3 * found.peak_bytes
    flow = text.replace("pairs(open", "keras.preprocessing.image.ImageDataGenerator().flow(open")
    found = answered(tmp_path, flow.format(fit="fit"), monkeypatch)
    assert (found.batch_size, found.instead) == (32, ())
