"""tf.image: what decoding, resizing, cropping and augmenting make of a picture's shape and dtype."""

from __future__ import annotations

from dataclasses import replace
from math import prod
from typing import TYPE_CHECKING

from oomlint.dryrun.catalog.arrays.making import UNSCALED
from oomlint.dryrun.catalog.registry import function
from oomlint.dryrun.catalog.tensorflow.tensor_values import result, tensor
from oomlint.dryrun.catalog.tensorflow.tensors import shaped, still_colours, typed, wanted
from oomlint.dryrun.values.arrays import Dim, Shape
from oomlint.dryrun.values.base import Const, Value, deref, tags_of
from oomlint.dryrun.values.dtypes import is_float
from oomlint.dryrun.values.program import Library
from oomlint.dryrun.values.shapes import derived, number, shape_of, transpose

if TYPE_CHECKING:
    from oomlint.dryrun.interpreter import Run
    from oomlint.dryrun.trace import Call

IMAGE = frozenset({"image", "decoded"})
RANDOM = IMAGE | {"random"}
LEFT = "left-unscaled:"  # with the index of the `convert_image_dtype` that had nothing to do


def spatial(old: Shape | None, height: Dim, width: Dim, channels: Dim | None = None) -> Shape | None:
    """A picture's (or a batch's) shape with another height and width."""
    if old is None or len(old) not in (3, 4):
        return None
    return (*old[:-3], height, width, channels if channels is not None else old[-1])


# --- decoding -----------------------------------------------------------------------------------------


def _channels(call: Call) -> Dim:
    value = call.value("channels")
    channels = value if isinstance(value, Const) and number(value) else None
    return channels if channels is not None and channels.value > 0 else None


@function("tf.io.decode_jpeg", "tf.image.decode_jpeg", parameters="contents channels ratio fancy_upscaling")
@function(
    "tf.io.decode_and_crop_jpeg", "tf.image.decode_and_crop_jpeg", parameters="contents crop_window channels"
)
@function("tf.io.decode_png", "tf.image.decode_png", parameters="contents channels dtype name")
@function("tf.io.decode_bmp", "tf.image.decode_bmp", parameters="contents channels name")
@function("tf.io.decode_webp", "tf.image.decode_webp", parameters="contents channels dtype name")
def decoded(call: Call, run: Run) -> Value:
    """Height and width are the file's; channels too unless they are asked for."""
    return tensor(call, (None, None, _channels(call)), wanted(call, default="uint8"), IMAGE)


@function("tf.io.decode_gif", "tf.image.decode_gif", parameters="contents name")
def decoded_frames(call: Call, run: Run) -> Value:
    """Frames of a film."""
    return tensor(call, (None, None, None, Const(3)), "uint8", IMAGE)


@function(
    "tf.io.decode_image", "tf.image.decode_image", parameters="contents channels dtype name expand_animations"
)
def decoded_any(call: Call, run: Run) -> Value:
    """A picture or, unless that is ruled out, a film: then even the rank is open."""
    picture = call.const("expand_animations") is False
    shape = (None, None, _channels(call)) if picture else None
    return tensor(call, shape, wanted(call, default="uint8"), IMAGE)


# --- another size -------------------------------------------------------------------------------------


@function(
    "tf.image.resize",
    "tf.image.resize_images",
    parameters="images size method preserve_aspect_ratio antialias name",
)
@function(
    "tf.image.resize_bilinear", "tf.image.resize_bicubic", "tf.image.resize_area", parameters="images size"
)
@function("tf.image.resize_nearest_neighbor", parameters="images size")
@function("keras.preprocessing.image.smart_resize", parameters="x size interpolation")
def resized(call: Call, run: Run) -> Value:
    """float32, whatever comes in, unless neighbours are copied."""
    images, size = call.value(call.signature[0]), shape_of(call.value("size"))
    height, width = size if size is not None and len(size) == 2 else (None, None)
    if (
        call.argument("preserve_aspect_ratio") is not None
        and call.const("preserve_aspect_ratio") is not False
    ):
        height = width = None
    shape = spatial(shaped(images), height, width)
    return still_colours(result(call, images, shape, _resized_dtype(call, images)), images)


def _resized_dtype(call: Call, images: Value | None) -> str | None:
    if call.name.endswith("nearest_neighbor"):
        return typed(images)
    method = call.value("method")
    if method is None:
        return "float32"
    text = method.value if isinstance(method, Const) else method.name if isinstance(method, Library) else ""
    if not isinstance(text, str) or not text:
        return "float32" if typed(images) == "float32" else None
    return typed(images) if "nearest" in text.lower() else "float32"


@function("tf.image.resize_with_pad", parameters="image target_height target_width method antialias")
def resized_with_pad(call: Call, run: Run) -> Value:
    """float32 as `resize`, with bars."""
    image = call.value("image")
    shape = spatial(shaped(image), *_target(call))
    return still_colours(result(call, image, shape, _resized_dtype(call, image)), image)


@function(
    "tf.image.resize_with_crop_or_pad",
    "tf.image.resize_image_with_crop_or_pad",
    parameters="image target_height target_width",
)
@function(
    "tf.image.crop_to_bounding_box", parameters="image offset_height offset_width target_height target_width"
)
@function(
    "tf.image.pad_to_bounding_box", parameters="image offset_height offset_width target_height target_width"
)
def fitted(call: Call, run: Run) -> Value:
    """Cut or framed: the dtype stays."""
    image = call.value("image")
    return result(call, image, spatial(shaped(image), *_target(call)), typed(image))


def _target(call: Call) -> tuple[Dim, Dim]:
    sizes = [shape_of(call.value(name)) for name in ("target_height", "target_width")]
    height, width = (size[0] if size is not None and len(size) == 1 else None for size in sizes)
    return height, width


@function("tf.image.central_crop", parameters="image central_fraction")
def central_crop(call: Call, run: Run) -> Value:
    """The middle part."""
    image, fraction = call.value("image"), call.const("central_fraction")
    shape = shaped(image)
    if shape is None or len(shape) not in (3, 4) or not isinstance(fraction, float | int):
        return result(call, image, spatial(shape, None, None), typed(image))
    sides: list[Dim] = []
    for dim in shape[-3:-1]:
        length = number(dim)
        margin = None if length is None else int((length - length * fraction) / 2)
        sides.append(None if length is None or margin is None else derived(length - 2 * margin, dim))
    return result(call, image, spatial(shape, *sides), typed(image))


@function("tf.image.random_crop", "tf.random_crop", parameters="value size seed name")
@function("tf.image.stateless_random_crop", parameters="value size seed name")
def random_crop(call: Call, run: Run) -> Value:
    """A part of that size from anywhere."""
    value, size = call.value("value"), shape_of(call.value("size"))
    return result(call, value, size, typed(value))


@function(
    "tf.image.crop_and_resize", parameters="image boxes box_indices crop_size method extrapolation_value"
)
def crop_and_resize(call: Call, run: Run) -> Value:
    """One picture per box, float32."""
    image, size, boxes = call.value("image"), shape_of(call.value("crop_size")), shaped(call.value("boxes"))
    old = shaped(image)
    shape = None
    if old is not None and len(old) == 4 and size is not None and len(size) == 2:
        shape = (boxes[0] if boxes else None, *size, old[-1])
    return result(call, image, shape, "float32")


@function(
    "tf.image.extract_patches",
    "tf.extract_image_patches",
    "tf.compat.v1.extract_image_patches",
    parameters="images sizes strides rates padding name",
)
def patches(call: Call, run: Run) -> Value:
    """Patches side by side: as many rows and columns as fit, and each patch as one vector."""
    images = call.value("images")
    shape = shaped(images)
    sizes, strides, rates = (shape_of(call.value(name)) for name in ("sizes", "strides", "rates"))
    padding = call.const("padding")
    if (
        shape is None
        or len(shape) != 4
        or sizes is None
        or strides is None
        or rates is None
        or any(len(part) != 4 for part in (sizes, strides, rates))
    ):
        return result(call, images, None if shape is None else (shape[0], None, None, None), typed(images))
    grid = [_fitting(shape[at], sizes[at], strides[at], rates[at], padding) for at in (1, 2)]
    channels = [number(dim) for dim in (sizes[1], sizes[2], shape[3])]
    depth: Dim = None
    if None not in channels:
        depth = derived(prod(channel for channel in channels if channel is not None), shape[3])
    return result(call, images, (shape[0], *grid, depth), typed(images))


def _fitting(length: Dim, size: Dim, stride: Dim, rate: Dim, padding: object) -> Dim:
    """How many patches fit into a side: with padding, one per stride that is begun."""
    numbers = [number(part) for part in (length, size, stride, rate)]
    if None in numbers or padding not in ("SAME", "VALID"):
        return None
    side, extent, step, gap = (part for part in numbers if part is not None)
    if step < 1:
        return None
    reach = extent + (extent - 1) * (gap - 1)
    count = -(-side // step) if padding == "SAME" else max(0, -(-(side - reach + 1) // step))
    return derived(count, length)


# --- the same size ------------------------------------------------------------------------------------

_KEPT = """flip_left_right flip_up_down adjust_brightness adjust_contrast adjust_hue adjust_saturation adjust_gamma
 adjust_jpeg_quality rgb_to_hsv hsv_to_rgb rgb_to_yiq yiq_to_rgb rgb_to_yuv yuv_to_rgb draw_bounding_boxes
 random_flip_left_right random_flip_up_down random_brightness random_contrast random_hue random_saturation
 random_jpeg_quality stateless_random_flip_left_right stateless_random_flip_up_down
 stateless_random_brightness stateless_random_contrast stateless_random_hue stateless_random_saturation
 stateless_random_jpeg_quality"""


@function(*(f"tf.image.{name}" for name in _KEPT.split()), parameters="image")
def recoloured(call: Call, run: Run) -> Value:
    """Shape and dtype stay."""
    image = deref(call.arguments[0].value) if call.arguments else None
    return result(call, image, shaped(image), typed(image))


@function("tf.image.convert_image_dtype", parameters="image dtype saturate name")
def converted(call: Call, run: Run) -> Value:
    """Another dtype, scaled to its range; floats that are to be floats are left as they are."""
    image, dtype = call.value("image"), wanted(call)
    made = result(call, image, shaped(image), dtype)
    unscaled = image is not None and UNSCALED in tags_of(image) and is_float(typed(image))
    if not unscaled or not is_float(dtype):
        return made
    return replace(made, tags=made.tags | {UNSCALED, f"{LEFT}{call.index}"})


@function("tf.image.per_image_standardization", parameters="image")
def standardised(call: Call, run: Run) -> Value:
    """Floats."""
    image = call.value("image")
    dtype = typed(image)
    return result(
        call, image, shaped(image), dtype if is_float(dtype) else "float32" if dtype is not None else None
    )


@function("tf.image.rgb_to_grayscale", parameters="images name")
def to_grey(call: Call, run: Run) -> Value:
    """One channel."""
    images = call.value("images")
    shape = shaped(images)
    return result(call, images, None if not shape else (*shape[:-1], Const(1)), typed(images))


@function("tf.image.grayscale_to_rgb", parameters="images name")
def to_rgb(call: Call, run: Run) -> Value:
    """Three channels."""
    images = call.value("images")
    shape = shaped(images)
    return result(call, images, None if not shape else (*shape[:-1], Const(3)), typed(images))


@function("tf.image.rot90", parameters="image k name")
def rotated(call: Call, run: Run) -> Value:
    """By quarters: height and width may have changed places (TensorFlow leaves both open)."""
    image = call.value("image")
    return result(call, image, spatial(shaped(image), None, None), typed(image))


@function("tf.image.transpose", parameters="image name")
def mirrored(call: Call, run: Run) -> Value:
    """Height and width change places."""
    image = call.value("image")
    shape = shaped(image)
    axes = None if shape is None else (1, 0, 2) if len(shape) == 3 else (0, 2, 1, 3)
    return result(call, image, transpose(shape, axes), typed(image))


@function(
    "tf.io.encode_jpeg", "tf.image.encode_jpeg", "tf.io.encode_png", "tf.image.encode_png", parameters="image"
)
def encoded(call: Call, run: Run) -> Value:
    """Bytes of a file."""
    return tensor(call, (), "string")
