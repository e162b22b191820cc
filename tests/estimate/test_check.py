"""`oomlint check --estimate` as users run it, the child process and all: few tests, for each starts TensorFlow."""

from __future__ import annotations

from pathlib import Path

from command import oomlint

from oomlint.engine.estimating import Estimator, ask_child
from oomlint.estimate.asking import request_for
from oomlint.estimate.targets import read_target
from oomlint.testing import rules_named, run_rules

MIB = 1 << 20
# A convolution of 16 channels keeps 256 x 64 x 64 x 16 x 4 B = 64 MiB of its output, so nothing of it fits into 64 MiB.
SCRIPT = """\
import numpy as np
from tensorflow import keras

BATCH = 256


def build():
    photo = keras.Input((64, 64, 3))
    x = keras.layers.Conv2D(16, 3, padding="same", activation="relu")(photo)
    x = keras.layers.Conv2D(16, 3, padding="same", activation="relu")(x)
    x = keras.layers.GlobalAveragePooling2D()(x)
    return keras.Model(photo, keras.layers.Dense(10)(x))


model = build()
model.compile("adam", keras.losses.SparseCategoricalCrossentropy(from_logits=True))
model.fit(np.load("photos.npy"), np.load("kinds.npy"), batch_size=BATCH)
raise SystemExit("nothing after the training is run, nor the training")
"""


def check(folder: Path, *options: str):
    return oomlint(
        "check", "--isolated", "--select", "OOM601", "--estimate", "--gpu", "64MiB", *options, cwd=folder
    )


def test_the_fix_makes_the_script_fit(tmp_path: Path):
    (tmp_path / "train.py").write_text(SCRIPT)
    done = check(tmp_path, "--fix", "--unsafe-fixes")
    assert (done.returncode, done.stderr) == (0, "")
    fixed = (tmp_path / "train.py").read_text()
    before, after = (text.splitlines() for text in (SCRIPT, fixed))
    changed = [number for number, pair in enumerate(zip(before, after), 1) if pair[0] != pair[1]]
    assert changed == [4]
    batch = int(after[3].removeprefix("BATCH = "))
    # Two maps of 256 KiB for each sample wait for the backward pass, or one and the time to make the other again.
    assert 1 < batch < 256
    options = {"gpu": "64 MiB", "usable_bytes": 64 * MIB, "arguments": {}, "replicas": 1}
    estimate = ask_child(request_for(read_target(str(tmp_path / "train.py")), None, options), [tmp_path])
    assert (estimate.batch_size, estimate.verdict) == (batch, "fits")
    assert estimate.range_bytes[1] <= 64 * MIB


def test_a_model_that_cannot_be_built_costs_nothing_else(tmp_path: Path):
    script = SCRIPT.replace("def build():\n", "def build():\n    import no_such_library_of_layers\n")
    script = script.replace("(x)\n    return", "(no_such_library_of_layers.pool(x))\n    return")
    (tmp_path / "train.py").write_text(script)
    done = oomlint("check", "--isolated", "--select", "OOM101,OOM601", "--estimate", cwd=tmp_path)
    assert done.returncode == 0
    assert "OOM101" in done.stdout
    assert done.stderr.startswith("oomlint: train.py:8: no estimate: ")
    assert "no_such_library_of_layers" in done.stderr
    assert done.stderr.count("\n") == 1


def test_what_the_child_assumes_is_known_as_such(tmp_path: Path):
    """The rule goes by how assumptions begin: a batch that is assumed is not the script's."""
    script = SCRIPT.replace('np.load("photos.npy"), np.load("kinds.npy"), batch_size=BATCH', "anything")
    script = script.replace("BATCH", "ROWS")  # no name of the script's says a batch
    (tmp_path / "train.py").write_text(script.replace("import numpy as np", "from somewhere import anything"))
    found = []

    def estimate(trace, settings):
        found.append(Estimator(lambda path: None)(trace, settings))
        return found[-1]

    path = tmp_path / "train.py"
    assert not run_rules(rules_named(["OOM601"]), path.read_text(), filename=str(path), estimate=estimate)
    (estimated,) = found
    assert estimated.estimate.batch_size == 32
    assert not estimated.batch_known
