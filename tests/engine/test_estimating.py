"""Estimates in a check: which scripts get one, how often it is asked for, what failing costs. Nothing is run here."""

from __future__ import annotations

import re
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest
from command import oomlint, process

from oomlint.engine import estimating
from oomlint.estimate.errors import EstimateError
from oomlint.estimate.request import Request
from oomlint.estimate.result import Estimate, LayerShare
from oomlint.estimate.verdicts import verdict

MIB = 1 << 20
TRAIN = """\
import numpy as np
from tensorflow import keras

BATCH = 64
model = keras.Sequential([keras.Input((32, 32, 3)), keras.layers.Conv2D(8, 3), keras.layers.Flatten()])
model.add(keras.layers.Dense(2))
model.compile("adam", "mse")
model.fit(np.zeros((1000, 32, 32, 3)), np.zeros((1000, 2)), batch_size=BATCH)
"""


def answer(request: Request, batch: int, **changes: object) -> Estimate:
    """A step that takes a MiB for each sample and 10 more, known to a tenth; 31 samples fit into 50 MiB for sure."""
    peak = (10 + batch) * MIB
    between = (peak * 9 // 10, peak * 11 // 10)
    made = Estimate(
        request.target,
        "graph",
        "xla",
        "a test",
        "tensorflow",
        batch,
        request.replicas,
        "Adam",
        "float32",
        {"name": request.gpu, "memory_bytes": request.usable_bytes, "usable_bytes": request.usable_bytes},
        peak,
        between,
        {"weights": 10 * MIB, "optimizer_state": 0, "gradients": 0, "activations": batch * MIB},
        {},
        {},
        verdict(between, request.usable_bytes),
        max_batch={
            "batch_size": 40,
            "sure_batch_size": 31,
            "friendly_batch_size": 24,
            "peak_bytes": 50 * MIB,
        },
    )
    return replace(made, **changes)  # type: ignore[arg-type]


class Asked:
    """Stands for the child process: reads the batch in the slice, which is what the child would run."""

    def __init__(self) -> None:
        self.requests: list[Request] = []
        self.answer: Callable[[Request, int], Estimate] = answer

    def __call__(self, request: Request, folders: object) -> Estimate:
        self.requests.append(request)
        found = re.search(r"batch_size=(\d+)", request.source)
        assert found is not None
        return self.answer(request, int(found[1]))


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch) -> Asked:
    stand_in = Asked()
    monkeypatch.setattr(estimating, "ask_child", stand_in)
    return stand_in


def check(folder: Path, *options: str) -> tuple[int, str, str]:
    done = oomlint(
        "check", "--isolated", "--select", "OOM601", "--estimate", "--gpu", "50MiB", *options, cwd=folder
    )
    return done.returncode, done.stdout, done.stderr


def test_a_step_that_does_not_fit_is_an_error_at_the_batch(tmp_path: Path, asked: Asked):
    (tmp_path / "train.py").write_text(TRAIN)
    status, out, err = check(tmp_path)
    assert (status, err) == (1, "")
    assert out.startswith(
        "train.py:4:9: OOM601 [*] a step of 64 samples takes 74 MiB of GPU memory (66.6 MiB to 81.4 MiB)"
    )
    assert "made of activations 64 MiB, weights 10 MiB" in out
    assert "fix: train in batches of 24" in out
    (request,) = asked.requests
    assert (request.usable_bytes, request.gpu, request.max_batch_if_over) == (50 * MIB, "50 MiB", True)
    assert request.batch_size is None


@pytest.mark.parametrize(
    ("batch", "severity"),
    # 50 MiB: at 33 the range is up to 47.3, at 37 up to 51.7, at 41 the peak is 51, at 46 the range begins at 50.4.
    [(33, None), (37, None), (41, "note"), (46, "error")],
)
def test_the_range_decides_how_bad_it_is(tmp_path: Path, asked: Asked, batch: int, severity: str | None):
    (tmp_path / "train.py").write_text(TRAIN.replace("64", str(batch)))
    status, out, _ = check(tmp_path)
    assert status == (1 if severity == "error" else 0)
    assert ("OOM601" in out) == (severity is not None)
    assert severity is None or f"{severity}: over-budget" in out
    assert ("[*]" in out) == (severity == "error")


def test_the_fix_is_estimated_again_and_the_same_question_is_asked_once(tmp_path: Path, asked: Asked):
    (tmp_path / "train.py").write_text(TRAIN)
    status, out, _ = check(tmp_path, "--fix", "--unsafe-fixes")
    assert status == 0
    assert (tmp_path / "train.py").read_text() == TRAIN.replace("64", "24")
    assert len(asked.requests) == 2
    assert "OOM601" not in out


def test_a_fix_that_would_not_fit_is_not_made(tmp_path: Path, asked: Asked):
    asked.answer = lambda request, batch: answer(
        request,
        batch,
        max_batch={"batch_size": 60, "sure_batch_size": 60, "friendly_batch_size": 60, "peak_bytes": 0},
    )
    (tmp_path / "train.py").write_text(TRAIN)
    status, _, err = check(tmp_path, "--fix", "--unsafe-fixes")
    assert status == 1
    assert (tmp_path / "train.py").read_text() == TRAIN
    assert "OOM601 was not mended" in err


def test_the_number_may_stand_in_another_file(tmp_path: Path, asked: Asked):
    (tmp_path / "config.py").write_text("import tensorflow\n\nBATCH = 64\n")
    (tmp_path / "train.py").write_text(TRAIN.replace("BATCH = 64", "from config import BATCH"))
    status, out, _ = check(tmp_path)
    assert status == 1
    assert out.startswith("config.py:3:9: OOM601 [*] a step of 64 samples")
    status, _, _ = check(tmp_path, "--fix", "--unsafe-fixes")
    assert status == 0
    assert (tmp_path / "config.py").read_text().endswith("BATCH = 24\n")


def test_a_number_that_shapes_the_model_too_is_not_changed(tmp_path: Path, asked: Asked):
    (tmp_path / "train.py").write_text(TRAIN.replace("Input((32, 32, 3))", "Input((BATCH, BATCH, 3))"))
    _, out, _ = check(tmp_path)
    assert out.startswith("train.py:4:9: OOM601 a step")


def test_a_call_that_is_fed_with_batches_is_given_no_batch_size(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(estimating, "ask_child", lambda request, folders: answer(request, 64))
    fed = TRAIN.replace(
        "np.zeros((1000, 32, 32, 3)), np.zeros((1000, 2)), batch_size=BATCH", "batches, epochs=3"
    )
    (tmp_path / "train.py").write_text("from somewhere import batches\n" + fed)
    _, out, _ = check(tmp_path)
    assert out.startswith("train.py:9:1: OOM601 a step of 64 samples")


def test_a_batch_for_all_replicas_is_divided(tmp_path: Path, asked: Asked):
    script = TRAIN.replace(
        "model = ",
        "import tensorflow as tf\ns = tf.distribute.MirroredStrategy(['gpu:0', 'gpu:1'])\nwith s.scope():\n    model = ",
    )
    script = script.replace("BATCH = 64", "BATCH = 128")
    (tmp_path / "train.py").write_text(script)
    _, out, _ = check(tmp_path)
    assert "a step of 64 samples" in out
    assert "on each of 2 replicas" in out
    assert "fix: train in batches of 48" in out


def test_a_batch_that_an_unknown_number_of_replicas_shares_is_not_claimed(tmp_path: Path, asked: Asked):
    script = TRAIN.replace(
        "model = ",
        "import tensorflow as tf\ns = tf.distribute.MirroredStrategy()\nwith s.scope():\n    model = ",
    )
    (tmp_path / "train.py").write_text(script)
    status, _, err = check(tmp_path)
    assert (status, asked.requests) == (0, [])
    assert err == "oomlint: train.py:11: no estimate: how many replicas share the batch is not known\n"


@pytest.mark.parametrize(
    ("name", "script"),
    [
        ("library.py", TRAIN.replace("model.fit(", "def train(x=0):\n    model.fit(")),
        ("test_train.py", TRAIN),
        ("predict.py", TRAIN.replace(".fit(np.zeros((1000, 32, 32, 3)), ", ".predict(")),
        (
            "tries.py",
            TRAIN.replace("model.fit(", "import tensorflow as tf\ntry:\n    model.fit(")
            + "except tf.errors.ResourceExhaustedError:\n    print('halve it')\n",
        ),
        ("build.py", TRAIN.partition("model.fit")[0] + "def fit():\n    pass\nfit()\n"),
    ],
)
def test_what_does_not_train_is_not_estimated(tmp_path: Path, asked: Asked, name: str, script: str):
    (tmp_path / name).write_text(script)
    assert check(tmp_path)[0] == 0
    assert not asked.requests


def test_nothing_is_estimated_without_the_option_or_for_other_rules(tmp_path: Path, asked: Asked):
    (tmp_path / "train.py").write_text(TRAIN)
    assert oomlint("check", "--isolated", "--select", "OOM601", cwd=tmp_path).returncode == 0
    assert oomlint("check", "--isolated", "--select", "OOM3", "--estimate", cwd=tmp_path).returncode == 0
    assert not asked.requests


def test_a_batch_that_is_assumed_or_an_optimizer_decides_nothing(tmp_path: Path, asked: Asked):
    (tmp_path / "train.py").write_text(TRAIN)
    asked.answer = lambda request, batch: answer(
        request, batch, assumptions=("batch size 64, Keras' default",)
    )
    assert check(tmp_path)[0] == 0
    parts = {"weights": 8 * MIB, "optimizer_state": 18 * MIB, "activations": 48 * MIB}
    asked.answer = lambda request, batch: answer(
        request, batch, parts=parts, assumptions=("optimizer Adam, as nothing compiles the model",)
    )
    assert check(tmp_path)[0] == 0  # 66.6 - 18 MiB at the low end
    asked.answer = lambda request, batch: answer(request, batch, parts=parts)
    assert check(tmp_path)[0] == 1


def test_an_estimate_that_fails_is_one_line_and_costs_nothing(tmp_path: Path, asked: Asked):
    def fails(request: Request, batch: int) -> Estimate:
        raise EstimateError(
            "no layer\n  of that name",
            "build",
            str(tmp_path / "train.py"),
            5,
            "Try --input-shape.",
            "Traceback",
        )

    asked.answer = fails
    (tmp_path / "train.py").write_text(TRAIN)
    done = oomlint("check", "--isolated", "--select", "OOM1,OOM601", "--estimate", cwd=tmp_path)
    assert done.returncode == 0
    assert "OOM101" in done.stdout
    assert done.stderr == "oomlint: train.py:5: no estimate: no layer of that name\n"
    done = oomlint(
        "check", "--isolated", "--select", "OOM1,OOM601", "--estimate", "--fail-on", "note", cwd=tmp_path
    )
    assert done.returncode == 1


def test_an_estimate_may_fail_in_another_file(tmp_path: Path, asked: Asked):
    def fails(request: Request, batch: int) -> Estimate:
        raise EstimateError("no such layer", "build", "/p/blocks.py", 7)

    asked.answer = fails
    (tmp_path / "train.py").write_text(TRAIN)
    assert check(tmp_path) == (
        0,
        "No findings in 1 file.\n",
        "oomlint: train.py: no estimate: /p/blocks.py:7: no such layer\n",
    )


def test_what_is_not_installed_is_said_once(tmp_path: Path, asked: Asked):
    def missing(request: Request, batch: int) -> Estimate:
        raise EstimateError(
            "keras is not installed", "extra", hint='Install it: pip install "oomlint[estimate]"'
        )

    asked.answer = missing
    for name in ("one.py", "two.py"):
        (tmp_path / name).write_text(TRAIN)
    status, _, err = check(tmp_path)
    assert status == 0
    assert (
        err == 'oomlint: no estimates: keras is not installed. Install it: pip install "oomlint[estimate]"\n'
    )
    assert len(asked.requests) == 1


def test_a_check_without_estimates_loads_nothing_of_them(tmp_path: Path):
    (tmp_path / "train.py").write_text(TRAIN)
    code = (
        "import sys; from oomlint.cli import main; main(['check', '--isolated', 'train.py']);"
        "print(sorted(name for name in sys.modules if name.startswith(('oomlint.estimate.', 'oomlint.engine.est'))))"
    )
    import subprocess

    done = subprocess.run(
        [sys.executable, "-c", code], cwd=tmp_path, capture_output=True, text=True, check=True
    )
    assert done.stdout.splitlines()[-1] == "['oomlint.estimate.result']"


def test_help_names_the_option():
    assert "--estimate" in process("check", "--help").stdout


# `quick` is of a library that nobody knows: the map behind it is known from the built model alone.
PHOTOS = """\
import numpy as np
from tensorflow import keras
from somewhere import quick

photo = keras.Input((512, 512, 3))
x = quick(keras.layers.Conv2D(64, 3, padding="same")(photo))
x = keras.layers.MaxPooling2D()(x)
x = keras.layers.Flatten()(x)
x = keras.layers.Dense(1024)(x)
model = keras.Model(photo, keras.layers.Dense(10)(x))
model.compile("adam", "mse")
model.fit(np.load("x.npy"), np.load("y.npy"), batch_size=8)
"""
INPUTS = 256 * 256 * 64
ROWS = (
    LayerShare("photo", "InputLayer", (None, 512, 512, 3), 0, 0),
    LayerShare("conv2d", "Conv2D", (None, 512, 512, 64), 3 * 3 * 3 * 64 + 64, 0),
    LayerShare("quick", "Quick", (None, 512, 512, 64), 0, 0),
    LayerShare("max_pooling2d", "MaxPooling2D", (None, 256, 256, 64), 0, 0),
    LayerShare("flatten", "Flatten", (None, INPUTS), 0, 0),
    LayerShare("dense", "Dense", (None, 1024), INPUTS * 1024 + 1024, 0),
    LayerShare("dense_1", "Dense", (None, 10), 10_250, 0),
)


def sizes(folder: Path, *options: str) -> str:
    return oomlint("check", "--isolated", "--select", "OOM602,OOM605", *options, cwd=folder).stdout


def test_shapes_that_the_text_leaves_open_come_from_the_built_model(tmp_path: Path, asked: Asked):
    (tmp_path / "train.py").write_text(PHOTOS)
    assert sizes(tmp_path).startswith("No findings")
    asked.answer = lambda request, batch: answer(request, batch, layers=ROWS)
    out = sizes(tmp_path, "--estimate")
    # 4,194,304 x 1,024 x 4 B = 16 GiB: weights, gradient and Adam's two slots.
    assert out.startswith("train.py:9:5: OOM602 a kernel of 4,194,304 x 1,024 takes 64 GiB in training")
    assert (
        "the map's size from the model as it was built" in out
        or "the units from the model as it was built" in out
    )


@pytest.mark.parametrize(
    "rows",
    [
        (*ROWS, LayerShare("dense_2", "Dense", (None, 10), 110, 0)),  # one more than the text has
        (*ROWS[:5], LayerShare("dense", "Dense", (None, 999), INPUTS * 999 + 999, 0), ROWS[6]),  # other units
    ],
)
def test_a_built_model_that_is_not_the_one_of_the_text_tells_nothing(
    tmp_path: Path, asked: Asked, rows: tuple[LayerShare, ...]
):
    (tmp_path / "train.py").write_text(PHOTOS)
    asked.answer = lambda request, batch: answer(request, batch, layers=rows)
    assert sizes(tmp_path, "--estimate").startswith("No findings")


WORDS = """\
import numpy as np
from tensorflow import keras
from somewhere import BATCH

words = keras.Input((512,), dtype="int32")
x = keras.layers.Embedding(50_000, 128)(words)
x = keras.layers.GRU(256, return_sequences=True)(x)
model = keras.Model(words, keras.layers.Dense(50_000)(x))
model.compile("adam", "mse")
model.fit(np.load("w.npy"), np.load("n.npy"), batch_size=BATCH)
"""


def test_a_batch_that_the_text_leaves_open_comes_from_the_estimate(tmp_path: Path, asked: Asked, monkeypatch):
    (tmp_path / "train.py").write_text(WORDS)
    monkeypatch.setattr(estimating, "ask_child", lambda request, folders: answer(request, 64))
    # 64 x 512 x 50,000 x 4 B = 6.1 GiB: logits, gradient, and targets as large as they are.
    assert "64 x 512 x 50,000 x 4 B = 6.1 GiB is held 3 times" in sizes(tmp_path, "--estimate")
    guessed = ("batch size 64, Keras' default",)
    monkeypatch.setattr(
        estimating, "ask_child", lambda request, folders: answer(request, 64, assumptions=guessed)
    )
    assert sizes(tmp_path, "--estimate").startswith("No findings")
