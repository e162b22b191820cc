"""Batches are padded to their longest member, with no limit to it.

## What it does

Notes `padded_batch` where a dimension of the elements is open and no length is given for it, and `pad_sequences`
without `maxlen` for single batches (in a generator, a `__getitem__` or a function that a dataset maps).

## Why is this bad?

Each batch has a shape of its own. Memory follows the longest sequence that ever comes, so that training fails at some
batch, hours in, and not at the first. TensorFlow's allocator keeps blocks of many sizes that fit nothing else, and
with XLA, which Keras 3 uses on GPUs, each new shape is compiled anew.

Not reported: a maximum length (`padded_shapes`, `maxlen`, a slice or a filter before), buckets
(`bucket_by_sequence_length`), elements that are all of one shape, `pad_sequences` over the whole set, after which all
batches have one shape.

## Example

```python
import tensorflow as tf

lines = tf.data.TextLineDataset("corpus.txt").map(tf.strings.split)
train = lines.padded_batch(64)
```

## Use instead

```python
import tensorflow as tf

lines = tf.data.TextLineDataset("corpus.txt").map(lambda line: tf.strings.split(line)[:200])
train = lines.padded_batch(64, padded_shapes=[200])
```

## Fix safety

No automatic fix: the longest sequence worth its memory is a matter of the data.

## References

- <https://www.tensorflow.org/api_docs/python/tf/data/Dataset#padded_batch>
- <https://www.tensorflow.org/api_docs/python/tf/data/Dataset#bucket_by_sequence_length>
- <https://github.com/tensorflow/nmt/issues/208>
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from oomlint.dryrun.queries.pipelines import inside, received, stage_name, uses_of
from oomlint.dryrun.trace import Body, Call
from oomlint.dryrun.values.arrays import Array
from oomlint.dryrun.values.base import Const, Mapping, Sequence, Slice, Unknown, Value, deref, tags_of
from oomlint.dryrun.values.data import Dataset, leaves
from oomlint.dryrun.values.indexing import keys_of
from oomlint.findings.model import Evidence, Finding, Rule, Safety, Severity

if TYPE_CHECKING:
    from oomlint.dryrun import Trace
    from oomlint.project.settings import Settings

RULE = Rule(
    code="OOM310",
    name="variable-shape-batches",
    severity=Severity.NOTE,
    fix=Safety.DISPLAY,
    literals=("padded_batch", "pad_sequences"),
)

LESS = frozenset({"lt", "le", "less", "less_equal"})
MORE = frozenset({"gt", "ge", "greater", "greater_equal"})
MAPPED = ("tf.data.map", "tf.py_function", "generator")
_HELP = "give a maximum length, or sort lengths into buckets with `bucket_by_sequence_length`"


def check(trace: Trace, settings: Settings) -> Iterator[Finding]:
    """Padded batches of datasets, then those that are padded by hand."""
    for call in trace.calls("tf.data.Dataset.padded_batch"):
        dataset = received(call)
        if dataset is None or _of_one(call.value("batch_size")):
            continue
        if not _open(call, dataset) or _limited(trace, call, dataset):
            continue
        size = call.argument("batch_size")
        yield RULE.finding(
            call.place if size is None else size.place,
            "each batch is as long as its longest element: one shape per batch, and no limit to its memory",
            evidence=[Evidence("elements differ since here", dataset.stages[-1].place)]
            if dataset.stages
            else (),
            help=_HELP,
        )
    for call in trace.calls("keras.utils.pad_sequences"):
        longest = call.argument("maxlen")
        if longest is not None and not (isinstance(deref(longest.value), Const) and longest.const() is None):
            continue
        sequences = call.argument("sequences")
        where = None if sequences is None else _per_batch(call)
        if (
            sequences is None
            or where is None
            or _cut(trace, call, sequences.value)
            or _cut_after(trace, call)
        ):
            continue
        yield RULE.finding(
            call.place,
            f"{where} pads each batch to its longest sequence: one shape per batch, and no limit to its memory",
            help="give `maxlen`, or put sequences of like length into a batch",
        )


# --- padded_batch ---------------------------------------------------------------------------------------


def _of_one(size: Value | None) -> bool:
    """Whether a batch is one element for certain, and not by a default that callers replace."""
    return isinstance(size, Const) and size.value == 1 and not size.soft


def _open(call: Call, dataset: Dataset) -> bool:
    """Whether a dimension that differs, or may, has no length to be padded to."""
    shapes = call.value("padded_shapes")
    if shapes is None or (isinstance(shapes, Const) and shapes.value is None):
        return _unequal(dataset.element)
    return _unpadded(shapes, None if dataset.element is None else deref(dataset.element))


def _unequal(element: Value | None) -> bool:
    """Whether elements differ in a dimension; an element nothing is known of is padded because it does."""
    parts = leaves(element)
    known = [part for part in parts if isinstance(part, Array) and part.shape is not None]
    if any(None in part.shape for part in known if part.shape is not None):
        return True
    return len(known) < len(parts)


def _unpadded(shapes: Value, element: Value | None) -> bool:
    shapes = deref(shapes)
    if isinstance(shapes, Mapping):
        inner = element.entries if isinstance(element, Mapping) else {}
        return any(_unpadded(shape, inner.get(key)) for key, shape in shapes.entries.items())
    if not isinstance(shapes, Sequence) or shapes.items is None:
        return False
    items = [deref(item) for item in shapes.items]
    if any(isinstance(item, Sequence | Mapping) for item in items):
        parts = element.items if isinstance(element, Sequence) and element.items else []
        pairs = [(item, deref(parts[at]) if at < len(parts) else None) for at, item in enumerate(items)]
        return any(_unpadded(item, part) for item, part in pairs)
    dims = element.shape if isinstance(element, Array) and element.shape is not None else ()
    for at, item in enumerate(items):
        given = isinstance(item, Const) and item.value in (None, -1)
        if given and not (at < len(dims) and dims[at] is not None):
            return True
    return False


def _limited(trace: Trace, call: Call, dataset: Dataset) -> bool:
    """Whether something keeps the lengths in bounds, before or after."""
    if any(_sliced(part) for part in leaves(dataset.element)):
        return True
    for stage in dataset.stages:
        name = stage_name(stage)
        if name in ("bucket_by_sequence_length", "group_by_window"):
            return True
        if name == "filter" and _leaves_out_long_ones(list(inside(trace, stage))):
            return True
        if name != "map":
            continue
        mapped = stage.value("map_func")
        if isinstance(mapped, Unknown | Const) or any(_bounds(inner) for inner in inside(trace, stage)):
            return True  # cut to a length, or a function from elsewhere, which may cut
    for event, _ in uses_of(trace, call):
        if isinstance(event, Call) and stage_name(event) == "map":
            after = deref(event.result)
            if (
                isinstance(after, Dataset)
                and after.element is not None
                and not _unequal_behind(after.element)
            ):
                return True
    return False


def _leaves_out_long_ones(calls: list[Call]) -> bool:
    """Whether a filter's test may set an upper bound; `length > 3` sets none."""
    tests = [call for call in calls if stage_name(call) in LESS | MORE and len(call.arguments) > 1]
    if not tests:
        return True
    sides = [[deref(argument.value) for argument in call.arguments[:2]] for call in tests]
    return any(
        stage_name(call) in LESS if _measured(left) and not _measured(right) else stage_name(call) in MORE
        for call, (left, right) in zip(tests, sides, strict=True)
        if _measured(left) != _measured(right)
    ) or any(_measured(left) == _measured(right) for left, right in sides)


def _measured(value: Value) -> bool:
    """Whether this side of a comparison comes from the element, and not from a number of the script."""
    return isinstance(value, Array)


def _sliced(value: Value) -> bool:
    """Whether an unknown value is a slice of another, up to some length."""
    value = deref(value)
    return isinstance(value, Unknown) and value.taken is not None and _ends(deref(value.taken))


def _ends(key: Value) -> bool:
    parts = keys_of(key) or [key]
    return any(isinstance(part := deref(one), Slice) and not _none(part.stop) for one in parts)


def _unequal_behind(element: Value) -> bool:
    """As `_unequal`, for batches: their number of rows is no matter."""
    parts = leaves(element)
    return any(not isinstance(part, Array) or part.shape is None or None in part.shape[1:] for part in parts)


def _bounds(call: Call) -> bool:
    """Whether a call in a mapped function cuts what it gets: a slice up to a length, a crop."""
    if call.name != "operator.getitem":
        return stage_name(call) in (
            "random_crop",
            "slice",
            "pad_sequences",
            "resize",
            "set_shape",
            "ensure_shape",
        )
    return len(call.arguments) > 1 and _ends(deref(call.arguments[1].value))


def _none(value: Value) -> bool:
    value = deref(value)
    return isinstance(value, Const) and value.value is None and not value.soft


# --- pad_sequences --------------------------------------------------------------------------------------


def _per_batch(call: Call) -> str | None:
    """What makes single batches here: a generator, a `__getitem__`, a mapped function."""
    for body in call.context.all(Body):
        if body.function.name == "__getitem__":
            return "`__getitem__`"
        if "generator" in body.function.flags:
            loops = call.context.loops()
            return "this generator" if loops else None
    return "the mapped function" if any(call.context.role(name) for name in MAPPED[:2]) else None


def _cut(trace: Trace, call: Call, value: Value) -> bool:
    """Whether the sequences were cut to a length before."""
    value = deref(value)
    elements = [value, deref(value.any)] if isinstance(value, Sequence) else [value]
    if any(_sliced(element) or "few" in tags_of(element) for element in elements[1:]):
        return True
    return any((made := trace.maker(element)) is not None and _bounds(made) for element in elements[1:])


def _cut_after(trace: Trace, call: Call) -> bool:
    """Whether what was padded is taken apart again, in windows of some length."""
    for taken in trace.calls("operator.getitem"):
        if taken.receiver is None or deref(taken.receiver) is not deref(call.result):
            continue
        parts = keys_of(deref(taken.arguments[1].value)) if len(taken.arguments) > 1 else None
        if parts and any(_ends(deref(part)) for part in parts[1:]):
            return True
    return False
