"""Layers that a script finds by the name that Keras gave them."""

from __future__ import annotations

import pytest
from estimate.scripts import build

pytest.importorskip("keras")

_SCRIPT = """
    import numpy as np
    from {keras}.models import Model
    from {keras}.layers import Input, Dense, add
    {more}
    a = Input((8,))
    x = Dense(16)(a)
    x = add([x, Dense(16)(x)])
    x = Dense(32)(x)
    x = add([x, Dense(32)(x)])
    whole = Model(a, x)
    model = Model(a, Dense(1)(whole.get_layer("add_1").output))
    model.compile("sgd", "mse")
    model.fit(np.zeros((64, 8)), np.zeros((64, 1)), batch_size=16)
    """


@pytest.mark.parametrize("again", [1, 2])  # a script is run anew with each example for what is not known
def test_tensorflow_s_keras_calls_the_second_one_1(tmp_path, monkeypatch, again):
    text = _SCRIPT.format(keras="tensorflow.keras", more="")
    for _ in range(again):
        subject = build(tmp_path, text, monkeypatch)
    assert subject.model.count_params() == 8 * 16 + 16 + 16 * 16 + 16 + 16 * 32 + 32 + 32 * 32 + 32 + 32 + 1


@pytest.mark.parametrize("again", [1, 2])
def test_keras_before_2_4_called_the_first_one_1(tmp_path, monkeypatch, again):
    text = _SCRIPT.format(keras="keras", more="from keras.layers.advanced_activations import LeakyReLU")
    text = text.replace("Dense(1)(whole", "LeakyReLU()(Dense(1)(whole").replace(".output))", ".output)))")
    for _ in range(again):
        subject = build(tmp_path, text, monkeypatch)
    assert subject.model.count_params() == 8 * 16 + 16 + 16 * 16 + 16 + 16 + 1
