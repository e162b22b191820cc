"""`oomlint.estimate(model)` and `oomlint.guard()`: what they hand on, and what they make of the answer."""

from __future__ import annotations

import dataclasses
import json
import subprocess
import sys
import warnings
from pathlib import Path

import pytest
from estimate.estimates import MIB, estimate

import oomlint
from oomlint import live
from oomlint.estimate import launch
from oomlint.estimate.errors import EstimateError

keras = pytest.importorskip("keras")


@pytest.fixture
def asked(monkeypatch):
    """Answers by hand in place of the child process; the requests, with the description that the child would read."""
    seen = []

    def fake(request, **options):
        described = json.loads(Path(request.names["saved"]).read_text("utf-8"))
        seen.append((request, described, options))
        need = {"activations": 75 * (request.batch_size or 32)}
        gpu = {"name": request.gpu, "memory_bytes": None, "usable_bytes": request.usable_bytes}
        return estimate(need, usable=request.usable_bytes, gpu=gpu, batch_size=request.batch_size)

    monkeypatch.setattr(launch, "estimate", fake)
    return seen


@pytest.fixture
def model():
    made = keras.Sequential([keras.Input((8,)), keras.layers.Dense(4, name="first")], name="small")
    made.compile("adam", "mse")
    return made


def test_importing_oomlint_imports_no_library():
    code = (
        "import sys, oomlint; oomlint.estimate; oomlint.guard;"
        "print([name for name in ('tensorflow', 'keras', 'jax', 'numpy', 'libcst') if name in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_a_model_is_described_to_the_child(asked, model):
    answer = oomlint.estimate(model, batch_size=64, gpu="a100", max_batch=True)
    ((request, described, options),) = asked
    assert (request.batch_size, request.gpu, request.usable_bytes) == (64, "A100-40GB", 38_068 * MIB)
    assert request.max_batch and not request.what_if
    assert request.target == "small"
    assert described["class_name"] == "Sequential"
    assert described["compile_config"]["optimizer"] == "adam" or "Adam" in json.dumps(
        described["compile_config"]
    )
    assert options["environment"]["KERAS_BACKEND"] == keras.backend.backend()
    assert answer.batch_size == 64
    assert model.optimizer.variables == [] or not model.optimizer.built  # nothing was built in this process


def test_the_answer_shows_itself(asked, model):
    answer = oomlint.estimate(model, batch_size=8, gpu="T4")
    assert str(answer).startswith("Fits on T4: ")
    assert repr(answer) == str(answer)
    assert answer._repr_html_().startswith('<div class="oomlint">')
    assert dataclasses.replace(answer, seconds=1.0).seconds == 1.0


def test_a_model_on_pytorch_is_told_as_a_script_for_it_is(asked, model, monkeypatch):
    monkeypatch.setattr(live, "_backend", lambda: "torch")
    oomlint.estimate(model, batch_size=4)
    ((request, _, options),) = asked
    assert (request.backend, request.names["backend"], request.jit) == ("auto", "torch", "auto")
    assert options["environment"]["KERAS_BACKEND"] == "tensorflow"  # of which the graph is


def test_an_amount_is_a_gpu_too(asked, model):
    assert oomlint.estimate(model, gpu="8GB").gpu["usable_bytes"] == 8_000_000_000
    with pytest.raises(ValueError, match="unknown GPU"):
        oomlint.estimate(model, gpu="A1000000")


class Own(keras.Model):
    def __init__(self):
        super().__init__()
        self.dense = keras.layers.Dense(4)

    def call(self, x):
        return self.dense(x)


def test_a_class_of_the_users_own_stays_in_this_process(asked, monkeypatch):
    seen = []
    monkeypatch.setattr(live, "_here", lambda *arguments: seen.append(arguments) or estimate())
    oomlint.estimate(Own(), batch_size=8, gpu="T4")
    assert asked == []
    assert "class of your own" in seen[0][3]


def test_a_layer_that_the_child_does_not_know_brings_the_model_back(monkeypatch, model):
    def fails(request, **options):
        raise EstimateError("unknown layer Mine", "build")

    seen = []
    monkeypatch.setattr(launch, "estimate", fails)
    monkeypatch.setattr(live, "_here", lambda *arguments: seen.append(arguments) or estimate())
    oomlint.estimate(model, gpu="T4")
    assert seen[0][3] == "unknown layer Mine"


def test_other_failures_are_the_users_to_know(monkeypatch, model):
    def fails(request, **options):
        raise EstimateError("not ready after 1 s", "timeout")

    monkeypatch.setattr(launch, "estimate", fails)
    with pytest.raises(EstimateError, match="not ready"):
        oomlint.estimate(model, gpu="T4")


# The guard.


def arrays(rows=32):
    import numpy as np

    return np.zeros((rows, 8), "float32"), np.zeros((rows, 4), "float32")


def steps_of(model, guard, **options):
    """How many steps a fit with the guard takes."""
    done = []
    count = keras.callbacks.LambdaCallback(on_train_batch_end=lambda batch, logs: done.append(batch))
    model.fit(*arrays(), callbacks=[guard, count], verbose=0, **options)
    return len(done)


def test_a_run_that_fits_goes_on(asked, model):
    guard = oomlint.guard(gpu="T4")
    assert steps_of(model, guard, batch_size=8) == 4
    assert asked[0][0].batch_size == 8  # as fit was told
    assert guard.estimate.verdict == "fits"


def test_a_run_that_will_not_fit_ends_before_its_first_step(asked, model):
    before = [weight.numpy().copy() for weight in model.weights]
    guard = oomlint.guard(gpu="200MiB")  # the answer by hand needs more than 500 MiB
    with pytest.raises(live.WillNotFit, match="Does not fit in 200MiB") as stopped:
        steps_of(model, guard, batch_size=16)
    assert stopped.value.estimate.batch_size == 16
    assert "activations" in str(stopped.value) and "what_if=True" in str(stopped.value)
    assert all((weight.numpy() == was).all() for weight, was in zip(model.weights, before))


def test_or_it_warns(asked, model):
    with pytest.warns(RuntimeWarning, match="Does not fit in 200MiB"):
        assert steps_of(model, oomlint.guard(gpu="200MiB", action="warn"), batch_size=16) == 2


def test_a_batch_that_is_given_counts(asked, model):
    steps_of(model, oomlint.guard(model, gpu="T4", batch_size=128))
    assert asked[0][0].batch_size == 128


def datasets(tf):
    pairs = tf.data.Dataset.from_tensor_slices(arrays())
    yield pairs.batch(4, drop_remainder=True), 4
    yield pairs.batch(4).map(lambda x, y: (x, y)).prefetch(2), 4
    yield tf.data.Dataset.zip((tf.data.Dataset.range(9), tf.data.Dataset.range(9))), None


def test_the_batch_of_a_data_set_is_found_behind_what_follows_it():
    tf = pytest.importorskip("tensorflow")
    from types import SimpleNamespace

    from oomlint.estimate.worker.subject import Spec
    from oomlint.guarding import _batch_size, _specs

    for data, batch in datasets(tf):
        holder = SimpleNamespace(_distributed_dataset=data)
        assert _batch_size(holder) == batch
        if batch:
            assert _specs(holder, batch) == (Spec((4, 8), "float32"), Spec((4, 4), "float32"))


def test_a_generator_was_looked_at_by_keras(asked, model):
    def batches():
        while True:
            yield tuple(array[:5] for array in arrays())

    model.fit(batches(), steps_per_epoch=2, callbacks=[oomlint.guard(gpu="T4")], verbose=0)
    assert asked[0][0].batch_size == 5


def test_keras_2_is_guarded_too(monkeypatch):
    legacy = pytest.importorskip("tf_keras")
    seen = []
    monkeypatch.setattr(live, "_here", lambda *arguments: seen.append(arguments) or estimate(usable=1))
    small = legacy.Sequential([legacy.layers.Input((8,)), legacy.layers.Dense(4)])
    small.compile("adam", "mse")
    # The first is made for the Keras that is imported, the second for the model's.
    for guard in (oomlint.guard(gpu="T4"), oomlint.guard(small, gpu="T4")):
        with pytest.raises(live.WillNotFit):
            small.fit(*arrays(), batch_size=16, verbose=0, callbacks=[guard])
    assert isinstance(guard, legacy.callbacks.Callback)
    assert [request.batch_size for _, request, _, _ in seen] == [16, 16]
    assert [spec.shape for spec in seen[0][2]] == [(16, 8), (16, 4)]


def test_no_gpu_no_check(asked, model):
    with pytest.warns(RuntimeWarning, match="say which"):
        assert steps_of(model, oomlint.guard(), batch_size=16) == 2
    assert asked == []


def test_a_guard_that_fails_does_not_end_the_run(monkeypatch, model):
    def fails(request, **options):
        raise RuntimeError("no such thing")

    monkeypatch.setattr(launch, "estimate", fails)
    with pytest.warns(RuntimeWarning, match="not checked: RuntimeError: no such thing"):
        assert steps_of(model, oomlint.guard(gpu="T4"), batch_size=16) == 2


def test_a_wrong_action_is_named():
    with pytest.raises(ValueError, match="'raise' or 'warn'"):
        oomlint.guard(action="stop")


def test_tight_is_said_and_trained(monkeypatch, model):
    monkeypatch.setattr(launch, "estimate", lambda request, **options: estimate(usable=5_100 * MIB))
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        assert steps_of(model, oomlint.guard(gpu="T4"), batch_size=16) == 2
    assert any("Too close to call" in str(one.message) for one in said)


# Traced here, by the engine.


def test_a_model_of_ones_own_is_traced_and_left_as_it_was():
    pytest.importorskip("tensorflow")
    own = Own()
    own(keras.ops.zeros((1, 8)))
    own.compile("adam", "mse")
    before = own.optimizer
    answer = oomlint.estimate(own, batch_size=16, gpu="T4", input_shape=(8,), what_if=True, jit="off")
    assert own.optimizer is before and not before.built
    assert answer.engine == "graph" and answer.program == "graph"
    # 8 x 4 weights and 4 biases; Adam keeps two slots for each, a step and a learning rate.
    assert answer.parts["weights"] >= 36 * 4
    assert answer.parts["optimizer_state"] >= 2 * 36 * 4
    assert sum(answer.parts.values()) == answer.peak_bytes
    assert any("class of your own" in text for text in answer.assumptions)
    assert answer.what_if == ()
    assert steps_of(own, oomlint.guard(gpu="T4"), batch_size=16) == 2  # and it trains


def test_without_a_gpu_keras_own_false_for_jit_compile_is_its_default(monkeypatch):
    pytest.importorskip("tensorflow")
    own = Own()
    own(keras.ops.zeros((1, 8)))
    own.compile("sgd", "mse")
    assert own.jit_compile is False  # what Keras makes of "auto" here
    answer = oomlint.estimate(own, batch_size=16, gpu="T4", input_shape=(8,))
    assert (answer.engine, answer.program) == ("graph", "xla")
    assert any('jit="off"' in text for text in answer.assumptions)
    monkeypatch.setattr(live, "local_gpu", lambda: "Tesla T4")  # with a GPU there, somebody said so
    assert oomlint.estimate(own, batch_size=16, gpu="T4", input_shape=(8,)).program == "graph"


def test_a_live_model_of_keras_2_is_traced():
    legacy = pytest.importorskip("tf_keras")
    small = legacy.Sequential([legacy.layers.Input((8,)), legacy.layers.Dense(4)])
    small.compile(legacy.optimizers.Adam(), "mse")
    before = small.optimizer
    answer = oomlint.estimate(small, batch_size=16, gpu="T4")
    assert small.optimizer is before
    assert (answer.program, answer.optimizer, answer.parts["input"]) == ("graph", "Adam", 16 * (8 + 4) * 4)
    assert answer.parts["optimizer_state"] >= 2 * 36 * 4


def test_an_uncompiled_model_of_ones_own_is_refused():
    with pytest.raises(EstimateError, match="not compiled"):
        oomlint.estimate(Own(), batch_size=16, gpu="T4", input_shape=(8,))
