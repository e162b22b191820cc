"""Vocabularies that were not read, of which the script takes no more than a number; and other small things of texts."""

from __future__ import annotations

from pathlib import Path

import pytest
from estimate.scripts import build

from oomlint.estimate.errors import EstimateError

_READER = """
import tensorflow as tf
from tensorflow.keras import layers
from tensorflow.keras.models import Sequential
from tensorflow.keras.preprocessing.text import Tokenizer

MAX_WORDS = 300

class Reader:
    def __init__(self):
        self.tokenizer = Tokenizer()

    def train(self, texts, labels):
        self.tokenizer.fit_on_texts(texts)
        words = {words}
        model = Sequential()
        model.add(layers.InputLayer(shape=(20,), name="input"))
        model.add(layers.Embedding(input_dim=words, output_dim=4, input_length=20))
        model.add(layers.Flatten())
        model.add(layers.Dense(1))
        model.compile("adam", "mse")
        model.fit(tokenized(texts), labels, epochs=2)

Reader().train(*read("texts.csv"))
"""


@pytest.mark.parametrize(
    "words",
    ["min(len(self.tokenizer.word_index) + 1, MAX_WORDS)", "min(MAX_WORDS, len(self.tokenizer.word_index))"],
)
def test_a_count_that_is_cut_to_a_number(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, words: str):
    subject = build(tmp_path, _READER.format(words=words), monkeypatch)
    assert subject.model.count_params() == 300 * 4 + 20 * 4 + 1
    assert tuple(subject.data[0].shape)[1:] == (20,)
    (said,) = (one for one in subject.assumptions if "is taken to be" in one)
    assert said.startswith("len(self.tokenizer.word_index)") and "300 or more" in said


def test_a_count_that_is_known_is_no_cap(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    subject = build(tmp_path, _READER.format(words='min(len(["a", "b", "c"]), MAX_WORDS)'), monkeypatch)
    assert subject.model.count_params() == 3 * 4 + 20 * 4 + 1
    assert not any("is taken to be" in one for one in subject.assumptions)


def test_variables_that_an_attribute_keeps(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    text = """
        import tensorflow as tf

        class Solver:
            def __init__(self, width):
                self.net = tf.keras.Sequential([tf.keras.Input((2,)), tf.keras.layers.Dense(width)])
                self.params = self.net.trainable_variables
                self.optimizer = tf.keras.optimizers.Nadam()

            def loss(self, x, y):
                return tf.reduce_mean(tf.square(self.net(x) - y))

            def step(self, x, y):
                with tf.GradientTape() as tape:
                    loss = self.loss(x, y)
                gradients = tape.gradient(loss, self.params)
                self.optimizer.apply_gradients(zip(gradients, self.params))

        solver = Solver(7)
        for x, y in points_of_a_file():
            solver.step(x, y)
    """
    subject = build(tmp_path, text, monkeypatch, batch_size=5)
    assert subject.model.count_params() == 2 * 7 + 7
    assert type(subject.model.optimizer).__name__ == "Nadam"
    assert tuple(subject.data[0].shape) == (5, 2)


def test_vectors_of_words_that_a_constructor_reads(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    text = """
        import numpy as np
        from tensorflow.keras import Model
        from tensorflow.keras.datasets import imdb
        from tensorflow.keras.layers import Dense, Embedding, Flatten, Input

        class Builder:
            def __init__(self, words):
                self.words, self.vectors = words, {}
                with open("vectors.txt") as lines:
                    for line in lines:
                        word, *numbers = line.split()
                        self.vectors[word] = np.asarray(numbers, "float32")

            def build(self, most, length):
                count = min(most, len(self.vectors) + 1)
                matrix = np.zeros((count, 6))
                for word, place in self.words.items():
                    if place < most:
                        matrix[place] = self.vectors[word]
                inputs = Input((length,), dtype="int32")
                x = Flatten()(Embedding(count, 6, weights=[matrix], trainable=False)(inputs))
                return Model(inputs, Dense(1)(x))

        model = Builder(imdb.get_word_index()).build(400, 12)
        model.compile("adam", "binary_crossentropy")
        model.fit(read_reviews(), read_marks(), batch_size=4)
    """
    subject = build(tmp_path, text, monkeypatch)
    assert subject.model.count_params() == 400 * 6 + 12 * 6 + 1
    assert tuple(subject.data[0].shape) == (4, 12)


def test_a_file_that_is_tried_for(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    text = """
        from tensorflow import keras

        class Sizes:
            def __init__(self):
                self.widths = {}
                try:
                    with open("widths.txt") as lines:
                        for line in lines:
                            self.widths["first"] = int(line)
                except FileNotFoundError:
                    self.widths = {"first": 5}

        sizes = Sizes()
        model = keras.Sequential([keras.Input((3,)), keras.layers.Dense(sizes.widths["first"])])
        model.compile("adam", "mse")
        model.fit(read_all(), read_marks())
    """
    assert build(tmp_path, text, monkeypatch).model.count_params() == 3 * 5 + 5


def test_what_a_class_of_settings_counts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    text = """
        import os
        from tensorflow import keras

        class Settings:
            words = len(open("words.txt").read().split())
            width = None

        model = keras.Sequential([keras.Input((3,)), keras.layers.Dense(Settings.width)])
        model.compile("adam", "mse")
        model.fit(read_all(), read_marks())
    """
    with pytest.raises(EstimateError, match="width is None there") as caught:
        build(tmp_path, text, monkeypatch)
    assert caught.value.asked == "width"
    assert build(tmp_path, text, monkeypatch, arguments={"width": 7}).model.count_params() == 3 * 7 + 7


@pytest.mark.parametrize("name", ["RMSprop", "rmsprop"])
def test_optimizers_by_way_of_the_models_of_keras_2(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str
):
    text = """
        from keras.models import Sequential, optimizers
        from keras.layers import Dense

        model = Sequential()
        model.add(Dense(3, input_dim=4))
        model.compile(loss="mse", optimizer=optimizers.NAME(lr=0.01))
        model.fit(read_all(), read_marks(), nb_epoch=3)
    """
    subject = build(tmp_path, text.replace("NAME", name), monkeypatch)
    assert (type(subject.model.optimizer).__name__, subject.model.count_params()) == ("RMSprop", 4 * 3 + 3)


def test_a_class_of_settings_that_decides(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    text = """
        from tensorflow import keras

        class Settings:
            small = False
            if small:
                letters = {"a": 0, "b": 1}
            else:
                letters = {"a": 0, "b": 1, "c": 2}
            count = len(letters)

        model = keras.Sequential([keras.Input((3,)), keras.layers.Dense(Settings.count)])
        model.compile("adam", "mse")
        model.fit(read_all(), read_marks())
    """
    assert build(tmp_path, text, monkeypatch).model.count_params() == 3 * 3 + 3


def test_a_layer_that_is_called_as_what_trains(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    text = """
        from tensorflow import keras

        class Net(keras.Model):
            def __init__(self):
                super().__init__()
                self.hidden = keras.layers.Dense(5)
                self.predict = keras.layers.Dense(2)

            def call(self, x):
                x = self.hidden(x)
                x = self.predict(x)
                return x

        net = Net()
        net.compile("adam", "mse")
        net.fit(read_all(), read_marks())
    """
    subject = build(tmp_path, text, monkeypatch, input_shape=(3,))
    assert subject.model.count_params() == 3 * 5 + 5 + 5 * 2 + 2


def test_a_class_whose_base_trains_as_it_is_made(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    folder = tmp_path / "trained_as_made"
    folder.mkdir()
    (folder / "__init__.py").write_text("")
    (folder / "bases.py").write_text(
        "class Base:\n"
        "    def __init__(self, width):\n"
        "        self.width = width\n"
        "        self.define()\n"
        "        self.train()\n"
        "    def define(self):\n"
        "        pass\n"
        "    def train(self):\n"
        "        pass\n"
    )
    (folder / "networks.py").write_text(
        "from tensorflow import keras\n"
        "from trained_as_made.bases import Base\n"
        "class Network(Base):\n"
        "    def __init__(self, width):\n"
        "        super().__init__(width)\n"
        "    def define(self):\n"
        "        self.net = keras.Sequential([keras.Input((4,)), keras.layers.Dense(self.width)])\n"
        "        self.net.compile('sgd', 'mse')\n"
        "    def train(self):\n"
        "        self.net.fit(samples(), labels(), batch_size=6)\n"
    )
    text = """
        from trained_as_made.networks import Network

        def main():
            network = Network(9)

        main()
    """
    subject = build(tmp_path, text, monkeypatch)
    assert subject.model.count_params() == 4 * 9 + 9
    assert tuple(subject.data[0].shape) == (6, 4)


def test_layers_that_a_method_freezes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    text = """
        from tensorflow import keras

        class Tuned:
            def __init__(self, freeze=True):
                self.base = keras.Sequential([keras.Input((4,)), keras.layers.Dense(8), keras.layers.Dense(6)])
                if freeze:
                    self.freeze_layers()
                self.net = keras.Sequential([self.base, keras.layers.Dense(2)])

            def freeze_layers(self):
                for layer in self.base.layers:
                    layer.trainable = False

        tuned = Tuned()
        tuned.net.compile("adam", "mse")
        tuned.net.fit(read_all(), read_marks())
    """
    subject = build(tmp_path, text, monkeypatch)
    assert sum(int(one.shape.num_elements()) for one in subject.model.trainable_variables) == 6 * 2 + 2
    assert subject.model.count_params() == (4 * 8 + 8) + (8 * 6 + 6) + (6 * 2 + 2)


@pytest.mark.parametrize(("called", "said"), [("other", True), ("train_net", False)])
def test_a_training_that_nothing_calls_is_said(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, called: str, said: bool
):
    text = f"""
        from tensorflow import keras

        def train_net():
            net = keras.Sequential([keras.Input((3,)), keras.layers.Dense(2)])
            net.compile("adam", "mse")
            net.fit(read_all(), read_marks())

        def other():
            print("something else")

        if __name__ == "__main__":
            {called}()
    """
    subject = build(tmp_path, text, monkeypatch)
    assert subject.model.count_params() == 3 * 2 + 2
    words = [one for one in subject.assumptions if "no training was found in what the script calls" in one]
    assert bool(words) == said
    assert all("that of train_net (line 7)" in one for one in words)


_IN_TURNS = """
import tensorflow as tf

maker = tf.keras.Sequential([tf.keras.Input((3,)), tf.keras.layers.Dense(4)])
judge = tf.keras.Sequential([tf.keras.Input((4,)), tf.keras.layers.Dense(1)])
first, second = tf.keras.optimizers.Adam(), tf.keras.optimizers.SGD()

@tf.function
def train_maker(noise):
    with tf.GradientTape() as tape:
        made = maker(noise)
        loss = tf.reduce_mean(judge(made))
    first.apply_gradients(zip(tape.gradient(loss, maker.trainable_variables), maker.trainable_variables))
    return made

@tf.function
def train_judge(real, made):
    with tf.GradientTape() as tape:
        loss = tf.reduce_mean(judge(real)) - tf.reduce_mean(judge(made))
    second.apply_gradients(zip(tape.gradient(loss, judge.trainable_variables), judge.trainable_variables))

def train_step(real, noise):
    train_judge(real, train_maker(noise))

for real, noise in batches_of_a_file():
    train_step(real, noise)
"""


def test_both_parts_of_a_gan_whose_steps_one_function_calls(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    subject = build(tmp_path, _IN_TURNS, monkeypatch, batch_size=5)
    counts = {subject.model.count_params(), *(one.model.count_params() for one in subject.others)}
    assert counts == {3 * 4 + 4, 4 + 1}


def test_a_name_that_was_the_second_argument(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    text = """
        import tensorflow as tf

        net = tf.keras.Sequential([tf.keras.Input((3,)), tf.keras.layers.Dense(2)], "actor")
        net.compile("adam", "mse")
        net.fit(read_all(), read_marks())
    """
    subject = build(tmp_path, text, monkeypatch)
    assert (subject.model.name, subject.model.count_params()) == ("actor", 3 * 2 + 2)


def test_gradients_that_are_cut_in_two_ways(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    text = """
        from tensorflow import keras

        net = keras.Sequential([keras.Input((3,)), keras.layers.Dense(2)])
        net.compile(keras.optimizers.Adam(lr=0.1, clipnorm=1.0, clipvalue=0.5), "mse")
        net.fit(read_all(), read_marks())
    """
    optimizer = build(tmp_path, text, monkeypatch).model.optimizer
    assert (optimizer.clipnorm, optimizer.clipvalue) == (1.0, None)


def test_a_count_that_a_division_made(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    text = """
        from tensorflow import keras

        net = keras.Sequential([keras.Input((6,)), keras.layers.Embedding(input_dim=640 / 2, output_dim=4)])
        net.compile("adam", "mse")
        net.fit(read_all(), read_marks())
    """
    assert build(tmp_path, text, monkeypatch).model.count_params() == 320 * 4
