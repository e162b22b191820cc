"""A script that trains on Keras' PyTorch backend: nothing of it is compiled by XLA, and the answer says whose it is."""

from __future__ import annotations

from pathlib import Path

import pytest
from estimate.scripts import answered

SCRIPT = """
    import os
    os.environ["KERAS_BACKEND"] = "torch"
    import keras
    from torch.utils.data import DataLoader

    model = keras.Sequential([keras.Input((64,)), keras.layers.Dense(32, "relu"), keras.layers.Dense(2)])
    model.compile("sgd", "mse")
    loader = DataLoader(rows(), batch_size=24, shuffle=True)
    model.fit(loader, epochs=3)
"""


def test_it_is_no_program_of_xlas(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    found = answered(tmp_path, SCRIPT, monkeypatch)
    assert (found.program, found.backend, found.batch_size) == ("graph", "torch", 24)
    assert "PyTorch" in found.reason
    assert any("batch size 24, as what makes its data says" in one for one in found.assumptions)


def test_another_backend_that_is_asked_for_decides(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    found = answered(tmp_path, SCRIPT, monkeypatch, backend="tensorflow")
    assert (found.program, found.backend) == ("xla", "tensorflow")
