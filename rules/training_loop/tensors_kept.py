"""Tensors are collected in a list, dictionary or attribute, round after round.

## What it does

Reports tensors that a loop or a callback puts into a container which lives longer than the round, without
turning them into NumPy arrays or numbers first. Nothing is said of tests, nor of scripts of TensorFlow 1, whose tensors
are operations of a graph.

## Why is this bad?

Every kept tensor stays where it was computed, on the GPU, until the container goes: the predictions of a
whole data set next to the model. A kept scalar is small (1.7 KB on the host against 40 bytes for a float) and
does not hold the step's activations, so losses in a list are a note only, and a running total
(`total += loss`) is one scalar however long it runs. Callback `logs`, and what
`train_on_batch`, `test_on_batch`, `predict` and `predict_on_batch` return, are numbers and NumPy arrays already.

## Example

```python
import tensorflow as tf
from tensorflow import keras

model = keras.Sequential([keras.Input((256, 256, 3)), keras.layers.Conv2D(16, 3)])
photos = keras.utils.image_dataset_from_directory("photos", labels=None, batch_size=32)

maps = []
for batch in photos:
    maps.append(model(batch, training=False))
```

## Use instead

```python
import tensorflow as tf
from tensorflow import keras

model = keras.Sequential([keras.Input((256, 256, 3)), keras.layers.Conv2D(16, 3)])
photos = keras.utils.image_dataset_from_directory("photos", labels=None, batch_size=32)

maps = []
for batch in photos:
    maps.append(model(batch, training=False).numpy())
```

## Fix safety

Safe for a scalar of eager code that is only averaged, plotted or printed: `float()` keeps its value exactly, and
NumPy's mean of numbers is in double precision, where that of tensors is in single.
Unsafe for tensors: `.numpy()` frees the GPU, not the host, and code that later needs tensors (a gradient, a
`tf.function`) must convert back. Not offered where the kept values are used as tensors (`.numpy()`, `tf.stack`).

## References

- <https://github.com/tensorflow/tensorflow/issues/34606>
- <https://www.tensorflow.org/api_docs/python/tf/Tensor#numpy>
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import libcst as cst
from oomlint.rules.training_loop import keeping
from oomlint.rules.training_loop.fates import Fate, Fates
from oomlint.rules.training_loop.per_variable import (
    is_one_per_tensor,
    is_one_per_variable,
    is_the_same_each_round,
)

from oomlint.dryrun.queries.graph_growth import is_legacy
from oomlint.dryrun.queries.unit_tests import in_test
from oomlint.dryrun.sizes import human
from oomlint.dryrun.trace import Loop, Within
from oomlint.dryrun.values.arrays import Array, shape_text
from oomlint.dryrun.values.base import Value, deref
from oomlint.dryrun.values.data import Dataset
from oomlint.dryrun.values.shapes import number
from oomlint.dryrun.values.training import Gradients, Tape
from oomlint.findings.model import Evidence, Finding, Fix, Rule, Safety, Severity
from oomlint.syntax.edits import Replace

if TYPE_CHECKING:
    from oomlint.dryrun import Trace
    from oomlint.project.settings import Settings
    from oomlint.syntax.place import Place

RULE = Rule(
    code="OOM403",
    name="tensors-kept",
    severity=Severity.WARNING,
    fix=Safety.UNSAFE,
    literals=(
        "append",
        "extend",
        "add",
        "insert",
        "GradientTape",
        "Sequential",
        "Model",
        "load_model",
        "applications",
    ),
)

DOZENS = 64  # rounds
LITTLE = 64 << 20  # bytes that no GPU misses
SMALL = 1024  # bytes: no more than the Python object around them


def check(trace: Trace, settings: Settings) -> Iterator[Finding]:
    """Every append and item assignment, once per place."""
    targets = {
        id(deref(argument.value))
        for call in trace.calls("tf.GradientTape.gradient")
        if (argument := call.argument("target")) is not None
    }
    if is_legacy(trace):
        return  # nothing in it is eager: what it keeps are operations, and the arrays that sessions give
    yield from _collected(trace)
    worst: dict[int, Finding] = {}  # of what one place keeps, such as all that a step gave
    fates = Fates(trace)
    for kept in keeping.puts(trace):
        if in_test(kept.call):
            continue
        whole = keeping.taken_apart(trace, kept) or kept.value
        if not (id(kept.value) in targets or keeping.is_computed(trace, whole, 0)):
            continue
        rounds = keeping.rounds_of(trace, kept)
        if rounds is None or keeping.is_bounded(trace, kept) or fates.of(kept).reset:
            continue
        if keeping.is_text(kept):
            continue
        if is_one_per_variable(trace, rounds[0]) or keeping.before_a_session(trace, kept):
            continue
        if is_one_per_tensor(trace, kept) or is_the_same_each_round(trace, kept, rounds[0]):
            continue
        if keeping.is_part_of_one(trace, kept, rounds[0]) or keeping.is_building(trace, kept, rounds[0]):
            continue
        found = _finding(fates.of(kept), kept, scalar=keeping.is_scalar(kept, targets), rounds=rounds)
        before = worst.get(id(kept.call.node))
        if before is None or found.severity > before.severity:
            worst[id(kept.call.node)] = found
    yield from worst.values()


def _collected(trace: Trace) -> Iterator[Finding]:
    """`[model(x) for x in data]`: the predictions of a whole data set in one expression."""
    seen: set[int] = set()
    over = {
        id(event.loop): event.loop
        for event in trace.iterations()
        if isinstance(event.loop.place.node, cst.ListComp) and isinstance(deref(event.value), Dataset)
    }
    for call in trace.calls("keras.Model.__call__") if over else ():
        loop = next((over[id(frame)] for frame in call.context.loops() if id(frame) in over), None)
        comprehension = loop.place.node if loop is not None else None
        if (
            not isinstance(comprehension, cst.ListComp)
            or comprehension.elt is not call.node
            or id(call.node) in seen
            or in_test(call)
        ):
            continue
        inside = any(isinstance(deref(frame.manager), Tape) for frame in call.context.all(Within))
        if (
            inside
            or call.context.role("tf.function") is not None
            or not isinstance(deref(call.result), Array)
        ):
            continue
        seen.add(id(call.node))
        yield RULE.finding(
            call.place,
            "this list keeps the model's output for every batch of the data set on the GPU",
            evidence=[Evidence("the data set that is gone through", loop.place)] if loop is not None else (),
            help="keep `.numpy()` of it, so that it leaves the GPU, or call `predict`",
            fix=Fix(
                "keep the NumPy array",
                Safety.UNSAFE,
                (Replace(call.place, f"{call.source.code(call.node)}.numpy()"),),
            ),
        )


def _finding(fate: Fate, kept: keeping.Kept, scalar: bool, rounds: tuple[Loop | None, int | None]) -> Finding:
    loop, times = rounds
    node = kept.call.node
    receiver = (
        node.func.value if isinstance(node, cst.Call) and isinstance(node.func, cst.Attribute) else None
    )
    shown = kept.name or (kept.call.source.quoted(receiver) if receiver is not None else "")
    name = f"`{shown}`" if shown else "a container"
    what = "a scalar tensor" if scalar else "gradients" if isinstance(kept.value, Gradients) else "a tensor"
    if loop is None:
        how_often = "every call of the callback"
    else:
        which = ("some", "some rounds") if keeping.sometimes(kept) else ("each", "every round")
        how_often = f"{which[0]} of {times:,} rounds" if times is not None else f"{which[1]} of the loop"
    evidence = []
    if loop is not None:
        evidence.append(Evidence("the loop that fills it", loop.place))
    if isinstance(kept.value, Array) and kept.value.shape:
        size = kept.value.size
        text = f"each is {shape_text(kept.value.shape)} {kept.value.dtype or ''}".rstrip()
        if size is not None and times is not None:
            most = "at most " if keeping.sometimes(kept) else ""
            text += f", {size}; together {most}{human(size.bytes * times)}"
        evidence.append(Evidence(text))
    help_ = "keep `float(...)` of it" if scalar else "keep `.numpy()` of it, so that it leaves the GPU"
    return RULE.finding(
        kept.call.place,
        f"{name} keeps {what} for {how_often}",
        evidence=evidence,
        help=help_,
        fix=_fix(fate, kept, scalar),
        severity=Severity.NOTE if scalar or _is_modest(kept, times) else Severity.WARNING,
    )


def _is_modest(kept: keeping.Kept, times: int | None) -> bool:
    """Whether a loop of known length keeps little, or of unknown size but only some dozens."""
    size = kept.value.size if isinstance(kept.value, Array) else None
    if times is None:
        return (size is not None and size.bytes <= SMALL) or _is_a_number_a_row(kept.value)
    return times <= DOZENS if size is None else size.bytes * times < LITTLE


def _is_a_number_a_row(value: Value) -> bool:
    """Whether each is one number for each row of a batch of unknown length: a class, a token, a loss."""
    shape = value.shape if isinstance(value, Array) else None
    return (
        bool(shape) and shape is not None and shape[0] is None and all(number(dim) == 1 for dim in shape[1:])
    )


def _fix(fate: Fate, kept: keeping.Kept, scalar: bool) -> Fix | None:
    if kept.name is None or kept.nested or isinstance(kept.value, Gradients):
        return None
    source = kept.call.source
    code, place = source.code(kept.expression), source.place(kept.expression)
    if scalar:
        if not fate.averaged:
            return None
        return Fix("keep the number", Safety.SAFE, (Replace(place, f"float({code})"),))
    if fate.tensors:
        return None
    simple = isinstance(kept.expression, cst.Name | cst.Attribute | cst.Call | cst.Subscript)
    text = f"{code}.numpy()" if simple else f"({code}).numpy()"
    return _as_array(place, text)


def _as_array(place: Place, text: str) -> Fix:
    return Fix("keep the NumPy array", Safety.UNSAFE, (Replace(place, text),))
