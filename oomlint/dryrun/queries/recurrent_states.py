"""Recurrent layers that cuDNN cannot run, and the states that they keep of every step for the backward pass."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from oomlint.dryrun.catalog.keras.apply import config_of, short
from oomlint.dryrun.catalog.keras.dims import UNSURE
from oomlint.dryrun.catalog.keras.graph import tensors
from oomlint.dryrun.catalog.keras.layers_recurrent import family
from oomlint.dryrun.queries.tensor_sizes import Factor, batch_factor, count, factor, itemsize_of
from oomlint.dryrun.queries.trained_models import layers_in_use
from oomlint.dryrun.values.base import Const, deref
from oomlint.dryrun.values.program import Library
from oomlint.dryrun.values.training import Layer

if TYPE_CHECKING:
    from collections.abc import Iterator

    from oomlint.dryrun.catalog.keras.dims import Config
    from oomlint.dryrun.queries.trained_models import Trained, Use
    from oomlint.dryrun.values.arrays import Dim, Shape
    from oomlint.syntax.place import Place

# Tensors of batch x steps x units that a step of training holds for one layer on the way without cuDNN: gates, cell
# states and outputs of every time step. Measured on TensorFlow 2.21 without XLA, the same for Keras 3 and Keras 2;
# further layers add as much each (benchmarks/activations.py).
# ConvLSTM2D measured 10.6 with as many channels in as out; it counts like an LSTM of its frames. XLA does not make
# it less.
UNITS = {"LSTM": 8.0, "GRU": 6.9, "SimpleRNN": 1.3, "ConvLSTM": 8.0}

# What `cudnn_ok` asks for (keras/src/backend/tensorflow/rnn.py), with each argument's default. `recurrent_dropout`
# and `use_cudnn` are asked for by the layers themselves (keras/src/layers/rnn/lstm.py, gru.py).
_CUDNN = {"activation": "tanh", "recurrent_activation": "sigmoid", "use_bias": True, "unroll": False}


@dataclass(frozen=True, slots=True)
class States:
    """What one layer keeps: `units` tensors with these factors; `why` cuDNN cannot run it."""

    layer: Layer
    place: Place
    factors: tuple[Factor, ...]
    itemsize: int
    kind: str
    why: str

    @property
    def units(self) -> float:
        """How many tensors of that size."""
        return UNITS[self.kind]

    @property
    def bytes(self) -> int:
        """What waits for the backward pass."""
        return int(count(self.factors) * self.itemsize * self.units)


def recurrent_states(trained: Trained) -> Iterator[States]:
    """The recurrent layers of a model that are off cuDNN for certain and whose every factor is known."""
    for use in layers_in_use(trained.model):
        if id(use.layer) in trained.frozen:
            continue
        name, layer = short(use.layer), use.layer
        if name == "Bidirectional" and isinstance(inner := deref(layer.inner or layer), Layer):
            shape = layer.inputs[0] if layer.inputs else None
            states = _states(use, trained, inner, shape, Const(2))
        elif name.startswith("ConvLSTM"):
            states = _frames(use, trained)
        elif name == "RNN":
            shape = layer.inputs[0] if layer.inputs else None
            stacked = (_states(use, trained, cell, shape, None) for cell in _cells(layer))
            yield from (one for one in stacked if one is not None)
            continue
        else:
            states = _states(use, trained, layer, layer.inputs[0] if layer.inputs else None, None)
        if states is not None:
            yield states


def _cells(layer: Layer) -> list[Layer]:
    """The cell of an `RNN`, or those that it was given to run one upon the other."""
    cells = [item for item in tensors(layer.config.get("cell")) if isinstance(item, Layer)]
    if len(cells) == 1 and short(cells[0]) == "StackedRNNCells":
        return [item for item in tensors(cells[0].config.get("cells")) if isinstance(item, Layer)]
    return cells


def _states(use: Use, trained: Trained, layer: Layer, shape: Shape | None, ways: Dim) -> States | None:
    name = short(layer)
    kind = family(name)
    if kind is None or shape is None or len(shape) != 3:
        return None
    if name.endswith("Cell") and layer is use.layer:
        return None  # a cell by itself: how often it is called is not known
    config = config_of(layer)
    why = off_cudnn(name, kind, config)
    factors = [
        batch_factor(shape, trained.batch),
        *(factor("time steps around it", dim) for dim in use.steps),
        factor("steps", shape[1]),
        factor("units", config.dim("units")),
    ]
    if ways is not None:
        factors.append(factor("directions", ways))
    whole = tuple(item for item in factors if item is not None)
    if why is None or len(whole) < len(factors):
        return None
    return States(use.layer, use.place, whole, itemsize_of(use.layer), kind, why)


def _frames(use: Use, trained: Trained) -> States | None:
    """An LSTM whose states are feature maps."""
    layer = use.layer
    shape, output = layer.inputs[0] if layer.inputs else None, layer.output
    if shape is None or output is None or len(shape) < 4:
        return None
    factors = [
        batch_factor(shape, trained.batch),
        *(factor("time steps around it", dim) for dim in use.steps),
        factor("steps", shape[1]),
        *(factor("in a frame's state", dim) for dim in output[2 - len(shape) :]),
    ]
    whole = tuple(item for item in factors if item is not None)
    if len(whole) < len(factors):
        return None
    return States(layer, use.place, whole, itemsize_of(layer), "ConvLSTM", "it has no such layer")


def off_cudnn(name: str, kind: str, config: Config) -> str | None:
    """Why a layer cannot be run by cuDNN; None where it can, or where that is not known."""
    if name.startswith("CuDNN"):
        return None
    if name.endswith("Cell"):
        return "RNN goes through a cell step by step"
    if kind == "SimpleRNN":
        return "cuDNN has no SimpleRNN here"
    for argument, wanted in _CUDNN.items():
        given = config.get(argument, wanted)
        if given is UNSURE:
            value = config.value(argument)
            if not argument.endswith("activation") or not isinstance(value, Library):
                continue
            if not value.name.startswith(("tf.", "keras.")):
                continue  # another library's, or a name of the project's settings
            given = value.name.rpartition(".")[2]
        if given is None and argument.endswith("activation"):
            given = "linear"
        if given != wanted:
            return f"{argument}={given!r}"
    dropped = config.get("recurrent_dropout", 0.0)
    if dropped is not UNSURE and dropped:
        return f"recurrent_dropout={dropped!r}"
    if kind == "GRU" and config.get("reset_after", True) is False:
        return "reset_after=False"
    if config.get("use_cudnn", "auto") is False:
        return "use_cudnn=False"
    return None
