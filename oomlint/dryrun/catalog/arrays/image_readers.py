"""Pictures read from files: Keras, PIL, OpenCV, scikit-image, imageio, matplotlib.

What they give carries the tag `decoded`, through resizing, colours and arithmetic, until it is reduced to figures.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from oomlint.dryrun.catalog.arrays.making import DECODED, UNSCALED, as_array, step, tags_of_all
from oomlint.dryrun.catalog.registry import function, method
from oomlint.dryrun.values.arrays import Array, Dim, Shape
from oomlint.dryrun.values.base import NONE, Const, Sequence, Unknown, Value, deref
from oomlint.dryrun.values.dtypes import dtype_of, is_float
from oomlint.dryrun.values.program import Library
from oomlint.dryrun.values.shapes import known, shape_of

if TYPE_CHECKING:
    from oomlint.dryrun.interpreter import Run
    from oomlint.dryrun.trace import Call

_CHANNELS = {
    "rgb": 3, "RGB": 3, "BGR": 3, "YCbCr": 3, "HSV": 3, "LAB": 3, "grayscale": 1, "rgba": 4, "RGBA": 4, "CMYK": 4,
}  # fmt: skip
_FLAT = frozenset({"L", "1", "P", "I", "F"})  # PIL modes whose arrays have no channel dimension


def picture(call: Call, shape: Shape | None, dtype: str | None, library: str = "numpy") -> Array:
    """A picture out of a file."""
    return Array(library, shape, dtype, step(call), DECODED)


def source(call: Call, name: str) -> Array | None:
    """The picture that a function works on."""
    value = call.value(name)
    return value if isinstance(value, Array) else as_array(value)


def _pair(value: Value | None) -> tuple[Dim, Dim] | None:
    shape = shape_of(value)
    # `target_size=(224, 224, 3)` is seen too: Keras takes the first two.
    return (shape[0], shape[1]) if shape is not None and len(shape) in (2, 3) else None


# --- Keras --------------------------------------------------------------------------------------------


@function("keras.utils.load_img", parameters="path color_mode target_size interpolation keep_aspect_ratio")
def load_img(call: Call, run: Run) -> Value:
    """A PIL image of a size that the call may say; three channels unless it says otherwise."""
    size = _pair(call.value("target_size")) if call.argument("target_size") is not None else None
    mode = call.const("color_mode", "rgb")
    if call.const("grayscale", False) is True:
        mode = "grayscale"
    channels = Const(_CHANNELS[mode]) if mode in _CHANNELS else None
    return picture(call, (*(size or (None, None)), channels), "uint8", "pil")


@function("keras.utils.img_to_array", parameters="img data_format dtype")
def img_to_array(call: Call, run: Run) -> Value:
    """Floats of 32 bits, height, width and channels."""
    image = source(call, "img")
    dtype = call.value("dtype")
    name = "float32" if dtype is None or dtype == NONE else dtype_of(dtype)
    if image is None:
        return picture(call, (None, None, None), name)
    shape = image.shape
    if shape is not None and len(shape) == 2:
        shape = (*shape, Const(1))
    # An array of numbers that were no picture's, such as a row of a table, has not been read from a file of its own.
    tags = image.tags if image.library == "numpy" else image.tags | DECODED
    return replace(image, library="numpy", shape=shape, dtype=name, origin=step(call), tags=tags)


@function("keras.utils.array_to_img", parameters="x")
def array_to_img(call: Call, run: Run) -> Value:
    """A PIL image of an array."""
    image = source(call, "x")
    return Unknown() if image is None else replace(image, library="pil", dtype="uint8")


_APPLICATIONS = (
    "convnext", "densenet", "efficientnet", "efficientnet_v2", "imagenet_utils", "inception_resnet_v2",
    "inception_v3", "mobilenet", "mobilenet_v2", "mobilenet_v3", "nasnet", "resnet", "resnet50", "resnet_v2",
    "vgg16", "vgg19", "xception",
)  # fmt: skip


@function(
    *(f"keras.applications.{name}.preprocess_input" for name in _APPLICATIONS),
    parameters="x data_format mode",
)
def preprocess_input(call: Call, run: Run) -> Value:
    """The same pictures as floats: integers become float32."""
    value = call.value("x")
    if not isinstance(value, Array):
        return Unknown(tags=tags_of_all(value))
    dtype = value.dtype if is_float(value.dtype) or value.dtype is None else "float32"
    if UNSCALED in value.tags:  # what a network was trained on has been taken care of
        value = replace(value, tags=value.tags - {UNSCALED})
    return replace(value, dtype=dtype, origin=value.origin if dtype == value.dtype else step(call))


# --- PIL ----------------------------------------------------------------------------------------------


@function("PIL.Image.open", parameters="fp")
def pil_open(call: Call, run: Run) -> Value:
    """A picture whose size and mode are in the file."""
    return picture(call, None, "uint8", "pil")


@function("PIL.Image.fromarray", parameters="obj")
def pil_fromarray(call: Call, run: Run) -> Value:
    """A picture of an array."""
    image = source(call, "obj")
    return Unknown() if image is None else replace(image, library="pil", dtype="uint8")


@method(Array, "convert", parameters="mode")
def pil_convert(call: Call, run: Run) -> Value:
    """Other channels."""
    image = call.receiver
    assert isinstance(image, Array)
    mode = call.const("mode")
    flat = image.shape[:2] if image.shape is not None else (None, None)
    if mode in _FLAT:
        return replace(image, shape=flat)
    return replace(image, shape=(*flat, Const(_CHANNELS[mode])) if mode in _CHANNELS else None)


@method(Array, "resize", parameters="size resample")
def pil_resize(call: Call, run: Run) -> Value:
    """Another width and height, in this order; an array's own method changes it in place."""
    image = call.receiver
    assert isinstance(image, Array)
    if image.library != "pil":
        return NONE
    size = _pair(call.value("size"))
    if image.shape is None or size is None:
        return replace(image, shape=None)
    return replace(image, shape=(size[1], size[0], *image.shape[2:]), origin=step(call, "Image.resize"))


@method(Array, "crop", "rotate", "filter", "point", "thumbnail", "draft", "rotate")
def pil_other(call: Call, run: Run) -> Value:
    """A picture of another size, or changed in place."""
    image = call.receiver
    assert isinstance(image, Array)
    name = call.name.rpartition(".")[2]
    if name in ("thumbnail", "draft"):
        return NONE
    if name in ("crop", "rotate"):
        return replace(image, shape=None if image.shape is None else (None, None, *image.shape[2:]))
    return image


@function("PIL.ImageOps.fit", "PIL.ImageOps.pad", "PIL.ImageOps.contain", parameters="image size")
def ops_fit(call: Call, run: Run) -> Value:
    """A picture brought to a size."""
    image, size = source(call, "image"), _pair(call.value("size"))
    if image is None:
        return Unknown()
    shape = None if image.shape is None or size is None else (size[1], size[0], *image.shape[2:])
    return replace(image, shape=shape)


_OPS = ("exif_transpose", "autocontrast", "equalize", "invert", "mirror", "flip")


@function(*(f"PIL.ImageOps.{name}" for name in _OPS))
def ops_same(call: Call, run: Run) -> Value:
    """The same picture, changed."""
    return _same(call)


# --- OpenCV -------------------------------------------------------------------------------------------


@function("cv2.imread", parameters="filename flags")
def imread(call: Call, run: Run) -> Value:
    """Three channels unless the flags say otherwise; a size that is in the file."""
    return picture(call, _cv_shape(call), "uint8")


@function("cv2.imdecode", parameters="buf flags")
def imdecode(call: Call, run: Run) -> Value:
    """A picture of bytes."""
    return picture(call, _cv_shape(call), "uint8")


def _cv_shape(call: Call) -> Shape | None:
    flags = call.argument("flags")
    value = deref(flags.value) if flags is not None else Const(1)
    name = value.name.rpartition(".")[2] if isinstance(value, Library) else ""
    if name == "IMREAD_GRAYSCALE" or (isinstance(value, Const) and value.value == 0):
        return (None, None)
    if name == "IMREAD_COLOR" or (isinstance(value, Const) and value.value == 1):
        return (None, None, Const(3))
    return None


@function("cv2.resize", parameters="src dsize dst fx fy interpolation")
def cv_resize(call: Call, run: Run) -> Value:
    """Another width and height, in this order."""
    image, size = source(call, "src"), _pair(call.value("dsize"))
    if image is None:
        return Unknown(tags=tags_of_all(call.value("src")))
    shape = None
    if image.shape is not None:
        rows, columns = (size[1], size[0]) if size is not None else (None, None)
        rest = image.shape[2:]
        shape = (rows, columns, *(() if known(rest) == [1] else rest))  # one channel is dropped
    return replace(image, shape=shape, origin=step(call), library="numpy")


@function("cv2.cvtColor", parameters="src code")
def cvt_color(call: Call, run: Run) -> Value:
    """Other colours, with or without channels."""
    image, code = source(call, "src"), call.value("code")
    if image is None:
        return Unknown(tags=tags_of_all(call.value("src")))
    name = code.name.rpartition(".")[2] if isinstance(code, Library) else ""
    flat = (image.shape or (None, None))[:2]
    if name.endswith("2GRAY"):
        return replace(image, shape=flat)
    if "GRAY2" in name:
        return replace(image, shape=(*flat, Const(3)))
    return image if name else replace(image, shape=None)


_CV_SAME = (
    "GaussianBlur", "medianBlur", "bilateralFilter", "blur", "flip", "rotate", "normalize", "equalizeHist", "dilate",
    "erode", "morphologyEx", "filter2D", "Laplacian", "Sobel", "Canny", "bitwise_and", "bitwise_not", "addWeighted",
    "convertScaleAbs", "fastNlMeansDenoisingColored", "applyColorMap", "undistort", "add", "subtract",
)  # fmt: skip
_CV_OTHER = ("warpAffine", "warpPerspective", "copyMakeBorder", "getRectSubPix")


@function(*(f"cv2.{name}" for name in _CV_SAME), parameters="src")
def cv_same(call: Call, run: Run) -> Value:
    """The same picture, changed."""
    return _same(call)


def _same(call: Call) -> Value:
    image = call.arguments[0].value if call.arguments else None
    image = deref(image) if image is not None else None
    return image if isinstance(image, Array) else Unknown(tags=tags_of_all(image))


@function(*(f"cv2.{name}" for name in _CV_OTHER), parameters="src")
def cv_other(call: Call, run: Run) -> Value:
    """A picture of another size."""
    image = _same(call)
    if not isinstance(image, Array) or image.shape is None:
        return image
    return replace(image, shape=(None, None, *image.shape[2:]))


@function("cv2.threshold", parameters="src")
def cv_threshold(call: Call, run: Run) -> Value:
    """The threshold and the picture."""
    return Sequence("tuple", items=[Unknown(type="float"), _same(call)])


# --- scikit-image, imageio, matplotlib ------------------------------------------------------------------


@function(
    "skimage.io.imread", "imageio.imread", "imageio.v2.imread", "imageio.v3.imread", "matplotlib.image.imread",
    "matplotlib.pyplot.imread", "scipy.misc.imread", "scipy.ndimage.imread", "tifffile.imread",
    parameters="fname as_gray",
)  # fmt: skip
def other_imread(call: Call, run: Run) -> Value:
    """A picture whose shape and dtype are in the file."""
    return picture(call, None, None)


@function("skimage.transform.resize", parameters="image output_shape")
def sk_resize(call: Call, run: Run) -> Value:
    """Another shape, in floats of 64 bits."""
    image, size = source(call, "image"), shape_of(call.value("output_shape"))
    if image is None:
        return Unknown(tags=tags_of_all(call.value("image")))
    shape = size
    if size is not None and len(size) == 2:
        shape = None if image.shape is None else (*size, *image.shape[2:])
    kept = image.dtype if is_float(image.dtype) else None if image.dtype is None else "float64"
    return replace(image, shape=shape, dtype=kept, origin=step(call), library="numpy")


@function("skimage.color.rgb2gray", "skimage.color.gray2rgb", "skimage.img_as_float", "skimage.img_as_ubyte",
          "skimage.exposure.equalize_hist", "skimage.exposure.equalize_adapthist", "skimage.exposure.rescale_intensity",
          "skimage.filters.gaussian", "skimage.util.img_as_float", "skimage.util.img_as_ubyte",
          "scipy.ndimage.zoom", "scipy.ndimage.rotate", "imutils.resize", "scipy.misc.imresize",
          "skimage.transform.rotate", "skimage.transform.rescale")  # fmt: skip
def sk_other(call: Call, run: Run) -> Value:
    """A picture, changed in shape or dtype."""
    image = _same(call)
    return replace(image, shape=None, dtype=None) if isinstance(image, Array) else image
