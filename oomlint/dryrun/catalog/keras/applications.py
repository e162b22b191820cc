"""`keras.applications`: output shapes and parameter counts of every architecture.

Measured on Keras 3.15 by `benchmarks/keras_applications.py`, which prints the rows below and checks the spatial chains
against built models at odd and even sizes.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from oomlint.dryrun.catalog.arrays.making import UNSCALED
from oomlint.dryrun.catalog.keras.apply import named
from oomlint.dryrun.catalog.keras.dims import derived, known, plain, product
from oomlint.dryrun.catalog.keras.graph import Node, shape_of_tensor, symbolic, tensors
from oomlint.dryrun.catalog.keras.mobilenets import Thinned, thinned
from oomlint.dryrun.catalog.registry import function, prefix, signature
from oomlint.dryrun.values.arrays import Array, Dim, Shape
from oomlint.dryrun.values.base import NONE, Const, Sequence, Unknown, Value, deref
from oomlint.dryrun.values.shapes import dim_of, shape_of
from oomlint.dryrun.values.training import Layer, Model

if TYPE_CHECKING:
    from oomlint.dryrun.interpreter import Run
    from oomlint.dryrun.trace import Call

# What happens to height and width on the way through a family: `s2` divides by 2 and rounds up ("same" padding, or
# the equivalent explicit one), `v3/2` is a valid window of 3 with stride 2.
CHAINS = {
    "halved": "s2 s2 s2 s2 s2",
    "vgg": "v2/2 v2/2 v2/2 v2/2 v2/2",
    "densenet": "s2 s2 v2/2 v2/2 v2/2",
    "mobilenet": "s2 v2/2 v2/2 v2/2 v2/2",
    "convnext": "v4/4 v2/2 v2/2 v2/2",
    "inception": "v3/2 v3 v3/2 v3 v3/2 v3/2 v3/2",
    "xception": "v3/2 v3 s2 s2 s2 s2",
    "nasnet": "v3/2 s2 s2 s2 s2",
}


@dataclass(frozen=True, slots=True)
class Row:
    """One architecture. Weights are those for three input channels, without the classifier.

    `size` is the default input with the classifier on top (0: any). `channel` is what one input channel more adds,
    `top` what the classifier has besides its last layer, `features` the width of what that layer sees (0: `width`).
    """

    chain: str
    size: int
    width: int
    weights: int
    untrained: int
    channel: int
    top: int = 0
    features: int = 0


TABLE = {
    "ConvNeXtBase": Row("convnext", 224, 1024, 87_566_464, 0, 2048),
    "ConvNeXtLarge": Row("convnext", 224, 1536, 196_230_336, 0, 3072),
    "ConvNeXtSmall": Row("convnext", 224, 768, 49_454_688, 0, 1536),
    "ConvNeXtTiny": Row("convnext", 224, 768, 27_820_128, 0, 1536),
    "ConvNeXtXLarge": Row("convnext", 224, 2048, 348_147_968, 0, 4096),
    "DenseNet121": Row("densenet", 224, 1024, 7_037_504, 83_648, 3136),
    "DenseNet169": Row("densenet", 224, 1664, 12_642_880, 158_400, 3136),
    "DenseNet201": Row("densenet", 224, 1920, 18_321_984, 229_056, 3136),
    "EfficientNetB0": Row("halved", 224, 1280, 4_049_571, 42_023, 290),
    "EfficientNetB1": Row("halved", 240, 1280, 6_575_239, 62_055, 290),
    "EfficientNetB2": Row("halved", 260, 1408, 7_768_569, 67_575, 290),
    "EfficientNetB3": Row("halved", 300, 1536, 10_783_535, 87_303, 362),
    "EfficientNetB4": Row("halved", 380, 1792, 17_673_823, 125_207, 434),
    "EfficientNetB5": Row("halved", 456, 2048, 28_513_527, 172_743, 434),
    "EfficientNetB6": Row("halved", 528, 2304, 40_960_143, 224_439, 506),
    "EfficientNetB7": Row("halved", 600, 2560, 64_097_687, 310_727, 578),
    "EfficientNetV2B0": Row("halved", 224, 1280, 5_919_312, 60_608, 288),
    "EfficientNetV2B1": Row("halved", 240, 1280, 6_931_124, 71_072, 288),
    "EfficientNetV2B2": Row("halved", 260, 1408, 8_769_374, 82_288, 288),
    "EfficientNetV2B3": Row("halved", 300, 1536, 12_930_622, 109_216, 360),
    "EfficientNetV2L": Row("halved", 480, 1280, 117_746_848, 512_576, 288),
    "EfficientNetV2M": Row("halved", 480, 1280, 53_150_388, 292_032, 216),
    "EfficientNetV2S": Row("halved", 384, 1280, 20_331_360, 153_872, 216),
    "InceptionResNetV2": Row("inception", 299, 1536, 54_336_736, 60_544, 288),
    "InceptionV3": Row("inception", 299, 2048, 21_802_784, 34_432, 288),
    "MobileNet": Row("mobilenet", 224, 1024, 3_228_864, 21_888, 288),
    "MobileNetV2": Row("halved", 224, 1280, 2_257_984, 34_112, 288),
    "MobileNetV3Large": Row("halved", 0, 960, 2_996_352, 24_400, 144, 1_230_080, 1280),
    "MobileNetV3Small": Row("halved", 0, 576, 939_120, 12_112, 144, 590_848, 1024),
    "NASNetLarge": Row("nasnet", 331, 4032, 84_916_818, 196_668, 864),
    "NASNetMobile": Row("nasnet", 224, 1056, 4_269_716, 36_738, 288),
    "ResNet101": Row("halved", 224, 2048, 42_658_176, 105_344, 3136),
    "ResNet101V2": Row("halved", 224, 2048, 42_626_560, 97_664, 3136),
    "ResNet152": Row("halved", 224, 2048, 58_370_944, 151_424, 3136),
    "ResNet152V2": Row("halved", 224, 2048, 58_331_648, 143_744, 3136),
    "ResNet50": Row("halved", 224, 2048, 23_587_712, 53_120, 3136),
    "ResNet50V2": Row("halved", 224, 2048, 23_564_800, 45_440, 3136),
    "VGG16": Row("vgg", 224, 512, 14_714_688, 0, 576, 0, 4096),
    "VGG19": Row("vgg", 224, 512, 20_024_384, 0, 576, 0, 4096),
    "Xception": Row("xception", 299, 2048, 20_861_480, 54_528, 288),
}  # fmt: skip

_MOBILE_NETS = frozenset(name for name in TABLE if name.startswith("MobileNet"))
HIDDEN = 4096  # VGG: the width of fc1 and fc2


def spatial(name: str, size: int) -> int:
    """Height or width of the feature map for an input of that size."""
    for window in CHAINS[TABLE[name].chain].split():
        kernel, _, stride = window[1:].partition("/")
        size = -(-size // int(kernel)) if window[0] == "s" else (size - int(kernel)) // int(stride or 1) + 1
    return size


def feature_map(name: str, shape: Shape | None) -> Shape | None:
    """The last feature map for an input of that shape."""
    if shape is None or len(shape) != 4:
        return None
    sides: list[Dim] = []
    for dim in shape[1:3]:
        size = known(dim)
        side = None if size is None else spatial(name, size)
        sides.append(derived(side, dim) if side is not None and side > 0 else None)
    return (shape[0], *sides, Const(TABLE[name].width))


def _thinned(name: str, arguments: dict[str, Value], channels: int) -> Thinned | None:
    """The network that `alpha` and the like make of a MobileNet; None if they are not known."""
    alpha = plain(arguments.get("alpha", Const(1.0)))
    minimalistic = plain(arguments.get("minimalistic", Const(False)))
    multiplier = plain(arguments.get("depth_multiplier", Const(1)))
    if (
        not isinstance(alpha, int | float)
        or not isinstance(minimalistic, bool)
        or not isinstance(multiplier, int)
    ):
        return None
    return thinned(name, alpha, channels, minimalistic, multiplier) if 0 < alpha <= 8 else None


def _input_shape(row: Row, arguments: dict[str, Value], top: bool) -> Shape:
    tensor = next(iter(tensors(arguments.get("input_tensor"))), None)
    given = shape_of_tensor(tensor) if tensor is not None else None
    if given is not None and len(given) == 4:
        return given
    shape = shape_of(arguments.get("input_shape"))
    if shape is not None and len(shape) == 3:
        return (None, *shape)
    if "input_shape" in arguments and arguments["input_shape"] != NONE:
        return (None, None, None, None)
    side: Dim = Const(row.size) if top and row.size else None
    return (None, side, side, Const(3))


def _make(call: Call, run: Run) -> Value:
    """`keras.applications.X(...)`."""
    name = call.name.rpartition(".")[2]
    row, arguments = TABLE[name], named(call, call.signature)
    model = Model("application", call, context=run.context)
    model.attributes["_name"] = Const(name)
    include = arguments.get("include_top", Const(True))
    if not isinstance(include, Const) or "**" in arguments:
        return model
    top = bool(include.value)
    shape = _input_shape(row, arguments, top)
    model.input_shape = shape
    given = next(iter(tensors(arguments.get("input_tensor"))), None)
    model.inputs = given if isinstance(given, Array) else symbolic(shape, "float32", Node(call=call), call)
    model.attributes["_arguments"] = Sequence(
        "tuple", items=[include, arguments.get("pooling", NONE), arguments.get("classes", Const(1000))]
    )
    model.output_shape = application_output(model, shape)
    model.outputs = symbolic(model.output_shape, "float32", Node(model, (model.inputs,), call), call)
    model.parameters = _weights(model, row, name, shape)
    return model


def application_output(model: Model, shape: Shape | None) -> Shape | None:
    """The output shape of one of these models for an input of that shape."""
    name, made = model.attributes.get("_name"), model.attributes.get("_arguments")
    if not isinstance(name, Const) or not isinstance(made, Sequence) or made.items is None or not shape:
        return None
    include, pooling, classes = made.items
    if isinstance(include, Const) and include.value:
        return (shape[0], dim_of(classes))
    if not isinstance(pooling, Const):
        return None
    pooled = feature_map(str(name.value), shape)
    if pooled is not None and name.value in _MOBILE_NETS and model.made_by is not None:
        mobile = _thinned(str(name.value), named(model.made_by, model.made_by.signature), 3)
        pooled = (*pooled[:-1], Const(mobile.width) if mobile is not None else None)
    return pooled if pooling.value is None or pooled is None else (pooled[0], pooled[-1])


def _weights(model: Model, row: Row, name: str, shape: Shape) -> Const | None:
    """The number of weights; also notes VGG's first dense layer, whose kernel depends on the input size."""
    channels = known(shape[-1])
    made = model.attributes["_arguments"]
    assert isinstance(made, Sequence)
    include, _, given = made.items or (NONE, NONE, NONE)
    arguments = named(model.made_by, model.made_by.signature) if model.made_by is not None else {}
    if channels is None:
        return None
    body = row.weights + (channels - 3) * row.channel
    features, top = row.features or row.width, row.top
    if name in _MOBILE_NETS:
        mobile = _thinned(name, arguments, channels)
        if mobile is None:
            return None
        body, features, top = mobile.weights, mobile.features, mobile.top
    if not (isinstance(include, Const) and include.value):
        return Const(body)
    classes = known(dim_of(given))
    if classes is None:
        return None
    if row.chain != "vgg":
        return Const(body + top + (features + 1) * classes)
    flat, map_ = None, feature_map(name, shape)
    if map_ is not None:
        flat = product(map_[1:])
        _head(model, map_, flat, shape)
    inner = known(flat)
    if inner is None:
        return None
    return Const(body + (inner + 1) * HIDDEN + (HIDDEN + 1) * HIDDEN + (HIDDEN + 1) * classes)


def _head(model: Model, map_: Shape, flat: Dim, shape: Shape) -> None:
    """VGG's Flatten and fc1 as layers, for whoever looks for large kernels."""
    call, units = model.made_by, Const(HIDDEN)
    flatten = Layer("keras.layers.Flatten", call, {}, (map_,), (shape[0], flat), {})
    made = symbolic(
        flatten.output, "float32", Node(flatten, (symbolic(map_, "float32", Node(), call),), call), call
    )
    fc1 = Layer("keras.layers.Dense", call, {"units": units}, (flatten.output,), (shape[0], units))
    fc1.weights = {"kernel": (flat, units), "bias": (units,)}
    fc1.attributes["_node"] = Node(fc1, (made,), call)
    model.attributes["_head"] = Sequence("list", items=[fc1])


@prefix("keras.applications.")
def helper(call: Call, run: Run) -> Value:
    """`preprocess_input` keeps the shape; nothing else is known here."""
    first = next((deref(argument.value) for argument in call.arguments), None)
    if call.name.endswith(".preprocess_input") and isinstance(first, Array):
        return replace(first, tags=first.tags - {UNSCALED}) if UNSCALED in first.tags else first
    return Unknown()


_PLAIN = "include_top weights input_tensor input_shape pooling classes classifier_activation"
_MOBILE = {
    "MobileNet": "input_shape alpha depth_multiplier dropout include_top weights input_tensor pooling classes",
    "MobileNetV2": "input_shape alpha include_top weights input_tensor pooling classes",
    "MobileNetV3Large": "input_shape alpha minimalistic include_top weights input_tensor classes pooling",
    "MobileNetV3Small": "input_shape alpha minimalistic include_top weights input_tensor classes pooling",
    "NASNetMobile": "input_shape include_top weights input_tensor pooling classes",
    "NASNetLarge": "input_shape include_top weights input_tensor pooling classes",
}
for _name in TABLE:
    _full = f"keras.applications.{_name}"
    signature(_full, _MOBILE.get(_name, _PLAIN))
    function(_full)(_make)
