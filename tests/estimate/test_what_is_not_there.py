"""Scripts whose libraries, files or data sets are not on the machine, as far as their model does not hang on them."""

from __future__ import annotations

from pathlib import Path

import pytest
from estimate.scripts import build

from oomlint.estimate.errors import EstimateError


def test_decorators_of_a_library_that_is_not_installed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    text = """
import no_such_library
from no_such_library import traced
from tensorflow import keras

@no_such_library.configurable(module="layers")
class Twice(keras.layers.Layer):
    def __init__(self, units):
        super().__init__()
        self.one = keras.layers.Dense(units)
    def call(self, x):
        return self.one(x)

@traced
def model_of(units):
    return keras.Sequential([keras.Input((8,)), Twice(units)])

model = model_of(3)
model.compile("sgd", "mse")
model.fit(x, y)
"""
    assert build(tmp_path, text, monkeypatch).model.count_params() == 8 * 3 + 3


def test_a_layer_of_its_own_that_keeps_variables_of_tensorflow(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    text = """
import tensorflow as tf

class Linear(tf.keras.layers.Layer):
    def __init__(self, inputs, units):
        super().__init__()
        self.w = tf.Variable(tf.zeros((inputs, units)), trainable=True)
        self.note = tf.Variable("of text", trainable=False)
        self.parts = [tf.Variable(tf.zeros(units)), tf.Variable(0.0, trainable=False)]
    def call(self, x):
        return tf.matmul(x, self.w) + self.parts[0]

model = tf.keras.Sequential([tf.keras.Input((100,)), Linear(100, 90), Linear(90, 7)])
model.compile("adam", "mse")
model.fit(x, y)
"""
    subject = build(tmp_path, text, monkeypatch)
    weights = [tuple(one.shape) for one in subject.model.trainable_variables]
    assert sorted(weights) == [(7,), (90,), (90, 7), (100, 90)]
    assert len(subject.model.non_trainable_variables) == 2
    assert any("tf.Variable of a layer" in text for text in subject.assumptions)


@pytest.mark.parametrize(
    "private",
    [
        "from tensorflow.python.keras.api._v2 import keras",
        "from tensorflow.python.keras.api._v2.keras import layers\nfrom tensorflow_core.python.keras.api import keras",
        "from keras.api._v2 import keras",
    ],
)
def test_keras_from_its_private_modules(private: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    text = f"""
{private}
model = keras.Sequential([keras.Input((8,)), keras.layers.Dense(3)])
model.compile("sgd", "mse")
model.fit(x, y)
"""
    assert build(tmp_path, text, monkeypatch).model.count_params() == 27


def test_the_word_index_of_a_data_set_of_keras(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    text = """
import tensorflow as tf

def words(most, first=2):
    index = tf.keras.datasets.imdb.get_word_index()
    return {word: number + first for word, number in index.items() if number + first < most}

index = words(1000)
model = tf.keras.Sequential([
    tf.keras.Input((50,)), tf.keras.layers.Embedding(max(index.values()) + 1, 16), tf.keras.layers.LSTM(4)
])
model.compile("adam", "mse")
model.fit(x, y)
"""
    # The largest number below 1,000 is 999; an LSTM has four gates.
    assert build(tmp_path, text, monkeypatch).model.count_params() == 1000 * 16 + 4 * 4 * (16 + 4 + 1)


def test_labels_of_known_length_whose_classes_only_the_data_tells(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    text = """
from sklearn.datasets import load_digits
from keras.utils import to_categorical
import keras
data = load_digits()
x, y = data.images.reshape((1797, -1)), to_categorical(data.target)
model = keras.Sequential([keras.Input((x.shape[1],)), keras.layers.Dense(y.shape[1])])
model.compile("sgd", "categorical_crossentropy")
model.fit(x, y)
"""
    subject = build(tmp_path, text, monkeypatch)
    assert subject.model.count_params() == (64 + 1) * 10
    assert any(text.startswith("10 classes: y comes from data") for text in subject.assumptions)
    assert build(tmp_path, text, monkeypatch, arguments={"y": (None, 4)}).model.count_params() == (64 + 1) * 4


def test_what_was_computed_with_a_library_that_is_not_there_can_be_given(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    text = """
from no_such_library import Reader
import keras
reader = Reader("annotations.json")
num_classes = len(reader.categories())
width = reader.width()
model = keras.Sequential([keras.Input((int(width),)), keras.layers.Dense(num_classes)])
model.compile("sgd", "mse")
model.fit(x, y)
"""
    with pytest.raises(EstimateError, match="no_such_library") as caught:
        build(tmp_path, text, monkeypatch)
    assert "width" in caught.value.instead
    subject = build(tmp_path, text, monkeypatch, arguments={"width": 6})
    assert subject.model.count_params() == (6 + 1) * 10
    assert any(text.startswith("10 classes: num_classes") for text in subject.assumptions)


def test_an_optimizer_and_a_rate_that_are_not_known(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    text = """
import keras

def train(optimizer, dropout_rate):
    model = keras.Sequential([keras.Input((8,)), keras.layers.Dropout(dropout_rate), keras.layers.Dense(3)])
    model.compile(optimizer=optimizer, loss="mse")
    model.fit(x, y)
"""
    subject = build(tmp_path, text, monkeypatch)
    assert type(subject.model.optimizer).__name__ == "Adam"
    assert any(text.startswith("optimizer Adam: optimizer is not known") for text in subject.assumptions)
    assert any("dropout_rate is not known" in text for text in subject.assumptions)


def test_settings_beside_the_script_and_arguments_of_the_command_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    (tmp_path / "sizes.json").write_text('{"units": 5}')
    (tmp_path / "old.h5").write_bytes(b"")
    text = """
import json, os, sys
from pathlib import Path
import keras

inputs = sys.argv[1]
if not (os.path.exists("sizes.json") and Path("sizes.json").exists() and Path("sizes.json").is_file()):
    raise SystemExit("no sizes")
units = json.loads(Path("sizes.json").read_text())["units"]
if os.path.exists("old.h5"):
    units = 1000
model = keras.Sequential([keras.Input((int(inputs),)), keras.layers.Dense(units)])
model.compile("sgd", "mse")
model.fit(x, y)
"""
    with pytest.raises(EstimateError) as caught:
        build(tmp_path, text, monkeypatch)
    assert caught.value.asked == "inputs"
    assert build(tmp_path, text, monkeypatch, arguments={"inputs": 7}).model.count_params() == (7 + 1) * 5


def test_a_loss_of_an_add_on_library_and_an_initializer_for_an_older_keras(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    text = """
import numpy as np
import keras
import tensorflow_addons as tfa

class Prior(keras.initializers.Initializer):
    def __call__(self, shape, dtype=None):
        return np.ones(shape, dtype=dtype.as_numpy_dtype)

def train(loss=tfa.losses.TripletSemiHardLoss(margin=1.0)):
    model = keras.Sequential([keras.Input((8,)), keras.layers.Dense(3, bias_initializer=Prior())])
    model.compile("sgd", loss)
    model.fit(x, y)

train()
"""
    subject = build(tmp_path, text, monkeypatch)
    assert subject.model.count_params() == 8 * 3 + 3
    assert any(
        text.startswith("loss mean_squared_error, chosen by the output") for text in subject.assumptions
    )


def test_what_a_condition_that_is_not_known_would_have_bound(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    text = """
import argparse
import keras
parser = argparse.ArgumentParser()
parser.add_argument("--gpus", required=True)
args = parser.parse_args()
models = {}
if int(args.gpus) > 1:
    models["one"] = keras.Sequential([keras.Input((8,)), keras.layers.Dense(3)])
else:
    models["one"] = keras.Sequential([keras.Input((8,)), keras.layers.Dense(2)])
models["one"].compile("sgd", "mse")
models["one"].fit(x, y)
"""
    with pytest.raises(EstimateError) as caught:
        build(tmp_path, text, monkeypatch)
    assert caught.value.asked == "gpus"
    assert build(tmp_path, text, monkeypatch, arguments={"gpus": 1}).model.count_params() == 8 * 2 + 2


def test_a_model_whose_shapes_are_not_known_asks_for_the_data_and_not_for_a_method_of_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    text = """
import numpy as np
import keras
from no_such_library import Tokenizer

def windows(rows):
    return np.array([rows.iloc[i : i + 30].values for i in range(len(rows) - 30)])

import pandas
x = windows(pandas.read_csv("prices.csv"))
words = Tokenizer().vocab_size()
model = keras.Sequential([keras.Input((x.shape[1], x.shape[2])), keras.layers.LSTM(4), keras.layers.Dense(words)])
model.compile("sgd", "mse")
model.fit(x, y)
"""
    with pytest.raises(EstimateError) as caught:
        build(tmp_path, text, monkeypatch)
    asked = {caught.value.asked, *caught.value.instead}
    assert not asked & {"compile", "model.compile"}, asked
    with pytest.raises(EstimateError) as caught:
        build(tmp_path, text, monkeypatch, input_shape=(30, 2))
    assert "words" in caught.value.instead
    subject = build(tmp_path, text, monkeypatch, arguments={"vocab_size": 50}, input_shape=(30, 2))
    assert subject.model.count_params() == 4 * 4 * (2 + 4 + 1) + (4 + 1) * 50


def test_a_library_that_complains_of_a_class_alone_names_the_value(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    text = """
import keras
from no_such_library import read
kind = read("kind.pkl")
other = read("other.pkl")
size = int("".join([kind, other.name]))
model = keras.Sequential([keras.Input((8,)), keras.layers.Dense(size)])
model.compile("sgd", "mse")
model.fit(x, y)
"""
    with pytest.raises(EstimateError) as caught:
        build(tmp_path, text, monkeypatch)
    assert "kind" in caught.value.instead and "other" not in caught.value.instead


def test_a_class_of_a_library_that_is_not_there(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    text = """
import keras
from trainers_that_are_not_here import Trainer, Logged

class Mine(Trainer, Logged):
    def __init__(self, settings, width):
        super().__init__(settings, name="mine")
        self.width = width

    def network(self):
        model = keras.Sequential([keras.Input((4,)), keras.layers.Dense(self.width)])
        model.compile("sgd", "mse")
        return model

mine = Mine({"a": 1}, 3)
model = mine.network()
model.fit(mine.data, mine.labels)
"""
    assert build(tmp_path, text, monkeypatch).model.count_params() == 4 * 3 + 3


@pytest.mark.parametrize(
    ("made", "words", "hint"),
    [
        ("len(x)", "the number of samples comes from data", "--data x=1000x16"),
        ("int(sum(x))", "the numbers of the data are needed there", "FILE.py:function"),
    ],
)
def test_what_is_needed_of_the_data_is_said_in_words_that_can_be_followed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, made: str, words: str, hint: str
):
    from oomlint.estimate.worker.absent.stand_ins import Data, NeededError
    from oomlint.estimate.worker.script.running import asked

    x = Data((None, 28, 28), "uint8", "x")
    with pytest.raises(NeededError) as caught:
        eval(made, {"x": x})
    error = asked(caught.value.value, "train.py", [])
    assert words in error.message
    assert hint in error.hint
