"""What the dry run knows of gradients when an optimizer gets them, and of the loss they come from."""

from __future__ import annotations

import textwrap

import pytest

from oomlint.documents.python_file import document_from_text
from oomlint.dryrun import Trace, dry_run
from oomlint.dryrun.catalog.tensorflow.gradients import gradients_of
from oomlint.dryrun.queries.losses import loss_of
from oomlint.dryrun.values.base import Const, deref
from oomlint.dryrun.values.training import Gradients, Loss, Optimizer
from oomlint.syntax.parse import parse

HEAD = """
import tensorflow as tf
from tensorflow import keras

N = 4
model = keras.Sequential([keras.Input((3,)), keras.layers.Dense(2)])
opt = keras.optimizers.SGD(0.1)
mse = keras.losses.MeanSquaredError()
ds = tf.data.Dataset.from_tensor_slices((tf.zeros((64, 3)), tf.zeros((64, 2)))).batch(8)
variables = model.trainable_variables
"""


def run(body: str) -> Trace:
    return dry_run(parse(document_from_text(HEAD + textwrap.dedent(body), "script.py")))


def applied(body: str) -> Gradients:
    """The gradients of the last update."""
    call = run(body).calls("keras.Optimizer.apply_gradients", "keras.Optimizer.apply")[-1]
    first = gradients_of(call.arguments[0].value)[0]
    assert isinstance(first, Gradients)
    return first


def step(change: str, loss: str = "mse(y, model(x))") -> Gradients:
    return applied(
        f"""
        for x, y in ds:
            with tf.GradientTape() as tape:
                loss = {loss}
            grads = tape.gradient(loss, variables)
            grads = {change}
            opt.apply_gradients(zip(grads, variables))
        """
    )


def numbers(gradients: Gradients) -> list[object]:
    return [division.by.value for division in gradients.divisions if isinstance(division.by, Const)]


@pytest.mark.parametrize(
    "change",
    [
        "[g / N for g in grads]",
        "[tf.divide(g, N) for g in grads]",
        "list(map(lambda g: g / N, grads))",
        "tf.nest.map_structure(lambda g: g / N, grads)",
        "[g * (1 / N) for g in grads]",
        "[None if g is None else g / N for g in grads]",
        "[tf.clip_by_norm(g / N, 1.0) for g in grads]",
        "tf.clip_by_global_norm([g / N for g in grads], 1.0)[0]",
    ],
)
def test_divisions_are_remembered(change: str) -> None:
    gradients = step(change)
    assert numbers(gradients) == [4]
    assert not gradients.summed
    assert not gradients.mixed


@pytest.mark.parametrize("factor", ["(2 / N)", "0.25", "(N / 16)"])
def test_other_factors_divide_by_nothing(factor: str) -> None:
    """One over a number divides by it: two over it, or a number alone, is a weight."""
    found = step(f"[g * {factor} for g in grads]")
    assert numbers(found) == []
    assert len(found.factors) == 1


def test_pairs_carry_gradients_too() -> None:
    gradients = applied(
        """
        for x, y in ds:
            with tf.GradientTape() as tape:
                loss = mse(y, model(x))
            opt.apply_gradients((g / N, v) for g, v in zip(tape.gradient(loss, variables), variables))
        """
    )
    assert numbers(gradients) == [4]


@pytest.mark.parametrize(
    ("change", "summed", "mixed"),
    [
        ("grads", False, False),
        ("[g + 0.01 * v for g, v in zip(grads, variables)]", False, False),  # weight decay
        ("[a + b for a, b in zip(grads, tape.gradient(loss, variables))]", False, True),
        ("[g / tf.norm(g) for g in grads]", False, False),
    ],
)
def test_what_else_came_in(change: str, summed: bool, mixed: bool) -> None:
    gradients = step(change)
    assert (gradients.summed, gradients.mixed) == (summed, mixed)


@pytest.mark.parametrize(
    "adding",
    [
        "total = [t + g for t, g in zip(total, grads)]",
        "for i, g in enumerate(grads):\n        total[i] += g",
        "total = [tf.add(t, g) for t, g in zip(total, grads)]",
    ],
)
def test_running_sums(adding: str) -> None:
    gradients = applied(
        f"""
total = [tf.zeros_like(v) for v in variables]
for x, y in ds:
    with tf.GradientTape() as tape:
        loss = mse(y, model(x))
    grads = tape.gradient(loss, variables)
    {adding}
opt.apply_gradients(zip(total, variables))
"""
    )
    assert gradients.summed
    assert not gradients.mixed
    assert gradients.sums == ("total",)


def loss_facts(lines: str) -> Loss:
    body = textwrap.indent(textwrap.dedent(lines), " " * 8)
    trace = run(
        f"for x, y in ds:\n    with tf.GradientTape() as tape:\n{body}\n    tape.gradient(loss, variables)\n"
    )
    target = trace.calls("tf.GradientTape.gradient")[-1].value("target")
    assert target is not None
    return loss_of(target, trace)


@pytest.mark.parametrize(
    ("lines", "reduction", "divisors", "terms"),
    [
        ("loss = mse(y, model(x))", "mean", [], 1),
        ("loss = mse(y, model(x)) / N", "mean", [4], 1),
        ("loss = mse(y, model(x))\nloss /= N", "mean", [4], 1),
        ("loss = tf.reduce_sum((y - model(x)) ** 2) / 8", "sum", [8], 1),
        ("loss = keras.losses.MeanSquaredError(reduction='sum')(y, model(x)) / 8", "sum", [8], 1),
        ("loss = keras.losses.MeanSquaredError(reduction='none')(y, model(x))", "none", [], 1),
        ("loss = tf.nn.compute_average_loss(y[:, 0], global_batch_size=64)", "average", [], 1),
        ("loss = (mse(y, model(x)) + mse(y, 2 * model(x))) / 2", "mean", [2], 2),
        ("loss = mse(y, model(x)) / 10 + mse(y, 2 * model(x))", "mean", [], 2),  # a weight, not a division
        ("loss = mse(y, model(x)) + 1e-4 * tf.nn.l2_loss(variables[0])", "mean", [], 1),
        ("loss = tf.add_n([mse(y, model(x)) for _ in range(3)]) / 3", "mean", [3], 3),
        ("loss = 0.0\nfor _ in range(3):\n    loss += mse(y, model(x))\nloss = loss / 3", "mean", [3], None),
        ("loss = tf.cast(mse(y, model(x)) / N, tf.float32)", "mean", [4], 1),
    ],
)
def test_losses_are_read_backwards(
    lines: str, reduction: str, divisors: list[int], terms: int | None
) -> None:
    loss = loss_facts(lines)
    assert loss.reduction == reduction
    assert [division.by.value for division in loss.divisions if isinstance(division.by, Const)] == divisors
    assert loss.terms == terms


@pytest.mark.parametrize(
    ("text", "kind", "rate"),
    [
        ("keras.optimizers.SGD(0.3)", "keras.optimizers.SGD", 0.3),
        ("keras.optimizers.Adam(learning_rate=0.3)", "keras.optimizers.Adam", 0.3),
        ("keras.optimizers.legacy.RMSprop(lr=0.3)", "keras.optimizers.RMSprop", 0.3),
        ("tf.optimizers.Nadam(0.3)", "keras.optimizers.Nadam", 0.3),
    ],
)
def test_optimizers(text: str, kind: str, rate: float) -> None:
    assign = [event for event in run(f"other = {text}").assigns() if event.path == "other"][-1]
    optimizer = deref(assign.value)
    assert isinstance(optimizer, Optimizer)
    assert optimizer.type == kind
    assert optimizer.config["learning_rate"] == Const(rate)


def test_schedules_are_no_optimizers() -> None:
    assign = run("rate = keras.optimizers.schedules.CosineDecay(0.1, 1000)").assigns()
    assert not isinstance(deref(list(assign)[-1].value), Optimizer)
