"""Two models that are compiled with one optimizer, as Keras 2 let them: each has slots of its own."""

from __future__ import annotations

from pathlib import Path

import pytest
from estimate.scripts import build

from oomlint.estimate.worker.keras.state import state_of_all

TEXT = """
from tensorflow import keras

optimizer = keras.optimizers.Adam(1e-4)
judge = keras.Sequential([keras.Input((8,)), keras.layers.Dense(1)])
judge.compile(loss="mse", optimizer=optimizer)
maker = keras.Sequential([keras.Input((4,)), keras.layers.Dense(8)])
judge.trainable = False
noise = keras.Input((4,))
both = keras.Model(noise, judge(maker(noise)))
both.compile(loss="mse", optimizer=optimizer)

for epoch in range(3):
    judge.trainable = True
    judge.train_on_batch(real, ones)
    judge.trainable = False
    both.train_on_batch(noises, ones)
"""


def test_each_has_slots_of_its_own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    subject = build(tmp_path, TEXT, monkeypatch)
    models = [subject.model, *(one.model for one in subject.others)]
    assert len(models) == 2
    assert len({id(one.optimizer) for one in models}) == 2
    # Two slots for each number of the judge (8 + 1) and of the maker (4 x 8 + 8), beside two scalars for each.
    assert state_of_all(models)["optimizer_state"] >= 2 * 4 * (9 + 40)
