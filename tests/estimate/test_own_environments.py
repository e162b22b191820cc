"""Agents in an environment of the script's own, a class of it that inherits Gym's, which is not installed."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest
from estimate.scripts import build

from oomlint.estimate.worker.absent.environments import Gym, instead_of

_AGENT = """
{imports}
import numpy as np
import tensorflow as tf

class Market({base}):
    def __init__(self, horizon=5):
        super().__init__()
        self.horizon = horizon
        self.columns = ["open", "high", "low"]
        self.observation_space = {observed}
        self.action_space = {acted}

    def step(self, action):
        return np.random.rand(3), 0.0, False, {{}}

market = Market()
inputs = tf.keras.Input(market.observation_space.shape)
x = tf.keras.layers.Flatten()(inputs)
model = tf.keras.Model(inputs, tf.keras.layers.Dense({actions})(x))
model.compile("adam", "mse")
seen = []
for episode in range(100):
    state = market.reset()
    model.fit(np.array(seen), np.array(seen), batch_size=8)
"""


@pytest.fixture(autouse=True)
def without_gym(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setitem(sys.modules, "gym", None)  # `import gym` fails


@pytest.mark.parametrize(
    ("words", "shape", "actions"),
    [
        (
            {
                "imports": "import gym\nfrom gym import spaces",
                "base": "gym.Env",
                "observed": "spaces.Box(low=0, high=1, shape=(len(self.columns), self.horizon + 1))",
                "acted": "spaces.Discrete(4)",
                "actions": "market.action_space.n",
            },
            (3, 6),
            4,
        ),
        (
            {
                "imports": "from gym import Env\nfrom gym.spaces import Box",
                "base": "Env",
                "observed": "Box(np.zeros(7), np.ones(7))",
                "acted": "Box(-1.0, 2.0, (2,))",
                "actions": "len(market.action_space.high)",
            },
            (7,),
            2,
        ),
    ],
)
def test_the_spaces_that_its_class_sets(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, words, shape, actions
):
    subject = build(tmp_path, _AGENT.format(**words), monkeypatch)
    assert tuple(subject.data[0].shape) == (8, *shape)
    size = 1
    for one in shape:
        size *= one
    assert subject.model.count_params() == size * actions + actions


def test_spaces_as_gymnasium_has_them():
    gym = Gym("gym")
    box = gym.spaces.Box(-2.0, 3.0, (2,))
    assert (box.low.tolist(), box.high.tolist()) == ([-2.0, -2.0], [3.0, 3.0])
    assert gym.spaces.MultiBinary(5).shape == (5,)
    assert gym.spaces.MultiDiscrete([3, 4]).shape == (2,)
    parts = gym.spaces.Dict({"place": gym.spaces.Box(0, 1, (3,)), "goal": gym.spaces.Discrete(2)})
    assert (parts["place"].shape, parts.spaces["goal"].n) == ((3,), 2)
    assert len(gym.spaces.Tuple((box, box)).spaces) == 2


def test_a_class_of_gym_that_is_imported_by_its_name():
    error = ModuleNotFoundError("No module named 'gym'", name="gym")
    assert instead_of(error, "Env", 3) is Gym.Env
    assert isinstance(instead_of(error, "register", 3), Gym)
    assert instead_of(ModuleNotFoundError("No module named 'other'", name="other"), "Env", 3) is None
