"""A third set for the rules for XLA, written and compiled before anybody compared: models as their tutorials have them.

The names are of what each is. Those that train by a step of their own are for Keras on TensorFlow.
"""

import keras
import tensorflow as tf
from keras import layers, ops
from models import BUILDERS, Case, Positions, Sampling, _add


def _classes(i, x, count=10):
    x = layers.Dense(count, activation="softmax", dtype="float32")(x)
    return _labelled(keras.Model(i, x))


def _labelled(model, label=(), loss="sparse_categorical_crossentropy"):
    return Case(model, loss, [(tuple(one.shape[1:]), one.dtype) for one in model.inputs], (label, "int32"))


def _values(model, loss="mse"):
    inputs = [(tuple(one.shape[1:]), one.dtype) for one in model.inputs]
    return Case(model, loss, inputs, (tuple(model.output_shape[1:]), "float32"))


def _logits():
    return keras.losses.SparseCategoricalCrossentropy(from_logits=True)


def _bn(x, width, side=3, activation="relu", **options):
    x = layers.Conv2D(width, side, padding="same", use_bias=False, **options)(x)
    x = layers.BatchNormalization()(x)
    return layers.Activation(activation)(x) if activation else x


# Images to classes


@_add
def tanh_lenet():
    i = x = keras.Input((32, 32, 1))
    for width in (6, 16):
        x = layers.AveragePooling2D(2)(layers.Conv2D(width, 5, activation="tanh")(x))
    x = layers.Flatten()(x)
    for width in (120, 84):
        x = layers.Dense(width, activation="tanh")(x)
    return _classes(i, x)


@_add
def cifar_dropout_vgg():
    i = x = keras.Input((32, 32, 3))
    for width, rate in ((32, 0.2), (64, 0.3), (128, 0.4)):
        for _ in range(2):
            x = layers.Conv2D(width, 3, padding="same", activation="relu")(x)
            x = layers.BatchNormalization()(x)
        x = layers.Dropout(rate)(layers.MaxPooling2D()(x))
    x = layers.Dense(128, activation="relu")(layers.Flatten()(x))
    return _classes(i, layers.Dropout(0.5)(layers.BatchNormalization()(x)))


@_add
def bottlenecks():
    """Residual bottlenecks whose shortcut is pooled first."""
    i = keras.Input((128, 128, 3))
    x = layers.MaxPooling2D(3, 2, padding="same")(_bn(_bn(i, 32, strides=2), 64))
    for width, stride in ((64, 1), (128, 2), (256, 2)):
        for number in range(2):
            step = stride if number == 0 else 1
            y = _bn(_bn(x, width, 1), width, 3, strides=step)
            y = _bn(y, 4 * width, 1, None)
            short = layers.AveragePooling2D(2)(x) if step == 2 else x
            if short.shape[-1] != 4 * width:
                short = _bn(short, 4 * width, 1, None)
            x = layers.ReLU()(layers.add([short, y]))
    return _classes(i, layers.GlobalAveragePooling2D()(x), 200)


@_add
def hard_swish_mobile():
    i = keras.Input((160, 160, 3))
    x = _bn(i, 16, 3, "hard_silu", strides=2)
    for width, stride in ((24, 2), (24, 1), (40, 2), (40, 1), (96, 2), (96, 1)):
        y = _bn(x, 4 * x.shape[-1], 1, "hard_silu")
        y = layers.DepthwiseConv2D(5, strides=stride, padding="same", use_bias=False)(y)
        y = layers.Activation("hard_silu")(layers.BatchNormalization()(y))
        gate = layers.GlobalAveragePooling2D(keepdims=True)(y)
        gate = layers.Conv2D(y.shape[-1] // 4, 1, activation="relu")(gate)
        gate = layers.Conv2D(y.shape[-1], 1, activation="hard_sigmoid")(gate)
        y = _bn(layers.multiply([y, gate]), width, 1, None)
        x = layers.add([x, y]) if x.shape[1:] == y.shape[1:] else y
    return _classes(i, layers.Dropout(0.2)(layers.GlobalAveragePooling2D()(x)), 100)


@_add
def shuffled_channels():
    i = keras.Input((112, 112, 3))
    x = layers.MaxPooling2D(3, 2, padding="same")(_bn(i, 24, strides=2))
    for width, count in ((96, 3), (192, 3)):
        for number in range(count):
            step = 2 if number == 0 else 1
            y = _bn(x, width, 1)
            side = y.shape[1]
            y = layers.Reshape((side, side, 2, width // 2))(y)
            y = layers.Reshape((side, side, width))(layers.Permute((1, 2, 4, 3))(y))
            y = layers.DepthwiseConv2D(3, strides=step, padding="same", use_bias=False)(y)
            y = _bn(layers.BatchNormalization()(y), width, 1, None)
            if step == 2:
                x = layers.concatenate([layers.AveragePooling2D(3, 2, padding="same")(x), y])
            else:
                x = layers.ReLU()(layers.concatenate([x[..., : width // 2], y]))
    return _classes(i, layers.GlobalAveragePooling2D()(x), 100)


@_add
def vit_example():
    """Patches of small images, heads on all of the flattened positions."""
    i = keras.Input((72, 72, 3))
    x = layers.Reshape((12, 6, 12, 6, 3))(i)
    x = layers.Reshape((144, 108))(layers.Permute((1, 3, 2, 4, 5))(x))
    x = Positions()(layers.Dense(64)(x))
    for _ in range(6):
        y = layers.LayerNormalization(epsilon=1e-6)(x)
        x = layers.Add()([layers.MultiHeadAttention(4, 64, dropout=0.1)(y, y), x])
        y = layers.LayerNormalization(epsilon=1e-6)(x)
        for width in (128, 64):
            y = layers.Dropout(0.1)(layers.Dense(width, activation="gelu")(y))
        x = layers.Add()([x, y])
    x = layers.Dropout(0.5)(layers.Flatten()(layers.LayerNormalization(epsilon=1e-6)(x)))
    for width in (1024, 512):
        x = layers.Dropout(0.5)(layers.Dense(width, activation="gelu")(x))
    return _classes(i, x, 100)


@_add
def compact_transformer():
    """Convolutions make the tokens, stochastic depth, weighted pooling."""
    i = x = keras.Input((64, 64, 3))
    for width in (64, 128):
        x = layers.Conv2D(width, 3, padding="same", activation="relu", use_bias=False)(x)
        x = layers.MaxPooling2D(3, 2, padding="same")(x)
    x = Positions()(layers.Reshape((256, 128))(x))
    for _ in range(3):
        y = layers.LayerNormalization(epsilon=1e-5)(x)
        y = layers.MultiHeadAttention(2, 128, dropout=0.1)(y, y)
        x = layers.Add()([layers.Dropout(0.1, noise_shape=(None, 1, 1))(y), x])
        y = layers.LayerNormalization(epsilon=1e-5)(x)
        for _ in range(2):
            y = layers.Dropout(0.1)(layers.Dense(128, activation="gelu")(y))
        x = layers.Add()([layers.Dropout(0.1, noise_shape=(None, 1, 1))(y), x])
    x = layers.LayerNormalization(epsilon=1e-5)(x)
    weights = layers.Softmax(axis=1)(layers.Dense(1)(x))
    x = layers.Flatten()(layers.Dot((1, 1))([weights, x]))
    return _classes(i, x)


@_add
def spatial_gating():
    i = keras.Input((64, 64, 3))
    x = layers.Reshape((64, 192))(layers.Conv2D(192, 8, strides=8)(i))
    for _ in range(5):
        y = layers.Dense(768, activation="gelu")(layers.LayerNormalization()(x))
        u, v = y[..., :384], layers.LayerNormalization()(y[..., 384:])
        v = layers.Permute((2, 1))(layers.Dense(64, bias_initializer="ones")(layers.Permute((2, 1))(v)))
        x = x + layers.Dense(192)(u * v)
    return _classes(i, layers.Dropout(0.2)(layers.GlobalAveragePooling1D()(x)), 100)


@_add
def q_network():
    """Frames of a game to the worth of actions (a dueling network)."""
    i = x = keras.Input((84, 84, 4))
    for width, side, step in ((32, 8, 4), (64, 4, 2), (64, 3, 1)):
        x = layers.Conv2D(width, side, strides=step, activation="relu")(x)
    x = layers.Flatten()(x)
    value = layers.Dense(1)(layers.Dense(512, activation="relu")(x))
    gain = layers.Dense(18)(layers.Dense(512, activation="relu")(x))
    q = value + gain - ops.mean(gain, axis=1, keepdims=True)
    return _values(keras.Model(i, layers.Activation("linear", dtype="float32")(q)), "huber")


@_add
def brain_signals():
    i = keras.Input((64, 256, 1))
    x = layers.BatchNormalization()(layers.Conv2D(16, (1, 64), padding="same", use_bias=False)(i))
    x = layers.DepthwiseConv2D((64, 1), depth_multiplier=2, use_bias=False)(x)
    x = layers.Activation("elu")(layers.BatchNormalization()(x))
    x = layers.Dropout(0.5)(layers.AveragePooling2D((1, 4))(x))
    x = layers.SeparableConv2D(32, (1, 16), padding="same", use_bias=False)(x)
    x = layers.Activation("elu")(layers.BatchNormalization()(x))
    return _classes(i, layers.Flatten()(layers.Dropout(0.5)(layers.AveragePooling2D((1, 8))(x))), 4)


def _application(name, side):
    def case():
        model = getattr(keras.applications, name)(weights=None, input_shape=(side, side, 3), classes=100)
        return _labelled(model)

    BUILDERS[f"{name}_{side}"] = case


for _name, _side in (("VGG16", 96), ("MobileNetV2", 128), ("Xception", 128), ("MobileNetV3Small", 192)):
    _application(_name, _side)


@_add
def transfer():
    """A frozen network below, a small head above."""
    base = keras.applications.MobileNetV2(weights=None, include_top=False, input_shape=(160, 160, 3))
    base.trainable = False
    i = keras.Input((160, 160, 3))
    x = layers.GlobalAveragePooling2D()(base(layers.Rescaling(1 / 127.5, offset=-1)(i), training=False))
    x = layers.Dense(1, activation="sigmoid", dtype="float32")(layers.Dropout(0.2)(x))
    return _values(keras.Model(i, x), "binary_crossentropy")


# Images to images


@_add
def segmentation_unet():
    i = x = keras.Input((128, 128, 3))
    skips = []
    for width in (32, 64, 128):
        for _ in range(2):
            x = layers.Conv2D(width, 3, padding="same", activation="relu")(x)
        skips.append(x)
        x = layers.Dropout(0.3)(layers.MaxPooling2D()(x))
    for _ in range(2):
        x = layers.Conv2D(256, 3, padding="same", activation="relu")(x)
    for width, skip in zip((128, 64, 32), reversed(skips)):
        x = layers.concatenate([layers.Conv2DTranspose(width, 3, 2, padding="same")(x), skip])
        x = layers.Dropout(0.3)(x)
        for _ in range(2):
            x = layers.Conv2D(width, 3, padding="same", activation="relu")(x)
    x = layers.Conv2D(3, 1, activation="softmax", dtype="float32")(x)
    return _labelled(keras.Model(i, x), (128, 128))


@_add
def residual_gated_unet():
    """Residual blocks, gates on the skips, a dice-like loss."""

    def block(x, width):
        y = _bn(_bn(x, width), width, 3, None)
        return layers.ReLU()(layers.add([y, layers.Conv2D(width, 1, padding="same")(x)]))

    i = x = keras.Input((96, 96, 1))
    skips = []
    for width in (32, 64, 128):
        x = block(x, width)
        skips.append(x)
        x = layers.MaxPooling2D()(x)
    x = block(x, 256)
    for width, skip in zip((128, 64, 32), reversed(skips)):
        x = layers.UpSampling2D()(x)
        gate = layers.Activation("relu")(
            layers.add([layers.Conv2D(width, 1)(x), layers.Conv2D(width, 1)(skip)])
        )
        skip = layers.multiply([skip, layers.Conv2D(1, 1, activation="sigmoid")(gate)])
        x = block(layers.concatenate([x, skip]), width)
    x = layers.Conv2D(1, 1, activation="sigmoid", dtype="float32")(x)
    return _values(keras.Model(i, x), keras.losses.Dice())


@_add
def translate_pictures():
    """Strided convolutions down, transposed up, leaky and dropped out (a generator of pix2pix)."""
    i = x = keras.Input((128, 128, 3))
    skips = []
    for number, width in enumerate((64, 128, 256, 256, 256)):
        x = layers.Conv2D(width, 4, strides=2, padding="same", use_bias=False)(x)
        x = layers.BatchNormalization()(x) if number else x
        x = layers.LeakyReLU()(x)
        skips.append(x)
    for width, skip in zip((256, 256, 128, 64), reversed(skips[:-1])):
        x = layers.Conv2DTranspose(width, 4, strides=2, padding="same", use_bias=False)(x)
        x = (
            layers.Dropout(0.5)(layers.BatchNormalization()(x))
            if width == 256
            else layers.BatchNormalization()(x)
        )
        x = layers.concatenate([layers.ReLU()(x), skip])
    x = layers.Conv2DTranspose(3, 4, strides=2, padding="same", activation="tanh", dtype="float32")(x)
    return _values(keras.Model(i, x), "mae")


@_add
def diffusion_unet():
    """Noise by images and times: group norms, swish, attention at the bottom."""

    def block(x, time, width):
        short = x if x.shape[-1] == width else layers.Conv2D(width, 1)(x)
        y = layers.Conv2D(width, 3, padding="same")(
            layers.Activation("swish")(layers.GroupNormalization(8)(x))
        )
        y = y + layers.Reshape((1, 1, width))(layers.Dense(width)(time))
        y = layers.Conv2D(width, 3, padding="same")(
            layers.Activation("swish")(layers.GroupNormalization(8)(y))
        )
        return layers.add([short, y])

    image, step = keras.Input((32, 32, 3)), keras.Input((1,))
    waves = [ops.sin(step * 2.0**n) for n in range(4)] + [ops.cos(step * 2.0**n) for n in range(4)]
    time = layers.Dense(128)(layers.Dense(128, activation="swish")(layers.Concatenate()(waves)))
    x = layers.Conv2D(64, 3, padding="same")(image)
    skips = []
    for width in (64, 128):
        x = block(x, time, width)
        skips.append(x)
        x = layers.AveragePooling2D(2)(x)
    x = block(x, time, 256)
    y = layers.Reshape((64, 256))(layers.GroupNormalization(8)(x))
    x = x + layers.Reshape((8, 8, 256))(layers.MultiHeadAttention(4, 64)(y, y))
    for width in (128, 64):
        x = layers.UpSampling2D(2, interpolation="bilinear")(x)
        x = block(layers.concatenate([x, skips.pop()]), time, width)
    x = layers.Conv2D(3, 1, kernel_initializer="zeros", dtype="float32")(x)
    return _values(keras.Model([image, step], x))


@_add
def sub_pixels():
    """Super-resolution whose channels become pixels."""
    i = keras.Input((100, 100, 1))
    x = layers.Conv2D(64, 5, padding="same", activation="relu")(i)
    x = layers.Conv2D(64, 3, padding="same", activation="relu")(x)
    x = layers.Conv2D(32, 3, padding="same", activation="relu")(x)
    x = layers.Conv2D(9, 3, padding="same", activation="relu", dtype="float32")(x)
    x = layers.Permute((1, 3, 2, 4))(layers.Reshape((100, 100, 3, 3))(x))
    return _values(keras.Model(i, layers.Reshape((300, 300, 1))(x)))


@_add
def digits_denoiser():
    i = x = keras.Input((28, 28, 1))
    for _ in range(2):
        x = layers.Conv2D(32, 3, activation="relu", padding="same")(x)
        x = layers.MaxPooling2D(2, padding="same")(x)
    for _ in range(2):
        x = layers.Conv2DTranspose(32, 3, strides=2, activation="relu", padding="same")(x)
    x = layers.Conv2D(1, 3, activation="sigmoid", padding="same", dtype="float32")(x)
    return _values(keras.Model(i, x), "binary_crossentropy")


@_add
def hourglass():
    """Heat maps of joints by two networks one after the other."""
    i = keras.Input((128, 128, 3))
    x = layers.MaxPooling2D()(_bn(_bn(i, 32, 7, strides=2), 64))
    for _ in range(2):
        skip = x
        sides = []
        for _ in range(3):
            sides.append(_bn(x, 64))
            x = layers.MaxPooling2D()(x)
            x = _bn(x, 64)
        for side in reversed(sides):
            x = layers.add([layers.UpSampling2D()(x), side])
        maps = layers.Conv2D(16, 1)(_bn(x, 64, 1))
        x = layers.add([skip, layers.Conv2D(64, 1)(maps), x])
    return _values(keras.Model(i, layers.Activation("linear", dtype="float32")(maps)))


@_add
def anchors():
    """A detector with two scales: boxes and classes of each anchor, from one tower of leaky convolutions."""
    i = x = keras.Input((160, 160, 3))
    outputs = []
    for width in (16, 32, 64, 128, 256):
        x = _bn(x, width, 3, "leaky_relu", strides=2)
        y = _bn(_bn(x, width // 2, 1, "leaky_relu"), width, 3, "leaky_relu")
        x = layers.add([x, y])
        if width >= 128:
            outputs.append(layers.Reshape((-1, 25))(layers.Conv2D(75, 1)(x)))
    x = layers.Concatenate(axis=1, dtype="float32")(outputs)

    def loss(y_true, y_pred):
        box = ops.sum(ops.square(y_true[..., :4] - y_pred[..., :4]) * y_true[..., 4:5], axis=-1)
        there = keras.losses.binary_crossentropy(y_true[..., 4:5], ops.sigmoid(y_pred[..., 4:5]))
        kind = keras.losses.categorical_crossentropy(y_true[..., 5:], ops.softmax(y_pred[..., 5:]))
        return ops.mean(box + there + kind, axis=1)

    return _values(keras.Model(i, x), loss)


# Text and series


class Tied(layers.Layer):
    """Scores of all words by the transposed table of another layer."""

    def __init__(self, table, **options):
        super().__init__(**options)
        self.table = table

    def call(self, x):
        return ops.matmul(x, ops.transpose(ops.cast(self.table.embeddings, x.dtype)))


@_add
def tied_gpt():
    i = keras.Input((128,), dtype="int32")
    table = layers.Embedding(12000, 256)
    x = layers.Dropout(0.1)(Positions()(table(i)))
    for _ in range(4):
        y = layers.LayerNormalization(epsilon=1e-5)(x)
        x = x + layers.Dropout(0.1)(layers.MultiHeadAttention(8, 32, dropout=0.1)(y, y, use_causal_mask=True))
        y = layers.Dense(1024, activation="gelu")(layers.LayerNormalization(epsilon=1e-5)(x))
        x = x + layers.Dropout(0.1)(layers.Dense(256)(y))
    x = layers.LayerNormalization(epsilon=1e-5)(x)
    return _labelled(keras.Model(i, Tied(table, dtype="float32")(x)), (128,), _logits())


@_add
def characters_gpt():
    """A small vocabulary, a long context."""
    i = keras.Input((256,), dtype="int32")
    x = layers.Embedding(65, 192)(i) + layers.Embedding(256, 192)(ops.arange(256))
    for _ in range(4):
        y = layers.LayerNormalization()(x)
        x = x + layers.MultiHeadAttention(6, 32, dropout=0.2, use_bias=False)(y, y, use_causal_mask=True)
        y = layers.Dense(768, activation="relu")(layers.LayerNormalization()(x))
        x = x + layers.Dropout(0.2)(layers.Dense(192)(y))
    x = layers.Dense(65, dtype="float32")(layers.LayerNormalization()(x))
    return _labelled(keras.Model(i, x), (256,), _logits())


@_add
def masked_bert():
    """Padding is masked in attention; the first token tells the class."""
    i = keras.Input((128,), dtype="int32")
    x = layers.Embedding(15000, 192, mask_zero=True)(i)
    x = layers.Dropout(0.1)(layers.LayerNormalization()(x))
    for _ in range(3):
        y = layers.MultiHeadAttention(4, 48, dropout=0.1)(x, x)
        x = layers.LayerNormalization()(layers.Add()([x, layers.Dropout(0.1)(y)]))
        y = layers.Dense(192)(layers.Dense(768, activation="gelu")(x))
        x = layers.LayerNormalization()(layers.Add()([x, layers.Dropout(0.1)(y)]))
    return _classes(i, layers.Dense(192, activation="tanh")(x[:, 0]), 4)


@_add
def spanish_transformer():
    """Encoder, decoder with causal mask, a vocabulary of 15,000."""
    source, target = keras.Input((20,), dtype="int32"), keras.Input((20,), dtype="int32")
    x = Positions()(layers.Embedding(15000, 256)(source))
    y = layers.MultiHeadAttention(8, 256)(x, x)
    x = layers.LayerNormalization()(x + y)
    x = layers.LayerNormalization()(x + layers.Dense(256)(layers.Dense(2048, activation="relu")(x)))
    z = Positions()(layers.Embedding(15000, 256)(target))
    z = layers.LayerNormalization()(z + layers.MultiHeadAttention(8, 256)(z, z, use_causal_mask=True))
    z = layers.LayerNormalization()(z + layers.MultiHeadAttention(8, 256)(z, x))
    z = layers.LayerNormalization()(z + layers.Dense(256)(layers.Dense(2048, activation="relu")(z)))
    z = layers.Dense(15000, activation="softmax", dtype="float32")(layers.Dropout(0.5)(z))
    return _labelled(keras.Model([source, target], z), (20,))


@_add
def attending_translator():
    """A GRU reads, another writes and attends to it."""
    source, target = keras.Input((30,), dtype="int32"), keras.Input((30,), dtype="int32")
    x = layers.Embedding(5000, 256)(source)
    x = layers.Bidirectional(layers.GRU(256, return_sequences=True, use_cudnn=False), merge_mode="sum")(x)
    z = layers.GRU(256, return_sequences=True, use_cudnn=False)(layers.Embedding(5000, 256)(target))
    z = layers.LayerNormalization()(layers.Add()([z, layers.Attention()([z, x])]))
    z = layers.Dense(5000, dtype="float32")(z)
    return _labelled(keras.Model([source, target], z), (30,), _logits())


@_add
def reviews_conv():
    """Text classification from scratch: a table and two strided convolutions."""
    i = keras.Input((500,), dtype="int32")
    x = layers.Dropout(0.5)(layers.Embedding(20000, 128)(i))
    for _ in range(2):
        x = layers.Conv1D(128, 7, strides=3, padding="valid", activation="relu")(x)
    x = layers.Dropout(0.5)(layers.Dense(128, activation="relu")(layers.GlobalMaxPooling1D()(x)))
    x = layers.Dense(1, activation="sigmoid", dtype="float32")(x)
    return _values(keras.Model(i, x), "binary_crossentropy")


@_add
def reviews_two_way():
    i = keras.Input((200,), dtype="int32")
    x = layers.Embedding(20000, 128)(i)
    x = layers.Bidirectional(layers.LSTM(64, return_sequences=True, use_cudnn=False))(x)
    x = layers.Bidirectional(layers.LSTM(64, use_cudnn=False))(x)
    return _values(
        keras.Model(i, layers.Dense(1, activation="sigmoid", dtype="float32")(x)), "binary_crossentropy"
    )


@_add
def averaged_words():
    i = keras.Input((256,), dtype="int32")
    x = layers.GlobalAveragePooling1D()(layers.Embedding(30000, 64)(i))
    return _classes(i, layers.Dense(64, activation="relu")(x), 20)


@_add
def stock_lstm():
    i = x = keras.Input((60, 1))
    for number in range(3):
        x = layers.LSTM(50, return_sequences=number < 2, use_cudnn=False)(x)
        x = layers.Dropout(0.2)(x)
    return _values(keras.Model(i, layers.Dense(1, dtype="float32")(x)))


@_add
def unrolled_lstm():
    i = keras.Input((16, 32))
    x = layers.LSTM(128, return_sequences=True, unroll=True, use_cudnn=False)(i)
    x = layers.LSTM(128, unroll=True, use_cudnn=False)(x)
    return _classes(i, x, 6)


@_add
def conformer():
    """Halved feed-forwards around attention and a gated depthwise convolution, on spectrogram frames."""
    i = keras.Input((200, 80))
    x = layers.Dense(144)(i)
    for _ in range(3):
        for half in range(2):
            y = layers.Dense(576, activation="swish")(layers.LayerNormalization()(x))
            x = x + 0.5 * layers.Dropout(0.1)(layers.Dense(144)(layers.Dropout(0.1)(y)))
            if half == 0:
                y = layers.LayerNormalization()(x)
                x = x + layers.Dropout(0.1)(layers.MultiHeadAttention(4, 36)(y, y))
                y = layers.Conv1D(288, 1)(layers.LayerNormalization()(x))
                y = y[..., :144] * ops.sigmoid(y[..., 144:])
                y = layers.DepthwiseConv1D(15, padding="same")(y)
                y = layers.Activation("swish")(layers.BatchNormalization()(y))
                x = x + layers.Dropout(0.1)(layers.Conv1D(144, 1)(y))
        x = layers.LayerNormalization()(x)
    return _classes(i, layers.GlobalAveragePooling1D()(x), 30)


@_add
def spectrogram_cnn():
    i = keras.Input((124, 129, 1))
    x = layers.BatchNormalization()(layers.Resizing(32, 32)(i))
    x = layers.Conv2D(64, 3, activation="relu")(layers.Conv2D(32, 3, activation="relu")(x))
    x = layers.Flatten()(layers.Dropout(0.25)(layers.MaxPooling2D()(x)))
    return _classes(i, layers.Dropout(0.5)(layers.Dense(128, activation="relu")(x)), 8)


@_add
def windowed_dense():
    """A forecast from a window of several series by dense layers, residual on the last value."""
    i = keras.Input((48, 19))
    x = layers.Dense(512, activation="relu")(layers.Flatten()(i))
    x = layers.Dense(512, activation="relu")(x)
    x = layers.Reshape((24, 19))(layers.Dense(24 * 19, dtype="float32")(x))
    return _values(keras.Model(i, x + i[:, -1:, :]), "mae")


@_add
def caption_decoder():
    """Words after features of an image: cross attention from a short text."""
    picture, words = keras.Input((64, 512)), keras.Input((24,), dtype="int32")
    x = layers.LayerNormalization()(
        layers.Dense(512, activation="relu")(layers.LayerNormalization()(picture))
    )
    z = layers.Embedding(10000, 512)(words) * 22.6
    for _ in range(2):
        y = layers.MultiHeadAttention(2, 512, dropout=0.1)(z, z, use_causal_mask=True)
        z = layers.LayerNormalization()(z + y)
        z = layers.LayerNormalization()(z + layers.MultiHeadAttention(2, 512, dropout=0.1)(z, x))
        y = layers.Dropout(0.3)(layers.Dense(512, activation="relu")(z))
        z = layers.LayerNormalization()(z + layers.Dense(512)(y))
    z = layers.Dense(10000, activation="softmax", dtype="float32")(layers.Dropout(0.5)(z))
    return _labelled(keras.Model([picture, words], z), (24,))


# Tables and pairs


@_add
def many_tables():
    """Ten tables and dense features; all pairs of vectors are multiplied (DLRM)."""
    dense = keras.Input((13,))
    ids = [keras.Input((), dtype="int32") for _ in range(10)]
    below = layers.Dense(16, activation="relu")(layers.Dense(128, activation="relu")(dense))
    vectors = [below, *(layers.Embedding(20000, 16)(one) for one in ids)]
    x = ops.stack(vectors, axis=1)
    pairs = layers.Flatten()(ops.matmul(x, ops.transpose(x, (0, 2, 1))))
    x = layers.concatenate([below, pairs])
    for width in (256, 128):
        x = layers.Dense(width, activation="relu")(x)
    x = layers.Dense(1, activation="sigmoid", dtype="float32")(x)
    return _values(keras.Model([dense, *ids], x), "binary_crossentropy")


@_add
def neural_filtering():
    """Four tables: a product of two, dense layers on two."""
    user, item = keras.Input((), dtype="int32"), keras.Input((), dtype="int32")
    product = layers.Embedding(60000, 32)(user) * layers.Embedding(20000, 32)(item)
    x = layers.concatenate([layers.Embedding(60000, 32)(user), layers.Embedding(20000, 32)(item)])
    for width in (64, 32, 16):
        x = layers.Dense(width, activation="relu")(x)
    x = layers.Dense(1, activation="sigmoid", dtype="float32")(layers.concatenate([product, x]))
    return _values(keras.Model([user, item], x), "binary_crossentropy")


@_add
def skip_grams():
    """A word and five candidates: products of two tables."""
    word, others = keras.Input((1,), dtype="int32"), keras.Input((5,), dtype="int32")
    x = layers.Flatten()(layers.Embedding(50000, 128)(word))
    x = layers.Dot((1, 2), dtype="float32")([x, layers.Embedding(50000, 128)(others)])
    return _labelled(keras.Model([word, others], x), (), _logits())


@_add
def tabular_transformer():
    numbers = keras.Input((6,))
    ids = [keras.Input((), dtype="int32") for _ in range(8)]
    x = ops.stack([layers.Embedding(1000, 32)(one) for one in ids], axis=1)
    for _ in range(3):
        x = layers.LayerNormalization()(x + layers.MultiHeadAttention(4, 32, dropout=0.2)(x, x))
        y = layers.Dropout(0.2)(layers.Dense(32)(layers.Dense(64, activation="gelu")(x)))
        x = layers.LayerNormalization()(x + y)
    x = layers.concatenate([layers.Flatten()(x), layers.LayerNormalization()(numbers)])
    for width in (512, 256):
        x = layers.Dropout(0.2)(layers.Dense(width, activation="selu")(layers.BatchNormalization()(x)))
    x = layers.Dense(1, activation="sigmoid", dtype="float32")(x)
    return _values(keras.Model([numbers, *ids], x), "binary_crossentropy")


@_add
def fuel_regression():
    i = x = keras.Input((40,))
    for width in (1024, 1024, 512, 256):
        x = layers.Dropout(0.3)(layers.BatchNormalization()(layers.Dense(width, activation="relu")(x)))
    return _values(keras.Model(i, layers.Dense(1, dtype="float32")(x)))


@_add
def graph_attention():
    """Nodes attend to their neighbours along a dense matrix."""
    nodes, edges = keras.Input((128, 64)), keras.Input((128, 128))
    x = layers.Dense(128)(nodes)
    for _ in range(3):
        h = layers.Dense(128, use_bias=False)(x)
        score = layers.Dense(1)(h) + ops.transpose(layers.Dense(1)(h), (0, 2, 1))
        score = ops.leaky_relu(score, 0.2) - 1e9 * (1.0 - edges)
        x = layers.ReLU()(x + ops.matmul(ops.softmax(score), h))
    x = layers.Dense(1, dtype="float32")(layers.GlobalAveragePooling1D()(x))
    return _values(keras.Model([nodes, edges], x))


# Steps of their own


class Variational(keras.Model):
    def train_step(self, data):
        image, _ = data
        with tf.GradientTape() as tape:
            made = self(image, training=True)
            error = tf.reduce_mean(tf.reduce_sum(keras.losses.binary_crossentropy(image, made), axis=(1, 2)))
            loss = error + tf.add_n(self.losses)
        gradients = tape.gradient(loss, self.trainable_weights)
        self.optimizer.apply_gradients(zip(gradients, self.trainable_weights))
        return {"loss": loss}


@_add
def digits_vae():
    i = x = keras.Input((28, 28, 1))
    for width in (32, 64):
        x = layers.Conv2D(width, 3, strides=2, padding="same", activation="relu")(x)
    x = layers.Dense(16, activation="relu")(layers.Flatten()(x))
    x = Sampling(dtype="float32")([layers.Dense(2)(x), layers.Dense(2)(x)])
    x = layers.Reshape((7, 7, 64))(layers.Dense(7 * 7 * 64, activation="relu")(x))
    for width in (64, 32):
        x = layers.Conv2DTranspose(width, 3, strides=2, padding="same", activation="relu")(x)
    x = layers.Conv2DTranspose(1, 3, padding="same", activation="sigmoid", dtype="float32")(x)
    return _values(Variational(i, x))


class Distilled(keras.Model):
    teacher = None

    def train_step(self, data):
        image, label = data
        soft = self.teacher(image, training=False)
        with tf.GradientTape() as tape:
            found = self(image, training=True)
            hard = tf.reduce_mean(
                keras.losses.sparse_categorical_crossentropy(label, found, from_logits=True)
            )
            near = tf.reduce_mean(
                keras.losses.kl_divergence(tf.nn.softmax(soft / 10.0), tf.nn.softmax(found / 10.0))
            )
            loss = 0.1 * hard + 0.9 * near
        gradients = tape.gradient(loss, self.trainable_variables)
        self.optimizer.apply_gradients(zip(gradients, self.trainable_variables))
        return {"loss": loss}


@_add
def distillation():
    def network(widths):
        i = x = keras.Input((28, 28, 1))
        for width, step in zip(widths, (2, 1)):
            x = layers.Conv2D(width, 3, strides=step, padding="same")(x)
            x = layers.MaxPooling2D(2, 1, padding="same")(layers.LeakyReLU(negative_slope=0.2)(x))
        return i, layers.Dense(10, dtype="float32")(layers.Flatten()(x))

    teacher = keras.Model(*network((256, 512)))
    teacher.trainable = False
    model = Distilled(*network((16, 32)))
    model.teacher = teacher
    return _labelled(model)


class Contrastive(keras.Model):
    def train_step(self, data):
        image, again = data
        with tf.GradientTape() as tape:
            one = tf.math.l2_normalize(self(image, training=True), axis=1)
            two = tf.math.l2_normalize(self(again, training=True), axis=1)
            scores = tf.matmul(one, two, transpose_b=True) / 0.1
            labels = tf.range(tf.shape(scores)[0])
            loss = tf.reduce_mean(
                tf.nn.sparse_softmax_cross_entropy_with_logits(labels, scores)
                + tf.nn.sparse_softmax_cross_entropy_with_logits(labels, tf.transpose(scores))
            )
        gradients = tape.gradient(loss, self.trainable_variables)
        self.optimizer.apply_gradients(zip(gradients, self.trainable_variables))
        return {"loss": loss}


@_add
def contrastive():
    i = x = keras.Input((96, 96, 3))
    for _ in range(4):
        x = layers.Conv2D(128, 3, strides=2, activation="relu")(x)
    x = layers.Dense(128, activation="relu")(layers.Flatten()(x))
    model = Contrastive(i, layers.Dense(128, dtype="float32")(layers.Dense(128, activation="relu")(x)))
    return Case(model, "mse", [((96, 96, 3), "float32")], ((96, 96, 3), "float32"))


class Clipped(keras.Model):
    """Gradients clipped by their common norm, by hand."""

    def train_step(self, data):
        x, y = data
        with tf.GradientTape() as tape:
            loss = self.compute_loss(x, y, self(x, training=True))
        gradients = tape.gradient(loss, self.trainable_variables)
        gradients, _ = tf.clip_by_global_norm(gradients, 1.0)
        self.optimizer.apply_gradients(zip(gradients, self.trainable_variables))
        return {"loss": loss}


@_add
def clipped_mlp():
    i = x = keras.Input((1024,))
    for _ in range(5):
        x = layers.Dense(1536, activation="swish")(x)
    return _labelled(Clipped(i, layers.Dense(100, activation="softmax", dtype="float32")(x)))
