"""A tenth set for the rules for XLA, written and compiled before anything of it was compared: kinds that none of the
nine has, as users write them. Named by what each is.

This half has pictures and steps of their own; tenth_other_models.py has the rest.
"""

import keras
import tensorflow as tf
from keras import layers, ops
from models import Case, _add
from ninth_look_models import _apply, _stepped
from third_look_models import _bn, _classes, _labelled, _logits, _values

# Pictures


@_add
def maps_from_maps():
    """Half of the maps by a convolution, the others from those, one by one."""

    def cheap(x, width, activation="relu"):
        first = _bn(x, width // 2, 1, activation)
        y = layers.DepthwiseConv2D(3, padding="same", use_bias=False)(first)
        y = layers.BatchNormalization()(y)
        return layers.Concatenate()([first, layers.Activation(activation)(y) if activation else y])

    i = keras.Input((128, 128, 3))
    x = _bn(i, 16, strides=2)
    for width, more, step in ((16, 48, 1), (24, 72, 2), (40, 120, 2), (40, 120, 1), (80, 240, 2)):
        y = cheap(x, more)
        if step == 2:
            y = layers.BatchNormalization()(layers.DepthwiseConv2D(3, 2, "same", use_bias=False)(y))
        y = cheap(y, width, None)
        if step == 2 or x.shape[-1] != width:
            x = layers.BatchNormalization()(layers.Conv2D(width, 1, step, use_bias=False)(x))
        x = layers.Add()([x, y])
    return _classes(i, layers.GlobalAveragePooling2D()(_bn(x, 480, 1)), 100)


class Dropped(layers.Layer):
    """Whole blocks are left out for some of the pictures."""

    def __init__(self, rate):
        super().__init__()
        self.rate, self.seed = rate, keras.random.SeedGenerator(1)

    def call(self, x, training=False):
        if not training:
            return x
        kept = keras.random.uniform((ops.shape(x)[0], 1, 1, 1), seed=self.seed) >= self.rate
        return x * ops.cast(kept, x.dtype) / (1.0 - self.rate)


@_add
def blocks_left_out():
    i = keras.Input((48, 48, 3))
    x = _bn(i, 32)
    for place, (width, step) in enumerate(((32, 1), (32, 1), (64, 2), (64, 1), (128, 2), (128, 1))):
        y = _bn(_bn(x, width, strides=step), width, activation=None)
        if step == 2:
            x = _bn(x, width, 1, None, strides=2)
        x = layers.ReLU()(layers.Add()([x, Dropped(0.05 * (place + 1))(y)]))
    return _classes(i, layers.GlobalAveragePooling2D()(x), 20)


@_add
def waves_in_place_of_pooling():
    """Sums and differences of each four neighbours, side by side, in place of pooling."""

    def waves(x):
        a, b, c, d = x[:, ::2, ::2], x[:, 1::2, ::2], x[:, ::2, 1::2], x[:, 1::2, 1::2]
        return layers.Concatenate()([(a + b + c + d) / 2, (a - b + c - d) / 2, (a + b - c - d) / 2])

    i = x = keras.Input((96, 96, 3))
    for width in (32, 64, 96):
        x = layers.Conv2D(width, 3, padding="same", activation="relu")(x)
        x = waves(layers.Conv2D(width, 3, padding="same", activation="relu")(x))
    x = layers.Dropout(0.4)(layers.GlobalAveragePooling2D()(x))
    return _classes(i, layers.Dense(128, activation="relu")(x), 8)


@_add
def fine_and_coarse():
    """Two sizes of maps beside each other, each told what the other has seen."""
    i = keras.Input((80, 80, 3))
    fine, coarse = _bn(i, 32), _bn(layers.AveragePooling2D(2)(i), 32)
    for width in (48, 64, 96):
        down = layers.Conv2D(width, 3, padding="same", use_bias=False)(layers.AveragePooling2D(2)(fine))
        up = layers.UpSampling2D()(layers.Conv2D(width, 1, use_bias=False)(coarse))
        fine = layers.Conv2D(width, 3, padding="same", use_bias=False)(fine) + up
        coarse = layers.Conv2D(width, 3, padding="same", use_bias=False)(coarse) + down
        fine = layers.ReLU()(layers.BatchNormalization()(fine))
        coarse = layers.ReLU()(layers.BatchNormalization()(coarse))
        fine, coarse = layers.MaxPooling2D()(fine), layers.MaxPooling2D()(coarse)
    x = layers.Concatenate()([layers.GlobalMaxPooling2D()(fine), layers.GlobalMaxPooling2D()(coarse)])
    return _classes(i, x, 15)


@_add
def number_plates():
    """A head for each of seven signs."""
    i = x = keras.Input((64, 192, 1))
    for width, size in ((32, 5), (64, 3), (96, 3), (128, 3)):
        x = layers.Conv2D(width, size, padding="same", activation="relu")(x)
        x = layers.MaxPooling2D()(layers.BatchNormalization()(x))
    x = layers.Dropout(0.5)(layers.Dense(256, activation="relu")(layers.Flatten()(x)))
    heads = [
        layers.Dense(36, activation="softmax", dtype="float32", name=f"sign_{place}")(
            layers.Dense(64, activation="relu")(x)
        )
        for place in range(7)
    ]
    return Case(keras.Model(i, heads), ["sparse_categorical_crossentropy"] * 7, [((64, 192, 1), "float32")],
                [((), "int32")] * 7)  # fmt: skip


@_add
def where_to_grasp():
    """Each map says one place: its mean under a softmax over the picture."""
    i = x = keras.Input((120, 160, 3))
    for width, step in ((32, 2), (48, 1), (64, 1)):
        x = layers.ReLU()(layers.Conv2D(width, 5, step, "same")(x))
    height, width, maps = x.shape[1:]
    weights = ops.softmax(ops.reshape(ops.transpose(x, (0, 3, 1, 2)), (-1, maps, height * width)), axis=-1)
    rows = ops.repeat(ops.linspace(-1.0, 1.0, height), width)
    columns = ops.tile(ops.linspace(-1.0, 1.0, width), [height])
    places = ops.concatenate(
        [ops.sum(weights * ops.cast(one, weights.dtype), axis=-1) for one in (rows, columns)], axis=-1
    )
    x = layers.Dense(128, activation="relu")(layers.Dense(128, activation="relu")(places))
    return _values(keras.Model(i, layers.Dense(7, dtype="float32")(x)))


@_add
def ages_in_order():
    """As many questions as there are ages: older than that? One weight for all, a bias each."""

    class Older(layers.Layer):
        def build(self, shape):
            self.weight = self.add_weight(shape=(shape[-1], 1), name="weight")
            self.bias = self.add_weight(shape=(69,), initializer="zeros", name="bias")

        def call(self, x):
            return ops.matmul(x, self.weight) + self.bias

    def loss(age, found):
        levels = ops.cast(
            ops.expand_dims(ops.cast(age, "float32"), -1) > ops.arange(69, dtype="float32"), "float32"
        )
        log = ops.log_sigmoid(found)
        return -ops.mean(ops.sum(log * levels + (log - found) * (1 - levels), axis=-1))

    i = keras.Input((112, 112, 3))
    x = layers.MaxPooling2D(3, 2, "same")(_bn(i, 48, 5, strides=2))
    for width in (48, 96, 192):
        y = _bn(_bn(x, width, strides=2), width, activation=None)
        x = layers.ReLU()(y + layers.Conv2D(width, 1, 2)(x))
    out = Older(dtype="float32")(layers.Dropout(0.3)(layers.GlobalAveragePooling2D()(x)))
    return Case(keras.Model(i, out), loss, [((112, 112, 3), "float32")], ((), "int32"))


@_add
def changed_between():
    """One way in for two pictures of a place; the way out sees their differences."""
    size = (96, 96, 3)
    i = x = keras.Input(size)
    kept = []
    for width in (24, 48, 96):
        x = layers.Conv2D(width, 3, padding="same", activation="relu")(x)
        x = layers.BatchNormalization()(layers.Conv2D(width, 3, padding="same", activation="relu")(x))
        kept.append(x)
        x = layers.MaxPooling2D()(x)
    reader = keras.Model(i, [*kept, x])
    before, after = keras.Input(size), keras.Input(size)
    *old, x = reader(before)
    *new, y = reader(after)
    x = ops.abs(x - y)
    for width, a, b in zip((96, 48, 24), reversed(old), reversed(new)):
        x = layers.Conv2DTranspose(width, 3, 2, "same", activation="relu")(x)
        x = layers.Concatenate()([x, ops.abs(a - b)])
        x = layers.Conv2D(width, 3, padding="same", activation="relu")(x)
    x = layers.Conv2D(1, 1, activation="sigmoid", dtype="float32")(x)
    return _values(keras.Model([before, after], x), "binary_crossentropy")


class Sampled(layers.Layer):
    """A convolution whose nine places are moved, each by its own, and read between pixels."""

    def __init__(self, width):
        super().__init__()
        self.moves = layers.Conv2D(18, 3, padding="same", kernel_initializer="zeros")
        self.mix = layers.Dense(width)

    def call(self, x):
        height, width, maps = x.shape[1:]
        moves = ops.reshape(ops.cast(self.moves(x), "float32"), (-1, height * width * 9, 2))
        grid = ops.stack(ops.meshgrid(ops.arange(height), ops.arange(width), indexing="ij"), axis=-1)
        grid = ops.reshape(ops.repeat(ops.reshape(grid, (-1, 1, 2)), 9, axis=1), (1, -1, 2))
        at = ops.clip(ops.cast(grid, "float32") + moves, 0.0, float(height - 1))
        low = ops.floor(at)
        part = ops.cast(at - low, x.dtype)
        low = ops.cast(low, "int32")
        flat = ops.reshape(x, (-1, height * width, maps))

        def read(down, right):
            row = ops.minimum(low[..., 0] + down, height - 1)
            column = ops.minimum(low[..., 1] + right, width - 1)
            return tf.gather(flat, row * width + column, batch_dims=1)

        y, z = part[..., :1], part[..., 1:]
        found = read(0, 0) * (1 - y) * (1 - z) + read(0, 1) * (1 - y) * z
        found += read(1, 0) * y * (1 - z) + read(1, 1) * y * z
        return self.mix(ops.reshape(found, (-1, height, width, 9 * maps)))

    def compute_output_shape(self, shape):
        return (*shape[:-1], self.mix.units)


@_add
def places_that_move():
    i = keras.Input((64, 64, 3))
    x = _bn(_bn(i, 32, strides=2), 48)
    for width in (48, 64):
        x = layers.ReLU()(layers.BatchNormalization()(Sampled(width)(x)))
        x = layers.MaxPooling2D()(x)
    return _classes(i, layers.GlobalAveragePooling2D()(x), 30)


@_add
def bands_of_a_satellite():
    """Thirteen bands; means over several squares of the picture are enlarged and read beside it."""
    i = keras.Input((96, 96, 13))
    x = _bn(_bn(i, 48), 96, strides=2)
    x = layers.Add()([x, _bn(_bn(x, 96), 96)])
    ways = [x]
    for size in (6, 12, 24, 48):
        y = _bn(layers.AveragePooling2D(size)(x), 24, 1)
        ways.append(layers.UpSampling2D(size, interpolation="bilinear")(y))
    x = layers.Dropout(0.1)(_bn(layers.Concatenate()(ways), 96))
    x = layers.UpSampling2D(2, interpolation="bilinear")(x)
    return _labelled(keras.Model(i, layers.Conv2D(11, 1, activation="softmax", dtype="float32")(x)), (96, 96))


@_add
def rounded_to_eight_bits():
    """Weights and values go through the steps of eight bits on their way, as they will when it runs."""

    def fake(x):
        scale = ops.stop_gradient(ops.max(ops.abs(x)) / 127.0 + 1e-8)
        return x + ops.stop_gradient(ops.round(x / scale) * scale - x)

    class Rounded(layers.Layer):
        def __init__(self, width, step=1):
            super().__init__()
            self.width, self.step = width, step

        def build(self, shape):
            self.kernel = self.add_weight(shape=(3, 3, shape[-1], self.width), name="kernel")

        def call(self, x):
            return ops.conv(fake(x), fake(ops.cast(self.kernel, x.dtype)), self.step, "same")

        def compute_output_shape(self, shape):
            return (shape[0], -(-shape[1] // self.step), -(-shape[2] // self.step), self.width)

    i = x = keras.Input((64, 64, 3))
    for width, step in ((32, 1), (64, 2), (64, 1), (128, 2)):
        x = ops.relu6(layers.BatchNormalization()(Rounded(width, step)(x)))
    return _classes(i, layers.GlobalAveragePooling2D()(x), 10)


@_add
def weights_left_out():
    """Nine of ten weights are held at zero by masks."""

    class Pruned(layers.Dense):
        def build(self, shape):
            super().build(shape)
            self.mask = self.add_weight(shape=self.kernel.shape, trainable=False, name="mask")

        def call(self, x):
            y = ops.matmul(x, ops.cast(self.kernel * self.mask, x.dtype)) + ops.cast(self.bias, x.dtype)
            return ops.relu(y)

    i = keras.Input((28, 28))
    x = layers.Flatten()(i)
    for width in (2000, 1000, 500):
        x = Pruned(width)(x)
    return _classes(i, x)


# Steps of their own


class Attacked(keras.Model):
    """Also pictures that were changed so as to be misread."""

    def train_step(self, data):
        x, y = data
        said = _logits()
        with tf.GradientTape() as tape:
            tape.watch(x)
            loss = said(y, self(x, training=True))
        harder = tf.clip_by_value(x + 0.03 * tf.sign(tape.gradient(loss, x)), 0.0, 1.0)
        with tf.GradientTape() as tape:
            loss = 0.5 * said(y, self(x, training=True)) + 0.5 * said(y, self(harder, training=True))
        return _apply(self, tape, loss)


@_add
def misread_on_purpose():
    i = x = keras.Input((32, 32, 3))
    for width in (64, 128, 256):
        x = layers.Conv2D(width, 3, padding="same", activation="relu")(x)
        x = layers.MaxPooling2D()(layers.Conv2D(width, 3, padding="same", activation="relu")(x))
    x = layers.Dense(256, activation="relu")(layers.Flatten()(x))
    return _stepped(
        Attacked(i, layers.Dense(10, dtype="float32")(x)), ((32, 32, 3), "float32"), y=((), "int32")
    )


class Flat(keras.Model):
    """Two gradients a step: the second where the loss is highest nearby."""

    def train_step(self, data):
        x, y = data
        said = _logits()
        with tf.GradientTape() as tape:
            loss = said(y, self(x, training=True))
        gradients = tape.gradient(loss, self.trainable_variables)
        scale = 0.05 / (tf.linalg.global_norm(gradients) + 1e-12)
        moves = [gradient * scale for gradient in gradients]
        for variable, move in zip(self.trainable_variables, moves):
            variable.assign_add(move)
        with tf.GradientTape() as tape:
            loss = said(y, self(x, training=True))
        gradients = tape.gradient(loss, self.trainable_variables)
        for variable, move in zip(self.trainable_variables, moves):
            variable.assign_sub(move)
        self.optimizer.apply_gradients(zip(gradients, self.trainable_variables))
        return {"loss": loss}


@_add
def flat_minima():
    i = keras.Input((40, 40, 3))
    x = _bn(i, 48)
    for width in (48, 96, 192):
        x = layers.ReLU()(
            _bn(_bn(x, width, strides=2), width, activation=None) + _bn(x, width, 1, None, strides=2)
        )
    x = layers.GlobalAveragePooling2D()(x)
    return _stepped(Flat(i, layers.Dense(25, dtype="float32")(x)), ((40, 40, 3), "float32"), y=((), "int32"))


class Turns(keras.Model):
    """Nobody labels anything: each picture is turned four times, and how far is to be said."""

    def train_step(self, data):
        x, _ = data
        turned = tf.concat([tf.image.rot90(x, k) for k in range(4)], axis=0)
        y = tf.repeat(tf.range(4), x.shape[0])
        with tf.GradientTape() as tape:
            loss = _logits()(y, self(turned, training=True))
        return _apply(self, tape, loss)


@_add
def how_far_turned():
    i = x = keras.Input((48, 48, 3))
    for width in (64, 96, 128):
        x = _bn(_bn(x, width, 5), width, 1)
        x = layers.AveragePooling2D(3, 2, "same")(x)
    x = layers.GlobalAveragePooling2D()(x)
    return _stepped(Turns(i, layers.Dense(4, dtype="float32")(x)), ((48, 48, 3), "float32"), y=((), "int32"))


class Uncorrelated(keras.Model):
    """Two views should agree in each number, and no two numbers should say the same."""

    def train_step(self, data):
        x, _ = data
        with tf.GradientTape() as tape:
            codes = []
            for _ in range(2):
                view = tf.image.random_flip_left_right(x) + tf.random.normal(tf.shape(x), stddev=0.1)
                z = tf.cast(self(view, training=True), tf.float32)
                z = (z - tf.reduce_mean(z, 0)) / (tf.math.reduce_std(z, 0) + 1e-5)
                codes.append(z)
            both = tf.matmul(codes[0], codes[1], transpose_a=True) / x.shape[0]
            same = tf.linalg.diag_part(both)
            loss = tf.reduce_sum(tf.square(1.0 - same))
            loss += 0.005 * (tf.reduce_sum(tf.square(both)) - tf.reduce_sum(tf.square(same)))
        return _apply(self, tape, loss)


@_add
def no_two_alike():
    i = x = keras.Input((64, 64, 3))
    for width in (48, 96, 192):
        x = _bn(_bn(x, width, strides=2), width)
    x = layers.GlobalAveragePooling2D()(x)
    x = layers.ReLU()(layers.BatchNormalization()(layers.Dense(1024, use_bias=False)(x)))
    return _stepped(Uncorrelated(i, layers.Dense(1024)(x)), ((64, 64, 3), "float32"), y=((), "int32"))


class Bounded(keras.Model):
    """A judge whose layers are held by their largest singular value, and a maker; a hinge between them."""

    maker = None
    makers = None

    def train_step(self, data):
        real, _ = data
        count = real.shape[0]
        made = self.maker(tf.random.normal((count, 128)), training=True)
        with tf.GradientTape() as tape:
            loss = tf.reduce_mean(tf.nn.relu(1.0 - self(real, training=True)))
            loss += tf.reduce_mean(tf.nn.relu(1.0 + self(made, training=True)))
        found = _apply(self, tape, loss)
        with tf.GradientTape() as tape:
            made = self.maker(tf.random.normal((count, 128)), training=True)
            fooled = -tf.reduce_mean(self(made, training=True))
        variables = self.maker.trainable_variables
        self.makers.apply_gradients(zip(tape.gradient(fooled, variables), variables))
        return found


@_add
def held_by_norms():
    i = x = keras.Input((64, 64, 3))
    for width in (64, 128, 256):
        x = layers.SpectralNormalization(layers.Conv2D(width, 4, 2, "same"))(x)
        x = layers.LeakyReLU(negative_slope=0.2)(x)
    judge = Bounded(i, layers.SpectralNormalization(layers.Dense(1, dtype="float32"))(layers.Flatten()(x)))
    i = keras.Input((128,))
    x = layers.Reshape((8, 8, 256))(layers.Dense(8 * 8 * 256)(i))
    for width in (256, 128, 64):
        x = layers.ReLU()(
            layers.BatchNormalization()(layers.Conv2D(width, 3, padding="same")(layers.UpSampling2D()(x)))
        )
    judge.maker = keras.Model(i, layers.Conv2D(3, 3, padding="same", activation="tanh", dtype="float32")(x))
    judge.makers = keras.optimizers.Adam(1e-4)
    judge.makers.build(judge.maker.trainable_variables)
    return _stepped(judge, ((64, 64, 3), "float32"), y=((), "int32"))


class Walked(keras.Model):
    """What is likely has low energy; what is compared with it walks down there, in ten steps."""

    def train_step(self, data):
        real, _ = data
        made = tf.random.uniform(tf.shape(real))
        for _ in range(10):
            with tf.GradientTape() as tape:
                tape.watch(made)
                energy = tf.reduce_sum(self(made, training=False))
            made -= 0.1 * tf.clip_by_value(tape.gradient(energy, made), -0.03, 0.03)
            made = tf.stop_gradient(made + tf.random.normal(tf.shape(made), stddev=0.005))
        with tf.GradientTape() as tape:
            low, high = self(real, training=True), self(made, training=True)
            loss = tf.reduce_mean(low - high) + 0.1 * tf.reduce_mean(tf.square(low) + tf.square(high))
        return _apply(self, tape, loss)


@_add
def walks_downhill():
    i = x = keras.Input((28, 28, 1))
    for width, size in ((32, 5), (64, 3), (64, 3)):
        x = layers.Activation("swish")(layers.Conv2D(width, size, 2, "same")(x))
    x = layers.Dense(64, activation="swish")(layers.Flatten()(x))
    return _stepped(Walked(i, layers.Dense(1, dtype="float32")(x)), ((28, 28, 1), "float32"), y=((), "int32"))


class Blended(keras.Model):
    """Pairs of pictures are laid over each other; a square of one is put into the other half of the time."""

    def train_step(self, data):
        x, y = data
        part = tf.random.uniform((x.shape[0], 1, 1, 1), 0.2, 0.8)
        other = tf.reverse(x, [0])
        grid = tf.reshape(tf.range(64, dtype=tf.float32) / 64, (1, 64, 1, 1))
        inside = tf.cast((grid < part) & (tf.reshape(grid, (1, 1, 64, 1)) < part), tf.float32)
        mixed = tf.where(part < 0.5, part * x + (1 - part) * other, inside * other + (1 - inside) * x)
        part = part[:, 0, 0]
        wanted = part * tf.one_hot(y, 40) + (1 - part) * tf.reverse(tf.one_hot(y, 40), [0])
        with tf.GradientTape() as tape:
            found = self(mixed, training=True)
            loss = tf.reduce_mean(tf.nn.softmax_cross_entropy_with_logits(wanted, found))
        return _apply(self, tape, loss)


@_add
def laid_over_each_other():
    i = keras.Input((64, 64, 3))
    x = _bn(i, 32)
    for width in (64, 128, 256):
        x = _bn(layers.MaxPooling2D()(x), width)
        x = layers.Add()([x, _bn(_bn(x, width // 2, 1), width)])
    x = layers.Dropout(0.2)(layers.GlobalAveragePooling2D()(x))
    return _stepped(
        Blended(i, layers.Dense(40, dtype="float32")(x)), ((64, 64, 3), "float32"), y=((), "int32")
    )


@_add
def many_in_one():
    """Four networks share their weights but for a vector on either side of each product; each sees the batch."""

    class Members(layers.Layer):
        def __init__(self, width):
            super().__init__()
            self.dense = layers.Dense(width)

        def build(self, shape):
            self.dense.build(shape)
            self.given = self.add_weight(shape=(4, 1, shape[-1]), initializer="ones", name="given")
            self.made = self.add_weight(shape=(4, 1, self.dense.units), initializer="ones", name="made")

        def call(self, x):
            return self.dense(x * ops.cast(self.given, x.dtype)) * ops.cast(self.made, x.dtype)

        def compute_output_shape(self, shape):
            return (*shape[:-1], self.dense.units)

    i = keras.Input((128,))
    x = ops.broadcast_to(ops.expand_dims(i, 0), (4, 4096, 128))
    for width in (512, 512, 256):
        x = ops.relu(Members(width)(x))
    x = ops.mean(Members(1)(x), axis=0)
    return Case(keras.Model(i, layers.Activation("linear", dtype="float32")(x)), "mse", [((128,), "float32")],
                ((1,), "float32"))  # fmt: skip
