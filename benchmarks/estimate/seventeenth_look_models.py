"""A seventeenth set for the rules for XLA, written and hashed before anything of it was compiled: what public training
scripts train, written anew at their sizes; each says in its docstring whose. Named by what each is.

This half has pictures, films and volumes; seventeenth_other_models.py has the rest.
"""

import keras
import numpy as np
import tensorflow as tf
from keras import layers, ops, regularizers
from models import Case, _add
from ninth_look_models import _apply, _stepped
from third_look_models import _labelled, _values

# Outlines


def _pair(x, width, norm=False, drop=0.0, **options):
    for _ in range(2):
        x = layers.Conv2D(width, 3, padding="same", **options)(x)
        x = layers.ReLU()(layers.BatchNormalization()(x) if norm else x)
        x = layers.Dropout(drop)(x) if drop else x
    return x


@_add
def membranes_in_slices():
    """zhixuhao/unet."""
    inputs = x = keras.Input((256, 256, 1))
    kept = []
    for width in (64, 128, 256, 512):
        x = _pair(x, width)
        x = layers.Dropout(0.5)(x) if width == 512 else x
        kept.append(x)
        x = layers.MaxPooling2D()(x)
    x = layers.Dropout(0.5)(_pair(x, 1024))
    for width in (512, 256, 128, 64):
        up = layers.Conv2D(width, 2, padding="same", activation="relu")(layers.UpSampling2D()(x))
        x = _pair(layers.Concatenate()([kept.pop(), up]), width)
    x = layers.Conv2D(2, 3, padding="same", activation="relu")(x)
    out = layers.Conv2D(1, 1, activation="sigmoid", dtype="float32")(x)
    return _values(keras.Model(inputs, out), "binary_crossentropy")


# To classes


@_add
def expressions_of_faces():
    """oarriaga/face_classification: a small Xception with decay."""
    decay = {"use_bias": False}
    inputs = x = keras.Input((64, 64, 1))
    for _ in range(2):
        x = layers.Conv2D(8, 3, kernel_regularizer=regularizers.l2(0.01), **decay)(x)
        x = layers.ReLU()(layers.BatchNormalization()(x))
    for width in (16, 32, 64, 128):
        short = layers.BatchNormalization()(layers.Conv2D(width, 1, 2, "same", **decay)(x))
        x = layers.BatchNormalization()(layers.SeparableConv2D(width, 3, padding="same", **decay)(x))
        x = layers.SeparableConv2D(width, 3, padding="same", **decay)(layers.ReLU()(x))
        x = layers.MaxPooling2D(3, 2, "same")(layers.BatchNormalization()(x))
        x = layers.Add()([x, short])
    x = layers.GlobalAveragePooling2D()(layers.Conv2D(7, 3, padding="same")(x))
    out = layers.Activation("softmax", dtype="float32")(x)
    return _values(keras.Model(inputs, out), "categorical_crossentropy")


def _squash(x):
    size = ops.sum(x * x, -1, keepdims=True)
    return size / (1 + size) / ops.sqrt(size + 1e-7) * x


class Capsules(layers.Layer):
    """Ten vectors of sixteen, agreed on in three rounds."""

    def build(self, shape):
        self.kernel = self.add_weight(shape=(10, shape[1], 16, shape[2]), name="kernel")

    def call(self, x):
        said = ops.einsum("nijk,bik->bnij", ops.transpose(self.kernel, (0, 1, 2, 3)), x)
        logits = ops.zeros_like(said[..., 0])
        for turn in range(3):
            found = _squash(ops.einsum("bni,bnij->bnj", ops.softmax(logits, axis=1), said))
            if turn < 2:
                logits += ops.einsum("bnj,bnij->bni", found, said)
        return found

    def compute_output_shape(self, shape):
        return (shape[0], 10, 16)


@_add
def digits_in_capsules():
    """XifengGuo/CapsNet-Keras: the label chooses the capsule that draws the digit again."""
    inputs, label = keras.Input((28, 28, 1)), keras.Input((10,))
    x = layers.Conv2D(256, 9, activation="relu")(inputs)
    x = layers.Reshape((1152, 8))(layers.Conv2D(256, 9, 2)(x))
    found = Capsules()(layers.Lambda(_squash, output_shape=(1152, 8))(x))
    lengths = layers.Lambda(lambda t: ops.sqrt(ops.sum(t * t, -1) + 1e-7), output_shape=(10,))(found)
    one = layers.Lambda(lambda t: ops.reshape(t[0] * t[1][..., None], (-1, 160)), output_shape=(160,))
    x = one([found, label])
    for width in (512, 1024):
        x = layers.Dense(width, activation="relu")(x)
    drawn = layers.Reshape((28, 28, 1))(layers.Dense(784, activation="sigmoid")(x))

    def margin(y_true, y_pred):
        there = y_true * ops.square(ops.maximum(0.0, 0.9 - y_pred))
        absent = 0.5 * (1 - y_true) * ops.square(ops.maximum(0.0, y_pred - 0.1))
        return ops.mean(ops.sum(there + absent, 1))

    return Case(
        keras.Model([inputs, label], [lengths, drawn]),
        [margin, "mse"],
        [((28, 28, 1), "float32"), ((10,), "float32")],
        [((10,), "float32"), ((28, 28, 1), "float32")],
        options={"loss_weights": [1.0, 0.392]},
    )


@_add
def forty_dense_layers():
    """titu1994/DenseNet: depth 40, growth 12."""
    options = {"use_bias": False, "kernel_regularizer": regularizers.l2(1e-4)}
    inputs = keras.Input((32, 32, 3))
    x = layers.Conv2D(24, 3, padding="same", **options)(inputs)
    for block in range(3):
        for _ in range(12):
            y = layers.ReLU()(layers.BatchNormalization(epsilon=1.1e-5)(x))
            x = layers.Concatenate()([x, layers.Conv2D(12, 3, padding="same", **options)(y)])
        x = layers.ReLU()(layers.BatchNormalization(epsilon=1.1e-5)(x))
        if block < 2:
            x = layers.AveragePooling2D(2)(layers.Conv2D(x.shape[-1], 1, **options)(x))
    out = layers.Dense(10, activation="softmax", dtype="float32")(layers.GlobalAveragePooling2D()(x))
    return _values(keras.Model(inputs, out), "categorical_crossentropy")


@_add
def norms_before_eighteen():
    """raghakot/keras-resnet: ResNet-18 with the norm in front, as for ImageNet, on small pictures."""
    options = {"kernel_regularizer": regularizers.l2(1e-4)}

    def ahead(x):
        return layers.ReLU()(layers.BatchNormalization()(x))

    inputs = keras.Input((32, 32, 3))
    x = layers.MaxPooling2D(3, 2, "same")(ahead(layers.Conv2D(64, 7, 2, "same", **options)(inputs)))
    for width in (64, 128, 256, 512):
        for one in range(2):
            step = 2 if one == 0 and width > 64 else 1
            y = x if width == 64 and one == 0 else ahead(x)
            y = ahead(layers.Conv2D(width, 3, step, "same", **options)(y))
            y = layers.Conv2D(width, 3, padding="same", **options)(y)
            short = x if step == 1 and x.shape[-1] == width else layers.Conv2D(width, 1, step, **options)(x)
            x = layers.Add()([short, y])
    x = ahead(x)
    x = layers.Flatten()(layers.AveragePooling2D((x.shape[1], x.shape[2]), 1)(x))
    out = layers.Dense(10, activation="softmax", dtype="float32")(x)
    return _values(keras.Model(inputs, out), "categorical_crossentropy")


class OnSphere(layers.Layer):
    """Cosines to each class, the true one farther by a margin."""

    def build(self, shapes):
        self.kernel = self.add_weight(shape=(shapes[0][-1], 85742), name="kernel")

    def call(self, given):
        found, label = given
        cosine = tf.matmul(tf.nn.l2_normalize(found, 1), tf.nn.l2_normalize(self.kernel, 0))
        sine = tf.sqrt(1.0 - cosine**2)
        moved = cosine * np.cos(0.5) - sine * np.sin(0.5)
        moved = tf.where(cosine > np.cos(np.pi - 0.5), moved, cosine - np.sin(0.5) * 0.5)
        mask = tf.one_hot(tf.cast(label, tf.int32), 85742)
        return 64.0 * tf.where(mask == 1.0, moved, cosine)

    def compute_output_shape(self, shapes):
        return (shapes[0][0], 85742)


@_add
def identities_on_a_sphere():
    """peteryuX/arcface-tf2: ResNet50 and 85,742 people."""
    inputs, label = keras.Input((112, 112, 3)), keras.Input(())
    base = keras.applications.ResNet50(include_top=False, weights=None, input_shape=(112, 112, 3))
    x = layers.Flatten()(layers.Dropout(0.5)(layers.BatchNormalization()(base(inputs))))
    x = layers.BatchNormalization()(layers.Dense(512, kernel_regularizer=regularizers.l2(5e-4))(x))
    loss = keras.losses.SparseCategoricalCrossentropy(from_logits=True)
    return _labelled(keras.Model([inputs, label], OnSphere()([x, label])), loss=loss)


@_add
def turns_of_the_wheel():
    """commaai/research: the angle of the wheel from one frame."""
    model = keras.Sequential([keras.Input((160, 320, 3)), layers.Rescaling(1 / 127.5, offset=-1.0)])
    model.add(layers.Conv2D(16, 8, 4, "same"))
    model.add(layers.ELU())
    model.add(layers.Conv2D(32, 5, 2, "same"))
    model.add(layers.ELU())
    model.add(layers.Conv2D(64, 5, 2, "same"))
    model.add(layers.Flatten())
    model.add(layers.Dropout(0.2))
    model.add(layers.ELU())
    model.add(layers.Dense(512))
    model.add(layers.Dropout(0.5))
    model.add(layers.ELU())
    model.add(layers.Dense(1, dtype="float32"))
    return _values(model)


@_add
def moves_on_a_board():
    """suragnair/alpha-zero-general: a policy and a worth."""
    inputs = keras.Input((8, 8))
    x = layers.Reshape((8, 8, 1))(inputs)
    for padding in ("same", "same", "valid", "valid"):
        x = layers.ReLU()(layers.BatchNormalization()(layers.Conv2D(512, 3, padding=padding)(x)))
    x = layers.Flatten()(x)
    for width in (1024, 512):
        x = layers.Dropout(0.3)(layers.ReLU()(layers.BatchNormalization(axis=1)(layers.Dense(width)(x))))
    policy = layers.Dense(65, activation="softmax", dtype="float32")(x)
    worth = layers.Dense(1, activation="tanh", dtype="float32")(x)
    return Case(
        keras.Model(inputs, [policy, worth]),
        ["categorical_crossentropy", "mse"],
        [((8, 8), "float32")],
        [((65,), "float32"), ((1,), "float32")],
    )


@_add
def squares_of_pictures():
    """keras-io, image_classification_with_vision_transformer."""
    inputs = keras.Input((72, 72, 3))
    x = layers.Lambda(lambda t: ops.image.extract_patches(t, size=6), output_shape=(12, 12, 108))(inputs)
    x = layers.Dense(64)(layers.Reshape((144, 108))(x))
    x = layers.Add()([x, layers.Embedding(144, 64)(ops.arange(144)[None])])
    for _ in range(8):
        y = layers.LayerNormalization(epsilon=1e-6)(x)
        x = layers.Add()([layers.MultiHeadAttention(4, 64, dropout=0.1)(y, y), x])
        y = layers.LayerNormalization(epsilon=1e-6)(x)
        for width in (128, 64):
            y = layers.Dropout(0.1)(layers.Dense(width, activation="gelu")(y))
        x = layers.Add()([y, x])
    x = layers.Dropout(0.5)(layers.Flatten()(layers.LayerNormalization(epsilon=1e-6)(x)))
    for width in (2048, 1024):
        x = layers.Dropout(0.5)(layers.Dense(width, activation="gelu")(x))
    out = layers.Dense(100, dtype="float32")(x)
    return _labelled(
        keras.Model(inputs, out), loss=keras.losses.SparseCategoricalCrossentropy(from_logits=True)
    )


# Volumes and films


@_add
def lungs_in_volumes():
    """keras-io, 3D_image_classification."""
    inputs = keras.Input((128, 128, 64, 1))
    x = inputs
    for width in (64, 64, 128, 256):
        x = layers.MaxPooling3D()(layers.Conv3D(width, 3, activation="relu")(x))
        x = layers.BatchNormalization()(x)
    x = layers.Dense(512, activation="relu")(layers.GlobalAveragePooling3D()(x))
    out = layers.Dense(1, activation="sigmoid", dtype="float32")(layers.Dropout(0.3)(x))
    return _values(keras.Model(inputs, out), "binary_crossentropy")


def _apart(x, width, sides):
    x = layers.Conv3D(width, (1, *sides[1:]), padding="same")(x)
    return layers.Conv3D(width, (sides[0], 1, 1), padding="same")(x)


class Resized(layers.Layer):
    """Every frame in another size."""

    def __init__(self, side):
        super().__init__()
        self.to = layers.Resizing(side, side)

    def call(self, x):
        _, t, h, w, c = x.shape
        side = self.to.height
        return ops.reshape(self.to(ops.reshape(x, (-1, h, w, c))), (-1, t, side, side, c))

    def compute_output_shape(self, shape):
        return (*shape[:2], self.to.height, self.to.width, shape[-1])


@_add
def sports_in_films():
    """tensorflow/docs, video_classification: space and time apart, sizes halved by resizing."""
    inputs = keras.Input((10, 224, 224, 3))
    x = layers.ReLU()(layers.BatchNormalization()(_apart(inputs, 16, (3, 7, 7))))
    for width, side in ((16, 112), (32, 56), (64, 28), (128, 14)):
        x = Resized(side)(x)
        y = layers.ReLU()(layers.LayerNormalization()(_apart(x, width, (3, 3, 3))))
        y = layers.LayerNormalization()(_apart(y, width, (3, 3, 3)))
        if x.shape[-1] != width:
            x = layers.LayerNormalization()(layers.Dense(width)(x))
        x = layers.Add()([x, y])
    out = layers.Dense(10, dtype="float32")(layers.Flatten()(layers.GlobalAveragePooling3D()(x)))
    return _labelled(
        keras.Model(inputs, out), loss=keras.losses.SparseCategoricalCrossentropy(from_logits=True)
    )


@_add
def next_frames():
    """keras-io, conv_lstm: three recurrent layers of convolutions with norms."""
    inputs = x = keras.Input((19, 64, 64, 1))
    for side in (5, 3, 1):
        x = layers.ConvLSTM2D(64, side, padding="same", return_sequences=True, activation="relu")(x)
        x = layers.BatchNormalization()(x) if side > 1 else x
    out = layers.Conv3D(1, 3, padding="same", activation="sigmoid", dtype="float32")(x)
    return _values(keras.Model(inputs, out), "binary_crossentropy")


# Larger pictures


@_add
def twice_as_large():
    """idealo/image-super-resolution: dense blocks whose results are all joined."""
    inputs = keras.Input((32, 32, 3))
    first = layers.Conv2D(64, 3, padding="same")(inputs)
    x = layers.Conv2D(64, 3, padding="same")(first)
    all_of = []
    for _ in range(10):
        before = x
        for _ in range(3):
            x = layers.Concatenate()([x, layers.Conv2D(64, 3, padding="same", activation="relu")(x)])
        x = layers.Add()([layers.Conv2D(64, 1)(x), before])
        all_of.append(x)
    x = layers.Conv2D(64, 3, padding="same")(layers.Conv2D(64, 1)(layers.Concatenate()(all_of)))
    x = layers.Add()([x, first])
    x = layers.Conv2D(64, 5, padding="same", activation="relu")(x)
    x = layers.Conv2D(32, 3, padding="same", activation="relu")(x)
    x = layers.UpSampling2D()(layers.Conv2D(12, 3, padding="same")(x))
    return _values(keras.Model(inputs, layers.Conv2D(3, 3, padding="same", dtype="float32")(x)), "mae")


def _shuffled(x, by=2):
    shape = (x.shape[1] * by, x.shape[2] * by, x.shape[3] // by**2)
    return layers.Lambda(lambda t: tf.nn.depth_to_space(t, by), output_shape=shape)(x)


@_add
def sixteen_blocks_enlarge():
    """krasserm/super-resolution, the generator of SRGAN before its judge."""
    inputs = keras.Input((24, 24, 3))
    x = layers.Rescaling(1 / 255)(inputs)
    x = first = layers.PReLU(shared_axes=[1, 2])(layers.Conv2D(64, 9, padding="same")(x))
    for _ in range(16):
        y = layers.BatchNormalization(momentum=0.8)(layers.Conv2D(64, 3, padding="same")(x))
        y = layers.Conv2D(64, 3, padding="same")(layers.PReLU(shared_axes=[1, 2])(y))
        x = layers.Add()([x, layers.BatchNormalization(momentum=0.8)(y)])
    x = layers.BatchNormalization()(layers.Conv2D(64, 3, padding="same")(x))
    x = layers.Add()([first, x])
    for _ in range(2):
        x = layers.PReLU(shared_axes=[1, 2])(_shuffled(layers.Conv2D(256, 3, padding="same")(x)))
    x = layers.Conv2D(3, 9, padding="same", activation="tanh")(x)
    out = layers.Lambda(lambda t: (t + 1) * 127.5, output_shape=(96, 96, 3))(x)
    return _values(keras.Model(inputs, out))


# Made of noise


class MakerAndJudge(keras.Model):
    """One step of both, each with an optimizer; a mean of the maker beside where it is kept."""

    def __init__(self, maker, judge, hidden, kept=None):
        super().__init__()
        self.maker, self.judge, self.hidden, self.kept = maker, judge, hidden, kept

    def compile(self, optimizer, loss=None, **options):
        super().compile(optimizer=optimizer, loss=loss, **options)
        self.other = keras.optimizers.Adam(2e-4, beta_1=0.5)
        self.other.build(self.maker.trainable_variables)
        self.cross = keras.losses.BinaryCrossentropy(from_logits=True)

    @property
    def trainable_variables(self):
        return self.judge.trainable_variables

    def train_step(self, data):
        real = data[0] if isinstance(data, tuple) else data
        noise = tf.random.normal((tf.shape(real)[0], *self.hidden))
        with tf.GradientTape(persistent=True) as tape:
            made = self.maker(noise, training=True)
            yes, no = self.judge(real, training=True), self.judge(made, training=True)
            fooled = self.cross(tf.ones_like(no), no)
            wrong = self.cross(tf.ones_like(yes), yes) + self.cross(tf.zeros_like(no), no)
        ours, theirs = self.maker.trainable_variables, self.judge.trainable_variables
        self.other.apply_gradients(zip(tape.gradient(fooled, ours), ours))
        self.optimizer.apply_gradients(zip(tape.gradient(wrong, theirs), theirs))
        if self.kept is not None:
            for weight, mean in zip(self.maker.weights, self.kept.weights):
                mean.assign(0.99 * mean + 0.01 * weight)
        return {"fooled": fooled, "wrong": wrong}


@_add
def birds_of_noise():
    """beresandras/gan-flavours-keras: a mean of the maker's weights is kept."""

    def maker():
        model = keras.Sequential([keras.Input((1, 1, 64)), layers.Conv2DTranspose(128, 4, use_bias=False)])
        for _ in range(3):
            model.add(layers.BatchNormalization(scale=False))
            model.add(layers.ReLU())
            model.add(layers.Conv2DTranspose(128, 4, 2, "same", use_bias=False))
        model.add(layers.BatchNormalization(scale=False))
        model.add(layers.ReLU())
        model.add(layers.Conv2DTranspose(3, 4, 2, "same", activation="sigmoid"))
        return model

    judge = keras.Sequential([keras.Input((64, 64, 3))])
    for _ in range(4):
        judge.add(layers.Conv2D(128, 4, 2, "same", use_bias=False))
        judge.add(layers.BatchNormalization(scale=False))
        judge.add(layers.LeakyReLU(negative_slope=0.2))
    judge.add(layers.Dropout(0.4))
    judge.add(layers.Conv2D(1, 4))
    judge.add(layers.Flatten())
    return _stepped(MakerAndJudge(maker(), judge, (1, 1, 64), maker()), ((64, 64, 3), "float32"))


@_add
def digits_of_noise():
    """tensorflow/docs, dcgan."""
    maker = keras.Sequential([keras.Input((100,)), layers.Dense(7 * 7 * 256, use_bias=False)])
    maker.add(layers.BatchNormalization())
    maker.add(layers.LeakyReLU())
    maker.add(layers.Reshape((7, 7, 256)))
    for width, step in ((128, 1), (64, 2)):
        maker.add(layers.Conv2DTranspose(width, 5, step, "same", use_bias=False))
        maker.add(layers.BatchNormalization())
        maker.add(layers.LeakyReLU())
    maker.add(layers.Conv2DTranspose(1, 5, 2, "same", use_bias=False, activation="tanh"))
    judge = keras.Sequential([keras.Input((28, 28, 1))])
    for width in (64, 128):
        judge.add(layers.Conv2D(width, 5, 2, "same"))
        judge.add(layers.LeakyReLU())
        judge.add(layers.Dropout(0.3))
    judge.add(layers.Flatten())
    judge.add(layers.Dense(1))
    return _stepped(MakerAndJudge(maker, judge, (100,)), ((28, 28, 1), "float32"))


class Instances(layers.Layer):
    """Every channel of every picture by its own mean and spread."""

    def build(self, shape):
        self.scale = self.add_weight(shape=(shape[-1],), initializer="ones", name="scale")
        self.shift = self.add_weight(shape=(shape[-1],), initializer="zeros", name="shift")

    def call(self, x):
        mean, spread = tf.nn.moments(x, list(range(1, len(x.shape) - 1)), keepdims=True)
        return (x - mean) * tf.math.rsqrt(spread + 1e-3) * self.scale + self.shift


# Codes and order


class Coded(keras.Model):
    """A variational autoencoder whose loss is the likelihood of what was drawn."""

    def __init__(self):
        super().__init__()
        self.down = keras.Sequential(
            [
                layers.Conv2D(32, 3, 2, activation="relu"),
                layers.Conv2D(64, 3, 2, activation="relu"),
                layers.Flatten(),
                layers.Dense(4),
            ]
        )
        self.up = keras.Sequential(
            [
                layers.Dense(7 * 7 * 32, activation="relu"),
                layers.Reshape((7, 7, 32)),
                layers.Conv2DTranspose(64, 3, 2, "same", activation="relu"),
                layers.Conv2DTranspose(32, 3, 2, "same", activation="relu"),
                layers.Conv2DTranspose(1, 3, padding="same"),
            ]
        )

    def call(self, x):
        mean, log = tf.split(self.down(x), 2, axis=1)
        code = tf.random.normal(tf.shape(mean)) * tf.exp(log * 0.5) + mean
        return self.up(code), mean, log, code

    def train_step(self, data):
        x = data[0] if isinstance(data, tuple) else data

        def density(at, mean, log):
            return tf.reduce_sum(-0.5 * ((at - mean) ** 2 * tf.exp(-log) + log + np.log(2 * np.pi)), axis=1)

        with tf.GradientTape() as tape:
            drawn, mean, log, code = self(x, training=True)
            cross = tf.nn.sigmoid_cross_entropy_with_logits(logits=drawn, labels=x)
            likely = -tf.reduce_sum(cross, axis=[1, 2, 3])
            loss = -tf.reduce_mean(likely + density(code, 0.0, 0.0) - density(code, mean, log))
        return _apply(self, tape, loss)


@_add
def digits_in_two_numbers():
    """tensorflow/docs, cvae."""
    model = Coded()
    model(keras.Input((28, 28, 1)))
    return _stepped(model, ((28, 28, 1), "float32"))
