"""An eleventh set for the rules for XLA, written and compiled before anything of it was compared: what people train
with Keras every day, as its guides and their own scripts have it. Named by what each is.

This half has pictures, films and what is made of noise; eleventh_other_models.py has the rest.
"""

import keras
import tensorflow as tf
from keras import layers, ops
from models import Case, _add
from ninth_look_models import _apply, _stepped
from third_look_models import _bn, _classes, _labelled, _logits, _values

# Applications with heads


@_add
def breeds_of_dogs():
    """A frozen application behind changed pictures, a head that is trained."""
    base = keras.applications.EfficientNetV2B0(include_top=False, weights=None, input_shape=(224, 224, 3))
    base.trainable = False
    i = keras.Input((224, 224, 3))
    x = layers.RandomContrast(0.1)(layers.RandomFlip("horizontal")(i))
    x = layers.GlobalAveragePooling2D()(base(x, training=False))
    x = layers.Dropout(0.3)(layers.BatchNormalization()(x))
    x = layers.Dense(256, activation="relu", kernel_regularizer=keras.regularizers.L2(1e-4))(x)
    return _classes(i, layers.Dropout(0.3)(x), 120)


@_add
def meals():
    """A residual application trained throughout, with softened labels."""
    base = keras.applications.ResNet50V2(
        include_top=False, weights=None, input_shape=(192, 192, 3), pooling="avg"
    )
    i = keras.Input((192, 192, 3))
    x = base(layers.Rescaling(1 / 127.5, offset=-1)(i))
    x = layers.Dense(101, activation="softmax", dtype="float32")(layers.Dropout(0.4)(x))
    loss = keras.losses.CategoricalCrossentropy(label_smoothing=0.1)
    return Case(keras.Model(i, x), loss, [((192, 192, 3), "float32")], ((101,), "float32"))


@_add
def chests():
    """Fourteen findings; the last third of the application is trained."""
    base = keras.applications.DenseNet121(include_top=False, weights=None, input_shape=(160, 160, 3))
    for layer in base.layers[:-140]:
        layer.trainable = False
    x = layers.GlobalAveragePooling2D()(base.output)
    x = layers.Dense(14, activation="sigmoid", dtype="float32")(layers.Dropout(0.2)(x))
    case = _values(keras.Model(base.input, x), "binary_crossentropy")
    case.options["metrics"] = [keras.metrics.AUC(multi_label=True, num_labels=14), "binary_accuracy"]
    return case


@_add
def prices_by_picture():
    """A picture and a row of a table tell one price."""
    base = keras.applications.MobileNetV2(
        include_top=False, weights=None, input_shape=(128, 128, 3), pooling="avg"
    )
    picture, row = keras.Input((128, 128, 3)), keras.Input((12,))
    x = layers.Dense(64, activation="relu")(base(picture))
    y = layers.Dense(64, activation="relu")(layers.BatchNormalization()(row))
    y = layers.Dense(32, activation="relu")(layers.Dropout(0.2)(y))
    x = layers.Dense(32, activation="relu")(layers.Concatenate()([x, y]))
    return _values(keras.Model([picture, row], layers.Dense(1, dtype="float32")(x)), "huber")


class FarOrNear(keras.Model):
    """A picture, one alike, one that is not; the distances are compared."""

    def train_step(self, data):
        anchor, alike, other = data[0]
        with tf.GradientTape() as tape:
            a, b, c = (self(x, training=True) for x in (anchor, alike, other))
            near = tf.reduce_sum(tf.square(a - b), -1)
            far = tf.reduce_sum(tf.square(a - c), -1)
            loss = tf.reduce_mean(tf.maximum(near - far + 0.5, 0.0))
        return _apply(self, tape, loss)


@_add
def totally_alike():
    base = keras.applications.ResNet50(include_top=False, weights=None, input_shape=(128, 128, 3))
    trained = False
    for layer in base.layers:
        trained = trained or layer.name == "conv5_block1_out"
        layer.trainable = trained
    x = layers.Dense(512, activation="relu")(layers.Flatten()(base.output))
    x = layers.Dense(256, activation="relu")(layers.BatchNormalization()(x))
    x = layers.Dense(256, dtype="float32")(layers.BatchNormalization()(x))
    size = ((128, 128, 3), "float32")
    return _stepped(FarOrNear(base.input, x), size, size, size, y=((), "int32"))


# Networks of one's own for pictures


@_add
def pets_outlined():
    """An application reads, transposed convolutions write, each beside what was read at its size."""
    base = keras.applications.MobileNetV2(include_top=False, weights=None, input_shape=(128, 128, 3))
    names = ["block_1", "block_3", "block_6", "block_13"]
    outputs = [base.get_layer(f"{name}_expand_relu").output for name in names]
    reader = keras.Model(base.input, [*outputs, base.get_layer("block_16_project").output])
    reader.trainable = False
    i = keras.Input((128, 128, 3))
    *kept, x = reader(i)
    for width, skip in zip((512, 256, 128, 64), reversed(kept)):
        x = layers.Conv2DTranspose(width, 3, 2, "same", use_bias=False)(x)
        x = layers.Concatenate()([layers.ReLU()(layers.BatchNormalization()(x)), skip])
    x = layers.Conv2DTranspose(3, 3, 2, "same", dtype="float32")(x)
    return _labelled(keras.Model(i, x), (128, 128), _logits())


def _overlap(wanted, found):
    both = ops.sum(wanted * found, axis=(1, 2, 3))
    share = (2 * both + 1.0) / (ops.sum(wanted, axis=(1, 2, 3)) + ops.sum(found, axis=(1, 2, 3)) + 1.0)
    return 1 - ops.mean(share) + ops.mean(keras.losses.binary_crossentropy(wanted, found))


@_add
def tumours():
    """A U with gates on what goes across, and a loss of overlaps."""
    i = x = keras.Input((192, 192, 3))
    kept = []
    for width in (32, 64, 128, 256):
        x = _bn(_bn(x, width), width)
        kept.append(x)
        x = layers.Dropout(0.1)(layers.MaxPooling2D()(x))
    x = _bn(_bn(x, 512), 512)
    for width, skip in zip((256, 128, 64, 32), reversed(kept)):
        x = layers.Conv2DTranspose(width, 2, 2, "same")(x)
        gate = layers.Conv2D(width // 2, 1)(x) + layers.Conv2D(width // 2, 1)(skip)
        gate = layers.Conv2D(1, 1, activation="sigmoid")(layers.ReLU()(gate))
        x = layers.Concatenate()([x, layers.Multiply()([skip, gate])])
        x = _bn(_bn(x, width), width)
    return _values(keras.Model(i, layers.Conv2D(1, 1, activation="sigmoid", dtype="float32")(x)), _overlap)


@_add
def people_in_parts():
    """Convolutions at several rates behind an application's middle, enlarged and read beside its beginning."""
    base = keras.applications.ResNet50(include_top=False, weights=None, input_shape=(256, 256, 3))
    x = base.get_layer("conv4_block6_2_relu").output
    y = layers.AveragePooling2D((16, 16))(x)
    y = layers.UpSampling2D((16, 16), interpolation="bilinear")(_bn(y, 256, 1))
    ways = [y, *(_bn(x, 256, 1 if rate == 1 else 3, dilation_rate=rate) for rate in (1, 6, 12, 18))]
    x = layers.UpSampling2D(4, interpolation="bilinear")(_bn(layers.Concatenate()(ways), 256, 1))
    y = _bn(base.get_layer("conv2_block3_2_relu").output, 48, 1)
    x = _bn(_bn(layers.Concatenate()([x, y]), 256), 256)
    x = layers.Conv2D(20, 1, dtype="float32")(layers.UpSampling2D(4, interpolation="bilinear")(x))
    return _labelled(keras.Model(base.input, x), (256, 256), _logits())


class Patches(layers.Layer):
    """Squares of a picture as a row of vectors, with learned places."""

    def __init__(self, side, width):
        super().__init__()
        self.side, self.dense = side, layers.Dense(width)

    def build(self, shape):
        count = (shape[1] // self.side) * (shape[2] // self.side)
        self.places = layers.Embedding(count, self.dense.units)
        self.places.build(None)
        self.dense.build((None, count, self.side * self.side * shape[3]))
        self.count = count

    def call(self, x):
        x = ops.image.extract_patches(x, self.side)
        x = ops.reshape(x, (-1, self.count, self.side * self.side * 3))
        return self.dense(x) + self.places(ops.arange(self.count))


@_add
def hundred_kinds():
    """A transformer over squares of small pictures, made larger and changed at its front."""
    i = keras.Input((32, 32, 3))
    x = layers.Resizing(72, 72)(layers.Rescaling(1 / 255)(i))
    x = layers.RandomBrightness(0.1, value_range=(0, 1))(layers.RandomFlip("horizontal")(x))
    x = Patches(6, 64)(x)
    for _ in range(8):
        y = layers.LayerNormalization(epsilon=1e-6)(x)
        x = layers.Add()([layers.MultiHeadAttention(4, 64, dropout=0.1)(y, y), x])
        y = layers.LayerNormalization(epsilon=1e-6)(x)
        for width in (128, 64):
            y = layers.Dropout(0.1)(layers.Dense(width, activation=keras.activations.gelu)(y))
        x = layers.Add()([y, x])
    x = layers.Dropout(0.5)(layers.Flatten()(layers.LayerNormalization(epsilon=1e-6)(x)))
    for width in (2048, 1024):
        x = layers.Dropout(0.5)(layers.Dense(width, activation="gelu")(x))
    return _labelled(keras.Model(i, layers.Dense(100, dtype="float32")(x)), (), _logits())


class Left(layers.Layer):
    """Whole branches left out at random, and a scale for each map."""

    def __init__(self, rate):
        super().__init__()
        self.rate = rate

    def build(self, shape):
        self.scale = self.add_weight(shape=(shape[-1],), initializer=keras.initializers.Constant(1e-6))
        self.seed = keras.random.SeedGenerator(3)

    def call(self, x, training=False):
        x = x * ops.cast(self.scale, x.dtype)
        if training:
            kept = keras.random.uniform((ops.shape(x)[0], 1, 1, 1), seed=self.seed, dtype=x.dtype)
            x = x / (1 - self.rate) * ops.floor(1 - self.rate + kept)
        return x


@_add
def modern_convolutions():
    i = keras.Input((128, 128, 3))
    x = layers.LayerNormalization(epsilon=1e-6)(layers.Conv2D(64, 4, 4)(i))
    for stage, (width, depth) in enumerate(((64, 2), (128, 2), (256, 4), (512, 2))):
        if stage:
            x = layers.Conv2D(width, 2, 2)(layers.LayerNormalization(epsilon=1e-6)(x))
        for _ in range(depth):
            y = layers.DepthwiseConv2D(7, padding="same")(x)
            y = layers.Dense(4 * width, activation="gelu")(layers.LayerNormalization(epsilon=1e-6)(y))
            x = x + Left(0.1)(layers.Dense(width)(y))
    x = layers.LayerNormalization(epsilon=1e-6)(layers.GlobalAveragePooling2D()(x))
    return _labelled(keras.Model(i, layers.Dense(200, dtype="float32")(x)), (), _logits())


def _inverted(x, more, width, step=1):
    y = _bn(x, more * x.shape[-1], 1, "swish")
    y = layers.DepthwiseConv2D(3, step, "same", use_bias=False)(y)
    y = _bn(layers.Activation("swish")(layers.BatchNormalization()(y)), width, 1, None)
    return layers.Add()([x, y]) if x.shape == y.shape else y


@_add
def light_and_attending():
    """Inverted bottlenecks, between them transformers over places of squares."""
    i = keras.Input((192, 192, 3))
    x = _bn(layers.Rescaling(1 / 255)(i), 16, 3, "swish", strides=2)
    x = _inverted(_inverted(_inverted(x, 2, 16), 2, 24, 2), 2, 24)
    for width, inner, depth in ((48, 64, 2), (64, 80, 3), (80, 96, 2)):
        x = _inverted(x, 2, width, 2)
        y = _bn(_bn(x, inner, 3, "swish"), inner, 1, "swish")
        height = y.shape[1]
        y = layers.Reshape((4, height * height // 4, inner))(y)
        for _ in range(depth):
            z = layers.LayerNormalization(epsilon=1e-6)(y)
            y = layers.Add()([layers.MultiHeadAttention(2, inner, dropout=0.1)(z, z), y])
            z = layers.LayerNormalization(epsilon=1e-6)(y)
            z = layers.Dropout(0.1)(layers.Dense(2 * inner, activation="swish")(z))
            y = layers.Add()([layers.Dropout(0.1)(layers.Dense(inner)(z)), y])
        y = _bn(layers.Reshape((height, height, inner))(y), width, 1, "swish")
        x = _bn(layers.Concatenate()([x, y]), width, 3, "swish")
    return _classes(i, layers.GlobalAveragePooling2D()(_bn(x, 320, 1, "swish")), 5)


@_add
def boxes_at_three_sizes():
    """Maps halved and joined again by stages; three heads tell boxes, each on its own grid."""

    def joined(x, width, depth):
        a, b = _bn(x, width // 2, 1, "swish"), _bn(x, width // 2, 1, "swish")
        for _ in range(depth):
            a = layers.Add()([a, _bn(_bn(a, width // 2, 1, "swish"), width // 2, 3, "swish")])
        return _bn(layers.Concatenate()([a, b]), width, 1, "swish")

    i = keras.Input((320, 320, 3))
    x = _bn(_bn(i, 24, 6, "swish", strides=2), 48, 3, "swish", strides=2)
    x = joined(x, 48, 1)
    kept = []
    for width, depth in ((96, 2), (192, 3), (384, 1)):
        x = joined(_bn(x, width, 3, "swish", strides=2), width, depth)
        kept.append(x)
    pools = [_bn(x, 192, 1, "swish")]
    for _ in range(3):
        pools.append(layers.MaxPooling2D(5, 1, "same")(pools[-1]))
    x = _bn(layers.Concatenate()(pools), 384, 1, "swish")
    up = [x]
    for width, skip in ((192, kept[1]), (96, kept[0])):
        x = layers.UpSampling2D()(_bn(x, width, 1, "swish"))
        x = joined(layers.Concatenate()([x, skip]), width, 1)
        up.append(x)
    heads = [
        layers.Conv2D(3 * 25, 1, dtype="float32", name=f"head_{place}")(one) for place, one in enumerate(up)
    ]

    def loss(wanted, found):
        there = wanted[..., ::25]
        sizes = (*wanted.shape[1:3], 3, 25)
        a, b = ops.reshape(wanted, (-1, *sizes)), ops.reshape(found, (-1, *sizes))
        boxes = ops.sum(there * ops.sum(ops.square(a[..., 1:5] - ops.sigmoid(b[..., 1:5])), axis=-1))
        sure = ops.sum(ops.binary_crossentropy(a[..., 0], b[..., 0], from_logits=True))
        kinds = ops.sum(ops.binary_crossentropy(a[..., 5:], b[..., 5:], from_logits=True) * there[..., None])
        return 5 * boxes + sure + kinds

    return Case(keras.Model(i, heads), [loss] * 3, [((320, 320, 3), "float32")],
                [(tuple(one.shape[1:]), "float32") for one in heads])  # fmt: skip


@_add
def read_from_pictures():
    """Letters in a row, told by a loss that needs no places."""
    i = keras.Input((200, 50, 1))
    x = layers.Conv2D(32, 3, padding="same", activation="relu", kernel_initializer="he_normal")(i)
    x = layers.Conv2D(64, 3, padding="same", activation="relu")(layers.MaxPooling2D()(x))
    x = layers.Reshape((50, 12 * 64))(layers.MaxPooling2D()(x))
    x = layers.Dropout(0.2)(layers.Dense(64, activation="relu")(x))
    x = layers.Bidirectional(layers.LSTM(128, return_sequences=True, dropout=0.25))(x)
    x = layers.Bidirectional(layers.LSTM(64, return_sequences=True, dropout=0.25))(x)
    out = layers.Dense(21, activation="softmax", dtype="float32")(x)
    return Case(keras.Model(i, out), "ctc", [((200, 50, 1), "float32")], ((5,), "int32"))


@_add
def scratches():
    """What is whole is written again; how alike is told by windows."""
    i = x = keras.Input((128, 128, 1))
    for width in (32, 64, 128):
        x = layers.LeakyReLU()(_bn(x, width, 4, None, strides=2))
    x = layers.Dense(100)(layers.Flatten()(x))
    x = layers.Reshape((16, 16, 128))(layers.Dense(16 * 16 * 128)(x))
    for width in (128, 64, 32):
        x = layers.Conv2DTranspose(width, 4, 2, "same")(x)
        x = layers.LeakyReLU()(layers.BatchNormalization()(x))
    x = layers.Conv2D(1, 3, padding="same", activation="sigmoid", dtype="float32")(x)

    def unlike(wanted, found):
        return 1 - tf.reduce_mean(tf.image.ssim(wanted, found, 1.0))

    return _values(keras.Model(i, x), unlike)


@_add
def twice_as_sharp():
    """Sixteen blocks without normalization, pixels from maps."""
    i = keras.Input((48, 48, 3))
    x = first = layers.Conv2D(64, 3, padding="same")(layers.Rescaling(1 / 255)(i))
    for _ in range(16):
        y = layers.Conv2D(64, 3, padding="same", activation="relu")(x)
        x = layers.Add()([x, layers.Rescaling(0.1)(layers.Conv2D(64, 3, padding="same")(y))])
    x = layers.Add()([first, layers.Conv2D(64, 3, padding="same")(x)])
    x = layers.Conv2D(256, 3, padding="same")(x)
    x = layers.Lambda(lambda maps: tf.nn.depth_to_space(maps, 2), output_shape=(96, 96, 64))(x)
    x = layers.Rescaling(255.0, dtype="float32")(layers.Conv2D(3, 3, padding="same")(x))
    return _values(keras.Model(i, x), "mae")


# Films and volumes


@_add
def gestures_in_films():
    """Convolutions over places, then over time, with ways round them."""

    def both(x, width):
        x = layers.Conv3D(width, (1, 3, 3), padding="same")(x)
        return layers.Conv3D(width, (3, 1, 1), padding="same")(x)

    i = keras.Input((10, 112, 112, 3))
    x = layers.ReLU()(layers.BatchNormalization()(both(i, 16)))
    for width in (16, 32, 64, 128):
        x = layers.MaxPooling3D((1, 2, 2))(x)
        y = layers.ReLU()(layers.LayerNormalization()(both(x, width)))
        y = layers.LayerNormalization()(both(y, width))
        if x.shape[-1] != width:
            x = layers.LayerNormalization()(layers.Dense(width)(x))
        x = layers.ReLU()(layers.Add()([x, y]))
    return _classes(i, layers.Flatten()(layers.GlobalAveragePooling3D()(x)), 10)


@_add
def organs_in_volumes():
    """A U in three dimensions with instance norms, as segmentations of scans are trained."""

    def twice(x, width):
        for _ in range(2):
            x = layers.Conv3D(width, 3, padding="same", use_bias=False)(x)
            x = layers.LeakyReLU(negative_slope=0.01)(layers.GroupNormalization(-1)(x))
        return x

    i = x = keras.Input((64, 64, 64, 4))
    kept = []
    for width in (16, 32, 64):
        x = twice(x, width)
        kept.append(x)
        x = layers.Conv3D(width, 3, 2, "same")(x)
    x = twice(x, 128)
    for width, skip in zip((64, 32, 16), reversed(kept)):
        x = twice(layers.Concatenate()([layers.Conv3DTranspose(width, 2, 2)(x), skip]), width)
    return _labelled(
        keras.Model(i, layers.Conv3D(4, 1, activation="softmax", dtype="float32")(x)), (64, 64, 64)
    )


# Steps of their own


class CriticFirst(keras.Model):
    """The critic's step three times, with a penalty on its gradient; then the generator's."""

    critic = second = None

    def train_step(self, data):
        real, _ = data
        count = real.shape[0]
        for _ in range(3):
            noise = tf.random.normal((count, 128))
            with tf.GradientTape() as tape:
                made = self(noise, training=True)
                part = tf.random.uniform((count, 1, 1, 1))
                between = real + part * (made - real)
                with tf.GradientTape() as inner:
                    inner.watch(between)
                    said = self.critic(between, training=True)
                slopes = inner.gradient(said, [between])[0]
                norms = tf.sqrt(tf.reduce_sum(tf.square(slopes), axis=[1, 2, 3]))
                penalty = 10.0 * tf.reduce_mean((norms - 1.0) ** 2)
                judged = tf.reduce_mean(self.critic(made, training=True))
                judged += penalty - tf.reduce_mean(self.critic(real, training=True))
            variables = self.critic.trainable_variables
            self.second.apply_gradients(zip(tape.gradient(judged, variables), variables))
        with tf.GradientTape() as tape:
            made = self(tf.random.normal((count, 128)), training=True)
            loss = -tf.reduce_mean(self.critic(made, training=True))
        return _apply(self, tape, loss)


@_add
def clothes_made():
    z = keras.Input((128,))
    x = layers.LeakyReLU(0.2)(layers.BatchNormalization()(layers.Dense(4 * 4 * 256, use_bias=False)(z)))
    x = layers.Reshape((4, 4, 256))(x)
    for width, act in ((128, "leaky_relu"), (64, "leaky_relu"), (1, "tanh")):
        x = _bn(layers.UpSampling2D()(x), width, 3, act)
    i = y = keras.Input((32, 32, 1))
    for width in (64, 128, 256, 512):
        y = layers.LeakyReLU(0.2)(layers.Conv2D(width, 5, 2, "same")(y))
        y = layers.Dropout(0.3)(y) if width > 64 else y
    critic = keras.Model(i, layers.Dense(1)(layers.Dropout(0.2)(layers.Flatten()(y))))
    model = CriticFirst(z, x)
    model.critic, model.second = critic, keras.optimizers.Adam(2e-4, beta_1=0.5, beta_2=0.9)
    model.second.build(critic.trainable_variables)
    return _stepped(model, ((32, 32, 1), "float32"), y=((1,), "int32"))


class Painted(keras.Model):
    """Outlines are painted; a judge of squares sees both, and the difference counts as well."""

    judge = second = None

    def train_step(self, data):
        outlines, pictures = data
        entropy = keras.losses.BinaryCrossentropy(from_logits=True)
        with tf.GradientTape() as one, tf.GradientTape() as two:
            made = self(outlines, training=True)
            real = self.judge([outlines, pictures], training=True)
            false = self.judge([outlines, made], training=True)
            fooled = entropy(tf.ones_like(false), false)
            loss = fooled + 100.0 * tf.reduce_mean(tf.abs(pictures - made))
            judged = entropy(tf.ones_like(real), real) + entropy(tf.zeros_like(false), false)
        variables = self.judge.trainable_variables
        self.second.apply_gradients(zip(two.gradient(judged, variables), variables))
        return _apply(self, one, loss)


@_add
def fronts_of_houses():
    i = x = keras.Input((256, 256, 3))
    kept = []
    for place, width in enumerate((64, 128, 256, 512, 512, 512)):
        x = layers.Conv2D(width, 4, 2, "same", use_bias=False)(x)
        x = layers.BatchNormalization()(x) if place else x
        x = layers.LeakyReLU()(x)
        kept.append(x)
    for place, (width, skip) in enumerate(zip((512, 512, 256, 128, 64), reversed(kept[:-1]))):
        x = layers.Conv2DTranspose(width, 4, 2, "same", use_bias=False)(x)
        x = layers.BatchNormalization()(x)
        x = layers.Dropout(0.5)(x) if place < 2 else x
        x = layers.Concatenate()([layers.ReLU()(x), skip])
    out = layers.Conv2DTranspose(3, 4, 2, "same", activation="tanh")(x)
    a, b = keras.Input((256, 256, 3)), keras.Input((256, 256, 3))
    y = layers.Concatenate()([a, b])
    for place, width in enumerate((64, 128, 256)):
        y = layers.Conv2D(width, 4, 2, "same", use_bias=False)(y)
        y = layers.LeakyReLU()(layers.BatchNormalization()(y) if place else y)
    y = layers.Conv2D(512, 4, use_bias=False)(layers.ZeroPadding2D()(y))
    y = layers.LeakyReLU()(layers.BatchNormalization()(y))
    model = Painted(i, out)
    model.judge = keras.Model([a, b], layers.Conv2D(1, 4)(layers.ZeroPadding2D()(y)))
    model.second = keras.optimizers.Adam(2e-4, beta_1=0.5)
    model.second.build(model.judge.trainable_variables)
    return _stepped(model, ((256, 256, 3), "float32"), y=((256, 256, 3), "float32"))


class Denoised(keras.Model):
    """Noise as of a time is told; a second network is the average of the first."""

    average = None

    def train_step(self, data):
        pictures, _ = data
        count = pictures.shape[0]
        noise = keras.random.normal((count, 64, 64, 3))
        times = keras.random.uniform((count, 1, 1, 1))
        angles = 1.55 + times * (0.2 - 1.55)
        signal, amount = ops.cos(angles), ops.sin(angles)
        mixed = signal * pictures + amount * noise
        with tf.GradientTape() as tape:
            found = self([mixed, amount**2], training=True)
            loss = ops.mean(ops.abs(noise - found))
        logs = _apply(self, tape, loss)
        for weight, kept in zip(self.weights, self.average.weights):
            kept.assign(0.999 * kept + 0.001 * weight)
        return logs


@_add
def blossoms():
    def network():
        def block(x, width):
            short = x if x.shape[-1] == width else layers.Conv2D(width, 1)(x)
            x = layers.BatchNormalization(center=False, scale=False)(x)
            x = layers.Conv2D(width, 3, padding="same", activation="swish")(x)
            return layers.Add()([layers.Conv2D(width, 3, padding="same")(x), short])

        i, amount = keras.Input((64, 64, 3)), keras.Input((1, 1, 1))
        speeds = 2.0 * 3.14159 * ops.exp(ops.linspace(0.0, 6.9, 16))
        e = ops.concatenate([ops.sin(speeds * amount), ops.cos(speeds * amount)], axis=3)
        e = layers.UpSampling2D(64, interpolation="nearest")(e)
        x = layers.Concatenate()([layers.Conv2D(32, 1)(i), e])
        kept = []
        for width in (32, 64, 96):
            for _ in range(2):
                x = block(x, width)
                kept.append(x)
            x = layers.AveragePooling2D(2)(x)
        x = block(block(x, 128), 128)
        for width in (96, 64, 32):
            x = layers.UpSampling2D(interpolation="bilinear")(x)
            for _ in range(2):
                x = block(layers.Concatenate()([x, kept.pop()]), width)
        return [i, amount], layers.Conv2D(3, 1, kernel_initializer="zeros")(x)

    model = Denoised(*network())
    model.average = keras.Model(*network())
    return _stepped(model, ((64, 64, 3), "float32"), y=((1,), "int32"))


class Drawn(keras.Model):
    """A reader of means and spreads, a writer, and three means that are kept."""

    reader = writer = None

    def __init__(self, *given):
        super().__init__(*given)
        self.means = [keras.metrics.Mean(name=name) for name in ("whole", "written", "spread")]

    def train_step(self, data):
        x, _ = data
        with tf.GradientTape() as tape:
            mean, log = self.reader(x, training=True)
            z = mean + ops.exp(0.5 * log) * keras.random.normal(ops.shape(mean))
            made = self.writer(z, training=True)
            written = ops.mean(ops.sum(keras.losses.binary_crossentropy(x, made), axis=(1, 2)))
            spread = -0.5 * ops.mean(ops.sum(1 + log - ops.square(mean) - ops.exp(log), axis=1))
            loss = written + 4.0 * spread
        variables = self.reader.trainable_weights + self.writer.trainable_weights
        self.optimizer.apply(tape.gradient(loss, variables), variables)
        for metric, value in zip(self.means, (loss, written, spread)):
            metric.update_state(value)
        return {metric.name: metric.result() for metric in self.means}


@_add
def shapes_drawn():
    i = x = keras.Input((64, 64, 1))
    for width in (32, 32, 64, 64):
        x = layers.Conv2D(width, 4, 2, "same", activation="relu")(x)
    x = layers.Dense(256, activation="relu")(layers.Flatten()(x))
    reader = keras.Model(i, [layers.Dense(10)(x), layers.Dense(10)(x)])
    z = keras.Input((10,))
    y = layers.Dense(4 * 4 * 64, activation="relu")(layers.Dense(256, activation="relu")(z))
    y = layers.Reshape((4, 4, 64))(y)
    for width in (64, 32, 32):
        y = layers.Conv2DTranspose(width, 4, 2, "same", activation="relu")(y)
    writer = keras.Model(z, layers.Conv2DTranspose(1, 4, 2, "same", activation="sigmoid")(y))
    model = Drawn(i, writer(reader(i)[0]))
    model.reader, model.writer = reader, writer
    return _stepped(model, ((64, 64, 1), "float32"), y=((1,), "int32"))


class Unlabelled(keras.Model):
    """Few labels; of pictures without one, the network's sure answers on a weak change teach a strong one."""

    def train_step(self, data):
        (x, other), y = data
        said = tf.nn.sparse_softmax_cross_entropy_with_logits
        count = x.shape[0]
        strong = tf.image.random_flip_left_right(other) + tf.random.normal(other.shape, stddev=0.2)
        weak = tf.image.random_flip_left_right(other)
        with tf.GradientTape() as tape:
            found = self(tf.concat([x, weak, strong], axis=0), training=True)
            more = (found.shape[0] - count) // 2
            known, first, second = tf.split(found, [count, more, more])
            share = tf.nn.softmax(tf.stop_gradient(first))
            sure = tf.cast(tf.reduce_max(share, axis=-1) > 0.95, tf.float32)
            loss = tf.reduce_mean(said(y, known))
            loss += tf.reduce_mean(sure * said(tf.argmax(share, axis=-1), second))
        return _apply(self, tape, loss)


@_add
def few_labels():
    i = keras.Input((32, 32, 3))
    x = layers.Conv2D(16, 3, padding="same", use_bias=False)(i)
    for width, step in ((32, 1), (32, 1), (64, 2), (64, 1), (128, 2), (128, 1)):
        y = layers.LeakyReLU(0.1)(layers.BatchNormalization()(x))
        z = layers.Conv2D(width, 3, step, "same", use_bias=False)(y)
        z = layers.LeakyReLU(0.1)(layers.BatchNormalization()(z))
        z = layers.Conv2D(width, 3, padding="same", use_bias=False)(z)
        x = z + (x if x.shape == z.shape else layers.Conv2D(width, 1, step, use_bias=False)(y))
    x = layers.GlobalAveragePooling2D()(layers.LeakyReLU(0.1)(layers.BatchNormalization()(x)))
    size = ((32, 32, 3), "float32")
    model = Unlabelled(i, layers.Dense(10, dtype="float32")(x))
    return _stepped(model, size, size, y=((), "int32"))


class Supervised(keras.Model):
    """Pictures of one kind are near each other among all of the batch."""

    def train_step(self, data):
        x, y = data
        with tf.GradientTape() as tape:
            found = tf.math.l2_normalize(self(x, training=True), axis=1)
            near = tf.matmul(found, found, transpose_b=True) / 0.05
            alike = tf.cast(tf.equal(y[:, None], y[None, :]), tf.float32)
            alike /= tf.reduce_sum(alike, axis=1, keepdims=True)
            loss = tf.reduce_mean(tf.nn.softmax_cross_entropy_with_logits(alike, near))
        return _apply(self, tape, loss)


@_add
def kinds_near_each_other():
    base = keras.applications.ResNet50V2(
        include_top=False, weights=None, input_shape=(32, 32, 3), pooling="avg"
    )
    i = keras.Input((32, 32, 3))
    x = base(layers.RandomFlip("horizontal")(layers.Normalization(mean=0.5, variance=0.1)(i)))
    model = Supervised(i, layers.Dense(128, activation="relu", dtype="float32")(x))
    return _stepped(model, ((32, 32, 3), "float32"), y=((), "int32"))


class Redundant(keras.Model):
    """Two views' correlations over the batch are to be one on the diagonal and none beside it."""

    def train_step(self, data):
        one, two = data[0]
        with tf.GradientTape() as tape:
            a, b = self(one, training=True), self(two, training=True)
            a = (a - tf.reduce_mean(a, axis=0)) / (tf.math.reduce_std(a, axis=0) + 1e-5)
            b = (b - tf.reduce_mean(b, axis=0)) / (tf.math.reduce_std(b, axis=0) + 1e-5)
            shared = tf.matmul(a, b, transpose_a=True) / tf.cast(a.shape[0], tf.float32)
            own = tf.square(tf.linalg.diag_part(shared) - 1.0)
            rest = tf.square(tf.linalg.set_diag(shared, tf.zeros(shared.shape[0])))
            loss = tf.reduce_sum(own) + 5e-3 * tf.reduce_sum(rest)
        return _apply(self, tape, loss)


@_add
def nothing_twice():
    i = keras.Input((64, 64, 3))
    x = _bn(i, 64)
    for width, step in ((64, 1), (128, 2), (256, 2)):
        y = _bn(_bn(x, width, strides=step), width, activation=None)
        x = layers.ReLU()(layers.Add()([y, layers.Conv2D(width, 1, step, use_bias=False)(x)]))
    x = layers.GlobalAveragePooling2D()(x)
    for width in (2048, 2048):
        x = layers.ReLU()(layers.BatchNormalization()(layers.Dense(width, use_bias=False)(x)))
    size = ((64, 64, 3), "float32")
    return _stepped(Redundant(i, layers.Dense(2048, dtype="float32")(x)), size, size, y=((), "int32"))
