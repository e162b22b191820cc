"""OOM401: which divisions of a loss or of gradients are by a number of accumulation steps, and what becomes of them.

What a divisor is, its author's names say: `GPUS` counts replicas, `STEPS` steps. A number without a name is taken for
steps unless it is the batch, two (half a squared error) or stands beside another factor.
"""

from __future__ import annotations

import pytest

from oomlint.findings.diagnostic import Diagnostic
from oomlint.project.settings import Settings
from oomlint.testing import fix_text, rules_named, run_rule

SCRIPT = """\
import tensorflow as tf
from tensorflow import keras
{before}
model = keras.Sequential([keras.Input((3,)), keras.layers.Dense(2)])
optimizer = {optimizer}
mse = keras.losses.{mse}
data = tf.data.Dataset.from_tensor_slices((tf.zeros((64, 3)), tf.zeros((64, 2)))).batch({batch})
for x, y in data:
    with tf.GradientTape() as tape:
        loss = {loss}
    grads = tape.gradient(loss, model.trainable_variables)
    grads = {grads}
    optimizer.apply_gradients(zip(grads, model.trainable_variables))
"""
PLAIN = {
    "before": "",
    "optimizer": "keras.optimizers.SGD(0.1)",
    "mse": "MeanSquaredError()",
    "batch": "8",
    "loss": "mse(y, model(x))",
    "grads": "list(grads)",
}


def script(**parts: str) -> str:
    return SCRIPT.format(**{**PLAIN, **parts})


def found(**parts: str) -> list[Diagnostic]:
    return run_rule("OOM401", script(**parts), settings=Settings())


@pytest.mark.parametrize(
    ("divided", "before", "named"),
    [
        ("4", "", "4"),
        ("3", "", "3"),
        ("STEPS", "STEPS = 2", "2"),
        ("accum_steps", "accum_steps = 4.0", "4"),
        ("accum_batches_per_gpu", "accum_batches_per_gpu = 4", "4"),
        ("ACCUM_STEPS", "ACCUM_STEPS = read_settings()", "`ACCUM_STEPS`"),
        ("cfg.accum", "cfg = read_settings()", "`cfg.accum`"),
        ("tf.cast(cfg.accum, tf.float32)", "cfg = read_settings()", "`cfg.accum`"),
        ("int(ACCUM)", "import os\nACCUM = int(os.environ['ACCUM'])", "`ACCUM`"),
    ],
)
def test_a_loss_divided_by_steps(divided: str, before: str, named: str) -> None:
    (one,) = found(loss=f"mse(y, model(x)) / {divided}", before=before)
    assert one.message.startswith(f"the loss is divided by {named} and applied at every step")
    assert one.location.row == 10 + before.count("\n")


@pytest.mark.parametrize(
    ("loss", "before"),
    [
        ("mse(y, model(x)) / 2", ""),  # half a squared error
        ("mse(y, model(x)) / 4.0", ""),  # a weight
        ("0.1 * mse(y, model(x)) / 4", ""),
        ("mse(y, model(x)) / 4 / 3", ""),
        ("(mse(y, model(x)) + mse(y, model(x)) + mse(y, model(x))) / 3", ""),  # as many as there are terms
        ("mse(y, model(x)) * N / N", "N = 4"),  # scaled up and down again
        ("mse(y, model(x)) / N", "NUM_GPUS = 4\nN = NUM_GPUS"),
        ("mse(y, model(x)) / N", "N = -1"),  # away from the minimum
        ("mse(y, model(x)) / heads", "heads = 4"),
        ("mse(y, model(x)) / NUM_GPUS", "NUM_GPUS = 4"),
        ("mse(y, model(x)) / STEPS", "STEPS = read_settings()"),
        ("mse(y, model(x)) / cfg.gpus", "cfg = read_settings()"),
        ("mse(y, model(x)) / tf.cast(tf.shape(x)[0], tf.float32)", ""),
        ("mse(y, model(x)) / len(rows)", "rows = list(range(4))"),
    ],
)
def test_a_loss_divided_by_something_else(loss: str, before: str) -> None:
    assert found(loss=loss, before=before) == []


def test_a_sum_over_the_batch_is_divided_by_what_it_summed() -> None:
    summed = 'MeanSquaredError(reduction="sum")'
    assert found(mse=summed, loss="mse(y, model(x)) / 4") == []
    assert len(found(mse=summed, loss="mse(y, model(x)) / accum_steps", before="accum_steps = 4")) == 1


@pytest.mark.parametrize(
    ("batch", "before", "divisor", "reported"),
    [
        ("4", "", "4", False),
        ("4", "N = 4", "N", False),
        ("N", "N = 4", "4", False),
        ("N", "N = 4", "N", False),
        ("N", "N = 4\nSTEPS = N", "STEPS", False),
        ("N", "N = 4\nSTEPS = 4", "STEPS", True),
        ("8", "STEPS = 4", "STEPS", True),
        ("4", "accum = 4", "accum", True),
    ],
)
def test_the_size_of_a_batch_is_no_number_of_steps(
    batch: str, before: str, divisor: str, reported: bool
) -> None:
    assert bool(found(batch=batch, before=before, grads=f"[g / {divisor} for g in grads]")) is reported


@pytest.mark.parametrize(("divisor", "named"), [("4.0", "4"), ("2", "2")])
def test_gradients_are_not_halved_as_an_error_is(divisor: str, named: str) -> None:
    (one,) = found(grads=f"[g / {divisor} for g in grads]")
    assert one.message.startswith(f"gradients are divided by {named} and applied")


def test_a_factor_that_nobody_knows_is_not_the_divisor() -> None:
    (one,) = found(loss="weight_of(x) * mse(y, model(x)) / STEPS", before="STEPS = 4")
    assert one.message.startswith("the loss is divided by 4")


def test_the_loss_and_the_gradients() -> None:
    both = {"loss": "mse(y, model(x)) / 4", "grads": "[g / 4 for g in grads]"}
    (one,) = found(**both)
    assert one.message.startswith("gradients are divided")
    assert one.fix is None  # which of the two is right, nobody knows
    given = {**both, "optimizer": "keras.optimizers.SGD(0.1, gradient_accumulation_steps=4)"}
    mended = fix_text(rules_named(["OOM401"]), script(**given), settings=Settings())
    assert mended == script(optimizer=given["optimizer"], grads="-").replace("    grads = -\n", "")


@pytest.mark.parametrize(
    ("optimizer", "said"),
    [
        ("SGD(0.1)", "with SGD it is a learning rate of 0.1 / 4 = 0.025"),
        ("SGD(keras.optimizers.schedules.ExponentialDecay(0.1, 10, 0.9))", "with SGD it is a smaller learning rate"),
        ("Adam(0.1)", "Adam divides the factor out: the division changes next to nothing"),
        ("Adam(0.1, clipnorm=None)", "Adam divides the factor out: the division changes next to nothing"),
        ("Adam(0.1, clipnorm=1.0)", "Adam divides the factor out, but `clipnorm` now sees gradients 4 times smaller"),
    ],
)  # fmt: skip
def test_what_it_does_to_the_optimizer(optimizer: str, said: str) -> None:
    (one,) = found(optimizer=f"keras.optimizers.{optimizer}", grads="[g / 4 for g in grads]")
    assert said in [note.text for note in one.evidence]


@pytest.mark.parametrize(
    ("before", "mirrored"),
    [
        ("strategy = tf.distribute.MirroredStrategy()", True),
        ("strategy = tf.distribute.OneDeviceStrategy('/gpu:0')", False),
        ("strategy = tf.distribute.get_strategy()", False),
        ("resolver = tf.distribute.cluster_resolver.TFConfigClusterResolver()", False),
    ],
)
def test_a_strategy_with_replicas(before: str, mirrored: bool) -> None:
    (one,) = found(before=before, grads="[g / 4 for g in grads]")
    assert ("raises under a mirrored strategy" in one.help) is mirrored
    assert (one.fix is None) is mirrored


def test_beside_the_argument_the_division_goes() -> None:
    given = "keras.optimizers.SGD(0.1, gradient_accumulation_steps=4)"
    (one,) = found(optimizer=given, grads="[g / 4 for g in grads]")
    assert one.help == "do not divide: the optimizer takes the mean of its accumulation steps"
    assert one.fix is not None
    assert (one.fix.message, one.fix.safety.value) == ("remove the division", "unsafe")


UNDIVIDED = [
    ("[g / 4 for g in grads]", None),
    ("[g / 4 for g in grads if g is not None]", "[g for g in grads if g is not None]"),
    ("[tf.clip_by_norm(g, 1.0) / 4 for g in grads]", "[tf.clip_by_norm(g, 1.0) for g in grads]"),
    ("[g * (1 / 4) for g in grads]", None),
    ("[(1 / 4) * g for g in grads]", None),
    ("[tf.divide(g, 4) for g in grads]", None),
]


@pytest.mark.parametrize(("grads", "then"), UNDIVIDED)
def test_the_division_is_taken_out(grads: str, then: str | None) -> None:
    mended = fix_text(rules_named(["OOM401"]), script(grads=grads), settings=Settings())
    wanted = script(grads=then or "-", optimizer="keras.optimizers.SGD(0.1, gradient_accumulation_steps=4)")
    assert mended == wanted.replace("    grads = -\n", "")


OPTION = """\
import argparse
import tensorflow as tf
from tensorflow import keras

{early}
model = keras.Sequential([keras.Input((3,)), keras.layers.Dense(2)])
optimizer = keras.optimizers.SGD(0.1)
{late}
mse = keras.losses.MeanSquaredError()
for x, y in tf.data.Dataset.from_tensor_slices((tf.zeros((64, 3)), tf.zeros((64, 2)))).batch(8):
    with tf.GradientTape() as tape:
        loss = mse(y, model(x))
    grads = tape.gradient(loss, model.trainable_variables)
    grads = [g / args.steps for g in grads]
    optimizer.apply_gradients(zip(grads, model.trainable_variables))
"""
PARSED = (
    'parser = argparse.ArgumentParser()\nparser.add_argument("--steps", type=int, default=4)\n'
    "args = parser.parse_args()"
)


def test_an_option_is_written_where_it_is_known_already() -> None:
    early = OPTION.format(early=PARSED, late="")
    mended = fix_text(rules_named(["OOM401"]), early, settings=Settings())
    assert "keras.optimizers.SGD(0.1, gradient_accumulation_steps=args.steps)" in mended
    assert "/ args.steps" not in mended
    (one,) = run_rule("OOM401", OPTION.format(early="", late=PARSED), settings=Settings())
    assert one.fix is None


def test_under_a_condition_that_the_gradients_are_not_under() -> None:
    text = script(grads="[g / 4 for g in grads]")
    apply = "    optimizer.apply_gradients"
    assert (
        run_rule("OOM401", text.replace(apply, f"    if wanted():\n    {apply}"), settings=Settings()) == []
    )
    before, loop, rest = text.partition("for x, y in data:")
    whole = before + "if wanted():\n" + "".join(f"    {line}\n" for line in (loop + rest).splitlines())
    assert len(run_rule("OOM401", whole, settings=Settings())) == 1


def test_among_gradients_that_nobody_knows() -> None:
    text = script(grads="[g / 4 for g in grads]").replace(
        "zip(grads, model.trainable_variables)", "[(grads[0], model.trainable_variables[0]), (other, weight)]"
    )
    assert len(run_rule("OOM401", text, settings=Settings())) == 1
