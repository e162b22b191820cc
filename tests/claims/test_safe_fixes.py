"""A safe fix keeps the results: tiny models are trained before and after it, to the same numbers."""

from __future__ import annotations

import contextlib
import io
from typing import Any

import pytest

from oomlint.findings.model import Safety
from oomlint.findings.registry import load_rules
from oomlint.testing import fix_text, rules_named

HEAD = """\
import numpy as np
import tensorflow as tf
from tensorflow import keras

keras.utils.set_random_seed(7)
x = np.random.default_rng(0).normal(size=(512, 16)).astype("float32")
y = x.sum(axis=1, keepdims=True)
model = keras.Sequential([keras.Input((16,)), keras.layers.Dense(8, activation="relu"), keras.layers.Dense(1)])
optimizer = keras.optimizers.Adam(0.01)
mse = keras.losses.MeanSquaredError()
data = tf.data.Dataset.from_tensor_slices((x, y)).shuffle(512, seed=3).batch(32)
losses = []
"""

# Each script leaves its numbers in `losses` and in the model's weights.
SCRIPTS = {
    "OOM303": HEAD
    + """\
model.compile(optimizer, mse)
wide = tf.data.Dataset.from_tensor_slices((np.tile(x, (1, 4096)), y)).batch(4).prefetch(64)
for rows, targets in wide:
    losses.append(model.train_on_batch(rows[:, :16], targets))
""",
    "OOM403": HEAD
    + """\
for features, targets in data.repeat(2):
    with tf.GradientTape() as tape:
        loss = mse(targets, model(features, training=True))
    gradients = tape.gradient(loss, model.trainable_variables)
    optimizer.apply_gradients(zip(gradients, model.trainable_variables))
    losses.append(loss)
# The mean of numbers is taken in double precision, that of tensors in single: seven digits are the same.
print(f"{np.mean(losses):.4f}")
""",
    "OOM405": HEAD
    + """\
for features, targets in data.repeat(2):
    with tf.GradientTape(persistent=True) as tape:
        loss = mse(targets, model(features, training=True))
    gradients = tape.gradient(loss, model.trainable_variables)
    optimizer.apply_gradients(zip(gradients, model.trainable_variables))
    losses.append(float(loss))
""",
    "OOM208": """\
import numpy as np
import tensorflow as tf

tf.keras.utils.set_random_seed(7)
x = np.random.default_rng(0).integers(0, 255, (64, 8, 8, 3)).astype("uint8")
y = x.mean(axis=(1, 2, 3)).astype("float32")
generator = tf.keras.preprocessing.image.ImageDataGenerator(horizontal_flip=True, vertical_flip=True, rescale=1 / 255)
generator.fit(x)
model = tf.keras.Sequential([tf.keras.Input((8, 8, 3)), tf.keras.layers.Flatten(), tf.keras.layers.Dense(1)])
model.compile("adam", "mse")
losses = []
batches = generator.flow(x, y, batch_size=16, seed=5)
for _ in range(6):
    pictures, targets = next(batches)
    print(f"{pictures.sum():.4f} {np.random.rand():.6f}")
    losses.append(model.train_on_batch(pictures, targets))
""",
}


def _run(script: str) -> tuple[list[float], list[Any], str]:
    """The losses, the weights, and what was printed."""
    names: dict[str, Any] = {}
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed):
        exec(compile(script, "script.py", "exec"), names)
    return [float(loss) for loss in names["losses"]], names["model"].get_weights(), printed.getvalue()


def test_every_rule_with_a_safe_fix_is_here():
    assert {entry.code for entry in load_rules() if entry.rule.fix is Safety.SAFE} <= set(SCRIPTS)


@pytest.mark.parametrize("code", SCRIPTS)
def test_training_gives_the_same_numbers_before_and_after(code):
    pytest.importorskip("tensorflow")
    before = SCRIPTS[code]
    after = fix_text(rules_named([code]), before, unsafe=False)
    assert after != before
    losses, weights, printed = _run(before)
    losses_after, weights_after, printed_after = _run(after)
    assert len(losses) > 3
    assert losses == losses_after
    assert printed == printed_after
    assert all((one == other).all() for one, other in zip(weights, weights_after, strict=True))
    # The numbers mean something: they depend on the training.
    assert len(set(losses)) > 1
