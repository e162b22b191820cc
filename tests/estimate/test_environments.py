"""Agents that are made for an environment of Gym, which is not installed: their sizes are those of its spaces."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest
from estimate.scripts import build
from estimate.test_scripts_of_others import needs

AGENT = """
import gym
import numpy as np
import tensorflow as tf
from tensorflow import keras

class Network:
    def __init__(self, state_dim, action_dim):
        self.model = keras.Sequential([keras.Input((state_dim,)), keras.layers.Dense(action_dim)])
        self.optimizer = keras.optimizers.Adam()

    def train(self, states, targets):
        with tf.GradientTape() as tape:
            loss = keras.losses.mse(targets, self.model(states, training=True))
        grads = tape.gradient(loss, self.model.trainable_variables)
        self.optimizer.apply_gradients(zip(grads, self.model.trainable_variables))

class Agent:
    def __init__(self, env):
        self.env = env
        self.state_dim = self.env.observation_space.shape[0]
        self.action_dim = SIZE
        self.network = Network(self.state_dim, self.action_dim)
        self.seen = []

    def replay(self):
        self.network.train(np.array(self.seen), np.array(self.seen))

    def train(self, episodes=1000):
        for episode in range(episodes):
            state, done = self.env.reset(), False
            while not done:
                state, reward, done, info = self.env.step(self.network.model.predict(state))
                self.seen.append(state)
            self.replay()

def main():
    env = gym.make("NAME")
    agent = Agent(env)
    agent.train(episodes=3)

main()
"""


@pytest.fixture(autouse=True)
def without_gym(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setitem(sys.modules, "gym", None)  # `import gym` fails


def agent(name: str, size: str) -> str:
    return AGENT.replace("NAME", name).replace("SIZE", size)


# Observations and actions as Gymnasium's documentation has them.
@pytest.mark.parametrize(
    ("name", "size", "state", "actions"),
    [
        ("CartPole-v1", "self.env.action_space.n", 4, 2),
        ("LunarLander-v2", "env.action_space.n", 8, 4),
        ("Pendulum-v0", "self.env.action_space.shape[0]", 3, 1),
    ],
)
def test_an_environment_that_gym_brings(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str, size: str, state: int, actions: int
):
    subject = build(tmp_path, agent(name, size), monkeypatch)
    assert tuple(subject.data[0].shape)[1:] == (state,)
    assert subject.model.count_params() == state * actions + actions


def test_the_spaces_of_another_are_asked_for(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    text = agent("MyOwn-v0", "self.env.action_space.n")
    assert needs(tmp_path, text, monkeypatch) == ("observation_space=4",)  # the actions are assumed, and said
    subject = build(tmp_path, text, monkeypatch, arguments={"observation_space": 7, "action_space": 3})
    assert subject.model.count_params() == 7 * 3 + 3
