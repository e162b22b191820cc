"""The other half of the ninth set: text, sound, measurements over time, tables, graphs, worlds that are acted in."""

import keras
import tensorflow as tf
from keras import layers, ops
from models import Case, Positions, _add
from ninth_look_models import _apply, _stepped
from third_look_models import _classes, _labelled, _logits, _values

# Text


@_add
def rude_comments():
    """Two recurrent layers in both directions, the mean and the largest of what they say."""
    i = keras.Input((120,), dtype="int32")
    x = layers.SpatialDropout1D(0.3)(layers.Embedding(20000, 128)(i))
    x = layers.Bidirectional(layers.LSTM(96, return_sequences=True))(x)
    x = layers.Bidirectional(layers.GRU(64, return_sequences=True))(x)
    x = layers.concatenate([layers.GlobalAveragePooling1D()(x), layers.GlobalMaxPooling1D()(x)])
    x = layers.add([x, layers.Dense(256, activation="relu")(x)])
    return _values(keras.Model(i, layers.Dense(6, activation="sigmoid", dtype="float32")(x)),
                   "binary_crossentropy")  # fmt: skip


class Encoder(layers.Layer):
    """A block of a transformer as a tutorial has it: normalized after each part."""

    def __init__(self, width, heads, inner, rate=0.1):
        super().__init__()
        self.supports_masking = True
        self.attention = layers.MultiHeadAttention(heads, width // heads)
        self.inner = keras.Sequential([layers.Dense(inner, activation="relu"), layers.Dense(width)])
        self.norms = [layers.LayerNormalization(epsilon=1e-6) for _ in range(2)]
        self.drops = [layers.Dropout(rate) for _ in range(2)]

    def call(self, x, training=False):
        x = self.norms[0](x + self.drops[0](self.attention(x, x), training=training))
        return self.norms[1](x + self.drops[1](self.inner(x), training=training))


class Placed(Positions):
    """That hands on which words are padding."""

    def __init__(self):
        super().__init__()
        self.supports_masking = True


@_add
def tickets():
    """Padded texts; what is padding counts nowhere."""
    i = keras.Input((96,), dtype="int32")
    x = layers.Embedding(12000, 192, mask_zero=True)(i)
    x = Placed()(x)
    for _ in range(4):
        x = Encoder(192, 6, 512)(x)
    x = layers.GlobalAveragePooling1D()(x)
    x = layers.Dropout(0.1)(layers.Dense(64, activation="relu")(x))
    return _classes(i, x, 12)


class RootMean(layers.Layer):
    def build(self, shape):
        self.scale = self.add_weight(shape=(shape[-1],), initializer="ones", name="scale")

    def call(self, x):
        y = ops.cast(x, "float32")
        y = y * ops.rsqrt(ops.mean(ops.square(y), axis=-1, keepdims=True) + 1e-6)
        return ops.cast(y, x.dtype) * ops.cast(self.scale, x.dtype)


class Turning(layers.Layer):
    """Attention to what came before, with positions as angles."""

    def __init__(self, heads, width):
        super().__init__()
        self.heads, self.width = heads, width
        self.three = layers.Dense(3 * heads * width, use_bias=False)
        self.out = layers.Dense(heads * width, use_bias=False)

    def call(self, x):
        count = x.shape[1]
        parts = ops.reshape(self.three(x), (-1, count, 3, self.heads, self.width))
        q, k, v = (ops.transpose(parts[:, :, at], (0, 2, 1, 3)) for at in range(3))
        angles = ops.outer(ops.arange(count, dtype="float32"),
                           ops.power(10000.0, -ops.arange(0, self.width, 2, dtype="float32") / self.width))  # fmt: skip
        cos, sin = (
            ops.cast(ops.concatenate([one, one], -1), x.dtype) for one in (ops.cos(angles), ops.sin(angles))
        )
        half = self.width // 2
        q, k = (one * cos + ops.concatenate([-one[..., half:], one[..., :half]], -1) * sin for one in (q, k))
        scores = ops.cast(ops.matmul(q, ops.transpose(k, (0, 1, 3, 2))), "float32") / self.width**0.5
        before = ops.tril(ops.ones((count, count), dtype="bool"))
        share = ops.softmax(ops.where(before, scores, -1e9))
        y = ops.transpose(ops.matmul(ops.cast(share, v.dtype), v), (0, 2, 1, 3))
        return self.out(ops.reshape(y, (-1, count, self.heads * self.width)))


@_add
def stories_by_turns():
    i = keras.Input((256,), dtype="int32")
    x = layers.Embedding(8000, 320)(i)
    for _ in range(4):
        x = x + Turning(5, 64)(RootMean()(x))
        y = RootMean()(x)
        y = layers.Dense(864, use_bias=False, activation="silu")(y) * layers.Dense(864, use_bias=False)(y)
        x = x + layers.Dense(320, use_bias=False)(y)
    x = layers.Dense(8000, use_bias=False, dtype="float32")(RootMean()(x))
    return _labelled(keras.Model(i, x), (256,), _logits())


def _smoothed(true, found):
    """Labels that are nearly sure; what is padding does not count."""
    there = ops.cast(true > 0, "float32")
    true = 0.9 * ops.one_hot(true, found.shape[-1]) + 0.1 / found.shape[-1]
    entropy = -ops.sum(true * ops.log_softmax(found), axis=-1)
    return ops.sum(entropy * there) / (ops.sum(there) + 1.0)


@_add
def headlines():
    """From a text to its headline: an encoder, and a decoder that looks at it."""

    def attend(x, memory=None, **options):
        y = layers.LayerNormalization()(x)
        y = layers.MultiHeadAttention(4, 48, dropout=0.1)(y, y if memory is None else memory, **options)
        return layers.Add()([x, layers.Dropout(0.1)(y)])

    def further(x):
        y = layers.Dense(768, activation="relu")(layers.LayerNormalization()(x))
        return layers.Add()([x, layers.Dropout(0.1)(layers.Dense(192)(y))])

    text, title = keras.Input((160,), dtype="int32"), keras.Input((24,), dtype="int32")
    words = layers.Embedding(6000, 192)
    x, y = Positions()(words(text)), Positions()(words(title))
    for _ in range(3):
        x = further(attend(x))
    x = layers.LayerNormalization()(x)
    for _ in range(3):
        y = further(attend(attend(y, use_causal_mask=True), x))
    y = layers.Dense(6000, dtype="float32")(layers.LayerNormalization()(y))
    return _labelled(keras.Model([text, title], y), (24,), _smoothed)


@_add
def words_by_letters():
    """Convolutions over each word's letters, beside the word; tags by a recurrent layer."""
    words, letters = keras.Input((50,), dtype="int32"), keras.Input((50, 16), dtype="int32")
    x = layers.TimeDistributed(layers.Embedding(100, 32))(letters)
    x = layers.TimeDistributed(layers.Conv1D(48, 3, padding="same", activation="tanh"))(x)
    x = layers.TimeDistributed(layers.GlobalMaxPooling1D())(x)
    x = layers.Concatenate()([layers.Embedding(15000, 100)(words), x])
    x = layers.Bidirectional(layers.LSTM(100, return_sequences=True, recurrent_dropout=0.1))(
        layers.Dropout(0.5)(x)
    )
    x = layers.TimeDistributed(layers.Dense(17, activation="softmax", dtype="float32"))(x)
    return _labelled(keras.Model([words, letters], x), (50,))


@_add
def dates_rewritten():
    """A recurrent encoder and decoder with attention between them."""
    asked, given = keras.Input((40,), dtype="int32"), keras.Input((30,), dtype="int32")
    kept, state = layers.GRU(128, return_sequences=True, return_state=True)(layers.Embedding(500, 64)(asked))
    y = layers.GRU(128, return_sequences=True)(layers.Embedding(500, 64)(given), initial_state=state)
    y = layers.Concatenate()([y, layers.AdditiveAttention()([y, kept])])
    y = layers.Dense(128, activation="tanh")(y)
    y = layers.Dense(500, activation="softmax", dtype="float32")(y)
    return _labelled(keras.Model([asked, given], y), (30,))


@_add
def gates_of_convolutions():
    """A language model of convolutions that see only what came before, half of each a gate."""
    i = keras.Input((128,), dtype="int32")
    x = layers.Embedding(5000, 160)(i)
    for dilation in (1, 2, 4, 8):
        y = layers.Conv1D(320, 3, padding="causal", dilation_rate=dilation)(layers.Dropout(0.1)(x))
        left, right = ops.split(y, 2, axis=-1)
        x = (x + left * ops.sigmoid(right)) * 0.5**0.5
    x = layers.Dense(5000, dtype="float32")(layers.LayerNormalization()(x))
    return _labelled(keras.Model(i, x), (128,), _logits())


class Prompted(layers.Layer):
    """Vectors before the words, which alone are trained."""

    def build(self, shape):
        self.prompt = self.add_weight(shape=(1, 16, shape[-1]), name="prompt")

    def call(self, x):
        prompt = ops.broadcast_to(ops.cast(self.prompt, x.dtype), (ops.shape(x)[0], 16, x.shape[-1]))
        return ops.concatenate([prompt, x], axis=1)


@_add
def only_prompts():
    i = keras.Input((112,), dtype="int32")
    x = layers.Embedding(10000, 256, trainable=False)(i)
    x = Prompted()(x)
    for _ in range(4):
        block = Encoder(256, 4, 1024)
        block.trainable = False
        x = block(x)
    return _classes(i, x[:, 0], 3)


class Reader(keras.Model):
    """A small reader learns what a large one answers, and what is true."""

    teacher = None

    def train_step(self, data):
        x, y = data
        told = self.teacher(x, training=False)
        with tf.GradientTape() as tape:
            found = self(x, training=True)
            true = tf.nn.sparse_softmax_cross_entropy_with_logits(y, found)
            soft = tf.nn.softmax_cross_entropy_with_logits(tf.nn.softmax(told / 2.0), found / 2.0)
            loss = tf.reduce_mean(0.5 * true + 2.0 * soft)
        return _apply(self, tape, loss)


@_add
def small_reader():
    def network(count, width, heads):
        i = keras.Input((128,), dtype="int32")
        x = Positions()(layers.Embedding(8000, width)(i))
        for _ in range(count):
            x = Encoder(width, heads, 4 * width)(x)
        return i, layers.Dense(20, dtype="float32")(layers.Dense(width, activation="tanh")(x[:, 0]))

    teacher = keras.Model(*network(4, 320, 5))
    teacher.trainable = False
    model = Reader(*network(2, 160, 4))
    model.teacher = teacher
    return _stepped(model, ((128,), "int32"), y=((), "int32"))


# Sound, and what is measured over time


@_add
def few_words():
    """Commands from their spectra, by depthwise convolutions."""
    i = keras.Input((49, 40, 1))
    x = layers.Conv2D(64, (10, 4), (2, 2), "same", use_bias=False)(i)
    x = layers.ReLU()(layers.BatchNormalization()(x))
    for _ in range(4):
        x = layers.ReLU()(
            layers.BatchNormalization()(layers.DepthwiseConv2D(3, padding="same", use_bias=False)(x))
        )
        x = layers.ReLU()(layers.BatchNormalization()(layers.Conv2D(64, 1, use_bias=False)(x)))
    return _classes(i, layers.GlobalAveragePooling2D()(layers.Dropout(0.4)(x)), 35)


@_add
def real_or_made():
    """Speech that somebody said, or a machine: of each pair of maps the larger counts."""

    def larger(x, width, side):
        x = layers.Conv2D(2 * width, side, padding="same")(x)
        return layers.Maximum()([x[..., :width], x[..., width:]])

    i = keras.Input((200, 60, 1))
    x = layers.MaxPooling2D()(larger(i, 32, 5))
    for width in (48, 64):
        x = layers.BatchNormalization()(larger(x, x.shape[-1], 1))
        x = layers.MaxPooling2D()(larger(x, width, 3))
    x = layers.Reshape((25, -1))(x[:, :, :7])
    x = layers.Bidirectional(layers.LSTM(80, return_sequences=True))(x)
    x = layers.GlobalAveragePooling1D()(layers.Dropout(0.3)(x))
    return _values(keras.Model(i, layers.Dense(1, activation="sigmoid", dtype="float32")(x)),
                   "binary_crossentropy")  # fmt: skip


@_add
def voices():
    """From spectra to waves: transposed convolutions, and dilated ones in between."""
    i = keras.Input((64, 80))
    x = layers.Conv1D(192, 7, padding="same")(i)
    for step, width in ((8, 96), (8, 48), (4, 24)):
        x = layers.Conv1DTranspose(width, 2 * step, step, "same")(layers.LeakyReLU(negative_slope=0.1)(x))
        found = []
        for side in (3, 7):
            y = x
            for dilation in (1, 3):
                z = layers.LeakyReLU(negative_slope=0.1)(y)
                z = layers.Conv1D(width, side, padding="same", dilation_rate=dilation)(z)
                y = y + layers.Conv1D(width, side, padding="same")(layers.LeakyReLU(negative_slope=0.1)(z))
            found.append(y)
        x = (found[0] + found[1]) / 2
    x = layers.Conv1D(1, 7, padding="same", activation="tanh", dtype="float32")(layers.LeakyReLU()(x))
    return _values(keras.Model(i, x), "mae")


@_add
def load_tomorrow():
    """Causal convolutions, further and further apart, with layer normalization and weights for dropout."""
    i = keras.Input((336, 24))
    x = layers.Conv1D(64, 1)(i)
    for dilation in (1, 2, 4, 8, 16, 32):
        y = x
        for _ in range(2):
            y = layers.Conv1D(64, 3, padding="causal", dilation_rate=dilation)(y)
            y = layers.SpatialDropout1D(0.1)(layers.Activation("relu")(layers.LayerNormalization()(y)))
        x = layers.Activation("relu")(layers.add([x, y]))
    x = layers.Dense(24, dtype="float32")(layers.Lambda(lambda z: z[:, -1])(x))
    return _values(keras.Model(i, x))


@_add
def sensors_again():
    """What does not come out as it went in is unusual: a recurrent way in, repeated, and out."""
    i = keras.Input((100, 12))
    x = layers.LSTM(128, return_sequences=True)(i)
    x = layers.RepeatVector(100)(layers.LSTM(64)(x))
    x = layers.LSTM(128, return_sequences=True)(layers.LSTM(64, return_sequences=True)(x))
    return _values(keras.Model(i, layers.TimeDistributed(layers.Dense(12, dtype="float32"))(x)), "mae")


@_add
def steps_and_stairs():
    """Two widths of convolutions beside one another, then a recurrent layer."""
    i = keras.Input((128, 9))
    parts = []
    for side in (3, 11):
        x = layers.Conv1D(64, side, padding="same", activation="relu")(i)
        x = layers.BatchNormalization()(layers.Conv1D(64, side, padding="same", activation="relu")(x))
        parts.append(layers.MaxPooling1D()(layers.Dropout(0.4)(x)))
    x = layers.LSTM(100)(layers.Concatenate()(parts))
    return _classes(i, layers.Dense(100, activation="relu")(layers.Dropout(0.4)(x)), 6)


# Tables


def _rare(true, found):
    """What is sure counts little; what is rare counts more."""
    found = ops.clip(found, 1e-7, 1.0 - 1e-7)
    right = ops.where(true > 0.5, found, 1.0 - found)
    weight = ops.where(true > 0.5, 0.75, 0.25)
    return -ops.mean(weight * ops.square(1.0 - right) * ops.log(right), axis=-1)


@_add
def fraud():
    i = keras.Input((60,))
    x = layers.BatchNormalization()(i)
    for width in (512, 256, 256, 128):
        x = layers.Dense(width, use_bias=False)(x)
        x = layers.Dropout(0.3)(layers.Activation("swish")(layers.BatchNormalization()(x)))
    return _values(keras.Model(i, layers.Dense(1, activation="sigmoid", dtype="float32")(x)), _rare)


@_add
def houses():
    """A table for each category, numbers beside them."""
    numbers, kinds, parts = keras.Input((30,)), [], []
    for count, width in ((50, 16), (400, 24), (7, 4), (3000, 50), (90, 20), (24, 12)):
        kinds.append(keras.Input((1,), dtype="int32"))
        parts.append(layers.Flatten()(layers.Embedding(count, width)(kinds[-1])))
    x = layers.Concatenate()([layers.LayerNormalization()(numbers), *parts])
    for width in (400, 200, 100):
        x = layers.Dropout(0.1)(layers.Dense(width, activation="gelu")(x))
    return _values(keras.Model([numbers, *kinds], layers.Dense(1, dtype="float32")(x)), "huber")


@_add
def clicks_by_dots():
    """Vectors of categories, of which all pairs are multiplied, beside numbers that went through layers."""
    numbers, kinds = keras.Input((13,)), keras.Input((20,), dtype="int32")
    x = numbers
    for width in (256, 128, 32):
        x = layers.Dense(width, activation="relu")(x)
    vectors = layers.Embedding(20 * 2000, 32)(kinds)
    vectors = ops.concatenate([x[:, None], vectors], axis=1)
    pairs = ops.matmul(vectors, ops.transpose(vectors, (0, 2, 1)))
    places = [21 * a + b for a in range(21) for b in range(a)]
    pairs = ops.take(ops.reshape(pairs, (-1, 21 * 21)), ops.convert_to_tensor(places), axis=1)
    x = ops.concatenate([x, pairs], axis=1)
    for width in (512, 256):
        x = layers.Dense(width, activation="relu")(x)
    return _values(keras.Model([numbers, kinds], layers.Dense(1, activation="sigmoid", dtype="float32")(x)),
                   "binary_crossentropy")  # fmt: skip


@_add
def seen_clicked_bought():
    """What is bought must have been clicked: two towers over the same vectors, one times the other."""
    i = keras.Input((24,), dtype="int32")
    x = layers.Flatten()(layers.Embedding(50000, 18)(i))
    found = []
    for _ in range(2):
        y = x
        for width in (360, 200, 80):
            y = layers.PReLU()(layers.BatchNormalization()(layers.Dense(width)(y)))
        found.append(layers.Dense(1, activation="sigmoid", dtype="float32")(y))
    model = keras.Model(i, [found[0], layers.Multiply(dtype="float32")(found)])
    one = ((1,), "float32")
    return Case(model, ["binary_crossentropy"] * 2, [((24,), "int32")], [one, one])


class Swapped(keras.Model):
    """Some values are those of other rows; what they were is to be found, and which they are."""

    def train_step(self, data):
        x, _ = data
        mask = tf.cast(tf.random.uniform(tf.shape(x)) < 0.2, tf.float32)
        changed = mask * tf.reverse(x, [0]) + (1.0 - mask) * x
        with tf.GradientTape() as tape:
            values, which = self(changed, training=True)
            loss = tf.reduce_mean(tf.square(values - x))
            loss += 0.5 * tf.reduce_mean(tf.nn.sigmoid_cross_entropy_with_logits(mask, which))
        return _apply(self, tape, loss)


@_add
def swapped_columns():
    i = x = keras.Input((220,))
    for _ in range(3):
        x = layers.Dense(600, activation="relu")(x)
    model = Swapped(i, [layers.Dense(220, dtype="float32")(x), layers.Dense(220, dtype="float32")(x)])
    return _stepped(model, ((220,), "float32"), y=((), "float32"))


@_add
def adverts():
    """A picture, its text and some numbers: three ways that meet late."""
    picture, text, table = keras.Input((96, 96, 3)), keras.Input((40,), dtype="int32"), keras.Input((25,))
    x = picture
    for width in (32, 64, 96):
        x = layers.MaxPooling2D()(layers.Conv2D(width, 3, activation="relu")(x))
    x = layers.Dense(128, activation="relu")(layers.GlobalAveragePooling2D()(x))
    y = layers.GRU(64)(layers.Embedding(9000, 64)(text))
    z = layers.BatchNormalization()(layers.Dense(64, activation="relu")(table))
    x = layers.Dropout(0.3)(layers.Dense(128, activation="relu")(layers.Concatenate()([x, y, z])))
    return _values(keras.Model([picture, text, table], layers.Dense(1, dtype="float32")(x)))


# Graphs


class Messages(layers.Layer):
    """Along each edge a matrix of its own, made from what the edge is; a gated cell takes what arrives."""

    def __init__(self, width, rounds):
        super().__init__()
        self.width, self.rounds = width, rounds
        self.edge = keras.Sequential([layers.Dense(64, activation="relu"), layers.Dense(width * width)])
        self.cell = layers.GRUCell(width)

    def call(self, inputs):
        nodes, edges, near = inputs
        count, width = nodes.shape[1], self.width
        matrices = ops.reshape(self.edge(edges), (-1, count, 6, width, width))
        for _ in range(self.rounds):
            around = tf.gather(nodes, near, batch_dims=1)
            told = ops.sum(ops.matmul(matrices, around[..., None])[..., 0], axis=2)
            flat = ops.reshape(nodes, (-1, width))
            new, _ = self.cell(ops.reshape(told, (-1, width)), [flat])
            nodes = ops.reshape(new, (-1, count, width))
        return nodes

    def compute_output_shape(self, shapes):
        return shapes[0]


@_add
def matrices_of_edges():
    atoms, bonds, near = keras.Input((24, 20)), keras.Input((24, 6, 8)), keras.Input((24, 6), dtype="int32")
    x = Messages(32, 3)([layers.Dense(32)(atoms), bonds, near])
    x = layers.Concatenate()([x, atoms])
    x = layers.Dense(64)(x) * layers.Dense(64, activation="sigmoid")(x)
    x = layers.Dense(128, activation="relu")(ops.sum(x, axis=1))
    return _values(keras.Model([atoms, bonds, near], layers.Dense(12, dtype="float32")(x)))


class Turned(keras.Model):
    """A relation turns one thing into another in the complex plane; things that are drawn are pushed away."""

    def train_step(self, data):
        facts, _ = data
        drawn = tf.random.uniform((facts.shape[0], 32), 0, 20000, tf.int32)
        with tf.GradientTape() as tape:
            near, far = self([facts, drawn], training=True)
            weight = tf.stop_gradient(tf.nn.softmax(far))
            loss = -tf.reduce_mean(tf.math.log_sigmoid(near))
            loss -= tf.reduce_mean(tf.reduce_sum(weight * tf.math.log_sigmoid(-far), axis=1))
        return _apply(self, tape, loss)


@_add
def facts_as_turns():
    facts, drawn = keras.Input((3,), dtype="int32"), keras.Input((32,), dtype="int32")
    things, ways = layers.Embedding(20000, 128), layers.Embedding(200, 64)
    head, angle, tail = things(facts[:, 0]), ways(facts[:, 1]), things(facts[:, 2])
    a, b = ops.split(head, 2, axis=-1)
    cos, sin = ops.cos(angle), ops.sin(angle)
    turned = ops.concatenate([a * cos - b * sin, a * sin + b * cos], axis=-1)
    near = 9.0 - ops.sum(ops.abs(turned - tail), axis=-1)
    far = 9.0 - ops.sum(ops.abs(turned[:, None] - things(drawn)), axis=-1)
    return _stepped(Turned([facts, drawn], [near, far]), ((3,), "int32"), y=((), "int32"))


class Joined(layers.Layer):
    """Joints tell their neighbours, in three ways of being near that are learned beside the given one."""

    def __init__(self, width):
        super().__init__()
        self.width, self.dense = width, layers.Dense(3 * width)

    def build(self, shape):
        self.near = self.add_weight(shape=(3, shape[2], shape[2]), name="near")
        self.dense.build(shape)

    def call(self, x):
        y = ops.reshape(self.dense(x), (-1, x.shape[1], x.shape[2], 3, self.width))
        return ops.einsum("btvkc,kvw->btwc", y, ops.cast(self.near, x.dtype))

    def compute_output_shape(self, shape):
        return (*shape[:-1], self.width)


@_add
def skeletons():
    i = keras.Input((64, 25, 3))
    x = layers.BatchNormalization()(i)
    for width, step in ((48, 1), (48, 1), (96, 2), (96, 1)):
        y = layers.ReLU()(layers.BatchNormalization()(Joined(width)(x)))
        y = layers.BatchNormalization()(layers.Conv2D(width, (9, 1), (step, 1), "same")(y))
        y = layers.Dropout(0.2)(y)
        if x.shape != y.shape:
            x = layers.BatchNormalization()(layers.Conv2D(width, 1, (step, 1))(x))
        x = layers.ReLU()(layers.Add()([x, y]))
    return _classes(i, layers.GlobalAveragePooling2D()(x), 60)


# Worlds, and networks that make networks


class World(keras.Model):
    """What is seen step by step goes into a state; what the state alone expects should be near it."""

    def __init__(self):
        super().__init__()
        self.see = keras.Sequential(
            [layers.Dense(256, activation="elu"), layers.Dense(256, activation="elu")]
        )
        self.cell = layers.GRUCell(200)
        self.after, self.before = layers.Dense(60), layers.Dense(60)
        self.show = keras.Sequential([layers.Dense(256, activation="elu"), layers.Dense(64)])
        self.reward = keras.Sequential([layers.Dense(128, activation="elu"), layers.Dense(1)])

    def call(self, inputs, training=False):
        seen, acted = inputs
        known = self.see(seen)
        state, drawn = tf.zeros((seen.shape[0], 200)), tf.zeros((seen.shape[0], 30))
        states, apart = [], 0.0
        for step in range(seen.shape[1]):
            state, _ = self.cell(tf.concat([drawn, acted[:, step]], -1), [state])
            mean, spread = tf.split(self.before(state), 2, -1)
            sure, width = tf.split(self.after(tf.concat([state, known[:, step]], -1)), 2, -1)
            spread, width = tf.nn.softplus(spread) + 0.1, tf.nn.softplus(width) + 0.1
            drawn = sure + width * tf.random.normal(tf.shape(width))
            both = tf.math.log(spread / width) + (width**2 + (sure - mean) ** 2) / (2.0 * spread**2)
            apart += tf.reduce_mean(tf.reduce_sum(both, -1))
            states.append(tf.concat([state, drawn], -1))
        states = tf.stack(states, 1)
        return self.show(states), self.reward(states), apart

    def train_step(self, data):
        (seen, acted), rewards = data
        with tf.GradientTape() as tape:
            shown, guessed, apart = self([seen, acted], training=True)
            loss = tf.reduce_mean(tf.reduce_sum(tf.square(shown - seen), -1))
            loss += tf.reduce_mean(tf.square(guessed[..., 0] - rewards)) + apart / seen.shape[1]
        return _apply(self, tape, loss)


@_add
def imagined_world():
    model = World()
    model([tf.zeros((2, 2, 64)), tf.zeros((2, 2, 6))])
    return _stepped(model, ((20, 64), "float32"), ((20, 6), "float32"), y=((20,), "float32"))


@_add
def networks_of_a_network():
    """Each sample gets the weights of a small network of its own, which is asked at many places."""
    i, places = keras.Input((64,)), keras.Input((128, 2))
    x = layers.Dense(256, activation="relu")(layers.Dense(256, activation="relu")(i))
    y, given = places, 2
    for width in (32, 32, 1):
        weights = layers.Reshape((given, width))(layers.Dense(given * width)(x))
        bias = layers.Reshape((1, width))(layers.Dense(width)(x))
        y = ops.matmul(y, weights) + bias
        y = ops.sin(y) if width > 1 else y
        given = width
    return _values(keras.Model([i, places], layers.Activation("linear", dtype="float32")(y)))
