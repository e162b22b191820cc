"""What is read into an attribute is asked for by that name, and a sample in the form that the script's layers take."""

from __future__ import annotations

import pytest
from estimate.scripts import answered, build

from oomlint.estimate.errors import EstimateError
from oomlint.estimate.worker.values.example_samples import of_layers
from oomlint.estimate.worker.values.option_names import plain_name

pytest.importorskip("keras")


def test_a_matrix_that_a_setting_holds_is_asked_for_as_that(tmp_path, monkeypatch):
    text = """
        import numpy as np
        from tensorflow.keras import Input, Sequential, layers
        class Settings:
            folder = "data"
        def path_of(folder, name):
            return folder + "/" + name
        def train(genre):
            settings = Settings()
            settings.word_embeddings = np.load(path_of(settings.folder, genre))
            model = Sequential([Input((12,), dtype="int32"), layers.Embedding(
                input_dim=settings.word_embeddings.shape[0], output_dim=settings.word_embeddings.shape[1])])
            model.compile("adam", "mse")
            model.fit(x, y, batch_size=8)
        train("news")
        """
    with pytest.raises(EstimateError) as caught:
        build(tmp_path, text, monkeypatch)
    assert caught.value.asked == "word_embeddings.array"
    assert "--data word_embeddings=20000x300" in caught.value.hint
    subject = build(
        tmp_path,
        text,
        monkeypatch,
        data={"word_embeddings": {"shape": (500, 40), "dtype": "float32", "below": None}},
    )
    assert subject.model.count_params() == 500 * 40


@pytest.mark.parametrize(
    ("name", "plain"),
    [
        ("config.word_embeddings.shape[...]", "word_embeddings"),
        ("self.data.shape[1]", "data"),
        ("x_train.shape[1]", "x_train"),
        ("settings.get(...)", "settings"),
        ("args.size", "size"),
    ],
)
def test_the_name_that_arg_takes(name, plain):
    assert plain_name(name) == plain


@pytest.mark.parametrize(
    ("text", "sample"),
    [
        ("keras.layers.Dense(16, input_shape=shape)", "128"),
        ("LSTM(32, input_shape=shape), Dense(1)", "128,16"),
        ("Embedding(words, 16), LSTM(32), Dense(1)", "128"),
        ("Conv2D(8, 3, input_shape=shape), Dense(1)", "224,224,3"),
        ("Dense(16)(tf.image.resize(image, size))", "224,224,3"),
        ("MyNet(shape)", "224,224,3"),
    ],
)
def test_a_sample_such_as_the_layers_take(text, sample):
    assert of_layers(text) == sample


def test_a_network_of_dense_layers_is_given_vectors(tmp_path, monkeypatch):
    text = """
        import numpy as np
        from tensorflow import keras
        x_train, y_train = np.load("x.npy"), np.load("y.npy")
        def network(x, y):
            return keras.Sequential([
                keras.layers.Dense(16, activation="relu", input_shape=x.shape[1:]),
                keras.layers.Dense(np.amax(y) + 1, activation="softmax"),
            ])
        model = network(x_train, y_train)
        model.compile("adam", "sparse_categorical_crossentropy")
        model.fit(x_train, y_train, epochs=3)
        """
    found = answered(tmp_path, text, monkeypatch)
    assert any("x=32x128" in one for one in found.instead), found.instead
