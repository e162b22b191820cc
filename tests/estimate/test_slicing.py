"""The slice of a script: what the model is made of stays, what loads, trains, saves and prints does not."""

from __future__ import annotations

import ast
import textwrap
from pathlib import Path

import pytest

from oomlint.estimate.errors import EstimateError
from oomlint.estimate.slicing.script import Slice, slice_script


def sliced(tmp_path: Path, text: str, **options: object) -> Slice:
    path = tmp_path / "train.py"
    path.write_text(textwrap.dedent(text))
    (tmp_path / "pyproject.toml").write_text("")
    found = slice_script(path, **options)  # type: ignore[arg-type]
    ast.parse(found.text)
    return found


def lines(found: Slice) -> list[str]:
    """The slice without its imports, each line without its indentation."""
    return [
        line.strip()
        for line in found.text.splitlines()
        if line.strip() and not line.startswith(("from ", "import "))
    ]


COMPLETE = """
    import numpy as np
    import matplotlib.pyplot as plt
    from tensorflow import keras

    (x_train, y_train), (x_test, y_test) = keras.datasets.mnist.load_data()
    x_train = x_train.reshape(-1, 28, 28, 1).astype("float32") / 255
    print("shape", x_train.shape)
    units = 64
    epochs = 3
    model = keras.Sequential()
    model.add(keras.Input(x_train.shape[1:]))
    model.add(keras.layers.Flatten())
    model.add(keras.layers.Dense(units))
    model.summary()
    model.compile("adam", "mse", metrics=["mae"])
    history = model.fit(x_train, y_train, epochs=epochs, batch_size=16)
    plt.plot(history.history["loss"])
    model.save("net.keras")
"""


def test_a_plain_script(tmp_path: Path):
    found = sliced(tmp_path, COMPLETE)
    assert lines(found) == [
        "x_train = oomlint_data((60000, 28, 28, 1), 'float32', 'x_train')",
        "units = 64",
        "model = keras.Sequential()",
        "model.add(keras.Input(x_train.shape[1:]))",
        "model.add(keras.layers.Flatten())",
        "model.add(keras.layers.Dense(units))",
        "model.compile('adam', 'mse', metrics=['mae'])",
        "oomlint_trained(model, batch_size=16, element=((None, 28, 28, 1), 'float32'), rest=(((None,), 'uint8'),))",
    ]
    assert "matplotlib" not in found.text
    assert "numpy" not in found.text
    assert found.names["line"] == "17"


def test_what_is_bound_anew_before_the_training_is_left_out(tmp_path: Path):
    found = sliced(
        tmp_path,
        """
        from tensorflow import keras
        model = keras.Sequential([keras.layers.Dense(1, input_shape=(3,))])
        model.compile("sgd", "mse")
        model = keras.Sequential([keras.layers.Dense(2, input_shape=(3,))])
        model.compile("sgd", "mse")
        model.fit(x, y, batch_size=8)
        """,
    )
    assert "Dense(1" not in found.text
    assert "Dense(2" in found.text


def test_the_way_through_main_takes_along_only_the_arguments_that_matter(tmp_path: Path):
    found = sliced(
        tmp_path,
        """
        import argparse
        from tensorflow import keras

        def load(path):
            return open(path).read()

        def build(width):
            return keras.Sequential([keras.layers.Dense(width, input_shape=(4,))])

        def train(width, data, log):
            log.write("start")
            model = build(width)
            model.compile("adam", "mse")
            for epoch in range(3):
                model.fit(data, batch_size=2)

        def main():
            parser = argparse.ArgumentParser()
            parser.add_argument("--width", type=int, default=12)
            args = parser.parse_args()
            data = load("data.csv")
            log = open("log.txt", "w")
            train(args.width, data, log)

        if __name__ == "__main__":
            main()
        """,
    )
    text = lines(found)
    assert "train(args.width, None, None)" in text
    assert "data.csv" not in found.text
    assert "log" not in found.text.replace("log)", "")
    assert "def load(path):" not in text
    assert text[-1] == "main()"


def test_a_class_that_makes_its_model_and_trains_it(tmp_path: Path):
    found = sliced(
        tmp_path,
        """
        from tensorflow import keras

        class Trainer:
            def __init__(self, width):
                self.width = width
                self.data = self.load()
                self.model = self.build()

            def load(self):
                return open("huge.bin").read()

            def build(self):
                model = keras.Sequential([keras.layers.Dense(self.width, input_shape=(4,))])
                model.compile("adam", "mse")
                return model

            def run(self):
                self.model.fit(self.data, epochs=2)

            def report(self):
                print(self.model.evaluate(self.data))

        trainer = Trainer(7)
        trainer.run()
        trainer.report()
        """,
    )
    assert "huge.bin" not in found.text
    assert "report" not in found.text
    assert "self.model = self.build()" in lines(found)
    assert lines(found)[-1] == "trainer.run()"


def test_a_hand_written_loop(tmp_path: Path):
    found = sliced(
        tmp_path,
        """
        import tensorflow as tf
        model = tf.keras.Sequential([tf.keras.layers.Dense(3, input_shape=(4,))])
        optimizer = tf.keras.optimizers.Adam()
        loss_fn = tf.keras.losses.MeanSquaredError()

        @tf.function
        def train_step(x, y):
            with tf.GradientTape() as tape:
                loss = loss_fn(y, model(x, training=True))
            grads = tape.gradient(loss, model.trainable_variables)
            optimizer.apply_gradients(zip(grads, model.trainable_variables))

        dataset = tf.data.Dataset.from_tensor_slices((tf.zeros((64, 4)), tf.zeros((64, 3)))).batch(16)
        for x, y in dataset:
            train_step(x, y)
        """,
    )
    call = next(line for line in lines(found) if "oomlint_trained(" in line and "import" not in line)
    assert "oomlint_trained(model, batch_size=16" in call
    assert "optimizer=optimizer" in call
    assert "by_hand='graph'" in call
    assert "dataset" not in found.text
    assert "tape" not in found.text


def test_policy_strategy_and_environment_of_the_model_stay(tmp_path: Path):
    found = sliced(
        tmp_path,
        """
        import tensorflow as tf
        from tensorflow import keras
        keras.mixed_precision.set_global_policy("mixed_float16")
        strategy = tf.distribute.MirroredStrategy()
        with strategy.scope():
            base = keras.applications.ResNet50(weights="imagenet", include_top=False, input_shape=(64, 64, 3))
            for layer in base.layers[:-4]:
                layer.trainable = False
            model = keras.Sequential([base, keras.layers.GlobalAveragePooling2D(), keras.layers.Dense(5)])
            model.compile("adam", "mse")
        model.load_weights("best.h5")
        model.fit(data, epochs=2)
        """,
    )
    text = lines(found)
    assert "keras.mixed_precision.set_global_policy('mixed_float16')" in text
    assert "with strategy.scope():" in text
    assert "layer.trainable = False" in text
    assert any("weights=None" in line for line in text)
    assert "best.h5" not in found.text


def test_what_a_function_gave_with_the_model_may_share_its_layers(tmp_path: Path):
    found = sliced(
        tmp_path,
        """
        from tensorflow import keras
        def make():
            base = keras.applications.ResNet50(weights=None, include_top=False, input_shape=(64, 64, 3), pooling="avg")
            base.trainable = False
            names = ["a", "b"]
            return keras.Model(base.input, keras.layers.Dense(5)(base.output)), base, names
        for fold in range(5):
            model, base, names = make()
            model.compile("adam", "mse")
            model.fit(data, epochs=2)
            base.trainable = True
            for layer in base.layers[:100]:
                layer.trainable = False
            names[0] = input()
            model.compile("adam", "mse")
            model.fit(data, epochs=9)
        """,
    )
    text = lines(found)
    assert text.index("base.trainable = True") < text.index("layer.trainable = False")
    assert "names[0]" not in found.text


def test_modules_of_the_project_are_sliced_too(tmp_path: Path):
    (tmp_path / "nets").mkdir()
    (tmp_path / "nets" / "__init__.py").write_text("from .small import *\n")
    (tmp_path / "nets" / "small.py").write_text(
        "from tensorflow import keras\nCACHE = open('/tmp/cache', 'w')\nWIDTH = 9\n"
        "def small():\n    return keras.Sequential([keras.layers.Dense(WIDTH, input_shape=(2,))])\n"
        "def other():\n    return CACHE\n"
    )
    found = sliced(
        tmp_path,
        """
        from nets import small
        model = small()
        model.compile("adam", "mse")
        model.fit(x, y, batch_size=4)
        """,
    )
    module = found.names["module:nets.small"]
    assert "WIDTH = 9" in module
    assert "CACHE" not in module
    assert "other" not in module


def test_what_comes_from_data_and_is_not_known_is_left_open_by_name(tmp_path: Path):
    text = """
        import os
        from tensorflow import keras
        class_names = sorted(os.listdir("images"))
        count = len(class_names)
        model = keras.Sequential([keras.layers.Dense(count, input_shape=(4,))])
        model.compile("adam", "mse")
        model.fit(x, y)
        """
    found = sliced(tmp_path, text)
    assert "count = oomlint_missing('count', 5)" in lines(found)
    assert "listdir" not in found.text


def test_the_largest_model_is_taken_or_the_one_that_is_named(tmp_path: Path):
    text = """
        from tensorflow import keras
        small = keras.Sequential([keras.layers.Dense(2, input_shape=(4,))])
        large = keras.Sequential([keras.layers.Dense(200, input_shape=(4,))])
        large.compile("adam", "mse")
        small.compile("adam", "mse")
        large.fit(x, y, batch_size=8)
        small.fit(x, y, batch_size=8)
        """
    assert "oomlint_trained(large" in sliced(tmp_path, text).text
    assert "oomlint_trained(small" in sliced(tmp_path, text, model="small").text
    assert "oomlint_trained(small" in sliced(tmp_path, text, model="8").text
    with pytest.raises(EstimateError, match="large"):
        sliced(tmp_path, text, model="medium")


def test_a_function_of_a_script(tmp_path: Path):
    found = sliced(
        tmp_path,
        COMPLETE + "\n    def build(n):\n        return keras.Sequential([keras.layers.Dense(n)])\n",
        function="build",
    )
    assert lines(found) == ["def build(n):", "return keras.Sequential([keras.layers.Dense(n)])"]
    with pytest.raises(EstimateError, match="build"):
        sliced(tmp_path, "def build(): pass", function="biuld")


def test_a_script_that_trains_nothing_is_told_so(tmp_path: Path):
    with pytest.raises(EstimateError, match="no training call"):
        sliced(tmp_path, "import numpy as np\nprint(np.zeros(3))\n")
    with pytest.raises(EstimateError, match="parse"):
        sliced(tmp_path, "def f(:\n")


def test_rounds_of_a_loop_that_are_left_early(tmp_path: Path):
    found = sliced(
        tmp_path,
        """
        from tensorflow import keras
        inputs = x = keras.Input((32, 32, 3))
        for block in range(3):
            x = keras.layers.Conv2D(8, 3, padding="same")(x)
            if block == 2:
                print("last")
                continue
            x = keras.layers.AveragePooling2D()(x)
        model = keras.Model(inputs, keras.layers.Flatten()(x))
        model.compile("adam", "mse")
        for epoch in range(10):
            if epoch == 5:
                break
            model.fit(images, labels, batch_size=4)
        """,
    )
    text = lines(found)
    assert text[text.index("if block == 2:") + 1] == "continue"
    assert "break" not in text
    assert "print" not in found.text


@pytest.mark.parametrize(
    "statement",
    [
        'sys.path.append("..")',
        "sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))",
        "sys.path.append(str(Path(__file__).resolve().parent.parent))",
        "TOP = os.path.join(os.path.dirname(__file__), os.pardir)\nsys.path += [TOP]",
        'sys.path.append("chapters")',  # it is run from the folder above that
    ],
)
def test_a_helper_in_a_folder_that_the_script_puts_on_the_search_path(tmp_path: Path, statement: str):
    folder = tmp_path / "chapters" / "one"
    folder.mkdir(parents=True)
    (folder / "pyproject.toml").write_text("")  # the project ends here
    (tmp_path / "chapters" / "parts.py").write_text(
        "from tensorflow import keras\ndef head(width):\n    return keras.layers.Dense(width)\n"
    )
    path = folder / "train.py"
    path.write_text(
        "import os, sys\nfrom pathlib import Path\nfrom tensorflow import keras\n"
        f"{statement}\nfrom parts import head\n"
        "model = keras.Sequential([keras.Input((4,)), head(7)])\nmodel.compile('sgd', 'mse')\n"
        "model.fit(x, y, batch_size=2)\n"
    )
    found = slice_script(path)
    assert "return keras.layers.Dense(width)" in found.names["module:parts"]


def test_a_module_beside_the_folder_of_the_script_is_found(tmp_path: Path):
    folder = tmp_path / "net" / "tools"
    folder.mkdir(parents=True)
    (tmp_path / "pyproject.toml").write_text("")
    (tmp_path / "net" / "parts.py").write_text(
        "from tensorflow import keras\ndef head():\n    return keras.layers.Dense(3)\n"
    )
    path = folder / "train.py"
    path.write_text(
        "from tensorflow import keras\nfrom parts import head\n"
        "model = keras.Sequential([keras.Input((4,)), head()])\nmodel.compile('sgd', 'mse')\nmodel.fit(x, y)\n"
    )
    assert "Dense(3)" in slice_script(path).names["module:parts"]


def test_data_behind_a_star_is_left_out_on_the_way(tmp_path: Path):
    found = sliced(
        tmp_path,
        """
        import sys
        from tensorflow import keras

        def load(folder):
            return keras.utils.image_dataset_from_directory(folder), 1, 2

        def build(width):
            return keras.Sequential([keras.layers.Dense(width, input_shape=(4,))])

        def train(model, rate, images, labels, more, epochs=3):
            model.compile("adam", "mse")
            model.fit(images, labels, epochs=epochs)

        def main(options):
            data = load("images")
            model = build(5)
            train(model, 0.1, *data)

        main(sys.argv)
        """,
    )
    assert "data = " not in found.text
    (call,) = [line for line in lines(found) if line.startswith("train(")]
    assert call.startswith("train(model, None, ")
    assert "*" not in call
    assert sorted(call[len("train(model, None, ") : -1].split(", ")) == [
        "images=None",
        "labels=None",
        "more=None",
    ]


@pytest.mark.parametrize(
    ("lines_before", "fit", "batch"),
    [
        ("", "model.fit_generator(flow(images, labels, args.batch_size, 0.1), epochs=3)", "args.batch_size"),
        ("BATCH = 9\nfeed = flow.flow_from_directory('a', batch_size=12)", "model.fit(feed, epochs=3)", "12"),
        ("ds = make(names).cache()\nds = ds.batch(7).prefetch(1)", "model.fit(ds, epochs=3)", "7"),
        ("BATCH_SIZE = 5\nds = make(names)", "model.fit(ds, epochs=3)", "BATCH_SIZE"),
        (
            "config = load()\nds = make(config['batch_size'])",
            "model.fit(ds, epochs=3)",
            "config['batch_size']",
        ),
        ("TRAIN_BATCH_SIZE = 5\nMINI_BATCH = 8\nds = make(names)", "model.fit(ds, epochs=3)", None),
        ("EVAL_BATCH_SIZE = 5\nds = make(names)", "model.fit(ds, epochs=3)", None),
    ],
)
def test_the_batch_size_of_generated_data(tmp_path: Path, lines_before: str, fit: str, batch: str | None):
    text = "from tensorflow import keras\n" + lines_before
    text += (
        "\nmodel = keras.Sequential([keras.layers.Dense(1, input_shape=(3,))])\nmodel.compile('sgd', 'mse')\n"
    )
    found = lines(sliced(tmp_path, text + fit))
    said = found[-1].partition("batch_size=")[2].rstrip(")")
    assert said.partition(", batch_named=")[0] == (batch or "")


def test_vectors_of_words_are_not_read_for_an_embedding(tmp_path: Path):
    found = sliced(
        tmp_path,
        """
        import numpy as np
        from tensorflow import keras
        index = {}
        for line in open("vectors.txt"):
            index[line.split()[0]] = np.asarray(line.split()[1:])
        matrix = np.zeros((5000, 50))
        for number, word in enumerate(index):
            matrix[number] = index[word]
        model = keras.Sequential([
            keras.layers.Embedding(5000, 50, weights=[matrix], trainable=False),
            keras.layers.Embedding(50, 8, embeddings_initializer=keras.initializers.Constant(matrix)),
        ])
        model.compile("sgd", "mse")
        model.fit(x, y)
        """,
    )
    assert "matrix" not in found.text
    assert "vectors" not in found.text
    assert "Embedding(5000, 50, weights=None, trainable=False)" in found.text
    assert "Embedding(50, 8, embeddings_initializer='uniform')" in found.text


def test_models_fitted_one_after_the_other_are_not_trained_in_turns(tmp_path: Path):
    text = """
        from tensorflow import keras
        one = keras.Sequential([keras.layers.Dense(1, input_shape=(3,))])
        one.compile("sgd", "mse")
        one.fit(x, y)
        two = keras.Sequential([keras.layers.Dense(9, input_shape=(3,))])
        two.compile("sgd", "mse")
        two.fit(x, y)
        """
    assert lines(sliced(tmp_path, text))[-1] == "oomlint_trained(two, batch_size=32)"
    text = (
        text.replace("one.fit(x, y)", "").replace("two.fit(x, y)", "").rstrip()
        + """
        for images, labels in batches:
            two.train_on_batch(images, labels)
            one.train_on_batch(images, labels)
        """
    )
    assert "others=[(one, None)]" in lines(sliced(tmp_path, text))[-1]


def test_loops_by_hand_of_a_notebook_are_not_trained_in_turns(tmp_path: Path):
    text = """
        import tensorflow as tf
        one = tf.keras.Sequential([tf.keras.layers.Dense(1, input_shape=(3,))])
        two = tf.keras.Sequential([tf.keras.layers.Dense(9, input_shape=(3,))])
        optimizer = tf.keras.optimizers.SGD(0.1)
        for images, labels in batches:
            with tf.GradientTape() as tape:
                loss = tf.reduce_mean(one(images) - labels)
            optimizer.apply_gradients(zip(tape.gradient(loss, one.trainable_variables), one.trainable_variables))
        for images, labels in batches:
            with tf.GradientTape() as tape:
                loss = tf.reduce_mean(two(images) - labels)
            optimizer.apply_gradients(zip(tape.gradient(loss, two.trainable_variables), two.trainable_variables))
        """
    last = lines(sliced(tmp_path, text))[-1]
    assert last.startswith("oomlint_trained(two, ")
    assert "others" not in last


def test_a_module_in_which_names_are_looked_up_is_kept_whole(tmp_path):
    (tmp_path / "nets").mkdir()
    (tmp_path / "nets" / "__init__.py").write_text("from .small import small\nfrom .large import large\n")
    (tmp_path / "nets" / "small.py").write_text("def small():\n    return 1\n")
    (tmp_path / "nets" / "large.py").write_text("def large():\n    return 2\n")
    (tmp_path / "pyproject.toml").write_text("")
    script = tmp_path / "train.py"
    script.write_text("import nets\nmodel = getattr(nets, 'large')()\nmodel.fit(x, y, epochs=2)\n")
    names = slice_script(script).names
    assert "import large" in names["module:nets"]
    assert "return 2" in names["module:nets.large"]


def test_a_try_that_only_has_an_end_stays_one(tmp_path: Path):
    found = sliced(
        tmp_path,
        """
        from tensorflow import keras


        def build():
            log = open("log.txt", "w")
            try:
                return keras.Sequential([keras.Input((8,)), keras.layers.Dense(1)])
            finally:
                log.close()


        model = build()
        model.compile("adam", "mse")
        model.fit(keras.ops.ones((64, 8)), keras.ops.ones((64, 1)))
        """,
    )
    assert lines(found)[1:5] == [
        "try:",
        "return keras.Sequential([keras.Input((8,)), keras.layers.Dense(1)])",
        "finally:",
        "pass",
    ]
