"""Shapes of public scripts that gave no estimate, or said something wrong of it; each in words of its own."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest
from estimate.scripts import answered, build

from oomlint.estimate.errors import EstimateError
from oomlint.estimate.worker.tries.last_resort import _of_texts
from oomlint.estimate.worker.values.sizes import usual_size


def test_keras_core_is_keras_3(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    text = """
        import keras_core as keras
        import keras_core.backend as K
        from keras_core import layers, ops
        from keras_core.optimizers import AdamW

        x = keras.Input((6, 4))
        model = keras.Model(x, layers.Dense(5)(ops.mean(x, axis=1)))
        model.compile(AdamW(), keras.losses.SparseCategoricalCrossentropy(from_logits=True))
        model.fit(data, labels, batch_size=16)
    """
    subject = build(tmp_path, text, monkeypatch)
    assert tuple(subject.outputs.shape) == (16, 5)
    assert type(subject.model.optimizer).__name__ == "AdamW"
    assert "keras_core is taken as Keras 3, which it became" in subject.assumptions
    assert not [
        name for name in sys.modules if name.startswith("keras_core")
    ]  # the next script may have its own


_FUNCTIONAL = """
    import tensorflow as tf
    from tensorflow import keras

    x = keras.Input((6,))
    net = keras.Model(x, keras.layers.Dense(3)(tf.concat([tf.sin(2.0 * x), tf.cos(x)], axis=1)))

    class Averaged(keras.Model):
        def __init__(self, net):
            super().__init__()
            self.net = net
            self.slow = keras.models.clone_model(net)

        def train_step(self, samples):
            with tf.GradientTape() as tape:
                loss = tf.reduce_mean(self.net(samples, training=True) ** 2)
            gradients = tape.gradient(loss, self.net.trainable_weights)
            self.optimizer.apply_gradients(zip(gradients, self.net.trainable_weights))
            for weight, slow in zip(self.net.weights, self.slow.weights):
                slow.assign(0.9 * slow + 0.1 * weight)
            return {"loss": loss}

    model = Averaged(net)
    model.compile("adam")
    model.fit(tf.data.Dataset.from_tensor_slices(tf.zeros((320, 6))).batch(32))
"""


def test_a_model_with_operations_of_tensorflow_is_cloned(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    subject = build(tmp_path, _FUNCTIONAL, monkeypatch)
    assert subject.model.slow.count_params() == subject.model.net.count_params() == 12 * 3 + 3
    assert subject.model.slow is not subject.model.net


_LOOP = """
    import tensorflow as tf
    from tensorflow.keras import layers

    class Normalized(layers.BatchNormalization):
        def call(self, x, training=False):
            if not training:
                training = tf.constant(False)
            training = tf.logical_and(training, self.trainable)
            return super().call(x, training)

    x = layers.Input((32, 32, 3))
    y = tf.nn.relu(KIND()(layers.Conv2D(16, 3)(x)))
    model = tf.keras.Model(x, KIND()(layers.Conv2D(16, 3)(y)))
    optimizer = tf.keras.optimizers.Adam(OPTION=1e-3)

    DECORATED
    def step(images):
        with tf.GradientTape() as tape:
            loss = tf.reduce_mean(model(images, training=True) ** 2)
        gradients = tape.gradient(loss, model.trainable_variables)
        optimizer.apply_gradients(zip(gradients, model.trainable_variables))

    for images in tf.data.Dataset.from_tensor_slices(tf.zeros((320, 32, 32, 3))).batch(32):
        step(images)
"""


def _loop(kind: str, option: str = "learning_rate", decorated: str = "@tf.function") -> str:
    return _LOOP.replace("KIND", kind).replace("OPTION", option).replace("DECORATED", decorated)


def test_a_layer_is_told_by_a_tensor_that_it_trains(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    told = answered(tmp_path, _loop("Normalized"), monkeypatch)
    plain = answered(tmp_path, _loop("layers.BatchNormalization"), monkeypatch)
    assert not told.instead
    assert told.peak_bytes == plain.peak_bytes


@pytest.mark.parametrize(("decorated", "program"), [("@tf.function", "graph"), ("", "eager")])
@pytest.mark.parametrize("option", ["lr", "learning_rate"])
def test_the_loop_says_how_a_step_runs_whatever_keras_it_is_of(
    option: str, decorated: str, program: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    found = answered(tmp_path, _loop("layers.BatchNormalization", option, decorated), monkeypatch)
    assert found.program == program


def test_what_an_object_begins_with_is_read_from_a_file_that_is_not_there(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    text = """
        import json
        import tensorflow as tf
        from tensorflow import keras

        def words_of(path):
            with open(path) as file:
                return json.load(file)

        class Captioner:
            def __init__(self, path):
                self.words = words_of(path)
                self.net = keras.Sequential([keras.Input((8,)), keras.layers.Dense(SIZE)])
                self.optimizer = keras.optimizers.Adam()

            def train_step(self, samples):
                with tf.GradientTape() as tape:
                    loss = tf.reduce_mean(self.net(samples, training=True) ** 2)
                gradients = tape.gradient(loss, self.net.trainable_variables)
                self.optimizer.apply_gradients(zip(gradients, self.net.trainable_variables))

        captioner = Captioner("words.json")
        for samples in tf.data.Dataset.from_tensor_slices(tf.zeros((320, 8))).batch(32):
            captioner.train_step(samples)
    """
    subject = build(tmp_path, text.replace("SIZE", "4"), monkeypatch)
    assert subject.model.count_params() == 8 * 4 + 4
    with pytest.raises(EstimateError) as caught:
        build(tmp_path, text.replace("SIZE", "len(self.words)"), monkeypatch)
    assert "words" in caught.value.asked


def test_a_step_in_a_bar_of_a_library_that_is_not_there(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    text = """
        from tqdm import tqdm, trange
        from tensorflow import keras

        width = sum(one for one in tqdm([3, 4], desc="layers"))
        model = keras.Sequential([keras.Input((4,)), keras.layers.Dense(width)])
        for _ in trange(2):
            model.add(keras.layers.Dense(5))
        model.compile("adam", "mse")
        model.fit(samples, labels, batch_size=8)
    """
    subject = build(tmp_path, text, monkeypatch)
    assert subject.model.count_params() == (4 * 7 + 7) + (7 * 5 + 5) + (5 * 5 + 5)


@pytest.mark.parametrize("name", ["ndims", "rank"])
def test_how_many_sizes_a_shape_has(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    text = f"""
        import tensorflow as tf
        from tensorflow.keras import Input, Model, backend as K
        from tensorflow.keras.layers import Dense, Lambda

        x = Input((5, 4))
        order = [0] + list(range(2, x.shape.{name})) + [1]
        y = Lambda(lambda one: tf.transpose(one, order))(x)
        z = Lambda(lambda one: tf.reduce_sum(one, axis=one.shape.{name} - 1))(y)
        model = Model(x, Dense(3)(z))
        model.compile("adam", "mse")
        model.fit(samples, labels, batch_size=8)
    """
    subject = build(tmp_path, text, monkeypatch)
    assert subject.model.count_params() == 4 * 3 + 3


def test_settings_of_a_class_that_is_not_there(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    text = """
        from absent_library_of_settings import Settings as Base
        from tensorflow import keras

        class Settings(Base):
            def __init__(self, path):
                super().__init__(path)

        settings = Settings("net.yaml")
        model = keras.Sequential([keras.Input((4,)), keras.layers.Dense(settings["units"])])
        model.compile("adam", "mse")
        model.fit(samples, labels, batch_size=8)
    """
    with pytest.raises(EstimateError) as caught:
        build(tmp_path, text, monkeypatch)
    assert caught.value.asked == "units"


def test_the_batch_that_a_project_names():
    assert _of_texts("data = data.shuffle(9).batch(batch_num)", {"batch_num": 4})["batch"] == "4"
    assert _of_texts("data.batch(FLAGS.batch_num, True)", {"batch_num": 4})["batch"] == "4"
    assert "batch" not in _of_texts("data.batch(batch_num)", {})
    # One picture at a time is read there; the training has another batch.
    read = "pictures.to_tf_dataset(batch_size=1, columns='image').batch(self.batch_size)"
    assert _of_texts(read, {"batch_size": 64})["batch"] == "64"
    assert _of_texts("net.fit(x, y, batch_size=16)", {"batch_size": 64})["batch"] == "16"


def test_usual_sizes_of_sound_and_of_words():
    assert usual_size("max_sample_rate") == usual_size("sampling_rate") == 16_000
    assert usual_size("en_vsize") == usual_size("v_size") == 10_000
    assert usual_size("dropout_rate") == 0.1


def test_what_a_table_has_a_row_for_is_many():
    """Of a recommender's two tables one had 10,000 rows and the other 10."""
    assert usual_size("num_users") == usual_size("num_movies") == usual_size("n_products") == 10_000
    assert usual_size("num_classes") != 10_000
    assert usual_size("conv_size") != 10_000
