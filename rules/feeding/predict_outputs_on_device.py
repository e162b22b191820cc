"""`predict` keeps the outputs of all batches on the device until the last one is there.

## What it does

Multiplies the samples given to `predict` by the bytes of a model's outputs for one of them, twice with the TensorFlow
backend, and reports the product when it is above a quarter of the GPU's memory (an error above all of it).

## Why is this bad?

`batch_size` bounds what the layers need, not what comes out: `predict` puts each batch's output into a list of
device tensors, and only after the last batch goes to NumPy. With TensorFlow the list is joined on the device
first, where both are then held. Class scores are nothing; masks, volumes, pictures and scores for each word of a
vocabulary add up.

Not reported: small outputs, `predict_on_batch`, chunks that are predicted one by one, models with a `predict_step`
of their own, models and data whose shapes are not known, runs without a GPU.

## Example

```python
import numpy as np
from tensorflow import keras

scans = np.load("scans.npy", mmap_mode="r").reshape(1200, 512, 512, 1)
inputs = keras.Input((512, 512, 1))
masks = keras.layers.Conv2D(8, 3, padding="same", activation="softmax")(inputs)
model = keras.Model(inputs, masks)
labels = model.predict(scans, batch_size=4).argmax(axis=-1)
```

## Use instead

```python
import numpy as np
from tensorflow import keras

scans = np.load("scans.npy", mmap_mode="r").reshape(1200, 512, 512, 1)
inputs = keras.Input((512, 512, 1))
masks = keras.layers.Conv2D(8, 3, padding="same", activation="softmax")(inputs)
model = keras.Model(inputs, masks)
labels = np.empty((1200, 512, 512), dtype="uint8")
for start in range(0, 1200, 4):
    labels[start : start + 4] = model.predict_on_batch(scans[start : start + 4]).argmax(axis=-1)
```

## Fix safety

No automatic fix: what of an output has to be kept is not in the call.

## References

- <https://keras.io/api/models/model_training_apis/#predict-method>
- <https://github.com/tensorflow/tensorflow/issues/44986>
- <https://github.com/tensorflow/tensorflow/issues/40547>
- <https://github.com/keras-team/keras/issues/21642>
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from oomlint.dryrun.queries import gpu_setup
from oomlint.dryrun.queries.backend import keras_backend
from oomlint.dryrun.trace import Call
from oomlint.dryrun.values.arrays import Array
from oomlint.dryrun.values.base import NONE, Const, Value, deref
from oomlint.dryrun.values.data import leaves, structure_size
from oomlint.dryrun.values.training import Model
from oomlint.findings.evidence import factors, over
from oomlint.findings.model import Finding, Rule, Safety, Severity

if TYPE_CHECKING:
    from oomlint.dryrun import Trace
    from oomlint.project.settings import Settings

RULE = Rule(
    code="OOM308",
    name="predict-outputs-on-device",
    severity=Severity.WARNING,
    fix=Safety.DISPLAY,
    literals=("predict", "predict_generator"),
)

METHODS = ("keras.Model.predict", "keras.Model.predict_generator")


def check(trace: Trace, settings: Settings) -> Iterator[Finding]:
    """Samples times what the model makes of one."""
    joins = keras_backend(trace, settings) == "tensorflow"
    for call in trace.calls(*METHODS):
        if not isinstance(deref(call.receiver or Const(None)), Model) or gpu_setup.on_the_cpu(trace, call):
            continue
        held = structure_size(call.result)
        if held is None:
            continue
        twice = joins and not _one_batch(call)
        if twice:
            held = held.times(Const(2), "{} times: the batches' outputs, and all of them joined")
        severity = over(held, settings.budget.gpu)
        if severity is None:
            continue
        joined = ", where they are then joined" if twice else ""
        yield RULE.finding(
            call.place,
            f"`predict` keeps the outputs of all batches on the device{joined}: {held}"
            f" (budget: {settings.budget.gpu_label})",
            evidence=factors(held),
            help="go by batches with `predict_on_batch`, and keep of each what is needed (a class index, a file)",
            severity=severity,
        )


def _one_batch(call: Call) -> bool:
    """Whether all samples are one batch, whose output is handed on as it is."""
    given, rows = call.value("batch_size"), _rows(call.result)
    size = 32 if given is None or given == NONE else call.const("batch_size")
    return isinstance(size, int) and rows is not None and rows <= size and call.argument("steps") is None


def _rows(result: Value) -> int | None:
    first = leaves(result)[0]
    rows = first.shape[0] if isinstance(first, Array) and first.shape else None
    return None if rows is None else int(rows.value)
