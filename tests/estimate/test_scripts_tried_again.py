"""What a further set of public scripts was refused for, or told in place of their own; in small scripts of other words."""

from __future__ import annotations

from pathlib import Path

import pytest
from estimate.scripts import answered, build

from oomlint.estimate.errors import EstimateError
from oomlint.estimate.slicing.script import slice_script

CELL = """
    import keras
    from keras import ops

    class Step(keras.layers.Layer):
        def __init__(self, units, **kwargs):
            super().__init__(**kwargs)
            self.state_size = units
            self.output_size = units
            self.units = units
        def build(self, shape):
            self.into = self.add_weight(shape=(shape[-1], self.units))
            self.built = True
        def call(self, one, states):
            new = ops.matmul(one, self.into) * states[0]
            return new, [new]

    class Row(keras.layers.RNN):
        def __init__(self, units):
            super().__init__(Step(units))

    model = keras.Sequential([keras.Input((20, 8)), Row(64), keras.layers.Dense(2)])
    model.compile("adam", "mse")
    model.fit(x, y, batch_size=16)
"""


def test_a_cell_says_what_it_hands_on(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    subject = build(tmp_path, CELL, monkeypatch)
    assert subject.model.count_params() == 8 * 64 + (64 * 2 + 2)
    assert tuple(subject.outputs.shape) == (16, 2)


def test_what_a_library_gives_that_is_not_there_is_no_size(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    text = """
        from nobody_has_this import twist
        from tensorflow import keras

        class Twisted(keras.layers.Layer):
            def call(self, x):
                return twist(x, "b n -> n b")

        model = keras.Sequential([keras.Input((8,)), Twisted(), keras.layers.Dense(3)])
        model.compile("adam", "mse")
        model.fit(x, y)
    """
    with pytest.raises(EstimateError, match="No module named 'nobody_has_this'") as caught:
        answered(tmp_path, text, monkeypatch)
    assert not caught.value.needs
    assert "Install nobody_has_this" in caught.value.hint


def test_data_of_a_module_that_is_not_there_may_be_given(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    text = """
        from nobody_has_this import vocab_size
        from tensorflow import keras

        model = keras.Sequential([keras.Input((8,)), keras.layers.Embedding(vocab_size, 4), keras.layers.Dense(3)])
        model.compile("adam", "mse")
        model.fit(x, y)
    """
    found = answered(tmp_path, text, monkeypatch)
    assert any("vocab_size=10000" in one for one in found.instead)


FITTED = """
    from tensorflow import keras
    import elsewhere

    class Reader:
        def __init__(self, units):
            self.row = keras.layers.LSTM(units, return_sequences=True)
            self.seen = keras.Input((20, 6))
        def whole(self):
            model = keras.Model(self.seen, keras.layers.Dense(5)(self.row(self.seen)))
            model.compile("adam", "mse")
            return model
        def fit_generator(self, data):
            model = self.whole()
            model.fit_generator(data.all(), steps_per_epoch=5, epochs=3)

    def read(units):
        reader = Reader(units)
        return reader

    if __name__ == "__main__":
        {name} = read(30)
        {name}.fit_generator(elsewhere.Data(batch_size=4))
"""


@pytest.mark.parametrize("name", ["reader", "row_model"])
def test_a_method_that_fits_is_called_as_keras_own(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str
):
    subject = build(tmp_path, FITTED.format(name=name), monkeypatch)
    assert tuple(subject.outputs.shape)[1:] == (20, 5)
    assert subject.model.count_params() == 4 * 30 * (6 + 30 + 1) + (30 * 5 + 5)


@pytest.mark.parametrize("name", ["epochs", "num_epochs", "n_epoch", "max_epochs", "train_epochs"])
def test_how_often_the_data_is_gone_through_is_no_size(name: str):
    from oomlint.estimate.worker.values.classes import assumption

    found = assumption(name)
    assert found is not None and found[0] == name and type(found[1]) is int
    assert "takes no memory" in found[2]


@pytest.mark.parametrize("name", ["steps", "timesteps", "epoch_size", "samples_per_epoch"])
def test_of_diffusion_steps_and_lengths_nothing_is_assumed(name: str):
    from oomlint.estimate.worker.values.classes import assumption

    assert assumption(name) is None


def test_a_script_for_a_tpu_by_its_name(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    text = """
        import tensorflow as tf

        try:
            found = tf.distribute.cluster_resolver.TPUClusterResolver(tpu="one")
            tf.config.experimental_connect_to_cluster(found)
            tf.tpu.experimental.initialize_tpu_system(found)
            strategy = tf.distribute.TPUStrategy(found)
        except ValueError:
            strategy = tf.distribute.get_strategy()
        with strategy.scope():
            model = tf.keras.Sequential([tf.keras.Input((8,)), tf.keras.layers.Dense(4)])
            model.compile("adam", "mse")
        model.fit(x, y, batch_size=24 * strategy.num_replicas_in_sync)
    """
    subject = build(tmp_path, text, monkeypatch)
    assert tuple(subject.outputs.shape) == (24, 4)


OWN_STEP = """
    import tensorflow as tf
    import boxes_of_nobody

    class Net(tf.keras.Model):
        def __init__(self):
            super().__init__()
            self.a = tf.keras.layers.Conv2D(32, 3, padding="same")
            self.b = tf.keras.layers.Conv2D(8, 3, padding="same")
        def call(self, x):
            return self.b(self.a(x))

    class Finder(tf.keras.Model):
        def __init__(self, net):
            super().__init__()
            self.net = net
        def train_step(self, data):
            seen, boxes = data
            with tf.GradientTape() as tape:
                loss = boxes_of_nobody.loss(boxes, self.net(seen, training=True))
            self.optimizer.apply_gradients(zip(tape.gradient(loss, self.net.trainable_variables), self.net.trainable_variables))
            return {"loss": loss}
        def call(self, x):
            return x

    model = Finder(Net())
    model.compile(optimizer=tf.keras.optimizers.SGD(0.1))
    model.fit(boxes_of_nobody.Data(batch_size=16))
"""


def test_a_plain_step_is_of_the_model_that_the_script_s_own_calls(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    found = answered(tmp_path, OWN_STEP, monkeypatch, input_shape=(64, 64, 3))
    assert any("one pass of the model forward and back" in one for one in found.instead)
    first = (
        16 * 64 * 64 * 32 * 4
    )  # bytes of what the first convolution gives, which the second one's weights learn of
    assert found.parts["activations"] + found.parts["temporaries"] >= first


SPARSE = """
    import tensorflow as tf
    from tensorflow import keras
    import pieces_of_nobody

    class Loss:
        def __init__(self, ignored):
            self.__name__ = "sparse"
        def __call__(self, wanted, found):
            wanted = tf.cast(tf.squeeze(wanted, axis=-1), "int32")
            return tf.reduce_mean(keras.losses.sparse_categorical_crossentropy(wanted, found))

    model = keras.Sequential([
        keras.Input((32, 32, 3)), keras.layers.Conv2D(21, 3, padding="same"),
        keras.layers.Reshape((1024, 21)), keras.layers.Softmax(),
    ])
    model.compile("adam", Loss(255))
    model.fit(pieces_of_nobody.Data(batch_size=4), epochs=2)
"""


def test_a_loss_that_takes_the_number_of_each_class_in_a_row_of_its_own(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    found = answered(tmp_path, SPARSE, monkeypatch)
    assert (
        found.parts["input"] == 4 * 32 * 32 * 3 * 4 + 4 * 1024 * 4
    )  # numbers of classes, and no row of 21 for each
    assert any("labels are the numbers of classes" in one for one in found.assumptions)


def test_networks_that_learn_from_each_other_are_no_size():
    from oomlint.estimate.request import Request
    from oomlint.estimate.worker.tries.needed import _examples

    for name in ("generator", "image_discriminator", "critic_1", "generator_b", "actor"):
        error = EstimateError(f"{name} comes from outside", "build", asked=name)
        assert not list(_examples(error, Request("train.py", names={})))
    error = EstimateError("units comes from outside", "build", asked="units")
    assert list(_examples(error, Request("train.py", names={})))


def test_what_is_kept_in_an_object_is_not_proposed(tmp_path: Path):
    from oomlint.estimate.worker.tries.dead_ends import told

    first = EstimateError("_all comes from outside", "build", hint="Give it: --arg _all=VALUE", asked="_all")
    second = EstimateError("model comes from outside", "build", asked="model")
    found = told(first, [((("_all", 10),), second)])
    assert "Give" not in found.hint and "=VALUE" not in found.hint


def test_a_wrapper_is_no_training_of_its_own(tmp_path: Path):
    path = tmp_path / "train.py"
    path.write_text(__import__("textwrap").dedent(FITTED.format(name="reader")))
    (tmp_path / "pyproject.toml").write_text("")
    assert slice_script(path).names["line"] == "15"


def test_what_nobody_uses_is_not_what_is_missing(tmp_path: Path):
    from oomlint.estimate.worker.absent.stand_ins import Missing, NeededError
    from oomlint.estimate.worker.script.running import _first

    library = Missing("choose", 3, ModuleNotFoundError("No module named 'choose'", name="choose"))
    device = Missing("device", 7, ValueError("no such device"))
    sizes = Missing("sizes", 9, NeededError(library))
    model = Missing("model", 11, NeededError(sizes))
    found = _first([library, device, sizes, model], str(tmp_path / "train.py"))
    assert "No module named 'choose'" in found.message
    model = Missing("model", 11, NeededError(device))  # of what fails, that is what the model follows from
    assert "no such device" in _first([library, device, model], str(tmp_path / "train.py")).message
    assert "no such device" in _first([library, device], str(tmp_path / "train.py")).message


def test_rows_of_several_lengths(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    text = """
        import numpy as np
        from tensorflow import keras

        rows = [np.zeros((length, 6)) for length in (3, 9, 5)]
        rows = np.array(rows)
        padded = keras.utils.pad_sequences(rows, padding="post", dtype="float32")
        count, length, width = padded.shape
        model = keras.Sequential([keras.Input((length, width)), keras.layers.LSTM(4)])
        model.compile("adam", "mse")
        model.fit(padded, y, batch_size=2)
    """
    subject = build(tmp_path, text, monkeypatch)
    assert tuple(subject.model.input_shape) == (None, 9, 6)


def test_numpy_still_refuses_rows_of_several_lengths_of_numbers():
    import numpy as np

    from oomlint.estimate.worker.older.numpy_names import understand_old_numpy

    understand_old_numpy()
    assert np.array([[1, 2], [3]]).dtype == object
    assert np.asarray([[1.0, 2.0]]).shape == (1, 2)
    with pytest.raises(ValueError, match="inhomogeneous"):
        np.array([[1, 2], [3]], dtype="float32")


def test_a_model_that_is_handed_over_is_no_value(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    from oomlint.estimate.worker.script.refusals import how_to_give

    path = tmp_path / "train.py"
    assert "--arg" not in how_to_give("model", [], str(path))
    (tmp_path / "main.py").write_text("from train import train\n\ntrain(make(), data)\n")
    assert "main.py imports that" in how_to_give("model", [], str(path))
    assert (
        how_to_give("model", ["small", "large"], str(path))
        == "Give it: --arg model=small  (there is small, large)"
    )
    assert how_to_give("units", [], str(path)) == "Give it: --arg units=VALUE"


VIEWS = """
    import tensorflow as tf
    import pictures_of_nobody

    def turned(one):
        return tf.image.flip_left_right(one)

    def both(net, one):
        return net(one), net(turned(one))

    net = tf.keras.Sequential([
        tf.keras.Input((32, 32, 3)), tf.keras.layers.Conv2D(64, 3, padding="same"),
        tf.keras.layers.BatchNormalization(), tf.keras.layers.GlobalAveragePooling2D(),
    ])
    optimizer = tf.keras.optimizers.SGD(0.1)
    for one in pictures_of_nobody.Data().batch(8):
        other = turned(one)
        with tf.GradientTape() as tape:
            {passes}
            loss = tf.reduce_mean(tf.square(first - second))
        optimizer.apply_gradients(zip(tape.gradient(loss, net.trainable_variables), net.trainable_variables))
"""


@pytest.mark.parametrize(
    ("passes", "several"),
    [
        ("first, second = net(one), net(other)", True),
        ("first, second = both(net, one)", True),
        ("first, second = [net(each, training=True) for each in (one, other)]", True),
        ("first, second = net(tf.concat([one, other], 0)), 0.0", False),
        ("first, second = (net(one) if len(one) else net(other)), 0.0", False),
    ],
)
def test_a_tape_that_records_several_passes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, passes: str, several: bool
):
    text = VIEWS.format(passes=passes)
    found = answered(tmp_path, text, monkeypatch)
    assert found.batch_size == 8
    assert any("records several passes" in one for one in found.instead) is several
    if several:
        assert found.range_bytes[1] > 4 * found.peak_bytes
        with pytest.raises(EstimateError, match="several passes of the model"):
            answered(tmp_path, text, monkeypatch, fallback=False)


def test_a_step_of_several_passes_that_is_a_function_is_followed_whole(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    text = """
        import tensorflow as tf
        import pictures_of_nobody

        net = tf.keras.Sequential([tf.keras.Input((32, 32, 3)), tf.keras.layers.Conv2D(64, 3), tf.keras.layers.Activation("tanh")])
        optimizer = tf.keras.optimizers.SGD(0.1)

        @tf.function
        def step(one):
            with tf.GradientTape() as tape:
                first = net(one, training=True)
                {second}
                loss = tf.reduce_mean(tf.square(first - second))
            optimizer.apply_gradients(zip(tape.gradient(loss, net.trainable_variables), net.trainable_variables))

        for one in pictures_of_nobody.Data().batch(8):
            step(one)
    """
    twice = answered(
        tmp_path,
        text.format(second="second = net(tf.image.flip_left_right(one), training=True)"),
        monkeypatch,
    )
    assert not twice.instead
    kept = 8 * 30 * 30 * 64 * 4  # bytes of what one pass keeps: tanh's own result
    assert twice.peak_bytes > 2 * kept
