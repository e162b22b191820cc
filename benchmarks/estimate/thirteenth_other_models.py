"""The other half of the thirteenth set: text, tables, what is recommended, measurements over time, sound, acting."""

import keras
import tensorflow as tf
from keras import layers, ops, regularizers
from models import Case, Positions, _add
from ninth_look_models import _apply, _stepped
from third_look_models import _classes, _labelled, _logits, _values

# Text


@_add
def tweets():
    """Padded words, masked, through two recurrent layers both ways."""
    model = keras.Sequential([keras.Input((50,), dtype="int32")])
    model.add(layers.Embedding(20000, 128, mask_zero=True))
    model.add(layers.Bidirectional(layers.GRU(64, return_sequences=True)))
    model.add(layers.Bidirectional(layers.GRU(32)))
    model.add(layers.Dense(64, activation="relu"))
    model.add(layers.Dropout(0.3))
    model.add(layers.Dense(3, activation="softmax", dtype="float32"))
    return _labelled(model)


class PostNorm(layers.Layer):
    """The block of the guides: attention, a small network, norms behind both."""

    def __init__(self, width, heads, inner, rate=0.1):
        super().__init__()
        self.attention = layers.MultiHeadAttention(heads, width // heads)
        self.inner = keras.Sequential([layers.Dense(inner, activation="relu"), layers.Dense(width)])
        self.norm1, self.norm2 = (layers.LayerNormalization(epsilon=1e-6) for _ in range(2))
        self.drop1, self.drop2 = layers.Dropout(rate), layers.Dropout(rate)

    def build(self, shape):
        self.attention.build(shape, shape)
        self.inner.build(shape)
        self.norm1.build(shape)
        self.norm2.build(shape)

    def call(self, x, training=False, mask=None):
        if mask is not None:
            mask = mask[:, None, :]
        y = self.attention(x, x, attention_mask=mask)
        x = self.norm1(x + self.drop1(y, training=training))
        y = self.drop2(self.inner(x), training=training)
        return self.norm2(x + y)


@_add
def complaints_sorted():
    """Two blocks over a few hundred words, the mean of the words."""
    inputs = keras.Input((300,), dtype="int32")
    x = Positions()(layers.Embedding(25000, 64)(inputs))
    for _ in range(2):
        x = PostNorm(64, 4, 128)(x)
    x = layers.Dropout(0.2)(layers.GlobalAveragePooling1D()(x))
    x = layers.Dropout(0.2)(layers.Dense(32, activation="relu")(x))
    return _classes(inputs, x, 18)


class OwnAttention(layers.Layer):
    """Heads by hand: one product for queries, keys and values, a triangle of zeros, a product behind."""

    def __init__(self, width, heads, rate=0.1):
        super().__init__()
        self.heads, self.side = heads, width // heads
        self.given, self.out = layers.Dense(3 * width, use_bias=False), layers.Dense(width, use_bias=False)
        self.drop = layers.Dropout(rate)

    def build(self, shape):
        self.given.build(shape)
        self.out.build(shape)

    def call(self, x, training=False):
        length = x.shape[1]
        q, k, v = ops.split(self.given(x), 3, axis=-1)
        q, k, v = (
            ops.transpose(ops.reshape(one, (-1, length, self.heads, self.side)), (0, 2, 1, 3))
            for one in (q, k, v)
        )
        scores = ops.matmul(q, ops.transpose(k, (0, 1, 3, 2))) * (self.side**-0.5)
        seen = ops.tril(ops.ones((length, length), dtype="bool"))
        scores = ops.where(seen, scores, ops.cast(-1e4, scores.dtype))
        weights = self.drop(ops.softmax(scores, axis=-1), training=training)
        y = ops.transpose(ops.matmul(weights, v), (0, 2, 1, 3))
        return self.out(ops.reshape(y, (-1, length, self.heads * self.side)))


class Plays(keras.Model):
    def __init__(self, letters=65, length=256, width=384, depth=6, heads=6):
        super().__init__()
        self.letters, self.places = layers.Embedding(letters, width), layers.Embedding(length, width)
        self.blocks = [
            (
                layers.LayerNormalization(),
                OwnAttention(width, heads, 0.2),
                layers.LayerNormalization(),
                layers.Dense(4 * width, activation="relu"),
                layers.Dense(width),
                layers.Dropout(0.2),
            )
            for _ in range(depth)
        ]
        self.norm, self.out = layers.LayerNormalization(), layers.Dense(letters, dtype="float32")

    def call(self, x, training=False):
        x = self.letters(x) + self.places(ops.arange(x.shape[1]))
        for norm1, attention, norm2, inner, outer, drop in self.blocks:
            x = x + attention(norm1(x), training=training)
            x = x + drop(outer(inner(norm2(x))), training=training)
        return self.out(self.norm(x))


@_add
def plays():
    model = Plays()
    model(keras.Input((256,), dtype="int32"))
    return Case(model, _logits(), [((256,), "int32")], ((256,), "int32"))


@_add
def letter_for_letter():
    """One letter after another into another language, given as ones among zeros."""
    given, said = keras.Input((24, 71)), keras.Input((72, 93))
    _, h, c = layers.LSTM(256, return_state=True)(given)
    x, _, _ = layers.LSTM(256, return_sequences=True, return_state=True)(said, initial_state=[h, c])
    x = layers.Dense(93, activation="softmax", dtype="float32")(x)
    return _values(keras.Model([given, said], x), "categorical_crossentropy")


def _known_places(wanted, found):
    loss = keras.losses.sparse_categorical_crossentropy(wanted, found, from_logits=True)
    known = ops.cast(wanted > 0, loss.dtype)
    return ops.sum(loss * known) / ops.maximum(ops.sum(known), 1.0)


@_add
def entities_attended():
    """A label for each word by one block, padded places do not count."""
    inputs = keras.Input((128,), dtype="int32")
    x = Positions()(layers.Embedding(20000, 96)(inputs))
    x = PostNorm(96, 4, 64)(x)
    x = layers.Dropout(0.1)(x)
    x = layers.Dropout(0.1)(layers.Dense(64, activation="relu")(x))
    out = layers.Dense(10, dtype="float32")(x)
    return _labelled(keras.Model(inputs, out), (128,), _known_places)


@_add
def intents_tuned():
    """A reader of six layers with masks, its first word pooled by a tanh."""
    words, mask = keras.Input((64,), dtype="int32"), keras.Input((64,), dtype="int32")
    x = Positions()(layers.Embedding(30522, 312)(words))
    x = layers.Dropout(0.1)(layers.LayerNormalization(epsilon=1e-12)(x))
    seen = ops.cast(mask, "bool")[:, None, :]
    for _ in range(4):
        y = layers.MultiHeadAttention(12, 26, dropout=0.1)(x, x, attention_mask=seen)
        x = layers.LayerNormalization(epsilon=1e-12)(x + layers.Dropout(0.1)(y))
        y = layers.Dense(312)(layers.Dense(1200, activation="gelu")(x))
        x = layers.LayerNormalization(epsilon=1e-12)(x + layers.Dropout(0.1)(y))
    x = layers.Dropout(0.1)(layers.Dense(312, activation="tanh")(x[:, 0]))
    return _classes([words, mask], x, 77)


@_add
def next_word():
    """A wide table, two recurrent layers with dropout, all words as answers."""
    model = keras.Sequential([keras.Input((40,), dtype="int32")])
    model.add(layers.Embedding(10000, 300))
    model.add(layers.LSTM(400, return_sequences=True, dropout=0.2))
    model.add(layers.LSTM(400, return_sequences=True, dropout=0.2))
    model.add(layers.Dense(10000, dtype="float32"))
    return _labelled(model, (40,), _logits())


class Letters(keras.Model):
    """The tutorial's class: a table, one wide recurrent layer, a dense layer."""

    def __init__(self):
        super().__init__()
        self.embedding = layers.Embedding(66, 256)
        self.gru = layers.GRU(1024, return_sequences=True, return_state=True)
        self.dense = layers.Dense(66, dtype="float32")

    def call(self, inputs, training=False):
        x, _ = self.gru(self.embedding(inputs), training=training)
        return self.dense(x, training=training)


@_add
def one_wide_reader():
    model = Letters()
    model(keras.Input((100,), dtype="int32"))
    return Case(model, _logits(), [((100,), "int32")], ((100,), "int32"))


class QueriesAndProducts(keras.Model):
    """Means of words' vectors on both sides, each with a small network; the others of the batch are wrong."""

    def __init__(self):
        super().__init__()
        self.words = layers.Embedding(50000, 96)
        self.query = keras.Sequential([layers.Dense(128, "relu"), layers.Dense(64)])
        self.product = keras.Sequential([layers.Dense(256, "relu"), layers.Dropout(0.1), layers.Dense(64)])

    def build(self, shape):
        self.words.build(None)
        self.query.build((None, 96))
        self.product.build((None, 96))

    def mean(self, ids):
        there = tf.cast(ids > 0, tf.float32)[..., None]
        return tf.reduce_sum(self.words(ids) * there, 1) / (tf.reduce_sum(there, 1) + 1e-6)

    def train_step(self, data):
        query, product = data
        with tf.GradientTape() as tape:
            a = tf.math.l2_normalize(self.query(self.mean(query), training=True), 1)
            b = tf.math.l2_normalize(self.product(self.mean(product), training=True), 1)
            scores = tf.matmul(a, b, transpose_b=True) / 0.05
            labels = tf.range(tf.shape(scores)[0])
            loss = tf.reduce_mean(tf.nn.sparse_softmax_cross_entropy_with_logits(labels, scores))
        return _apply(self, tape, loss)


@_add
def queries_and_products():
    model = QueriesAndProducts()
    model.build(None)
    return _stepped(model, ((12,), "int32"), y=((40,), "int32"))


# Tables


@_add
def collisions():
    """The tutorial's large network on a narrow table: elu, decay and dropout."""
    model = keras.Sequential([keras.Input((28,))])
    for _ in range(4):
        model.add(layers.Dense(512, kernel_regularizer=regularizers.l2(1e-4), activation="elu"))
        model.add(layers.Dropout(0.5))
    model.add(layers.Dense(1, dtype="float32"))
    return _values(model, keras.losses.BinaryCrossentropy(from_logits=True))


@_add
def trips_priced():
    """Numbers in their usual range beside three categories, one price."""
    numbers = keras.Input((11,))
    zones, kind, hour = (keras.Input((count,), dtype="int32") for count in (2, 1, 1))
    x = layers.Normalization(mean=[1.0] * 11, variance=[2.0] * 11)(numbers)
    flat = layers.Flatten()
    parts = [x, flat(layers.Embedding(265, 16)(zones)), flat(layers.Embedding(6, 3)(kind))]
    parts.append(layers.CategoryEncoding(24, output_mode="one_hot")(hour))
    x = layers.Concatenate()(parts)
    for width in (256, 128, 64):
        x = layers.Dropout(0.1)(layers.Dense(width, activation="swish")(x))
    return _values(keras.Model([numbers, zones, kind, hour], layers.Dense(1, dtype="float32")(x)), "mae")


@_add
def three_targets():
    """Three numbers from one table by one trunk with norms before the units, each target with a loss."""
    inputs = x = keras.Input((48,))
    for width in (512, 256, 256):
        x = layers.Dense(width, use_bias=False)(x)
        x = layers.Dropout(0.2)(layers.ReLU()(layers.BatchNormalization()(x)))
    outs = [layers.Dense(1, dtype="float32", name=name)(layers.Dense(64, "relu")(x))
            for name in ("heating", "cooling", "light")]  # fmt: skip
    return Case(keras.Model(inputs, outs), ["mse", "mse", "log_cosh"], [((48,), "float32")],
                [((1,), "float32")] * 3)  # fmt: skip


@_add
def genes():
    """Many columns and few rows: wide first layer, sparse weights, softmax over kinds of cells."""
    inputs = keras.Input((4000,))
    x = layers.GaussianDropout(0.1)(inputs)
    x = layers.Dense(1024, activation="relu", kernel_regularizer=regularizers.l1(1e-5))(x)
    x = layers.Dropout(0.4)(layers.BatchNormalization()(x))
    x = layers.Dropout(0.4)(layers.Dense(256, activation="relu")(x))
    return _classes(inputs, x, 22)


@_add
def columns_in_steps():
    """Which columns count is chosen anew at each step by what was chosen before."""

    def part(width, x):
        y = layers.BatchNormalization()(layers.Dense(2 * width)(x))
        return y[:, :width] * ops.sigmoid(y[:, width:])

    inputs = keras.Input((64,))
    x = layers.BatchNormalization()(inputs)
    prior, told, total = ops.ones_like(x), part(48, x), 0
    for _ in range(4):
        chosen = layers.BatchNormalization()(layers.Dense(64)(told[:, 32:]))
        mask = ops.softmax(chosen * prior)
        prior = prior * (1.3 - mask)
        y = part(48, mask * x)
        told = (part(48, y) + y) * (0.5**0.5)
        total = total + ops.relu(told[:, :32])
    return _classes(inputs, total, 7)


@_add
def heartbeats_rebuilt():
    """The tutorial's small network that writes a beat back."""
    inputs = x = keras.Input((140,))
    for width in (32, 16, 8, 16, 32):
        x = layers.Dense(width, activation="relu")(x)
    return _values(keras.Model(inputs, layers.Dense(140, "sigmoid", dtype="float32")(x)), "mae")


# What is recommended


class FilmsRated(keras.Model):
    """Products of vectors and biases of both sides; the example's class."""

    def __init__(self, users=80000, films=30000, width=50):
        super().__init__()
        options = {"embeddings_initializer": "he_normal", "embeddings_regularizer": regularizers.l2(1e-6)}
        self.users, self.films = (
            layers.Embedding(users, width, **options),
            layers.Embedding(films, width, **options),
        )
        self.user_bias, self.film_bias = layers.Embedding(users, 1), layers.Embedding(films, 1)

    def call(self, inputs):
        user, film = inputs[:, 0], inputs[:, 1]
        near = ops.sum(self.users(user) * self.films(film), axis=-1, keepdims=True)
        return ops.cast(ops.sigmoid(near + self.user_bias(user) + self.film_bias(film)), "float32")


@_add
def films_rated():
    model = FilmsRated()
    model(keras.Input((2,), dtype="int32"))
    return Case(model, "binary_crossentropy", [((2,), "int32")], ((1,), "float32"))


@_add
def dots_of_fields():
    """Numbers through a small network, categories by tables; products of all pairs through another."""
    numbers, kinds = keras.Input((13,)), keras.Input((26,), dtype="int32")
    x = numbers
    for width in (256, 64, 16):
        x = layers.Dense(width, activation="relu")(x)
    parts = [layers.Embedding(20000, 16)(kinds), ops.expand_dims(x, 1)]
    all = layers.Concatenate(axis=1)(parts)
    pairs = layers.Dot(axes=2)([all, all])
    pairs = layers.Flatten()(pairs)
    x = layers.Concatenate()([x, pairs])
    for width in (512, 256):
        x = layers.Dense(width, activation="relu")(x)
    return _values(keras.Model([numbers, kinds], layers.Dense(1, "sigmoid", dtype="float32")(x)),
                   "binary_crossentropy")  # fmt: skip


class Recalled(keras.Model):
    """A user by the mean of what was seen and a table, items by a table, with the items of the batch as wrong ones."""

    def __init__(self):
        super().__init__()
        self.items, self.users = layers.Embedding(40000, 64), layers.Embedding(100000, 32)
        self.tower = keras.Sequential(
            [layers.Dense(256, "relu"), layers.Dense(128, "relu"), layers.Dense(64)]
        )
        self.other = keras.Sequential([layers.Dense(128, "relu"), layers.Dense(64)])

    def build(self, shape):
        self.items.build(None)
        self.users.build(None)
        self.tower.build((None, 96))
        self.other.build((None, 64))

    def call(self, inputs, training=False):
        user, seen, item = inputs
        x = ops.concatenate([self.users(user), ops.mean(self.items(seen), axis=1)], axis=-1)
        return ops.matmul(self.tower(x), ops.transpose(self.other(self.items(item))))

    def compute_loss(self, x=None, y=None, y_pred=None, sample_weight=None, training=True):
        labels = ops.arange(ops.shape(y_pred)[0])
        return ops.mean(keras.losses.sparse_categorical_crossentropy(labels, y_pred, from_logits=True))


@_add
def recalled():
    model = Recalled()
    model.build(None)
    return Case(model, None, [((), "int32"), ((30,), "int32"), ((), "int32")], ((), "int32"))


# Over time


@_add
def flats_heated():
    """Three days of readings through two recurrent layers, two days ahead at once."""
    model = keras.Sequential([keras.Input((144, 12))])
    model.add(layers.GRU(128, return_sequences=True))
    model.add(layers.GRU(64, return_sequences=False))
    model.add(layers.Dropout(0.2))
    model.add(layers.Dense(96))
    model.add(layers.Reshape((48, 2), dtype="float32"))
    return _values(model)


@_add
def rivers_attended():
    """Convolutions, a recurrent layer both ways, attention over itself; one number."""
    inputs = keras.Input((120, 9))
    x = layers.Conv1D(64, 5, padding="same", activation="relu")(inputs)
    x = layers.MaxPooling1D(2)(layers.Conv1D(64, 3, padding="same", activation="relu")(x))
    x = layers.Bidirectional(layers.LSTM(64, return_sequences=True))(x)
    y = layers.Attention(use_scale=True)([x, x])
    x = layers.GlobalAveragePooling1D()(layers.Concatenate()([x, y]))
    x = layers.Dropout(0.2)(layers.Dense(64, activation="relu")(x))
    return _values(keras.Model(inputs, layers.Dense(1, dtype="float32")(x)), "huber")


@_add
def taxis_on_a_grid():
    """What was there an hour, a day and a week ago, each by residual convolutions, weighed place by place."""

    class Weigh(layers.Layer):
        def build(self, shape):
            self.kernel = self.add_weight(shape=shape[1:], initializer="glorot_uniform")

        def call(self, x):
            return x * self.kernel

    given = [keras.Input((32, 32, 2 * count)) for count in (4, 3, 2)]
    outside = keras.Input((28,))
    parts = []
    for x in given:
        x = layers.Conv2D(64, 3, padding="same")(x)
        for _ in range(3):
            y = x
            for _ in range(2):
                y = layers.Conv2D(64, 3, padding="same")(layers.ReLU()(y))
            x = layers.Add()([x, y])
        x = layers.Conv2D(2, 3, padding="same")(layers.ReLU()(x))
        parts.append(Weigh()(x))
    x = layers.Dense(2048, activation="relu")(layers.Dense(10, activation="relu")(outside))
    parts.append(layers.Reshape((32, 32, 2))(x))
    out = layers.Activation("tanh", dtype="float32")(layers.Add()(parts))
    return _values(keras.Model([*given, outside], out))


@_add
def phones_in_pockets():
    """Windows cut in four, each by the same convolutions, then a recurrent layer."""
    model = keras.Sequential([keras.Input((4, 32, 9))])
    model.add(layers.TimeDistributed(layers.Conv1D(64, 3, activation="relu")))
    model.add(layers.TimeDistributed(layers.Conv1D(64, 3, activation="relu")))
    model.add(layers.TimeDistributed(layers.Dropout(0.5)))
    model.add(layers.TimeDistributed(layers.MaxPooling1D(2)))
    model.add(layers.TimeDistributed(layers.Flatten()))
    model.add(layers.LSTM(100))
    model.add(layers.Dropout(0.5))
    model.add(layers.Dense(100, activation="relu"))
    model.add(layers.Dense(6, activation="softmax", dtype="float32"))
    return _labelled(model)


@_add
def bearings():
    """A very wide first kernel over raw shaking, narrow ones behind."""
    inputs = x = keras.Input((2048, 1))
    for width, size, strides in ((16, 64, 16), (32, 3, 1), (64, 3, 1), (64, 3, 1), (64, 3, 1)):
        x = layers.Conv1D(width, size, strides, padding="same")(x)
        x = layers.MaxPooling1D(2)(layers.ReLU()(layers.BatchNormalization()(x)))
    x = layers.Dense(100, activation="relu")(layers.Flatten()(x))
    return _classes(inputs, x, 10)


@_add
def shares_by_convolved_states():
    """A recurrent layer whose products are convolutions, along prices of several shares."""
    inputs = keras.Input((20, 32, 4))
    x = layers.ConvLSTM1D(32, 3, padding="same", return_sequences=True)(inputs)
    x = layers.ConvLSTM1D(16, 3, padding="same")(layers.BatchNormalization()(x))
    x = layers.Dropout(0.2)(layers.Flatten()(x))
    return _values(keras.Model(inputs, layers.Dense(32, dtype="float32")(x)))


@_add
def features_of_films():
    """What an application said of each picture, padded, through two small recurrent layers."""
    features, mask = keras.Input((20, 2048)), keras.Input((20,), dtype="bool")
    x = layers.GRU(16, return_sequences=True)(features, mask=mask)
    x = layers.Dropout(0.4)(layers.GRU(8)(x))
    x = layers.Dense(8, activation="relu")(x)
    return _classes([features, mask], x, 5)


@_add
def genres():
    """Convolutions over a spectrogram with growing poolings, then two recurrent layers along what is left."""
    inputs = keras.Input((96, 432, 1))
    x = layers.BatchNormalization(axis=1)(inputs)
    for width, pool in ((64, (2, 2)), (128, (3, 3)), (128, (4, 4)), (128, (4, 4))):
        x = layers.Conv2D(width, 3, padding="same")(x)
        x = layers.ELU()(layers.BatchNormalization()(x))
        x = layers.Dropout(0.1)(layers.MaxPooling2D(pool)(x))
    x = layers.Reshape((-1, 128))(layers.Permute((2, 1, 3))(x))
    x = layers.GRU(32)(layers.GRU(32, return_sequences=True)(x))
    return _classes(inputs, layers.Dropout(0.3)(x), 10)


# Acting


class Landing(keras.Model):
    """Values of four moves, learnt from what was kept; a second network that is copied now and then."""

    def __init__(self, network, copy):
        super().__init__()
        self.network, self.copy = network, copy
        copy.trainable = False

    def train_step(self, data):
        (state, action, reward, following), done = data
        wanted = reward + 0.99 * tf.reduce_max(self.copy(following, training=False), axis=1) * (1.0 - done)
        with tf.GradientTape() as tape:
            values = self.network(state, training=True)
            said = tf.gather(values, action, axis=1, batch_dims=1)
            loss = tf.reduce_mean(tf.square(wanted - said))
        weights = self.network.trainable_variables
        slopes, _ = tf.clip_by_global_norm(tape.gradient(loss, weights), 10.0)
        self.optimizer.apply_gradients(zip(slopes, weights))
        return {"loss": loss}


@_add
def landing():
    def network():
        model = keras.Sequential([keras.Input((8,))])
        for width in (512, 256):
            model.add(layers.Dense(width, activation="relu"))
        model.add(layers.Dense(4))
        return model

    one = ((), "float32")
    return _stepped(
        Landing(network(), network()), ((8,), "float32"), ((), "int32"), one, ((8,), "float32"), y=one
    )
