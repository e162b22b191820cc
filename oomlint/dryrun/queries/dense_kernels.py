"""Dense layers behind a flattened feature map, in models that are trained."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from oomlint.dryrun.catalog.keras.dims import known
from oomlint.dryrun.catalog.keras.graph import Node, inner_layers, shape_of_tensor, tensors
from oomlint.dryrun.queries.contradicted import is_contradicted
from oomlint.dryrun.queries.tensor_sizes import source_of
from oomlint.dryrun.queries.trained_models import trained_models
from oomlint.dryrun.values.arrays import ITEMSIZE, Array, Dim, Shape
from oomlint.dryrun.values.base import Const, Value, merge
from oomlint.dryrun.values.training import Layer, Model

if TYPE_CHECKING:
    from collections.abc import Iterator

    from oomlint.dryrun.trace import Trace
    from oomlint.syntax.place import Place

# Layers that hand on every element: between a Flatten and its Dense they change nothing.
PASSING = frozenset(
    """Dropout GaussianDropout AlphaDropout GaussianNoise Activation ReLU LeakyReLU ELU PReLU Softmax Identity
    BatchNormalization LayerNormalization UnitNormalization ActivityRegularization Rescaling Masking""".split()
)


@dataclass(frozen=True, slots=True)
class Kernel:
    """The kernel of one Dense layer. `slots` None: trained with an optimizer that is not known."""

    layer: Layer
    place: Place
    flattened: Shape  # without the batch
    flatten: Place | None
    source: tuple[Shape, Place] | None  # the model's input behind it
    inputs: Dim
    units: Dim
    itemsize: int
    slots: int | None
    optimizer: Place | None

    @property
    def weights(self) -> int:
        """How many numbers the kernel holds."""
        return (known(self.inputs) or 0) * (known(self.units) or 0)

    @property
    def copies(self) -> int:
        """Weights, gradient, and the optimizer's slots."""
        return 2 + (self.slots or 0)

    @property
    def bytes(self) -> int:
        """What a training step keeps of it, at least."""
        return self.weights * self.itemsize * self.copies


def flattened_kernels(trace: Trace) -> Iterator[Kernel]:
    """Every trained Dense behind a flattened map once, with the optimizer that keeps the most."""
    largest: dict[int, Kernel] = {}
    for trained in trained_models(trace):
        for layer in inner_layers(trained.model):
            kernel = None if id(layer) in trained.frozen else _kernel(layer)
            if kernel is None:
                continue
            kernel = replace(kernel, slots=trained.slots, optimizer=trained.place)
            before = largest.get(id(layer))
            if before is None or before.copies < kernel.copies:
                largest[id(layer)] = kernel
    yield from largest.values()


def _kernel(layer: Layer) -> Kernel | None:
    """The kernel of a Dense layer whose input is a flattened map."""
    shape = (layer.weights or {}).get("kernel")
    node = layer.attributes.get("_node")
    if not layer.type.endswith(".Dense") or shape is None or len(shape) != 2 or layer.made_by is None:
        return None
    if not isinstance(node, Node) or known(shape[0]) is None or known(shape[1]) is None:
        return None
    found = _flattened(node.inputs[0]) if node.inputs else None
    if found is None:
        return None
    flattened, flatten = found
    if is_contradicted(layer.made_by.context, merge(*(dim.trail for dim in flattened if dim is not None))):
        return None
    policy = layer.attributes.get("_policy")
    kind = str(policy.value) if isinstance(policy, Const) else "float32"
    return Kernel(
        layer=layer,
        place=layer.made_by.place,
        flattened=flattened,
        flatten=flatten,
        source=source_of(node),
        inputs=shape[0],
        units=shape[1],
        itemsize=ITEMSIZE.get(kind, 4),
        slots=None,
        optimizer=None,
    )


def _flattened(value: Value) -> tuple[Shape, Place | None] | None:
    """The map that a tensor is the flattened form of, and where that happens."""
    for _ in range(32):
        shape = shape_of_tensor(value)
        node = value.producer if isinstance(value, Array) else None
        if shape is None or not isinstance(node, Node):
            return None
        layer = node.layer
        if isinstance(layer, Layer) and layer.type.endswith(".TimeDistributed"):
            return _flattened_steps(layer, node)
        if len(shape) != 2:
            return None
        if isinstance(layer, Model):
            ends = tensors(layer.outputs)
            if len(ends) != 1 or ends[0] is value:
                return None
            value = ends[0]
            continue
        if not isinstance(layer, Layer) or not node.inputs:
            return None
        before = shape_of_tensor(node.inputs[0])
        made = node.call.place if node.call is not None else None
        made = layer.made_by.place if layer.made_by is not None else made
        name = layer.type.rpartition(".")[2]
        if name in ("Flatten", "Reshape"):
            return (before[1:], made) if before is not None and len(before) > 2 else None
        if layer.output is not None and len(layer.output) > 2:
            return layer.output[1:], made  # tf.reshape and the like on what this layer gave
        if name not in PASSING:
            return None
        value = node.inputs[0]
    return None


def _flattened_steps(layer: Layer, node: Node) -> tuple[Shape, Place | None] | None:
    """The same on every step of a sequence: `TimeDistributed(Flatten())`."""
    inner = layer.inner
    before = shape_of_tensor(node.inputs[0]) if node.inputs else None
    if not isinstance(inner, Layer) or not inner.type.endswith(".Flatten"):
        return None
    made = layer.made_by.place if layer.made_by is not None else None
    return (before[2:], made) if before is not None and len(before) > 3 else None
