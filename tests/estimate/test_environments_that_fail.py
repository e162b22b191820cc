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


def test_of_one_that_is_made_the_sizes_are_remembered(tmp_path, monkeypatch, failing):
    """As the stand-in's are: a network that says nothing of its input is called on what is observed."""
    space = type("Space", (), {"shape": (6,)})
    environment = type(
        "Env", (), {"observation_space": space, "action_space": type("Actions", (), {"shape": ()})}
    )
    failing.make = lambda name, **options: environment
    text = """
        import gym
        import tensorflow as tf
        class Policy(tf.keras.Model):
            def __init__(self):
                super().__init__()
                self.body = tf.keras.Sequential([tf.keras.layers.Dense(2)])
            def call(self, x):
                return self.body(x)
        class Agent(tf.keras.Model):
            def __init__(self, env):
                super().__init__()
                self.policy = Policy()
            def loss(self, seen):
                return tf.reduce_mean(self.policy(seen))
        env = gym.make("Mine-v3")
        agent = Agent(env)
        optimizer = tf.keras.optimizers.Adam()
        def learn(seen):
            with tf.GradientTape() as tape:
                loss = agent.loss(seen)
            gradients = tape.gradient(loss, agent.trainable_variables)
            optimizer.apply_gradients(zip(gradients, agent.trainable_variables))
        for _ in range(10):
            learn(play(env, agent))
        """
    subject = build(tmp_path, text, monkeypatch)
    assert subject.model.count_params() == 6 * 2 + 2
