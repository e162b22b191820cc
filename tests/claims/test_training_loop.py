"""What the pages of the training-loop rules (4xx) claim, measured by training tiny models with Keras.

The fixtures whose fix is safe are run here before and after the fix: safe means the same numbers.
"""

from __future__ import annotations

import contextlib
import io
import re
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

if TYPE_CHECKING:
    from collections.abc import Callable

tf = pytest.importorskip("tensorflow")
keras = pytest.importorskip("keras")

FIXTURES = Path(__file__).parents[2] / "fixtures"
N = 4
ROWS = 8  # per micro-batch
STEPS = 8  # micro-batches: two updates of an accumulation over four


def tiny_model() -> Any:
    keras.utils.set_random_seed(5)
    hidden, out = keras.layers.Dense(4, activation="tanh"), keras.layers.Dense(1)
    return keras.Sequential([keras.Input((3,)), hidden, out])


def batches() -> list[tuple[Any, Any]]:
    generator = np.random.default_rng(2)
    x = generator.normal(size=(STEPS, ROWS, 3)).astype("float32")
    y = x.sum(axis=2, keepdims=True)
    return [(tf.constant(x[i]), tf.constant(y[i])) for i in range(STEPS)]


def gradients(model: Any, x: Any, y: Any, divide_loss: float = 1.0) -> list[Any]:
    with tf.GradientTape() as tape:
        loss = tf.reduce_mean(tf.square(y - model(x, training=True))) / divide_loss
    found: list[Any] = tape.gradient(loss, model.trainable_variables)
    return found


def each_step(optimizer: Any, divisor: float = 1.0, divide_loss: float = 1.0) -> list[Any]:
    """Weights after applying every micro-batch's gradients, divided or not."""
    model = tiny_model()
    for x, y in batches():
        grads = [g / divisor for g in gradients(model, x, y, divide_loss)]
        optimizer.apply_gradients(zip(grads, model.trainable_variables, strict=True))
    weights: list[Any] = model.get_weights()
    return weights


def every_n_steps(optimizer: Any, divisor: float) -> list[Any]:
    """Weights after summing N gradients, dividing the sum and applying it once, over and over."""
    model = tiny_model()
    total = [tf.zeros_like(v) for v in model.trainable_variables]
    for step, (x, y) in enumerate(batches(), start=1):
        total = [t + g for t, g in zip(total, gradients(model, x, y), strict=True)]
        if step % N == 0:
            mean = [t / divisor for t in total]
            optimizer.apply_gradients(zip(mean, model.trainable_variables, strict=True))
            total = [tf.zeros_like(v) for v in model.trainable_variables]
    weights: list[Any] = model.get_weights()
    return weights


def difference(left: list[Any], right: list[Any]) -> float:
    return max(float(np.abs(a - b).max()) for a, b in zip(left, right, strict=True))


class TestAccumulationNeverAccumulates:
    """OOM401."""

    @pytest.mark.parametrize("where", ["gradients", "loss"])
    def test_for_sgd_it_is_a_smaller_learning_rate(self, where: str) -> None:
        divided = {"gradients": {"divisor": N}, "loss": {"divide_loss": N}}[where]
        fake = each_step(keras.optimizers.SGD(0.1, momentum=0.9), **divided)
        assert difference(fake, each_step(keras.optimizers.SGD(0.1 / N, momentum=0.9))) < 1e-7
        assert difference(fake, every_n_steps(keras.optimizers.SGD(0.1, momentum=0.9), N)) > 1e-3

    @pytest.mark.parametrize("name", ["Adam", "AdamW", "Nadam", "Lion"])
    def test_adaptive_optimizers_take_the_factor_out(self, name: str) -> None:
        make: Callable[..., Any] = getattr(keras.optimizers, name)
        whole = each_step(make(0.01))
        moved = difference(whole, tiny_model().get_weights())
        assert difference(each_step(make(0.01), divisor=N), whole) < moved / 500  # epsilon's share

    def test_but_not_adagrad_and_not_with_clipping(self) -> None:
        divided = each_step(keras.optimizers.Adagrad(0.1), divisor=N)
        assert difference(divided, each_step(keras.optimizers.Adagrad(0.1))) > 1e-4
        clipped = each_step(keras.optimizers.Adam(0.01, clipnorm=0.1), divisor=N)
        assert difference(clipped, each_step(keras.optimizers.Adam(0.01, clipnorm=0.1))) > 1e-3

    @pytest.mark.parametrize("name", ["SGD", "Adam"])
    def test_the_argument_is_the_real_thing(self, name: str) -> None:
        make: Callable[..., Any] = getattr(keras.optimizers, name)
        real = every_n_steps(make(0.05), N)
        assert difference(each_step(make(0.05, gradient_accumulation_steps=N)), real) < 1e-7

    def test_the_division_must_go_when_the_argument_comes(self) -> None:
        both = each_step(keras.optimizers.SGD(0.1, gradient_accumulation_steps=N), divisor=N)
        assert difference(both, every_n_steps(keras.optimizers.SGD(0.1 / N), N)) < 1e-7

    def test_the_argument_is_at_least_two_and_not_for_the_loss_scale_wrapper(self) -> None:
        with pytest.raises(ValueError, match="gradient_accumulation_steps"):
            keras.optimizers.SGD(0.1, gradient_accumulation_steps=1)
        with pytest.raises(ValueError, match="inner_optimizer"):
            keras.optimizers.LossScaleOptimizer(keras.optimizers.SGD(0.1), gradient_accumulation_steps=2)

    def test_keras_2_has_no_such_argument(self) -> None:
        keras2 = pytest.importorskip("tf_keras")
        with pytest.raises(TypeError, match="gradient_accumulation_steps"):
            keras2.optimizers.SGD(0.1, gradient_accumulation_steps=2)


class TestAccumulationUnscaled:
    """OOM402."""

    def test_for_sgd_the_sum_is_n_times_the_learning_rate(self) -> None:
        summed = every_n_steps(keras.optimizers.SGD(0.01), divisor=1)
        assert difference(summed, every_n_steps(keras.optimizers.SGD(0.01 * N), divisor=N)) < 1e-7

    def test_adam_does_not_care_unless_it_clips(self) -> None:
        summed = every_n_steps(keras.optimizers.Adam(0.01), 1)
        assert difference(summed, every_n_steps(keras.optimizers.Adam(0.01), N)) < 1e-4
        clipped = every_n_steps(keras.optimizers.Adam(0.01, clipnorm=4.0), 1)
        assert difference(clipped, every_n_steps(keras.optimizers.Adam(0.01, clipnorm=4.0), N)) > 1e-3


class TestTapes:
    """OOM404 and OOM405."""

    def test_a_second_gradient_needs_a_persistent_tape(self) -> None:
        x = tf.Variable(2.0)
        with tf.GradientTape() as tape:
            y = x * x
        tape.gradient(y, x)
        with pytest.raises(RuntimeError, match="non-persistent"):
            tape.gradient(y, x)

    def test_gradient_inside_its_own_tape_ends_the_recording(self) -> None:
        x = tf.Variable(2.0)
        with tf.GradientTape() as tape:
            slope = tape.gradient(x * x, x)
            assert not tape._recording  # nothing after this is kept, so the place of the call costs nothing
        assert float(slope) == 4.0

    def test_a_persistent_tape_goes_on_recording(self) -> None:
        x = tf.Variable(2.0)
        with tf.GradientTape(persistent=True) as tape:
            slope = tape.gradient(x * x, x)
            assert tape._recording
        assert float(tape.gradient(slope, x)) == 2.0


class TestTensorsKept:
    """OOM403."""

    def test_callbacks_train_on_batch_and_predict_give_no_tensors(self) -> None:
        seen: dict[str, Any] = {}

        class Look(keras.callbacks.Callback):
            def on_epoch_end(self, epoch: int, logs: Any = None) -> None:
                seen.update(logs or {})

        model = tiny_model()
        model.compile(optimizer="sgd", loss="mse")
        x, y = batches()[0]
        model.fit(x, y, verbose=0, callbacks=[Look()])
        assert not tf.is_tensor(seen["loss"])
        assert not tf.is_tensor(model.train_on_batch(x, y))
        assert not tf.is_tensor(model.predict(x, verbose=0))
        assert not tf.is_tensor(model.predict_on_batch(x))

    def test_metric_results_are_tensors(self) -> None:
        metric = keras.metrics.Mean()
        metric.update_state(1.0)
        assert tf.is_tensor(metric.result())

    def test_float_of_a_tensor_needs_eager_code(self) -> None:
        # AutoGraph rewrites float() into a cast; without it, as in Keras 3's train_step, it fails.
        @tf.function(autograph=False)
        def step(x: Any) -> float:
            return float(x)

        with pytest.raises(TypeError):
            step(tf.constant(1.0))


class TestRetry:
    """OOM412."""

    def test_the_handler_keeps_the_failed_attempt_alive(self) -> None:
        import gc
        import weakref

        class Memory:
            pass

        def attempt(kept: list[Any]) -> None:
            held = Memory()
            kept.append(weakref.ref(held))
            raise RuntimeError("out of memory")

        kept: list[Any] = []
        try:
            attempt(kept)
        except RuntimeError:
            gc.collect()
            assert kept[0]() is not None  # the traceback holds the frame, the frame holds the memory
        assert kept[0]() is None


def run_fixture(path: Path) -> tuple[dict[str, Any], str]:
    """Execute a fixture (they are ours and tiny): its names, and what it printed."""
    names: dict[str, Any] = {"__name__": "fixture"}
    output = io.StringIO()
    with contextlib.redirect_stdout(output):
        exec(compile(path.read_text(encoding="utf-8"), str(path), "exec"), names)
    return names, output.getvalue()


@pytest.mark.parametrize("folder", ["OOM403-tensors-kept", "OOM405-persistent-tape"])
def test_safe_fixes_train_to_the_same_numbers(folder: str) -> None:
    before, said = run_fixture(FIXTURES / folder / "bad.py")
    after, says = run_fixture(FIXTURES / folder / "fixed.py")
    assert re.sub(r"\d+ms", "", said) == re.sub(r"\d+ms", "", says)
    for one, two in zip(before["model"].get_weights(), after["model"].get_weights(), strict=True):
        assert np.array_equal(one, two)
    if "losses" in before:
        assert tf.is_tensor(before["losses"][0])
        assert isinstance(after["losses"][0], float)
        assert [float(loss) for loss in before["losses"]] == after["losses"]
