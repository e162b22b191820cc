"""`cache()` keeps more in memory than there is, or keeps the wrong thing.

## What it does

Reports `cache()` without a file whose elements, times their number, pass a quarter of the host memory (an error
above all of it); with a note where the elements are decoded data of unknown size. Whatever the size, and with a
file too, it reports a cache after `repeat`, after random augmentation, and (as a note) after `shuffle`.

## Why is this bad?

Without a file name every element stays in host memory from the first epoch on. After `repeat` the cache is never
complete: it grows for as long as training runs, and no element is ever read back. After random augmentation the
first epoch's random choices are kept, so every epoch trains on the same pictures. After `shuffle` the first
epoch's order is kept. `cache().take(k)` never completes either: the elements are read anew every time.
Whether `cache` stands before `batch` or after it makes no difference to memory: the same bytes are kept.

Paths, labels, small known sets, a validation part of unknown size and caches that are shuffled afterwards
are not reported.

## Example

```python
import tensorflow as tf


def read(index):
    image = tf.io.decode_jpeg(tf.io.read_file(tf.strings.format("{}.jpg", index)), channels=3)
    return tf.image.resize(image, (224, 224))


train = tf.data.Dataset.range(1_281_167).map(read).cache().batch(64)
```

## Use instead

```python
import tensorflow as tf


def read(index):
    image = tf.io.decode_jpeg(tf.io.read_file(tf.strings.format("{}.jpg", index)), channels=3)
    return tf.image.resize(image, (224, 224))


train = tf.data.Dataset.range(1_281_167).map(read).cache("train.cache").batch(64)
```

## Fix safety

Unsafe. A cache file outlives the run: delete it when the data or the code before it changes. Moving `cache` before
a cast changes nothing but the work per epoch; before random augmentation it changes what is trained on, which
is the point.

## References

- <https://www.tensorflow.org/api_docs/python/tf/data/Dataset#cache>
- <https://github.com/tensorflow/tensorflow/issues/27128>
- <https://github.com/larq/zoo/issues/258>
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import libcst as cst

from oomlint.dryrun.queries.augmentation import random_in
from oomlint.dryrun.queries.pipelines import (
    BATCHING,
    KEEPING,
    batched,
    held_by_element,
    in_memory,
    on_one_way,
    received,
    since,
    stage_name,
    uses_of,
)
from oomlint.dryrun.queries.unit_tests import in_test
from oomlint.dryrun.sizes import Size
from oomlint.dryrun.trace import Call, Iterate
from oomlint.dryrun.values.arrays import Array
from oomlint.dryrun.values.base import Unknown, Value
from oomlint.dryrun.values.data import Dataset, leaves
from oomlint.findings.evidence import factors, over
from oomlint.findings.model import Evidence, Finding, Fix, Rule, Safety, Severity
from oomlint.findings.pipeline_fixes import moved_before
from oomlint.syntax.edits import AddArgument
from oomlint.syntax.place import Place

if TYPE_CHECKING:
    from oomlint.dryrun import Trace
    from oomlint.project.settings import Settings

RULE = Rule(
    code="OOM302",
    name="cache-in-memory",
    severity=Severity.WARNING,
    fix=Safety.UNSAFE,
    literals=("cache",),
)

WORTH_A_NOTE = 16 * 1024  # bytes of an example: below, a set of unknown length is rarely a matter of memory
ARRAYS = frozenset({"from_tensor_slices", "from_tensors"})
TEXTS = ("TextLineDataset", "text_dataset_from_directory")


def check(trace: Trace, settings: Settings) -> Iterator[Finding]:
    """For each cache the worst that is known of it."""
    for call in trace.calls("tf.data.Dataset.cache"):
        dataset = received(call)
        if dataset is None:
            continue
        looks = (
            _frozen(trace, call, dataset),
            _repeated(trace, call, dataset),
            _large(trace, call, dataset, settings),
        )
        found = next((finding for finding in looks if finding is not None), None)
        found = (
            found
            or _order(trace, call, dataset)
            or _incomplete(trace, call)
            or _unsized(trace, call, dataset)
        )
        if found is not None:
            yield found


def _name(call: Call) -> Place:
    """The method's name: the call itself begins where its chain begins."""
    node = call.node
    if isinstance(node, cst.Call) and isinstance(node.func, cst.Attribute):
        return Place(call.source, node.func.attr)
    return call.place


# --- random augmentation ------------------------------------------------------------------------------


def _frozen(trace: Trace, call: Call, dataset: Dataset) -> Finding | None:
    later = (
        since(dataset, "cache") or dataset.stages
    )  # what stands before an earlier cache is that one's matter
    for position, stage in enumerate(later):
        if stage_name(stage) not in ("map", "interleave", "flat_map", "map_and_batch"):
            continue
        if not on_one_way(stage, call) or any(stage_name(after) == "take" for after in later[position:]):
            continue  # `take(1).cache()` repeats one batch on purpose
        drawn = random_in(trace, stage)
        if drawn is None:
            continue
        if _is_given_to_validate(trace, call):
            return None  # the same pictures in every epoch are what makes its epochs comparable
        name, place = drawn
        edits = moved_before(trace, call, later[position:])
        return RULE.finding(
            _name(call),
            f"the cache keeps what `{name}` gave in the first epoch: every epoch trains on the same pictures",
            evidence=[
                Evidence(f"`{name}` runs before the cache", place),
                Evidence("in this map", stage.place),
            ],
            help="cache before the random map",
            fix=Fix("cache before the random map", Safety.UNSAFE, edits) if edits else None,
            severity=Severity.ERROR,
        )
    return None


# --- repeat -------------------------------------------------------------------------------------------


def _repeated(trace: Trace, call: Call, dataset: Dataset) -> Finding | None:
    stages = dataset.stages
    for position in range(len(stages) - 1, -1, -1):
        if stage_name(stages[position]) in ("take", "zip", "cache"):
            return None
        if stage_name(stages[position]) == "repeat":
            break
    else:
        return None
    stage = stages[position]
    if not on_one_way(stage, call):
        return None
    times = stage.const("count", -1)
    if times in (0, 1):
        return None
    edits = moved_before(trace, call, stages[position:])
    where = "in memory" if in_memory(call) else "in its file"
    growth = (
        "it is never complete, never read back, and grows"
        if dataset.infinite
        else "it holds every repetition"
    )
    return RULE.finding(
        _name(call),
        f"a cache after `repeat`: {growth} {where}"
        + (" for as long as training runs" if dataset.infinite else ""),
        evidence=[Evidence("repeated before the cache", stage.place)],
        help="cache first, then repeat",
        fix=Fix("cache before `repeat`", Safety.UNSAFE, edits) if edits else None,
    )


# --- size ---------------------------------------------------------------------------------------------


def cached(dataset: Dataset) -> Size | None:
    """What a cache of the whole set holds."""
    element = held_by_element(dataset)
    if element is None or dataset.count is None or dataset.infinite:
        return None
    return element.times(dataset.count, "a set of {} elements")


def _large(trace: Trace, call: Call, dataset: Dataset, settings: Settings) -> Finding | None:
    held = cached(dataset) if in_memory(call) else None
    severity = over(held, settings.budget.host) if held is not None else None
    if held is None or severity is None:
        return None
    element = held_by_element(dataset)
    assert element is not None
    return RULE.finding(
        _name(call),
        f"the cache holds {held.factors[0].value:,} elements of {element.bytes:,} B in memory: {held}"
        f" (budget: {settings.budget.host_label})",
        evidence=factors(held),
        help="give it a file (`cache(path)`), or cache before what makes the elements large",
        fix=_smaller(trace, call, dataset, settings) or _to_a_file(trace, call),
        severity=severity,
    )


def _smaller(trace: Trace, call: Call, dataset: Dataset, settings: Settings) -> Fix | None:
    """Before the map that makes small elements large (a cast), if they fit there."""
    for position in range(len(dataset.stages) - 1, -1, -1):
        stage = dataset.stages[position]
        earlier = received(stage)
        if stage_name(stage) != "map" or earlier is None:
            return None
        held = cached(earlier)
        if (
            held is not None
            and held.exact
            and _pictures(earlier)
            and over(held, settings.budget.host) is None
        ):
            edits = moved_before(trace, call, dataset.stages[position:])
            return (
                Fix("cache before the map that makes the elements larger", Safety.UNSAFE, edits)
                if edits
                else None
            )
    return None


def _pictures(dataset: Dataset) -> bool:
    """Whether there is something worth caching: more than numbers and names."""
    return any(isinstance(part, Array) and part.rank for part in leaves(dataset.element))


def _to_a_file(trace: Trace, call: Call) -> Fix | None:
    written = isinstance(call.node, cst.Call) and call.node.args  # `*()` too: nothing goes behind `**{}`
    if call.arguments or written or call.place.source is not trace.source or call.context.loops():
        return None
    if sum(other.node is call.node for other in trace.calls("tf.data.Dataset.cache")) > 1:
        return None  # a function that caches more than one data set: they would share the file
    earlier = {id(other.node) for other in trace.calls("tf.data.Dataset.cache") if other.index <= call.index}
    text = f'"tf-data-cache-{len(earlier)}"'
    return Fix(f"cache in the file {text}", Safety.UNSAFE, (AddArgument(call.place, text),))


# --- notes --------------------------------------------------------------------------------------------


def _order(trace: Trace, call: Call, dataset: Dataset) -> Finding | None:
    stage = dataset.stage("shuffle")
    if (
        stage is None
        or not on_one_way(stage, call)
        or stage.const("reshuffle_each_iteration", True) is False
        or since(dataset, "cache") is not None
        or _is_given_to_validate(trace, call)  # which order it is validated in is no matter
    ):
        return None
    for event, _ in uses_of(trace, call):
        if isinstance(event, Call) and stage_name(event) in ("shuffle", "shuffle_and_repeat"):
            return None
    return RULE.finding(
        _name(call),
        "a cache after `shuffle` keeps the first epoch's order for all of them",
        evidence=[Evidence("shuffled before the cache", stage.place)],
        help="cache first, then shuffle",
        severity=Severity.NOTE,
    )


def _incomplete(trace: Trace, call: Call) -> Finding | None:
    uses = [(event, dataset) for event, dataset in uses_of(trace, call) if dataset.stages[-1] is call]
    takes = [event for event, _ in uses if isinstance(event, Call) and stage_name(event) == "take"]
    if len(uses) != 1 or len(takes) != 1 or in_test(call):
        return None
    wanted, whole = takes[0].const("count"), received(takes[0])
    count = whole.count if whole is not None else None
    if not isinstance(wanted, int) or wanted < 0 or (count is not None and count.value <= wanted):
        return None
    return RULE.finding(
        _name(call),
        f"`take({wanted:,})` never lets this cache complete: its elements are made anew every time",
        evidence=[Evidence("only these are taken", takes[0].place)],
        help="take first, then cache",
        severity=Severity.NOTE,
    )


def _unsized(trace: Trace, call: Call, dataset: Dataset) -> Finding | None:
    if not in_memory(call) or (dataset.count is not None and dataset.element_size is not None):
        return None
    if not _may_be_large(dataset) or _takes_few(dataset) or _only_validates(trace, call, dataset):
        return None
    return RULE.finding(
        _name(call),
        "this cache keeps every element in memory, and how much that is cannot be told from here",
        evidence=[Evidence("the elements come from here", dataset.stages[0].place)] if dataset.stages else [],
        help="if the set is larger than a few gigabytes, give the cache a file: `cache(path)`",
        severity=Severity.NOTE,
    )


def _takes_few(dataset: Dataset) -> bool:
    """Whether the cache comes straight after a `take` of some elements: a fake data set, or a look at a few."""
    last = dataset.stages[-1] if dataset.stages else None
    count = last.const("count") if last is not None and stage_name(last) == "take" else None
    return isinstance(count, int) and 0 <= count <= 32


def _may_be_large(dataset: Dataset) -> bool:
    """Decoded data, or nobody knows what."""
    if any(stage_name(stage) in TEXTS for stage in dataset.stages):
        return False
    names = {stage_name(stage) for stage in dataset.stages}
    if "small" in dataset.tags or (names & ARRAYS and names <= ARRAYS | KEEPING | BATCHING):
        return False  # what it holds is in memory without it
    parts = leaves(dataset.element)
    size = dataset.element_size
    if size is not None and size.exact:
        return size.bytes >= WORTH_A_NOTE * _rows(dataset, parts)
    if any("image" in getattr(part, "tags", ()) for part in parts):
        return True
    return any(
        isinstance(part, Unknown) or (isinstance(part, Array) and (part.rank or 0) >= 3) for part in parts
    )


def _rows(dataset: Dataset, parts: list[Value]) -> int:
    """How many examples an element is."""
    if not batched(dataset):
        return 1
    firsts = [part.shape[0] for part in parts if isinstance(part, Array) and part.shape]
    return max((int(first.value) for first in firsts if first is not None), default=1) or 1


def _only_validates(trace: Trace, call: Call, dataset: Dataset) -> bool:
    """Whether the elements are only ever validated on, which is a small part as a rule."""
    if "validation" in dataset.tags:
        return True
    ends = [event for event, _ in uses_of(trace, call) if isinstance(event, Iterate) or _trains(event)]
    return bool(ends) and all(isinstance(event, Call) and _validates(event, call) for event in ends)


def _is_given_to_validate(trace: Trace, call: Call) -> bool:
    """Whether `fit` and its like validate on the elements, and none trains on them; a look at some is no matter."""
    ends = [event for event, _ in uses_of(trace, call) if isinstance(event, Call) and _trains(event)]
    return bool(ends) and all(_validates(event, call) for event in ends)


def _trains(event: Call) -> bool:
    return event.name.startswith("keras.Model.") and event.name.endswith(("fit", "evaluate", "predict"))


def _validates(event: Call, cache: Call) -> bool:
    if not event.name.endswith("fit"):
        return True
    given = event.value("x")
    return not (isinstance(given, Dataset) and any(stage is cache for stage in given.stages))
