"""Preprocessing layers: images, numbers, categories, text."""

from __future__ import annotations

from oomlint.dryrun.catalog.keras.dims import LAYERS, UNSURE, Built, Config, axis_of
from oomlint.dryrun.values.arrays import Shape
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
@LAYERS("AutoContrast Solarization")
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


@LAYERS("RandomHeight RandomWidth", "factor")
def random_size(config: Config, inputs: Shapes, call: Config) -> Built:
    """A size that is only known at run time."""
    shape = inputs[0]
    return Built(None if shape is None or len(shape) != 4 else (shape[0], None, None, shape[3]), {})


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


@LAYERS("Hashing", "num_bins")
@LAYERS("Discretization", "bin_boundaries num_bins")
@LAYERS("StringLookup IntegerLookup", "max_tokens num_oov_indices")
@LAYERS("CategoryEncoding", "num_tokens output_mode")
def lookup(config: Config, inputs: Shapes, call: Config) -> Built:
    """Indices keep the shape; an encoding adds or replaces an axis of a width that data may decide."""
    default = "multi_hot" if "num_tokens" in config.values else "int"
    mode, shape = config.get("output_mode", default), inputs[0]
    if mode == "int":
        return Built(shape, {})
    width = config.dim("num_tokens")
    if shape is None or width is None or mode not in ("multi_hot", "count", "one_hot"):
        return Built(None, {})
    if mode == "one_hot":
        # An axis of length one is replaced, any other gets the encoding as a further axis.
        one = bool(shape) and shape[-1] == Const(1)
        return Built((*(shape[:-1] if one else shape), width), {})
    return Built((*shape[:-1], width), {})


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


@LAYERS("MelSpectrogram STFTSpectrogram Pipeline RandomPadding Patches")
def not_computed(config: Config, inputs: Shapes, call: Config) -> Built:
    """Known not to hold weights that are trained; the shape is not worked out."""
    return Built(None, {})
