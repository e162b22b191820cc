"""TensorBoard writes histograms of weights of which a single one is very large.

## What it does

Reports `TensorBoard(histogram_freq=n)` with `n` above 0 on a model whose largest weight, times 264 bytes for each of
its numbers, passes a quarter of the host's memory; as an error above all of it. Weights of unknown shape are not
counted.

## Why is this bad?

A histogram sorts every number of a weight into one of 30 buckets by way of a one-hot matrix: 30 float64 for each
number, 264 bytes with what goes with it, on the host. The weights are taken one after the other, so it is the largest
single one that counts, and it is needed for a moment at the end of an epoch: the process dies there, after an epoch
that went well. The 102,760,448 weights of VGG16's first dense layer take 25 GiB. On small networks histograms cost
nothing worth mentioning.

## Example

```python
from tensorflow import keras

model = keras.applications.VGG16(weights=None, classes=10)
model.compile(optimizer="sgd", loss="sparse_categorical_crossentropy")
photos = keras.utils.image_dataset_from_directory("photos", image_size=(224, 224))
model.fit(photos, epochs=5, callbacks=[keras.callbacks.TensorBoard("logs", histogram_freq=1)])
```

## Use instead

```python
from tensorflow import keras

model = keras.applications.VGG16(weights=None, classes=10)
model.compile(optimizer="sgd", loss="sparse_categorical_crossentropy")
photos = keras.utils.image_dataset_from_directory("photos", image_size=(224, 224))
model.fit(photos, epochs=5, callbacks=[keras.callbacks.TensorBoard("logs", histogram_freq=0)])
```

## Fix safety

Unsafe: the histograms are gone, for the small weights too. A callback of your own can write those of single layers
with `tf.summary.histogram`.

## References

- <https://github.com/keras-team/keras/issues/18243>
- <https://keras.io/api/callbacks/tensorboard/>
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import libcst as cst

from oomlint.dryrun.queries.largest_weight import Weight, largest_weight
from oomlint.dryrun.sizes import Factor, Size
from oomlint.dryrun.trace import Call, Trace
from oomlint.dryrun.values.base import Const, Opaque, Sequence, Value, deref
from oomlint.dryrun.values.program import Instance
from oomlint.dryrun.values.training import Model
from oomlint.findings.evidence import factors, over
from oomlint.findings.model import Evidence, Finding, Fix, Rule, Safety, Severity
from oomlint.syntax.edits import Replace

if TYPE_CHECKING:
    from oomlint.project.settings import Settings

RULE = Rule(
    code="OOM414",
    name="tensorboard-histograms",
    severity=Severity.WARNING,
    fix=Safety.UNSAFE,
    literals=("TensorBoard",),
)

# Measured at the peak of tf.summary.histogram (tests/claims): one_hot(30) in float64, and the buckets' own tensors.
PER_NUMBER = 264
FIT = ("keras.Model.fit", "keras.Model.fit_generator")


def check(trace: Trace, settings: Settings) -> Iterator[Finding]:
    """Each callback once, with the largest weight of the models that it is given to."""
    found: dict[int, tuple[Call, Weight, Call]] = {}
    boards = [call for call in trace.calls("keras.callbacks.TensorBoard") if _writes_histograms(call)]
    fits = trace.calls(*FIT) if boards else []
    certain = {id(made) for fit in fits for made in _made(fit.value("callbacks"))}
    for fit in fits:
        weight = largest_weight(fit.receiver) if isinstance(fit.receiver, Model) else None
        given = fit.value("callbacks")
        if weight is None or given is None:
            continue
        here = {id(made) for made in _made(given)}
        for board in boards:
            # A list that branches fill in different ways may hold what is in no other list.
            if id(board) in here or (id(board) not in certain and not _is_exact(given)):
                known = found.get(id(board.node))
                if known is None or known[1].count < weight.count:
                    found[id(board.node)] = (board, weight, fit)
    for board, weight, fit in found.values():
        size = _size(weight)
        severity = over(size, settings.budget.host)
        if severity is not None:
            yield _finding(board, weight, fit, size, severity, settings)


def _writes_histograms(call: Call) -> bool:
    """The callback of TensorFlow 1 (compat.v1) counts buckets in C++."""
    every = call.const("histogram_freq", 0)
    return isinstance(every, int) and every > 0 and ".compat.v1." not in call.spelled


def _made(value: Value | None) -> Iterator[Call]:
    """The calls that made the callbacks of a `fit`."""
    value = deref(value) if value is not None else None
    if isinstance(value, Sequence):
        for item in value.items if value.items is not None else (value.any,):
            yield from _made(item)
    elif isinstance(value, Opaque) and value.made_by is not None:
        yield value.made_by


def _is_exact(value: Value) -> bool:
    if isinstance(value, Sequence) and value.items is not None:
        return all(_is_exact(deref(item)) for item in value.items)
    return isinstance(value, Opaque | Const | Instance)


def _size(weight: Weight) -> Size:
    each = Size(PER_NUMBER, True, (Factor(PER_NUMBER, "for each number, 30 float64 among them", (), "B"),))
    return each.times(Const(weight.count, weight.trail), "a weight of {} numbers")


def _finding(
    callback: Call, weight: Weight, fit: Call, size: Size, severity: Severity, settings: Settings
) -> Finding:
    argument = callback.argument("histogram_freq")
    assert argument is not None
    return RULE.finding(
        callback.place,
        f"the histogram of the largest weight ({weight.text}: {weight.count:,} numbers) takes {size} of host memory "
        f"at the end of an epoch (budget: {settings.budget.host_label})",
        evidence=[
            Evidence(f"the weight, {weight.shape}", weight.place),
            *factors(size),
            Evidence("the callback is used here", fit.place),
        ],
        help="leave `histogram_freq` at 0, or write histograms of the small layers in a callback of your own",
        fix=_fix(callback),
        severity=severity,
    )


def _fix(callback: Call) -> Fix | None:
    argument = callback.argument("histogram_freq")
    if argument is None or not isinstance(argument.place.node, cst.Integer | cst.Name):
        return None
    return Fix("write no histograms", Safety.UNSAFE, (Replace(argument.place, "0"),))
