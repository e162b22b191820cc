"""A sixteenth set for the rules for XLA, written and hashed before anything of it was compiled: forms of layers and of
steps that no earlier set has. Named by what each is.

This half has pictures and volumes; sixteenth_other_models.py has the rest.
"""

import math

import keras
import numpy as np
import tensorflow as tf
from keras import layers, ops
from models import Case, Positions, _add
from ninth_look_models import _apply, _stepped
from third_look_models import _classes, _labelled, _values


class Cosines(layers.Layer):
    """Each channel through a fixed bank of cosines, mixed by one learned product."""

    def __init__(self, width, side=3, step=1):
        super().__init__()
        self.side, self.step = side, step
        self.mix = layers.Conv2D(width, 1, use_bias=False)

    def build(self, shape):
        at = np.arange(self.side)
        rows = [np.cos(math.pi * k * (at + 0.5) / self.side) for k in range(self.side)]
        bank = np.stack([np.outer(a, b) for a in rows for b in rows], -1).astype("float32")
        self.bank = np.repeat(bank[:, :, None, :], shape[-1], axis=2)
        self.mix.build((*shape[:3], shape[-1] * self.side**2))

    def call(self, x):
        bank = ops.cast(self.bank, x.dtype)
        return self.mix(ops.depthwise_conv(x, bank, (self.step, self.step), "same"))

    def compute_output_shape(self, shape):
        return (shape[0], -(-shape[1] // self.step), -(-shape[2] // self.step), self.mix.filters)


@_add
def pictures_by_cosines():
    inputs = x = keras.Input((64, 64, 3))
    for width, step in ((32, 1), (48, 2), (64, 1), (96, 2), (128, 1)):
        x = layers.Activation("silu")(layers.BatchNormalization()(Cosines(width, step=step)(x)))
    return _classes(inputs, layers.GlobalAveragePooling2D()(layers.Dropout(0.2)(x)), 100)


class CutSpectrum(layers.Layer):
    """Pools by leaving out the high frequencies."""

    def __init__(self, side):
        super().__init__()
        self.side = side

    def call(self, x):
        there = tf.signal.fft2d(tf.cast(tf.transpose(x, (0, 3, 1, 2)), tf.complex64))
        there = tf.signal.fftshift(there, axes=(2, 3))
        first = (x.shape[1] - self.side) // 2
        there = there[:, :, first : first + self.side, first : first + self.side]
        back = tf.math.real(tf.signal.ifft2d(tf.signal.ifftshift(there, axes=(2, 3))))
        return tf.transpose(back, (0, 2, 3, 1))

    def compute_output_shape(self, shape):
        return (shape[0], self.side, self.side, shape[-1])


@_add
def high_frequencies_left_out():
    inputs = x = keras.Input((64, 64, 3))
    for width, side in ((48, 40), (96, 24), (128, 12)):
        x = layers.Conv2D(width, 3, padding="same", activation="relu")(x)
        x = CutSpectrum(side)(layers.BatchNormalization()(x))
    return _classes(inputs, layers.Dense(256, activation="relu")(layers.Flatten()(x)), 10)


@_add
def fine_and_half_channels():
    """Part of the channels lives at half the size; each block passes between the two."""
    inputs = keras.Input((96, 96, 3))
    fine = layers.Conv2D(32, 3, padding="same", activation="relu")(inputs)
    half = layers.Conv2D(32, 3, padding="same", activation="relu")(layers.AveragePooling2D(2)(inputs))
    for width, step in ((32, 1), (64, 2), (128, 2)):
        if step == 2:
            fine, half = layers.AveragePooling2D(2)(fine), layers.AveragePooling2D(2)(half)
        up = layers.UpSampling2D()(layers.Conv2D(width, 3, padding="same", use_bias=False)(half))
        down = layers.Conv2D(width, 3, padding="same", use_bias=False)(layers.AveragePooling2D(2)(fine))
        fine = layers.Add()([layers.Conv2D(width, 3, padding="same", use_bias=False)(fine), up])
        half = layers.Add()([layers.Conv2D(width, 3, padding="same", use_bias=False)(half), down])
        fine = layers.ReLU()(layers.BatchNormalization()(fine))
        half = layers.ReLU()(layers.BatchNormalization()(half))
    x = layers.Concatenate()([layers.GlobalAveragePooling2D()(fine), layers.GlobalMaxPooling2D()(half)])
    return _classes(inputs, x, 50)


class Moved(layers.Layer):
    """Groups of channels moved one place each to a side, zeros behind them."""

    def call(self, x):
        left, right, up, down, rest = tf.split(x, 5, axis=-1)
        pad = lambda t, h, w: tf.pad(t, ((0, 0), h, w, (0, 0)))  # noqa: E731
        left = pad(left[:, :, 1:], (0, 0), (0, 1))
        right = pad(right[:, :, :-1], (0, 0), (1, 0))
        up = pad(up[:, 1:], (0, 1), (0, 0))
        down = pad(down[:, :-1], (1, 0), (0, 0))
        return tf.concat([left, right, up, down, rest], axis=-1)


@_add
def moved_then_mixed():
    inputs = x = keras.Input((64, 64, 3))
    x = layers.Conv2D(80, 4, 4)(x)
    for _ in range(4):
        y = layers.LayerNormalization(epsilon=1e-6)(x)
        y = layers.Dense(80)(Moved()(layers.Dense(80)(y)))
        x = layers.Add()([x, y])
        y = layers.Dense(320, activation="gelu")(layers.LayerNormalization(epsilon=1e-6)(x))
        x = layers.Add()([x, layers.Dense(80)(Moved()(layers.Dropout(0.1)(y)))])
    return _classes(inputs, layers.GlobalAveragePooling2D()(layers.LayerNormalization()(x)), 100)


class WeightNormed(layers.Layer):
    """A convolution whose kernels are directions times lengths."""

    def __init__(self, width, side):
        super().__init__()
        self.width, self.side = width, side

    def build(self, shape):
        side = (self.side, self.side, shape[-1], self.width)
        self.v = self.add_weight(shape=side, initializer="glorot_uniform", name="v")
        self.g = self.add_weight(shape=(self.width,), initializer="ones", name="g")
        self.b = self.add_weight(shape=(self.width,), initializer="zeros", name="b")

    def call(self, x):
        kernel = self.g * tf.nn.l2_normalize(self.v, axis=(0, 1, 2))
        return tf.nn.conv2d(x, tf.cast(kernel, x.dtype), 1, "SAME") + tf.cast(self.b, x.dtype)

    def compute_output_shape(self, shape):
        return (*shape[:3], self.width)


@_add
def sharper_by_wide_units():
    """Wide in front of the unit, narrow after it; places out of channels; the root of squares as loss."""
    inputs = keras.Input((48, 48, 3))
    x = WeightNormed(24, 3)(inputs)
    for _ in range(6):
        y = WeightNormed(24, 3)(layers.ReLU()(WeightNormed(96, 3)(x)))
        x = layers.Add()([x, layers.Rescaling(0.3)(y)])
    places = layers.Lambda(lambda t: tf.nn.depth_to_space(t, 3), output_shape=(144, 144, 3))
    out = layers.Add()([places(WeightNormed(27, 3)(x)), places(WeightNormed(27, 5)(inputs))])
    out = layers.Activation("linear", dtype="float32")(out)
    return _values(keras.Model(inputs, out), lambda t, p: ops.mean(ops.sqrt(ops.square(t - p) + 1e-6)))


class Styled(keras.Model):
    """Statistics of one picture's features laid over another's; what was read of the result is compared."""

    def __init__(self):
        super().__init__()
        self.reads = [
            layers.Conv2D(w, 3, s, "same", activation="relu") for w, s in ((32, 1), (64, 2), (128, 2))
        ]
        for one in self.reads:
            one.trainable = False
        self.writes = keras.Sequential(
            [
                layers.Conv2D(64, 3, padding="same", activation="relu"),
                layers.UpSampling2D(),
                layers.Conv2D(32, 3, padding="same", activation="relu"),
                layers.UpSampling2D(),
                layers.Conv2D(3, 3, padding="same"),
            ]
        )

    def read(self, x):
        found = []
        for one in self.reads:
            x = one(x)
            found.append(x)
        return found

    def laid(self, content, style):
        m, v = tf.nn.moments(content, (1, 2), keepdims=True)
        n, w = tf.nn.moments(style, (1, 2), keepdims=True)
        return (content - m) * tf.math.rsqrt(v + 1e-5) * tf.sqrt(w + 1e-5) + n

    def call(self, pair):
        return self.writes(self.laid(self.read(pair[0])[-1], self.read(pair[1])[-1]))

    def train_step(self, data):
        content, style = data[0] if isinstance(data[0], (list, tuple)) else data
        styles = self.read(style)
        aim = self.laid(self.read(content)[-1], styles[-1])
        with tf.GradientTape() as tape:
            found = self.read(self.writes(aim))
            loss = tf.reduce_mean(tf.square(found[-1] - aim))
            for one, other in zip(found, styles):
                (m, v), (n, w) = tf.nn.moments(one, (1, 2)), tf.nn.moments(other, (1, 2))
                far = tf.reduce_mean(tf.square(m - n)) + tf.reduce_mean(
                    tf.square(tf.sqrt(v + 1e-5) - tf.sqrt(w + 1e-5))
                )
                loss += 3.0 * far
        return _apply(self, tape, loss)


@_add
def laid_over_by_statistics():
    model = Styled()
    model([keras.Input((96, 96, 3)), keras.Input((96, 96, 3))])
    return _stepped(model, ((96, 96, 3), "float32"), ((96, 96, 3), "float32"))


class AlongOne(layers.Layer):
    """Attention along the rows or along the columns, distances added to the products."""

    def __init__(self, heads, along, **options):
        super().__init__(**options)
        self.heads, self.along = heads, along

    def build(self, shape):
        self.width, self.length = shape[-1], shape[self.along]
        self.qkv = layers.Dense(3 * self.width, use_bias=False)
        self.qkv.build(shape)
        self.near = self.add_weight(
            shape=(self.heads, self.length, self.length), initializer="normal", name="near"
        )

    def call(self, x):
        if self.along == 1:
            x = ops.transpose(x, (0, 2, 1, 3))
        h, w, c = x.shape[1:]
        q, k, v = ops.split(ops.reshape(self.qkv(x), (-1, h, w, 3 * self.heads, c // self.heads)), 3, axis=3)
        products = ops.einsum("bhqnd,bhknd->bhnqk", q, k) * (c // self.heads) ** -0.5
        weights = ops.softmax(products + ops.cast(self.near, products.dtype))
        x = ops.reshape(ops.einsum("bhnqk,bhknd->bhqnd", weights, v), (-1, h, w, c))
        return ops.transpose(x, (0, 2, 1, 3)) if self.along == 1 else x

    def compute_output_shape(self, shape):
        return shape


@_add
def rows_then_columns():
    inputs = keras.Input((80, 80, 3))
    x = layers.ReLU()(layers.BatchNormalization()(layers.Conv2D(64, 7, 2, "same", use_bias=False)(inputs)))
    for width, step in ((64, 1), (128, 2)):
        for one in (step, 1):
            y = layers.ReLU()(layers.BatchNormalization()(layers.Conv2D(width, 1, use_bias=False)(x)))
            y = AlongOne(4, 2)(AlongOne(4, 1)(y))
            if one == 2:
                y, x = layers.AveragePooling2D(2)(y), layers.AveragePooling2D(2)(x)
            y = layers.BatchNormalization()(layers.Conv2D(2 * width, 1, use_bias=False)(layers.ReLU()(y)))
            if x.shape[-1] != 2 * width:
                x = layers.Conv2D(2 * width, 1, use_bias=False)(x)
            x = layers.ReLU()(layers.Add()([x, y]))
    return _classes(inputs, layers.GlobalAveragePooling2D()(x), 100)


@_add
def space_and_time_apart():
    """Films: a convolution over the places, one over the frames; groups normalized."""
    inputs = x = keras.Input((12, 56, 56, 3))
    for width, step in ((24, 1), (48, 2), (96, 2)):
        short = layers.Conv3D(width, 1, (1, step, step))(x)
        middle = (3 * 3 * 3 * width * width) // (9 * width + 3 * width)
        x = layers.Conv3D(middle, (1, 3, 3), (1, step, step), "same", use_bias=False)(x)
        x = layers.Activation("relu")(layers.GroupNormalization(4 if middle % 4 == 0 else 1)(x))
        x = layers.Conv3D(width, (3, 1, 1), padding="same", use_bias=False)(x)
        x = layers.ReLU()(layers.Add()([short, layers.GroupNormalization(8)(x)]))
    return _classes(inputs, layers.Dropout(0.5)(layers.GlobalAveragePooling3D()(x)), 51)


class Shapes(keras.Model):
    """A variational autoencoder of volumes with a step of its own."""

    def __init__(self):
        super().__init__()
        self.down = keras.Sequential([layers.Conv3D(w, 4, 2, "same", activation="elu") for w in (16, 32, 64)])
        self.numbers = layers.Dense(2 * 64)
        self.spread = layers.Dense(4 * 4 * 4 * 64, activation="elu")
        self.up = keras.Sequential(
            [layers.Conv3DTranspose(w, 4, 2, "same", activation="elu") for w in (64, 32)]
            + [layers.Conv3DTranspose(1, 4, 2, "same")]
        )

    def call(self, x):
        flat = tf.reshape(self.down(x), (-1, 4 * 4 * 4 * 64))
        mean, log = tf.split(self.numbers(flat), 2, axis=-1)
        code = mean + tf.exp(0.5 * log) * tf.random.normal(tf.shape(mean))
        return self.up(tf.reshape(self.spread(code), (-1, 4, 4, 4, 64))), mean, log

    def train_step(self, data):
        x = data[0] if isinstance(data, tuple) else data
        with tf.GradientTape() as tape:
            found, mean, log = self(x, training=True)
            there = tf.nn.weighted_cross_entropy_with_logits(x, found, 2.0)
            loss = tf.reduce_mean(tf.reduce_sum(there, axis=(1, 2, 3, 4)))
            loss += tf.reduce_mean(tf.reduce_sum(-0.5 * (1 + log - mean**2 - tf.exp(log)), axis=1))
        return _apply(self, tape, loss)


@_add
def shapes_out_of_cubes():
    model = Shapes()
    model(keras.Input((32, 32, 32, 1)))
    return _stepped(model, ((32, 32, 32, 1), "float32"))


class GatedStack(layers.Layer):
    """What is above and what is left, each through kernels cut off, tanh times sigmoid."""

    def __init__(self, width, first=False):
        super().__init__()
        self.width = width
        self.above = layers.Conv2D(2 * width, (2, 3))
        self.left = layers.Conv2D(2 * width, (1, 2 if not first else 1))
        self.over, self.out = layers.Conv2D(2 * width, 1), layers.Conv2D(width, 1)

    def build(self, shape):
        b, h, w, c = shape[0]
        self.above.build((b, h + 1, w + 2, c))
        self.left.build((b, h, w + 1, c))
        self.over.build((b, h, w, 2 * self.width))
        self.out.build((b, h, w, self.width))

    def call(self, pair):
        v, h = pair
        v = self.above(ops.pad(v, ((0, 0), (1, 0), (1, 1), (0, 0))))
        both = self.left(ops.pad(h, ((0, 0), (0, 0), (1, 0), (0, 0)))) + self.over(v)
        gated = lambda t: ops.tanh(t[..., : self.width]) * ops.sigmoid(t[..., self.width :])  # noqa: E731
        out = self.out(gated(both))
        return gated(v), out + h if h.shape[-1] == self.width else out

    def compute_output_shape(self, shape):
        one = (*shape[0][:3], self.width)
        return one, one


@_add
def pixels_above_and_left():
    inputs = keras.Input((32, 32, 3))
    v = h = layers.Conv2D(48, 1)(inputs)
    for _ in range(5):
        v, h = GatedStack(48)([v, h])
    out = layers.Conv2D(3 * 64, 1, dtype="float32")(layers.ReLU()(layers.Conv2D(128, 1)(layers.ReLU()(h))))
    out = layers.Reshape((32, 32, 3, 64))(out)
    loss = keras.losses.SparseCategoricalCrossentropy(from_logits=True)
    return _labelled(keras.Model(inputs, out), (32, 32, 3), loss)


class TaughtByItself(keras.Model):
    """A teacher that is the student's mean sees two large cuts, the student all; a centre that moves."""

    def __init__(self):
        super().__init__()
        self.student, self.teacher = self.network(), self.network()
        self.teacher.trainable = False
        self.centre = self.add_weight(shape=(1, 2048), trainable=False, initializer="zeros", name="centre")

    def network(self):
        inputs = x = keras.Input((None, None, 3))
        for width, step in ((32, 2), (64, 2), (128, 2)):
            x = layers.Conv2D(width, 3, step, "same", use_bias=False)(x)
            x = layers.Activation("gelu")(layers.GroupNormalization(8)(x))
        x = layers.Dense(256, activation="gelu")(layers.GlobalAveragePooling2D()(x))
        x = layers.UnitNormalization()(layers.Dense(64)(x))
        return keras.Model(inputs, layers.Dense(2048, use_bias=False)(x))

    def call(self, x):
        return self.student(x)

    def train_step(self, data):
        x = data[0] if isinstance(data, tuple) else data
        large = [tf.image.random_flip_left_right(x[:, o : o + 64, o : o + 64]) for o in (0, 32)]
        small = [x[:, o : o + 32, o + 16 : o + 48] for o in (0, 16, 32, 48)]
        said = tf.concat([self.teacher(one, training=True) for one in large], 0)
        aims = tf.split(tf.nn.softmax((said - self.centre) / 0.04), 2)
        with tf.GradientTape() as tape:
            found = [
                self.student(tf.concat(large, 0), training=True),
                self.student(tf.concat(small, 0), training=True),
            ]
            parts = [*tf.split(found[0], 2), *tf.split(found[1], 4)]
            loss = 0.0
            for i, aim in enumerate(aims):
                for j, part in enumerate(parts):
                    if i != j:
                        loss -= tf.reduce_mean(tf.reduce_sum(aim * tf.nn.log_softmax(part / 0.1), -1)) / 10
        result = _apply(self, tape, loss)
        self.centre.assign(0.9 * self.centre + 0.1 * tf.reduce_mean(said, 0, keepdims=True))
        for mine, its in zip(self.student.weights, self.teacher.weights):
            its.assign(0.996 * its + 0.004 * mine)
        return result


@_add
def taught_by_its_own_mean():
    model = TaughtByItself()
    model(keras.Input((96, 96, 3)))
    return _stepped(model, ((96, 96, 3), "float32"))


class InBalance(keras.Model):
    """A judge that rebuilds pictures; how much of the made ones it may count is kept in balance."""

    def __init__(self):
        super().__init__()
        self.maker, self.judge = self.writer(), keras.Sequential([self.reader(), self.writer()])
        self.share = self.add_weight(shape=(), trainable=False, initializer="zeros", name="share")
        self.other = keras.optimizers.Adam(1e-4, beta_1=0.5)

    def reader(self):
        parts = [keras.Input((48, 48, 3))]
        for width in (32, 64, 96):
            parts += [layers.Conv2D(width, 3, padding="same", activation="elu")]
            parts += [layers.Conv2D(width, 3, 2, padding="same", activation="elu")]
        return keras.Sequential([*parts, layers.Flatten(), layers.Dense(64)])

    def writer(self):
        parts = [keras.Input((64,)), layers.Dense(6 * 6 * 32), layers.Reshape((6, 6, 32))]
        for _ in range(3):
            parts += [layers.Conv2D(32, 3, padding="same", activation="elu") for _ in range(2)]
            parts += [layers.UpSampling2D()]
        return keras.Sequential([*parts, layers.Conv2D(3, 3, padding="same")])

    def build(self, shape):
        self.other.build(self.maker.trainable_variables)
        self.built = True

    def call(self, x):
        return self.judge(x)

    def train_step(self, data):
        x = data[0] if isinstance(data, tuple) else data
        noise = tf.random.uniform((tf.shape(x)[0], 64), -1, 1)
        with tf.GradientTape() as first, tf.GradientTape() as second:
            made = self.maker(noise, training=True)
            far = tf.reduce_mean(tf.abs(x - self.judge(x, training=True)))
            off = tf.reduce_mean(tf.abs(made - self.judge(made, training=True)))
            judged = far - self.share * tf.reduce_mean(
                tf.abs(tf.stop_gradient(made) - self.judge(tf.stop_gradient(made), training=True))
            )
        mine, its = self.judge.trainable_variables, self.maker.trainable_variables
        self.optimizer.apply_gradients(zip(first.gradient(judged, mine), mine))
        self.other.apply_gradients(zip(second.gradient(off, its), its))
        self.share.assign(tf.clip_by_value(self.share + 0.001 * (0.5 * far - off), 0.0, 1.0))
        return {"loss": far + off}


@_add
def maker_and_judge_in_balance():
    model = InBalance()
    model.build((None, 48, 48, 3))
    return _stepped(model, ((48, 48, 3), "float32"))


@_add
def seen_from_six_sides():
    """Six pictures of one thing through one network, the largest of what was found."""
    sides = [keras.Input((64, 64, 1), name=f"side_{n}") for n in range(6)]
    one = keras.Sequential([keras.Input((64, 64, 1))])
    for width in (32, 48, 64):
        one.add(layers.Conv2D(width, 3, padding="same", use_bias=False))
        one.add(layers.BatchNormalization())
        one.add(layers.Activation("relu"))
        one.add(layers.MaxPooling2D())
    x = layers.Maximum()([one(side) for side in sides])
    x = layers.Dense(256, activation="relu")(layers.Flatten()(layers.Conv2D(96, 3, activation="relu")(x)))
    return _classes(sides, layers.Dropout(0.5)(x), 40)


class OuterProduct(layers.Layer):
    """Each channel of one times each of the other, summed over the places; signed roots, one length."""

    def call(self, pair):
        one, other = pair
        h, w = one.shape[1:3]
        x = ops.einsum("bhwc,bhwd->bcd", one, other) / (h * w)
        x = ops.reshape(x, (-1, one.shape[-1] * other.shape[-1]))
        x = ops.sign(x) * ops.sqrt(ops.abs(x) + 1e-8)
        return x / (ops.norm(x, axis=-1, keepdims=True) + 1e-8)

    def compute_output_shape(self, shape):
        return (shape[0][0], shape[0][-1] * shape[1][-1])


@_add
def channels_times_channels():
    inputs = keras.Input((96, 96, 3))
    found = []
    for kind in ("relu", "gelu"):
        x = inputs
        for width in (32, 64, 96):
            x = layers.Conv2D(width, 3, padding="same", activation=kind)(x)
            x = layers.MaxPooling2D()(layers.Conv2D(width, 3, padding="same", activation=kind)(x))
        found.append(x)
    return _classes(inputs, layers.Dropout(0.3)(OuterProduct()(found)), 200)


class Clusters(layers.Layer):
    """How far each place's descriptor is from each centre, weighed by how sure it is of it."""

    def __init__(self, count):
        super().__init__()
        self.count = count

    def build(self, shape):
        self.assign = layers.Dense(self.count)
        self.assign.build(shape)
        self.centres = self.add_weight(shape=(self.count, shape[-1]), initializer="normal", name="centres")

    def call(self, x):
        x = ops.reshape(x, (-1, x.shape[1] * x.shape[2], x.shape[3]))
        x = ops.normalize(x, axis=-1)
        sure = ops.softmax(self.assign(x))
        far = ops.expand_dims(x, 2) - ops.cast(self.centres, x.dtype)
        x = ops.sum(far * ops.expand_dims(sure, -1), axis=1)
        x = ops.reshape(ops.normalize(x, axis=-1), (-1, self.count * self.centres.shape[-1]))
        return ops.normalize(x, axis=-1)

    def compute_output_shape(self, shape):
        return (shape[0], self.count * shape[-1])


def _many_alike(labels, found):
    """Pairs of one place near, pairs of others far, in soft maxima over a batch."""
    same = ops.equal(ops.reshape(labels, (-1, 1)), ops.reshape(labels, (1, -1)))
    alike = ops.matmul(found, ops.transpose(found))
    plus = ops.where(same, ops.exp(-2.0 * (alike - 0.5)), 0.0)
    minus = ops.where(same, 0.0, ops.exp(40.0 * (alike - 0.5)))
    return ops.mean(ops.log1p(ops.sum(plus, 1)) / 2.0 + ops.log1p(ops.sum(minus, 1)) / 40.0)


@_add
def places_by_clusters():
    inputs = x = keras.Input((64, 64, 3))
    for width in (32, 64, 128):
        x = layers.Conv2D(width, 3, 2, "same", use_bias=False)(x)
        x = layers.Activation("relu")(layers.BatchNormalization()(x))
    x = layers.Dense(256, use_bias=False)(Clusters(32)(x))
    out = layers.UnitNormalization(dtype="float32")(x)
    return Case(keras.Model(inputs, out), _many_alike, [((64, 64, 3), "float32")], ((), "int32"))


class KernelsByCode(layers.Layer):
    """Kernels of one by one for each picture, written by a network from its mean."""

    def __init__(self, width):
        super().__init__()
        self.width = width
        self.writes = layers.Dense(width, activation="silu")

    def build(self, shape):
        self.writes.build((shape[0], shape[-1]))
        self.kernel = layers.Dense(shape[-1] * self.width)
        self.kernel.build((shape[0], self.width))

    def call(self, x):
        h, w, c = x.shape[1:]
        kernel = self.kernel(self.writes(ops.mean(x, axis=(1, 2))))
        kernel = ops.reshape(kernel, (-1, c, self.width)) / c**0.5
        return ops.reshape(ops.matmul(ops.reshape(x, (-1, h * w, c)), kernel), (-1, h, w, self.width))

    def compute_output_shape(self, shape):
        return (*shape[:3], self.width)


@_add
def kernels_written_for_each():
    inputs = x = keras.Input((48, 48, 3))
    for width in (32, 64, 64):
        x = layers.Conv2D(width, 3, padding="same")(x)
        x = layers.PReLU(shared_axes=[1, 2])(layers.BatchNormalization()(x))
        x = layers.MaxPooling2D()(layers.Activation("tanh")(KernelsByCode(width)(x)))
    return _classes(inputs, layers.GlobalAveragePooling2D()(x), 30)


class SearchedFor(layers.Layer):
    """What the template has, slid over what is searched, each channel for itself."""

    def call(self, pair):
        template, searched = pair
        k, c = template.shape[1], template.shape[-1]
        cut = tf.image.extract_patches(searched, (1, k, k, 1), (1, 1, 1, 1), (1, 1, 1, 1), "VALID")
        side = searched.shape[1] - k + 1
        cut = tf.reshape(cut, (-1, side, side, k * k, c))
        return tf.einsum("bhwkc,bkc->bhwc", cut, tf.reshape(template, (-1, k * k, c)))

    def compute_output_shape(self, shape):
        side = shape[1][1] - shape[0][1] + 1
        return (shape[0][0], side, side, shape[0][-1])


@_add
def template_searched():
    template, searched = keras.Input((47, 47, 3)), keras.Input((95, 95, 3))
    one = keras.Sequential([keras.Input((None, None, 3))])
    for width in (32, 64, 64):
        one.add(layers.Conv2D(width, 3, 2, use_bias=False))
        one.add(layers.BatchNormalization())
        one.add(layers.ReLU())
    x = SearchedFor()([one(template), one(searched)])
    x = layers.Conv2D(64, 3, activation="relu")(x)
    there = layers.Conv2D(1, 1, dtype="float32", name="there")(x)
    box = layers.Conv2D(4, 1, activation="exponential", dtype="float32", name="box")(x)
    side = x.shape[1]
    return Case(
        keras.Model([template, searched], [there, box]),
        [keras.losses.BinaryFocalCrossentropy(from_logits=True), "mae"],
        [((47, 47, 3), "float32"), ((95, 95, 3), "float32")],
        [((side, side, 1), "float32"), ((side, side, 4), "float32")],
    )


class DoneTwice(layers.Layer):
    """A block whose forward pass is done again for its gradient."""

    def __init__(self, width):
        super().__init__()
        self.parts = [layers.Conv2D(4 * width, 3, padding="same"), layers.Conv2D(width, 1)]
        self.depth = layers.DepthwiseConv2D(5, padding="same")

    def build(self, shape):
        self.depth.build(shape)
        self.parts[0].build(shape)
        self.parts[1].build((*shape[:3], self.parts[0].filters))

    def call(self, x):
        inner = tf.recompute_grad(lambda t: self.parts[1](tf.nn.gelu(self.parts[0](self.depth(t)))))
        return x + inner(x)

    def compute_output_shape(self, shape):
        return shape


@_add
def blocks_done_twice():
    inputs = keras.Input((64, 64, 3))
    x = layers.Conv2D(48, 3, 2, "same")(inputs)
    for _ in range(4):
        x = DoneTwice(48)(layers.LayerNormalization()(x))
    return _classes(inputs, layers.GlobalAveragePooling2D()(x), 64)


class ClippedByUnit(keras.Model):
    """Each unit's gradient at most a share of its weights' length."""

    def train_step(self, data):
        x, y = data
        with tf.GradientTape() as tape:
            loss = self.compute_loss(x, y, self(x, training=True))
        variables = self.trainable_variables
        cut = []
        for g, v in zip(tape.gradient(loss, variables), variables):
            axes = list(range(len(v.shape) - 1)) if len(v.shape) > 1 else None
            length = lambda t, axes=axes: tf.sqrt(tf.reduce_sum(t * t, axes, keepdims=True))  # noqa: E731
            most = 0.01 * tf.maximum(length(tf.convert_to_tensor(v)), 1e-3)
            long = tf.maximum(length(g), 1e-6)
            cut.append(tf.where(long > most, g * (most / long), g))
        self.optimizer.apply_gradients(zip(cut, variables))
        return {"loss": loss}


@_add
def no_norms_but_scales():
    """Signals scaled in place of norms: kernels made even, units with a gain, skips."""
    inputs = keras.Input((64, 64, 3))
    x = layers.Conv2D(48, 3, 2, "same", kernel_regularizer=None)(inputs)
    gained = layers.Lambda(lambda t: ops.gelu(t) * 1.7, output_shape=lambda s: s)
    for width, step in ((96, 1), (160, 2), (256, 2)):
        for one in (step, 1):
            y = layers.Rescaling(0.9)(gained(x))
            short = x
            if one == 2 or x.shape[-1] != width:
                short = layers.Conv2D(width, 1)(layers.AveragePooling2D(one)(y) if one == 2 else y)
            y = gained(layers.Conv2D(width // 2, 1)(y))
            y = gained(layers.Conv2D(width // 2, 3, one, "same", groups=4)(y))
            y = layers.Conv2D(width, 1)(y)
            squeezed = layers.Dense(width // 4, activation="relu")(
                layers.GlobalAveragePooling2D(keepdims=True)(y)
            )
            y = layers.Multiply()([y, layers.Dense(width, activation="sigmoid")(squeezed)])
            x = layers.Add()([layers.Rescaling(0.4)(y), short])
    x = layers.GlobalAveragePooling2D()(gained(x))
    model = ClippedByUnit(inputs, layers.Dense(100, activation="softmax", dtype="float32")(x))
    return _labelled(model)


@_add
def tiles_without_places():
    """Channels first by transposing, instances normalized by hand, pads that mirror."""
    inputs = keras.Input((96, 96, 3))

    def mirrored(x, width, side, step=1):
        pad = side // 2
        x = layers.Lambda(
            lambda t: ops.pad(t, ((0, 0), (pad, pad), (pad, pad), (0, 0)), "reflect"),
            output_shape=(x.shape[1] + 2 * pad, x.shape[2] + 2 * pad, x.shape[3]),
        )(x)
        x = layers.Conv2D(width, side, step)(x)
        return layers.GroupNormalization(-1, epsilon=1e-5)(x)

    x = layers.ReLU()(mirrored(inputs, 24, 7))
    x = layers.ReLU()(mirrored(x, 48, 3, 2))
    x = layers.ReLU()(mirrored(x, 72, 3, 2))
    for _ in range(3):
        x = layers.Add()([x, mirrored(layers.ReLU()(mirrored(x, 72, 3)), 72, 3)])
    for width in (48, 24):
        x = layers.UpSampling2D(interpolation="bilinear")(x)
        x = layers.ReLU()(mirrored(x, width, 3))
    out = layers.Activation("tanh", dtype="float32")(layers.Conv2D(3, 7, padding="same")(x))
    return _values(keras.Model(inputs, out), "mae")


@_add
def pieces_with_registers():
    """Squares as tokens, some more that hold nothing, scaled queries and keys, the branches' scales learned."""
    inputs = keras.Input((64, 64, 3))
    x = Positions()(layers.Reshape((256, 128))(layers.Conv2D(128, 4, 4)(inputs)))

    class Registers(layers.Layer):
        def build(self, shape):
            self.table = self.add_weight(shape=(1, 5, shape[-1]), initializer="normal", name="table")

        def call(self, x):
            more = ops.broadcast_to(ops.cast(self.table, x.dtype), (ops.shape(x)[0], 5, x.shape[-1]))
            return ops.concatenate([more, x], axis=1)

        def compute_output_shape(self, shape):
            return (shape[0], shape[1] + 5, shape[2])

    class Scaled(layers.Layer):
        def build(self, shape):
            self.scale = self.add_weight(shape=(shape[-1],), initializer="ones", name="scale")

        def call(self, x):
            return x * ops.cast(self.scale, x.dtype)

    class Attends(layers.Layer):
        def build(self, shape):
            self.qkv, self.out = layers.Dense(3 * shape[-1]), layers.Dense(shape[-1])
            self.qkv.build(shape)
            self.out.build(shape)
            self.norms = [layers.RMSNormalization() for _ in range(2)]
            for one in self.norms:
                one.build((None, None, 4, shape[-1] // 4))

        def call(self, x):
            n, c = x.shape[1:]
            q, k, v = ops.unstack(ops.reshape(self.qkv(x), (-1, n, 3, 4, c // 4)), 3, axis=2)
            x = ops.dot_product_attention(self.norms[0](q), self.norms[1](k), v)
            return self.out(ops.reshape(x, (-1, n, c)))

        def compute_output_shape(self, shape):
            return shape

    x = Registers()(x)
    for _ in range(4):
        x = layers.Add()([x, Scaled()(Attends()(layers.LayerNormalization(epsilon=1e-6)(x)))])
        y = layers.Dense(2 * 342)(layers.LayerNormalization(epsilon=1e-6)(x))
        y = layers.Lambda(lambda t: ops.silu(t[..., :342]) * t[..., 342:], output_shape=(261, 342))(y)
        x = layers.Add()([x, Scaled()(layers.Dense(128)(y))])
    x = layers.Lambda(lambda t: t[:, 0], output_shape=(128,))(layers.LayerNormalization(epsilon=1e-6)(x))
    return _classes(inputs, x, 100)
