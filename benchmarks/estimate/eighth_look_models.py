"""An eighth set, for steps without XLA beside what they take on a CPU: measured and compared once before anything was
mended for it (measure_cpu.py, compare_cpu.py).

Attention, recurrent layers, tables, convolutions of one to three dimensions, steps of their own. Small steps: each runs
on one thread.
"""

import keras
import tensorflow as tf
from keras import layers, ops
from models import Case, Positions, _add
from third_look_models import _bn, _classes, _labelled, _logits, _values


def _fed(x, width):
    y = layers.Dense(width, activation="gelu")(layers.LayerNormalization()(x))
    return x + layers.Dropout(0.1)(layers.Dense(x.shape[-1])(y))


@_add
def letters_by_heads():
    """Letters of customers to kinds: words and places, three blocks of attention with dropped scores."""
    i = keras.Input((96,), dtype="int32")
    x = Positions()(layers.Embedding(4000, 96)(i))
    for _ in range(3):
        y = layers.LayerNormalization()(x)
        x = x + layers.MultiHeadAttention(6, 16, dropout=0.1)(y, y)
        x = _fed(x, 256)
    return _classes(i, layers.GlobalAveragePooling1D()(x), 14)


@_add
def summary_of_frames():
    """A few learned questions are asked of many frames, keys for each two heads; causal attention of what they gave."""
    i = keras.Input((128, 80))
    x = layers.Dense(128)(i)
    questions = layers.Dense(128)(layers.AveragePooling1D(8)(x))
    for _ in range(2):
        y = layers.GroupQueryAttention(16, 8, 4)(layers.LayerNormalization()(questions), x)
        questions = _fed(questions + y, 384)
        y = layers.LayerNormalization(rms_scaling=False)(questions)
        questions = _fed(questions + layers.MultiHeadAttention(4, 32)(y, y, use_causal_mask=True), 384)
    return _values(keras.Model(i, layers.Dense(12, dtype="float32")(questions)), "mae")


@_add
def engine_wear():
    """Sensors of an engine to the rounds that it has left: two gated recurrent layers, the first in both directions."""
    i = keras.Input((50, 24))
    x = layers.Bidirectional(layers.GRU(64, return_sequences=True))(i)
    x = layers.Dropout(0.2)(layers.GRU(48)(x))
    return _values(
        keras.Model(i, layers.Dense(1, dtype="float32")(layers.Dense(32, activation="relu")(x))), "huber"
    )


@_add
def melodies():
    """The next note: a table, two LSTMs, scores for each note at each place."""
    i = keras.Input((48,), dtype="int32")
    x = layers.Embedding(128, 96)(i)
    for _ in range(2):
        x = layers.Dropout(0.3)(layers.LSTM(160, return_sequences=True)(x))
    return _labelled(keras.Model(i, layers.Dense(128, dtype="float32")(x)), (48,), _logits())


@_add
def heart_signal_again():
    """A signal made small by strided convolutions and drawn again by transposed ones."""
    i = x = keras.Input((512, 4))
    for width in (32, 64, 96):
        x = layers.BatchNormalization()(layers.Conv1D(width, 7, 2, "same", activation="relu")(x))
    for width in (64, 32):
        x = layers.BatchNormalization()(layers.Conv1DTranspose(width, 7, 2, "same", activation="relu")(x))
    return _values(keras.Model(i, layers.Conv1DTranspose(4, 7, 2, "same", dtype="float32")(x)))


@_add
def leaves():
    """Leaves by separable convolutions with shortcuts."""
    i = keras.Input((48, 48, 3))
    x = _bn(i, 24, strides=2)
    for width in (48, 96):
        y = layers.BatchNormalization()(layers.SeparableConv2D(width, 3, padding="same")(layers.ReLU()(x)))
        y = layers.BatchNormalization()(layers.SeparableConv2D(width, 3, padding="same")(layers.ReLU()(y)))
        x = layers.MaxPooling2D(3, 2, "same")(y) + layers.Conv2D(width, 1, 2, "same")(x)
    return _classes(i, layers.Dropout(0.3)(layers.GlobalAveragePooling2D()(x)), 32)


@_add
def faces_from_numbers():
    """Pictures from numbers by transposed convolutions of two dimensions."""
    i = keras.Input((100,))
    x = layers.Reshape((6, 6, 128))(layers.Dense(4608, use_bias=False)(i))
    for width in (96, 48, 24):
        x = layers.Conv2DTranspose(width, 4, 2, "same", use_bias=False)(x)
        x = layers.LeakyReLU(negative_slope=0.2)(layers.BatchNormalization()(x))
    return _values(keras.Model(i, layers.Conv2D(3, 3, padding="same", activation="tanh", dtype="float32")(x)))


@_add
def shop_and_shopper():
    """Which ad is taken: tables of several lengths, all products of two of them, perceptrons on both ends."""
    ids, numbers = keras.Input((8,), dtype="int32"), keras.Input((13,))
    bottom = layers.Dense(32, activation="relu")(layers.Dense(128, activation="relu")(numbers))
    rows = [layers.Embedding(3000 * (1 + n % 3), 32)(ids[:, n]) for n in range(8)]
    every = ops.stack([bottom, *rows], axis=1)
    pairs = layers.Reshape((81,))(ops.matmul(every, ops.transpose(every, (0, 2, 1))))
    x = layers.concatenate([bottom, pairs])
    for width in (256, 128):
        x = layers.Dense(width, activation="relu")(x)
    out = layers.Dense(1, activation="sigmoid", dtype="float32")(x)
    return _values(keras.Model([ids, numbers], out), "binary_crossentropy")


@_add
def gated_table():
    """A table's columns through gated linear units, with weights that are kept short; meant for half precision."""
    i = x = keras.Input((200,))
    for _ in range(4):
        y = layers.Dense(1024, kernel_constraint=keras.constraints.MaxNorm(3))(x)
        y = layers.BatchNormalization()(y)
        x = y[:, :512] * ops.sigmoid(y[:, 512:])
    return _classes(i, layers.Dropout(0.2)(x), 30)


@_add
def reviews_averaged():
    """Several tables of hashed words, their means, a perceptron with a penalty on its weights."""
    i = keras.Input((3, 64), dtype="int32")
    parts = [ops.mean(layers.Embedding(5000, 48)(i[:, n]), axis=1) for n in range(3)]
    x = layers.concatenate(parts)
    for _ in range(3):
        x = layers.Dense(512, activation="elu", kernel_regularizer="l2")(x)
    return _classes(i, x, 5)


class Consistent(keras.Model):
    """Two views by dropout and noise: what it says of both shall be alike."""

    def train_step(self, data):
        x, y = data
        with tf.GradientTape() as tape:
            first = self(x + tf.random.normal(tf.shape(x), stddev=0.1), training=True)
            second = self(x, training=True)
            loss = tf.reduce_mean(keras.losses.sparse_categorical_crossentropy(y, first, from_logits=True))
            loss += tf.reduce_mean(tf.square(tf.nn.softmax(first) - tf.nn.softmax(second)))
        gradients = tape.gradient(loss, self.trainable_variables)
        gradients, _ = tf.clip_by_global_norm(gradients, 1.0)
        self.optimizer.apply_gradients(zip(gradients, self.trainable_variables))
        return {"loss": loss}


@_add
def two_views():
    i = x = keras.Input((256,))
    for width in (1024, 512, 512):
        x = layers.Dropout(0.2)(layers.LayerNormalization()(layers.Dense(width, activation="silu")(x)))
    return Case(Consistent(i, layers.Dense(20)(x)), "mse", [((256,), "float32")], ((), "int32"))


class InParts(keras.Model):
    """The batch in four parts, the sum of their gradients applied once."""

    def train_step(self, data):
        x, y = data
        total, loss = [tf.zeros_like(one) for one in self.trainable_variables], 0.0
        for part, labels in zip(tf.split(x, 4), tf.split(y, 4)):
            with tf.GradientTape() as tape:
                said = self(part, training=True)
                one = tf.reduce_mean(keras.losses.sparse_categorical_crossentropy(labels, said)) / 4
            total = [a + b for a, b in zip(total, tape.gradient(one, self.trainable_variables))]
            loss += one
        self.optimizer.apply_gradients(zip(total, self.trainable_variables))
        return {"loss": loss}


@_add
def in_four_parts():
    i = x = keras.Input((32, 32, 3))
    for width in (16, 32, 64):
        x = layers.MaxPooling2D()(layers.Conv2D(width, 3, padding="same", activation="relu")(x))
    x = layers.Dense(256, activation="relu")(layers.Flatten()(x))
    model = InParts(i, layers.Dense(10, activation="softmax")(x))
    return Case(model, "mse", [((32, 32, 3), "float32")], ((), "int32"))


@_add
def small_scans():
    """Small volumes to one of four findings."""
    i = x = keras.Input((16, 24, 24, 1))
    for width in (12, 24):
        x = layers.MaxPooling3D()(layers.Conv3D(width, 3, padding="same", activation="relu")(x))
    x = layers.Dropout(0.3)(layers.Dense(64, activation="relu")(layers.Flatten()(x)))
    return _classes(i, x, 4)


@_add
def roads_from_above():
    """A small U-Net with group normalization, bilinear enlarging and dropped channels."""
    i = keras.Input((64, 64, 3))

    def twice(x, width):
        for _ in range(2):
            x = layers.Conv2D(width, 3, padding="same", use_bias=False)(x)
            x = layers.Activation("relu")(layers.GroupNormalization(4)(x))
        return x

    first = twice(i, 12)
    second = twice(layers.MaxPooling2D()(first), 24)
    x = layers.SpatialDropout2D(0.2)(twice(layers.MaxPooling2D()(second), 48))
    for kept, width in ((second, 24), (first, 12)):
        x = layers.UpSampling2D(interpolation="bilinear")(x)
        x = twice(layers.concatenate([x, kept]), width)
    out = layers.Conv2D(1, 1, activation="sigmoid", dtype="float32")(x)
    return _values(keras.Model(i, out), "binary_crossentropy")


@_add
def river_levels():
    """Levels of a river: dilated convolutions of one dimension, then a recurrent layer with recurrent dropout."""
    i = x = keras.Input((96, 10))
    for rate in (1, 2, 4):
        x = layers.Conv1D(48, 3, padding="causal", dilation_rate=rate, activation="relu")(x)
    x = layers.GRU(64, recurrent_dropout=0.1)(x)
    return _values(keras.Model(i, layers.Dense(7, dtype="float32")(x)), "mse")


@_add
def depthwise_sounds():
    """Short words by depthwise convolutions over time and channels."""
    i = keras.Input((49, 40, 1))
    x = layers.ReLU()(layers.BatchNormalization()(layers.Conv2D(48, (10, 4), 2, "same")(i)))
    for _ in range(3):
        x = layers.ReLU()(layers.BatchNormalization()(layers.DepthwiseConv2D(3, padding="same")(x)))
        x = layers.ReLU()(layers.BatchNormalization()(layers.Conv2D(48, 1)(x)))
    return _classes(i, layers.GlobalAveragePooling2D()(x), 12)
