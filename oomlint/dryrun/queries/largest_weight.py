"""The largest single weight of a model: what is done to one weight at a time costs that much."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from oomlint.dryrun.catalog.keras.dims import known
from oomlint.dryrun.catalog.keras.graph import inner_layers
from oomlint.dryrun.values.arrays import shape_text
from oomlint.dryrun.values.base import merge

if TYPE_CHECKING:
    from oomlint.dryrun.values.arrays import Shape
    from oomlint.dryrun.values.base import Trail
    from oomlint.dryrun.values.training import Model
    from oomlint.syntax.place import Place


@dataclass(frozen=True, slots=True)
class Weight:
    """One weight: how many numbers, the way its dimensions came, and the layer that has it."""

    count: int
    trail: Trail
    text: str  # "the kernel of Dense"
    shape: str
    place: Place | None


def largest_weight(model: Model) -> Weight | None:
    """The largest of the weights whose shape is known; the model may have a larger one."""
    found: Weight | None = None
    for layer in inner_layers(model):
        for name, shape in (layer.weights or {}).items():
            count = _count(shape)
            if count is not None and (found is None or count > found.count):
                place = layer.made_by.place if layer.made_by is not None else None
                text = f"the {name.replace('_', ' ')} of {layer.type.rpartition('.')[2]}"
                trail = merge(*(dim.trail for dim in shape if dim is not None))
                found = Weight(count, trail, text, shape_text(shape), place)
    return found


def _count(shape: Shape) -> int | None:
    count = 1
    for dim in shape:
        size = known(dim)
        if size is None:
            return None
        count *= size
    return count
