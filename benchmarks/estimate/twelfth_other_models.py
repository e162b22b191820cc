"""The other half of the twelfth set: text, sound and measurements over time, tables, what is recommended, acting."""

import keras
import tensorflow as tf
from keras import layers, ops
from models import Case, Positions, _add
from ninth_look_models import _apply, _stepped
from third_look_models import _classes, _labelled, _logits, _values
from twelfth_look_models import Encoder

# Text


@_add
def unwanted_messages():
    model = keras.Sequential()
    model.add(keras.Input((200,), dtype="int32"))
    model.add(layers.Embedding(10000, 64))
    model.add(layers.SpatialDropout1D(0.2))
    model.add(layers.Conv1D(64, 5, activation="relu"))
    model.add(layers.MaxPooling1D(4))
    model.add(layers.GRU(64))
    model.add(layers.Dense(1, activation="sigmoid", dtype="float32"))
    return _values(model, "binary_crossentropy")


@_add
def topics_by_known_vectors():
    """Vectors of words that stay as they are, convolutions over a thousand places."""
    inputs = keras.Input((1000,), dtype="int32")
    x = layers.Embedding(20002, 100, trainable=False)(inputs)
    x = layers.MaxPooling1D(5)(layers.Conv1D(128, 5, activation="relu")(x))
    x = layers.MaxPooling1D(5)(layers.Conv1D(128, 5, activation="relu")(x))
    x = layers.GlobalMaxPooling1D()(layers.Conv1D(128, 5, activation="relu")(x))
    x = layers.Dropout(0.5)(layers.Dense(128, activation="relu")(x))
    return _classes(inputs, x, 20)


class Weighed(layers.Layer):
    """A sum over what comes in turn, each weighed by what a small network says of it."""

    def __init__(self, units):
        super().__init__()
        self.inner, self.outer = layers.Dense(units, activation="tanh"), layers.Dense(1, use_bias=False)

    def build(self, shape):
        self.inner.build(shape)
        self.outer.build((*shape[:-1], self.inner.units))

    def compute_output_shape(self, shape):
        return (*shape[:-2], shape[-1])

    def call(self, x):
        weights = ops.softmax(self.outer(self.inner(x)), axis=-2)
        return ops.sum(weights * x, axis=-2)


@_add
def documents_by_sentences():
    """Words make sentences, sentences a document, each by a recurrent layer and weights."""
    words = keras.Input((30,), dtype="int32")
    x = layers.Embedding(20000, 100)(words)
    x = layers.Bidirectional(layers.GRU(50, return_sequences=True))(x)
    sentence = keras.Model(words, Weighed(100)(x))
    inputs = keras.Input((15, 30), dtype="int32")
    x = layers.TimeDistributed(sentence)(inputs)
    x = layers.Bidirectional(layers.GRU(50, return_sequences=True))(x)
    return _classes(inputs, Weighed(100)(x), 5)


@_add
def phrases_translated():
    """Two stacked recurrent readers, two writers, an attention between them."""
    given, said = keras.Input((30,), dtype="int32"), keras.Input((32,), dtype="int32")
    x = layers.Embedding(8000, 256, mask_zero=False)(given)
    x = layers.LSTM(256, return_sequences=True)(x)
    x, h, c = layers.LSTM(256, return_sequences=True, return_state=True)(x)
    y = layers.Embedding(8000, 256)(said)
    y = layers.LSTM(256, return_sequences=True)(y, initial_state=[h, c])
    y = layers.LSTM(256, return_sequences=True)(y)
    z = layers.Attention()([y, x])
    y = layers.Dense(256, activation="tanh")(layers.Concatenate()([y, z]))
    y = layers.Dense(8000, activation="softmax", dtype="float32")(layers.Dropout(0.2)(y))
    return _labelled(keras.Model([given, said], y), (32,))


class Verses(keras.Model):
    """A class with its blocks in a list, as a small model of language is written."""

    def __init__(self, words=12000, length=192, width=256, depth=4):
        super().__init__()
        self.words = layers.Embedding(words, width)
        self.places = layers.Embedding(length, width)
        self.drop = layers.Dropout(0.1)
        self.blocks = [Encoder(width, 4, 4 * width) for _ in range(depth)]
        self.norm = layers.LayerNormalization()
        self.head = layers.Dense(words, dtype="float32")

    def call(self, x, training=False):
        y = self.words(x) + self.places(ops.arange(ops.shape(x)[1]))
        y = self.drop(y, training=training)
        for block in self.blocks:
            y = block(y, training=training, use_causal_mask=True)
        return self.head(self.norm(y))


@_add
def verses():
    model = Verses()
    model(keras.Input((192,), dtype="int32"))
    return Case(model, _logits(), [((192,), "int32")], ((192,), "int32"))


@_add
def follows_or_not():
    """Two sentences read by one recurrent layer, compared word by word, read again."""
    first, second = keras.Input((40,), dtype="int32"), keras.Input((40,), dtype="int32")
    table = layers.Embedding(30000, 200, trainable=False)
    reader = layers.Bidirectional(layers.LSTM(128, return_sequences=True))
    a, b = reader(layers.Dropout(0.2)(table(first))), reader(layers.Dropout(0.2)(table(second)))
    scores = layers.Dot(axes=-1)([a, b])
    to_b = layers.Dot(axes=(2, 1))([layers.Softmax(axis=-1)(scores), b])
    to_a = layers.Dot(axes=(1, 1))([layers.Softmax(axis=1)(scores), a])
    again = layers.Bidirectional(layers.LSTM(128, return_sequences=True))
    said = []
    for own, other in ((a, to_b), (b, to_a)):
        x = layers.Concatenate()([own, other, own - other, own * other])
        x = again(layers.Dense(128, activation="relu")(x))
        said += [layers.GlobalAveragePooling1D()(x), layers.GlobalMaxPooling1D()(x)]
    x = layers.Dropout(0.5)(layers.Dense(128, activation="tanh")(layers.Concatenate()(said)))
    return _classes([first, second], x, 3)


@_add
def names_by_letters_and_words():
    """Letters of each word by convolutions, beside the word itself; what each is called."""
    words, letters = keras.Input((60,), dtype="int32"), keras.Input((60, 12), dtype="int32")
    x = layers.Dropout(0.5)(layers.TimeDistributed(layers.Embedding(100, 30))(letters))
    x = layers.TimeDistributed(layers.Conv1D(30, 3, padding="same", activation="tanh"))(x)
    x = layers.TimeDistributed(layers.GlobalMaxPooling1D())(x)
    x = layers.Concatenate()([layers.Embedding(20000, 100)(words), x])
    x = layers.Bidirectional(layers.LSTM(128, return_sequences=True, recurrent_dropout=0.25))(x)
    x = layers.TimeDistributed(layers.Dense(9, activation="softmax", dtype="float32"))(x)
    return _labelled(keras.Model([words, letters], x), (60,))


@_add
def answers_in_passages():
    """A reader tells where an answer begins and where it ends."""
    words, kinds = keras.Input((256,), dtype="int32"), keras.Input((256,), dtype="int32")
    x = Positions()(layers.Embedding(30522, 256)(words) + layers.Embedding(2, 256)(kinds))
    x = layers.Dropout(0.1)(layers.LayerNormalization(epsilon=1e-12)(x))
    for _ in range(4):
        y = layers.MultiHeadAttention(4, 64, dropout=0.1)(x, x)
        x = layers.LayerNormalization()(x + y)
        y = layers.Dense(256)(layers.Dense(1024, activation="gelu")(x))
        x = layers.LayerNormalization()(x + layers.Dropout(0.1)(y))
    outs = []
    for name in ("begin", "end"):
        y = layers.Flatten()(layers.Dense(1, use_bias=False)(x))
        outs.append(layers.Activation("softmax", dtype="float32", name=name)(y))
    case = _labelled(keras.Model([words, kinds], outs))
    return Case(case.model, [case.loss] * 2, case.x, [((), "int32"), ((), "int32")])


@_add
def wires_of_news():
    model = keras.Sequential(
        [
            keras.Input((10000,)),
            layers.Dense(512, activation="relu"),
            layers.Dropout(0.5),
            layers.Dense(256, activation="relu"),
            layers.Dropout(0.5),
            layers.Dense(46, activation="softmax", dtype="float32"),
        ]
    )
    return Case(model, "categorical_crossentropy", [((10000,), "float32")], ((46,), "float32"))


class GatedUnit(layers.Layer):
    """Attention of one head with squared units, in a gate."""

    def __init__(self, width, side=64):
        super().__init__()
        self.norm = layers.LayerNormalization()
        self.inner, self.shared = layers.Dense(4 * width, "silu"), layers.Dense(side, "silu")
        self.out, self.side = layers.Dense(width), side

    def build(self, shape):
        for layer in (self.norm, self.inner, self.shared):
            layer.build(shape)
        self.out.build((*shape[:-1], 2 * shape[-1]))
        self.scales = self.add_weight(shape=(2, self.side), initializer="random_normal")
        self.moves = self.add_weight(shape=(2, self.side), initializer="zeros")

    def call(self, x):
        y = self.norm(x)
        gate, value = ops.split(self.inner(y), 2, axis=-1)
        z = self.shared(y)
        q, k = z * self.scales[0] + self.moves[0], z * self.scales[1] + self.moves[1]
        weights = ops.square(ops.relu(ops.einsum("bid,bjd->bij", q, k) / x.shape[1]))
        return x + self.out(gate * ops.einsum("bij,bjd->bid", weights, value))


@_add
def gated_units_of_text():
    inputs = keras.Input((256,), dtype="int32")
    x = Positions()(layers.Embedding(16000, 128)(inputs))
    for _ in range(6):
        x = GatedUnit(128)(x)
    x = layers.GlobalAveragePooling1D()(layers.LayerNormalization()(x))
    return _classes(inputs, x, 4)


# Tables


@_add
def customers_leaving():
    """Categories by small tables beside numbers, rows weighed."""
    numbers = keras.Input((14,))
    kinds = [keras.Input((1,), dtype="int32") for _ in range(10)]
    x = [layers.BatchNormalization()(numbers)]
    for count, one in zip((2, 2, 3, 4, 5, 12, 30, 50, 200, 1000), kinds):
        x.append(layers.Flatten()(layers.Embedding(count, min(50, (count + 1) // 2))(one)))
    x = layers.Concatenate()(x)
    for width in (256, 128, 64):
        x = layers.Dense(width, activation="relu")(x)
        x = layers.Dropout(0.3)(layers.BatchNormalization()(x))
    case = _values(keras.Model([numbers, *kinds], layers.Dense(1, "sigmoid", dtype="float32")(x)),
                   "binary_crossentropy")  # fmt: skip
    return Case(case.model, case.loss, case.x, case.y, {"metrics": ["accuracy", keras.metrics.AUC()]},
                weight=((), "float32"))  # fmt: skip


@_add
def claims_insured():
    """A plain network with smooth units on a wide table, a number with a long tail."""
    inputs = x = keras.Input((120,))
    for width in (512, 512, 256, 128):
        x = layers.Dense(width, activation="selu", kernel_initializer="lecun_normal")(x)
        x = layers.AlphaDropout(0.1)(x)
    return _values(keras.Model(inputs, layers.Dense(1, "softplus", dtype="float32")(x)), "poisson")


@_add
def restored_rows():
    """Noise in front, a narrow middle; what was there without the noise is the target."""
    inputs = keras.Input((220,))
    x = layers.GaussianNoise(0.2)(inputs)
    for width in (1500, 1500, 1500):
        x = layers.Dense(width, activation="relu")(x)
    return _values(keras.Model(inputs, layers.Dense(220, dtype="float32")(x)))


class Columns(layers.Layer):
    """A vector for each number of a row."""

    def __init__(self, width):
        super().__init__()
        self.width = width

    def build(self, shape):
        self.kernel = self.add_weight(shape=(shape[-1], self.width), initializer="glorot_uniform")
        self.bias = self.add_weight(shape=(shape[-1], self.width), initializer="zeros")

    def call(self, x):
        return ops.relu(x[..., None] * self.kernel + self.bias)


@_add
def columns_attended():
    inputs = keras.Input((40,))
    x = Columns(64)(inputs)
    for _ in range(3):
        x = Encoder(64, 8, 128)(x)
    x = layers.Dense(64, activation="relu")(layers.LayerNormalization()(layers.Flatten()(x)))
    return _classes(inputs, x, 7)


# Over time


@_add
def turbines():
    """A recurrent layer reads a window, its last state is repeated and written back."""
    model = keras.Sequential()
    model.add(keras.Input((64, 16)))
    model.add(layers.LSTM(128, activation="tanh", return_sequences=True))
    model.add(layers.LSTM(64))
    model.add(layers.RepeatVector(64))
    model.add(layers.LSTM(64, return_sequences=True))
    model.add(layers.LSTM(128, return_sequences=True))
    model.add(layers.TimeDistributed(layers.Dense(16, dtype="float32")))
    return _values(model, "mae")


@_add
def power_used():
    model = keras.Sequential()
    model.add(keras.Input((168, 8)))
    model.add(layers.Conv1D(64, 3, activation="relu", padding="causal"))
    model.add(layers.Conv1D(64, 3, activation="relu", padding="causal"))
    model.add(layers.MaxPooling1D(2))
    model.add(layers.LSTM(100, return_sequences=True))
    model.add(layers.LSTM(50))
    model.add(layers.Dropout(0.2))
    model.add(layers.Dense(24, dtype="float32"))
    return _values(model)


@_add
def weather_by_hours():
    """A reader's state begins a writer, which is given what will be known."""
    past, known = keras.Input((96, 20)), keras.Input((24, 6))
    x, state = layers.GRU(128, return_sequences=True, return_state=True)(past)
    y = layers.GRU(128, return_sequences=True)(known, initial_state=state)
    y = layers.LayerNormalization()(y + layers.MultiHeadAttention(4, 32)(y, x))
    y = layers.TimeDistributed(layers.Dense(64, activation="relu"))(y)
    return _values(keras.Model([past, known], layers.Dense(1, dtype="float32")(y)), "huber")


def _likely(wanted, found):
    mean, spread = found[..., :1], ops.softplus(found[..., 1:]) + 1e-3
    return ops.mean(ops.log(spread) + 0.5 * ops.square((wanted - mean) / spread))


@_add
def demand_with_spread():
    """A mean and a spread for each day, stores by a table."""
    series, store = keras.Input((90, 5)), keras.Input((90,), dtype="int32")
    x = layers.Concatenate()([series, layers.Embedding(500, 10)(store)])
    for _ in range(2):
        x = layers.LSTM(40, return_sequences=True, dropout=0.1)(x)
    out = layers.Dense(2, dtype="float32")(x)
    case = _values(keras.Model([series, store], out), _likely)
    return Case(case.model, _likely, case.x, ((90, 1), "float32"))


@_add
def inception_in_time():
    """Convolutions of three lengths beside a pooled way, six times, a way round each three."""
    inputs = x = skip = keras.Input((256, 6))
    for depth in range(6):
        y = layers.Conv1D(32, 1, padding="same", use_bias=False)(x) if x.shape[-1] > 32 else x
        ways = [layers.Conv1D(32, size, padding="same", use_bias=False)(y) for size in (39, 19, 9)]
        pooled = layers.MaxPooling1D(3, 1, padding="same")(x)
        ways.append(layers.Conv1D(32, 1, padding="same", use_bias=False)(pooled))
        x = layers.Activation("relu")(layers.BatchNormalization()(layers.Concatenate()(ways)))
        if depth % 3 == 2:
            skip = layers.BatchNormalization()(layers.Conv1D(128, 1, padding="same", use_bias=False)(skip))
            x = skip = layers.Activation("relu")(layers.Add()([skip, x]))
    return _classes(inputs, layers.GlobalAveragePooling1D()(x), 12)


# Sound


@_add
def sounds_placed():
    """Which of ten sounds is heard when: convolutions over a spectrogram, recurrent layers along time."""
    inputs = x = keras.Input((256, 64, 1))
    for filters, pool in ((64, (1, 5)), (64, (1, 2)), (64, (1, 2))):
        x = layers.Conv2D(filters, 3, padding="same")(x)
        x = layers.Activation("relu")(layers.BatchNormalization()(x))
        x = layers.Dropout(0.3)(layers.MaxPooling2D(pool)(x))
    x = layers.Reshape((256, -1))(x)
    for _ in range(2):
        x = layers.Bidirectional(layers.GRU(32, return_sequences=True, dropout=0.3), merge_mode="mul")(x)
    x = layers.TimeDistributed(layers.Dense(32))(x)
    out = layers.TimeDistributed(layers.Dense(10, activation="sigmoid", dtype="float32"))(x)
    return _values(keras.Model(inputs, out), "binary_crossentropy")


@_add
def notes_by_gates():
    """Sound sample by sample: gated convolutions with growing gaps, each with a way out."""
    inputs = keras.Input((2048,), dtype="int32")
    x = layers.Embedding(256, 32)(inputs)
    ways = []
    for rate in [2**power for power in range(9)]:
        y = layers.Conv1D(64, 2, padding="causal", dilation_rate=rate)(x)
        y = ops.tanh(y[..., :32]) * ops.sigmoid(y[..., 32:])
        ways.append(layers.Conv1D(64, 1)(y))
        x = x + layers.Conv1D(32, 1)(y)
    x = layers.ReLU()(layers.Add()(ways))
    x = layers.Conv1D(256, 1, dtype="float32")(layers.Conv1D(128, 1, activation="relu")(x))
    return _labelled(keras.Model(inputs, x), (2048,), _logits())


@_add
def moods_of_voices():
    model = keras.Sequential([keras.Input((216, 40))])
    for filters in (256, 256, 128, 64):
        model.add(layers.Conv1D(filters, 5, strides=1, padding="same", activation="relu"))
        model.add(layers.MaxPooling1D(5, strides=2, padding="same"))
        model.add(layers.Dropout(0.2))
    model.add(layers.Flatten())
    model.add(layers.Dense(32, activation="relu"))
    model.add(layers.Dense(8, activation="softmax", dtype="float32"))
    return _labelled(model)


@_add
def birds():
    """A network of inverted bottlenecks over a spectrogram that is made in the model."""
    inputs = keras.Input((32000,))
    x = ops.log(ops.stft(inputs, 1024, 256, 1024)[0] ** 2 + 1e-6)[..., :256, None]
    x = layers.BatchNormalization()(x)
    x = layers.Activation("swish")(layers.Conv2D(32, 3, 2, "same", use_bias=False)(x))
    for filters, step in ((32, 1), (48, 2), (48, 1), (96, 2), (96, 1)):
        y = layers.Conv2D(4 * x.shape[-1], 1, use_bias=False)(x)
        y = layers.Activation("swish")(layers.BatchNormalization()(y))
        y = layers.DepthwiseConv2D(3, step, "same", use_bias=False)(y)
        y = layers.Activation("swish")(layers.BatchNormalization()(y))
        y = layers.BatchNormalization()(layers.Conv2D(filters, 1, use_bias=False)(y))
        x = layers.Add()([x, y]) if x.shape == y.shape else y
    x = layers.Dropout(0.3)(layers.GlobalAveragePooling2D()(x))
    return _values(keras.Model(inputs, layers.Dense(182, "sigmoid", dtype="float32")(x)),
                   "binary_crossentropy")  # fmt: skip


# What is recommended


@_add
def two_views_of_taste():
    """A product of vectors beside layers over others, joined for one answer."""
    user, item = keras.Input((1,), dtype="int32"), keras.Input((1,), dtype="int32")
    flat = layers.Flatten()
    product = flat(layers.Embedding(60000, 32)(user)) * flat(layers.Embedding(20000, 32)(item))
    x = layers.Concatenate()(
        [flat(layers.Embedding(60000, 64)(user)), flat(layers.Embedding(20000, 64)(item))]
    )
    for width in (128, 64, 32):
        x = layers.Dropout(0.1)(layers.Dense(width, activation="relu")(x))
    x = layers.Concatenate()([product, x])
    return _values(keras.Model([user, item], layers.Dense(1, "sigmoid", dtype="float32")(x)),
                   "binary_crossentropy")  # fmt: skip


class Tastes(keras.Model):
    """All that somebody liked through a narrow middle with noise; how likely each is, all at once."""

    def __init__(self, items=12000):
        super().__init__()
        self.items = items
        self.first = layers.Dense(600, activation="tanh")
        self.both = layers.Dense(400)
        self.third = layers.Dense(600, activation="tanh")
        self.last = layers.Dense(items, dtype="float32")
        self.drop = layers.Dropout(0.5)
        self.seed = keras.random.SeedGenerator(2)

    def call(self, x, training=False):
        length = ops.sqrt(ops.sum(ops.square(x), axis=-1, keepdims=True) + 1e-12)
        y = self.first(self.drop(x / length, training=training))
        mean, log = ops.split(self.both(y), 2, axis=-1)
        self.add_loss(0.2 * ops.mean(ops.sum(0.5 * (-log + ops.exp(log) + mean**2 - 1), axis=-1)))
        z = mean
        if training:
            z = z + keras.random.normal(ops.shape(mean), seed=self.seed, dtype=mean.dtype) * ops.exp(
                0.5 * log
            )
        return self.last(self.third(z))


def _multinomial(wanted, found):
    return -ops.mean(ops.sum(ops.log_softmax(found, axis=-1) * wanted, axis=-1))


@_add
def tastes():
    model = Tastes()
    model(keras.Input((12000,)))
    return Case(model, _multinomial, [((12000,), "float32")], ((12000,), "float32"))


@_add
def clicks_and_purchases():
    """Eight networks, mixed anew for each of two questions."""
    ids, numbers = keras.Input((20,), dtype="int32"), keras.Input((10,))
    x = layers.Flatten()(layers.Embedding(100000, 16)(ids))
    x = layers.Concatenate()([x, numbers])
    experts = [layers.Dense(128, "relu")(layers.Dense(256, "relu")(x)) for _ in range(8)]
    stacked = layers.Lambda(lambda all: ops.stack(all, axis=1))(experts)
    outs = []
    for name in ("click", "purchase"):
        gate = layers.Dense(8, activation="softmax")(x)
        y = layers.Flatten()(layers.Dot(axes=(1, 1))([layers.Reshape((8, 1))(gate), stacked]))
        y = layers.Dropout(0.2)(layers.Dense(64, activation="relu")(y))
        outs.append(layers.Dense(1, activation="sigmoid", dtype="float32", name=name)(y))
    wanted = [((1,), "float32"), ((1,), "float32")]
    return Case(keras.Model([ids, numbers], outs), ["binary_crossentropy"] * 2,
                [((20,), "int32"), ((10,), "float32")], wanted, {"loss_weights": [1.0, 2.0]})  # fmt: skip


class NextFilm(keras.Model):
    """Each place tells what comes next from one table, against one that was not chosen."""

    def __init__(self, items=20000, length=50, width=64):
        super().__init__()
        self.table = layers.Embedding(items, width)
        self.places = layers.Embedding(length, width)
        self.blocks = [Encoder(width, 2, width, 0.2) for _ in range(2)]
        self.norm = layers.LayerNormalization()

    def call(self, x, training=False):
        y = self.table(x) * 8.0 + self.places(ops.arange(x.shape[1]))
        for block in self.blocks:
            y = block(y, training=training, use_causal_mask=True)
        return self.norm(y)

    def train_step(self, data):
        (history, right, wrong), _ = data
        with tf.GradientTape() as tape:
            y = self(history, training=True)
            good = tf.reduce_sum(y * self.table(right), -1)
            bad = tf.reduce_sum(y * self.table(wrong), -1)
            mask = tf.cast(right > 0, good.dtype)
            each = tf.math.softplus(-good) + tf.math.softplus(bad)
            loss = tf.reduce_sum(each * mask) / tf.reduce_sum(mask)
        return _apply(self, tape, loss)


@_add
def next_film():
    model = NextFilm()
    model(keras.Input((50,), dtype="int32"))
    size = ((50,), "int32")
    return _stepped(model, size, size, size, y=((), "int32"))


# Acting, graphs


class Balanced(keras.Model):
    """Values by the network that acts and by one that follows it slowly."""

    def __init__(self, online, target):
        super().__init__()
        self.online, self.target = online, target
        target.trainable = False

    def call(self, x):
        return self.online(x)

    def train_step(self, data):
        (state, action, reward, following), done = data
        best = tf.argmax(self.online(following), axis=1)
        later = tf.reduce_sum(self.target(following) * tf.one_hot(best, 6), axis=1)
        wanted = reward + 0.99 * (1.0 - done) * later
        with tf.GradientTape() as tape:
            said = tf.reduce_sum(self.online(state) * tf.one_hot(action, 6), axis=1)
            loss = tf.reduce_mean(keras.losses.Huber(reduction=None)(wanted[:, None], said[:, None]))
        weights = self.online.trainable_variables
        self.optimizer.apply_gradients(zip(tape.gradient(loss, weights), weights))
        for slow, fast in zip(self.target.variables, self.online.variables):
            slow.assign(0.995 * slow + 0.005 * fast)
        return {"loss": loss}


@_add
def paddles_and_balls():
    def network():
        inputs = keras.Input((84, 84, 4))
        x = layers.Conv2D(32, 8, strides=4, activation="relu")(layers.Rescaling(1 / 255)(inputs))
        x = layers.Conv2D(64, 4, strides=2, activation="relu")(x)
        x = layers.Conv2D(64, 3, strides=1, activation="relu")(x)
        x = layers.Dense(512, activation="relu")(layers.Flatten()(x))
        return keras.Model(inputs, layers.Dense(6)(x))

    model = Balanced(network(), network())
    model.build((None, 84, 84, 4))
    size = ((84, 84, 4), "float32")
    return _stepped(model, size, ((), "int32"), ((), "float32"), size, y=((), "float32"))


class ClippedPolicy(keras.Model):
    """What was done becomes likelier, by no more than a fifth at once; what it was worth is learnt beside."""

    def train_step(self, data):
        (seen, done, chance, gain), worth = data
        with tf.GradientTape() as tape:
            logits, value = self(seen, training=True)
            logs = tf.nn.log_softmax(logits)
            log = tf.reduce_sum(logs * tf.one_hot(done, 8), axis=1)
            ratio = tf.exp(log - chance)
            clipped = tf.clip_by_value(ratio, 0.8, 1.2) * gain
            loss = -tf.reduce_mean(tf.minimum(ratio * gain, clipped))
            loss += 0.5 * tf.reduce_mean((worth - value[:, 0]) ** 2)
            loss += 0.01 * tf.reduce_mean(tf.reduce_sum(tf.exp(logs) * logs, axis=1))
        return _apply(self, tape, loss)


@_add
def clipped_policy():
    inputs = keras.Input((64,))
    x, y = inputs, inputs
    for _ in range(2):
        x = layers.Dense(256, activation="tanh")(x)
        y = layers.Dense(256, activation="tanh")(y)
    model = ClippedPolicy(inputs, [layers.Dense(8)(x), layers.Dense(1)(y)])
    one = ((), "float32")
    return _stepped(model, ((64,), "float32"), ((), "int32"), one, one, y=one)


class ArmMoved(keras.Model):
    """An actor whose moves a critic judges; both have slow copies."""

    def __init__(self, actor, critic, slow_actor, slow_critic):
        super().__init__()
        self.actor, self.critic = actor, critic
        self.slow_actor, self.slow_critic = slow_actor, slow_critic

    def train_step(self, data):
        (state, move, reward), following = data
        with tf.GradientTape() as tape:
            later = self.slow_critic([following, self.slow_actor(following)])
            wanted = reward[:, None] + 0.99 * later
            first = tf.reduce_mean(tf.square(wanted - self.critic([state, move])))
        weights = self.critic.trainable_variables
        self.optimizer.apply_gradients(zip(tape.gradient(first, weights), weights))
        with tf.GradientTape() as tape:
            second = -tf.reduce_mean(self.critic([state, self.actor(state)]))
        weights = self.actor.trainable_variables
        self.optimizer.apply_gradients(zip(tape.gradient(second, weights), weights))
        for slow, fast in ((self.slow_actor, self.actor), (self.slow_critic, self.critic)):
            for a, b in zip(slow.variables, fast.variables):
                a.assign(0.995 * a + 0.005 * b)
        return {"critic": first, "actor": second}


@_add
def arm_moved():
    def actor():
        x = inputs = keras.Input((24,))
        for width in (400, 300):
            x = layers.Dense(width, activation="relu")(x)
        return keras.Model(inputs, layers.Dense(6, activation="tanh")(x))

    def critic():
        state, move = keras.Input((24,)), keras.Input((6,))
        x = layers.Dense(32, activation="relu")(layers.Dense(16, activation="relu")(state))
        x = layers.Concatenate()([x, layers.Dense(32, activation="relu")(move)])
        for _ in range(2):
            x = layers.Dense(256, activation="relu")(x)
        return keras.Model([state, move], layers.Dense(1)(x))

    model = ArmMoved(actor(), critic(), actor(), critic())
    given = [((24,), "float32"), ((6,), "float32"), ((), "float32")]
    return _stepped(model, *given, y=((24,), "float32"))


class Enzymes(keras.Model):
    """Each atom adds up what its neighbours say, by edges in a list; atoms of a molecule are added up at the end."""

    def __init__(self, width=128, depth=4, graphs=128):
        super().__init__()
        self.graphs = graphs
        self.begin = layers.Dense(width)
        self.parts = [
            keras.Sequential([layers.Dense(width, "relu"), layers.Dense(width), layers.BatchNormalization()])
            for _ in range(depth)
        ]
        self.drop, self.out = layers.Dropout(0.3), layers.Dense(6, dtype="float32")

    def build(self, shape):
        width = self.begin.units
        self.begin.build((None, 18))
        for part in self.parts:
            part.build((None, width))
        self.out.build((None, width))

    def call(self, atoms, start, end, owner, training=False):
        x = self.begin(atoms)
        for part in self.parts:
            gathered = tf.math.unsorted_segment_sum(tf.gather(x, start), end, tf.shape(x)[0])
            x = tf.nn.relu(part(x + gathered, training=training))
        x = tf.math.unsorted_segment_sum(x, owner, self.graphs)
        return self.out(self.drop(x, training=training))

    def train_step(self, data):
        (atoms, start, end, owner), kinds = data
        with tf.GradientTape() as tape:
            found = self(atoms, start, end, owner, training=True)
            loss = tf.reduce_mean(tf.nn.sparse_softmax_cross_entropy_with_logits(kinds[:128], found))
        return _apply(self, tape, loss)


@_add
def enzymes():
    model = Enzymes()
    model.build(None)
    one = ((), "int32")
    return _stepped(model, ((18,), "float32"), one, one, one, y=one)
