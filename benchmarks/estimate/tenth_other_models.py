"""The other half of the tenth set: text, sound and measurements over time, tables, graphs, acting, sciences."""

import keras
import tensorflow as tf
from fourth_look_models import _attended, _yes_no
from keras import layers, ops
from models import Case, Positions, _add
from ninth_look_models import _apply, _stepped
from third_look_models import _classes, _labelled, _logits, _values

# Text


class Copying(layers.Layer):
    """What comes next is drawn from the words that are known, or copied from what is read."""

    def __init__(self, words):
        super().__init__(dtype="float32")
        self.words, self.dense, self.gate = words, layers.Dense(words), layers.Dense(1, activation="sigmoid")

    def call(self, state, memory, given):
        scores = ops.matmul(state, ops.swapaxes(memory, 1, 2)) / memory.shape[-1] ** 0.5
        weights = ops.softmax(scores)
        state = ops.concatenate([state, ops.matmul(weights, memory)], axis=-1)
        copied = ops.matmul(weights, ops.one_hot(given, self.words))
        gate = self.gate(state)
        return ops.log(gate * ops.softmax(self.dense(state)) + (1 - gate) * copied + 1e-9)

    def compute_output_shape(self, state_shape, memory_shape, given_shape):
        return (*state_shape[:-1], self.words)


@_add
def words_that_are_copied():
    given, said = keras.Input((60,), dtype="int32"), keras.Input((20,), dtype="int32")
    table = layers.Embedding(4000, 128)
    memory, state = layers.GRU(192, return_sequences=True, return_state=True)(table(given))
    x = layers.GRU(192, return_sequences=True)(table(said), initial_state=state)
    out = Copying(4000)(x, memory, given)
    model = keras.Model([given, said], out)
    return Case(model, _logits(), [((60,), "int32"), ((20,), "int32")], ((20,), "int32"))


class Preferred(keras.Model):
    """Of two answers one was liked better; how much more likely it became than for a copy that stays."""

    old = None

    def train_step(self, data):
        texts, _ = data

        def likely(model, text):
            said = tf.nn.log_softmax(tf.cast(model(text[:, :-1], training=True), tf.float32))
            return tf.reduce_sum(tf.gather(said, text[:, 1:], batch_dims=2), axis=-1)

        good, bad = texts[:, 0], texts[:, 1]
        before = tf.stop_gradient(likely(self.old, good) - likely(self.old, bad))
        with tf.GradientTape() as tape:
            now = likely(self, good) - likely(self, bad)
            loss = -tf.reduce_mean(tf.math.log_sigmoid(0.1 * (now - before)))
        return _apply(self, tape, loss)


@_add
def liked_better():
    def network():
        i = keras.Input((95,), dtype="int32")
        x = Positions()(layers.Embedding(6000, 192)(i))
        for _ in range(3):
            x = _attended(x, 6, use_causal_mask=True)
        return i, layers.Dense(6000)(layers.LayerNormalization()(x))

    model = Preferred(*network())
    model.old = keras.Model(*network())
    model.old.trainable = False
    return _stepped(model, ((2, 96), "int32"), y=((), "int32"))


class Rated(keras.Model):
    """One number for a text; the better of two should have the larger."""

    def train_step(self, data):
        texts, _ = data
        count = texts.shape[0]
        with tf.GradientTape() as tape:
            worth = self(tf.reshape(texts, (2 * count, 128)), training=True)
            good, bad = tf.unstack(tf.reshape(worth, (count, 2)), axis=1)
            loss = -tf.reduce_mean(tf.math.log_sigmoid(good - bad))
        return _apply(self, tape, loss)


@_add
def answers_rated():
    i = keras.Input((128,), dtype="int32")
    x = Positions()(layers.Embedding(10000, 256)(i))
    for _ in range(4):
        x = _attended(x, 8, use_causal_mask=True)
    x = layers.Dense(1, dtype="float32")(layers.LayerNormalization()(x)[:, -1])
    return _stepped(Rated(i, x), ((2, 128), "int32"), y=((), "int32"))


@_add
def each_word_finds_its_like():
    """Questions and texts stay words; each of the question finds the nearest of every text of the batch."""
    asked, text = keras.Input((16,), dtype="int32"), keras.Input((64,), dtype="int32")
    table, mix = layers.Embedding(15000, 192), layers.Dense(96)

    def read(words):
        x = _attended(table(words), 4)
        return ops.normalize(mix(x), axis=-1)

    near = ops.einsum("aqc,btc->abqt", read(asked), read(text))
    scores = ops.sum(ops.max(near, axis=-1), axis=-1)
    model = keras.Model([asked, text], layers.Activation("linear", dtype="float32")(scores * 5.0))
    return Case(model, _logits(), [((16,), "int32"), ((64,), "int32")], ((), "int32"))


@_add
def subwords_in_bags():
    """A word is the sum of its pieces' vectors, a text the weighed mean of its words."""
    i, weight = keras.Input((40, 12), dtype="int32"), keras.Input((40, 1))
    x = ops.sum(layers.Embedding(50000, 64)(i), axis=2)
    x = ops.sum(x * weight, axis=1) / (ops.sum(weight, axis=1) + 1e-6)
    return _labelled(keras.Model([i, weight], layers.Dense(90, activation="softmax", dtype="float32")(x)))


@_add
def same_block_again():
    """One block, six times, told each time how often."""
    i = keras.Input((100,), dtype="int32")
    x = Positions()(layers.Embedding(8000, 256)(i))
    attention, dense = layers.MultiHeadAttention(8, 32), layers.Dense(1024, activation="relu")
    back, norms = layers.Dense(256), [layers.LayerNormalization() for _ in range(2)]
    turns = layers.Embedding(6, 256)
    for turn in range(6):
        x = x + turns(ops.full((1, 1), turn, dtype="int32"))
        x = norms[0](x + attention(x, x))
        x = norms[1](x + back(dense(x)))
    return _labelled(keras.Model(i, layers.Dense(40, activation="softmax", dtype="float32")(x)), (100,))


@_add
def shorter_at_each_stage():
    """Half as many words after each stage: queries are pooled, and see all of what was there."""
    i = keras.Input((256,), dtype="int32")
    x = Positions()(layers.Embedding(10000, 192)(i))
    for stage in range(3):
        for _ in range(2):
            x = _attended(x, 6)
        if stage < 2:
            y = layers.LayerNormalization()(x)
            asked = layers.AveragePooling1D(2)(y)
            x = layers.AveragePooling1D(2)(x) + layers.MultiHeadAttention(6, 32)(asked, y)
    return _classes(i, layers.Dense(192, activation="tanh")(x[:, 0]), 14)


@_add
def labels_under_labels():
    """A text's field, and within it what it is about: what the second is depends on the first."""
    i = keras.Input((150,), dtype="int32")
    x = layers.Embedding(20000, 100)(i)
    x = layers.Concatenate()(
        [layers.GlobalMaxPooling1D()(layers.Conv1D(128, size, activation="relu")(x)) for size in (2, 3, 5)]
    )
    x = layers.Dropout(0.5)(x)
    first = layers.Dense(9, activation="softmax", dtype="float32")(layers.Dense(64, activation="relu")(x))
    second = layers.Concatenate()([x, first])
    second = layers.Dense(70, activation="softmax", dtype="float32")(
        layers.Dense(128, activation="relu")(second)
    )
    return Case(keras.Model(i, [first, second]), ["sparse_categorical_crossentropy"] * 2, [((150,), "int32")],
                [((), "int32"), ((), "int32")])  # fmt: skip


# Over time


@_add
def trend_and_rest():
    """A moving mean and what is left of it, each forecast by one layer for each series."""
    i = keras.Input((336, 21))
    before, after = ops.repeat(i[:, :1], 12, axis=1), ops.repeat(i[:, -1:], 12, axis=1)
    trend = layers.AveragePooling1D(25, 1)(ops.concatenate([before, i, after], axis=1))
    rest = i - trend
    out = 0
    for part in (trend, rest):
        out = out + layers.EinsumDense("btc,cth->bch", (21, 96), bias_axes="ch")(part)
    return _values(
        keras.Model(i, layers.Activation("linear", dtype="float32")(ops.transpose(out, (0, 2, 1))))
    )


@_add
def at_several_rates():
    """Each stack sees the series pooled more coarsely, and forecasts as many points, which are interpolated."""
    i = rest = keras.Input((480,))
    total = 0
    for pool, count in ((8, 12), (4, 24), (1, 48)):
        x = layers.Reshape((480, 1))(rest)
        x = layers.Flatten()(layers.MaxPooling1D(pool)(x))
        for _ in range(2):
            x = layers.Dense(512, activation="relu")(x)
        back, knots = layers.Dense(480)(x), layers.Dense(count)(x)
        ahead = ops.repeat(knots, 96 // count, axis=1)
        rest, total = rest - back, total + ahead
    return _values(keras.Model(i, layers.Activation("linear", dtype="float32")(total)), "mae")


@_add
def beats_marked():
    """Where in a heart's signal the waves are: a U along time."""
    i = x = keras.Input((2048, 2))
    kept = []
    for width in (16, 32, 64, 128):
        for _ in range(2):
            x = layers.ReLU()(layers.BatchNormalization()(layers.Conv1D(width, 9, padding="same")(x)))
        kept.append(x)
        x = layers.MaxPooling1D()(x)
    x = layers.Bidirectional(layers.LSTM(64, return_sequences=True))(x)
    for width, there in zip((128, 64, 32, 16), reversed(kept)):
        x = layers.Concatenate()([layers.Conv1DTranspose(width, 8, 2, "same")(x), there])
        x = layers.ReLU()(layers.BatchNormalization()(layers.Conv1D(width, 9, padding="same")(x)))
    return _labelled(keras.Model(i, layers.Dense(4, activation="softmax", dtype="float32")(x)), (2048,))


@_add
def who_types():
    """Keys and times between them; the same hands lie near each other, others far."""
    i = x = keras.Input((70, 5))
    for width in (128, 128):
        x = layers.Dropout(0.2)(layers.BatchNormalization()(layers.LSTM(width, return_sequences=True)(x)))
    x = layers.Dense(128)(layers.GlobalMaxPooling1D()(x))
    tower = keras.Model(i, x)
    three = [keras.Input((70, 5)) for _ in range(3)]
    found = ops.stack([tower(one) for one in three], axis=1)

    def loss(_, found):
        near = ops.sum(ops.square(found[:, 0] - found[:, 1]), axis=-1)
        far = ops.sum(ops.square(found[:, 0] - found[:, 2]), axis=-1)
        return ops.mean(ops.maximum(near - far + 1.5, 0.0))

    model = keras.Model(three, layers.Activation("linear", dtype="float32")(found))
    return Case(model, loss, [((70, 5), "float32")] * 3, ((), "float32"))


@_add
def machines_that_fail():
    """How many rounds are left: squeezed convolutions, a recurrent layer, attention over time."""
    i = x = keras.Input((50, 24))
    for width in (64, 128):
        x = layers.ReLU()(layers.BatchNormalization()(layers.Conv1D(width, 3, padding="same")(x)))
        gate = layers.Dense(width, activation="sigmoid")(
            layers.Dense(width // 4, activation="relu")(layers.GlobalAveragePooling1D()(x))
        )
        x = layers.Multiply()([x, layers.Reshape((1, width))(gate)])
    x = layers.GRU(128, return_sequences=True)(x)
    weights = layers.Softmax(axis=1)(layers.Dense(1)(layers.Dense(64, activation="tanh")(x)))
    x = layers.Dense(64, activation="relu")(ops.sum(weights * x, axis=1))
    return _values(keras.Model(i, layers.Dense(1, dtype="float32")(x)))


# Tables


@_add
def who_goes_first():
    """Survival: each one's risk against all who were still there, sorted by time."""

    def loss(told, risk):
        time, event, risk = told[:, 0], told[:, 1], risk[:, 0]
        order = ops.argsort(-time)
        risk, event = ops.take(risk, order), ops.take(event, order)
        top = ops.stop_gradient(ops.max(risk))
        still = ops.log(ops.cumsum(ops.exp(risk - top)) + 1e-9) + top
        return -ops.sum((risk - still) * event) / (ops.sum(event) + 1.0)

    i = x = keras.Input((300,))
    for width in (512, 256, 128):
        x = layers.Dropout(0.3)(
            layers.Activation("selu")(layers.BatchNormalization()(layers.Dense(width)(x)))
        )
    model = keras.Model(i, layers.Dense(1, dtype="float32")(x))
    return Case(model, loss, [((300,), "float32")], ((2,), "float32"))


@_add
def masked_by_the_row():
    """Each block's product is weighed by what another pair of layers says of the row."""
    i = keras.Input((26,), dtype="int32")
    x = layers.Embedding(100000, 16)(i + 1000 * ops.arange(26, dtype="int32"))
    row = layers.Flatten()(x)
    x = layers.Flatten()(layers.LayerNormalization()(x))
    made = []
    for _ in range(3):
        mask = layers.Dense(row.shape[-1])(layers.Dense(832, activation="relu")(row))
        made.append(layers.ReLU()(layers.LayerNormalization()(layers.Dense(256)(mask * x))))
    x = layers.Concatenate()(made)
    for width in (256, 128):
        x = layers.Dense(width, activation="relu")(x)
    return _yes_no(i, x)


class Better(keras.Model):
    """What somebody bought should score higher than what is drawn."""

    def train_step(self, data):
        pairs, _ = data
        drawn = tf.random.uniform((pairs.shape[0], 8), 0, 60000, tf.int32)
        with tf.GradientTape() as tape:
            score, others = self([pairs, drawn], training=True)
            loss = -tf.reduce_mean(tf.math.log_sigmoid(score[:, None] - others))
        return _apply(self, tape, loss)


@_add
def better_than_drawn():
    pairs, drawn = keras.Input((2,), dtype="int32"), keras.Input((8,), dtype="int32")
    people, things, bias = (
        layers.Embedding(30000, 64),
        layers.Embedding(60000, 64),
        layers.Embedding(60000, 1),
    )
    person = people(pairs[:, 0])
    score = ops.sum(person * things(pairs[:, 1]), axis=-1) + bias(pairs[:, 1])[:, 0]
    others = ops.sum(person[:, None] * things(drawn), axis=-1) + bias(drawn)[..., 0]
    return _stepped(Better([pairs, drawn], [score, others]), ((2,), "int32"), y=((), "int32"))


@_add
def how_sure_of_a_number():
    """Four numbers for each: the mean, and how much of what is not known there is of each sort."""

    def loss(told, found):
        mean, more, alpha, beta = ops.split(found, 4, axis=-1)
        more, alpha, beta = ops.softplus(more), ops.softplus(alpha) + 1, ops.softplus(beta)
        both = 2 * beta * (1 + more)
        away = told - mean
        likely = 0.5 * ops.log(3.14159 / (more + 1e-6)) - alpha * ops.log(both + 1e-6)
        likely += (alpha + 0.5) * ops.log(more * ops.square(away) + both + 1e-6)
        likely += tf.math.lgamma(alpha) - tf.math.lgamma(alpha + 0.5)
        return ops.mean(likely + 0.01 * ops.abs(away) * (2 * more + alpha))

    i = x = keras.Input((90,))
    for width in (768, 768, 384):
        x = layers.Dense(width, activation="relu")(x)
    model = keras.Model(i, layers.Dense(4, dtype="float32")(x))
    return Case(model, loss, [((90,), "float32")], ((1,), "float32"))


# Graphs, acting, sciences


@_add
def ties_of_many_kinds():
    """Each kind of tie has a matrix of its own, mixed from few."""

    class Ties(layers.Layer):
        def __init__(self, width):
            super().__init__()
            self.width = width

        def build(self, x_shape, ties_shape):
            self.few = self.add_weight(shape=(4, x_shape[-1], self.width), name="few")
            self.mix = self.add_weight(shape=(12, 4), name="mix")
            self.own = layers.Dense(self.width)
            self.own.build(x_shape)

        def call(self, x, ties):
            matrices = ops.einsum("kf,fio->kio", self.mix, self.few)
            told = ops.einsum("bkuv,bvi->bkui", ties, x)
            return ops.relu(self.own(x) + ops.einsum("bkui,kio->buo", told, matrices))

        def compute_output_shape(self, x_shape, ties_shape):
            return (*x_shape[:-1], self.width)

    x = things = keras.Input((48, 32))
    ties = keras.Input((12, 48, 48))
    for width in (96, 96):
        x = layers.Dropout(0.2)(Ties(width)(x, ties))
    x = layers.Concatenate()([ops.mean(x, axis=1), ops.max(x, axis=1)])
    return _labelled(keras.Model([things, ties], layers.Dense(8, activation="softmax", dtype="float32")(x)))


@_add
def bodies_that_pull():
    """Particles: what each pair does to each other, summed, three times over."""
    i = keras.Input((40, 7))
    x = layers.Dense(64, activation="relu")(i)
    for _ in range(3):
        left, right = ops.expand_dims(x, 2), ops.expand_dims(x, 1)
        pair = layers.Dense(96)(left) + layers.Dense(96, use_bias=False)(right)
        pull = layers.Dense(64)(ops.relu(pair))
        x = layers.LayerNormalization()(x + layers.Dense(64, activation="relu")(ops.sum(pull, axis=2)))
    return _values(keras.Model(i, layers.Dense(3, dtype="float32")(x)))


class Curious(keras.Model):
    """What is not foreseen is worth looking at: a way in, what was done, and what came."""

    forward = inverse = actor = None

    def train_step(self, data):
        frames, done = data
        with tf.GradientTape() as tape:
            now, then = self(frames[:, :4], training=True), self(frames[:, 4:], training=True)
            acted = tf.one_hot(done, 6)
            seen = self.forward(tf.concat([tf.stop_gradient(now), acted], -1))
            strange = 0.5 * tf.reduce_sum(tf.square(seen - tf.stop_gradient(then)), -1)
            what = self.inverse(tf.concat([now, then], -1))
            loss = _logits()(done, what) + tf.reduce_mean(strange)
            likely = tf.nn.log_softmax(self.actor(tf.stop_gradient(now)))
            loss -= tf.reduce_mean(tf.reduce_sum(likely * acted, -1) * tf.stop_gradient(strange))
        return _apply(self, tape, loss)


@_add
def curiosity():
    i = keras.Input((4, 84, 84))
    x = ops.transpose(i, (0, 2, 3, 1)) / 255.0
    for width, size, step in ((32, 8, 4), (64, 4, 2), (64, 3, 1)):
        x = layers.Conv2D(width, size, step, activation="elu")(x)
    model = Curious(i, layers.Dense(256, dtype="float32")(layers.Flatten()(x)))

    def network(given, made):
        return keras.Sequential(
            [keras.Input((given,)), layers.Dense(256, activation="relu"), layers.Dense(made)]
        )

    model.forward, model.inverse, model.actor = network(262, 256), network(512, 6), network(256, 6)
    return _stepped(model, ((8, 84, 84), "float32"), y=((), "int32"))


class Noisy(layers.Layer):
    """A dense layer whose weights are shaken anew each time."""

    def __init__(self, width):
        super().__init__()
        self.width = width
        self.seeds = [keras.random.SeedGenerator(one) for one in (3, 4)]

    def build(self, shape):
        for name in ("mean", "spread"):
            setattr(self, name, self.add_weight(shape=(shape[-1], self.width), name=name))
        self.bias = self.add_weight(shape=(self.width,), initializer="zeros", name="bias")

    def call(self, x):
        given = keras.random.normal((x.shape[-1], 1), seed=self.seeds[0])
        made = keras.random.normal((1, self.width), seed=self.seeds[1])
        return ops.matmul(x, self.mean + self.spread * given * made) + self.bias

    def compute_output_shape(self, shape):
        return (*shape[:-1], self.width)


class Later(keras.Model):
    """What moves are worth, against a slow copy's view of what comes after."""

    slow = None

    def train_step(self, data):
        frames, told = data
        best = tf.argmax(self(frames[:, 1], training=True), -1)
        later = tf.gather(self.slow(frames[:, 1]), best, batch_dims=1)
        wanted = told[:, 1] + 0.99 * later
        with tf.GradientTape() as tape:
            found = tf.gather(self(frames[:, 0], training=True), tf.cast(told[:, 0], tf.int32), batch_dims=1)
            loss = tf.reduce_mean(keras.losses.huber(wanted[:, None], found[:, None]))
        found = _apply(self, tape, loss)
        for slow, fast in zip(self.slow.variables, self.variables):
            slow.assign(0.995 * slow + 0.005 * fast)
        return found


@_add
def noisy_worth():
    def network():
        i = keras.Input((84, 84, 4))
        x = i
        for width, size, step in ((32, 8, 4), (64, 4, 2), (64, 3, 1)):
            x = layers.Conv2D(width, size, step, activation="relu")(x)
        x = ops.relu(Noisy(512)(layers.Flatten()(x)))
        return i, Noisy(6)(x)

    model = Later(*network())
    model.slow = keras.Model(*network())
    model.slow.trainable = False
    return _stepped(model, ((2, 84, 84, 4), "float32"), y=((2,), "float32"))


class Played(keras.Model):
    """Whole games: what was done is made likelier by what came of it, less what was expected."""

    def train_step(self, data):
        seen, told = data
        done, reward = tf.cast(told[..., 0], tf.int32), told[..., 1]
        back = tf.cumsum(reward, axis=1, reverse=True)
        with tf.GradientTape() as tape:
            logits, worth = self(seen, training=True)
            gain = tf.stop_gradient(back - worth[..., 0])
            cost = tf.nn.sparse_softmax_cross_entropy_with_logits(done, logits)
            loss = tf.reduce_mean(cost * gain) + 0.5 * tf.reduce_mean(tf.square(back - worth[..., 0]))
            sure = tf.nn.softmax(logits)
            loss += 0.01 * tf.reduce_mean(tf.reduce_sum(sure * tf.nn.log_softmax(logits), -1))
        return _apply(self, tape, loss)


@_add
def whole_games():
    i = keras.Input((128, 32))
    x = layers.LSTM(192, return_sequences=True)(layers.Dense(128, activation="relu")(i))
    model = Played(i, [layers.Dense(9, dtype="float32")(x), layers.Dense(1, dtype="float32")(x)])
    return _stepped(model, ((128, 32), "float32"), y=((128, 2), "float32"))


@_add
def operators():
    """A function at a hundred places, and points to know the result at: two networks and their product."""
    given, at = keras.Input((100,)), keras.Input((200, 2))
    x, y = given, at
    for _ in range(3):
        x, y = layers.Dense(256, activation="tanh")(x), layers.Dense(256, activation="tanh")(y)
    out = ops.einsum("bc,bpc->bp", layers.Dense(128)(x), layers.Dense(128)(y))
    return _values(keras.Model([given, at], layers.Activation("linear", dtype="float32")(out)))


@_add
def folded_pairs():
    """A chain's letters, and what is known of each pair of them, which attends along rows and columns."""
    i = keras.Input((48,), dtype="int32")
    x = layers.Embedding(24, 64)(i)
    pair = ops.expand_dims(layers.Dense(48)(x), 2) + ops.expand_dims(layers.Dense(48)(x), 1)
    for _ in range(2):
        for turn in (False, True):
            y = layers.LayerNormalization()(ops.transpose(pair, (0, 2, 1, 3)) if turn else pair)
            y = ops.reshape(y, (-1, 48, 48))
            y = ops.reshape(layers.MultiHeadAttention(4, 12)(y, y), (-1, 48, 48, 48))
            pair = pair + (ops.transpose(y, (0, 2, 1, 3)) if turn else y)
        left, right = layers.Dense(32, activation="sigmoid")(pair), layers.Dense(32)(pair)
        pair = pair + layers.Dense(48)(
            layers.LayerNormalization()(ops.einsum("bikc,bjkc->bijc", left, right))
        )
    return _labelled(keras.Model(i, layers.Dense(20, activation="softmax", dtype="float32")(pair)), (48, 48))
