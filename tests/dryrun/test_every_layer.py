"""Every layer class that Keras has: the dry run gives its output shape and its number of parameters, or says why not.

One small model per line below: the layer, and the shapes that it is called on. Keras builds it on the CPU, and its
text is dry-run; both must agree. A class that Keras gets and that is named nowhere here fails the last test.
"""

from __future__ import annotations

import os
import re
from importlib import metadata
from typing import Any

import numpy as np
import pytest

from oomlint.dryrun.catalog.keras.graph import tensors

from .test_keras_shapes import dry, plain

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")

# layer @ inputs: several inputs are a list, after `&` further arguments. An input may have a dtype.
BOTH = """
Activation("tanh") @ (5,)
ActivityRegularization(l1=0.1) @ (5,)
Add() @ (4, 3) (4, 3) (1, 3)
AdditiveAttention() @ (6, 8) (9, 8)
AdditiveAttention(use_scale=False) @ (6, 8) (9, 8)
AlphaDropout(0.3) @ (5,)
Attention() @ (6, 8) (9, 8)
Attention(use_scale=True, score_mode="concat") @ (6, 8) (9, 8)
Average() @ (4, 3) (4, 3)
AveragePooling1D(3, strides=2, padding="same") @ (11, 4)
AveragePooling2D((2, 3)) @ (11, 13, 4)
AveragePooling3D(2, strides=1) @ (5, 6, 7, 2)
AvgPool1D(2) @ (11, 4)
AvgPool2D(2) @ (11, 13, 4)
AvgPool3D(2) @ (5, 6, 7, 2)
BatchNormalization() @ (5, 6, 4)
BatchNormalization(scale=False, center=False) @ (7,)
Bidirectional(keras.layers.LSTM(3)) @ (6, 5)
Bidirectional(keras.layers.LSTM(3, return_sequences=True), merge_mode="mul") @ (6, 5)
Bidirectional(keras.layers.GRU(4, return_sequences=True), merge_mode="ave") @ (6, 5)
Bidirectional(keras.layers.SimpleRNN(4), merge_mode=None) @ (6, 5)
Bidirectional(keras.layers.GRU(4), backward_layer=keras.layers.GRU(4, go_backwards=True)) @ (6, 5)
CategoryEncoding(num_tokens=6) @ (4,)
CategoryEncoding(num_tokens=6, output_mode="one_hot") @ (1,)
CategoryEncoding(num_tokens=6, output_mode="count") @ (4,)
CenterCrop(5, 6) @ (9, 10, 3)
Concatenate() @ (4, 3) (4, 7)
Concatenate(axis=-2) @ (4, 3) (5, 3)
Conv1D(6, 3) @ (11, 4)
Conv1D(6, 3, padding="causal", strides=2) @ (11, 4)
Conv1DTranspose(6, 3, strides=2) @ (11, 4)
Conv2D(6, (3, 2), strides=(2, 1)) @ (11, 13, 4)
Conv2D(6, 3, dilation_rate=(2, 3), groups=2) @ (11, 13, 4)
Conv2DTranspose(6, 3, strides=2, padding="same") @ (11, 13, 4)
Conv3D(6, 2) @ (5, 6, 7, 2)
Conv3DTranspose(6, 2, strides=(1, 2, 2)) @ (5, 6, 7, 2)
ConvLSTM1D(6, 3) @ (4, 9, 2)
ConvLSTM2D(6, 3, return_sequences=True, padding="same", use_bias=False) @ (4, 9, 8, 2)
ConvLSTM3D(3, 2) @ (4, 5, 6, 7, 2)
Convolution1D(6, 3) @ (11, 4)
Convolution1DTranspose(6, 3) @ (11, 4)
Convolution2D(6, 3) @ (11, 13, 4)
Convolution2DTranspose(6, 3) @ (11, 13, 4)
Convolution3D(6, 2) @ (5, 6, 7, 2)
Convolution3DTranspose(6, 2) @ (5, 6, 7, 2)
Cropping1D(2) @ (11, 4)
Cropping2D(((1, 2), (3, 0))) @ (11, 13, 4)
Cropping3D(1) @ (5, 6, 7, 2)
Dense(9, use_bias=False) @ (5, 4)
DepthwiseConv1D(3, depth_multiplier=2) @ (11, 4)
DepthwiseConv2D(3, strides=2, padding="same") @ (11, 13, 4)
Discretization([0.0, 1.0, 2.0]) @ (4,)
Discretization(bin_boundaries=[0.0, 1.0], output_mode="one_hot") @ (1,)
Dot(axes=-1) @ (4, 3) (5, 3)
Dot(axes=(1, 2)) @ (4, 3) (5, 4)
Dropout(0.5) @ (5,)
ELU() @ (5,)
EinsumDense("ab,bc->ac", output_shape=7, bias_axes="c") @ (5,)
EinsumDense("...x,xy->...y", output_shape=7) @ (6, 5)
Embedding(20, 3) @ (6,)
Flatten() @ (4, 3, 2)
GRU(4, return_state=True) @ (6, 5)
GRU(4, reset_after=False, use_bias=False) @ (6, 5)
GaussianDropout(0.1) @ (5,)
GaussianNoise(0.1) @ (5,)
GlobalAveragePooling1D() @ (11, 4)
GlobalAveragePooling2D(keepdims=True) @ (11, 13, 4)
GlobalAveragePooling3D() @ (5, 6, 7, 2)
GlobalAvgPool1D() @ (11, 4)
GlobalAvgPool2D() @ (11, 13, 4)
GlobalAvgPool3D() @ (5, 6, 7, 2)
GlobalMaxPool1D() @ (11, 4)
GlobalMaxPool2D() @ (11, 13, 4)
GlobalMaxPool3D() @ (5, 6, 7, 2)
GlobalMaxPooling1D(data_format="channels_first") @ (11, 4)
GlobalMaxPooling2D() @ (11, 13, 4)
GlobalMaxPooling3D() @ (5, 6, 7, 2)
GroupNormalization(groups=2) @ (6, 6, 8)
GroupNormalization(groups=-1, scale=False) @ (6, 6, 8)
HashedCrossing(num_bins=6) @ int32(1,) int32(1,)
HashedCrossing(num_bins=6, output_mode="one_hot") @ int32(1,) int32(1,)
Hashing(6) @ string(4,)
Hashing(6, output_mode="multi_hot") @ string(4,)
Identity() @ (5,)
IntegerLookup(vocabulary=[3, 4, 5]) @ int64(4,)
IntegerLookup(vocabulary=[3, 4, 5], output_mode="multi_hot") @ int64(4,)
LSTM(4, return_sequences=True, return_state=True) @ (6, 5)
Lambda(lambda x: x[:, 1:]) @ (6, 5)
Lambda(lambda pair: pair[0] * pair[1]) @ (6, 5) (6, 5)
LayerNormalization() @ (6, 5)
LayerNormalization(axis=(1, 2), scale=False) @ (6, 5)
LeakyReLU() @ (5,)
Masking() @ (6, 5)
MaxPool1D() @ (11, 4)
MaxPool2D() @ (11, 13, 4)
MaxPool3D() @ (5, 6, 7, 2)
MaxPooling1D(3, padding="same") @ (11, 4)
MaxPooling2D(3, 2) @ (11, 13, 4)
MaxPooling3D() @ (5, 6, 7, 2)
Maximum() @ (4, 3) (4, 3)
Minimum() @ (4, 3) (4, 3)
MultiHeadAttention(2, 5) @ (6, 8) & (9, 8)
MultiHeadAttention(num_heads=3, key_dim=4, value_dim=6, use_bias=False) @ (6, 8) & (9, 10)
Multiply() @ (4, 3) (4, 3)
Normalization() @ (6, 5)
Normalization(axis=None) @ (6, 5)
PReLU() @ (6, 5)
PReLU(shared_axes=[1]) @ (6, 5)
Permute((2, 1)) @ (6, 5)
RNN(keras.layers.SimpleRNNCell(4)) @ (6, 5)
RNN(keras.layers.GRUCell(4, reset_after=False), return_sequences=True) @ (6, 5)
RNN(keras.layers.StackedRNNCells([keras.layers.LSTMCell(4), keras.layers.LSTMCell(3)])) @ (6, 5)
RandomBrightness(0.1) @ (9, 10, 3)
RandomContrast(0.1) @ (9, 10, 3)
RandomCrop(5, 6) @ (9, 10, 3)
RandomFlip() @ (9, 10, 3)
RandomRotation(0.1) @ (9, 10, 3)
RandomTranslation(0.1, 0.1) @ (9, 10, 3)
RandomZoom(0.1) @ (9, 10, 3)
ReLU(6.0) @ (5,)
RepeatVector(4) @ (5,)
Rescaling(1 / 255) @ (9, 10, 3)
Reshape((5, -1)) @ (4, 10)
Resizing(5, 6) @ (9, 10, 3)
SeparableConv1D(6, 3, depth_multiplier=2) @ (11, 4)
SeparableConv2D(6, 3, use_bias=False) @ (11, 13, 4)
SeparableConvolution1D(6, 3) @ (11, 4)
SeparableConvolution2D(6, 3) @ (11, 13, 4)
SimpleRNN(4, use_bias=False) @ (6, 5)
Softmax(axis=1) @ (6, 5)
SpatialDropout1D(0.1) @ (6, 5)
SpatialDropout2D(0.1) @ (9, 10, 3)
SpatialDropout3D(0.1) @ (5, 6, 7, 2)
StringLookup(vocabulary=["a", "b"]) @ string(4,)
StringLookup(vocabulary=["a", "b"], output_mode="count", num_oov_indices=2) @ string(4,)
Subtract() @ (4, 3) (4, 3)
TextVectorization(output_sequence_length=9) @ string(1,)
TimeDistributed(keras.layers.Conv2D(4, 3)) @ (5, 9, 10, 3)
TimeDistributed(keras.layers.Dense(4)) @ (5, 9)
UnitNormalization() @ (6, 5)
UpSampling1D(3) @ (11, 4)
UpSampling2D((2, 3)) @ (11, 13, 4)
UpSampling3D(2) @ (5, 6, 7, 2)
ZeroPadding1D((1, 2)) @ (11, 4)
ZeroPadding2D(((1, 2), (0, 3))) @ (11, 13, 4)
ZeroPadding3D(2) @ (5, 6, 7, 2)
"""

KERAS3 = """
AdaptiveAveragePooling1D(3) @ (11, 4)
AdaptiveAveragePooling2D((3, 2)) @ (11, 13, 4)
AdaptiveAveragePooling3D(2) @ (5, 6, 7, 2)
AdaptiveMaxPooling1D(3) @ (11, 4)
AdaptiveMaxPooling2D(3) @ (11, 13, 4)
AdaptiveMaxPooling3D(2) @ (5, 6, 7, 2)
AugMix() @ (9, 10, 3)
AutoContrast() @ (9, 10, 3)
ContrastLimitedAdaptiveHistogramEqualization() @ (16, 16, 3)
CutMix() @ (9, 10, 3)
Dense(9, lora_rank=2) @ (5,)
GroupQueryAttention(head_dim=4, num_query_heads=4, num_key_value_heads=2) @ (6, 8) & (9, 8)
LayerNormalization(rms_scaling=True) @ (6, 5)
MelSpectrogram(fft_length=256, sequence_stride=100, num_mel_bins=20) @ (1000,)
MixUp() @ (9, 10, 3)
Pipeline([keras.layers.Rescaling(0.5), keras.layers.Resizing(5, 6)]) @ (9, 10, 3)
RMSNormalization() @ (6, 5)
RandAugment() @ (9, 10, 3)
RandomColorDegeneration(0.5) @ (9, 10, 3)
RandomColorJitter(brightness_factor=0.1) @ (9, 10, 3)
RandomElasticTransform() @ (9, 10, 3)
RandomErasing() @ (9, 10, 3)
RandomGaussianBlur() @ (9, 10, 3)
RandomGrayscale() @ (9, 10, 3)
RandomHue(0.1) @ (9, 10, 3)
RandomInvert() @ (9, 10, 3)
RandomPerspective() @ (9, 10, 3)
RandomPosterization(4) @ (9, 10, 3)
RandomSaturation(0.1) @ (9, 10, 3)
RandomSharpness(0.1) @ (9, 10, 3)
RandomShear(0.1, 0.1) @ (9, 10, 3)
ReversibleEmbedding(20, 3) @ (6,)
ReversibleEmbedding(20, 3, tie_weights=False) @ (6,)
STFTSpectrogram(frame_length=16, frame_step=4, fft_length=32) @ (100, 2)
STFTSpectrogram("stft", frame_length=16, padding="same", expand_dims=True) @ (100, 2)
STFTSpectrogram("real", frame_length=16) @ (100, 1)
Solarization() @ (9, 10, 3)
SpectralNormalization(keras.layers.Dense(4)) @ (5,)
"""

KERAS2 = """
Attention(use_scale=True) @ (6, 8) (9, 8)
LocallyConnected1D(6, 3) @ (11, 4)
LocallyConnected2D(6, (3, 2), strides=(2, 1)) @ (11, 13, 4)
LocallyConnected2D(2, 3, use_bias=False) @ (7, 8, 3)
RandomHeight(0.1) @ (9, 10, 3)
RandomWidth(0.1) @ (9, 10, 3)
TextVectorization(max_tokens=9, output_mode="multi_hot", pad_to_max_tokens=True) @ string(1,)
ThresholdedReLU(0.5) @ (5,)
experimental.RandomFourierFeatures(7) @ (5,)
experimental.SyncBatchNormalization() @ (6, 6, 4)
"""

# Which release of Keras 3 brought a layer, where not the first: older ones are tried with what they have.
SINCE = {
    "3.1": "MelSpectrogram",
    "3.6": "AutoContrast Pipeline Solarization",
    "3.7": "STFTSpectrogram",
    "3.8": """MixUp RandAugment RandomColorDegeneration RandomColorJitter RandomGrayscale RandomHue
        RandomPosterization RandomSaturation RandomSharpness RandomShear""",
    "3.9": "AugMix CutMix RMSNormalization RandomErasing RandomGaussianBlur RandomInvert RandomPerspective",
    "3.10": "RandomElasticTransform",
    "3.12": "ReversibleEmbedding",
    "3.13": """AdaptiveAveragePooling1D AdaptiveAveragePooling2D AdaptiveAveragePooling3D AdaptiveMaxPooling1D
        AdaptiveMaxPooling2D AdaptiveMaxPooling3D""",
    "3.14": "ContrastLimitedAdaptiveHistogramEqualization",
}

# Whose output is looked at for its shape: for `one_hot` Keras before 3.14 says the shape of the input beforehand.
LOOKED_AT = {"Discretization"}

# Classes of which no model can be made like that, and why.
OTHERWISE = {
    "AbstractRNNCell": "a base class",
    "DenseFeatures": "feature columns decide what it gives",
    "Equalization": "Keras 3.15 says that a model with it has a cycle",
    "FlaxLayer": "holds a module of another framework",
    "GRUCell": "called by RNN, above",
    "Input": "makes a tensor",
    "InputLayer": "takes no tensor: in test_keras_shapes",
    "InputSpec": "no layer",
    "JaxLayer": "holds a function of another framework",
    "LSTMCell": "called by RNN, above",
    "Layer": "a base class",
    "MaxNumBoundingBoxes": "takes dictionaries of boxes",
    "SimpleRNNCell": "called by RNN, above",
    "StackedRNNCells": "called by RNN, above",
    "TFSMLayer": "a file decides what it gives",
    "TorchModuleWrapper": "holds a module of another framework",
    "Wrapper": "a base class",
}


def number(version: str) -> tuple[int, ...]:
    return tuple(int(part) for part in re.findall(r"\d+", version)[:2])


NEWER = {
    name
    for since, names in SINCE.items()
    if number(since) > number(metadata.version("keras"))
    for name in names.split()
}


def lines(text: str) -> list[str]:
    return text.strip().splitlines()


def class_of(line: str) -> str:
    return line.partition("(")[0]


def model_of(line: str) -> str:
    """The script that a line of a table stands for."""
    layer, _, inputs = line.partition(" @ ")
    first, _, further = inputs.partition(" & ")
    text, names = "", []
    for number, (dtype, shape) in enumerate(re.findall(r"(\w*)(\([^)]*\))", f"{first} {further}")):
        names.append(f"x{number}")
        text += f"x{number} = keras.Input({shape}, dtype={dtype or 'float32'!r})\n"
    several = ", ".join(names) if further else f"[{', '.join(names)}]" if len(names) > 1 else names[0]
    text += f"y = keras.layers.{layer}({several})\n"
    return f"{text}model = keras.Model([{', '.join(names)}], y)\n"


def check(keras: Any, line: str) -> None:
    text = model_of(line)
    names: dict[str, Any] = {"keras": keras}
    exec(text, names)
    real, found = names["model"], dry(text)
    assert found.parameters is not None
    assert found.parameters.value == real.count_params()
    shapes = [plain(getattr(end, "shape", None)) for end in tensors(found.outputs)]
    wanted = [tuple(output.shape) for output in real.outputs]
    if class_of(line) in LOOKED_AT:
        wanted = [(None, *real(np.zeros((2, *real.inputs[0].shape[1:]))).shape[1:])]
    assert shapes == wanted


@pytest.mark.parametrize(
    "line", [line for line in lines(BOTH) + lines(KERAS3) if class_of(line) not in NEWER]
)
def test_keras_3(line: str) -> None:
    if line.startswith("STFT"):
        pytest.importorskip("scipy")
    check(pytest.importorskip("keras", minversion="3.0"), line)


@pytest.mark.parametrize("line", [*lines(BOTH), *lines(KERAS2)])
def test_keras_2(line: str) -> None:
    check(pytest.importorskip("tf_keras"), line)


def test_a_layer_is_there_from_its_release_on() -> None:
    keras = pytest.importorskip("keras", minversion="3.0")
    told = {name for names in SINCE.values() for name in names.split()}
    assert {name for name in told if not hasattr(keras.layers, name)} == NEWER
    assert told <= {class_of(line) for line in lines(KERAS3)}


@pytest.mark.parametrize("library", ["keras", "tf_keras"])
def test_no_class_is_left_out(library: str) -> None:
    keras = pytest.importorskip(library)
    public = {name for name in dir(keras.layers) if name[0].isupper()}
    tried = {class_of(line) for line in lines(BOTH + KERAS3 + KERAS2)}
    assert public - tried - set(OTHERWISE) == set()


def test_a_reason_is_given_only_where_one_is_needed() -> None:
    tried = {class_of(line) for line in lines(BOTH + KERAS3 + KERAS2)}
    assert tried.isdisjoint(OTHERWISE)


@pytest.mark.parametrize("rank", range(6))
def test_inputs_of_a_rank_that_the_layer_does_not_take(rank: int) -> None:
    """They cost nothing but what is known of the layer: Keras would refuse most of them."""
    lines = ["import tensorflow as tf"]
    for line in BOTH.strip().splitlines():
        layer, _, inputs = line.partition(" @ ")
        given = [f"tf.zeros({(3,) * rank})"] * (inputs.count(") (") + 1)
        together = ", ".join(given) if "Attention" in layer or len(given) == 1 else f"[{', '.join(given)}]"
        lines += [f"x = keras.layers.{layer}({together})"]
        lines += [f"x = keras.layers.{layer}(keras.Input({(None,) * rank}))"]
    lines.append("model = keras.Sequential([keras.Input((3,)), keras.layers.Dense(7)])")
    assert plain(dry("\n".join(lines) + "\n").output_shape) == (None, 7)
