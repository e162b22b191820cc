"""Tensors that wait for the backward pass of a training step, each counted once: a lower bound, from static shapes.

A gradient needs what its operation went in with or what came out of it: a convolution its input, a ReLU its output.
Masks, temporary copies, workspaces and whatever has no known shape are left out, and XLA cannot do without these
tensors either.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from oomlint.dryrun.catalog.keras.application_activations import saved_by_application
from oomlint.dryrun.catalog.keras.apply import config_of, short
from oomlint.dryrun.catalog.keras.graph import Node, shape_of_tensor, tensors
from oomlint.dryrun.catalog.keras.training import is_frozen
from oomlint.dryrun.queries.tensor_sizes import Factor, batch_factor, count, factor, itemsize_of
from oomlint.dryrun.queries.trained_models import layers_in_use
from oomlint.dryrun.values.arrays import Array, Shape
from oomlint.dryrun.values.base import Const
from oomlint.dryrun.values.training import Layer, Model

if TYPE_CHECKING:
    from collections.abc import Iterator

    from oomlint.dryrun.queries.trained_models import Trained, Use
    from oomlint.dryrun.trace import Trace
    from oomlint.dryrun.values.base import Value
    from oomlint.syntax.place import Place

# Layers whose gradient needs the input: to multiply it with what comes back, or to normalise it again.
NEEDS_INPUT = frozenset(
    """Conv1D Conv2D Conv3D Conv1DTranspose Conv2DTranspose Conv3DTranspose SeparableConv1D SeparableConv2D
    DepthwiseConv1D DepthwiseConv2D Convolution1D Convolution2D Convolution3D Dense EinsumDense BatchNormalization
    LayerNormalization GroupNormalization MultiHeadAttention LSTM GRU SimpleRNN ConvLSTM2D
    MaxPooling1D MaxPooling2D MaxPooling3D MaxPool1D MaxPool2D MaxPool3D""".split()
)
# Activations whose gradient is computed from the output, and those that need the input.
BY_OUTPUT = frozenset(["relu", "sigmoid", "tanh", "softmax", "elu", "selu", "hard_sigmoid", "relu6"])
BY_INPUT = frozenset(["gelu", "swish", "silu", "softplus", "mish", "leaky_relu"])
LAYERS_BY_OUTPUT = frozenset(["ReLU", "ELU", "Softmax"])
LAYERS_BY_INPUT = frozenset(["LeakyReLU", "PReLU"])
# XLA makes some of them again where that is cheap: compiled for an H100, seven architectures held 0.80 to 2.3 of the
# sum that is counted here (Keras 3.15, batches of 32 and 64; ResNet50 0.95, EfficientNetB0 0.80, VGG16 2.3).
CERTAIN = 0.75

FREES = (
    "keras.RematScope",
    "keras.remat",
    "tf.recompute_grad",
    "keras.remat.RematScope",
    "keras.remat.remat",
)


@dataclass(frozen=True, slots=True)
class Saved:
    """One tensor that waits: of what layer, and the factors of its elements."""

    layer: Value
    use: Use | None
    place: Place
    factors: tuple[Factor, ...]
    itemsize: int

    @property
    def bytes(self) -> int:
        """Its size."""
        return count(self.factors) * self.itemsize


def certain(saved: list[Saved]) -> int:
    """Bytes that wait at least, whichever way the step is compiled."""
    return int(sum(one.bytes for one in saved) * CERTAIN)


def recomputes(trace: Trace) -> bool:
    """Whether the script recomputes activations in the backward pass somewhere."""
    return bool(trace.calls(*FREES))


def saved_activations(trained: Trained) -> list[Saved] | None:
    """The tensors of a model that wait, as far as their shapes are known; None where its layers are not."""
    model = trained.model
    if (model.layers is None and model.kind != "application") or "_either" in model.attributes:
        return None
    kept: dict[int, Saved] = {}
    for use in layers_in_use(model):
        if id(use.layer) not in trained.frozen:
            for key, saved in _of_layer(use, trained):
                kept.setdefault(key, saved)
    for part, around in applications(model):
        whole = None if is_frozen(part) else _of_application(part, around, trained)
        if whole is not None:
            kept.setdefault(id(part), whole)
    return list(kept.values())


def in_sequences(trained: Trained) -> Iterator[Saved]:
    """Those of layers and architectures that a `TimeDistributed` runs on each step of a sequence."""
    for one in saved_activations(trained) or ():
        if one.use is not None and (one.use.wrapped is not None or one.layer is not one.use.layer):
            yield one


def _of_layer(use: Use, trained: Trained) -> Iterator[tuple[int, Saved]]:
    layer, name = use.layer, short(use.layer)
    node = layer.attributes.get("_node")
    if not isinstance(node, Node):
        return
    config = config_of(layer)
    activation = config.get("activation")
    kind = activation.lower() if isinstance(activation, str) else ""
    # The activation inside of a dense layer or convolution goes on from a tensor of its own, with the output's shape.
    inner = name not in ("Activation", *LAYERS_BY_OUTPUT, *LAYERS_BY_INPUT)
    if name in NEEDS_INPUT or name in LAYERS_BY_INPUT or (kind in BY_INPUT and not inner):
        for value in node.inputs[:1]:
            key, shape = _key(value), shape_of_tensor(value)
            if key is not None:
                yield from _saved(key, shape, use, trained)
    if name in LAYERS_BY_OUTPUT or kind in BY_OUTPUT or (kind in BY_INPUT and inner):
        yield from _saved(id(node), layer.output, use, trained)


def _key(value: Value) -> int | None:
    """What tells a tensor from others: the application that made it. The batch itself is not counted."""
    producer = value.producer if isinstance(value, Array) else None
    for _ in range(8):
        if not isinstance(producer, Node):
            return None if producer is None else id(producer)
        if not producer.inputs:
            return None
        layer = producer.layer
        if isinstance(layer, Model) and layer.kind != "application":
            ends = tensors(layer.outputs)
            producer = ends[0].producer if len(ends) == 1 and isinstance(ends[0], Array) else None
            continue
        if isinstance(layer, Layer) and isinstance(result := layer.attributes.get("_result"), Array):
            producer = result.producer  # what the program's own layer gave, made by a layer inside of it
            continue
        if isinstance(layer, Layer) and short(layer) == "TimeDistributed" and isinstance(layer.inner, Layer):
            # Of the wrapper's output and the wrapped layer's, which hold the same numbers, one is counted.
            producer = layer.inner.attributes.get("_node", producer)
            return id(producer)
        if isinstance(layer, Layer) and short(layer) in ("Dropout", "Identity", "Reshape", "Flatten"):
            source = producer.inputs[0]
            producer = source.producer if isinstance(source, Array) else None
            continue
        return id(producer)
    return None


def _saved(key: int, shape: Shape | None, use: Use, trained: Trained) -> Iterator[tuple[int, Saved]]:
    factors = _factors(shape, use, trained)
    if factors is not None:
        yield key, Saved(use.layer, use, use.place, factors, itemsize_of(use.layer))


def _factors(shape: Shape | None, use: Use | None, trained: Trained) -> tuple[Factor, ...] | None:
    if shape is None or len(shape) < 2:
        return None
    factors = [batch_factor(shape, trained.batch)]
    if trained.passes is not None:
        factors.append(factor("times in a step", trained.passes))
    factors += [factor("time steps", dim) for dim in (use.steps if use is not None else ())]
    factors += [factor("in a sample", dim) for dim in shape[1:]]
    whole = tuple(item for item in factors if item is not None)
    return whole if len(whole) == len(factors) else None


def trains_all(trained: Trained) -> bool:
    """Whether nothing of a model is frozen, so that all its weights have gradients and slots."""
    return not trained.frozen and not any(is_frozen(part) for part, _ in applications(trained.model))


# --- architectures of keras.applications ----------------------------------------------------------------


def applications(model: Model) -> Iterator[tuple[Model, Use | None]]:
    """The ready-made architectures that a model is made of."""
    seen: set[int] = set()
    stack: list[tuple[Value, Use | None]] = [(model, None)]
    wrapped = {id(use.layer): use for use in layers_in_use(model)}
    while stack:
        value, around = stack.pop()
        value = getattr(value, "facet", None) or value
        if id(value) in seen:
            continue
        seen.add(id(value))
        if isinstance(value, Model):
            if value.kind == "application":
                yield value, around
            stack.extend((item, around) for item in value.layers or [])
        elif isinstance(value, Layer) and value.inner is not None:
            inside = wrapped.get(id(value)) if short(value) == "TimeDistributed" else around
            stack.append((value.inner, inside or around))


def _of_application(model: Model, around: Use | None, trained: Trained) -> Saved | None:
    shape = model.input_shape
    if shape is not None and None in shape[1:] and "_applied_to" in model.attributes:
        shape = shape_of_tensor(model.attributes["_applied_to"])  # made without `input_shape`
    name = model.attributes.get("_name")
    if shape is None or len(shape) != 4 or not isinstance(name, Const) or model.made_by is None:
        return None
    other = model.made_by.argument("alpha") or model.made_by.argument("minimalistic")
    elements = saved_by_application(str(name.value), shape) if other is None else None
    if elements is None:
        return None
    factors = [
        batch_factor(shape, trained.batch),
        Factor(f"numbers kept by {name.value} for a sample", elements),
    ]
    if trained.passes is not None:
        factors.insert(1, factor("times in a step", trained.passes))
    if around is not None:
        outer = around.layer.inputs[0] if around.layer.inputs else None
        factors[1:1] = [
            factor("time steps", dim)
            for dim in (outer[1] if outer and len(outer) > 1 else None, *around.steps)
        ]
    whole = tuple(item for item in factors if item is not None)
    if len(whole) < len(factors):
        return None
    return Saved(model, around, model.made_by.place, whole, 4)


def complete(trained: Trained) -> bool:
    """Whether the output of every layer of a model is known, so that nothing large is missing from the sum."""
    for use in layers_in_use(trained.model):
        if use.layer.output is None and use.layer.inputs == () and use.wrapped is None:
            return False
        if use.layer.output is not None and None in use.layer.output[1:]:
            return False
    return all(_of_application(part, around, trained) for part, around in applications(trained.model))
