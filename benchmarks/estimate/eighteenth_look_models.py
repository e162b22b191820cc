"""An eighteenth set for the rules for XLA, written and hashed before anything of it was compiled: ordinary sizes of
what public training scripts train, of kinds that the sets before it lack. Named by what each is.

This half has ways to attend, states, noise, boxes and outlines; eighteenth_other_models.py has the rest.
"""

import keras
from keras import layers, ops
from models import _add
from third_look_models import _labelled, _logits, _values


def _heads(x, count):
    return layers.Reshape((x.shape[1], count, x.shape[2] // count))(x)


def _wide(x, width, activation="gelu"):
    y = layers.LayerNormalization()(x)
    return x + layers.Dense(x.shape[-1])(layers.Dense(width, activation=activation)(y))


def _norm(x, width, side=3, step=1, activation="relu"):
    x = layers.Conv2D(width, side, step, "same", use_bias=False)(x)
    x = layers.BatchNormalization()(x)
    return layers.Activation(activation)(x) if activation else x


def _blocks(attend, count=96, width=192, depth=3, words=8000, heads=4, answers=4):
    """A classifier of texts with `attend(q, k, v)` on [batch, place, head, width]."""
    i = keras.Input((count,), dtype="int32")
    x = layers.Embedding(words, width)(i)
    for _ in range(depth):
        y = layers.LayerNormalization()(x)
        q, k, v = (_heads(layers.Dense(width)(y), heads) for _ in range(3))
        x = _wide(x + layers.Dense(width)(layers.Reshape((count, width))(attend(q, k, v))), 4 * width)
    x = layers.GlobalAveragePooling1D()(layers.LayerNormalization()(x))
    return _labelled(keras.Model(i, layers.Dense(answers, dtype="float32")(x)), loss=_logits())


# Ways to attend


@_add
def weighed_by_sigmoids():
    def attend(q, k, v):
        scores = ops.einsum("bihd,bjhd->bhij", q, k) * q.shape[-1] ** -0.5
        return ops.einsum("bhij,bjhd->bihd", ops.sigmoid(scores - 4.5), v)

    return _blocks(attend)


@_add
def squares_of_what_is_positive():
    def attend(q, k, v):
        scores = ops.square(ops.relu(ops.einsum("bihd,bjhd->bhij", q, k) / q.shape[1]))
        return ops.einsum("bhij,bjhd->bihd", scores, v)

    return _blocks(attend, count=128, heads=2)


@_add
def directions_compared():
    """Queries and keys of length one, and a temperature."""

    def attend(q, k, v):
        q, k = (one * ops.rsqrt(ops.sum(ops.square(one), -1, keepdims=True) + 1e-6) for one in (q, k))
        return ops.einsum("bhij,bjhd->bihd", ops.softmax(10 * ops.einsum("bihd,bjhd->bhij", q, k)), v)

    return _blocks(attend, depth=2, width=256)


@_add
def heads_that_talk():
    class Talk(layers.Layer):
        def build(self, *shapes):
            self.before, self.after = (self.add_weight(shape=(4, 4)) for _ in range(2))

        def call(self, q, k, v):
            scores = ops.einsum("bihd,bjhd->bhij", q, k) * q.shape[-1] ** -0.5
            scores = ops.softmax(ops.einsum("bhij,hg->bgij", scores, self.before))
            return ops.einsum("bhij,bjhd->bihd", ops.einsum("bhij,hg->bgij", scores, self.after), v)

    return _blocks(lambda q, k, v: Talk()(q, k, v), depth=2)


@_add
def memory_for_all_pictures():
    """External attention: two tables that all samples share."""
    i = keras.Input((64, 64, 3))
    x = layers.Reshape((256, 128))(layers.Conv2D(128, 4, 4)(i))
    for _ in range(4):
        y = layers.Dense(64, use_bias=False)(layers.Dense(128)(layers.LayerNormalization()(x)))
        y = ops.softmax(y, axis=1)
        y = y / (1e-6 + ops.sum(y, axis=-1, keepdims=True))
        x = _wide(x + layers.Dense(128)(layers.Dense(128, use_bias=False)(y)), 256)
    return _labelled(keras.Model(i, layers.Dense(10, "softmax")(layers.GlobalAveragePooling1D()(x))))


@_add
def rows_attend_then_columns():
    i = keras.Input((32, 32, 3))
    x = layers.Conv2D(96, 2, 2)(i)
    for _ in range(2):
        for axis in (1, 2):
            y = layers.LayerNormalization()(x)
            y = layers.MultiHeadAttention(3, 32, attention_axes=(axis,))(y, y)
            x = x + y
        x = _wide(x, 384)
    return _labelled(keras.Model(i, layers.Dense(100, "softmax")(layers.GlobalAveragePooling2D()(x))))


@_add
def slots_that_compete():
    """Slots take turns at the places of a picture; each is drawn, and masks add the drawings."""
    i = keras.Input((64, 64, 3))
    x = i
    for step in (2, 2, 1):
        x = layers.Conv2D(64, 5, step, "same", activation="relu")(x)
    x = layers.LayerNormalization()(layers.Reshape((256, 64))(x))
    k, v = layers.Dense(64, use_bias=False)(x), layers.Dense(64, use_bias=False)(x)
    ask, cell, norm = layers.Dense(64, use_bias=False), layers.Dense(64, "tanh"), layers.LayerNormalization()
    slots = layers.Dense(7 * 64)(layers.GlobalAveragePooling1D()(x))
    slots = layers.Reshape((7, 64))(slots)
    for _ in range(3):
        scores = ops.softmax(ops.einsum("bsd,bnd->bsn", ask(norm(slots)), k) / 8.0, axis=1)
        scores = scores / (1e-6 + ops.sum(scores, axis=-1, keepdims=True))
        slots = slots + cell(layers.Concatenate()([slots, ops.einsum("bsn,bnd->bsd", scores, v)]))
    y = ops.reshape(slots, (-1, 1, 1, 64)) + layers.Dense(64)(ops.ones((1, 8, 8, 4)))
    for width in (64, 64, 32):
        y = layers.Conv2DTranspose(width, 5, 2, "same", activation="relu")(y)
    y = ops.reshape(layers.Conv2D(4, 3, padding="same")(y), (-1, 7, 64, 64, 4))
    return _values(keras.Model(i, ops.sum(y[..., :3] * ops.softmax(y[..., 3:], axis=1), axis=1)))


# States


@_add
def gates_without_states():
    """minGRU: what is kept is a cumulative sum of logarithms."""
    i = keras.Input((128,), dtype="int32")
    x = layers.Embedding(5000, 192)(i)
    for _ in range(3):
        y = layers.LayerNormalization()(x)
        gate, new = layers.Dense(192)(y), layers.Dense(192)(y)
        kept = ops.cumsum(-ops.softplus(gate), axis=1)
        value = ops.logaddexp(-ops.softplus(-gate) + ops.log(1e-3 + ops.relu(new)) - kept, -20.0 + 0 * kept)
        x = _wide(x + layers.Dense(192)(ops.exp(kept) * ops.cumsum(ops.exp(value), axis=1)), 384)
    return _labelled(keras.Model(i, layers.Dense(5000)(x)), (128,), _logits())


@_add
def shifted_by_one_and_mixed():
    """RWKV's channels: each place is mixed with the one before it."""
    i = keras.Input((256,), dtype="int32")
    x = layers.Embedding(4000, 256)(i)
    for _ in range(4):
        y = layers.LayerNormalization()(x)
        last = ops.pad(y[:, :-1], ((0, 0), (1, 0), (0, 0)))
        key = ops.square(ops.relu(layers.Dense(896, use_bias=False)(0.5 * y + 0.5 * last)))
        x = x + ops.sigmoid(layers.Dense(256)(0.3 * y + 0.7 * last)) * layers.Dense(256, use_bias=False)(key)
    return _labelled(keras.Model(i, layers.Dense(4000)(layers.LayerNormalization()(x))), (256,), _logits())


@_add
def long_filters_and_gates():
    """Hyena's gates with filters of the whole length, as depthwise convolutions."""
    i = keras.Input((256, 16))
    x = layers.Dense(128)(i)
    for _ in range(3):
        u, v, w = (layers.Dense(128)(layers.LayerNormalization()(x)) for _ in range(3))
        y = layers.DepthwiseConv1D(64, padding="same")(u * v)
        x = _wide(x + layers.Dense(128)(y * w), 256)
    return _values(keras.Model(i, layers.Dense(8)(x)))


# Noise


@_add
def arms_from_noise():
    """A U-Net along time that makes moves of an arm, told by what is seen (FiLM)."""
    moves, seen, time = keras.Input((16, 7)), keras.Input((60,)), keras.Input((1,))
    told = layers.Concatenate()([seen, layers.Dense(128, "silu")(ops.sin(time * ops.arange(1.0, 65.0)))])

    def block(x, width):
        way = layers.Conv1D(width, 1)(x)
        for turn in range(2):
            x = layers.GroupNormalization(8)(layers.Conv1D(width, 5, padding="same")(x))
            x = ops.silu(x)
            if not turn:
                scale, shift = ops.split(layers.Reshape((1, 2 * width))(layers.Dense(2 * width)(told)), 2, -1)
                x = x * (1 + scale) + shift
        return x + way

    a = block(moves, 128)
    b = block(layers.Conv1D(128, 3, 2, "same")(a), 256)
    c = block(layers.Conv1D(256, 3, 2, "same")(b), 512)
    y = block(layers.Concatenate()([layers.UpSampling1D(2)(c), b]), 256)
    y = block(layers.Concatenate()([layers.UpSampling1D(2)(y), a]), 128)
    return _values(keras.Model([moves, seen, time], layers.Conv1D(7, 1)(y)))


@_add
def rows_of_tables_from_noise():
    row, time = keras.Input((48,)), keras.Input((1,))
    told = layers.Dense(512, "silu")(ops.cos(time * ops.arange(1.0, 129.0)))
    x = layers.Dense(512)(row) + layers.Dense(512)(told)
    for width in (512, 1024, 1024, 512):
        x = layers.Dropout(0.1)(layers.Dense(width, "relu")(x))
    return _values(keras.Model([row, time], layers.Dense(48)(x)))


# Boxes and outlines


def _trunk(x, widths=(32, 64, 128, 256)):
    found = []
    for width in widths:
        x = _norm(x, width, step=2)
        x = layers.ReLU()(x + _norm(_norm(x, width), width, activation=None))
        found.append(x)
    return found


@_add
def heads_shared_by_levels():
    """A pyramid whose levels share one head of convolutions: classes, sides of boxes, how central."""
    i = keras.Input((192, 192, 3))
    levels = [layers.Conv2D(96, 1)(one) for one in _trunk(i)[1:]]
    for at in (1, 0):
        levels[at] = levels[at] + layers.UpSampling2D()(levels[at + 1])
    tower = [layers.Conv2D(96, 3, padding="same", activation="relu") for _ in range(2)]
    ends = [layers.Conv2D(25, 3, padding="same")]
    found = []
    for x in levels:
        for one in tower + ends:
            x = one(x)
        found.append(layers.Reshape((-1, 25))(x))
    return _values(keras.Model(i, layers.Concatenate(axis=1)(found)), "huber")


@_add
def default_boxes():
    """SSD's extra layers, a classifier and a regressor at each of five sizes."""
    i = keras.Input((160, 160, 3))
    x, found = i, []
    for width in (32, 64, 128, 256, 256, 128):
        x = layers.Conv2D(width, 3, padding="same", activation="relu")(x)
        x = layers.MaxPooling2D()(layers.Conv2D(width, 3, padding="same", activation="relu")(x))
        if width > 64 or found:
            found.append(layers.Reshape((-1, 25))(layers.Conv2D(4 * 25, 3, padding="same")(x)))
    return _values(keras.Model(i, layers.Concatenate(axis=1)(found)), "mae")


@_add
def outlines_at_four_rates():
    i = keras.Input((128, 128, 3))
    x = low = _trunk(i, (32, 64))[-1]
    x = _norm(x, 256)
    ways = [_norm(x, 128, 1)]
    for rate in (3, 6, 9):
        y = layers.Conv2D(128, 3, padding="same", dilation_rate=rate, use_bias=False)(x)
        ways.append(layers.ReLU()(layers.BatchNormalization()(y)))
    y = layers.UpSampling2D(2, interpolation="bilinear")(_norm(layers.Concatenate()(ways), 128, 1))
    low = layers.UpSampling2D(2, interpolation="bilinear")(_norm(low, 24, 1))
    y = _norm(layers.Concatenate()([y, low]), 128)
    return _labelled(keras.Model(i, layers.Conv2D(21, 1, dtype="float32")(y)), (64, 64), _logits())


@_add
def all_levels_made_one_width():
    """A decoder of perceptrons only, on four levels."""
    i = keras.Input((128, 128, 3))
    made = []
    for at, x in enumerate(_trunk(i)):
        x = layers.Dense(128)(x)
        made.append(layers.UpSampling2D(2**at, interpolation="bilinear")(x) if at else x)
    x = _norm(layers.Concatenate()(made), 128, 1)
    return _labelled(keras.Model(i, layers.Conv2D(19, 1, dtype="float32")(x)), (64, 64), _logits())


@_add
def plain_u_of_bones():
    i = x = keras.Input((128, 128, 1))
    kept = []
    for width in (32, 64, 128):
        x = _norm(_norm(x, width), width)
        kept.append(x)
        x = layers.MaxPooling2D()(x)
    x = _norm(x, 256)
    for width in (128, 64, 32):
        x = layers.Concatenate()([layers.Conv2DTranspose(width, 2, 2)(x), kept.pop()])
        x = _norm(x, width)
    return _values(keras.Model(i, layers.Conv2D(1, 1, activation="sigmoid", dtype="float32")(x)), "dice")
