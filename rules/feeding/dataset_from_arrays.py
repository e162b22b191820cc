"""`from_tensor_slices` or `from_tensors` is given whole data arrays.

## What it does

Reports datasets made of data arrays above a quarter of the host memory (an error above all of it), and with a
note those of arrays whose size is not known: read from a file, or unknown operands that go straight to `batch` and
into training. Also arrays that become constants of a TF1 graph and pass 2 GiB, alone or
together, which is an error.

## Why is this bad?

The arrays are copied into tensors: beside the NumPy array there is a second one for as long as the dataset lives,
and a third until the first iteration (measured: 234 MB become 474, then 243). A memory map is read from end to end.
In graph mode the array becomes part of the graph, and a graph above 2 GiB cannot be serialised.

Lists of paths, labels, indices and arrays of known moderate size are not reported, nor are arrays placed on the
CPU on purpose (`with tf.device("/CPU:0")`) unless they pass all of the memory.

## Example

```python
import numpy as np
import tensorflow as tf

images = np.memmap("images.f32", dtype="float32", mode="r", shape=(20_000, 224, 224, 3))
train = tf.data.Dataset.from_tensor_slices(images).batch(64)
```

## Use instead

```python
import numpy as np
import tensorflow as tf

images = np.memmap("images.f32", dtype="float32", mode="r", shape=(20_000, 224, 224, 3))


def read(index):
    image = tf.numpy_function(lambda at: images[at], [index], tf.float32)
    return tf.ensure_shape(image, (224, 224, 3))


train = tf.data.Dataset.range(20_000).shuffle(20_000).map(read).batch(64)
```

## Fix safety

Shown, not applied: where the rows are to be read from is the author's to say.

## References

- <https://www.tensorflow.org/guide/data#consuming_numpy_arrays>
- <https://github.com/tensorflow/tensorflow/issues/71744>
- <https://github.com/tensorflow/tensorflow/issues/2382>
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from oomlint.dryrun.catalog.tensorflow.tensor_values import as_tensor
from oomlint.dryrun.queries.gpu_setup import on_the_cpu
from oomlint.dryrun.queries.pipelines import BATCHING, KEEPING, stage_name, uses_of
from oomlint.dryrun.sizes import Size
from oomlint.dryrun.trace import Call, Iterate, Loop
from oomlint.dryrun.values.arrays import Array
from oomlint.dryrun.values.base import Mapping, Sequence, Unknown, Value, deref, tags_of
from oomlint.dryrun.values.data import Dataset
from oomlint.findings.evidence import factors, over
from oomlint.findings.model import Evidence, Finding, Fix, Rule, Safety, Severity

if TYPE_CHECKING:
    from oomlint.dryrun import Trace
    from oomlint.project.settings import Settings

RULE = Rule(
    code="OOM304",
    name="dataset-from-arrays",
    severity=Severity.WARNING,
    fix=Safety.DISPLAY,
    literals=("from_tensor_slices", "from_tensors", "disable_eager_execution", "disable_v2_behavior"),
)

SOURCES = ("tf.data.Dataset.from_tensor_slices", "tf.data.Dataset.from_tensors")
CONSTANTS = ("tf.constant", "tf.convert_to_tensor", "tf.Variable")
GRAPH_MODE = ("tf.disable_eager_execution", "tf.disable_v2_behavior")
GRAPH_LIMIT = 2**31 - 1  # a protocol buffer's size is a signed 32-bit number
TRAINING = (
    "tf.GradientTape",
    "keras.Optimizer.apply_gradients",
    "keras.Model.train_on_batch",
    "tf.distribute.Strategy.run",
)
ADVICE = "read rows in `map` from paths or indices, or from a generator, so that only batches are in memory"

A_FEW = 16  # rows: an example or two made by hand is no data set


def check(trace: Trace, settings: Settings) -> Iterator[Finding]:
    """Constants of a graph first: those fail whatever the memory."""
    graph = next(iter(trace.calls(*GRAPH_MODE)), None)
    if graph is not None:
        yield from _together(trace, graph)
    for call in trace.calls(*SOURCES, *(CONSTANTS if graph is not None else ())):
        if not call.arguments:
            continue
        given = call.arguments[0]
        held, unknown = weigh(deref(given.value))
        severity = over(held, settings.budget.host) if held is not None else None
        if graph is not None and graph.index < call.index and held is not None and held.bytes > GRAPH_LIMIT:
            yield RULE.finding(
                given.place,
                f"this array of {held} becomes a constant of the graph, which may weigh 2 GiB as a whole",
                evidence=[*factors(held), Evidence("graph mode since here", graph.place)],
                help="feed it through a placeholder or variable, or read it in the pipeline",
                severity=Severity.ERROR,
            )
        elif call.name not in SOURCES:
            continue
        elif held is not None and severity is not None:
            if severity is not Severity.ERROR and on_the_cpu(trace, call):
                continue
            yield RULE.finding(
                given.place,
                f"the dataset holds a second copy of these arrays: {held}, twice that until its first iteration"
                f" (budget: {settings.budget.host_label})",
                evidence=factors(held),
                help=ADVICE,
                fix=Fix(ADVICE, Safety.DISPLAY),
                severity=severity,
            )
        elif (
            unknown is not None and not _beside_paths(given.value, unknown) and _is_data(trace, call, unknown)
        ):
            yield RULE.finding(
                given.place,
                "the dataset holds a second copy of these arrays in memory, and how large they are cannot be told",
                evidence=[Evidence(f"{unknown.origin.text}", unknown.origin.place)]
                if isinstance(unknown, Array) and unknown.origin is not None
                else (),
                help=f"if they are more than a few gigabytes, {ADVICE}",
                fix=Fix(ADVICE, Safety.DISPLAY),
                severity=Severity.NOTE,
            )


def _together(trace: Trace, graph: Call) -> Iterator[Finding]:
    """Constants of which none is too large for a graph, and all of them are (a column of a table each)."""
    total: Size | None = None
    for call in trace.calls(*CONSTANTS):
        held = (
            weigh(deref(call.arguments[0].value))[0] if call.arguments and call.index > graph.index else None
        )
        if held is None or held.bytes > GRAPH_LIMIT:
            continue
        for loop in call.context.loops():
            if loop.trip is not None and not loop.unrolled and isinstance(loop.trip.value, int):
                held = held.times(loop.trip, "{} of them")
        before, total = total, held if total is None else total.plus(held)
        if total.bytes > GRAPH_LIMIT and (before is None or before.bytes <= GRAPH_LIMIT):
            yield RULE.finding(
                call.arguments[0].place,
                f"with this the constants of the graph come to {total}, and a graph may weigh 2 GiB as a whole",
                evidence=[*factors(total), Evidence("graph mode since here", graph.place)],
                help="feed them through placeholders, or read them in a tf.data pipeline",
                severity=Severity.ERROR,
            )


def weigh(value: Value) -> tuple[Size | None, Value | None]:
    """The bytes of the data arrays in an operand, and one of which nobody knows the size."""
    total: Size | None = None
    unknown: Value | None = None
    for part in _parts(value):
        if isinstance(part, Array) and (part.size is not None or not _open(part)):
            if part.size is not None:
                total = part.size if total is None else total.plus(part.size)
        elif isinstance(part, Array) or not isinstance(unknown, Array):
            unknown = part
    return (total if unknown is None or total is None else total.plus(None)), unknown


def _parts(value: Value) -> list[Value]:
    """The arrays of a nested operand; lists of arrays count as what they hold."""
    value = deref(value)
    match value:
        case Sequence(kind="tuple" | "list", items=list(items)) if len(items) <= 64:
            if all(isinstance(deref(item), Array | Sequence | Mapping | Unknown) for item in items):
                return [part for item in items for part in _parts(item)]
            return []
        case Sequence():
            stacked = as_tensor(value)
            return [stacked] if stacked is not None and stacked.rank != 1 else []
        case Mapping(entries=entries):
            return [part for item in entries.values() for part in _parts(item)]
        case Array(library="tensor" | "variable"):
            return []  # shared, not copied: +0 MB for a tensor of 210 MB, +420 MB for the NumPy array
        case Array():
            return [value]
        case Unknown(type=None) if "path" not in value.tags:
            return [value]
    return []


def _open(array: Array) -> bool:
    """Whether an array of unknown size may be data: not strings, not labels (one integer per row)."""
    if array.dtype == "string" or "path" in array.tags or "few" in array.tags:
        return False
    if array.rank is not None and array.rank < 2:
        return False
    if array.shape and array.shape[0] is not None and array.shape[0].value <= A_FEW:
        return False
    return not (array.rank is None and array.dtype in ("int64", "int32"))


def _beside_paths(given: Value, unknown: Value) -> bool:
    """Whether an array of which nothing is known stands beside names of files, which are read later: it labels them."""
    if isinstance(unknown, Array) and unknown.rank is not None:
        return False
    items = deref(given)
    parts = (items.items or []) if isinstance(items, Sequence) else []
    return any(_are_paths(deref(part)) for part in parts)


def _are_paths(value: Value) -> bool:
    return "path" in tags_of(value) or (isinstance(value, Sequence) and "path" in tags_of(deref(value.any)))


def _is_data(trace: Trace, call: Call, unknown: Value) -> bool:
    """Whether an operand of unknown size is data: read as such, or trained on as it is."""
    if isinstance(unknown, Array):
        read = any(tag.startswith("loaded:") or tag in ("image", "decoded") for tag in tags_of(unknown))
        return read and not any(stage_name(event) == "zip" for event, _ in _stages(trace, call))
    return any(_trained_on(trace, event) for event, dataset in uses_of(trace, call) if _straight(dataset))


def _stages(trace: Trace, call: Call) -> Iterator[tuple[Call, Dataset]]:
    return ((event, dataset) for event, dataset in uses_of(trace, call) if isinstance(event, Call))


def _straight(dataset: Dataset) -> bool:
    """Whether the rows are batched as they are."""
    names = {stage_name(stage) for stage in dataset.stages[1:]}
    return bool(names & BATCHING) and names <= KEEPING | BATCHING and stage_name(dataset.stages[0]) != "zip"


def _trained_on(trace: Trace, event: Call | Iterate) -> bool:
    if isinstance(event, Call):
        return event.name in ("keras.Model.fit", "keras.Model.fit_generator")
    return any(frame is event.loop for call in trace.calls(*TRAINING) for frame in call.context.all(Loop))
