"""Models that say themselves what a step is, and models that are trained in turns: GANs of both kinds."""

from __future__ import annotations

import textwrap
import time
from pathlib import Path
from typing import Any

import pytest
from estimate.scripts import build

from oomlint.estimate.request import Request
from oomlint.estimate.slicing.script import slice_script

pytest.importorskip("tensorflow")

ONE_CLASS = """
    import keras, tensorflow as tf
    class Gan(keras.Model):
        def __init__(self, judge, maker):
            super().__init__()
            self.judge, self.maker = judge, maker
        def compile(self, judge_optimizer, maker_optimizer):
            super().compile()
            self.judge_optimizer, self.maker_optimizer = judge_optimizer, maker_optimizer
        def pull(self, loss, tape, model, optimizer):
            gradients = tape.gradient(loss, model.trainable_weights)
            optimizer.apply_gradients(zip(gradients, model.trainable_weights))
        def train_step(self, real):
            noise = tf.random.normal((tf.shape(real)[0], 5))
            with tf.GradientTape() as tape:
                loss = tf.reduce_mean(self.judge(self.maker(noise)) - self.judge(real))
            self.pull(loss, tape, self.judge, self.judge_optimizer)
            with tf.GradientTape() as tape:
                loss = -tf.reduce_mean(self.judge(self.maker(noise)))
            self.pull(loss, tape, self.maker, self.maker_optimizer)
            return {"loss": loss}
    judge = keras.Sequential([keras.Input((9,)), keras.layers.Dense(40), keras.layers.Dense(1)])
    maker = keras.Sequential([keras.Input((5,)), keras.layers.Dense(30), keras.layers.Dense(9)])
    data = tf.data.Dataset.from_tensor_slices(tf.zeros((100, 9))).batch(12)
    gan = Gan(judge, maker)
    gan.compile(keras.optimizers.Adam(), keras.optimizers.SGD(momentum=0.9))
    gan.fit(data)
"""
IN_TURNS = """
    import numpy as np
    from tensorflow import keras
    class Gan:
        def __init__(self):
            self.judge = keras.Sequential([keras.Input((9,)), keras.layers.Dense(40), keras.layers.Dense(1)])
            self.judge.compile("adam", "mse")
            self.maker = keras.Sequential([keras.Input((5,)), keras.layers.Dense(30), keras.layers.Dense(9)])
            self.judge.trainable = False
            noise = keras.Input((5,))
            self.both = keras.Model(noise, self.judge(self.maker(noise)), name="both")
            self.both.compile(keras.optimizers.SGD(momentum=0.9), "mse")
        def train(self, batch):
            real, ones = np.zeros((batch, 9)), np.ones((batch, 1))
            for step in range(1000):
                noise = np.random.normal(size=(batch, 5))
                self.judge.train_on_batch(real, ones)
                self.judge.train_on_batch(self.maker.predict(noise), 1 - ones)
                self.both.train_on_batch(noise, ones)
    Gan().train(12)
"""
BY_HAND = """
    import tensorflow as tf
    from tensorflow import keras
    judge = keras.Sequential([keras.Input((9,)), keras.layers.Dense(40), keras.layers.Dense(1)])
    maker = keras.Sequential([keras.Input((5,)), keras.layers.Dense(30), keras.layers.Dense(9)])
    judge_optimizer, maker_optimizer = keras.optimizers.Adam(), keras.optimizers.SGD(momentum=0.9)
    @tf.function
    def step(real):
        with tf.GradientTape() as first, tf.GradientTape() as second:
            made = judge(maker(tf.random.normal((12, 5))))
            loss, other = tf.reduce_mean(made - judge(real)), -tf.reduce_mean(made)
        one = first.gradient(loss, judge.trainable_variables)
        two = second.gradient(other, maker.trainable_variables)
        judge_optimizer.apply_gradients(zip(one, judge.trainable_variables))
        maker_optimizer.apply_gradients(zip(two, maker.trainable_variables))
    for real in tf.data.Dataset.from_tensor_slices(tf.zeros((100, 9))).batch(12):
        step(real)
"""
JUDGE, MAKER = 9 * 40 + 40 + 40 + 1, 5 * 30 + 30 + 30 * 9 + 9  # numbers, by hand
SMALL = 100  # bytes: learning rates, iterations, means


def answer(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, text: str) -> Any:
    from oomlint.estimate.worker import main
    from oomlint.estimate.worker.step import building

    path = tmp_path / "train.py"
    path.write_text(textwrap.dedent(text))
    monkeypatch.setenv("OOMLINT_WORK", str(tmp_path))
    found = slice_script(path)
    request = Request(str(path), source=found.text, names=found.names, engine="graph", layers=True)
    return main.measured(building.build(request), request, time.monotonic())


def test_a_step_of_ones_own_is_estimated_with_both_its_models(tmp_path, monkeypatch):
    found = answer(tmp_path, monkeypatch, ONE_CLASS)
    assert (found.batch_size, found.optimizer) == (12, "Adam + SGD")
    assert 4 * (JUDGE + MAKER) <= found.parts["weights"] < 4 * (JUDGE + MAKER) + SMALL
    # Slots are built where gradients are applied; the usual optimizer, which the step does not use, has none.
    slots = 4 * (2 * JUDGE + MAKER)
    assert slots <= found.parts["optimizer_state"] < slots + SMALL


def test_of_models_in_turns_all_that_they_keep_counts_and_the_fullest_step(tmp_path, monkeypatch):
    found = answer(tmp_path, monkeypatch, IN_TURNS)
    assert found.batch_size == 12
    assert 4 * (JUDGE + MAKER) <= found.parts["weights"] < 4 * (JUDGE + MAKER) + SMALL
    slots = 4 * (2 * JUDGE + MAKER)  # both trains the maker only
    assert slots <= found.parts["optimizer_state"] < slots + SMALL
    assert found.peak_bytes == sum(found.parts.values()) == max(size for _, size in found.timeline)
    assert any("in turns" in text for text in found.assumptions)


def test_a_model_beside_it_that_cannot_be_made_is_named(tmp_path, monkeypatch):
    text = """
        import keras
        import numpy as np
        judge = keras.Sequential([keras.Input((9,)), keras.layers.Dense(1)])
        judge.compile("adam", "mse")
        both = keras.Sequential([judge, keras.layers.LayerOfALibraryThatIsGone(3)])
        both.compile("adam", "mse")
        for _ in range(100):
            judge.train_on_batch(np.zeros((12, 9)), np.zeros((12, 1)))
            both.train_on_batch(np.zeros((12, 9)), np.zeros((12, 1)))
    """
    found = answer(tmp_path, monkeypatch, text)
    assert 4 * 10 <= found.parts["weights"] < 4 * 10 + SMALL
    assert "both is trained too, and not included: it could not be made" in found.assumptions


def test_models_of_a_loop_by_hand_are_summed(tmp_path, monkeypatch):
    found = answer(tmp_path, monkeypatch, BY_HAND)
    assert (found.batch_size, found.program) == (12, "graph")
    assert 4 * (JUDGE + MAKER) <= found.parts["weights"] < 4 * (JUDGE + MAKER) + SMALL
    slots = 4 * (2 * JUDGE + MAKER)
    assert slots <= found.parts["optimizer_state"] < slots + SMALL
    assert found.peak_bytes == sum(found.parts.values())
    assert any("in one step" in text for text in found.assumptions)


def test_a_live_one_is_traced_by_its_own_step():
    import oomlint

    names: dict[str, Any] = {}
    exec(textwrap.dedent(ONE_CLASS).replace("gan.fit(data)", ""), names)
    found = oomlint.estimate(names["gan"], batch_size=12, gpu="T4", input_shape=(9,))
    assert (found.optimizer, found.parts["input"]) == (
        "Adam + SGD",
        512,
    )  # 12 x 9 x 4 bytes, rounded up to 256s
    assert found.parts["optimizer_state"] >= 4 * (2 * JUDGE + MAKER)


def test_an_encoder_and_a_decoder_of_one_tape_are_added_up(tmp_path, monkeypatch):
    text = """
        import tensorflow as tf
        from keras import Sequential, layers
        encoder = Sequential([layers.Input((6,)), layers.Dense(4)])
        decoder = Sequential([layers.Input((4,)), layers.Dense(6)])
        optimizer = tf.keras.optimizers.Adam()
        @tf.function
        def step(batch):
            with tf.GradientTape() as tape:
                loss = tf.reduce_mean(tf.square(decoder(encoder(batch)) - batch))
            variables = encoder.trainable_variables + decoder.trainable_variables
            optimizer.apply_gradients(zip(tape.gradient(loss, variables), variables))
        for batch in tf.data.Dataset.from_tensor_slices(tf.zeros((64, 6))).batch(16):
            step(batch)
    """
    subject = build(tmp_path, text, monkeypatch)
    models = [subject.model, *(one.model for one in subject.others)]
    assert sorted(model.count_params() for model in models) == [4 * 6 + 4, 6 * 4 + 6]
    assert subject.one_step


def test_autograph_finds_the_text_of_a_decorated_method(tmp_path, monkeypatch):
    text = """
        import tensorflow as tf
        class Net(tf.keras.Model):
            def __init__(self, width):
                super().__init__()
                self.dense = tf.keras.layers.Dense(width)
            @tf.function
            def call(self, x, training=True):
                if tf.reduce_sum(x) > 0:
                    x = -x
                return self.dense(x)
        model = Net(3)
        model.compile("sgd", "mse")
        model.fit(tf.zeros((8, 2)), tf.zeros((8, 3)), batch_size=4)
    """
    assert build(tmp_path, text, monkeypatch).model.count_params() == 2 * 3 + 3


def test_the_optimizer_that_applies_the_gradients_of_a_model_that_is_chosen_by_a_number(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    text = """
import sys
import tensorflow as tf
from tensorflow import keras
from plain import chosen

model = chosen(int(sys.argv[1]) if len(sys.argv) > 1 else 0)
optimizer = keras.optimizers.SGD(0.1, momentum=0.9)

def step(x, y):
    with tf.GradientTape() as tape:
        loss = tf.reduce_mean(tf.square(model(x, training=True) - y))
    gradients = tape.gradient(loss, model.trainable_variables)
    optimizer.apply_gradients(grads_and_vars=zip(gradients, model.trainable_variables))

for x, y in batches:
    step(x, y)
"""
    (tmp_path / "plain.py").write_text(
        "from tensorflow import keras\n\n\n"
        "def make():\n    return keras.Sequential([keras.Input((4,)), keras.layers.Dense(3)])\n\n\n"
        "ALL = [make]\n\n\n"
        "def chosen(number):\n    return ALL[number]()\n"
    )
    assert type(build(tmp_path, text, monkeypatch).model.optimizer).__name__ == "SGD"


@pytest.mark.parametrize("made", ["Own(0.1)", "gone.Own(0.1)"])
def test_an_optimizer_that_cannot_be_made_is_said_to_be(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, made: str
):
    text = """
import tensorflow as tf
from tensorflow import keras
from tensorflow.python.training import training_ops_that_are_gone as gone

class Own:
    def __init__(self, rate):
        self.rate = rate

    def apply_gradients(self, pairs):
        gone.apply(pairs, self.rate)

model = keras.Sequential([keras.Input((4,)), keras.layers.Dense(3)])
optimizer = MADE

def step(x, y):
    with tf.GradientTape() as tape:
        loss = tf.reduce_mean(tf.square(model(x, training=True) - y))
    gradients = tape.gradient(loss, model.trainable_variables)
    optimizer.apply_gradients(zip(gradients, model.trainable_variables))

for x, y in batches:
    step(x, y)
"""
    said = build(tmp_path, text.replace("MADE", made), monkeypatch).assumptions
    assert any(one.startswith("optimizer Adam: the script's own cannot be made") for one in said)


PAIRS = """
import tensorflow as tf
from tensorflow import keras

def network():
    pictures = keras.Input((16, 16, 3))
    return keras.Model(pictures, keras.layers.Conv2D(3, 3, padding="same")(pictures))

class Pairs(keras.Model):
    def __init__(self, maker, judge):
        super().__init__()
        self.maker, self.judge = maker, judge

    def compile(self, maker_optimizer, judge_optimizer):
        super().compile()
        self.maker_optimizer, self.judge_optimizer = maker_optimizer, judge_optimizer

    @tf.function
    def train_step(self, data):
        low, high = data
        with tf.GradientTape(persistent=True) as tape:
            made = self.maker(low, training=True)
            loss = tf.reduce_mean(tf.abs(high - made)) - tf.reduce_mean(self.judge(made))
            judged = tf.reduce_mean(self.judge(made)) - tf.reduce_mean(self.judge(high))
        for model, one, optimizer in (
            (self.maker, loss, self.maker_optimizer), (self.judge, judged, self.judge_optimizer)
        ):
            weights = model.trainable_variables
            optimizer.apply_gradients(zip(tape.gradient(one, weights), weights))
        return {"loss": loss}

def load(path):
    return tf.image.resize(tf.io.decode_png(tf.io.read_file(path), 3), (16, 16))

DATA
model = Pairs(network(), network())
model.compile(keras.optimizers.Adam(), keras.optimizers.Adam())
model.fit(data, epochs=1)
"""
ZIPPED = """
low = tf.data.Dataset.list_files("low/*").map(load)
high = tf.data.Dataset.list_files("high/*").map(load)
data = tf.data.Dataset.zip((low, high)).batch(4)
"""


@pytest.mark.parametrize(
    ("data", "batch", "said"), [(ZIPPED, 4, False), ("from elsewhere import data", 32, True)]
)
def test_a_step_that_takes_its_data_apart_gets_two_parts(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, data: str, batch: int, said: bool
):
    from oomlint.estimate.worker.graph.engine import footprint

    subject = build(tmp_path, PAIRS.replace("DATA", data), monkeypatch)
    assert [part.shape for part in subject.data] == [(batch, 16, 16, 3)] * 2
    assert any(one.startswith("the second part of a batch") for one in subject.assumptions) is said
    assert footprint(subject, "graph").parts["input"] == 2 * batch * 16 * 16 * 3 * 4


NORMALIZED = """
    import keras, tensorflow as tf
    class Scaled(keras.Model):
        def __init__(self):
            super().__init__()
            self.scale = keras.layers.Normalization()
            self.network = keras.Sequential([keras.Input((6,)), keras.layers.Dense(5)])
        def train_step(self, rows):
            rows = self.scale(rows, training=True)
            with tf.GradientTape() as tape:
                loss = tf.reduce_mean(self.network(rows) ** 2)
            gradients = tape.gradient(loss, self.network.trainable_weights)
            self.optimizer.apply_gradients(zip(gradients, self.network.trainable_weights))
            return {"loss": loss}
    data = tf.data.Dataset.from_tensor_slices(tf.zeros((100, 6))).batch(20)
    model = Scaled()
    model.compile(optimizer=keras.optimizers.Adam(), jit_compile=False)
    model.scale.adapt(data)
    model.fit(data)
"""


def test_a_layer_that_learns_from_data_first_is_built_outside_of_the_step(tmp_path, monkeypatch):
    """`adapt` is not run. Built in the step, the layer kept tensors of one trace, and the next one refused them."""
    from oomlint.estimate.worker.graph.engine import footprint

    subject = build(tmp_path, NORMALIZED, monkeypatch)
    assert subject.model.scale.mean.numpy().shape == (1, 6)  # a tensor of a trace has no values
    found = footprint(subject, "graph")
    network = 4 * (6 * 5 + 5)
    # A mean and a variance of each column, and a count (an int64); the mean of the losses is a sum and a count.
    assert found.parts["weights"] == network + 4 * (6 + 6) + 8 + 4 * 2
    assert found.parts["optimizer_state"] == 2 * network + 4 + 8  # a learning rate, and the iterations


TWO_WAYS = """
    import keras, numpy as np
    class Detector(keras.Model):
        def __init__(self):
            super().__init__()
            self.body = keras.layers.Conv2D(8, 3, 2, padding="same")
            self.head = keras.layers.Conv2D(5, 1)
        def call(self, pictures, training=False):
            boxes = self.head(self.body(pictures))
            if training:
                return boxes
            return keras.ops.reshape(boxes, (1, 256, 5))  # decoded, of one picture
    model = Detector()
    model.compile("sgd", "mse", jit_compile=False)
    model.fit(np.zeros((100, 32, 32, 3), "float32"), np.zeros((100, 16, 16, 5), "float32"), batch_size=20)
"""


def test_the_outputs_are_those_of_a_training_step(tmp_path, monkeypatch):
    """Called without `training` the model gives something else, and of 20 pictures nothing at all."""
    subject = build(tmp_path, TWO_WAYS, monkeypatch)
    assert tuple(subject.outputs.shape) == (20, 16, 16, 5)
    assert subject.data[1].shape == (20, 16, 16, 5)


def test_what_is_predicted_is_called_without_training(tmp_path, monkeypatch):
    from oomlint.estimate.worker.step.compiling import built_outputs

    subject = build(tmp_path, TWO_WAYS.replace("(1, 256, 5)", "(-1, 256, 5)"), monkeypatch)
    assert tuple(built_outputs(subject.model, subject.data[0], training=False).shape) == (20, 256, 5)
