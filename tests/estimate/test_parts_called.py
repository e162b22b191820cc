"""Steps of a model's own by what they work on: pictures alone, arrays by key, networks without a `call` around them."""

from __future__ import annotations

from pathlib import Path

import pytest
from estimate.scripts import answered, build

from oomlint.estimate.errors import EstimateError

pytest.importorskip("tensorflow")

PICTURES = """
    import keras, tensorflow as tf
    class Cleaner(keras.Model):
        def __init__(self):
            super().__init__()
            self.net = keras.Sequential([keras.Input((8, 8, 3)), keras.layers.Conv2D(3, 3, padding="same")])
        {call}
        def train_step(self, images):
            with tf.GradientTape() as tape:
                made = self.net(images + tf.random.normal(tf.shape(images)))
                loss = tf.reduce_mean((made - images) ** 2)
            gradients = tape.gradient(loss, self.net.trainable_weights)
            self.optimizer.apply_gradients(zip(gradients, self.net.trainable_weights))
            return {{"loss": loss}}
    images = tf.data.Dataset.from_tensor_slices(tf.zeros((50, 8, 8, 3))).batch(10)
    model = Cleaner()
    model.compile(keras.optimizers.Adam(), loss=keras.losses.MeanSquaredError())
    model.fit(images)
"""


@pytest.mark.parametrize("call", ["", "def call(self, images): return self.net(images)"])
def test_a_step_that_works_on_its_data_as_one_array_gets_no_targets_of_the_loss_that_is_compiled(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, call: str
):
    subject = build(tmp_path, PICTURES.format(call=call), monkeypatch)
    (images,) = subject.data
    assert images.shape == (10, 8, 8, 3)
    found = answered(tmp_path, PICTURES.format(call=call), monkeypatch)
    assert not found.instead  # it is the script's own step that was followed
    assert found.parts["input"] == 4 * 10 * 8 * 8 * 3


def test_a_step_that_takes_labels_keeps_them(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    text = PICTURES.format(call="def call(self, images): return self.net(images)")
    text = text.replace(
        "def train_step(self, images):", "def train_step(self, data):\n            images, _ = data"
    )
    subject = build(tmp_path, text, monkeypatch)
    assert [part.shape for part in subject.data] == [(10, 8, 8, 3)] * 2


PAIRS = """
    import keras, tensorflow as tf
    from somewhere import load
    picture = keras.Sequential([keras.Input((6, 6, 3)), keras.layers.Flatten(), keras.layers.Dense(4)])
    words = keras.Sequential([keras.Input((7,), dtype="int32"), keras.layers.Embedding(50, 4),
                              keras.layers.GlobalAveragePooling1D()])
    class Pairs(keras.Model):
        def __init__(self, picture, words):
            super().__init__()
            self.picture, self.words = picture, words
        def call(self, both):
            {call}
        {step}
    model = Pairs(picture, words)
    model.compile(optimizer="sgd", loss="mse")
    model.fit(load(), batch_size=5)
"""
STEP = """
        def train_step(self, both):
            with tf.GradientTape() as tape:
                first, second = self(both)
                loss = tf.reduce_mean((first - second) ** 2)
            gradients = tape.gradient(loss, self.trainable_weights)
            self.optimizer.apply_gradients(zip(gradients, self.trainable_weights))
            return {"loss": loss}
"""
BY_KEY = 'return self.picture(both["image"]), self.words(both["caption"])'
ALIASED = 'caption = both["caption"]; return self.picture(both["image"]), self.words(caption)'


@pytest.mark.parametrize("call", [BY_KEY, ALIASED])
@pytest.mark.parametrize("step", ["", STEP])
def test_a_models_parts_say_what_it_is_given_by_key(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, call: str, step: str
):
    subject = build(tmp_path, PAIRS.format(call=call, step=step), monkeypatch)
    given = subject.data[0]
    assert {name: (spec.shape, spec.dtype) for name, spec in given.items()} == {
        "image": ((5, 6, 6, 3), "float32"),
        "caption": ((5, 7), "int32"),
    }


def test_a_model_of_another_script_in_the_folder_is_no_answer(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    (tmp_path / "other_training.py").write_text(
        "import keras\ndef big():\n    return keras.Sequential([keras.Input((20,)), keras.layers.Dense(30)])\n"
        "model = big()\nmodel.compile('sgd', 'mse')\nmodel.fit(load(), batch_size=512)\n"
    )
    text = """
        import networks_of_nobody as nets
        model = nets.Unet("resnet", classes=3)
        model.compile("adam", "mse")
        model.fit(nets.load("x"), batch_size=8)
    """
    with pytest.raises(EstimateError, match="networks_of_nobody"):
        answered(tmp_path, text, monkeypatch)


def test_what_is_handed_on_whole_is_what_the_part_takes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    text = """
        import keras, tensorflow as tf
        from somewhere import load
        first, second = keras.Input((6,), name="first"), keras.Input((4,), name="second")
        joined = keras.layers.Concatenate()([first, second])
        net = keras.Model([first, second], keras.layers.Dense(3)(joined))
        class Judge(keras.Model):
            def __init__(self, net):
                super().__init__()
                self.net = net
            def call(self, both):
                return self.net(both)
            def train_step(self, data):
                with tf.GradientTape() as tape:
                    loss = tf.reduce_mean(self.net(data) ** 2)
                gradients = tape.gradient(loss, self.net.trainable_weights)
                self.optimizer.apply_gradients(zip(gradients, self.net.trainable_weights))
                return {"loss": loss}
        model = Judge(net)
        model.compile(optimizer="sgd")
        model.fit(load(), batch_size=5)
    """
    subject = build(tmp_path, text, monkeypatch)
    assert [spec.shape for spec in subject.data[0]] == [(5, 6), (5, 4)]
    found = answered(tmp_path, text, monkeypatch)
    assert not found.instead
    assert found.parts["input"] == 256 + 256  # 4 x 5 x 6 and 4 x 5 x 4, each rounded up to 256 bytes


WORDS = """
    import keras
    from somewhere import load
    letters = {letters}
    numbers = keras.layers.StringLookup(vocabulary=letters, oov_token="")
    model = keras.Sequential([keras.Input((9,)), keras.layers.Dense(numbers.vocabulary_size() + 1)])
    model.compile("sgd", "mse")
    model.fit(load(), load(), batch_size=5)
"""


def test_a_vocabulary_that_the_script_writes_down_is_known(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    told = build(tmp_path, WORDS.format(letters='[x for x in "abcdefgh "]'), monkeypatch)
    assert told.model.count_params() == (9 + 1) * 11  # nine letters, the one for all others, and one more
    with pytest.raises(EstimateError, match="vocabulary_size"):
        build(tmp_path, WORDS.format(letters="sorted(set(load()))"), monkeypatch)


def test_pieces_of_a_file_that_begin_at_random_numbers_have_their_length(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    text = """
        import keras, numpy as np
        LENGTH = 12
        def pieces(path):
            data = np.memmap(path, dtype=np.uint16, mode="r")
            while True:
                begins = np.random.randint(len(data) - LENGTH - 1, size=7)
                x = np.stack([data[i : i + LENGTH] for i in begins]).astype("int32")
                yield x, np.zeros(7)
        class Net(keras.Model):
            def __init__(self):
                super().__init__()
                self.table, self.out = keras.layers.Embedding(50, 4), keras.layers.Dense(1)
            def call(self, words):
                return self.out(self.table(words))[:, -1]
        model = Net()
        model.compile("sgd", "mse")
        model.fit(pieces("words.bin"), steps_per_epoch=10)
    """
    subject = build(tmp_path, text, monkeypatch)
    assert (subject.data[0].shape, subject.data[0].dtype) == ((7, 12), "int32")


OWN_LOSS = """
    import keras, numpy as np
    (x, y), _ = keras.datasets.mnist.load_data()
    x = x.reshape(-1, 28, 28, 1) / 255.0
    class Pupil(keras.Model):
        def __init__(self, teacher, student, spread_std):
            super().__init__()
            self.teacher, self.student, self.spread = teacher, student, spread_std
            self.of_labels = keras.losses.SparseCategoricalCrossentropy(from_logits=True)
        def compute_loss(self, x=None, y=None, y_pred=None, sample_weight=None, training=True):
            return (self.of_labels(y, y_pred) + keras.ops.mean((y_pred - self.teacher(x)) ** 2)) / self.spread
        def call(self, x):
            return self.student(x)
    def net(units):
        return keras.Sequential([keras.Input((28, 28, 1)), keras.layers.Flatten(), keras.layers.Dense(units),
                                 keras.layers.Dense(10)])
    data_std = np.std(np.load("sounds.npy"))
    model = Pupil(net(90), net(20), data_std)
    model.compile(optimizer="sgd")
    model.fit(x, y, batch_size=16)
"""


def test_a_loss_of_the_models_own_is_given_labels(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    subject = build(tmp_path, OWN_LOSS, monkeypatch)
    images, labels = subject.data
    assert (images.shape, labels.shape, labels.dtype) == ((16, 28, 28, 1), (16,), "uint8")
    found = answered(tmp_path, OWN_LOSS, monkeypatch)
    # Nothing is asked for and nothing assumed: the deviation that is divided by has no size.
    assert not found.instead
    weights = sum((784 + 1) * units + (units + 1) * 10 for units in (90, 20))
    assert found.parts["weights"] == pytest.approx(4 * weights, rel=0.01)


def test_windows_of_a_series_are_as_long_as_asked(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    text = """
        import keras, pandas as pd
        frame = pd.read_csv("weather.csv")
        past, step = 720, 6
        rows = frame[["heat", "wind", "rain"]].values
        windows = keras.preprocessing.timeseries_dataset_from_array(
            rows[:-past], rows[past:, :1], sequence_length=int(past / step), sampling_rate=step, batch_size=8
        )
        for batch in windows.take(1):
            inputs, targets = batch
        entrance = keras.Input((inputs.shape[1], inputs.shape[2]))
        model = keras.Model(entrance, keras.layers.Dense(1)(keras.layers.LSTM(32)(entrance)))
        model.compile("adam", "mse")
        model.fit(windows)
    """
    found = answered(tmp_path, text, monkeypatch, fallback=False)
    assert found.batch_size == 8
    # The windows, and one target for each; buffers are of 256 bytes.
    assert found.parts["input"] == 4 * 8 * 120 * 3 + 256


def test_a_spread_of_data_has_no_size(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    """`numpy.var` of pictures scales a loss; without it the model could not be made."""
    text = """
        import keras, numpy as np
        (x, y), _ = keras.datasets.mnist.load_data()
        class Scaled(keras.Model):
            def __init__(self, by):
                super().__init__()
                self.by = by
                self.first = keras.layers.Dense(20)
            def call(self, pictures):
                return self.first(keras.ops.reshape(pictures, (-1, 784))) / self.by
        model = Scaled(np.var(x / 255.0))
        model.compile("sgd", "sparse_categorical_crossentropy")
        model.fit(x, y, batch_size=16)
    """
    found = answered(tmp_path, text, monkeypatch, fallback=False)
    assert found.parts["weights"] == 4 * 785 * 20 + 8  # and the mean of the losses


def test_what_is_tried_for_a_shape_that_is_known_in_part_keeps_that_part(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    text = """
        import keras, numpy as np, pandas as pd, tensorflow as tf
        data = np.array(pd.read_csv("weather.csv"), dtype=np.float32)
        def cut(window):
            given = window[:, :24, :]
            given.set_shape([None, 24, None])
            return given, window[:, 24:, 0]
        windows = keras.utils.timeseries_dataset_from_array(data, None, sequence_length=48, batch_size=8).map(cut)
        class Forecast(keras.Model):
            def __init__(self):
                super().__init__()
                self.memory, self.out = keras.layers.LSTM(12), keras.layers.Dense(24)
            def call(self, given):
                return self.out(self.memory(given))
        model = Forecast()
        model.compile("adam", "mse")
        model.fit(windows)
    """
    found = answered(tmp_path, text, monkeypatch)
    assert any("x=32x24x16" in words for words in found.instead)
    assert found.batch_size == 8
