"""A seventh, small set for the rules for XLA, compared once and not mended for: what a first look is worth by now."""

import keras
from fourth_look_models import _attended, _yes_no
from keras import layers, ops
from models import Case, Positions, Sampling, _add
from third_look_models import _bn, _classes, _labelled, _logits, _values


@_add
def pooled_pyramid():
    """Scene parsing: means of four grids beside the features."""
    i = keras.Input((96, 96, 3))
    x = _bn(_bn(_bn(i, 32, strides=2), 64), 96, strides=2)
    x = layers.ReLU()(x + _bn(_bn(x, 96, dilation_rate=2), 96, 3, None))
    parts = [x]
    for size in (24, 12, 8, 4):
        y = _bn(layers.AveragePooling2D(size)(x), 24, 1)
        parts.append(layers.UpSampling2D(size, interpolation="bilinear")(y))
    x = layers.Dropout(0.1)(_bn(layers.concatenate(parts), 96))
    x = layers.UpSampling2D(4, interpolation="bilinear")(layers.Conv2D(21, 1)(x))
    return _labelled(keras.Model(i, layers.Softmax(dtype="float32")(x)), (96, 96))


@_add
def standardized_kernels():
    """A residual network whose kernels are standardized at each step, with group normalization."""

    class Standardized(layers.Conv2D):
        def convolution_op(self, x, kernel):
            mean = ops.mean(kernel, axis=(0, 1, 2), keepdims=True)
            spread = ops.var(kernel, axis=(0, 1, 2), keepdims=True)
            return super().convolution_op(x, (kernel - mean) * ops.rsqrt(spread + 1e-5))

    def conv(x, width, side=3, **options):
        return Standardized(width, side, padding="same", use_bias=False, **options)(x)

    i = keras.Input((64, 64, 3))
    x = conv(i, 32)
    for width in (32, 64, 128):
        y = layers.ReLU()(layers.GroupNormalization(8)(x))
        short = conv(y, width, 1, strides=2)
        y = layers.ReLU()(layers.GroupNormalization(8)(conv(y, width, strides=2)))
        x = conv(y, width) + short
    return _classes(i, layers.GlobalAveragePooling2D()(layers.ReLU()(layers.GroupNormalization(8)(x))), 20)


@_add
def half_transformer_unet():
    """A U-Net with an encoder of tokens at its bottom."""
    i = x = keras.Input((96, 96, 1))
    kept = []
    for width in (24, 48, 96):
        x = _bn(x, width)
        kept.append(x)
        x = layers.MaxPooling2D()(x)
    x = Positions()(layers.Reshape((144, 96))(x))
    for _ in range(2):
        x = _attended(x, 4)
    x = layers.Reshape((12, 12, 96))(x)
    for short in reversed(kept):
        x = _bn(layers.concatenate([layers.UpSampling2D()(x), short]), short.shape[-1])
    out = layers.Conv2D(1, 1, activation="sigmoid", dtype="float32")(x)
    return _values(keras.Model(i, out), keras.losses.Dice())


@_add
def volumes_again():
    """An autoencoder of volumes."""
    i = x = keras.Input((32, 32, 32, 1))
    for width in (16, 32, 64):
        x = layers.LeakyReLU(negative_slope=0.1)(layers.Conv3D(width, 3, 2, "same")(x))
    for width in (32, 16):
        x = layers.LeakyReLU(negative_slope=0.1)(layers.Conv3DTranspose(width, 3, 2, "same")(x))
    out = layers.Conv3DTranspose(1, 3, 2, "same", activation="sigmoid", dtype="float32")(x)
    return _values(keras.Model(i, out), "binary_crossentropy")


@_add
def gestures():
    """A small network for each frame, a recurrent layer over them."""
    i = keras.Input((10, 48, 48, 3))
    x = layers.TimeDistributed(layers.Conv2D(24, 3, strides=2, activation="relu"))(i)
    x = layers.TimeDistributed(layers.Conv2D(48, 3, strides=2, activation="relu"))(x)
    x = layers.TimeDistributed(layers.GlobalAveragePooling2D())(x)
    return _classes(i, layers.Dropout(0.4)(layers.GRU(64)(x)), 12)


@_add
def slopes_by_distance():
    """A decoder whose scores fall with distance, at a rate for each head; gated units, tied scores."""
    i = keras.Input((160,), dtype="int32")
    table = layers.ReversibleEmbedding(6000, 160)
    x = table(i)

    class Falling(layers.Layer):
        def call(self, q, k, v):
            places = ops.arange(160, dtype="float32")
            far = places[:, None] - places
            fall = ops.reshape(2.0 ** -ops.arange(1, 6, dtype="float32"), (5, 1, 1)) * far
            scores = ops.einsum("bihd,bjhd->bhij", q, k) * 32**-0.5
            scores = ops.where(far >= 0, ops.cast(scores, "float32") - fall, -1e9)
            return ops.einsum("bhij,bjhd->bihd", ops.cast(ops.softmax(scores), v.dtype), v)

    for _ in range(3):
        y = layers.LayerNormalization()(x)
        made = Falling()(*(layers.Reshape((160, 5, 32))(layers.Dense(160)(y)) for _ in range(3)))
        x = x + layers.Dense(160)(layers.Reshape((160, 160))(made))
        y = layers.LayerNormalization()(x)
        x = x + layers.Dense(160)(layers.Dense(432, activation="silu")(y) * layers.Dense(432)(y))
    out = layers.Activation("linear", dtype="float32")(table(layers.LayerNormalization()(x), reverse=True))
    return _labelled(keras.Model(i, out), (160,), _logits())


@_add
def ranked_lists():
    """Twenty candidates for a question, scored by one perceptron, compared as a list."""
    i = x = keras.Input((20, 136))
    for width in (256, 256, 128):
        x = layers.Dropout(0.1)(layers.Dense(width, activation="relu")(layers.LayerNormalization()(x)))
    out = layers.Reshape((20,))(layers.Dense(1, dtype="float32")(x))

    def loss(wanted, found):
        return -ops.mean(ops.sum(ops.softmax(wanted) * ops.log_softmax(found), axis=-1))

    return _values(keras.Model(i, out), loss)


@_add
def signatures():
    """Two signatures by one network, near or far with a margin."""
    i = x = keras.Input((64, 96, 1))
    for width in (32, 64, 96):
        x = layers.MaxPooling2D()(layers.BatchNormalization()(layers.Conv2D(width, 3, activation="relu")(x)))
    tower = keras.Model(i, layers.Dense(64)(layers.Dropout(0.3)(layers.Flatten()(x))))
    left, right = keras.Input((64, 96, 1)), keras.Input((64, 96, 1))
    far = ops.sqrt(ops.sum(ops.square(tower(left) - tower(right)), axis=-1, keepdims=True) + 1e-9)

    def loss(same, far):
        return ops.mean(same * ops.square(far) + (1 - same) * ops.square(ops.maximum(1.0 - far, 0.0)))

    return _values(keras.Model([left, right], layers.Activation("linear", dtype="float32")(far)), loss)


@_add
def five_at_once():
    """An ensemble of perceptrons in one model; each tells a mean and a spread."""
    i = keras.Input((64,))
    outs = []
    for _ in range(5):
        x = i
        for _ in range(3):
            x = layers.Dense(192, activation="swish")(x)
        outs.append(layers.Dense(2, dtype="float32")(x))
    out = ops.stack(outs, axis=1)

    def loss(wanted, found):
        middle, spread = found[..., :1], ops.softplus(found[..., 1:]) + 1e-4
        return ops.mean(ops.log(spread) + 0.5 * ops.square((ops.expand_dims(wanted, 1) - middle) / spread))

    return Case(keras.Model(i, out), loss, [((64,), "float32")], ((1,), "float32"))


@_add
def spelled_words():
    """Words by their characters: convolutions of several widths, gates that let through, then two recurrent layers."""
    i = keras.Input((24, 12), dtype="int32")
    x = ops.reshape(layers.Embedding(80, 16)(i), (-1, 12, 16))
    parts = [
        layers.GlobalMaxPooling1D()(layers.Conv1D(width, side, activation="tanh")(x))
        for side, width in ((2, 32), (3, 64), (4, 96))
    ]
    x = layers.concatenate(parts)
    gate = layers.Dense(192, activation="sigmoid", bias_initializer=keras.initializers.Constant(-2.0))(x)
    x = gate * layers.Dense(192, activation="relu")(x) + (1 - gate) * x
    x = layers.LSTM(128, return_sequences=True)(ops.reshape(x, (-1, 24, 192)))
    x = layers.LSTM(128, return_sequences=True)(layers.Dropout(0.3)(x))
    return _labelled(keras.Model(i, layers.Dense(5000, dtype="float32")(x)), (24,), _logits())


@_add
def told_which_digit():
    """A variational autoencoder that is told the class on both ends."""
    picture, kind = keras.Input((28, 28, 1)), keras.Input((), dtype="int32")
    told = ops.one_hot(kind, 10)
    x = layers.Conv2D(64, 3, 2, "same", activation="relu")(
        layers.Conv2D(32, 3, 2, "same", activation="relu")(picture)
    )
    x = layers.Dense(128, activation="relu")(layers.concatenate([layers.Flatten()(x), told]))
    z = Sampling(dtype="float32")([layers.Dense(8)(x), layers.Dense(8)(x)])
    x = layers.Reshape((7, 7, 64))(layers.Dense(3136, activation="relu")(layers.concatenate([z, told])))
    for width in (64, 32):
        x = layers.Conv2DTranspose(width, 3, 2, "same", activation="relu")(x)
    out = layers.Conv2D(1, 3, padding="same", activation="sigmoid", dtype="float32")(x)
    return Case(
        keras.Model([picture, kind], out), "binary_crossentropy",
        [((28, 28, 1), "float32"), ((), "int32")], ((28, 28, 1), "float32"),
    )  # fmt: skip


@_add
def sounds_judged():
    """A judge of waves: strided convolutions in groups, at two rates."""
    i = keras.Input((4096, 1))
    outs = []
    for pool in (1, 2):
        x = layers.AveragePooling1D(pool)(i) if pool > 1 else i
        x = layers.LeakyReLU(negative_slope=0.1)(layers.Conv1D(16, 15, padding="same")(x))
        for width, groups in ((64, 4), (128, 16)):
            x = layers.LeakyReLU(negative_slope=0.1)(layers.Conv1D(width, 41, 4, "same", groups=groups)(x))
        x = layers.LeakyReLU(negative_slope=0.1)(layers.Conv1D(128, 5, padding="same")(x))
        outs.append(layers.GlobalAveragePooling1D()(layers.Conv1D(1, 3, padding="same")(x)))
    out = layers.Activation("linear", dtype="float32")(layers.concatenate(outs))
    return _values(keras.Model(i, out), "mse")


@_add
def wide_features():
    """Click rates: forty tables, a perceptron of wide layers with normalization, a linear part."""
    ids, numbers = keras.Input((26,), dtype="int32"), keras.Input((13,))
    rows = layers.Embedding(26000, 16)(ids + ops.arange(26, dtype="int32") * 1000)
    x = first = layers.concatenate([layers.Flatten()(rows), numbers])
    for _ in range(2):
        x = first * layers.Dense(429)(x) + x
    y = first
    for width in (768, 512):
        y = layers.ReLU()(layers.BatchNormalization()(layers.Dense(width, use_bias=False)(y)))
    out = layers.Dense(1, activation="sigmoid", dtype="float32")(layers.concatenate([x, y]))
    return _values(keras.Model([ids, numbers], out), "binary_crossentropy")


@_add
def sentences_alike():
    """Whether a sentence follows from another: one encoder for both, their differences and products."""
    i = keras.Input((40,), dtype="int32")
    x = layers.Embedding(9000, 128, mask_zero=True)(i)
    x = layers.Bidirectional(layers.LSTM(96))(x)
    tower = keras.Model(i, x)
    one, two = keras.Input((40,), dtype="int32"), keras.Input((40,), dtype="int32")
    a, b = tower(one), tower(two)
    x = layers.concatenate([a, b, ops.abs(a - b), a * b])
    x = layers.Dropout(0.2)(layers.Dense(256, activation="relu")(x))
    return _labelled(keras.Model([one, two], layers.Dense(3, activation="softmax", dtype="float32")(x)))


@_add
def yes_by_columns():
    """A table's columns as tokens with a class token, a transformer of few channels."""

    class Tokens(layers.Layer):
        def build(self, shape):
            self.kernel = self.add_weight(shape=(shape[-1] + 1, 48), initializer="normal", name="kernel")
            self.bias = self.add_weight(shape=(shape[-1] + 1, 48), initializer="normal", name="bias")

        def call(self, x):
            x = ops.concatenate([ops.ones_like(x[:, :1]), x], axis=1)
            return ops.expand_dims(x, -1) * self.kernel + self.bias

    i = keras.Input((31,))
    x = Tokens()(i)
    for _ in range(3):
        x = _attended(x, 4, more=2)
    return _yes_no(i, layers.LayerNormalization()(x[:, 0]))
