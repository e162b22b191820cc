"""Operations are added to a TensorFlow 1 graph in the loop that runs it, so the graph grows with every round.

## What it does

Reports, in graph mode (`tf.Session`, `tf.compat.v1`), what adds to the graph inside a loop that also runs a session
(`sess.run`, `K.eval`, or what `K.function` made): calls of `tf.` functions, `tf.assign`, `tf.gradients`, `K.gradients`,
a learning rate schedule, `minimize`, `get_next()`, a `Saver`, arithmetic on tensors and their slices
(`sess.run(-loss)`, `sess.run(t[0])`). The same for a method that builds its fetch anew with each call. Operations in a
graph that the same round makes are let pass, and so are loops whose session does nothing but initialize variables, and
those that go over variables once to assign to each (weights from a file). An initializer by itself is a note, unless
the loop has more than 100 rounds.

## Why is this bad?

In a graph, `tf.argmax(logits, 1)` computes nothing: it adds nodes, which stay until the process ends. `sess.run` of an
expression adds four in each round, an assignment three, and every change of the graph makes the next `run` hand it over
again, so that the loop gets slower and slower until memory is full.

## Example

```python
import numpy as np
import tensorflow.compat.v1 as tf

tf.disable_v2_behavior()
x = tf.placeholder(tf.float32, [None, 8])
logits = tf.layers.dense(x, 10)
with tf.Session() as sess:
    sess.run(tf.global_variables_initializer())
    for step in range(10_000):
        labels = sess.run(tf.argmax(logits, 1), {x: np.random.rand(32, 8)})
```

## Use instead

```python
import numpy as np
import tensorflow.compat.v1 as tf

tf.disable_v2_behavior()
x = tf.placeholder(tf.float32, [None, 8])
logits = tf.layers.dense(x, 10)
prediction = tf.argmax(logits, 1)
with tf.Session() as sess:
    sess.run(tf.global_variables_initializer())
    sess.graph.finalize()
    for step in range(10_000):
        labels = sess.run(prediction, {x: np.random.rand(32, 8)})
```

What changes from round to round comes in through a placeholder. `graph.finalize()` turns the next mistake of this kind
into an error.

## Fix safety

Unsafe: the operation moves before the loop, if it reads nothing that the loop binds.

## References

- <https://github.com/tensorflow/tensorflow/issues/7127>
- <https://github.com/tensorflow/tensorflow/issues/10408>
- <https://www.tensorflow.org/api_docs/python/tf/Graph#finalize>
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import libcst as cst

from oomlint.dryrun.queries.graph_growth import INITIALIZERS, Growth, graph_growth
from oomlint.dryrun.queries.hoisting import movable, outermost_here
from oomlint.dryrun.values.base import Sequence, deref
from oomlint.findings.model import Evidence, Fix, Rule, Safety, Severity
from oomlint.syntax.edits import InsertBefore, MoveBefore, Replace
from oomlint.syntax.uses import uses

if TYPE_CHECKING:
    from collections.abc import Iterator

    from oomlint.dryrun.trace import Loop, Trace
    from oomlint.findings.model import Finding
    from oomlint.project.settings import Settings

RULE = Rule(
    code="OOM410",
    name="graph-grows",
    severity=Severity.ERROR,
    fix=Safety.UNSAFE,
    literals=("run", "eval", "function"),
)

HELP = (
    "build it once before the loop, feed what changes through a placeholder, and call `graph.finalize()` so that a "
    "late operation raises"
)
FEW_PARTS = 10  # written out: the layers that a loss is put together from
FEW_ROUNDS = 100  # an initializer is a single node: nobody notices that many
# Moved, these would still be wrong: their variables have to be there before the initializer runs.
MAKES_VARIABLES = ("minimize", "apply_gradients", "Variable", "_initializer", "Saver")


def check(trace: Trace, settings: Settings) -> Iterator[Finding]:
    """Each statement that adds to the graph, once."""
    for found in graph_growth(trace):
        if _puts_together(found):
            continue
        evidence = []
        if found.loop is not None:
            evidence.append(Evidence("the loop", found.loop.place))
        if found.place is not found.op.place:
            evidence.append(Evidence("an operation is made here", found.op.place))
        evidence.append(Evidence("the session runs here", found.run.place))
        yield RULE.finding(
            found.place,
            _message(found),
            evidence=evidence,
            help="make a `tf.Graph()` per round, or build once and run it in the loop"
            if found.whole
            else HELP,
            fix=None if found.whole or found.loop is None else _fix(trace, found, found.loop),
            severity=Severity.NOTE if _is_little(found) else None,
        )


def _puts_together(found: Growth) -> bool:
    """Whether a few parts are written out, once, and what the loop makes of each is a few operations.

    An optimizer for each of them is more than that.
    """
    parts = deref(found.loop.iterable) if found.loop is not None and found.loop.iterable is not None else None
    few = found.rounds is not None and found.rounds <= FEW_PARTS
    heavy = found.whole or any(name in found.op.name for name in MAKES_VARIABLES)
    return isinstance(parts, Sequence) and parts.items is not None and few and not heavy


def _is_little(found: Growth) -> bool:
    few = found.rounds is None or found.rounds <= FEW_ROUNDS
    return few and not found.whole and found.op.name.endswith(INITIALIZERS)


def _message(found: Growth) -> str:
    what = _shown(found)
    if found.loop is None:
        return (
            f"{what} adds operations to the graph with every call of this method: none of them is ever freed"
        )
    trip = found.loop.trip
    often = "every round of this loop" if trip is None else f"each of {trip.value:,} rounds of this loop"
    if trip is not None and found.rounds not in (None, trip.value):  # of several loops, one in another
        often = f"each of {found.rounds:,} rounds of these loops"
    if found.whole:
        return f"the graph is built again in {often}, on top of the one that is there"
    return f"{what} adds operations to the graph in {often}: none of them is ever freed"


def _shown(found: Growth) -> str:
    name = found.op.name
    if name.startswith("operator."):
        return "arithmetic on a tensor" if name != "operator.getitem" else "a slice of a tensor"
    short = name.rpartition(".")[2]
    return f"`{name if name.startswith('tf.') and 'Tensor' not in name else short}`"


# --- moving it out ------------------------------------------------------------------------------------


def _fix(trace: Trace, found: Growth, loop: Loop) -> Fix | None:
    op, target = found.op, outermost_here(found.op.context)
    statement = op.statement
    if target is None or statement is None or found.place is not op.place or op.source is not trace.source:
        return None
    if any(name in op.name for name in MAKES_VARIABLES):
        return None
    match statement.node:
        case cst.SimpleStatementLine(
            body=[cst.Assign(targets=[cst.AssignTarget(target=cst.Name())], value=value)]
        ) if value is op.node:
            if movable(trace, value, target):
                edit = MoveBefore(statement, statement, target.place)
                return Fix("build it before the loop", Safety.UNSAFE, (edit,))
            return None
    if not movable(trace, op.node, target):
        return None
    written = op.name.rpartition(".")[2] if isinstance(op.node, cst.Call) else "fetched"
    name = _free_name(trace, f"{written}_op")
    text = op.source.code(op.node).strip()
    if "\n" in text or "\r" in text:
        return None
    edits = (InsertBefore(target.place, (f"{name} = {text}",)), Replace(op.place, name))
    return Fix("build it before the loop", Safety.UNSAFE, edits)


def _free_name(trace: Trace, name: str) -> str:
    taken = {assign.path for assign in trace.assigns()}
    candidate, number = name, 2
    while candidate in taken or uses(trace.source.module, candidate):
        candidate, number = f"{name}_{number}", number + 1
    return candidate
