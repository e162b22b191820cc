"""The models of the comparisons: `case("resnet18")` is a model, its loss and the shapes of one sample.

Only Keras 3, no backend's own operations, so that each runs on TensorFlow and on JAX. Written for their kinds of
layers, not to be trained. `keras:ResNet50` and the like are those of keras.applications without weights.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import keras
from keras import layers, ops


@dataclass(frozen=True)
class Case:
    """A model that is not compiled, its loss or the name of it, and a sample of inputs and targets: (shape, dtype).

    `y` is a list where there are several targets; `options` are more arguments of `compile`; `weight` is of a sample.
    """

    model: keras.Model
    loss: Any
    x: list[tuple[tuple[int, ...], str]]
    y: Any
    options: dict[str, Any] = field(default_factory=dict)
    weight: tuple[tuple[int, ...], str] | None = None

    def specs(self, batch: int) -> tuple[list[tuple[tuple[int, ...], str]], Any]:
        """Inputs and targets with the batch in front."""

        def whole(one: tuple[tuple[int, ...], str]) -> tuple[tuple[int, ...], str]:
            return (batch, *one[0]), one[1]

        targets = [whole(one) for one in self.y] if isinstance(self.y, list) else self.y and whole(self.y)
        return [whole(one) for one in self.x], targets


# Modules with further models, which need TensorFlow from the third on.
SETS = (
    "held_out_models", "tutorial_models", "third_look_models", "fourth_look_models", "fifth_look_models",
    "sixth_look_models", "seventh_look_models", "eighth_look_models", "eighth_xla_models", "ninth_look_models",
    "ninth_other_models", "tenth_look_models", "tenth_other_models", "eleventh_look_models",
    "eleventh_other_models", "twelfth_look_models", "twelfth_other_models", "thirteenth_look_models",
    "thirteenth_other_models", "fourteenth_look_models", "fourteenth_other_models", "fifteenth_look_models",
    "fifteenth_other_models", "sixteenth_look_models", "sixteenth_other_models", "seventeenth_look_models",
    "seventeenth_other_models", "eighteenth_look_models", "eighteenth_other_models",
)  # fmt: skip
BUILDERS: dict[str, Callable[[], Case]] = {}


def _add(function: Callable[[], Case]) -> Callable[[], Case]:
    assert function.__name__ not in BUILDERS
    BUILDERS[function.__name__] = function
    return function


def case(name: str) -> Case:
    """The case of that name; `keras:NAME` for a model of keras.applications."""
    if name.startswith("keras:"):
        model = getattr(keras.applications, name[6:])(weights=None)
        return _images(model, tuple(model.input_shape[1:]))
    for module in SETS:
        if name not in BUILDERS:
            importlib.import_module(module)
    return BUILDERS[name]()


def _images(model: keras.Model, shape: tuple[int, ...]) -> Case:
    return Case(model, "sparse_categorical_crossentropy", [(shape, "float32")], ((), "int32"))


def _same(model: keras.Model, shape: tuple[int, ...], loss: str = "mse") -> Case:
    return Case(model, loss, [(shape, "float32")], (tuple(model.output_shape[1:]), "float32"))


# Plain and convolutional networks


@_add
def mlp() -> Case:
    i = x = keras.Input((784,))
    for _ in range(6):
        x = layers.Dense(2048, activation="relu")(x)
    x = layers.Dense(10, activation="softmax", dtype="float32")(x)
    return _images(keras.Model(i, x), (784,))


@_add
def mlp_norm_dropout() -> Case:
    i = x = keras.Input((512,))
    for _ in range(5):
        x = layers.Dense(1024)(x)
        x = layers.BatchNormalization()(x)
        x = layers.Activation("gelu")(x)
        x = layers.Dropout(0.3)(x)
    x = layers.Dense(100, activation="softmax", dtype="float32")(x)
    return _images(keras.Model(i, x), (512,))


@_add
def lenet() -> Case:
    i = x = keras.Input((28, 28, 1))
    x = layers.Conv2D(6, 5, padding="same", activation="tanh")(x)
    x = layers.AveragePooling2D(2)(x)
    x = layers.Conv2D(16, 5, activation="tanh")(x)
    x = layers.AveragePooling2D(2)(x)
    x = layers.Flatten()(x)
    x = layers.Dense(120, activation="tanh")(x)
    x = layers.Dense(84, activation="tanh")(x)
    x = layers.Dense(10, activation="softmax", dtype="float32")(x)
    return _images(keras.Model(i, x), (28, 28, 1))


@_add
def alexnet() -> Case:
    i = x = keras.Input((227, 227, 3))
    x = layers.Conv2D(96, 11, strides=4, activation="relu")(x)
    x = layers.MaxPooling2D(3, 2)(x)
    x = layers.Conv2D(256, 5, padding="same", activation="relu")(x)
    x = layers.MaxPooling2D(3, 2)(x)
    x = layers.Conv2D(384, 3, padding="same", activation="relu")(x)
    x = layers.Conv2D(384, 3, padding="same", activation="relu")(x)
    x = layers.Conv2D(256, 3, padding="same", activation="relu")(x)
    x = layers.MaxPooling2D(3, 2)(x)
    x = layers.Flatten()(x)
    for _ in range(2):
        x = layers.Dense(4096, activation="relu")(x)
        x = layers.Dropout(0.5)(x)
    x = layers.Dense(1000, activation="softmax", dtype="float32")(x)
    return _images(keras.Model(i, x), (227, 227, 3))


@_add
def small_cnn() -> Case:
    i = x = keras.Input((32, 32, 3))
    for width in (32, 64, 128):
        x = layers.Conv2D(width, 3, padding="same", activation="relu")(x)
        x = layers.Conv2D(width, 3, padding="same", activation="relu")(x)
        x = layers.MaxPooling2D()(x)
        x = layers.Dropout(0.25)(x)
    x = layers.Flatten()(x)
    x = layers.Dense(512, activation="relu")(x)
    x = layers.Dense(10, activation="softmax", dtype="float32")(x)
    return _images(keras.Model(i, x), (32, 32, 3))


@_add
def augmented_cnn() -> Case:
    i = x = keras.Input((128, 128, 3))
    x = layers.Rescaling(1 / 255)(x)
    x = layers.RandomFlip("horizontal")(x)
    x = layers.RandomContrast(0.2)(x)
    for width in (32, 64, 128):
        x = layers.Conv2D(width, 3, strides=2, padding="same", use_bias=False)(x)
        x = layers.BatchNormalization()(x)
        x = layers.ReLU()(x)
    x = layers.GlobalAveragePooling2D()(x)
    x = layers.Dense(10, activation="softmax", dtype="float32")(x)
    return _images(keras.Model(i, x), (128, 128, 3))


def _block(x: Any, width: int, stride: int) -> Any:
    short = x
    x = layers.Conv2D(width, 3, strides=stride, padding="same", use_bias=False)(x)
    x = layers.BatchNormalization()(x)
    x = layers.ReLU()(x)
    x = layers.Conv2D(width, 3, padding="same", use_bias=False)(x)
    x = layers.BatchNormalization()(x)
    if stride != 1 or short.shape[-1] != width:
        short = layers.Conv2D(width, 1, strides=stride, use_bias=False)(short)
        short = layers.BatchNormalization()(short)
    return layers.ReLU()(layers.Add()([x, short]))


@_add
def resnet18() -> Case:
    i = x = keras.Input((224, 224, 3))
    x = layers.Conv2D(64, 7, strides=2, padding="same", use_bias=False)(x)
    x = layers.BatchNormalization()(x)
    x = layers.ReLU()(x)
    x = layers.MaxPooling2D(3, 2, padding="same")(x)
    for width, stride in ((64, 1), (64, 1), (128, 2), (128, 1), (256, 2), (256, 1), (512, 2), (512, 1)):
        x = _block(x, width, stride)
    x = layers.GlobalAveragePooling2D()(x)
    x = layers.Dense(1000, activation="softmax", dtype="float32")(x)
    return _images(keras.Model(i, x), (224, 224, 3))


@_add
def cifar_resnet20() -> Case:
    i = x = keras.Input((32, 32, 3))
    x = layers.Conv2D(16, 3, padding="same", use_bias=False)(x)
    x = layers.ReLU()(layers.BatchNormalization()(x))
    for width, stride in ((16, 1), (16, 1), (16, 1), (32, 2), (32, 1), (32, 1), (64, 2), (64, 1), (64, 1)):
        x = _block(x, width, stride)
    x = layers.GlobalAveragePooling2D()(x)
    x = layers.Dense(10, activation="softmax", dtype="float32")(x)
    return _images(keras.Model(i, x), (32, 32, 3))


@_add
def squeezenet() -> Case:
    i = x = keras.Input((224, 224, 3))
    x = layers.Conv2D(64, 3, strides=2, activation="relu")(x)
    x = layers.MaxPooling2D(3, 2)(x)
    for index, (squeeze, expand) in enumerate(
        ((16, 64), (16, 64), (32, 128), (32, 128), (48, 192), (64, 256))
    ):
        x = layers.Conv2D(squeeze, 1, activation="relu")(x)
        left = layers.Conv2D(expand, 1, activation="relu")(x)
        right = layers.Conv2D(expand, 3, padding="same", activation="relu")(x)
        x = layers.Concatenate()([left, right])
        if index in (1, 3):
            x = layers.MaxPooling2D(3, 2)(x)
    x = layers.Dropout(0.5)(x)
    x = layers.Conv2D(1000, 1, activation="relu")(x)
    x = layers.GlobalAveragePooling2D()(x)
    x = layers.Activation("softmax", dtype="float32")(x)
    return _images(keras.Model(i, x), (224, 224, 3))


@_add
def separable_swish() -> Case:
    i = x = keras.Input((160, 160, 3))
    x = layers.Conv2D(32, 3, strides=2, padding="same", use_bias=False)(x)
    for width in (64, 128, 256, 256):
        x = layers.SeparableConv2D(width, 3, padding="same", use_bias=False)(x)
        x = layers.BatchNormalization()(x)
        x = layers.Activation("swish")(x)
        x = layers.MaxPooling2D()(x)
    x = layers.GlobalAveragePooling2D()(x)
    x = layers.Dense(100, activation="softmax", dtype="float32")(x)
    return _images(keras.Model(i, x), (160, 160, 3))


@_add
def squeeze_excite() -> Case:
    i = x = keras.Input((128, 128, 3))
    x = layers.Conv2D(48, 3, strides=2, padding="same")(x)
    for width in (96, 192, 384):
        y = layers.Conv2D(width, 1, activation="swish")(x)
        y = layers.DepthwiseConv2D(3, strides=2, padding="same", activation="swish")(y)
        gate = layers.GlobalAveragePooling2D(keepdims=True)(y)
        gate = layers.Conv2D(width // 4, 1, activation="swish")(gate)
        gate = layers.Conv2D(width, 1, activation="sigmoid")(gate)
        x = layers.Multiply()([y, gate])
    x = layers.GlobalAveragePooling2D()(x)
    x = layers.Dense(1000, activation="softmax", dtype="float32")(x)
    return _images(keras.Model(i, x), (128, 128, 3))


@_add
def convnext_like() -> Case:
    i = x = keras.Input((128, 128, 3))
    x = layers.Conv2D(64, 4, strides=4)(x)
    for _ in range(6):
        y = layers.DepthwiseConv2D(7, padding="same")(x)
        y = layers.LayerNormalization(epsilon=1e-6)(y)
        y = layers.Dense(256, activation="gelu")(y)
        y = layers.Dense(64)(y)
        x = layers.Add()([x, y])
    x = layers.GlobalAveragePooling2D()(x)
    x = layers.Dense(100, activation="softmax", dtype="float32")(x)
    return _images(keras.Model(i, x), (128, 128, 3))


@_add
def conv3d_video() -> Case:
    i = x = keras.Input((16, 64, 64, 3))
    for width in (16, 32, 64):
        x = layers.Conv3D(width, 3, padding="same")(x)
        x = layers.BatchNormalization()(x)
        x = layers.ReLU()(x)
        x = layers.MaxPooling3D(2)(x)
    x = layers.GlobalAveragePooling3D()(x)
    x = layers.Dense(20, activation="softmax", dtype="float32")(x)
    return _images(keras.Model(i, x), (16, 64, 64, 3))


# Images to images


def _double(x: Any, width: int, norm: bool) -> Any:
    for _ in range(2):
        x = layers.Conv2D(width, 3, padding="same", use_bias=not norm)(x)
        if norm:
            x = layers.BatchNormalization()(x)
        x = layers.Activation("relu")(x)
    return x


def _unet(side: int, widths: tuple[int, ...], norm: bool, transposed: bool) -> keras.Model:
    i = x = keras.Input((side, side, 3))
    kept = []
    for width in widths[:-1]:
        x = _double(x, width, norm)
        kept.append(x)
        x = layers.MaxPooling2D()(x)
    x = _double(x, widths[-1], norm)
    for width, skip in zip(widths[-2::-1], reversed(kept)):
        x = layers.Conv2DTranspose(width, 2, strides=2)(x) if transposed else layers.UpSampling2D()(x)
        x = _double(layers.Concatenate()([x, skip]), width, norm)
    return keras.Model(i, layers.Conv2D(1, 1, activation="sigmoid", dtype="float32")(x))


@_add
def unet() -> Case:
    return _same(_unet(128, (64, 128, 256, 512), False, True), (128, 128, 3), "binary_crossentropy")


@_add
def unet_norm() -> Case:
    return _same(_unet(256, (32, 64, 128, 256, 512), True, False), (256, 256, 3), "binary_crossentropy")


@_add
def conv_autoencoder() -> Case:
    i = x = keras.Input((128, 128, 3))
    for width in (32, 64, 128):
        x = layers.Conv2D(width, 3, strides=2, padding="same", activation="relu")(x)
    for width in (128, 64, 32):
        x = layers.Conv2DTranspose(width, 3, strides=2, padding="same", activation="relu")(x)
    x = layers.Conv2D(3, 3, padding="same", activation="sigmoid", dtype="float32")(x)
    return _same(keras.Model(i, x), (128, 128, 3))


@_add
def dense_autoencoder() -> Case:
    i = x = keras.Input((4096,))
    for width in (2048, 512, 64, 512, 2048):
        x = layers.Dense(width, activation="elu")(x)
    x = layers.Dense(4096, dtype="float32")(x)
    return _same(keras.Model(i, x), (4096,))


class Sampling(layers.Layer):
    """The random point of a variational autoencoder, with its part of the loss."""

    def __init__(self, **options: Any) -> None:
        super().__init__(**options)
        self.seeds = keras.random.SeedGenerator(7)

    def call(self, pair: Any) -> Any:
        mean, log_var = pair
        self.add_loss(-0.5 * ops.mean(1 + log_var - ops.square(mean) - ops.exp(log_var)))
        noise = keras.random.normal(ops.shape(mean), dtype=mean.dtype, seed=self.seeds)
        return mean + ops.exp(0.5 * log_var) * noise


@_add
def variational_autoencoder() -> Case:
    i = x = keras.Input((64, 64, 3))
    for width in (32, 64, 128):
        x = layers.Conv2D(width, 4, strides=2, padding="same", activation="relu")(x)
    x = layers.Flatten()(x)
    x = Sampling(dtype="float32")([layers.Dense(128)(x), layers.Dense(128)(x)])
    x = layers.Dense(8 * 8 * 128, activation="relu")(x)
    x = layers.Reshape((8, 8, 128))(x)
    for width in (128, 64, 32):
        x = layers.Conv2DTranspose(width, 4, strides=2, padding="same", activation="relu")(x)
    x = layers.Conv2D(3, 3, padding="same", activation="sigmoid", dtype="float32")(x)
    return _same(keras.Model(i, x), (64, 64, 3))


@_add
def super_resolution() -> Case:
    i = x = keras.Input((96, 96, 3))
    x = first = layers.Conv2D(64, 9, padding="same", activation="relu")(x)
    for _ in range(4):
        y = layers.Conv2D(64, 3, padding="same")(x)
        y = layers.PReLU(shared_axes=[1, 2])(y)
        y = layers.Conv2D(64, 3, padding="same")(y)
        x = layers.Add()([x, y])
    x = layers.Add()([x, first])
    x = layers.UpSampling2D(interpolation="bilinear")(x)
    x = layers.Conv2D(3, 9, padding="same", dtype="float32")(x)
    return _same(keras.Model(i, x), (96, 96, 3), "mae")


# Sequences


class Positions(layers.Layer):
    """Adds a vector for each position."""

    def build(self, shape: Any) -> None:
        self.table = self.add_weight(shape=(shape[-2], shape[-1]), initializer="normal", name="table")

    def call(self, x: Any) -> Any:
        return x + ops.cast(self.table, x.dtype)

    def compute_output_shape(self, shape: Any) -> Any:
        return shape


def _attention(
    x: Any, width: int, heads: int, dropout: float, causal: bool = False, memory: Any = None
) -> Any:
    y = layers.LayerNormalization(epsilon=1e-6)(x)
    mha = layers.MultiHeadAttention(heads, width // heads, dropout=dropout)
    y = mha(y, y if memory is None else memory, use_causal_mask=causal)
    return layers.Add()([x, layers.Dropout(dropout)(y)])


def _feed_forward(x: Any, width: int, dropout: float) -> Any:
    y = layers.LayerNormalization(epsilon=1e-6)(x)
    y = layers.Dense(4 * width, activation="gelu")(y)
    y = layers.Dense(width)(y)
    return layers.Add()([x, layers.Dropout(dropout)(y)])


def _decoder(vocabulary: int, width: int, heads: int, depth: int, length: int, dropout: float) -> Case:
    i = keras.Input((length,), dtype="int32")
    x = Positions()(layers.Embedding(vocabulary, width)(i))
    for _ in range(depth):
        x = _attention(x, width, heads, dropout, causal=True)
        x = _feed_forward(x, width, dropout)
    x = layers.LayerNormalization(epsilon=1e-6)(x)
    x = layers.Dense(vocabulary, activation="softmax", dtype="float32")(x)
    model = keras.Model(i, x)
    return Case(model, "sparse_categorical_crossentropy", [((length,), "int32")], ((length,), "int32"))


@_add
def decoder_small() -> Case:
    return _decoder(8192, 256, 4, 4, 256, 0.1)


@_add
def decoder_wide() -> Case:
    return _decoder(16384, 768, 12, 4, 512, 0.0)


@_add
def decoder_6_7b() -> Case:
    return _decoder(32000, 4096, 32, 32, 2048, 0.0)


@_add
def encoder_12() -> Case:
    """A text classifier of BERT's base size."""
    i = keras.Input((128,), dtype="int32")
    x = Positions()(layers.Embedding(30522, 768)(i))
    for _ in range(12):
        x = _feed_forward(_attention(x, 768, 12, 0.1), 768, 0.1)
    x = layers.LayerNormalization(epsilon=1e-6)(x)
    x = layers.Dense(2, activation="softmax", dtype="float32")(x[:, 0])
    return Case(keras.Model(i, x), "sparse_categorical_crossentropy", [((128,), "int32")], ((), "int32"))


@_add
def vision_transformer() -> Case:
    i = x = keras.Input((224, 224, 3))
    x = layers.Conv2D(192, 16, strides=16)(x)
    x = Positions()(layers.Reshape((196, 192))(x))
    for _ in range(6):
        x = _feed_forward(_attention(x, 192, 3, 0.1), 192, 0.1)
    x = layers.GlobalAveragePooling1D()(layers.LayerNormalization()(x))
    x = layers.Dense(1000, activation="softmax", dtype="float32")(x)
    return _images(keras.Model(i, x), (224, 224, 3))


@_add
def translator() -> Case:
    """Encoder and decoder with cross attention."""
    source, target = keras.Input((96,), dtype="int32"), keras.Input((96,), dtype="int32")
    table = layers.Embedding(10000, 256)
    x, y = Positions()(table(source)), Positions()(table(target))
    for _ in range(2):
        x = _feed_forward(_attention(x, 256, 8, 0.1), 256, 0.1)
    for _ in range(2):
        y = _attention(y, 256, 8, 0.1, causal=True)
        y = _feed_forward(_attention(y, 256, 8, 0.1, memory=x), 256, 0.1)
    y = layers.Dense(10000, activation="softmax", dtype="float32")(y)
    model = keras.Model([source, target], y)
    return Case(model, "sparse_categorical_crossentropy", [((96,), "int32")] * 2, ((96,), "int32"))


@_add
def mixer() -> Case:
    i = x = keras.Input((128, 128, 3))
    x = layers.Reshape((256, 256))(layers.Conv2D(256, 8, strides=8)(x))
    for _ in range(4):
        y = layers.Permute((2, 1))(layers.LayerNormalization()(x))
        y = layers.Dense(256)(layers.Dense(512, activation="gelu")(y))
        x = layers.Add()([x, layers.Permute((2, 1))(y)])
        y = layers.Dense(1024, activation="gelu")(layers.LayerNormalization()(x))
        x = layers.Add()([x, layers.Dense(256)(y)])
    x = layers.Dense(100, activation="softmax", dtype="float32")(layers.GlobalAveragePooling1D()(x))
    return _images(keras.Model(i, x), (128, 128, 3))


@_add
def text_cnn() -> Case:
    i = keras.Input((400,), dtype="int32")
    x = layers.Embedding(20000, 128)(i)
    x = layers.Concatenate()(
        [layers.GlobalMaxPooling1D()(layers.Conv1D(128, size, activation="relu")(x)) for size in (3, 4, 5)]
    )
    x = layers.Dense(1, activation="sigmoid", dtype="float32")(layers.Dropout(0.5)(x))
    return Case(keras.Model(i, x), "binary_crossentropy", [((400,), "int32")], ((1,), "float32"))


@_add
def wavenet() -> Case:
    i = x = keras.Input((4096, 1))
    x = layers.Conv1D(32, 2, padding="causal")(x)
    skips = []
    for rate in (1, 2, 4, 8, 16, 32):
        left = layers.Conv1D(32, 2, padding="causal", dilation_rate=rate, activation="tanh")(x)
        right = layers.Conv1D(32, 2, padding="causal", dilation_rate=rate, activation="sigmoid")(x)
        y = layers.Conv1D(32, 1)(layers.Multiply()([left, right]))
        skips.append(y)
        x = layers.Add()([x, y])
    x = layers.Activation("relu")(layers.Add()(skips))
    x = layers.Conv1D(256, 1, activation="softmax", dtype="float32")(x)
    model = keras.Model(i, x)
    return Case(model, "sparse_categorical_crossentropy", [((4096, 1), "float32")], ((4096,), "int32"))


@_add
def lstm_text() -> Case:
    i = keras.Input((200,), dtype="int32")
    x = layers.Embedding(20000, 128)(i)
    x = layers.LSTM(256, return_sequences=True, use_cudnn=False)(x)
    x = layers.LSTM(256, use_cudnn=False)(x)
    x = layers.Dense(1, activation="sigmoid", dtype="float32")(x)
    return Case(keras.Model(i, x), "binary_crossentropy", [((200,), "int32")], ((1,), "float32"))


@_add
def gru_forecast() -> Case:
    i = x = keras.Input((168, 16))
    x = layers.GRU(192, return_sequences=True, use_cudnn=False)(x)
    x = layers.GRU(192, use_cudnn=False)(x)
    x = layers.Dense(24, dtype="float32")(x)
    return _same(keras.Model(i, x), (168, 16))


@_add
def tagger() -> Case:
    i = keras.Input((100,), dtype="int32")
    x = layers.Embedding(15000, 100)(i)
    x = layers.Bidirectional(layers.LSTM(128, return_sequences=True, use_cudnn=False))(x)
    x = layers.TimeDistributed(layers.Dense(20, activation="softmax", dtype="float32"))(x)
    return Case(keras.Model(i, x), "sparse_categorical_crossentropy", [((100,), "int32")], ((100,), "int32"))


@_add
def simple_rnn() -> Case:
    i = x = keras.Input((120, 32))
    x = layers.SimpleRNN(256, return_sequences=True)(x)
    x = layers.SimpleRNN(256)(x)
    x = layers.Dense(10, activation="softmax", dtype="float32")(x)
    return _images(keras.Model(i, x), (120, 32))


@_add
def recommender() -> Case:
    """Wide and deep: most bytes are tables, and their gradients are dense under XLA."""
    user, item, dense = keras.Input((1,), dtype="int32"), keras.Input((1,), dtype="int32"), keras.Input((64,))
    x = layers.Concatenate()(
        [
            layers.Flatten()(layers.Embedding(200000, 64)(user)),
            layers.Flatten()(layers.Embedding(100000, 64)(item)),
            dense,
        ]
    )
    for width in (1024, 512, 256):
        x = layers.Dense(width, activation="relu")(x)
    x = layers.Dense(1, activation="sigmoid", dtype="float32")(x)
    inputs = [((1,), "int32"), ((1,), "int32"), ((64,), "float32")]
    return Case(keras.Model([user, item, dense], x), "binary_crossentropy", inputs, ((1,), "float32"))


@_add
def siamese() -> Case:
    left, right = keras.Input((64, 64, 3)), keras.Input((64, 64, 3))
    x = tower_in = keras.Input((64, 64, 3))
    for width in (32, 64, 128):
        x = layers.Conv2D(width, 3, padding="same", activation="relu")(x)
        x = layers.MaxPooling2D()(x)
    tower = keras.Model(tower_in, layers.Dense(128)(layers.Flatten()(x)))
    x = layers.Subtract()([tower(left), tower(right)])
    x = layers.Dense(1, activation="sigmoid", dtype="float32")(x)
    inputs = [((64, 64, 3), "float32")] * 2
    return Case(keras.Model([left, right], x), "binary_crossentropy", inputs, ((1,), "float32"))
