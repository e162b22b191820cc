"""A fifteenth set for the rules for XLA, written and hashed before anything of it was compiled: other models of the
usual kinds, in the forms that people train. Named by what each is.

This half has pictures; fifteenth_other_models.py has the rest.
"""

import keras
import tensorflow as tf
from keras import layers, ops, regularizers
from models import Case, _add
from ninth_look_models import _apply, _stepped
from third_look_models import _classes, _labelled, _values


def _leaky(x, width, side=3, step=1, slope=0.1):
    x = layers.Conv2D(width, side, step, "same", use_bias=False)(x)
    return layers.LeakyReLU(negative_slope=slope)(layers.BatchNormalization()(x))


@_add
def mushrooms():
    """Convolutions, norms and leaky units, a pooling after each pair; a mean at the end."""
    inputs = x = keras.Input((96, 96, 3))
    for width in (32, 64, 128, 192):
        x = layers.MaxPooling2D()(_leaky(_leaky(x, width), width))
    x = layers.Dropout(0.4)(layers.GlobalAveragePooling2D()(x))
    return _classes(inputs, x, 9)


@_add
def garbage_by_leaky_units():
    """No norms: leaky units as activations of the convolutions, then of dense layers."""
    model = keras.Sequential([keras.Input((128, 128, 3))])
    for width in (32, 64, 64, 128):
        model.add(layers.Conv2D(width, 3, activation="leaky_relu"))
        model.add(layers.MaxPooling2D())
    model.add(layers.Flatten())
    model.add(layers.Dense(256, activation="leaky_relu"))
    model.add(layers.Dropout(0.5))
    model.add(layers.Dense(6, activation="softmax", dtype="float32"))
    return _labelled(model)


@_add
def road_blocks_with_ways_round():
    """A leaky backbone with blocks of one and three and the ways round them, a grid of boxes as the answer."""
    inputs = x = keras.Input((160, 160, 3))
    x = _leaky(x, 24)
    for width, count in ((48, 1), (96, 2), (192, 2), (384, 1)):
        x = _leaky(x, width, 3, 2)
        for _ in range(count):
            x = layers.Add()([x, _leaky(_leaky(x, width // 2, 1), width)])
    out = layers.Conv2D(3 * 25, 1, dtype="float32")(_leaky(x, 256))
    return _values(keras.Model(inputs, out))


@_add
def rice_kinds():
    """An application of ImageNet, frozen, and a head that is trained."""
    base = keras.applications.MobileNetV2(include_top=False, weights=None, input_shape=(128, 128, 3))
    base.trainable = False
    inputs = keras.Input((128, 128, 3))
    x = base(layers.Rescaling(1 / 127.5, offset=-1)(inputs), training=False)
    x = layers.GlobalAveragePooling2D()(x)
    return _classes(inputs, layers.Dropout(0.2)(layers.Dense(128, activation="relu")(x)), 5)


@_add
def eyes_graded():
    """Residual blocks with decay and a norm in front of each unit; an answer on a scale, weights of samples."""
    inputs = keras.Input((96, 96, 3))
    options = {"padding": "same", "use_bias": False, "kernel_regularizer": regularizers.l2(1e-4)}
    x = layers.Conv2D(32, 5, 2, **options)(inputs)
    for width, step in ((32, 1), (64, 2), (128, 2), (256, 2)):
        for one in (step, 1):
            y = layers.ReLU()(layers.BatchNormalization()(x))
            short = layers.Conv2D(width, 1, one, **options)(y) if one > 1 or x.shape[-1] != width else x
            y = layers.Conv2D(width, 3, one, **options)(y)
            y = layers.ReLU()(layers.BatchNormalization()(y))
            x = layers.Add()([short, layers.Conv2D(width, 3, **options)(y)])
    x = layers.GlobalAveragePooling2D()(layers.ReLU()(layers.BatchNormalization()(x)))
    out = layers.Dense(1, dtype="float32")(x)
    return Case(
        keras.Model(inputs, out),
        "huber",
        [((96, 96, 3), "float32")],
        ((1,), "float32"),
        weight=((), "float32"),
    )


def _dice(y_true, y_pred):
    both = ops.sum(y_true * y_pred, axis=(1, 2, 3))
    return 1 - ops.mean(
        (2 * both + 1) / (ops.sum(y_true, axis=(1, 2, 3)) + ops.sum(y_pred, axis=(1, 2, 3)) + 1)
    )


@_add
def ships_outlined():
    """A small U of leaky units, enlarged by transposed convolutions; cross-entropy and Dice."""
    inputs = x = keras.Input((128, 128, 3))
    kept = []
    for width in (16, 32, 64, 128):
        x = layers.LeakyReLU(negative_slope=0.2)(layers.Conv2D(width, 3, padding="same")(x))
        x = layers.LeakyReLU(negative_slope=0.2)(layers.Conv2D(width, 3, padding="same")(x))
        kept.append(x)
        x = layers.Dropout(0.1)(layers.MaxPooling2D()(x))
    x = layers.Conv2D(256, 3, padding="same", activation="relu")(x)
    for width, short in zip((128, 64, 32, 16), kept[::-1]):
        x = layers.Concatenate()([layers.Conv2DTranspose(width, 2, 2, "same")(x), short])
        x = layers.LeakyReLU(negative_slope=0.2)(layers.Conv2D(width, 3, padding="same")(x))
    out = layers.Conv2D(1, 1, activation="sigmoid", dtype="float32")(x)

    def loss(y_true, y_pred):
        return ops.mean(keras.losses.binary_crossentropy(y_true, y_pred)) + _dice(y_true, y_pred)

    return _values(keras.Model(inputs, out), loss)


@_add
def moles_outlined():
    """A U with norms, enlarged by repeating."""
    inputs = x = keras.Input((192, 192, 3))
    kept = []

    def pair(x, width):
        for _ in range(2):
            x = layers.Conv2D(width, 3, padding="same", use_bias=False)(x)
            x = layers.ReLU()(layers.BatchNormalization()(x))
        return x

    for width in (32, 64, 128):
        x = pair(x, width)
        kept.append(x)
        x = layers.MaxPooling2D()(x)
    x = pair(x, 256)
    for width, short in zip((128, 64, 32), kept[::-1]):
        x = pair(layers.Concatenate()([layers.UpSampling2D()(x), short]), width)
    out = layers.Conv2D(1, 1, activation="sigmoid", dtype="float32")(x)
    return _values(keras.Model(inputs, out), "binary_crossentropy")


@_add
def bottles_rebuilt():
    """Steps of two with leaky units down to a code, transposed convolutions back up."""
    inputs = x = keras.Input((128, 128, 3))
    for width in (32, 64, 128, 256):
        x = layers.LeakyReLU(negative_slope=0.2)(layers.Conv2D(width, 4, 2, "same")(x))
    x = layers.Dense(100)(layers.Flatten()(x))
    x = layers.Reshape((8, 8, 64))(layers.Dense(8 * 8 * 64)(x))
    for width in (128, 64, 32):
        x = layers.LeakyReLU(negative_slope=0.2)(layers.Conv2DTranspose(width, 4, 2, "same")(x))
    out = layers.Conv2DTranspose(3, 4, 2, "same", activation="sigmoid", dtype="float32")(x)
    return _values(keras.Model(inputs, out), "mae")


class Drawn(keras.Model):
    """A variational autoencoder with a step of its own."""

    def __init__(self):
        super().__init__()
        self.down = keras.Sequential(
            [
                layers.Conv2D(32, 3, 2, "same", activation="relu"),
                layers.Conv2D(64, 3, 2, "same", activation="relu"),
                layers.Flatten(),
                layers.Dense(64, activation="relu"),
            ]
        )
        self.mean, self.log = layers.Dense(8), layers.Dense(8)
        self.up = keras.Sequential(
            [
                layers.Dense(16 * 16 * 64, activation="relu"),
                layers.Reshape((16, 16, 64)),
                layers.Conv2DTranspose(64, 3, 2, "same", activation="relu"),
                layers.Conv2DTranspose(32, 3, 2, "same", activation="relu"),
                layers.Conv2D(3, 3, padding="same", activation="sigmoid"),
            ]
        )

    def call(self, x):
        h = self.down(x)
        mean, log = self.mean(h), self.log(h)
        return self.up(mean + tf.exp(0.5 * log) * tf.random.normal(tf.shape(mean))), mean, log

    def train_step(self, data):
        x = data[0] if isinstance(data, tuple) else data
        with tf.GradientTape() as tape:
            near, mean, log = self(x, training=True)
            rebuilt = tf.reduce_mean(tf.reduce_sum(keras.losses.binary_crossentropy(x, near), axis=(1, 2)))
            spread = tf.reduce_mean(tf.reduce_sum(-0.5 * (1 + log - tf.square(mean) - tf.exp(log)), axis=1))
            loss = rebuilt + spread
        return _apply(self, tape, loss)


@_add
def shoes_drawn():
    model = Drawn()
    model(keras.Input((64, 64, 3)))
    return _stepped(model, ((64, 64, 3), "float32"))


@_add
def butterflies_of_noise():
    """A U that takes noise out: how much is told as sines, groups are normalized, attention at the bottom."""
    noisy, level = keras.Input((32, 32, 3)), keras.Input((1,))
    rate = ops.exp(-ops.arange(16, dtype="float32") * 0.5)
    told = layers.Lambda(lambda t: ops.concatenate([ops.sin(t * rate), ops.cos(t * rate)], axis=-1))(level)
    told = layers.Dense(128, activation="silu")(told)

    def block(x, width):
        short = x if x.shape[-1] == width else layers.Conv2D(width, 1)(x)
        x = layers.Conv2D(width, 3, padding="same")(
            layers.Activation("silu")(layers.GroupNormalization(8)(x))
        )
        x = layers.Add()([x, layers.Reshape((1, 1, width))(layers.Dense(width)(told))])
        x = layers.Conv2D(width, 3, padding="same")(
            layers.Activation("silu")(layers.GroupNormalization(8)(x))
        )
        return layers.Add()([x, short])

    x = layers.Conv2D(32, 3, padding="same")(noisy)
    kept = []
    for width in (32, 64):
        x = block(block(x, width), width)
        kept.append(x)
        x = layers.Conv2D(width, 3, 2, "same")(x)
    x = block(x, 96)
    flat = layers.Reshape((64, 96))(layers.GroupNormalization(8)(x))
    x = layers.Add()([x, layers.Reshape((8, 8, 96))(layers.MultiHeadAttention(3, 32)(flat, flat))])
    x = block(x, 96)
    for width, short in zip((64, 32), kept[::-1]):
        x = layers.Conv2D(width, 3, padding="same")(layers.UpSampling2D()(x))
        x = block(layers.Concatenate()([x, short]), width)
    out = layers.Conv2D(3, 3, padding="same", dtype="float32")(
        layers.Activation("silu")(layers.GroupNormalization(8)(x))
    )
    return _values(keras.Model([noisy, level], out))


@_add
def drivers_watched():
    """Each frame through a small network, a recurrent layer over the frames."""
    frames = keras.Input((10, 64, 64, 3))
    one = keras.Sequential([keras.Input((64, 64, 3))])
    for width in (16, 32, 64):
        one.add(layers.Conv2D(width, 3, padding="same", activation="relu"))
        one.add(layers.MaxPooling2D())
    one.add(layers.Flatten())
    one.add(layers.Dense(128, activation="relu"))
    x = layers.LSTM(64)(layers.TimeDistributed(one)(frames))
    return _classes(frames, layers.Dropout(0.3)(x), 10)


@_add
def hands_by_heat():
    """Two rounds of narrowing and widening, each with an answer of heat for every joint."""
    inputs = keras.Input((128, 128, 3))
    x = layers.MaxPooling2D()(_leaky(inputs, 48, 7, 2))
    answers = []
    for _ in range(2):
        short = _leaky(x, 96)
        half = _leaky(layers.MaxPooling2D()(short), 96)
        quarter = _leaky(_leaky(layers.MaxPooling2D()(half), 96), 96)
        half = layers.Add()([half, layers.UpSampling2D()(quarter)])
        x = _leaky(layers.Add()([short, layers.UpSampling2D()(_leaky(half, 96))]), 96)
        answers.append(layers.Conv2D(21, 1, dtype="float32")(x))
        x = layers.Add()([x, layers.Conv2D(96, 1)(answers[-1])])
    shape = ((32, 32, 21), "float32")
    return Case(keras.Model(inputs, answers), ["mse", "mse"], [((128, 128, 3), "float32")], [shape, shape])


@_add
def tiles_of_pictures():
    """Tokens of squares with places, four blocks with the norm in front, the mean of the tokens."""
    inputs = keras.Input((72, 72, 3))
    x = layers.Reshape((144, 96))(layers.Conv2D(96, 6, 6)(inputs))
    x = layers.Add()([x, layers.Embedding(144, 96)(ops.arange(144)[None])])
    for _ in range(4):
        y = layers.LayerNormalization(epsilon=1e-6)(x)
        x = layers.Add()([x, layers.MultiHeadAttention(4, 24, dropout=0.1)(y, y)])
        y = layers.Dense(192, activation="gelu")(layers.LayerNormalization(epsilon=1e-6)(x))
        x = layers.Add()([x, layers.Dropout(0.1)(layers.Dense(96)(layers.Dropout(0.1)(y)))])
    x = layers.GlobalAveragePooling1D()(layers.LayerNormalization(epsilon=1e-6)(x))
    return _classes(inputs, x, 100)
