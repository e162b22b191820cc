"""Agents that are made for an environment of Gym, which is not installed: their sizes are those of its spaces."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest
from estimate.scripts import build
from estimate.test_scripts_of_others import needs

from oomlint.estimate.worker.absent.environments import Gym
from oomlint.estimate.worker.absent.stand_ins import Missing

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


# Observations and actions as Gymnasium 1.4 gives them where it is installed.
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


@pytest.mark.parametrize(
    ("made", "state", "actions"),
    [
        (("CartPole-v1", {"render_mode": "human"}), (4,), 2),
        (("", {"id": "Acrobot-v1"}), (6,), 3),
        (("LunarLander-v3", {"continuous": True}), (8,), (2,)),
        (("CarRacing-v3", {"continuous": False}), (96, 96, 3), 5),
        (("FrozenLake-v1", {"map_name": "8x8", "is_slippery": False}), 64, 4),
        (("Ant-v2", {}), (111,), (8,)),  # with contact forces, which version 4 left out
        (("Ant-v4", {}), (27,), (8,)),
        (("Ant-v5", {}), (105,), (8,)),
        (("Reacher-v5", {}), (10,), (2,)),
        (("ALE/Carnival-v5", {}), (214, 160, 3), 6),
        (("ALE/Pong-v5", {"obs_type": "grayscale", "full_action_space": True}), (210, 160), 18),
        (("PongNoFrameskip-v4", {}), (210, 160, 3), 6),
        (("Breakout-ram-v4", {}), (128,), 4),
    ],
)
def test_the_spaces_are_those_of_the_version_and_the_arguments(made, state, actions):
    name, how = made
    environment = Gym("gym").make(name, **how)
    observed, taken = environment.observation_space, environment.action_space
    assert (observed.n if isinstance(state, int) else observed.shape) == state
    assert (taken.n if isinstance(actions, int) else taken.shape) == actions


@pytest.mark.parametrize(
    ("name", "how"),
    [("FrozenLake-v1", {"desc": ["SF", "FG"]}), ("Ant-v4", {"use_contact_forces": True}), ("MyOwn-v0", {})],
)
def test_spaces_that_an_argument_changes_are_not_known(name: str, how: dict[str, object]):
    assert isinstance(Gym("gym").make(name, **how), Missing)


def test_a_wrapper_of_the_scripts_own_has_the_spaces_of_what_it_wraps(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    wrapper = """
class Rewarded(gym.Wrapper):
    def __init__(self, env, offset=1.0):
        super(Rewarded, self).__init__(env)
        self.offset = offset

    def step(self, action):
        state, reward, done, info = self.env.step(action)
        return state, reward + self.offset, done, info

"""
    text = agent("CartPole-v1", "self.env.action_space.n").replace("def main():", wrapper + "def main():")
    text = text.replace('env = gym.make("CartPole-v1")', 'env = Rewarded(gym.make("CartPole-v1"))')
    assert build(tmp_path, text, monkeypatch).model.count_params() == 4 * 2 + 2


def test_what_lies_under_wrappers_has_the_spaces_and_the_rest_of_it_is_not_known(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    text = agent("Acrobot-v1", "self.env.action_space.n").replace(
        'env = gym.make("Acrobot-v1")',
        'env = gym.make("Acrobot-v1").unwrapped\n    limit = env.spec.max_episode_steps',
    )
    assert build(tmp_path, text, monkeypatch).model.count_params() == 6 * 3 + 3
    assert isinstance(Gym("gym").make("Acrobot-v1").spec, Missing)
