"""Dense layers behind a flattened feature map, in models that are trained."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from oomlint.dryrun.catalog.keras.dims import known
from oomlint.dryrun.catalog.keras.graph import Node, inner_layers, shape_of_tensor, tensors
from oomlint.dryrun.catalog.keras.training import frozen_layers, slots_of
from oomlint.dryrun.queries.tape_training import model_of, tape_trainings
from oomlint.dryrun.values.arrays import ITEMSIZE, Array, Dim, Shape
from oomlint.dryrun.values.base import Const, Sequence, Value
from oomlint.dryrun.values.training import Layer, Model, Optimizer

if TYPE_CHECKING:
    from collections.abc import Iterator

    from oomlint.dryrun.trace import Trace
    from oomlint.syntax.place import Place

# Layers that hand on every element: between a Flatten and its Dense they change nothing.
PASSING = frozenset(
    """Dropout GaussianDropout AlphaDropout GaussianNoise Activation ReLU LeakyReLU ELU PReLU Softmax Identity
    BatchNormalization LayerNormalization UnitNormalization ActivityRegularization Rescaling Masking""".split()
)
FIT = ("keras.Model.fit", "keras.Model.fit_generator", "keras.Model.train_on_batch")
USE = ("keras.Model.predict", "keras.Model.evaluate", "keras.Model.predict_on_batch", "keras.Model.__call__")


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


@dataclass(frozen=True, slots=True)
class Trained:
    """A model with the optimizer that trains it."""

    model: Model
    slots: int | None
    place: Place | None
    frozen: frozenset[int]


def flattened_kernels(trace: Trace) -> Iterator[Kernel]:
    """Every trained Dense behind a flattened map once, with the optimizer that keeps the most."""
    largest: dict[int, Kernel] = {}
    for trained in _trained(trace):
        for layer in inner_layers(trained.model):
            kernel = None if id(layer) in trained.frozen else _kernel(layer)
            if kernel is None:
                continue
            kernel = replace(kernel, slots=trained.slots, optimizer=trained.place)
            before = largest.get(id(layer))
            if before is None or before.copies < kernel.copies:
                largest[id(layer)] = kernel
    yield from largest.values()


def _trained(trace: Trace) -> Iterator[Trained]:
    fitted = {id(model_of(call.receiver)) for call in trace.calls(*FIT)}
    used = {id(model_of(call.receiver)) for call in trace.calls(*USE)}
    for call in trace.calls("keras.Model.compile"):
        model = model_of(call.receiver)
        if model is None or (id(model) in used and id(model) not in fitted):
            continue  # compiled for the sake of predict or evaluate
        argument = call.argument("optimizer")
        frozen = model.attributes.get("_frozen") or Sequence(items=frozen_layers(model))
        yield Trained(
            model,
            slots_of(None if argument is None else argument.value),
            call.place if argument is None else argument.place,
            frozenset(id(layer) for layer in tensors(frozen)),
        )
    for training in tape_trainings(trace):
        optimizer = training.applied.receiver if training.applied is not None else None
        slots = slots_of(optimizer) if isinstance(optimizer, Optimizer) else None
        made = optimizer.made_by if isinstance(optimizer, Optimizer) else None
        place = made.place if made is not None else training.gradient.place
        frozen_now = frozenset(id(layer) for layer in frozen_layers(training.model))
        yield Trained(training.model, slots, place, frozen_now)


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
    policy = layer.attributes.get("_policy")
    kind = str(policy.value) if isinstance(policy, Const) else "float32"
    return Kernel(
        layer=layer,
        place=layer.made_by.place,
        flattened=flattened,
        flatten=flatten,
        source=_source(node),
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


def _source(node: Node) -> tuple[Shape, Place] | None:
    """The symbolic input that a chain of layers begins with, where the text makes one."""
    for _ in range(4096):
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
