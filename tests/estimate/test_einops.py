"""Networks of patches are written with einops, which the extra brings: its functions and its layers are traced."""

from __future__ import annotations

from pathlib import Path

import pytest
from estimate.scripts import build


def test_a_network_of_patches(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    text = """
        from einops import rearrange
        from einops.layers.tensorflow import Rearrange
        from tensorflow import keras

        class Heads(keras.layers.Layer):
            def __init__(self, count, width):
                super().__init__()
                self.count, self.all = count, keras.layers.Dense(width * 3)
            def call(self, x):
                q, k, v = (rearrange(one, "b n (h d) -> b h n d", h=self.count) for one in keras.ops.split(self.all(x), 3, -1))
                found = keras.ops.matmul(keras.ops.softmax(keras.ops.matmul(q, keras.ops.transpose(k, (0, 1, 3, 2)))), v)
                return rearrange(found, "b h n d -> b n (h d)")

        model = keras.Sequential([
            keras.Input((32, 32, 3)),
            Rearrange("b (h p1) (w p2) c -> b (h w) (p1 p2 c)", p1=8, p2=8),
            keras.layers.Dense(48),
            Heads(4, 48),
        ])
        model.compile("adam", "mse")
        model.fit(x, y, batch_size=6)
    """
    subject = build(tmp_path, text, monkeypatch)
    assert tuple(subject.outputs.shape) == (6, 16, 48)
    assert subject.model.count_params() == (192 * 48 + 48) + (48 * 144 + 144)
