"""What a model says about its input by itself, whatever it is fed."""

from __future__ import annotations

from typing import TYPE_CHECKING

from oomlint.dryrun.catalog.keras.graph import Node, tensors
from oomlint.dryrun.values.arrays import Array
from oomlint.dryrun.values.base import deref
from oomlint.dryrun.values.training import Layer, Model

if TYPE_CHECKING:
    from oomlint.dryrun.values.arrays import Dim


def declared_rank(model: Model) -> int | None:
    """Dimensions of a model's (first) input, the batch included; None where data decides them."""
    shape = declared_input(model)
    return None if shape is None else len(shape)


def declared_input(model: Model) -> tuple[Dim, ...] | None:
    """The shape of a model's (first) input, the batch included; None where data decides it.

    A model that was built on the data it is trained on has the shape of that data: it declares nothing.
    """
    if model.kind == "application":
        return model.input_shape
    first = next(iter(tensors(model.inputs)), None)
    if not isinstance(first, Array):
        return None
    node = first.producer
    if isinstance(node, Node) and isinstance(node.layer, Layer) and node.layer.type.endswith("InputLayer"):
        return first.shape
    layer = deref(model.layers[0]) if model.layers and model.kind == "sequential" else None
    return declared_input(layer) if isinstance(layer, Model) else None
