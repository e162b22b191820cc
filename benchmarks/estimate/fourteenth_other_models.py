"""The other half of the fourteenth set: text, tables, what is recommended, over time, sound, graphs, acting."""

import keras
import tensorflow as tf
from keras import layers, ops, regularizers
from models import Case, Positions, _add
from ninth_look_models import _apply, _stepped
from third_look_models import _classes, _labelled, _logits, _values

# Text


@_add
def reviews_of_shops():
    """Words, a convolution, a pooling, a recurrent layer; the usual mixture for reviews."""
    model = keras.Sequential([keras.Input((250,), dtype="int32")])
    model.add(layers.Embedding(20000, 100))
    model.add(layers.SpatialDropout1D(0.3))
    model.add(layers.Conv1D(64, 5, activation="relu"))
    model.add(layers.MaxPooling1D(4))
    model.add(layers.LSTM(96, dropout=0.2))
    model.add(layers.Dense(1, activation="sigmoid", dtype="float32"))
    return _values(model, "binary_crossentropy")


@_add
def insults():
    """Two pooled views of what two recurrent layers said, six answers."""
    inputs = keras.Input((150,), dtype="int32")
    x = layers.SpatialDropout1D(0.2)(layers.Embedding(30000, 300, trainable=False)(inputs))
    x = layers.Bidirectional(layers.LSTM(80, return_sequences=True))(x)
    x = layers.Bidirectional(layers.GRU(80, return_sequences=True))(x)
    x = layers.Concatenate()([layers.GlobalAveragePooling1D()(x), layers.GlobalMaxPooling1D()(x)])
    x = layers.Add()([x, layers.Dense(320, activation="relu")(x)])
    out = layers.Dense(6, activation="sigmoid", dtype="float32")(x)
    return _values(keras.Model(inputs, out), "binary_crossentropy")


class Scored(layers.Layer):
    """A tanh of each state, a score, a weighed sum."""

    def build(self, shape):
        self.w = self.add_weight(shape=(shape[-1], 64), initializer="glorot_uniform", name="w")
        self.u = self.add_weight(shape=(64, 1), initializer="glorot_uniform", name="u")

    def call(self, x):
        scores = ops.matmul(ops.tanh(ops.matmul(x, self.w)), self.u)
        return ops.sum(x * ops.softmax(scores, axis=1), axis=1)


@_add
def headlines_weighed():
    inputs = keras.Input((40,), dtype="int32")
    x = layers.Embedding(15000, 128)(inputs)
    x = layers.Bidirectional(layers.LSTM(64, return_sequences=True))(x)
    x = layers.Dropout(0.4)(Scored()(x))
    return _classes(inputs, x, 41)


class Rotary(layers.Layer):
    """Heads with turned queries and keys, fewer keys than queries."""

    def __init__(self, width, heads, shared):
        super().__init__()
        self.heads, self.shared, self.side = heads, shared, width // heads
        self.q, self.k, self.v, self.o = (
            layers.Dense(n, use_bias=False) for n in (width, shared * self.side, shared * self.side, width)
        )

    def build(self, shape):
        for one in (self.q, self.k, self.v, self.o):
            one.build(shape)

    def turned(self, x):
        half = self.side // 2
        rate = 10000.0 ** (-ops.arange(half, dtype="float32") / half)
        angle = ops.arange(x.shape[1], dtype="float32")[:, None] * rate[None, :]
        sin, cos = (ops.cast(f(angle), x.dtype)[None, :, None, :] for f in (ops.sin, ops.cos))
        a, b = x[..., :half], x[..., half:]
        return ops.concatenate([a * cos - b * sin, b * cos + a * sin], axis=-1)

    def call(self, x):
        length = x.shape[1]
        q = self.turned(ops.reshape(self.q(x), (-1, length, self.heads, self.side)))
        k = self.turned(ops.reshape(self.k(x), (-1, length, self.shared, self.side)))
        v = ops.reshape(self.v(x), (-1, length, self.shared, self.side))
        k, v = (ops.repeat(one, self.heads // self.shared, axis=2) for one in (k, v))
        scores = ops.einsum("bqhd,bkhd->bhqk", q, k) / self.side**0.5
        hidden = 1.0 - ops.tril(ops.ones((length, length), dtype=scores.dtype))
        weights = ops.softmax(ops.cast(scores - 1e4 * hidden, "float32"), axis=-1)
        y = ops.einsum("bhqk,bkhd->bqhd", ops.cast(weights, v.dtype), v)
        return self.o(ops.reshape(y, (-1, length, self.heads * self.side)))


class MeanSquares(layers.Layer):
    def build(self, shape):
        self.scale = self.add_weight(shape=(shape[-1],), initializer="ones", name="scale")

    def call(self, x):
        y = ops.cast(x, "float32")
        y = y * ops.rsqrt(ops.mean(y * y, axis=-1, keepdims=True) + 1e-6)
        return ops.cast(y, x.dtype) * self.scale


class Recipes(keras.Model):
    def __init__(self, words=8000, width=256, depth=4):
        super().__init__()
        self.words = layers.Embedding(words, width)
        self.blocks = [
            (
                MeanSquares(),
                Rotary(width, 8, 2),
                MeanSquares(),
                layers.Dense(640, activation="silu", use_bias=False),
                layers.Dense(640, use_bias=False),
                layers.Dense(width, use_bias=False),
            )
            for _ in range(depth)
        ]
        self.norm, self.out = MeanSquares(), layers.Dense(words, use_bias=False, dtype="float32")

    def call(self, x):
        x = self.words(x)
        for norm1, attention, norm2, gate, up, down in self.blocks:
            x = x + attention(norm1(x))
            y = norm2(x)
            x = x + down(gate(y) * up(y))
        return self.out(self.norm(x))


@_add
def recipes_written():
    model = Recipes()
    model(keras.Input((192,), dtype="int32"))
    return Case(model, _logits(), [((192,), "int32")], ((192,), "int32"))


def _block(x, width, heads, inner, rate=0.1, memory=None, causal=False):
    y = layers.MultiHeadAttention(heads, width // heads, dropout=rate)(x, x, use_causal_mask=causal)
    x = layers.LayerNormalization(epsilon=1e-6)(layers.Add()([x, layers.Dropout(rate)(y)]))
    if memory is not None:
        y = layers.MultiHeadAttention(heads, width // heads, dropout=rate)(x, memory)
        x = layers.LayerNormalization(epsilon=1e-6)(layers.Add()([x, layers.Dropout(rate)(y)]))
    y = layers.Dropout(rate)(layers.Dense(width)(layers.Dense(inner, activation="relu")(x)))
    return layers.LayerNormalization(epsilon=1e-6)(layers.Add()([x, y]))


@_add
def sentences_to_portuguese():
    """Two blocks that read, two that write; softmax over all words."""
    given, said = keras.Input((48,), dtype="int32"), keras.Input((48,), dtype="int32")
    x = layers.Dropout(0.1)(Positions()(layers.Embedding(8000, 128)(given)))
    y = layers.Dropout(0.1)(Positions()(layers.Embedding(8000, 128)(said)))
    for _ in range(2):
        x = _block(x, 128, 8, 512)
    for _ in range(2):
        y = _block(y, 128, 8, 512, memory=x, causal=True)
    out = layers.Dense(8000, dtype="float32")(y)

    def masked(wanted, found):
        loss = ops.sparse_categorical_crossentropy(wanted, found, from_logits=True)
        there = ops.cast(wanted != 0, loss.dtype)
        return ops.sum(loss * there) / ops.sum(there)

    return _labelled(keras.Model([given, said], out), (48,), masked)


@_add
def spans_found():
    """A small reader tells where an answer begins and ends."""
    words, kinds, mask = (keras.Input((192,), dtype="int32") for _ in range(3))
    x = layers.Add()([Positions()(layers.Embedding(20000, 256)(words)), layers.Embedding(2, 256)(kinds)])
    x = layers.Dropout(0.1)(layers.LayerNormalization(epsilon=1e-12)(x))
    seen = ops.cast(mask, "bool")[:, None, :]
    for _ in range(3):
        y = layers.MultiHeadAttention(4, 64, dropout=0.1)(x, x, attention_mask=seen)
        x = layers.LayerNormalization(epsilon=1e-12)(layers.Add()([x, y]))
        y = layers.Dropout(0.1)(layers.Dense(256)(layers.Dense(1024, activation="gelu")(x)))
        x = layers.LayerNormalization(epsilon=1e-12)(layers.Add()([x, y]))
    outs = []
    for name in ("begins", "ends"):
        y = layers.Flatten()(layers.Dense(1, use_bias=False)(x))
        outs.append(layers.Activation("softmax", dtype="float32", name=name)(y))
    return Case(keras.Model([words, kinds, mask], outs), ["sparse_categorical_crossentropy"] * 2,
                [((192,), "int32")] * 3, [((), "int32")] * 2)  # fmt: skip


# Tables and what is recommended


@_add
def homes_priced():
    """Batch norms, swish and dropout on a table of eighty; mean of squared logarithms."""
    inputs = x = keras.Input((79,))
    for width in (1024, 512, 256, 128):
        x = layers.Dense(width, kernel_initializer="he_normal", kernel_regularizer=regularizers.l2(1e-5))(x)
        x = layers.Dropout(0.2)(layers.Activation("swish")(layers.BatchNormalization()(x)))
    out = layers.Dense(1, activation="relu", dtype="float32")(x)
    return _values(keras.Model(inputs, out), "mean_squared_logarithmic_error")


class Mish(layers.Layer):
    def call(self, x):
        return x * ops.tanh(ops.softplus(x))


@_add
def moves_of_markets():
    """Denoised by an autoencoder that is trained in the same step; one network on both."""
    inputs = keras.Input((130,))
    x = layers.BatchNormalization()(inputs)
    y = layers.Dense(96)(layers.GaussianNoise(0.05)(x))
    y = Mish()(layers.BatchNormalization()(y))
    back = layers.Dense(130, name="back", dtype="float32")(layers.Dropout(0.1)(y))
    z = layers.Dropout(0.1)(Mish()(layers.BatchNormalization()(layers.Dense(96)(back))))
    beside = layers.Dense(5, activation="sigmoid", name="beside", dtype="float32")(z)
    x = layers.Dropout(0.2)(layers.BatchNormalization()(layers.Concatenate()([x, y])))
    for width in (896, 448, 448, 256):
        x = layers.Dropout(0.3)(Mish()(layers.BatchNormalization()(layers.Dense(width)(x))))
    out = layers.Dense(5, activation="sigmoid", name="out", dtype="float32")(x)
    return Case(keras.Model(inputs, [back, beside, out]), ["mse", "binary_crossentropy", "binary_crossentropy"],
                [((130,), "float32")], [((130,), "float32"), ((5,), "float32"), ((5,), "float32")])  # fmt: skip


@_add
def shops_tomorrow():
    """A table for each category, flattened and joined, two dense layers; one number."""
    given, parts = [], []
    for count, width in ((1115, 10), (7, 6), (3, 2), (12, 6), (31, 10), (12, 6)):
        one = keras.Input((1,), dtype="int32")
        given.append(one)
        parts.append(layers.Flatten()(layers.Embedding(count, width)(one)))
    number = keras.Input((20,))
    x = layers.Dropout(0.02)(layers.Concatenate()([*parts, number]))
    for width in (1000, 500):
        x = layers.Dense(width, activation="relu", kernel_initializer="glorot_uniform")(x)
    return _values(keras.Model([*given, number], layers.Dense(1, dtype="float32")(x)), "mae")


@_add
def films_by_two_ways():
    """Products of two tables beside a network on two others."""
    user, film = keras.Input((), dtype="int32"), keras.Input((), dtype="int32")
    near = layers.Multiply()([layers.Embedding(60000, 16)(user), layers.Embedding(20000, 16)(film)])
    x = layers.Concatenate()([layers.Embedding(60000, 32)(user), layers.Embedding(20000, 32)(film)])
    for width in (64, 32, 16):
        x = layers.Dropout(0.2)(layers.Dense(width, activation="relu")(x))
    out = layers.Dense(1, activation="sigmoid", dtype="float32")(layers.Concatenate()([near, x]))
    return Case(keras.Model([user, film], out), "binary_crossentropy", [((), "int32")] * 2, ((1,), "float32"))


class Crossed(layers.Layer):
    """Pairs of fields, once, by squares."""

    def call(self, x):
        return 0.5 * ops.sum(
            ops.square(ops.sum(x, axis=1)) - ops.sum(ops.square(x), axis=1), 1, keepdims=True
        )


@_add
def ads_by_machines():
    """One table for all fields, a linear part, pairs and three dense layers, one sum."""
    fields, numbers = keras.Input((39,), dtype="int32"), keras.Input((39,))
    linear = layers.Embedding(200000, 1)(fields)[..., 0] * numbers
    linear = layers.Lambda(lambda x: ops.sum(x, axis=1, keepdims=True), output_shape=(1,))(linear)
    x = layers.Embedding(200000, 10)(fields) * ops.expand_dims(numbers, -1)
    deep = layers.Flatten()(x)
    for _ in range(3):
        deep = layers.Dropout(0.5)(layers.Dense(400, activation="relu")(deep))
    out = layers.Add()([linear, Crossed()(x), layers.Dense(1)(deep)])
    out = layers.Activation("sigmoid", dtype="float32")(out)
    return _values(keras.Model([fields, numbers], out), "binary_crossentropy")


@_add
def songs_in_a_row():
    """Two causal blocks over what was heard, wrong songs drawn beside the right ones; the table tells the scores."""

    class Model(keras.Model):
        def __init__(self):
            super().__init__()
            self.table = layers.Embedding(40000, 64)
            self.places = layers.Embedding(100, 64)
            self.reads = [
                (layers.LayerNormalization(), layers.MultiHeadAttention(2, 32, dropout=0.2),
                 layers.LayerNormalization(), layers.Dense(64, activation="relu"), layers.Dense(64))
                for _ in range(2)
            ]  # fmt: skip
            self.drop, self.norm = layers.Dropout(0.2), layers.LayerNormalization()

        def call(self, x, training=False):
            heard, right, wrong = x
            x = self.drop(self.table(heard) * 8.0 + self.places(ops.arange(100)), training=training)
            for norm1, attention, norm2, inner, outer in self.reads:
                y = norm1(x)
                x = x + attention(y, x, use_causal_mask=True, training=training)
                y = norm2(x)
                x = y + self.drop(outer(self.drop(inner(y), training=training)), training=training)
            x = self.norm(x)
            return ops.stack([ops.sum(x * self.table(one), -1) for one in (right, wrong)], axis=-1)

    def loss(wanted, found):
        found = ops.cast(found, "float32")
        said = -ops.log_sigmoid(found[..., 0]) - ops.log_sigmoid(-found[..., 1])
        return ops.sum(said * wanted) / ops.sum(wanted)

    model = Model()
    model([keras.Input((100,), dtype="int32") for _ in range(3)])
    return Case(model, loss, [((100,), "int32")] * 3, ((100,), "float32"))


# Over time


@_add
def trucks_wear_out():
    """Two recurrent layers over what sensors told, how long it will last."""
    model = keras.Sequential([keras.Input((50, 25))])
    model.add(layers.LSTM(100, return_sequences=True))
    model.add(layers.Dropout(0.2))
    model.add(layers.LSTM(50))
    model.add(layers.Dropout(0.2))
    model.add(layers.Dense(1, dtype="float32"))
    return _values(model, "mse")


@_add
def beats_out_of_step():
    """Residual convolutions along one axis with growing strides; nine kinds of beats."""
    inputs = keras.Input((1024, 1))
    x = layers.ReLU()(layers.BatchNormalization()(layers.Conv1D(32, 16, padding="same")(inputs)))
    for number, width in enumerate((32, 32, 64, 64, 128, 128)):
        strides = 2 if number % 2 else 1
        short = layers.MaxPooling1D(strides)(x) if strides > 1 else x
        if short.shape[-1] != width:
            short = layers.Conv1D(width, 1, padding="same")(short)
        y = layers.Dropout(0.2)(layers.ReLU()(layers.BatchNormalization()(x)))
        y = layers.Conv1D(width, 16, strides, "same")(y)
        y = layers.Dropout(0.2)(layers.ReLU()(layers.BatchNormalization()(y)))
        x = layers.Add()([short, layers.Conv1D(width, 16, padding="same")(y)])
    x = layers.GlobalAveragePooling1D()(layers.ReLU()(layers.BatchNormalization()(x)))
    return _classes(inputs, x, 9)


@_add
def loads_by_blocks():
    """Blocks of dense layers that each take off what they explain and add what they foresee."""
    inputs = keras.Input((168,))
    rest, told = inputs, 0.0
    for _ in range(3):
        for _ in range(3):
            x = rest
            for _ in range(4):
                x = layers.Dense(256, activation="relu")(x)
            theta = layers.Dense(192, use_bias=False)(x)
            rest = layers.Subtract()([rest, theta[:, :168]])
            told = told + theta[:, 168:]
    out = layers.Activation("linear", dtype="float32")(told)
    return _values(keras.Model(inputs, out), "mae")


@_add
def rain_in_an_hour():
    """Two recurrent layers of convolutions over pictures of clouds, a convolution over time behind."""
    inputs = keras.Input((8, 40, 40, 1))
    x = layers.ConvLSTM2D(24, 5, padding="same", return_sequences=True)(inputs)
    x = layers.ConvLSTM2D(24, 3, padding="same", return_sequences=True)(layers.BatchNormalization()(x))
    out = layers.Conv3D(1, 3, padding="same", activation="sigmoid", dtype="float32")(x)
    return _values(keras.Model(inputs, out), "binary_crossentropy")


@_add
def gates_of_columns():
    """Gated residual parts choose columns at each hour, a recurrent layer, attention, quantiles."""

    def grn(x, width, context=None):
        y = layers.Dense(width)(x)
        if context is not None:
            y = layers.Add()([y, layers.Dense(width, use_bias=False)(context)])
        y = layers.Dropout(0.1)(layers.Dense(width)(layers.Activation("elu")(y)))
        y = layers.Multiply()([layers.Dense(width)(y), layers.Dense(width, activation="sigmoid")(y)])
        x = x if x.shape[-1] == width else layers.Dense(width)(x)
        return layers.LayerNormalization()(layers.Add()([x, y]))

    inputs = keras.Input((96, 8))
    columns = [layers.Dense(32)(inputs[:, :, n : n + 1]) for n in range(8)]
    weights = layers.Softmax()(grn(layers.Concatenate()(columns), 8))
    stacked = ops.stack([grn(one, 32) for one in columns], axis=-1)
    x = ops.sum(stacked * ops.expand_dims(weights, 2), axis=-1)
    y = layers.LSTM(32, return_sequences=True)(x)
    x = grn(layers.LayerNormalization()(layers.Add()([x, y])), 32)
    y = layers.MultiHeadAttention(4, 8, dropout=0.1)(x, x, use_causal_mask=True)
    x = grn(layers.LayerNormalization()(layers.Add()([x, y])), 32)
    out = layers.Dense(3, dtype="float32")(x[:, -24:])

    def pinball(wanted, found):
        off = wanted - found
        shares = ops.array([0.1, 0.5, 0.9])
        return ops.mean(ops.maximum(shares * off, (shares - 1.0) * off))

    return Case(keras.Model(inputs, out), pinball, [((96, 8), "float32")], ((24, 1), "float32"))


@_add
def lags_in_layers():
    """Causal convolutions of growing rates with a way round, two per step; the last place tells the next day."""
    inputs = x = keras.Input((256, 6))
    for rate in (1, 2, 4, 8, 16):
        y = x
        for _ in range(2):
            y = layers.Conv1D(64, 3, padding="causal", dilation_rate=rate, kernel_initializer="he_normal")(y)
            y = layers.SpatialDropout1D(0.2)(layers.ReLU()(layers.LayerNormalization()(y)))
        if x.shape[-1] != 64:
            x = layers.Conv1D(64, 1)(x)
        x = layers.ReLU()(layers.Add()([x, y]))
    return _values(keras.Model(inputs, layers.Dense(24, dtype="float32")(x[:, -1])))


# Sound


class Loudness(layers.Layer):
    """Waves to the logarithm of what sixty-four bands hold."""

    def build(self, shape):
        self.bands = self.add_weight(shape=(257, 64), initializer="uniform", trainable=False, name="bands")

    def call(self, x):
        real, imaginary = ops.stft(ops.cast(x, "float32"), 512, 160, 512)
        power = ops.square(real) + ops.square(imaginary)
        return ops.cast(ops.log(ops.matmul(power, self.bands) + 1e-6)[..., None], self.compute_dtype)


@_add
def engines_heard():
    inputs = keras.Input((16000,))
    x = layers.BatchNormalization()(Loudness()(inputs))
    for width in (32, 64, 128):
        x = layers.SeparableConv2D(width, 3, padding="same", use_bias=False)(x)
        x = layers.MaxPooling2D()(layers.ReLU()(layers.BatchNormalization()(x)))
    x = layers.Dropout(0.3)(layers.GlobalMaxPooling2D()(x))
    return _classes(inputs, x, 8)


@_add
def words_heard():
    """Two strided convolutions, two recurrent layers both ways with norms, letters at each time; aligned."""
    inputs = keras.Input((300, 80))
    x = layers.Reshape((300, 80, 1))(inputs)
    for width, size, strides in ((32, (11, 21), (2, 2)), (32, (11, 11), (1, 2))):
        x = layers.Conv2D(width, size, strides, "same", use_bias=False)(x)
        x = layers.ReLU()(layers.BatchNormalization()(x))
    x = layers.Reshape((150, 640))(x)
    for _ in range(2):
        x = layers.Bidirectional(layers.GRU(192, return_sequences=True))(x)
        x = layers.Dropout(0.4)(layers.BatchNormalization()(x))
    x = layers.Dense(384, activation="relu")(x)
    out = layers.Dense(32, dtype="float32")(layers.Dropout(0.4)(x))

    def loss(wanted, found):
        said = ops.cast(found, "float32")
        size = ops.shape(said)[0]
        return ops.ctc_loss(ops.cast(wanted, "int32"), said, ops.full((size,), 40), ops.full((size,), 150))

    return _labelled(keras.Model(inputs, out), (40,), loss)


# Graphs


class Passed(layers.Layer):
    """What neighbours say through a dense layer, summed by edges, then a gated update."""

    def __init__(self, width):
        super().__init__()
        self.say, self.cell = layers.Dense(width, activation="relu"), layers.GRUCell(width)

    def build(self, shape):
        width = shape[0][-1]
        self.say.build((None, 2 * width + 8))
        self.cell.build((None, self.say.units))

    def call(self, given):
        nodes, edges, pairs = given
        count = nodes.shape[1]
        begin, end = (ops.one_hot(pairs[..., n], count, dtype=nodes.dtype) for n in (0, 1))
        said = ops.concatenate([ops.matmul(begin, nodes), ops.matmul(end, nodes), edges], axis=-1)
        summed = ops.matmul(ops.transpose(end, (0, 2, 1)), self.say(said))
        flat, _ = self.cell(
            ops.reshape(summed, (-1, self.say.units)), [ops.reshape(nodes, (-1, nodes.shape[-1]))]
        )
        return ops.reshape(flat, (-1, count, self.say.units))


@_add
def drugs_dissolved():
    nodes, edges, pairs = keras.Input((32, 30)), keras.Input((80, 8)), keras.Input((80, 2), dtype="int32")
    x = layers.Dense(64)(nodes)
    passed = Passed(64)
    for _ in range(3):
        x = passed([x, edges, pairs])
    x = layers.GlobalAveragePooling1D()(x)
    out = layers.Dense(1, dtype="float32")(layers.Dense(128, activation="relu")(x))
    return Case(keras.Model([nodes, edges, pairs], out), "mse",
                [((32, 30), "float32"), ((80, 8), "float32"), ((80, 2), "int32")], ((1,), "float32"))  # fmt: skip


@_add
def roads_that_jam():
    """Convolutions over time around sums of neighbours, twice; gates of linear units."""
    inputs = x = keras.Input((12, 120, 2))
    near = ops.softmax(ops.reshape(ops.cos(ops.arange(120 * 120, dtype="float32")), (120, 120)), axis=-1)

    class Neighbours(layers.Layer):
        def __init__(self, width):
            super().__init__()
            self.inner = layers.Dense(width)

        def build(self, shape):
            self.inner.build((*shape[:-1], 2 * shape[-1]))

        def call(self, x):
            y = ops.einsum("nm,btmc->btnc", ops.cast(near, x.dtype), x)
            return ops.relu(self.inner(ops.concatenate([x, y], axis=-1)))

    for _ in range(2):
        a, b = layers.Conv2D(48, (3, 1))(x), layers.Conv2D(48, (3, 1), activation="sigmoid")(x)
        x = Neighbours(48)(layers.Multiply()([a, b]))
        x = layers.Conv2D(48, (3, 1), activation="relu")(x)
        x = layers.Dropout(0.1)(layers.LayerNormalization(axis=(2, 3))(x))
    x = layers.Conv2D(64, (4, 1), activation="relu")(x)
    out = layers.Dense(3, dtype="float32")(x[:, 0])
    return _values(keras.Model(inputs, out), "huber")


# Acting


class ClippedActor(keras.Model):
    """Pictures of a game; a policy and a value from the same convolutions, clipped by what was likely before."""

    def __init__(self, network):
        super().__init__()
        self.network = network

    def train_step(self, data):
        (frames, moves, before, better), worth = data
        with tf.GradientTape() as tape:
            logits, value = self.network(tf.cast(frames, tf.float32) / 255.0, training=True)
            logs = tf.nn.log_softmax(logits)
            said = tf.gather(logs, moves, axis=1, batch_dims=1)
            ratio = tf.exp(said - before)
            clipped = tf.clip_by_value(ratio, 0.9, 1.1)
            policy = -tf.reduce_mean(tf.minimum(ratio * better, clipped * better))
            critic = tf.reduce_mean(tf.square(worth - value[:, 0]))
            spread = -tf.reduce_mean(tf.reduce_sum(tf.exp(logs) * logs, -1))
            loss = policy + 0.5 * critic - 0.01 * spread
        weights = self.network.trainable_variables
        slopes, _ = tf.clip_by_global_norm(tape.gradient(loss, weights), 0.5)
        self.optimizer.apply_gradients(zip(slopes, weights))
        return {"loss": loss}


@_add
def bricks_and_paddle():
    inputs = x = keras.Input((84, 84, 4))
    for width, size, strides in ((32, 8, 4), (64, 4, 2), (64, 3, 1)):
        x = layers.Conv2D(width, size, strides, activation="relu")(x)
    x = layers.Dense(512, activation="relu")(layers.Flatten()(x))
    network = keras.Model(inputs, [layers.Dense(6)(x), layers.Dense(1)(x)])
    one = ((), "float32")
    return _stepped(ClippedActor(network), ((84, 84, 4), "uint8"), ((), "int32"), one, one, y=one)


class Steered(keras.Model):
    """An actor and a critic with slow copies of both; one step for each."""

    def __init__(self, actor, critic, slow_actor, slow_critic):
        super().__init__()
        self.actor, self.critic, self.slow_actor, self.slow_critic = actor, critic, slow_actor, slow_critic

    def compile(self, optimizer, loss=None, **options):
        super().compile(optimizer=optimizer, loss=loss, **options)
        self.other = keras.optimizers.Adam(1e-3)
        self.other.build(self.actor.trainable_variables)

    @property
    def trainable_variables(self):
        return self.critic.trainable_variables

    def train_step(self, data):
        (state, action, reward), following = data
        wanted = reward + 0.99 * self.slow_critic([following, self.slow_actor(following)])
        with tf.GradientTape() as tape:
            told = self.critic([state, action], training=True)
            loss = tf.reduce_mean(tf.square(wanted - told))
        found = _apply(self, tape, loss)
        with tf.GradientTape() as tape:
            worth = -tf.reduce_mean(self.critic([state, self.actor(state, training=True)], training=True))
        weights = self.actor.trainable_variables
        self.other.apply_gradients(zip(tape.gradient(worth, weights), weights))
        for slow, fast in ((self.slow_actor, self.actor), (self.slow_critic, self.critic)):
            for a, b in zip(slow.variables, fast.variables):
                a.assign(0.995 * a + 0.005 * b)
        return found


@_add
def arms_steered():
    def actor():
        inputs = x = keras.Input((24,))
        for width in (400, 300):
            x = layers.Dense(width, activation="relu")(x)
        return keras.Model(inputs, layers.Dense(4, activation="tanh")(x))

    def critic():
        state, action = keras.Input((24,)), keras.Input((4,))
        x = layers.Dense(32, activation="relu")(layers.Dense(16, activation="relu")(state))
        x = layers.Concatenate()([x, layers.Dense(32, activation="relu")(action)])
        for _ in range(2):
            x = layers.Dense(256, activation="relu")(x)
        return keras.Model([state, action], layers.Dense(1)(x))

    return _stepped(Steered(actor(), critic(), actor(), critic()), ((24,), "float32"), ((4,), "float32"),
                    ((1,), "float32"), y=((24,), "float32"))  # fmt: skip
