"""OOM402: how many steps are summed before an update, and how the script calls that number."""

from __future__ import annotations

import pytest

from oomlint.testing import run_rule

HEAD = """\
import tensorflow as tf
from tensorflow import keras
{before}
model = keras.Sequential([keras.Input((3,)), keras.layers.Dense(2)])
optimizer = keras.optimizers.SGD(0.1)
mse = keras.losses.MeanSquaredError()
data = tf.data.Dataset.from_tensor_slices((tf.zeros((64, 3)), tf.zeros((64, 2)))).batch(8)
sums = [tf.zeros_like(v) for v in model.trainable_variables]
"""
STEP = """\
    with tf.GradientTape() as tape:
        loss = mse(y, model(x))
    grads = tape.gradient(loss, model.trainable_variables)
    sums = [total + g for total, g in zip(sums, grads)]
"""
BY_A_TEST = (
    HEAD
    + "count = 0\nfor step, (x, y) in enumerate(data):\n"
    + STEP
    + """\
    count += 1
    {flag}
    if {test}:
        optimizer.apply_gradients(zip(sums, model.trainable_variables))
        sums = [tf.zeros_like(v) for v in model.trainable_variables]
        count = 0
"""
)
BY_A_LOOP = (
    HEAD
    + "batches = iter(data)\nfor epoch in range(100):\n    for {each} in {inner}:\n        {get}\n"
    + STEP.replace("\n    ", "\n        ").replace("    with", "        with", 1).rstrip(" ")
    + """\
    optimizer.apply_gradients(zip(sums, model.trainable_variables))
    sums = [tf.zeros_like(v) for v in model.trainable_variables]
"""
)


def said(text: str) -> list[str]:
    """Of each finding how many steps it counts, what that does to a rate of 0.1, and what its fix divides by."""
    found = []
    for one in run_rule("OOM402", text):
        steps = one.message.partition("the gradients of ")[2].partition(" are summed")[0]
        fix = "" if one.fix is None else one.fix.message
        found.append(
            f"{steps}; {one.evidence[0].text.removeprefix('with SGD it is a learning rate ')}; {fix}"
        )
    return found


ROWS = [
    # what stands before, the test, steps, the rate, the divisor
    ("", "(step + 1) % 4 == 0", "4 steps; of 0.1 x 4 = 0.4; divide by 4"),
    ("", "step % 2 == 0", "2 steps; of 0.1 x 2 = 0.2; divide by 2"),
    ("", "step % 1 == 0", None),  # every step
    ("STEPS = 1", "step % STEPS == 0", None),
    ("STEPS = 8", "step % STEPS == 0", "8 steps; of 0.1 x 8 = 0.8; divide by STEPS"),
    ("STEPS = 8\nOTHER = 3", "step % STEPS == 0", "8 steps; of 0.1 x 8 = 0.8; divide by STEPS"),
    ("STEPS = 2\nSTEPS = 8", "step % STEPS == 0", "8 steps; of 0.1 x 8 = 0.8; divide by STEPS"),
    ("from settings import STEPS", "step % STEPS == 0", "`STEPS` steps; `STEPS` times larger; divide by STEPS"),
    ("STEPS = tf.constant(8)", "step % STEPS == 0", "8 steps; of 0.1 x 8 = 0.8; divide by 8"),
    ("", "count == 4", "4 steps; of 0.1 x 4 = 0.4; divide by 4"),
    ("", "count >= 4", "4 steps; of 0.1 x 4 = 0.4; divide by 4"),
    ("", "tf.equal(count, 4)", "4 steps; of 0.1 x 4 = 0.4; divide by 4"),
    ("", "tf.equal(step % 8, 0)", "8 steps; of 0.1 x 8 = 0.8; divide by 8"),
    ("", "step % 8 == 0 and step > 4", "8 steps; of 0.1 x 8 = 0.8; divide by 8"),
    ("", "loss > 1", None),  # nothing counts
]  # fmt: skip


@pytest.mark.parametrize(("before", "test", "wanted"), ROWS, ids=[f"{row[0]} {row[1]}" for row in ROWS])
def test_a_test_in_the_loop(before: str, test: str, wanted: str | None) -> None:
    assert said(BY_A_TEST.format(before=before, test=test, flag="pass")) == ([wanted] if wanted else [])


def test_a_test_that_has_a_name() -> None:
    text = BY_A_TEST.format(before="", test="last", flag="last = (step + 1) % 4 == 0")
    assert said(text) == ["4 steps; of 0.1 x 4 = 0.4; divide by 4"]


LOOPS = [
    ("", "range(4)", "4 steps; of 0.1 x 4 = 0.4; divide by 4"),
    ("", "range(2)", "2 steps; of 0.1 x 2 = 0.2; divide by 2"),
    ("", "range(1)", None),
    ("STEPS = 3", "range(STEPS)", "3 steps; of 0.1 x 3 = 0.3; divide by STEPS"),
    ("STEPS = 3", "range(0, STEPS)", "3 steps; of 0.1 x 3 = 0.3; divide by 3"),
    ("from settings import STEPS", "range(STEPS)", "`STEPS` steps; `STEPS` times larger; divide by STEPS"),
]  # fmt: skip


@pytest.mark.parametrize(("before", "inner", "wanted"), LOOPS, ids=[f"{row[0]} {row[1]}" for row in LOOPS])
def test_a_loop_in_the_loop(before: str, inner: str, wanted: str | None) -> None:
    text = BY_A_LOOP.format(before=before, inner=inner, each="_", get="x, y = next(batches)")
    assert said(text) == ([wanted] if wanted else [])


def test_all_batches() -> None:
    text = BY_A_LOOP.format(
        before="rows = keras.utils.image_dataset_from_directory('scans')",
        inner="rows",
        each="x, y",
        get="pass",
    )
    (found,) = run_rule("OOM402", text)
    assert found.message.startswith("the gradients of all rounds are summed")
    assert found.evidence[0].text == "with SGD it is a learning rate as many times larger"
