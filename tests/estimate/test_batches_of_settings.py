"""A data set that is batched by a setting, which a file of the project says, in a function that reads the data."""

from __future__ import annotations

import json

import pytest
from estimate.scripts import build

pytest.importorskip("keras")

_SCRIPT = """
    import json, os
    import numpy as np
    import tensorflow as tf
    def settings():
        with open("settings.json") as file:
            return json.load(file)
    def load(folder):
        rows = np.array([np.load(os.path.join(folder, one)) for one in os.listdir(folder)])
        {binding}
        train = tf.data.Dataset.from_tensor_slices((rows, rows[:, 0])).shuffle(len(rows)).batch({size})
        test = tf.data.Dataset.from_tensor_slices((rows, rows[:, 0])).batch({size})
        return train, test
    train, test = load("rows")
    model = tf.keras.Sequential([tf.keras.Input((8,)), tf.keras.layers.Dense(1)])
    model.compile("adam", "mse")
    model.fit(train, validation_data=test)
    """


@pytest.mark.parametrize(
    ("binding", "size"),
    [
        ("size = settings()['data']['batch_size']", "size"),
        ("", "settings()['data']['batch_size']"),
    ],
)
def test_the_file_s_number_is_the_batch(tmp_path, monkeypatch, binding, size):
    (tmp_path / "settings.json").write_text(json.dumps({"data": {"batch_size": 2}}))
    subject = build(tmp_path, _SCRIPT.format(binding=binding, size=size), monkeypatch)
    assert subject.data[0].shape == (2, 8)
    assert any("batch size 2, as the project says of" in one for one in subject.assumptions)


def test_of_two_numbers_neither_is_taken(tmp_path, monkeypatch):
    (tmp_path / "settings.json").write_text(json.dumps({"a": {"batch_size": 2}, "b": {"batch_size": 4}}))
    subject = build(tmp_path, _SCRIPT.format(binding="", size="settings()['a']['batch_size']"), monkeypatch)
    assert subject.batch_guessed == 32  # and not said to be Keras' own, which a data set does not get
    assert any("as settings()['a']['batch_size'] is not known" in one for one in subject.assumptions)
