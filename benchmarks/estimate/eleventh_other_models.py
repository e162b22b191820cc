"""The other half of the eleventh set: text, sound and measurements over time, tables, graphs, acting."""

import keras
import tensorflow as tf
from fourth_look_models import _attended, _yes_no
from keras import layers, ops
from models import Case, Positions, _add
from ninth_look_models import _apply, _stepped
from third_look_models import _bn, _classes, _labelled, _logits, _values

# Text


@_add
def sentiments_tuned():
    """A reader of six blocks with norms behind and a mask of what is filled up; its first place tells the class."""
    words, mask = keras.Input((128,), dtype="int32"), keras.Input((128,), dtype="int32")
    x = layers.Embedding(30522, 768)(words) + layers.Embedding(512, 768)(ops.arange(128))[None]
    x = layers.Dropout(0.1)(layers.LayerNormalization(epsilon=1e-12)(x))
    allowed = ops.cast(mask, "bool")[:, None, :]
    for _ in range(6):
        y = layers.MultiHeadAttention(12, 64, dropout=0.1)(x, x, attention_mask=allowed)
        x = layers.LayerNormalization(epsilon=1e-12)(x + layers.Dropout(0.1)(y))
        y = layers.Dense(768)(layers.Dense(3072, activation="gelu")(x))
        x = layers.LayerNormalization(epsilon=1e-12)(x + layers.Dropout(0.1)(y))
    x = layers.Dropout(0.2)(layers.Dense(768, activation="relu")(x[:, 0]))
    return _labelled(keras.Model([words, mask], layers.Dense(2, dtype="float32")(x)), (), _logits())


class Turned(layers.Layer):
    """Attention with turned queries and keys, fewer keys than queries, and what comes later left out."""

    def __init__(self, heads, shared):
        super().__init__()
        self.heads, self.shared = heads, shared

    def build(self, shape):
        width, side = shape[-1], shape[-1] // self.heads
        self.query = layers.Dense(width, use_bias=False)
        self.key = layers.Dense(self.shared * side, use_bias=False)
        self.value = layers.Dense(self.shared * side, use_bias=False)
        self.out = layers.Dense(width, use_bias=False)
        for layer in (self.query, self.key, self.value, self.out):
            layer.build(shape)
        self.side, self.count = side, shape[1]

    def turned(self, x):
        half = self.side // 2
        speeds = ops.exp(-9.21 * ops.arange(half, dtype="float32") / half)
        angles = ops.arange(self.count, dtype="float32")[:, None] * speeds[None]
        cosines, sines = ops.cast(ops.cos(angles), x.dtype), ops.cast(ops.sin(angles), x.dtype)
        cosines, sines = cosines[None, :, None], sines[None, :, None]
        a, b = x[..., :half], x[..., half:]
        return ops.concatenate([a * cosines - b * sines, a * sines + b * cosines], axis=-1)

    def call(self, x):
        count, side = self.count, self.side
        q = self.turned(ops.reshape(self.query(x), (-1, count, self.heads, side)))
        k = self.turned(ops.reshape(self.key(x), (-1, count, self.shared, side)))
        v = ops.reshape(self.value(x), (-1, count, self.shared, side))
        k = ops.repeat(k, self.heads // self.shared, axis=2)
        v = ops.repeat(v, self.heads // self.shared, axis=2)
        scores = ops.einsum("bqhd,bkhd->bhqk", q, k) / side**0.5
        later = ops.triu(ops.ones((count, count), dtype="bool"), 1)
        scores = ops.where(later, ops.cast(-1e4, scores.dtype), scores)
        weights = ops.cast(ops.softmax(ops.cast(scores, "float32")), x.dtype)
        mixed = ops.einsum("bhqk,bkhd->bqhd", weights, v)
        return self.out(ops.reshape(mixed, (-1, count, self.heads * side)))


@_add
def small_llama():
    """A decoder as they are written now: norms of roots, turned keys, gates, an output tied to nothing."""
    i = keras.Input((256,), dtype="int32")
    x = layers.Embedding(16000, 512)(i)
    for _ in range(6):
        x = x + Turned(8, 4)(layers.RMSNormalization()(x))
        y = layers.RMSNormalization()(x)
        gate = ops.silu(layers.Dense(1376, use_bias=False)(y))
        x = x + layers.Dense(512, use_bias=False)(gate * layers.Dense(1376, use_bias=False)(y))
    x = layers.Dense(16000, use_bias=False, dtype="float32")(layers.RMSNormalization()(x))
    return _labelled(keras.Model(i, x), (256,), _logits())


def _masked_words(wanted, found):
    said = keras.losses.SparseCategoricalCrossentropy(from_logits=True, reduction=None)
    mask = ops.cast(wanted != 0, "float32")
    return ops.sum(said(wanted, found) * mask) / ops.sum(mask)


def _right_words(wanted, found):
    right = ops.cast(
        ops.equal(ops.cast(wanted, "int64"), ops.cast(ops.argmax(found, axis=2), "int64")), "float32"
    )
    mask = ops.cast(wanted != 0, "float32")
    return ops.sum(right * mask) / ops.sum(mask)


@_add
def into_english():
    """Encoder and decoder of four blocks, words of zero left out, as the guide has it."""

    class Placed(layers.Layer):
        def __init__(self, words):
            super().__init__()
            self.table = layers.Embedding(words, 128, mask_zero=True)
            self.supports_masking = True

        def compute_mask(self, *given, **named):
            return self.table.compute_mask(*given, **named)

        def call(self, x):
            angles = ops.arange(x.shape[1], dtype="float32")[:, None] * ops.exp(
                -9.21 * ops.arange(64, dtype="float32")[None] / 64
            )
            places = ops.concatenate([ops.sin(angles), ops.cos(angles)], axis=-1)
            x = self.table(x)
            return x * 11.3137 + ops.cast(places, x.dtype)

    def attended(x, other, **options):
        y = layers.MultiHeadAttention(8, 128, dropout=0.1)(x, other, other, **options)
        return layers.LayerNormalization()(layers.Add()([x, y]))

    def fed(x):
        y = layers.Dropout(0.1)(layers.Dense(128)(layers.Dense(512, activation="relu")(x)))
        return layers.LayerNormalization()(layers.Add()([x, y]))

    given, said = keras.Input((64,), dtype="int64"), keras.Input((64,), dtype="int64")
    memory = layers.Dropout(0.1)(Placed(7765)(given))
    for _ in range(4):
        memory = fed(attended(memory, memory))
    x = layers.Dropout(0.1)(Placed(7010)(said))
    for _ in range(4):
        x = fed(attended(attended(x, x, use_causal_mask=True), memory))
    model = keras.Model([given, said], layers.Dense(7010, dtype="float32")(x))
    case = Case(model, _masked_words, [((64,), "int64"), ((64,), "int64")], ((64,), "int64"))
    case.options["metrics"] = [_right_words]
    return case


@_add
def told_by_attention():
    """Two recurrent layers read, one writes and attends to what was read; words of zero left out."""
    given, said = keras.Input((40,), dtype="int32"), keras.Input((30,), dtype="int32")
    x = layers.Embedding(12000, 256, mask_zero=True)(given)
    memory = layers.Bidirectional(layers.LSTM(256, return_sequences=True), merge_mode="sum")(x)
    memory, h, c = layers.LSTM(256, return_sequences=True, return_state=True)(memory)
    y = layers.Embedding(9000, 256, mask_zero=True)(said)
    y = layers.LSTM(256, return_sequences=True)(y, initial_state=[h, c])
    found = layers.AdditiveAttention()([y, memory])
    y = layers.Dense(256, activation="tanh")(layers.Concatenate()([y, found]))
    return _labelled(
        keras.Model(
            [given, said], layers.Dense(9000, activation="softmax", dtype="float32")(layers.Dropout(0.3)(y))
        ),
        (30,),
    )


@_add
def parts_of_speech():
    """A class for each word, what is filled up weighs nothing."""
    i = keras.Input((100,), dtype="int32")
    x = layers.SpatialDropout1D(0.2)(layers.Embedding(20000, 200, mask_zero=True)(i))
    for _ in range(2):
        x = layers.Bidirectional(layers.LSTM(128, return_sequences=True, dropout=0.2))(x)
    x = layers.TimeDistributed(layers.Dense(64, activation="relu"))(x)
    x = layers.TimeDistributed(layers.Dense(18, activation="softmax", dtype="float32"))(x)
    case = _labelled(keras.Model(i, x), (100,))
    return Case(case.model, case.loss, case.x, case.y, {}, ((100,), "float32"))


@_add
def which_tone():
    """A recurrent layer both ways and a weighed mean over its words."""

    class Weighed(layers.Layer):
        def __init__(self):
            super().__init__()
            self.first, self.second = layers.Dense(64, activation="tanh"), layers.Dense(1)

        def call(self, x):
            weights = ops.softmax(self.second(self.first(x)), axis=1)
            return ops.sum(weights * x, axis=1)

    i = keras.Input((200,), dtype="int32")
    x = layers.SpatialDropout1D(0.3)(layers.Embedding(25000, 128)(i))
    x = layers.Bidirectional(layers.GRU(64, return_sequences=True))(x)
    x = layers.Dense(64, activation="relu")(Weighed()(x))
    return _classes(i, layers.Dropout(0.5)(x), 6)


@_add
def same_question():
    """Two questions go through one recurrent layer; how far apart they end is the answer."""
    table, reader = layers.Embedding(20000, 300, trainable=False), layers.LSTM(64)
    one, two = keras.Input((30,), dtype="int32"), keras.Input((30,), dtype="int32")
    a, b = reader(table(one)), reader(table(two))
    x = ops.exp(-ops.sum(ops.abs(a - b), axis=1, keepdims=True))
    model = keras.Model([one, two], layers.Activation("linear", dtype="float32")(x))
    return _values(model)


class Sentences(keras.Model):
    """A sentence becomes a point with a spread, and is written again from there."""

    reader = writer = None

    def train_step(self, data):
        words, _ = data
        said = keras.losses.SparseCategoricalCrossentropy(from_logits=True, reduction="none")
        with tf.GradientTape() as tape:
            mean, log = self.reader(words, training=True)
            z = mean + tf.exp(0.5 * log) * tf.random.normal(tf.shape(mean))
            found = self.writer([words[:, :-1], z], training=True)
            written = tf.reduce_sum(said(words[:, 1:], found), axis=1)
            spread = -0.5 * tf.reduce_sum(1 + log - tf.square(mean) - tf.exp(log), axis=1)
            loss = tf.reduce_mean(written + 0.1 * spread)
        return _apply(self, tape, loss)


@_add
def sentences_as_points():
    i = keras.Input((32,), dtype="int32")
    x = layers.Bidirectional(layers.LSTM(128))(layers.Embedding(8000, 128)(i))
    reader = keras.Model(i, [layers.Dense(32)(x), layers.Dense(32)(x)])
    words, z = keras.Input((31,), dtype="int32"), keras.Input((32,))
    y = layers.Concatenate()([layers.Embedding(8000, 128)(words), layers.RepeatVector(31)(z)])
    y = layers.LSTM(256, return_sequences=True)(y, initial_state=[layers.Dense(256)(z), layers.Dense(256)(z)])
    writer = keras.Model([words, z], layers.Dense(8000)(y))
    model = Sentences(i, writer([i[:, :-1], reader(i)[0]]))
    model.reader, model.writer = reader, writer
    return _stepped(model, ((32,), "int32"), y=((), "int32"))


class Captioned(keras.Model):
    """Several captions of each picture in turn; the pictures' network stays as it is."""

    pictures = captions = None

    def train_step(self, data):
        pictures, words = data[0]
        said = keras.losses.SparseCategoricalCrossentropy(reduction="none", from_logits=True)
        seen = self.pictures(pictures, training=False)
        total = 0.0
        for place in range(2):
            with tf.GradientTape() as tape:
                found = self.captions([seen, words[:, place, :-1]], training=True)
                mask = tf.cast(words[:, place, 1:] != 0, tf.float32)
                loss = tf.reduce_sum(said(words[:, place, 1:], found) * mask) / tf.reduce_sum(mask)
            total += loss
            variables = self.captions.trainable_variables
            self.optimizer.apply_gradients(zip(tape.gradient(loss, variables), variables))
        return {"loss": total / 2}


@_add
def captions_in_turn():
    base = keras.applications.EfficientNetB0(include_top=False, weights=None, input_shape=(192, 192, 3))
    base.trainable = False
    pictures = keras.Model(base.input, layers.Reshape((36, 1280))(base.output))
    seen, words = keras.Input((36, 1280)), keras.Input((24,), dtype="int32")
    memory = layers.Dense(512, activation="relu")(layers.LayerNormalization()(seen))
    memory = layers.LayerNormalization()(memory + layers.MultiHeadAttention(1, 512)(memory, memory))
    x = Positions()(layers.Embedding(10000, 512)(words))
    for _ in range(2):
        x = layers.LayerNormalization()(x + layers.MultiHeadAttention(2, 512)(x, x, use_causal_mask=True))
        x = layers.LayerNormalization()(x + layers.MultiHeadAttention(2, 512)(x, memory))
        y = layers.Dense(512)(layers.Dropout(0.3)(layers.Dense(512, activation="relu")(x)))
        x = layers.Dropout(0.5)(layers.LayerNormalization()(x + y))
    captions = keras.Model([seen, words], layers.Dense(10000)(x))
    i, said = keras.Input((192, 192, 3)), keras.Input((2, 25), dtype="int32")
    model = Captioned([i, said], captions([pictures(i), said[:, 0, :-1]]))
    model.pictures, model.captions = pictures, captions
    model.pictures.trainable = False
    return _stepped(model, ((192, 192, 3), "float32"), ((2, 25), "int32"), y=((), "int32"))


# Over time


@_add
def widening_gaps():
    """Causal convolutions with gaps that double, two in each block, and a way round them."""
    i = x = keras.Input((600, 12))
    for rate in (1, 2, 4, 8, 16, 32):
        y = x
        for _ in range(2):
            y = layers.Conv1D(64, 3, padding="causal", dilation_rate=rate)(y)
            y = layers.SpatialDropout1D(0.1)(layers.ReLU()(layers.LayerNormalization()(y)))
        x = layers.ReLU()(layers.Add()([y, x if x.shape[-1] == 64 else layers.Conv1D(64, 1)(x)]))
    return _values(keras.Model(i, layers.Dense(1, dtype="float32")(x[:, -1])))


@_add
def pooled_at_rates():
    """Stacks see the past pooled at three rates, tell it again and what comes."""
    i = rest = keras.Input((336,))
    told = []
    for size, knots in ((16, 6), (8, 12), (1, 96)):
        for _ in range(2):
            x = layers.Flatten()(layers.MaxPooling1D(size)(layers.Reshape((336, 1))(rest)))
            for _ in range(3):
                x = layers.Dense(512, activation="relu")(x)
            back, front = layers.Dense(336 // size)(x), layers.Dense(knots)(x)
            rest = layers.Subtract()(
                [rest, ops.reshape(ops.repeat(back[..., None], size, axis=-1), (-1, 336))]
            )
            told.append(ops.reshape(ops.repeat(front[..., None], 96 // knots, axis=-1), (-1, 96)))
    return _values(keras.Model(i, layers.Activation("linear", dtype="float32")(layers.Add()(told))), "mae")


@_add
def pumps_as_usual():
    """Recurrent layers make a row small and write it again."""
    i = keras.Input((120, 24))
    x = layers.LSTM(64)(layers.LSTM(128, return_sequences=True)(i))
    x = layers.LSTM(64, return_sequences=True)(layers.RepeatVector(120)(x))
    x = layers.LSTM(128, return_sequences=True)(x)
    return _values(keras.Model(i, layers.TimeDistributed(layers.Dense(24, dtype="float32"))(x)), "mae")


@_add
def sales_of_weeks():
    """The past, and what is known of the weeks to come; one recurrent layer each."""
    past, known, shop = keras.Input((90, 8)), keras.Input((28, 5)), keras.Input((1,), dtype="int32")
    e = layers.Flatten()(layers.Embedding(500, 16)(shop))
    x = layers.Concatenate()([past, layers.RepeatVector(90)(e)])
    x = layers.GRU(128, return_sequences=True)(x)
    _, state = layers.GRU(128, return_sequences=True, return_state=True)(layers.Dropout(0.2)(x))
    y = layers.Concatenate()([known, layers.RepeatVector(28)(e)])
    y = layers.GRU(128, return_sequences=True)(y, initial_state=state)
    y = layers.TimeDistributed(layers.Dense(64, activation="relu"))(y)

    def loss(wanted, found):
        off = wanted - found
        parts = ops.convert_to_tensor([0.1, 0.5, 0.9])
        return ops.mean(ops.maximum(parts * off, (parts - 1) * off))

    model = keras.Model([past, known, shop], layers.Dense(3, dtype="float32")(y))
    return Case(
        model, loss, [((90, 8), "float32"), ((28, 5), "float32"), ((1,), "int32")], ((28, 1), "float32")
    )


@_add
def twelve_leads():
    """Residual convolutions in time with gates for channels; several findings at once."""
    i = keras.Input((2500, 12))
    x = layers.ReLU()(layers.BatchNormalization()(layers.Conv1D(64, 15, 2, "same", use_bias=False)(i)))
    x = layers.MaxPooling1D(3, 2, "same")(x)
    for width, step in ((64, 1), (64, 1), (128, 2), (128, 1), (256, 2), (256, 1)):
        y = layers.Conv1D(width, 7, step, "same", use_bias=False)(x)
        y = layers.Dropout(0.2)(layers.ReLU()(layers.BatchNormalization()(y)))
        y = layers.BatchNormalization()(layers.Conv1D(width, 7, padding="same", use_bias=False)(y))
        gate = layers.Dense(width // 8, activation="relu")(layers.GlobalAveragePooling1D()(y))
        y = layers.Multiply()(
            [y, layers.Reshape((1, width))(layers.Dense(width, activation="sigmoid")(gate))]
        )
        if x.shape != y.shape:
            x = layers.BatchNormalization()(layers.Conv1D(width, 1, step, use_bias=False)(x))
        x = layers.ReLU()(layers.Add()([x, y]))
    x = layers.Dropout(0.3)(layers.GlobalAveragePooling1D()(x))
    return _values(
        keras.Model(i, layers.Dense(71, activation="sigmoid", dtype="float32")(x)), "binary_crossentropy"
    )


# Sounds


@_add
def words_from_waves():
    """Spectra of waves within the network, small convolutions over them."""

    class Spectra(layers.Layer):
        def call(self, x):
            x = tf.abs(tf.signal.stft(tf.cast(x, tf.float32), 255, 128))
            return tf.math.log(x + 1e-6)[..., None]

    i = keras.Input((16000,))
    x = layers.Resizing(64, 64)(Spectra()(i))
    x = layers.BatchNormalization()(x)
    for width in (32, 64):
        x = layers.Conv2D(width, 3, activation="relu")(x)
    x = layers.Dropout(0.25)(layers.MaxPooling2D()(x))
    x = layers.Dropout(0.5)(layers.Dense(128, activation="relu")(layers.Flatten()(x)))
    return _labelled(keras.Model(i, layers.Dense(35, dtype="float32")(x)), (), _logits())


@_add
def speech_written():
    """Convolutions over spectra, recurrent layers both ways, a loss that needs no places."""
    i = keras.Input((300, 128))
    x = layers.Reshape((300, 128, 1))(i)
    x = layers.ReLU()(
        layers.BatchNormalization()(layers.Conv2D(32, (11, 41), (2, 2), "same", use_bias=False)(x))
    )
    x = layers.ReLU()(
        layers.BatchNormalization()(layers.Conv2D(32, (11, 21), (1, 2), "same", use_bias=False)(x))
    )
    x = layers.Reshape((150, 32 * 32))(x)
    for place in range(3):
        x = layers.Bidirectional(layers.GRU(256, return_sequences=True))(x)
        x = layers.Dropout(0.5)(x) if place < 2 else x
    x = layers.Dropout(0.5)(layers.Dense(512, activation="relu")(x))
    out = layers.Dense(32, activation="softmax", dtype="float32")(x)
    return Case(keras.Model(i, out), "ctc", [((300, 128), "float32")], ((40,), "int32"))


@_add
def speech_attended():
    """Strided convolutions and blocks of attention read sound, blocks with two attentions write letters."""
    sound, said = keras.Input((512, 129)), keras.Input((100,), dtype="int32")
    memory = sound
    for _ in range(3):
        memory = layers.Conv1D(200, 11, 2, "same", activation="relu")(memory)
    for _ in range(4):
        y = layers.Dropout(0.1)(layers.MultiHeadAttention(2, 200)(memory, memory))
        memory = layers.LayerNormalization(epsilon=1e-6)(memory + y)
        y = layers.Dropout(0.1)(layers.Dense(200)(layers.Dense(400, activation="relu")(memory)))
        memory = layers.LayerNormalization(epsilon=1e-6)(memory + y)
    x = Positions()(layers.Embedding(34, 200)(said))
    y = layers.MultiHeadAttention(2, 200)(x, x, use_causal_mask=True)
    x = layers.LayerNormalization(epsilon=1e-6)(x + layers.Dropout(0.5)(y))
    y = layers.MultiHeadAttention(2, 200)(x, memory)
    x = layers.LayerNormalization(epsilon=1e-6)(x + layers.Dropout(0.1)(y))
    y = layers.Dense(200)(layers.Dense(400, activation="relu")(x))
    x = layers.LayerNormalization(epsilon=1e-6)(x + layers.Dropout(0.1)(y))

    def loss(wanted, found):
        mask = ops.cast(wanted != 0, "float32")
        softened = ops.one_hot(wanted, 34) * 0.9 + 0.1 / 34
        return ops.sum(ops.categorical_crossentropy(softened, found, from_logits=True) * mask) / ops.sum(mask)

    model = keras.Model([sound, said], layers.Dense(34, dtype="float32")(x))
    return Case(model, loss, [((512, 129), "float32"), ((100,), "int32")], ((100,), "int32"))


@_add
def voice_from_mixture():
    """A U along time: halved by leaving out, enlarged along lines."""
    i = x = keras.Input((8192, 1))
    kept = []
    for width in (24, 48, 72, 96, 120):
        x = layers.LeakyReLU(0.2)(layers.Conv1D(width, 15, padding="same")(x))
        kept.append(x)
        x = x[:, ::2]
    x = layers.LeakyReLU(0.2)(layers.Conv1D(144, 15, padding="same")(x))
    for width, skip in zip((120, 96, 72, 48, 24), reversed(kept)):
        x = layers.Concatenate()([layers.UpSampling1D()(x), skip])
        x = layers.LeakyReLU(0.2)(layers.Conv1D(width, 5, padding="same")(x))
    x = layers.Conv1D(2, 1, activation="tanh", dtype="float32")(layers.Concatenate()([x, i]))
    return _values(keras.Model(i, x))


# Tables


@_add
def loans_repaid():
    """Numbers and classes, each class with vectors of its own; two layers with norms."""
    numbers = keras.Input((18,))
    counts = (7, 12, 51, 430, 4, 24, 3, 920)
    kinds = [keras.Input((1,), dtype="int32", name=f"kind_{place}") for place in range(len(counts))]
    parts = [layers.BatchNormalization()(numbers)]
    for count, kind in zip(counts, kinds):
        parts.append(layers.Flatten()(layers.Embedding(count, min(50, count // 2 + 1))(kind)))
    x = layers.Dropout(0.05)(layers.Concatenate()(parts))
    for width in (512, 256):
        x = layers.Dense(width, activation="relu", kernel_regularizer="l2")(x)
        x = layers.Dropout(0.3)(layers.BatchNormalization()(x))
    x = layers.Dense(1, activation="sigmoid", dtype="float32")(x)
    case = _values(keras.Model([numbers, *kinds], x), "binary_crossentropy")
    case.options["metrics"] = [
        "accuracy",
        keras.metrics.AUC(),
        keras.metrics.Precision(),
        keras.metrics.Recall(),
    ]
    return case


@_add
def clicked_or_not():
    """Twenty-six kinds in one table: sums of pairs beside a deep network."""
    kinds, numbers = keras.Input((26,), dtype="int32"), keras.Input((13,))
    places = kinds + ops.arange(26, dtype="int32") * 4000
    vectors = layers.Embedding(104000, 16)(places)
    linear = ops.sum(layers.Embedding(104000, 1)(places), axis=(1, 2)) + layers.Dense(1)(numbers)[:, 0]
    pairs = 0.5 * ops.sum(ops.square(ops.sum(vectors, axis=1)) - ops.sum(ops.square(vectors), axis=1), axis=1)
    x = layers.Concatenate()([layers.Flatten()(vectors), numbers])
    for width in (400, 400, 400):
        x = layers.Dropout(0.5)(layers.Dense(width, activation="relu")(x))
    x = layers.Dense(1)(x)[:, 0] + ops.cast(linear, x.dtype) + ops.cast(pairs, x.dtype)
    out = layers.Activation("sigmoid", dtype="float32")(x[:, None])
    return Case(keras.Model([kinds, numbers], out), "binary_crossentropy",
                [((26,), "int32"), ((13,), "float32")], ((1,), "float32"))  # fmt: skip


class Ranked(keras.Model):
    """What was taken next against what was not, after a recurrent layer over a session."""

    items = None

    def train_step(self, data):
        (session, taken, other), _ = data
        with tf.GradientTape() as tape:
            state = self(session, training=True)
            near = tf.reduce_sum(state * self.items(taken), axis=-1, keepdims=True)
            far = tf.einsum("bc,bnc->bn", state, self.items(other))
            loss = -tf.reduce_mean(tf.math.log_sigmoid(near - far))
            loss += 1e-5 * tf.nn.l2_loss(self.items.embeddings)
        return _apply(self, tape, loss)


@_add
def next_in_session():
    items = layers.Embedding(50000, 100, mask_zero=True)
    i = keras.Input((50,), dtype="int32")
    x = layers.Dense(100)(layers.Dropout(0.2)(layers.GRU(100)(items(i))))
    model = Ranked(i, x)
    model.items = items
    return _stepped(model, ((50,), "int32"), ((), "int32"), ((64,), "int32"), y=((), "int32"))


# Graphs


class Summed(layers.Layer):
    """Each node has its own and the sum of its neighbours', then two dense layers."""

    def __init__(self, width):
        super().__init__()
        self.first, self.second = (
            layers.Dense(width, activation="relu"),
            layers.Dense(width, activation="relu"),
        )
        self.norm = layers.BatchNormalization()

    def build(self, shape, *rest):
        self.share = self.add_weight(shape=(), initializer="zeros", name="share")

    def call(self, nodes, sources, targets):
        found = ops.segment_sum(ops.take(nodes, sources, axis=0), targets, num_segments=nodes.shape[0])
        return self.norm(self.second(self.first((1.0 + self.share) * nodes + found)))


class Compounds(keras.Model):
    """Many small graphs as one large: nodes, edges, and which graph a node is of."""

    def __init__(self):
        super().__init__()
        self.begin = layers.Dense(128)
        self.blocks = [Summed(128) for _ in range(4)]
        self.drop, self.end = layers.Dropout(0.3), layers.Dense(1)

    def call(self, given, training=False):
        nodes, sources, targets, graphs = given
        x = self.begin(nodes)
        found = []
        for block in self.blocks:
            x = block(x, sources, targets)
            found.append(ops.segment_sum(x, graphs, num_segments=64))
        return self.end(self.drop(ops.concatenate(found, axis=-1)))

    def train_step(self, data):
        nodes, edges, graphs, answers = data[0]
        with tf.GradientTape() as tape:
            said = self((nodes, edges[:, 0], edges[:, 1], graphs), training=True)
            wanted = ops.segment_max(answers, graphs, num_segments=64)
            loss = tf.reduce_mean(tf.nn.sigmoid_cross_entropy_with_logits(wanted, said[:, 0]))
        return _apply(self, tape, loss)


@_add
def compounds():
    model = Compounds()
    whole = tf.zeros((4,), tf.int32)
    model((tf.zeros((4, 64)), whole, whole, whole))
    return _stepped(
        model, ((64,), "float32"), ((2,), "int32"), ((), "int32"), ((), "float32"), y=((), "int32")
    )


class Heads(layers.Layer):
    """What neighbours say is weighed by a softmax over each node's edges, with several heads."""

    def __init__(self, heads, width, last=False):
        super().__init__()
        self.heads, self.width, self.last = heads, width, last
        self.dense = layers.Dense(heads * width, use_bias=False)

    def build(self, shape, *rest):
        self.ends = self.add_weight(shape=(2, self.heads, self.width), name="ends")

    def call(self, nodes, edges):
        count = nodes.shape[0]
        x = tf.reshape(self.dense(nodes), (count, self.heads, self.width))
        sources, targets = edges[:, 0], edges[:, 1]
        own, other = tf.reduce_sum(x * self.ends[0], -1), tf.reduce_sum(x * self.ends[1], -1)
        scores = tf.nn.leaky_relu(tf.gather(own, targets) + tf.gather(other, sources), 0.2)
        scores = tf.exp(tf.clip_by_value(scores, -2.0, 2.0))
        total = tf.math.unsorted_segment_sum(scores, targets, count)
        weights = scores / (tf.gather(total, targets) + 1e-9)
        found = tf.math.unsorted_segment_sum(tf.gather(x, sources) * weights[..., None], targets, count)
        return tf.reduce_mean(found, 1) if self.last else tf.nn.elu(tf.reshape(found, (count, -1)))


class Papers(keras.Model):
    def __init__(self):
        super().__init__()
        self.blocks = [Heads(8, 32), Heads(8, 32), Heads(1, 7, True)]
        self.drop = layers.Dropout(0.5)

    def call(self, given, training=False):
        x, edges = given
        for block in self.blocks:
            x = block(self.drop(x, training=training), edges)
        return x

    def train_step(self, data):
        (nodes, edges), kinds = data
        with tf.GradientTape() as tape:
            found = self((nodes, tf.reshape(edges, (-1, 2))), training=True)
            loss = _logits()(kinds, found)
        return _apply(self, tape, loss)


@_add
def papers():
    """The whole of a graph of a few thousand nodes is a batch; twelve edges for each."""
    model = Papers()
    model((tf.zeros((4, 500)), tf.zeros((8, 2), tf.int32)))
    return _stepped(model, ((500,), "float32"), ((12, 2), "int32"), y=((), "int32"))


# Acting


class Clipped(keras.Model):
    """How much likelier an act became is held near one; worth and spread beside it."""

    def train_step(self, data):
        (seen, acts, old, gains, returns), _ = data
        with tf.GradientTape() as tape:
            scores, worth = self(seen, training=True)
            log = tf.nn.log_softmax(scores)
            new = tf.reduce_sum(log * tf.one_hot(acts, scores.shape[-1]), axis=-1)
            ratio = tf.exp(new - old)
            gains = (gains - tf.reduce_mean(gains)) / (tf.math.reduce_std(gains) + 1e-8)
            held = tf.clip_by_value(ratio, 0.8, 1.2) * gains
            loss = -tf.reduce_mean(tf.minimum(ratio * gains, held))
            loss += 0.5 * tf.reduce_mean(tf.square(returns - worth[:, 0]))
            loss += 0.01 * tf.reduce_mean(tf.reduce_sum(tf.exp(log) * log, axis=-1))
        variables = self.trainable_variables
        gradients, _ = tf.clip_by_global_norm(tape.gradient(loss, variables), 0.5)
        self.optimizer.apply_gradients(zip(gradients, variables))
        return {"loss": loss}


@_add
def games_on_screens():
    i = keras.Input((84, 84, 4), dtype="uint8")
    x = layers.Rescaling(1 / 255)(i)
    for width, size, step in ((32, 8, 4), (64, 4, 2), (64, 3, 1)):
        x = layers.Conv2D(width, size, step, activation="relu")(x)
    x = layers.Dense(512, activation="relu")(layers.Flatten()(x))
    model = Clipped(i, [layers.Dense(6, dtype="float32")(x), layers.Dense(1, dtype="float32")(x)])
    one = ((), "float32")
    return _stepped(model, ((84, 84, 4), "uint8"), ((), "int32"), one, one, one, y=((), "int32"))


# With several optimizers


@_add
def reviews_read_again():
    """A small reader with the first place as its answer, for optimizers that keep little."""
    i = keras.Input((256,), dtype="int32")
    x = Positions()(layers.Embedding(20000, 256)(i))
    for _ in range(4):
        x = _attended(x, 4)
    return _yes_no(i, layers.Dropout(0.1)(layers.GlobalAveragePooling1D()(layers.LayerNormalization()(x))))


@_add
def roads_seen():
    """A residual network for pictures, for gradients that are gathered over several steps."""
    i = keras.Input((96, 96, 3))
    x = layers.MaxPooling2D(3, 2, "same")(_bn(i, 64, 7, strides=2))
    for width, depth in ((64, 2), (128, 2), (256, 2)):
        for place in range(depth):
            step = 2 if place == 0 and width > 64 else 1
            y = _bn(_bn(x, width, strides=step), width, activation=None)
            x = x if x.shape == y.shape else _bn(x, width, 1, None, strides=step)
            x = layers.ReLU()(layers.Add()([x, y]))
    return _classes(i, layers.GlobalAveragePooling2D()(x), 43)
