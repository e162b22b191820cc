"""Data that a script keeps in the table of its settings."""

from __future__ import annotations

from pathlib import Path

import pytest
from estimate.scripts import answered, build

SETTINGS = """
    import keras

    def read(folder):
        with open(folder) as file:
            lines = [line.split() for line in file]
        return [decoded(one) for one, _ in lines], [int(two) for _, two in lines]

    def coded(given):
        return one_hot(given["train_y"]), one_hot(given["test_y"])

    def train(given):
        model = keras.Sequential([keras.Input((4,)), keras.layers.Dense(UNITS)])
        model.compile("sgd", "mse", jit_compile=False)
        model.fit(given["train_x"], given["train_y"], batch_size=given["size"])

    given = {"size": 6}
    given["train_x"], given["train_y"] = read("train.txt")
    given["test_x"], given["test_y"] = read("test.txt")
    given["train_y"], given["test_y"] = coded(given)
    train(given)
"""


def test_entries_that_are_not_known_leave_the_others(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    assert build(tmp_path, SETTINGS.replace("UNITS", "given['size']"), monkeypatch).model.count_params() == 30


def test_an_entry_that_the_model_needs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    """It is asked for by its key; a KeyError of the entry was the answer, or two that led to each other for ever."""
    found = answered(tmp_path, SETTINGS.replace("UNITS", "given['train_y'].shape[1]"), monkeypatch)
    assert found.batch_size == 6
    assert any("train_" in one for one in found.instead)
