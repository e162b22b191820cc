"""Recurrent layers and cells."""

from __future__ import annotations

from oomlint.dryrun.catalog.keras.dims import LAYERS, Built, Config, extent, scaled, split, unite
from oomlint.dryrun.values.arrays import Dim, Shape
from oomlint.dryrun.values.base import Const

Shapes = tuple[Shape | None, ...]

_CELL = "units activation recurrent_activation use_bias"
GATES = {"LSTM": 4, "GRU": 3, "SimpleRNN": 1}
STATES = {"LSTM": 2, "GRU": 1, "SimpleRNN": 1}


def family(name: str) -> str | None:
    """LSTM, GRU or SimpleRNN for a layer, its cuDNN twin of older days or its cell."""
    name = name.removeprefix("CuDNN").removesuffix("Cell")
    return name if name in GATES else None


def cell_weights(kind: str, config: Config, width: Dim) -> dict[str, Shape] | None:
    """Kernel, recurrent kernel and bias of a cell whose input has `width` features."""
    units, bias = config.dim("units"), config.flag("use_bias", True)
    after = config.flag("reset_after", True)
    if units is None or bias is None or after is None:
        return None
    gated = scaled(units, GATES[kind])
    weights: dict[str, Shape] = {"kernel": (width, gated), "recurrent_kernel": (units, gated)}
    if bias:
        # With reset_after a GRU keeps the biases of input and state apart, as cuDNN does.
        weights["bias"] = (Const(2), gated) if kind == "GRU" and after else (gated,)
    return weights


def sequence_output(config: Config, shape: Shape | None, width: Dim, states: int) -> Built:
    """The outputs of a recurrent layer: all steps or the last one, and its states if asked for."""
    every, state = config.flag("return_sequences", False), config.flag("return_state", False)
    if shape is None or len(shape) != 3 or every is None or state is None:
        return Built()
    output: Shape = (shape[0], shape[1], width) if every else (shape[0], width)
    more: tuple[Shape | None, ...] = ((shape[0], width),) * states
    return Built(output, None, (output, *more) if state else None)


def _recurrent(kind: str) -> None:
    signature = _CELL if kind != "SimpleRNN" else "units activation use_bias"

    def infer(config: Config, inputs: Shapes, call: Config) -> Built:
        shape = inputs[0]
        width = shape[-1] if shape else None
        built = sequence_output(config, shape, config.dim("units"), STATES[kind])
        return Built(built.output, cell_weights(kind, config, width), built.outputs)

    LAYERS(f"{kind} CuDNN{kind}", signature, "inputs initial_state")(infer)

    def cell(config: Config, inputs: Shapes, call: Config) -> Built:
        shape = inputs[0]
        output = (shape[0], config.dim("units")) if shape else None
        return Built(output, cell_weights(kind, config, shape[-1] if shape else None))

    LAYERS(f"{kind}Cell", signature, "inputs states")(cell)


for _kind in GATES:
    _recurrent(_kind)


@LAYERS("ConvLSTM1D", "filters kernel_size strides padding data_format dilation_rate")
@LAYERS("ConvLSTM2D", "filters kernel_size strides padding data_format dilation_rate")
@LAYERS("ConvLSTM3D", "filters kernel_size strides padding data_format dilation_rate")
def conv_lstm(config: Config, inputs: Shapes, call: Config) -> Built:
    """An LSTM whose four gates are convolutions over the frames of a sequence."""
    shape, first = inputs[0], config.channels_first()
    parts = split((shape[0], *shape[2:]), first) if shape is not None and len(shape) > 3 else None
    every, state = config.flag("return_sequences", False), config.flag("return_state", False)
    bias, padding = config.flag("use_bias", True), config.get("padding", "valid")
    if shape is None or parts is None or every is None or state is None or bias is None:
        return Built()
    batch, spatial, channels = parts
    rank, filters = len(spatial), config.dim("filters")
    kernel, strides = config.window("kernel_size", rank, None), config.window("strides", rank)
    spread = config.window("dilation_rate", rank)
    how = padding if isinstance(padding, str) else None
    after: Shape = tuple(
        extent(dim, width, step, how, gap) for dim, width, step, gap in zip(spatial, kernel, strides, spread)
    )
    frame = unite(batch, after, filters, first)
    gates = None if filters is None else scaled(filters, 4)
    weights: dict[str, Shape] = {
        "kernel": (*kernel, channels, gates),
        "recurrent_kernel": (*kernel, filters, gates),
    }
    if bias:
        weights["bias"] = (gates,)
    output = (frame[0], shape[1], *frame[1:]) if every else frame
    return Built(output, weights, (output, frame, frame) if state else None)
