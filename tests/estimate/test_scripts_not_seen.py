"""Shapes of public scripts of a sixth and seventh set, each as a small script of its own words."""

from __future__ import annotations

from pathlib import Path

import pytest
from estimate.scripts import answered, build

from oomlint.estimate.errors import EstimateError
from oomlint.estimate.worker.subject import Subject


def build_at(path: Path, root: Path, monkeypatch: pytest.MonkeyPatch) -> Subject:
    from oomlint.estimate.request import Request
    from oomlint.estimate.slicing.script import slice_script
    from oomlint.estimate.worker.step.building import build

    (root / "work").mkdir()
    monkeypatch.setenv("OOMLINT_WORK", str(root / "work"))
    monkeypatch.setenv("OOMLINT_FOLDERS", str(path.parent))
    found = slice_script(path)
    return build(Request(str(path), source=found.text, names=found.names))


def test_floats_of_double_width(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    text = """
import tensorflow as tf

tf.keras.backend.set_floatx("float64")
model = tf.keras.Sequential([tf.keras.Input((3,)), tf.keras.layers.Dense(2)])
model.compile("sgd", "mse")
model.fit(x, y, batch_size=5)
"""
    import keras

    try:
        subject = build(tmp_path, text, monkeypatch)
        assert {one.dtype for one in subject.model.weights} == {"float64"}
    finally:
        keras.config.set_floatx("float32")
    assert keras.layers.Dense(1).dtype_policy.name == "float32"


def test_an_entrance_that_is_called_and_settings_of_a_model(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    text = """
import tensorflow as tf
from easydict import EasyDict

class Net(tf.keras.Model):
    def __init__(self, settings):
        super().__init__()
        self.settings = settings
        self.entrance = tf.keras.layers.InputLayer(input_shape=(6,))
        self.head = tf.keras.layers.Dense(tf.keras.backend.prod((2, self.settings.width)))

    def call(self, x):
        return self.head(self.entrance(x)) * self.settings.scale

net = Net(EasyDict(width=4, scale=0.5))
net.build((None, 6))
net.compile("sgd", "mse")
net.fit(x, y, batch_size=5)
"""
    assert build(tmp_path, text, monkeypatch).model.count_params() == 6 * 8 + 8


def test_a_module_of_settings_by_the_name_of_an_option(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    text = """
import argparse
import importlib
import tensorflow as tf
from helpers import step

parser = argparse.ArgumentParser()
parser.add_argument("game")
game = parser.parse_args().game
chosen = importlib.import_module(f"games.{game}")
net = chosen.net
optimizer = tf.keras.optimizers.Adam()
for x in batches:
    with tf.GradientTape() as tape:
        loss = step(net, x)
    optimizer.apply_gradients(zip(tape.gradient(loss, net.trainable_variables), net.trainable_variables))
"""
    (tmp_path / "games").mkdir()
    (tmp_path / "games" / "poles.py").write_text(
        "import gym\nfrom helpers import make\nenv = gym.make('CartPole-v1')\n"
        "net = make(env.observation_space.shape[0], env.action_space.n)\n"
    )
    (tmp_path / "helpers.py").write_text(
        "import tensorflow as tf\nfrom sizes import UNITS\n"
        "def step(net, x):\n    return tf.reduce_sum(net(x))\n"
        "def make(inputs, outputs):\n"
        "    return tf.keras.Sequential([tf.keras.Input((inputs,)), tf.keras.layers.Dense(UNITS),"
        " tf.keras.layers.Dense(outputs)])\n"
    )
    (tmp_path / "sizes.py").write_text("UNITS = 8\nOTHER = 9\n")
    subject = build(tmp_path, text, monkeypatch, arguments={"game": "poles"})
    assert subject.model.count_params() == 4 * 8 + 8 + 8 * 2 + 2


def test_the_name_of_a_network_is_not_the_network(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    text = """
import argparse
import glob
import tensorflow as tf
from networks import find

def train(args):
    model = find(args.model).get_model()
    model.compile("sgd", "mse")
    model.fit(x, y, batch_size=5)

parser = argparse.ArgumentParser()
known = [one[5:-3] for one in glob.glob("nets/*.py")]
parser.add_argument("model", choices=known)
train(parser.parse_args())
"""
    (tmp_path / "networks.py").write_text(
        "import tensorflow as tf\n"
        "class Small:\n"
        "    @staticmethod\n"
        "    def get_model():\n"
        "        return tf.keras.Sequential([tf.keras.Input((6,)), tf.keras.layers.Dense(1)])\n"
        "def find(name):\n    return {'small': Small}[name]\n"
    )
    assert build(tmp_path, text, monkeypatch, arguments={"model": "small"}).model.count_params() == 7


def test_a_vocabulary_that_is_fitted_and_a_trainer_of_an_abstract_class(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    """An empty vocabulary is no vocabulary of size 0, and `fit` of a class that counts words is no training."""
    (tmp_path / "words.py").write_text(
        "class Words:\n"
        "    def __init__(self):\n        self.numbers = {'<pad>': 0}\n"
        "    def fit(self, path):\n"
        "        with open(path) as file:\n            self.numbers = {word: n for n, word in enumerate(file.read())}\n"
    )
    text = """
from abc import ABC
import tensorflow as tf
from words import Words

class Trainer(ABC):
    def __init__(self, count):
        self.net = tf.keras.Sequential([tf.keras.Input((7,)), tf.keras.layers.Embedding(count, 4)])
        self.optimizer = tf.keras.optimizers.Adam()

    def train_step(self, x):
        with tf.GradientTape() as tape:
            loss = tf.reduce_mean(self.net(x))
        found = tape.gradient(loss, self.net.trainable_variables)
        self.optimizer.apply_gradients(zip(found, self.net.trainable_variables))

known = Words()
known.fit("words.txt")
count = len(known.numbers)
trainer = Trainer(count)
for x in own_batches():
    trainer.train_step(x)
"""
    with pytest.raises(EstimateError) as caught:
        build(tmp_path, text, monkeypatch)
    assert caught.value.asked == "numbers"
    assert build(tmp_path, text, monkeypatch, arguments={"numbers": 50}).model.count_params() == 50 * 4


def test_a_layer_that_a_loop_trains(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    text = """
import tensorflow as tf

class Coder(tf.keras.layers.Layer):
    def __init__(self, width):
        super().__init__(name="coder")
        self.inner, self.outer = tf.keras.layers.Dense(width), tf.keras.layers.Dense(6)

    def call(self, x):
        return self.outer(self.inner(x))

coder = Coder(3)
optimizer = tf.keras.optimizers.Adam()
for x in tf.data.Dataset.from_tensor_slices(tf.zeros((100, 6))).batch(10):
    with tf.GradientTape() as tape:
        loss = tf.reduce_mean((coder(x) - x) ** 2)
        found = tape.gradient(loss, coder.trainable_weights)
        optimizer.apply_gradients(zip(found, coder.trainable_weights))
"""
    subject = build(tmp_path, text, monkeypatch, input_shape=(6,), batch_size=10)
    assert subject.model.count_params() == 6 * 3 + 3 + 3 * 6 + 6
    assert subject.data[0].shape == (10, 6)


def test_the_reach_of_actions_and_older_names(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    (tmp_path / "shared").mkdir()
    (tmp_path / "shared" / "blocks.py").write_text(
        "import tensorflow as tf\n"
        "from tensorflow.python.keras.utils import tf_utils\n"
        "class Doubled(tf.keras.layers.Layer):\n"
        "    def call(self, x):\n        return 2.0 * x\n"
        "    @tf_utils.shape_type_conversion\n"
        "    def compute_output_shape(self, shape):\n        return shape\n"
    )
    folder = tmp_path / "agents"
    folder.mkdir()
    (folder / "common.py").write_text(
        "import os, sys\nsys.path.append(os.path.join(os.path.split(sys.path[0])[0], 'shared'))\n"
        "from blocks import *\n"
    )
    (folder / "agent.py").write_text(
        "import gym\nimport tensorflow as tf\nfrom common import Doubled\n"
        "env = gym.make('Pendulum-v1')\n"
        "reach = env.action_space.high[0]\n"
        "net = tf.keras.Sequential([tf.keras.layers.InputLayer(3), Doubled(), tf.keras.layers.Dense(4),\n"
        "    tf.keras.layers.Lambda(lambda x: reach * x)])\n"
        "net.compile('adam', 'mse')\n"
        "net.fit(x, y, batch_size=5)\n"
    )
    subject = build_at(folder / "agent.py", tmp_path, monkeypatch)
    assert subject.model.count_params() == 3 * 4 + 4


def test_a_number_that_is_called_batch(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    text = """
import numpy as np
from tensorflow import keras

net = keras.Sequential([keras.Input((4,)), keras.layers.Dense(1)])
net.compile("adam", "mse")

def train(epochs=1000, batch=150):
    for _ in range(epochs):
        net.train_on_batch(*pictures(batch))

train()
"""
    assert build(tmp_path, text, monkeypatch).data[0].shape == (150, 4)


def test_a_train_step_of_a_model_that_the_script_calls_itself(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    text = """
import tensorflow as tf

class Agent(tf.keras.Model):
    def __init__(self):
        super().__init__()
        self.critic = tf.keras.Sequential([tf.keras.Input((5,)), tf.keras.layers.Dense(1)])
        self.critic.compile(optimizer=tf.keras.optimizers.Adam())

    def train_step(self, data=None):
        states, values = self.memory.sample(16)
        with tf.GradientTape() as tape:
            loss = tf.reduce_mean((self.critic(states) - values) ** 2)
        found = tape.gradient(loss, self.critic.trainable_variables)
        self.critic.optimizer.apply_gradients(zip(found, self.critic.trainable_variables))

agent = Agent()
while True:
    agent.train_step()
"""
    subject = build(tmp_path, text, monkeypatch)
    assert subject.model.count_params() == 6
    assert subject.data[0].shape == (32, 5)


def test_a_sequential_of_the_scripts_own_has_the_layers_that_it_adds_to_itself(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    text = """
        from tensorflow import keras

        class Rows:
            def add(self, row):
                self.rows.append(row)

        class Block(keras.Sequential):
            def __init__(self, units, times):
                super().__init__()
                for _ in range(times):
                    self.add(keras.layers.Dense(units))

        class Net(keras.models.Sequential):
            def __init__(self, classes):
                super().__init__()
                self.add(keras.Input((11,)))
                self.add(Block(8, times=2))
                self.add(keras.layers.Dense(classes))

        model = Net(3)
        model.compile("adam", "mse")
        model.fit(load(), load(), batch_size=8)
    """
    subject = build(tmp_path, text, monkeypatch)
    assert subject.model.count_params() == (11 * 8 + 8) + (8 * 8 + 8) + (8 * 3 + 3)
    assert tuple(subject.data[0].shape) == (8, 11)


def test_a_table_of_vectors_of_the_scripts_own_takes_numbers_of_words(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    text = """
        import tensorflow as tf
        from tensorflow import keras

        class WordEmbedding(keras.layers.Layer):
            def build(self, shape):
                self.table = self.add_weight("table", shape=(500, 8), experimental_autocast=False)

            def call(self, words):
                return tf.gather(self.table, words)

        class Net(keras.Model):
            def __init__(self):
                super().__init__()
                self.words = WordEmbedding()
                self.head = keras.layers.Dense(3)

            def call(self, x):
                return self.head(self.words(x))

        model = Net()
        model.compile("adam", "mse")
        model.fit(load(), load(), batch_size=8)
    """
    found = answered(tmp_path, text, monkeypatch)
    weights = 500 * 8 + (8 * 3 + 3)
    assert 4 * weights <= found.parts["weights"] < 4 * weights + 256


FROZEN_AFTER = """
    import keras
    base = keras.Sequential([keras.Input((20,)), keras.layers.Dense(30), keras.layers.Dense(40)])
    model = keras.Model(base.input, keras.layers.Dense(1)(base.output))
    {frozen}
    model.compile("adam", "mse")
    model.fit(x, y)
"""


@pytest.mark.parametrize(
    "frozen", ["base.trainable = False", "for layer in base.layers:\n        layer.trainable = False"]
)
def test_what_is_frozen_when_another_model_shares_it_is_frozen_there(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, frozen: str
):
    model = build(tmp_path, FROZEN_AFTER.format(frozen=frozen), monkeypatch).model
    assert (
        sum(one.shape[0] * (one.shape[1] if len(one.shape) > 1 else 1) for one in model.trainable_variables)
        == 41
    )


def test_of_a_network_that_is_bound_anew_the_earlier_one_is_not_made(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    text = """
        import keras
        base = keras.Sequential([keras.Input((20,)), keras.layers.Dense(nowhere)])
        base.trainable = False
        base = keras.Sequential([keras.Input((20,)), keras.layers.Dense(3)])
        base.compile("adam", "mse")
        base.fit(x, y)
    """
    assert build(tmp_path, text, monkeypatch).model.count_params() == 20 * 3 + 3
