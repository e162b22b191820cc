"""The labels that a model is trained on, and whether its loss is the categorical one that wants them one-hot."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

from oomlint.dryrun.trace import Call
from oomlint.dryrun.values.arrays import Array
from oomlint.dryrun.values.base import Const, Mapping, Opaque, Sequence, Unknown, Value, deref
from oomlint.dryrun.values.data import Dataset
from oomlint.dryrun.values.program import Function, Library
from oomlint.dryrun.values.training import Model

if TYPE_CHECKING:
    from oomlint.dryrun.trace import Trace

CATEGORICAL, OTHER, UNKNOWN = "categorical", "other", "unknown"
_SOURCES = frozenset({"from_tensor_slices", "from_tensors"})
_FUNCTIONS = (
    "keras.losses.categorical_crossentropy", "keras.backend.categorical_crossentropy",
    "keras.ops.categorical_crossentropy", "keras.metrics.categorical_crossentropy",
    "tf.nn.softmax_cross_entropy_with_logits", "tf.nn.softmax_cross_entropy_with_logits_v2",
    "keras.losses.CategoricalCrossentropy.__call__",
)  # fmt: skip
# These compare class by class, and have no form for integer labels.
_DENSE_METRICS = frozenset(
    {"f1score", "fbetascore", "precision", "recall", "auc", "f1_score", "precisionatrecall", "recallatprecision",
     "categoricalhinge", "cosinesimilarity", "cosine_similarity"}
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Labels:
    """One array of labels: who feeds it, to which model, under which kind of loss."""

    feed: Call
    value: Array
    model: Model | None
    loss: str


def labels(trace: Trace) -> Iterator[Labels]:
    """Arrays of labels that training gets, from `fit`, data sets of arrays, and generators that cut them up."""
    losses: set[str] = set()
    fed: set[int] = set()
    for call in trace.calls("keras.Model.fit", "keras.Model.train_on_batch", "keras.Model.fit_generator"):
        model = call.receiver if isinstance(call.receiver, Model) else None
        kind = loss_of_model(model)
        losses.add(kind)
        for value in _given(call):
            yield Labels(call, value, model, kind)
        for name in ("x", "generator", "validation_data"):
            data = call.value(name)
            for source in data.stages if isinstance(data, Dataset) else ():
                fed.add(id(source))
                yield from (Labels(source, value, model, kind) for value in _sliced(source))
    if any(True for _ in trace.calls(*_FUNCTIONS)):
        losses.add(CATEGORICAL)
    if CATEGORICAL not in losses or OTHER in losses:
        return
    for source in trace.calls(*(f"tf.data.Dataset.{name}" for name in _SOURCES)):
        if id(source) not in fed:
            yield from (Labels(source, value, None, CATEGORICAL) for value in _sliced(source))
    for call in trace.calls("operator.getitem"):
        function = call.context.function()
        held = deref(call.receiver) if call.receiver is not None else None
        if isinstance(held, Array) and function is not None:
            if "generator" in function.flags or function.name == "__getitem__":
                yield Labels(call, held, None, CATEGORICAL)


def _given(call: Call) -> Iterator[Array]:
    yield from _arrays(call.value("y"))
    held = call.value("validation_data")
    if isinstance(held, Sequence) and held.items is not None and len(held.items) > 1:
        yield from _arrays(held.items[1])


def _sliced(source: Call) -> Iterator[Array]:
    value = deref(source.arguments[0].value) if source.arguments else None
    if source.name.rpartition(".")[2] in _SOURCES and isinstance(value, Sequence) and value.kind == "tuple":
        if value.items is not None and len(value.items) > 1:
            yield from _arrays(value.items[1])


def _arrays(value: Value | None) -> Iterator[Array]:
    value = deref(value) if value is not None else None
    match value:
        case Array():
            yield value
        case Sequence(kind="list" | "tuple"):
            for part in (value.items if value.items is not None else [value.any])[:16]:
                yield from _arrays(part)
        case Mapping(entries=entries):
            for part in entries.values():
                yield from _arrays(part)


def loss_of_model(model: Model | None) -> str:
    """Whether a compiled model's loss is categorical cross-entropy on one-hot labels and nothing else needs these."""
    if model is None or model.compiled is None:
        return UNKNOWN
    loss = model.compiled.value("loss")
    if loss is None or _dense_metrics(model.compiled.value("metrics")):
        return UNKNOWN if loss is None and model.compiled.opaque_arguments else OTHER
    return loss_kind(loss)


def loss_kind(value: Value) -> str:
    """The kind of one loss, or of several outputs' losses together."""
    value = deref(value)
    match value:
        case Const(value=str(text)):
            plain = text.lower().replace("_", "")
            return CATEGORICAL if plain == "categoricalcrossentropy" else OTHER
        case Opaque(type="keras.losses.CategoricalCrossentropy", made_by=made):
            smoothing = made.argument("label_smoothing") if made is not None else None
            plain_labels = smoothing is None or smoothing.const() in (0, 0.0)
            return CATEGORICAL if plain_labels and not (made and made.opaque_arguments) else OTHER
        case Library(name=name):
            last = name.rpartition(".")[2].lower().replace("_", "")
            return CATEGORICAL if last == "categoricalcrossentropy" else OTHER
        case Sequence() | Mapping():
            parts = list(value.entries.values()) if isinstance(value, Mapping) else value.items or []
            kinds = {loss_kind(part) for part in parts}
            return CATEGORICAL if CATEGORICAL in kinds else OTHER if kinds == {OTHER} else UNKNOWN
        case Unknown():
            return UNKNOWN
    return OTHER


def _dense_metrics(value: Value | None) -> bool:
    """Whether a metric is among them that needs a column per class, or one of the program's own."""
    value = deref(value) if value is not None else None
    match value:
        case Sequence():
            return any(_dense_metrics(part) for part in (value.items or [])[:32])
        case Mapping():
            return any(_dense_metrics(part) for part in value.entries.values())
        case Const(value=str(text)):
            return text.lower() in _DENSE_METRICS
        case Opaque(type=kind) | Library(name=kind):
            return kind.rpartition(".")[2].lower() in _DENSE_METRICS
        case Function():
            return True
    return False
