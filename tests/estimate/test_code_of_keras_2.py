"""Code that Keras 2 took and Keras 3 does not, of more public scripts; each in a small script of its own words."""

from __future__ import annotations

from pathlib import Path

import pytest
from estimate.scripts import build

from oomlint.estimate.worker.main import measured

OPTIMIZER = """
    from keras.models import Sequential
    from keras.layers.core import Dense
    from keras.optimizers import Optimizer
    import keras.backend as K

    class Slow(Optimizer):
        def __init__(self, lr=0.1, strict=False, **how):
            super(Slow, self).__init__(**how)
            self.lr = K.variable(lr, name="lr")
            self.strict = strict

        def get_updates(self, loss, params):
            grads = self.get_gradients(loss, params)
            firsts = [K.zeros(K.int_shape(p), dtype=K.dtype(p)) for p in params]
            seconds = [K.zeros(K.int_shape(p), dtype=K.dtype(p)) for p in params]
            if self.strict:
                thirds = [K.zeros(K.int_shape(p)) for p in params]
            self.updates = []
            return self.updates

    model = Sequential([Dense(4, input_dim=3)])
    model.compile(Slow(0.2), "mse")
    model.fit(x, y, batch_size=8)
"""


def test_an_optimizer_of_ones_own_keeps_what_it_makes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    """Two values for each of 16 weights, a rate and a count of steps; three would be made only where it is strict."""
    subject = build(tmp_path, OPTIMIZER, monkeypatch)
    sizes = sorted(tuple(variable.shape) for variable in subject.model.optimizer.variables)
    assert sizes == [(), (), (3, 4), (3, 4), (4,), (4,)]
    assert any("Slow, an optimizer for Keras 2" in one for one in subject.assumptions)


def test_a_rate_that_is_not_known_beside_another_argument(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    text = """
        import keras
        from keras.optimizers import Adam

        rates = read("rates.bin")
        model = keras.Sequential([keras.Input((3,)), keras.layers.Dense(4)])
        model.compile(Adam(rates[0], 0.9), "mse")
        model.fit(x, y, batch_size=8)
    """
    assert build(tmp_path, text, monkeypatch).model.optimizer.beta_1 == 0.9


def test_outputs_that_are_set(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    """A network that hands over features: from its second layer of three."""
    text = """
        from keras.layers import Dense, Input, advanced_activations
        from keras.models import Model
        from keras import layers

        a = Input((6,))
        b = Dense(5, name="five")(a)
        network = Model(a, Dense(2)(layers.advanced_activations.LeakyReLU()(b)))
        network.outputs = [network.layers[1].output]
        given = Input((6,))
        model = Model(given, network(given))
        model.compile("sgd", "mse")
        model.fit(x, y, batch_size=8)
    """
    subject = build(tmp_path, text, monkeypatch)
    assert tuple(subject.outputs.shape) == (8, 5)


def test_values_of_another_shape(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    text = """
        import tensorflow as tf

        start = tf.keras.initializers.constant([[1.0, 0, 0], [0, 1.0, 0]])
        model = tf.keras.Sequential([tf.keras.Input((4,)), tf.keras.layers.Dense(6, bias_initializer=start)])
        model.compile("sgd", "mse")
        model.fit(x, y, batch_size=8)
    """
    assert build(tmp_path, text, monkeypatch).model.count_params() == 4 * 6 + 6


def test_a_model_that_keeps_its_state_and_is_told_its_batch(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    text = """
        from keras.models import Sequential
        from keras.layers import Embedding, LSTM
        from keras.layers.recurrent import Recurrent

        model = Sequential()
        model.add(Embedding(30, 5, batch_input_shape=(16, 10)))
        model.add(LSTM(7, stateful=True))
        assert any(isinstance(layer, Recurrent) for layer in model.layers)
        model.reset_states()
        model.compile("sgd", "mse")
        model.fit(x, y, batch_size=16)
    """
    assert build(tmp_path, text, monkeypatch).data[0].shape == (16, 10)


def test_metrics_of_a_model_that_is_trained_beside(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    """One list for two outputs, which Keras 3 refuses: of the other part of a GAN as of the one that is estimated."""
    text = """
        import keras

        seen = keras.Input((6,))
        judge = keras.Model(seen, [keras.layers.Dense(1)(seen), keras.layers.Dense(3)(seen)])
        judge.compile("sgd", loss=["mse", "mse"], metrics=["accuracy"], jit_compile=False)
        drawn = keras.Input((4,))
        maker = keras.Model(drawn, keras.layers.Dense(6)(drawn))
        both = keras.Model(drawn, judge(maker(drawn)))
        both.compile("sgd", loss=["mse", "mse"], jit_compile=False)
        for step in range(100):
            judge.train_on_batch(read(step), labels)
            both.train_on_batch(noise(step), labels)
    """
    from oomlint.estimate.request import Request

    subject = build(tmp_path, text, monkeypatch)
    assert len(subject.others) == 1
    said = measured(subject, Request("train.py", engine="graph"), 0.0).assumptions
    assert any("the script's metrics are left out" in one for one in said)


def test_the_generation_of_a_class_that_is_not_there_has_no_members(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    text = """
        import keras
        from glassware import Bent

        model = keras.Sequential([keras.Input((4,)), keras.layers.Dense(3)])
        for layer in model.layers:
            if isinstance(layer, Bent):
                layer.trainable = False
        model.compile("sgd", "mse")
        model.fit(x, y, batch_size=8)
    """
    assert len(build(tmp_path, text, monkeypatch).model.trainable_weights) == 2


def test_weights_that_are_added_as_variables(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    """`add_variable(NAME, ...)` was `add_weight`; in Keras 3 the shape comes first. 3 x 5 and 5 weights, 5 that are kept."""
    text = """
        import tensorflow as tf

        class Scaled(tf.keras.layers.Layer):
            def build(self, shape):
                self.kernel = self.add_variable("kernel", shape=[int(shape[-1]), 5], initializer="ones", trainable=True)
                self.bias = self.add_variable(name="bias", shape=[5], initializer="zeros")
                self.kept = self.add_variable(
                    "kept", [5], initializer="zeros", trainable=False, aggregation=tf.VariableAggregation.MEAN
                )

            def call(self, x):
                return tf.matmul(x, self.kernel) + self.bias * self.kept

        model = tf.keras.Sequential([tf.keras.layers.Input((3,)), Scaled()])
        model.compile(tf.keras.optimizers.Adam(5e-4 * 0.1 ** tf.cast(tf.Variable(0), tf.float32)), "mse")
        model.fit(x, y, batch_size=8)
    """
    model = build(tmp_path, text, monkeypatch).model
    assert [tuple(one.shape) for one in model.trainable_weights] == [(3, 5), (5,)]
    assert [tuple(one.shape) for one in model.non_trainable_weights] == [(5,)]
    assert type(model.optimizer).__name__ == "Adam"
