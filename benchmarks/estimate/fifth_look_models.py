"""A fifth set for the rules for XLA, written before anything of it was compiled: kinds of models and of steps.

Classifiers, segmentation, encoders, recurrent networks, autoencoders, tables, and steps of their own: two optimizers,
averaged teachers, two passes, penalties, unrolled solvers. Named by what each is.
"""

import keras
import tensorflow as tf
from fourth_look_models import _attended, _yes_no
from keras import layers, ops
from models import Case, Positions, Sampling, _add
from third_look_models import _bn, _classes, _labelled, _logits, _values


def _stepped(model, *shapes, y):
    return Case(model, "mse", list(shapes), y)


# Pictures


@_add
def road_signs():
    """Two convolutions and a pooling, three times, with dropout after each and L2 on the kernels."""
    i = x = keras.Input((64, 64, 3))
    x = layers.Rescaling(1 / 127.5, offset=-1)(x)
    for width in (32, 64, 128):
        for _ in range(2):
            x = layers.Conv2D(width, 3, padding="same", activation="relu", kernel_regularizer="l2")(x)
        x = layers.Dropout(0.25)(layers.MaxPooling2D()(x))
    return _classes(i, layers.Dropout(0.5)(layers.Dense(256, activation="relu")(layers.Flatten()(x))), 43)


@_add
def gated_channels_and_places():
    """Attention of channels, by mean and maximum with one perceptron, and then of places."""
    i = x = keras.Input((64, 64, 3))
    for width in (32, 64, 128):
        x = _bn(x, width, strides=2)
        first, last = layers.Dense(width // 8, activation="relu"), layers.Dense(width)
        pooled = (layers.GlobalAveragePooling2D(keepdims=True), layers.GlobalMaxPooling2D(keepdims=True))
        x = x * ops.sigmoid(sum(last(first(pool(x))) for pool in pooled))
        y = ops.concatenate([ops.mean(x, -1, keepdims=True), ops.max(x, -1, keepdims=True)], axis=-1)
        x = x * layers.Conv2D(1, 7, padding="same", activation="sigmoid")(y)
    return _classes(i, layers.GlobalAveragePooling2D()(x), 20)


@_add
def cheap_features():
    """Half of the channels by a convolution, the other half by a depthwise one of those."""
    i = keras.Input((96, 96, 3))
    x = _bn(i, 16, strides=2)
    for width, step in ((32, 1), (64, 2), (64, 1), (128, 2), (128, 1)):
        y = _bn(x, width // 2, 1, strides=step)
        z = layers.BatchNormalization()(layers.DepthwiseConv2D(3, padding="same", use_bias=False)(y))
        y = layers.concatenate([y, layers.ReLU()(z)])
        x = y + x if x.shape == y.shape else y
    return _classes(i, layers.Dropout(0.2)(layers.GlobalAveragePooling2D()(x)), 50)


@_add
def chosen_kernels():
    """Two sizes of kernels, of which softmax takes a part for each channel."""
    i = keras.Input((56, 56, 3))
    x = _bn(i, 32)
    for width in (32, 64):
        both = [_bn(x, width, 3), _bn(x, width, 3, dilation_rate=2)]
        y = layers.Dense(16, activation="relu")(layers.GlobalAveragePooling2D()(both[0] + both[1]))
        part = ops.softmax(layers.Reshape((2, 1, 1, width))(layers.Dense(2 * width)(y)), axis=1)
        x = layers.MaxPooling2D()(both[0] * part[:, 0] + both[1] * part[:, 1])
    return _classes(i, layers.GlobalAveragePooling2D()(x), 30)


@_add
def nested_unet():
    """A U-Net whose skips are filled with convolutions, three deep."""

    def pair(x, width):
        return _bn(_bn(x, width), width)

    i = keras.Input((96, 96, 1))
    made = {(0, 0): pair(i, 16)}
    for depth, width in ((1, 32), (2, 64), (3, 96)):
        made[depth, 0] = pair(layers.MaxPooling2D()(made[depth - 1, 0]), width)
    for column in (1, 2, 3):
        for depth in range(4 - column):
            parts = [made[depth, one] for one in range(column)]
            up = layers.UpSampling2D(interpolation="bilinear")(made[depth + 1, column - 1])
            made[depth, column] = pair(layers.concatenate([*parts, up]), (16, 32, 64)[depth])
    out = layers.Conv2D(1, 1, activation="sigmoid", dtype="float32")(made[0, 3])
    return _values(keras.Model(i, out), "binary_crossentropy")


@_add
def linked_segmentation():
    """Residual encoder, transposed convolutions back, skips added; overlap as loss."""
    i = keras.Input((128, 128, 3))
    x, kept = _bn(i, 32, 5, strides=2), []
    for width in (64, 128):
        kept.append(x)
        x = layers.ReLU()(_bn(_bn(x, width, strides=2), width, 3, None) + _bn(x, width, 1, None, strides=2))
    for short in reversed(kept):
        width = short.shape[-1]
        y = _bn(x, x.shape[-1] // 4, 1)
        y = layers.Conv2DTranspose(y.shape[-1], 3, 2, padding="same", use_bias=False)(y)
        x = _bn(layers.ReLU()(layers.BatchNormalization()(y)), width, 1) + short
    x = layers.Conv2DTranspose(1, 2, 2, activation="sigmoid", dtype="float32")(x)

    def overlap(wanted, found):
        both = ops.sum(wanted * found, axis=(1, 2, 3))
        return 1 - (2 * both + 1) / (ops.sum(wanted, axis=(1, 2, 3)) + ops.sum(found, axis=(1, 2, 3)) + 1)

    return _values(keras.Model(i, x), overlap)


@_add
def gated_filling():
    """Holes in pictures: convolutions whose second half gates the first, dilated in the middle."""
    picture, mask = keras.Input((64, 64, 3)), keras.Input((64, 64, 1))

    def gated(x, width, **options):
        y, gate = ops.split(layers.Conv2D(2 * width, 3, padding="same", **options)(x), 2, axis=-1)
        return ops.elu(y) * ops.sigmoid(gate)

    x = gated(layers.concatenate([picture * (1 - mask), mask]), 32)
    x = gated(gated(x, 64, strides=2), 64)
    for rate in (2, 4):
        x = gated(x, 64, dilation_rate=rate)
    x = gated(layers.UpSampling2D()(x), 32)
    out = layers.Conv2D(3, 3, padding="same", activation="tanh", dtype="float32")(x)
    return _values(keras.Model([picture, mask], out), "mae")


@_add
def dense_enlarging():
    """Dense blocks within residuals, scaled down, without normalization; enlarged by resizing."""
    i = x = keras.Input((32, 32, 3))
    x = first = layers.Conv2D(32, 3, padding="same")(x)
    for _ in range(3):
        parts = [x]
        for _ in range(3):
            y = layers.Conv2D(16, 3, padding="same")(layers.concatenate(parts) if len(parts) > 1 else x)
            parts.append(layers.LeakyReLU(negative_slope=0.2)(y))
        x = x + 0.2 * layers.Conv2D(32, 3, padding="same")(layers.concatenate(parts))
    x = layers.UpSampling2D(interpolation="bilinear")(first + x)
    x = layers.Conv2D(32, 3, padding="same", activation="relu")(x)
    return _values(keras.Model(i, layers.Conv2D(3, 3, padding="same", dtype="float32")(x)), "mae")


@_add
def clips():
    """Video by convolutions of space and of time in turn."""
    i = x = keras.Input((8, 48, 48, 3))
    for width in (16, 32, 64):
        x = layers.Conv3D(width, (1, 3, 3), padding="same", use_bias=False)(x)
        x = layers.ReLU()(layers.BatchNormalization()(x))
        x = layers.Conv3D(width, (3, 1, 1), padding="same", use_bias=False)(x)
        x = layers.MaxPooling3D((1, 2, 2))(layers.ReLU()(layers.BatchNormalization()(x)))
    return _classes(i, layers.GlobalAveragePooling3D()(x), 10)


@_add
def age_and_more():
    """One trunk, three heads, their losses added."""
    i = x = keras.Input((80, 80, 3))
    for width in (32, 64, 96):
        x = layers.MaxPooling2D()(layers.Conv2D(width, 3, activation="relu")(x))
        x = layers.BatchNormalization()(x)
    x = layers.Flatten()(x)
    heads = [
        layers.Dense(count, activation=last)(layers.Dropout(0.4)(layers.Dense(128, activation="relu")(x)))
        for count, last in ((1, "linear"), (1, "sigmoid"), (5, "softmax"))
    ]
    out = layers.Activation("linear", dtype="float32")(layers.concatenate(heads))

    def loss(wanted, found):
        age = ops.mean(ops.square(wanted[:, :1] - found[:, :1]))
        kind = ops.mean(ops.binary_crossentropy(wanted[:, 1:2], found[:, 1:2]))
        return age + kind + ops.mean(ops.categorical_crossentropy(wanted[:, 2:], found[:, 2:]))

    return _values(keras.Model(i, out), loss)


@_add
def cosine_margins():
    """Faces: classes by angles, with a margin; rows and columns of length one."""

    class Angles(layers.Layer):
        def build(self, shape):
            self.kernel = self.add_weight(shape=(shape[-1], 2000), name="kernel")

        def call(self, x):
            return ops.matmul(ops.normalize(x, axis=-1), ops.normalize(self.kernel, axis=0))

    i = x = keras.Input((56, 56, 3))
    for width in (32, 64, 128):
        x = layers.PReLU(shared_axes=[1, 2])(_bn(x, width, 3, None, strides=2))
    x = layers.BatchNormalization()(layers.Dense(128)(layers.Flatten()(x)))
    out = Angles(dtype="float32")(x)

    def loss(wanted, found):
        shown = ops.one_hot(ops.cast(wanted, "int32"), 2000)
        return ops.mean(ops.categorical_crossentropy(shown, 30 * (found - 0.35 * shown), from_logits=True))

    return _labelled(keras.Model(i, out), (), loss)


@_add
def moved_digits():
    """A small network says how to shift and scale, another reads what is sampled so."""
    i = keras.Input((40, 40, 1))
    x = layers.MaxPooling2D()(layers.Conv2D(16, 5, activation="relu")(i))
    move = layers.Dense(6)(layers.Dense(32, activation="relu")(layers.Flatten()(x)))
    theta = ops.reshape(move, (-1, 2, 3))
    across = ops.linspace(-1.0, 1.0, 40)
    grid = ops.stack([ops.tile(across, 40), ops.repeat(across, 40), ops.ones(1600)])
    at = (ops.matmul(ops.cast(theta, "float32"), ops.cast(grid, "float32")) + 1) * 19.5
    low = ops.clip(ops.floor(at), 0, 38)
    part = at - low
    flat, low = ops.reshape(ops.cast(i, "float32"), (-1, 1600)), ops.cast(low, "int32")
    y = 0.0
    for right in (0, 1):
        for down in (0, 1):
            weight = (part[:, 0] if right else 1 - part[:, 0]) * (part[:, 1] if down else 1 - part[:, 1])
            y += weight * ops.take_along_axis(flat, (low[:, 1] + down) * 40 + low[:, 0] + right, axis=1)
    x = ops.reshape(y, (-1, 40, 40, 1))
    for width in (32, 64):
        x = layers.MaxPooling2D()(layers.Conv2D(width, 3, activation="relu")(x))
    return _classes(i, layers.Dense(128, activation="relu")(layers.Flatten()(x)))


# Text and sequences


class Rotated(layers.Layer):
    """Causal attention with turned queries and keys, without biases."""

    def __init__(self, heads):
        super().__init__()
        self.heads = heads

    def build(self, shape):
        self.whole = layers.Dense(3 * shape[-1], use_bias=False)
        self.last = layers.Dense(shape[-1], use_bias=False)
        self.whole.build(shape)
        self.last.build(shape)

    def call(self, x):
        length, width = x.shape[1:]
        size = width // self.heads
        q, k, v = (
            ops.transpose(ops.reshape(one, (-1, length, self.heads, size)), (0, 2, 1, 3))
            for one in ops.split(self.whole(x), 3, axis=-1)
        )
        angle = ops.arange(length, dtype="float32")[:, None] / 1000.0 ** (
            ops.arange(size // 2, dtype="float32") * 2 / size
        )
        cos, sin = ops.cast(ops.cos(angle), x.dtype), ops.cast(ops.sin(angle), x.dtype)

        def turn(one):
            a, b = ops.split(one, 2, axis=-1)
            return ops.concatenate([a * cos - b * sin, a * sin + b * cos], axis=-1)

        scores = ops.matmul(turn(q), ops.transpose(turn(k), (0, 1, 3, 2))) / size**0.5
        seen = ops.arange(length)[:, None] >= ops.arange(length)
        scores = ops.softmax(ops.where(seen, ops.cast(scores, "float32"), -1e9))
        made = ops.transpose(ops.matmul(ops.cast(scores, x.dtype), v), (0, 2, 1, 3))
        return self.last(ops.reshape(made, (-1, length, width)))


@_add
def turned_decoder():
    """A decoder of today: root mean square norms, rotations, gated units."""
    i = keras.Input((128,), dtype="int32")
    x = layers.Embedding(8000, 192)(i)
    for _ in range(2):
        x = x + Rotated(6)(layers.RMSNormalization()(x))
        y = layers.RMSNormalization()(x)
        y = layers.Dense(512, use_bias=False, activation="silu")(y) * layers.Dense(512, use_bias=False)(y)
        x = x + layers.Dense(192, use_bias=False)(y)
    out = layers.Dense(8000, use_bias=False, dtype="float32")(layers.RMSNormalization()(x))
    return _labelled(keras.Model(i, out), (128,), _logits())


@_add
def shared_encoder():
    """One block, used four times; a narrow table made wide."""
    i = keras.Input((96,), dtype="int32")
    x = layers.Dense(256)(Positions()(layers.Embedding(12000, 64)(i)))
    attend, first, last = layers.MultiHeadAttention(4, 64), layers.Dense(1024), layers.Dense(256)
    norms = [layers.LayerNormalization(), layers.LayerNormalization()]
    for _ in range(4):
        x = norms[0](x + attend(x, x))
        x = norms[1](x + last(ops.gelu(first(x))))
    return _classes(i, layers.Dense(256, activation="tanh")(x[:, 0]), 5)


@_add
def linear_attention():
    """Attention by sums over keys, without a square of scores."""
    i = keras.Input((512,), dtype="int32")
    x = Positions()(layers.Embedding(6000, 128)(i))
    for _ in range(2):
        y = layers.LayerNormalization()(x)
        q, k, v = (layers.Reshape((512, 4, 32))(layers.Dense(128)(y)) for _ in range(3))
        q, k = ops.elu(q) + 1, ops.elu(k) + 1
        kept = ops.einsum("blhd,blhe->bhde", k, v)
        scale = ops.einsum("blhd,bhd->blh", q, ops.sum(k, axis=1))
        made = ops.einsum("blhd,bhde->blhe", q, kept) / ops.expand_dims(scale + 1e-6, -1)
        x = x + layers.Dense(128)(layers.Reshape((512, 128))(made))
        x = x + layers.Dense(128)(layers.Dense(256, activation="relu")(layers.LayerNormalization()(x)))
    return _yes_no(i, layers.GlobalAveragePooling1D()(x))


@_add
def biased_by_distance():
    """An encoder whose scores get a learned number for each distance."""

    class Distance(layers.Layer):
        def build(self, shape):
            self.table = self.add_weight(shape=(64, 4), name="table")

        def call(self, x):
            places = ops.arange(x.shape[-1])
            near = ops.clip(places[:, None] - places + 32, 0, 63)
            return x + ops.transpose(ops.cast(ops.take(self.table, near, axis=0), x.dtype), (2, 0, 1))

    i = keras.Input((128,), dtype="int32")
    x = layers.Embedding(8000, 128)(i)
    for _ in range(2):
        y = layers.LayerNormalization()(x)
        q, k, v = (
            layers.Permute((2, 1, 3))(layers.Reshape((128, 4, 32))(layers.Dense(128)(y))) for _ in range(3)
        )
        scores = Distance()(ops.matmul(q, ops.transpose(k, (0, 1, 3, 2))))
        made = layers.Permute((2, 1, 3))(ops.matmul(layers.Dropout(0.1)(ops.softmax(scores)), v))
        x = x + layers.Dense(128)(layers.Reshape((128, 128))(made))
        x = x + layers.Dense(128)(layers.Dense(512, activation="relu")(layers.LayerNormalization()(x)))
    return _labelled(keras.Model(i, layers.Dense(9, dtype="float32")(x)), (128,), _logits())


@_add
def bags_of_patches():
    """A bag of pictures has one label; attention says which of them count."""
    i = keras.Input((12, 28, 28, 1))
    x = ops.reshape(i, (-1, 28, 28, 1))
    for width in (20, 50):
        x = layers.MaxPooling2D()(layers.Conv2D(width, 5, activation="relu")(x))
    x = layers.Dense(256, activation="relu")(layers.Flatten()(x))
    x = ops.reshape(x, (-1, 12, 256))
    y = layers.Dense(128, activation="tanh")(x) * layers.Dense(128, activation="sigmoid")(x)
    part = layers.Softmax(axis=1)(layers.Dense(1)(y))
    return _yes_no(i, ops.sum(part * x, axis=1))


@_add
def translator_with_memory():
    """A recurrent reader, a recurrent writer that attends to it by sums."""
    one, two = keras.Input((20,), dtype="int32"), keras.Input((20,), dtype="int32")
    read, *state = layers.GRU(256, return_sequences=True, return_state=True)(layers.Embedding(6000, 128)(one))
    said = layers.GRU(256, return_sequences=True)(layers.Embedding(6000, 128)(two), initial_state=state)
    found = layers.AdditiveAttention()([said, read])
    x = layers.Dense(256, activation="tanh")(layers.concatenate([found, said]))
    out = layers.Dense(6000, activation="softmax", dtype="float32")(x)
    return _labelled(keras.Model([one, two], out), (20,))


@_add
def own_cell():
    """A recurrent cell of one's own: a gate that mixes the state and what is new."""

    class Mixing(layers.Layer):
        def __init__(self, units, **options):
            super().__init__(**options)
            self.units = self.state_size = units

        def build(self, shape):
            self.kernel = self.add_weight(shape=(shape[-1], 2 * self.units), name="kernel")
            self.again = self.add_weight(shape=(self.units, 2 * self.units), name="again")

        def call(self, x, states):
            gate, new = ops.split(ops.matmul(x, self.kernel) + ops.matmul(states[0], self.again), 2, axis=-1)
            gate = ops.sigmoid(gate)
            state = gate * states[0] + (1 - gate) * ops.tanh(new)
            return state, [state]

    i = x = keras.Input((60, 24))
    x = layers.RNN(Mixing(128), return_sequences=True)(x)
    return _values(keras.Model(i, layers.Dense(1, dtype="float32")(layers.RNN(Mixing(64))(x))))


@_add
def series_again():
    """A recurrent autoencoder: read, repeat, write."""
    i = keras.Input((40, 8))
    x = layers.RepeatVector(40)(layers.LSTM(64)(layers.LSTM(128, return_sequences=True)(i)))
    x = layers.LSTM(128, return_sequences=True)(layers.LSTM(64, return_sequences=True)(x))
    return _values(keras.Model(i, layers.TimeDistributed(layers.Dense(8, dtype="float32"))(x)), "mae")


@_add
def long_and_short():
    """Forecasts by a convolution, a recurrent layer, and a linear part beside."""
    i = keras.Input((96, 32))
    x = layers.Dropout(0.2)(layers.Conv1D(100, 6, activation="relu")(i))
    x = layers.Dropout(0.2)(layers.GRU(100)(x))
    beside = layers.Dense(1)(layers.Permute((2, 1))(i[:, -24:]))
    out = layers.Dense(32)(x) + layers.Flatten()(beside)
    return _values(keras.Model(i, layers.Activation("linear", dtype="float32")(out)), "mae")


@_add
def many_widths_in_time():
    """Series by convolutions of three widths at once, three times, with a shortcut."""
    i = x = keras.Input((256, 6))
    for _ in range(3):
        y = layers.Conv1D(32, 1, use_bias=False)(x)
        parts = [layers.Conv1D(32, width, padding="same", use_bias=False)(y) for width in (9, 19, 39)]
        parts.append(layers.Conv1D(32, 1, use_bias=False)(layers.MaxPooling1D(3, 1, "same")(x)))
        x = layers.ReLU()(layers.BatchNormalization()(layers.concatenate(parts)))
    short = layers.BatchNormalization()(layers.Conv1D(128, 1, use_bias=False)(i))
    return _classes(i, layers.GlobalAveragePooling1D()(layers.ReLU()(x + short)), 6)


@_add
def patches_in_time():
    """Each channel's series in patches, an encoder over these, a linear head."""
    i = keras.Input((336, 7))
    x = layers.Reshape((7, 21, 16))(layers.Permute((2, 1))(i))
    x = layers.Dense(128)(ops.reshape(x, (-1, 21, 16)))
    x = Positions()(x)
    for _ in range(2):
        x = _attended(x, 8, more=2)
    x = layers.Dense(96)(layers.Dropout(0.2)(layers.Flatten()(x)))
    x = layers.Permute((2, 1))(ops.reshape(x, (-1, 7, 96)))
    return _values(keras.Model(i, layers.Activation("linear", dtype="float32")(x)))


@_add
def separated_sounds():
    """A U-Net of sound, with crops, for two sources."""
    i = x = keras.Input((2048, 1))
    kept = []
    for width in (24, 48, 72):
        x = layers.LeakyReLU(negative_slope=0.2)(layers.Conv1D(width, 15, padding="same")(x))
        kept.append(x)
        x = x[:, ::2]
    x = layers.LeakyReLU(negative_slope=0.2)(layers.Conv1D(96, 15, padding="same")(x))
    for short in reversed(kept):
        x = layers.concatenate([layers.UpSampling1D()(x), short])
        x = layers.LeakyReLU(negative_slope=0.2)(layers.Conv1D(short.shape[-1], 5, padding="same")(x))
    x = layers.Conv1D(2, 1, activation="tanh", dtype="float32")(layers.concatenate([x, i]))
    return _values(keras.Model(i, x))


@_add
def words_in_pictures():
    """Text in a picture: convolutions, columns as a series, two recurrent layers, alignment as loss."""
    i = x = keras.Input((96, 32, 1))
    for width in (32, 64):
        x = layers.MaxPooling2D()(layers.Conv2D(width, 3, padding="same", activation="relu")(x))
    x = layers.Dropout(0.2)(layers.Dense(64, activation="relu")(layers.Reshape((24, 512))(x)))
    x = layers.Bidirectional(layers.LSTM(64, return_sequences=True, dropout=0.25))(x)
    out = layers.Dense(40, dtype="float32")(x)

    def loss(wanted, found):
        count = ops.shape(found)[0]
        lengths = [ops.full((count,), size, dtype="int32") for size in (6, 24)]
        return ops.ctc_loss(ops.cast(wanted, "int32"), found, *lengths)

    return _labelled(keras.Model(i, out), (6,), loss)


# Tables


@_add
def wide_and_deep():
    """Numbers and ten categories, crossed sums of pairs, and a deep part."""
    numbers, ids = keras.Input((13,)), keras.Input((10,), dtype="int32")
    places = ids + ops.arange(10, dtype="int32") * 1000
    rows = layers.Embedding(10000, 16)(places)
    wide = ops.sum(layers.Embedding(10000, 1)(places), axis=(1, 2))
    pairs = 0.5 * ops.sum(ops.square(ops.sum(rows, axis=1)) - ops.sum(ops.square(rows), axis=1), axis=1)
    x = layers.concatenate([layers.Flatten()(rows), layers.BatchNormalization()(numbers)])
    for width in (400, 400):
        x = layers.Dropout(0.3)(layers.Dense(width, activation="relu")(x))
    x = layers.Dense(1)(x)[:, 0] + wide + pairs
    out = layers.Reshape((1,))(layers.Activation("sigmoid", dtype="float32")(x))
    return _values(keras.Model([numbers, ids], out), "binary_crossentropy")


@_add
def masked_columns():
    """Steps that each look at some columns: sparse masks, gated units shared between steps."""
    i = keras.Input((54,))
    x = layers.BatchNormalization()(i)
    shared = layers.Dense(128, use_bias=False)

    def units(y, dense):
        a, b = ops.split(layers.BatchNormalization()(dense(y)), 2, axis=-1)
        return a * ops.sigmoid(b)

    prior, total, state = 1.0, 0.0, units(x, shared)
    for _ in range(3):
        mask = ops.softmax(layers.BatchNormalization()(layers.Dense(54, use_bias=False)(state)) * prior)
        prior = prior * (1.3 - mask)
        y = units(x * mask, shared)
        state = (y + units(y, layers.Dense(128, use_bias=False))) * 0.5**0.5
        total = total + ops.relu(state)
    return _classes(i, total, 7)


@_add
def gates_of_experts():
    """Four experts for two tasks, each with a gate of its own."""
    i = keras.Input((200,))
    experts = [layers.Dense(64, activation="relu")(layers.Dense(256, activation="relu")(i)) for _ in range(4)]
    stacked, made = ops.stack(experts, axis=1), []
    for _ in range(2):
        part = layers.Dense(4, activation="softmax")(i)
        x = ops.sum(ops.expand_dims(part, -1) * stacked, axis=1)
        made.append(layers.Dense(1, activation="sigmoid")(layers.Dense(32, activation="relu")(x)))
    out = layers.Activation("linear", dtype="float32")(layers.concatenate(made))
    return _values(keras.Model(i, out), "binary_crossentropy")


@_add
def quantiles():
    """Nine quantiles of a number, by a loss that leans."""
    i = x = keras.Input((90,))
    for _ in range(4):
        x = layers.Dense(384, activation="silu")(x)
    out = layers.Dense(9, dtype="float32")(x)

    def loss(wanted, found):
        away = wanted - found
        at = ops.arange(1, 10, dtype="float32") / 10
        return ops.mean(ops.maximum(at * away, (at - 1) * away))

    return Case(keras.Model(i, out), loss, [((90,), "float32")], ((1,), "float32"))


@_add
def splines():
    """Layers of learned curves instead of weights: bumps of each input, and a linear part."""

    class Curves(layers.Layer):
        def __init__(self, width):
            super().__init__()
            self.width = width

        def build(self, shape):
            self.kernel = self.add_weight(shape=(shape[-1] * 8, self.width), name="kernel")
            self.base = self.add_weight(shape=(shape[-1], self.width), name="base")

        def call(self, x):
            bumps = ops.exp(
                -ops.square((ops.expand_dims(ops.tanh(x), -1) - ops.linspace(-1.0, 1.0, 8)) * 3.5)
            )
            bumps = ops.reshape(bumps, (-1, x.shape[-1] * 8))
            return ops.matmul(bumps, self.kernel) + ops.matmul(ops.silu(x), self.base)

    i = keras.Input((64,))
    x = Curves(32)(Curves(64)(i))
    return _values(keras.Model(i, layers.Dense(1, dtype="float32")(x)))


@_add
def sets_of_points():
    """Attention among a set's members, and by learned seeds over them."""
    i = keras.Input((100, 3))
    x = layers.Dense(96)(i)
    for _ in range(2):
        x = layers.LayerNormalization()(x + layers.MultiHeadAttention(4, 24)(x, x))
        x = layers.LayerNormalization()(x + layers.Dense(96, activation="relu")(x))
    seeds = layers.Embedding(4, 96)(ops.zeros_like(i[:, :4, 0], dtype="int32") + ops.arange(4, dtype="int32"))
    x = layers.MultiHeadAttention(4, 24)(seeds, x)
    return _classes(i, layers.Flatten()(x))


# Autoencoders


@_add
def sparse_codes():
    """An autoencoder whose middle is kept small by a penalty, with noise at the input."""
    i = keras.Input((784,))
    x = layers.Dense(512, activation="relu")(layers.GaussianNoise(0.3)(i))
    x = layers.Dense(1024, activation="relu", activity_regularizer="l1")(x)
    x = layers.Dense(784, activation="sigmoid", dtype="float32")(layers.Dense(512, activation="relu")(x))
    return _values(keras.Model(i, x), "binary_crossentropy")


class Bounded(keras.Model):
    """A variational autoencoder by a step of its own."""

    reader = writer = None

    def train_step(self, data):
        x, _ = data
        with tf.GradientTape() as tape:
            middle, spread = self.reader(x, training=True)
            z = middle + tf.exp(0.5 * spread) * tf.random.normal(tf.shape(middle))
            found = self.writer(z, training=True)
            near = tf.reduce_mean(tf.reduce_sum(keras.losses.binary_crossentropy(x, found), axis=(1, 2)))
            kl = -0.5 * tf.reduce_mean(tf.reduce_sum(1 + spread - middle**2 - tf.exp(spread), axis=1))
            loss = near + 4.0 * kl
        gradients = tape.gradient(loss, self.trainable_variables)
        self.optimizer.apply_gradients(zip(gradients, self.trainable_variables))
        return {"loss": loss}


@_add
def faces_by_vae():
    i = x = keras.Input((64, 64, 3))
    for width in (32, 64, 128):
        x = layers.LeakyReLU()(layers.BatchNormalization()(layers.Conv2D(width, 3, 2, "same")(x)))
    x = layers.Flatten()(x)
    reader = keras.Model(i, [layers.Dense(64)(x), layers.Dense(64)(x)])
    z = keras.Input((64,))
    y = layers.Reshape((8, 8, 128))(layers.Dense(8192)(z))
    for width in (64, 32):
        y = layers.LeakyReLU()(layers.BatchNormalization()(layers.Conv2DTranspose(width, 3, 2, "same")(y)))
    writer = keras.Model(z, layers.Conv2DTranspose(3, 3, 2, "same", activation="sigmoid")(y))
    model = Bounded(i, writer(reader(i)[0]))
    model.reader, model.writer = reader, writer
    return _stepped(model, ((64, 64, 3), "float32"), y=((64, 64, 3), "float32"))


# Steps of their own


class Rivals(keras.Model):
    """A generator and a critic in one step, with an optimizer each."""

    writer = judge = second = None

    def train_step(self, data):
        real, _ = data
        count = tf.shape(real)[0]
        noise = tf.random.normal((real.shape[0], 100))
        entropy = tf.nn.sigmoid_cross_entropy_with_logits
        with tf.GradientTape(persistent=True) as tape:
            made = self.writer(noise, training=True)
            true, false = self.judge(real, training=True), self.judge(made, training=True)
            judged = tf.reduce_mean(entropy(tf.ones((count, 1)), true) + entropy(tf.zeros((count, 1)), false))
            written = tf.reduce_mean(entropy(tf.ones((count, 1)), false))
        for loss, model, optimizer in (
            (judged, self.judge, self.second),
            (written, self.writer, self.optimizer),
        ):
            gradients = tape.gradient(loss, model.trainable_variables)
            optimizer.apply_gradients(zip(gradients, model.trainable_variables))
        return {"d": judged, "g": written}


@_add
def rivals():
    z = keras.Input((100,))
    y = layers.Reshape((7, 7, 128))(layers.LeakyReLU()(layers.Dense(7 * 7 * 128, use_bias=False)(z)))
    y = layers.Conv2DTranspose(64, 5, 2, "same", use_bias=False)(y)
    y = layers.LeakyReLU()(layers.BatchNormalization()(y))
    writer = keras.Model(z, layers.Conv2DTranspose(1, 5, 2, "same", activation="tanh")(y))
    i = x = keras.Input((28, 28, 1))
    for width in (64, 128):
        x = layers.Dropout(0.3)(layers.LeakyReLU()(layers.Conv2D(width, 5, 2, "same")(x)))
    judge = keras.Model(i, layers.Dense(1)(layers.Flatten()(x)))
    model = Rivals(z, judge(writer(z)))
    model.writer, model.judge, model.second = writer, judge, keras.optimizers.Adam(1e-4)
    model.second.build(judge.trainable_variables)
    return _stepped(model, ((28, 28, 1), "float32"), y=((1,), "float32"))


class Averaged(keras.Model):
    """A teacher whose weights are an average of the student's, over two views of the input."""

    student = teacher = head = None

    def train_step(self, data):
        x, _ = data
        one, two = x + 0.1 * tf.random.normal(tf.shape(x)), x[:, :, ::-1]
        with tf.GradientTape() as tape:
            loss = 0.0
            for left, right in ((one, two), (two, one)):
                found = tf.math.l2_normalize(
                    self.head(self.student(left, training=True), training=True), axis=1
                )
                wanted = tf.stop_gradient(tf.math.l2_normalize(self.teacher(right, training=True), axis=1))
                loss += tf.reduce_mean(2 - 2 * tf.reduce_sum(found * wanted, axis=1))
        gradients = tape.gradient(loss, self.trainable_variables)
        self.optimizer.apply_gradients(zip(gradients, self.trainable_variables))
        for ours, average in zip(self.student.weights, self.teacher.weights):
            average.assign(0.99 * average + 0.01 * tf.cast(ours, average.dtype))
        return {"loss": loss}


@_add
def averaged_teacher():
    def trunk():
        i = x = keras.Input((32, 32, 3))
        for width in (32, 64, 128):
            x = _bn(x, width, strides=2)
        return keras.Model(i, layers.Dense(128)(layers.GlobalAveragePooling2D()(x)))

    made = trunk()
    model = Averaged(made.inputs, made.outputs[0])
    model.student, model.teacher = made, trunk()
    model.teacher.trainable = False
    z = keras.Input((128,))
    model.head = keras.Model(z, layers.Dense(128)(layers.Dense(256, activation="relu")(z)))
    return _stepped(model, ((32, 32, 3), "float32"), y=((1,), "float32"))


class Correlated(keras.Model):
    """Two views whose features should agree, and be independent of one another."""

    def train_step(self, data):
        x, _ = data
        views = [x + 0.1 * tf.random.normal(tf.shape(x)), x * 0.9]
        with tf.GradientTape() as tape:
            a, b = (self(one, training=True) for one in views)
            a, b = ((one - tf.reduce_mean(one, 0)) / (tf.math.reduce_std(one, 0) + 1e-5) for one in (a, b))
            product = tf.matmul(a, b, transpose_a=True) / tf.cast(tf.shape(a)[0], a.dtype)
            away = tf.square(product - tf.eye(product.shape[0]))
            on = tf.linalg.diag_part(away)
            loss = tf.reduce_sum(on) + 0.005 * (tf.reduce_sum(away) - tf.reduce_sum(on))
        gradients = tape.gradient(loss, self.trainable_variables)
        self.optimizer.apply_gradients(zip(gradients, self.trainable_variables))
        return {"loss": loss}


@_add
def agreeing_views():
    i = x = keras.Input((32, 32, 3))
    for width in (32, 64, 128):
        x = layers.ReLU()(_bn(x, width, 3, None) + layers.Conv2D(width, 1)(x))
        x = layers.AveragePooling2D(2)(x)
    x = layers.Dense(512, activation="relu")(layers.GlobalAveragePooling2D()(x))
    model = Correlated(i, layers.Dense(1024, dtype="float32")(x))
    return _stepped(model, ((32, 32, 3), "float32"), y=((1,), "float32"))


class Sharp(keras.Model):
    """Two passes: the gradient is taken where a step uphill leads."""

    def train_step(self, data):
        x, y = data
        with tf.GradientTape() as tape:
            loss = self.compute_loss(y=y, y_pred=self(x, training=True))
        up = tape.gradient(loss, self.trainable_variables)
        scale = 0.05 / (tf.linalg.global_norm(up) + 1e-12)
        moves = [scale * one for one in up]
        for variable, move in zip(self.trainable_variables, moves):
            variable.assign_add(move)
        with tf.GradientTape() as tape:
            again = self.compute_loss(y=y, y_pred=self(x, training=True))
        gradients = tape.gradient(again, self.trainable_variables)
        for variable, move in zip(self.trainable_variables, moves):
            variable.assign_sub(move)
        self.optimizer.apply_gradients(zip(gradients, self.trainable_variables))
        return {"loss": loss}


@_add
def flat_places():
    i = x = keras.Input((256,))
    for _ in range(3):
        x = layers.Dropout(0.1)(layers.Dense(768, activation="gelu")(x))
    return _labelled(Sharp(i, layers.Dense(100, activation="softmax", dtype="float32")(x)))


class Mixed(keras.Model):
    """Pairs of samples are mixed, and their labels."""

    def train_step(self, data):
        x, y = data
        part = tf.random.uniform((tf.shape(x)[0], 1, 1, 1))
        order = tf.random.shuffle(tf.range(tf.shape(x)[0]))
        x = part * x + (1 - part) * tf.gather(x, order)
        part = part[:, 0, 0]
        y = tf.one_hot(tf.cast(y, tf.int32), 10)
        y = part * y + (1 - part) * tf.gather(y, order)
        with tf.GradientTape() as tape:
            found = self(x, training=True)
            loss = tf.reduce_mean(keras.losses.categorical_crossentropy(y, found, label_smoothing=0.1))
        gradients = tape.gradient(loss, self.trainable_variables)
        self.optimizer.apply_gradients(zip(gradients, self.trainable_variables))
        return {"loss": loss}


@_add
def mixed_pairs():
    i = x = keras.Input((32, 32, 3))
    for width in (48, 96):
        for _ in range(2):
            x = layers.Conv2D(width, 3, padding="same", activation="gelu")(x)
        x = layers.SpatialDropout2D(0.1)(layers.AveragePooling2D(2)(x))
    x = layers.Dense(10, activation="softmax", dtype="float32")(layers.GlobalAveragePooling2D()(x))
    return _labelled(Mixed(i, x))


class Dueling(keras.Model):
    """A Q-network with a slow copy; the copy says what the next state is worth."""

    slow = None

    def train_step(self, data):
        (now, then), told = data
        acted, gain = tf.cast(told[:, 0], tf.int32), told[:, 1]
        best = tf.argmax(self([then, then], training=False), axis=1)
        worth = tf.reduce_sum(self.slow([then, then]) * tf.one_hot(best, 18), axis=1)
        with tf.GradientTape() as tape:
            found = tf.reduce_sum(self([now, then], training=True) * tf.one_hot(acted, 18), axis=1)
            loss = tf.reduce_mean(keras.losses.huber(gain + 0.99 * worth, found))
        gradients = tape.gradient(loss, self.trainable_variables)
        self.optimizer.apply_gradients(zip(gradients, self.trainable_variables))
        for ours, average in zip(self.trainable_variables, self.slow.weights):
            average.assign(0.995 * average + 0.005 * ours)
        return {"loss": loss}


@_add
def dueling():
    def network():
        now, then = keras.Input((48, 48, 4)), keras.Input((48, 48, 4))
        x = layers.Conv2D(32, 8, 4, activation="relu")(now)
        x = layers.Conv2D(64, 3, 2, activation="relu")(x)
        x = layers.Flatten()(x)
        value = layers.Dense(1)(layers.Dense(256, activation="relu")(x))
        gain = layers.Dense(18)(layers.Dense(256, activation="relu")(x))
        return [now, then], value + gain - ops.mean(gain, axis=1, keepdims=True)

    model = Dueling(*network())
    model.slow = keras.Model(*network())
    model.slow.trainable = False
    return _stepped(model, ((48, 48, 4), "float32"), ((48, 48, 4), "float32"), y=((2,), "float32"))


class Actors(keras.Model):
    """A soft actor and two critics, each with an optimizer; noise inside."""

    actor = critics = others = None

    def train_step(self, data):
        seen, told = data
        acted, gain = told[:, :6], told[:, 6:]
        with tf.GradientTape(persistent=True) as tape:
            middle, spread = tf.split(self.actor(seen, training=True), 2, axis=1)
            spread = tf.clip_by_value(spread, -5.0, 2.0)
            made = tf.tanh(middle + tf.exp(spread) * tf.random.normal(tf.shape(middle)))
            worth = [one(tf.concat([seen, made], 1)) for one in self.critics]
            told = [one(tf.concat([seen, acted], 1)) for one in self.critics]
            ours = tf.reduce_mean(-tf.minimum(*worth) - 0.1 * tf.reduce_sum(spread, 1, keepdims=True))
            theirs = [tf.reduce_mean(tf.square(one - gain)) for one in told]
        todo = [(ours, self.actor, self.optimizer), *zip(theirs, self.critics, self.others)]
        for loss, model, optimizer in todo:
            variables = model.trainable_variables
            optimizer.apply_gradients(zip(tape.gradient(loss, variables), variables))
        return {"loss": ours}


@_add
def soft_actor():
    def network(inputs, outputs):
        i = x = keras.Input((inputs,))
        for _ in range(2):
            x = layers.Dense(400, activation="relu")(x)
        return i, layers.Dense(outputs)(x)

    actor = keras.Model(*network(60, 12))
    model = Actors(actor.inputs, actor.outputs[0])
    model.actor = actor
    model.critics = [keras.Model(*network(66, 1)) for _ in range(2)]
    model.others = [keras.optimizers.Adam(3e-4) for _ in range(2)]
    for critic, optimizer in zip(model.critics, model.others):
        optimizer.build(critic.trainable_variables)
    return _stepped(model, ((60,), "float32"), y=((7,), "float32"))


class Smooth(keras.Model):
    """The penalty on a critic's slope at true samples."""

    def train_step(self, data):
        real, made = data
        with tf.GradientTape() as outer:
            with tf.GradientTape() as inner:
                inner.watch(real)
                true = self(real, training=True)
            slope = inner.gradient(true, real)
            loss = tf.reduce_mean(tf.nn.softplus(self(made, training=True)) + tf.nn.softplus(-true))
            loss += 5.0 * tf.reduce_mean(tf.reduce_sum(tf.square(slope), axis=1))
        gradients = outer.gradient(loss, self.trainable_variables)
        self.optimizer.apply_gradients(zip(gradients, self.trainable_variables))
        return {"loss": loss}


@_add
def smooth_critic():
    i = x = keras.Input((128,))
    for _ in range(3):
        x = layers.LeakyReLU(negative_slope=0.2)(layers.Dense(512)(x))
    return _stepped(
        Smooth(i, layers.Dense(1, dtype="float32")(x)), ((128,), "float32"), y=((128,), "float32")
    )


class Solved(layers.Layer):
    """A differential equation, by four steps of fourth order with one network."""

    def build(self, shape):
        self.first, self.last = layers.Dense(256, activation="tanh"), layers.Dense(shape[-1])
        self.first.build(shape)
        self.last.build((*shape[:-1], 256))

    def call(self, x):
        def slope(y):
            return self.last(self.first(y))

        for _ in range(4):
            a = slope(x)
            b = slope(x + 0.125 * a)
            c = slope(x + 0.125 * b)
            x = x + (a + 2 * b + 2 * c + slope(x + 0.25 * c)) / 24
        return x


@_add
def solved_equation():
    i = keras.Input((64,))
    return _classes(i, Solved()(i))


@_add
def two_branches_of_functions():
    """Operators: a network of the function's values, one of the places, and their product."""
    function, place = keras.Input((100,)), keras.Input((2,))
    made = []
    for x in (function, place):
        for _ in range(3):
            x = layers.Dense(256, activation="gelu")(x)
        made.append(layers.Dense(128)(x))
    out = ops.sum(made[0] * made[1], axis=1, keepdims=True)
    return _values(keras.Model([function, place], layers.Activation("linear", dtype="float32")(out)))


@_add
def low_rank_tuning():
    """A frozen encoder whose projections get a narrow product beside them."""
    i = keras.Input((128,), dtype="int32")
    x = layers.Embedding(8000, 256, trainable=False)(i)
    for _ in range(2):
        y = layers.LayerNormalization(trainable=False)(x)
        q, k, v = (
            layers.Dense(256, trainable=False)(y)
            + layers.Dense(256, use_bias=False)(layers.Dense(8, use_bias=False)(y))
            for _ in range(3)
        )
        q, k, v = (layers.Reshape((128, 4, 64))(one) for one in (q, k, v))
        scores = ops.softmax(ops.einsum("bihd,bjhd->bhij", q, k) / 8)
        made = layers.Reshape((128, 256))(ops.einsum("bhij,bjhd->bihd", scores, v))
        x = x + layers.Dense(256, trainable=False)(made)
        y = layers.LayerNormalization(trainable=False)(x)
        x = x + layers.Dense(256, trainable=False)(layers.Dense(1024, activation="gelu", trainable=False)(y))
    return _yes_no(i, layers.GlobalAveragePooling1D()(x))


@_add
def sampled_text():
    """A recurrent variational autoencoder of sentences."""
    i = keras.Input((24,), dtype="int32")
    x = layers.Bidirectional(layers.GRU(96))(layers.Embedding(4000, 96)(i))
    z = Sampling(dtype="float32")([layers.Dense(32)(x), layers.Dense(32)(x)])
    x = layers.GRU(192, return_sequences=True)(layers.RepeatVector(24)(z))
    return _labelled(keras.Model(i, layers.Dense(4000, dtype="float32")(x)), (24,), _logits())


@_add
def citations():
    """Convolutions over a graph's adjacency, given as an input for each sample."""
    nodes, links = keras.Input((128, 64)), keras.Input((128, 128))
    x = nodes
    for width in (128, 128, 16):
        x = ops.matmul(links, layers.Dense(width)(layers.Dropout(0.5)(x)))
        x = layers.ReLU()(x)
    return _labelled(keras.Model([nodes, links], layers.Dense(7, dtype="float32")(x)), (128,), _logits())
