"""`prefetch(n)` keeps n whole batches ahead, and n is large.

## What it does

Reports `prefetch(n)` after `batch` with n of 8 or more (or fewer, if they pass a quarter of the host memory), and
`prefetch_to_device(device, n)`, whose elements wait in GPU memory. Silent where what waits is known to be little. Fewer
than 32 batches of unknown size are a note (nothing in a test), and so is `prefetch(n)` before `batch`.

## Why is this bad?

`prefetch` counts elements, and after `batch` an element is a batch: `batch(64).prefetch(64)` keeps 4,096 examples
decoded and waiting. `tf.data.AUTOTUNE` keeps as many as the training step needs, a few as a rule. Before `batch`
single elements are kept ahead, and the batch is still put together while the GPU waits.

## Example

```python
import tensorflow as tf


def read(path):
    image = tf.io.decode_jpeg(tf.io.read_file(path), channels=3)
    return tf.image.resize(image, (224, 224))


train = tf.data.Dataset.list_files("train/*.jpg").map(read).batch(64).prefetch(100)
```

## Use instead

```python
import tensorflow as tf


def read(path):
    image = tf.io.decode_jpeg(tf.io.read_file(path), channels=3)
    return tf.image.resize(image, (224, 224))


train = tf.data.Dataset.list_files("train/*.jpg").map(read).batch(64).prefetch(tf.data.AUTOTUNE)
```

## Fix safety

Safe: the elements and their order stay the same, only how many of them wait changes.

## References

- <https://www.tensorflow.org/api_docs/python/tf/data/Dataset#prefetch>
- <https://github.com/aymericdamien/TensorFlow-Examples/issues/314>
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from oomlint.dryrun.queries.pipelines import BATCHING, KEEPING, batched, received, stage_name, uses_of
from oomlint.dryrun.queries.unit_tests import in_test
from oomlint.dryrun.sizes import Size
from oomlint.dryrun.trace import Argument, Call
from oomlint.dryrun.values.base import Const, Opaque, deref
from oomlint.dryrun.values.data import Dataset
from oomlint.findings.evidence import factors, over
from oomlint.findings.model import Evidence, Finding, Fix, Rule, Safety, Severity
from oomlint.findings.pipeline_fixes import tensorflow_name
from oomlint.findings.rule_options import RuleOption
from oomlint.syntax.edits import Replace

if TYPE_CHECKING:
    from oomlint.dryrun import Trace
    from oomlint.project.settings import Settings

BATCHES = RuleOption(
    "batches",
    8,
    "so many are many where they may not fit (AUTOTUNE settles between 5 and 10 where the input is the bottleneck)",
    minimum=1,
)
RULE = Rule(
    code="OOM303",
    name="prefetch-many-batches",
    severity=Severity.WARNING,
    fix=Safety.SAFE,
    literals=("prefetch", "prefetch_to_device"),
    options=(BATCHES,),
)

DOZENS = 16
HEAPS = 32  # batches: these many may be too many, whatever is in them
NOTHING = 16 * 2**20  # bytes: batches this small may wait in any number
LITTLE = 256 * 2**20  # bytes: and these, if they are not too many
TO_DEVICE = "tf.data.experimental.prefetch_to_device"


def check(trace: Trace, settings: Settings) -> Iterator[Finding]:
    """Batches that wait on the host, then those that wait on the GPU."""
    early: dict[int, Finding] = {}
    for call in trace.calls("tf.data.Dataset.prefetch"):
        dataset, argument = received(call), call.argument("buffer_size")
        if dataset is None or argument is None:
            continue
        if batched(dataset):
            yield from _many(trace, settings, call, argument, dataset, settings.budget.host)
        else:
            # Of several before the same batch, the last is where it would have to go.
            early.update(_before_batch(trace, call, argument))
    yield from early.values()
    for apply in trace.calls("tf.data.Dataset.apply"):
        dataset, given = received(apply), apply.value("transformation_func")
        if (
            dataset is None
            or not isinstance(given, Opaque)
            or given.type != TO_DEVICE
            or given.made_by is None
        ):
            continue
        argument = given.made_by.argument("buffer_size")
        if argument is not None:
            yield from _many(trace, settings, given.made_by, argument, dataset, settings.budget.gpu, "GPU")


def _amount(argument: Argument) -> Const | None:
    value = deref(argument.value)
    known = isinstance(value, Const) and isinstance(value.value, int) and value.value > 0
    return value if isinstance(value, Const) and known else None


def _many(
    trace: Trace,
    settings: Settings,
    call: Call,
    argument: Argument,
    dataset: Dataset,
    budget: int,
    where: str = "host",
) -> Iterator[Finding]:
    amount = _amount(argument)
    if amount is None:
        return
    if not dataset.infinite and dataset.count is not None and dataset.count.value < amount.value:
        amount = dataset.count  # there are no more
    element = dataset.element_size
    held: Size | None = element.times(amount, "a buffer of {} batches") if element is not None else None
    severity = over(held, budget) if held is not None else None
    if severity is None and (amount.value < RULE.value(BATCHES, settings) or _little(amount, held)):
        return
    if severity is None and (held is None or not held.exact):
        if in_test(call):
            return
        severity = Severity.NOTE if amount.value < HEAPS or _once_more(dataset) else None
    told = f" of {element.bytes:,} B" if element is not None and element.exact else ""
    together = f": {held}" if held is not None and told else ""
    what = "batches" if batched(dataset) else "elements"
    fix = None
    name = tensorflow_name(trace)
    if name is not None and argument.place.source is trace.source and not argument.star:
        edit = Replace(argument.place, f"{name}.data.AUTOTUNE")
        fix = Fix("let tf.data choose how many", Safety.SAFE, (edit,))
    yield RULE.finding(
        argument.place,
        f"{amount.value:,} {what}{told} are kept ready in {where} memory{together}",
        evidence=factors(held) if held is not None else _origin(amount),
        help="use `tf.data.AUTOTUNE`, which keeps a few",
        fix=fix,
        severity=severity,
    )


def _once_more(dataset: Dataset) -> bool:
    """Whether all that may wait is the rows of arrays that are in memory, once more: a table, most of the time."""
    names = [stage_name(stage) for stage in dataset.stages]
    return names[:1] == ["from_tensor_slices"] and set(names[1:]) <= KEEPING - {"repeat"} | {"batch"}


def _little(amount: Const, held: Size | None) -> bool:
    """Whether what waits is known to be too little to matter."""
    if held is None or not held.exact:
        return False
    return held.bytes < (LITTLE if amount.value < DOZENS else NOTHING)


def _origin(amount: Const) -> list[Evidence]:
    return [
        Evidence(f"{amount.value:,}, from {step.text}", step.place) for step in amount.trail if step.place
    ]


def _before_batch(trace: Trace, call: Call, argument: Argument) -> Iterator[tuple[int, Finding]]:
    """Single elements are kept ahead, and nothing is once they are batched; with the batch, by its node."""
    amount = _amount(argument)
    if amount is None or amount.value < 2:
        return
    batch: Call | None = None
    for event, dataset in uses_of(trace, call):
        if not isinstance(event, Call) or event.receiver is None:
            continue
        later = dataset.stages[next(at for at, stage in enumerate(dataset.stages) if stage is call) + 1 :]
        if stage_name(event) in ("prefetch", "apply") and any(
            stage_name(stage) in BATCHING for stage in later
        ):
            return
        if stage_name(event) in BATCHING and batch is None:
            batch = event
    if batch is None:
        return
    finding = RULE.finding(
        argument.place,
        f"`prefetch({amount.value:,})` before `batch` keeps single elements ready, and no batch",
        evidence=[Evidence("batched only here", batch.place)],
        help="prefetch last, after `batch`",
        severity=Severity.NOTE,
    )
    yield id(batch.node), finding
