"""A shuffle buffer holds more than the memory budget allows.

## What it does

Multiplies the buffer's elements by the bytes of one element as it arrives at `shuffle`, and reports the product
when it is above a quarter of the host memory (an error above all of it).

## Why is this bad?

`shuffle(n)` keeps n elements in host memory and fills them before the first one comes out. What an element
is depends on what stands before it: a path is a few bytes, the decoded picture some hundred thousand, and after
`batch` an element is a whole batch. A buffer as long as the data set holds the data set. It is host memory:
`set_memory_growth` is about the GPU and changes nothing here.

Three things cost next to nothing and are not reported: paths and labels; slices of an array that
`from_tensor_slices` holds anyway, when the bytes of a slice are a multiple of 64 (other slices are copied); and
elements that an in-memory `cache()` holds already. But the buffer itself takes 140 to 200 bytes for each tensor:
fifty million numbers of eight bytes fill 10 GB. Such numbers are shuffled in NumPy, in 0.4 GB.

Before Keras 3.3, `image_dataset_from_directory(batch_size=None)` had such a buffer of its own, of 1,024 pictures.

## Example

```python
import tensorflow as tf


def read(path):
    image = tf.io.decode_jpeg(tf.io.read_file(path), channels=3)
    return tf.image.resize(image, (224, 224))


train = tf.data.Dataset.list_files("train/*.jpg").map(read).shuffle(1_281_167).batch(64)
```

## Use instead

```python
import tensorflow as tf


def read(path):
    image = tf.io.decode_jpeg(tf.io.read_file(path), channels=3)
    return tf.image.resize(image, (224, 224))


train = tf.data.Dataset.list_files("train/*.jpg").shuffle(1_281_167).map(read).batch(64)
```

## Fix safety

Unsafe: the call is moved in front of the decoding `map` (or of `batch`). The elements are the same, their order
is another, and random numbers drawn in the mapped function meet other elements.

## References

- <https://www.tensorflow.org/api_docs/python/tf/data/Dataset#shuffle>
- <https://github.com/tensorflow/tensorflow/issues/14857>
- <https://github.com/tensorflow/tensorflow/issues/32376>
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from oomlint.dryrun.queries.keras_version import keras_at_least
from oomlint.dryrun.queries.pipelines import (
    BATCHING,
    SPLITTING,
    held_by_element,
    received,
    since,
    stage_name,
)
from oomlint.dryrun.sizes import Factor, Size
from oomlint.dryrun.trace import Call
from oomlint.dryrun.values.arrays import Array
from oomlint.dryrun.values.base import Const, Sequence, Step, Unknown, Value, deref
from oomlint.dryrun.values.data import Dataset, leaves
from oomlint.findings.evidence import factors, over
from oomlint.findings.model import Evidence, Finding, Fix, Rule, Safety, Severity
from oomlint.findings.pipeline_fixes import moved_before

if TYPE_CHECKING:
    from oomlint.dryrun import Trace
    from oomlint.project.settings import Settings

RULE = Rule(
    code="OOM301",
    name="shuffle-buffer-large",
    severity=Severity.WARNING,
    fix=Safety.UNSAFE,
    literals=("shuffle", "shuffle_and_repeat", "image_dataset_from_directory"),
)

# What the buffer itself takes for a tensor, however small: 140 B for a view of an array, 165 to 195 B for others.
PER_TENSOR = 140
WEIGHTLESS = 2048  # bytes of an element beside which that is of no account

# Before Keras 3.3 a reader of pictures that makes no batches shuffled the decoded pictures, so many at a time
# (keras#19502); since then it shuffles the paths.
READER = "keras.utils.image_dataset_from_directory"
OF_READER = 1024

# A buffer as long as the set is said where it would be too long for so many pictures (as OOM202 takes them to be many).
MANY = 10_000
COUNTING = ("builtins.len", "tf.data.Dataset.cardinality", "tf.data.experimental.cardinality")

MULTIPLYING = frozenset({"repeat", "shuffle_and_repeat", "concatenate", "window"})
MOVABLE = BATCHING | {"map", "prefetch", "with_options"}


def check(trace: Trace, settings: Settings) -> Iterator[Finding]:
    """Buffer elements times element bytes."""
    for call in _shuffles(trace):
        dataset, argument = received(call), call.argument("buffer_size")
        if dataset is None or argument is None:
            continue
        held = buffered(dataset, call.value("buffer_size"))
        severity = over(held, settings.budget.host) if held is not None else None
        if held is None and _is_the_whole(dataset, call.value("buffer_size")):
            yield from _of_everything(trace, call, dataset, settings)
        if held is None or severity is None:
            continue
        element = _element(dataset)
        assert element is not None
        yield RULE.finding(
            argument.place,
            f"the shuffle buffer holds {_most(dataset)}{held.factors[0].value:,} elements"
            f" of {element.bytes:,} B: {held}"
            f" (budget: {settings.budget.host_label})",
            evidence=[*factors(held), *_batch(dataset)],
            help=_help(dataset),
            fix=_fix(trace, call, dataset, settings),
            severity=severity,
        )
    if not keras_at_least(trace, settings, 3, 3):
        yield from _readers(trace, settings)


def _is_the_whole(dataset: Dataset, wanted: Value | None) -> bool:
    """Whether a buffer of unknown length is as long as the set: `len(paths)`, `ds.cardinality()`."""
    counted = wanted.operation if isinstance(wanted, Unknown) else None
    if counted is None or counted.name not in COUNTING or dataset.infinite or not dataset.stages:
        return False
    if any(stage_name(stage) in SPLITTING | BATCHING | MULTIPLYING for stage in dataset.stages):
        return False
    of = counted.receiver
    if of is None:
        if not counted.arguments:  # `len()`
            return False
        of = deref(counted.arguments[0].value)
    first = dataset.stages[0]
    if isinstance(of, Dataset):
        return of.stages[:1] == (first,)
    given = [deref(argument.value) for argument in first.arguments]
    given += [deref(item) for one in given if isinstance(one, Sequence) for item in one.items or ()]
    return any(of is one for one in given)


def _of_everything(trace: Trace, call: Call, dataset: Dataset, settings: Settings) -> Iterator[Finding]:
    """A buffer for all of a set whose number does not show, where so many elements would be too much."""
    element, argument = _element(dataset), call.argument("buffer_size")
    many = element.times(Const(MANY), "{} elements") if element is not None else None
    if element is None or many is None or argument is None or over(many, settings.budget.host) is None:
        return
    enough = settings.budget.host // element.bytes
    yield RULE.finding(
        argument.place,
        f"the shuffle buffer holds every element of the set, {element.bytes:,} B each; how many there are does not "
        f"show here, and {enough:,} take all of the {settings.budget.host_label}",
        evidence=factors(element),
        help=_help(dataset),
        fix=_fix(trace, call, dataset, settings),
        severity=Severity.NOTE,
    )


def _readers(trace: Trace, settings: Settings) -> Iterator[Finding]:
    """The buffer that Keras itself puts behind a reader without batches."""
    for call in trace.calls(READER):
        dataset, batch = deref(call.result), call.value("batch_size")
        if not isinstance(dataset, Dataset) or not isinstance(batch, Const) or batch.value is not None:
            continue
        held = buffered(dataset, Const(OF_READER, (Step("Keras' own shuffle buffer", call.place),)))
        severity = over(held, settings.budget.host) if held is not None else None
        if held is None or severity is None or call.const("shuffle", True) is not True:
            continue
        yield RULE.finding(
            call.place,
            f"before Keras 3.3 this reader shuffles up to {OF_READER:,} decoded pictures where it makes no batches: "
            f"{held} (budget: {settings.budget.host_label})",
            evidence=factors(held),
            help="use Keras 3.3 or newer, which shuffles the paths, or shuffle=False and a list of shuffled paths",
            severity=severity,
        )


def _most(dataset: Dataset) -> str:
    """How sure the number of elements is: a set of unknown length may be shorter than the buffer."""
    return "" if dataset.infinite or dataset.count is not None else "up to "


def _shuffles(trace: Trace) -> Iterator[Call]:
    """Calls of `shuffle`, and of TF1's `shuffle_and_repeat` once it is applied."""
    yield from trace.calls("tf.data.Dataset.shuffle")
    yield from trace.calls("tf.data.experimental.shuffle_and_repeat")


def buffered(dataset: Dataset, wanted: object) -> Size | None:
    """What a buffer of that many elements holds; no more than the pipeline has."""
    if not isinstance(wanted, Const) or not isinstance(wanted.value, int) or wanted.value < 1:
        return None
    count = wanted
    there = dataset.count if dataset.count is not None else _given_at_most(dataset)
    if not dataset.infinite and there is not None and there.value < wanted.value:
        count = there
    element = _element(dataset)
    return element.times(count, "a buffer of {} elements") if element is not None else None


def _given_at_most(dataset: Dataset) -> Const | None:
    """How many elements the script's own generator gives, if no stage makes more of them."""
    more = any(stage_name(stage) in SPLITTING | MULTIPLYING for stage in dataset.stages)
    return None if more else dataset.at_most


def _element(dataset: Dataset) -> Size | None:
    """Bytes of one element in the buffer; where they are few, with what the buffer takes for itself."""
    held = held_by_element(dataset)
    if held is None and since(dataset, "cache") is not None:
        return None
    parts = leaves(dataset.element)
    known = all(isinstance(part, Array) and part.size is not None for part in parts)
    if not parts or not known or (held is not None and held.bytes >= WEIGHTLESS):
        return held
    tensors = f"what the buffer itself takes for {'a tensor' if len(parts) == 1 else f'{len(parts)} tensors'}"
    own = Size(PER_TENSOR * len(parts), False, (Factor(PER_TENSOR * len(parts), tensors, (), "B"),))
    return own if held is None else held.plus(own)


def _batch(dataset: Dataset) -> list[Evidence]:
    """That an element is a batch, where it is one."""
    for stage in reversed(dataset.stages):
        if stage_name(stage) in SPLITTING:
            return []
        if stage_name(stage) in BATCHING:
            return [Evidence("an element is a batch since here", stage.place)]
    if "batched" in dataset.tags and dataset.stages:
        return [Evidence("an element is a batch since here", dataset.stages[0].place)]
    return []


def _help(dataset: Dataset) -> str:
    if _batch(dataset):
        return "shuffle before `batch`, or count the buffer in batches"
    if any(stage_name(stage) == "map" for stage in dataset.stages):
        return "shuffle the paths before `map` decodes them, and keep only a small buffer after it"
    element = held_by_element(dataset)
    if element is None or element.bytes < PER_TENSOR:
        return "shuffle the numbers in NumPy, or use a smaller buffer"
    return "use a smaller buffer, or shuffle indices and read the rows in `map`"


def _fix(trace: Trace, call: Call, dataset: Dataset, settings: Settings) -> Fix | None:
    """In front of the nearest stage before which the buffer is small enough."""
    if stage_name(call) != "shuffle":
        return None
    over_stages: list[Call] = []
    for stage in reversed(dataset.stages):
        if stage_name(stage) not in MOVABLE:
            return None
        over_stages.insert(0, stage)
        earlier = received(stage)
        if earlier is None or not _small(earlier, call, settings):
            continue
        edits = moved_before(trace, call, over_stages)
        where = " and ".join(f"`{stage_name(one)}`" for one in over_stages[:1])
        return Fix(f"shuffle before {where}", Safety.UNSAFE, edits) if edits else None
    return None


def _small(dataset: Dataset, call: Call, settings: Settings) -> bool:
    """Whether a buffer here would be fine: a size below the budget, or names of files."""
    parts = leaves(dataset.element)
    if not all(isinstance(part, Array) for part in parts):
        return False
    if any(isinstance(part, Array) and part.dtype == "string" and "raw" in part.tags for part in parts):
        return False  # file contents or records: as large as they happen to be
    if any(isinstance(part, Array) and part.size is None and part.dtype != "string" for part in parts):
        return False
    held = buffered(dataset, call.value("buffer_size"))
    return held is None or over(held, settings.budget.host) is None
