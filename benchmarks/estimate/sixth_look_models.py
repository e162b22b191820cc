"""A sixth set for the rules for XLA, written before anything of it was compiled: kinds that none of the five has.

Detection by queries, heads shared between sizes, operators, graphs by lists of edges, mixtures that route, masked and
dropped recurrence, generators in pairs, learning to learn, several outputs, sample weights, metrics, accumulated and
averaged and clipped optimizers (OPTIMIZERS of subjects.py). Named by what each is.
"""

import itertools

import keras
import tensorflow as tf
from fifth_look_models import Rotated, _stepped
from fourth_look_models import _attended, _yes_no
from keras import layers, ops
from models import Case, Positions, Sampling, _add
from third_look_models import _bn, _classes, _labelled, _logits, _values


def _out(x, name=None):
    return layers.Activation("linear", dtype="float32", name=name)(x)


# Pictures


@_add
def heads_of_all_sizes():
    """Boxes at three sizes by one pair of heads with group normalization; a loss that minds the hard ones."""

    def tower(count, bias=0.0):
        x = i = keras.Input((None, None, 96))
        for _ in range(2):
            x = layers.ReLU()(layers.GroupNormalization(16)(layers.Conv2D(96, 3, padding="same")(x)))
        x = layers.Conv2D(9 * count, 3, padding="same", bias_initializer=keras.initializers.Constant(bias))(x)
        return keras.Model(i, layers.Reshape((-1, count))(x))

    i = keras.Input((128, 128, 3))
    x, kept = _bn(i, 32, strides=2), []
    for width in (64, 128, 192):
        x = _bn(_bn(x, width, strides=2), width)
        kept.append(x)
    tops, top = [], None
    for one in reversed(kept):
        side = layers.Conv2D(96, 1)(one)
        top = side if top is None else side + layers.UpSampling2D()(top)
        tops.append(layers.Conv2D(96, 3, padding="same")(top))
    boxes, kinds = tower(4), tower(20, -4.6)
    out = layers.concatenate(
        [layers.concatenate([head(one) for one in tops], axis=1) for head in (boxes, kinds)], axis=-1
    )

    def loss(wanted, found):
        there = wanted[..., 4:]
        part = ops.sigmoid(found[..., 4:])
        sure = there * part + (1 - there) * (1 - part)
        hard = ops.power(1 - sure, 2.0) * -ops.log(ops.maximum(sure, 1e-7))
        away = ops.abs(wanted[..., :4] - found[..., :4])
        smooth = ops.where(away < 1, 0.5 * ops.square(away), away - 0.5)
        any_there = ops.max(there, axis=-1, keepdims=True)
        return (ops.sum(hard) + ops.sum(smooth * any_there)) / ops.maximum(ops.sum(any_there), 1.0)

    return _values(keras.Model(i, _out(out)), loss)


@_add
def objects_asked_for():
    """Learned questions to an encoded picture; each answers with a box and a class."""

    class Questions(layers.Layer):
        def build(self, shape):
            self.table = self.add_weight(shape=(50, shape[-1]), initializer="normal", name="table")

        def call(self, x):
            return ops.broadcast_to(
                ops.cast(self.table, x.dtype)[None], (ops.shape(x)[0], 50, self.table.shape[-1])
            )

    i = x = keras.Input((128, 128, 3))
    for width in (32, 64, 128, 192):
        x = _bn(x, width, strides=2)
    x = Positions()(layers.Reshape((64, 192))(x))
    for _ in range(2):
        x = layers.LayerNormalization()(x + layers.MultiHeadAttention(6, 32, dropout=0.1)(x, x))
        y = layers.Dense(192)(layers.Dense(768, activation="relu")(x))
        x = layers.LayerNormalization()(x + layers.Dropout(0.1)(y))
    q = Questions()(x)
    for _ in range(2):
        q = layers.LayerNormalization()(q + layers.MultiHeadAttention(6, 32, dropout=0.1)(q, q))
        q = layers.LayerNormalization()(q + layers.MultiHeadAttention(6, 32, dropout=0.1)(q, x))
        q = layers.LayerNormalization()(q + layers.Dense(192)(layers.Dense(768, activation="relu")(q)))
    kinds = layers.Dense(31)(q)
    boxes = layers.Dense(4, activation="sigmoid")(layers.Dense(192, activation="relu")(q))
    out = _out(layers.concatenate([kinds, boxes]))

    def loss(wanted, found):
        kind = ops.categorical_crossentropy(wanted[..., :31], found[..., :31], from_logits=True)
        return ops.mean(kind) + 5 * ops.mean(ops.abs(wanted[..., 31:] - found[..., 31:]))

    return _values(keras.Model(i, out), loss)


@_add
def answers_normalized():
    """Large depthwise kernels, gelu, and channels that compete by their norms."""

    class Competing(layers.Layer):
        def build(self, shape):
            self.gamma = self.add_weight(shape=(shape[-1],), initializer="zeros", name="gamma")
            self.beta = self.add_weight(shape=(shape[-1],), initializer="zeros", name="beta")

        def call(self, x):
            size = ops.sqrt(ops.sum(ops.square(x), axis=(1, 2), keepdims=True) + 1e-6)
            size = size / (ops.mean(size, axis=-1, keepdims=True) + 1e-6)
            return self.gamma * (x * size) + self.beta + x

    i = keras.Input((96, 96, 3))
    x = layers.LayerNormalization()(layers.Conv2D(48, 4, 4)(i))
    for width in (48, 96):
        if width != x.shape[-1]:
            x = layers.Conv2D(width, 2, 2)(layers.LayerNormalization()(x))
        for _ in range(2):
            y = layers.LayerNormalization()(layers.DepthwiseConv2D(7, padding="same")(x))
            y = Competing()(layers.Dense(4 * width, activation="gelu")(y))
            x = x + layers.Dense(width)(y)
    return _classes(i, layers.LayerNormalization()(layers.GlobalAveragePooling2D()(x)), 100)


@_add
def fused_blocks():
    """Wide convolutions first, inverted blocks with gates and dropped paths after."""
    i = x = keras.Input((112, 112, 3))
    x = _bn(x, 24, strides=2, activation="silu")
    for width, step in ((24, 1), (48, 2), (48, 1)):
        y = _bn(x, 4 * x.shape[-1], activation="silu", strides=step)
        y = _bn(y, width, 1, None)
        x = x + layers.Dropout(0.1, noise_shape=(None, 1, 1, 1))(y) if x.shape == y.shape else y
    for width, step in ((96, 2), (96, 1)):
        y = _bn(x, 4 * x.shape[-1], 1, "silu")
        y = layers.BatchNormalization()(layers.DepthwiseConv2D(3, step, padding="same", use_bias=False)(y))
        y = layers.Activation("silu")(y)
        z = layers.GlobalAveragePooling2D(keepdims=True)(y)
        z = layers.Conv2D(width // 8, 1, activation="silu")(z)
        y = _bn(y * layers.Conv2D(y.shape[-1], 1, activation="sigmoid")(z), width, 1, None)
        x = x + layers.Dropout(0.1, noise_shape=(None, 1, 1, 1))(y) if x.shape == y.shape else y
    x = layers.GlobalAveragePooling2D()(_bn(x, 512, 1, "silu"))
    return _classes(i, layers.Dropout(0.2)(x), 100)


@_add
def grouped_stages():
    """Bottlenecks of groups with gates: regular widths."""
    i = keras.Input((96, 96, 3))
    x = _bn(i, 32, strides=2)
    for width in (48, 96, 192):
        for step in (2, 1):
            y = _bn(_bn(x, width, 1), width, 3, strides=step, groups=width // 24)
            z = layers.Dense(width // 4, activation="relu")(layers.GlobalAveragePooling2D()(y))
            y = y * layers.Reshape((1, 1, width))(layers.Dense(width, activation="sigmoid")(z))
            short = x if step == 1 else _bn(x, width, 1, None, strides=2)
            x = layers.ReLU()(_bn(y, width, 1, None) + short)
    return _classes(i, layers.GlobalAveragePooling2D()(x), 200)


@_add
def pooled_in_place_of_attention():
    """Tokens are mixed by taking the mean of neighbours; scales for each channel that are learned."""

    class Scale(layers.Layer):
        def build(self, shape):
            self.part = self.add_weight(shape=(shape[-1],), initializer="ones", name="part")

        def call(self, x):
            return x * self.part

    i = keras.Input((96, 96, 3))
    x = layers.Conv2D(48, 7, 4, "same")(i)
    for width in (48, 96):
        if width != x.shape[-1]:
            x = layers.Conv2D(width, 3, 2, "same")(x)
        for _ in range(2):
            y = layers.GroupNormalization(1)(x)
            x = x + Scale()(layers.AveragePooling2D(3, 1, "same")(y) - y)
            y = layers.Conv2D(4 * width, 1, activation="gelu")(layers.GroupNormalization(1)(x))
            x = x + Scale()(layers.Dropout(0.1)(layers.Conv2D(width, 1)(y)))
    return _classes(i, layers.GlobalAveragePooling2D()(layers.GroupNormalization(1)(x)), 50)


@_add
def fewer_keys():
    """A pyramid of attention whose keys are a smaller picture."""
    i = x = keras.Input((64, 64, 3))
    side = 64
    for width, step, heads, less in ((48, 4, 1, 4), (96, 2, 2, 2)):
        side //= step
        x = layers.LayerNormalization()(layers.Conv2D(width, step + 3, step, "same")(x))
        x = layers.Reshape((side * side, width))(x)
        for _ in range(2):
            y = layers.LayerNormalization()(x)
            z = layers.Conv2D(width, less, less)(layers.Reshape((side, side, width))(y))
            z = layers.LayerNormalization()(layers.Reshape((-1, width))(z))
            x = x + layers.MultiHeadAttention(heads, width // heads)(y, z)
            y = layers.Dense(4 * width)(layers.LayerNormalization()(x))
            y = layers.DepthwiseConv2D(3, padding="same", activation="gelu")(
                layers.Reshape((side, side, 4 * width))(y)
            )
            x = x + layers.Dense(width)(layers.Reshape((side * side, 4 * width))(y))
        x = layers.Reshape((side, side, width))(x)
    return _classes(i, layers.GlobalAveragePooling2D()(x), 100)


@_add
def unfolded_attention():
    """Convolutions, then attention among the pixels of one place in all patches, folded back."""
    i = keras.Input((64, 64, 3))
    x = _bn(i, 32, activation="silu", strides=2)
    for width in (48, 64):
        x = _bn(x, width, activation="silu", strides=2)
        side = x.shape[1]
        y = layers.Conv2D(96, 1)(_bn(x, width, activation="silu"))
        y = ops.reshape(y, (-1, side // 2, 2, side // 2, 2, 96))
        y = ops.reshape(ops.transpose(y, (0, 2, 4, 1, 3, 5)), (-1, 4, side * side // 4, 96))
        y = ops.reshape(y, (-1, side * side // 4, 96))
        for _ in range(2):
            y = _attended(y, 4, more=2)
        y = ops.reshape(y, (-1, 2, 2, side // 2, side // 2, 96))
        y = ops.reshape(ops.transpose(y, (0, 3, 1, 4, 2, 5)), (-1, side, side, 96))
        x = _bn(layers.concatenate([x, _bn(y, width, 1, "silu")]), width, activation="silu")
    return _classes(i, layers.GlobalAveragePooling2D()(x), 100)


@_add
def crowds():
    """How many people: a plain network, then dilated convolutions, a map of density."""
    i = x = keras.Input((128, 128, 3))
    for width, times in ((32, 2), (64, 2), (128, 3)):
        for _ in range(times):
            x = layers.Conv2D(width, 3, padding="same", activation="relu")(x)
        x = layers.MaxPooling2D()(x)
    for width in (128, 64, 32):
        x = layers.Conv2D(width, 3, padding="same", dilation_rate=2, activation="relu")(x)
    out = layers.Conv2D(1, 1, activation="relu", dtype="float32")(x)

    def loss(wanted, found):
        return ops.mean(ops.sum(ops.square(wanted - found), axis=(1, 2, 3))) + ops.mean(
            ops.abs(ops.sum(wanted, axis=(1, 2, 3)) - ops.sum(found, axis=(1, 2, 3)))
        )

    return _values(keras.Model(i, out), loss)


@_add
def moved_between_frames():
    """Where pixels went: features of two pictures by one network, products of near places."""
    one, two = keras.Input((64, 64, 3)), keras.Input((64, 64, 3))
    i = x = keras.Input((64, 64, 3))
    for width in (32, 64):
        x = layers.LeakyReLU(negative_slope=0.1)(layers.Conv2D(width, 3, 2, "same")(x))
    tower = keras.Model(i, x)
    a, b = tower(one), tower(two)
    wide = layers.ZeroPadding2D(3)(b)
    near = [
        ops.mean(a * wide[:, down : down + 16, right : right + 16], axis=-1)
        for down in range(7)
        for right in range(7)
    ]
    x = layers.concatenate([layers.LeakyReLU(negative_slope=0.1)(ops.stack(near, axis=-1)), a])
    for width in (96, 64, 32):
        x = layers.LeakyReLU(negative_slope=0.1)(layers.Conv2D(width, 3, padding="same")(x))
    x = layers.Conv2D(2, 3, padding="same")(x)
    out = layers.UpSampling2D(4, interpolation="bilinear", dtype="float32")(x)

    def loss(wanted, found):
        return ops.mean(ops.sqrt(ops.sum(ops.square(wanted - found), axis=-1) + 1e-6))

    return _values(keras.Model([one, two], out), loss)


@_add
def two_eyes():
    """Depth from two pictures: a volume of differences, convolved in three dimensions, the mean of depths."""
    left, right = keras.Input((48, 96, 3)), keras.Input((48, 96, 3))
    i = keras.Input((48, 96, 3))
    tower = keras.Model(i, _bn(_bn(_bn(i, 16, strides=2), 24, strides=2), 24, 3, None))
    a, b = tower(left), tower(right)
    volume = []
    for shift in range(8):
        moved = ops.pad(b[:, :, : 24 - shift], [[0, 0], [0, 0], [shift, 0], [0, 0]])
        volume.append(layers.concatenate([a, moved]))
    x = ops.stack(volume, axis=1)
    for width in (24, 24):
        x = layers.Conv3D(width, 3, padding="same", use_bias=False)(x)
        x = layers.ReLU()(layers.BatchNormalization()(x))
    x = layers.Conv3D(1, 3, padding="same")(x)[..., 0]
    part = ops.softmax(-ops.cast(x, "float32"), axis=1)
    out = ops.sum(part * ops.reshape(ops.arange(8, dtype="float32"), (1, 8, 1, 1)), axis=1)
    out = layers.UpSampling2D(4, interpolation="bilinear", dtype="float32")(ops.expand_dims(out, -1))
    return _values(keras.Model([left, right], out), keras.losses.Huber())


@_add
def plain_restoring():
    """Pictures made clear without an activation: halves multiplied, channels weighed, pixels shuffled up."""

    class Part(layers.Layer):
        def build(self, shape):
            self.part = self.add_weight(shape=(1, 1, 1, shape[-1]), initializer="zeros", name="part")

        def call(self, x):
            return x * ops.cast(self.part, x.dtype)

    def halves(x):
        a, b = ops.split(x, 2, axis=-1)
        return a * b

    def block(x):
        width = x.shape[-1]
        y = layers.Conv2D(2 * width, 1)(layers.LayerNormalization(epsilon=1e-6)(x))
        y = halves(layers.DepthwiseConv2D(3, padding="same")(y))
        y = y * layers.Conv2D(width, 1)(layers.GlobalAveragePooling2D(keepdims=True)(y))
        x = x + Part()(layers.Conv2D(width, 1)(y))
        y = halves(layers.Conv2D(2 * width, 1)(layers.LayerNormalization(epsilon=1e-6)(x)))
        return x + Part()(layers.Conv2D(width, 1)(y))

    i = keras.Input((96, 96, 3))
    x, kept = layers.Conv2D(24, 3, padding="same")(i), []
    for _ in range(2):
        x = block(x)
        kept.append(x)
        x = layers.Conv2D(2 * x.shape[-1], 2, 2)(x)
    x = block(block(x))
    for short in reversed(kept):
        y = layers.Conv2D(2 * x.shape[-1], 1, use_bias=False)(x)
        side, width = y.shape[1], y.shape[-1] // 4
        y = ops.transpose(ops.reshape(y, (-1, side, side, 2, 2, width)), (0, 1, 3, 2, 4, 5))
        x = block(ops.reshape(y, (-1, 2 * side, 2 * side, width)) + short)
    out = layers.Conv2D(3, 3, padding="same")(x) + i
    return _values(keras.Model(i, _out(out)), "mae")


@_add
def filters_of_frequencies():
    """Fields to fields: the low frequencies are multiplied by weights, beside pointwise layers."""

    class Frequencies(layers.Layer):
        def build(self, shape):
            kinds = (12, 12, shape[-1], shape[-1])
            self.real = self.add_weight(shape=kinds, name="real")
            self.imaginary = self.add_weight(shape=kinds, name="imaginary")

        def call(self, x):
            size, width = x.shape[1], x.shape[-1]
            y = ops.transpose(x, (0, 3, 1, 2))
            real, imaginary = ops.fft2((y, ops.zeros_like(y)))
            real, imaginary = real[:, :, :12, :12], imaginary[:, :, :12, :12]

            def times(a, weights):
                return ops.einsum("bixy,xyio->boxy", a, weights)

            made = (
                times(real, self.real) - times(imaginary, self.imaginary),
                times(real, self.imaginary) + times(imaginary, self.real),
            )
            rest = [[0, 0], [0, 0], [0, size - 12], [0, size - 12]]
            back, _ = ops.ifft2(tuple(ops.pad(one, rest) for one in made))
            return ops.reshape(ops.transpose(back, (0, 2, 3, 1)), (-1, size, size, width))

    i = keras.Input((64, 64, 3))
    x = layers.Dense(32)(i)
    for _ in range(3):
        x = layers.Activation("gelu")(Frequencies()(x) + layers.Dense(32)(x))
    out = layers.Dense(1, dtype="float32")(layers.Dense(128, activation="gelu")(x))

    def loss(wanted, found):
        away = ops.sqrt(ops.sum(ops.square(wanted - found), axis=(1, 2, 3)))
        return ops.mean(away / (ops.sqrt(ops.sum(ops.square(wanted), axis=(1, 2, 3))) + 1e-6))

    return _values(keras.Model(i, out), loss)


@_add
def watched_at_each_depth():
    """Segmentation whose decoder answers at three sizes: several outputs, each with its loss and weight."""
    i = x = keras.Input((96, 96, 3))
    kept = []
    for width in (24, 48, 96):
        x = layers.SeparableConv2D(width, 3, padding="same", activation="relu")(x)
        x = layers.BatchNormalization()(layers.SeparableConv2D(width, 3, padding="same")(x))
        x = layers.ReLU()(x)
        kept.append(x)
        x = layers.MaxPooling2D()(x)
    x = _bn(x, 128)
    outs = []
    for short in reversed(kept):
        x = layers.Conv2DTranspose(short.shape[-1], 2, 2)(x)
        x = _bn(layers.concatenate([x, short]), short.shape[-1])
        outs.append(layers.Conv2D(1, 1, activation="sigmoid", dtype="float32")(x))
    wanted = [(tuple(one.shape[1:]), "float32") for one in outs]
    options = {
        "loss_weights": [0.25, 0.5, 1.0],
        "metrics": [["accuracy"], ["accuracy"], [keras.metrics.BinaryIoU(), "accuracy"]],
    }
    return Case(
        keras.Model(i, outs), ["binary_crossentropy"] * 3, [((96, 96, 3), "float32")], wanted, options
    )


# Text and sequences


@_add
def buckets_of_distance():
    """Encoder and decoder with one table for all words, root mean squares, distances in the first scores."""

    class Norm(layers.Layer):
        def build(self, shape):
            self.part = self.add_weight(shape=(shape[-1],), initializer="ones", name="part")

        def call(self, x):
            wide = ops.cast(x, "float32")
            wide = wide * ops.rsqrt(ops.mean(ops.square(wide), axis=-1, keepdims=True) + 1e-6)
            return self.part * ops.cast(wide, x.dtype)

    one, two = keras.Input((96,), dtype="int32"), keras.Input((48,), dtype="int32")
    table = layers.ReversibleEmbedding(8000, 192)

    def block(x, memory=None):
        y = Norm()(x)
        x = x + layers.MultiHeadAttention(6, 32, use_bias=False, dropout=0.1)(
            y, y, use_causal_mask=memory is not None
        )
        if memory is not None:
            x = x + layers.MultiHeadAttention(6, 32, use_bias=False, dropout=0.1)(Norm()(x), memory)
        y = Norm()(x)
        y = layers.Dense(512, use_bias=False, activation="gelu")(y) * layers.Dense(512, use_bias=False)(y)
        return x + layers.Dropout(0.1)(layers.Dense(192, use_bias=False)(layers.Dropout(0.1)(y)))

    read = layers.Dropout(0.1)(table(one))
    for _ in range(2):
        read = block(read)
    read, x = Norm()(read), layers.Dropout(0.1)(table(two))
    for _ in range(2):
        x = block(x, read)
    x = Norm()(x) * 192**-0.5
    out = _out(table(x, reverse=True))
    return _labelled(keras.Model([one, two], out), (48,), _logits())


@_add
def one_of_eight():
    """Each token goes to one expert, as far as the expert has room: masks that send and collect."""

    class Experts(layers.Layer):
        def build(self, shape):
            width = shape[-1]
            self.gate = self.add_weight(shape=(width, 8), name="gate")
            self.up = self.add_weight(shape=(8, width, 4 * width), name="up")
            self.down = self.add_weight(shape=(8, 4 * width, width), name="down")

        def call(self, x):
            length = x.shape[1]
            room = length // 4
            scores = ops.softmax(ops.matmul(x, self.gate))
            part, best = ops.max(scores, axis=-1), ops.argmax(scores, axis=-1)
            chosen = ops.one_hot(best, 8)
            place = ops.cumsum(chosen, axis=1) * chosen - 1.0
            sent = ops.one_hot(ops.cast(ops.max(place, axis=-1), "int32"), room)
            sent = ops.expand_dims(chosen, -1) * ops.expand_dims(sent, 2)
            self.add_loss(0.01 * 8 * ops.mean(ops.mean(chosen, axis=1) * ops.mean(scores, axis=1)))
            given = ops.einsum("blec,bld->ebcd", sent, x)
            made = ops.relu(ops.einsum("ebcd,edf->ebcf", given, self.up))
            made = ops.einsum("ebcf,efd->ebcd", made, self.down)
            return ops.einsum("blec,ebcd->bld", sent * part[:, :, None, None], made)

    i = keras.Input((128,), dtype="int32")
    x = Positions()(layers.Embedding(6000, 128)(i))
    for _ in range(2):
        y = layers.LayerNormalization()(x)
        x = x + layers.MultiHeadAttention(4, 32)(y, y, use_causal_mask=True)
        x = x + Experts(dtype="float32")(layers.LayerNormalization()(x))
    return _labelled(keras.Model(i, layers.Dense(6000, dtype="float32")(x)), (128,), _logits())


@_add
def near_blocks():
    """A long text, attended in blocks and the blocks beside."""
    i = keras.Input((1024,), dtype="int32")
    x = Positions()(layers.Embedding(6000, 96)(i))
    for _ in range(2):
        y = layers.LayerNormalization()(x)
        q, k, v = (layers.Reshape((16, 64, 3, 32))(layers.Dense(96)(y)) for _ in range(3))

        def beside(one):
            wide = ops.pad(one, [[0, 0], [1, 1], [0, 0], [0, 0], [0, 0]])
            return ops.concatenate([wide[:, :-2], wide[:, 1:-1], wide[:, 2:]], axis=2)

        scores = ops.softmax(ops.einsum("bnqhd,bnkhd->bnhqk", q, beside(k)) * 32**-0.5)
        made = ops.einsum("bnhqk,bnkhd->bnqhd", layers.Dropout(0.1)(scores), beside(v))
        x = x + layers.Dense(96)(layers.Reshape((1024, 96))(made))
        y = layers.Dense(384, activation="gelu")(layers.LayerNormalization()(x))
        x = x + layers.Dense(96)(y)
    return _classes(i, layers.GlobalMaxPooling1D()(x), 8)


@_add
def states_that_are_chosen():
    """A state space whose steps depend on the input, all times at once in steps that double."""

    class States(layers.Layer):
        def build(self, shape):
            width = shape[-1]
            self.rates = self.add_weight(shape=(width, 8), initializer="ones", name="rates")
            self.straight = self.add_weight(shape=(width,), initializer="ones", name="straight")
            self.pairs, self.steps = layers.Dense(16, use_bias=False), layers.Dense(width)
            self.pairs.build(shape)
            self.steps.build(shape)

        def call(self, x):
            b, c = ops.split(self.pairs(x), 2, axis=-1)
            step = ops.softplus(self.steps(x))
            kept = ops.exp(-ops.expand_dims(step, -1) * ops.exp(self.rates))
            new = ops.expand_dims(step * x, -1) * ops.expand_dims(b, 2)

            for far in (1, 2, 4, 8, 16, 32):
                before = [[0, 0], [far, 0], [0, 0], [0, 0]]
                new = new + kept * ops.pad(new[:, :-far], before)
                kept = kept * ops.pad(kept[:, :-far], before)
            return ops.sum(new * ops.expand_dims(c, 2), axis=-1) + self.straight * x

    i = keras.Input((64,), dtype="int32")
    x = layers.Embedding(5000, 64)(i)
    for _ in range(2):
        y = layers.LayerNormalization()(x)
        a, gate = layers.Dense(128)(y), layers.Dense(128, activation="silu")(y)
        a = layers.Activation("silu")(layers.DepthwiseConv1D(4, padding="same")(a))
        x = x + layers.Dense(64)(States()(a) * gate)
    return _labelled(keras.Model(i, layers.Dense(5000, dtype="float32")(x)), (64,), _logits())


@_add
def characters_convolved():
    """Texts as characters, one-hot, six convolutions and a wide dense head."""
    i = keras.Input((512,), dtype="int32")
    x = ops.one_hot(i, 70)
    for side, pool in ((7, 3), (7, 3), (3, 0), (3, 3)):
        x = layers.Conv1D(192, side, activation="relu")(x)
        x = layers.MaxPooling1D(pool)(x) if pool else x
    x = layers.Flatten()(x)
    for _ in range(2):
        x = layers.Dropout(0.5)(layers.Dense(1024, activation="relu")(x))
    return _classes(i, x, 14)


@_add
def spoken_commands():
    """Features of a second of sound by depthwise separable convolutions."""
    i = x = keras.Input((49, 40, 1))
    x = layers.Dropout(0.2)(_bn(x, 64, (10, 4), strides=2))
    for _ in range(4):
        x = layers.ReLU()(layers.BatchNormalization()(layers.DepthwiseConv2D(3, padding="same")(x)))
        x = layers.ReLU()(layers.BatchNormalization()(layers.Conv2D(64, 1)(x)))
    x = layers.Dropout(0.4)(layers.AveragePooling2D((25, 20))(x))
    return _classes(i, layers.Flatten()(x), 12)


@_add
def dropped_recurrence():
    """Recurrent layers that drop inputs and states, a text as words."""
    i = keras.Input((80,), dtype="int32")
    x = layers.SpatialDropout1D(0.2)(layers.Embedding(10000, 96)(i))
    x = layers.LSTM(96, dropout=0.2, recurrent_dropout=0.2)(x)
    return _yes_no(i, x)


@_add
def padded_reviews():
    """Words with padding that is masked, two recurrent layers."""
    i = keras.Input((64,), dtype="int32")
    x = layers.Embedding(10000, 64, mask_zero=True)(i)
    x = layers.GRU(96, return_sequences=True)(x)
    x = layers.GRU(64)(x)
    return _classes(i, layers.Dense(64, activation="relu")(x), 5)


@_add
def variables_chosen_in_time():
    """Gated residual networks choose among the series; a recurrent layer, attention, three quantiles."""

    def gated(x, width):
        y = layers.Dense(width)(layers.Dense(width, activation="elu")(x))
        y = layers.Dropout(0.1)(y)
        y = layers.Dense(width)(y) * layers.Dense(width, activation="sigmoid")(y)
        x = layers.Dense(width)(x) if x.shape[-1] != width else x
        return layers.LayerNormalization()(x + y)

    i = keras.Input((72, 8))
    each = [layers.Dense(48)(i[..., number : number + 1]) for number in range(8)]
    part = layers.Softmax()(gated(layers.concatenate(each), 8))
    made = ops.stack([gated(one, 48) for one in each], axis=-1)
    x = ops.sum(made * ops.expand_dims(part, 2), axis=-1)
    y = layers.LSTM(48, return_sequences=True)(x)
    x = layers.LayerNormalization()(x + y)
    y = layers.MultiHeadAttention(4, 12, dropout=0.1)(x, x, use_causal_mask=True)
    x = gated(layers.LayerNormalization()(x + y), 48)[:, -24:]
    out = layers.Dense(3, dtype="float32")(x)

    def loss(wanted, found):
        away = wanted - found
        at = ops.convert_to_tensor([0.1, 0.5, 0.9])
        return ops.mean(ops.maximum(at * away, (at - 1) * away))

    return _values(keras.Model(i, out), loss)


@_add
def demand_with_tails():
    """Sales by recurrent cells on top of one another; the likelihood of a distribution with heavy tails."""
    i, place = keras.Input((56, 6)), keras.Input((1,), dtype="int32")
    x = layers.concatenate([i, layers.RepeatVector(56)(layers.Flatten()(layers.Embedding(3000, 20)(place)))])
    x = layers.RNN([layers.LSTMCell(64), layers.LSTMCell(64)], return_sequences=True)(x)
    out = layers.Dense(3, dtype="float32")(x)

    def loss(wanted, found):
        middle = found[..., 0]
        spread, tails = ops.softplus(found[..., 1]) + 1e-3, 2 + ops.softplus(found[..., 2])
        far = ops.square((wanted[..., 0] - middle) / spread) / tails
        return ops.mean(0.5 * (tails + 1) * ops.log1p(far) + ops.log(spread) + 0.5 * ops.log(tails))

    return _values(keras.Model([i, place], out), loss)


@_add
def mixed_in_time_and_kind():
    """Series mixed by dense layers over time and over kinds, normalized over the batch."""
    i = x = keras.Input((96, 32))
    middle = ops.mean(x, axis=1, keepdims=True)
    spread = ops.std(x, axis=1, keepdims=True) + 1e-5
    x = (x - middle) / spread
    for _ in range(4):
        y = layers.Permute((2, 1))(layers.BatchNormalization()(x))
        y = layers.Permute((2, 1))(layers.Dropout(0.1)(layers.Dense(96, activation="relu")(y)))
        x = x + y
        y = layers.Dropout(0.1)(layers.Dense(128, activation="relu")(layers.BatchNormalization()(x)))
        x = x + layers.Dropout(0.1)(layers.Dense(32)(y))
    x = layers.Permute((2, 1))(layers.Dense(48)(layers.Permute((2, 1))(x)))
    return _values(keras.Model(i, _out(x * spread + middle)))


# Tables


@_add
def compressed_interactions():
    """Products of all fields' vectors, compressed again and again."""
    i = keras.Input((16,), dtype="int32")
    first = x = layers.Embedding(16000, 16)(i + ops.arange(16, dtype="int32") * 1000)
    sums = []
    for width in (32, 32, 32):
        pairs = ops.einsum("bhd,bmd->bdhm", x, first)
        pairs = layers.Reshape((16, x.shape[1] * 16))(pairs)
        x = layers.Permute((2, 1))(layers.Dense(width, activation="relu")(pairs))
        sums.append(ops.sum(x, axis=-1))
    deep = layers.Dense(256, activation="relu")(layers.Flatten()(first))
    return _yes_no(i, layers.concatenate([*sums, layers.Dense(128, activation="relu")(deep)]))


@_add
def hidden_history():
    """What was hidden in a history is told: some places are gathered, the table scores them."""
    i, places = keras.Input((100,), dtype="int32"), keras.Input((20,), dtype="int32")
    table = layers.ReversibleEmbedding(20000, 96)
    x = layers.Dropout(0.1)(layers.LayerNormalization()(Positions()(table(i))))
    for _ in range(2):
        x = layers.LayerNormalization()(x + layers.MultiHeadAttention(3, 32, dropout=0.1)(x, x))
        y = layers.Dense(96)(layers.Dense(384, activation="gelu")(x))
        x = layers.LayerNormalization()(x + layers.Dropout(0.1)(y))
    x = ops.take_along_axis(x, ops.expand_dims(places, -1), axis=1)
    x = layers.LayerNormalization()(layers.Dense(96, activation="gelu")(x))
    out = _out(table(x, reverse=True))
    return _labelled(keras.Model([i, places], out), (20,), _logits())


@_add
def everything_bought():
    """A variational autoencoder over all things of a shop, a softmax over all of them."""
    i = keras.Input((12000,))
    x = layers.Dropout(0.5)(layers.UnitNormalization()(i))
    x = layers.Dense(600, activation="tanh")(x)
    z = Sampling(dtype="float32")([layers.Dense(200)(x), layers.Dense(200)(x)])
    out = layers.Dense(12000, dtype="float32")(layers.Dense(600, activation="tanh")(z))

    def loss(wanted, found):
        return -ops.mean(ops.sum(ops.log_softmax(found) * wanted, axis=-1))

    return _values(keras.Model(i, out), loss)


@_add
def soft_trees():
    """Decision trees whose branches are probabilities, eight of them, averaged."""

    class Tree(layers.Layer):
        def build(self, shape):
            self.decide = layers.Dense(64, activation="sigmoid")
            self.decide.build(shape)
            self.leaves = self.add_weight(shape=(64, 10), initializer="normal", name="leaves")

        def call(self, x):
            part = ops.expand_dims(self.decide(x), 2)
            part = ops.concatenate([part, 1 - part], axis=2)
            mean, first = ops.ones_like(part[:, :1, 0]), 1
            mean = ops.expand_dims(mean, -1)
            for level in range(6):
                mean = ops.reshape(mean, (-1, 2**level, 1))
                mean = ops.repeat(mean, 2, axis=2) * part[:, first : first + 2**level]
                first *= 2
            return ops.matmul(ops.reshape(mean, (-1, 64)), ops.softmax(self.leaves))

    i = keras.Input((80,))
    x = layers.BatchNormalization()(i)
    out = _out(ops.mean(ops.stack([Tree()(x) for _ in range(8)]), axis=0))
    return _labelled(keras.Model(i, out))


@_add
def waves_of_numbers():
    """Each number of a table as sines and cosines of learned frequencies, its own dense layer, then a perceptron."""

    class Waves(layers.Layer):
        def build(self, shape):
            self.rates = self.add_weight(shape=(shape[-1], 24), initializer="normal", name="rates")
            self.kernel = self.add_weight(shape=(shape[-1], 48, 16), name="kernel")

        def call(self, x):
            angle = 6.2832 * ops.expand_dims(x, -1) * self.rates
            y = ops.concatenate([ops.cos(angle), ops.sin(angle)], axis=-1)
            return ops.relu(ops.einsum("bnf,nfd->bnd", y, self.kernel))

    i = keras.Input((40,))
    x = layers.Flatten()(Waves()(i))
    for _ in range(3):
        x = layers.Dropout(0.15)(layers.Dense(512, activation="relu")(x))
    out = layers.Dense(1, dtype="float32")(x)
    options = {"metrics": ["mae", keras.metrics.RootMeanSquaredError()]}
    return Case(keras.Model(i, out), "mse", [((40,), "float32")], ((1,), "float32"), options, ((), "float32"))


@_add
def rare_and_frequent():
    """Fraud in rows: dense layers with normalization, weights of samples, areas under curves as metrics."""
    i = x = keras.Input((120,))
    for width in (512, 512, 256):
        x = layers.Dense(width, kernel_regularizer=keras.regularizers.L1L2(1e-5, 1e-4))(x)
        x = layers.Dropout(0.3)(layers.Activation("relu")(layers.BatchNormalization()(x)))
    out = layers.Dense(1, activation="sigmoid", dtype="float32")(x)
    options = {
        "metrics": [keras.metrics.AUC(), keras.metrics.Precision()],
        "weighted_metrics": [keras.metrics.BinaryAccuracy()],
    }
    loss = keras.losses.BinaryFocalCrossentropy()
    return Case(
        keras.Model(i, out), loss, [((120,), "float32")], ((1,), "float32"), options, ((1,), "float32")
    )


# Graphs and points


@_add
def sampled_neighbours():
    """A large graph in parts: features of sixteen drawn neighbours are gathered and averaged, twice."""
    nodes, links = keras.Input((64,)), keras.Input((16,), dtype="int32")
    x = nodes
    for width in (128, 128):
        near = ops.mean(ops.take(x, links, axis=0), axis=1)
        x = layers.Dense(width)(layers.concatenate([x, near]))
        x = layers.Dropout(0.3)(ops.normalize(ops.relu(x), axis=-1))
    return _labelled(keras.Model([nodes, links], layers.Dense(40, dtype="float32")(x)), (), _logits())


class Edges(layers.Layer):
    """Messages along a list of edges, summed for each node; a perceptron after."""

    def __init__(self, width):
        super().__init__()
        self.width = width

    def build(self, shape):
        nodes = shape[0]
        self.first, self.last = layers.Dense(self.width, activation="relu"), layers.Dense(self.width)
        self.first.build(nodes)
        self.last.build((None, self.width))
        self.own = self.add_weight(shape=(), initializer="zeros", name="own")

    def call(self, given):
        x, edges = given
        edges = ops.reshape(edges, (-1, 2))
        heard = ops.take(x, edges[:, 0], axis=0)
        total = ops.segment_sum(heard, edges[:, 1], num_segments=x.shape[0] or ops.shape(x)[0])
        return self.last(self.first((1 + self.own) * x + total))


class Whole(keras.Model):
    """The batch is one graph: its size is that of the batch."""

    def train_step(self, data):
        (x, edges), y = data
        with tf.GradientTape() as tape:
            h = x
            for layer in self.around:
                h = tf.nn.relu(layer([h, edges]))
            loss = tf.reduce_mean(
                keras.losses.sparse_categorical_crossentropy(y, self.last(h), from_logits=True)
            )
        gradients = tape.gradient(loss, self.trainable_variables)
        self.optimizer.apply_gradients(zip(gradients, self.trainable_variables))
        return {"loss": loss}


@_add
def edges_listed():
    nodes, edges = keras.Input((64,), batch_size=8192), keras.Input((8, 2), dtype="int32", batch_size=8192)
    around, x = [Edges(128) for _ in range(3)], nodes
    for layer in around:
        x = ops.relu(layer([x, edges]))
    last = layers.Dense(12)
    model = Whole([nodes, edges], last(x))
    model.around, model.last = around, last
    return Case(model, "mse", [((64,), "float32"), ((8, 2), "int32")], ((), "int32"))


@_add
def nearest_points():
    """A cloud whose points look at their nearest ones by features, again at each layer."""
    i = x = keras.Input((256, 3))
    kept = []
    for width in (32, 64):
        square = ops.sum(ops.square(x), axis=-1, keepdims=True)
        far = square - 2 * ops.matmul(x, ops.transpose(x, (0, 2, 1))) + ops.transpose(square, (0, 2, 1))
        _, near = ops.top_k(-far, 12)
        size = x.shape[-1]
        flat = ops.reshape(near, (-1, 256 * 12, 1))
        seen = ops.reshape(ops.take_along_axis(x, flat, axis=1), (-1, 256, 12, size))
        middle = ops.repeat(ops.expand_dims(x, 2), 12, axis=2)
        y = layers.concatenate([middle, seen - middle])
        y = layers.LeakyReLU(negative_slope=0.2)(layers.BatchNormalization()(layers.Dense(width)(y)))
        x = ops.max(y, axis=2)
        kept.append(x)
    x = layers.Dense(256, activation="relu")(layers.concatenate(kept))
    x = layers.Dropout(0.5)(layers.Dense(128, activation="relu")(layers.GlobalMaxPooling1D()(x)))
    return _classes(i, x, 40)


# Steps of their own


class TwoWays(keras.Model):
    """Two writers that undo each other and two judges, least squares; four optimizers in a step."""

    def train_step(self, data):
        a, b = data
        with tf.GradientTape(persistent=True) as tape:
            like_b, like_a = self.there(a, training=True), self.back(b, training=True)
            again_a, again_b = self.back(like_b, training=True), self.there(like_a, training=True)
            judged = [self.of_a(a), self.of_a(like_a), self.of_b(b), self.of_b(like_b)]
            cycle = tf.reduce_mean(tf.abs(a - again_a)) + tf.reduce_mean(tf.abs(b - again_b))
            there = tf.reduce_mean(tf.square(judged[3] - 1)) + 10 * cycle
            back = tf.reduce_mean(tf.square(judged[1] - 1)) + 10 * cycle
            first = tf.reduce_mean(tf.square(judged[0] - 1)) + tf.reduce_mean(tf.square(judged[1]))
            second = tf.reduce_mean(tf.square(judged[2] - 1)) + tf.reduce_mean(tf.square(judged[3]))
        todo = zip(
            (there, back, first, second),
            (self.there, self.back, self.of_a, self.of_b),
            (self.optimizer, *self.others),
        )
        for loss, model, optimizer in todo:
            variables = model.trainable_variables
            optimizer.apply_gradients(zip(tape.gradient(loss, variables), variables))
        return {"there": there, "back": back}


@_add
def there_and_back():
    def writer():
        i = x = keras.Input((48, 48, 3))
        x = layers.ReLU()(layers.GroupNormalization(-1)(layers.Conv2D(24, 7, padding="same")(x)))
        x = layers.ReLU()(layers.GroupNormalization(-1)(layers.Conv2D(48, 3, 2, "same")(x)))
        for _ in range(2):
            y = layers.ReLU()(layers.GroupNormalization(-1)(layers.Conv2D(48, 3, padding="same")(x)))
            x = x + layers.GroupNormalization(-1)(layers.Conv2D(48, 3, padding="same")(y))
        x = layers.Conv2D(24, 3, padding="same")(layers.UpSampling2D()(x))
        x = layers.ReLU()(layers.GroupNormalization(-1)(x))
        return keras.Model(i, layers.Conv2D(3, 7, padding="same", activation="tanh")(x))

    def judge():
        i = x = keras.Input((48, 48, 3))
        for width in (32, 64):
            x = layers.LeakyReLU(negative_slope=0.2)(layers.Conv2D(width, 4, 2, "same")(x))
        return keras.Model(i, layers.Conv2D(1, 4, padding="same")(x))

    there = writer()
    model = TwoWays(there.inputs, there.outputs[0])
    model.there, model.back, model.of_a, model.of_b = there, writer(), judge(), judge()
    model.others = [keras.optimizers.Adam(2e-4, 0.5) for _ in range(3)]
    for one, optimizer in zip((model.back, model.of_a, model.of_b), model.others):
        optimizer.build(one.trainable_variables)
    return _stepped(model, ((48, 48, 3), "float32"), y=((48, 48, 3), "float32"))


class Hinged(keras.Model):
    """A judge of classes with normalized spectra, trained on a writer's pictures that it does not train."""

    writer = table = None

    def train_step(self, data):
        real, kinds = data
        noise = tf.random.normal((tf.shape(real)[0], 64))
        fake = self.writer(tf.concat([noise, tf.one_hot(kinds, 10)], axis=1), training=True)
        with tf.GradientTape() as tape:
            true, false = tf.split(self(tf.concat([real, fake], axis=0), training=True), 2)
            loss = tf.reduce_mean(tf.nn.relu(1 - true)) + tf.reduce_mean(tf.nn.relu(1 + false))
        gradients = tape.gradient(loss, self.trainable_variables)
        self.optimizer.apply_gradients(zip(gradients, self.trainable_variables))
        return {"loss": loss}


@_add
def normalized_spectra():
    z = keras.Input((74,))
    y = layers.Reshape((8, 8, 64))(layers.Dense(4096)(z))
    for width in (64, 32):
        y = layers.Conv2D(width, 3, padding="same")(layers.UpSampling2D()(y))
        y = layers.ReLU()(layers.BatchNormalization()(y))
    writer = keras.Model(z, layers.Conv2D(3, 3, padding="same", activation="tanh")(y))
    writer.trainable = False
    i = x = keras.Input((32, 32, 3))
    for width, step in ((64, 1), (64, 2), (128, 1), (128, 2)):
        conv = layers.Conv2D(width, 3 if step == 1 else 4, step, "same")
        x = layers.LeakyReLU(negative_slope=0.1)(layers.SpectralNormalization(conv)(x))
    model = Hinged(i, layers.SpectralNormalization(layers.Dense(1))(layers.Flatten()(x)))
    model.writer = writer
    return _stepped(model, ((32, 32, 3), "float32"), y=((), "int32"))


class Queued(keras.Model):
    """One view is told from others' that wait in a queue; the keys' network follows slowly."""

    keys = None

    def build_queue(self):
        self.queue = self.add_weight(shape=(4096, 96), initializer="normal", trainable=False, name="queue")

    def train_step(self, data):
        x, _ = data
        one, two = x + 0.1 * tf.random.normal(tf.shape(x)), x[:, :, ::-1]
        key = tf.stop_gradient(tf.math.l2_normalize(self.keys(two, training=True), axis=1))
        queue = tf.convert_to_tensor(self.queue)
        with tf.GradientTape() as tape:
            query = tf.math.l2_normalize(self(one, training=True), axis=1)
            own = tf.reduce_sum(query * key, axis=1, keepdims=True)
            scores = tf.concat([own, tf.matmul(query, queue, transpose_b=True)], axis=1) / 0.07
            loss = tf.reduce_mean(
                tf.nn.sparse_softmax_cross_entropy_with_logits(
                    tf.zeros_like(scores[:, 0], dtype=tf.int32), scores
                )
            )
        gradients = tape.gradient(loss, self.trainable_variables)
        self.optimizer.apply_gradients(zip(gradients, self.trainable_variables))
        for ours, average in zip(self.trainable_variables, self.keys.trainable_variables):
            average.assign(0.999 * average + 0.001 * tf.convert_to_tensor(ours))
        self.queue.assign(tf.concat([key, queue[: -key.shape[0]]], axis=0))
        return {"loss": loss}


@_add
def keys_in_a_queue():
    def trunk():
        i = keras.Input((48, 48, 3))
        x = _bn(i, 32)
        for width in (32, 64, 128):
            y = _bn(_bn(x, width, strides=2), width, 3, None)
            x = layers.ReLU()(y + _bn(x, width, 1, None, strides=2))
        x = layers.Dense(128, activation="relu")(layers.GlobalAveragePooling2D()(x))
        return i, layers.Dense(96)(x)

    model = Queued(*trunk())
    model.keys = keras.Model(*trunk())
    model.build_queue()
    return _stepped(model, ((48, 48, 3), "float32"), y=((1,), "float32"))


class Matched(keras.Model):
    """Pictures and captions of a batch, each to be told from all others by their products."""

    def train_step(self, data):
        given, _ = data
        with tf.GradientTape() as tape:
            both = self(given, training=True)
            a, b = (tf.math.l2_normalize(one, axis=1) for one in both)
            scores = tf.matmul(a, b, transpose_b=True) * tf.exp(self.heat)
            own = tf.range(tf.shape(a)[0])
            loss = tf.reduce_mean(
                keras.losses.sparse_categorical_crossentropy(own, scores, from_logits=True)
                + keras.losses.sparse_categorical_crossentropy(own, tf.transpose(scores), from_logits=True)
            )
        gradients = tape.gradient(loss, self.trainable_variables)
        self.optimizer.apply_gradients(zip(gradients, self.trainable_variables))
        return {"loss": loss}


@_add
def pictures_and_captions():
    picture, words = keras.Input((64, 64, 3)), keras.Input((32,), dtype="int32")
    x = picture
    for width in (32, 64, 128):
        x = _bn(_bn(x, width, strides=2), width)
    x = layers.Dense(192, use_bias=False)(layers.GlobalAveragePooling2D()(x))
    y = Positions()(layers.Embedding(8000, 128)(words))
    for _ in range(2):
        y = _attended(y, 4)
    y = layers.Dense(192, use_bias=False)(layers.LayerNormalization()(y)[:, -1])
    model = Matched([picture, words], [x, y])
    model.heat = model.add_weight(shape=(), initializer="ones", name="heat")
    return _stepped(model, ((64, 64, 3), "float32"), ((32,), "int32"), y=((1,), "float32"))


class Flowing(keras.Model):
    """From noise to pictures along straight lines: what moves them is learned, and averaged."""

    slow = None

    def train_step(self, data):
        x, kind = data
        noise = tf.random.normal(tf.shape(x))
        time = tf.nn.sigmoid(tf.random.normal((tf.shape(x)[0], 1, 1, 1)))
        with tf.GradientTape() as tape:
            moved = self([(1 - time) * x + time * noise, time[:, 0, 0], kind], training=True)
            loss = tf.reduce_mean(tf.square(moved - (noise - x)))
        gradients = tape.gradient(loss, self.trainable_variables)
        gradients, _ = tf.clip_by_global_norm(gradients, 1.0)
        self.optimizer.apply_gradients(zip(gradients, self.trainable_variables))
        for ours, average in zip(self.weights, self.slow.weights):
            average.assign(0.999 * average + 0.001 * tf.convert_to_tensor(ours))
        return {"loss": loss}


@_add
def modulated_patches():
    """A transformer of patches whose norms are shifted and scaled by time and class."""

    def network():
        picture, time, kind = keras.Input((32, 32, 3)), keras.Input((1,)), keras.Input((), dtype="int32")
        rates = ops.exp(ops.arange(32, dtype="float32") * -0.2)
        angle = time * rates * 100
        told = ops.concatenate([ops.sin(angle), ops.cos(angle)], axis=-1)
        told = layers.Dense(192)(layers.Dense(192, activation="silu")(told)) + layers.Embedding(10, 192)(kind)
        x = Positions()(layers.Reshape((256, 192))(layers.Conv2D(192, 2, 2)(picture)))
        for _ in range(3):
            six = layers.Dense(6 * 192, kernel_initializer="zeros")(ops.silu(told))
            a, b, c, d, e, f = (ops.expand_dims(one, 1) for one in ops.split(six, 6, axis=-1))
            y = layers.LayerNormalization(center=False, scale=False)(x) * (1 + a) + b
            x = x + c * layers.MultiHeadAttention(6, 32)(y, y)
            y = layers.LayerNormalization(center=False, scale=False)(x) * (1 + d) + e
            x = x + f * layers.Dense(192)(layers.Dense(768, activation="gelu")(y))
        x = layers.Reshape((16, 16, 12))(layers.Dense(12)(layers.LayerNormalization()(x)))
        x = ops.transpose(ops.reshape(x, (-1, 16, 16, 2, 2, 3)), (0, 1, 3, 2, 4, 5))
        return [picture, time, kind], ops.reshape(x, (-1, 32, 32, 3))

    model = Flowing(*network())
    model.slow = keras.Model(*network())
    model.slow.trainable = False
    return _stepped(model, ((32, 32, 3), "float32"), y=((), "int32"))


class Quickly(keras.Model):
    """A few samples change the weights once; how well others go then is what is learned (second order)."""

    def train_step(self, data):
        (x, x_new), (y, y_new) = data
        with tf.GradientTape() as outer:
            with tf.GradientTape() as inner:
                loss = tf.reduce_mean(tf.square(self._through(x, self.kernels) - y))
            slopes = inner.gradient(loss, self.kernels)
            fast = [one - 0.01 * slope for one, slope in zip(self.kernels, slopes)]
            after = tf.reduce_mean(tf.square(self._through(x_new, fast) - y_new))
        gradients = outer.gradient(after, self.trainable_variables)
        self.optimizer.apply_gradients(zip(gradients, self.trainable_variables))
        return {"loss": after}

    def _through(self, x, kernels):
        *first, last = [tf.convert_to_tensor(one) for one in kernels]
        for one in first:
            x = tf.nn.relu(tf.matmul(x, one))
        return tf.matmul(x, last)


@_add
def learning_to_learn():
    one, two = keras.Input((32,)), keras.Input((32,))
    model = Quickly([one, two], [one, two])
    sizes = (32, 512, 512, 512, 4)
    model.kernels = [
        model.add_weight(shape=pair, name=f"kernel_{number}")
        for number, pair in enumerate(itertools.pairwise(sizes))
    ]
    return Case(model, "mse", [((32,), "float32")] * 2, [((4,), "float32")] * 2)


class Energy(keras.Model):
    """Motions from a scalar's slopes: the network's gradient by its input is what is compared."""

    def train_step(self, data):
        x, wanted = data
        with tf.GradientTape() as outer:
            with tf.GradientTape() as inner:
                inner.watch(x)
                energy = tf.reduce_sum(self(x, training=True))
            by_place, by_speed = tf.split(inner.gradient(energy, x), 2, axis=1)
            loss = tf.reduce_mean(tf.square(tf.concat([by_speed, -by_place], axis=1) - wanted))
        gradients = outer.gradient(loss, self.trainable_variables)
        self.optimizer.apply_gradients(zip(gradients, self.trainable_variables))
        return {"loss": loss}


@_add
def conserved():
    i = x = keras.Input((24,))
    for _ in range(3):
        x = layers.Dense(384, activation="tanh")(x)
    return _stepped(Energy(i, layers.Dense(1)(x)), ((24,), "float32"), y=((24,), "float32"))


class Replaced(keras.Model):
    """A small network fills in words, a larger one tells which were filled in."""

    small = None

    def train_step(self, data):
        words, hidden = data
        hidden = tf.cast(hidden, tf.float32)
        seen = tf.where(hidden > 0, tf.ones_like(words), words)
        with tf.GradientTape() as tape:
            filled = self.small(seen, training=True)
            near = keras.losses.sparse_categorical_crossentropy(words, filled, from_logits=True)
            first = tf.reduce_sum(near * hidden) / (tf.reduce_sum(hidden) + 1e-6)
            noise = -tf.math.log(-tf.math.log(tf.random.uniform(tf.shape(filled), 1e-6, 1 - 1e-6)))
            drawn = tf.stop_gradient(tf.argmax(filled + noise, axis=-1, output_type=tf.int32))
            put = tf.where(hidden > 0, drawn, words)
            told = self(put, training=True)[..., 0]
            other = tf.cast(tf.not_equal(put, words), tf.float32)
            second = tf.reduce_mean(tf.nn.sigmoid_cross_entropy_with_logits(other, told))
            loss = first + 50.0 * second
        variables = self.trainable_variables
        self.optimizer.apply_gradients(zip(tape.gradient(loss, variables), variables))
        return {"loss": loss}


@_add
def replaced_words():
    def network(width, heads, count):
        i = keras.Input((64,), dtype="int32")
        x = Positions()(layers.Embedding(5000, width)(i))
        for _ in range(2):
            x = _attended(x, heads)
        return i, layers.Dense(count, dtype="float32")(layers.LayerNormalization()(x))

    model = Replaced(*network(160, 5, 1))
    model.small = keras.Model(*network(64, 2, 5000))
    return _stepped(model, ((64,), "int32"), y=((64,), "int32"))


@_add
def sines_everywhere():
    """A picture as a function of places: sines of dense layers, no other activation."""
    i = x = keras.Input((2,))
    for _ in range(4):
        x = ops.sin(30.0 * layers.Dense(256)(x))
    return _values(keras.Model(i, layers.Dense(3, dtype="float32")(x)))


@_add
def masked_sources():
    """Two voices: filters of the wave, masks by dilated depthwise convolutions, filters back; the loss is a ratio."""
    i = keras.Input((4000, 1))
    coded = layers.Conv1D(128, 16, 8, "same", activation="relu", use_bias=False)(i)
    x = layers.Conv1D(64, 1)(layers.LayerNormalization()(coded))
    for rate in (1, 2, 4, 8):
        y = layers.PReLU(shared_axes=[1])(layers.Conv1D(128, 1)(x))
        y = layers.GroupNormalization(1)(y)
        y = layers.Conv1D(128, 3, padding="same", dilation_rate=rate, groups=128)(y)
        y = layers.GroupNormalization(1)(layers.PReLU(shared_axes=[1])(y))
        x = x + layers.Conv1D(64, 1)(y)
    masks = layers.Reshape((500, 2, 128))(layers.Conv1D(256, 1, activation="sigmoid")(x))
    back = layers.Conv1DTranspose(1, 16, 8, "same", use_bias=False)
    out = _out(layers.concatenate([back(coded * masks[:, :, one]) for one in (0, 1)]))

    def loss(wanted, found):
        wanted = wanted - ops.mean(wanted, axis=1, keepdims=True)
        found = found - ops.mean(found, axis=1, keepdims=True)
        part = ops.sum(wanted * found, axis=1, keepdims=True) / (
            ops.sum(ops.square(wanted), axis=1, keepdims=True) + 1e-8
        )
        true = ops.sum(ops.square(part * wanted), axis=1)
        rest = ops.sum(ops.square(found - part * wanted), axis=1)
        return -ops.mean(10 * ops.log10(true / (rest + 1e-8) + 1e-8))

    return _values(keras.Model(i, out), loss)


@_add
def lent_ranks():
    """A decoder whose dense layers Keras itself has given low ranks to train; the rest is frozen."""
    i = keras.Input((128,), dtype="int32")
    x = layers.Embedding(8000, 256)(i)
    dense = []
    for _ in range(3):
        y = layers.RMSNormalization()(x)
        turned = Rotated(8)
        x = x + turned(y)
        y = layers.RMSNormalization()(x)
        up, gate, down = layers.Dense(688, activation="silu"), layers.Dense(688), layers.Dense(256)
        x = x + down(up(y) * gate(y))
        dense += [turned.whole, turned.last, up, gate, down]
    model = keras.Model(i, layers.Dense(8000, dtype="float32")(layers.RMSNormalization()(x)))
    for layer in model.layers:
        layer.trainable = False
    for layer in dense:
        layer.trainable = True
        layer.enable_lora(8)
    return _labelled(model, (128,), _logits())


@_add
def two_levels_of_latents():
    """A variational autoencoder with a latent above the other, pictures by logits."""
    i = x = keras.Input((32, 32, 1))
    for width in (32, 64):
        x = layers.Conv2D(width, 4, 2, "same", activation="silu")(x)
    low = layers.Dense(256, activation="silu")(layers.Flatten()(x))
    high = layers.Dense(128, activation="silu")(low)
    z = Sampling(dtype="float32")([layers.Dense(16)(high), layers.Dense(16)(high)])
    down = layers.Dense(256, activation="silu")(z)
    both = layers.concatenate([down, low])
    z = Sampling(dtype="float32")([layers.Dense(32)(both), layers.Dense(32)(both)])
    x = layers.Reshape((8, 8, 64))(layers.Dense(4096, activation="silu")(layers.concatenate([z, down])))
    for width in (64, 32):
        x = layers.Conv2DTranspose(width, 4, 2, "same", activation="silu")(x)
    out = layers.Conv2D(1, 3, padding="same", dtype="float32")(x)
    return _values(keras.Model(i, out), keras.losses.BinaryCrossentropy(from_logits=True))


@_add
def long_contract():
    """One long document at a time: an encoder of 2,048 tokens, a class of each."""
    i = keras.Input((2048,), dtype="int32")
    x = layers.Dropout(0.1)(Positions()(layers.Embedding(10000, 256)(i)))
    for _ in range(3):
        x = _attended(x, 8)
    return _labelled(keras.Model(i, layers.Dense(17, activation="softmax", dtype="float32")(x)), (2048,))


@_add
def worth_in_quantiles():
    """The worth of moves as fifty quantiles each, against a slow copy's; all pairs in the loss."""
    i = x = keras.Input((64,))
    for _ in range(2):
        x = layers.Dense(512, activation="relu")(x)
    out = layers.Reshape((6, 50))(layers.Dense(300, dtype="float32")(x))

    def loss(wanted, found):
        move = ops.one_hot(ops.cast(wanted[:, 0], "int32"), 6)
        found = ops.sum(found * ops.expand_dims(move, -1), axis=1)
        away = ops.expand_dims(wanted[:, 1:], 1) - ops.expand_dims(found, 2)
        size = ops.abs(away)
        bent = ops.where(size < 1, 0.5 * ops.square(away), size - 0.5)
        at = ops.reshape((ops.arange(50, dtype="float32") + 0.5) / 50, (1, 50, 1))
        return ops.mean(ops.abs(at - ops.cast(away < 0, "float32")) * bent)

    return Case(keras.Model(i, out), loss, [((64,), "float32")], ((51,), "float32"))


@_add
def scales_of_layers():
    """A vision transformer, its residuals scaled, labels smoothed, a class token that only looks at the end."""

    class Token(layers.Layer):
        def build(self, shape):
            self.token = self.add_weight(shape=(1, 1, shape[-1]), initializer="normal", name="token")

        def call(self, x):
            return ops.broadcast_to(ops.cast(self.token, x.dtype), (ops.shape(x)[0], 1, x.shape[-1]))

    class Scale(layers.Layer):
        def build(self, shape):
            self.part = self.add_weight(shape=(shape[-1],), initializer="ones", name="part")

        def call(self, x):
            return x * ops.cast(self.part, x.dtype)

    i = x = keras.Input((80, 80, 3))
    for width in (48, 96, 192):
        x = layers.Conv2D(width, 3, 2, "same", use_bias=False)(x)
        x = layers.Activation("gelu")(layers.BatchNormalization()(x))
    x = Positions()(layers.Reshape((100, 192))(x))
    for _ in range(3):
        y = layers.LayerNormalization(epsilon=1e-6)(x)
        x = x + Scale()(layers.MultiHeadAttention(4, 48, dropout=0.1)(y, y))
        y = layers.Dense(768, activation="gelu")(layers.LayerNormalization(epsilon=1e-6)(x))
        x = x + Scale()(layers.Dense(192)(y))
    token = Token()(x)
    y = layers.LayerNormalization(epsilon=1e-6)(layers.concatenate([token, x], axis=1))
    token = token + Scale()(layers.MultiHeadAttention(4, 48)(layers.LayerNormalization()(token), y))
    out = layers.Dense(100, dtype="float32")(layers.Flatten()(token))
    loss = keras.losses.CategoricalCrossentropy(from_logits=True, label_smoothing=0.1)
    options = {"metrics": ["accuracy", keras.metrics.TopKCategoricalAccuracy(5)]}
    return Case(keras.Model(i, out), loss, [((80, 80, 3), "float32")], ((100,), "float32"), options)
