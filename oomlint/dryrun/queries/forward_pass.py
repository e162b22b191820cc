"""What one forward pass holds on the device beside the weights, from the static shapes of layers' outputs."""

from __future__ import annotations

from oomlint.dryrun.catalog.keras.apply import short
from oomlint.dryrun.catalog.keras.graph import inner_layers
from oomlint.dryrun.values.arrays import Shape
from oomlint.dryrun.values.base import Const, Value, deref
from oomlint.dryrun.values.training import Layer, Model

FLOAT = 4  # bytes
NONE_OF_THEIR_OWN = frozenset({"InputLayer", "Flatten", "Reshape", "Dropout", "Identity"})


def forward_bytes(model: Model, rows: int, *, differentiated: bool) -> tuple[int, Layer] | None:
    """Bytes of layers' outputs held at once for that many rows, and the layer with the largest output.

    While nothing is differentiated an output goes when the next layer is done with it; what a tape records stays. None
    where a layer or its output is not known.
    """
    if not _known(model):
        return None
    outputs: list[tuple[int, Layer]] = []
    for layer in inner_layers(model):
        if short(layer) in NONE_OF_THEIR_OWN or layer.inner is not None:
            continue
        count = _elements(layer.output)
        if count is None:
            return None
        outputs.append((count * rows * FLOAT, layer))
    if not outputs:
        return None
    largest = max(outputs, key=lambda item: item[0])
    return (sum(size for size, _ in outputs), largest[1]) if differentiated else largest


def _known(model: Model) -> bool:
    """Whether every layer of a model is known, down to those of the models in it."""
    stack: list[Value] = [model]
    for _ in range(200):
        if not stack:
            return True
        value = deref(stack.pop())
        if isinstance(value, Model):
            if not value.layers or value.kind == "application" or "_either" in value.attributes:
                return False
            stack.extend(value.layers)
    return False


def _elements(shape: Shape | None) -> int | None:
    """Numbers in one row of an output."""
    total = 1
    for dim in shape[1:] if shape else (None,):
        if not isinstance(dim, Const) or not isinstance(dim.value, int):
            return None
        total *= dim.value
    return total
