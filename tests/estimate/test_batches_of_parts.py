"""Batches that have more than a sample: labels for a loss that a step calls, weights of samples, parts built in a step."""

from __future__ import annotations

from pathlib import Path

import pytest
from estimate.scripts import answered, build

pytest.importorskip("tensorflow")

MASKED = """
    import keras, numpy as np, tensorflow as tf
    from elsewhere import words
    compare = keras.losses.SparseCategoricalCrossentropy(reduction=None)
    class Masked(keras.Model):
        def train_step(self, given):
            if len(given) == 3:
                tokens, labels, weights = given
            else:
                tokens, labels = given
                weights = None
            with tf.GradientTape() as tape:
                loss = compare(labels, self(tokens, training=True), sample_weight=weights)
            gradients = tape.gradient(loss, self.trainable_variables)
            self.optimizer.apply_gradients(zip(gradients, self.trainable_variables))
            return {"loss": loss}
    tokens = keras.Input((20,), dtype="int64")
    hidden = keras.layers.Embedding(300, 16)(tokens)
    model = Masked(tokens, keras.layers.Dense(300, activation="softmax")(hidden))
    model.compile(optimizer="adam")
    DATA
"""
THREE = """x = np.zeros((900, 20), dtype="int64")
    model.fit(tf.data.Dataset.from_tensor_slices((x, np.copy(x), np.ones(x.shape, "float32"))).batch(8))"""


def test_a_data_set_of_three_parts_gives_the_step_three(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    subject = build(tmp_path, MASKED.replace("DATA", THREE), monkeypatch)
    assert [(part.shape, part.dtype) for part in subject.data] == [
        ((8, 20), "int64"),
        ((8, 20), "int64"),
        ((8, 20), "float32"),
    ]
    found = answered(tmp_path, MASKED.replace("DATA", THREE), monkeypatch)
    assert not found.instead
    # Tokens, labels and weights, each in multiples of 256 bytes: 1,280 + 1,280 + 640.
    assert found.parts["input"] == 1280 + 1280 + 768


def test_weights_of_samples_that_fit_is_given_come_third(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    text = """
        import keras, numpy as np
        x, y = np.zeros((50, 6)), np.zeros((50, 2))
        model = keras.Sequential([keras.Input((6,)), keras.layers.Dense(2)])
        model.compile("sgd", "mse")
        model.fit(x, y, batch_size=4, sample_weight=np.ones(50))
    """
    subject = build(tmp_path, text, monkeypatch)
    assert [(part.shape, part.dtype) for part in subject.data] == [
        ((4, 6), "float32"),
        ((4, 2), "float32"),
        ((4,), "float32"),
    ]


def test_labels_that_nothing_says_are_classes_where_the_step_compares_classes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    subject = build(tmp_path, MASKED.replace("DATA", "model.fit(words)"), monkeypatch)
    tokens, labels = subject.data
    assert (labels.shape, labels.dtype) == (tokens.shape, "int32")
    assert any("like its output, a class for each" in one for one in subject.assumptions)


def test_layers_that_a_step_builds_are_part_of_what_its_optimizer_keeps(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    text = """
        import keras, numpy as np, tensorflow as tf
        class Cut(keras.layers.Layer):
            def build(self, shape):
                self.project = keras.layers.Dense(7)
            def call(self, x):
                return self.project(x)
        class Filler(keras.Model):
            def __init__(self, cut, tail):
                super().__init__()
                self.cut, self.tail = cut, tail
            def train_step(self, x):
                with tf.GradientTape() as tape:
                    loss = self.compute_loss(y=x, y_pred=self.tail(self.cut(x)))
                held = self.cut.trainable_variables + self.tail.trainable_variables
                self.optimizer.apply_gradients(zip(tape.gradient(loss, held), held))
                return {"loss": loss}
        tail = keras.Sequential([keras.Input((7,)), keras.layers.Dense(5)])
        model = Filler(Cut(), tail)
        model.compile(keras.optimizers.SGD(0.1, momentum=0.9), "mse")
        model.fit(tf.data.Dataset.from_tensor_slices(np.zeros((64, 5), "float32")).batch(16))
    """
    found = answered(tmp_path, text, monkeypatch)
    assert not found.instead
    trained = (5 * 7 + 7) + (7 * 5 + 5)
    assert found.parts["weights"] == 4 * trained + 8  # and the sum and count of Keras' mean of the losses
    # SGD keeps one number for each weight, beside its count of steps (int64) and its rate.
    assert found.parts["optimizer_state"] == 4 * trained + 8 + 4


CAPTIONED = """
    import keras, numpy as np, tensorflow as tf
    captions = {}
    with open("captions.txt") as lines:
        for line in lines:
            name, caption = line.split("\\t")
            if name in captions:
                captions[name].append(caption)
            else:
                captions[name] = [caption]
    words = keras.layers.TextVectorization(max_tokens=200, output_sequence_length=9)
    words.adapt([one for some in captions.values() for one in some])
    class Captioner(keras.Model):
        def __init__(self, tell):
            super().__init__()
            self.tell, self.compare = tell, keras.losses.SparseCategoricalCrossentropy()
        def train_step(self, data):
            pictures, texts = data
            for number in range(5):
                with tf.GradientTape() as tape:
                    loss = self.compare(texts[:, number, :], self.tell(pictures))
                slopes = tape.gradient(loss, self.tell.trainable_variables)
                self.optimizer.apply_gradients(zip(slopes, self.tell.trainable_variables))
            return {"loss": loss}
    def both(name, texts):
        return tf.zeros((6, 6, 3)), words(texts)
    data = tf.data.Dataset.from_tensor_slices((list(captions), list(captions.values()))).map(both).batch(8)
    pictures = keras.Input((6, 6, 3))
    told = keras.layers.Reshape((9, 200))(keras.layers.Dense(1800)(keras.layers.Flatten()(pictures)))
    model = Captioner(keras.Model(pictures, keras.layers.Softmax()(told)))
    model.compile(optimizer="sgd")
    model.fit(data)
"""


def test_a_size_that_neither_data_nor_output_tells_is_a_usual_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    """How many captions a picture has is not known, and is said."""
    subject = build(tmp_path, CAPTIONED, monkeypatch)
    _, texts = subject.data
    assert (texts.shape, texts.dtype) == ((8, 16, 9), "int64")
    assert any("is 8x16x9: data does not tell all of it" in one for one in subject.assumptions)


def test_sizes_of_labels_that_data_does_not_tell_are_the_outputs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    """Boxes of a picture are compared with as many of the network."""
    text = """
        import keras, numpy as np, tensorflow as tf
        class Found(keras.Model):
            def train_step(self, data):
                pictures, boxes = data
                with tf.GradientTape() as tape:
                    loss = tf.reduce_mean((self(pictures)[..., :4] - boxes[..., :4]) ** 2)
                slopes = tape.gradient(loss, self.trainable_variables)
                self.optimizer.apply_gradients(zip(slopes, self.trainable_variables))
                return {"loss": loss}
        pictures = keras.Input((32, 32, 3))
        maps = keras.layers.Conv2D(9 * 84, 3, strides=4, padding="same")(pictures)
        model = Found(pictures, keras.layers.Reshape((576, 84))(maps))
        model.compile(optimizer="sgd")
        def read(record):
            shape = {"boxes": tf.io.VarLenFeature(tf.float32)}
            boxes = tf.reshape(tf.sparse.to_dense(tf.io.parse_single_example(record, shape)["boxes"]), (-1, 5))
            return tf.zeros((32, 32, 3)), boxes
        model.fit(tf.data.TFRecordDataset("boxes").map(read).padded_batch(2))
    """
    subject = build(tmp_path, text, monkeypatch)
    assert [part.shape for part in subject.data] == [(2, 32, 32, 3), (2, 576, 5)]
