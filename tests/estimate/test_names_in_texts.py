"""Names that a script looks up by a text, and sizes that its data sets say of themselves."""

from __future__ import annotations

from pathlib import Path

import pytest
from estimate.scripts import build

EVALUATED = """
    import argparse
    import keras.activations as bends
    import keras.optimizers as ways
    import keras

    def narrow():
        return keras.layers.Dense(3)

    def bent(name):
        text = "lambda _: bends." + name
        return eval(text)(None)

    def way():
        return eval("lambda _: ways." + options.optimizer)(None)

    if __name__ == "__main__":
        parser = argparse.ArgumentParser()
        parser.add_argument("--optimizer", default="SGD(momentum=0.9)", help="the way down")
        parser.add_argument("--head", default="narrow")
        options = parser.parse_args()
        model = keras.Sequential(
            [keras.Input((4,)), keras.layers.Dense(8, activation=bent("relu")), eval(options.head)()]
        )
        model.compile(way(), "mse")
        model.fit(rows(), labels(), batch_size=50)
"""


def test_code_that_is_made_of_texts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    """Imports and functions that only an evaluated text names are part of the slice: 4 x 8 + 8 and 8 x 3 + 3 weights."""
    model = build(tmp_path, EVALUATED, monkeypatch).model
    assert model.count_params() == 40 + 27
    assert type(model.optimizer).__name__ == "SGD"
    assert model.layers[0].activation.__name__ == "relu"


def test_a_network_that_another_module_names(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    """The text is an option of the script, and what it names an import of the module that evaluates it."""
    (tmp_path / "nets_by_text.py").write_text(
        "from keras.layers import Dense, Conv2D\n\ndef net(name):\n    return eval(name)(5)\n"
    )
    text = """
        import argparse
        import keras
        from nets_by_text import net

        parser = argparse.ArgumentParser()
        parser.add_argument("--net", default="Dense")
        model = keras.Sequential([keras.Input((4,)), net(parser.parse_args().net)])
        model.compile("sgd", "mse")
        model.fit(read(), batch_size=4)
    """
    assert build(tmp_path, text, monkeypatch).model.count_params() == 25


SETS = """
    import tensorflow as tf
    import tensorflow_datasets as tfds

    def sets(batch):
        (train, test), info = tfds.load({name!r}, split=["train", "test"], as_supervised=True, with_info=True)
        train = train.batch(batch)
        return train, test, info.features["image"].shape, info.features["label"].num_classes

    train, test, shape, classes = sets(64)
    model = tf.keras.Sequential(
        [tf.keras.layers.Input(shape), tf.keras.layers.Flatten(), tf.keras.layers.Dense(classes)]
    )
    model.compile("adam", "sparse_categorical_crossentropy")
    model.fit(train)
"""


@pytest.mark.parametrize(
    ("name", "weights"),
    [("cifar100", (32 * 32 * 3, 100)), ("mnist:3.0.1", (28 * 28, 10)), ("beans", (750_000, 3))],
)
def test_what_a_data_set_says_of_itself(
    name: str, weights: tuple[int, int], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    model = build(tmp_path, SETS.format(name=name), monkeypatch).model
    assert tuple(model.weights[0].shape) == weights


def test_the_shape_of_an_array_by_a_function(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    text = """
        import keras
        import numpy as np

        (x, y), _ = keras.datasets.cifar10.load_data()
        model = keras.Sequential([keras.Input(np.shape(x)[1:]), keras.layers.Flatten(), keras.layers.Dense(10)])
        model.compile("adam", "sparse_categorical_crossentropy")
        model.fit(x, y)
    """
    assert tuple(build(tmp_path, text, monkeypatch).model.weights[0].shape) == (3072, 10)
