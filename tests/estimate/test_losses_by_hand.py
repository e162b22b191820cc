"""The loss of a loop by hand is the one that it calls: its targets may be a number where the output is a vocabulary."""

from __future__ import annotations

import pytest
from estimate.scripts import build

pytest.importorskip("tensorflow")

LOOP = """
    import tensorflow as tf
    {before}
    model = tf.keras.Sequential([tf.keras.Input((20,)), tf.keras.layers.Dense(300)])
    optimizer = tf.keras.optimizers.SGD()

    @tf.function
    def step(x, y):
        with tf.GradientTape() as tape:
            loss = {loss}
        gradients = tape.gradient(loss, model.trainable_variables)
        optimizer.apply_gradients(zip(gradients, model.trainable_variables))

    for _ in range(10):
        step(tf.random.normal((8, 20)), tf.zeros((8,), tf.int32))
"""
SPARSE = "fn = tf.keras.losses.SparseCategoricalCrossentropy(from_logits=True)"


@pytest.mark.parametrize(
    ("before", "loss"),
    [
        (SPARSE, "fn(y, model(x, training=True))"),
        (SPARSE, "tf.reduce_mean(fn(y, tf.cast(model(x), tf.float32))) + 0.1 * tf.keras.losses.mse(x, x)"),
        (
            "def fn(y, p): return tf.nn.sparse_softmax_cross_entropy_with_logits(labels=y, logits=p)",
            "tf.reduce_mean(fn(y, model(x)))",
        ),
        ("", "tf.keras.losses.sparse_categorical_crossentropy(y, model(x), from_logits=True)"),
        ("", "tf.keras.losses.sparse_categorical_crossentropy(y, model(x), True)"),
    ],
)
def test_class_numbers_are_compared_with_a_whole_vocabulary(tmp_path, monkeypatch, before, loss):
    built = build(tmp_path, LOOP.format(before=before, loss=loss), monkeypatch)
    assert [one.shape for one in built.data] == [(8, 20), (8,)]
    assert built.data[1].dtype == "int32"
    assert built.model.loss.from_logits
    (said,) = [one for one in built.assumptions if one.startswith("loss ")]
    assert said.startswith("loss sparse_categorical_crossentropy, as the loop calls it (train.py:")


@pytest.mark.parametrize(
    ("before", "loss"),
    [
        # Two losses of what the model gives: which of them is the larger nobody says.
        (SPARSE, "fn(y, made := model(x)) + tf.keras.losses.mse(tf.one_hot(y, 300), made)"),
        ("from elsewhere import fn", "fn(y, model(x))"),
        # Numbers for one output: the output's own shape.
        ("", "tf.keras.losses.mse(tf.one_hot(y, 300), model(x))"),
    ],
)
def test_of_other_losses_the_targets_have_the_shape_of_the_output(tmp_path, monkeypatch, before, loss):
    built = build(tmp_path, LOOP.format(before=before, loss=loss), monkeypatch)
    assert built.data[1].shape == (8, 300)


REPLICAS = """
    import tensorflow as tf
    strategy = tf.distribute.MirroredStrategy(["GPU:0", "GPU:1"])
    together = {together}
    data = tf.data.Dataset.from_tensor_slices((tf.zeros((640, 20)), tf.zeros((640,), tf.int32)))
    with strategy.scope():
        model = tf.keras.Sequential([tf.keras.Input((20,)), tf.keras.layers.Dense(300)])
        optimizer = tf.keras.optimizers.SGD()
        fn = tf.keras.losses.SparseCategoricalCrossentropy(from_logits=True, reduction="none")

    @tf.function
    def step(batch):
        def one(pair):
            x, y = pair
            with tf.GradientTape() as tape:
                loss = tf.reduce_sum(fn(y, model(x, training=True))) / together
            gradients = tape.gradient(loss, model.trainable_variables)
            optimizer.apply_gradients(zip(gradients, model.trainable_variables))
            return loss
        return strategy.reduce("SUM", strategy.run(one, args=(batch,)), axis=None)

    for batch in {data}:
        step(batch)
"""
SHARED_OUT = "strategy.experimental_distribute_dataset(data.batch(together, drop_remainder=True))"
BY_FUNCTION = (
    "strategy.distribute_datasets_from_function(lambda context: data.batch(24, drop_remainder=True))"
)


@pytest.mark.parametrize(
    ("together", "data", "each"),
    [
        ("48", SHARED_OUT, 24),
        ("20 * strategy.num_replicas_in_sync", SHARED_OUT, 20),
        ("48", BY_FUNCTION, 24),
        ("48", "data.batch(together, drop_remainder=True)", 48),  # each replica is handed all of it
    ],
)
def test_a_step_on_replicas_gets_its_part_of_the_batch(tmp_path, monkeypatch, together, data, each):
    text = REPLICAS.format(together=together, data=data)
    built = build(tmp_path, text, monkeypatch, replicas=2)
    assert built.data[0].shape == (each, 20)
    assert not [one for one in built.assumptions if "a usual one" in one]
