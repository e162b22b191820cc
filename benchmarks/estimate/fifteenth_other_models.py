"""The other half of the fifteenth set: text, tables, what is recommended, over time, sound, graphs, acting."""

import keras
from keras import layers, ops
from models import Case, Positions, _add
from third_look_models import _classes, _labelled, _logits, _values

# Text


@_add
def hotels_reviewed():
    """Masked words, two recurrent layers that go both ways, a dense layer."""
    model = keras.Sequential([keras.Input((120,), dtype="int32")])
    model.add(layers.Embedding(12000, 64, mask_zero=True))
    model.add(layers.Bidirectional(layers.LSTM(64, return_sequences=True)))
    model.add(layers.Bidirectional(layers.LSTM(32)))
    model.add(layers.Dense(64, activation="relu"))
    model.add(layers.Dropout(0.5))
    model.add(layers.Dense(1, activation="sigmoid", dtype="float32"))
    return _values(model, "binary_crossentropy")


@_add
def emotions_by_gates():
    """One gated layer that goes both ways, the largest of its states."""
    inputs = keras.Input((80,), dtype="int32")
    x = layers.SpatialDropout1D(0.2)(layers.Embedding(20000, 128)(inputs))
    x = layers.Bidirectional(layers.GRU(96, return_sequences=True))(x)
    x = layers.Dropout(0.3)(layers.Dense(64, activation="relu")(layers.GlobalMaxPooling1D()(x)))
    return _classes(inputs, x, 6)


def _reads(x, width, heads, inner, rate=0.1, causal=False):
    y = layers.MultiHeadAttention(heads, width // heads, dropout=rate)(x, x, use_causal_mask=causal)
    x = layers.LayerNormalization(epsilon=1e-6)(x + layers.Dropout(rate)(y))
    y = layers.Dense(width)(layers.Dense(inner, activation="relu")(x))
    return layers.LayerNormalization(epsilon=1e-6)(x + layers.Dropout(rate)(y))


@_add
def patents_sorted():
    """Words and places, three blocks that read, the mean."""
    inputs = keras.Input((160,), dtype="int32")
    x = Positions()(layers.Embedding(16000, 128)(inputs))
    for _ in range(3):
        x = _reads(x, 128, 4, 512)
    x = layers.Dropout(0.2)(layers.GlobalAveragePooling1D()(x))
    return _classes(inputs, layers.Dense(64, activation="relu")(x), 20)


@_add
def proverbs_continued():
    """Words that see what is before them, the next one over all words."""
    inputs = keras.Input((96,), dtype="int32")
    x = Positions()(layers.Embedding(6000, 192)(inputs))
    for _ in range(3):
        x = _reads(x, 192, 6, 768, causal=True)
    out = layers.Dense(6000, dtype="float32")(x)
    return _labelled(keras.Model(inputs, out), (96,), _logits())


@_add
def phrases_to_spanish():
    """A recurrent layer that reads, one that writes and attends to what was read."""
    source, target = keras.Input((24,), dtype="int32"), keras.Input((26,), dtype="int32")
    read, h, c = layers.LSTM(256, return_sequences=True, return_state=True)(
        layers.Embedding(8000, 128)(source)
    )
    x = layers.LSTM(256, return_sequences=True)(layers.Embedding(9000, 128)(target), initial_state=[h, c])
    x = layers.Concatenate()([x, layers.Attention()([x, read])])
    out = layers.Dense(9000, activation="softmax", dtype="float32")(layers.Dense(256, activation="tanh")(x))
    return _labelled(keras.Model([source, target], out), (26,))


# Tables and what is recommended


@_add
def subscriptions_ended():
    """A table for each kind, numbers that are normalized, dense layers with norms."""
    sizes = (12, 50, 7, 31, 1200, 300, 24, 90)
    numbers = keras.Input((16,))
    kinds = [keras.Input((), dtype="int32") for _ in sizes]
    parts = [layers.Embedding(n, min(50, n // 2 + 1))(one) for n, one in zip(sizes, kinds)]
    x = layers.Concatenate()([layers.BatchNormalization()(numbers), *parts])
    for width in (512, 256, 128):
        x = layers.BatchNormalization()(layers.Dense(width, activation="relu")(x))
        x = layers.Dropout(0.3)(x)
    out = layers.Dense(1, activation="sigmoid", dtype="float32")(x)
    return _values(keras.Model([numbers, *kinds], out), "binary_crossentropy")


@_add
def scores_of_credit():
    """Dense blocks with a swish, a norm and a way round, decay by the optimizer."""
    inputs = keras.Input((220,))
    x = layers.Dense(384)(inputs)
    for _ in range(4):
        y = layers.Dense(768, activation="swish")(layers.LayerNormalization()(x))
        x = layers.Add()([x, layers.Dropout(0.2)(layers.Dense(384)(y))])
    out = layers.Dense(1, activation="sigmoid", dtype="float32")(layers.LayerNormalization()(x))
    return _values(keras.Model(inputs, out), "binary_focal_crossentropy")


@_add
def books_for_readers():
    """A product of vectors beside dense layers on other vectors."""
    reader, book = keras.Input((), dtype="int32"), keras.Input((), dtype="int32")
    product = layers.Multiply()([layers.Embedding(40000, 32)(reader), layers.Embedding(25000, 32)(book)])
    x = layers.Concatenate()([layers.Embedding(40000, 32)(reader), layers.Embedding(25000, 32)(book)])
    for width in (128, 64, 32):
        x = layers.Dropout(0.2)(layers.Dense(width, activation="relu")(x))
    out = layers.Dense(1, dtype="float32")(layers.Concatenate()([product, x]))
    return _values(keras.Model([reader, book], out))


@_add
def next_in_the_basket():
    """What was bought as tokens, two causal blocks, a score for what came next and for something drawn."""
    seen, bought, drawn = (keras.Input((50,), dtype="int32") for _ in range(3))
    table = layers.Embedding(15000, 64)
    x = layers.Dropout(0.2)(Positions()(table(seen)))
    for _ in range(2):
        x = _reads(x, 64, 2, 128, 0.2, causal=True)
    scores = [ops.sum(x * table(one), axis=-1) for one in (bought, drawn)]
    out = layers.Activation("sigmoid", dtype="float32")(ops.stack(scores, axis=-1))
    return _values(keras.Model([seen, bought, drawn], out), "binary_crossentropy")


# Over time


@_add
def machines_rebuilt():
    """A recurrent layer that reads a window, its last state repeated, one that writes it again."""
    model = keras.Sequential([keras.Input((60, 24))])
    model.add(layers.LSTM(128, return_sequences=True))
    model.add(layers.LSTM(64))
    model.add(layers.RepeatVector(60))
    model.add(layers.LSTM(64, return_sequences=True))
    model.add(layers.LSTM(128, return_sequences=True))
    model.add(layers.TimeDistributed(layers.Dense(24, dtype="float32")))
    return _values(model, "mae")


@_add
def wind_by_dilation():
    """Causal convolutions with wider and wider gaps, leaky units, norms, a way round each pair."""
    inputs = keras.Input((168, 12))
    x = layers.Conv1D(64, 1)(inputs)
    for gap in (1, 2, 4, 8, 16):
        y = x
        for _ in range(2):
            y = layers.Conv1D(64, 3, padding="causal", dilation_rate=gap)(y)
            y = layers.LeakyReLU(negative_slope=0.01)(layers.LayerNormalization()(y))
            y = layers.SpatialDropout1D(0.1)(y)
        x = layers.Add()([x, y])
    out = layers.Dense(24, dtype="float32")(x[:, -1])
    return _values(keras.Model(inputs, out))


@_add
def prices_of_power():
    """Convolutions and a pooling before a gated layer, numbers of the day beside it."""
    series, day = keras.Input((336, 6)), keras.Input((10,))
    x = layers.Conv1D(64, 5, padding="same", activation="relu")(series)
    x = layers.MaxPooling1D(2)(x)
    x = layers.Conv1D(96, 3, padding="same", activation="relu")(x)
    x = layers.GRU(96)(layers.MaxPooling1D(2)(x))
    x = layers.Concatenate()([x, layers.Dense(32, activation="relu")(day)])
    out = layers.Dense(24, dtype="float32")(layers.Dense(128, activation="relu")(x))
    return _values(keras.Model([series, day], out))


@_add
def movements_sorted():
    """Convolutions over the signal of a wrist, norms, recurrent layer, dropout."""
    inputs = keras.Input((200, 9))
    x = inputs
    for width in (64, 128, 128):
        x = layers.Conv1D(width, 5, padding="same", use_bias=False)(x)
        x = layers.ReLU()(layers.BatchNormalization()(x))
    x = layers.LSTM(128, return_sequences=True)(layers.MaxPooling1D(2)(layers.Dropout(0.2)(x)))
    x = layers.LSTM(64)(x)
    return _classes(inputs, layers.Dropout(0.3)(x), 12)


@_add
def orders_by_pieces():
    """A series cut into pieces that are tokens, three blocks, all that is to come at once."""
    inputs = keras.Input((384, 7))
    x = layers.Permute((2, 1))(inputs)
    x = layers.Reshape((7 * 24, 16))(x)
    x = Positions()(layers.Dense(96)(x))
    for _ in range(3):
        x = _reads(x, 96, 6, 192)
    x = layers.Dense(48)(layers.Reshape((7, 24 * 96))(x))
    return _values(keras.Model(inputs, layers.Permute((2, 1), dtype="float32")(x)))


# Sound, graphs, acting


@_add
def words_of_command():
    """Pictures of sound through convolutions with norms."""
    inputs = x = keras.Input((98, 64, 1))
    for width in (32, 64, 128):
        x = layers.Conv2D(width, 3, padding="same", use_bias=False)(x)
        x = layers.MaxPooling2D()(layers.ReLU()(layers.BatchNormalization()(x)))
    x = layers.Conv2D(256, 3, padding="same", activation="relu")(x)
    x = layers.Dropout(0.4)(layers.Dense(128, activation="relu")(layers.GlobalAveragePooling2D()(x)))
    return _classes(inputs, x, 35)


class Gathers(layers.Layer):
    """What neighbours say, by a table of who is near whom."""

    def __init__(self, width):
        super().__init__()
        self.own, self.near = layers.Dense(width), layers.Dense(width, use_bias=False)

    def build(self, shape):
        self.own.build(shape[0])
        self.near.build(shape[0])

    def call(self, inputs):
        x, near = inputs
        return ops.relu(self.own(x) + self.near(ops.matmul(near, x)))


@_add
def proteins_by_neighbours():
    nodes, near = keras.Input((60, 32)), keras.Input((60, 60))
    x = nodes
    for _ in range(3):
        x = layers.BatchNormalization()(Gathers(128)([x, near]))
    x = layers.Concatenate()([layers.GlobalAveragePooling1D()(x), layers.GlobalMaxPooling1D()(x)])
    out = layers.Dense(1, activation="sigmoid", dtype="float32")(layers.Dense(64, activation="relu")(x))
    return _values(keras.Model([nodes, near], out), "binary_crossentropy")


@_add
def races_driven():
    """Convolutions on four frames, what to do and what it is worth."""
    inputs = x = keras.Input((84, 84, 4))
    for width, side, step in ((32, 8, 4), (64, 4, 2), (64, 3, 1)):
        x = layers.Conv2D(width, side, step, activation="relu")(x)
    x = layers.Dense(512, activation="relu")(layers.Flatten()(x))
    acts = layers.Dense(5, activation="softmax", dtype="float32")(x)
    worth = layers.Dense(1, dtype="float32")(x)
    return Case(keras.Model(inputs, [acts, worth]), ["categorical_crossentropy", "mse"], [((84, 84, 4), "float32")],
                [((5,), "float32"), ((1,), "float32")], {"loss_weights": [1.0, 0.5]})  # fmt: skip
