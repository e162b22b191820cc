"""What is random in the function that a tf.data stage maps."""

from __future__ import annotations

from typing import TYPE_CHECKING

from oomlint.dryrun.queries.pipelines import inside, received
from oomlint.dryrun.values.arrays import Array
from oomlint.dryrun.values.base import deref
from oomlint.dryrun.values.data import Dataset, leaves
from oomlint.dryrun.values.training import Layer, Model

if TYPE_CHECKING:
    from oomlint.dryrun.trace import Call, Trace
    from oomlint.dryrun.values.base import Value
    from oomlint.syntax.place import Place


def random_in(trace: Trace, stage: Call) -> tuple[str, Place] | None:
    """The first thing that makes a mapped function give another result each time, and where it stands."""
    return next((found for call in inside(trace, stage) if (found := _random(call, stage)) is not None), None)


def _random(call: Call, stage: Call) -> tuple[str, Place] | None:
    """What is random in a call of a mapped function: an augmenting op or layer, or numbers drawn for the element."""
    name = call.name.rpartition(".")[2]
    if call.name.startswith("tf.image.random_") or call.name in ("tf.random_crop", "tf.image.random_crop"):
        return name, call.place
    if call.name.startswith("tf.random.") and name in ("normal", "uniform", "truncated_normal", "shuffle"):
        return (call.name, call.place) if _has_content(received(stage)) else None
    if call.name.startswith(("numpy.random.", "random.")) and call.context.role("tf.py_function") is not None:
        return (call.name, call.place) if _has_content(received(stage)) and name != "seed" else None
    if name == "__call__" and call.const("training", True) is not False:
        layer = _random_layer(deref(call.receiver) if call.receiver is not None else None)
        return (layer, call.place) if layer is not None else None
    return None


def _random_layer(value: Value | None) -> str | None:
    if isinstance(value, Layer):
        short = value.type.rpartition(".")[2]
        return short if short.startswith("Random") else None
    if isinstance(value, Model):
        found = (_random_layer(deref(layer)) for layer in value.layers or ())
        return next((name for name in found if name is not None), None)
    return None


def _has_content(dataset: Dataset | None) -> bool:
    """Whether elements are data, and not just numbers that a synthetic set is generated from."""
    if dataset is None or dataset.element is None:
        return True
    parts = leaves(dataset.element)
    return not all(isinstance(part, Array) and part.shape == () and part.dtype != "string" for part in parts)
