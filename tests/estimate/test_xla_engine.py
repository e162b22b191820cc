"""Engine xla against compilations to the end that go another way, and against sums worked out by hand."""

from __future__ import annotations

import functools
import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from oomlint.estimate.worker.xla import compile, engine

needs_compiler = pytest.mark.skipif(bool(engine.available()), reason=engine.available() or "there")
SCRIPT = Path(__file__).parent / "xla_small.py"


@functools.cache
def figures(what: str, backend: str) -> Any:
    """What the script prints."""
    own = os.pathsep.join([str(Path(engine.__file__).parents[4]), os.environ.get("PYTHONPATH", "")])
    quiet = {"CUDA_VISIBLE_DEVICES": "-1", "TF_CPP_MIN_LOG_LEVEL": "3", "PYTHONPATH": own}
    run = subprocess.run(
        [sys.executable, str(SCRIPT), what],
        env={**os.environ, **compile.environment(), **quiet, "KERAS_BACKEND": backend},
        capture_output=True,
        text=True,
        timeout=300,
    )
    assert run.returncode == 0, run.stderr[-3000:]
    return json.loads(run.stdout.splitlines()[-1])


# 64 x 128 + 128, twice 128 for the normalization, 128 x 10 + 10
WEIGHTS = 4 * (8192 + 128 + 256 + 1280 + 10)


@needs_compiler
@pytest.mark.parametrize("backend", ["jax", "tensorflow"])
def test_the_peak_is_what_xla_assigns(backend: str) -> None:
    found, truth = figures("footprint", backend), figures("reference", "jax")
    # TensorFlow's dropout keeps a buffer more, which is much of a network this small.
    assert found["peak"] == pytest.approx(truth["total"], rel=0.15 if backend == "tensorflow" else 0.02)


@needs_compiler
def test_outputs_that_are_known_make_the_same_program() -> None:
    found = figures("modules", "jax")
    assert found["known"] == found["traced"]
    assert len(found["traced"]) > 10_000


@needs_compiler
def test_the_gradient_of_an_enlarged_picture_in_half_precision_is_compiled() -> None:
    """TensorFlow computes it in float32 and chooses between that and zeros of float16."""
    found = figures("enlarged", "tensorflow")
    # 3 x 3 x 3 x 16 + 16, 16 + 1, and two of the loss's mean; pictures of three colours and the wanted ones of one.
    assert found["parts"]["weights"] == 4 * (448 + 17 + 2)
    assert found["parts"]["input"] == 32 * 32 * 32 * 4 * (3 + 1)
    # The gradient that was the trouble: float32, of sixteen features for half as many rows and columns.
    assert found["peak"] > found["parts"]["weights"] + found["parts"]["input"] + 32 * 16 * 16 * 16 * 4


@needs_compiler
@pytest.mark.parametrize("backend", ["jax", "tensorflow"])
def test_the_parts_are_what_the_model_has(backend: str) -> None:
    found = figures("footprint", backend)
    parts = found["parts"]
    assert sum(parts.values()) == found["peak"]
    # Beside the weights: Keras' random state (8 bytes), and the loss' mean (two floats).
    assert 0 <= parts["weights"] - WEIGHTS <= 32
    # Adam keeps two floats for each weight, and the number of its steps and its learning rate.
    assert 0 <= parts["optimizer_state"] - 2 * WEIGHTS <= 16
    assert parts["input"] == 4 * 32 * 64 + 4 * 32
    # Every layer between keeps 32 x 128 floats at most a few times over.
    assert parts["activations"] + parts["gradients"] + parts["temporaries"] >= 4 * 32 * 128
    assert found["parameters"]["wide"] == 8320 and found["parameters"]["last"] == 1290
    assert found["timeline"] <= found["peak"]


def test_without_the_compiler_it_says_what_is_missing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(engine.sys, "platform", "linux")
    monkeypatch.setattr(engine, "find_spec", lambda name: None)
    assert "JAX" in engine.available()
    monkeypatch.setattr(engine, "find_spec", lambda name: object() if name == "jax" else None)
    assert "jax-cuda13-plugin" in engine.available()
    monkeypatch.setattr(engine.sys, "platform", "darwin")
    assert "Linux" in engine.available()


@needs_compiler
def test_a_tensor_that_the_model_holds_is_there_while_the_step_runs() -> None:
    """XLA is handed it with each batch, as TensorFlow hands a function what it captured."""
    found = figures("held", "tensorflow")
    batch = figures("footprint", "tensorflow")["parts"]["input"] // (64 * 4 + 4)  # of 64 numbers, and a class
    assert found["parts"]["input"] == 4 * (20_000 * 64 + batch + batch * 10)
