"""The other half of the sixteenth set: words, tables, what is recommended, over time, sound, graphs, acting."""

import math

import keras
import numpy as np
import tensorflow as tf
from keras import layers, ops
from models import Case, Positions, _add
from ninth_look_models import _apply, _stepped
from third_look_models import _classes, _labelled, _logits, _values

# Words


def _turned(x):
    """Pairs of numbers turned by an angle for each position."""
    n, d = x.shape[1], x.shape[-1]
    angle = np.outer(np.arange(n), 10000.0 ** (-np.arange(0, d, 2) / d)).astype("float32")
    cos, sin = (ops.cast(f(angle), x.dtype)[None, :, None] for f in (np.cos, np.sin))
    a, b = ops.split(x, 2, axis=-1)
    return ops.concatenate([a * cos - b * sin, a * sin + b * cos], axis=-1)


class Windowed(layers.Layer):
    """Few keys for many queries, queries and keys normalized, products bounded by tanh, a window of the last words."""

    def __init__(self, heads, groups, window):
        super().__init__()
        self.heads, self.groups, self.window = heads, groups, window

    def build(self, shape):
        d = shape[-1] // self.heads
        self.q, self.out = layers.Dense(shape[-1], use_bias=False), layers.Dense(shape[-1], use_bias=False)
        self.kv = layers.Dense(2 * self.groups * d, use_bias=False)
        for one in (self.q, self.kv, self.out):
            one.build(shape)
        self.norms = [layers.RMSNormalization() for _ in range(2)]
        for one in self.norms:
            one.build((None, None, None, d))

    def call(self, x):
        n, c = x.shape[1:]
        d = c // self.heads
        q = _turned(self.norms[0](ops.reshape(self.q(x), (-1, n, self.heads, d))))
        k, v = ops.split(ops.reshape(self.kv(x), (-1, n, 2 * self.groups, d)), 2, axis=2)
        k = _turned(self.norms[1](k))
        q = ops.reshape(q, (-1, n, self.groups, self.heads // self.groups, d))
        products = ops.einsum("bqghd,bkgd->bghqk", q, k) * d**-0.5
        products = 50.0 * ops.tanh(products / 50.0)
        i, j = ops.arange(n)[:, None], ops.arange(n)[None]
        seen = ops.logical_and(j <= i, i - j < self.window)
        weights = ops.softmax(ops.where(seen, ops.cast(products, "float32"), -1e9))
        x = ops.einsum("bghqk,bkgd->bqghd", ops.cast(weights, v.dtype), v)
        return self.out(ops.reshape(x, (-1, n, c)))

    def compute_output_shape(self, shape):
        return shape


class TiedBounded(keras.Model):
    """A decoder whose words are told by the table that they are read from."""

    def __init__(self, words, width, depth):
        super().__init__()
        self.table, self.width = layers.Embedding(words, width), width
        self.blocks = []
        for number in range(depth):
            norms = [layers.RMSNormalization(epsilon=1e-6) for _ in range(4)]
            attends = Windowed(8, 2, 64 if number % 2 else 256)
            dense = [layers.Dense(3 * width, use_bias=False) for _ in range(2)]
            self.blocks.append((norms, attends, dense, layers.Dense(width, use_bias=False)))
            for one in (*norms, attends, *dense, self.blocks[-1][3]):
                setattr(self, f"part_{number}_{id(one)}", one)
        self.last = layers.RMSNormalization(epsilon=1e-6)

    def call(self, ids):
        x = self.table(ids) * self.width**0.5
        for norms, attends, dense, out in self.blocks:
            x = x + norms[1](attends(norms[0](x)))
            y = norms[2](x)
            x = x + norms[3](out(ops.gelu(dense[0](y), approximate=True) * dense[1](y)))
        said = ops.matmul(self.last(x), ops.cast(ops.transpose(self.table.embeddings), x.dtype))
        return 30.0 * ops.tanh(ops.cast(said, "float32") / 30.0)


@_add
def words_in_windows():
    model = TiedBounded(8000, 256, 4)
    model(keras.Input((256,), dtype="int32"))
    return Case(model, _logits(), [((256,), "int32")], ((256,), "int32"))


class Compressed(layers.Layer):
    """Keys and values out of a narrow code of each word; a part of the keys is turned and shared by the heads."""

    def __init__(self, heads, code, plain, turned):
        super().__init__()
        self.heads, self.code, self.plain, self.turned = heads, code, plain, turned

    def build(self, shape):
        h = self.heads
        self.q = layers.Dense(h * (self.plain + self.turned), use_bias=False)
        self.down = layers.Dense(self.code + self.turned, use_bias=False)
        self.up = layers.Dense(h * 2 * self.plain, use_bias=False)
        self.norm, self.out = layers.RMSNormalization(), layers.Dense(shape[-1], use_bias=False)
        self.q.build(shape)
        self.down.build(shape)
        self.norm.build((*shape[:2], self.code))
        self.up.build((*shape[:2], self.code))
        self.out.build((*shape[:2], h * self.plain))

    def call(self, x):
        n, h = x.shape[1], self.heads
        q = ops.reshape(self.q(x), (-1, n, h, self.plain + self.turned))
        q, qr = q[..., : self.plain], _turned(q[..., self.plain :])
        code = self.down(x)
        kr = _turned(ops.expand_dims(code[..., self.code :], 2))
        kv = ops.reshape(self.up(self.norm(code[..., : self.code])), (-1, n, h, 2 * self.plain))
        k, v = ops.split(kv, 2, axis=-1)
        kr = ops.broadcast_to(kr, (ops.shape(x)[0], n, h, self.turned))
        q, k = ops.concatenate([q, qr], -1), ops.concatenate([k, kr], -1)
        return self.out(
            ops.reshape(ops.dot_product_attention(q, k, v, is_causal=True), (-1, n, h * self.plain))
        )

    def compute_output_shape(self, shape):
        return shape


class SortedExperts(layers.Layer):
    """Words sorted by their expert, as many as fit in, one product for all experts, put back where they were."""

    def __init__(self, count, inner, share=1.25):
        super().__init__()
        self.count, self.inner, self.share = count, inner, share

    def build(self, shape):
        self.gate = layers.Dense(self.count, use_bias=False)
        self.gate.build(shape)
        self.up = self.add_weight(shape=(self.count, shape[-1], self.inner), name="up")
        self.down = self.add_weight(shape=(self.count, self.inner, shape[-1]), name="down")

    def call(self, x):
        n, c = x.shape[1:]
        flat = tf.reshape(x, (-1, c))
        rows = tf.shape(flat)[0]
        room = tf.cast(tf.math.ceil(self.share * tf.cast(rows, "float32") / self.count), "int32")
        chances = tf.nn.softmax(tf.cast(self.gate(flat), "float32"))
        sure, which = tf.reduce_max(chances, -1), tf.argmax(chances, -1, output_type="int32")
        one = tf.one_hot(which, self.count, dtype="int32")
        place = tf.reduce_sum((tf.cumsum(one, axis=0) - 1) * one, -1)
        fits = place < room
        slot = tf.where(fits, which * room + place, self.count * room)
        sent = tf.scatter_nd(slot[:, None], flat, (self.count * room + 1, c))[:-1]
        sent = tf.reshape(sent, (self.count, -1, c))
        inner = tf.nn.gelu(tf.matmul(sent, tf.cast(self.up, sent.dtype)))
        back = tf.reshape(tf.matmul(inner, tf.cast(self.down, inner.dtype)), (-1, c))
        back = tf.gather(tf.concat([back, tf.zeros((1, c), back.dtype)], 0), slot)
        even = self.count * tf.reduce_sum(
            tf.reduce_mean(tf.cast(one, "float32"), 0) * tf.reduce_mean(chances, 0)
        )
        self.add_loss(0.01 * even)
        return tf.reshape(back * tf.cast(sure, back.dtype)[:, None], (-1, n, c))

    def compute_output_shape(self, shape):
        return shape


@_add
def codes_of_keys_and_experts():
    inputs = keras.Input((128,), dtype="int32")
    x = layers.Embedding(6000, 192)(inputs)
    for number in range(3):
        x = layers.Add()([x, Compressed(6, 64, 32, 16)(layers.RMSNormalization()(x))])
        y = layers.RMSNormalization()(x)
        if number:
            y = SortedExperts(8, 384)(y)
        else:
            y = layers.Dense(192)(layers.Dense(512, activation="silu")(y))
        x = layers.Add()([x, y])
    out = layers.Dense(6000, use_bias=False, dtype="float32")(layers.RMSNormalization()(x))
    return _labelled(keras.Model(inputs, out), (128,), _logits())


class Difference(layers.Layer):
    """One map of attention less a learned share of another, each head normalized for itself."""

    def __init__(self, heads):
        super().__init__()
        self.heads = heads

    def build(self, shape):
        d = shape[-1] // self.heads // 2
        self.qkv, self.out = (
            layers.Dense(3 * shape[-1], use_bias=False),
            layers.Dense(shape[-1], use_bias=False),
        )
        self.qkv.build(shape)
        self.out.build(shape)
        self.shares = [self.add_weight(shape=(d,), initializer="normal", name=f"share_{n}") for n in range(4)]
        self.norm = layers.LayerNormalization(center=False)
        self.norm.build((None, None, self.heads, 2 * d))

    def call(self, x):
        n, c = x.shape[1:]
        h = self.heads
        q, k, v = ops.split(self.qkv(x), 3, axis=-1)
        q, k = (ops.reshape(t, (-1, n, 2 * h, c // h // 2)) for t in (q, k))
        v = ops.reshape(v, (-1, n, h, c // h))
        products = ops.einsum("bqhd,bkhd->bhqk", q, k) * (c // h // 2) ** -0.5
        weights = ops.softmax(products + (1 - ops.tri(n, dtype=products.dtype)) * -1e4)
        a, b, e, f = self.shares
        share = ops.exp(ops.sum(a * b)) - ops.exp(ops.sum(e * f)) + 0.8
        weights = ops.reshape(weights, (-1, h, 2, n, n))
        weights = weights[:, :, 0] - ops.cast(share, weights.dtype) * weights[:, :, 1]
        x = self.norm(ops.einsum("bhqk,bkhd->bqhd", weights, v)) * 0.2
        return self.out(ops.reshape(x, (-1, n, c)))

    def compute_output_shape(self, shape):
        return shape


@_add
def one_map_less_another():
    inputs = keras.Input((192,), dtype="int32")
    x = Positions()(layers.Embedding(10000, 192)(inputs))
    for _ in range(3):
        x = layers.Add()([x, Difference(4)(layers.LayerNormalization()(x))])
        y = layers.Dense(768, activation="relu")(layers.LayerNormalization()(x))
        x = layers.Add()([x, layers.Dense(192)(layers.Activation(ops.square)(y))])
    return _classes(inputs, layers.GlobalMaxPooling1D()(x), 20)


class FewLandmarks(layers.Layer):
    """Attention by means of pieces; the inverse of what they say of each other by repeated products."""

    def __init__(self, heads, pieces):
        super().__init__()
        self.heads, self.pieces = heads, pieces

    def build(self, shape):
        self.qkv, self.out = layers.Dense(3 * shape[-1]), layers.Dense(shape[-1])
        self.qkv.build(shape)
        self.out.build(shape)
        self.near = layers.DepthwiseConv1D(9, padding="same", use_bias=False)
        self.near.build(shape)

    def call(self, x):
        n, c = x.shape[1:]
        h, m = self.heads, self.pieces
        q, k, v = ops.split(self.qkv(x), 3, axis=-1)
        beside = self.near(v)
        q, k, v = (ops.transpose(ops.reshape(t, (-1, n, h, c // h)), (0, 2, 1, 3)) for t in (q, k, v))
        q = q * (c // h) ** -0.5
        ql, kl = (ops.mean(ops.reshape(t, (-1, h, m, n // m, c // h)), 3) for t in (q, k))
        turn = lambda t: ops.swapaxes(t, -1, -2)  # noqa: E731
        first, middle, last = (ops.softmax(ops.matmul(a, turn(b))) for a, b in ((q, kl), (ql, kl), (ql, k)))
        most = ops.max(ops.sum(middle, -2, keepdims=True), -1, keepdims=True)
        z, eye = turn(middle) / most, ops.eye(m, dtype=x.dtype)
        for _ in range(4):
            mz = ops.matmul(middle, z)
            z = 0.25 * ops.matmul(z, 13 * eye - ops.matmul(mz, 15 * eye - ops.matmul(mz, 7 * eye - mz)))
        x = ops.matmul(ops.matmul(first, z), ops.matmul(last, v))
        return self.out(ops.reshape(ops.transpose(x, (0, 2, 1, 3)), (-1, n, c)) + beside)

    def compute_output_shape(self, shape):
        return shape


@_add
def long_documents_by_landmarks():
    inputs = keras.Input((512,), dtype="int32")
    x = Positions()(layers.Embedding(12000, 128)(inputs))
    for _ in range(2):
        x = layers.LayerNormalization()(layers.Add()([x, layers.Dropout(0.1)(FewLandmarks(4, 32)(x))]))
        y = layers.Dense(128)(layers.Dense(256, activation="gelu")(x))
        x = layers.LayerNormalization()(layers.Add()([x, layers.Dropout(0.1)(y)]))
    out = layers.Dense(24, activation="sigmoid", dtype="float32")(layers.GlobalAveragePooling1D()(x))
    return _values(keras.Model(inputs, out), "binary_crossentropy")


class Scanned(layers.Layer):
    """A gated recurrence that has no products between its states: done as a scan by halves."""

    def build(self, shape):
        c = shape[-1]
        self.into, self.gates, self.out = layers.Dense(2 * c), layers.Dense(2 * c), layers.Dense(c)
        self.near = layers.Conv1D(c, 4, padding="causal", groups=c)
        self.into.build(shape)
        for one in (self.gates, self.out, self.near):
            one.build(shape)
        self.rate = self.add_weight(shape=(c,), initializer="ones", name="rate")

    def call(self, x):
        x, beside = ops.split(self.into(x), 2, axis=-1)
        x = self.near(x)
        r, i = ops.split(ops.sigmoid(self.gates(x)), 2, axis=-1)
        keep = ops.exp(-8.0 * ops.softplus(ops.cast(self.rate, x.dtype)) * r)
        x = ops.sqrt(ops.maximum(1 - ops.square(keep), 1e-6)) * (i * x)
        joined = lambda a, b: (a[0] * b[0], b[0] * a[1] + b[1])  # noqa: E731
        _, x = ops.associative_scan(joined, (keep, x), axis=1)
        return self.out(x * ops.gelu(beside))

    def compute_output_shape(self, shape):
        return shape


@_add
def states_by_halves():
    inputs = keras.Input((128,), dtype="int32")
    x = layers.Embedding(5000, 160)(inputs)
    for _ in range(2):
        x = layers.Add()([x, Scanned()(layers.LayerNormalization()(x))])
        y = layers.Dense(480, activation="gelu")(layers.LayerNormalization()(x))
        x = layers.Add()([x, layers.Dense(160)(y)])
    out = layers.Dense(5000, dtype="float32")(layers.LayerNormalization()(x))
    return _labelled(keras.Model(inputs, out), (128,), _logits())


class Diagonal(layers.Layer):
    """States that turn and fade, each for itself: their answer to one impulse, laid on by Fourier's transform."""

    def __init__(self, states=32):
        super().__init__()
        self.states = states

    def build(self, shape):
        c = shape[-1]
        self.step = self.add_weight(shape=(c, 1), initializer="zeros", name="step")
        self.fade = self.add_weight(shape=(c, self.states), initializer="zeros", name="fade")
        self.turn = self.add_weight(shape=(c, self.states), initializer="normal", name="turn")
        self.c = self.add_weight(shape=(c, self.states, 2), initializer="normal", name="c")
        self.d = self.add_weight(shape=(c,), initializer="ones", name="d")

    def call(self, x):
        n = x.shape[1]
        a = tf.complex(-tf.exp(self.fade), self.turn) * tf.cast(tf.exp(self.step), tf.complex64)
        powers = tf.exp(a[..., None] * tf.cast(tf.range(n), tf.complex64))
        scale = tf.complex(self.c[..., 0], self.c[..., 1]) * (tf.exp(a) - 1) / a
        kernel = 2 * tf.math.real(tf.einsum("cs,csn->cn", scale, powers))
        there = tf.transpose(tf.cast(x, "float32"), (0, 2, 1))
        both = tf.signal.rfft(there, [2 * n]) * tf.signal.rfft(kernel, [2 * n])
        back = tf.transpose(tf.signal.irfft(both, [2 * n])[..., :n], (0, 2, 1))
        return tf.nn.gelu(tf.cast(back, x.dtype) + x * tf.cast(self.d, x.dtype))

    def compute_output_shape(self, shape):
        return shape


@_add
def waves_by_fading_states():
    inputs = keras.Input((1024, 1))
    x = layers.Dense(64)(inputs)
    for _ in range(3):
        y = layers.Dense(128)(layers.Dropout(0.1)(Diagonal()(layers.LayerNormalization()(x))))
        y = layers.Lambda(lambda t: t[..., :64] * ops.sigmoid(t[..., 64:]), output_shape=(1024, 64))(y)
        x = layers.Add()([x, y])
    return _classes(inputs, layers.GlobalAveragePooling1D()(x), 35)


@keras.saving.register_keras_serializable("sixteenth")
class NormalizedCell(layers.Layer):
    """Gates whose sums are normalized in each step."""

    def __init__(self, units, **options):
        super().__init__(**options)
        self.units = self.state_size = units

    def build(self, shape):
        self.into = self.add_weight(shape=(shape[-1], 3 * self.units), name="into")
        self.back = self.add_weight(shape=(self.units, 3 * self.units), initializer="orthogonal", name="back")
        self.norms = [layers.LayerNormalization() for _ in range(2)]
        for one in self.norms:
            one.build((None, 3 * self.units))

    def call(self, x, states):
        (h,) = states
        x, y = self.norms[0](ops.matmul(x, self.into)), self.norms[1](ops.matmul(h, self.back))
        (xr, xz, xn), (yr, yz, yn) = ops.split(x, 3, axis=-1), ops.split(y, 3, axis=-1)
        r, z = ops.sigmoid(xr + yr), ops.sigmoid(xz + yz)
        h = z * h + (1 - z) * ops.tanh(xn + r * yn)
        return h, [h]

    def get_config(self):
        return {"units": self.units, "name": self.name}


@_add
def cells_with_norms():
    inputs = keras.Input((100, 40))
    x = layers.Bidirectional(layers.RNN(NormalizedCell(96), return_sequences=True))(inputs)
    x = layers.RNN([NormalizedCell(128), layers.LSTMCell(96)], return_sequences=True)(layers.Dropout(0.2)(x))
    out = layers.TimeDistributed(layers.Dense(48, activation="softmax", dtype="float32"))(x)
    return _labelled(keras.Model(inputs, out), (100,))


class ByMargin(keras.Model):
    """Sentences near their own second half, off all others of the batch and off those that are hardest."""

    def __init__(self):
        super().__init__()
        self.words, self.mix = layers.Embedding(16000, 128, mask_zero=True), layers.GRU(192)
        self.out = layers.Dense(128)
        self.warmth = self.add_weight(shape=(), initializer=keras.initializers.Constant(2.7), name="warmth")

    def call(self, ids):
        return tf.math.l2_normalize(self.out(self.mix(self.words(ids))), -1)

    def train_step(self, data):
        first, second = data[0] if isinstance(data[0], (list, tuple)) else data
        with tf.GradientTape() as tape:
            a, b = self(first), self(second)
            alike = tf.matmul(a, b, transpose_b=True)
            rows = tf.shape(alike)[0]
            own = tf.linalg.diag_part(alike)
            margin = tf.linalg.set_diag(alike, own - 0.1) * tf.exp(self.warmth)
            labels = tf.range(rows)
            both = [
                tf.nn.sparse_softmax_cross_entropy_with_logits(labels, one)
                for one in (margin, tf.transpose(margin))
            ]
            others = tf.linalg.set_diag(alike, tf.fill([rows], -1.0))
            hardest = tf.nn.top_k(others, 16).values
            loss = tf.add_n([tf.reduce_mean(one) for one in both])
            loss += tf.reduce_mean(tf.nn.relu(0.2 + hardest - own[:, None]))
        return _apply(self, tape, loss)


@_add
def halves_of_sentences():
    model = ByMargin()
    model(keras.Input((20,), dtype="int32"))
    return _stepped(model, ((20,), "int32"), ((20,), "int32"))


class SeenTogether(keras.Model):
    """Two vectors and two numbers of each word, so that their product is the log of how often they meet."""

    def __init__(self):
        super().__init__()
        self.vectors = [layers.Embedding(40000, 100) for _ in range(2)]
        self.numbers = [layers.Embedding(40000, 1) for _ in range(2)]

    def call(self, pair):
        a, b = (one(pair[:, n]) for n, one in enumerate(self.vectors))
        c, d = (one(pair[:, n]) for n, one in enumerate(self.numbers))
        return ops.sum(a * b, -1, keepdims=True) + c + d


def _weighed(count, found):
    share = ops.minimum(1.0, ops.power(count / 100.0, 0.75))
    return ops.mean(share * ops.square(found - ops.log1p(count)))


@_add
def words_that_meet():
    model = SeenTogether()
    model(keras.Input((2,), dtype="int32"))
    return Case(model, _weighed, [((2,), "int32")], ((1,), "float32"))


# Tables, what is recommended


class Kept(layers.Layer):
    """Only the largest of many features of each row stay."""

    def __init__(self, count, kept):
        super().__init__()
        self.count, self.kept = count, kept

    def build(self, shape):
        self.up = self.add_weight(shape=(shape[-1], self.count), name="up")
        self.down = self.add_weight(shape=(self.count, shape[-1]), name="down")
        self.before = self.add_weight(shape=(shape[-1],), initializer="zeros", name="before")

    def call(self, x):
        said = tf.nn.relu(tf.matmul(x - self.before, self.up))
        least = tf.nn.top_k(said, self.kept).values[:, -1:]
        kept = tf.where(said >= least, said, 0.0)
        self.add_loss(1e-4 * tf.reduce_mean(tf.reduce_sum(kept, -1)))
        return tf.matmul(kept, self.down) + self.before

    def compute_output_shape(self, shape):
        return shape


@_add
def few_features_of_many():
    inputs = keras.Input((384,))
    return _values(keras.Model(inputs, layers.Activation("linear", dtype="float32")(Kept(6144, 32)(inputs))))


class Radial(layers.Layer):
    """Each number's nearness to points of a grid, then one product: sums of bent functions."""

    def __init__(self, width, points=8):
        super().__init__()
        self.width, self.points = width, points

    def build(self, shape):
        self.norm, self.plain = layers.LayerNormalization(), layers.Dense(self.width)
        self.norm.build(shape)
        self.plain.build(shape)
        self.w = self.add_weight(shape=(shape[-1] * self.points, self.width), name="w")

    def call(self, x):
        grid = ops.linspace(-2.0, 2.0, self.points)
        near = ops.exp(-ops.square((ops.expand_dims(self.norm(x), -1) - grid) * (self.points - 1) / 4))
        bent = ops.matmul(ops.reshape(near, (-1, x.shape[-1] * self.points)), self.w)
        return bent + self.plain(ops.silu(x))

    def compute_output_shape(self, shape):
        return (shape[0], self.width)


@_add
def numbers_near_a_grid():
    inputs = x = keras.Input((64,))
    for width in (128, 128, 64):
        x = Radial(width)(x)
    return _values(keras.Model(inputs, layers.Dense(1, dtype="float32")(x)), "huber")


class LowRankCross(layers.Layer):
    """The first fields times what experts of low rank say of the last; gates weigh the experts."""

    def __init__(self, rank, experts):
        super().__init__()
        self.rank, self.experts = rank, experts

    def build(self, shape):
        c, e, r = shape[0][-1], self.experts, self.rank
        self.u = self.add_weight(shape=(e, r, c), name="u")
        self.m = self.add_weight(shape=(e, r, r), name="m")
        self.v = self.add_weight(shape=(e, c, r), name="v")
        self.b = self.add_weight(shape=(c,), initializer="zeros", name="b")
        self.gate = layers.Dense(e, activation="softmax")
        self.gate.build(shape[1])

    def call(self, pair):
        first, x = pair
        y = ops.tanh(ops.einsum("bc,ecr->ber", x, self.v))
        y = ops.tanh(ops.einsum("ber,erq->beq", y, self.m))
        y = ops.expand_dims(first, 1) * (ops.einsum("ber,erc->bec", y, self.u) + self.b)
        return ops.einsum("be,bec->bc", self.gate(x), y) + x

    def compute_output_shape(self, shape):
        return shape[1]


@_add
def crossed_by_low_ranks():
    ids, numbers = keras.Input((24,), dtype="int32"), keras.Input((13,))
    x = layers.Flatten()(layers.Embedding(60000, 16)(ids))
    x = first = layers.Concatenate()([x, layers.BatchNormalization()(numbers)])
    for _ in range(3):
        x = LowRankCross(32, 4)([first, x])
    y = layers.Dropout(0.2)(layers.Dense(256, activation="relu")(layers.Dense(512, activation="relu")(first)))
    out = layers.Dense(1, activation="sigmoid", dtype="float32")(layers.Concatenate()([x, y]))
    return _values(keras.Model([ids, numbers], out), "binary_crossentropy")


class Bends(keras.Model):
    """Half of the numbers bend the others along pieces of fractions; how likely what comes out is."""

    def __init__(self, width=16, bins=12, steps=4):
        super().__init__()
        self.width, self.bins = width, bins
        self.nets = [
            keras.Sequential(
                [layers.Dense(256, activation="relu"), layers.Dense(256, activation="relu"),
                 layers.Dense(width // 2 * (3 * bins + 1))]
            )
            for _ in range(steps)
        ]  # fmt: skip

    def bent(self, x, found):
        k = self.bins
        found = tf.reshape(found, (-1, self.width // 2, 3 * k + 1))
        wide, high = (tf.nn.softmax(found[..., n * k : (n + 1) * k]) for n in range(2))
        slope = tf.nn.softplus(found[..., 2 * k :]) + 1e-3
        edge = lambda t: 6 * tf.concat([tf.zeros_like(t[..., :1]), tf.cumsum(t, -1)], -1) - 3  # noqa: E731
        left, low = edge(wide), edge(high)
        inside = tf.clip_by_value(x, -2.999, 2.999)
        at = tf.reduce_sum(tf.cast(inside[..., None] >= left[..., 1:-1], "int32"), -1)[..., None]
        take = lambda t, n=0: tf.gather(t, at + n, axis=-1, batch_dims=2)[..., 0]  # noqa: E731
        w, h = take(left, 1) - take(left), take(low, 1) - take(low)
        s, d0, d1 = h / w, take(slope), take(slope, 1)
        u = (inside - take(left)) / w
        under = s + (d1 + d0 - 2 * s) * u * (1 - u)
        y = take(low) + h * (s * u * u + d0 * u * (1 - u)) / under
        log = tf.math.log(s * s * (d1 * u * u + 2 * s * u * (1 - u) + d0 * (1 - u) ** 2)) - 2 * tf.math.log(
            under
        )
        there = tf.abs(x) < 3
        return tf.where(there, y, x), tf.reduce_sum(tf.where(there, log, 0.0), -1)

    def call(self, x):
        total = 0.0
        for number, net in enumerate(self.nets):
            a, b = tf.split(x, 2, -1)
            a, b = (a, b) if number % 2 else (b, a)
            b, log = self.bent(b, net(a))
            x, total = tf.concat([a, b], -1), total + log
        return x, total

    def train_step(self, data):
        x = data[0] if isinstance(data, tuple) else data
        with tf.GradientTape() as tape:
            z, total = self(x, training=True)
            likely = -0.5 * tf.reduce_sum(z * z + math.log(2 * math.pi), -1) + total
            loss = -tf.reduce_mean(likely)
        return _apply(self, tape, loss)


@_add
def bent_by_the_other_half():
    model = Bends()
    model(keras.Input((16,)))
    return _stepped(model, ((16,), "float32"))


class Slopes(keras.Model):
    """The slope of a density, by how a network's answer changes along directions drawn for each row."""

    def __init__(self):
        super().__init__()
        self.net = keras.Sequential(
            [layers.Dense(512, activation="softplus") for _ in range(3)] + [layers.Dense(32)]
        )

    def call(self, x):
        return self.net(x)

    def train_step(self, data):
        x = data[0] if isinstance(data, tuple) else data
        along = tf.sign(tf.random.normal(tf.shape(x)))
        with tf.GradientTape() as tape:
            with tf.GradientTape() as inner:
                inner.watch(x)
                found = self(x, training=True)
                product = tf.reduce_sum(found * along)
            change = inner.gradient(product, x)
            loss = tf.reduce_mean(tf.reduce_sum(change * along, -1) + 0.5 * tf.reduce_sum(found**2, -1))
        return _apply(self, tape, loss)


@_add
def slope_of_a_density():
    model = Slopes()
    model(keras.Input((32,)))
    return _stepped(model, ((32,), "float32"))


# Over time, sound


def _halves(x, depth, width):
    """Even and odd steps say how the others change; each half the same again; put together in turns."""
    c = x.shape[-1]

    def says(t):
        t = layers.Conv1D(width, 5, padding="same")(t)
        return layers.Conv1D(c, 3, padding="same", activation="tanh")(
            layers.Dropout(0.25)(layers.LeakyReLU()(t))
        )

    n = x.shape[1]
    even = layers.Lambda(lambda t: t[:, ::2], output_shape=(n // 2, c))(x)
    odd = layers.Lambda(lambda t: t[:, 1::2], output_shape=(n // 2, c))(x)
    exp = layers.Activation("exponential")
    d, e = layers.Multiply()([odd, exp(says(even))]), layers.Multiply()([even, exp(says(odd))])
    even, odd = layers.Add()([e, says(d)]), layers.Subtract()([d, says(e)])
    if depth > 1:
        even, odd = _halves(even, depth - 1, width), _halves(odd, depth - 1, width)
    return layers.Reshape((n, c))(
        layers.Lambda(lambda t: ops.stack(t, 2), output_shape=(n // 2, 2, c))([even, odd])
    )


@_add
def even_and_odd_hours():
    inputs = keras.Input((96, 21))
    x = layers.Add()([inputs, _halves(inputs, 3, 64)])
    out = layers.Permute((2, 1), dtype="float32")(layers.Dense(24)(layers.Permute((2, 1))(x)))
    return _values(keras.Model(inputs, out), "mae")


class FewQueries(layers.Layer):
    """Only the queries that stand out attend; the others get the mean."""

    def __init__(self, heads, count):
        super().__init__()
        self.heads, self.count = heads, count

    def build(self, shape):
        self.parts = [layers.Dense(shape[-1]) for _ in range(4)]
        for one in self.parts:
            one.build(shape)

    def call(self, x):
        n, c = x.shape[1:]
        h = self.heads
        q, k, v = (tf.transpose(tf.reshape(p(x), (-1, n, h, c // h)), (0, 2, 1, 3)) for p in self.parts[:3])
        drawn = tf.gather(k, tf.random.uniform((self.count,), 0, n, "int32"), axis=2)
        said = tf.matmul(q, drawn, transpose_b=True)
        out = tf.reduce_max(said, -1) - tf.reduce_mean(said, -1)
        which = tf.nn.top_k(out, self.count).indices
        few = tf.gather(q, which, batch_dims=2)
        weights = tf.nn.softmax(tf.matmul(few, k, transpose_b=True) * (c // h) ** -0.5)
        here = tf.reduce_sum(tf.one_hot(which, n, dtype=x.dtype), 2)[..., None]
        mean = tf.broadcast_to(tf.reduce_mean(v, 2, keepdims=True), tf.shape(v))
        put = tf.matmul(tf.one_hot(which, n, dtype=x.dtype), tf.matmul(weights, v), transpose_a=True)
        x = tf.transpose(mean * (1 - here) + put, (0, 2, 1, 3))
        return self.parts[3](tf.reshape(x, (-1, n, c)))

    def compute_output_shape(self, shape):
        return shape


@_add
def few_hours_that_matter():
    inputs, marks = keras.Input((192, 7)), keras.Input((192, 4))
    x = layers.Add()([layers.Conv1D(128, 3, padding="same")(inputs), layers.Dense(128)(marks)])
    for number in range(2):
        x = layers.LayerNormalization()(layers.Add()([x, layers.Dropout(0.05)(FewQueries(4, 26)(x))]))
        y = layers.Conv1D(128, 1)(layers.Conv1D(256, 1, activation="gelu")(x))
        x = layers.LayerNormalization()(layers.Add()([x, layers.Dropout(0.05)(y)]))
        if number == 0:
            y = layers.Activation("elu")(
                layers.BatchNormalization()(layers.Conv1D(128, 3, padding="same")(x))
            )
            x = layers.MaxPooling1D(3, 2, "same")(y)
    out = layers.Reshape((48, 7), dtype="float32")(layers.Dense(48 * 7)(layers.Flatten()(x)))
    return _values(keras.Model([inputs, marks], out))


@_add
def inside_and_between_pieces():
    """Sound cut into pieces that overlap: recurrent inside each, then over the pieces; two voices by masks."""
    inputs = keras.Input((4000, 1))
    x = layers.Conv1D(64, 16, 8, "same", activation="relu", use_bias=False)(inputs)
    coded = x
    x = layers.Conv1D(48, 1)(layers.GroupNormalization(1)(x))
    n, k = 500, 50

    class Cut(layers.Layer):
        def call(self, x):
            x = ops.reshape(x, (-1, n // k * 2, k // 2, x.shape[-1]))
            return ops.concatenate([x[:, :-1], x[:, 1:]], axis=2)

        def compute_output_shape(self, shape):
            return (shape[0], n // k * 2 - 1, k, shape[-1])

    class Laid(layers.Layer):
        def call(self, x):
            a, b = ops.split(x, 2, axis=2)
            a = ops.pad(a, ((0, 0), (0, 1), (0, 0), (0, 0)))
            b = ops.pad(b, ((0, 0), (1, 0), (0, 0), (0, 0)))
            return ops.reshape(a + b, (-1, n, x.shape[-1]))

        def compute_output_shape(self, shape):
            return (shape[0], n, shape[-1])

    class Along(layers.Layer):
        def __init__(self, axis):
            super().__init__()
            self.axis = axis

        def build(self, shape):
            self.reads = layers.Bidirectional(layers.LSTM(64, return_sequences=True))
            self.out, self.norm = layers.Dense(shape[-1]), layers.GroupNormalization(1)
            self.reads.build((None, shape[self.axis], shape[-1]))
            self.out.build((None, None, 128))
            self.norm.build(shape)

        def call(self, x):
            p, k, c = x.shape[1:]
            y = ops.transpose(x, (0, 2, 1, 3)) if self.axis == 1 else x
            y = self.out(self.reads(ops.reshape(y, (-1, y.shape[2], c))))
            y = ops.reshape(y, (-1, k, p, c) if self.axis == 1 else (-1, p, k, c))
            return x + self.norm(ops.transpose(y, (0, 2, 1, 3)) if self.axis == 1 else y)

        def compute_output_shape(self, shape):
            return shape

    x = Cut()(x)
    for _ in range(2):
        x = Along(1)(Along(2)(x))
    x = Laid()(layers.PReLU(shared_axes=[1, 2])(x))
    masks = layers.Reshape((n, 2, 64))(layers.Dense(128, activation="relu")(x))
    x = layers.Multiply()([masks, layers.Reshape((n, 1, 64))(coded)])
    x = layers.Reshape((n, 2 * 64))(x)
    out = layers.Conv1DTranspose(2, 16, 8, "same", dtype="float32")(x)
    return _values(keras.Model(inputs, out), "mae")


class ComplexConv(layers.Layer):
    """A convolution of complex numbers out of two of real ones; their norms for themselves."""

    def __init__(self, width, step=1, up=False):
        super().__init__()
        kind = layers.Conv2DTranspose if up else layers.Conv2D
        self.parts = [kind(width, (5, 3), (step, 1), "same") for _ in range(2)]
        self.norms = [layers.BatchNormalization() for _ in range(2)]

    def call(self, pair):
        r, i = pair
        a, b = self.parts
        r, i = a(r) - b(i), a(i) + b(r)
        return [tf.nn.leaky_relu(norm(one)) for norm, one in zip(self.norms, (r, i))]


class ComplexMasks(keras.Model):
    """A spectrum's parts through complex convolutions that narrow and widen; a mask turns and scales each."""

    def __init__(self):
        super().__init__()
        self.down = [ComplexConv(width, 2) for width in (16, 32, 64)]
        self.up = [ComplexConv(width, 2, True) for width in (32, 16, 16)]
        self.last = [layers.Conv2D(1, 1) for _ in range(2)]

    def call(self, x):
        there = tf.transpose(tf.signal.stft(x, 512, 128, 512), (0, 2, 1))[:, :256, :, None]
        pair = [tf.math.real(there), tf.math.imag(there)]
        kept = []
        for one in self.down:
            pair = one(pair)
            kept.append(pair)
        for number, one in enumerate(self.up):
            pair = one(pair)
            if number < 2:
                pair = [tf.concat([a, b], -1) for a, b in zip(pair, kept[1 - number])]
        r, i = (tf.tanh(one(t)) for one, t in zip(self.last, pair))
        back = tf.pad((there * tf.complex(r, i))[..., 0], ((0, 0), (0, 1), (0, 0)))
        return tf.signal.inverse_stft(tf.transpose(back, (0, 2, 1)), 512, 128, 512)


def _to_the_noise(clean, found):
    clean = clean[:, : found.shape[1]]
    share = tf.reduce_sum(clean * found, -1, keepdims=True) / (
        tf.reduce_sum(clean**2, -1, keepdims=True) + 1e-8
    )
    aim = share * clean
    return -tf.reduce_mean(
        tf.math.log(tf.reduce_sum(aim**2, -1) / (tf.reduce_sum((found - aim) ** 2, -1) + 1e-8) + 1e-8)
    )


@_add
def voices_by_complex_masks():
    model = ComplexMasks()
    model(keras.Input((8192,)))
    return Case(model, _to_the_noise, [((8192,), "float32")], ((8192,), "float32"))


# Graphs, equations, acting


class EdgesAttend(layers.Layer):
    """Ends added, bent, weighed; shares among a node's edges by sums over segments; three statistics of what comes."""

    def __init__(self, heads, width):
        super().__init__()
        self.heads, self.width = heads, width

    def build(self, shape):
        self.to, self.fro = (layers.Dense(self.heads * self.width) for _ in range(2))
        self.to.build(shape)
        self.fro.build(shape)
        self.weigh = self.add_weight(
            shape=(self.heads, self.width), initializer="glorot_uniform", name="weigh"
        )
        self.out = layers.Dense(self.width, activation="elu")
        self.out.build((None, 3 * self.heads * self.width))

    def call(self, x, edges, count):
        shape = (-1, self.heads, self.width)
        to, fro = tf.reshape(self.to(x), shape), tf.reshape(self.fro(x), shape)
        a, b = edges[:, 0], edges[:, 1]
        sent = tf.gather(fro, a)
        score = tf.reduce_sum(tf.nn.leaky_relu(sent + tf.gather(to, b)) * self.weigh, -1)
        score = tf.exp(score - tf.gather(tf.math.unsorted_segment_max(score, b, count), b))
        share = score / (tf.gather(tf.math.unsorted_segment_sum(score, b, count), b) + 1e-9)
        weighed = tf.math.unsorted_segment_sum(sent * share[..., None], b, count)
        mean = tf.math.unsorted_segment_mean(sent, b, count)
        spread = tf.sqrt(tf.nn.relu(tf.math.unsorted_segment_mean(sent**2, b, count) - mean**2) + 1e-5)
        both = tf.concat([tf.reshape(t, (-1, self.heads * self.width)) for t in (weighed, mean, spread)], -1)
        return self.out(both)


class WaysBetween(keras.Model):
    """A graph in each step: nodes and edges in lists, which nodes are of which class."""

    def __init__(self):
        super().__init__()
        self.first = layers.Dense(96, activation="relu")
        self.reads = [EdgesAttend(4, 48) for _ in range(3)]
        self.out = layers.Dense(16)

    def call(self, data):
        x, edges = data
        count = x.shape[0] or tf.shape(x)[0]
        x = self.first(x)
        for one in self.reads:
            y = one(x, edges, count)
            x = y + x if y.shape[-1] == x.shape[-1] else y
        return self.out(x)

    def train_step(self, data):
        (x, edges), y = data
        with tf.GradientTape() as tape:
            said = self(
                (x, tf.concat([edges[:, 0], edges[:, 1], edges[:, 2], edges[:, 3]], 0)), training=True
            )
            loss = tf.reduce_mean(tf.nn.sparse_softmax_cross_entropy_with_logits(y, said))
        return _apply(self, tape, loss)


@_add
def ways_between_nodes():
    model = WaysBetween()
    model((keras.Input((64,)), keras.Input((2,), dtype="int32")))
    return _stepped(model, ((64,), "float32"), ((4, 2), "int32"), y=((), "int32"))


class Followed(keras.Model):
    """A path by a network of slopes, four evaluations to a step; a penalty on how fast it runs."""

    def __init__(self):
        super().__init__()
        self.slope = keras.Sequential([layers.Dense(384, activation="tanh"), layers.Dense(384, activation="tanh"),
                                       layers.Dense(64)])  # fmt: skip
        self.into, self.out = layers.Dense(64), layers.Dense(10)

    def call(self, x):
        h, step, run = self.into(x), 0.125, 0.0
        for _ in range(8):
            a = self.slope(h)
            b = self.slope(h + step / 2 * a)
            c = self.slope(h + step / 2 * b)
            d = self.slope(h + step * c)
            h = h + step / 6 * (a + 2 * b + 2 * c + d)
            run += ops.mean(ops.square(a))
        self.add_loss(0.01 * run)
        return self.out(h)


@_add
def path_in_four_evaluations():
    model = Followed()
    model(keras.Input((32,)))
    return Case(model, _logits(), [((32,), "float32")], ((), "int32"))


class AgentsMixed(keras.Model):
    """Each agent's worth over time by a shared recurrent network; weights that mix them written out of the state."""

    def __init__(self, agents=5, acts=9):
        super().__init__()
        self.agents, self.acts = agents, acts
        self.nets = [self.network() for _ in range(2)]
        self.nets[1].trainable = False
        self.mixers = [
            [layers.Dense(agents * 32), layers.Dense(32), layers.Dense(32), layers.Dense(1)] for _ in range(2)
        ]
        for one in self.mixers[1]:
            one.trainable = False

    def network(self):
        inputs = keras.Input((30, 48))
        x = layers.GRU(64, return_sequences=True)(layers.Dense(64, activation="relu")(inputs))
        return keras.Model(inputs, layers.Dense(self.acts)(x))

    def worths(self, net, seen):
        x = tf.transpose(seen, (0, 2, 1, 3))
        said = tf.reshape(net(tf.reshape(x, (-1, 30, 48))), (-1, self.agents, 30, self.acts))
        return tf.transpose(said, (0, 2, 1, 3))

    def mixed(self, mixer, worths, state):
        first, bias, second, last = (one(state) for one in mixer)
        first = tf.reshape(tf.abs(first), (-1, 30, self.agents, 32))
        hidden = tf.nn.elu(tf.einsum("bta,btah->bth", worths, first) + bias)
        return tf.reduce_sum(hidden * tf.abs(second), -1) + last[..., 0]

    def call(self, data):
        seen, state = data
        worths = [self.worths(net, seen) for net in self.nets]
        return [self.mixed(m, tf.reduce_max(w, -1), state) for m, w in zip(self.mixers, worths)]

    def train_step(self, data):
        seen, state, acted, gained = data[0]
        later = self.worths(self.nets[1], seen)
        with tf.GradientTape() as tape:
            now = self.worths(self.nets[0], seen)
            taken = tf.gather(now, acted, batch_dims=3, axis=3)
            best = tf.argmax(tf.stop_gradient(now), -1, output_type="int32")
            then = tf.gather(later, best, batch_dims=3, axis=3)
            aim = gained[:, :-1] + 0.99 * self.mixed(self.mixers[1], then, state)[:, 1:]
            found = self.mixed(self.mixers[0], taken, state)[:, :-1]
            loss = tf.reduce_mean(tf.square(found - tf.stop_gradient(aim)))
        return _apply(self, tape, loss)


@_add
def agents_with_one_gain():
    model = AgentsMixed()
    model([keras.Input((30, 5, 48)), keras.Input((30, 64))])
    return _stepped(
        model, ((30, 5, 48), "float32"), ((30, 64), "float32"), ((30, 5), "int32"), ((30,), "float32")
    )


@_add
def dense_over_horizons():
    """Past and what is known of the days to come, each through dense blocks with a way round, all at once."""
    past, known = keras.Input((96, 8)), keras.Input((120, 6))

    def block(x, inner, width, rate=0.3):
        y = layers.Dropout(rate)(layers.Dense(width)(layers.Dense(inner, activation="relu")(x)))
        return layers.LayerNormalization()(layers.Add()([y, layers.Dense(width)(x)]))

    told = block(known, 64, 4)
    x = layers.Concatenate()([layers.Flatten()(past), layers.Flatten()(told)])
    for _ in range(2):
        x = block(x, 512, 512)
    x = layers.Reshape((24, 32))(block(x, 512, 24 * 32))
    ahead = layers.Cropping1D((96, 0))(told)
    x = block(layers.Concatenate()([x, ahead]), 64, 8)
    back = layers.Permute((2, 1))(layers.Dense(24)(layers.Permute((2, 1))(past)))
    out = layers.Add(dtype="float32")([x, back])
    return _values(keras.Model([past, known], out), "huber")
