"""A ninth set for the rules for XLA, written and compiled before anything of it was compared: as users write models.

Sequential, functional and of classes of their own, with `fit` and with steps of their own. Named by what each is.
This half has pictures, films and what is made of noise; ninth_other_models.py has the rest.
"""

import keras
import tensorflow as tf
from keras import layers, ops
from models import Case, _add
from third_look_models import _bn, _labelled, _logits, _values


def _stepped(model, *shapes, y=None):
    return Case(model, "mse", list(shapes), y)


def _apply(model, tape, loss):
    variables = model.trainable_variables
    model.optimizer.apply_gradients(zip(tape.gradient(loss, variables), variables))
    return {"loss": loss}


# Pictures to classes and numbers


class Block(layers.Layer):
    """Two convolutions and a way round them."""

    def __init__(self, width, step):
        super().__init__()
        self.first = layers.Conv2D(width, 3, step, "same", use_bias=False)
        self.second = layers.Conv2D(width, 3, padding="same", use_bias=False)
        self.norms = [layers.BatchNormalization() for _ in range(2)]
        self.short = layers.Conv2D(width, 1, step, use_bias=False) if step > 1 else None

    def call(self, x, training=False):
        y = tf.nn.relu(self.norms[0](self.first(x), training=training))
        y = self.norms[1](self.second(y), training=training)
        return tf.nn.relu(y + (x if self.short is None else self.short(x)))


class BlocksOfLayers(keras.Model):
    def __init__(self):
        super().__init__()
        self.begin = layers.Conv2D(40, 3, padding="same", activation="relu")
        self.blocks = [Block(40, 1), Block(80, 2), Block(80, 1), Block(160, 2), Block(160, 1)]
        self.pool, self.end = layers.GlobalAveragePooling2D(), layers.Dense(10, dtype="float32")

    def call(self, x, training=False):
        x = self.begin(x)
        for block in self.blocks:
            x = block(x, training=training)
        return self.end(self.pool(x))


@_add
def blocks_of_layers():
    model = BlocksOfLayers()
    model(tf.zeros((1, 40, 40, 3)))
    return Case(model, _logits(), [((40, 40, 3), "float32")], ((), "int32"))


@_add
def flowers():
    """A list of layers, with changed pictures at the front."""
    model = keras.Sequential(
        [
            keras.Input((176, 176, 3)),
            layers.RandomFlip("horizontal"),
            layers.RandomBrightness(0.2),
            layers.Rescaling(1 / 255),
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
    return Case(model, _logits(), [((176, 176, 3), "float32")], ((), "int32"))


@_add
def tuned_mobile():
    """An application without its head, trained throughout."""
    base = keras.applications.MobileNetV3Small(
        include_top=False, weights=None, input_shape=(160, 160, 3), pooling="avg"
    )
    i = keras.Input((160, 160, 3))
    x = layers.Dropout(0.3)(base(i))
    x = layers.Dense(37, activation="softmax", dtype="float32")(x)
    return _labelled(keras.Model(i, x))


@_add
def findings_on_scans():
    """Fourteen answers at once, from blocks with gates for channels; what is measured is measured in the step."""
    i = keras.Input((160, 160, 1))
    x = _bn(i, 32, 5, "swish", strides=2)
    for width in (64, 128, 192):
        y = _bn(_bn(x, width, 3, "swish", strides=2), width, 3, "swish")
        gate = layers.GlobalAveragePooling2D(keepdims=True)(y)
        gate = layers.Conv2D(width // 8, 1, activation="swish")(gate)
        y = layers.Multiply()([y, layers.Conv2D(width, 1, activation="sigmoid")(gate)])
        x = layers.Add()([layers.Conv2D(width, 1, 2)(x), y])
    x = layers.Concatenate()([layers.GlobalAveragePooling2D()(x), layers.GlobalMaxPooling2D()(x)])
    x = layers.Dense(14, activation="sigmoid", dtype="float32")(layers.Dropout(0.4)(x))
    metrics = [keras.metrics.AUC(multi_label=True, num_labels=14)]
    shape = [((160, 160, 1), "float32")]
    return Case(keras.Model(i, x), "binary_crossentropy", shape, ((14,), "float32"), {"metrics": metrics})


class Patches(layers.Layer):
    """Squares of a picture in a row, behind a token of their own, with a vector for each place."""

    def __init__(self, side, width):
        super().__init__()
        self.cut, self.width = layers.Conv2D(width, side, side), width

    def build(self, shape):
        count = (shape[1] // self.cut.kernel_size[0]) ** 2 + 1
        self.token = self.add_weight(shape=(1, 1, self.width), name="token")
        self.places = self.add_weight(shape=(1, count, self.width), name="places")
        self.cut.build(shape)

    def call(self, x):
        x = self.cut(x)
        _, height, width, size = x.shape
        x = ops.reshape(x, (-1, height * width, size))
        token = ops.broadcast_to(ops.cast(self.token, x.dtype), (ops.shape(x)[0], 1, size))
        return ops.concatenate([token, x], axis=1) + ops.cast(self.places, x.dtype)


class Dropped(layers.Layer):
    """A whole branch is left out of some samples."""

    def __init__(self, rate):
        super().__init__()
        self.rate, self.seed = rate, keras.random.SeedGenerator(1)

    def call(self, x, training=False):
        if not training:
            return x
        keep = keras.random.uniform((ops.shape(x)[0], *[1] * (len(x.shape) - 1)), seed=self.seed)
        return x * ops.cast(keep > self.rate, x.dtype) / (1 - self.rate)


@_add
def tokens_of_squares():
    i = keras.Input((128, 128, 3))
    x = Patches(16, 256)(i)
    for _ in range(5):
        y = layers.LayerNormalization()(x)
        x = x + Dropped(0.1)(layers.MultiHeadAttention(4, 64, dropout=0.1)(y, y))
        y = layers.Dense(768, activation="gelu")(layers.LayerNormalization()(x))
        x = x + Dropped(0.1)(layers.Dense(256)(layers.Dropout(0.1)(y)))
    x = layers.LayerNormalization()(x)[:, 0]
    return _labelled(keras.Model(i, layers.Dense(100, activation="softmax", dtype="float32")(x)))


@_add
def widened_then_narrowed():
    """Inverted bottlenecks with swish, gates, and branches that are dropped."""
    i = keras.Input((128, 128, 3))
    x = _bn(i, 24, 3, "swish", strides=2)
    for width, more, step, side in (
        (16, 1, 1, 3),
        (24, 6, 2, 3),
        (24, 6, 1, 3),
        (40, 6, 2, 5),
        (80, 6, 2, 3),
    ):
        y = _bn(x, x.shape[-1] * more, 1, "swish") if more > 1 else x
        y = layers.DepthwiseConv2D(side, step, "same", use_bias=False)(y)
        y = layers.Activation("swish")(layers.BatchNormalization()(y))
        gate = layers.GlobalAveragePooling2D(keepdims=True)(y)
        gate = layers.Conv2D(max(x.shape[-1] // 4, 4), 1, activation="swish")(gate)
        y = layers.Multiply()([y, layers.Conv2D(y.shape[-1], 1, activation="sigmoid")(gate)])
        y = _bn(y, width, 1, None)
        x = (
            layers.Add()([x, layers.Dropout(0.2, noise_shape=(None, 1, 1, 1))(y)])
            if x.shape == y.shape
            else y
        )
    x = layers.GlobalAveragePooling2D()(_bn(x, 320, 1, "swish"))
    x = layers.Dense(120, activation="softmax", dtype="float32")(layers.Dropout(0.2)(x))
    return _labelled(keras.Model(i, x))


class Responses(layers.Layer):
    """Channels weighed by how strongly each answers in the whole picture, beside the others."""

    def build(self, shape):
        self.scale = self.add_weight(shape=(shape[-1],), initializer="zeros", name="scale")
        self.shift = self.add_weight(shape=(shape[-1],), initializer="zeros", name="shift")

    def call(self, x):
        norm = ops.sqrt(ops.sum(ops.square(ops.cast(x, "float32")), axis=(1, 2), keepdims=True) + 1e-6)
        share = ops.cast(norm / (ops.mean(norm, axis=-1, keepdims=True) + 1e-6), x.dtype)
        return ops.cast(self.scale, x.dtype) * (x * share) + ops.cast(self.shift, x.dtype) + x


@_add
def wide_kernels_by_channel():
    i = keras.Input((96, 96, 3))
    x = layers.LayerNormalization(epsilon=1e-6)(layers.Conv2D(48, 4, 4)(i))
    for place, width in enumerate((48, 96, 192)):
        if place:
            x = layers.Conv2D(width, 2, 2)(layers.LayerNormalization(epsilon=1e-6)(x))
        for _ in range(2):
            y = layers.DepthwiseConv2D(7, padding="same")(x)
            y = layers.LayerNormalization(epsilon=1e-6)(y)
            y = Responses()(layers.Dense(4 * width, activation="gelu")(y))
            x = layers.Add()([x, layers.Dense(width)(y)])
    x = layers.LayerNormalization()(layers.GlobalAveragePooling2D()(x))
    return _labelled(keras.Model(i, layers.Dense(200, activation="softmax", dtype="float32")(x)))


@_add
def named_and_located():
    """What is in the picture, and where: two heads on one trunk."""
    i = x = keras.Input((128, 128, 3))
    for width in (32, 64, 128, 128):
        x = layers.Conv2D(width, 3, padding="same")(x)
        x = layers.PReLU(shared_axes=[1, 2])(x)
        x = layers.MaxPooling2D()(x)
    x = layers.Dense(256, activation="relu")(layers.Flatten()(x))
    name = layers.Dense(20, activation="softmax", dtype="float32", name="what")(layers.Dropout(0.5)(x))
    box = layers.Dense(128, activation="relu")(x)
    box = layers.Dense(4, activation="sigmoid", dtype="float32", name="where")(box)
    loss = ["sparse_categorical_crossentropy", "huber"]
    targets = [((), "int32"), ((4,), "float32")]
    return Case(keras.Model(i, [name, box]), loss, [((128, 128, 3), "float32")], targets)


def _alike_by_label(labels, vectors):
    """Those of one label are drawn together, all others of the batch pushed away."""
    vectors = ops.normalize(vectors, axis=-1)
    scores = ops.matmul(vectors, ops.transpose(vectors)) / 0.1
    others = 1.0 - ops.eye(scores.shape[0])
    same = ops.cast(ops.equal(labels, ops.transpose(labels)), "float32") * others
    scores = scores - ops.stop_gradient(ops.max(scores, axis=1, keepdims=True))
    log = scores - ops.log(ops.sum(ops.exp(scores) * others, axis=1, keepdims=True))
    return -ops.sum(same * log, axis=1) / (ops.sum(same, axis=1) + 1e-6)


@_add
def alike_by_label():
    i = x = keras.Input((64, 64, 3))
    for width, step in ((32, 1), (64, 2), (64, 1), (128, 2), (128, 1), (256, 2)):
        y = layers.ReLU()(layers.BatchNormalization()(x)) if x is not i else x
        y = layers.Conv2D(width, 3, step, "same", use_bias=False)(y)
        x = y if x.shape != y.shape else layers.Add()([x, y])
    x = layers.GlobalAveragePooling2D()(layers.ReLU()(layers.BatchNormalization()(x)))
    x = layers.Dense(128, dtype="float32")(layers.Dense(256, activation="relu")(x))
    return _labelled(keras.Model(i, x), (1,), _alike_by_label)


class OtherView(keras.Model):
    """One view of a picture tells what an average of the network makes of the other."""

    average = guess = None

    def train_step(self, data):
        one, two = data
        with tf.GradientTape() as tape:
            loss = 0.0
            for x, other in ((one, two), (two, one)):
                told = tf.math.l2_normalize(self.guess(self(x, training=True), training=True), axis=-1)
                kept = tf.stop_gradient(tf.math.l2_normalize(self.average(other, training=True), axis=-1))
                loss += tf.reduce_mean(2.0 - 2.0 * tf.reduce_sum(told * kept, axis=-1))
        found = _apply(self, tape, loss)
        for kept, new in zip(self.average.trainable_variables, self.trainable_variables):
            kept.assign(0.99 * kept + 0.01 * new)
        return found


@_add
def told_from_the_other_view():
    def network():
        i = x = keras.Input((48, 48, 3))
        for width, step in ((48, 1), (96, 2), (192, 2)):
            x = _bn(_bn(x, width, strides=step), width)
        x = layers.GlobalAveragePooling2D()(x)
        x = layers.ReLU()(layers.BatchNormalization()(layers.Dense(512)(x)))
        return i, layers.Dense(128, dtype="float32")(x)

    average = keras.Model(*network())
    z = keras.Input((128,))
    y = layers.ReLU()(layers.BatchNormalization()(layers.Dense(512)(z)))
    model = OtherView(*network())
    model.average, model.guess = average, keras.Model(z, layers.Dense(128, dtype="float32")(y))
    return _stepped(model, ((48, 48, 3), "float32"), y=((48, 48, 3), "float32"))


@_add
def steering():
    """The wheel's angle from what is seen on the road: strided convolutions without padding."""
    model = keras.Sequential([keras.Input((66, 200, 3)), layers.Lambda(lambda x: x / 127.5 - 1.0)])
    for width, side, step in ((24, 5, 2), (36, 5, 2), (48, 5, 2), (64, 3, 1), (64, 3, 1)):
        model.add(layers.Conv2D(width, side, step, activation="elu"))
    model.add(layers.Dropout(0.5))
    model.add(layers.Flatten())
    for width in (100, 50, 10):
        model.add(layers.Dense(width, activation="elu"))
    model.add(layers.Dense(1, dtype="float32"))
    return _values(model)


# Where things are


def _of_a_grid(true, found):
    """Boxes where there is something; else only that there is nothing."""
    there = true[..., 4:5]
    place = tf.reduce_sum(there * tf.square(true[..., :2] - tf.sigmoid(found[..., :2])), axis=(1, 2, 3, 4))
    size = tf.reduce_sum(
        there * tf.square(tf.sqrt(true[..., 2:4] + 1e-6) - found[..., 2:4]), axis=(1, 2, 3, 4)
    )
    sure = tf.nn.sigmoid_cross_entropy_with_logits(true[..., 4:5], found[..., 4:5])
    sure = tf.reduce_sum(tf.where(there > 0, sure, 0.5 * sure), axis=(1, 2, 3, 4))
    kinds = tf.nn.softmax_cross_entropy_with_logits(true[..., 5:], found[..., 5:])
    return 5.0 * (place + size) + sure + tf.reduce_sum(there[..., 0] * kinds, axis=(1, 2, 3))


@_add
def boxes_on_a_grid():
    i = x = keras.Input((208, 208, 3))
    for place, width in enumerate((16, 32, 64, 128, 256)):
        x = layers.LeakyReLU(negative_slope=0.1)(
            layers.BatchNormalization()(layers.Conv2D(width, 3, padding="same", use_bias=False)(x))
        )
        if place < 4:
            x = layers.MaxPooling2D()(x)
    x = layers.Conv2D(3 * 25, 1)(x)
    x = layers.Activation("linear", dtype="float32")(layers.Reshape((13, 13, 3, 25))(x))
    return _values(keras.Model(i, x), _of_a_grid)


def _hardest(true, found):
    """Of the places without anything, three times as many as have something, the hardest."""
    something = tf.cast(true[..., 0] > 0, tf.float32)
    entropy = tf.nn.sparse_softmax_cross_entropy_with_logits(tf.cast(true[..., 0], tf.int32), found[..., 4:])
    count = tf.reduce_sum(something, axis=1)
    hard, _ = tf.math.top_k(entropy * (1.0 - something), 600)
    taken = tf.cast(tf.range(600)[None] < tf.cast(3.0 * count, tf.int32)[:, None], tf.float32)
    off = tf.abs(true[..., 1:] - found[..., :4])
    off = tf.reduce_sum(tf.where(off < 1.0, 0.5 * tf.square(off), off - 0.5), axis=-1)
    whole = tf.reduce_sum(something * (entropy + off), axis=1) + tf.reduce_sum(hard * taken, axis=1)
    return whole / (count + 1.0)


@_add
def hardest_places():
    """Boxes from four sizes of a trunk, all of them in one list."""
    i = x = keras.Input((192, 192, 3))
    seen = []
    for place, width in enumerate((32, 64, 128, 128, 128, 128)):
        x = _bn(_bn(x, width, strides=2), width)
        if place > 1:
            seen.append(x)
    parts = []
    for y in seen:
        both = [layers.Conv2D(4 * size, 3, padding="same")(y) for size in (4, 21)]
        boxes, kinds = (layers.Reshape((-1, size))(one) for one, size in zip(both, (4, 21), strict=True))
        parts.append(layers.Concatenate()([boxes, kinds]))
    x = layers.Activation("linear", dtype="float32")(layers.Concatenate(axis=1)(parts))
    shape = [((192, 192, 3), "float32")]
    return Case(keras.Model(i, x), _hardest, shape, ((x.shape[1], 5), "float32"))


def _overlap(true, found):
    both = ops.sum(true * found, axis=(1, 2, 3))
    whole = ops.sum(true, axis=(1, 2, 3)) + ops.sum(found, axis=(1, 2, 3))
    entropy = ops.mean(keras.losses.binary_crossentropy(true, found), axis=(1, 2))
    return 1.0 - (2.0 * both + 1.0) / (whole + 1.0) + entropy


def _two(x, width, slope=0.1):
    for _ in range(2):
        x = layers.BatchNormalization()(layers.Conv2D(width, 3, padding="same")(x))
        x = layers.LeakyReLU(negative_slope=slope)(x)
    return x


@_add
def vessels():
    """Down and up again, with a loss of how far two areas overlap."""
    i = x = keras.Input((192, 192, 3))
    kept = []
    for width in (24, 48, 96):
        x = _two(x, width)
        kept.append(x)
        x = layers.MaxPooling2D()(x)
    x = _two(x, 192)
    for width, skip in zip((96, 48, 24), reversed(kept), strict=True):
        x = layers.Concatenate()([layers.Conv2DTranspose(width, 2, 2)(x), skip])
        x = _two(x, width)
    x = layers.Conv2D(1, 1, activation="sigmoid", dtype="float32")(x)
    return _values(keras.Model(i, x), _overlap)


@_add
def gated_skips():
    """What goes across is weighed by what comes up from below."""
    i = x = keras.Input((160, 160, 1))
    kept = []
    for width in (32, 64, 128):
        x = _bn(_bn(x, width), width)
        kept.append(x)
        x = layers.MaxPooling2D()(x)
    x = _bn(_bn(x, 256), 256)
    for width, skip in zip((128, 64, 32), reversed(kept), strict=True):
        x = _bn(layers.UpSampling2D()(x), width)
        gate = layers.Add()([_bn(x, width // 2, 1, None), _bn(skip, width // 2, 1, None)])
        gate = layers.Conv2D(1, 1, activation="sigmoid")(layers.ReLU()(gate))
        x = _bn(_bn(layers.Concatenate()([x, layers.Multiply()([skip, gate])]), width), width)
    x = layers.Conv2D(4, 1, activation="softmax", dtype="float32")(x)
    return _labelled(keras.Model(i, x), (160, 160))


@_add
def dense_streets():
    """Dense blocks on the way down and up; each block's new layers go on."""

    def dense(x, count):
        new = []
        for _ in range(count):
            y = layers.Conv2D(16, 3, padding="same")(layers.ReLU()(layers.BatchNormalization()(x)))
            new.append(layers.Dropout(0.2)(y))
            x = layers.Concatenate()([x, new[-1]])
        return x, layers.Concatenate()(new)

    i = keras.Input((128, 128, 3))
    x, kept = layers.Conv2D(48, 3, padding="same")(i), []
    for _ in range(3):
        x, _ = dense(x, 3)
        kept.append(x)
        x = layers.Conv2D(x.shape[-1], 1)(layers.ReLU()(layers.BatchNormalization()(x)))
        x = layers.MaxPooling2D()(layers.Dropout(0.2)(x))
    _, x = dense(x, 4)
    for skip in reversed(kept):
        x = layers.Concatenate()([layers.Conv2DTranspose(x.shape[-1], 3, 2, "same")(x), skip])
        x, new = dense(x, 3)
        x = x if skip is kept[0] else new
    x = layers.Conv2D(11, 1, activation="softmax", dtype="float32")(x)
    return _labelled(keras.Model(i, x), (128, 128))


@_add
def portraits():
    """A light network: depthwise convolutions, hard swish, sizes doubled by interpolation."""
    i = x = keras.Input((224, 224, 3))
    kept = []
    for width in (16, 24, 40, 80):
        x = layers.SeparableConv2D(width, 3, 2, "same", use_bias=False)(x)
        x = layers.Activation("hard_swish")(layers.BatchNormalization()(x))
        x = layers.SeparableConv2D(width, 3, padding="same", use_bias=False)(x)
        x = layers.Activation("hard_swish")(layers.BatchNormalization()(x))
        kept.append(x)
    for skip in (*reversed(kept[:-1]), None):
        x = layers.UpSampling2D(interpolation="bilinear")(x)
        if skip is not None:
            x = layers.Add()([layers.Conv2D(skip.shape[-1], 1)(x), skip])
            x = layers.SeparableConv2D(skip.shape[-1], 3, padding="same", activation="relu")(x)
    return _values(keras.Model(i, layers.Conv2D(1, 1, activation="sigmoid", dtype="float32")(x)),
                   "binary_crossentropy")  # fmt: skip


@_add
def organs():
    """Volumes: residual blocks with PReLU, strided ways down and up."""

    def block(x, count):
        y = x
        for _ in range(count):
            y = layers.BatchNormalization()(layers.Conv3D(x.shape[-1], 3, padding="same")(y))
            y = layers.PReLU(shared_axes=[1, 2, 3])(y)
        return layers.Add()([x, y])

    i = keras.Input((48, 64, 64, 1))
    x, kept = layers.Conv3D(16, 3, padding="same")(i), []
    for width, count in ((16, 1), (32, 2)):
        x = block(x, count)
        kept.append(x)
        x = layers.PReLU(shared_axes=[1, 2, 3])(layers.Conv3D(2 * width, 2, 2)(x))
    x = block(x, 2)
    for width, skip in zip((32, 16), reversed(kept), strict=True):
        x = layers.Concatenate()([layers.Conv3DTranspose(width, 2, 2)(x), skip])
        x = block(layers.Conv3D(width, 1)(x), 1)
    return _labelled(
        keras.Model(i, layers.Conv3D(3, 1, activation="softmax", dtype="float32")(x)), (48, 64, 64)
    )


@_add
def sharpened():
    """Dense blocks within residual ones, four times as many points at the end."""

    def dense(x):
        kept = [x]
        for _ in range(3):
            y = layers.Concatenate()(kept) if len(kept) > 1 else x
            kept.append(layers.Conv2D(24, 3, padding="same", activation="relu")(y))
        return x + 0.2 * layers.Conv2D(48, 1)(layers.Concatenate()(kept))

    i = keras.Input((64, 64, 3))
    first = x = layers.Conv2D(48, 3, padding="same")(i)
    for _ in range(3):
        x = x + 0.2 * dense(dense(x))
    x = first + layers.Conv2D(48, 3, padding="same")(x)
    for _ in range(2):
        x = layers.Conv2D(4 * 48, 3, padding="same")(x)
        x = layers.LeakyReLU()(layers.Lambda(lambda y: tf.nn.depth_to_space(y, 2))(x))
    x = layers.Conv2D(3, 3, padding="same", dtype="float32")(x)
    return _values(keras.Model(i, x), "mean_absolute_error")


@_add
def actions_in_films():
    """Convolutions in space, then in time."""

    def apart(x, width, step=1):
        x = layers.Conv3D(width, (1, 3, 3), (1, step, step), "same", use_bias=False)(x)
        x = layers.ReLU()(layers.BatchNormalization()(x))
        x = layers.Conv3D(width, (3, 1, 1), (step, 1, 1), "same", use_bias=False)(x)
        return layers.BatchNormalization()(x)

    i = keras.Input((12, 96, 96, 3))
    x = layers.ReLU()(apart(i, 24, 2))
    for width in (32, 64, 128):
        y = apart(layers.ReLU()(apart(x, width, 2)), width)
        short = layers.BatchNormalization()(layers.Conv3D(width, 1, 2, use_bias=False)(x))
        x = layers.ReLU()(layers.Add()([y, short]))
    x = layers.GlobalAveragePooling3D()(x)
    return _labelled(keras.Model(i, layers.Dense(51, activation="softmax", dtype="float32")(x)))


# Made of noise, and of codes


class OfClasses(keras.Model):
    """A generator and a judge, both told the class."""

    judge = None
    size = 100

    def train_step(self, data):
        pictures, labels = data
        noise = tf.random.normal((pictures.shape[0], self.size))
        with tf.GradientTape() as tape:
            made = self([noise, labels], training=True)
            real = self.judge([pictures, labels], training=True)
            false = self.judge([made, labels], training=True)
            loss = tf.reduce_mean(tf.nn.relu(1.0 - real)) + tf.reduce_mean(tf.nn.relu(1.0 + false))
        variables = self.judge.trainable_variables
        for variable, gradient in zip(variables, tape.gradient(loss, variables)):
            variable.assign_sub(1e-4 * tf.convert_to_tensor(gradient))
        with tf.GradientTape() as tape:
            made = self([noise, labels], training=True)
            loss = -tf.reduce_mean(self.judge([made, labels], training=True))
        return _apply(self, tape, loss)


@_add
def pictures_of_classes():
    z, label = keras.Input((100,)), keras.Input((1,), dtype="int32")
    x = layers.Concatenate()([z, layers.Flatten()(layers.Embedding(10, 50)(label))])
    x = layers.Reshape((4, 4, 256))(layers.Dense(4 * 4 * 256, use_bias=False)(x))
    for width in (256, 128, 64):
        x = layers.ReLU()(layers.BatchNormalization()(x))
        x = layers.Conv2DTranspose(width, 4, 2, "same", use_bias=False)(x)
    x = layers.ReLU()(layers.BatchNormalization()(x))
    x = layers.Conv2DTranspose(3, 4, 2, "same", activation="tanh", dtype="float32")(x)
    i, kind = keras.Input((64, 64, 3)), keras.Input((1,), dtype="int32")
    y = layers.Reshape((64, 64, 1))(layers.Dense(64 * 64)(layers.Flatten()(layers.Embedding(10, 50)(kind))))
    y = layers.Concatenate()([i, y])
    for width in (64, 128, 256):
        y = layers.LeakyReLU(negative_slope=0.2)(layers.Conv2D(width, 4, 2, "same")(y))
        y = layers.Dropout(0.3)(y)
    judge = keras.Model([i, kind], layers.Dense(1, dtype="float32")(layers.Flatten()(y)))
    model = OfClasses([z, label], x)
    model.judge = judge
    return _stepped(model, ((64, 64, 3), "float32"), y=((1,), "int32"))


class ByKinds(keras.Model):
    """Codes of thirty kinds each, drawn with noise that a gradient goes through."""

    decoder = None

    def train_step(self, data):
        x, _ = data
        with tf.GradientTape() as tape:
            scores = self(x, training=True)
            noise = -tf.math.log(-tf.math.log(tf.random.uniform(tf.shape(scores), 1e-6, 1.0 - 1e-6)))
            drawn = tf.nn.softmax((scores + noise) / 0.7)
            made = self.decoder(drawn, training=True)
            entropy = tf.nn.sigmoid_cross_entropy_with_logits(x, made)
            share = tf.nn.softmax(scores)
            spread = tf.reduce_sum(share * (tf.math.log(share + 1e-8) + 3.4), axis=(1, 2))
            loss = tf.reduce_mean(tf.reduce_sum(entropy, axis=(1, 2, 3)) + spread)
        return _apply(self, tape, loss)


@_add
def codes_of_kinds():
    i = x = keras.Input((32, 32, 1))
    for width in (32, 64, 128):
        x = layers.Conv2D(width, 4, 2, "same", activation="relu")(x)
    x = layers.Reshape((40, 30))(layers.Dense(40 * 30)(layers.Flatten()(x)))
    z = keras.Input((40, 30))
    y = layers.Dense(4 * 4 * 128, activation="relu")(layers.Flatten()(z))
    y = layers.Reshape((4, 4, 128))(y)
    for width in (64, 32):
        y = layers.Conv2DTranspose(width, 4, 2, "same", activation="relu")(y)
    model = ByKinds(i, layers.Activation("linear", dtype="float32")(x))
    model.decoder = keras.Model(z, layers.Conv2DTranspose(1, 4, 2, "same", dtype="float32")(y))
    return _stepped(model, ((32, 32, 1), "float32"), y=((), "int32"))


class NoiseByTime(keras.Model):
    """Noise of a time that is drawn is found in the picture; an average of the network is kept."""

    average = None

    def train_step(self, data):
        x, _ = data
        count = x.shape[0]
        time = tf.random.uniform((count,), 0, 1000, tf.int32)
        kept = tf.gather(tf.math.cumprod(1.0 - tf.linspace(1e-4, 0.02, 1000)), time)[:, None, None, None]
        noise = tf.random.normal(tf.shape(x))
        with tf.GradientTape() as tape:
            found = self([tf.sqrt(kept) * x + tf.sqrt(1.0 - kept) * noise, time], training=True)
            loss = tf.reduce_mean(tf.square(noise - found))
        found = _apply(self, tape, loss)
        for mean, new in zip(self.average, self.trainable_variables):
            mean.assign(0.999 * mean + 0.001 * new)
        return found


@_add
def noise_by_time():
    def block(x, width, told):
        short = x if x.shape[-1] == width else layers.Conv2D(width, 1)(x)
        y = layers.Activation("swish")(layers.GroupNormalization(8)(x))
        y = layers.Conv2D(width, 3, padding="same")(y)
        y = y + layers.Reshape((1, 1, width))(layers.Dense(width)(told))
        y = layers.Activation("swish")(layers.GroupNormalization(8)(y))
        return short + layers.Conv2D(width, 3, padding="same")(y)

    i, time = keras.Input((32, 32, 3)), keras.Input((), dtype="int32")
    told = layers.Dense(128, activation="swish")(layers.Embedding(1000, 64)(time))
    x, kept = layers.Conv2D(48, 3, padding="same")(i), []
    for width in (48, 96, 192):
        x = block(x, width, told)
        if width == 192:
            break
        kept.append(x)
        x = layers.Conv2D(width, 3, 2, "same")(x)
    flat = layers.Reshape((64, 192))(layers.GroupNormalization(8)(x))
    x = x + layers.Reshape((8, 8, 192))(layers.MultiHeadAttention(4, 48)(flat, flat))
    x = block(x, 192, told)
    for skip in reversed(kept):
        x = layers.Conv2D(skip.shape[-1], 3, padding="same")(layers.UpSampling2D()(x))
        x = block(layers.Concatenate()([x, skip]), skip.shape[-1], told)
    x = layers.Conv2D(3, 3, padding="same", dtype="float32")(layers.Activation("swish")(x))
    model = NoiseByTime([i, time], x)
    model.average = [keras.Variable(one, trainable=False) for one in model.trainable_variables]
    return _stepped(model, ((32, 32, 3), "float32"), y=((), "int32"))
