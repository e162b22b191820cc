"""Attributes that a script sets by a call: layers of a model and entries of a configuration are among them."""

from __future__ import annotations

from pathlib import Path

import pytest
from estimate.scripts import build


@pytest.mark.parametrize(
    "setting",
    ["self.__setattr__(name, layer)", "setattr(self, name, layer)", "self.__dict__[name] = layer"],
)
def test_layers_that_are_set_by_a_call(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, setting: str):
    text = f"""
        from tensorflow import keras

        class Heads(keras.layers.Layer):
            def __init__(self, heads):
                super().__init__()
                self.heads = heads
                for name in heads:
                    layer = keras.layers.Dense(heads[name])
                    {setting}

            def call(self, x):
                return keras.ops.concatenate([getattr(self, name)(x) for name in self.heads], axis=-1)

        inputs = keras.Input((6,))
        model = keras.Model(inputs, Heads({{"place": 2, "kind": 5}})(inputs))
        model.compile("adam", "mse")
        model.fit(x, y, batch_size=8)
    """
    subject = build(tmp_path, text, monkeypatch)
    assert tuple(subject.outputs.shape) == (8, 2 + 5)
    if "__dict__" not in setting:  # Keras counts what goes past its own `__setattr__` as nobody's
        assert subject.model.count_params() == 6 * 7 + 7


@pytest.mark.parametrize(
    "setting",
    [
        "setattr(self, name, value)",
        "self.__dict__.update({name: value})",
        "self.take(name, value)",
        "vary(self, name, value)",
    ],
)
def test_entries_of_a_configuration(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, setting: str):
    text = f"""
        from tensorflow import keras

        def vary(options, name, value):
            setattr(options, name, value)

        class Options:
            def __init__(self, given):
                for name, value in given.items():
                    {setting}

            def take(self, name, value):
                self.__setattr__(name, value)

        options = Options({{"units": 9, "size": 16}})
        model = keras.Sequential([keras.Input((4,)), keras.layers.Dense(options.units)])
        model.compile("adam", "mse")
        model.fit(x, y, batch_size=options.size)
    """
    subject = build(tmp_path, text, monkeypatch)
    assert tuple(subject.outputs.shape) == (16, 9)
