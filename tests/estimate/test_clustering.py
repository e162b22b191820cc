"""XLA's auto-clustering: seen where it is switched on, and said with a range from all of the step to none."""

from __future__ import annotations

from pathlib import Path

import pytest

from oomlint.estimate.request import Request
from oomlint.estimate.slicing.clustering import in_the_shell
from oomlint.estimate.slicing.script import slice_script
from oomlint.estimate.worker.main import measured
from oomlint.estimate.worker.step.building import build

MODEL = """
from tensorflow import keras
model = keras.Sequential([keras.Input((64,))])
for _ in range(6):
    model.add(keras.layers.Dense(256, use_bias=False))
    model.add(keras.layers.Activation("gelu"))
model.compile("adam", "mse", jit_compile=False)
model.fit(x, y, batch_size=512)
"""


@pytest.mark.parametrize(
    ("before", "seen"),
    [
        ("import tensorflow as tf\ntf.config.optimizer.set_jit(True)", "tf.config.optimizer.set_jit"),
        (
            "import tensorflow as tf\ntf.config.optimizer.set_jit('autoclustering')",
            "tf.config.optimizer.set_jit",
        ),
        (
            "import os\nos.environ['TF_XLA_FLAGS'] = '--tf_xla_auto_jit=2 --tf_xla_cpu_global_jit'",
            "the script's TF_XLA_FLAGS",
        ),
        ("import tensorflow as tf\ntf.config.optimizer.set_jit(False)", None),
        ("import os\nos.environ['TF_XLA_FLAGS'] = '--tf_xla_auto_jit=0'", None),
        ("import os\nos.environ['XLA_FLAGS'] = '--xla_gpu_autotune_level=2'", None),
        ("", None),
    ],
)
def test_how_a_script_switches_it_on(tmp_path: Path, before: str, seen: str | None):
    script = tmp_path / "train.py"
    script.write_text(before + "\n" + MODEL)
    assert slice_script(script).names.get("clustering") == seen


@pytest.mark.parametrize(
    ("flags", "on"),
    [
        ("--tf_xla_auto_jit=1", True),
        ("--tf_xla_auto_jit=fusible", True),
        ("--tf_xla_auto_jit=-1", False),
        ("", False),
    ],
)
def test_what_the_shell_hands_down(flags: str, on: bool):
    assert bool(in_the_shell({"TF_XLA_FLAGS": flags})) is on


def test_the_range_reaches_from_all_of_the_step_to_none(tmp_path: Path):
    script = tmp_path / "train.py"
    script.write_text(MODEL)
    sliced = slice_script(script)

    def answer(names: dict[str, str], jit: str = "auto"):
        request = Request(
            str(script),
            sliced.text,
            sliced.names | names,
            gpu="T4",
            usable_bytes=1 << 34,
            jit=jit,
            engine="graph",
        )  # type: ignore[arg-type]
        return measured(build(request), request, 0.0)

    plain, whole = answer({}), answer({}, jit="on")
    clustered = answer({"clustering": "tf.config.optimizer.set_jit"})
    assert (
        whole.peak_bytes < plain.peak_bytes
    )  # XLA keeps the dense layers' outputs, not what gelu makes on the way
    assert clustered.peak_bytes == plain.peak_bytes
    assert clustered.range_bytes == (whole.range_bytes[0], plain.range_bytes[1])
    assert "tf.config.optimizer.set_jit has XLA compile what it can" in " ".join(clustered.assumptions)
    assert not any("XLA compile what it can" in text for text in (*plain.assumptions, *whole.assumptions))
