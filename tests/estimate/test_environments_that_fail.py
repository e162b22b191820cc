"""What an installed Gym does not make any more has the spaces that it had."""

from __future__ import annotations

import sys
from types import ModuleType

import pytest
from estimate.scripts import build

from oomlint.estimate.errors import EstimateError

pytest.importorskip("keras")

_SCRIPT = """
    import gym
    import tensorflow as tf
    env = gym.make({name!r})
    model = tf.keras.Sequential([
        tf.keras.Input(env.observation_space.shape), tf.keras.layers.Dense(env.action_space.shape[0])])
    model.compile("adam", "mse")
    model.fit(x, y, batch_size=8)
    """


@pytest.fixture
def failing(monkeypatch):
    library = ModuleType("gym")

    def make(name, **options):
        raise RuntimeError(f"Environment version v0 for {name} is deprecated")

    library.make = make
    monkeypatch.setitem(sys.modules, "gym", library)
    return library


def test_its_spaces_are_told(tmp_path, monkeypatch, failing):
    before = failing.make
    subject = build(tmp_path, _SCRIPT.format(name="Pendulum-v0"), monkeypatch)
    assert subject.model.count_params() == 3 * 1 + 1
    assert failing.make is before


def test_of_one_that_nobody_knows_they_are_asked_for(tmp_path, monkeypatch, failing):
    with pytest.raises(EstimateError) as caught:
        build(tmp_path, _SCRIPT.format(name="Unheard-v0"), monkeypatch)
    assert caught.value.asked == "observation_space"
