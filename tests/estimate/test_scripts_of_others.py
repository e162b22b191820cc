"""Shapes of scripts found in public repositories that gave no estimate once, each as a small script of its own words."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from estimate.scripts import build

from oomlint.estimate.errors import EstimateError
from oomlint.estimate.worker.tries.needed import all_of


def needs(tmp_path: Path, text: str, monkeypatch: pytest.MonkeyPatch) -> tuple[str, ...]:
    """What one `--data` has to say so that the script's model is built and its step followed."""
    from oomlint.estimate.request import Request
    from oomlint.estimate.slicing.script import slice_script
    from oomlint.estimate.worker.main import followed
    from oomlint.estimate.worker.step.building import build as build_request

    with pytest.raises(EstimateError) as caught:
        build(tmp_path, text, monkeypatch)
    path = tmp_path / "train.py"
    found = slice_script(path)
    request = Request(str(path), source=found.text, names=found.names)
    return all_of(caught.value, request, build_request, followed).needs


def described(**shapes: tuple[int, ...]) -> dict[str, Any]:
    return {name: {"shape": shape, "dtype": "float32", "below": None} for name, shape in shapes.items()}


def test_a_class_that_fits_in_a_module_of_a_module(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    (tmp_path / "base.py").write_text(
        "class Graph:\n"
        "    def __init__(self, settings):\n"
        "        self.batch = settings.get('batch', 64)\n"
        "        self.make(settings)\n"
        "        self.model.compile('sgd', 'mse')\n"
        "    def fit(self, x, y):\n"
        "        self.model.fit(x, y, batch_size=self.batch, epochs=2)\n"
    )
    (tmp_path / "network.py").write_text(
        "import keras\n"
        "from base import Graph\n"
        "class Network(Graph):\n"
        "    def make(self, settings):\n"
        "        self.model = keras.Sequential([keras.Input((8,)), keras.layers.Dense(settings['units'])])\n"
    )
    text = """
from network import Network

def train(settings=None):
    settings = settings or {"units": 3, "batch": 20}
    graph = Network(settings)
    x, y = load(settings)
    graph.fit(x, y)

if __name__ == "__main__":
    train()
"""
    subject = build(tmp_path, text, monkeypatch)
    assert subject.model.count_params() == 8 * 3 + 3
    assert subject.data[0].shape == (20, 8)


def test_shapes_that_have_methods_and_sizes_that_have_values(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    text = """
from tensorflow import keras

x = keras.Input((32, 32, 3))
y = keras.layers.Conv2D(x.shape.as_list()[-1] * 2, 1)(x)
y = keras.layers.Dense(y.shape[-1].value // 2)(y)
model = keras.Model(x, y)
model.compile("sgd", "mse")
model.fit(images, masks)
"""
    subject = build(tmp_path, text, monkeypatch)
    assert subject.model.count_params() == (3 * 6 + 6) + (6 * 3 + 3)


def test_a_word_of_the_command_line_is_asked_for_by_its_name(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    (tmp_path / "settings.json").write_text('{"small": {"units": 5}, "large": {"units": 50}}')
    text = """
import json, sys
import keras

with open("settings.json") as file:
    settings = json.load(file)
kinds = ["small", "large"]
kind = str(sys.argv[1])
units = settings[kind]["units"]
activation = "tanh"
if kind == kinds[0]:
    activation = "relu"
model = keras.Sequential([keras.Input((7,)), keras.layers.Dense(units, activation=activation)])
model.compile("sgd", "mse")
model.fit(x, y)
"""
    assert needs(tmp_path, text, monkeypatch) == ("kind=small",)
    subject = build(tmp_path, text, monkeypatch, arguments={"kind": "large"})
    assert subject.model.count_params() == 7 * 50 + 50


TABLE = """
import numpy as np
import keras

def parsed(lines, header):
    table = np.zeros((len(lines), len(header) - 1))
    for row, line in enumerate(lines):
        table[row, :] = [float(one) for one in line.split(",")[1:]]
    return table

def training(table):
    model = keras.Sequential()
    model.add(keras.Input((None, table.shape[-1])))
    model.add(keras.layers.GRU(4))
    model.add(keras.layers.Dense(1))
    model.compile("rmsprop", "mae")
    model.fit(windows(table), epochs=2)

def main():
    lines = open("/not/there/climate.csv").read().split("\\n")
    header = lines[0].split(",")
    table = parsed(lines[1:], header)
    training(table)

main()
"""


def test_a_table_that_is_read_is_asked_for_by_the_shape_that_the_model_takes_of_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    with pytest.raises(EstimateError, match=r"table.shape comes from /not/there/climate.csv") as caught:
        build(tmp_path, TABLE, monkeypatch)
    assert caught.value.asked == "table.array"
    assert needs(tmp_path, TABLE, monkeypatch) == ("table=1000x16", "x=32x128x16")
    subject = build(tmp_path, TABLE, monkeypatch, data=described(table=(1000, 9), x=(32, 50, 9)))
    assert subject.data[0].shape == (32, 50, 9)


def test_a_loop_over_lines_that_are_not_there_leaves_nothing_known(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    text = """
import keras

words = open("words.txt").read().split()
longest = 0
model = keras.Sequential([keras.Input((4,))])
for word in words:
    longest = max(longest, len(word))
for size in words:
    model.add(keras.layers.Dense(3))
model.add(keras.layers.Dense(LAST))
model.compile("sgd", "mse")
model.fit(x, y)
"""
    with pytest.raises(EstimateError, match=r"words|file"):
        build(tmp_path, text.replace("LAST", "2"), monkeypatch)
    text = text.replace("for size in words:\n    model.add(keras.layers.Dense(3))\n", "")
    assert build(tmp_path, text.replace("LAST", "2"), monkeypatch).model.count_params() == 4 * 2 + 2


def test_a_vector_is_not_described_as_an_image(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    text = """
import keras
from storage import columns

x = columns("train")
model = keras.Sequential([keras.layers.Dense(3, input_dim=x.shape[1]), keras.layers.Dense(1)])
model.compile("sgd", "mse")
model.fit(x, y)
"""
    assert needs(tmp_path, text, monkeypatch) == ("x=32x128",)


def test_an_embedding_begins_with_a_matrix_that_is_no_image(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    text = """
import numpy as np
import keras

word_matrix = np.load("vectors.npy")
ids = keras.Input((30,), dtype="int32")
y = keras.layers.Embedding(word_matrix.shape[0], word_matrix.shape[1], trainable=False)(ids)
model = keras.Model(ids, keras.layers.Dense(2)(keras.layers.Flatten()(y)))
model.compile("sgd", "mse")
model.fit(x, y)
"""
    assert needs(tmp_path, text, monkeypatch) == ("word_matrix=20000x300",)
    subject = build(tmp_path, text, monkeypatch, data=described(word_matrix=(50, 6)))
    assert subject.model.count_params() == 50 * 6 + (30 * 6 * 2 + 2)
    assert subject.data[0].shape == (32, 30)


def test_an_option_without_a_default_that_the_model_needs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    text = """
import argparse
import keras

parser = argparse.ArgumentParser()
parser.add_argument("--units", type=int)
parser.add_argument("--comment")
args = parser.parse_args()
model = keras.Sequential([keras.Input((7,)), keras.layers.Dense(int(args.units) * 2)])
model.compile("sgd", "mse")
model.fit(x, y)
"""
    with pytest.raises(EstimateError, match="units has no default on the command line") as caught:
        build(tmp_path, text, monkeypatch)
    assert caught.value.hint == "Give it: --arg units=VALUE"
    assert build(tmp_path, text, monkeypatch, arguments={"units": 3}).model.count_params() == 8 * 6


def test_a_recurrent_layer_that_keeps_its_state_is_told_its_batch(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    text = """
from keras.models import Sequential
from keras.layers import Dense, LSTM
from keras.utils import np_utils

size = 5
model = Sequential()
model.add(LSTM(4, batch_input_shape=(size, 10, 2), stateful=True))
model.add(Dense(1))
model.compile("sgd", "mse")
model.fit(x, y, nb_epoch=1, batch_size=size)
"""
    assert build(tmp_path, text, monkeypatch).data[0].shape == (5, 10, 2)


def test_names_that_came_with_a_star_and_weights_by_position(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    text = """
from keras.layers import *
from keras.models import *
from keras.engine.topology import Layer

class Scale(Layer):
    def build(self, shape):
        self.scale = self.add_weight("scale", (shape[-1],), initializer="ones")
        self.shift = self.add_weight(name="shift", shape=(shape[-1]), initializer="zeros")
        super(Scale, self).build(shape)

    def call(self, x):
        return x * self.scale + self.shift

width = int(np.prod((2, 3)))
model = Sequential([Dense(4, input_shape=(width,)), Scale()])
model.compile("sgd", "mse")
model.fit(x, y, nb_epoch=1)
"""
    assert build(tmp_path, text, monkeypatch).model.count_params() == (6 * 4 + 4) + 4 + 4


def test_settings_of_libraries_that_are_not_there(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    (tmp_path / "net.yaml").write_text("MODEL:\n  UNITS: 6\n")
    text = """
import yaml
import keras
from easydict import EasyDict as edict
from yacs.config import CfgNode as CN

_C = CN()
_C.MODEL = CN()
_C.MODEL.UNITS = 2
_C.MODEL.KIND = "plain"
cfg = _C.clone()
cfg.merge_from_list(["MODEL.KIND", "other"])
cfg.freeze()
file = edict(yaml.load(open("net.yaml")))
more = edict({"sizes": [{"width": 9}]})
model = keras.Sequential([keras.Input((more.sizes[0].width,))])
model.add(keras.layers.Dense(cfg.MODEL.UNITS + file.MODEL.UNITS, activation="relu" if cfg.MODEL.KIND == "other" else None))
model.compile("sgd", "mse")
model.fit(x, y)
"""
    subject = build(tmp_path, text, monkeypatch)
    assert subject.model.count_params() == 9 * 8 + 8
    assert subject.model.layers[-1].activation.__name__ == "relu"


VOCABULARY = """
import collections
import keras

FIRST

model = keras.Sequential([keras.Input((10,)), keras.layers.Embedding(SIZE, 4), keras.layers.Flatten()])
model.add(keras.layers.Dense(1))
model.compile("sgd", "mse")
model.fit(x, y)
"""


@pytest.mark.parametrize(
    ("first", "size", "asked"),
    [
        (
            # what is not run for its data fills nothing
            "import pandas\n"
            "frame = pandas.read_csv('a.csv')\n"
            "words = {}\n"
            "for name, text in zip(frame['a'], frame['b']):\n"
            "    if text not in words:\n"
            "        words[text] = len(words)\n",
            "len(words) + 1",
            "words",
        ),
        (
            # what fails half way
            "counts = collections.Counter()\n"
            "texts = open('a.txt').read().split('\\n')\n"
            "for row in range(len(texts)):\n"
            "    for word in texts[row].split():\n"
            "        counts[word] += 1\n"
            "numbers = {word: number for number, (word, _) in enumerate(counts.most_common())}\n",
            "len(numbers) + 1",
            "texts",
        ),
        (
            # a function that fails, and was to fill what is not its own
            "seen = set()\ndef read():\n    for line in open('a.txt'):\n        seen.add(line)\nread()\n",
            "len(seen) + 1",
            "seen",
        ),
        (
            # a method, and its object's own
            "class Corpus:\n"
            "    def __init__(self):\n"
            "        self.words = {'pad': 0}\n"
            "        self.size = 1\n"
            "        self.read()\n"
            "    def read(self):\n"
            "        for line in open('a.txt'):\n"
            "            self.words[line] = len(self.words)\n"
            "        self.size = len(self.words)\n"
            "corpus = Corpus()\n",
            "corpus.size",
            "size",
        ),
    ],
)
def test_a_vocabulary_that_was_not_read_is_not_empty(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, first: str, size: str, asked: str
):
    text = VOCABULARY.replace("FIRST", first).replace("SIZE", size)
    with pytest.raises(EstimateError) as caught:
        build(tmp_path, text, monkeypatch)
    assert asked in (caught.value.asked, *caught.value.instead)


def test_an_array_that_a_loop_fills_keeps_its_shape(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    first = (
        "import numpy as np\n"
        "names = open('a.txt').read().split()\n"
        "table = np.zeros((500, 10))\n"
        "for row, name in enumerate(names):\n"
        "    table[row] = len(name)\n"
    )
    text = VOCABULARY.replace("FIRST", first).replace("SIZE", "table.shape[0]")
    assert build(tmp_path, text, monkeypatch).model.count_params() == 500 * 4 + (10 * 4 + 1)


IMAGES = """
from keras.models import Sequential
from keras.layers import Convolution2D, Dense, Flatten, MaxPooling2D
from keras import backend as K

FIRST
rows, columns = 28, 28
model = Sequential()
model.add(Convolution2D(6, 5, 5, activation="relu", input_shape=(1, rows, columns)))
model.add(MaxPooling2D(pool_size=(2, 2)))
model.add(Flatten())
model.add(Dense(2))
model.compile("sgd", "mse")
model.fit(x, y, nb_epoch=1, batch_size=16)
"""
# 24 by 24 after the convolution, 12 by 12 after the pooling.
WEIGHTS = (5 * 5 * 1 * 6 + 6) + (12 * 12 * 6 * 2 + 2)


@pytest.mark.parametrize("first", ["K.set_image_dim_ordering('th')", "assert K.floatx() == 'float32'"])
def test_channels_that_come_first(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, first: str):
    import keras

    subject = build(tmp_path, IMAGES.replace("FIRST", first), monkeypatch)
    assert subject.model.count_params() == WEIGHTS
    assert subject.data[0].shape == (16, 1, 28, 28)
    assert any(text.startswith("channels first") for text in subject.assumptions) == ("floatx" in first)
    assert keras.config.image_data_format() == "channels_last"


def test_a_model_built_with_an_example_takes_the_batches_of_the_data(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    text = """
import tensorflow as tf
from tensorflow.keras import Sequential, datasets, layers, optimizers

(x, y), _ = datasets.mnist.load_data()
data = tf.data.Dataset.from_tensor_slices((x, y)).batch(128)
network = Sequential([layers.Dense(10)])
network.build(input_shape=(4, 28 * 28))
network.compile(optimizer=optimizers.Adam(lr=0.01), loss="mse")
network.fit(data, epochs=5)
"""
    subject = build(tmp_path, text, monkeypatch)
    assert subject.model.count_params() == 785 * 10
    assert subject.data[0].shape == (128, 784)


def test_losses_of_tensorflow_1(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    text = """
import tensorflow as tf
from keras.models import Sequential
from keras.layers import Dense

metrics = ["accuracy", tf.losses.log_loss]
model = Sequential([Dense(3, activation="softmax", input_shape=(5,))])
model.compile(loss=tf.losses.softmax_cross_entropy, optimizer="sgd", metrics=metrics)
model.fit(x, y, nb_epoch=1)
"""
    subject = build(tmp_path, text, monkeypatch)
    assert subject.model.count_params() == 6 * 3
    assert subject.data[1].shape == (32, 3)


def test_gpus_that_the_old_backend_counts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    text = """
from keras import backend as K
from keras.models import Sequential
from keras.layers import Dense
from keras.utils import multi_gpu_model

model = Sequential([Dense(3, input_shape=(5,))])
parallel = model
gpus = len(K.tensorflow_backend._get_available_gpus())
if gpus > 1:
    parallel = multi_gpu_model(model, gpus=gpus)
parallel.compile("sgd", "mse")
parallel.fit(x, y, batch_size=6)
"""
    subject = build(tmp_path, text, monkeypatch)
    assert subject.model.count_params() == 6 * 3
    assert subject.data[0].shape == (6, 5)
    assert not any("multi_gpu_model" in text for text in subject.assumptions)
