"""A fixed batch is shared out between replicas; or one that was multiplied already is given to each of them.

## What it does

Reports the batch size of training under a strategy with several replicas: a note where it is a fixed number for
`fit` or `experimental_distribute_dataset`, a warning where a dataset function, which makes the batch of one
replica, uses a batch size that was multiplied by the number of replicas.

A batch size that has anything to do with `num_replicas_in_sync`, one whose name says that it is global, and
one that is not known are left alone.

## Why is this bad?

`fit` and `experimental_distribute_dataset` take the batch of all replicas together: with four GPUs a batch of 32
leaves eight samples for each, which is right, and slow. It also means that adding GPUs changes the memory each
of them needs. `distribute_datasets_from_function` is the other way round: what the function batches is what one
replica gets, so a global batch there needs as many times the memory as there are replicas.

## Example

```python
import tensorflow as tf
from tensorflow import keras

strategy = tf.distribute.MirroredStrategy()
with strategy.scope():
    model = keras.Sequential([keras.Input((8,)), keras.layers.Dense(1)])
    model.compile("adam", "mse")
model.fit(tf.zeros((4096, 8)), tf.zeros((4096, 1)), batch_size=32)
```

## Use instead

```python
import tensorflow as tf
from tensorflow import keras

strategy = tf.distribute.MirroredStrategy()
with strategy.scope():
    model = keras.Sequential([keras.Input((8,)), keras.layers.Dense(1)])
    model.compile("adam", "mse")
model.fit(tf.zeros((4096, 8)), tf.zeros((4096, 1)), batch_size=32 * strategy.num_replicas_in_sync)
```

## Fix safety

Unsafe: a larger global batch trains differently (the learning rate usually grows with it). In a dataset function
the batch becomes `context.get_per_replica_batch_size(...)`, which gives the run back the batch it was meant to have.

## References

- <https://www.tensorflow.org/tutorials/distribute/input>
- <https://www.tensorflow.org/api_docs/python/tf/distribute/InputContext>
- <https://github.com/JayYip/m3tl/issues/13>
"""

from __future__ import annotations

import re
from collections.abc import Iterator

import libcst as cst

from oomlint.dryrun.catalog.tensorflow.distribution import PER_REPLICA, TIMES_REPLICAS
from oomlint.dryrun.queries import replicas
from oomlint.dryrun.trace import Argument, Call, Trace
from oomlint.dryrun.values.base import Const, Step, Unknown, Value, deref, tags_of
from oomlint.dryrun.values.data import Dataset
from oomlint.dryrun.values.devices import ReplicaCount
from oomlint.dryrun.values.training import Strategy
from oomlint.findings.model import TENSORFLOW_BACKEND, Evidence, Finding, Fix, Rule, Safety, Severity
from oomlint.project.settings import Settings
from oomlint.syntax.edits import AddArgument, Edit, Replace

RULE = Rule(
    code="OOM501",
    name="batch-not-scaled",
    severity=Severity.NOTE,
    fix=Safety.UNSAFE,
    literals=("fit", "run", "experimental_distribute_dataset", "distribute_datasets_from_function"),
    backends=TENSORFLOW_BACKEND,
)

READERS = (
    "keras.utils.image_dataset_from_directory",
    "keras.utils.text_dataset_from_directory",
    "keras.utils.audio_dataset_from_directory",
    "keras.utils.timeseries_dataset_from_array",
)
# `NUM_GPUS`, `n_workers`, `gpu_count`, but not `BATCH_PER_GPU` or `gpu_batch`.
_WORD = re.compile(r"[a-z]+")
_MANY = frozenset(("gpus", "ngpus", "ngpu", "replicas", "workers", "devices", "nworkers"))
_ONE = frozenset(("gpu", "replica", "worker", "device"))
_COUNTS = frozenset(("num", "n", "nb", "count", "number"))
HELP = "multiply what one GPU is to get by strategy.num_replicas_in_sync"


def check(trace: Trace, settings: Settings) -> Iterator[Finding]:
    """Fixed global batches, and multiplied per-replica ones, each once."""
    if not replicas.strategies(trace):
        return
    seen: set[int] = set()
    for finding in (*_from_functions(trace), *_global(trace)):
        if id(finding.place.node) not in seen:
            seen.add(id(finding.place.node))
            yield finding


def _global(trace: Trace) -> Iterator[Finding]:
    if any(_shares(call) for call in trace.calls("operator.floordiv", "operator.truediv")):
        return  # the script works out each replica's share by itself
    for call in trace.calls("keras.Model.fit"):
        strategy = replicas.of_model(call.receiver, call)
        if strategy is not None and "TPU" not in strategy.type and replicas.replicates(strategy):
            yield from _fed(call, call.value("x"), strategy)
    for call in trace.calls("tf.distribute.Strategy.experimental_distribute_dataset"):
        if (
            isinstance(call.receiver, Strategy)
            and "TPU" not in call.receiver.type
            and replicas.replicates(call.receiver)
            and not _for_evaluation(call)
        ):
            yield from _fed(call, call.value("dataset"), call.receiver)


def _fed(call: Call, data: Value | None, strategy: Strategy) -> Iterator[Finding]:
    """What a training call, or a distribution, is fed."""
    if isinstance(data, Dataset):
        if data.distributed:
            return
        stage = _batching(data)
        argument = stage.argument("batch_size") if stage is not None else None
        if stage is not None and argument is not None:
            yield from _fixed(stage, argument, strategy)
    elif call.name == "keras.Model.fit":
        argument = call.argument("batch_size")
        made_of_batches = isinstance(data, Unknown) and call.argument("y") is None  # labels come with them
        if argument is not None and not made_of_batches:
            yield from _fixed(call, argument, strategy)
        elif (
            call.argument("y") is not None
            and not call.opaque_arguments
            and call.argument("steps_per_epoch") is None
        ):
            yield _default(call, strategy)


def _batching(data: Dataset) -> Call | None:
    """The stage that made the batches."""
    names = ("tf.data.Dataset.batch", "tf.data.Dataset.padded_batch", *READERS)
    return next((stage for stage in reversed(data.stages) if stage.name in names), None)


def _fixed(call: Call, argument: Argument, strategy: Strategy) -> Iterator[Finding]:
    value = deref(argument.value)
    if not isinstance(value, Const) or not isinstance(value.value, int) or isinstance(value.value, bool):
        return
    names = [step.text for step in value.trail] + [argument.path or ""]
    if any("num_replicas" in name or "global" in name.lower() or _counts_gpus(name) for name in names):
        return
    path = replicas.strategy_path(strategy, call)
    edits: tuple[Edit, ...] = ()
    if path is not None:
        edits = (Replace(argument.place, f"{_operand(call, argument)} * {path}.num_replicas_in_sync"),)
    yield _finding(call, argument, value, strategy, edits)


def _counts_gpus(name: str) -> bool:
    """Whether a number is called that of the GPUs or workers: `BATCH_PER_GPU * NUM_GPUS` is scaled as it is."""
    words = set(_WORD.findall(name.lower()))
    return bool(words & _MANY) or (bool(words & _COUNTS) and bool(words & _ONE))


def _default(call: Call, strategy: Strategy) -> Finding:
    path = replicas.strategy_path(strategy, call)
    edit = AddArgument(call.place, f"batch_size=32 * {path}.num_replicas_in_sync")
    return _finding(call, None, Const(32), strategy, (edit,) if path is not None else ())


def _finding(
    call: Call, argument: Argument | None, value: Const, strategy: Strategy, edits: tuple[Edit, ...]
) -> Finding:
    count = strategy.replicas.value if strategy.replicas is not None else None
    share = f"{value.value // count} samples" if count else "its part"
    what = "the fixed batch" if argument is not None else "fit's default batch"
    evidence = [Evidence(step.text, step.place) for step in value.trail]
    if strategy.made_by is not None:
        number = f"{count} replicas" if count else "a replica for each GPU"
        evidence.append(Evidence(f"{replicas.short(strategy)}: {number}", strategy.made_by.place))
    return RULE.finding(
        argument.place if argument is not None else call.place,
        f"{what} of {value.value} is for all replicas of {replicas.short(strategy)} together: each gets {share}",
        evidence=evidence,
        help=HELP,
        fix=Fix("scale the batch with the replicas", Safety.UNSAFE, edits) if edits else None,
    )


def _operand(call: Call, argument: Argument) -> str:
    """The argument as the left operand of a product."""
    code = call.source.code(argument.place.node)
    simple = isinstance(
        argument.place.node, cst.Name | cst.Attribute | cst.Integer | cst.Call | cst.Subscript
    )
    return code if simple or code.startswith("(") else f"({code})"


def _shares(call: Call) -> bool:
    """`batch // strategy.num_replicas_in_sync`."""
    left, right = (deref(argument.value) for argument in call.arguments)
    return isinstance(right, ReplicaCount) and isinstance(left, Const | Unknown)


def _for_evaluation(call: Call) -> bool:
    """A dataset whose name says that nobody trains on it."""
    argument = call.argument("dataset")
    words = " ".join((*call.targets, argument.path or "" if argument is not None else "")).lower()
    return any(word in words for word in ("test", "val", "eval"))


def _from_functions(trace: Trace) -> Iterator[Finding]:
    """Global batches in functions that make the batches of one replica."""
    for stage in trace.calls("tf.data.Dataset.batch", "tf.data.Dataset.padded_batch"):
        role, argument = stage.context.role("tf.distribute.dataset_fn"), stage.argument("batch_size")
        if role is None or argument is None:
            continue
        value = deref(argument.value)
        trail = value.trail if isinstance(value, Const) else ()
        said = [step.text.partition(" num_replicas")[0] for step in trail if "num_replicas" in step.text]
        tags = tags_of(value)
        if (TIMES_REPLICAS in tags and PER_REPLICA not in tags) or (said and said[-1] == "times"):
            yield _multiplied(trace, stage, argument, trail)


def _multiplied(trace: Trace, stage: Call, argument: Argument, trail: tuple[Step, ...]) -> Finding:
    function = stage.context.function()
    node = function.node if function is not None else None
    parameters = node.params.params if node is not None else ()
    edits: tuple[Edit, ...] = ()
    if parameters and isinstance(argument.place.node, cst.BaseExpression):
        code = stage.source.code(argument.place.node)
        name = parameters[0].name.value
        edits = (Replace(argument.place, f"{name}.get_per_replica_batch_size({code})"),)
    return RULE.finding(
        argument.place,
        "this batch was multiplied by the number of replicas, but a dataset function makes the batch of one replica: "
        "each GPU gets the whole global batch",
        severity=Severity.WARNING,
        evidence=[Evidence(step.text, step.place) for step in trail],
        help="batch by context.get_per_replica_batch_size(global_batch_size)",
        fix=Fix("take this replica's share", Safety.UNSAFE, edits) if edits else None,
    )
