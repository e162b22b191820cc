"""More shapes of public scripts that gave no estimate once, or a wrong one, each as a small script of its own words."""

from __future__ import annotations

from pathlib import Path

import pytest
from estimate.scripts import build

from oomlint.estimate.errors import EstimateError


def test_names_of_the_first_keras(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    text = """
from keras import backend as K
from keras.layers import Dense, Flatten, GaussianNoise, Input, Lambda
from keras.models import Model
from keras.regularizers import activity_l1

x = Input(shape=(12, 12, 2))
y = Flatten()(GaussianNoise(sigma=3.0)(x))
y = Dense(6, activity_regularizer=activity_l1(0.01))(y)
y = Lambda(lambda z: z + K.random_normal(shape=(4, 6), std=0.5))(y)
model = Model(input=x, output=Dense(1)(y))
model.compile("sgd", "mse")
model.fit(x, y, nb_epoch=1, batch_size=4)
"""
    subject = build(tmp_path, text, monkeypatch)
    assert subject.model.count_params() == 289 * 6 + 7
    assert any("activity_l1" in one for one in subject.assumptions)


def test_a_pooling_layer_that_is_made_in_a_call(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    text = """
import tensorflow as tf

class Net(tf.keras.Model):
    def __init__(self):
        super().__init__()
        self.head = tf.keras.layers.Dense(3)

    def call(self, x):
        return self.head(tf.keras.layers.Flatten()(tf.keras.layers.AveragePooling2D()(x)))

model = Net()
model.build((None, 8, 8, 2))
model.compile("sgd", "mse")
model.fit(x, y, batch_size=5)
"""
    assert build(tmp_path, text, monkeypatch).model.count_params() == 4 * 4 * 2 * 3 + 3


def test_an_ensemble_that_one_tape_trains(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    text = """
import tensorflow as tf
from tensorflow import keras

def member():
    return keras.Sequential([keras.Input((6,)), keras.layers.Dense(4)])

class Ensemble:
    def __init__(self, count):
        self.members = [member() for _ in range(count)]
        self.idle = [member()]

    @property
    def trainable_variables(self):
        return [one for each in self.members for one in each.trainable_variables]

    def __call__(self, x):
        return tf.add_n([one(x) for one in self.members])

ensemble = Ensemble(3)
optimizer = keras.optimizers.Adam()
for x, y in batches:
    with tf.GradientTape() as tape:
        loss = tf.reduce_mean((ensemble(x) - y) ** 2)
    gradients = tape.gradient(loss, ensemble.trainable_variables)
    optimizer.apply_gradients(zip(gradients, ensemble.trainable_variables))
"""
    subject = build(tmp_path, text, monkeypatch)
    assert subject.one_step
    assert len(subject.others) == 2  # the idle one has no part in it
    assert {one.model.count_params() for one in [subject, *subject.others]} == {28}


_AGENT = """
import gym
import tensorflow as tf

class Policy(tf.keras.Model):
    def __init__(self, actions):
        super().__init__()
        self.body = tf.keras.Sequential([tf.keras.layers.Dense(16), tf.keras.layers.Dense(actions)])

    def call(self, x):
        return self.body(x)

class Agent(tf.keras.Model):
    def __init__(self, env):
        super().__init__()
        self.policy = Policy(env.action_space.n)

    def loss(self, seen, taken):
        return tf.reduce_mean(self.policy(seen))

env = gym.make("CartPole-v1")
agent = Agent(env)
optimizer = tf.keras.optimizers.Adam()

def learn(seen, taken):
    with tf.GradientTape() as tape:
        loss = agent.loss(seen, taken)
    gradients = tape.gradient(loss, agent.trainable_variables)
    optimizer.apply_gradients(zip(gradients, agent.trainable_variables))

for _ in range(10):
    seen, taken = play(env, agent)
    learn(seen, taken)
"""


def test_an_agent_that_is_a_model_and_is_never_called(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    subject = build(tmp_path, _AGENT, monkeypatch)
    assert subject.model.count_params() == 5 * 16 + 17 * 2
    assert subject.data[0].shape == (32, 4)
    assert any("has no call" in one for one in subject.assumptions)
    assert any("observed in the environment" in one for one in subject.assumptions)


_TRAINER = """
import tensorflow as tf

class Trainer(object):
    def __init__(self, units):
        self.net = tf.keras.Sequential([tf.keras.Input((5,)), tf.keras.layers.Dense(units)])
        self.optimizer = tf.keras.optimizers.SGD()

    def variables_of(self):
        found = self.net.trainable_variables
        return found

    def train_step(self, x, y):
        with tf.GradientTape() as tape:
            loss = self.loss(x, y)
        gradients = tape.gradient(loss, self.variables_of())
        self.optimizer.apply_gradients(zip(gradients, self.variables_of()))

    def loss(self, x, y):
        return tf.reduce_mean((self.net(x) - y) ** 2)

    def run(self):
        for x, y in batches():
            STEP
"""


@pytest.mark.parametrize(
    "step",
    [
        pytest.param("self.train_step(x, y)", id="called"),
        pytest.param("self.strategy.run(self.train_step, args=(x, y))", id="by a strategy"),
    ],
)
def test_a_trainer_class_of_the_scripts_own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, step: str):
    (tmp_path / "trainer.py").write_text(_TRAINER.replace("STEP", step))
    (tmp_path / "other.py").write_text("def main():\n    pass\nif __name__ == '__main__':\n    main()\n")
    text = """
import other
from launcher import app
from trainer import Trainer

def main(_):
    trainer = Trainer(7)
    trainer.run()

if __name__ == "__main__":
    app.run(main)
"""
    subject = build(tmp_path, text, monkeypatch)
    assert subject.model.count_params() == 6 * 7


def test_a_loss_that_takes_a_gradient_of_its_inputs_is_not_estimated_by_the_model_alone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    watching = """
        with tf.GradientTape() as inner:
            inner.watch(x)
            y = self.net(x)
        return tf.reduce_mean(inner.gradient(y, x) ** 2)
"""
    plain = "        return tf.reduce_mean((self.net(x) - y) ** 2)\n"
    trainer = _TRAINER.replace("STEP", "self.train_step(x, y)").replace(plain, watching.lstrip("\n"))
    text = trainer + "\nTrainer(7).run()\n"
    about = {"y": {"shape": [32, 7], "dtype": "float32", "below": None}}
    subject = build(tmp_path, text, monkeypatch, data=about)
    assert [one.shape for one in subject.data] == [(32, 5), (32, 7)]


_CONFIGURED = """
import argparse
import json
import keras

parser = argparse.ArgumentParser()
parser.add_argument("--config", required=True, help="path of the settings")
args = parser.parse_args()
with open(args.config) as file:
    settings = json.load(file)
model = keras.Sequential([keras.Input((4,)), keras.layers.Dense(settings["units"])])
model.compile("sgd", "mse")
model.fit(x, y)
"""


def test_the_only_file_of_settings_of_a_project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    (tmp_path / "package.json").write_text("{}")
    folder = tmp_path / "configs"
    folder.mkdir()
    (folder / "small.json").write_text('{"units": 3}')
    subject = build(tmp_path, _CONFIGURED, monkeypatch)
    assert subject.model.count_params() == 15
    assert any("config is configs/small.json" in one for one in subject.assumptions)
    (folder / "large.json").write_text('{"units": 30}')
    with pytest.raises(EstimateError, match="config comes from") as caught:
        build(tmp_path, _CONFIGURED, monkeypatch)
    assert "--arg config=configs/large.json" in caught.value.hint
    assert "configs/small.json" in caught.value.hint
    given = build(tmp_path, _CONFIGURED, monkeypatch, arguments={"config": "configs/large.json"})
    assert given.model.count_params() == 150
    (folder / "default.json").write_text('{"units": 5}')
    assert build(tmp_path, _CONFIGURED, monkeypatch).model.count_params() == 25


def test_a_path_as_windows_writes_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    folder = tmp_path / "configs"
    folder.mkdir()
    (folder / "net.json").write_text('{"units": 3}')
    text = _CONFIGURED.replace("required=True", "default=r'configs\\net.json'")
    assert build(tmp_path, text, monkeypatch).model.count_params() == 15


def test_a_table_of_classes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    text = """
import argparse
import keras
from loading import load_images

class Small:
    def __init__(self, shape):
        self.model = keras.Sequential([keras.Input((6,)), keras.layers.Dense(2)])
        self.model.compile("sgd", "mse")

    def learn(self, x, y):
        self.model.fit(x, y, epochs=3)

class Large(Small):
    pass

NETS = {"small": Small, "large": Large}
parser = argparse.ArgumentParser()
parser.add_argument("--net", required=True)
args = parser.parse_args()
images = load_images()
net = NETS[args.net](images.shape)
net.learn(images, None)
"""
    with pytest.raises(EstimateError, match="net comes from") as caught:
        build(tmp_path, text, monkeypatch)
    assert "--arg net=small" in caught.value.hint
    assert "large" in caught.value.hint
    assert build(tmp_path, text, monkeypatch, arguments={"net": "large"}).model.count_params() == 14


def test_a_table_of_functions_of_another_module(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    (tmp_path / "method.py").write_text(
        "import keras\n"
        "def learn(units, rounds):\n"
        "    model = keras.Sequential([keras.Input((3,)), keras.layers.Dense(units)])\n"
        "    model.compile('sgd', 'mse')\n"
        "    model.fit(None, None, epochs=rounds)\n"
    )
    text = """
import sys
import method

METHODS = dict(learn=method.learn)
METHODS[sys.argv[1]](5, 2)
"""
    assert build(tmp_path, text, monkeypatch).model.count_params() == 20


_CLASSIFIER = """
import keras

class Base:
    def make(self, vocabulary):
        self.model = keras.Sequential()
        self.model.add(keras.layers.Embedding(vocabulary["vocab_size"], UNITS))
        self.model.add(keras.layers.Flatten())
        self.model.add(keras.layers.Dense(2))
        self.model.compile("sgd", "mse")

class Plain(Base):
    def fit(self, vocabulary, folder):
        self.make(vocabulary)
        x, y = read(folder)
        self.model.fit(x, y, epochs=3)

class Wide(Base):
    def fit(self, vocabulary, folder):
        self.path = folder + "/weights"
        self.make(vocabulary)
        x, y = read(folder)
        self.model.fit(x, y, epochs=3)
"""


def test_a_method_is_that_of_the_objects_class(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    """And what a table of the data holds is asked for by its name there, with no model short of its layers."""
    (tmp_path / "classifier.py").write_text(_CLASSIFIER.replace("UNITS", "4"))
    text = """
import pickle
from classifier import Plain

def main():
    vocabulary = pickle.load(open("vocabulary.pkl", "rb"))
    classifier = Plain()
    classifier.fit(vocabulary, "data")

main()
"""
    with pytest.raises(EstimateError, match="vocab_size") as caught:
        build(tmp_path, text, monkeypatch, input_shape=(6,))
    # Keras before 3.13 takes an Embedding of any size, and fails when it is called.
    late = "not known: vocabulary.vocab_size" in caught.value.message
    assert late or caught.value.hint == "Give it: --arg vocab_size=VALUE"
    subject = build(tmp_path, text, monkeypatch, arguments={"vocab_size": 100}, input_shape=(6,))
    assert subject.model.count_params() == 100 * 4 + (6 * 4 + 1) * 2


def test_a_way_through_modules_that_goes_on_past_what_fails(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    """What is remembered and scored on the way is not known, and nothing of the model."""
    (tmp_path / "network.py").write_text(
        "import keras\n"
        "class Network:\n"
        "    def __init__(self, actions):\n"
        "        self.model = keras.Sequential([keras.Input((4,)), keras.layers.Dense(actions)])\n"
        "        self.model.compile('sgd', 'mse')\n"
        "    def fit(self, seen, scores):\n"
        "        self.model.fit(seen, scores, epochs=1, verbose=0)\n"
    )
    (tmp_path / "agent.py").write_text(
        "from network import Network\n"
        "class Memory:\n"
        "    def __init__(self):\n"
        "        self.rows = []\n"
        "    def add(self, *row):\n"
        "        self.rows.append(row)\n"
        "    def update(self, index, error):\n"
        "        self.rows[index] = error\n"
        "    def sample(self):\n"
        "        return list(zip(*self.rows))\n"
        "class Agent:\n"
        "    def __init__(self, actions):\n"
        "        self.network = Network(actions)\n"
        "        self.memory = Memory()\n"
        "    def train_once(self, size):\n"
        "        seen, rewards, ends = self.memory.sample()\n"
        "        scores = self.network.model.predict(seen)\n"
        "        for i in range(len(seen)):\n"
        "            if ends[i]:\n"
        "                self.memory.update(i, rewards[i])\n"
        "        self.network.fit(seen, scores)\n"
        "    def train(self, env, size):\n"
        "        seen = env.reset()\n"
        "        for _ in range(100):\n"
        "            seen, reward, end, _ = env.step(0)\n"
        "            self.memory.add(seen, reward, end)\n"
        "            self.train_once(size)\n"
    )
    text = """
import gym
from agent import Agent

def main():
    env = gym.make("CartPole-v1")
    agent = Agent(env.action_space.n)
    agent.train(env, 64)

main()
"""
    assert build(tmp_path, text, monkeypatch).model.count_params() == 10


def test_names_that_only_one_of_keras_and_tf_keras_has(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    """A loss is called when the step is traced, after all that is patched for the script is over."""
    text = """
import keras
import tensorflow as tf
from keras.constraints import maxnorm

def loss(truth, guess):
    return tf.keras.losses.mean_squared_error(truth, guess) + keras.losses.mse(truth, guess)

assert tf.keras.losses.Reduction.NONE == "none"
model = keras.Sequential([keras.Input((4,)), keras.layers.Dense(3, kernel_constraint=maxnorm(2))])
model.compile("sgd", loss=loss)
model.fit(x, y)
"""
    subject = build(tmp_path, text, monkeypatch)
    import keras

    assert subject.model.loss(keras.ops.zeros((2, 3)), keras.ops.zeros((2, 3))).shape == (2,)
    assert subject.model.count_params() == 15


def test_the_ends_of_a_sequential_and_a_batch_in_a_table(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    text = """
from keras.layers import Dense, Input, concatenate
from keras.models import Model, Sequential

def train():
    settings = {"units": 3, "BATCH_SIZE": 48, "TEST_BATCH": 7}
    left = Sequential()
    left.add(Dense(settings["units"], input_shape=(5,)))
    right = Input(shape=(2,))
    model = Model(inputs=[left.input, right], outputs=Dense(1)(concatenate([left.output, right])))
    model.compile("sgd", "mse")
    model.fit_generator(batches(settings), steps_per_epoch=10)

train()
"""
    subject = build(tmp_path, text, monkeypatch)
    assert subject.model.count_params() == 6 * 3 + 6
    assert subject.data[0][0].shape == (48, 5)
    assert "batch size 48, as settings['BATCH_SIZE'] says (another: --batch-size)" in subject.assumptions


def test_outputs_whose_shape_the_model_calculates(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    text = """
import tensorflow as tf

class Cells(tf.keras.layers.Layer):
    def call(self, x):
        shape = tf.shape(x)
        return tf.reshape(x, (shape[0], shape[1] * shape[2], 4, 2))

entrance = tf.keras.Input((None, None, 3))
model = tf.keras.Model(entrance, Cells()(tf.keras.layers.Conv2D(8, 3, padding="same")(entrance)))
model.compile("sgd", "mse")
model.fit(x, y, batch_size=4)
"""
    subject = build(tmp_path, text, monkeypatch, input_shape=(6, 5, 3))
    assert subject.data[1].shape == (4, 30, 4, 2)


def test_scopes_of_tensorflow_1_in_a_layer(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    text = """
import tensorflow as tf

class Scaled(tf.keras.layers.Layer):
    def call(self, x):
        with tf.variable_scope(self.name):
            return 2 * x

model = tf.keras.Sequential([tf.keras.Input((3,)), Scaled(), tf.keras.layers.Dense(2)])
model.compile("sgd", "mse")
model.fit(x, y)
"""
    assert build(tmp_path, text, monkeypatch).model.count_params() == 8


def test_a_reduction_that_keras_chooses(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    text = """
import tensorflow as tf

model = tf.keras.Sequential([tf.keras.Input((3,)), tf.keras.layers.Dense(2)])
model.compile("sgd", loss=tf.keras.losses.MeanSquaredError(reduction="auto"))
model.fit(x, y)
"""
    assert build(tmp_path, text, monkeypatch).model.loss.reduction == "sum_over_batch_size"


def test_an_option_that_is_called_as_what_it_chooses(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    """Its text does not stand for the model that could not be made."""
    text = """
import json
import keras

settings = json.load(open("settings.json"))
if settings["model"] == "small":
    model = keras.Sequential([keras.Input((4,)), keras.layers.Dense(-1)])
model.compile("sgd", "mse")
model.fit(x, y)
"""
    with pytest.raises(EstimateError, match=r"units|Negative dimensions"):  # Keras from 3.13 on, and before
        build(tmp_path, text, monkeypatch, arguments={"model": "small"})
