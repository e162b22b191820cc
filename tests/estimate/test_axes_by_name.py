"""einops where it is not installed: what it makes of a tensor, said in NumPy."""

from __future__ import annotations

from collections.abc import Callable
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest
from estimate.scripts import build

np = pytest.importorskip("numpy")
pytest.importorskip("tensorflow")
pytestmark = pytest.mark.skipif(find_spec("einops") is not None, reason="einops itself is installed")

PICTURES = (2, 8, 12, 3)
ROWS = (2, 5, 24)
CASES: list[tuple[str, tuple[int, ...], str, dict[str, int], Callable[[Any], Any]]] = [
    (
        "rearrange",
        PICTURES,
        "b (h p1) (w p2) c -> b (h w) (p1 p2 c)",
        {"p1": 4, "p2": 4},
        lambda x: x.reshape(2, 2, 4, 3, 4, 3).transpose(0, 1, 3, 2, 4, 5).reshape(2, 6, 48),
    ),
    (
        "rearrange",
        ROWS,
        "b n (h d) -> b h n d",
        {"h": 4},
        lambda x: x.reshape(2, 5, 4, 6).transpose(0, 2, 1, 3),
    ),
    ("rearrange", ROWS, "... d -> d ...", {}, lambda x: x.transpose(2, 0, 1)),
    ("rearrange", ROWS, "b ... -> b (...)", {}, lambda x: x.reshape(2, 120)),
    ("rearrange", (2, 1, 24), "b 1 d -> b d", {}, lambda x: x[:, 0]),
    ("rearrange", ROWS, "b n d -> b 1 n d", {}, lambda x: x[:, None]),
    (
        "reduce",
        PICTURES,
        "b (h 2) (w 2) c -> b h w c",
        {"reduction": "max"},
        lambda x: x.reshape(2, 4, 2, 6, 2, 3).max((2, 4)),
    ),
    ("reduce", PICTURES, "b h w c -> b c", {"reduction": "mean"}, lambda x: x.mean((1, 2))),
    ("repeat", ROWS, "b n d -> b (n r) d", {"r": 3}, lambda x: np.repeat(x, 3, 1)),
    ("repeat", (1, 1, 24), "() n d -> b n d", {"b": 4}, lambda x: np.repeat(x, 4, 0)),
]


@pytest.mark.parametrize("legacy", [False, True], ids=["keras", "tensorflow alone"])
@pytest.mark.parametrize(
    ("name", "shape", "pattern", "sizes", "wanted"), CASES, ids=[f"{one[0]} {one[2]}" for one in CASES]
)
def test_what_a_pattern_makes(
    name: str,
    shape: tuple[int, ...],
    pattern: str,
    sizes: dict[str, Any],
    wanted: Callable[[Any], Any],
    legacy: bool,
):
    import keras
    import tensorflow as tf

    from oomlint.estimate.worker.absent.axes_by_name import _Work

    work = _Work(object() if legacy else keras)
    given = np.random.default_rng(5).random(shape).astype("float32")
    made = getattr(work, name)(tf.constant(given), pattern, **sizes)
    np.testing.assert_allclose(np.asarray(made), wanted(given), rtol=1e-6)


def test_a_batch_that_is_not_known():
    import keras
    import tensorflow as tf

    from oomlint.estimate.worker.absent.axes_by_name import _Work

    work = _Work(keras)
    assert work.rearrange(keras.Input((8, 12, 3)), "b h w c -> b (h w) c").shape == (None, 96, 3)
    traced = tf.function(lambda x: work.rearrange(x, "b h w c -> (b h) w c"))
    concrete = traced.get_concrete_function(tf.TensorSpec((None, 8, 12, 3)))
    assert concrete(tf.zeros((2, 8, 12, 3))).shape == (16, 12, 3)


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
