"""A strategy is handed whole batches of a plain dataset, or is not used by the training loop at all.

## What it does

Reports `strategy.run` fed from a `tf.data.Dataset` that nothing distributes, or with batches of NumPy arrays, and
training loops inside `strategy.scope()` in a script that never calls `strategy.run`. Where the dataset is a parameter
that nobody here passes, it is a note, and only if nothing in the file distributes a dataset.

## Why is this bad?

`strategy.run` does not split what it is given. A batch of a plain dataset goes to every replica whole: each
computes the same gradients, at full memory, and the work of all GPUs but one is wasted. Whether the step is right
as well depends on the loss. Only what comes out of `experimental_distribute_dataset` or
`distribute_datasets_from_function` is a share.

Inside the scope but outside `strategy.run` there is no replica: reading or updating the mirrored variables of a Keras
model there raises.

`fit` distributes by itself and needs none of this.

## Example

```python
import tensorflow as tf
from tensorflow import keras

strategy = tf.distribute.MirroredStrategy()
data = tf.data.Dataset.from_tensor_slices(tf.zeros((64, 4))).batch(16)
with strategy.scope():
    model = keras.Sequential([keras.Input((4,)), keras.layers.Dense(1)])

for batch in data:
    strategy.run(model, args=(batch,))
```

## Use instead

```python
import tensorflow as tf
from tensorflow import keras

strategy = tf.distribute.MirroredStrategy()
data = tf.data.Dataset.from_tensor_slices(tf.zeros((64, 4))).batch(16)
with strategy.scope():
    model = keras.Sequential([keras.Input((4,)), keras.layers.Dense(1)])

for batch in strategy.experimental_distribute_dataset(data):
    strategy.run(model, args=(batch,))
```

## Fix safety

Unsafe: the loop goes over the distributed dataset, so each replica gets its share of the batch where it got all of
it before. A loss that divides by the batch it sees changes its meaning with that (see OOM502).

## References

- <https://www.tensorflow.org/tutorials/distribute/custom_training>
- <https://www.tensorflow.org/tutorials/distribute/input>
"""

from __future__ import annotations

from collections.abc import Iterator

import libcst as cst

from oomlint.dryrun.catalog.tensorflow.distribution import DISTRIBUTED
from oomlint.dryrun.imports import dotted
from oomlint.dryrun.queries import gpu_setup, replicas
from oomlint.dryrun.trace import Body, Call, Loop, Trace
from oomlint.dryrun.values.arrays import Array
from oomlint.dryrun.values.base import Unknown, deref, tags_of
from oomlint.dryrun.values.data import Dataset, leaves
from oomlint.dryrun.values.training import Strategy
from oomlint.findings.model import TENSORFLOW_BACKEND, Evidence, Finding, Fix, Rule, Safety, Severity
from oomlint.project.settings import Settings
from oomlint.syntax.edits import Replace

RULE = Rule(
    code="OOM504",
    name="dataset-not-distributed",
    severity=Severity.ERROR,
    fix=Safety.UNSAFE,
    literals=("run", "experimental_run_v2", "apply_gradients"),
    backends=TENSORFLOW_BACKEND,
)

RUN = ("tf.distribute.Strategy.run", "tf.distribute.Strategy.experimental_run_v2")
DISTRIBUTES = tuple(
    f"tf.distribute.Strategy.{name}"
    for name in (
        "experimental_distribute_dataset",
        "distribute_datasets_from_function",
        "experimental_distribute_datasets_from_function",
        "experimental_distribute_values_from_function",
    )
)
_GO_OVER = ("iter", "tqdm", "track", "alive_it")
HELP = "loop over strategy.experimental_distribute_dataset(dataset)"


def check(trace: Trace, settings: Settings) -> Iterator[Finding]:
    """`strategy.run` on plain batches; loops in the scope without it."""
    if not replicas.strategies(trace):
        return
    runs = trace.calls(*RUN)
    seen: set[int] = set()
    plain = _plain_elements(trace)
    for call in runs:
        if id(call.node) in seen or not replicas.replicates(call.receiver):
            continue
        finding = _fed(trace, call, plain)
        if finding is not None:
            seen.add(id(call.node))
            yield finding
    if not runs:
        yield from _loop_in_scope(trace)


def _plain_elements(trace: Trace) -> dict[int, Dataset]:
    """Parts of elements (by id) of datasets that are not distributed."""
    found: dict[int, Dataset] = {}
    for call in trace.all_calls():
        made = deref(call.result)
        if isinstance(made, Dataset) and not made.distributed and made.element is not None:
            for leaf in leaves(made.element):
                found[id(leaf)] = made
    return found


def _fed(trace: Trace, call: Call, plain: dict[int, Dataset]) -> Finding | None:
    strategy = call.receiver
    assert isinstance(strategy, Strategy)
    given = [value for value in (call.value("args"), call.value("kwargs")) if value is not None]
    parts = [part for value in given for part in leaves(value)]
    if not parts or any(DISTRIBUTED in tags_of(part) for part in parts):
        return None
    count = strategy.replicas.value if strategy.replicas is not None else None
    every = f"each of the {count} replicas" if count else "every replica"
    source = next((plain[id(part)] for part in parts if id(part) in plain), None)
    if source is not None or any("dataset-element" in tags_of(part) for part in parts):
        loop = _loop(call, source)
        evidence = [Evidence("the loop over the plain dataset", loop.place)] if loop is not None else []
        if source is not None and source.stages:
            evidence.append(
                Evidence("the dataset's last stage; nothing distributes it", source.stages[-1].place)
            )
        return RULE.finding(
            call.place,
            f"strategy.run is fed from a dataset that is not distributed: {every} gets the whole batch",
            evidence=evidence,
            help=HELP,
            fix=_fix(call, strategy, loop),
        )
    if any(isinstance(part, Array) and part.library == "numpy" and (part.rank or 0) >= 2 for part in parts):
        return RULE.finding(
            call.place,
            f"strategy.run is fed a batch of NumPy arrays, which nothing distributes: {every} gets the whole batch",
            help="read the data with tf.data, and loop over strategy.experimental_distribute_dataset(dataset)",
        )
    unknown = (
        all(isinstance(part, Unknown) for part in parts) and gpu_setup.uncalled(call.context) is not None
    )
    if unknown and _from_parameters(call) and not trace.calls(*DISTRIBUTES):
        return RULE.finding(
            call.place,
            f"nothing here distributes a dataset: if this comes from a plain one, {every} gets the whole batch",
            severity=Severity.NOTE,
            help=HELP,
        )
    return None


def _loop(call: Call, source: Dataset | None) -> Loop | None:
    """The loop over the dataset, in this function or around the call of it."""
    for loop in call.context.all(Loop):
        iterable = deref(loop.iterable) if loop.iterable is not None else None
        if isinstance(iterable, Dataset) and not iterable.distributed:
            if source is None or iterable.element is source.element or iterable.stages == source.stages:
                return loop
    return None


def _fix(call: Call, strategy: Strategy, loop: Loop | None) -> Fix | None:
    if loop is None or not isinstance(loop.place.node, cst.For) or loop.place.source is not call.source:
        return None
    frames = list(call.context.frames())
    outside = frames[frames.index(loop) + 1 :]
    function = next((frame.function for frame in outside if isinstance(frame, Body)), None)
    path = replicas.strategy_path(strategy, call, function)
    if path is None:
        return None
    iterable = _within(loop.place.node.iter)
    text = f"{path}.experimental_distribute_dataset({call.source.code(iterable)})"
    return Fix("distribute the dataset", Safety.UNSAFE, (Replace(call.source.place(iterable), text),))


def _within(node: cst.BaseExpression) -> cst.BaseExpression:
    """The dataset in `iter(dataset)` or a progress bar: an iterator cannot be distributed."""
    while isinstance(node, cst.Call) and node.args and node.args[0].keyword is None:
        if dotted(node.func).rpartition(".")[2] not in _GO_OVER:
            break
        node = node.args[0].value
    return node


def _from_parameters(call: Call) -> bool:
    """Whether the arguments are, or come from a loop over, what the caller of the function passes."""
    function, argument = call.context.function(), call.argument("args")
    if function is None or argument is None or not isinstance(argument.place.node, cst.Tuple):
        return False
    names = {
        element.value.value for element in argument.place.node.elements if isinstance(element.value, cst.Name)
    }
    known = {parameter.name.value for parameter in function.node.params.params}
    for loop in call.context.all(Loop):
        iterable = deref(loop.iterable) if loop.iterable is not None else None
        if isinstance(iterable, Unknown) and isinstance(loop.place.node, cst.For):
            known |= set(loop.targets)
    return bool(names) and names <= known


def _loop_in_scope(trace: Trace) -> Iterator[Finding]:
    """Gradients applied inside a scope, by a script that never calls `strategy.run`."""
    for call in trace.calls(
        "keras.Optimizer.apply_gradients", "keras.Optimizer.minimize", "keras.Optimizer.apply"
    ):
        strategy = replicas.of_scope(call.context)
        if not replicas.replicates(strategy):
            continue
        if call.context.role("keras.train_step") is not None or strategy is None:
            continue
        evidence = [Evidence("the strategy", strategy.made_by.place)] if strategy.made_by is not None else []
        yield RULE.finding(
            call.place,
            "this training loop runs in the scope of a strategy but never calls strategy.run: "
            "mirrored variables cannot be read or updated there",
            evidence=evidence,
            help="put the step into a function and call strategy.run(step, args=...) on a distributed dataset",
        )
        return
