"""A fourth set for the rules for XLA, written before anything of it was compiled: other kinds of models than before.

Classifiers of scans, sounds and texts, generators, detectors, recommenders, physics, and steps with second derivatives.
The names are of what each is. Those that train by a step of their own are for Keras on TensorFlow.
"""

import keras
import tensorflow as tf
from keras import layers, ops
from models import Case, Positions, Sampling, _add
from third_look_models import _bn, _classes, _labelled, _logits, _values


def _yes_no(i, x):
    x = layers.Dense(1, activation="sigmoid", dtype="float32")(x)
    return _values(keras.Model(i, x), "binary_crossentropy")


def _attended(x, heads=4, width=None, more=4, **options):
    size = x.shape[-1]
    y = layers.LayerNormalization(epsilon=1e-6)(x)
    x = x + layers.MultiHeadAttention(heads, (width or size) // heads)(y, y, **options)
    y = layers.Dense(more * size, activation="gelu")(layers.LayerNormalization(epsilon=1e-6)(x))
    return x + layers.Dense(size)(y)


# Pictures


@_add
def scans():
    """Sick or not, from grey pictures: the first network of a course."""
    i = x = keras.Input((150, 150, 1))
    x = layers.Rescaling(1 / 255)(x)
    for width in (32, 64, 128, 128):
        x = layers.MaxPooling2D()(layers.Conv2D(width, 3, activation="relu")(x))
    x = layers.Dropout(0.5)(layers.Flatten()(x))
    return _yes_no(i, layers.Dense(512, activation="relu")(x))


@_add
def separable_scans():
    """Separable convolutions with batch normalization and dropout, and a deep head."""
    i = x = keras.Input((180, 180, 3))
    x = layers.Conv2D(16, 3, padding="same", activation="relu")(x)
    x = layers.MaxPooling2D()(layers.Conv2D(16, 3, padding="same", activation="relu")(x))
    for width in (32, 64, 128, 256):
        for _ in range(2):
            x = layers.SeparableConv2D(width, 3, padding="same", activation="relu")(x)
        x = layers.MaxPooling2D()(layers.BatchNormalization()(x))
    x = layers.Dropout(0.2)(layers.Flatten()(x))
    for width, rate in ((512, 0.7), (128, 0.5), (64, 0.3)):
        x = layers.Dense(width, activation="relu")(x)
        x = layers.Dropout(rate)(layers.BatchNormalization()(x))
    return _yes_no(i, x)


@_add
def landmarks():
    """Points of a face: convolutions with slopes that are learned."""
    i = x = keras.Input((96, 96, 1))
    for width in (32, 64, 128, 256):
        x = layers.PReLU(shared_axes=(1, 2))(layers.Conv2D(width, 3, padding="same", use_bias=False)(x))
        x = layers.MaxPooling2D()(layers.BatchNormalization()(x))
    x = layers.Dropout(0.1)(layers.Dense(512, activation="relu")(layers.Flatten()(x)))
    return _values(keras.Model(i, layers.Dense(30, dtype="float32")(x)), "mae")


class Capsules(layers.Layer):
    """Routing by agreement, three rounds."""

    def build(self, shape):
        self.kernel = self.add_weight(shape=(10, shape[1], 16, shape[2]), name="kernel")

    def call(self, x):
        votes = ops.einsum("cimk,bik->bcim", self.kernel, x)
        scores = ops.zeros_like(votes[..., :1])
        for _ in range(3):
            made = ops.sum(ops.softmax(scores, axis=1) * votes, axis=2, keepdims=True)
            norm = ops.sum(ops.square(made), axis=-1, keepdims=True)
            made = made * (norm / (1 + norm) / ops.sqrt(norm + 1e-7))
            scores = scores + ops.sum(votes * made, axis=-1, keepdims=True)
        return ops.squeeze(made, axis=2)


@_add
def digit_capsules():
    i = keras.Input((28, 28, 1))
    x = layers.Conv2D(128, 9, activation="relu")(i)
    x = layers.Reshape((6 * 6 * 16, 8))(layers.Conv2D(128, 9, strides=2)(x))
    norm = ops.sum(ops.square(x), axis=-1, keepdims=True)
    x = Capsules(dtype="float32")(x * (norm / (1 + norm) / ops.sqrt(norm + 1e-7)))
    x = ops.sqrt(ops.sum(ops.square(x), axis=-1) + 1e-7)
    return Case(keras.Model(i, x), "categorical_hinge", [((28, 28, 1), "float32")], ((10,), "float32"))


@_add
def center_points():
    """Objects as peaks of a heat map, enlarged three times by transposed convolutions."""
    i = keras.Input((192, 192, 3))
    x = layers.MaxPooling2D(3, 2, padding="same")(_bn(i, 32, 7, strides=2))
    for width in (64, 128, 256):
        y = _bn(_bn(x, width, strides=2), width, 3, None)
        x = layers.ReLU()(y + _bn(x, width, 1, None, strides=2))
    for width in (128, 64, 32):
        x = layers.Conv2DTranspose(width, 4, 2, padding="same", use_bias=False)(x)
        x = layers.ReLU()(layers.BatchNormalization()(x))
    heat = layers.Conv2D(20, 1, activation="sigmoid")(
        layers.Conv2D(64, 3, padding="same", activation="relu")(x)
    )
    size = layers.Conv2D(4, 1)(layers.Conv2D(64, 3, padding="same", activation="relu")(x))
    out = layers.Activation("linear", dtype="float32")(layers.concatenate([heat, size]))

    def loss(wanted, found):
        peaks, p = wanted[..., :20], ops.clip(found[..., :20], 1e-4, 1 - 1e-4)
        there = peaks * ops.square(1 - p) * ops.log(p)
        away = (1 - peaks) * ops.power(1 - peaks, 4) * ops.square(p) * ops.log(1 - p)
        return -ops.mean(there + away) + 0.1 * ops.mean(ops.abs(wanted[..., 20:] - found[..., 20:]))

    return _values(keras.Model(i, out), loss)


@_add
def one_stage_boxes():
    """A grid of boxes from a dark network: leaky units, residuals, a pyramid of two."""

    def leaky(x, width, side=3, **options):
        return _bn(x, width, side, layers.LeakyReLU(negative_slope=0.1), **options)

    i = keras.Input((224, 224, 3))
    x, kept = leaky(i, 16), []
    for width, count in ((32, 1), (64, 1), (128, 2), (256, 2)):
        x = leaky(x, width, strides=2)
        for _ in range(count):
            x = x + leaky(leaky(x, width // 2, 1), width)
        kept.append(x)
    top = leaky(x, 128, 1)
    low = layers.concatenate([layers.UpSampling2D()(leaky(top, 64, 1)), kept[-2]])
    made = [layers.Conv2D(75, 1)(leaky(one, width)) for one, width in ((top, 256), (low, 128))]
    out = layers.concatenate([layers.Reshape((-1, 25))(one) for one in made], axis=1)
    out = layers.Activation("linear", dtype="float32")(out)

    def loss(wanted, found):
        there = wanted[..., 4:5]
        box = ops.sum(there * ops.square(wanted[..., :4] - ops.sigmoid(found[..., :4])))
        rest = ops.binary_crossentropy(wanted[..., 4:], found[..., 4:], from_logits=True)
        return box + ops.sum(rest)

    return _values(keras.Model(i, out), loss)


@_add
def dark_pictures():
    """Curves that brighten a picture, applied eight times; a loss without labels."""
    i = keras.Input((128, 128, 3))
    kept = [layers.Conv2D(32, 3, padding="same", activation="relu")(i)]
    for _ in range(3):
        kept.append(layers.Conv2D(32, 3, padding="same", activation="relu")(kept[-1]))
    x = kept.pop()
    for _ in range(3):
        x = layers.Conv2D(32, 3, padding="same", activation="relu")(layers.concatenate([x, kept.pop()]))
    curves = layers.Conv2D(24, 3, padding="same", activation="tanh", dtype="float32")(x)
    made = ops.cast(i, "float32")
    for step in range(8):
        made = made + curves[..., 3 * step : 3 * step + 3] * (ops.square(made) - made)

    def loss(_, found):
        bright = ops.mean(ops.square(ops.nn.average_pool(ops.mean(found, -1, keepdims=True), 16, 16) - 0.6))
        red, green, blue = (ops.mean(found[..., one], axis=(1, 2)) for one in range(3))
        return bright + ops.mean(ops.square(red - green) + ops.square(green - blue) + ops.square(blue - red))

    return Case(keras.Model(i, made), loss, [((128, 128, 3), "float32")], ((128, 128, 3), "float32"))


@_add
def fully_convolutional():
    """Classes of pixels from three depths of a plain network, summed."""
    i = x = keras.Input((128, 128, 3))
    depths = []
    for width, count in ((32, 2), (64, 2), (128, 3), (256, 3), (256, 3)):
        for _ in range(count):
            x = layers.Conv2D(width, 3, padding="same", activation="relu")(x)
        x = layers.MaxPooling2D()(x)
        depths.append(x)
    x = layers.Dropout(0.5)(layers.Conv2D(512, 7, padding="same", activation="relu")(x))
    x = layers.Conv2D(21, 1)(layers.Dropout(0.5)(layers.Conv2D(512, 1, activation="relu")(x)))
    for depth in (depths[3], depths[2]):
        x = layers.Conv2DTranspose(21, 4, 2, padding="same", use_bias=False)(x) + layers.Conv2D(21, 1)(depth)
    x = layers.Conv2DTranspose(21, 16, 8, padding="same", dtype="float32")(x)
    return _labelled(keras.Model(i, x), (128, 128), _logits())


@_add
def depth_map():
    """Distances of pixels: leaky units, bilinear enlargement, differences of neighbours in the loss."""
    i = x = keras.Input((128, 160, 3))
    kept = []
    for width in (16, 32, 64, 128):
        for _ in range(2):
            x = layers.BatchNormalization()(layers.Conv2D(width, 3, padding="same")(x))
            x = layers.LeakyReLU(negative_slope=0.2)(x)
        kept.append(x)
        x = layers.MaxPooling2D()(x)
    for width, skip in zip((128, 64, 32, 16), reversed(kept)):
        x = layers.concatenate([layers.UpSampling2D(interpolation="bilinear")(x), skip])
        for _ in range(2):
            x = layers.LeakyReLU(negative_slope=0.2)(layers.Conv2D(width, 3, padding="same")(x))
    x = layers.Conv2D(1, 1, activation="tanh", dtype="float32")(x)

    def loss(wanted, found):
        error = wanted - found
        down, right = error[:, 1:] - error[:, :-1], error[:, :, 1:] - error[:, :, :-1]
        return ops.mean(ops.abs(error)) + ops.mean(ops.abs(down)) + ops.mean(ops.abs(right))

    return _values(keras.Model(i, x), loss)


@_add
def frozen_below():
    """Fine-tuning: the upper blocks of a known network are trained, batch normalization is not."""
    base = keras.applications.EfficientNetB0(weights=None, include_top=False, input_shape=(128, 128, 3))
    for layer in base.layers[:-60]:
        layer.trainable = False
    i = keras.Input((128, 128, 3))
    x = layers.GlobalAveragePooling2D()(base(i, training=False))
    return _classes(i, layers.Dropout(0.3)(layers.Dense(256, activation="relu")(x)), 120)


@_add
def augmented_inside():
    """Flips, brightness and noise in the model, then a small residual network."""
    i = keras.Input((64, 64, 3))
    x = layers.RandomFlip("horizontal")(i)
    x = layers.GaussianNoise(0.05)(layers.Rescaling(1 / 255)(x))
    x = _bn(x, 32)
    for width in (32, 64, 128):
        y = layers.SpatialDropout2D(0.1)(_bn(x, width, strides=2))
        x = layers.ReLU()(_bn(y, width, 3, None) + layers.Conv2D(width, 1, strides=2)(x))
    return _classes(i, layers.GlobalMaxPooling2D()(x), 43)


class PicturePatches(layers.Layer):
    def call(self, x):
        return ops.image.extract_patches(x, 3, strides=1, padding="same")


@_add
def involutions():
    """Kernels made from each pixel, applied to patches around it."""
    i = x = keras.Input((48, 48, 3))
    x = layers.Conv2D(16, 3, padding="same", activation="relu")(x)
    for _ in range(3):
        side, width = x.shape[1], x.shape[-1]
        kernel = layers.Conv2D(9, 1)(layers.ReLU()(layers.BatchNormalization()(layers.Conv2D(8, 1)(x))))
        patches = layers.Reshape((side, side, 9, width))(PicturePatches()(x))
        x = ops.sum(layers.Reshape((side, side, 9, 1))(kernel) * patches, axis=3)
        x = layers.MaxPooling2D()(layers.ReLU()(x))
    return _classes(i, layers.Dense(64, activation="relu")(layers.Flatten()(x)))


@_add
def two_memories():
    """Attention to memories that are learned, in place of one's own (external attention)."""
    i = keras.Input((64, 64, 3))
    x = Positions()(layers.Reshape((256, 128))(layers.Conv2D(128, 4, strides=4)(i)))
    for _ in range(4):
        y = layers.Reshape((256, 4, 32))(layers.Dense(128)(layers.LayerNormalization()(x)))
        y = layers.Softmax(axis=1)(layers.Dense(64)(layers.Permute((2, 1, 3))(y)))
        y = layers.Dense(32)(y / (1e-9 + ops.sum(y, axis=-1, keepdims=True)))
        y = layers.Reshape((256, 128))(layers.Permute((2, 1, 3))(y))
        x = x + layers.Dropout(0.2)(layers.Dense(128)(y))
        y = layers.Dense(512, activation="gelu")(layers.LayerNormalization()(x))
        x = x + layers.Dropout(0.2)(layers.Dense(128)(y))
    return _classes(i, layers.GlobalAveragePooling1D()(layers.LayerNormalization()(x)), 100)


@_add
def hidden_patches():
    """A masked autoencoder: a quarter of the patches is read, the others are made."""
    i = keras.Input((96, 96, 3))
    patches = layers.Reshape((144, 192))(
        layers.Permute((1, 3, 2, 4, 5))(layers.Reshape((12, 8, 12, 8, 3))(i))
    )
    x = Positions()(layers.Dense(192)(patches))[:, ::4]
    for _ in range(4):
        x = _attended(x, 6)
    x = layers.Dense(96)(layers.LayerNormalization()(x))
    x = ops.reshape(ops.stack([x, x * 0, x * 0, x * 0], axis=2), (-1, 144, 96))
    x = Positions()(x)
    for _ in range(2):
        x = _attended(x, 3)
    return _values(keras.Model(i, layers.Dense(192, dtype="float32")(layers.LayerNormalization()(x))))


# Volumes and films


@_add
def volume_unet():
    i = x = keras.Input((48, 48, 48, 1))
    kept = []
    for width in (16, 32):
        for _ in range(2):
            x = layers.ReLU()(layers.GroupNormalization(8)(layers.Conv3D(width, 3, padding="same")(x)))
        kept.append(x)
        x = layers.MaxPooling3D()(x)
    x = layers.Conv3D(64, 3, padding="same", activation="relu")(x)
    for width, skip in zip((32, 16), reversed(kept)):
        x = layers.concatenate([layers.Conv3DTranspose(width, 2, 2)(x), skip])
        x = layers.Conv3D(width, 3, padding="same", activation="relu")(x)
    x = layers.Conv3D(4, 1, activation="softmax", dtype="float32")(x)
    return _labelled(keras.Model(i, x), (48, 48, 48))


@_add
def film_transformer():
    """Features of frames, attended over time."""
    i = keras.Input((20, 1024))
    x = Positions()(i)
    for _ in range(2):
        y = layers.MultiHeadAttention(8, 128, dropout=0.3)(x, x)
        x = layers.LayerNormalization()(x + y)
        y = layers.Dense(1024)(layers.Dense(512, activation="gelu")(x))
        x = layers.LayerNormalization()(x + y)
    return _classes(i, layers.Dropout(0.5)(layers.GlobalMaxPooling1D()(x)), 20)


@_add
def space_then_time():
    """Convolutions over the sides, then over time, with residuals (2+1 dimensions)."""
    i = keras.Input((8, 64, 64, 3))

    def both(x, width, **options):
        x = layers.Conv3D(width, (1, 3, 3), padding="same")(x)
        return layers.BatchNormalization()(layers.Conv3D(width, (3, 1, 1), padding="same")(x))

    x = layers.ReLU()(both(i, 16))
    for width in (16, 32, 64):
        y = both(layers.ReLU()(both(x, width)), width)
        if x.shape[-1] != width:
            x = layers.LayerNormalization()(layers.Dense(width)(x))
        x = layers.AveragePooling3D((1, 2, 2))(layers.ReLU()(x + y))
    return _classes(i, layers.GlobalAveragePooling3D()(x))


# Sounds and series


@_add
def raw_sounds():
    """Convolutions on the wave itself, wide at first."""
    i = x = keras.Input((16000, 1))
    for width, side, step in ((64, 80, 16), (64, 3, 1), (128, 3, 1), (256, 3, 1)):
        x = layers.Conv1D(width, side, strides=step, use_bias=False)(x)
        x = layers.MaxPooling1D(4)(layers.ReLU()(layers.BatchNormalization()(x)))
    return _classes(i, layers.GlobalAveragePooling1D()(x), 35)


@_add
def loudness_inside():
    """The spectrogram is made in the model."""
    i = keras.Input((16000,))
    x = layers.MelSpectrogram(fft_length=512, sequence_stride=160, sampling_rate=16000, num_mel_bins=64)(i)
    x = layers.Reshape((64, -1, 1))(x)
    for width in (32, 64, 128):
        x = layers.MaxPooling2D()(_bn(x, width))
    return _classes(i, layers.Dropout(0.3)(layers.GlobalAveragePooling2D()(x)), 12)


@_add
def heart_beats():
    """A residual network along one axis with gates of its channels."""
    i = keras.Input((1000, 12))
    x = layers.Conv1D(64, 15, padding="same", strides=2, use_bias=False)(i)
    for width, step in ((64, 1), (128, 2), (256, 2)):
        y = layers.ReLU()(layers.BatchNormalization()(x))
        y = layers.Conv1D(width, 7, strides=step, padding="same", use_bias=False)(y)
        y = layers.Dropout(0.2)(layers.ReLU()(layers.BatchNormalization()(y)))
        y = layers.Conv1D(width, 7, padding="same", use_bias=False)(y)
        gate = layers.Dense(width // 8, activation="relu")(layers.GlobalAveragePooling1D()(y))
        y = y * layers.Reshape((1, width))(layers.Dense(width, activation="sigmoid")(gate))
        x = y + layers.Conv1D(width, 1, strides=step, padding="same")(x)
    x = layers.Dense(5, activation="sigmoid", dtype="float32")(layers.GlobalAveragePooling1D()(x))
    return _values(keras.Model(i, x), "binary_crossentropy")


@_add
def stacked_forecasts():
    """Blocks of dense layers that take off what they explain (N-BEATS)."""
    i = rest = keras.Input((168,))
    total = None
    for _ in range(6):
        x = rest
        for _ in range(4):
            x = layers.Dense(512, activation="relu")(x)
        rest = layers.subtract([rest, layers.Dense(168)(x)])
        part = layers.Dense(24)(x)
        total = part if total is None else layers.add([total, part])
    return _values(keras.Model(i, layers.Activation("linear", dtype="float32")(total)), "mae")


@_add
def traffic():
    """Neighbouring streets by their matrix, then a recurrent layer for each."""
    i = keras.Input((12, 64, 1))
    near = keras.Variable(tf.zeros((64, 64)), trainable=False)
    x = ops.einsum("ij,btjc->btic", ops.cast(near, i.dtype), layers.Dense(16)(i))
    x = layers.ReLU()(layers.concatenate([x, layers.Dense(16)(i)]))
    x = ops.reshape(layers.Permute((2, 1, 3))(x), (-1, 12, 32))
    x = layers.Dense(9, dtype="float32")(layers.LSTM(64, activation="relu", use_cudnn=False)(x))
    return _values(keras.Model(i, ops.reshape(x, (-1, 64, 9))))


@_add
def sums_by_rnn():
    """Sums of numbers as texts: one reads, one writes."""
    i = keras.Input((7, 12))
    x = layers.RepeatVector(4)(layers.LSTM(128, use_cudnn=False)(i))
    x = layers.LSTM(128, return_sequences=True, use_cudnn=False)(x)
    x = layers.Dense(12, activation="softmax", dtype="float32")(x)
    return Case(keras.Model(i, x), "categorical_crossentropy", [((7, 12), "float32")], ((4, 12), "float32"))


# Texts


class Fourier(layers.Layer):
    def call(self, x):
        zeros = ops.zeros_like(x)
        return ops.fft2((ops.cast(x, "float32"), ops.cast(zeros, "float32")))[0]


@_add
def fourier_text():
    """Mixing by Fourier transforms in place of attention."""
    i = keras.Input((128,), dtype="int32")
    x = Positions()(layers.Embedding(8000, 256)(i))
    for _ in range(3):
        x = layers.LayerNormalization()(x + Fourier()(x))
        y = layers.Dense(256)(layers.Dense(512, activation="relu")(x))
        x = layers.LayerNormalization()(x + y)
    return _yes_no(i, layers.Dropout(0.1)(layers.GlobalAveragePooling1D()(x)))


@_add
def many_experts():
    """A dense mixture: each position's feed-forward is weighed from four."""
    i = keras.Input((128,), dtype="int32")
    x = Positions()(layers.Embedding(12000, 256)(i))
    for _ in range(2):
        y = layers.LayerNormalization()(x)
        x = x + layers.MultiHeadAttention(4, 64)(y, y)
        y = layers.LayerNormalization()(x)
        gates = layers.Dense(4, activation="softmax")(y)
        made = [layers.Dense(256)(layers.Dense(512, activation="relu")(y)) for _ in range(4)]
        x = x + ops.einsum("btke,btk->bte", ops.stack(made, axis=2), gates)
    return _classes(i, layers.GlobalAveragePooling1D()(x), 20)


@_add
def pairs_of_sentences():
    """A small encoder for two sentences in one, with kinds of tokens and a padding mask."""
    words, kinds = keras.Input((96,), dtype="int32"), keras.Input((96,), dtype="int32")
    mask = ops.expand_dims(ops.not_equal(words, 0), 1)
    x = layers.Embedding(20000, 256)(words) + layers.Embedding(2, 256)(kinds)
    x = layers.Dropout(0.1)(layers.LayerNormalization()(Positions()(x)))
    for _ in range(4):
        y = layers.MultiHeadAttention(4, 64, dropout=0.1)(x, x, attention_mask=mask)
        x = layers.LayerNormalization(epsilon=1e-12)(x + layers.Dropout(0.1)(y))
        y = layers.Dense(256)(layers.Dense(1024, activation="gelu")(x))
        x = layers.LayerNormalization(epsilon=1e-12)(x + layers.Dropout(0.1)(y))
    x = layers.Dropout(0.1)(layers.Dense(256, activation="tanh")(x[:, 0]))
    return _labelled(keras.Model([words, kinds], layers.Dense(3, activation="softmax", dtype="float32")(x)))


@_add
def named_entities():
    """Tags of words; padding does not count in the loss."""
    i = keras.Input((128,), dtype="int32")
    x = Positions()(layers.Embedding(20000, 128)(i))
    y = layers.Dropout(0.1)(layers.MultiHeadAttention(4, 32)(x, x))
    x = layers.LayerNormalization(epsilon=1e-6)(x + y)
    y = layers.Dropout(0.1)(layers.Dense(128)(layers.Dense(64, activation="relu")(x)))
    x = layers.LayerNormalization(epsilon=1e-6)(x + y)
    x = layers.Dense(9, dtype="float32")(layers.Dropout(0.1)(layers.Dense(64, activation="relu")(x)))

    def loss(wanted, found):
        each = ops.sparse_categorical_crossentropy(wanted, found, from_logits=True)
        counts = ops.cast(wanted > 0, "float32")
        return ops.sum(each * counts) / ops.maximum(ops.sum(counts), 1.0)

    return _labelled(keras.Model(i, x), (128,), loss)


@_add
def bag_of_words():
    """Topics of news from which words occur."""
    i = x = keras.Input((10000,))
    for _ in range(2):
        x = layers.Dropout(0.5)(layers.Dense(512, activation="relu")(x))
    return _classes(i, x, 46)


@_add
def questions_to_stories():
    """A memory network: a story's sentences matched with a question."""
    story, question = keras.Input((68,), dtype="int32"), keras.Input((4,), dtype="int32")
    one = layers.Dropout(0.3)(layers.Embedding(64, 64)(story))
    two = layers.Dropout(0.3)(layers.Embedding(64, 4)(story))
    asked = layers.Dropout(0.3)(layers.Embedding(64, 64)(question))
    match = layers.Softmax()(layers.Dot((2, 2))([one, asked]))
    x = layers.Permute((2, 1))(layers.add([match, two]))
    x = layers.concatenate([x, asked])
    x = layers.Dropout(0.3)(layers.LSTM(32, use_cudnn=False)(x))
    return _labelled(
        keras.Model([story, question], layers.Dense(64, activation="softmax", dtype="float32")(x))
    )


# Tables, tastes, graphs, molecules


@_add
def residual_table():
    """A residual network for tables, with layer normalization and numbers each given a vector."""
    i = keras.Input((40,))
    x = layers.Flatten()(ops.expand_dims(i, -1) * layers.Reshape((40, 16))(layers.Dense(640)(i)))
    x = layers.Dense(512)(x)
    for _ in range(4):
        y = layers.Dense(1024, activation="relu")(layers.BatchNormalization()(x))
        x = x + layers.Dropout(0.1)(layers.Dense(512)(layers.Dropout(0.2)(y)))
    return _classes(i, layers.ReLU()(layers.BatchNormalization()(x)), 7)


@_add
def highways():
    i = keras.Input((256,))
    x = layers.Dense(512, activation="relu")(i)
    for _ in range(8):
        gate = layers.Dense(512, activation="sigmoid")(x)
        x = gate * layers.Dense(512, activation="relu")(x) + (1 - gate) * x
    return _classes(i, x, 10)


class TwoTowers(keras.Model):
    """Who took what: the others of the batch are what was not taken."""

    def train_step(self, data):
        (person, thing), _ = data
        with tf.GradientTape() as tape:
            found = self((person, thing), training=True)
            one, two = tf.split(found, 2, axis=1)
            scores = tf.matmul(one, two, transpose_b=True)
            loss = tf.reduce_mean(
                tf.nn.sparse_softmax_cross_entropy_with_logits(tf.range(tf.shape(scores)[0]), scores)
            )
        gradients = tape.gradient(loss, self.trainable_variables)
        self.optimizer.apply_gradients(zip(gradients, self.trainable_variables))
        return {"loss": loss}


@_add
def two_towers():
    ids = [keras.Input((), dtype="int32") for _ in range(2)]
    made = []
    for one, count in zip(ids, (50000, 20000)):
        x = layers.Embedding(count, 64)(one)
        made.append(layers.Dense(64, dtype="float32")(layers.Dense(256, activation="relu")(x)))
    model = TwoTowers(ids, layers.concatenate(made, dtype="float32"))
    return Case(model, "mse", [((), "int32"), ((), "int32")], ((), "float32"))


@_add
def next_thing():
    """What comes next in a history: causal attention, scores of all things by the table itself."""
    i = keras.Input((50,), dtype="int32")
    table = layers.Embedding(10000, 64)
    x = layers.Dropout(0.2)(Positions()(table(i)))
    for _ in range(2):
        x = _attended(x, 2, more=1, use_causal_mask=True)
    x = layers.LayerNormalization()(x)
    scores = ops.matmul(x, ops.transpose(ops.cast(table.embeddings, x.dtype)))
    return _labelled(keras.Model(i, layers.Activation("linear", dtype="float32")(scores)), (50,), _logits())


@_add
def attended_history():
    """Whether somebody clicks: a candidate weighs what was clicked before."""
    past, now = keras.Input((100,), dtype="int32"), keras.Input((), dtype="int32")
    table = layers.Embedding(30000, 32)
    seen, asked = table(past), layers.RepeatVector(100)(table(now))
    x = layers.concatenate([seen, asked, seen - asked, seen * asked])
    weight = layers.Dense(1)(layers.Dense(36, activation="sigmoid")(x))
    taste = ops.sum(weight * seen, axis=1)
    x = layers.concatenate([taste, table(now)])
    for width in (200, 80):
        x = layers.PReLU()(layers.BatchNormalization()(layers.Dense(width)(x)))
    return _yes_no([past, now], x)


@_add
def molecules():
    """Messages along bonds, four rounds, weights for each kind of bond."""
    atoms, bonds = keras.Input((32, 16)), keras.Input((32, 32, 4))
    x = layers.Dense(128)(atoms)
    for _ in range(4):
        y = layers.Reshape((32, 4, 128))(layers.Dense(512)(x))
        y = ops.einsum("bijk,bjkc->bic", bonds, y)
        x = layers.LayerNormalization()(x + layers.Dense(128, activation="relu")(y))
    x = layers.Dense(256, activation="relu")(ops.sum(x, axis=1))
    return _yes_no([atoms, bonds], x)


# Distributions and physics


class Couplings(keras.Model):
    """Real-valued, not preserving volume: masked couplings, likelihood by the sum of their scales."""

    def train_step(self, data):
        x, _ = data
        with tf.GradientTape() as tape:
            made, scale = tf.split(self(x, training=True), [x.shape[1], 1], axis=1)
            loss = tf.reduce_mean(0.5 * tf.reduce_sum(tf.square(made), axis=1) - scale[:, 0])
        gradients = tape.gradient(loss, self.trainable_variables)
        self.optimizer.apply_gradients(zip(gradients, self.trainable_variables))
        return {"loss": loss}


@_add
def couplings():
    i = x = keras.Input((64,))
    total = None
    for step in range(6):
        mask = ops.cast(ops.arange(64) % 2 == step % 2, "float32")
        kept = x * mask
        made = []
        for last in ("linear", "tanh"):
            y = kept
            for _ in range(3):
                y = layers.Dense(256, activation="relu")(y)
            made.append(layers.Dense(64, activation=last)(y))
        move, scale = made[0] * (1 - mask), made[1] * (1 - mask)
        x = kept + (1 - mask) * (x * ops.exp(scale) + move)
        part = ops.sum(scale, axis=1, keepdims=True)
        total = part if total is None else total + part
    model = Couplings(i, layers.Activation("linear", dtype="float32")(layers.concatenate([x, total])))
    return Case(model, "mse", [((64,), "float32")], ((64,), "float32"))


class Codebook(layers.Layer):
    def build(self, shape):
        self.codes = self.add_weight(shape=(shape[-1], 256), name="codes")

    def call(self, x):
        rows = ops.reshape(x, (-1, x.shape[-1]))
        far = (
            ops.sum(ops.square(rows), axis=1, keepdims=True)
            + ops.sum(ops.square(self.codes), axis=0)
            - 2 * ops.matmul(rows, self.codes)
        )
        chosen = ops.one_hot(ops.argmin(far, axis=1), 256, dtype=x.dtype)
        made = ops.reshape(ops.matmul(chosen, ops.transpose(self.codes)), ops.shape(x))
        self.add_loss(
            ops.mean(ops.square(ops.stop_gradient(made) - x)) * 0.25
            + ops.mean(ops.square(made - ops.stop_gradient(x)))
        )
        return x + ops.stop_gradient(made - x)


@_add
def codes_of_pictures():
    """An autoencoder whose middle is chosen from a table of codes."""
    i = keras.Input((32, 32, 3))
    x = layers.Conv2D(64, 3, strides=2, padding="same", activation="relu")(i)
    x = layers.Conv2D(128, 3, strides=2, padding="same", activation="relu")(x)
    x = Codebook(dtype="float32")(layers.Conv2D(64, 1)(x))
    x = layers.Conv2DTranspose(128, 3, strides=2, padding="same", activation="relu")(x)
    x = layers.Conv2DTranspose(64, 3, strides=2, padding="same", activation="relu")(x)
    return _values(keras.Model(i, layers.Conv2DTranspose(3, 3, padding="same", dtype="float32")(x)))


class WithPenalty(keras.Model):
    """A critic of generated pictures: the gradient's norm in between is pushed to one."""

    def train_step(self, data):
        true, made = data
        with tf.GradientTape() as outer:
            between = true + 0.3 * (made - true)
            with tf.GradientTape() as inner:
                inner.watch(between)
                score = self(between, training=True)
            slope = inner.gradient(score, between)
            norm = tf.sqrt(tf.reduce_sum(tf.square(slope), axis=(1, 2, 3)) + 1e-12)
            loss = tf.reduce_mean(self(made, training=True)) - tf.reduce_mean(self(true, training=True))
            loss += 10.0 * tf.reduce_mean(tf.square(norm - 1.0))
        gradients = outer.gradient(loss, self.trainable_variables)
        self.optimizer.apply_gradients(zip(gradients, self.trainable_variables))
        return {"loss": loss}


@_add
def critic_with_penalty():
    i = x = keras.Input((32, 32, 3))
    for width in (64, 128, 256):
        x = layers.LeakyReLU(negative_slope=0.2)(layers.Conv2D(width, 5, strides=2, padding="same")(x))
    model = WithPenalty(i, layers.Dense(1, dtype="float32")(layers.Dropout(0.2)(layers.Flatten()(x))))
    return Case(model, "mse", [((32, 32, 3), "float32")], ((32, 32, 3), "float32"))


class Heat(keras.Model):
    """A network that solves an equation: second derivatives by its inputs are in the loss."""

    def train_step(self, data):
        point, value = data
        with tf.GradientTape() as tape:
            with tf.GradientTape() as second:
                second.watch(point)
                with tf.GradientTape() as first:
                    first.watch(point)
                    found = self(point, training=True)
                slope = first.gradient(found, point)
                along = slope[:, :1]
            bend = second.gradient(along, point)[:, :1]
            loss = tf.reduce_mean(tf.square(slope[:, 1:] - 0.1 * bend)) + tf.reduce_mean(
                tf.square(found - value)
            )
        gradients = tape.gradient(loss, self.trainable_variables)
        self.optimizer.apply_gradients(zip(gradients, self.trainable_variables))
        return {"loss": loss}


@_add
def heat_equation():
    i = x = keras.Input((2,))
    for _ in range(5):
        x = layers.Dense(256, activation="tanh")(x)
    model = Heat(i, layers.Dense(1, dtype="float32")(x))
    return Case(model, "mse", [((2,), "float32")], ((1,), "float32"))


class Surrogate(keras.Model):
    """A policy that may not move far from what acted: clipped ratios, a value beside it, entropy."""

    def train_step(self, data):
        seen, (acted, before, gain, worth) = data[0], tf.unstack(data[1], axis=1)
        with tf.GradientTape() as tape:
            found = self(seen, training=True)
            logits, value = found[:, :-1], found[:, -1]
            logs = tf.nn.log_softmax(logits)
            now = tf.reduce_sum(logs * tf.one_hot(tf.cast(acted, tf.int32), logits.shape[1]), axis=1)
            ratio = tf.exp(now - before)
            kept = tf.minimum(ratio * gain, tf.clip_by_value(ratio, 0.8, 1.2) * gain)
            noise = -tf.reduce_sum(tf.exp(logs) * logs, axis=1)
            loss = tf.reduce_mean(-kept + 0.5 * tf.square(worth - value) - 0.01 * noise)
        gradients, _ = tf.clip_by_global_norm(tape.gradient(loss, self.trainable_variables), 0.5)
        self.optimizer.apply_gradients(zip(gradients, self.trainable_variables))
        return {"loss": loss}


@_add
def policy_and_value():
    i = x = keras.Input((376,))
    for _ in range(3):
        x = layers.Dense(512, activation="tanh")(x)
    x = layers.concatenate([layers.Dense(17)(x), layers.Dense(1)(x)])
    model = Surrogate(i, layers.Activation("linear", dtype="float32")(x))
    return Case(model, "mse", [((376,), "float32")], ((4,), "float32"))


@_add
def mixture_of_normals():
    """Parameters of a mixture as outputs, its likelihood as loss."""
    i = x = keras.Input((32,))
    for _ in range(3):
        x = layers.Dense(512, activation="elu")(x)
    out = layers.Dense(3 * 64, dtype="float32")(x)

    def loss(wanted, found):
        weight, middle, spread = ops.split(found, 3, axis=-1)
        spread = ops.softplus(spread) + 1e-3
        near = -0.5 * ops.square((wanted - middle) / spread) - ops.log(spread)
        return -ops.logsumexp(ops.log_softmax(weight) + near, axis=-1)

    return Case(keras.Model(i, out), loss, [((32,), "float32")], ((1,), "float32"))


class Uncertain(layers.Layer):
    """A dense layer whose kernel is drawn anew for each step."""

    def __init__(self, width):
        super().__init__()
        self.width = width
        self.seed = keras.random.SeedGenerator(1)

    def build(self, shape):
        self.middle = self.add_weight(shape=(shape[-1], self.width), name="middle")
        self.spread = self.add_weight(shape=(shape[-1], self.width), name="spread")

    def call(self, x):
        spread = ops.softplus(self.spread)
        self.add_loss(1e-4 * ops.mean(ops.square(spread) + ops.square(self.middle) - 2 * ops.log(spread)))
        kernel = self.middle + spread * keras.random.normal((x.shape[-1], self.width), seed=self.seed)
        return ops.relu(ops.matmul(x, ops.cast(kernel, x.dtype)))


@_add
def uncertain_weights():
    i = x = keras.Input((512,))
    for _ in range(3):
        x = Uncertain(1024)(x)
    return _values(keras.Model(i, layers.Dense(2, dtype="float32")(x)))


@_add
def text_to_text_by_sampling():
    """Sentences as points of a space: convolutions read them, dense layers write them."""
    i = keras.Input((64,), dtype="int32")
    x = layers.Embedding(5000, 128)(i)
    for width in (128, 256):
        x = layers.Conv1D(width, 4, strides=2, padding="same", activation="relu")(x)
    x = layers.Flatten()(x)
    x = Sampling(dtype="float32")([layers.Dense(64)(x), layers.Dense(64)(x)])
    x = layers.Reshape((16, 128))(layers.Dense(16 * 128, activation="relu")(x))
    for width in (256, 128):
        x = layers.Conv1DTranspose(width, 4, strides=2, padding="same", activation="relu")(x)
    return _labelled(keras.Model(i, layers.Dense(5000, dtype="float32")(x)), (64,), _logits())


class Painted(keras.Model):
    """A network that paints in a style: a known network, frozen, compares the products of its channels."""

    judge = None

    def train_step(self, data):
        picture, style = data
        wanted = self._products(style)[0]
        content = self.judge(picture, training=False)[-1]
        with tf.GradientTape() as tape:
            found, depths = self._products(self(picture, training=True))
            loss = tf.reduce_mean(tf.square(depths[-1] - content))
            for one, two in zip(found, wanted):
                loss += tf.reduce_mean(tf.square(one - two))
        gradients = tape.gradient(loss, self.trainable_variables)
        self.optimizer.apply_gradients(zip(gradients, self.trainable_variables))
        return {"loss": loss}

    def _products(self, picture):
        depths = self.judge(picture, training=False)
        return [
            tf.einsum("bijc,bijd->bcd", one, one) / (one.shape[1] * one.shape[2]) for one in depths
        ], depths


@_add
def painter():
    judge = j = keras.Input((96, 96, 3))
    depths = []
    for width in (32, 64, 128):
        for _ in range(2):
            j = layers.Conv2D(width, 3, padding="same", activation="relu")(j)
        depths.append(j)
        j = layers.AveragePooling2D(2)(j)
    judge = keras.Model(judge, depths)
    judge.trainable = False
    i = x = keras.Input((96, 96, 3))
    for width, step in ((32, 1), (64, 2), (64, 1), (64, 1)):
        x = layers.Conv2D(width, 3, strides=step, padding="same")(x)
        x = layers.ReLU()(layers.GroupNormalization(-1)(x))
    x = layers.Conv2D(32, 3, padding="same", activation="relu")(layers.UpSampling2D()(x))
    model = Painted(i, layers.Conv2D(3, 3, padding="same", activation="sigmoid", dtype="float32")(x))
    model.judge = judge
    return Case(model, "mse", [((96, 96, 3), "float32")], ((96, 96, 3), "float32"))
