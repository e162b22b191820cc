"""From a script to a model that is compiled and built: what Keras itself then says of it."""

from __future__ import annotations

import textwrap
from pathlib import Path

import numpy as np
import pytest
from estimate.scripts import build

from oomlint.estimate.errors import EstimateError
from oomlint.estimate.worker.subject import Spec

pytest.importorskip("keras")


SCRIPT = """
    import argparse, os
    import wandb_that_is_not_installed as wandb
    import numpy as np
    from tensorflow import keras
    wandb.init(project="x")
    parser = argparse.ArgumentParser()
    parser.add_argument("--units", type=int, default=12)
    parser.add_argument("--data", required=True)
    args = parser.parse_args()
    os.makedirs("/outside/of/everything")
    x = np.load(args.data)
    class_names = os.listdir("images")
    model = keras.Sequential([
        keras.Input((8,)),
        keras.layers.Dense(args.units, activation="relu"),
        keras.layers.Dense({classes}, activation="softmax"),
    ])
    model.compile(keras.optimizers.SGD(0.1, momentum=0.9), "{loss}")
    model.fit(x, batch_size=24, epochs=2)
"""


def test_a_script_with_a_missing_library_a_required_option_and_a_download(tmp_path, monkeypatch):
    text = SCRIPT.format(classes=5, loss="sparse_categorical_crossentropy")
    subject = build(tmp_path, text, monkeypatch)
    assert subject.data == (Spec((24, 8), "float32"), Spec((24,), "int32"))
    assert subject.model.count_params() == 8 * 12 + 12 + 12 * 5 + 5
    # one momentum for each of the four weights, the learning rate and the iteration
    assert len(subject.model.optimizer.variables) == 4 + 2
    assert subject.assumptions == []
    assert list((tmp_path / "work").iterdir()) == []


def test_targets_of_another_loss_are_as_wide_as_the_outputs(tmp_path, monkeypatch):
    subject = build(
        tmp_path, SCRIPT.format(classes=5, loss="categorical_crossentropy"), monkeypatch, batch_size=7
    )
    assert subject.data == (Spec((7, 8), "float32"), Spec((7, 5), "float32"))


def test_what_comes_from_data_is_asked_for_and_may_be_given(tmp_path, monkeypatch):
    text = """
        import os
        from tensorflow import keras
        words = os.listdir("texts")
        model = keras.Sequential([keras.Input((8,)), keras.layers.Dense(len(words))])
        model.compile("sgd", "mse")
        model.fit(x, y)
        """
    with pytest.raises(EstimateError) as caught:
        build(tmp_path, text, monkeypatch)
    assert caught.value.line == 4
    assert "words" in caught.value.message
    assert "--arg words=VALUE" in caught.value.hint
    subject = build(tmp_path, text, monkeypatch, arguments={"words": ["a", "b", "c"]})
    assert subject.model.output_shape == (None, 3)


def test_the_sides_of_an_image_are_asked_for_together(tmp_path, monkeypatch):
    text = """
        import numpy as np
        from tensorflow import keras
        images = np.load("images.npy")
        _, img_height, img_width, channels = images.shape
        model = keras.Sequential([keras.Input((img_height, img_width, channels)), keras.layers.Flatten()])
        model.compile("sgd", "mse")
        model.fit(images, labels)
    """
    with pytest.raises(EstimateError, match="--input-shape 224,224,3"):
        build(tmp_path, text, monkeypatch)
    assert build(tmp_path, text, monkeypatch, input_shape=(4, 5, 3)).model.input_shape == (None, 4, 5, 3)


def test_an_input_of_any_size_wants_the_shape(tmp_path, monkeypatch):
    text = """
        from tensorflow import keras
        model = keras.Sequential([keras.Input((None, None, 3)), keras.layers.Conv2D(4, 3, padding="same")])
        model.compile("sgd", "mse")
        model.fit(data)
        """
    with pytest.raises(EstimateError, match="--input-shape"):
        build(tmp_path, text, monkeypatch)
    subject = build(tmp_path, text, monkeypatch, input_shape=(16, 20, 3), batch_size=2)
    assert subject.data == (Spec((2, 16, 20, 3), "float32"), Spec((2, 16, 20, 4), "float32"))


def test_the_line_of_an_error_is_the_users(tmp_path, monkeypatch):
    text = """
        from tensorflow import keras

        print("a line that is sliced away")

        def build():
            return keras.layers.Dropout(5)

        model = keras.Sequential([keras.Input((8,)), build()])
        model.compile("sgd", "mse")
        model.fit(x, y)
        """
    with pytest.raises(EstimateError) as caught:
        build(tmp_path, text, monkeypatch)
    assert caught.value.line == 7
    assert "rate" in caught.value.message


def test_whose_code_a_line_is_of():
    import json
    import sysconfig

    from oomlint.estimate.worker.script import making

    assert not making.of_the_user(json.__file__)
    assert not making.of_the_user("<frozen importlib._bootstrap>")
    assert not making.of_the_user(making.__file__)
    for folder in (
        "/usr/lib/python3/dist-packages",
        "/usr/local/lib/python3.12/site-packages",
        "C:\\site-packages",
    ):
        assert not making.of_the_user(f"{folder}/keras/src/layer.py"), folder
    for folder in ("/usr/src/app", "/content", sysconfig.get_path("stdlib") + "-scripts", "C:\\oomlint"):
        assert making.of_the_user(f"{folder}/train.py"), folder


def test_a_function_with_arguments(tmp_path, monkeypatch):
    text = """
        from tensorflow import keras
        DATA = open("/nowhere/data.bin").read()
        def build(units, depth=1):
            layers = [keras.layers.Dense(units, activation="sigmoid") for _ in range(depth)]
            return keras.Sequential([keras.Input((8,)), *layers]), "name"
        """
    with pytest.raises(EstimateError, match="--arg units=VALUE"):
        build(tmp_path, text, monkeypatch, function="build")
    subject = build(tmp_path, text, monkeypatch, function="build", arguments={"units": 3, "depth": 2})
    assert len(subject.model.layers) == 2
    assert subject.data == (Spec((32, 8), "float32"), Spec((32, 3), "float32"))
    said = " ".join(subject.assumptions)
    assert "batch size 32" in said
    assert "Adam" in said
    assert "binary_crossentropy" in said


def test_what_was_asked_of_xla_is_remembered(tmp_path, monkeypatch):
    from oomlint.estimate.request import Request
    from oomlint.estimate.worker.keras.compilation import program_of

    text = """
        from tensorflow import keras
        model = keras.Sequential([keras.Input((8,)), keras.layers.Dense(3)])
        model.compile("sgd", "mse"{jit})
        model.fit(x, y)
        """
    request = Request("train.py")
    assert program_of(build(tmp_path, text.format(jit=""), monkeypatch), request)[0] == "xla"
    off = build(tmp_path, text.format(jit=", jit_compile=False"), monkeypatch)
    assert program_of(off, request)[0] == "graph"


@pytest.mark.parametrize(
    ("text", "name", "value"),
    [
        ("momentum", "momentum", 0.9),
        ("SGD(momentum=0.5)", "momentum", 0.5),
        ("adamw:beta_1=0.8", "beta_1", 0.8),
    ],
)
def test_optimizers_by_name(text: str, name: str, value: float):
    from oomlint.estimate.worker.step.compiling import optimizer_named

    assert getattr(optimizer_named(text), name) == value


def test_an_optimizer_that_is_none_is_told_the_nearest():
    from oomlint.estimate.worker.step.compiling import optimizer_named

    with pytest.raises(EstimateError, match="adam"):
        optimizer_named("adm")


@pytest.mark.parametrize("suffix", [".keras", ".h5", ".json"])
def test_saved_models(tmp_path: Path, suffix: str):
    import keras

    from oomlint.estimate.request import Request
    from oomlint.estimate.worker.step.building import build

    model = keras.Sequential([keras.Input((8,)), keras.layers.Dense(3)])
    model.compile("rmsprop", "mse")
    path = tmp_path / f"net{suffix}"
    if suffix == ".json":
        path.write_text(model.to_json())
    else:
        model.save(path)
    subject = build(Request(str(path), names={"saved": str(path)}, batch_size=4))
    assert subject.model.count_params() == 27
    assert subject.data == (Spec((4, 8), "float32"), Spec((4, 3), "float32"))
    if suffix != ".json":
        assert type(subject.model.optimizer).__name__ == "RMSprop"


def test_sizes_that_are_kept_in_wandb_are_found(tmp_path, monkeypatch):
    text = """
        import wandb
        from wandb.keras import WandbCallback
        from tensorflow import keras
        wandb.init(project="p", config={"units": 6, "batch": 10})
        config = wandb.config
        config.classes = 4
        model = keras.Sequential([keras.Input((8,)), keras.layers.Dense(config.units), keras.layers.Dense(config["classes"])])
        model.compile("sgd", "mse")
        model.fit(x, y, batch_size=config.batch, callbacks=[WandbCallback()])
        """
    subject = build(tmp_path, text, monkeypatch)
    assert subject.data == (Spec((10, 8), "float32"), Spec((10, 4), "float32"))
    assert subject.model.count_params() == 8 * 6 + 6 + 6 * 4 + 4


def test_what_only_looks_at_the_model_does_no_harm(tmp_path, monkeypatch):
    text = """
        import tensorflow as tf
        mnist = tf.keras.datasets.mnist
        (x_train, y_train), (x_test, y_test) = mnist.load_data()
        model = tf.keras.Sequential([tf.keras.Input((28, 28)), tf.keras.layers.Flatten(), tf.keras.layers.Dense(10)])
        predictions = model(x_train[:1]).numpy()
        tf.nn.softmax(predictions).numpy()
        loss_fn = tf.keras.losses.SparseCategoricalCrossentropy(from_logits=True)
        loss_fn(y_train[:1], predictions).numpy()
        model.compile(optimizer="adam", loss=loss_fn)
        model.fit(x_train, y_train, epochs=5)
        """
    subject = build(tmp_path, text, monkeypatch)
    assert subject.data == (Spec((32, 28, 28), "float32"), Spec((32,), "int32"))


def test_flags_of_absl_have_their_defaults(tmp_path, monkeypatch):
    text = """
        from absl import app, flags
        from tensorflow import keras
        flags.DEFINE_integer("oomlint_test_units", 9, "width")
        FLAGS = flags.FLAGS
        def main(argv):
            model = keras.Sequential([keras.Input((4,)), keras.layers.Dense(FLAGS.oomlint_test_units)])
            model.compile("sgd", "mse")
            model.fit(x, y)
        if __name__ == "__main__":
            app.run(main)
        """
    assert build(tmp_path, text, monkeypatch).model.output_shape == (None, 9)


CLASSES = """
    import os
    import numpy as np
    import pandas as pd
    from sklearn.preprocessing import LabelEncoder
    from tensorflow import keras
    {made}
    model = keras.Sequential([keras.Input((6,)), keras.layers.Dense({count}, activation="softmax")])
    model.compile("sgd", "sparse_categorical_crossentropy")
    model.fit(x, y, batch_size=4)
"""


@pytest.mark.parametrize(
    ("made", "count", "name"),
    [
        ('class_names = sorted(os.listdir("images"))', "len(class_names)", "class_names"),
        ("encoder = LabelEncoder().fit(pd.read_csv('a.csv').kind)", "len(encoder.classes_)", "classes_"),
        ("flow = keras.preprocessing.x().flow_from_directory('a')", "flow.num_classes", "num_classes"),
        ("x, y_train = load_data()", "y_train.shape[1]", "y_train"),
        ("x, labels_of = load_data()", "len(np.unique(np.argmax(labels_of, 1)))", "unique"),
        ("n_clusters = len(np.unique(np.load('y.npy')))", "n_clusters", "n_clusters"),
        ("kinds = keras.utils.image_dataset_from_directory('a').class_names", "len(kinds)", "kinds"),
        (
            "found = sorted(keras.x().flow_from_directory('a').class_indices.keys())",
            "len(found)",
            "found",
        ),
    ],
)
def test_a_number_of_classes_that_only_the_data_tells_is_assumed_and_said(
    made, count, name, tmp_path, monkeypatch
):
    text = CLASSES.format(made=made, count=count)
    subject = build(tmp_path, text, monkeypatch)
    assert subject.model.output_shape == (None, 10)
    assert [one for one in subject.assumptions if "10 classes" in one and name in one]
    value = (None, 21) if name == "y_train" else 21
    subject = build(tmp_path, text, monkeypatch, arguments={name: value})
    assert subject.model.output_shape == (None, 21)
    assert not [one for one in subject.assumptions if "classes" in one]


def test_a_size_that_the_memory_depends_on_is_asked_for(tmp_path, monkeypatch):
    text = CLASSES.format(made="vocab_size = len(open('words.txt').read())", count="vocab_size")
    with pytest.raises(EstimateError, match="--arg vocab_size=VALUE"):
        build(tmp_path, text, monkeypatch)
    assert build(tmp_path, text, monkeypatch, arguments={"vocab_size": 9}).model.output_shape == (None, 9)
    text = CLASSES.format(made="words = Tokenizer().fit(x).word_index", count="len(words) + 1")
    assert build(tmp_path, text, monkeypatch, arguments={"words": 9}).model.output_shape == (None, 10)


def test_a_model_made_in_the_scope_of_a_strategy_gets_its_slots_there(tmp_path, monkeypatch):
    text = """
        import tensorflow as tf
        strategy = tf.distribute.MirroredStrategy()
        with strategy.scope():
            model = tf.keras.Sequential([tf.keras.layers.Dense(2, input_shape=(3,))])
            model.compile("adam", "mse")
        model.fit(x, y)
    """
    optimizer = build(tmp_path, text, monkeypatch).model.optimizer
    assert len(optimizer.variables) == 2 + 2 * 2  # iteration and rate; two moments of kernel and bias


REGISTRY = """
    from tensorflow import keras
    BUILDERS, SIZES = {}, {"small": 3}

    def register(name):
        def inner(function):
            BUILDERS[name] = function
            return function
        return inner

    class Registry:
        def __init__(self):
            self.items = {}
        def add(self, function):
            self.items[function.__name__] = function
            return function

    LOSSES = Registry()

    @LOSSES.add
    def squared(y, p):
        return keras.ops.mean((y - p) ** 2)

    @register("big")
    def large():
        return keras.Sequential([keras.Input((8,)), keras.layers.Dense(40)])
"""


def test_registries_are_filled_and_functions_import_what_they_use(tmp_path, monkeypatch):
    (tmp_path / "zoo.py").write_text(textwrap.dedent(REGISTRY))
    text = """
        import numpy as np

        def make(name):
            import zoo
            model = zoo.BUILDERS[name]()
            model.compile("sgd", zoo.LOSSES.items["squared"])
            return model

        make("big").fit(np.zeros((64, 8)), np.zeros((64, 40)), batch_size=16)
    """
    subject = build(tmp_path, text, monkeypatch)
    assert subject.model.count_params() == 8 * 40 + 40
    assert subject.data[0].shape == (16, 8)


def test_samples_and_labels_are_data_whatever_else_their_reader_makes(tmp_path, monkeypatch):
    text = """
        import numpy as np
        from tensorflow import keras

        class Digits:
            def __init__(self, folder):
                self.images = np.load(folder)
                self.n_classes = self.images.shape[-1]

        def load(name):
            if name == "features":
                return keras.applications.VGG16().predict(np.load(name)), np.load("labels")
            return np.load(name), np.load("labels")

        digits = Digits("digits")
        x, y = load("digits")
        model = keras.Sequential([keras.Input((6,)), keras.layers.Dense(len(np.unique(y)) + digits.n_classes)])
        model.compile("sgd", "mse")
        model.fit(x, y)
    """
    assert build(tmp_path, text, monkeypatch).model.output_shape == (None, 20)


def test_weights_are_zeros_to_code_that_reads_them_while_it_builds(tmp_path, monkeypatch):
    text = """
        import keras
        import numpy as np
        inputs = keras.Input((200,), dtype="int32")
        positions = keras.layers.Embedding(200, 64)(keras.ops.arange(200))
        x = keras.layers.Embedding(20000, 64)(inputs) + positions
        model = keras.Model(inputs, keras.layers.Dense(2)(x))
        assert float(keras.ops.max(model.layers[1].embeddings)) == 0.0
        model.compile("adam", "mse")
        model.fit(np.zeros((64, 200)), np.zeros((64, 200, 2)), batch_size=16)
    """
    subject = build(tmp_path, text, monkeypatch)
    assert subject.model.count_params() == 20_000 * 64 + 64 * 2 + 2
    tokens = np.zeros((1, 200), "int32")
    assert subject.model.predict(tokens, verbose=0).tolist() == [[[0.0, 0.0]] * 200]
