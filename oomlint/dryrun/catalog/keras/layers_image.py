"""Preprocessing layers: images, numbers, categories, text."""

from __future__ import annotations

from oomlint.dryrun.catalog.keras.dims import LAYERS, UNSURE, Built, Config, axis_of
from oomlint.dryrun.values.arrays import Dim, Shape
from oomlint.dryrun.values.base import Const

Shapes = tuple[Shape | None, ...]


@LAYERS("Rescaling", "scale offset")
@LAYERS("RandomFlip", "mode")
@LAYERS("RandomRotation RandomBrightness RandomContrast", "factor")
@LAYERS("RandomColorJitter RandomGrayscale RandomHue", "factor")
@LAYERS("RandomTranslation RandomZoom", "height_factor width_factor")
@LAYERS("RandomShear RandomPerspective RandomPosterization RandomSaturation")
@LAYERS("RandomSharpness RandomInvert")
@LAYERS("RandomGaussianBlur RandomErasing RandomElasticTransform RandomColorDegeneration")
@LAYERS("AutoContrast Solarization ContrastLimitedAdaptiveHistogramEqualization")
@LAYERS("Equalization CutMix MixUp RandAugment AugMix")
def augmentation(config: Config, inputs: Shapes, call: Config) -> Built:
    """Other pixels, the same shape."""
    return Built(inputs[0], {})


@LAYERS("Resizing", "height width interpolation crop_to_aspect_ratio")
@LAYERS("RandomCrop CenterCrop", "height width")
def resizing(config: Config, inputs: Shapes, call: Config) -> Built:
    """Height and width as asked for."""
    shape, first = inputs[0], config.channels_first()
    if shape is None or first is None or len(shape) not in (3, 4):
        return Built(None, {})
    size = (config.dim("height"), config.dim("width"))
    lead = shape[:-3]
    return Built((*lead, shape[-3], *size) if first else (*lead, *size, shape[-1]), {})


def _random(axis: int) -> None:
    """`RandomHeight` and `RandomWidth`: a size that is only known at run time."""

    def random_size(config: Config, inputs: Shapes, call: Config) -> Built:
        shape = inputs[0]
        if shape is None or len(shape) not in (3, 4):
            return Built(None, {})
        return Built(tuple(None if at == len(shape) + axis else dim for at, dim in enumerate(shape)), {})

    LAYERS("RandomHeight" if axis == -3 else "RandomWidth", "factor interpolation")(random_size)


_random(-3)
_random(-2)


@LAYERS("Normalization", "axis mean variance invert")
def normalization(config: Config, inputs: Shapes, call: Config) -> Built:
    """Mean and variance per entry of the kept axes and a count, unless they are given."""
    shape, axis = inputs[0], config.get("axis", -1)
    if shape is None or axis is UNSURE:
        return Built(shape)
    if config.get("mean") is not None:
        return Built(shape, {})
    axes = () if axis is None else axis if isinstance(axis, tuple) else (axis,)
    indices = [axis_of(item, len(shape)) for item in axes]
    kept: Shape = tuple(None if index is None else shape[index] for index in indices)
    return Built(shape, {"mean": kept, "variance": kept, "count": ()})


def _encoded(shape: Shape | None, mode: str, width: Dim) -> Built:
    """One row per example, or, for `one_hot`, one per entry: its axis of length one is replaced, any other stays."""
    if shape is None or mode not in ("multi_hot", "count", "one_hot", "tf_idf"):
        return Built(None, {})
    one = bool(shape) and shape[-1] == Const(1)
    lead = shape if mode == "one_hot" and not one else shape[:-1]
    return Built((*lead, width), {})


@LAYERS("Hashing", "num_bins mask_value salt output_mode")
@LAYERS("HashedCrossing", "num_bins output_mode")
def hashing(config: Config, inputs: Shapes, call: Config) -> Built:
    """The number of a bin, or an encoding of it."""
    mode = config.get("output_mode", "int")
    return Built(inputs[0], {}) if mode == "int" else _encoded(inputs[0], str(mode), config.dim("num_bins"))


@LAYERS("Discretization", "bin_boundaries num_bins epsilon output_mode")
def discretization(config: Config, inputs: Shapes, call: Config) -> Built:
    """The number of a bin between boundaries."""
    mode, width = config.get("output_mode", "int"), config.dim("num_bins")
    bounds = config.get("bin_boundaries")
    if isinstance(bounds, tuple):
        width = Const(len(bounds) + 1)
    return Built(inputs[0], {}) if mode == "int" else _encoded(inputs[0], str(mode), width)


@LAYERS("CategoryEncoding", "num_tokens output_mode")
def category_encoding(config: Config, inputs: Shapes, call: Config) -> Built:
    """Numbers of categories, encoded."""
    mode = config.get("output_mode", "multi_hot" if "num_tokens" in config.values else "int")
    return Built(inputs[0], {}) if mode == "int" else _encoded(inputs[0], str(mode), config.dim("num_tokens"))


@LAYERS("StringLookup", "max_tokens num_oov_indices mask_token oov_token vocabulary")
@LAYERS("IntegerLookup", "max_tokens num_oov_indices mask_token oov_token vocabulary")
def lookup(config: Config, inputs: Shapes, call: Config) -> Built:
    """Indices keep the shape; an encoding is as wide as the vocabulary, which data may decide."""
    mode = config.get("output_mode", "int")
    if mode == "int":
        return Built(inputs[0], {})
    vocabulary, outside, width = config.get("vocabulary"), config.get("num_oov_indices", 1), None
    if config.flag("pad_to_max_tokens", False):
        width = config.dim("max_tokens")
    elif isinstance(vocabulary, tuple) and isinstance(outside, int) and config.get("mask_token") is None:
        width = Const(len(vocabulary) + outside)
    return _encoded(inputs[0], str(mode), width)


@LAYERS("TextVectorization", "max_tokens standardize split ngrams output_mode output_sequence_length")
def text_vectorization(config: Config, inputs: Shapes, call: Config) -> Built:
    """Sequences of tokens of a fixed length, if one is given; else a row per text."""
    shape, mode = inputs[0], config.get("output_mode", "int")
    batch = shape[0] if shape else None
    if mode == "int":
        return Built((batch, config.dim("output_sequence_length")), {})
    if mode in ("multi_hot", "count", "tf_idf", "tf-idf", "binary"):
        exact = config.flag("pad_to_max_tokens", False)
        return Built((batch, config.dim("max_tokens") if exact else None), {})
    return Built(None, {})


@LAYERS("RandomPadding Patches")
def not_computed(config: Config, inputs: Shapes, call: Config) -> Built:
    """Known not to hold weights that are trained; the shape is not worked out."""
    return Built(None, {})
