"""A dataset of batches is batched again.

## What it does

Reports `batch` on a dataset whose elements are batches already: by an earlier `batch`, by a reader that batches
(`image_dataset_from_directory` and its kin, `timeseries_dataset_from_array`, `make_csv_dataset`), with nothing in
between that takes them apart or works on them. An error where the model's declared input shows that it cannot fit.

## Why is this bad?

32 batches of 32 are 1,024 examples at once, 32 times the memory that was meant, on the host and on the GPU. Models
whose input shape is declared refuse the extra dimension; a `Dense` on unknown input takes it and trains on something
else. Readers of folders batch by 32 (128 for time series) unless `batch_size=None` is given.

Not reported: windows made by `batch(length, drop_remainder=True)` on single values, a `map` or `unbatch` in between,
loops and maps that take the outer batch apart, one batch per device, models that declare the extra dimension.

## Example

```python
import tensorflow as tf
from tensorflow import keras

train = keras.utils.image_dataset_from_directory("train", image_size=(180, 180))
train = train.shuffle(100).batch(32).prefetch(tf.data.AUTOTUNE)
```

## Use instead

```python
import tensorflow as tf
from tensorflow import keras

train = keras.utils.image_dataset_from_directory("train", image_size=(180, 180), batch_size=32)
train = train.prefetch(tf.data.AUTOTUNE)
```

## Fix safety

No automatic fix: which of the two sizes was meant is not in the text.

## References

- <https://www.tensorflow.org/api_docs/python/tf/data/Dataset#batch>
- <https://www.tensorflow.org/api_docs/python/tf/keras/utils/image_dataset_from_directory>
- <https://github.com/tensorflow/tensorflow/issues/29213>
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from oomlint.dryrun.queries.model_inputs import declared_rank
from oomlint.dryrun.queries.pipelines import BATCHING, KEEPING, inside, received, stage_name, uses_of
from oomlint.dryrun.trace import Branch, Call, Iterate
from oomlint.dryrun.values.arrays import Array
from oomlint.dryrun.values.base import Mapping, Sequence, deref, tags_of
from oomlint.dryrun.values.data import Dataset, leaves
from oomlint.dryrun.values.training import Model
from oomlint.findings.model import Evidence, Finding, Rule, Safety, Severity

if TYPE_CHECKING:
    from oomlint.dryrun import Trace
    from oomlint.project.settings import Settings

RULE = Rule(
    code="OOM306",
    name="batched-twice",
    severity=Severity.WARNING,
    fix=Safety.DISPLAY,
    literals=("batch", "padded_batch", "ragged_batch"),
)

CALLS = ("tf.data.Dataset.batch", "tf.data.Dataset.padded_batch", "tf.data.Dataset.ragged_batch")
FED = ("keras.Model.fit", "keras.Model.evaluate", "keras.Model.predict")
PICTURES = "image_dataset_from_directory"
APART = frozenset({"unbatch", "flat_map", "interleave", "rebatch", "window"})
RESHAPING = frozenset(
    "reshape squeeze concat unstack split map_fn vectorized_map scan getitem transpose merge_dims".split()
)


def check(trace: Trace, settings: Settings) -> Iterator[Finding]:
    """Batches of batches that nothing takes apart."""
    if "jax" in trace.libraries:
        return  # one batch per device, for `pmap`
    for call in trace.calls(*CALLS):
        dataset = received(call)
        first = None if dataset is None else _batched_by(dataset)
        if dataset is None or first is None or _meant(trace, first, call):
            continue
        misfit = _misfit(trace, call)
        if misfit == "fits" or (misfit is None and (_mapped(dataset, first) or _by_one(first, call))):
            continue
        size = call.argument("batch_size")
        evidence = [_first(first)]
        if isinstance(misfit, Evidence):
            evidence.append(misfit)
        yield RULE.finding(
            call.place if size is None else size.place,
            f"batched twice: {_amounts(first, call)}",
            evidence=evidence,
            help="batch once: drop one of the two, or give the reader `batch_size=None`"
            if _reads(first)
            else "batch once: drop one of the two",
            severity=Severity.ERROR if isinstance(misfit, Evidence) else Severity.WARNING,
        )


# --- what batched before --------------------------------------------------------------------------------


def _batched_by(dataset: Dataset) -> Call | None:
    """The call that made batches of the elements as they are now."""
    for stage in reversed(dataset.stages):
        name = stage_name(stage)
        if name in BATCHING or (_reads(stage) and "batched" in dataset.tags):
            return stage
        if name == "zip":
            return _of_zipped(stage)
        if name not in KEEPING and name != "map":
            return None
    return None


def _mapped(dataset: Dataset, first: Call) -> bool:
    """Whether a function works on the batches before they are batched: windows are split so, and much else."""
    mapped = any(stage_name(stage) == "map" for stage in dataset.stages if stage.index > first.index)
    return mapped and not _pictures_still(dataset)


def _reads(stage: Call) -> bool:
    return stage.name.startswith(("keras.utils.", "tf.data.experimental.make_", "tensorflow_datasets."))


def _pictures_still(dataset: Dataset) -> bool:
    """Whether a folder's pictures are batches of four dimensions still, after maps that changed their values."""
    parts = leaves(dataset.element)
    source = dataset.stages[0] if dataset.stages else None
    if source is None or stage_name(source) != PICTURES or "batched" not in dataset.tags:
        return False
    return isinstance(parts[0], Array) and parts[0].rank == 4


def _of_zipped(stage: Call) -> Call | None:
    """Of datasets side by side: batches if each of them has batches."""
    given = [deref(argument.value) for argument in stage.arguments if argument.name in (None, "datasets")]
    parts = [
        part for value in given for part in (value.items or [] if isinstance(value, Sequence) else [value])
    ]
    made = [_batched_by(part) if isinstance(part := deref(item), Dataset) else None for item in parts]
    return None if not made or None in made else made[0]


# --- what is meant to be so -----------------------------------------------------------------------------


def _meant(trace: Trace, first: Call, call: Call) -> bool:
    certain = {id(frame) for frame in call.context.all(Branch)}
    if any(id(frame) not in certain for frame in first.context.all(Branch)):
        return True  # `if cached: ds = ds.batch(n)`: there may have been one `batch` only
    loops = {id(loop) for loop in call.context.loops()}
    if any(id(loop) not in loops and not loop.unrolled for loop in first.context.loops()):
        return True  # `for step in steps: ds = step(ds)`: what the others of them did is not known
    size = call.argument("batch_size")
    if size is not None and tags_of(deref(size.value)) & {"replicas", "gpu-count"}:
        return True
    before = None if _reads(first) else received(first)
    if before is not None and _series(before, first.const("drop_remainder") is True):
        return True
    return any(_takes_apart(trace, event, call) for event, _ in uses_of(trace, call))


def _series(dataset: Dataset, dropped: bool) -> bool:
    """Whether elements are single numbers: batches of them are windows. So they may be where a rest is dropped."""
    ranks = [part.rank if isinstance(part, Array) else None for part in leaves(dataset.element)]
    texts = [isinstance(part, Array) and part.dtype == "string" for part in leaves(dataset.element)]
    return not any(texts) and all(rank == 0 or (rank is None and dropped) for rank in ranks)


def _takes_apart(trace: Trace, event: Call | Iterate, call: Call) -> bool:
    """Whether a use of the batches of batches goes through them one by one, or reshapes them."""
    if isinstance(event, Iterate):
        return any(_inner(other, event) for other in trace.events)
    if event.receiver is None or not isinstance(deref(event.receiver), Dataset):
        return False
    name = stage_name(event)
    if name == "map":
        return any(stage_name(inner) in RESHAPING for inner in inside(trace, event))
    return name in APART


def _inner(event: object, loop: Iterate) -> bool:
    """Whether an event in a loop over the dataset takes its element apart."""
    if isinstance(event, Iterate) and event is not loop:
        value = deref(event.value)
        rows = isinstance(value, Array) or (isinstance(value, Sequence) and value.kind == "generator")
    elif isinstance(event, Call):
        operand = deref(event.arguments[0].value) if event.arguments else None
        rows = stage_name(event) in RESHAPING and isinstance(operand, Array)
    else:
        return False
    return rows and any(frame is loop.loop for frame in event.context.frames())


# --- the model --------------------------------------------------------------------------------------------


def _misfit(trace: Trace, call: Call) -> Evidence | str | None:
    """A model that is fed these batches and declares one dimension less, or "fits" for one that declares as many."""
    found: Evidence | str | None = None
    for event, dataset in uses_of(trace, call):
        model = deref(event.receiver) if isinstance(event, Call) and event.receiver is not None else None
        if not isinstance(event, Call) or event.name not in FED or not isinstance(model, Model):
            continue
        declared, given = declared_rank(model), _rank(dataset)
        if declared is None or given is None:
            continue
        if declared == given:
            return "fits"
        if declared == given - 1:
            text = f"the model declares {declared} dimensions with the batch, and gets {given}"
            found = Evidence(text, event.place)
    return found


def _rank(dataset: Dataset) -> int | None:
    """Dimensions of the model's input in an element."""
    element = None if dataset.element is None else deref(dataset.element)
    if isinstance(element, Sequence) and element.items:
        element = deref(element.items[0])
    if isinstance(element, Mapping):
        element = deref(next(iter(element.entries.values()))) if element.entries else None
    return element.rank if isinstance(element, Array) else None


# --- in words ---------------------------------------------------------------------------------------------


def _first(first: Call) -> Evidence:
    if not _reads(first):
        return Evidence("batched here already", first.place)
    given = "" if first.argument("batch_size") is not None else ", by a size of its own"
    return Evidence(f"`{stage_name(first)}` gives batches{given}", first.place)


def _amounts(first: Call, call: Call) -> str:
    """32 batches of 32 are 1,024 examples."""
    outer = call.const("batch_size")
    inner = first.const("batch_size", _default(first))
    if not isinstance(outer, int) or not isinstance(inner, int):
        return "each element is a batch of batches"
    return f"each element is {outer:,} batches of {inner:,}, {outer * inner:,} examples at once"


def _by_one(first: Call, call: Call) -> bool:
    """Whether one of the two only adds a dimension: as many examples as before."""
    return 1 in (call.const("batch_size"), first.const("batch_size"))


def _default(first: Call) -> int | None:
    if stage_name(first) == "timeseries_dataset_from_array":
        return 128
    return 32 if stage_name(first).endswith("_from_directory") else None
