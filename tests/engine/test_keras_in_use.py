"""The project's Keras reaches the rules: its version by pins, its backend by the environment or the script."""

from __future__ import annotations

import pytest

from oomlint.engine.project import check_paths
from oomlint.project import keras_in_use
from oomlint.project.configuration import Configurations
from oomlint.project.settings import Settings
from oomlint.testing import run_rule

WHOLE = """
import keras
import numpy as np

x = np.zeros((100_000, 224, 224, 3), "float32")
model = keras.Sequential([keras.layers.Flatten(), keras.layers.Dense(1)])
model.compile("adam", "mse")
model.fit(x, np.zeros(100_000))
"""
ONE_HOT = """
import numpy as np
import tensorflow as tf

words = np.load("words.npy")
y = tf.keras.utils.to_categorical(np.zeros((1_000_000,), "int32"), 1000)
model = tf.keras.Sequential([tf.keras.layers.Dense(1000)])
model.compile("adam", "categorical_crossentropy")
model.fit(words, y)
"""


@pytest.fixture
def project(tmp_path, monkeypatch):
    monkeypatch.setattr(keras_in_use, "_environments", lambda root: [])
    monkeypatch.delenv("KERAS_BACKEND", raising=False)
    monkeypatch.setenv("KERAS_HOME", str(tmp_path / "home"))
    return tmp_path


def _codes(folder, code: str) -> list[str]:
    found = check_paths([folder], Configurations({"select": ([code], "--select")}))
    return [diagnostic.code for diagnostic in found.diagnostics]


@pytest.mark.parametrize(
    ("variable", "expected"), [(None, ["OOM305"]), ("tensorflow", ["OOM305"]), ("jax", [])]
)
def test_the_environment_says_what_keras_computes_with(project, monkeypatch, variable, expected):
    if variable:
        monkeypatch.setenv("KERAS_BACKEND", variable)
    (project / "train.py").write_text(WHOLE)
    assert _codes(project, "OOM305") == expected


@pytest.mark.parametrize(
    ("head", "expected"),
    [
        ("import os\nos.environ['KERAS_BACKEND'] = 'torch'\n", []),
        ("import os\nos.environ.setdefault('KERAS_BACKEND', 'jax')\n", []),
        ("import os\nos.environ.update(KERAS_BACKEND='jax')\n", []),
        ("import os\nBACKEND = 'tensorflow'\nos.environ['KERAS_BACKEND'] = BACKEND\n", ["OOM305"]),
        # Chosen outside: nobody knows, so a rule that needs TensorFlow says nothing.
        ("import os\nos.environ['KERAS_BACKEND'] = input()\n", []),
        # Keras has read the variable already.
        ("import keras, os\nos.environ['KERAS_BACKEND'] = 'jax'\n", ["OOM305"]),
        ("import jax\n", []),
        ("import jax\nimport tensorflow as tf\n", ["OOM305"]),
    ],
)
def test_the_script_says_what_keras_computes_with(head, expected):
    assert [finding.code for finding in run_rule("OOM305", head + WHOLE)] == expected


def test_the_script_wins_over_the_settings():
    head = "import os\nos.environ['KERAS_BACKEND'] = 'tensorflow'\n"
    settings = Settings(keras_backend="jax")
    assert len(run_rule("OOM305", head + WHOLE, settings=settings)) == 1
    assert run_rule("OOM305", WHOLE, settings=settings) == []


def test_rules_about_the_host_do_not_ask_for_the_backend():
    head = "import os\nos.environ['KERAS_BACKEND'] = 'jax'\n"
    text = "import keras\nimport tensorflow as tf\nds = tf.data.Dataset.from_tensor_slices(['a'] * 100_000)\n"
    text += "ds = ds.map(lambda p: tf.io.decode_jpeg(tf.io.read_file(p), channels=3)).map(lambda x: tf.image.resize(x, [224, 224]))\n"
    assert len(run_rule("OOM301", head + text + "ds = ds.shuffle(100_000)\n")) == 1


# Keras 2's to_categorical makes float32, Keras 3's float64 of an array.
@pytest.mark.parametrize(
    ("pin", "expected"),
    [(None, ["OOM204"]), ("tensorflow==2.10.0", []), ("tensorflow==2.18.0", ["OOM204"]), ("keras<3", [])],
)
def test_pins_say_which_keras_it_is(project, pin, expected):
    (project / "train.py").write_text(ONE_HOT)
    if pin:
        (project / "requirements.txt").write_text(pin + "\n")
    assert _codes(project, "OOM204") == expected


@pytest.mark.parametrize(
    "head",
    [
        "import os\nos.environ['TF_USE_LEGACY_KERAS'] = '1'\n",
        "import tensorflow as tf\nsession = tf.Session()\n",
    ],
)
def test_what_only_keras_2_has_wins_over_the_settings(head):
    assert len(run_rule("OOM204", ONE_HOT, settings=Settings(target_keras=(3, 8)))) == 1
    assert run_rule("OOM204", head + ONE_HOT, settings=Settings(target_keras=(3, 8))) == []
