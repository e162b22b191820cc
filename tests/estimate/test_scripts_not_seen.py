"""Shapes of public scripts of a sixth and seventh set, each as a small script of its own words."""

from __future__ import annotations

from pathlib import Path

import pytest
from estimate.scripts import build


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
