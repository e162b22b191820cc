"""The batch of a training call that does not say it: what makes its data does."""

from __future__ import annotations

from pathlib import Path

import pytest
from estimate.scripts import answered, build

FEED = """
from tensorflow import keras

class Feed(keras.utils.Sequence):
    def __init__(self, files, batch_size, side):
        self.files, self.side = files, side
        self.batch_size = batch_size

    def __len__(self):
        return len(self.files) // self.batch_size

    def __getitem__(self, index):
        return read(self.files[index]), labels(self.files[index])
"""


def test_an_object_that_yields_batches_keeps_their_size(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    (tmp_path / "settings.py").write_text("ALL_AT_ONCE = False\nSAMPLES = 5000\nBATCH_SIZE = 12\n")
    (tmp_path / "feed.py").write_text(FEED)
    text = """
        from settings import *
        from feed import Feed
        from tensorflow import keras

        def feeds():
            if ALL_AT_ONCE == True:
                size = SAMPLES
            if ALL_AT_ONCE == False:
                size = BATCH_SIZE
            return Feed(names(), batch_size=size, side=24), Feed(more_names(), batch_size=7, side=24)

        def train():
            training, testing = feeds()
            model = keras.Sequential([keras.Input((24, 24, 1)), keras.layers.Flatten(), keras.layers.Dense(2)])
            model.compile("adam", "mse")
            model.fit(training, validation_data=testing)

        train()
    """
    subject = build(tmp_path, text, monkeypatch)
    assert tuple(subject.data[0].shape) == (12, 24, 24, 1)
    assert any("12" in one and "Feed.batch_size" in one for one in subject.assumptions)


def test_what_the_number_of_batches_is_counted_with_is_their_size(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    text = """
        import math
        from tensorflow import keras

        class Feed(keras.utils.Sequence):
            def __init__(self, files, side, many):
                self.files, self.side, self.many = files, side, many

            def __len__(self):
                return math.ceil(len(self.files) / self.many)

            def __getitem__(self, index):
                return read(self.files, index, self.many)

        training, testing = Feed(names(), 24, many=12), Feed(more_names(), 24, many=5)
        model = keras.Sequential([keras.Input((24, 24, 1)), keras.layers.Flatten(), keras.layers.Dense(2)])
        model.compile("adam", "mse")
        model.fit(training, validation_data=testing)
    """
    subject = build(tmp_path, text, monkeypatch)
    assert tuple(subject.data[0].shape) == (12, 24, 24, 1)
    assert any("12" in one and "Feed.many" in one for one in subject.assumptions)


@pytest.mark.parametrize("said", ['config = {"batch": 12, "width": 4}', "BATCH = 12"])
def test_a_batch_in_settings_is_its_size_where_it_is_a_number(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, said: str
):
    text = f"""
        from tensorflow import keras
        from elsewhere import feed

        {said}
        model = keras.Sequential([keras.Input((4,)), keras.layers.Dense(2)])
        model.compile("adam", "mse")
        model.fit(feed("train"), epochs=2)
    """
    assert tuple(build(tmp_path, text, monkeypatch).data[0].shape) == (12, 4)


@pytest.mark.parametrize(
    ("second", "batch"),
    [("LAYERS = 3", 20), ("MINI_BATCH = 8", 20), ("batch_size = 8", 32)],
    ids=["one-name", "a-plainer-name", "two-names"],
)
def test_a_size_that_came_with_a_star(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, second: str, batch: int
):
    (tmp_path / "settings.py").write_text(f"BATCH_SIZE = 20\n{second}\n")
    text = """
        from settings import *
        from tensorflow import keras

        model = keras.Sequential([keras.Input((4,)), keras.layers.Dense(2)])
        model.compile("adam", "mse")
        model.fit(whatever_yields_batches(), epochs=2)
    """
    assert tuple(build(tmp_path, text, monkeypatch).data[0].shape) == (batch, 4)


LOOP = """
import tensorflow as tf
from tensorflow import keras
from elsewhere import batches

def step(model, optimizer, x, y):
    with tf.GradientTape() as tape:
        loss = tf.reduce_mean((model(x, training=True) - y) ** 2)
    found = tape.gradient(loss, model.trainable_variables)
    optimizer.apply_gradients(zip(found, model.trainable_variables))

def main():
    SIZES
    model = keras.Sequential([keras.Input((4,)), keras.layers.Dense(7)])
    optimizer = keras.optimizers.SGD()
    for x, y in batches("train", train_bs):
        step(model, optimizer, x, y)

main()
"""


@pytest.mark.parametrize(
    ("sizes", "batch"),
    [("train_bs, test_bs = 24, 100", 24), ("train_bs = 24; batch_size = 48", 32)],
    ids=["one-number", "two"],
)
def test_a_size_in_a_function_that_calls_the_step(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, sizes: str, batch: int
):
    subject = build(tmp_path, LOOP.replace("SIZES", sizes), monkeypatch)
    assert tuple(subject.data[0].shape) == (batch, 4)


def test_the_size_of_the_training_beside_that_of_a_test(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    text = """
        from types import SimpleNamespace as Of
        from tensorflow import keras
        from elsewhere import batches

        cfg = Of(TRAIN=Of(BATCH_SIZE=24), TEST=Of(BATCH_SIZE=100))
        model = keras.Sequential([keras.Input((4,)), keras.layers.Dense(7)])
        model.compile("sgd", "mse")
        feeds = {"test": batches(cfg.TEST.BATCH_SIZE), "train": batches(cfg.TRAIN.BATCH_SIZE)}
        model.fit(feeds["train"], epochs=2)
    """
    assert tuple(build(tmp_path, text, monkeypatch).data[0].shape) == (24, 4)


def test_the_batch_that_another_method_of_the_trainer_makes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    (tmp_path / "detector.json").write_text('{"train": {"batch_size": 3}}')
    text = """
        import json
        import tensorflow as tf

        class Detector:
            def __init__(self, file):
                self.config = json.load(open(file))
                self.net = tf.keras.Sequential([tf.keras.Input((4,)), tf.keras.layers.Dense(2)])
                self.optimizer = tf.keras.optimizers.Adam()

            def load(self, examples):
                self.examples = examples.batch(self.config["train"]["batch_size"])

            def train(self):
                for x, y in self.examples:
                    with tf.GradientTape() as tape:
                        loss = tf.reduce_mean(tf.square(self.net(x) - y))
                    gradients = tape.gradient(loss, self.net.trainable_variables)
                    self.optimizer.apply_gradients(zip(gradients, self.net.trainable_variables))

        detector = Detector("detector.json")
        detector.load(examples_of_a_file())
        detector.train()
    """
    subject = build(tmp_path, text, monkeypatch)
    assert tuple(subject.data[0].shape) == (3, 4)
    assert any("self.config['train']['batch_size']" in one for one in subject.assumptions)


TABLES = """
from feed_of_tables import feeds
from tensorflow import keras

def main(size):
    training, testing = feeds(size)
    model = keras.Sequential([keras.Input((6,)), keras.layers.Dense(2)])
    optimizer = keras.optimizers.SGD(0.1)
    for x, y in training:
        with tf.GradientTape() as tape:
            loss = tf.reduce_mean((model(x) - y) ** 2)
        optimizer.apply_gradients(zip(tape.gradient(loss, model.trainable_variables), model.trainable_variables))
        print(loss / training.batch_size)

main(12)
"""


def test_the_size_of_an_object_that_cannot_be_made(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    """The loop says `training.batch_size`, of what reads a folder; the object was made with 12."""
    (tmp_path / "feed_of_tables.py").write_text(
        FEED
        + "def feeds(size):\n    names = os.listdir('tables')\n    return Feed(names, size, 24), Feed(names, size, 24)\n"
    )
    subject = build(tmp_path, "import os\nimport tensorflow as tf\n" + TABLES, monkeypatch)
    assert subject.data[0].shape == (12, 6)
    assert "batch size 12, as self.batch_size says (another: --batch-size)" in subject.assumptions


def test_all_of_the_data_in_one_call(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    """`train_on_batch` has no default of 32: of 16 bytes a sample and 96 of weights, 32 samples are a guess."""
    text = """
        import numpy as np
        from tensorflow import keras

        model = keras.Sequential([keras.Input((4,)), keras.layers.Dense(2)])
        model.compile("sgd", "mse", jit_compile=False)
        samples = np.load("samples.npy")
        for epoch in range(10):
            model.train_on_batch(samples, labels)
    """
    found = answered(tmp_path, text, monkeypatch)
    assert found.batch_size == 32
    assert found.range_bytes[1] > 20 * found.peak_bytes
    assert any("train_on_batch takes all of samples at once" in one for one in found.instead)
    told = answered(tmp_path, text, monkeypatch, batch_size=500)
    assert (told.batch_size, told.instead) == (500, ())


def test_a_size_of_the_command_line_that_nobody_gave(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    """`fit` has a default for arrays; the batches of a generator are as large as the option says."""
    text = """
        import argparse
        from tensorflow import keras

        parser = argparse.ArgumentParser()
        parser.add_argument("SIZE", type=int)
        BATCH_SIZE = parser.parse_args().SIZE
        batches = read_all("pictures", batch_size=BATCH_SIZE)
        model = keras.Sequential([keras.Input((4,)), keras.layers.Dense(2)])
        model.compile("sgd", "mse", jit_compile=False)
        model.fit(batches, steps_per_epoch=100 // BATCH_SIZE)
    """
    found = answered(tmp_path, text, monkeypatch)
    assert found.range_bytes[1] > 3 * found.peak_bytes
    assert any("batch is not known: 32 is assumed" in one for one in found.instead)
    assert answered(tmp_path, text, monkeypatch, batch_size=500).instead == ()
