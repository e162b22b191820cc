"""Scripts that train under a tf.distribute strategy: replicas, the batch of each, and the program."""

from __future__ import annotations

import textwrap
from pathlib import Path

import pytest

from oomlint.estimate.request import Request
from oomlint.estimate.slicing.script import slice_script

SCRIPT = """
    import tensorflow as tf
    import numpy as np
    from tensorflow import keras
    gpus = tf.config.list_physical_devices("GPU")
    strategy = {strategy}
    x, y = np.zeros((900, 6), "float32"), np.zeros(900, "int32")
    data = tf.data.Dataset.from_tensor_slices((x, y)).batch({batch})
    with strategy.scope():
        model = keras.Sequential([keras.Input((6,)), keras.layers.Dense(5), keras.layers.Dense(3)])
        model.compile("adam", "mse")
    model.fit({data})
"""
TWO = 'tf.distribute.MirroredStrategy(["/gpu:0", "/gpu:1"])'
ALL = "tf.distribute.MirroredStrategy()"
IF_SEVERAL = f"{ALL} if len(gpus) > 1 else tf.distribute.get_strategy()"
PER_REPLICA = "24 * strategy.num_replicas_in_sync"


def request(
    tmp_path: Path, strategy: str, batch: str = "90", data: str = "data", replicas: int = 1
) -> Request:
    path = tmp_path / "train.py"
    path.write_text(textwrap.dedent(SCRIPT).format(strategy=strategy, batch=batch, data=data))
    found = slice_script(path)
    count = found.replicas if replicas == 1 and found.replicas else replicas
    return Request(str(path), source=found.text, names=found.names, replicas=count)


@pytest.mark.parametrize(
    ("strategy", "batch", "asked", "replicas", "each"),
    [
        (TWO, "90", 1, 2, 45),
        (TWO, PER_REPLICA, 1, 2, 24),
        (ALL, "90", 1, 1, 90),
        (ALL, "90", 4, 4, 23),
        (ALL, PER_REPLICA, 4, 4, 24),
        (IF_SEVERAL, "90", 1, 1, 90),
        (IF_SEVERAL, "90", 3, 3, 30),
        (IF_SEVERAL, PER_REPLICA, 3, 3, 24),
    ],
)
def test_each_replica_gets_its_share_of_the_batch(
    tmp_path, monkeypatch, strategy, batch, asked, replicas, each
):
    built, question = build(tmp_path, monkeypatch, strategy, batch, replicas=asked)
    assert question.replicas == replicas
    assert built.data[0].shape == (each, 6)


def build(tmp_path, monkeypatch, *script, **options):
    pytest.importorskip("tensorflow")
    from oomlint.estimate.worker.step.building import build

    monkeypatch.setenv("OOMLINT_WORK", str(tmp_path))
    question = request(tmp_path, *script, **options)
    return build(question), question


@pytest.mark.parametrize(
    ("strategy", "asked", "program", "said"),
    [
        (TWO, 1, "graph", "MirroredStrategy with 2 replicas: each holds the whole model and gets 45 samples"),
        (
            ALL,
            1,
            "graph",
            "takes every GPU that it finds: estimated for one, which gets the whole batch of 90",
        ),
        (ALL, 3, "graph", "3 replicas (--replicas): each holds the whole model and gets 30 samples"),
        (IF_SEVERAL, 1, "xla", "where there are several GPUs: estimated for one"),
        (IF_SEVERAL, 2, "graph", "2 replicas (--replicas)"),
        ('tf.distribute.OneDeviceStrategy("/gpu:0")', 1, "graph", ""),
    ],
)
def test_what_is_under_a_strategy_is_not_compiled_by_xla(
    tmp_path, monkeypatch, strategy, asked, program, said
):
    from oomlint.estimate.worker.keras.compilation import program_of

    built, question = build(tmp_path, monkeypatch, strategy, replicas=asked)
    found, reason = program_of(built, question)
    assert found == program
    assert ("tf.distribute strategy" in reason) == (program == "graph")
    assert said in " ".join(built.assumptions)
    assert bool(said) == bool(built.assumptions)


def test_a_batch_that_is_given_is_that_of_each_replica(tmp_path, monkeypatch):
    pytest.importorskip("tensorflow")
    import dataclasses

    from oomlint.estimate.worker.step.building import build

    monkeypatch.setenv("OOMLINT_WORK", str(tmp_path))
    question = dataclasses.replace(request(tmp_path, TWO), batch_size=70)
    assert build(question).data[0].shape == (70, 6)
