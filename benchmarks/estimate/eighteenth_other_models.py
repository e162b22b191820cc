"""The other half of the eighteenth set, written and hashed before anything of it was compiled, in one file with the
first: graphs, tastes, sounds and series, pictures, games.
"""

import keras
from eighteenth_look_models import _wide
from keras import layers, ops
from models import Case, _add
from third_look_models import _labelled, _values

# Graphs


@_add
def sums_of_neighbours():
    """Graph isomorphism networks on padded graphs."""
    nodes, edges = keras.Input((40, 16)), keras.Input((40, 40))
    x = nodes
    for _ in range(4):
        x = layers.Dense(128, "relu")(layers.Dense(128, "relu")(x + ops.matmul(edges, x)))
        x = layers.BatchNormalization()(x)
    return _values(keras.Model([nodes, edges], layers.Dense(1)(ops.sum(x, axis=1))))


@_add
def places_that_pull():
    """Messages from distances, which move the places, too."""
    nodes, places = keras.Input((24, 16)), keras.Input((24, 3))
    x, at = layers.Dense(64)(nodes), places
    for _ in range(3):
        apart = at[:, :, None] - at[:, None]
        far = ops.sum(ops.square(apart), axis=-1, keepdims=True)
        pairs = layers.Concatenate()([x[:, :, None] + 0 * far, x[:, None] + 0 * far, far])
        told = layers.Dense(64, "silu")(layers.Dense(64, "silu")(pairs))
        at = at + ops.mean(apart * layers.Dense(1)(layers.Dense(64, "silu")(told)), axis=2)
        x = x + layers.Dense(64)(layers.Concatenate()([x, ops.sum(told, axis=2)]))
    return _values(keras.Model([nodes, places], layers.Concatenate()([x, at])))


@_add
def powers_of_a_graph():
    """Chebyshev's polynomials of what joins the nodes."""
    nodes, edges = keras.Input((64, 32)), keras.Input((64, 64))
    x = nodes
    for width in (64, 128):
        before, now = x, ops.matmul(edges, x)
        terms = [before, now]
        for _ in range(2):
            before, now = now, 2 * ops.matmul(edges, now) - before
            terms.append(now)
        x = layers.Dense(width, "relu")(layers.Concatenate()(terms))
    return _labelled(keras.Model([nodes, edges], layers.Dense(6, "softmax")(ops.max(x, axis=1))))


# Tastes


@_add
def masks_told_by_all_fields():
    ids = keras.Input((16,), dtype="int32")
    x = flat = layers.Flatten()(layers.Embedding(50000, 16)(ids))
    for _ in range(3):
        mask = layers.Dense(x.shape[-1])(layers.Dense(512, "relu")(flat))
        x = layers.ReLU()(layers.LayerNormalization()(layers.Dense(256)(x * mask)))
    return _values(keras.Model(ids, layers.Dense(1, "sigmoid")(x)), "binary_crossentropy")


@_add
def tastes_as_a_distribution():
    """An autoencoder of all that somebody clicked, with a latent that is drawn."""
    i = keras.Input((6000,))
    x = layers.Dropout(0.5)(i / (1e-6 + ops.sqrt(ops.sum(ops.square(i), -1, keepdims=True))))
    mean, log = ops.split(layers.Dense(400)(layers.Dense(600, "tanh")(x)), 2, -1)
    z = mean + ops.exp(log / 2) * layers.GaussianNoise(1.0)(0 * log)
    y = layers.Dense(6000)(layers.Dense(600, "tanh")(z))
    return _values(keras.Model(i, y), keras.losses.CategoricalCrossentropy(from_logits=True))


@_add
def weights_from_squeezed_fields():
    """Fields weighed by what all of them say, then multiplied in pairs."""
    ids = keras.Input((20,), dtype="int32")
    x = layers.Embedding(30000, 16)(ids)
    weight = layers.Dense(20, "relu")(layers.Dense(6, "relu")(ops.mean(x, axis=-1)))
    y = layers.Dense(16, use_bias=False)(x * weight[..., None])
    pairs = ops.einsum("bid,bjd->bijd", y, x)
    z = layers.Dense(256, "relu")(layers.Reshape((20 * 20 * 16,))(pairs))
    return _values(keras.Model(ids, layers.Dense(1, "sigmoid")(z)), "binary_crossentropy")


# Sounds and series


@_add
def keywords_along_time():
    i = x = keras.Input((98, 40))
    x = layers.Conv1D(64, 3, padding="same", use_bias=False)(x)
    for width, step in ((96, 2), (128, 2), (192, 2)):
        way = layers.ReLU()(layers.BatchNormalization()(layers.Conv1D(width, 1, step, use_bias=False)(x)))
        y = layers.Conv1D(width, 9, step, "same", use_bias=False)(x)
        y = layers.ReLU()(layers.BatchNormalization()(y))
        y = layers.BatchNormalization()(layers.Conv1D(width, 9, padding="same", use_bias=False)(y))
        x = layers.ReLU()(y + way)
    return _labelled(keras.Model(i, layers.Dense(12, "softmax")(layers.GlobalAveragePooling1D()(x))))


@_add
def speakers_by_pieces_of_channels():
    """Each eighth of the channels is convolved with what the eighth before it gave; channels are weighed."""
    i = keras.Input((200, 80))
    x = layers.ReLU()(layers.BatchNormalization()(layers.Conv1D(256, 5, padding="same")(i)))
    for rate in (2, 3):
        parts = ops.split(layers.Conv1D(256, 1, activation="relu")(x), 4, -1)
        for at in range(1, 4):
            before = parts[at] + parts[at - 1] if at > 1 else parts[at]
            y = layers.Conv1D(64, 3, padding="same", dilation_rate=rate, activation="relu")(before)
            parts[at] = layers.BatchNormalization()(y)
        y = layers.Conv1D(256, 1, activation="relu")(layers.Concatenate()(parts))
        gate = layers.Dense(256, "sigmoid")(layers.Dense(64, "relu")(layers.GlobalAveragePooling1D()(y)))
        x = x + y * gate[:, None]
    return _labelled(keras.Model(i, layers.Dense(500, "softmax")(layers.GlobalMaxPooling1D()(x))))


@_add
def periods_as_pictures():
    """A series folded by its periods is convolved as a picture, and the ways are weighed."""
    i = keras.Input((96, 8))
    x = layers.Dense(32)(i)
    for _ in range(2):
        ways = []
        for period in (24, 12, 8):
            y = layers.Reshape((96 // period, period, 32))(x)
            y = layers.Conv2D(64, 3, padding="same", activation="gelu")(y)
            ways.append(layers.Reshape((96, 32))(layers.Conv2D(32, 3, padding="same")(y)))
        weight = ops.softmax(layers.Dense(3)(ops.mean(x, axis=1)))
        x = x + ops.sum(ops.stack(ways, -1) * weight[:, None, None], -1)
        x = layers.LayerNormalization()(x)
    return _values(keras.Model(i, layers.Dense(8)(x)))


@_add
def segments_in_a_recurrent_layer():
    i = keras.Input((720, 7))
    x = layers.Reshape((15, 48))(layers.Reshape((720,))(i[..., 0]))
    x = layers.GRU(256)(layers.Dense(256, "relu")(x))
    return _values(keras.Model(i, layers.Dense(96)(x)))


# Pictures


@_add
def views_without_opposites():
    """Two views of a picture; what varies too little, and what varies together, costs."""
    a, b = keras.Input((32, 32, 3)), keras.Input((32, 32, 3))
    trunk = keras.Sequential([layers.Conv2D(w, 3, 2, "same", activation="relu") for w in (64, 128, 256)])
    top = keras.Sequential([layers.GlobalAveragePooling2D(), layers.Dense(1024, "relu"), layers.Dense(1024)])
    x, y = top(trunk(a)), top(trunk(b))

    class Cost(layers.Layer):
        def call(self, x, y):
            cost = ops.mean(ops.square(x - y))
            for one in (x, y):
                one = one - ops.mean(one, axis=0)
                cost += ops.mean(ops.relu(1 - ops.sqrt(ops.var(one, axis=0) + 1e-4)))
                both = ops.matmul(ops.transpose(one), one) / 255.0
                cost += (ops.sum(ops.square(both)) - ops.sum(ops.square(ops.diagonal(both)))) / 1024.0
            self.add_loss(cost)
            return ops.sum(x, -1, keepdims=True)

    return _values(keras.Model([a, b], Cost()(x, y)))


def _known(name, side, classes, **options):
    model = getattr(keras.applications, name)(
        weights=None, input_shape=(side, side, 3), classes=classes, **options
    )
    return Case(model, "sparse_categorical_crossentropy", [((side, side, 3), "float32")], ((), "int32"))


@_add
def thirteen_layers_of_tiles():
    return _known("VGG16", 96, 10)


@_add
def half_a_mobile():
    return _known("MobileNet", 128, 100, alpha=0.5)


@_add
def past_games():
    """Returns, states and acts in turns, and the next act."""
    returns, states, acts = keras.Input((20, 1)), keras.Input((20, 17)), keras.Input((20, 6))
    x = ops.stack([layers.Dense(128)(one) for one in (returns, states, acts)], axis=2)
    x = layers.LayerNormalization()(layers.Reshape((60, 128))(x))
    for _ in range(3):
        y = layers.LayerNormalization()(x)
        x = _wide(x + layers.MultiHeadAttention(1, 128)(y, y, use_causal_mask=True), 512, "relu")
    x = layers.Reshape((20, 3, 128))(x)[:, :, 1]
    return _values(keras.Model([returns, states, acts], layers.Dense(6, "tanh")(x)))
