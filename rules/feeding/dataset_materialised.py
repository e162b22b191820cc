"""All elements of a dataset are taken into memory at once.

## What it does

Reports `list(dataset)`, comprehensions and loops that collect every element of one, and `batch` with as many elements
as there are, when together they pass a quarter of the host's memory, or are pictures decoded from files whose
number is not known.

## Why is this bad?

A pipeline reads as it goes. Once its elements are in a list they are all decoded at the same time, as float32 more
often than not, and `np.array(list(...))` holds them twice. The same goes for one batch of the whole length.

Not reported: labels and file names, a few elements (`take`), data that is small as a whole, slices of an array that is
in memory anyway.

## Example

```python
import numpy as np
import tensorflow as tf


def read(path):
    image = tf.io.decode_jpeg(tf.io.read_file(path), channels=3)
    return tf.image.resize(image, (224, 224))


images = np.array(list(tf.data.Dataset.list_files("train/*.jpg").map(read)))
```

## Use instead

```python
import numpy as np
import tensorflow as tf


def read(path):
    image = tf.io.decode_jpeg(tf.io.read_file(path), channels=3)
    return tf.image.resize(image, (224, 224))


mean = np.zeros(3)
for count, batch in enumerate(tf.data.Dataset.list_files("train/*.jpg").map(read).batch(32), 1):
    mean += (batch.numpy().mean(axis=(0, 1, 2)) - mean) / count
```

## Fix safety

No automatic fix: what the list is for decides what stands in its place. Models take the dataset as it is.

## References

- <https://www.tensorflow.org/guide/data>
- <https://www.tensorflow.org/guide/data_performance>
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from oomlint.dryrun.queries.pipelines import BATCHING, batched, held_by_element, received, stage_name
from oomlint.dryrun.sizes import Size
from oomlint.dryrun.trace import Argument, Call, Loop
from oomlint.dryrun.values.arrays import Array
from oomlint.dryrun.values.base import Const, Sequence, Unknown, Value, deref, tags_of
from oomlint.dryrun.values.data import Dataset, leaves, structure_size
from oomlint.findings.evidence import factors, over
from oomlint.findings.model import Evidence, Finding, Rule, Safety, Severity
from oomlint.syntax.blocks import leaves_early

if TYPE_CHECKING:
    from oomlint.dryrun import Trace
    from oomlint.project.settings import Settings
    from oomlint.syntax.place import Place

RULE = Rule(
    code="OOM309",
    name="dataset-materialised",
    severity=Severity.WARNING,
    fix=Safety.DISPLAY,
    literals=(
        "Dataset",
        "data",
        "image_dataset_from_directory",
        "TFRecordDataset",
        "load",
        "batch",
        "as_numpy_iterator",
    ),
    preview=True,
)

TAKEN = ("builtins.list", "builtins.tuple", "builtins.sorted", "builtins.zip")
KEPT = ("builtins.list.append", "builtins.list.extend")
SAME_DATA = frozenset(
    "numpy getitem cast array asarray squeeze reshape expand_dims astype copy identity convert_to_tensor".split()
)
STEPS = 6
MANY = 1_000  # pictures of a size that is not known
WORTH_A_LOOK = 16 * 1024  # bytes of a picture: below, a set of unknown length is rarely a matter of memory
PICTURES = frozenset({"image", "decoded"})


def check(trace: Trace, settings: Settings) -> Iterator[Finding]:
    """Lists of a dataset, loops that fill one, and batches of everything."""
    for call in trace.calls(*TAKEN):
        source = call.arguments[0].value if call.arguments else None
        dataset = _dataset(trace, source) if source is not None else None
        if source is None or dataset is None:
            continue
        kept = deref(call.result.any) if isinstance(call.result, Sequence) and _every(call) else None
        parts = leaves(dataset.element) if kept is None else _of_element(trace, kept, dataset, source)
        yield from _finding(call.place, "a list of", parts, dataset, dataset.count, settings)
    for call in trace.calls(*KEPT):
        loop, dataset = _loop_over(trace, call)
        if dataset is None or loop is None or not call.arguments or _made_inside(call, loop):
            continue
        parts = _of_element(trace, call.arguments[0].value, dataset, loop.iterable)
        if loop is not call.context.innermost(Loop):  # row by row: together they are what the element is
            parts = leaves(dataset.element)[:1] if _pictures(parts) else []
        yield from _finding(call.place, "this loop keeps", parts, dataset, dataset.count, settings)
    for call in trace.calls("tf.data.Dataset.batch"):
        dataset, size = received(call), call.argument("batch_size")
        if dataset is None or size is None or batched(dataset) or not _whole(trace, dataset, size):
            continue
        parts = leaves(dataset.element)
        yield from _finding(size.place, "one batch of", parts, dataset, dataset.count, settings)


def _finding(
    place: Place, what: str, parts: list[Value], dataset: Dataset, count: Const | None, settings: Settings
) -> Iterator[Finding]:
    if not parts or dataset.infinite or "small" in dataset.tags:
        return
    if dataset.element_size is not None and held_by_element(dataset) is None:
        return  # slices of an array, or elements of a cache, that are in memory anyway
    size = _together(parts)
    if size is not None and count is not None:
        held = size.times(count, "a dataset of {} elements")
        severity = over(held, settings.budget.host)
        if severity is not None:
            yield RULE.finding(
                place,
                f"{what} the whole dataset: {count.value:,} elements of {size.bytes:,} B, {held}"
                f" (budget: {settings.budget.host_label})",
                evidence=factors(held),
                help=_HELP,
                severity=severity,
            )
        return
    if not _pictures(parts) or (count is not None and count.value < MANY):
        return
    if size is not None and size.exact and size.bytes < WORTH_A_LOOK:
        return
    each = f", {size.bytes:,} B an element" if size is not None and size.exact else ""
    number = f"{count.value:,}" if count is not None else "as many as there are files"
    yield RULE.finding(
        place,
        f"{what} the whole dataset: decoded pictures{each}, {number}",
        evidence=[*(factors(size) if size is not None else ()), *_source(dataset)],
        help=_HELP,
    )


_HELP = "give the dataset itself to `fit`, or go through it by batches and keep only what is computed"


def _source(dataset: Dataset) -> list[Evidence]:
    return [Evidence("the dataset comes from here", dataset.stages[0].place)] if dataset.stages else []


def _together(parts: list[Value]) -> Size | None:
    return structure_size(Sequence("tuple", items=parts)) if parts else None


def _pictures(parts: list[Value]) -> bool:
    """Whether one of the parts is a picture or a batch of them, and not a number computed from one."""
    return any(
        isinstance(part, Array) and bool(part.tags & PICTURES) and (part.rank is None or part.rank >= 3)
        for part in parts
    )


def _every(call: Call) -> bool:
    """Whether a list was made by a comprehension, which may keep a part of each element only."""
    return isinstance(call.result, Sequence) and call.result.loop is not None


def _dataset(trace: Trace, value: Value) -> Dataset | None:
    """The dataset that a loop or list goes over, itself or as an iterator of NumPy arrays."""
    value = deref(value)
    if isinstance(value, Dataset):
        return value
    if isinstance(value, Sequence) and "tf.data" in tags_of(value):
        made = trace.maker(value)
        return received(made) if made is not None and made.name.endswith("as_numpy_iterator") else None
    return None


def _loop_over(trace: Trace, call: Call) -> tuple[Loop | None, Dataset | None]:
    """The innermost loop over a dataset around a call, unless the loop ends early."""
    for loop in call.context.loops():
        dataset = _dataset(trace, loop.iterable) if loop.iterable is not None else None
        if dataset is not None:
            return (None, None) if leaves_early(loop.place.node) else (loop, dataset)
    return None, None


def _made_inside(call: Call, loop: Loop) -> bool:
    """Whether the list is a new one in each round."""
    held = deref(call.receiver) if call.receiver is not None else None
    context = held.context if isinstance(held, Sequence) else None
    return context is None or any(frame is loop for frame in context.frames())


def _of_element(trace: Trace, value: Value, dataset: Dataset, source: Value | None) -> list[Value]:
    """The parts of a kept value that are data of the element: itself, rows of it, the same in another form."""
    given = leaves(dataset.element)
    source = deref(source) if source is not None else None
    if isinstance(source, Sequence):  # an iterator's NumPy arrays are other values than the dataset's tensors
        given += leaves(source.element)
    own = {id(leaf) for leaf in given}
    found: list[Value] = []
    for part in leaves(value):
        step: Value | None = part
        for _ in range(STEPS):
            if step is None or id(step) in own:
                break
            made = trace.maker(step) or trace.subscript(step)
            if made is None or stage_name(made) not in SAME_DATA:
                step = None
                break
            taken = made.receiver
            if taken is None and made.arguments:  # none, where it is named and not called
                taken = made.arguments[0].value
            step = deref(taken) if taken is not None else None
        if step is not None and id(step) in own:
            found.append(part)
    return found


def _whole(trace: Trace, dataset: Dataset, size: Argument) -> bool:
    """Whether a batch takes everything: by its number, or because that is the length of what the dataset is of."""
    value = deref(size.value)
    if isinstance(value, Const):
        known = dataset.count is not None and isinstance(value.value, int)
        return known and dataset.count is not None and value.value >= dataset.count.value > 1
    while isinstance(value, Unknown) and value.made_by is not None and value.made_by.method == "numpy":
        value = deref(value.made_by.receiver)
    made = trace.maker(value)
    if made is None or (made.receiver is None and not made.arguments):
        return False
    operand = deref(made.receiver if made.receiver is not None else made.arguments[0].value)
    if made.name.endswith((".cardinality", ".numpy")):
        return isinstance(operand, Dataset) and operand.stages == dataset.stages[: len(operand.stages)]
    if (
        made.name != "builtins.len"
        or not dataset.stages
        or any(
            stage_name(stage) in BATCHING | {"take", "filter", "shard", "flat_map", "interleave"}
            for stage in dataset.stages
        )
    ):
        return False
    if isinstance(operand, Dataset):
        return True
    given = [deref(argument.value) for argument in dataset.stages[0].arguments]
    sources = [
        item for one in given for item in (one.items if isinstance(one, Sequence) and one.items else [one])
    ]
    return any(deref(source) is operand for source in sources)
