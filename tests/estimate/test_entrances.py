"""Models whose `call` takes several arrays: apart, out of a dictionary, out of a list; and numbers among them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from estimate.scripts import build

from oomlint.estimate.descriptions import read_data
from oomlint.estimate.errors import EstimateError
from oomlint.estimate.worker.subject import Spec

_TRANSLATOR = """
import tensorflow as tf
from corpus import batches

class Translator(tf.keras.Model):
    def __init__(self, words):
        super().__init__()
        self.table = tf.keras.layers.Embedding(words, 4)
        self.head = tf.keras.layers.Dense(words)

    def call(self, source, target, training, source_mask, scale=None):
        if training is not True:
            raise ValueError("a step trains")
        read = tf.reduce_mean(self.table(source), axis=1, keepdims=True)
        return self.head(self.table(target) + read), None

translator = Translator(50)
optimizer = tf.keras.optimizers.Adam()

@tf.function
def step(source, target):
    with tf.GradientTape() as tape:
        words, _ = translator(source, target[:, :-1], True, make_mask(source))
        loss = tf.reduce_mean(tf.keras.losses.sparse_categorical_crossentropy(target[:, 1:], words, True))
    gradients = tape.gradient(loss, translator.trainable_variables)
    optimizer.apply_gradients(zip(gradients, translator.trainable_variables))

for source, target in batches:
    step(source, target)
"""


def _described(text: str, **more: Any) -> dict[str, Any]:
    found = read_data([text])
    return {"data": found.arrays, "arguments": found.values} | more


def test_arguments_apart_by_their_names(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    options = _described("source=6x9 int32, target=6x7 int32", batch_size=6)
    subject = build(tmp_path, _TRANSLATOR, monkeypatch, **options)
    assert subject.data[0] == {"source": Spec((6, 9), "int32"), "target": Spec((6, 7), "int32")}
    assert subject.data[1] == Spec((6, 7), "int32")  # the loss compares class numbers with the 50 logits
    assert subject.model.count_params() == 50 * 4 + 4 * 50 + 50
    assert "the model is called without source_mask: --data gives them" in subject.assumptions


def test_arguments_apart_are_asked_for(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    with pytest.raises(
        EstimateError, match="Translator takes several arrays apart: source, target"
    ) as caught:
        build(tmp_path, _TRANSLATOR, monkeypatch)
    assert caught.value.parts == ("source=32x100 int32", "target=32x100 int32")
    assert caught.value.line == 11


_AGENT = """
import gym
import tensorflow as tf

class Critic(tf.keras.Model):
    def __init__(self, actions):
        super().__init__()
        self.hidden = tf.keras.layers.Dense(8, activation="relu")
        self.value = tf.keras.layers.Dense(actions)

    def call(self, state, action):
        return self.value(self.hidden(tf.concat([state, action], axis=-1)))

env = gym.make("Pendulum-v1")
critic = Critic(env.action_space.shape[0])
optimizer = tf.keras.optimizers.Adam()
for _ in range(10):
    states, actions, targets = memory.sample(16)
    with tf.GradientTape() as tape:
        loss = tf.reduce_mean((critic(states, actions) - targets) ** 2)
    gradients = tape.gradient(loss, critic.trainable_variables)
    optimizer.apply_gradients(zip(gradients, critic.trainable_variables))
"""


def test_a_critic_takes_what_is_observed_and_done(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    subject = build(tmp_path, _AGENT, monkeypatch, batch_size=16)
    assert subject.data[0] == {"state": Spec((16, 3), "float32"), "action": Spec((16, 1), "float32")}
    assert subject.model.count_params() == (3 + 1) * 8 + 8 + 8 + 1


def test_what_the_script_calls_it_on_is_known(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    text = (
        _AGENT.replace("import gym\n", "")
        .replace('env = gym.make("Pendulum-v1")\n', "")
        .replace("env.action_space.shape[0]", "1")
        .replace("memory.sample(16)", "tf.zeros((16, 5)), tf.zeros((16, 2)), tf.zeros((16, 1))")
    )
    subject = build(tmp_path, text, monkeypatch, batch_size=16)
    assert subject.data[0] == {"state": Spec((16, 5), "float32"), "action": Spec((16, 2), "float32")}


_PAIR = """
import tensorflow as tf
from ratings import pairs

class Tower(tf.keras.Model):
    def __init__(self):
        super().__init__()
        self.user = tf.keras.layers.Dense(4)
        self.head = tf.keras.layers.Dense(1)

    def call(self, inputs):
        TAKES
        return self.head(tf.concat([self.user(user), item * amount], axis=-1))

model = Tower()
model.compile("adam", "mse")
model.fit(pairs, epochs=3)
"""


@pytest.mark.parametrize(
    "takes",
    [
        'user, item, amount = inputs["user"], inputs["item"], inputs.get("amount")',
        "user, item, amount = inputs",
        "user = inputs[0]; item = inputs[1]; amount = inputs[2]",
    ],
)
def test_parts_of_one_argument(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, takes: str):
    text = _PAIR.replace("TAKES", takes)
    with pytest.raises(EstimateError, match="user, item, amount"):
        build(tmp_path, text, monkeypatch)
    options = _described("user=5x6, item=5x3, amount=5x1", batch_size=5)
    subject = build(tmp_path, text, monkeypatch, **options)
    arrays = [Spec((5, 6), "float32"), Spec((5, 3), "float32"), Spec((5, 1), "float32")]
    named = dict(zip(("user", "item", "amount"), arrays, strict=True))
    assert subject.data[0] == (named if "get" in takes else arrays)
    assert subject.model.count_params() == 6 * 4 + 4 + 7 + 1


def test_a_number_among_them(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    text = _PAIR.replace("TAKES", "user, item, amount = inputs")
    subject = build(tmp_path, text, monkeypatch, **_described("user=5x6, item=5x3, amount=0.5", batch_size=5))
    assert subject.data[0] == {"user": Spec((5, 6), "float32"), "item": Spec((5, 3), "float32")}
    assert subject.model.count_params() == 6 * 4 + 4 + 7 + 1


def test_one_array_is_called_as_before(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    text = _PAIR.replace("TAKES", "user, item, amount = inputs, inputs, 1.0").replace(
        "pairs, epochs", "x, y, epochs"
    )
    subject = build(tmp_path, text, monkeypatch, **_described("x=5x6", batch_size=5))
    assert subject.data[0] == Spec((5, 6), "float32")
