"""What scripts take from libraries as they were: NumPy's old names, Keras' tokenizer, slices of symbolic shapes."""

from __future__ import annotations

from pathlib import Path

import pytest
from estimate.scripts import build
from estimate.test_scripts_of_others import needs

from oomlint.estimate.errors import EstimateError


def test_names_that_numpy_had(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    text = """
        import numpy as np
        from tensorflow import keras

        class Boxes(keras.layers.Layer):
            def call(self, x):
                sides = np.array([1, 2, 4], dtype=np.float)
                sides = sides[sides < np.Inf].astype(np.float_)
                return x * float(np.product(sides))

        inputs = keras.Input((6,))
        model = keras.Model(inputs, Boxes()(keras.layers.Dense(np.int(5))(inputs)))
        model.compile("adam", "mse")
        model.fit(x, y, batch_size=8)
    """
    assert tuple(build(tmp_path, text, monkeypatch).outputs.shape) == (8, 5)


def test_slices_of_a_shape_that_is_not_known_yet(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    text = """
        import tensorflow as tf
        from keras.backend import tf as ktf
        from tensorflow import keras
        from tensorflow.keras.metrics import mean_absolute_error

        inputs = keras.Input((12, 10, 3))
        x = keras.layers.Conv2D(4, 3, padding="same")(inputs)
        (batch, height, width) = tf.shape(x)[0:3]
        x = tf.reshape(x, [batch, height * width, 4])
        x = ktf.reduce_mean(x, axis=1)
        model = keras.Model(inputs, x)
        model.compile("adam", lambda y, found: mean_absolute_error(y, found))
        model.fit(x_train, y_train, batch_size=8)
    """
    assert tuple(build(tmp_path, text, monkeypatch).outputs.shape)[1:] == (4,)


def test_a_head_for_pictures_of_several_sizes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    text = """
        from tensorflow import keras

        head = keras.Sequential([keras.layers.Conv2D(6, 3, padding="same"), keras.layers.Conv2D(4, 1)])
        inputs = keras.Input((32, 32, 3))
        large = keras.layers.Conv2D(8, 3, padding="same")(inputs)
        small = keras.layers.MaxPooling2D()(large)
        model = keras.Model(inputs, [head(large), head(small)])
        model.compile("adam", ["mse", "mse"])
        model.fit(x, y, batch_size=8)
    """
    subject = build(tmp_path, text, monkeypatch)
    assert [tuple(one.shape)[1:] for one in subject.outputs] == [(32, 32, 4), (16, 16, 4)]
    # A kernel of 3 x 3 and one of 1 x 1, once each.
    assert subject.model.count_params() == (27 * 8 + 8) + (9 * 8 * 6 + 6) + (6 * 4 + 4)


TOKENS = """
from MODULE import Tokenizer
from tensorflow import keras

class Texts:
    def __init__(self, words):
        self.tokenizer = Tokenizer(num_words=words)

    def fit(self, texts):
        self.tokenizer.fit_on_texts(texts)

    @property
    def vocabulary(self):
        return len(self.tokenizer.word_index) + 1

texts = Texts(None)
texts.fit(read("texts.txt"))
model = keras.Sequential([keras.Input((20,)), keras.layers.Embedding(texts.vocabulary, 8), keras.layers.Flatten()])
model.compile("adam", "mse")
model.fit(x, y, batch_size=4)
"""


@pytest.mark.parametrize("module", ["keras.preprocessing.text", "tensorflow.keras.preprocessing.text"])
def test_a_tokenizer_that_has_read_nothing_knows_no_words(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, module: str
):
    text = TOKENS.replace("MODULE", module)
    assert needs(tmp_path, text, monkeypatch) == ("word_index=10000",)
    subject = build(tmp_path, text, monkeypatch, arguments={"word_index": 5000})
    assert subject.model.count_params() == 5001 * 8


def test_settings_from_a_file_that_the_command_line_names(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    (tmp_path / "small.cfg").write_text("[model]\nunits = 9\nbatch_size = 3\n")
    text = """
        import configparser, sys
        from tensorflow import keras

        config_file = sys.argv[1]
        settings = configparser.ConfigParser()
        settings.read(config_file)
        units = settings.getint("model", "units")
        model = keras.Sequential([keras.Input((4,)), keras.layers.Dense(units)])
        model.compile("adam", "mse")
        model.fit(x, y, batch_size=settings.getint("model", "batch_size"))
    """
    with pytest.raises(EstimateError, match="config_file") as caught:
        build(tmp_path, text, monkeypatch)
    assert caught.value.asked == "config_file"
    subject = build(tmp_path, text, monkeypatch, arguments={"config_file": "small.cfg"})
    assert tuple(subject.outputs.shape) == (3, 9)


@pytest.mark.parametrize("ending", ["h5", "keras"])
def test_a_model_that_is_loaded_from_a_file_beside_the_script(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, ending: str
):
    import keras

    (tmp_path / "saved").mkdir()
    model = keras.Sequential([keras.Input((6,)), keras.layers.Dense(5)])
    model.compile(keras.optimizers.SGD(), keras.losses.MeanSquaredError())
    model.save(tmp_path / "saved" / f"first.{ending}")
    text = f"""
        from tensorflow.keras.models import load_model

        model = load_model("saved/first.{ending}")
        model.fit(x, y, batch_size=24)
    """
    monkeypatch.chdir("/")
    subject = build(tmp_path, text, monkeypatch)
    assert tuple(subject.data[0].shape) == (24, 6)
    assert type(subject.model.optimizer).__name__ == "SGD"
    assert not any("as nothing compiles" in one for one in subject.assumptions)


def test_shapes_that_a_layer_knew_of_itself(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    text = """
from tensorflow import keras

class Named(keras.layers.Dense):
    def __init__(self, units, input_shape_of_mine):
        super().__init__(units)
        self.output_shape = input_shape_of_mine

base = keras.Sequential([keras.Input((6, 6, 2)), keras.layers.Flatten(), keras.layers.Dense(3)])
flat = base.layers[-2]
model = keras.Sequential([keras.Input(base.layers[-1].output_shape[1:])])
model.add(keras.layers.Dense(flat.output_shape[1:][0]))
model.add(keras.layers.Reshape(flat.input_shape[1:]))
model.add(Named(5, 7))
model.compile("sgd", "mse")
model.fit(x, y)
"""
    subject = build(tmp_path, text, monkeypatch)
    assert subject.model.output_shape == (None, 6, 6, 5)
    assert subject.model.layers[-1].output_shape == 7


def test_functions_of_the_backend_on_data_of_a_known_shape(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    text = """
from tensorflow import keras

(x, y), _ = keras.datasets.fashion_mnist.load_data()
flat = keras.backend.batch_flatten(x)
model = keras.Sequential([keras.Input((flat.shape[1],)), keras.layers.Dense(2)])
model.compile("sgd", "mse")
model.fit(flat, y)
"""
    assert build(tmp_path, text, monkeypatch).model.count_params() == 784 * 2 + 2


def test_a_module_that_is_imported_by_a_text(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    (tmp_path / "networks").mkdir()
    (tmp_path / "networks" / "__init__.py").write_text("")
    (tmp_path / "networks" / "choice.py").write_text(
        "import importlib\n\n\n"
        "def make(name, width):\n"
        "    return importlib.import_module(f'networks.{name}').network(width)\n"
    )
    (tmp_path / "networks" / "plain.py").write_text(
        "import keras\n\nweights = open('weights.bin').read()\n\n\n"
        "def network(width):\n"
        "    return keras.Sequential([keras.Input((4,)), keras.layers.Dense(width)])\n"
    )
    text = """
from networks.choice import make

model = make("plain", 3)
model.compile("sgd", "mse")
model.fit(x, y)
"""
    assert build(tmp_path, text, monkeypatch).model.count_params() == 4 * 3 + 3
