"""More shapes of public scripts that gave no estimate, or one of another step; each in a small script of its own words."""

from __future__ import annotations

from pathlib import Path

import pytest
from estimate.scripts import build
from estimate.test_scripts_of_others import described, needs

from oomlint.estimate.errors import EstimateError


def test_of_several_values_that_are_assigned_at_once_one_fails(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    text = """
        import argparse
        from tensorflow import keras

        def there(path):
            assert open(path)
            return path

        parser = argparse.ArgumentParser()
        parser.add_argument("--data", default="voc.yaml")
        parser.add_argument("--units", type=int, default=9)
        opt = parser.parse_args()
        opt.data, opt.units, opt.batch = there(opt.data), int(opt.units), 6
        low, high = 3, 5
        low, high = high, low
        model = keras.Sequential([keras.Input((4,)), keras.layers.Dense(opt.units), keras.layers.Dense(low)])
        model.compile("adam", "mse")
        model.fit(x, y, batch_size=opt.batch)
    """
    subject = build(tmp_path, text, monkeypatch)
    assert tuple(subject.outputs.shape) == (6, 5)
    assert subject.model.count_params() == (4 * 9 + 9) + (9 * 5 + 5)


def test_the_one_option_without_a_default(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    (tmp_path / "settings").mkdir()
    (tmp_path / "settings" / "__init__.py").write_text("")
    text = """
        import argparse, importlib
        from tensorflow import keras

        class Settings:
            def __init__(self, module):
                for name in ("UNITS", "SIZE"):
                    setattr(self, name, getattr(importlib.import_module("settings." + str(module)), name))

        parser = argparse.ArgumentParser()
        parser.add_argument("--config_path", default=None)
        parser.add_argument("--epochs", type=int, default=5)
        arguments = parser.parse_args()
        settings = Settings(arguments.config_path)
        model = keras.Sequential([keras.Input((4,)), keras.layers.Dense(settings.UNITS)])
        model.compile("adam", "mse")
        model.fit(x, y, batch_size=8)
    """
    with pytest.raises(EstimateError, match="config_path has no default") as caught:
        build(tmp_path, text, monkeypatch)
    assert caught.value.asked == "config_path"


def test_a_size_that_something_else_sets_while_it_reads(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    (tmp_path / "shared.py").write_text("longest = None\n\ndef get_longest():\n    return longest\n")
    text = """
        import shared
        from tensorflow import keras

        longest = shared.get_longest()
        model = keras.Sequential([keras.Input((longest - 2,)), keras.layers.Dense(3)])
        model.compile("adam", "mse")
        model.fit(x, y, batch_size=8)
    """
    with pytest.raises(EstimateError, match="longest is None there") as caught:
        build(tmp_path, text, monkeypatch)
    assert caught.value.asked == "longest"
    subject = build(tmp_path, text, monkeypatch, arguments={"longest": 12})
    assert tuple(subject.data[0].shape) == (8, 10)


TWO = """
from tensorflow import keras

picture, words = keras.Input((None, None, 3)), keras.Input((None,))
seen = keras.layers.GlobalAveragePooling2D()(keras.layers.Conv2D(8, 3)(picture))
read = keras.layers.GlobalAveragePooling1D()(keras.layers.Embedding(100, 8)(words))
model = keras.Model([picture, words], keras.layers.Dense(2)(keras.layers.Add()([seen, read])))
model.compile("adam", "mse")
model.fit(batches(), epochs=2)
"""


def test_two_inputs_of_which_both_are_open(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    assert needs(tmp_path, TWO, monkeypatch) == ("x=32x224x224x3", "x2=32x128")
    told = described(x=(32, 96, 64, 3), x2=(32, 17))
    subject = build(tmp_path, TWO, monkeypatch, data=told)
    assert [tuple(one.shape) for one in subject.data[0]] == [(32, 96, 64, 3), (32, 17)]


def test_a_model_that_is_built_for_several_inputs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    text = """
        from tensorflow import keras

        class Towers(keras.Model):
            def __init__(self):
                super().__init__()
                self.left, self.right = keras.layers.Dense(4), keras.layers.Dense(4)

            def call(self, inputs):
                return keras.ops.sum(self.left(inputs[0]) * self.right(inputs[1]), axis=-1, keepdims=True)

        model = Towers()
        model.compile("adam", "mse")
        model.build([(None, 20), (None, 5)])
        model.fit(records().map(pair), epochs=2)
    """
    subject = build(tmp_path, text, monkeypatch, batch_size=16)
    assert [tuple(one.shape) for one in subject.data[0]] == [(16, 20), (16, 5)]


@pytest.mark.parametrize(
    ("parts", "sizes"),
    [("encoder=net((24, 20, 3))", (24, 20, 3)), ("decoder=net((7,)), encoder=net((24, 20, 3))", (24, 20, 3))],
    ids=["one-part", "the-encoder"],
)
def test_a_model_around_one_that_says_what_it_takes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, parts: str, sizes: tuple[int, ...]
):
    text = f"""
        from tensorflow import keras

        def net(sizes):
            inputs = keras.Input(sizes)
            return keras.Model(inputs, keras.layers.Dense(7)(keras.layers.Flatten()(inputs)))

        class Detector(keras.Model):
            def __init__(self, encoder, decoder=None):
                super().__init__()
                self.encoder = encoder
                if decoder is not None:
                    self.decoder = decoder

            def call(self, x):
                return self.encoder(x)

        model = Detector({parts})
        model.compile("adam", "mse")
        model.fit(batches("train"), epochs=2)
    """
    assert tuple(build(tmp_path, text, monkeypatch, batch_size=8).data[0].shape) == (8, *sizes)


def test_of_two_parts_neither_is_taken(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    text = """
        from tensorflow import keras

        def net(size):
            inputs = keras.Input((size,))
            return keras.Model(inputs, keras.layers.Dense(5)(inputs))

        class Pair(keras.Model):
            def __init__(self):
                super().__init__()
                self.maker, self.judge = net(5), net(9)

            def call(self, x):
                return self.judge(x)

        model = Pair()
        model.compile("adam", "mse")
        model.fit(batches("train"), epochs=2)
    """
    with pytest.raises(EstimateError, match="does not say what it takes"):
        build(tmp_path, text, monkeypatch)


def test_the_input_of_a_first_layer(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    text = """
        from tensorflow import keras

        whole = keras.applications.MobileNetV2(include_top=False, weights=None, input_shape=(32, 32, 3))
        part = keras.Model(whole.layers[0].input, whole.get_layer("block_1_expand").output)
        model = keras.Sequential([part, keras.layers.GlobalAveragePooling2D(), keras.layers.Dense(4)])
        model.compile("adam", "mse")
        model.fit(x, y, batch_size=8)
    """
    subject = build(tmp_path, text, monkeypatch)
    assert tuple(subject.data[0].shape) == (8, 32, 32, 3)


def test_an_optimizer_that_cannot_be_made(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    text = """
        from settings_that_are_not_there import momentum
        from tensorflow import keras

        class Net(keras.Model):
            def __init__(self):
                super().__init__()
                self.inner = keras.Sequential([keras.Input((4,)), keras.layers.Dense(7)])

            def call(self, x):
                return self.inner(x)

            def compile(self, optimizer, loss):
                super().compile(loss=loss)
                self.optimizer = optimizer

        def train(rate=0.1):
            optimizer = keras.optimizers.SGD(learning_rate=rate, momentum=momentum)
            model = Net()
            model.compile(optimizer=optimizer, loss="mse")
            model.fit(batches(), epochs=3)

        train()
    """
    subject = build(tmp_path, text, monkeypatch)
    assert type(subject.model.optimizer).__name__ == "Adam"
    assert any("the script's own cannot be made" in one for one in subject.assumptions)


def test_a_vector_is_the_example_for_a_model_of_dense_layers(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    text = """
        from tensorflow import keras

        model = keras.Sequential([keras.layers.Dense(8), keras.layers.Dense(1)])
        model.compile("adam", "mse")
        model.fit(load("x.csv"), load("y.csv"), epochs=2)
    """
    assert needs(tmp_path, text, monkeypatch) == ("x=32x128",)


def test_an_array_is_fed_as_floats_of_keras_own_width(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    text = """
        import numpy as np
        from tensorflow import keras

        x, y = np.zeros((1000, 12)), np.zeros((1000, 2))
        model = keras.Sequential([keras.layers.Dense(2)])
        model.compile("adam", "mse")
        model.fit(x, y, batch_size=8)
    """
    spec = build(tmp_path, text, monkeypatch).data[0]
    assert (tuple(spec.shape), spec.dtype) == ((8, 12), "float32")


def test_a_script_of_a_package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    (tmp_path / "__init__.py").write_text("VERSION = 3\n")
    (tmp_path / "settings.py").write_text("UNITS = 9\n")
    text = """
        from tensorflow import keras
        from . import settings

        def main(label, epochs=3):
            model = keras.Sequential([keras.Input((4,)), keras.layers.Dense(settings.UNITS)])
            model.compile("adam", "mse")
            model.fit(x, y, batch_size=8)

        main("first")
    """
    assert tuple(build(tmp_path, text, monkeypatch).outputs.shape) == (8, 9)


def test_an_object_that_reads_as_it_is_made_and_trains_later(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    (tmp_path / "parts.py").write_text(
        "import os\nfrom tensorflow import keras\n\n"
        "class Training:\n"
        "    def __init__(self, units):\n"
        "        self.units = units\n"
        "        self.files = os.listdir('pictures')\n\n"
        "    def train(self):\n"
        "        self.model = keras.Sequential([keras.Input((4,)), keras.layers.Dense(self.units)])\n"
        "        self.model.compile('adam', 'mse')\n"
        "        self.model.fit(load(self.files), batch_size=8, epochs=2)\n"
    )
    text = """
        import tensorflow as tf
        from parts import Training

        if __name__ == "__main__":
            with tf.device("/device:GPU:0"):
                training = Training(units=9)
                training.train()
    """
    assert tuple(build(tmp_path, text, monkeypatch).outputs.shape) == (8, 9)


def test_a_method_that_reads_and_counts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    text = """
        import numpy as np
        from tensorflow import keras
        from tensorflow.keras.datasets import cifar10

        class Feed(keras.utils.Sequence):
            def __init__(self, batch_size):
                super().__init__()
                self.batch_size = batch_size
                self.load()

            def load(self):
                (self.images, self.labels), _ = cifar10.load_data()
                self.kinds = 2 * 5
                self.order = np.random.permutation(len(self.images))

            def __getitem__(self, index):
                return cut(self.images, self.order, index)

        feed = Feed(batch_size=24)
        model = keras.Sequential([keras.Input((32, 32, 3)), keras.layers.Flatten(), keras.layers.Dense(feed.kinds)])
        model.compile("adam", "mse")
        model.fit(feed, epochs=2)
    """
    subject = build(tmp_path, text, monkeypatch)
    assert tuple(subject.data[0].shape) == (24, 32, 32, 3)
    assert subject.model.count_params() == 3072 * 10 + 10


def test_a_step_of_a_class_that_is_no_model(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    (tmp_path / "trainer.py").write_text(
        "import tensorflow as tf\n\n"
        "class Trainer:\n"
        "    def __init__(self, model, optimizer, data):\n"
        "        self.model, self.optimizer, self.data = model, optimizer, data\n\n"
        "    def train_step(self, x, y):\n"
        "        with tf.GradientTape() as tape:\n"
        "            loss = tf.reduce_mean((self.model(x, training=True) - y) ** 2)\n"
        "        found = tape.gradient(loss, self.model.trainable_variables)\n"
        "        self.optimizer.apply_gradients(zip(found, self.model.trainable_variables))\n\n"
        "    def train_epoch(self):\n"
        "        for x, y in self.data:\n"
        "            self.train_step(x, y)\n"
    )
    (tmp_path / "whole.py").write_text(
        "from tensorflow import keras\nfrom trainer import Trainer\n\n"
        "def train(model, data):\n"
        "    trainer = Trainer(model, keras.optimizers.SGD(), data)\n"
        "    for epoch in range(3):\n"
        "        loss = trainer.train_epoch()\n"
    )
    text = """
        from tensorflow import keras
        from unknown import batches
        from whole import train

        def main():
            model = keras.Sequential([keras.Input((4,)), keras.layers.Dense(7)])
            train(model, batches())

        main()
    """
    subject = build(tmp_path, text, monkeypatch, batch_size=8)
    assert subject.model.count_params() == 4 * 7 + 7


def test_a_model_behind_a_wrapper_for_scikit_learn(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    text = """
        from keras.layers import Dense
        from keras.models import Sequential
        from keras.wrappers.scikit_learn import KerasClassifier
        import numpy as np

        def made(units=3):
            model = Sequential()
            model.add(Dense(units, input_dim=6, activation="relu"))
            model.add(Dense(2, activation="softmax"))
            model.compile("adam", "categorical_crossentropy")
            return model

        x_train, y_train = np.zeros((500, 6)), np.zeros((500, 2))
        model = KerasClassifier(build_fn=made, epochs=20, batch_size=50, units=5)
        model.fit(x_train, y_train)
    """
    subject = build(tmp_path, text, monkeypatch)
    assert tuple(subject.data[0].shape) == (50, 6)
    assert subject.model.count_params() == (6 * 5 + 5) + (5 * 2 + 2)


def test_a_loss_that_wants_more_than_the_output_of_a_model_with_penalties(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    from oomlint.estimate.worker.graph.tracing import traced
    from oomlint.estimate.worker.step.plain_loss import or_plainly

    text = """
        from tensorflow import keras

        def boxes(y_true, y_pred):
            return keras.ops.mean(keras.ops.abs(y_pred - y_true[:, :-1]))  # the last column is a state

        model = keras.Sequential([keras.Input((4,)), keras.layers.Dense(5, kernel_regularizer="l2")])
        model.compile("adam", boxes)
        model.fit(x, y, batch_size=8)
    """
    subject = build(tmp_path, text, monkeypatch)
    or_plainly(subject, lambda: traced(subject, optimized=False, as_run=False))
    assert any("in place of the script's own loss" in one for one in subject.assumptions)


def test_a_function_with_the_name_of_its_module(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    (tmp_path / "tools" / "training").mkdir(parents=True)
    (tmp_path / "tools" / "__init__.py").write_text("")
    (tmp_path / "tools" / "training" / "__init__.py").write_text("from .plain import plain\n")
    (tmp_path / "tools" / "training" / "plain.py").write_text(
        "import keras\n\n\n"
        "def plain(width, x):\n"
        "    model = keras.Sequential([keras.Input((4,)), keras.layers.Dense(width)])\n"
        "    model.compile('sgd', 'mse')\n"
        "    model.fit(x, x, epochs=2)\n"
    )
    text = "from tools import training\n\ntraining.plain(3, load())\n"
    assert build(tmp_path, text, monkeypatch).model.count_params() == 4 * 3 + 3
