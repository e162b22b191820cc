"""A gradient tape stays open for a loop over batches, or is asked for gradients it no longer has.

## What it does

Reports a `GradientTape` with a loop over batches inside; a persistent tape whose `gradient` is called inside
its own block without being differentiated again; and a second `gradient` on a tape that is not persistent.

## Why is this bad?

A tape keeps the activations of everything it sees. Around a loop over batches it holds those of every batch
at once: the memory that small batches were to save. A persistent tape goes on recording while it computes
gradients, and keeps that too. A tape that is not persistent ends its recording with the first `gradient`,
so where that call stands costs nothing; but the second one raises `RuntimeError`.

## Example

```python
import tensorflow as tf
from tensorflow import keras

model = keras.applications.ResNet50(weights=None, classes=10)
optimizer = keras.optimizers.Adam()
cross = keras.losses.SparseCategoricalCrossentropy()
data = keras.utils.image_dataset_from_directory("food", image_size=(224, 224), batch_size=32)

with tf.GradientTape() as tape:
    loss = 0.0
    for x, y in data:
        loss += cross(y, model(x, training=True))
gradients = tape.gradient(loss, model.trainable_variables)
optimizer.apply_gradients(zip(gradients, model.trainable_variables))
```

## Use instead

```python
import tensorflow as tf
from tensorflow import keras

model = keras.applications.ResNet50(weights=None, classes=10)
optimizer = keras.optimizers.Adam()
cross = keras.losses.SparseCategoricalCrossentropy()
data = keras.utils.image_dataset_from_directory("food", image_size=(224, 224), batch_size=32)

for x, y in data:
    with tf.GradientTape() as tape:
        loss = cross(y, model(x, training=True))
    gradients = tape.gradient(loss, model.trainable_variables)
    optimizer.apply_gradients(zip(gradients, model.trainable_variables))
```

## Fix safety

Unsafe, where there is one: the tape moves into the loop if the gradients are applied there already, gets
`persistent=True` if two gradients are taken from it, or the gradient calls move out of its block. One
update for the whole loop is rewritten by hand: sum the gradients of the rounds, each with a tape of its own.

## References

- <https://www.tensorflow.org/api_docs/python/tf/GradientTape>
- <https://github.com/tensorflow/docs/pull/1391>
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import libcst as cst
from oomlint.rules.training_loop.batches import FORWARD, fed_to_losses, over_batches
from oomlint.rules.training_loop.updates import updates

from oomlint.dryrun.trace import Body, Branch, Call, Context, Loop, Try, Within
from oomlint.dryrun.values.base import Const, Opaque, Unknown, deref
from oomlint.dryrun.values.training import STOPPED, Gradients, Tape
from oomlint.findings.model import Evidence, Finding, Fix, Rule, Safety, Severity
from oomlint.syntax.blocks import rows_of
from oomlint.syntax.edits import AddArgument, Edit, InsertBefore, MoveAfter, RemoveStatement

if TYPE_CHECKING:
    from oomlint.dryrun import Trace
    from oomlint.project.settings import Settings

RULE = Rule(
    code="OOM404",
    name="tape-around-loop",
    severity=Severity.WARNING,
    fix=Safety.UNSAFE,
    literals=("GradientTape",),
)


def check(trace: Trace, settings: Settings) -> Iterator[Finding]:
    """Each tape by the place that makes it, with the gravest of what is wrong with it."""
    made: dict[int, list[Tape]] = {}
    for call in trace.calls("tf.GradientTape"):
        tape = deref(call.result)
        if isinstance(tape, Tape):
            made.setdefault(id(call.node), []).append(tape)
    applied = {
        id(value.made_by.node)
        for update in updates(trace)
        for value in update.gradients
        if isinstance(value, Gradients) and value.made_by is not None and not value.mixed
    }
    loops = _loops_in_tapes(trace)
    for tapes in made.values():
        finding = (
            _second_gradient(tapes)
            or next((_around(trace, tape, *loops[id(tape)]) for tape in tapes if id(tape) in loops), None)
            or _inside_persistent(tapes, applied)
        )
        if finding is not None:
            yield finding


def _persistent(tape: Tape) -> bool | None:
    value = deref(tape.persistent)
    return bool(value.value) if isinstance(value, Const) else None


# --- a second gradient ------------------------------------------------------------------------------


def _second_gradient(tapes: list[Tape]) -> Finding | None:
    """A tape that is not persistent and is asked twice: the second time raises."""
    for tape in tapes:
        if _persistent(tape) is not False or tape.made_by is None or tape.context is None:
            continue
        line = tape.made_by.statement
        if line is None or not isinstance(line.node, cst.With):
            continue  # entered elsewhere, maybe once per round
        around = {id(frame) for frame in tape.context.frames()}
        made_in = tape.context.loops()
        for position, call in enumerate(tape.gradients):
            if made_in and made_in[0] not in call.context.loops():
                continue  # one of the tapes that a loop made and kept
            if any(isinstance(frame, Try) and id(frame) not in around for frame in call.context.frames()):
                continue  # shown on purpose
            first = next((one for one in tape.gradients[:position] if _always(one, call)), None)
            if first is not None and first.node is not call.node:
                edit: tuple[Edit, ...] = (AddArgument(tape.made_by.place, "persistent=True"),)
                fix = Fix("make the tape persistent", Safety.UNSAFE, edit)
                return _error(call, "the first gradient is taken here", first, fix)
            if any(isinstance(frame, Loop) and id(frame) not in around for frame in call.context.frames()):
                return _error(
                    call, "the loop goes on with the same tape", tape.made_by, _swapped(line.node, tape)
                )
    return None


def _always(one: Call, other: Call) -> bool:
    """Whether both calls are on every way on which one of them is."""

    def branches(context: Context) -> set[int]:
        return {id(frame) for frame in context.frames() if isinstance(frame, Branch)}

    return branches(one.context) == branches(other.context)


def _error(call: Call, text: str, because: Call, fix: Fix | None) -> Finding:
    return RULE.finding(
        call.place,
        "this tape is not persistent and its gradient was taken before: the second call raises RuntimeError",
        evidence=[Evidence(text, because.place)],
        help="open a tape per step, or make it persistent where one computation needs two gradients",
        fix=fix,
        severity=Severity.ERROR,
    )


def _swapped(block: cst.With, tape: Tape) -> Fix | None:
    """`with tape: for batch in data: ...` with the loop outside."""
    made = tape.made_by
    assert made is not None
    match made.source.written(block):
        case cst.With(body=cst.IndentedBlock(body=[cst.For(orelse=None) as loop])) as whole:
            inner = whole.with_changes(body=loop.body, leading_lines=())
            outer = loop.with_changes(body=cst.IndentedBlock(body=[inner]), leading_lines=whole.leading_lines)
            place = made.source.place(block)
            edits = (
                InsertBefore(place, rows_of(outer.with_changes(leading_lines=()))),
                RemoveStatement(place),
            )
            return Fix("open a tape for every batch", Safety.UNSAFE, edits)
    return None


# --- a loop over batches --------------------------------------------------------------------------------


def _loops_in_tapes(trace: Trace) -> dict[int, tuple[Loop, Call]]:
    """For each tape, the first loop over batches inside it whose rounds run a model."""
    found: dict[int, tuple[Loop, Call]] = {}
    nested = {
        id(frame)
        for call in trace.calls("tf.GradientTape")
        for frame in call.context.frames()
        if isinstance(frame, Loop)
    }
    fed = fed_to_losses(trace)
    for call in trace.calls(*FORWARD):
        loops: list[Loop] = []
        elsewhere = False
        for frame in call.context.frames():
            if isinstance(frame, Loop):
                loops.append(frame)
            elif isinstance(frame, Body):
                elsewhere = True
            elif isinstance(frame, Within) and isinstance(tape := deref(frame.manager), Tape):
                for loop in loops:
                    if (
                        id(loop) not in nested
                        and id(tape) not in found
                        and over_batches(trace, call, loop, elsewhere, id(deref(call.result)) in fed)
                    ):
                        found[id(tape)] = (loop, call)
                break
    return found


def _around(trace: Trace, tape: Tape, loop: Loop, call: Call) -> Finding | None:
    if tape.made_by is None:
        return None
    rounds = f"all {loop.trip.value:,} of them" if loop.trip is not None else "every one of them"
    return RULE.finding(
        tape.made_by.place,
        f"this tape stays open for a loop over batches and holds the activations of {rounds} at once",
        evidence=[Evidence("the loop over batches", loop.place), Evidence("run in every round", call.place)],
        help="open the tape inside the loop, take the gradient there, and add up the gradients if one update is meant",
    )


# --- gradient() inside a persistent tape ----------------------------------------------------------------


def _inside_persistent(tapes: list[Tape], applied: set[int]) -> Finding | None:
    for tape in tapes:
        if not _persistent(tape) or tape.made_by is None:
            continue
        if any(isinstance(deref(call.value("target") or Unknown()), Gradients) for call in tape.gradients):
            continue  # differentiated again
        for call in tape.gradients:
            around = [deref(frame.manager) for frame in call.context.all(Within)]
            managers = [manager for manager in around if isinstance(manager, Tape)]
            if any(isinstance(manager, Opaque) and manager.type == STOPPED for manager in around):
                continue
            if managers and all(manager is tape for manager in managers) and id(call.node) in applied:
                return RULE.finding(
                    call.place,
                    "a persistent tape goes on recording while it computes this gradient, and keeps that too",
                    evidence=[Evidence("the tape is still open here", tape.made_by.place)],
                    help="take the gradients after the `with` block",
                    fix=_moved_out(tape, call),
                )
    return None


def _moved_out(tape: Tape, call: Call) -> Fix | None:
    """The statements from the first gradient on, behind the block."""
    made = tape.made_by
    assert made is not None
    block = made.statement.node if made.statement is not None else None
    if (
        not isinstance(block, cst.With)
        or not isinstance(block.body, cst.IndentedBlock)
        or call.statement is None
    ):
        return None
    body = list(block.body.body)
    start = next((index for index, line in enumerate(body) if line is call.statement.node), None)
    if start is None or start == 0:
        return None
    place = made.source.place
    edits = (MoveAfter(place(body[start]), place(body[-1]), place(block)),)
    return Fix("take the gradients after the block", Safety.UNSAFE, edits)
