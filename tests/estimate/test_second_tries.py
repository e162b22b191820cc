"""What a message proposes has to make the second try succeed: examples are tried as the next slice will have them."""

from __future__ import annotations

from pathlib import Path

import pytest
from estimate.scripts import build
from estimate.test_scripts_of_others import described, needs

from oomlint.estimate.errors import EstimateError


def test_a_size_of_the_data_is_no_local_of_a_layer(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    """An option's name may be one with which a layer calculates: `F` of its input is no `F` of the script's."""
    text = """
        import keras

        class Mixed(keras.layers.Layer):
            def __init__(self, units, **how):
                super().__init__(**how)
                self.units = units

            def build(self, input_shape):
                F = input_shape[-1]
                self.kernel = self.add_weight(shape=(F, self.units))

            def call(self, inputs):
                return keras.ops.matmul(inputs, self.kernel)

        x, y = read("data.bin")
        F = x.shape[1]
        model = keras.Sequential([keras.Input((F,)), Mixed(5), Mixed(2)])
        model.compile("sgd", "mse")
        model.fit(x, y, batch_size=8)
    """
    subject = build(tmp_path, text, monkeypatch, arguments={"F": 30})
    assert [weight.shape for weight in subject.model.weights] == [(30, 5), (5, 2)]


def test_a_size_that_is_none_until_something_is_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    (tmp_path / "shared.py").write_text(
        "longest = None\n"
        "def set_longest(value):\n"
        "    global longest\n"
        "    longest = value\n"
        "def get_longest():\n"
        "    return longest\n"
    )
    text = """
        import keras
        import shared

        def prepare(path):
            rows = [line.split() for line in open(path)]
            shared.set_longest(max(len(row) for row in rows))
            return rows

        rows = prepare("text.txt")
        longest = shared.get_longest()
        model = keras.Sequential([keras.Input((longest * 2,)), keras.layers.Dense(3)])
        model.compile("sgd", "mse")
        model.fit(rows, rows, batch_size=4)
    """
    assert needs(tmp_path, text, monkeypatch) == ("longest=10",)
    subject = build(tmp_path, text, monkeypatch, arguments={"longest": 10})
    assert subject.data[0].shape == (4, 20)


def test_an_object_that_is_called_as_data_are(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    """`text_settings["words"]` is no part of an array, though `x` is described, and the name begins as texts do."""
    text = """
        import keras

        text_settings = read_settings("settings.pkl")
        words, longest = text_settings["word_count"], text_settings["max_len"]
        model = keras.Sequential([keras.Input((longest,)), keras.layers.Embedding(words, 8), keras.layers.Flatten(),
                                  keras.layers.Dense(2)])
        model.compile("sgd", "mse")
        model.fit(rows, rows, batch_size=4)
    """
    options = {"arguments": {"word_count": 700}, "data": described(x=(32, 50))}
    subject = build(tmp_path, text, monkeypatch, **options)
    assert subject.data[0].shape == (4, 50)
    assert [weight.shape for weight in subject.model.weights] == [(700, 8), (400, 2), (2,)]


def test_an_example_with_which_the_step_fails_is_not_proposed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    """A model of convolutions takes pictures of any size, its step those of 32 by 32 in grey."""
    text = """
        import keras
        import tensorflow as tf

        class Painter(keras.Model):
            def __init__(self):
                super().__init__()
                self.paint = keras.layers.Conv2D(4, 3, padding="same")

            def call(self, pictures):
                return self.paint(pictures)

            def train_step(self, data):
                pictures = tf.reshape(data, (-1, 32 * 32))
                with tf.GradientTape() as tape:
                    painted = self(tf.reshape(pictures, (8, 32, 32, 1)), training=True)
                    loss = tf.reduce_mean(painted**2)
                gradients = tape.gradient(loss, self.trainable_variables)
                self.optimizer.apply_gradients(zip(gradients, self.trainable_variables))
                return {"loss": loss}

        pictures = read("pictures.bin")
        model = Painter()
        model.compile("sgd")
        model.fit(pictures, batch_size=8)
    """
    assert needs(tmp_path, text, monkeypatch) == ("x=32x32x32x1",)


def test_layers_without_weights_that_a_model_makes_as_it_is_called(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    from oomlint.estimate.worker.graph.tracing import traced

    text = """
        import keras

        class Thinned(keras.layers.Layer):
            def call(self, inputs):
                return keras.layers.LeakyReLU()(keras.layers.Dropout(0.5)(inputs, training=True))

        inputs = keras.Input((6,))
        model = keras.Model(inputs, keras.layers.Dense(3)(Thinned()(Thinned()(inputs))))
        model.compile("sgd", "mse", jit_compile=False)
        model.fit(x, y, batch_size=8)
    """
    program = traced(build(tmp_path, text, monkeypatch), optimized=False)
    drawn = [one for one in program.operations if one.type.startswith("StatelessRandomUniform")]
    assert [one.shapes for one in drawn if one.shapes == ((8, 6),)] == [((8, 6),)] * 2


def test_a_shape_is_asked_for_by_the_name_of_the_size_in_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    text = """
        import keras

        longest = 400
        x_train, words = read("texts.bin")
        if longest != x_train.shape[1]:
            longest = x_train.shape[1]
        if len(words) > 10:
            input_shape = (longest,)
        else:
            input_shape = (longest, 16)
        given = keras.Input(shape=input_shape)
        found = keras.layers.GlobalMaxPooling1D()(keras.layers.Embedding(len(words), 8)(given))
        model = keras.Model(given, keras.layers.Dense(1)(found))
        model.compile("sgd", "mse")
        model.fit(x_train, x_train, batch_size=4)
    """
    assert needs(tmp_path, text, monkeypatch) == ("x_train=1000x16", "words=10000")


def test_a_choice_without_a_default_that_gives_no_model_back(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    text = """
        import argparse
        import keras

        def network(kind):
            if kind == "wide":
                return keras.Sequential([keras.Input((4,)), keras.layers.Dense(50)])
            if kind == "narrow":
                return keras.Sequential([keras.Input((4,)), keras.layers.Dense(5)])

        parser = argparse.ArgumentParser()
        parser.add_argument("--kind", type=str)
        args = parser.parse_args()
        model = network(args.kind)
        model.compile("sgd", "mse")
        model.fit(x, y, batch_size=4)
    """
    assert needs(tmp_path, text, monkeypatch) == ("kind=wide",)


def test_an_attribute_that_is_none_until_data_is_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    text = """
        import argparse
        import keras

        class Speaker:
            def __init__(self):
                self.words = None
                self.network = None

            def read(self, folder):
                self.words = Words(open(folder + "/text.txt").read())
                return self.words.rows()

            def make(self, width):
                self.network = keras.Sequential(
                    [keras.Input((20,)), keras.layers.Embedding(self.words.number, width), keras.layers.Flatten()])
                self.network.compile("sgd", "mse")

            def train(self, folder, width, batch_size):
                rows = self.read(folder)
                self.make(width)
                self.network.fit(rows, rows, batch_size=batch_size)

        parser = argparse.ArgumentParser()
        parser.add_argument("--folder", default="texts")
        parser.add_argument("--width", type=int, default=12)
        parser.add_argument("--batch-size", type=int, default=6)
        Speaker().train(**vars(parser.parse_args()))
    """
    (found,) = needs(tmp_path, text, monkeypatch)
    assert found.startswith("number=")
    subject = build(tmp_path, text, monkeypatch, arguments={"number": 900})
    assert subject.data[0].shape == (6, 20)
    assert subject.model.weights[0].shape == (900, 12)


def test_a_table_is_looked_up_by_what_is_made_of_an_option(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    text = """
        import argparse
        import keras

        SIZES = {"SMALL": 5, "LARGE": 50}
        parser = argparse.ArgumentParser()
        parser.add_argument("--size", required=True)
        args = parser.parse_args()
        model = keras.Sequential([keras.Input((4,)), keras.layers.Dense(SIZES[args.size.upper()])])
        model.compile("sgd", "mse")
        model.fit(x, y, batch_size=4)
    """
    with pytest.raises(EstimateError) as caught:
        build(tmp_path, text, monkeypatch)
    assert caught.value.hint == "Give it: --arg size=SMALL  (there is SMALL, LARGE)"
    assert needs(tmp_path, text, monkeypatch) == ("size=SMALL",)


def test_a_batch_that_another_thread_should_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    """Nobody fills the queue: no wait for it, and the batch is the one that a name says, not what is counted there."""
    text = """
        import queue
        import numpy as np
        import keras

        class Waiting:
            def __init__(self, rows, batch_size):
                self.ready = queue.Queue()

            def __iter__(self):
                return self

            def __next__(self):
                return self.ready.get()

        def epoch(model, rounds):
            for pictures in rounds:
                batch_size = np.shape(pictures)[0]
                model.train_on_batch(pictures, np.ones((batch_size, 3)))

        batch_size = 12
        model = keras.Sequential([keras.Input((4,)), keras.layers.Dense(3)])
        model.compile("sgd", "mse")
        waiting = Waiting(open("rows.txt").readlines(), batch_size)
        first = next(waiting)
        epoch(model, waiting)
    """
    assert build(tmp_path, text, monkeypatch).data[0].shape == (12, 4)


def test_a_file_that_is_called_as_a_module_of_python(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    """Python's own `typing` is there before, for the script as for the libraries that it uses."""
    (tmp_path / "typing.py").write_text("Size = int\n")
    text = """
        from __future__ import annotations
        from dataclasses import dataclass
        from typing import Optional
        import keras

        @dataclass
        class Settings:
            units: int = 9
            rate: Optional[float] = None

        model = keras.Sequential([keras.Input((4,)), keras.layers.Dense(Settings().units)])
        model.compile("sgd", "mse")
        model.fit(x, y, batch_size=8)
    """
    assert build(tmp_path, text, monkeypatch).model.output_shape == (None, 9)


def test_operations_of_keras_on_data_in_a_class(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    """The statement after the one that reads is data as well, in whatever order they are asked for."""
    (tmp_path / "pictures.py").write_text(
        "import keras\n"
        "import keras.ops as np\n"
        "class Pictures:\n"
        "    def __init__(self):\n"
        "        (self.x, self.y), _ = keras.datasets.mnist.load_data()\n"
        "        self.height = self.x.shape[1]\n"
        "        self.x = np.expand_dims(self.x, -1)\n"
    )
    text = """
        import keras
        from pictures import Pictures

        pictures = Pictures()
        model = keras.Sequential(
            [keras.Input((pictures.height, 28, 1)), keras.layers.Flatten(), keras.layers.Dense(10)])
        model.compile("sgd", "sparse_categorical_crossentropy")
        model.fit(pictures.x, pictures.y, batch_size=16)
    """
    assert build(tmp_path, text, monkeypatch).data[0].shape == (16, 28, 28, 1)


def test_sizes_of_pictures_in_names_of_more_words(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    text = """
        import keras

        low_height, low_width, number_channels, upscale_factor = read("settings.bin")
        pictures = keras.Input((low_height, low_width, number_channels))
        larger = keras.layers.UpSampling2D(upscale_factor)(pictures)
        model = keras.Model(pictures, keras.applications.VGG16(include_top=False, weights=None)(larger))
        model.compile("sgd", "mse")
        model.fit(x, y, batch_size=2)
    """
    found = dict(one.split("=") for one in needs(tmp_path, text, monkeypatch))
    assert found == {"low_height": "64", "low_width": "64", "number_channels": "3", "upscale_factor": "2"}


def test_a_model_that_takes_no_array_at_all(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    """No shape is proposed of which it is known that it does not work."""
    from oomlint.estimate.request import Request
    from oomlint.estimate.slicing.script import slice_script
    from oomlint.estimate.worker.step.building import build as build_request
    from oomlint.estimate.worker.tries.needed import all_of

    text = """
        import keras

        class Edges(keras.Model):
            def __init__(self):
                super().__init__()
                self.head = keras.layers.Dense(3)

            def call(self, graph):
                return self.head(graph.nodes)

        model = Edges()
        model.compile("sgd", "mse")
        model.fit(graphs, labels, batch_size=8)
    """
    with pytest.raises(EstimateError) as caught:
        build(tmp_path, text, monkeypatch)
    assert "for example --input-shape" in caught.value.hint
    found = slice_script(tmp_path / "train.py")
    request = Request(str(tmp_path / "train.py"), source=found.text, names=found.names)
    error = all_of(caught.value, request, build_request)
    assert error.hint.startswith("So it is with each of the usual shapes of one sample (")
    assert "FILE.py:function" in error.hint
    assert "Edges.call()" in error.message
