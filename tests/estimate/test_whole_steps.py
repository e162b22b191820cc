"""Steps by hand whose loss takes a gradient of its own: they are followed whole, as the functions that they are."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from estimate.scripts import answered, build

from oomlint.estimate.errors import EstimateError
from oomlint.estimate.worker.subject import Spec, Subject

_CRITIC = """
import tensorflow as tf
from pictures import dataset

generator = tf.keras.Sequential([
    tf.keras.Input((5,)), tf.keras.layers.Dense(4 * 4 * 2), tf.keras.layers.Reshape((4, 4, 2))
])
critic = tf.keras.Sequential([
    tf.keras.Input((4, 4, 2)), tf.keras.layers.Conv2D(3, 3, activation="tanh"), tf.keras.layers.Flatten(),
    tf.keras.layers.Dense(1),
])
idle = tf.keras.Sequential([tf.keras.Input((4, 4, 2)), tf.keras.layers.Conv2D(9, 3)])
makers = tf.keras.optimizers.Adam()
judges = tf.keras.optimizers.SGD(momentum=0.9)
BATCH_SIZE = 8

def penalty(real, made):
    share = tf.random.uniform((tf.shape(real)[0], 1, 1, 1))
    between = real * share + made * (1 - share)
    with tf.GradientTape() as tape:
        tape.watch(between)
        score = critic(between, training=True)
    slope = tape.gradient(score, between)
    return tf.reduce_mean((tf.norm(tf.reshape(slope, (BATCH_SIZE, -1)), axis=1) - 1) ** 2)

@tf.function
def train_step(PARAMETERS):
    made = generator(tf.random.normal((BATCH_SIZE, 5)), training=True)
    with tf.GradientTape() as tape:
        loss = tf.reduce_mean(critic(made) - critic(images)) + 10.0 * penalty(images, made)
    found = tape.gradient(loss, critic.trainable_variables)
    judges.apply_gradients(zip(found, critic.trainable_variables))
    with tf.GradientTape() as tape:
        loss = -tf.reduce_mean(critic(generator(tf.random.normal((BATCH_SIZE, 5)))))
    found = tape.gradient(loss, generator.trainable_variables)
    makers.apply_gradients(zip(found, generator.trainable_variables))

for epoch in range(5):
    for PARAMETERS in dataset:
        train_step(PARAMETERS)
"""
_GENERATOR, _JUDGE = 5 * 32 + 32, 3 * 3 * 2 * 3 + 3 + 12 + 1  # weights, by hand


def _state(subject: Subject) -> dict[str, int]:
    from oomlint.estimate.worker.graph import engine

    return engine.footprint(subject, "graph", "T4").parts


def test_a_gradient_penalty(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    subject = build(tmp_path, _CRITIC.replace("PARAMETERS", "images"), monkeypatch)
    assert subject.data == (Spec((8, 4, 4, 2), "float32"),)
    assert sum(one.count_params() for one in subject.model.layers) == _GENERATOR + _JUDGE
    assert any("images float32[8, 4, 4, 2]" in one for one in subject.assumptions)
    parts = _state(subject)
    assert 4 * (_GENERATOR + _JUDGE) <= parts["weights"] < 4 * (_GENERATOR + _JUDGE) + 100
    # Adam keeps two numbers for each weight, momentum one; and each optimizer its count and its rate.
    assert 0 <= parts["optimizer_state"] - 4 * (2 * _GENERATOR + _JUDGE) < 100
    # The real, the made and the pictures between: 8 x 4 x 4 x 2 floats each, at the least.
    assert sum(parts.values()) > parts["weights"] + parts["optimizer_state"] + 3 * 8 * 32 * 4


def test_what_is_said_of_batches_and_replicas_is_said_of_it_too(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    told = {"strategy": "MirroredStrategy", "strategy:whole": "1", "said": "what the script was found to do"}
    text = _CRITIC.replace("PARAMETERS", "images")
    subject = build(tmp_path, text, monkeypatch, names=told, replicas=2)
    assert subject.data == (Spec((4, 4, 4, 2), "float32"),)  # of the script's 8 for both
    assert told["said"] in subject.assumptions
    assert any("2 replicas" in one and "gets 4 samples" in one for one in subject.assumptions)


def test_what_is_not_known_of_its_data_is_asked_for(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    text = _CRITIC.replace("PARAMETERS", "images, labels")
    with pytest.raises(EstimateError, match="not known: labels") as caught:
        build(tmp_path, text, monkeypatch)
    assert caught.value.parts == ("labels=32 int32",)
    about: dict[str, Any] = {"labels": {"shape": [8], "dtype": "int32", "below": None}}
    subject = build(tmp_path, text, monkeypatch, data=about)
    assert subject.data == (Spec((8, 4, 4, 2), "float32"), Spec((8,), "int32"))


def test_nothing_in_it_is_changed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    with pytest.raises(EstimateError, match="followed whole"):
        build(tmp_path, _CRITIC.replace("PARAMETERS", "images"), monkeypatch, optimizer="sgd")


@pytest.mark.parametrize("variables", ["self.net.trainable_variables", "self.params"])
def test_a_method_of_a_trainer(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, variables: str):
    text = """
import tensorflow as tf

class Solver:
    def __init__(self, width):
        self.net = tf.keras.Sequential([tf.keras.Input((2,)), tf.keras.layers.Dense(width, "tanh"), tf.keras.layers.Dense(1)])
        self.optimizer = tf.keras.optimizers.Adam()
        self.params = self.net.trainable_variables

    def residual(self, points):
        with tf.GradientTape() as tape:
            tape.watch(points)
            u = self.net(points)
        return tape.gradient(u, points)[:, :1] - u

    def step(self, points):
        with tf.GradientTape() as tape:
            loss = tf.reduce_mean(self.residual(points) ** 2)
        found = tape.gradient(loss, VARIABLES)
        self.optimizer.apply_gradients(zip(found, VARIABLES))
        return loss

solver = Solver(7)
for points in samples:
    print(solver.step(points))
"""
    subject = build(tmp_path, text.replace("VARIABLES", variables), monkeypatch, batch_size=50)
    assert subject.data == (Spec((50, 2), "float32"),)
    assert subject.model.run_eagerly
    assert _state(subject)["optimizer_state"] >= 2 * 4 * (2 * 7 + 7 + 7 + 1)


def test_what_an_inner_loop_learns(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    """A gradient of weights that another tape records: the outer one keeps all of it."""
    text = """
import tensorflow as tf

class Learner:
    def __init__(self):
        self.net = tf.keras.Sequential([tf.keras.Input((6,)), tf.keras.layers.Dense(3, "tanh"), tf.keras.layers.Dense(1)])
        self.optimizer = tf.keras.optimizers.Adam()

    def adapted(self):
        def task(x):
            with tf.GradientTape() as inner:
                loss = tf.reduce_mean(self.net(x) ** 2)
            found = inner.gradient(loss, self.net.trainable_variables)
            return sum(tf.reduce_sum(one ** 2) for one in found)
        return task

    @tf.function
    def step(self, tasks):
        with tf.GradientTape() as outer:
            loss = self.adapted()(tasks)
        found = outer.gradient(loss, self.net.trainable_variables)
        self.optimizer.apply_gradients(zip(found, self.net.trainable_variables))

def run(learner, batch=20):
    for tasks in own_tasks():
        learner.step(tasks)

run(Learner())
"""
    subject = build(tmp_path, text, monkeypatch)
    assert any("followed whole" in one for one in subject.assumptions)
    assert subject.data[0].shape[1:] == (6,)


_EQUATION = """
import numpy as np
import tensorflow as tf

class Solver(tf.keras.Model):
    def __init__(self, starts, points):
        super().__init__()
        self.starts, self.points = starts, points
        self.net = tf.keras.Sequential([
            tf.keras.Input((2,)), tf.keras.layers.Dense(16, activation="tanh"), tf.keras.layers.Dense(1)
        ])
        self.params = self.net.trainable_variables
        self.optimizer = tf.keras.optimizers.Adam()

    def residual(self, t, x):
        with tf.GradientTape() as tape:
            tape.watch(x)
            u = self.net(tf.concat([t, x], 1))
        return u - tape.gradient(u, x)

    def gradients(self, t_0, x_0, t_r, x_r):
        with tf.GradientTape() as tape:
            loss = tf.reduce_mean(self.residual(t_0, x_0) ** 2) + tf.reduce_mean(self.residual(t_r, x_r) ** 2)
        return loss, tape.gradient(loss, self.params)

    @tf.function
    def descend(self, t_0, x_0, t_r, x_r):
        loss, gradients = self.gradients(t_0, x_0, t_r, x_r)
        self.optimizer.apply_gradients(zip(gradients, self.params))
        return loss

    def train(self, rounds, size):
        t_0, x_0 = self.starts[0], self.starts[1]
        t_r, x_r = self.points[0].numpy(), self.points[1].numpy()
        for _ in range(rounds):
            for at in range(0, 100, size):
                t_some = tf.convert_to_tensor(t_r[at : at + size], tf.float32)
                x_some = tf.convert_to_tensor(x_r[at : at + size], tf.float32)
                self.descend(t_0, x_0, t_some, x_some)

starts = (tf.zeros((30, 1)), tf.random.uniform((30, 1)))
points = (tf.random.uniform((100, 1)), tf.random.uniform((100, 1)))
Solver(starts, points).train(1000, 64)
"""


def test_columns_of_points_as_the_callers_hand_them_over(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    subject = build(tmp_path, _EQUATION, monkeypatch)
    # The first of two batches, 64 and 36 of 100 points.
    assert [tuple(one.shape) for one in subject.data] == [(30, 1), (30, 1), (64, 1), (64, 1)]
    parts = _state(subject)
    weights = 4 * (2 * 16 + 16 + 16 + 1)
    assert weights <= parts["weights"] < weights + 100
    # Adam's two numbers for each weight: the function that applies the gradients is the one that is followed.
    assert 2 * weights <= parts["optimizer_state"] < 2 * weights + 100
    assert parts["gradients"] + parts["activations"] + parts["temporaries"] > 64 * 16 * 4


def test_a_step_that_only_gives_its_gradients_back_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    text = _EQUATION.replace(
        "self.optimizer.apply_gradients(zip(gradients, self.params))", "hand_on(gradients)"
    )
    with pytest.raises(EstimateError, match="takes a gradient with regard to its inputs"):
        build(tmp_path, text, monkeypatch)


REQUIRED = """
    import argparse
    import tensorflow as tf
    parser = argparse.ArgumentParser()
    parser.add_argument("--width", type=int, default=12)
    parser.add_argument("--data-dir", {how})
    opt = parser.parse_args()

    class Trainer:
        def __init__(self):
            self.made = tf.keras.Sequential([tf.keras.Input((5,)), tf.keras.layers.Dense(opt.width)])
            self.judge = tf.keras.Sequential([tf.keras.Input((opt.width,)), tf.keras.layers.Dense(1)])
            self.slow, self.quick = tf.keras.optimizers.Adam(), tf.keras.optimizers.Adam()

        def penalty(self, x):
            with tf.GradientTape() as tape:
                tape.watch(x)
                given = self.judge(x, training=True)
            return tf.reduce_mean(tf.square(tape.gradient(given, x)))

        @tf.function
        def step(self, real):
            noise = tf.random.normal((tf.shape(real)[0], opt.width - 7))
            with tf.GradientTape() as tape:
                fake = self.made(noise, training=True)
                loss = tf.reduce_mean(self.judge(fake)) - tf.reduce_mean(self.judge(real)) + self.penalty(real)
            variables = self.judge.trainable_variables
            self.quick.apply_gradients(zip(tape.gradient(loss, variables), variables))

        def fit(self, data):
            for real in data:
                self.step(real)

    data = tf.data.Dataset.from_tensor_slices(tf.zeros((90, 12))).batch(6)
    Trainer().fit(data)
"""


def test_an_option_that_has_to_be_given_is_no_optimizer_of_the_step(tmp_path, monkeypatch):
    """What is not known has every attribute, `apply_gradients` too: the step was given up for a data folder."""
    given = answered(tmp_path, REQUIRED.format(how="default='pictures'"), monkeypatch)
    asked = answered(tmp_path, REQUIRED.format(how="required=True"), monkeypatch)
    assert asked.instead == given.instead == ()
    assert asked.peak_bytes == given.peak_bytes
    # The judge has 12 weights and a bias, each of 4 bytes with two slots.
    assert asked.parts["optimizer_state"] == given.parts["optimizer_state"] >= 2 * 4 * 13


def test_a_model_that_applies_gradients_itself_is_no_optimizer():
    import keras

    from oomlint.estimate.worker.keras.state import is_optimizer

    class Trainer(keras.Model):
        def apply_gradients(self, found):
            """As scripts write it."""

    assert is_optimizer(keras.optimizers.Adam())
    assert not is_optimizer(Trainer())
