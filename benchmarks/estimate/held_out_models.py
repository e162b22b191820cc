"""Architectures that engine graph's rules for XLA were never fitted to: `models.case` finds them by name."""

from __future__ import annotations

from typing import Any

import keras
from keras import layers, ops
from models import Case, Positions, _add, _images, _same


def _classes(x: Any, count: int = 100) -> Any:
    return layers.Dense(count, activation="softmax", dtype="float32")(x)


def _norm(x: Any, width: int, side: int = 3, activation: str = "relu", **options: Any) -> Any:
    x = layers.Conv2D(width, side, padding="same", use_bias=False, **options)(x)
    return layers.Activation(activation)(layers.BatchNormalization()(x))


# Images to classes


@_add
def dense_blocks() -> Case:
    """Each layer reads all before it (DenseNet)."""
    i = keras.Input((96, 96, 3))
    x = layers.MaxPooling2D(3, 2, padding="same")(_norm(i, 48, 5, strides=2))
    for block in range(3):
        for _ in range(4):
            y = layers.ReLU()(layers.BatchNormalization()(x))
            y = _norm(layers.Conv2D(96, 1, use_bias=False)(y), 24)
            x = layers.Concatenate()([x, y])
        if block < 2:
            x = layers.AveragePooling2D(2)(layers.Conv2D(x.shape[-1] // 2, 1)(x))
    return _images(keras.Model(i, _classes(layers.GlobalAveragePooling2D()(x))), (96, 96, 3))


@_add
def inception() -> Case:
    i = keras.Input((112, 112, 3))
    x = layers.MaxPooling2D(3, 2, padding="same")(_norm(i, 64, 7, strides=2))
    for width in (32, 48, 64):
        branches = [
            _norm(x, width, 1),
            _norm(_norm(x, width, 1), 2 * width),
            _norm(_norm(_norm(x, width // 2, 1), width, 3), width, 3),
            _norm(layers.AveragePooling2D(3, 1, padding="same")(x), width, 1),
        ]
        x = layers.MaxPooling2D(2)(layers.Concatenate()(branches))
    return _images(keras.Model(i, _classes(layers.GlobalAveragePooling2D()(x))), (112, 112, 3))


@_add
def before_activation() -> Case:
    """Norm and ReLU before each convolution (ResNet V2)."""
    i = keras.Input((128, 128, 3))
    x = layers.Conv2D(64, 7, strides=2, padding="same")(i)
    for width, stride in ((64, 1), (128, 2), (256, 2), (512, 2)):
        for number in range(2):
            step = stride if number == 0 else 1
            y = layers.ReLU()(layers.BatchNormalization()(x))
            short = layers.Conv2D(width, 1, strides=step)(y) if x.shape[-1] != width or step > 1 else x
            y = _norm(y, width // 2, 1)
            y = _norm(y, width // 2, 3, strides=step)
            x = layers.Add()([short, layers.Conv2D(width, 1)(y)])
    x = layers.ReLU()(layers.BatchNormalization()(x))
    return _images(keras.Model(i, _classes(layers.GlobalAveragePooling2D()(x))), (128, 128, 3))


@_add
def inverted_residuals() -> Case:
    """Wide inside, narrow between, depthwise (MobileNet V2)."""
    i = keras.Input((128, 128, 3))
    x = _norm(i, 32, 3, "relu6", strides=2)
    for width, stride in ((16, 1), (24, 2), (24, 1), (40, 2), (40, 1), (80, 2), (80, 1)):
        y = _norm(x, 6 * x.shape[-1], 1, "relu6")
        y = layers.DepthwiseConv2D(3, strides=stride, padding="same", use_bias=False)(y)
        y = layers.Activation("relu6")(layers.BatchNormalization()(y))
        y = layers.BatchNormalization()(layers.Conv2D(width, 1, use_bias=False)(y))
        x = layers.Add()([x, y]) if stride == 1 and x.shape[-1] == width else y
    return _images(keras.Model(i, _classes(layers.GlobalAveragePooling2D()(x))), (128, 128, 3))


@_add
def wide_residual() -> Case:
    i = keras.Input((32, 32, 3))
    x = layers.Conv2D(16, 3, padding="same")(i)
    for width, stride in ((128, 1), (256, 2), (512, 2)):
        y = layers.ReLU()(layers.BatchNormalization()(x))
        short = layers.Conv2D(width, 1, strides=stride)(y)
        y = layers.Dropout(0.3)(_norm(y, width, 3, strides=stride))
        x = layers.Add()([short, layers.Conv2D(width, 3, padding="same")(y)])
    return _images(keras.Model(i, _classes(layers.GlobalAveragePooling2D()(x), 10)), (32, 32, 3))


@_add
def grouped() -> Case:
    """Convolutions in groups (ResNeXt)."""
    i = keras.Input((96, 96, 3))
    x = _norm(i, 64, 3, strides=2)
    for width in (128, 256):
        y = _norm(_norm(x, width, 1), width, 3, groups=16, strides=2)
        y = layers.BatchNormalization()(layers.Conv2D(2 * width, 1)(y))
        x = layers.ReLU()(layers.Add()([y, layers.Conv2D(2 * width, 1, strides=2)(x)]))
    return _images(keras.Model(i, _classes(layers.GlobalAveragePooling2D()(x))), (96, 96, 3))


@_add
def conv_mixer() -> Case:
    i = keras.Input((112, 112, 3))
    x = layers.BatchNormalization()(layers.Conv2D(192, 7, strides=7, activation="gelu")(i))
    for _ in range(5):
        y = layers.DepthwiseConv2D(5, padding="same", activation="gelu")(x)
        x = layers.Add()([x, layers.BatchNormalization()(y)])
        x = layers.BatchNormalization()(layers.Conv2D(192, 1, activation="gelu")(x))
    return _images(keras.Model(i, _classes(layers.GlobalAveragePooling2D()(x))), (112, 112, 3))


@_add
def plain_with_norm() -> Case:
    """VGG's shape with batch normalization and a small head."""
    i = x = keras.Input((64, 64, 3))
    for width, count in ((32, 2), (64, 2), (128, 3), (256, 3)):
        for _ in range(count):
            x = _norm(x, width)
        x = layers.MaxPooling2D()(x)
    x = layers.Dropout(0.5)(layers.Dense(512, activation="relu")(layers.Flatten()(x)))
    return _images(keras.Model(i, _classes(x)), (64, 64, 3))


@_add
def leaky_group_norm() -> Case:
    i = x = keras.Input((96, 96, 3))
    for width in (32, 64, 128, 128):
        x = layers.Conv2D(width, 3, strides=2, padding="same")(x)
        x = layers.LeakyReLU(0.1)(layers.GroupNormalization(8)(x))
    return _images(keras.Model(i, _classes(layers.GlobalAveragePooling2D()(x))), (96, 96, 3))


@_add
def tutorial_cnn() -> Case:
    """The convolutional network of many tutorials: few layers, a big flattened head."""
    i = x = keras.Input((150, 150, 3))
    x = layers.Rescaling(1 / 255)(x)
    for width in (16, 32, 64):
        x = layers.MaxPooling2D()(layers.Conv2D(width, 3, activation="relu")(x))
    x = layers.Dense(128, activation="relu")(layers.Flatten()(x))
    x = layers.Dense(1, activation="sigmoid", dtype="float32")(x)
    return Case(keras.Model(i, x), "binary_crossentropy", [((150, 150, 3), "float32")], ((1,), "float32"))


@_add
def valid_elu_cnn() -> Case:
    i = x = keras.Input((66, 200, 3))
    for width, side, stride in ((24, 5, 2), (36, 5, 2), (48, 5, 2), (64, 3, 1), (64, 3, 1)):
        x = layers.Conv2D(width, side, strides=stride, activation="elu")(x)
    x = layers.Dropout(0.5)(layers.Flatten()(x))
    for width in (100, 50, 10):
        x = layers.Dense(width, activation="elu")(x)
    return _same(keras.Model(i, layers.Dense(1, dtype="float32")(x)), (66, 200, 3))


@_add
def attention_gate_cnn() -> Case:
    """Squeeze and excitation on the way, and attention over space (CBAM)."""
    i = x = keras.Input((64, 64, 3))
    for width in (64, 128):
        x = _norm(x, width)
        gate = layers.Dense(width // 8, activation="relu")(layers.GlobalAveragePooling2D()(x))
        gate = layers.Dense(width, activation="sigmoid")(gate)
        x = layers.Multiply()([x, layers.Reshape((1, 1, width))(gate)])
        mask = layers.Conv2D(1, 7, padding="same", activation="sigmoid")(x)
        x = layers.AveragePooling2D(2)(layers.Multiply()([x, mask]))
    return _images(keras.Model(i, _classes(layers.GlobalMaxPooling2D()(x))), (64, 64, 3))


@_add
def volumes() -> Case:
    i = x = keras.Input((32, 64, 64, 1))
    for width in (16, 32, 64):
        x = layers.Conv3D(width, 3, padding="same", activation="relu")(x)
        x = layers.BatchNormalization()(layers.MaxPooling3D()(x))
    x = layers.Dense(128, activation="relu")(layers.GlobalAveragePooling3D()(x))
    x = layers.Dense(1, activation="sigmoid", dtype="float32")(layers.Dropout(0.3)(x))
    return Case(keras.Model(i, x), "binary_crossentropy", [((32, 64, 64, 1), "float32")], ((1,), "float32"))


# Images to images


@_add
def dilated_segmentation() -> Case:
    """Dilated convolutions side by side (DeepLab)."""
    i = keras.Input((128, 128, 3))
    x = low = _norm(_norm(i, 32, strides=2), 64)
    x = _norm(_norm(x, 128, strides=2), 128)
    sides = [_norm(x, 64, 1), *(_norm(x, 64, 3, dilation_rate=rate) for rate in (2, 4, 6))]
    x = _norm(layers.Concatenate()(sides), 64, 1)
    x = layers.UpSampling2D(2, interpolation="bilinear")(x)
    x = _norm(layers.Concatenate()([x, _norm(low, 16, 1)]), 64)
    x = layers.UpSampling2D(2, interpolation="bilinear")(layers.Conv2D(21, 1)(x))
    x = layers.Activation("softmax", dtype="float32")(x)
    return Case(
        keras.Model(i, x),
        "sparse_categorical_crossentropy",
        [((128, 128, 3), "float32")],
        ((128, 128), "int32"),
    )


@_add
def generator() -> Case:
    """A latent vector to an image (DCGAN)."""
    i = keras.Input((100,))
    x = layers.Dense(8 * 8 * 256, use_bias=False)(i)
    x = layers.Reshape((8, 8, 256))(layers.LeakyReLU()(layers.BatchNormalization()(x)))
    for width in (128, 64, 32):
        x = layers.Conv2DTranspose(width, 5, strides=2, padding="same", use_bias=False)(x)
        x = layers.LeakyReLU()(layers.BatchNormalization()(x))
    x = layers.Conv2D(3, 5, padding="same", activation="tanh", dtype="float32")(x)
    return _same(keras.Model(i, x), (100,))


@_add
def discriminator() -> Case:
    i = x = keras.Input((64, 64, 3))
    for width in (64, 128, 256):
        x = layers.Conv2D(width, 5, strides=2, padding="same")(x)
        x = layers.Dropout(0.3)(layers.LeakyReLU()(x))
    x = layers.Dense(1, dtype="float32")(layers.Flatten()(x))
    return Case(keras.Model(i, x), "binary_crossentropy", [((64, 64, 3), "float32")], ((1,), "float32"))


@_add
def style_residual() -> Case:
    """Down, residual blocks, up, with instance normalization."""
    i = x = keras.Input((96, 96, 3))
    for width, stride in ((32, 1), (64, 2), (128, 2)):
        x = layers.Conv2D(width, 3, strides=stride, padding="same")(x)
        x = layers.ReLU()(layers.GroupNormalization(-1)(x))
    for _ in range(3):
        y = layers.ReLU()(layers.GroupNormalization(-1)(layers.Conv2D(128, 3, padding="same")(x)))
        x = layers.Add()([x, layers.GroupNormalization(-1)(layers.Conv2D(128, 3, padding="same")(y))])
    for width in (64, 32):
        x = layers.Conv2DTranspose(width, 3, strides=2, padding="same")(x)
        x = layers.ReLU()(layers.GroupNormalization(-1)(x))
    x = layers.Conv2D(3, 9, padding="same", activation="tanh", dtype="float32")(x)
    return _same(keras.Model(i, x), (96, 96, 3), "mae")


@_add
def denoiser() -> Case:
    """Convolutions of one size whose output is taken from the input (DnCNN)."""
    i = x = keras.Input((64, 64, 1))
    x = layers.Conv2D(64, 3, padding="same", activation="relu")(x)
    for _ in range(6):
        x = _norm(x, 64)
    x = layers.Conv2D(1, 3, padding="same", dtype="float32")(x)
    return _same(keras.Model(i, layers.Subtract(dtype="float32")([i, x])), (64, 64, 1))


@_add
def small_unet() -> Case:
    """One convolution a level, dropout at the bottom, nearest upsampling, a bigger kernel."""
    i = x = keras.Input((192, 192, 1))
    skips = []
    for width in (16, 32, 64):
        x = layers.Conv2D(width, 5, padding="same", activation="elu")(x)
        skips.append(x)
        x = layers.MaxPooling2D()(x)
    x = layers.Dropout(0.2)(layers.Conv2D(128, 3, padding="same", activation="elu")(x))
    for width, skip in zip((64, 32, 16), reversed(skips)):
        x = layers.Concatenate()([layers.UpSampling2D()(x), skip])
        x = layers.Conv2D(width, 3, padding="same", activation="elu")(x)
    x = layers.Conv2D(4, 1, activation="softmax", dtype="float32")(x)
    return Case(
        keras.Model(i, x),
        "sparse_categorical_crossentropy",
        [((192, 192, 1), "float32")],
        ((192, 192), "int32"),
    )


@_add
def pyramid() -> Case:
    """Features of three sizes, added from the top down, two heads (a detector)."""
    i = keras.Input((128, 128, 3))
    levels, x = [], _norm(i, 32, strides=2)
    for width in (64, 128, 256):
        x = _norm(_norm(x, width, strides=2), width)
        levels.append(layers.Conv2D(64, 1)(x))
    top, outputs = None, []
    for level in reversed(levels):
        top = level if top is None else layers.Add()([level, layers.UpSampling2D()(top)])
        y = layers.Conv2D(64, 3, padding="same", activation="relu")(top)
        outputs.append(layers.Reshape((-1, 24))(layers.Conv2D(24, 3, padding="same")(y)))
    x = layers.Concatenate(axis=1, dtype="float32")(outputs)
    return _same(keras.Model(i, x), (128, 128, 3), "huber")


# Sequences


def _attend(x: Any, width: int, heads: int, **options: Any) -> Any:
    return layers.MultiHeadAttention(heads, width // heads)(x, x, **options)


@_add
def after_norm_encoder() -> Case:
    """Norm after the sum, ReLU in the middle, dropout (the first transformer)."""
    i = keras.Input((200,), dtype="int32")
    x = Positions()(layers.Embedding(20000, 128)(i))
    for _ in range(3):
        x = layers.LayerNormalization()(x + layers.Dropout(0.1)(_attend(x, 128, 4)))
        y = layers.Dense(128)(layers.Dense(512, activation="relu")(x))
        x = layers.LayerNormalization()(x + layers.Dropout(0.1)(y))
    x = layers.Dropout(0.1)(layers.GlobalAveragePooling1D()(x))
    x = layers.Dense(2, activation="softmax", dtype="float32")(x)
    return Case(keras.Model(i, x), "sparse_categorical_crossentropy", [((200,), "int32")], ((), "int32"))


@_add
def masked_words() -> Case:
    """Every position predicts a word from logits, GELU."""
    i = keras.Input((128,), dtype="int32")
    x = layers.LayerNormalization()(Positions()(layers.Embedding(12000, 256)(i)))
    for _ in range(3):
        x = layers.LayerNormalization()(x + _attend(x, 256, 8))
        x = layers.LayerNormalization()(x + layers.Dense(256)(layers.Dense(1024, activation="gelu")(x)))
    x = layers.Dense(12000, dtype="float32")(layers.Dense(256, activation="gelu")(x))
    loss = keras.losses.SparseCategoricalCrossentropy(from_logits=True)
    return Case(keras.Model(i, x), loss, [((128,), "int32")], ((128,), "int32"))


@_add
def gated_decoder() -> Case:
    """Root mean square norms, no biases, a gated middle, logits (today's language models)."""
    i = keras.Input((256,), dtype="int32")
    x = layers.Embedding(8000, 320)(i)
    for _ in range(4):
        y = layers.RMSNormalization()(x)
        mha = layers.MultiHeadAttention(5, 64, use_bias=False)
        x = x + mha(y, y, use_causal_mask=True)
        y = layers.RMSNormalization()(x)
        gate = layers.Dense(864, activation="silu", use_bias=False)(y)
        x = x + layers.Dense(320, use_bias=False)(gate * layers.Dense(864, use_bias=False)(y))
    x = layers.Dense(8000, use_bias=False, dtype="float32")(layers.RMSNormalization()(x))
    loss = keras.losses.SparseCategoricalCrossentropy(from_logits=True)
    return Case(keras.Model(i, x), loss, [((256,), "int32")], ((256,), "int32"))


@_add
def grouped_queries() -> Case:
    i = keras.Input((192, 64))
    x = layers.Dense(256)(i)
    for _ in range(3):
        y = layers.LayerNormalization()(x)
        x = x + layers.GroupQueryAttention(32, 8, 2)(y, y)
        x = x + layers.Dense(256)(layers.Dense(768, activation="relu")(layers.LayerNormalization()(x)))
    return _same(keras.Model(i, layers.Dense(64, dtype="float32")(x)), (192, 64))


@_add
def series_transformer() -> Case:
    """Time series: attention wider than the input, convolutions in the middle."""
    i = x = keras.Input((256, 8))
    for _ in range(3):
        y = layers.MultiHeadAttention(4, 64, dropout=0.2)(x, x)
        x = layers.LayerNormalization()(x + layers.Dropout(0.2)(y))
        y = layers.Conv1D(64, 1, activation="relu")(x)
        x = layers.LayerNormalization()(x + layers.Conv1D(8, 1)(layers.Dropout(0.2)(y)))
    x = layers.GlobalAveragePooling1D(data_format="channels_first")(x)
    return _images(keras.Model(i, _classes(layers.Dense(128, activation="relu")(x), 5)), (256, 8))


@_add
def patches_with_token() -> Case:
    """A vision transformer with a class token, and patches cut by reshaping."""
    i = keras.Input((96, 96, 3))
    x = layers.Reshape((12, 8, 12, 8, 3))(i)
    x = layers.Reshape((144, 192))(layers.Permute((1, 3, 2, 4, 5))(x))
    x = Positions()(layers.Dense(160)(x))
    for _ in range(4):
        y = layers.LayerNormalization()(x)
        x = x + _attend(y, 160, 5)
        y = layers.Dense(480, activation="gelu")(layers.LayerNormalization()(x))
        x = x + layers.Dropout(0.1)(layers.Dense(160)(layers.Dropout(0.1)(y)))
    x = layers.LayerNormalization()(x)
    return _images(keras.Model(i, _classes(x[:, 0])), (96, 96, 3))


@_add
def windows() -> Case:
    """Attention inside windows, patches merged in between (Swin)."""
    i = keras.Input((64, 64, 3))
    x = layers.Conv2D(96, 2, strides=2)(i)
    for side, width in ((32, 96), (16, 192)):
        count = side // 8
        y = layers.LayerNormalization()(x)
        y = ops.transpose(ops.reshape(y, (-1, count, 8, count, 8, width)), (0, 1, 3, 2, 4, 5))
        y = _attend(ops.reshape(y, (-1, count * count, 64, width)), width, width // 32, attention_mask=None)
        y = ops.transpose(ops.reshape(y, (-1, count, count, 8, 8, width)), (0, 1, 3, 2, 4, 5))
        x = x + ops.reshape(y, (-1, side, side, width))
        x = x + layers.Dense(width)(
            layers.Dense(3 * width, activation="gelu")(layers.LayerNormalization()(x))
        )
        x = layers.Conv2D(2 * width, 2, strides=2)(x)
    return _images(keras.Model(i, _classes(layers.GlobalAveragePooling2D()(x))), (64, 64, 3))


@_add
def few_latents() -> Case:
    """A few latent vectors read a long input (Perceiver)."""
    i = keras.Input((1024, 32))
    latents = layers.Dense(128)(layers.AveragePooling1D(16)(i))
    for _ in range(3):
        mha = layers.MultiHeadAttention(1, 128)
        latents = layers.LayerNormalization()(latents + mha(latents, i))
        latents = layers.LayerNormalization()(latents + _attend(latents, 128, 4))
        y = layers.Dense(128)(layers.Dense(256, activation="gelu")(latents))
        latents = layers.LayerNormalization()(latents + y)
    return _images(keras.Model(i, _classes(layers.GlobalAveragePooling1D()(latents), 10)), (1024, 32))


@_add
def temporal_residual() -> Case:
    """Dilated causal convolutions with dropout and residuals (TCN)."""
    i = x = keras.Input((512, 12))
    x = layers.Conv1D(64, 1)(x)
    for rate in (1, 2, 4, 8):
        y = x
        for _ in range(2):
            y = layers.Conv1D(64, 3, padding="causal", dilation_rate=rate, activation="relu")(y)
            y = layers.SpatialDropout1D(0.2)(y)
        x = layers.ReLU()(layers.Add()([x, y]))
    return _same(keras.Model(i, layers.Dense(4, dtype="float32")(x[:, -1])), (512, 12))


@_add
def sound_cnn() -> Case:
    i = x = keras.Input((8000, 1))
    for width, side in ((32, 80), (64, 3), (128, 3), (256, 3)):
        x = layers.Conv1D(width, side, strides=4 if side == 80 else 1, padding="same")(x)
        x = layers.MaxPooling1D(4)(layers.ReLU()(layers.BatchNormalization()(x)))
    return _images(keras.Model(i, _classes(layers.GlobalAveragePooling1D()(x), 35)), (8000, 1))


@_add
def signal_autoencoder() -> Case:
    i = x = keras.Input((1024, 2))
    for width in (32, 64, 128):
        x = layers.Conv1D(width, 7, strides=2, padding="same", activation="swish")(x)
    for width in (64, 32, 16):
        x = layers.Conv1DTranspose(width, 7, strides=2, padding="same", activation="swish")(x)
    return _same(keras.Model(i, layers.Conv1D(2, 7, padding="same", dtype="float32")(x)), (1024, 2), "mae")


@_add
def two_way_gru() -> Case:
    i = keras.Input((80,), dtype="int32")
    x = layers.Embedding(10000, 64)(i)
    x = layers.Bidirectional(layers.GRU(64, return_sequences=True, use_cudnn=False))(x)
    x = layers.GlobalMaxPooling1D()(x)
    x = layers.Dense(6, activation="softmax", dtype="float32")(layers.Dense(64, activation="relu")(x))
    return Case(keras.Model(i, x), "sparse_categorical_crossentropy", [((80,), "int32")], ((), "int32"))


@_add
def reader_and_writer() -> Case:
    """An LSTM reads, another writes from its last state (sequence to sequence)."""
    source, target = keras.Input((40,), dtype="int32"), keras.Input((40,), dtype="int32")
    _, hidden, cell = layers.LSTM(160, return_state=True, use_cudnn=False)(layers.Embedding(6000, 96)(source))
    x = layers.LSTM(160, return_sequences=True, use_cudnn=False)(
        layers.Embedding(6000, 96)(target), initial_state=[hidden, cell]
    )
    x = layers.Dense(6000, activation="softmax", dtype="float32")(x)
    model = keras.Model([source, target], x)
    return Case(model, "sparse_categorical_crossentropy", [((40,), "int32")] * 2, ((40,), "int32"))


@_add
def conv_then_lstm() -> Case:
    i = keras.Input((128, 9))
    x = layers.MaxPooling1D()(layers.Conv1D(64, 3, activation="relu")(i))
    x = layers.LSTM(100, use_cudnn=False)(layers.Dropout(0.5)(x))
    return _images(keras.Model(i, _classes(layers.Dense(100, activation="relu")(x), 6)), (128, 9))


@_add
def attended_words() -> Case:
    """Words, convolutions, additive attention for pooling."""
    i = keras.Input((300,), dtype="int32")
    x = layers.SpatialDropout1D(0.2)(layers.Embedding(15000, 100)(i))
    x = layers.Conv1D(128, 5, padding="same", activation="relu")(x)
    weights = layers.Softmax(axis=1)(layers.Dense(1)(layers.Dense(64, activation="tanh")(x)))
    x = layers.Lambda(lambda pair: ops.sum(pair[0] * pair[1], axis=1), output_shape=(128,))([x, weights])
    x = layers.Dense(20, activation="softmax", dtype="float32")(x)
    return Case(keras.Model(i, x), "sparse_categorical_crossentropy", [((300,), "int32")], ((), "int32"))


# Tables, points, pairs


@_add
def deep_table() -> Case:
    """Residual blocks of dense layers on a table."""
    i = keras.Input((300,))
    x = layers.Dense(512)(i)
    for _ in range(6):
        y = layers.Dense(1024, activation="relu")(layers.BatchNormalization()(x))
        x = layers.Add()([x, layers.Dropout(0.1)(layers.Dense(512)(layers.Dropout(0.2)(y)))])
    return _same(keras.Model(i, layers.Dense(1, dtype="float32")(layers.ReLU()(x))), (300,))


@_add
def self_normalizing() -> Case:
    i = x = keras.Input((256,))
    for _ in range(8):
        x = layers.AlphaDropout(0.05)(layers.Dense(768, activation="selu")(x))
    return _images(keras.Model(i, _classes(x, 10)), (256,))


@_add
def crossed_features() -> Case:
    """Many small tables, crosses of features, a deep part (DCN)."""
    number, word = keras.Input((13,)), keras.Input((20,), dtype="int32")
    x0 = x = layers.Concatenate()([layers.Flatten()(layers.Embedding(50000, 32)(word)), number])
    for _ in range(3):
        x = layers.Add()([layers.Multiply()([x0, layers.Dense(x0.shape[-1])(x)]), x])
    deep = layers.Dense(256, activation="relu")(layers.Dense(512, activation="relu")(x0))
    x = layers.Dense(1, activation="sigmoid", dtype="float32")(layers.Concatenate()([x, deep]))
    inputs = [((13,), "float32"), ((20,), "int32")]
    return Case(keras.Model([number, word], x), "binary_crossentropy", inputs, ((1,), "float32"))


@_add
def factors() -> Case:
    """Two tables and a product (matrix factorization)."""
    user, item = keras.Input((1,), dtype="int32"), keras.Input((1,), dtype="int32")
    left = layers.Flatten()(layers.Embedding(80000, 50, embeddings_regularizer="l2")(user))
    right = layers.Flatten()(layers.Embedding(30000, 50, embeddings_regularizer="l2")(item))
    x = layers.Dot(1, dtype="float32")([left, right])
    return Case(keras.Model([user, item], x), "mse", [((1,), "int32")] * 2, ((1,), "float32"))


@_add
def radiance_field() -> Case:
    """Sines of coordinates through dense layers with a skip (NeRF)."""
    i = keras.Input((3,))
    parts = [layers.Lambda(lambda v, f=2.0**n: ops.sin(v * f), output_shape=(3,))(i) for n in range(6)]
    x = first = layers.Concatenate()([i, *parts])
    for number in range(8):
        x = layers.Dense(256, activation="relu")(x)
        if number == 4:
            x = layers.Concatenate()([x, first])
    return _same(keras.Model(i, layers.Dense(4, dtype="float32")(x)), (3,))


@_add
def points() -> Case:
    """A cloud of points, the same layers for each, the largest of all (PointNet)."""
    i = x = keras.Input((1024, 3))
    for width in (64, 64, 128, 512):
        x = layers.Conv1D(width, 1)(x)
        x = layers.Activation("relu")(layers.BatchNormalization()(x))
    x = layers.GlobalMaxPooling1D()(x)
    x = layers.Dropout(0.3)(layers.Dense(256, activation="relu")(x))
    return _images(keras.Model(i, _classes(x, 40)), (1024, 3))


@_add
def neighbours() -> Case:
    """Messages along a dense matrix of neighbours (a graph network)."""
    nodes, edges = keras.Input((256, 32)), keras.Input((256, 256))
    x = layers.Dense(128)(nodes)
    for _ in range(3):
        x = layers.Dense(128, activation="relu")(layers.Dot((2, 1))([edges, x])) + x
    x = layers.Dense(1, dtype="float32")(layers.GlobalAveragePooling1D()(x))
    inputs = [((256, 32), "float32"), ((256, 256), "float32")]
    return Case(keras.Model([nodes, edges], x), "mse", inputs, ((1,), "float32"))


@_add
def triplets() -> Case:
    """One tower for three images, distances between them."""
    inputs = [keras.Input((48, 48, 3)) for _ in range(3)]
    x = tower_in = keras.Input((48, 48, 3))
    for width in (32, 64, 128):
        x = _norm(x, width, 3, strides=2)
    x = layers.UnitNormalization()(layers.Dense(64)(layers.GlobalAveragePooling2D()(x)))
    tower = keras.Model(tower_in, x)
    one, same, other = (tower(image) for image in inputs)
    x = layers.Dot(1)([one, same]) - layers.Dot(1)([one, other])
    x = layers.Activation("sigmoid", dtype="float32")(x)
    specs = [((48, 48, 3), "float32")] * 3
    return Case(keras.Model(inputs, x), "binary_crossentropy", specs, ((1,), "float32"))


@_add
def picture_and_text() -> Case:
    """A convolutional and a recurrent part, joined."""
    picture, text = keras.Input((64, 64, 3)), keras.Input((30,), dtype="int32")
    x = picture
    for width in (32, 64, 128):
        x = layers.MaxPooling2D()(layers.Conv2D(width, 3, padding="same", activation="relu")(x))
    y = layers.SimpleRNN(128)(layers.Embedding(5000, 64)(text))
    x = layers.Concatenate()([layers.Flatten()(x), y])
    x = layers.Dense(500, activation="softmax", dtype="float32")(layers.Dense(256, activation="relu")(x))
    inputs = [((64, 64, 3), "float32"), ((30,), "int32")]
    return Case(keras.Model([picture, text], x), "sparse_categorical_crossentropy", inputs, ((), "int32"))


@_add
def frames_then_time() -> Case:
    """A small convolutional network for each frame, pooled over time."""
    i = keras.Input((8, 64, 64, 3))
    x = tower_in = keras.Input((64, 64, 3))
    for width in (32, 64, 64):
        x = layers.MaxPooling2D()(_norm(x, width))
    tower = keras.Model(tower_in, layers.GlobalAveragePooling2D()(x))
    x = layers.GlobalAveragePooling1D()(layers.TimeDistributed(tower)(i))
    return _images(keras.Model(i, _classes(x, 20)), (8, 64, 64, 3))
