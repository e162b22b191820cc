"""A graph function is made anew in every round of a loop, and traced anew with it.

## What it does

Reports a `tf.function` (decorator or call) or a `K.function` that is made in every round of a loop and called there: in
the loop's body, or in a function that the loop calls. It is a warning where the function applies an optimizer, else a
note. Up to four rounds are let pass, and functions that a loop makes for later, one for each model.

## Why is this bad?

A new function has no graph yet, so every round traces. What applies an optimizer is never freed: TensorFlow's
registry of gradients keeps its graphs, some 3.6 MB each for a small network. Without an optimizer next to nothing stays
(0.1 MB), but the time of tracing is lost in every round.

## Example

```python
import tensorflow as tf
from tensorflow import keras

model = keras.Sequential([keras.Input((8,)), keras.layers.Dense(1)])
optimizer = keras.optimizers.Adam()
data = tf.data.Dataset.from_tensor_slices((tf.zeros((64, 8)), tf.zeros((64, 1)))).batch(8)

for epoch in range(100):

    @tf.function
    def train_step(x, y):
        with tf.GradientTape() as tape:
            loss = tf.reduce_mean(tf.square(model(x, training=True) - y))
        gradients = tape.gradient(loss, model.trainable_variables)
        optimizer.apply_gradients(zip(gradients, model.trainable_variables))

    for x, y in data:
        train_step(x, y)
```

## Use instead

```python
import tensorflow as tf
from tensorflow import keras

model = keras.Sequential([keras.Input((8,)), keras.layers.Dense(1)])
optimizer = keras.optimizers.Adam()
data = tf.data.Dataset.from_tensor_slices((tf.zeros((64, 8)), tf.zeros((64, 1)))).batch(8)


@tf.function
def train_step(x, y):
    with tf.GradientTape() as tape:
        loss = tf.reduce_mean(tf.square(model(x, training=True) - y))
    gradients = tape.gradient(loss, model.trainable_variables)
    optimizer.apply_gradients(zip(gradients, model.trainable_variables))


for epoch in range(100):
    for x, y in data:
        train_step(x, y)
```

## Fix safety

Unsafe: the definition moves before the loop, if it reads nothing that the loop binds. A function that is traced once
keeps what it saw then of Python's state.

## References

- <https://www.tensorflow.org/guide/function#creating_tffunctions_in_a_loop>
- <https://github.com/tensorflow/tensorflow/issues/50379>
"""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING

import libcst as cst

from oomlint.dryrun.imports import dotted
from oomlint.dryrun.queries.changing import changes_of
from oomlint.dryrun.queries.hoisting import movable, outermost_here
from oomlint.dryrun.queries.retracing import runs_eagerly
from oomlint.dryrun.queries.rounds import guarded, loops_around, rounds_of, site_in
from oomlint.dryrun.trace import Body, Call, Loop
from oomlint.dryrun.values.base import deref
from oomlint.dryrun.values.program import Function, Method
from oomlint.dryrun.values.training import Model
from oomlint.findings.model import Evidence, Fix, Rule, Safety, Severity
from oomlint.syntax.edits import MoveBefore

if TYPE_CHECKING:
    from collections.abc import Iterator

    from oomlint.dryrun.trace import Trace
    from oomlint.findings.model import Finding
    from oomlint.project.settings import Settings
    from oomlint.syntax.place import Place

RULE = Rule(
    code="OOM408",
    name="function-made-in-loop",
    severity=Severity.WARNING,
    fix=Safety.UNSAFE,
    literals=("function", "defun"),
)

FEW = 4
UPDATES = ("keras.Optimizer.apply_gradients", "keras.Optimizer.apply", "keras.Optimizer.minimize")


def check(trace: Trace, settings: Settings) -> Iterator[Finding]:
    """Each place that makes functions, once."""
    every = trace.calls("tf.function", "keras.backend.function")
    if not any(loops_around(made.context) for made in every):
        return
    seen: set[int] = set()
    eager = runs_eagerly(trace)
    changes = changes_of(trace)
    calls = _Calls(trace)
    for made in every:
        graph = made.name == "tf.function"
        if (graph and eager) or made.context.role("tf.function") is not None:
            continue
        loop = _loop(trace, calls, made)
        if loop is None or guarded(made.context, loop, made.node) or _by_a_layer(made):
            continue
        if not graph and any(changes.of(one.place.node, made.context) for one in made.arguments):
            continue  # a function for each layer: another one each time
        site = site_in(made.context, loop)
        place = site or made.place
        if id(place.node) in seen:
            continue
        seen.add(id(place.node))
        yield _finding(trace, made, loop, place, site is None)


def _loop(trace: Trace, calls: _Calls, made: Call) -> Loop | None:
    """The innermost loop in whose rounds a function is made and called, if there are more than a few rounds."""
    loops = loops_around(made.context)
    for index, loop in enumerate(loops):
        if loop.kind == "comprehension" or not calls.reach(made, loop):
            continue
        rounds = rounds_of(loops[index:])
        if (rounds is not None and rounds <= FEW) or _around_own_model(trace, made, loop):
            return None
        return loop
    return None


class _Calls:
    """Where functions that are made are called, by what names they are bound to."""

    def __init__(self, trace: Trace) -> None:
        self._trace = trace

    @cached_property
    def _names(self) -> dict[int, set[str]]:
        found: dict[int, set[str]] = {}
        for assign in self._trace.assigns():
            found.setdefault(id(deref(assign.value)), set()).add(assign.path)
        return found

    @cached_property
    def _of_name(self) -> dict[str, list[Call]]:
        found: dict[str, list[Call]] = {}
        for call in self._trace.all_calls():
            if isinstance(call.node, cst.Call):
                found.setdefault(dotted(call.node.func), []).append(call)
        return found

    @cached_property
    def _at_once(self) -> dict[int, list[Call]]:
        """`tf.function(model.call)(x)`: calls of what another call has just made."""
        found: dict[int, list[Call]] = {}
        for call in self._trace.all_calls():
            if isinstance(call.node, cst.Call) and isinstance(call.node.func, cst.Call):
                found.setdefault(id(call.node.func), []).append(call)
        return found

    def reach(self, made: Call, loop: Loop) -> bool:
        """Whether a function is called in the rounds of a loop."""
        for call in self._trace.calls("tf.function.call"):
            function = call.receiver
            if isinstance(function, Function) and function.traced is made and loop in call.context.loops():
                return True
        if isinstance(_function(made), Function):
            return False
        if any(loop in call.context.loops() for call in self._at_once.get(id(made.node), ())):
            return True
        names = {target for target in made.targets if target}
        names |= self._names.get(id(deref(made.result)), set())
        return any(loop in call.context.loops() for name in names for call in self._of_name.get(name, ()))


def _by_a_layer(made: Call) -> bool:
    """Whether a layer makes it when it is called: in the rounds that put a model together, one for each layer."""
    for body in made.context.all(Body):
        owner = body.function.owner
        if body.function.name == "call" and owner is not None:
            return any(base.startswith(("keras.layers.", "keras.Layer")) for base in owner.library_bases())
    return False


def _function(made: Call) -> Function | None:
    """The function of the program that became a graph function."""
    value = deref(made.result)
    if isinstance(value, Method):
        value = value.function or value
    return value if isinstance(value, Function) else None


def _inside(call: Call, made: Call, trace: Trace) -> bool:
    """Whether an event happens in the body of the function made."""
    return any(body.function.traced is made for body in call.context.all(Body))


def _around_own_model(trace: Trace, made: Call, loop: Loop) -> bool:
    """Whether it runs a model that the same round makes: another model needs another function (OOM406)."""
    for call in trace.calls("keras.Model.__call__"):
        model = deref(call.receiver) if call.receiver is not None else None
        if isinstance(model, Model) and model.context is not None and loop in model.context.loops():
            if _inside(call, made, trace):
                return True
    return False


def _finding(trace: Trace, made: Call, loop: Loop, place: Place, here: bool) -> Finding:
    update = next((call for call in trace.calls(*UPDATES) if _inside(call, made, trace)), None)
    rounds = rounds_of(loops_around(made.context))
    often = "every round of a loop" if rounds is None else f"each of {rounds:,} rounds of a loop"
    what = "`K.function`" if made.name != "tf.function" else "`tf.function`"
    evidence = [Evidence("the loop", loop.place)]
    if not here:
        evidence.append(Evidence("made here", made.place))
    if update is not None:
        evidence.append(Evidence("it applies an optimizer: none of its graphs is ever freed", update.place))
        cost = "all their graphs stay in memory"
    else:
        cost = "each is traced again"
    return RULE.finding(
        place,
        f"a new {what} is made in {often}: {cost}",
        evidence=evidence,
        help="make it once before the loop; what changes from round to round becomes an argument (a tensor)",
        fix=_fix(trace, made) if here else None,
        severity=Severity.WARNING if update is not None else Severity.NOTE,
    )


def _fix(trace: Trace, made: Call) -> Fix | None:
    """Move the definition, or the assignment that is nothing else, before the loop."""
    statement, target = made.statement, outermost_here(made.context)
    if statement is None or target is None or statement.source is not trace.source:
        return None
    moved = statement.node
    match moved:
        case cst.FunctionDef():
            pass
        case cst.SimpleStatementLine(
            body=[
                cst.Assign(targets=[cst.AssignTarget(target=cst.Name())], value=value)
                | cst.AnnAssign(target=cst.Name(), value=value)
            ]
        ):
            if value is not made.node:
                return None
            moved = value
        case _:
            return None
    if not movable(trace, moved, target):
        return None
    return Fix("make it before the loop", Safety.UNSAFE, (MoveBefore(statement, statement, target.place),))
