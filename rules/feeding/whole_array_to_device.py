"""`fit`, `evaluate` or `predict` puts a whole array on the GPU.

## What it does

Adds up the arrays given to `fit`, `evaluate` and `predict`, as Keras converts them, and reports a sum above a quarter
of the GPU's memory (an error above all of it). Those given as `validation_data` count by themselves, and together with
the others where neither is as large.

## Why is this bad?

With the TensorFlow backend Keras makes one constant tensor of a NumPy array, on the default device, before the
first batch: the batch size changes nothing, and a memory map is read from end to end. float64 is cast to float32
first. Integers of 32 bits stay on the host.

Datasets, generators, `PyDataset`, JAX and PyTorch backends, TF1 graph mode, runs without a GPU, and arrays whose
size is not known are not reported.

## Example

```python
import numpy as np
from tensorflow import keras

x = np.zeros((500_000, 4096), dtype="float32")
y = np.zeros((500_000,), dtype="float32")
model = keras.Sequential([keras.layers.Dense(1)])
model.compile("sgd", "mse")
model.fit(x, y, batch_size=64)
```

## Use instead

```python
import numpy as np
import tensorflow as tf
from tensorflow import keras

x = np.zeros((500_000, 4096), dtype="float32")
y = np.zeros((500_000,), dtype="float32")
model = keras.Sequential([keras.layers.Dense(1)])
model.compile("sgd", "mse")
with tf.device("/CPU:0"):
    data = tf.data.Dataset.from_tensor_slices((x, y)).shuffle(len(x)).batch(64)
model.fit(data)
```

## Fix safety

Unsafe: batches come from a dataset on the CPU. The order of the examples is another; a set that is larger than
the host's memory needs a `keras.utils.PyDataset` over a memory map instead.

## References

- <https://github.com/keras-team/keras/issues/16997>
- <https://github.com/tensorflow/tensorflow/issues/39574>
- <https://github.com/tensorflow/tensorflow/issues/52086>
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import TYPE_CHECKING

from oomlint.dryrun.queries import gpu_setup
from oomlint.dryrun.sizes import Size
from oomlint.dryrun.trace import Argument, Call
from oomlint.dryrun.values.arrays import Array
from oomlint.dryrun.values.base import Const, Mapping, Sequence, Value, deref
from oomlint.findings.evidence import factors, over
from oomlint.findings.model import TENSORFLOW_BACKEND, Evidence, Finding, Fix, Rule, Safety, Severity
from oomlint.findings.pipeline_fixes import tensorflow_name
from oomlint.syntax.edits import Edit, InsertBefore, RemoveArgument, Replace
from oomlint.syntax.uses import evaluated_by, uses

if TYPE_CHECKING:
    from oomlint.dryrun import Trace
    from oomlint.project.settings import Settings

RULE = Rule(
    code="OOM305",
    name="whole-array-to-device",
    severity=Severity.WARNING,
    fix=Safety.UNSAFE,
    literals=("fit", "evaluate", "predict"),
    backends=TENSORFLOW_BACKEND,
)

METHODS = ("keras.Model.fit", "keras.Model.evaluate", "keras.Model.predict")
GRAPH_MODE = ("tf.disable_eager_execution", "tf.disable_v2_behavior")
COPIED = ("numpy", "memmap", "tensor", "pandas")
ALIGNMENT = 64  # rows of such a multiple of bytes are not copied by `shuffle`


def check(trace: Trace, settings: Settings) -> Iterator[Finding]:
    """What each call puts on the device, and what its validation data does."""
    if trace.calls(*GRAPH_MODE):
        return
    for call in trace.calls(*METHODS):
        if gpu_setup.on_the_cpu(trace, call):
            continue
        method = call.name.rpartition(".")[2]
        given = [argument for name in ("x", "y", "sample_weight") if (argument := call.argument(name))]
        found: list[Finding] = []
        if given:
            found += _finding(trace, call, given[0], given, settings, f"`{method}` puts its whole arrays")
        validation = call.argument("validation_data")
        if validation is not None:
            what = f"`{method}` puts the whole validation data"
            found += _finding(trace, call, validation, [validation], settings, what)
        if given and validation is not None and not found:
            # Both stay until training ends: `fit` keeps what reads them (`_eval_epoch_iterator`; in Keras 2
            # `_eval_data_handler`).
            what = f"`{method}` puts its whole arrays and the validation data"
            found += _finding(trace, call, given[0], [*given, validation], settings, what)
        yield from found


def _finding(
    trace: Trace, call: Call, place: Argument, given: list[Argument], settings: Settings, what: str
) -> Iterator[Finding]:
    parts = [part for argument in given for part in _arrays(deref(argument.value))]
    total: Size | None = None
    for part in parts:
        size = part.size
        if size is not None:
            total = size if total is None else total.plus(size)
    severity = over(total, settings.budget.gpu) if total is not None else None
    if total is None or severity is None:
        return
    yield RULE.finding(
        place.place,
        f"{what} on the GPU, whatever the batch size: {total} (budget: {settings.budget.gpu_label})",
        evidence=[*factors(total), *_cast(given)],
        help='feed batches from the CPU: a dataset built under `tf.device("/CPU:0")`, or a `keras.utils.PyDataset`',
        fix=_fix(trace, call) if place.name != "validation_data" else None,
        severity=severity,
    )


def _arrays(value: Value) -> list[Array]:
    """The arrays in an operand that become tensors on the GPU, with the dtype they have there."""
    value = deref(value)
    match value:
        case Sequence(items=list(items)):
            return [part for item in items for part in _arrays(item)]
        case Mapping(entries=entries):
            return [part for item in entries.values() for part in _arrays(item)]
        case Array(library=library, dtype=dtype) if library in COPIED and dtype != "int32":
            # Keras casts floats to its floatX; eager TensorFlow keeps int32 tensors in host memory.
            return [replace(value, dtype="float32") if dtype == "float64" and library != "tensor" else value]
    return []


def _cast(given: list[Argument]) -> list[Evidence]:
    parts = [deref(argument.value) for argument in given]
    if any(isinstance(part, Array) and part.dtype == "float64" for part in parts):
        return [Evidence("float64 is cast to float32 on the way, by a copy in host memory")]
    return []


# --- the fix ------------------------------------------------------------------------------------------


def _fix(trace: Trace, call: Call) -> Fix | None:
    """A dataset on the CPU in front of the statement, where the call can take it as it is."""
    name, method = tensorflow_name(trace), call.name.rpartition(".")[2]
    x, y = call.argument("x"), call.argument("y")
    variable = f"{method}_data"
    if name is None or x is None or x.path is None or (y is not None and y.path is None):
        return None
    if call.opaque_arguments or call.statement is None or call.place.source is not trace.source:
        return None
    refused = ("validation_split", "sample_weight", "steps_per_epoch", "steps", "shuffle")
    if any(call.argument(other) is not None for other in refused) or uses(trace.source.module, variable):
        return None
    whole = deref(x.value)
    if not isinstance(whole, Array) or not evaluated_by(call.statement.node, call.node):
        return None
    if any(argument.arg is not None and argument.arg.star for argument in call.arguments):
        return None
    unnamed = [argument for argument in call.arguments if argument.name is None]
    if any(argument not in (x, y, call.argument("batch_size")) for argument in unnamed):
        return None  # those behind would take the places of those that go
    size = call.argument("batch_size")
    batch = "32"
    if size is not None:
        if isinstance(deref(size.value), Const) and size.const() is None:
            return None
        batch = trace.source.code(size.place.node)
    operand = x.path if y is None else f"({x.path}, {y.path})"
    shuffled = ""
    if method == "fit":
        row = whole.size.bytes // whole.shape[0].value if whole.size and whole.shape and whole.shape[0] else 1
        shuffled = f".shuffle(len({x.path}))" if row % ALIGNMENT == 0 else ".shuffle(1024)"
    lines = (
        f'with {name}.device("/CPU:0"):',
        f"    {variable} = {name}.data.Dataset.from_tensor_slices({operand}){shuffled}.batch({batch})",
    )
    edits: list[Edit] = [InsertBefore(call.statement, lines), Replace(x.place, variable)]
    for argument in (y, size):
        if argument is not None and argument.arg is not None:
            edits.append(RemoveArgument(call.place, argument.arg))
    return Fix("feed batches from a dataset on the CPU", Safety.UNSAFE, tuple(edits))
