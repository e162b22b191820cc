"""Images that a flow moves, as an add-on library's function did it; and what only compares is no network to train."""

from __future__ import annotations

import ast
from pathlib import Path

import numpy as np
import pytest
from estimate.scripts import build

from oomlint.estimate.slicing.program import Program
from oomlint.estimate.worker.tries.makers import makers

pytest.importorskip("tensorflow")


def test_pixels_come_from_where_the_flow_says():
    from oomlint.estimate.worker.older.warping import dense_image_warp

    image = np.arange(2 * 4 * 5 * 2, dtype="float32").reshape(2, 4, 5, 2)
    flow = np.zeros((2, 4, 5, 2), "float32")
    flow[1, ..., 0], flow[1, ..., 1] = 1.0, -0.5  # from a row above, and half a column to the right
    moved = dense_image_warp(image, flow).numpy()
    assert np.array_equal(moved[0], image[0])
    between = (image[1, :-1, :-1] + image[1, :-1, 1:]) / 2
    assert np.allclose(moved[1, 1:, :-1], between)
    assert np.allclose(
        moved[1, 0, :-1], (image[1, 0, :-1] + image[1, 0, 1:]) / 2
    )  # nothing is above the first row


def test_a_layer_that_warps_is_followed(tmp_path, monkeypatch):
    text = """
        import tensorflow as tf
        import tensorflow_addons as tfa
        class Warp(tf.keras.layers.Layer):
            def call(self, inputs):
                return tfa.image.dense_image_warp(*inputs)
        image = tf.keras.Input((16, 24, 3))
        flow = tf.keras.layers.Conv2D(2, 3, padding="same")(image)
        model = tf.keras.Model(image, Warp()([image, flow]))
        model.compile("adam", "mse")
        model.fit(frames, frames, batch_size=4)
    """
    assert build(tmp_path, text, monkeypatch).model.output_shape == (None, 16, 24, 3)


def test_what_only_compares_is_no_maker(tmp_path: Path):
    path = tmp_path / "train.py"
    path.write_text(
        "import tensorflow as tf\n"
        "class Losses:\n"
        "    def __init__(self):\n"
        "        self.features = tf.keras.applications.VGG16(include_top=False)\n"
        "def perceptual_loss():\n"
        "    return tf.keras.applications.VGG16()\n"
        "class LossNet:\n"
        "    def build(self):\n"
        "        return tf.keras.Sequential([])\n"
        "def lossless_net():\n"
        "    return tf.keras.Sequential([])\n"
        "Losses(), perceptual_loss(), LossNet().build(), lossless_net()\n"
    )
    assert ast.parse(path.read_text())
    assert [one.name for one in makers(Program(path, tmp_path), {})] == ["lossless_net"]
