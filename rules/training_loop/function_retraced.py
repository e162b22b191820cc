"""A `tf.function` gets a Python value that changes with every call, and is traced anew for each.

## What it does

Reports a `tf.function` that is called in a loop with a Python number, a string, a list that grows or is as long as an
episode, a new object, a lambda, a bound method, or a tensor whose length changes: anything for which the graph that was
traced before does not fit. Up to four values, or sixteen that a list spells out, are let pass, as are flags, and what
is a tensor already: NumPy scalars, `.numpy()`, items of `np.arange`, whatever an `input_signature` converts.

## Why is this bad?

A Python value is a constant in the graph, so a new value means a new graph. Twenty calls with twenty numbers make
twenty graphs, and all of them are kept as long as the function lives: some 8 MB and 0.6 s for each in the training step
of a network of ten layers. TensorFlow warns about it after the fifth.

Taking `@tf.function` away makes the growth stop, but only hides what caused it, and the step is slower for good. Give
the function a tensor: its value is an input of the one graph. `reduce_retracing=True` helps with shapes, not with
numbers.

## Example

```python
import tensorflow as tf


@tf.function
def train_step(x, step):
    return tf.reduce_sum(x) / tf.cast(step + 1, tf.float32)


for step in range(10_000):
    train_step(tf.random.normal((32, 8)), step)
```

## Use instead

```python
import tensorflow as tf


@tf.function
def train_step(x, step):
    return tf.reduce_sum(x) / tf.cast(step + 1, tf.float32)


for step in tf.range(10_000):
    train_step(tf.random.normal((32, 8)), step)
```

## Fix safety

Unsafe: `tf.constant(...)` goes around the number. Inside the function it is a tensor then: Python code that used it as
a number, a shape or a key no longer works, and an integer does not mix with floats without `tf.cast`. It is offered for
floats, and for integers where the function only compares, casts or counts with them.

## References

- <https://www.tensorflow.org/guide/function#controlling_retracing>
- <https://github.com/tensorflow/addons/issues/807>
- <https://github.com/tensorflow/tensorflow/issues/31175>
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from oomlint.dryrun.queries.retracing import Retraced, retraced
from oomlint.findings.model import Evidence, Fix, Rule, Safety, Severity
from oomlint.findings.pipeline_fixes import tensorflow_name
from oomlint.syntax.edits import Wrap

if TYPE_CHECKING:
    from collections.abc import Iterator

    from oomlint.dryrun.trace import Trace
    from oomlint.findings.model import Finding
    from oomlint.project.settings import Settings

RULE = Rule(
    code="OOM407",
    name="function-retraced",
    severity=Severity.WARNING,
    fix=Safety.UNSAFE,
    literals=("function", "defun"),
)

HELP = {
    "number": "pass a tensor (`tf.constant`, `tf.range` instead of `range`, `optimizer.iterations`) or give the "
    "function an `input_signature`",
    "numbers": "pass one tensor (`tf.constant`) of them, padded to one length, or give the function an "
    "`input_signature` with None for the length",
    "string": "keep what needs the text outside of the function, or pass a tensor",
    "callable": "make it once before the loop, or let the function close over it",
    "object": "make it once before the loop, and pass the tensors in it",
    "list": "pass one tensor (`tf.stack`) of a shape that does not change, or call the function on the new part",
    "shape": "pad to one length, or give the function an `input_signature` with None for that dimension "
    "(or `reduce_retracing=True`)",
}  # fmt: skip


def check(trace: Trace, settings: Settings) -> Iterator[Finding]:
    """Each argument that changes, at its place; a call on several lines has one for each."""
    for found in retraced(trace):
        evidence = [Evidence("the loop", found.change.loop.place)]
        if found.change.place.node is not found.place.node and found.kind != "shape":
            evidence.append(Evidence("it changes here", found.change.place))
        if found.traced is not None:
            evidence.append(Evidence("made a graph function here", found.traced))
        yield RULE.finding(
            found.place,
            f"`{found.name}` is traced again for {found.what}: {_how_often(found)}, each kept",
            evidence=evidence,
            help=HELP[found.kind],
            fix=_fix(trace, found),
        )


def _how_often(found: Retraced) -> str:
    values = found.change.values
    return "a new graph in every round" if values is None else f"up to {values:,} graphs"


def _fix(trace: Trace, found: Retraced) -> Fix | None:
    name = tensorflow_name(trace)
    if name is None or not found.convertible or found.place.source is not trace.source:
        return None
    return Fix("pass a tensor", Safety.UNSAFE, (Wrap(found.place, f"{name}.constant(", ")"),))
