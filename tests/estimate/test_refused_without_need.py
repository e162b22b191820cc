"""Scripts that were refused, or answered without what a function of theirs sets, though all of it is in their text."""

from __future__ import annotations

from pathlib import Path

import pytest
from estimate.scripts import answered

HALVES = """
    import keras
    {before}
    model = keras.Sequential([keras.Input((64,)), keras.layers.Dense(1000, "relu"), keras.layers.Dense(64)])
    model.compile({optimizer}, "mse")
    model.fit(x, y, batch_size=512)
"""
POLICY = "keras.mixed_precision.set_global_policy('mixed_float16')"


@pytest.mark.parametrize("optimizer", ["keras.optimizers.SGD(0.1)", "'sgd'"])
@pytest.mark.parametrize("before", [POLICY, f"def set_up(): {POLICY}\n    set_up()"])
def test_a_policy_of_halves_holds_whichever_optimizer_it_scales_and_wherever_it_is_set(
    before: str, optimizer: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    found = answered(tmp_path, HALVES.format(before=before, optimizer=optimizer), monkeypatch)
    assert (found.policy, found.optimizer, found.instead) == ("mixed_float16", "SGD", ())
    whole = answered(tmp_path, HALVES.format(before="", optimizer=optimizer), monkeypatch)
    assert whole.policy == "float32"


def test_flags_that_a_function_defines_have_their_defaults(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    text = """
        import keras
        from absl import app, flags
        FLAGS = flags.FLAGS
        def define():
            f = flags
            f.DEFINE_integer("steps_of_halves_2611", 50, "")
            f.DEFINE_integer("batch_of_halves_2611", 8, "")
        def net():
            return keras.Sequential([keras.Input((FLAGS.steps_of_halves_2611, 3)), keras.layers.Dense(7)])
        def main(_):
            model = net()
            model.compile("sgd", "mse")
            model.fit(x, y, batch_size=FLAGS.batch_of_halves_2611)
        if __name__ == "__main__":
            define()
            app.run(main)
    """
    found = answered(tmp_path, text, monkeypatch)
    assert (found.batch_size, found.instead) == (8, ())
    assert found.parts["input"] >= 4 * 8 * 50 * 3


SIAMESE = """
    from {keras}.layers import Dense, Input, Lambda
    from {keras}.models import Model
    import {keras}.backend as K
    def distance(pair):
        first, second = pair
        return K.sqrt(K.sum(K.square(first - second), axis=1, keepdims=True))
    one = Input((32,))
    part = Model({inputs}=[one], {outputs}=[Dense(100, activation="relu")(one)])
    left, right = Input((32,)), Input((32,))
    apart = Lambda(distance)([part(left), part(right)])
    deep = Dense(5)(part(left))
    model = Model({inputs}=[left, right], {outputs}=[apart, deep])
    model.compile("sgd", "mse")
    model.fit([x, x], [y, z], batch_size=16)
"""


@pytest.mark.parametrize(
    ("keras", "inputs", "outputs"), [("keras", "input", "output"), ("tensorflow.keras", "inputs", "outputs")]
)
def test_a_model_with_one_output_in_a_list_gives_no_list_to_the_layers_after_it(
    keras: str, inputs: str, outputs: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    text = SIAMESE.format(keras=keras, inputs=inputs, outputs=outputs)
    found = answered(tmp_path, text, monkeypatch)
    assert found.instead == ()
    shared = 33 * 100 + 101 * 5  # one part, of both
    assert found.parts["weights"] == pytest.approx(4 * shared, abs=64)


def test_a_convolution_goes_over_all_but_the_last_sizes_as_in_keras_2(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    text = """
        import tensorflow as tf
        from tensorflow.keras import layers
        model = tf.keras.Sequential()
        model.add(layers.Conv1D(32, 1, padding="same", activation="relu"))
        model.add(layers.Reshape((10, 32)))
        model.add(layers.LSTM(64))
        model.add(layers.Dense(1))
        model.compile("adam", "mae")
        model.build((None, 10, 1, 6))
        x, y = [], []
        for row in load("rows.pkl"):
            x.append(row[0].reshape(10, 1, 6))
            y.append(row[1])
        model.fit(tf.stack(x), tf.stack(y), batch_size=64)
    """
    found = answered(tmp_path, text, monkeypatch)
    assert found.batch_size == 64
    # A kernel of 1 x 6 x 32 with its bias; four gates of 32 + 64 + 1 weights for each of 64; 64 and a bias.
    assert found.parts["weights"] == pytest.approx(4 * (7 * 32 + 4 * 97 * 64 + 65), abs=64)


def test_what_an_agent_sees_is_not_asked_for_where_only_its_actions_are_not_known(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    text = """
        import keras
        import numpy as np
        import simulator_of_nobody_3011
        import tensorflow as tf

        def network(actions):
            return keras.Sequential([keras.Input((20,)), keras.layers.Dense(30), keras.layers.Dense(actions)])

        class Agent:
            def __init__(self, env):
                self.actions = env.action_space.n
                self.q = network(self.actions)
                self.optimizer = keras.optimizers.SGD(0.1)
                self.seen = []

            def see(self, *what):
                self.seen.append(what)

            @tf.function
            def learn(self, states, wanted):
                with tf.GradientTape() as tape:
                    loss = tf.reduce_mean((wanted - self.q(states)) ** 2)
                grads = tape.gradient(loss, self.q.trainable_variables)
                self.optimizer.apply_gradients(zip(grads, self.q.trainable_variables))

        def main():
            env = simulator_of_nobody_3011.make("it")
            agent = Agent(env)
            state, more = env.reset()
            for _ in range(1000):
                new, reward, ended, cut, more = env.step(0)
                done = ended or cut
                agent.see(state, new, reward, done)
                state = new
                agent.learn(np.zeros((16, 20), "float32"), np.zeros((16, 1), "float32"))

        main()
    """
    found = answered(tmp_path, text, monkeypatch)
    assert found.instead == ()  # states, rewards and ends are nothing that the network is made of
    assert any("action_space" in one for one in found.assumptions)
    # 21 x 30 weights and 31 for each of ten actions.
    assert found.parts["weights"] == pytest.approx(4 * (21 * 30 + 31 * 10), abs=64)
