"""Outputs with a number for each word of a vocabulary, and how often training holds a tensor of that size."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from oomlint.dryrun.catalog.keras.apply import config_of, short
from oomlint.dryrun.catalog.keras.dims import UNSURE, known
from oomlint.dryrun.catalog.keras.graph import Node, tensors
from oomlint.dryrun.catalog.keras.settling import SETTLED
from oomlint.dryrun.queries.tensor_sizes import Factor, batch_factor, count, factor, itemsize_of
from oomlint.dryrun.queries.trained_models import clearly_trained
from oomlint.dryrun.values.arrays import Array
from oomlint.dryrun.values.base import Const, Opaque, deref
from oomlint.dryrun.values.program import Library
from oomlint.dryrun.values.training import Layer, Model

if TYPE_CHECKING:
    from collections.abc import Iterator

    from oomlint.dryrun.queries.trained_models import Trained
    from oomlint.dryrun.trace import Trace
    from oomlint.dryrun.values.base import Value
    from oomlint.syntax.place import Place

WORDS = 1000  # fewer are classes
MAKING = frozenset(["Dense", "EinsumDense", "Conv1D", "Convolution1D"])
PRODUCTS = frozenset(["matmul", "einsum", "tensordot"])
HALVES = {"float16": 2, "bfloat16": 2}
# Layers between the one that makes the numbers and the model's output.
PASSING = frozenset(["Activation", "Softmax", "Dropout", "Identity", "Masking", "ActivityRegularization"])
SPARSE = frozenset(["sparsecategoricalcrossentropy", "sparse_categorical_crossentropy"])
DENSE = frozenset(
    "categoricalcrossentropy categorical_crossentropy kldivergence kl_divergence categoricalfocalcrossentropy"
    " categorical_focal_crossentropy binarycrossentropy binary_crossentropy mse meansquarederror".split()
)


# Measured as peaks of a step, labels included: logits 3.5 with a metric, 2.1 under XLA; softmax with a metric 4.3;
# softmax and one-hot labels 4.0 with a metric, 3.0 without. Keras takes the loss from the logits behind a softmax,
# so that the softmax itself is only there where a metric looks at it (benchmarks/activations.py).


@dataclass(frozen=True, slots=True)
class Output:
    """One output: `factors` make its elements; `parts` are the tensors of that size that a step holds."""

    layer: Layer | None  # None: a product of tensors, as with the embedding's own table
    place: Place
    trained: Trained
    factors: tuple[Factor, ...]
    itemsize: int
    parts: tuple[str, ...]

    @property
    def single(self) -> int:
        """Bytes of the output itself."""
        return count(self.factors) * self.itemsize

    @property
    def bytes(self) -> int:
        """What a step holds of that size, at least."""
        return self.single * len(self.parts)


def vocabulary_outputs(trace: Trace) -> Iterator[Output]:
    """The widest use of every output that is large by its words."""
    largest: dict[int, Output] = {}
    for trained in clearly_trained(trace):
        for tensor in tensors(trained.model.attributes.get(SETTLED) or trained.model.outputs):
            output = _output(tensor, trained)
            if output is not None:
                before = largest.get(id(output.place.node))
                if before is None or before.bytes < output.bytes:
                    largest[id(output.place.node)] = output
    yield from largest.values()


def _output(tensor: Value, trained: Trained) -> Output | None:
    shape = tensor.shape if isinstance(tensor, Array) else None
    if shape is None or not 2 <= len(shape) <= 3 or (known(shape[-1]) or 0) < WORDS:
        return None
    found = _maker(tensor)
    if found is None or (found.layer is not None and id(found.layer) in trained.frozen):
        return None
    layer, place, softmax = found.layer, found.place, found.softmax
    factors = [batch_factor(shape, trained.batch), factor("words", shape[-1])]
    if len(shape) == 3:
        factors.insert(1, factor("positions", shape[1]))
    whole = tuple(item for item in factors if item is not None)
    if place is None or len(whole) < len(factors):
        return None
    parts = ["the logits", "their gradient"]
    if softmax and trained.compiled is not None and trained.compiled.argument("metrics") is not None:
        parts.insert(1, "their softmax")
    if _loss_name(trained.loss) in DENSE:
        parts.append("the one-hot labels")
    itemsize = (
        itemsize_of(layer) if layer is not None else HALVES.get(getattr(tensor, "dtype", None) or "", 4)
    )
    return Output(layer, place, trained, whole, itemsize, tuple(parts))


@dataclass(frozen=True, slots=True)
class _Maker:
    """What made an output, and whether a softmax stands on it."""

    layer: Layer | None
    place: Place | None
    softmax: bool


def _maker(tensor: Value) -> _Maker | None:
    """The dense layer or product behind an output."""
    softmax = False
    for _ in range(32):
        made = tensor.origin if isinstance(tensor, Array) else None
        if made is not None and made.text.rpartition(".")[2] in PRODUCTS:
            return _Maker(None, made.place, softmax)
        node = tensor.producer if isinstance(tensor, Array) else None
        if not isinstance(node, Node):
            return None
        layer = node.layer
        if isinstance(layer, Model):
            ends = tensors(layer.outputs)
            if len(ends) != 1 or ends[0] is tensor:
                return None
            tensor = ends[0]
            continue
        if not isinstance(layer, Layer):
            return None
        if isinstance(result := layer.attributes.get("_result"), Array):
            tensor = result  # what the program's own layer gave
            continue
        name = short(layer)
        if name == "TimeDistributed" and isinstance(layer.inner, Layer):
            inner = short(layer.inner)
            activation = config_of(layer.inner).get("activation")
        else:
            inner, activation = name, config_of(layer).get("activation")
        softmax = softmax or inner == "Softmax" or _named(activation, layer) == "softmax"
        if inner in MAKING:
            return _Maker(layer, layer.made_by.place if layer.made_by is not None else None, softmax)
        if inner not in PASSING or not node.inputs:
            return None
        tensor = node.inputs[0]
    return None


def _named(activation: object, layer: Layer) -> str:
    """The name of an activation, given as a string or as the function."""
    if activation is UNSURE:
        holder = layer.inner if isinstance(layer.inner, Layer) else layer
        value = config_of(holder).value("activation")
        return value.name.rpartition(".")[2] if isinstance(value, Library) else ""
    return activation.lower() if isinstance(activation, str) else ""


def _loss_name(loss: Value | None) -> str:
    value = None if loss is None else deref(loss)
    match value:
        case Const(value=str(name)):
            return name.lower()
        case Opaque(type=name) | Library(name=name):
            return name.rpartition(".")[2].lower()
    return ""
