"""Sizes of what a training step makes for one layer: elements for each sample, with the dimensions they are made
of."""

from __future__ import annotations

from dataclasses import dataclass
from math import prod
from typing import TYPE_CHECKING

from oomlint.dryrun.catalog.keras.dims import known
from oomlint.dryrun.catalog.keras.graph import Node, shape_of_tensor, tensors
from oomlint.dryrun.values.arrays import ITEMSIZE, Array
from oomlint.dryrun.values.base import Const, Sequence

if TYPE_CHECKING:
    from oomlint.dryrun.values.arrays import Dim, Shape
    from oomlint.dryrun.values.base import Value
    from oomlint.dryrun.values.training import Layer
    from oomlint.syntax.place import Place


@dataclass(frozen=True, slots=True)
class Factor:
    """One dimension of a tensor: what it counts, and its number with the way it came."""

    text: str
    dim: Const

    @property
    def value(self) -> int:
        """The number."""
        return int(self.dim.value)


def factor(text: str, dim: Dim) -> Factor | None:
    """A factor where the number is known."""
    return None if dim is None or known(dim) is None else Factor(text, dim)


def batch_factor(shape: Shape, batch: Const | None) -> Factor | None:
    """The batch of a call: what its input's shape says, else what the model is trained with."""
    return factor("samples in a batch", shape[0] if shape and shape[0] is not None else batch)


def count(factors: tuple[Factor, ...]) -> int:
    """How many elements."""
    return prod(factor.value for factor in factors)


def formula(factors: tuple[Factor, ...], itemsize: int) -> str:
    """`16 x 8 x 2,048 x 2,048 x 4 B`."""
    return " x ".join(f"{factor.value:,}" for factor in factors) + f" x {itemsize} B"


def itemsize_of(layer: Layer) -> int:
    """Bytes per element in which a layer computes; the least of all policies where its own is not known."""
    policy = layer.attributes.get("_policy")
    if not isinstance(policy, Const):
        return 2 if policy is not None else 4
    return ITEMSIZE.get(str(policy.value).removeprefix("mixed_"), 4)


def policy_itemsize(layer: Layer) -> int:
    """Bytes per weight: float32 under a mixed policy too."""
    policy = layer.attributes.get("_policy")
    return ITEMSIZE.get(str(policy.value), 4) if isinstance(policy, Const) else 4


def source_of(node: Value | None) -> tuple[Shape, Place] | None:
    """The symbolic input that a chain of layers begins with, where the text makes one."""
    for _ in range(4096):
        if not isinstance(node, Node):
            return None
        before = node.inputs[0] if node.inputs else None
        producer = before.producer if isinstance(before, Array) else None
        if isinstance(producer, Sequence):
            producer = next((item.producer for item in tensors(producer) if isinstance(item, Array)), None)
        if not isinstance(producer, Node):
            return None
        if not producer.inputs:
            shape = shape_of_tensor(before) if before is not None else None
            origin = before.origin if isinstance(before, Array) else None
            place = producer.call.place if producer.call is not None else None
            if place is None and origin is not None:
                place = origin.place  # built on the data: what decided its shape
            return (shape, place) if shape is not None and place is not None else None
        node = producer
    return None
