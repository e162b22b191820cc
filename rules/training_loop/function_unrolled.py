"""A long Python loop inside a graph function puts a copy of its body into the graph for every round.

## What it does

Reports a loop that Python itself runs while a `tf.function`, or the `call` or `train_step` of a Keras class, is
traced: over `range(n)`, a list, a NumPy array, a generator, a `while` with a Python count, a comprehension. From 50
rounds on, or 20 where a round takes gradients; also a training loop over a generator or array whose length is not
known. Loops over `tf.range`, tensors, datasets and `range(tensor)` are one loop in the graph, and are let pass.

## Why is this bad?

Tracing runs the Python. Each round adds its operations to the graph: 6 for a small dense layer, 86 for a GRU cell
with its gradient, 270 for an update of three layers with Adam (1 to 3 MB, and a tenth of a second or more). A hundred
updates are 27,000 nodes that are built, optimised and kept before the first batch is through, and the same again with
each retrace.

## Example

```python
import tensorflow as tf
from tensorflow import keras

cell = keras.layers.GRUCell(64)


@tf.function
def simulate(state):
    for step in range(500):
        state, _ = cell(state, [state])
    return state


simulate(tf.zeros((32, 64)))
```

## Use instead

```python
import tensorflow as tf
from tensorflow import keras

cell = keras.layers.GRUCell(64)


@tf.function
def simulate(state):
    for step in tf.range(500):
        state, _ = cell(state, [state])
    return state


simulate(tf.zeros((32, 64)))
```

Keras 3 does not convert `call` and `train_step`: a loop over `tf.range` there raises OperatorNotAllowedInGraphError.
Use `keras.ops.fori_loop`, `keras.ops.scan` or `tf.while_loop`, or an RNN layer for time steps.

## Fix safety

Unsafe: `range` becomes `tf.range` where the count is not used as a Python number and every name that the loop binds
is a tensor before it. The counter is a tensor then, and shapes must not change between rounds.

## References

- <https://www.tensorflow.org/guide/function#loops>
- <https://github.com/tensorflow/tensorflow/issues/38628>
- <https://github.com/tensorflow/tensorflow/issues/48732>
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import libcst as cst

from oomlint.dryrun.queries.keras_version import keras_at_least
from oomlint.dryrun.queries.unrolling import Unrolled, converts_to_range, unrolled_loops
from oomlint.dryrun.values.arrays import Array
from oomlint.dryrun.values.base import Sequence, deref
from oomlint.dryrun.values.data import Dataset
from oomlint.findings.model import Evidence, Fix, Rule, Safety, Severity
from oomlint.findings.pipeline_fixes import tensorflow_name
from oomlint.findings.rule_options import RuleOption
from oomlint.syntax.edits import Replace

if TYPE_CHECKING:
    from collections.abc import Iterator

    from oomlint.dryrun.trace import Trace
    from oomlint.findings.model import Finding
    from oomlint.project.settings import Settings

# Measured (benchmarks/unrolled_loops.py): 50 rounds of a recurrent cell are 4,300 nodes, 20 updates 5,400.
ROUNDS = RuleOption("rounds", 50, "a loop of fewer rounds may be unrolled", minimum=2)
UPDATES = RuleOption("updates", 20, "the same for loops that train", minimum=2)
RULE = Rule(
    code="OOM409",
    name="function-unrolled",
    severity=Severity.WARNING,
    fix=Safety.UNSAFE,
    literals=("function", "defun", "call", "train_step"),
    options=(ROUNDS, UPDATES),
)


def check(trace: Trace, settings: Settings) -> Iterator[Finding]:
    """The innermost long loop of each nest: what stands around it is unrolled for its sake, too."""
    nests: set[int] = set()
    for one in sorted(unrolled_loops(trace), key=_depth, reverse=True):
        if not _is_long(one, settings) or id(one.loop.place.node) in nests:
            continue
        around = one.inner.context.loops()
        at = next(index for index, loop in enumerate(around) if loop.place.node is one.loop.place.node)
        nests.update(id(loop.place.node) for loop in around[at:])
        yield _finding(trace, settings, one)


def _depth(one: Unrolled) -> int:
    """How deep the loop itself stands."""
    around = one.inner.context.loops()
    return len(around) - next(i for i, loop in enumerate(around) if loop.place.node is one.loop.place.node)


def _is_long(one: Unrolled, settings: Settings) -> bool:
    if one.rounds is not None:
        return one.rounds >= RULE.value(ROUNDS if one.updates is None else UPDATES, settings)
    if one.updates is None:
        return False
    # A training loop over data that Python gives out.
    value = deref(one.loop.iterable) if one.loop.iterable is not None else None
    if isinstance(value, Sequence):
        return value.kind == "generator" and value.length is None
    return isinstance(value, Array | Dataset)


def _finding(trace: Trace, settings: Settings, one: Unrolled) -> Finding:
    name = one.function.name
    where = "a lambda" if name == "<lambda>" else f"`{name}`"
    if one.rounds is None:
        text = f"this loop over data is unrolled into the graph of {where}: a copy of the training step for every batch"
    else:
        text = f"this Python loop is unrolled into the graph of {where}: {one.rounds:,} copies of its body"
    evidence = [Evidence("traced from here", one.function.source.place(one.function.node))]
    if one.updates is not None:
        evidence.append(Evidence("each copy takes gradients", one.updates.place))
    if one.by_keras and keras_at_least(trace, settings, 3):
        help = (
            "use `keras.ops.fori_loop` or `tf.while_loop` (an RNN layer for time steps): Keras 3 does not convert "
            f"{where}, and `tf.range` raises there"
        )
    elif one.updates is not None:
        help = "make a graph function of the single step, and loop over the data outside of it"
    else:
        help = "loop over `tf.range`, a tensor or a dataset, which AutoGraph turns into one loop in the graph"
    return RULE.finding(one.loop.place, text, evidence=evidence, help=help, fix=_fix(trace, one))


def _fix(trace: Trace, one: Unrolled) -> Fix | None:
    name, node = tensorflow_name(trace), one.loop.place.node
    if name is None or one.loop.place.source is not trace.source or not converts_to_range(trace, one):
        return None
    assert isinstance(node, cst.For)
    assert isinstance(node.iter, cst.Call)
    edit = Replace(one.loop.place.source.place(node.iter.func), f"{name}.range")
    return Fix("let AutoGraph run the loop", Safety.UNSAFE, (edit,))
