"""The old ways to use several GPUs, `multi_gpu_model` and its kin, are no longer there.

## What it does

Reports calls of `multi_gpu_model`, of `tf.contrib.distribute` and of `Strategy.experimental_run_v2` and
`experimental_make_numpy_dataset`.

## Why is this bad?

They raise ImportError or AttributeError: `multi_gpu_model` went with TensorFlow 2.4, `tf.contrib` with
TensorFlow 2.0. Nor did `multi_gpu_model` do what it is often wanted for: it copied the whole model to each GPU and
split only the batch, and so does `MirroredStrategy`. Neither makes a model fit that does not fit on one GPU.

## Example

```python
from tensorflow import keras

model = keras.applications.ResNet50(weights=None, classes=10)
model = keras.utils.multi_gpu_model(model, gpus=4)
model.compile(optimizer="adam", loss="sparse_categorical_crossentropy")
```

## Use instead

```python
import tensorflow as tf
from tensorflow import keras

strategy = tf.distribute.MirroredStrategy()
with strategy.scope():
    model = keras.applications.ResNet50(weights=None, classes=10)
    model.compile(optimizer="adam", loss="sparse_categorical_crossentropy")
```

## Fix safety

Display only: the model, its optimizer and what is saved move into the scope, which is more than one place.

## References

- <https://www.tensorflow.org/guide/distributed_training>
- <https://github.com/keras-team/keras/issues/14397>
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from oomlint.dryrun.queries.provided_for import is_provided_for
from oomlint.dryrun.trace import Call, Trace
from oomlint.findings.model import Evidence, Finding, Rule, Safety, Severity

if TYPE_CHECKING:
    from oomlint.project.settings import Settings

RULE = Rule(
    code="OOM505",
    name="removed-multi-gpu-model",
    severity=Severity.ERROR,
    fix=Safety.DISPLAY,
    literals=("multi_gpu_model", "contrib", "experimental_run_v2", "experimental_make_numpy_dataset"),
)

COPIES = "keras.utils.multi_gpu_model"
CONTRIB = "tf.contrib.distribute."
# Methods of a strategy that are gone, and what took their place.
METHODS = {
    "tf.distribute.Strategy.experimental_run_v2": "Strategy.run",
    "tf.distribute.Strategy.experimental_make_numpy_dataset": "Dataset.from_tensor_slices",
}


def check(trace: Trace, settings: Settings) -> Iterator[Finding]:
    """Every call of what is gone, each place once."""
    if not settings.keras_at_least(2, 4):
        return
    seen: set[int] = set()
    for call in [*trace.calls(COPIES, *METHODS), *trace.calls_under(CONTRIB)]:
        instead = METHODS.get(call.name, "").rpartition(".")[2]
        if id(call.node) in seen or is_provided_for(trace, call, instead):
            continue
        seen.add(id(call.node))
        yield _copies(call) if call.name == COPIES else _gone(call)


def _copies(call: Call) -> Finding:
    count = call.const("gpus")
    every = f"each of the {count} GPUs" if isinstance(count, int) and count > 1 else "every GPU"
    return RULE.finding(
        call.place,
        f"`multi_gpu_model` is gone since TensorFlow 2.4 and fails here; it put the whole model on {every}",
        evidence=[
            Evidence(
                "each GPU computes a share of the batch, and holds all the weights: no model gets smaller"
            )
        ],
        help="make and compile the model inside `with tf.distribute.MirroredStrategy().scope():`; for a model that "
        "does not fit on one GPU, make the batch or the model smaller",
    )


def _gone(call: Call) -> Finding:
    name = call.name.rpartition(".")[2]
    if call.name in METHODS:
        message, instead = (
            f"strategies have no `{name}` any more: AttributeError",
            f"call `{METHODS[call.name]}`",
        )
    else:
        message = f"TensorFlow 2 has no `tf.contrib`, so `{name}` fails here"
        instead = "use `tf.distribute`: `MirroredStrategy`, `MultiWorkerMirroredStrategy`, `TPUStrategy`"
    return RULE.finding(call.place, message, help=instead)
