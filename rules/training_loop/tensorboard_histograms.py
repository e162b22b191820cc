"""TensorBoard writes histograms of weights of which a single one is very large.

## What it does

Reports `TensorBoard(histogram_freq=n)` with `n` above 0 on a model whose largest weight, times 264 bytes for each of
its numbers, passes a quarter of the host's memory; as an error above all of it. Weights of unknown shape are not
counted, nor any weights before Keras 2.6, whose histograms TensorFlow counted in C++.

For a project on Keras before 2.0.5 (not TensorFlow's own) also one whose validation arrays give a layer's output above
a quarter of the GPU's memory.

## Why is this bad?

A histogram sorts every number of a weight into one of 30 buckets by way of a one-hot matrix: 30 float64 for each
number, 264 bytes with what goes with it, on the host. The weights are taken one after the other, so it is the largest
single one that counts, and it is needed for a moment at the end of an epoch: the process dies there, after an epoch
that went well. The 102,760,448 weights of VGG16's first dense layer take 25 GiB. On small networks histograms cost
nothing worth mentioning.

Keras up to 2.0.4 made histograms of the layers' outputs too, in one run over all of the validation data: the comment
beside that call in keras/callbacks.py expects it to run out. From 2.0.5 on they were made by batches.

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
- <https://github.com/keras-team/keras/issues/6231>
- <https://keras.io/api/callbacks/tensorboard/>
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import libcst as cst

from oomlint.dryrun.queries.forward_pass import forward_bytes
from oomlint.dryrun.queries.keras_version import keras_at_least
from oomlint.dryrun.queries.largest_weight import Weight, largest_weight
from oomlint.dryrun.sizes import Factor, Size
from oomlint.dryrun.trace import Call, Trace
from oomlint.dryrun.values.arrays import Array
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
    """Each callback once, with the model that is the worst of those that it is given to."""
    uses = list(_uses(trace))
    if keras_at_least(trace, settings, 2, 6):
        yield from _large_weights(uses, settings)
    elif _in_one_run(trace, settings):
        yield from _whole_validation(uses, settings)


def _in_one_run(trace: Trace, settings: Settings) -> bool:
    """Whether the callback runs all validation data at once: that of Keras' own package up to 2.0.4."""
    own = trace.libraries.get("keras", "").startswith("keras")
    return own and not keras_at_least(trace, settings, 2, 0, 5)


def _uses(trace: Trace) -> Iterator[tuple[Call, Call, Model]]:
    """Callbacks that write histograms, with each `fit` that is given them and its model."""
    boards = [call for call in trace.calls("keras.callbacks.TensorBoard") if _writes_histograms(call)]
    fits = trace.calls(*FIT) if boards else []
    certain = {id(made) for fit in fits for made in _made(fit.value("callbacks"))}
    for fit in fits:
        model = deref(fit.receiver) if fit.receiver is not None else None
        given = fit.value("callbacks")
        if not isinstance(model, Model) or given is None:
            continue
        here = {id(made) for made in _made(given)}
        for board in boards:
            # A list that branches fill in different ways may hold what is in no other list.
            if id(board) in here or (id(board) not in certain and not _is_exact(given)):
                yield board, fit, model


def _large_weights(uses: list[tuple[Call, Call, Model]], settings: Settings) -> Iterator[Finding]:
    found: dict[int, tuple[Call, Weight, Call]] = {}
    for board, fit, model in uses:
        weight = largest_weight(model)
        known = found.get(id(board.node))
        if weight is not None and (known is None or known[1].count < weight.count):
            found[id(board.node)] = (board, weight, fit)
    for board, weight, fit in found.values():
        size = _size(weight)
        severity = over(size, settings.budget.host)
        if severity is not None:
            yield _finding(board, weight, fit, size, severity, settings)


def _whole_validation(uses: list[tuple[Call, Call, Model]], settings: Settings) -> Iterator[Finding]:
    found: dict[int, tuple[int, Finding]] = {}
    for board, fit, model in uses:
        rows = _validation_rows(fit)
        held = forward_bytes(model, rows.value, differentiated=False) if rows is not None else None
        if rows is None or held is None:
            continue
        nbytes, layer = held
        size = Size(nbytes // rows.value, True, (Factor(nbytes // rows.value, "for each row", (), "B"),))
        size = size.times(rows, "{} rows of validation data")
        severity = over(size, settings.budget.gpu)
        if severity is None or found.get(id(board.node), (0,))[0] >= nbytes:
            continue
        place = layer.made_by.place if layer.made_by is not None else None
        found[id(board.node)] = (
            nbytes,
            RULE.finding(
                board.place,
                f"before Keras 2.0.5 histograms are made in one run over all {rows.value:,} rows of validation data, "
                f"of which one layer's output takes {size} (budget: {settings.budget.gpu_label})",
                evidence=[
                    Evidence("the layer with the largest output", place),
                    *factors(size),
                    Evidence("the validation data is given here", fit.place),
                ],
                help="leave `histogram_freq` at 0, or update Keras: 2.0.5 makes them by batches",
                fix=_fix(board),
                severity=severity,
            ),
        )
    yield from (finding for _, finding in found.values())


def _validation_rows(fit: Call) -> Const | None:
    """How many rows of arrays a `fit` validates on; a generator's batches were never fed to the callback."""
    given = fit.value("validation_data")
    if given is not None:
        pair = deref(given)
        return _rows(pair.items[0]) if isinstance(pair, Sequence) and pair.items else None
    rows, split = _rows(fit.value("x")), fit.const("validation_split", 0)
    if rows is None or not isinstance(split, float) or not 0 < split < 1:
        return None
    return Const(max(1, int(rows.value) - int(int(rows.value) * (1 - split))), rows.trail)


def _rows(data: Value | None) -> Const | None:
    data = deref(data) if data is not None else None
    if isinstance(data, Sequence) and data.items:  # a model with several inputs
        data = deref(data.items[0])
    rows = data.shape[0] if isinstance(data, Array) and data.shape else None
    return rows if rows is not None and isinstance(rows.value, int) and rows.value > 0 else None


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
