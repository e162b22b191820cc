"""Convolutions, pooling, padding, cropping and up-sampling."""

from __future__ import annotations

from oomlint.dryrun.catalog.keras.dims import (
    LAYERS,
    UNSURE,
    Built,
    Config,
    derived,
    extent,
    known,
    product,
    scaled,
    split,
    total,
    unite,
)
from oomlint.dryrun.values.arrays import Dim, Shape
from oomlint.dryrun.values.base import Const, Sequence, Value, deref
from oomlint.dryrun.values.shapes import dim_of, shape_of

Shapes = tuple[Shape | None, ...]

_CONV = "filters kernel_size strides padding data_format dilation_rate groups activation use_bias"


def _padding(config: Config) -> str | None:
    padding = config.get("padding", "valid")
    return padding.lower() if isinstance(padding, str) else None


def _divided(dim: Dim, parts: Dim) -> Dim:
    number, count = known(dim), known(parts)
    return derived(number // count, dim) if number is not None and count else None


def _with_bias(weights: dict[str, Shape], config: Config, width: Dim) -> dict[str, Shape] | None:
    bias = config.flag("use_bias", True)
    if bias is None:
        return None
    return weights | {"bias": (width,)} if bias else weights


def _slid(config: Config, spatial: Shape, strides_default: int | None = 1) -> Shape:
    """The spatial dimensions after the kernel of this configuration slid over them."""
    rank = len(spatial)
    kernel = config.window("kernel_size", rank, None)
    strides = config.window("strides", rank, strides_default)
    dilation = config.window("dilation_rate", rank)
    padding = _padding(config)
    return tuple(
        extent(dim, width, step, padding, spread)
        for dim, width, step, spread in zip(spatial, kernel, strides, dilation)
    )


@LAYERS("Conv1D Convolution1D", _CONV)
@LAYERS("Conv2D Convolution2D", _CONV)
@LAYERS("Conv3D Convolution3D", _CONV)
def conv(config: Config, inputs: Shapes, call: Config) -> Built:
    """Kernel: window x channels in (per group) x filters."""
    parts = split(inputs[0], config.channels_first()) if inputs[0] is not None else None
    if parts is None:
        return Built()
    batch, spatial, channels = parts
    filters = config.dim("filters")
    kernel = config.window("kernel_size", len(spatial), None)
    weights = {"kernel": (*kernel, _divided(channels, config.dim("groups", 1)), filters)}
    output = unite(batch, _slid(config, spatial), filters, config.channels_first())
    return Built(output, _with_bias(weights, config, filters))


@LAYERS(
    "DepthwiseConv1D DepthwiseConv2D",
    "kernel_size strides padding depth_multiplier data_format dilation_rate",
)
def depthwise(config: Config, inputs: Shapes, call: Config) -> Built:
    """Every channel has its own kernels, `depth_multiplier` of them."""
    parts = split(inputs[0], config.channels_first()) if inputs[0] is not None else None
    if parts is None:
        return Built()
    batch, spatial, channels = parts
    multiplier = config.dim("depth_multiplier", 1)
    width = scaled(channels, multiplier) if multiplier is not None else None
    kernel = config.window("kernel_size", len(spatial), None)
    output = unite(batch, _slid(config, spatial), width, config.channels_first())
    return Built(output, _with_bias({"kernel": (*kernel, channels, multiplier)}, config, width))


@LAYERS(
    "SeparableConv1D SeparableConvolution1D SeparableConv2D SeparableConvolution2D",
    "filters kernel_size strides padding data_format dilation_rate depth_multiplier activation use_bias",
)
def separable(config: Config, inputs: Shapes, call: Config) -> Built:
    """Depthwise, then 1 x 1 across the channels."""
    parts = split(inputs[0], config.channels_first()) if inputs[0] is not None else None
    if parts is None:
        return Built()
    batch, spatial, channels = parts
    filters, multiplier = config.dim("filters"), config.dim("depth_multiplier", 1)
    kernel = config.window("kernel_size", len(spatial), None)
    width = scaled(channels, multiplier) if multiplier is not None else None
    weights: dict[str, Shape] = {
        "depthwise_kernel": (*kernel, channels, multiplier),
        "pointwise_kernel": (*(Const(1) for _ in spatial), width, filters),
    }
    output = unite(batch, _slid(config, spatial), filters, config.channels_first())
    return Built(output, _with_bias(weights, config, filters))


@LAYERS(
    "LocallyConnected1D LocallyConnected2D",
    "filters kernel_size strides padding data_format activation use_bias",
)
def locally_connected(config: Config, inputs: Shapes, call: Config) -> Built:
    """A convolution (of Keras 2) whose windows do not share their kernels: one kernel and bias for each of them."""
    parts = split(inputs[0], config.channels_first()) if inputs[0] is not None else None
    if parts is None:
        return Built()
    batch, spatial, channels = parts
    filters, kernel = config.dim("filters"), config.window("kernel_size", len(spatial), None)
    after = _slid(config, spatial)
    output = unite(batch, after, filters, config.channels_first())
    bias = config.flag("use_bias", True)
    if bias is None or config.get("implementation", 1) != 1:
        return Built(output)
    weights: dict[str, Shape] = {"kernel": (product(after), product((*kernel, channels)), filters)}
    return Built(output, weights | {"bias": (*after, filters)} if bias else weights)


def _grown(size: Dim, kernel: Dim, stride: Dim, padding: str | None, extra: Dim | None, spread: Dim) -> Dim:
    """One dimension after a transposed convolution (`extra` is `output_padding`, None if not given)."""
    number, step, width, gap = known(size), known(stride), known(kernel), known(spread)
    if number is None or step is None or padding not in ("same", "valid"):
        return None
    if padding == "same" and extra is None:
        return derived(number * step, size)
    if width is None or gap is None:
        return None
    reach = (width - 1) * gap + 1
    added = max(reach, step) - reach if extra is None else known(extra)
    if added is None:
        return None
    return derived((number - 1) * step + (reach if padding == "valid" else reach % 2) + added, size)


def _transpose_arguments(names: str, order: str) -> None:
    LAYERS(names, f"filters kernel_size strides padding {order}")(conv_transpose)


def conv_transpose(config: Config, inputs: Shapes, call: Config) -> Built:
    """Kernel: window x filters x channels in; the spatial dimensions grow by the stride."""
    parts = split(inputs[0], config.channels_first()) if inputs[0] is not None else None
    if parts is None:
        return Built()
    batch, spatial, channels = parts
    rank, filters, padding = len(spatial), config.dim("filters"), _padding(config)
    kernel, strides = config.window("kernel_size", rank, None), config.window("strides", rank)
    spread = config.window("dilation_rate", rank)
    given = config.get("output_padding")
    extra: Shape = config.window("output_padding", rank, None) if given is not None else (None,) * rank
    unsure = given is UNSURE or (given is not None and None in extra)
    grown: Shape = tuple(
        None if unsure else _grown(dim, width, step, padding, more, gap)
        for dim, width, step, more, gap in zip(spatial, kernel, strides, extra, spread)
    )
    output = unite(batch, grown, filters, config.channels_first())
    return Built(output, _with_bias({"kernel": (*kernel, filters, channels)}, config, filters))


_transpose_arguments("Conv1DTranspose Convolution1DTranspose", "output_padding data_format dilation_rate")
_transpose_arguments("Conv2DTranspose Convolution2DTranspose Deconvolution2D", "output_padding data_format")
_transpose_arguments("Conv3DTranspose Convolution3DTranspose", "output_padding data_format")


@LAYERS("MaxPooling1D MaxPool1D AveragePooling1D AvgPool1D", "pool_size strides padding data_format")
@LAYERS("MaxPooling2D MaxPool2D AveragePooling2D AvgPool2D", "pool_size strides padding data_format")
@LAYERS("MaxPooling3D MaxPool3D AveragePooling3D AvgPool3D", "pool_size strides padding data_format")
def pooling(config: Config, inputs: Shapes, call: Config) -> Built:
    """Windows of `pool_size`, by default side by side."""
    parts = split(inputs[0], config.channels_first()) if inputs[0] is not None else None
    if parts is None:
        return Built(None, {})
    batch, spatial, channels = parts
    pool = config.window("pool_size", len(spatial), 2)
    given = config.get("strides")
    strides = pool if given is None else config.window("strides", len(spatial), None)
    padding = _padding(config)
    after: Shape = tuple(
        extent(dim, width, step, padding) for dim, width, step in zip(spatial, pool, strides)
    )
    return Built(unite(batch, after, channels, config.channels_first()), {})


@LAYERS("GlobalMaxPooling1D GlobalMaxPool1D GlobalAveragePooling1D GlobalAvgPool1D", "data_format keepdims")
@LAYERS("GlobalMaxPooling2D GlobalMaxPool2D GlobalAveragePooling2D GlobalAvgPool2D", "data_format keepdims")
@LAYERS("GlobalMaxPooling3D GlobalMaxPool3D GlobalAveragePooling3D GlobalAvgPool3D", "data_format keepdims")
def global_pooling(config: Config, inputs: Shapes, call: Config) -> Built:
    """One number per channel is left."""
    parts = split(inputs[0], config.channels_first()) if inputs[0] is not None else None
    keep = config.flag("keepdims", False)
    if parts is None or keep is None:
        return Built(None, {})
    batch, spatial, channels = parts
    ones: Shape = tuple(Const(1) for _ in spatial) if keep else ()
    return Built(unite(batch, ones, channels, config.channels_first()), {})


@LAYERS("AdaptiveAveragePooling1D AdaptiveMaxPooling1D", "output_size data_format")
@LAYERS("AdaptiveAveragePooling2D AdaptiveMaxPooling2D", "output_size data_format")
@LAYERS("AdaptiveAveragePooling3D AdaptiveMaxPooling3D", "output_size data_format")
def adaptive_pooling(config: Config, inputs: Shapes, call: Config) -> Built:
    """As many windows as are asked for."""
    parts = split(inputs[0], config.channels_first()) if inputs[0] is not None else None
    if parts is None:
        return Built(None, {})
    batch, spatial, channels = parts
    return Built(
        unite(batch, config.window("output_size", len(spatial), None), channels, config.channels_first()), {}
    )


@LAYERS("UpSampling1D", "size")
@LAYERS("UpSampling2D", "size data_format interpolation")
@LAYERS("UpSampling3D", "size data_format")
def up_sampling(config: Config, inputs: Shapes, call: Config) -> Built:
    """Every spatial dimension times its factor."""
    parts = split(inputs[0], config.channels_first()) if inputs[0] is not None else None
    if parts is None:
        return Built(None, {})
    batch, spatial, channels = parts
    factors = config.window("size", len(spatial), 2)
    grown: Shape = tuple(
        None if factor is None else scaled(dim, factor) for dim, factor in zip(spatial, factors)
    )
    return Built(unite(batch, grown, channels, config.channels_first()), {})


def _margins(value: Value | None, rank: int, default: int) -> list[Dim]:
    """Elements added or cut per spatial dimension, both ends together."""
    if value is None:
        return [Const(2 * default)] * rank
    value = deref(value)
    single = dim_of(value)
    if single is not None:
        return [scaled(single, 2)] * rank
    if not isinstance(value, Sequence) or value.items is None:
        return [None] * rank
    if rank == 1 and len(value.items) == 2:
        return [total(*(dim_of(item) for item in value.items))]
    if len(value.items) != rank:
        return [None] * rank
    margins: list[Dim] = []
    for item in value.items:
        ends = shape_of(item)
        if ends is not None and len(ends) == 1:
            margins.append(None if ends[0] is None else scaled(ends[0], 2))
        else:
            margins.append(total(*ends) if ends is not None and len(ends) == 2 else None)
    return margins


@LAYERS("ZeroPadding1D ZeroPadding2D ZeroPadding3D", "padding data_format")
def zero_padding(config: Config, inputs: Shapes, call: Config) -> Built:
    """Rows, columns and slices added."""
    parts = split(inputs[0], config.channels_first()) if inputs[0] is not None else None
    if parts is None:
        return Built(None, {})
    batch, spatial, channels = parts
    margins = _margins(config.value("padding"), len(spatial), 1)
    after: Shape = tuple(total(dim, margin) for dim, margin in zip(spatial, margins))
    return Built(unite(batch, after, channels, config.channels_first()), {})


@LAYERS("Cropping1D Cropping2D Cropping3D", "cropping data_format")
def cropping(config: Config, inputs: Shapes, call: Config) -> Built:
    """Rows, columns and slices cut off."""
    parts = split(inputs[0], config.channels_first()) if inputs[0] is not None else None
    if parts is None:
        return Built(None, {})
    batch, spatial, channels = parts
    # Without an argument one step is cut at either end, except in two dimensions, where nothing is.
    margins = _margins(config.value("cropping"), len(spatial), 0 if len(spatial) == 2 else 1)
    after: list[Dim] = []
    for dim, margin in zip(spatial, margins):
        size, cut = known(dim), known(margin)
        after.append(None if size is None or cut is None else derived(size - cut, dim))
    return Built(unite(batch, tuple(after), channels, config.channels_first()), {})
