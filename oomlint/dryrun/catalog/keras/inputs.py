"""The symbolic inputs of models: `keras.Input`, and what a first layer says about its input."""

from __future__ import annotations

from typing import TYPE_CHECKING

from oomlint.dryrun.catalog.keras.apply import short
from oomlint.dryrun.catalog.keras.graph import Node, symbolic, without_batch
from oomlint.dryrun.values.arrays import Array, Shape
from oomlint.dryrun.values.base import Const, Sequence, Value, deref
from oomlint.dryrun.values.shapes import dim_of, shape_of
from oomlint.dryrun.values.training import Layer, Model

if TYPE_CHECKING:
    from oomlint.dryrun.trace import Call


def input_tensor(config: dict[str, Value], call: Call | None) -> Array | None:
    """The symbolic input that `shape`, `batch_shape` and their older spellings describe, if they do."""
    whole = next((config[name] for name in ("batch_shape", "batch_input_shape") if name in config), None)
    inner = next((config[name] for name in ("shape", "input_shape") if name in config), None)
    shape: Shape | None = None
    if whole is not None:
        shape = shape_of(whole)
    elif inner is not None:
        rest = _dims(inner)
        shape = None if rest is None else (dim_of(config.get("batch_size")), *rest)
    else:
        return None
    kind = config.get("dtype")
    dtype = kind.value if isinstance(kind, Const) and isinstance(kind.value, str) else "float32"
    layer = Layer("keras.layers.InputLayer", call, config, output=shape, weights={})
    return symbolic(shape, dtype, Node(layer, (), call), call)


def _dims(value: Value) -> Shape | None:
    """The dimensions of a shape argument; an empty tuple is a shape as well."""
    value = deref(value)
    if isinstance(value, Sequence) and value.items == []:
        return ()
    return shape_of(value)


def own_input(layer: Value) -> Array | None:
    """The input that a first layer of a Sequential describes by itself (`input_shape=`, a built model)."""
    if isinstance(layer, Model):
        known = layer.input_shape is not None
        return symbolic(without_batch(layer.input_shape), "float32", Node(), None) if known else None
    if not isinstance(layer, Layer):
        return None
    config = layer.config
    described = input_tensor(config, layer.made_by)
    if described is not None or short(layer) == "InputLayer":
        return described
    if short(layer) == "Embedding":
        length = config.get("input_length")
        steps = shape_of(length) if length is not None else None
        return None if steps is None else symbolic((None, *steps), "int32", Node(), None)
    width = config.get("input_dim")
    if width is None:
        return symbolic_of_inner(layer)
    steps = (dim_of(config["input_length"]),) if "input_length" in config else ()
    recurrent = short(layer) in ("LSTM", "GRU", "SimpleRNN")
    lead: Shape = steps or ((None,) if recurrent else ())
    return symbolic((None, *lead, dim_of(width)), "float32", Node(), layer.made_by)


def symbolic_of_inner(layer: Layer) -> Array | None:
    """A wrapper takes the input description of the layer it wraps."""
    if short(layer) == "Bidirectional" and layer.inner is not None:
        return own_input(deref(layer.inner))
    return None
