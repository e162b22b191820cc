"""A twelfth set for the rules for XLA, written and compiled before anything of it was compared: ordinary models in the
styles in which users write them (Sequential, functions, classes, steps of their own). Named by what each is.

This half has pictures, films and what is made of noise; twelfth_other_models.py has the rest.
"""

import keras
import tensorflow as tf
from keras import layers, ops, regularizers
from models import Case, Positions, _add
from ninth_look_models import _apply, _stepped
from third_look_models import _classes, _labelled, _logits, _values

# Pictures to classes


@_add
def five_flowers():
    """The tutorial's network with pictures changed at its front."""
    model = keras.Sequential(
        [
            keras.Input((180, 180, 3)),
            layers.RandomFlip("horizontal"),
            layers.RandomContrast(0.2),
            layers.Rescaling(1.0 / 255),
            layers.Conv2D(16, 3, padding="same", activation="relu"),
            layers.MaxPooling2D(),
            layers.Conv2D(32, 3, padding="same", activation="relu"),
            layers.MaxPooling2D(),
            layers.Conv2D(64, 3, padding="same", activation="relu"),
            layers.MaxPooling2D(),
            layers.Dropout(0.2),
            layers.Flatten(),
            layers.Dense(128, activation="relu"),
            layers.Dense(5, dtype="float32"),
        ]
    )
    return _labelled(model, (), _logits())


@_add
def letters_by_hand():
    model = keras.Sequential([keras.Input((28, 28, 1))])
    model.add(layers.SeparableConv2D(32, 3, activation="relu"))
    model.add(layers.SeparableConv2D(64, 3, activation="relu"))
    model.add(layers.MaxPooling2D())
    model.add(layers.SeparableConv2D(128, 3, activation="relu"))
    model.add(layers.SeparableConv2D(128, 3, activation="relu"))
    model.add(layers.GlobalAveragePooling2D())
    model.add(layers.Dense(64, activation="relu"))
    model.add(layers.Dropout(0.4))
    model.add(layers.Dense(26, activation="softmax", dtype="float32"))
    return _labelled(model)


@_add
def planes_and_cars():
    """Twenty layers with ways round them, all with decaying weights."""

    def conv(x, filters, size=3, strides=1):
        return layers.Conv2D(
            filters,
            size,
            strides=strides,
            padding="same",
            kernel_initializer="he_normal",
            kernel_regularizer=regularizers.l2(1e-4),
        )(x)

    inputs = keras.Input((32, 32, 3))
    x = layers.Activation("relu")(layers.BatchNormalization()(conv(inputs, 16)))
    filters = 16
    for stack in range(3):
        for block in range(3):
            strides = 2 if stack > 0 and block == 0 else 1
            y = layers.Activation("relu")(layers.BatchNormalization()(conv(x, filters, strides=strides)))
            y = layers.BatchNormalization()(conv(y, filters))
            if strides == 2:
                x = conv(x, filters, 1, strides)
            x = layers.Activation("relu")(layers.add([x, y]))
        filters *= 2
    x = layers.Flatten()(layers.AveragePooling2D(8)(x))
    return _classes(inputs, x)


class InfectedCells(keras.Model):
    """Blocks in a class of its own, as a beginner's first class has them."""

    def __init__(self):
        super().__init__()
        self.blocks = []
        for width in (32, 64, 128, 256):
            self.blocks.append(
                [
                    layers.Conv2D(width, 3, padding="same", activation="relu"),
                    layers.Conv2D(width, 3, padding="same", activation="relu"),
                    layers.BatchNormalization(),
                    layers.MaxPooling2D(),
                    layers.Dropout(0.2),
                ]
            )
        self.pool = layers.GlobalMaxPooling2D()
        self.hidden = layers.Dense(256, activation="relu")
        self.out = layers.Dense(1, activation="sigmoid", dtype="float32")

    def call(self, x, training=False):
        for *convolutions, norm, pool, drop in self.blocks:
            for convolution in convolutions:
                x = convolution(x)
            x = drop(pool(norm(x, training=training)), training=training)
        return self.out(self.hidden(self.pool(x)))


@_add
def infected_cells():
    model = InfectedCells()
    model(keras.Input((96, 96, 3)))
    return Case(model, "binary_crossentropy", [((96, 96, 3), "float32")], ((1,), "float32"))


@_add
def leaves_diseased():
    base = keras.applications.MobileNetV3Small(
        include_top=False, weights=None, input_shape=(224, 224, 3), pooling="avg"
    )
    x = layers.Dropout(0.2)(base.output)
    return _classes(base.input, x, 38)


@_add
def dogs_beside_cats():
    """An application that is frozen, on pictures of 150, changed and scaled in front."""
    base = keras.applications.Xception(include_top=False, weights=None, input_shape=(150, 150, 3))
    base.trainable = False
    inputs = keras.Input((150, 150, 3))
    x = layers.RandomFlip("horizontal")(inputs)
    x = layers.RandomBrightness(0.1)(x)
    x = base(layers.Rescaling(1 / 127.5, offset=-1)(x), training=False)
    x = layers.Dropout(0.2)(layers.GlobalAveragePooling2D()(x))
    return _values(
        keras.Model(inputs, layers.Dense(1, dtype="float32")(x)),
        keras.losses.BinaryCrossentropy(from_logits=True),
    )


@_add
def skin_spots():
    """All of an application but its normalizations is trained again."""
    base = keras.applications.EfficientNetB0(include_top=False, weights=None, input_shape=(192, 192, 3))
    for layer in base.layers:
        layer.trainable = not isinstance(layer, layers.BatchNormalization)
    x = layers.GlobalAveragePooling2D()(base.output)
    x = layers.Dropout(0.3)(layers.BatchNormalization()(x))
    return _classes(base.input, x, 7)


@_add
def rooms():
    """The upper blocks of an application and a head are trained, the largest of each map counts."""
    base = keras.applications.InceptionV3(include_top=False, weights=None, input_shape=(160, 160, 3))
    for layer in base.layers[:249]:
        layer.trainable = False
    x = layers.GlobalMaxPooling2D()(base.output)
    x = layers.Dense(512, activation="relu")(x)
    return _classes(base.input, layers.Dropout(0.5)(x), 67)


@_add
def textures():
    base = keras.applications.ConvNeXtTiny(include_top=False, weights=None, input_shape=(128, 128, 3))
    x = layers.LayerNormalization(epsilon=1e-6)(layers.GlobalAveragePooling2D()(base.output))
    return _classes(base.input, x, 47)


class Encoder(layers.Layer):
    def __init__(self, width, heads, inner, rate=0.1):
        super().__init__()
        self.first, self.second = layers.LayerNormalization(), layers.LayerNormalization()
        self.attention = layers.MultiHeadAttention(heads, width // heads, dropout=rate)
        self.inner = keras.Sequential(
            [
                layers.Dense(inner, activation="gelu"),
                layers.Dropout(rate),
                layers.Dense(width),
                layers.Dropout(rate),
            ]
        )

    def build(self, shape):
        self.first.build(shape)
        self.second.build(shape)
        self.attention.build(shape, shape)
        self.inner.build(shape)

    def call(self, x, training=False, **options):
        y = self.first(x)
        x = x + self.attention(y, y, training=training, **options)
        return x + self.inner(self.second(x), training=training)


class WithToken(layers.Layer):
    """A learned vector in front, and learned places."""

    def build(self, shape):
        self.token = self.add_weight(shape=(1, 1, shape[-1]), initializer="zeros")
        self.places = self.add_weight(shape=(1, shape[1] + 1, shape[-1]), initializer="random_normal")

    def call(self, x):
        token = ops.broadcast_to(ops.cast(self.token, x.dtype), (ops.shape(x)[0], 1, x.shape[-1]))
        return ops.concatenate([token, x], axis=1) + ops.cast(self.places, x.dtype)


@_add
def squares_with_token():
    inputs = keras.Input((224, 224, 3))
    x = layers.Conv2D(192, 16, 16)(layers.Rescaling(1 / 255)(inputs))
    x = WithToken()(layers.Reshape((196, 192))(x))
    for _ in range(12):
        x = Encoder(192, 3, 768)(x)
    x = layers.LayerNormalization()(x)[:, 0]
    return _labelled(keras.Model(inputs, layers.Dense(1000, dtype="float32")(x)), (), _logits())


@_add
def faces_three_answers():
    """Age, kind and origin of a face by one trunk, each with its loss."""
    inputs = x = keras.Input((128, 128, 3))
    for width in (32, 64, 96, 128, 256):
        x = layers.Conv2D(width, 3, padding="same")(x)
        x = layers.LeakyReLU()(layers.BatchNormalization()(x))
        x = layers.MaxPooling2D()(x)
    x = layers.Flatten()(x)

    def head(units, activation, name):
        y = layers.Dropout(0.3)(layers.Dense(128, activation="relu")(x))
        return layers.Dense(units, activation, dtype="float32", name=name)(y)

    outputs = [head(1, None, "age"), head(1, "sigmoid", "kind"), head(5, "softmax", "origin")]
    model = keras.Model(inputs, outputs)
    loss = ["mae", "binary_crossentropy", "sparse_categorical_crossentropy"]
    options = {"loss_weights": [0.1, 1.0, 1.0], "metrics": [["mae"], ["accuracy"], ["accuracy"]]}
    wanted = [((1,), "float32"), ((1,), "float32"), ((), "int32")]
    return Case(model, loss, [((128, 128, 3), "float32")], wanted, options)


@_add
def points_of_faces():
    model = keras.Sequential([keras.Input((96, 96, 1))])
    for width in (32, 64, 96, 128, 256, 512):
        for _ in range(2):
            model.add(layers.Conv2D(width, 3, padding="same", use_bias=False))
            model.add(layers.LeakyReLU(0.1))
            model.add(layers.BatchNormalization())
        if width < 512:
            model.add(layers.MaxPooling2D())
    model.add(layers.Flatten())
    model.add(layers.Dense(512, activation="relu"))
    model.add(layers.Dropout(0.1))
    model.add(layers.Dense(30, dtype="float32"))
    return _values(model)


class SmallerByLarger(keras.Model):
    """What a larger network says of a picture, softened, is what a smaller one learns."""

    def __init__(self, student, teacher):
        super().__init__()
        self.student, self.teacher = student, teacher
        teacher.trainable = False

    def call(self, x, training=False):
        return self.student(x, training=training)

    def compute_loss(self, x=None, y=None, y_pred=None, sample_weight=None, training=True):
        said = self.teacher(x, training=False)
        own = keras.losses.sparse_categorical_crossentropy(y, y_pred, from_logits=True)
        soft = keras.losses.kl_divergence(ops.softmax(said / 10.0), ops.softmax(y_pred / 10.0))
        return ops.mean(0.1 * own) + ops.mean(0.9 * soft) * 100.0


@_add
def smaller_by_larger():
    def network(widths):
        model = keras.Sequential([keras.Input((64, 64, 3))])
        for width in widths:
            model.add(layers.Conv2D(width, 3, strides=2, padding="same"))
            model.add(layers.LeakyReLU(0.2))
            model.add(layers.MaxPooling2D(2, strides=1, padding="same"))
            model.add(layers.Conv2D(2 * width, 3, padding="same"))
            model.add(layers.ReLU())
        model.add(layers.Flatten())
        model.add(layers.Dense(10, dtype="float32"))
        return model

    model = SmallerByLarger(network((16, 32)), network((128, 256)))
    model.build((None, 64, 64, 3))
    return Case(model, None, [((64, 64, 3), "float32")], ((), "int32"))


@_add
def alike_or_not():
    """Two drawings through one network; how far apart they are tells whether they are the same."""
    encoder = keras.Sequential(
        [
            keras.Input((105, 105, 1)),
            layers.Conv2D(64, 10, activation="relu", kernel_regularizer=regularizers.l2(2e-4)),
            layers.MaxPooling2D(),
            layers.Conv2D(128, 7, activation="relu", kernel_regularizer=regularizers.l2(2e-4)),
            layers.MaxPooling2D(),
            layers.Conv2D(128, 4, activation="relu", kernel_regularizer=regularizers.l2(2e-4)),
            layers.MaxPooling2D(),
            layers.Conv2D(256, 4, activation="relu", kernel_regularizer=regularizers.l2(2e-4)),
            layers.Flatten(),
            layers.Dense(4096, activation="sigmoid", kernel_regularizer=regularizers.l2(1e-3)),
        ]
    )
    left, right = keras.Input((105, 105, 1)), keras.Input((105, 105, 1))
    distance = layers.Lambda(lambda both: ops.abs(both[0] - both[1]))([encoder(left), encoder(right)])
    out = layers.Dense(1, activation="sigmoid", dtype="float32")(distance)
    return _values(keras.Model([left, right], out), "binary_crossentropy")


# Pictures to pictures and places


@_add
def membranes():
    """The U as its paper's followers write it: no normalization, transposed convolutions."""
    inputs = keras.Input((256, 256, 1))
    x, skips = inputs, []
    for filters in (64, 128, 256, 512):
        x = layers.Conv2D(filters, 3, activation="relu", padding="same", kernel_initializer="he_normal")(x)
        x = layers.Conv2D(filters, 3, activation="relu", padding="same", kernel_initializer="he_normal")(x)
        skips.append(x)
        x = layers.MaxPooling2D(2)(x)
    x = layers.Conv2D(1024, 3, activation="relu", padding="same")(x)
    x = layers.Dropout(0.5)(layers.Conv2D(1024, 3, activation="relu", padding="same")(x))
    for filters, skip in zip((512, 256, 128, 64), skips[::-1]):
        x = layers.UpSampling2D(2)(x)
        x = layers.Conv2D(filters, 2, activation="relu", padding="same")(x)
        x = layers.concatenate([skip, x], axis=3)
        x = layers.Conv2D(filters, 3, activation="relu", padding="same")(x)
        x = layers.Conv2D(filters, 3, activation="relu", padding="same")(x)
    x = layers.Conv2D(2, 3, activation="relu", padding="same")(x)
    out = layers.Conv2D(1, 1, activation="sigmoid", dtype="float32")(x)
    return _values(keras.Model(inputs, out), "binary_crossentropy")


@_add
def roofs_from_above():
    """An application of plain convolutions reads, each of its stages is read again on the way up."""
    base = keras.applications.VGG16(include_top=False, weights=None, input_shape=(224, 224, 3))
    skips = [base.get_layer(f"block{number}_conv{2 + (number > 2)}").output for number in (1, 2, 3, 4)]
    x = base.get_layer("block5_conv3").output
    for filters, skip in zip((512, 256, 128, 64), reversed(skips)):
        x = layers.Conv2DTranspose(filters, 2, strides=2, padding="same")(x)
        x = layers.Concatenate()([x, skip])
        for _ in range(2):
            x = layers.Conv2D(filters, 3, padding="same")(x)
            x = layers.Activation("relu")(layers.BatchNormalization()(x))
    x = layers.Conv2D(6, 1, activation="softmax", dtype="float32")(x)
    return _labelled(keras.Model(base.input, x), (224, 224))


def _focal(wanted, found):
    """Boxes, and classes by a loss that what is easy hardly counts in; the last number of `wanted` says which count."""
    box, kinds = found[..., :4], found[..., 4:]
    there = ops.cast(wanted[..., 4] >= 0, "float32")
    hot = ops.one_hot(ops.cast(ops.maximum(wanted[..., 4], 0), "int32"), 20) * there[..., None]
    entropy = ops.binary_crossentropy(hot, kinds, from_logits=True)
    chance = ops.sigmoid(kinds)
    weight = ops.where(hot == 1.0, 0.25 * (1 - chance) ** 2, 0.75 * chance**2)
    kind = ops.sum(weight * entropy, axis=-1)
    apart = ops.abs(wanted[..., :4] - box)
    far = ops.sum(ops.where(apart < 1.0, 0.5 * apart**2, apart - 0.5), axis=-1) * there
    count = ops.maximum(ops.sum(there, axis=-1), 1.0)
    return ops.mean(ops.sum(kind + far, axis=-1) / count)


@_add
def boxes_by_focal_loss():
    base = keras.applications.ResNet50(include_top=False, weights=None, input_shape=(256, 256, 3))
    third, fourth, fifth = (
        base.get_layer(f"conv{stage}_block{blocks}_out").output for stage, blocks in ((3, 4), (4, 6), (5, 3))
    )
    p3, p4, p5 = (layers.Conv2D(256, 1)(one) for one in (third, fourth, fifth))
    p4 = layers.Add()([p4, layers.UpSampling2D()(p5)])
    p3 = layers.Add()([p3, layers.UpSampling2D()(p4)])
    maps = [layers.Conv2D(256, 3, padding="same")(one) for one in (p3, p4, p5)]
    maps.append(layers.Conv2D(256, 3, 2, "same")(fifth))
    maps.append(layers.Conv2D(256, 3, 2, "same")(layers.ReLU()(maps[-1])))

    def head(width):
        shared = [layers.Conv2D(256, 3, padding="same", activation="relu") for _ in range(4)]
        return [*shared, layers.Conv2D(9 * width, 3, padding="same", dtype="float32")]

    places, kinds = head(4), head(20)
    outs = []
    for one in maps:
        box = kind = one
        for layer in places:
            box = layer(box)
        for layer in kinds:
            kind = layer(kind)
        box, kind = layers.Reshape((-1, 4))(box), layers.Reshape((-1, 20))(kind)
        outs.append(layers.Concatenate()([box, kind]))
    out = layers.Concatenate(axis=1)(outs)
    return Case(keras.Model(base.input, out), _focal, [((256, 256, 3), "float32")],
                ((out.shape[1], 5), "float32"))  # fmt: skip


@_add
def colours_again():
    """Colours for grey pictures: strided convolutions down, enlarged by neighbours, a tanh."""
    x = inputs = keras.Input((128, 128, 1))
    for filters, strides in ((64, 2), (128, 1), (128, 2), (256, 1), (256, 2), (512, 1), (512, 1), (256, 1)):
        x = layers.Conv2D(filters, 3, strides, "same", activation="relu")(x)
    for filters in (128, 64, 32):
        x = layers.Conv2D(filters, 3, padding="same", activation="relu")(x)
        x = layers.UpSampling2D((2, 2))(x)
    return _values(
        keras.Model(inputs, layers.Conv2D(2, 3, padding="same", activation="tanh", dtype="float32")(x))
    )


@_add
def enlarged_four_times():
    """Residual blocks without normalization, what is missing is added to what was given, then shuffled out."""
    inputs = keras.Input((48, 48, 3))
    x = skip = layers.Conv2D(64, 3, padding="same")(layers.Rescaling(1 / 255)(inputs))
    for _ in range(12):
        y = layers.Conv2D(64, 3, padding="same", activation="relu")(x)
        x = x + layers.Conv2D(64, 3, padding="same")(y) * 0.1
    x = skip + layers.Conv2D(64, 3, padding="same")(x)
    for _ in range(2):
        x = layers.Conv2D(256, 3, padding="same")(x)
        side = x.shape[1]
        x = layers.Reshape((side, side, 2, 2, 64))(x)
        x = layers.Reshape((2 * side, 2 * side, 64))(layers.Permute((1, 3, 2, 4, 5))(x))
    x = layers.Conv2D(3, 3, padding="same", dtype="float32")(x)
    return _values(keras.Model(inputs, layers.Rescaling(255.0, dtype="float32")(x)), "mae")


# Made of noise


class Sampled(layers.Layer):
    """A point near a mean; how far both are from the usual is added to the loss."""

    def __init__(self):
        super().__init__()
        self.seed = keras.random.SeedGenerator(1)

    def call(self, both):
        mean, log = both
        self.add_loss(-0.5 * ops.mean(ops.sum(1 + log - ops.square(mean) - ops.exp(log), axis=-1)))
        return mean + ops.exp(0.5 * log) * keras.random.normal(
            ops.shape(mean), seed=self.seed, dtype=mean.dtype
        )


@_add
def sprites():
    inputs = x = keras.Input((64, 64, 3))
    for filters in (32, 64, 128, 256):
        x = layers.Conv2D(filters, 4, 2, "same", activation="relu")(x)
    x = layers.Dense(256, activation="relu")(layers.Flatten()(x))
    z = Sampled()([layers.Dense(32)(x), layers.Dense(32)(x)])
    x = layers.Reshape((4, 4, 256))(layers.Dense(4 * 4 * 256, activation="relu")(z))
    for filters in (128, 64, 32):
        x = layers.Conv2DTranspose(filters, 4, 2, "same", activation="relu")(x)
    x = layers.Conv2DTranspose(3, 4, 2, "same", activation="sigmoid", dtype="float32")(x)
    return _values(keras.Model(inputs, x), "binary_crossentropy")


class ClothesByPenalty(keras.Model):
    """A critic takes three steps, each with a penalty on its slope, then what makes the pictures takes one."""

    def __init__(self, critic, maker):
        super().__init__()
        self.critic, self.maker = critic, maker
        self.seed = keras.random.SeedGenerator(5)

    def slope(self, real, made):
        share = tf.random.normal([tf.shape(real)[0], 1, 1, 1], 0.0, 1.0)
        between = real + share * (made - real)
        with tf.GradientTape() as tape:
            tape.watch(between)
            said = self.critic(between, training=True)
        slopes = tape.gradient(said, [between])[0]
        return tf.reduce_mean((tf.sqrt(tf.reduce_sum(tf.square(slopes), axis=[1, 2, 3])) - 1.0) ** 2)

    def train_step(self, data):
        real = data[0] if isinstance(data, tuple) else data
        count = tf.shape(real)[0]
        for _ in range(3):
            noise = tf.random.normal((count, 128))
            with tf.GradientTape() as tape:
                made = self.maker(noise, training=True)
                cost = tf.reduce_mean(self.critic(made, training=True))
                cost -= tf.reduce_mean(self.critic(real, training=True))
                cost += 10.0 * self.slope(real, made)
            weights = self.critic.trainable_variables
            self.optimizer.apply_gradients(zip(tape.gradient(cost, weights), weights))
        with tf.GradientTape() as tape:
            made = self.maker(tf.random.normal((count, 128)), training=True)
            loss = -tf.reduce_mean(self.critic(made, training=True))
        weights = self.maker.trainable_variables
        self.optimizer.apply_gradients(zip(tape.gradient(loss, weights), weights))
        return {"critic": cost, "maker": loss}


@_add
def clothes_by_penalty():
    x = inputs = keras.Input((28, 28, 1))
    x = layers.ZeroPadding2D((2, 2))(x)
    for filters in (64, 128, 256, 512):
        x = layers.LeakyReLU(0.2)(layers.Conv2D(filters, 5, 2, "same")(x))
        if filters in (128, 256):
            x = layers.Dropout(0.3)(x)
    critic = keras.Model(inputs, layers.Dense(1)(layers.Dropout(0.2)(layers.Flatten()(x))))
    x = noise = keras.Input((128,))
    x = layers.LeakyReLU(0.2)(layers.BatchNormalization()(layers.Dense(4 * 4 * 256, use_bias=False)(x)))
    x = layers.Reshape((4, 4, 256))(x)
    for filters in (128, 64, 1):
        x = layers.UpSampling2D(2)(x)
        x = layers.Conv2D(filters, 3, padding="same", use_bias=False)(x)
        x = layers.BatchNormalization()(x)
        x = layers.LeakyReLU(0.2)(x) if filters > 1 else layers.Activation("tanh")(x)
    maker = keras.Model(noise, layers.Cropping2D((2, 2))(x))
    return _stepped(ClothesByPenalty(critic, maker), ((28, 28, 1), "float32"))


class NoiseToFaces(keras.Model):
    """The guide's two networks: what tells takes a step on both, then what makes on its own."""

    def __init__(self, judge, maker):
        super().__init__()
        self.judge, self.maker = judge, maker
        self.entropy = keras.losses.BinaryCrossentropy()

    def train_step(self, data):
        real = data[0] if isinstance(data, tuple) else data
        count = tf.shape(real)[0]
        made = self.maker(tf.random.normal((count, 128)))
        both = tf.concat([made, real], axis=0)
        labels = tf.concat([tf.ones((count, 1)), tf.zeros((count, 1))], axis=0)
        labels += 0.05 * tf.random.uniform(tf.shape(labels))
        with tf.GradientTape() as tape:
            first = self.entropy(labels, self.judge(both))
        weights = self.judge.trainable_weights
        self.optimizer.apply_gradients(zip(tape.gradient(first, weights), weights))
        with tf.GradientTape() as tape:
            said = self.judge(self.maker(tf.random.normal((count, 128))))
            second = self.entropy(tf.zeros((count, 1)), said)
        weights = self.maker.trainable_weights
        self.optimizer.apply_gradients(zip(tape.gradient(second, weights), weights))
        return {"judge": first, "maker": second}


@_add
def noise_to_faces():
    judge = keras.Sequential([keras.Input((64, 64, 3))])
    for filters in (64, 128, 128):
        judge.add(layers.Conv2D(filters, 4, 2, "same"))
        judge.add(layers.LeakyReLU(negative_slope=0.2))
    judge.add(layers.Flatten())
    judge.add(layers.Dropout(0.2))
    judge.add(layers.Dense(1, activation="sigmoid"))
    maker = keras.Sequential([keras.Input((128,)), layers.Dense(8 * 8 * 128), layers.Reshape((8, 8, 128))])
    for filters in (128, 256, 512):
        maker.add(layers.Conv2DTranspose(filters, 4, 2, "same"))
        maker.add(layers.LeakyReLU(negative_slope=0.2))
    maker.add(layers.Conv2D(3, 5, padding="same", activation="sigmoid"))
    return _stepped(NoiseToFaces(judge, maker), ((64, 64, 3), "float32"))


# Films


@_add
def falls_in_films():
    """A small network for each picture, then what they say in turn."""
    frame = keras.Sequential([keras.Input((64, 64, 3))])
    for filters in (16, 32, 64, 128):
        frame.add(layers.Conv2D(filters, 3, padding="same", activation="relu"))
        frame.add(layers.MaxPooling2D())
    frame.add(layers.GlobalAveragePooling2D())
    model = keras.Sequential([keras.Input((20, 64, 64, 3)), layers.TimeDistributed(frame)])
    model.add(layers.LSTM(64, return_sequences=True))
    model.add(layers.LSTM(32))
    model.add(layers.Dropout(0.4))
    model.add(layers.Dense(6, activation="softmax", dtype="float32"))
    return _labelled(model)


class Shown(keras.Model):
    """What is hidden in most squares of a picture is written from the few that are shown."""

    def train_step(self, data):
        picture = data[0] if isinstance(data, tuple) else data
        squares = tf.image.extract_patches(picture, [1, 8, 8, 1], [1, 8, 8, 1], [1, 1, 1, 1], "VALID")
        squares = tf.reshape(squares, (-1, 64, 192))
        hidden = tf.random.uniform((tf.shape(squares)[0], 64, 1)) < 0.75
        with tf.GradientTape() as tape:
            found = self(tf.where(hidden, 0.0, squares), training=True)
            apart = tf.reduce_mean(tf.square(found - squares), -1, keepdims=True)
            mask = tf.cast(hidden, apart.dtype)
            loss = tf.reduce_sum(apart * mask) / tf.reduce_sum(mask)
        return _apply(self, tape, loss)


@_add
def hidden_squares():
    inputs = keras.Input((64, 192))
    x = Positions()(layers.Dense(128)(inputs))
    for _ in range(6):
        x = Encoder(128, 4, 256)(x)
    x = layers.Dense(192, dtype="float32")(layers.LayerNormalization()(x))
    return _stepped(Shown(inputs, x), ((64, 64, 3), "float32"))
