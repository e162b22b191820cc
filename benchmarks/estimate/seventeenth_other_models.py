"""The other half of the seventeenth set, written and hashed before anything of it was compiled: what public training
scripts train on series, sounds, texts, tables, graphs and genes, and agents; each says whose it is, written anew.
"""

import keras
import numpy as np
from keras import layers, ops, regularizers
from models import Case, _add
from seventeenth_look_models import Instances
from third_look_models import _classes, _labelled, _values


def _categories(inputs, x, count):
    out = layers.Dense(count, activation="softmax", dtype="float32")(x)
    return _values(keras.Model(inputs, out), "categorical_crossentropy")


# Series


@_add
def series_by_residuals():
    """hfawaz/dl-4-tsc, resnet."""

    def norm(x, width, side):
        return layers.BatchNormalization()(layers.Conv1D(width, side, padding="same")(x))

    inputs = x = keras.Input((512, 1))
    for width in (64, 128, 128):
        y = layers.ReLU()(norm(layers.ReLU()(norm(x, width, 8)), width, 5))
        short = layers.BatchNormalization()(x) if x.shape[-1] == width else norm(x, width, 1)
        x = layers.ReLU()(layers.Add()([short, norm(y, width, 3)]))
    return _categories(inputs, layers.GlobalAveragePooling1D()(x), 60)


@_add
def series_that_weigh_themselves():
    """hfawaz/dl-4-tsc, encoder: half of the channels weigh the other half."""
    inputs = x = keras.Input((512, 1))
    for width, side in ((128, 5), (256, 11), (512, 21)):
        x = layers.PReLU(shared_axes=[1])(Instances()(layers.Conv1D(width, side, padding="same")(x)))
        x = layers.Dropout(0.2)(x)
        x = layers.MaxPooling1D()(x) if width < 512 else x
    data = layers.Lambda(lambda t: t[:, :, :256], output_shape=(128, 256))(x)
    weights = layers.Softmax()(layers.Lambda(lambda t: t[:, :, 256:], output_shape=(128, 256))(x))
    x = Instances()(layers.Dense(256, activation="sigmoid")(layers.Multiply()([weights, data])))
    return _categories(inputs, layers.Flatten()(x), 60)


@_add
def series_by_gates_and_kernels():
    """titu1994/LSTM-FCN: the whole series is one step of the gates."""
    inputs = keras.Input((1, 512))
    x = layers.Dropout(0.8)(layers.LSTM(8)(inputs))
    y = layers.Permute((2, 1))(inputs)
    for width, side in ((128, 8), (256, 5), (128, 3)):
        y = layers.ReLU()(layers.BatchNormalization()(layers.Conv1D(width, side, padding="same")(y)))
    return _categories(inputs, layers.Concatenate()([x, layers.GlobalAveragePooling1D()(y)]), 60)


@_add
def motors_attended():
    """keras-io, timeseries_classification_transformer."""
    inputs = x = keras.Input((500, 1))
    for _ in range(4):
        y = layers.Dropout(0.25)(layers.MultiHeadAttention(4, 256, dropout=0.25)(x, x))
        kept = layers.Add()([layers.LayerNormalization(epsilon=1e-6)(y), x])
        y = layers.Dropout(0.25)(layers.Conv1D(4, 1, activation="relu")(kept))
        y = layers.LayerNormalization(epsilon=1e-6)(layers.Conv1D(1, 1)(y))
        x = layers.Add()([y, kept])
    x = layers.GlobalAveragePooling1D(data_format="channels_last")(x)
    x = layers.Dropout(0.4)(layers.Dense(128, activation="relu")(x))
    return _classes(inputs, x, 2)


@_add
def waves_of_the_brain():
    """vlawhern/arl-eegmodels, EEGNet-8,2."""
    clipped = keras.constraints.MaxNorm(1.0)
    inputs = keras.Input((64, 128, 1))
    x = layers.BatchNormalization()(layers.Conv2D(8, (1, 64), padding="same", use_bias=False)(inputs))
    x = layers.DepthwiseConv2D((64, 1), use_bias=False, depth_multiplier=2, depthwise_constraint=clipped)(x)
    x = layers.AveragePooling2D((1, 4))(layers.Activation("elu")(layers.BatchNormalization()(x)))
    x = layers.SeparableConv2D(16, (1, 16), padding="same", use_bias=False)(layers.Dropout(0.5)(x))
    x = layers.AveragePooling2D((1, 8))(layers.Activation("elu")(layers.BatchNormalization()(x)))
    return _categories(inputs, layers.Flatten()(layers.Dropout(0.5)(x)), 4)


@_add
def trends_and_seasons():
    """philipperemy/n-beats: three blocks of trend, three of season, residuals passed on."""
    back, ahead = 100, 20
    inputs = keras.Input((back, 1))
    x = layers.Lambda(lambda t: t[..., 0], output_shape=(back,))(inputs)
    total = None

    def trend(length):
        at = np.arange(length) / length
        return np.stack([at**power for power in range(4)]).astype("float32")

    def season(count, length):
        at = np.arange(length) / length
        rows = [np.cos(2 * np.pi * i * at) for i in range(count // 2)]
        rows += [np.sin(2 * np.pi * i * at) for i in range(count - count // 2)]
        return np.stack(rows).astype("float32")

    def times(table):
        return layers.Lambda(lambda t: ops.matmul(t, table), output_shape=(table.shape[1],))

    for kind in ("trend", "season"):
        for _ in range(3):
            y = x
            for _ in range(4):
                y = layers.Dense(256, activation="relu")(y)
            if kind == "trend":
                numbers = layers.Dense(4, use_bias=False)(y)
                past, future = times(trend(back))(numbers), times(trend(ahead))(numbers)
            else:
                past = times(season(ahead, back))(layers.Dense(ahead, use_bias=False)(y))
                future = times(season(ahead, ahead))(layers.Dense(ahead, use_bias=False)(y))
            x = layers.Subtract()([x, past])
            total = future if total is None else layers.Add()([total, future])
    return _values(keras.Model(inputs, layers.Reshape((ahead, 1))(total)), "mae")


@_add
def prices_from_windows():
    """jaungiers/LSTM-Neural-Network-for-Time-Series-Prediction."""
    model = keras.Sequential(
        [keras.Input((49, 2)), layers.LSTM(100, return_sequences=True), layers.Dropout(0.2)]
    )
    model.add(layers.LSTM(100, return_sequences=True))
    model.add(layers.LSTM(100))
    model.add(layers.Dropout(0.2))
    model.add(layers.Dense(1))
    return _values(model)


def _causal(x, width, side, rate, norm=False):
    """Two convolutions into the past and a way round them; what the block adds is kept for the end."""
    y = x
    for _ in range(2):
        y = layers.Conv1D(width, side, padding="causal", dilation_rate=rate)(y)
        y = layers.LayerNormalization()(y) if norm else y
        y = layers.Activation("relu")(y)
    y = layers.Activation("relu")(y)
    short = layers.Conv1D(width, 1, padding="same")(x) if x.shape[-1] != width else x
    return layers.Activation("relu")(layers.Add()([short, y])), y


@_add
def digits_pixel_by_pixel():
    """philipperemy/keras-tcn, mnist_pixel."""
    inputs = x = keras.Input((784, 1))
    added = []
    for level in range(9):
        x, one = _causal(x, 20, 6, 2**level)
        added.append(one)
    x = layers.Lambda(lambda t: t[:, -1], output_shape=(20,))(layers.Add()(added))
    return _classes(inputs, x, 10)


@_add
def words_by_dilation():
    """philipperemy/keras-tcn, word_ptb: rows are normalized."""
    inputs = keras.Input((80,), dtype="int32")
    x = layers.Dropout(0.2)(layers.Embedding(10000, 200)(inputs))
    added = []
    for rate in (1, 2, 4, 8, 16):
        x, one = _causal(x, 70, 3, rate, norm=True)
        added.append(one)
    x = layers.Lambda(lambda t: t[:, -1], output_shape=(70,))(layers.Add()(added))
    return _classes(inputs, x, 10000)


@_add
def beats_by_pairs():
    """CVxTz/ECG_Heartbeat_Classification."""
    inputs = x = keras.Input((187, 1))
    for width, side in ((16, 5), (32, 3), (32, 3)):
        for _ in range(2):
            x = layers.Conv1D(width, side, activation="relu")(x)
        x = layers.Dropout(0.1)(layers.MaxPooling1D(2)(x))
    for _ in range(2):
        x = layers.Conv1D(256, 3, activation="relu")(x)
    x = layers.Dropout(0.2)(layers.GlobalMaxPooling1D()(x))
    for _ in range(2):
        x = layers.Dense(64, activation="relu")(x)
    return _classes(inputs, x, 5)


# Sounds


@_add
def pitches():
    """marl/crepe at full capacity."""
    inputs = keras.Input((1024,))
    x = layers.Reshape((1024, 1, 1))(inputs)
    for width, side, step in (
        (1024, 512, 4),
        (128, 64, 1),
        (128, 64, 1),
        (128, 64, 1),
        (256, 64, 1),
        (512, 64, 1),
    ):
        x = layers.Conv2D(width, (side, 1), (step, 1), "same", activation="relu")(x)
        x = layers.Dropout(0.25)(layers.MaxPooling2D((2, 1))(layers.BatchNormalization()(x)))
    x = layers.Flatten()(layers.Permute((2, 1, 3))(x))
    out = layers.Dense(360, activation="sigmoid", dtype="float32")(x)
    return _values(keras.Model(inputs, out), "binary_crossentropy")


@_add
def tags_of_music():
    """keunwoochoi/music-auto_tagging-keras: convolutions, then gates over what is left of time."""
    inputs = keras.Input((96, 1366, 1))
    x = layers.BatchNormalization(axis=1)(layers.ZeroPadding2D((0, 37))(inputs))
    for width, side in ((64, 2), (128, 3), (128, 4), (128, 4)):
        x = layers.BatchNormalization()(layers.Conv2D(width, 3, padding="same")(x))
        x = layers.Dropout(0.1)(layers.MaxPooling2D(side, side)(layers.ELU()(x)))
    x = layers.Reshape((15, 128))(x)
    x = layers.GRU(32)(layers.GRU(32, return_sequences=True)(x))
    out = layers.Dense(50, activation="sigmoid", dtype="float32")(layers.Dropout(0.3)(x))
    return _values(keras.Model(inputs, out), "binary_crossentropy")


@_add
def commands_by_spectra():
    """tensorflow/docs, simple_audio: spectra are made small first."""
    inputs = keras.Input((124, 129, 1))
    x = layers.Normalization(mean=0.6, variance=0.4)(layers.Resizing(32, 32)(inputs))
    x = layers.Conv2D(64, 3, activation="relu")(layers.Conv2D(32, 3, activation="relu")(x))
    x = layers.Flatten()(layers.Dropout(0.25)(layers.MaxPooling2D()(x)))
    x = layers.Dropout(0.5)(layers.Dense(128, activation="relu")(x))
    model = keras.Model(inputs, layers.Dense(8, dtype="float32")(x))
    return _labelled(model, loss=keras.losses.SparseCategoricalCrossentropy(from_logits=True))


@_add
def notes_to_come():
    """tensorflow/docs, music_generation: pitch, step and length of the next note."""
    inputs = keras.Input((25, 3))
    x = layers.LSTM(128)(inputs)
    outs = [layers.Dense(128)(x), layers.Dense(1)(x), layers.Dense(1)(x)]

    def positive(y_true, y_pred):
        return ops.mean((y_true - y_pred) ** 2 + 10 * ops.maximum(-y_pred, 0.0))

    return Case(
        keras.Model(inputs, outs),
        [keras.losses.SparseCategoricalCrossentropy(from_logits=True), positive, positive],
        [((25, 3), "float32")],
        [((), "int32"), ((1,), "float32"), ((1,), "float32")],
        options={"loss_weights": [0.05, 1.0, 1.0]},
    )


class Places(layers.Layer):
    """Sines and cosines added to an embedding."""

    def call(self, x):
        length, width = x.shape[1:]
        at = np.arange(length)[:, None] / 10000 ** (2 * (np.arange(width) // 2) / width)[None]
        table = np.where(np.arange(width) % 2, np.cos(at), np.sin(at))[None]
        return x + ops.convert_to_tensor(table, x.dtype)


@_add
def notes_and_lengths():
    """davidADSP/Generative_Deep_Learning_2nd_Edition, music transformer: two vocabularies, one block of five heads."""
    notes, times = keras.Input((50,), dtype="int32"), keras.Input((50,), dtype="int32")
    x = layers.Concatenate()(
        [Places()(layers.Embedding(count, 128)(one)) for count, one in ((60, notes), (20, times))]
    )
    attended = layers.Dropout(0.3)(
        layers.MultiHeadAttention(5, 256, output_shape=256)(x, x, use_causal_mask=True)
    )
    x = layers.LayerNormalization(epsilon=1e-6)(layers.Add()([x, attended]))
    y = layers.Dropout(0.3)(layers.Dense(256)(layers.Dense(256, activation="relu")(x)))
    x = layers.LayerNormalization(epsilon=1e-6)(layers.Add()([x, y]))
    outs = [layers.Dense(count, activation="softmax", dtype="float32")(x) for count in (60, 20)]
    ids = ((50,), "int32")
    return Case(
        keras.Model([notes, times], outs), ["sparse_categorical_crossentropy"] * 2, [ids, ids], [ids, ids]
    )


# Letters and words


class WeighedMean(layers.Layer):
    """The mean of a row, weighed by one product."""

    def build(self, shape):
        self.kernel = self.add_weight(shape=(shape[-1], 1), name="kernel")

    def call(self, x, mask=None):
        there = ops.matmul(x, self.kernel)[..., 0]
        there = ops.exp(there - ops.max(there, -1, keepdims=True))
        if mask is not None:
            there = there * ops.cast(mask, there.dtype)
        weights = there / (ops.sum(there, 1, keepdims=True) + 1e-7)
        return ops.sum(x * weights[..., None], axis=1)

    def compute_mask(self, x, mask=None):
        return None

    def compute_output_shape(self, shape):
        return (shape[0], shape[-1])


@_add
def letters_to_come():
    """minimaxir/textgenrnn: an embedding and two layers, all three weighed."""
    inputs = keras.Input((40,), dtype="int32")
    kept = [layers.Embedding(465, 100)(inputs)]
    for _ in range(2):
        kept.append(layers.LSTM(128, return_sequences=True, recurrent_activation="sigmoid")(kept[-1]))
    return _categories(inputs, WeighedMean()(layers.Concatenate()(kept)), 465)


@_add
def signs_of_moods():
    """bfelbo/DeepMoji: padded tweets, two wide layers both ways, 64 signs."""
    inputs = keras.Input((30,), dtype="int32")
    x = layers.Activation("tanh")(layers.Embedding(50000, 256, mask_zero=True)(inputs))
    first = layers.Bidirectional(layers.LSTM(512, return_sequences=True))(x)
    second = layers.Bidirectional(layers.LSTM(512, return_sequences=True))(first)
    x = WeighedMean()(layers.Concatenate()([second, first, x]))
    return _categories(inputs, layers.Dropout(0.5)(x), 64)


@_add
def reviews_by_one_block():
    """keras-io, text_classification_with_transformer."""
    inputs = keras.Input((200,), dtype="int32")
    x = layers.Add()([layers.Embedding(20000, 32)(inputs), layers.Embedding(200, 32)(ops.arange(200)[None])])
    y = layers.Dropout(0.1)(layers.MultiHeadAttention(2, 32)(x, x))
    x = layers.LayerNormalization(epsilon=1e-6)(layers.Add()([x, y]))
    y = layers.Dropout(0.1)(layers.Dense(32)(layers.Dense(32, activation="relu")(x)))
    x = layers.LayerNormalization(epsilon=1e-6)(layers.Add()([x, y]))
    x = layers.Dropout(0.1)(layers.GlobalAveragePooling1D()(x))
    return _classes(inputs, layers.Dropout(0.1)(layers.Dense(20, activation="relu")(x)), 2)


# Genes


@_add
def motifs_and_order():
    """uci-cbcl/DanQ: 320 motifs, gates both ways, 919 marks."""
    inputs = keras.Input((1000, 4))
    x = layers.MaxPooling1D(13, 13)(layers.Conv1D(320, 26, activation="relu")(inputs))
    x = layers.Bidirectional(layers.LSTM(320, return_sequences=True))(layers.Dropout(0.2)(x))
    x = layers.Dense(925, activation="relu")(layers.Flatten()(layers.Dropout(0.5)(x)))
    out = layers.Dense(919, activation="sigmoid", dtype="float32")(x)
    return _values(keras.Model(inputs, out), "binary_crossentropy")


def _smooth(x):
    return ops.sigmoid(1.702 * x) * x


def _block(x, width, side=1, pool=1, rate=1, drop=0.0):
    x = layers.Conv1D(width, side, padding="same", dilation_rate=rate, use_bias=False)(
        layers.Activation(_smooth)(x)
    )
    x = layers.BatchNormalization(momentum=0.9)(x)
    x = layers.Dropout(drop)(x) if drop else x
    return layers.MaxPooling1D(pool, padding="same")(x) if pool > 1 else x


@_add
def accessible_genes():
    """calico/basenji, basset."""
    inputs = keras.Input((1344, 4))
    x = layers.Conv1D(288, 17, padding="same", use_bias=False)(inputs)
    x = layers.MaxPooling1D(3, padding="same")(layers.BatchNormalization(momentum=0.9)(x))
    for width in (288, 320, 368, 416, 464, 512):
        x = _block(x, width, 5, 2)
    x = layers.Flatten()(layers.Activation(_smooth)(_block(x, 256)))
    x = layers.Dropout(0.2)(layers.BatchNormalization(momentum=0.9)(layers.Dense(768, use_bias=False)(x)))
    x = layers.Activation(_smooth)(x)
    out = layers.Dense(164, activation="sigmoid", dtype="float32")(x)
    return _values(keras.Model(inputs, out), "binary_crossentropy")


@_add
def coverage_along_genes():
    """calico/basenji, the tutorial's small one: 131,072 letters, dilated blocks with ways round them."""
    inputs = keras.Input((131072, 4))
    x = _block(inputs, 64, 15, 8)
    for width in (64, 72):
        x = _block(x, width, 5, 4)
    for level in range(6):
        y = _block(x, 32, 3, 1, 2**level)
        x = layers.Add()([x, _block(y, 72, 1, 1, 1, 0.25)])
    x = layers.Activation(_smooth)(_block(x, 64, 1, 1, 1, 0.05))
    return _values(keras.Model(inputs, layers.Dense(3, activation="softplus", dtype="float32")(x)), "poisson")


# Tables, tastes and news


@_add
def tastes_by_two_ways():
    """hexiangnan/neural_collaborative_filtering, NeuMF of a million ratings."""
    who, what = keras.Input((1,), dtype="int32"), keras.Input((1,), dtype="int32")

    def table(one, count, width):
        return layers.Flatten()(layers.Embedding(count, width)(one))

    product = layers.Multiply()([table(who, 6040, 8), table(what, 3706, 8)])
    x = layers.Concatenate()([table(who, 6040, 32), table(what, 3706, 32)])
    for width in (32, 16, 8):
        x = layers.Dense(width, activation="relu")(x)
    out = layers.Dense(1, activation="sigmoid", dtype="float32")(layers.Concatenate()([product, x]))
    return _values(keras.Model([who, what], out), "binary_crossentropy")


@_add
def crossings_compressed():
    """shenweichen/DeepCTR, xDeepFM of 26 fields and 13 numbers."""
    ids, numbers = keras.Input((26,), dtype="int32"), keras.Input((13,))
    decay = regularizers.l2(1e-5)
    x0 = layers.Embedding(260000, 4, embeddings_regularizer=decay)(ids)
    linear = layers.Flatten()(layers.Embedding(260000, 1, embeddings_regularizer=decay)(ids))
    linear = layers.Lambda(lambda t: ops.sum(t, -1, keepdims=True), output_shape=(1,))(linear)
    linear = layers.Add()([linear, layers.Dense(1, use_bias=False)(numbers)])
    x = layers.Concatenate()([layers.Flatten()(x0), numbers])
    for width in (256, 128, 64):
        x = layers.Dense(width, activation="relu")(x)
    now, direct = x0, []
    for last in (False, True):
        count = now.shape[1]
        cross = layers.Lambda(
            lambda t: ops.reshape(ops.einsum("bik,bjk->bkij", t[0], t[1]), (-1, 4, 26 * t[1].shape[1])),
            output_shape=(4, 26 * count),
        )([x0, now])
        found = layers.Permute((2, 1))(layers.Conv1D(128, 1, activation="relu")(cross))
        if last:
            direct.append(found)
        else:
            direct.append(layers.Lambda(lambda t: t[:, 64:], output_shape=(64, 4))(found))
            now = layers.Lambda(lambda t: t[:, :64], output_shape=(64, 4))(found)
    deep = layers.Lambda(lambda t: ops.sum(t, -1), output_shape=(192,))(layers.Concatenate(axis=1)(direct))
    total = layers.Add()([linear, layers.Dense(1, use_bias=False)(x), layers.Dense(1, use_bias=False)(deep)])
    out = layers.Activation("sigmoid", dtype="float32")(total)
    return _values(keras.Model([ids, numbers], out), "binary_crossentropy")


class Dice(layers.Layer):
    """A unit whose bend lies where the batch is."""

    def build(self, shape):
        self.norm = layers.BatchNormalization(center=False, scale=False, epsilon=1e-9)
        self.norm.build(shape)
        self.slope = self.add_weight(shape=(shape[-1],), initializer="zeros", name="slope")

    def call(self, x, training=None):
        share = ops.sigmoid(self.norm(x, training=training))
        return self.slope * (1 - share) * x + share * x

    def compute_output_shape(self, shape):
        return shape


@_add
def histories_by_interest():
    """shenweichen/DeepCTR, DIN: what was bought is weighed by what is offered."""
    who, item, kind = (keras.Input((1,), dtype="int32") for _ in range(3))
    items, kinds = keras.Input((50,), dtype="int32"), keras.Input((50,), dtype="int32")
    of_items, of_kinds = layers.Embedding(63001, 32), layers.Embedding(801, 32)
    query = layers.Concatenate()([of_items(item), of_kinds(kind)])
    keys = layers.Concatenate()([of_items(items), of_kinds(kinds)])
    asked = layers.Lambda(lambda t: ops.repeat(t, 50, axis=1), output_shape=(50, 64))(query)
    differ, product = layers.Subtract()([asked, keys]), layers.Multiply()([asked, keys])
    x = layers.Concatenate()([asked, keys, differ, product])
    for width in (80, 40):
        x = Dice()(layers.Dense(width)(x))
    score = layers.Permute((2, 1))(layers.Dense(1)(x))
    there = layers.Lambda(lambda t: ops.cast(ops.not_equal(t, 0), "float32")[:, None], output_shape=(1, 50))(
        items
    )
    score = layers.Multiply()([score, there])
    history = layers.Flatten()(layers.Dot(axes=(2, 1))([score, keys]))
    x = layers.Concatenate()(
        [layers.Flatten()(layers.Embedding(192403, 32)(who)), layers.Flatten()(query), history]
    )
    for width in (256, 128, 64):
        x = layers.Dense(width, activation="relu")(x)
    out = layers.Dense(1, activation="sigmoid", use_bias=False, dtype="float32")(x)
    return _values(keras.Model([who, item, kind, items, kinds], out), "binary_crossentropy")


class Asks(layers.Layer):
    """Twenty heads of twenty, without a way out."""

    def build(self, shape):
        self.kernels = [self.add_weight(shape=(shape[-1], 400), name=f"w{at}") for at in range(3)]

    def call(self, x):
        length = x.shape[1]
        q, k, v = (
            ops.transpose(ops.reshape(ops.matmul(x, one), (-1, length, 20, 20)), (0, 2, 1, 3))
            for one in self.kernels
        )
        weights = ops.softmax(ops.matmul(q, ops.transpose(k, (0, 1, 3, 2))) / 20**0.5)
        return ops.reshape(ops.transpose(ops.matmul(weights, v), (0, 2, 1, 3)), (-1, length, 400))

    def compute_output_shape(self, shape):
        return (shape[0], shape[1], 400)


class Summed(layers.Layer):
    """A row weighed by a learned question."""

    def build(self, shape):
        self.kernel = self.add_weight(shape=(shape[-1], 200), name="kernel")
        self.bias = self.add_weight(shape=(200,), initializer="zeros", name="bias")
        self.question = self.add_weight(shape=(200, 1), name="question")

    def call(self, x):
        there = ops.exp(ops.matmul(ops.tanh(ops.matmul(x, self.kernel) + self.bias), self.question)[..., 0])
        weights = there / (ops.sum(there, -1, keepdims=True) + 1e-7)
        return ops.sum(x * weights[..., None], axis=1)

    def compute_output_shape(self, shape):
        return (shape[0], shape[-1])


@_add
def news_for_readers():
    """recommenders-team/recommenders, NRMS: 50 titles read, five offered."""
    title = keras.Input((30,), dtype="int32")
    x = layers.Dropout(0.2)(layers.Embedding(31029, 300)(title))
    news = keras.Model(title, Summed()(layers.Dropout(0.2)(Asks()(x))))
    read, offered = keras.Input((50, 30), dtype="int32"), keras.Input((5, 30), dtype="int32")
    reader = Summed()(Asks()(layers.TimeDistributed(news)(read)))
    said = layers.Dot(axes=-1)([layers.TimeDistributed(news)(offered), reader])
    out = layers.Activation("softmax", dtype="float32")(said)
    return _values(keras.Model([read, offered], out), "categorical_crossentropy")


class Clusters(layers.Layer):
    """How near each of ten points, as shares."""

    def build(self, shape):
        self.points = self.add_weight(shape=(10, shape[-1]), name="points")

    def call(self, x):
        near = 1 / (1 + ops.sum(ops.square(x[:, None] - self.points), axis=2))
        return near / ops.sum(near, axis=1, keepdims=True)

    def compute_output_shape(self, shape):
        return (shape[0], 10)


@_add
def clusters_of_a_code():
    """XifengGuo/DEC-keras."""
    inputs = x = keras.Input((784,))
    for width in (500, 500, 2000):
        x = layers.Dense(width, activation="relu")(x)
    return _values(keras.Model(inputs, Clusters()(layers.Dense(10)(x))), "kl_divergence")


# Graphs


class Spread(layers.Layer):
    """A product, what neighbours say, a unit; the neighbours never change."""

    def __init__(self, width, table):
        super().__init__()
        self.dense, self.table = (
            layers.Dense(width, use_bias=False, kernel_regularizer=regularizers.l2(5e-4)),
            table,
        )

    def build(self, shape):
        self.dense.build(shape)
        self.bias = self.add_weight(shape=(self.dense.units,), initializer="zeros", name="bias")

    def call(self, x):
        return ops.elu(ops.einsum("nm,bmc->bnc", self.table, self.dense(x)) + self.bias)

    def compute_output_shape(self, shape):
        return (*shape[:2], self.dense.units)


@_add
def digits_on_a_graph():
    """danielegrattarola/spektral, graph_signal_classification_mnist."""
    table = (np.abs(np.subtract.outer(np.arange(784), np.arange(784))) < 5).astype("float32") / 9
    inputs = x = keras.Input((784, 1))
    for _ in range(2):
        x = Spread(32, table)(x)
    x = layers.Lambda(lambda t: ops.sum(t, 1), output_shape=(32,))(x)
    return _classes(inputs, layers.Dense(512, activation="relu")(x), 10)


class ByEdges(layers.Layer):
    """Every edge has a matrix of its own, made of what is known of it."""

    def __init__(self, width):
        super().__init__()
        self.width = width

    def build(self, shapes):
        self.f = shapes[0][-1]
        self.makes = layers.Dense(self.f * self.width)
        self.makes.build(shapes[2])
        self.root = self.add_weight(shape=(self.f, self.width), name="root")
        self.bias = self.add_weight(shape=(self.width,), initializer="zeros", name="bias")

    def call(self, given):
        x, near, edges = given
        n = x.shape[1]
        kernel = ops.reshape(self.makes(edges), (-1, n, n, self.width, self.f)) * near[..., None, None]
        found = ops.einsum("abcde,ace->abd", kernel, x) + ops.matmul(x, self.root)
        return ops.relu(found + self.bias)

    def compute_output_shape(self, shapes):
        return (*shapes[0][:2], self.width)


@_add
def molecules_by_edges():
    """danielegrattarola/spektral, qm9_ecc_batch."""
    inputs = x, near, edges = keras.Input((29, 10)), keras.Input((29, 29)), keras.Input((29, 29, 4))
    for _ in range(2):
        x = ByEdges(32)([x, near, edges])
    x = layers.Lambda(lambda t: ops.sum(t, 1), output_shape=(32,))(x)
    return _values(keras.Model(list(inputs), layers.Dense(19, dtype="float32")(x)))


# Agents


@_add
def screens_to_worth():
    """germain-hug/Deep-RL-Keras, DDQN: the mean of all advantages is taken off."""
    inputs = x = keras.Input((84, 84, 4))
    for width, pool in ((32, 2), (64, 2), (64, 2)):
        x = layers.Conv2D(width, 3, padding="same")(x)
        x = layers.MaxPooling2D(pool)(layers.ReLU()(layers.BatchNormalization()(x)))
    x = layers.Dense(7)(layers.Dense(256, activation="relu")(layers.Flatten()(x)))
    out = layers.Lambda(
        lambda t: t[:, :1] + t[:, 1:] - ops.mean(t[:, 1:], keepdims=True), output_shape=(6,), dtype="float32"
    )(x)
    return _values(keras.Model(inputs, out))
