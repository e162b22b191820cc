"""A gradient tape is persistent for a single gradient, or is kept in a list or attribute.

## What it does

Reports `GradientTape(persistent=True)` whose `gradient` is called once, and tapes that are stored where they
outlive the step.

## Why is this bad?

A tape holds the activations of what it recorded. One that is not persistent lets go of them when `gradient`
is called, a persistent one when the last name for it goes: with one gradient per tape that only comes
later, which is a note. A tape in a list or an attribute keeps the activations of its step alive for as long
as it is kept there, so memory grows by a step's activations each time.

## Example

```python
import tensorflow as tf
from tensorflow import keras

model = keras.Sequential([keras.Input((32,)), keras.layers.Dense(1)])
x = tf.random.normal((8, 32))

with tf.GradientTape(persistent=True) as tape:
    loss = tf.reduce_mean(model(x))
gradients = tape.gradient(loss, model.trainable_variables)
```

## Use instead

```python
import tensorflow as tf
from tensorflow import keras

model = keras.Sequential([keras.Input((32,)), keras.layers.Dense(1)])
x = tf.random.normal((8, 32))

with tf.GradientTape() as tape:
    loss = tf.reduce_mean(model(x))
gradients = tape.gradient(loss, model.trainable_variables)
```

## Fix safety

Safe where `gradient` is called once and nothing else gets hold of the tape: the gradients are the same
numbers. Jacobians, tapes handed to other code and tapes that are kept are left alone.

## References

- <https://www.tensorflow.org/api_docs/python/tf/GradientTape>
- <https://github.com/sql-machine-learning/elasticdl/issues/1144>
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import libcst as cst
from oomlint.rules.training_loop.batches import is_dataset

from oomlint.dryrun.trace import Call, Loop
from oomlint.dryrun.values.base import Const, Sequence, deref, parts_of
from oomlint.dryrun.values.training import Tape
from oomlint.findings.model import Evidence, Finding, Fix, Rule, Safety, Severity
from oomlint.syntax.edits import RemoveArgument
from oomlint.syntax.uses import Use, uses

if TYPE_CHECKING:
    from oomlint.dryrun import Trace
    from oomlint.project.settings import Settings
    from oomlint.syntax.place import Place

RULE = Rule(
    code="OOM405",
    name="persistent-tape",
    severity=Severity.NOTE,
    fix=Safety.SAFE,
    literals=("GradientTape",),
)

# What may be done with a tape's name without letting go of the tape.
OWN_USES = frozenset({"gradient", "watch", "stop_recording", "reset", "watched_variables"})
KEEPERS = ("builtins.list.append", "builtins.list.add", "builtins.list.insert", "operator.setitem")


def check(trace: Trace, settings: Settings) -> Iterator[Finding]:
    """Tapes by the place that makes them: one gradient each, or kept."""
    made: dict[int, list[Call]] = {}
    for call in trace.calls("tf.GradientTape"):
        made.setdefault(id(call.node), []).append(call)
    if not made:
        return
    kept = _kept(trace)
    names: dict[int, set[str]] = {}
    for assign in trace.assigns():
        if isinstance(deref(assign.value), Tape):
            names.setdefault(id(deref(assign.value)), set()).add(assign.path)
    differentiated = {
        id(deref(call.receiver))
        for call in trace.calls("tf.GradientTape.jacobian", "tf.GradientTape.batch_jacobian")
        if call.receiver is not None
    }
    known: dict[tuple[int, str], bool] = {}
    for calls in made.values():
        tapes = [tape for call in calls if isinstance(tape := deref(call.result), Tape)]
        where = next((kept[id(tape)] for tape in tapes if id(tape) in kept), None)
        if where is not None:
            yield from _kept_finding(trace, tapes, *where)
        elif not any(id(tape) in differentiated for tape in tapes):
            bound = set().union(*(names.get(id(tape), ()) for tape in tapes))
            yield from _single_finding(tapes, bound, known)


def _persistent(tape: Tape) -> bool:
    value = deref(tape.persistent)
    return isinstance(value, Const) and bool(value.value)


def _kept(trace: Trace) -> dict[int, tuple[str, Place]]:
    """Tapes that are stored in a container or an attribute: where, and the place that does it."""
    kept: dict[int, tuple[str, Place]] = {}
    for call in trace.calls(*KEEPERS):
        # Also with something beside it: `kept.append((tape, loss))`.
        for part in parts_of(deref(call.arguments[-1].value)) if call.arguments else ():
            if isinstance(part, Tape) and _outlives(call, part):
                kept[id(part)] = (call.path or "a container", call.place)
    for assign in trace.assigns():
        value = deref(assign.value)
        if isinstance(value, Tape) and "." in assign.path and _persistent(value):
            kept[id(value)] = (assign.path, assign.place)
    return kept


def _outlives(call: Call, tape: Tape) -> bool:
    """Whether a container was there before the loop whose round made the tape, or belongs to an object."""
    if call.path is not None and "." in call.path:
        return True
    container = deref(call.receiver) if call.receiver is not None else None
    made = getattr(container, "context", None)
    if tape.context is None or (isinstance(container, Sequence) and made is None):
        return False
    before = {id(frame) for frame in made.frames()} if made is not None else set()
    return any(isinstance(frame, Loop) and id(frame) not in before for frame in tape.context.frames())


def _kept_finding(trace: Trace, tapes: list[Tape], where: str, place: Place) -> Iterator[Finding]:
    tape = tapes[0]
    if tape.made_by is None or (not _persistent(tape) and any(_let_go(trace, item) for item in tapes)):
        return
    yield RULE.finding(
        tape.made_by.place,
        f"this tape is kept in `{where}`, and with it the activations of its step",
        evidence=[Evidence(f"stored in `{where}` here", place)],
        help="take the gradient in the step that made the tape and keep the gradients, or nothing",
        severity=Severity.WARNING,
    )


def _let_go(trace: Trace, tape: Tape) -> bool:
    """Whether its gradient lets go of it before there are many: taken in the round that made it, or of a few tasks."""
    loops = tape.context.loops() if tape.context is not None else []
    if not loops or loops[0].iterable is None or not is_dataset(trace, loops[0].iterable, 0):
        return bool(tape.gradients)
    return any(loops[0] in call.context.loops() for call in tape.gradients)


def _single_finding(
    tapes: list[Tape], names: set[str], known: dict[tuple[int, str], bool]
) -> Iterator[Finding]:
    first = tapes[0] if tapes else None
    if first is None or first.made_by is None or not all(_persistent(tape) for tape in tapes):
        return
    gradients = [call for tape in tapes for call in tape.gradients]
    if any(len(tape.gradients) > 1 for tape in tapes) or len({id(call.node) for call in gradients}) != 1:
        return
    call = gradients[0]
    around = {id(frame) for frame in first.context.frames()} if first.context is not None else set()
    if any(isinstance(frame, Loop) and id(frame) not in around for frame in call.context.frames()):
        return  # one line, many gradients
    if not _stays(first.made_by, names, known):
        return
    argument = first.made_by.argument("persistent")
    fix = None
    if argument is not None and argument.arg is not None and not argument.arg.star:
        edit = RemoveArgument(first.made_by.place, argument.arg)
        fix = Fix("drop `persistent`", Safety.SAFE, (edit,))
    yield RULE.finding(
        first.made_by.place,
        "this tape is persistent for a single gradient, so its activations stay until the tape itself goes",
        evidence=[Evidence("the only gradient taken from it", call.place)],
        help="drop `persistent`: the tape then lets go of them when the gradient is taken",
        fix=fix,
    )


def _stays(made: Call, names: set[str], known: dict[tuple[int, str], bool]) -> bool:
    """Whether the tape has one plain name that is only used for what tapes do."""
    if len(names) != 1:
        return False
    function = made.context.function()
    block: cst.CSTNode = function.node if function is not None else made.source.module
    name = next(iter(names))
    key = (id(block), name)
    if key not in known:
        known[key] = all(_is_own(use) for use in uses(block, name))
    return known[key]


def _is_own(use: Use) -> bool:
    match use.parent:
        case cst.Attribute(attr=cst.Name(value=method)):
            return method in OWN_USES
        case cst.AsName() | cst.WithItem() | cst.Del() | cst.AssignTarget() | cst.AnnAssign():
            return True
    return False
