"""A fourteenth set for the rules for XLA, written and hashed before anything of it was compiled: other models of
the usual kinds, each as somebody would write it who trains one. Named by what each is.

This half has pictures and what is made of noise; fourteenth_other_models.py has the rest.
"""

import keras
import tensorflow as tf
from keras import layers, ops, regularizers
from models import Case, _add
from ninth_look_models import _apply, _stepped
from third_look_models import _classes, _labelled, _logits, _values

# Pictures to classes and numbers


@_add
def dishes():
    """A frozen application in front of two dense layers; sides are changed and pictures turned and moved at random."""
    base = keras.applications.InceptionV3(include_top=False, weights=None, input_shape=(160, 160, 3))
    base.trainable = False
    inputs = keras.Input((160, 160, 3))
    x = layers.RandomTranslation(0.1, 0.1)(layers.RandomFlip("horizontal")(inputs))
    x = base(layers.Rescaling(1 / 127.5, offset=-1)(x), training=False)
    x = layers.GlobalAveragePooling2D()(x)
    x = layers.BatchNormalization()(layers.Dense(512, activation="relu")(x))
    return _classes(inputs, layers.Dropout(0.5)(layers.Dense(256, activation="relu")(x)), 101)


@_add
def cells_with_malaria():
    """Plain convolutions with a norm behind each pooling; one answer."""
    model = keras.Sequential([keras.Input((96, 96, 3))])
    for width in (16, 32, 64, 64):
        model.add(layers.Conv2D(width, 3, activation="relu"))
        model.add(layers.MaxPooling2D())
        model.add(layers.BatchNormalization())
        model.add(layers.Dropout(0.2))
    model.add(layers.Flatten())
    model.add(layers.Dense(512, activation="relu"))
    model.add(layers.Dropout(0.4))
    model.add(layers.Dense(1, activation="sigmoid", dtype="float32"))
    case = _values(model, "binary_crossentropy")
    case.options["metrics"] = ["accuracy", keras.metrics.AUC()]
    return case


@_add
def dense_blocks_by_hand():
    """Each layer reads all before it; a convolution of one and a mean between the blocks."""
    inputs = keras.Input((32, 32, 3))
    x = layers.Conv2D(24, 3, padding="same", use_bias=False)(inputs)
    for block in range(3):
        for _ in range(6):
            y = layers.ReLU()(layers.BatchNormalization()(x))
            y = layers.Conv2D(48, 1, use_bias=False)(y)
            y = layers.ReLU()(layers.BatchNormalization()(y))
            y = layers.Conv2D(12, 3, padding="same", use_bias=False)(y)
            x = layers.Concatenate()([x, layers.Dropout(0.2)(y)])
        if block < 2:
            x = layers.ReLU()(layers.BatchNormalization()(x))
            x = layers.AveragePooling2D(2)(layers.Conv2D(x.shape[-1] // 2, 1, use_bias=False)(x))
    x = layers.GlobalAveragePooling2D()(layers.ReLU()(layers.BatchNormalization()(x)))
    return _classes(inputs, x, 100)


@_add
def four_ways_at_once():
    """Blocks of four ways side by side, two answers further down that help to train."""

    def block(x, one, three, five, pooled):
        options = {"padding": "same", "activation": "relu"}
        a = layers.Conv2D(one, 1, **options)(x)
        b = layers.Conv2D(three, 3, **options)(layers.Conv2D(three // 2, 1, **options)(x))
        c = layers.Conv2D(five, 5, **options)(layers.Conv2D(five // 4, 1, **options)(x))
        d = layers.Conv2D(pooled, 1, **options)(layers.MaxPooling2D(3, 1, padding="same")(x))
        return layers.Concatenate()([a, b, c, d])

    def answer(x, name):
        x = layers.Conv2D(64, 1, activation="relu")(layers.AveragePooling2D(3)(x))
        x = layers.Dropout(0.7)(layers.Dense(256, activation="relu")(layers.Flatten()(x)))
        return layers.Dense(50, activation="softmax", dtype="float32", name=name)(x)

    inputs = keras.Input((160, 160, 3))
    x = layers.Conv2D(64, 7, 2, "same", activation="relu")(inputs)
    x = layers.MaxPooling2D(3, 2, padding="same")(x)
    x = layers.Conv2D(128, 3, padding="same", activation="relu")(x)
    x = layers.MaxPooling2D(3, 2, padding="same")(x)
    x = block(block(x, 64, 128, 32, 32), 128, 192, 96, 64)
    first = answer(x, "first")
    x = block(layers.MaxPooling2D(3, 2, padding="same")(x), 192, 208, 48, 64)
    second = answer(x, "second")
    x = block(block(x, 160, 224, 64, 64), 256, 320, 128, 128)
    x = layers.Dropout(0.4)(layers.GlobalAveragePooling2D()(x))
    last = layers.Dense(50, activation="softmax", dtype="float32", name="last")(x)
    return Case(keras.Model(inputs, [first, second, last]), ["sparse_categorical_crossentropy"] * 3,
                [((160, 160, 3), "float32")], [((), "int32")] * 3, {"loss_weights": [0.3, 0.3, 1.0]})  # fmt: skip


@_add
def plankton():
    """Grey pictures, leaky units, two convolutions before each pooling; decay, one-hot labels made softer."""
    inputs = x = keras.Input((64, 64, 1))
    for width in (32, 64, 128):
        for _ in range(2):
            x = layers.Conv2D(width, 3, padding="same", kernel_regularizer=regularizers.l2(5e-4))(x)
            x = layers.LeakyReLU(negative_slope=0.1)(x)
        x = layers.MaxPooling2D(3, 2)(x)
    x = layers.Flatten()(layers.Dropout(0.25)(x))
    for _ in range(2):
        x = layers.Dropout(0.5)(layers.LeakyReLU(negative_slope=0.1)(layers.Dense(512)(x)))
    out = layers.Dense(121, activation="softmax", dtype="float32")(x)
    loss = keras.losses.CategoricalCrossentropy(label_smoothing=0.1)
    return Case(keras.Model(inputs, out), loss, [((64, 64, 1), "float32")], ((121,), "float32"))


class Squeeze(layers.Layer):
    def __init__(self, width, ratio=4):
        super().__init__()
        self.pool = layers.GlobalAveragePooling2D(keepdims=True)
        self.first = layers.Conv2D(width // ratio, 1, activation="relu")
        self.second = layers.Conv2D(width, 1, activation="hard_sigmoid")

    def build(self, shape):
        self.first.build((None, 1, 1, shape[-1]))
        self.second.build((None, 1, 1, self.first.filters))

    def call(self, x):
        return x * self.second(self.first(self.pool(x)))


@_add
def small_and_squeezed():
    """Inverted blocks by hand: by channel, squeezed, hard swish; the whole from nothing."""
    inputs = keras.Input((128, 128, 3))
    x = layers.Conv2D(16, 3, 2, "same", use_bias=False)(inputs)
    x = layers.Activation("hard_silu")(layers.BatchNormalization()(x))
    for width, inner, strides, size in ((16, 16, 2, 3), (24, 72, 2, 3), (24, 88, 1, 3), (40, 96, 2, 5),
                                        (40, 240, 1, 5), (96, 288, 2, 5), (96, 576, 1, 5)):  # fmt: skip
        y = layers.Conv2D(inner, 1, use_bias=False)(x)
        y = layers.Activation("hard_silu")(layers.BatchNormalization()(y))
        y = layers.DepthwiseConv2D(size, strides, "same", use_bias=False)(y)
        y = Squeeze(inner)(layers.Activation("hard_silu")(layers.BatchNormalization()(y)))
        y = layers.BatchNormalization()(layers.Conv2D(width, 1, use_bias=False)(y))
        x = layers.Add()([x, y]) if strides == 1 else y
    x = layers.GlobalAveragePooling2D()(layers.Conv2D(576, 1, activation="hard_silu")(x))
    x = layers.Dropout(0.2)(layers.Dense(1024, activation="hard_silu")(x))
    return _classes(inputs, x, 120)


@_add
def digits_on_houses():
    """One network, six answers: how many digits there are, and each of five."""
    inputs = x = keras.Input((54, 54, 3))
    for number, width in enumerate((48, 64, 128, 160)):
        x = layers.Conv2D(width, 5, padding="same", use_bias=False)(x)
        x = layers.ReLU()(layers.BatchNormalization()(x))
        x = layers.MaxPooling2D(2, 2 if number % 2 == 0 else 1, padding="same")(x)
        x = layers.Dropout(0.2)(x)
    x = layers.Dense(1024, activation="relu")(layers.Flatten()(x))
    names = ["count", *(f"digit{place}" for place in range(5))]
    outs = [layers.Dense(7 if n == "count" else 11, dtype="float32", name=n)(x) for n in names]
    return Case(keras.Model(inputs, outs), [_logits() for _ in names], [((54, 54, 3), "float32")],
                [((), "int32")] * 6)  # fmt: skip


class PooledTokens(keras.Model):
    """Convolutions cut the picture, blocks read the squares, a weighed sum of them is what is told."""

    def __init__(self, width=128, depth=5, heads=2, classes=10):
        super().__init__()
        self.begin = keras.Sequential(
            [
                layers.Conv2D(64, 3, padding="same", activation="relu", use_bias=False),
                layers.MaxPooling2D(3, 2, "same"),
                layers.Conv2D(width, 3, padding="same", activation="relu", use_bias=False),
                layers.MaxPooling2D(3, 2, "same"),
                layers.Reshape((64, width)),
            ]
        )
        self.places = layers.Embedding(64, width)
        self.blocks = [
            (
                layers.LayerNormalization(epsilon=1e-5),
                layers.MultiHeadAttention(heads, width // heads, dropout=0.1),
                layers.LayerNormalization(epsilon=1e-5),
                layers.Dense(2 * width, activation="gelu"),
                layers.Dense(width),
                layers.Dropout(0.1),
            )
            for _ in range(depth)
        ]
        self.norm, self.weigh = layers.LayerNormalization(epsilon=1e-5), layers.Dense(1)
        self.out = layers.Dense(classes, dtype="float32")

    def call(self, x, training=False):
        x = self.begin(x)
        x = x + self.places(ops.arange(64))
        for norm1, attention, norm2, inner, outer, drop in self.blocks:
            y = norm1(x)
            x = x + attention(y, y, training=training)
            x = x + drop(outer(drop(inner(norm2(x)), training=training)), training=training)
        x = self.norm(x)
        weights = ops.softmax(self.weigh(x), axis=1)
        return self.out(ops.squeeze(ops.matmul(ops.transpose(weights, (0, 2, 1)), x), 1))


@_add
def pooled_tokens():
    model = PooledTokens()
    model(keras.Input((32, 32, 3)))
    return Case(model, _logits(), [((32, 32, 3), "float32")], ((), "int32"))


@_add
def where_the_face_is():
    """Four numbers and one answer from one picture by a tuned application."""
    base = keras.applications.VGG16(include_top=False, weights=None, input_shape=(120, 120, 3))
    x = base.output
    there = layers.Dense(1024, activation="relu")(layers.GlobalMaxPooling2D()(x))
    there = layers.Dense(1, activation="sigmoid", dtype="float32", name="there")(there)
    box = layers.Dense(1024, activation="relu")(layers.GlobalMaxPooling2D()(x))
    box = layers.Dense(4, activation="sigmoid", dtype="float32", name="box")(box)
    return Case(keras.Model(base.input, [there, box]), ["binary_crossentropy", "mse"],
                [((120, 120, 3), "float32")], [((1,), "float32"), ((4,), "float32")])  # fmt: skip


class Anchored(keras.Model):
    """A picture, another of the same and one of something else; nearer by a margin."""

    def __init__(self, network, margin=0.5):
        super().__init__()
        self.network, self.margin = network, margin
        self.seen = keras.metrics.Mean(name="seen")

    @property
    def metrics(self):
        return [self.seen]

    def train_step(self, data):
        anchor, same, other = data[0] if len(data) == 1 else data
        with tf.GradientTape() as tape:
            a, b, c = (self.network(one, training=True) for one in (anchor, same, other))
            near = tf.reduce_sum(tf.square(a - b), -1)
            far = tf.reduce_sum(tf.square(a - c), -1)
            loss = tf.reduce_mean(tf.maximum(near - far + self.margin, 0.0))
        found = _apply(self, tape, loss)
        self.seen.update_state(loss)
        return found | {"seen": self.seen.result()}


@_add
def shoes_alike():
    base = keras.applications.ResNet50(include_top=False, weights=None, input_shape=(96, 96, 3))
    for layer in base.layers:
        layer.trainable = layer.name.startswith("conv5_block")
    x = layers.Dense(512, activation="relu")(layers.Flatten()(base.output))
    x = layers.BatchNormalization()(x)
    x = layers.Dense(256)(layers.BatchNormalization()(layers.Dense(256, activation="relu")(x)))
    shape = ((96, 96, 3), "float32")
    return _stepped(Anchored(keras.Model(base.input, x)), shape, shape, shape)


# Pictures to pictures


def _dice(wanted, found):
    wanted, found = ops.reshape(wanted, (-1,)), ops.reshape(found, (-1,))
    return 1.0 - (2.0 * ops.sum(wanted * found) + 1.0) / (ops.sum(wanted) + ops.sum(found) + 1.0)


@_add
def vessels_of_eyes():
    """A U of three steps with few channels, means instead of transposed convolutions on the way up."""

    def twice(x, width):
        x = layers.Conv2D(width, 3, padding="same", activation="relu")(x)
        x = layers.Dropout(0.2)(x)
        return layers.Conv2D(width, 3, padding="same", activation="relu")(x)

    inputs = x = keras.Input((192, 192, 3))
    skips = []
    for width in (32, 64):
        x = twice(x, width)
        skips.append(x)
        x = layers.MaxPooling2D()(x)
    x = twice(x, 128)
    for width, skip in zip((64, 32), reversed(skips)):
        x = twice(layers.concatenate([layers.UpSampling2D()(x), skip]), width)
    return _values(keras.Model(inputs, layers.Conv2D(1, 1, activation="sigmoid", dtype="float32")(x)), _dice)


@_add
def salt_below():
    """Residual blocks with norms before the units in a U on small grey pictures."""

    def block(x, width):
        y = layers.BatchNormalization()(layers.ReLU()(x))
        y = layers.Conv2D(width, 3, padding="same", use_bias=False)(y)
        y = layers.ReLU()(layers.BatchNormalization()(y))
        y = layers.Conv2D(width, 3, padding="same", use_bias=False)(y)
        return layers.Add()([x, layers.BatchNormalization()(y)])

    inputs = x = keras.Input((96, 96, 1))
    skips = []
    for width in (16, 32, 64, 128):
        x = block(block(layers.Conv2D(width, 3, padding="same")(x), width), width)
        x = layers.ReLU()(x)
        skips.append(x)
        x = layers.Dropout(0.25)(layers.MaxPooling2D()(x))
    x = layers.ReLU()(block(layers.Conv2D(256, 3, padding="same")(x), 256))
    for width, skip in zip((128, 64, 32, 16), reversed(skips)):
        x = layers.Conv2DTranspose(width, 3, 2, "same")(x)
        x = layers.Dropout(0.25)(layers.concatenate([x, skip]))
        x = layers.ReLU()(block(layers.Conv2D(width, 3, padding="same")(x), width))
    return _values(keras.Model(inputs, layers.Conv2D(1, 1, activation="sigmoid", dtype="float32")(x)),
                   "binary_crossentropy")  # fmt: skip


@_add
def fields_from_above():
    """A pyramid of four rates in the middle of an application's features, two enlargements; twelve kinds of places."""
    base = keras.applications.ResNet50(include_top=False, weights=None, input_shape=(192, 192, 3))
    deep, shallow = base.get_layer("conv4_block6_2_relu").output, base.get_layer("conv2_block3_2_relu").output

    def conv(x, width, size=3, rate=1):
        x = layers.Conv2D(width, size, padding="same", dilation_rate=rate, use_bias=False)(x)
        return layers.ReLU()(layers.BatchNormalization()(x))

    side = deep.shape[1]
    pooled = conv(layers.AveragePooling2D(side)(deep), 256, 1)
    ways = [layers.UpSampling2D(side, interpolation="bilinear")(pooled), conv(deep, 256, 1)]
    ways += [conv(deep, 256, 3, rate) for rate in (6, 12, 18)]
    x = conv(layers.Concatenate()(ways), 256, 1)
    x = layers.UpSampling2D(4, interpolation="bilinear")(x)
    x = conv(conv(layers.Concatenate()([x, conv(shallow, 48, 1)]), 256), 256)
    x = layers.UpSampling2D(4, interpolation="bilinear")(x)
    out = layers.Conv2D(12, 1, dtype="float32")(x)
    return _labelled(keras.Model(base.input, out), (192, 192), _logits())


@_add
def grey_to_colour():
    """What is dark and light tells two planes of colour; strides down, enlargements up, tanh."""
    model = keras.Sequential([keras.Input((128, 128, 1))])
    for width, strides in ((64, 1), (64, 2), (128, 1), (128, 2), (256, 1), (256, 2), (512, 1), (256, 1)):
        model.add(layers.Conv2D(width, 3, strides, "same", activation="relu"))
    for width in (128, 64, 32):
        model.add(layers.Conv2D(width, 3, padding="same", activation="relu"))
        model.add(layers.UpSampling2D())
    model.add(layers.Conv2D(2, 3, padding="same", activation="tanh", dtype="float32"))
    return _values(model)


class Recoloured(keras.Model):
    """The first part of a fixed application tells how near two pictures are; a small network is trained by that."""

    def __init__(self, network, judge):
        super().__init__()
        self.network, self.judge = network, judge
        judge.trainable = False

    def train_step(self, data):
        low, high = data
        with tf.GradientTape() as tape:
            made = self.network(low, training=True)
            near = tf.reduce_mean(tf.abs(made - high))
            seen = tf.reduce_mean(tf.square(self.judge(made) - self.judge(high)))
            loss = near + 0.006 * seen
        return _apply(self, tape, loss)


@_add
def sharper_by_features():
    def block(x):
        y = layers.PReLU(shared_axes=[1, 2])(
            layers.BatchNormalization()(layers.Conv2D(64, 3, padding="same")(x))
        )
        return layers.Add()([x, layers.BatchNormalization()(layers.Conv2D(64, 3, padding="same")(y))])

    inputs = keras.Input((24, 24, 3))
    x = first = layers.PReLU(shared_axes=[1, 2])(layers.Conv2D(64, 9, padding="same")(inputs))
    for _ in range(5):
        x = block(x)
    x = layers.Add()([first, layers.BatchNormalization()(layers.Conv2D(64, 3, padding="same")(x))])
    for _ in range(2):
        x = layers.UpSampling2D()(layers.Conv2D(256, 3, padding="same")(x))
        x = layers.PReLU(shared_axes=[1, 2])(x)
    network = keras.Model(inputs, layers.Conv2D(3, 9, padding="same", activation="tanh")(x))
    base = keras.applications.VGG19(include_top=False, weights=None, input_shape=(96, 96, 3))
    judge = keras.Model(base.input, base.get_layer("block3_conv4").output)
    return _stepped(Recoloured(network, judge), ((24, 24, 3), "float32"), y=((96, 96, 3), "float32"))


class Hidden(layers.Layer):
    """Noise on what is hidden."""

    def __init__(self):
        super().__init__()
        self.seed = keras.random.SeedGenerator(7)

    def call(self, given):
        mean, log = given
        self.add_loss(-5e-4 * ops.mean(1 + log - ops.square(mean) - ops.exp(log)))
        return mean + ops.exp(0.5 * log) * keras.random.normal(ops.shape(mean), seed=self.seed)


@_add
def faces_through_noise():
    """Strided convolutions to a mean and a spread, transposed ones back, one functional model."""
    inputs = x = keras.Input((64, 64, 3))
    for width in (32, 64, 128, 256):
        x = layers.Conv2D(width, 3, 2, "same")(x)
        x = layers.LeakyReLU()(layers.BatchNormalization()(x))
    x = layers.Flatten()(x)
    x = Hidden()([layers.Dense(200)(x), layers.Dense(200)(x)])
    x = layers.Reshape((4, 4, 256))(layers.Dense(4096)(x))
    for width in (128, 64, 32, 16):
        x = layers.Conv2DTranspose(width, 3, 2, "same")(x)
        x = layers.LeakyReLU()(layers.BatchNormalization()(x))
    return _values(
        keras.Model(inputs, layers.Conv2D(3, 3, padding="same", activation="sigmoid", dtype="float32")(x))
    )


# Made of noise


class Adversaries(keras.Model):
    """One tape each for who makes and who tells apart; both in one step."""

    def __init__(self, maker, teller, hidden=128):
        super().__init__()
        self.maker, self.teller, self.hidden = maker, teller, hidden

    def compile(self, optimizer, loss=None, **options):
        super().compile(optimizer=optimizer, loss=loss, **options)
        self.other = keras.optimizers.Adam(2e-4, beta_1=0.5)
        self.other.build(self.maker.trainable_variables)
        self.cross = keras.losses.BinaryCrossentropy(from_logits=True)

    def train_step(self, data):
        real = data[0] if isinstance(data, tuple) else data
        noise = tf.random.normal((tf.shape(real)[0], self.hidden))
        with tf.GradientTape() as makes, tf.GradientTape() as tells:
            made = self.maker(noise, training=True)
            yes, no = self.teller(real, training=True), self.teller(made, training=True)
            wrong = self.cross(tf.ones_like(yes), yes) + self.cross(tf.zeros_like(no), no)
            fooled = self.cross(tf.ones_like(no), no)
        ours, theirs = self.maker.trainable_variables, self.teller.trainable_variables
        self.other.apply_gradients(zip(makes.gradient(fooled, ours), ours))
        self.optimizer.apply_gradients(zip(tells.gradient(wrong, theirs), theirs))
        return {"fooled": fooled, "wrong": wrong}

    @property
    def trainable_variables(self):
        return self.teller.trainable_variables


@_add
def bedrooms_made():
    model = keras.Sequential([keras.Input((128,)), layers.Dense(8 * 8 * 256, use_bias=False)])
    model.add(layers.BatchNormalization())
    model.add(layers.ReLU())
    model.add(layers.Reshape((8, 8, 256)))
    for width in (128, 64):
        model.add(layers.Conv2DTranspose(width, 5, 2, "same", use_bias=False))
        model.add(layers.BatchNormalization())
        model.add(layers.ReLU())
    model.add(layers.Conv2DTranspose(3, 5, 2, "same", activation="tanh"))
    teller = keras.Sequential([keras.Input((64, 64, 3))])
    for width in (64, 128, 256):
        teller.add(layers.Conv2D(width, 5, 2, "same"))
        teller.add(layers.LeakyReLU(negative_slope=0.2))
        teller.add(layers.Dropout(0.3))
    teller.add(layers.Flatten())
    teller.add(layers.Dense(1))
    return _stepped(Adversaries(model, teller), ((64, 64, 3), "float32"))


class Denoised(keras.Model):
    """How much noise there is is drawn for each picture; the network tells the noise."""

    def __init__(self, network):
        super().__init__()
        self.network = network
        self.norm = layers.Normalization(mean=[0.5] * 3, variance=[0.25] * 3)

    def train_step(self, data):
        x = data[0] if isinstance(data, tuple) else data
        x = self.norm(x, training=True)
        count = tf.shape(x)[0]
        noise = tf.random.normal(tf.shape(x))
        angle = 0.3 + 1.2 * tf.random.uniform((count, 1, 1, 1))
        noisy = tf.cos(angle) * x + tf.sin(angle) * noise
        with tf.GradientTape() as tape:
            told = self.network([noisy, tf.square(tf.sin(angle))], training=True)
            loss = tf.reduce_mean(tf.abs(noise - told))
        weights = self.network.trainable_weights
        self.optimizer.apply_gradients(zip(tape.gradient(loss, weights), weights))
        return {"loss": loss}


@_add
def blossoms_of_noise():
    def residual(x, width):
        if x.shape[3] != width:
            short = layers.Conv2D(width, 1)(x)
        else:
            short = x
        x = layers.BatchNormalization(center=False, scale=False)(x)
        x = layers.Conv2D(width, 3, padding="same", activation="swish")(x)
        return layers.Add()([layers.Conv2D(width, 3, padding="same")(x), short])

    noisy, spread = keras.Input((64, 64, 3)), keras.Input((1, 1, 1))
    rates = [2.0 * 3.14159 * 1.3**power for power in range(16)]
    waves = layers.Lambda(lambda x: ops.concatenate([ops.sin(x * ops.array(rates)), ops.cos(x * ops.array(rates))], 3),
                          output_shape=(1, 1, 32))(spread)  # fmt: skip
    waves = layers.UpSampling2D(64)(waves)
    x = layers.Concatenate()([layers.Conv2D(32, 1)(noisy), waves])
    skips = []
    for width in (32, 64, 96):
        for _ in range(2):
            x = residual(x, width)
            skips.append(x)
        x = layers.AveragePooling2D(2)(x)
    x = residual(residual(x, 128), 128)
    for width in (96, 64, 32):
        x = layers.UpSampling2D(interpolation="bilinear")(x)
        for _ in range(2):
            x = residual(layers.Concatenate()([x, skips.pop()]), width)
    x = layers.Conv2D(3, 1, kernel_initializer="zeros")(x)
    return _stepped(Denoised(keras.Model([noisy, spread], x)), ((64, 64, 3), "float32"))


class Nearest(layers.Layer):
    """Each place by the nearest of a table's rows; the way back goes past it."""

    def __init__(self, count, width, beta=0.25):
        super().__init__()
        self.count, self.width, self.beta = count, width, beta

    def build(self, shape):
        self.table = self.add_weight(shape=(self.width, self.count), initializer="uniform", name="table")

    def call(self, x):
        shape = ops.shape(x)
        flat = ops.reshape(x, (-1, self.width))
        apart = (
            ops.sum(flat**2, axis=1, keepdims=True)
            + ops.sum(self.table**2, axis=0)
            - 2 * ops.matmul(flat, self.table)
        )
        ones = ops.one_hot(ops.argmin(apart, axis=1), self.count)
        near = ops.reshape(ops.matmul(ones, ops.transpose(self.table)), shape)
        self.add_loss(self.beta * ops.mean((ops.stop_gradient(near) - x) ** 2))
        self.add_loss(ops.mean((near - ops.stop_gradient(x)) ** 2))
        return x + ops.stop_gradient(near - x)


@_add
def tiles_from_a_table():
    inputs = x = keras.Input((64, 64, 3))
    for width in (64, 128):
        x = layers.Conv2D(width, 3, 2, "same", activation="relu")(x)
    x = Nearest(256, 32)(layers.Conv2D(32, 1)(x))
    for width in (128, 64):
        x = layers.Conv2DTranspose(width, 3, 2, "same", activation="relu")(x)
    return _values(keras.Model(inputs, layers.Conv2DTranspose(3, 3, padding="same", dtype="float32")(x)))


# Boxes and volumes


@_add
def balls_and_players():
    """Residual blocks, a small pyramid, heads that all levels share; boxes and kinds at each place."""

    def block(x, width, strides):
        y = layers.ReLU()(
            layers.BatchNormalization()(layers.Conv2D(width, 3, strides, "same", use_bias=False)(x))
        )
        y = layers.BatchNormalization()(layers.Conv2D(width, 3, padding="same", use_bias=False)(y))
        if strides > 1 or x.shape[-1] != width:
            x = layers.BatchNormalization()(layers.Conv2D(width, 1, strides, "same", use_bias=False)(x))
        return layers.ReLU()(layers.Add()([x, y]))

    inputs = keras.Input((256, 256, 3))
    x = layers.ReLU()(layers.BatchNormalization()(layers.Conv2D(32, 7, 2, "same", use_bias=False)(inputs)))
    x = layers.MaxPooling2D(3, 2, "same")(x)
    levels = []
    for width in (64, 128, 256):
        x = block(block(x, width, 2), width, 1)
        levels.append(layers.Conv2D(96, 1)(x))
    third, fourth, fifth = levels
    fourth = layers.Add()([fourth, layers.UpSampling2D()(fifth)])
    third = layers.Add()([third, layers.UpSampling2D()(fourth)])
    levels = [layers.Conv2D(96, 3, padding="same")(one) for one in (third, fourth, fifth)]

    def head(count):
        made = [layers.Conv2D(96, 3, padding="same", activation="relu") for _ in range(3)]
        return keras.Sequential(
            [keras.Input((None, None, 96)), *made, layers.Conv2D(count, 3, padding="same")]
        )

    kinds, boxes = head(9 * 3), head(9 * 4)
    parts = [
        layers.Concatenate(axis=1)([layers.Reshape((-1, last))(one(level)) for level in levels])
        for one, last in ((boxes, 4), (kinds, 3))
    ]
    out = layers.Activation("linear", dtype="float32")(layers.Concatenate()(parts))

    def loss(wanted, found):
        there = ops.cast(wanted[..., 4] > -0.5, "float32")
        off = ops.abs(wanted[..., :4] - found[..., :4])
        near = ops.sum(ops.where(off < 1.0, 0.5 * off**2, off - 0.5), axis=-1)
        ones = ops.one_hot(ops.cast(wanted[..., 4], "int32"), 3)
        cross = ops.binary_crossentropy(ones, found[..., 4:], from_logits=True)
        sure = ops.sigmoid(found[..., 4:])
        focal = ops.where(ones == 1.0, 0.25 * (1 - sure) ** 2, 0.75 * sure**2) * cross
        return (ops.sum(near * there, -1) + ops.sum(focal, (1, 2))) / (ops.sum(there, -1) + 1.0)

    return Case(keras.Model(inputs, out), loss, [((256, 256, 3), "float32")], ((out.shape[1], 5), "float32"))


@_add
def livers():
    """A U over volumes with norms per sample and leaky units."""

    def twice(x, width):
        for _ in range(2):
            x = layers.Conv3D(width, 3, padding="same")(x)
            x = layers.LeakyReLU(negative_slope=0.01)(layers.GroupNormalization(groups=-1)(x))
        return x

    inputs = x = keras.Input((48, 48, 32, 1))
    skips = []
    for width in (16, 32):
        x = twice(x, width)
        skips.append(x)
        x = layers.MaxPooling3D()(x)
    x = twice(x, 64)
    for width, skip in zip((32, 16), reversed(skips)):
        x = layers.Conv3DTranspose(width, 2, 2)(x)
        x = twice(layers.Concatenate()([x, skip]), width)
    return _labelled(keras.Model(inputs, layers.Conv3D(3, 1, dtype="float32")(x)), (48, 48, 32), _logits())
