"""Where the fix of OOM401 is offered and where it must not be, and how OOM402 weighs optimizers."""

from __future__ import annotations

import pytest

from oomlint.findings.diagnostic import Diagnostic
from oomlint.project.settings import Settings
from oomlint.testing import run_rule

FAKE = """
import tensorflow as tf
{imports}

{before}model = keras.Sequential([keras.Input((3,)), keras.layers.Dense(2)])
optimizer = {optimizer}
mse = keras.losses.MeanSquaredError()
for x, y in tf.data.Dataset.from_tensor_slices((tf.zeros((64, 3)), tf.zeros((64, 2)))).batch(8):
    with tf.GradientTape() as tape:
        loss = mse(y, model(x))
    grads = tape.gradient(loss, model.trainable_variables)
    grads = [g / {divisor} for g in grads]
    optimizer.apply_gradients(zip(grads, model.trainable_variables))
"""


def fake(
    optimizer: str = "keras.optimizers.SGD(0.1)",
    *,
    divisor: str = "4",
    imports: str = "from tensorflow import keras",
    before: str = "",
    target: tuple[int, ...] | None = None,
) -> list[Diagnostic]:
    text = FAKE.format(optimizer=optimizer, divisor=divisor, imports=imports, before=before)
    return run_rule("OOM401", text, settings=Settings(target_keras=target))


def test_the_fix_is_offered() -> None:
    (found,) = fake()
    assert found.fix is not None
    assert str(found.severity) == "error"


@pytest.mark.parametrize(
    "target",
    [
        (2,),  # no such argument
        (2, 15),
        (3, 4),  # clipping, decay and the step count went by micro-batch
    ],
)
def test_not_for_older_keras(target: tuple[int, ...]) -> None:
    (found,) = fake(target=target)
    assert found.fix is None


@pytest.mark.parametrize("target", [(3, 5), (3, 8), (3,), None])
def test_from_keras_3_5_on(target: tuple[int, ...] | None) -> None:
    (found,) = fake(target=target)
    assert found.fix is not None


def test_not_for_tf_keras() -> None:
    (found,) = fake(imports="import tf_keras as keras")
    assert found.fix is None
    assert "Keras 2" in found.help


@pytest.mark.parametrize("strategy", ["MirroredStrategy", "MultiWorkerMirroredStrategy"])
def test_not_under_a_mirrored_strategy(strategy: str) -> None:
    (found,) = fake(before=f"strategy = tf.distribute.{strategy}()\n")
    assert found.fix is None
    assert "mirrored" in found.help


def test_but_under_one_device() -> None:
    (found,) = fake(before='strategy = tf.distribute.OneDeviceStrategy("/gpu:0")\n')
    assert found.fix is not None


def test_not_without_a_number() -> None:
    (found,) = fake(divisor="steps_from_somewhere")
    assert found.fix is None


def test_not_where_the_optimizer_comes_from_elsewhere() -> None:
    (found,) = fake("make_optimizer()")
    assert found.fix is None


@pytest.mark.parametrize("divisor", ["1", "1.0", "0.5"])
def test_a_division_by_one_or_less_accumulates_nothing_and_means_nothing(divisor: str) -> None:
    assert fake(divisor=divisor) == []


def test_a_division_beside_the_argument_divides_twice() -> None:
    (found,) = fake("keras.optimizers.SGD(0.1, gradient_accumulation_steps=4)")
    assert "although" in found.message
    assert fake("keras.optimizers.Adam(0.1, gradient_accumulation_steps=4)") == []  # it divides that out


SUMMED = """
import tensorflow as tf
from tensorflow import keras

model = keras.Sequential([keras.Input((3,)), keras.layers.Dense(2)])
optimizer = {optimizer}
mse = keras.losses.MeanSquaredError()
total = [tf.zeros_like(v) for v in model.trainable_variables]
data = tf.data.Dataset.from_tensor_slices((tf.zeros((64, 3)), tf.zeros((64, 2)))).batch(8)
for step, (x, y) in enumerate(data):
    with tf.GradientTape() as tape:
        loss = mse(y, model(x))
    total = [t + g for t, g in zip(total, tape.gradient(loss, model.trainable_variables))]
    if step % 4 == 3:
        optimizer.apply_gradients(zip(total, model.trainable_variables))
        total = [tf.zeros_like(v) for v in model.trainable_variables]
"""


@pytest.mark.parametrize(
    ("optimizer", "severity"),
    [
        ("keras.optimizers.SGD(0.1)", "warning"),
        ("keras.optimizers.Adagrad(0.1)", "warning"),
        ("keras.optimizers.Adam(0.1)", "note"),
        ("keras.optimizers.Lion(0.1)", "note"),
        ("keras.optimizers.Adam(0.1, clipvalue=0.5)", "warning"),
        ("keras.optimizers.RMSprop(0.1, global_clipnorm=1.0)", "warning"),
        ("make_optimizer()", "note"),
    ],
)
def test_a_sum_weighs_as_the_optimizer_takes_it(optimizer: str, severity: str) -> None:
    (found,) = run_rule("OOM402", SUMMED.format(optimizer=optimizer))
    assert str(found.severity) == severity
    assert "4 steps" in found.message
