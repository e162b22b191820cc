"""Losses that layers add in their `call`: they are part of the step, and of a model without another loss all of it."""

from __future__ import annotations

from pathlib import Path

import numpy
import pytest
from estimate.scripts import build

pytest.importorskip("tensorflow")

ENDPOINT = """
    import keras
    import numpy as np
    from keras import layers, ops

    class Endpoint(layers.Layer):
        def call(self, labels, outputs):
            self.add_loss(ops.mean(ops.square(labels - ops.sum(outputs, axis=-1))){more})
            return outputs

    features, labels = layers.Input((3,)), layers.Input(())
    outputs = Endpoint()(labels, layers.Dense(4, kernel_initializer="ones")(features))
    model = keras.Model([features, labels], outputs)
    model.compile("adam"{loss})
    model.fit(np.load("features.npy"), batch_size=8)
"""


@pytest.mark.parametrize("more", ["", ", inputs=outputs"])
def test_a_loss_that_a_layer_adds_is_the_whole_loss(
    more: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    made = build(tmp_path, ENDPOINT.format(more=more, loss=""), monkeypatch)
    assert len(made.data) == 1  # the labels are among the inputs, and nothing is compared with the outputs
    assert not any("loss" in one for one in made.assumptions)
    model = made.model
    model([numpy.ones((8, 3), "float32"), numpy.zeros(8, "float32")])
    # Four outputs of 1 + 1 + 1 each: (0 - 12) squared.
    assert [float(one) for one in model.losses] == [144.0]


def test_a_loss_of_compile_stays_beside_what_a_layer_adds(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    made = build(tmp_path, ENDPOINT.format(more="", loss=', "mse"'), monkeypatch)
    assert len(made.data) == 2
    made.model([numpy.ones((8, 3), "float32"), numpy.zeros(8, "float32")])
    assert [float(one) for one in made.model.losses] == [144.0]
