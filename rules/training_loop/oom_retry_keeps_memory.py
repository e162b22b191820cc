"""Training is tried again after running out of memory while the failed attempt still holds its memory.

## What it does

Reports a training call whose out-of-memory error (or any error) is caught so that the next attempt is made or
prepared inside the `except` block, or made with a newly built model; as an error where it can never end. Where the
block only makes the batch smaller, which takes no memory, it is a note on the weights that the failed attempt left.

## Why is this bad?

Inside the handler the exception's traceback keeps the frames of the failed attempt alive, with all that they
hold: an attempt started there runs beside the failed one, and neither `gc.collect()` nor `clear_session()` helps
before the block is left. A model that is built and compiled per attempt leaves its weights, optimizer
state and graph behind even then. And what a failed attempt had already trained stays in the weights: the
attempt that succeeds does not start where it says.

## Example

```python
import tensorflow as tf
from tensorflow import keras

model = keras.applications.ResNet50(weights=None, classes=10)
model.compile(optimizer="adam", loss="sparse_categorical_crossentropy")
data = keras.utils.image_dataset_from_directory("food", image_size=(224, 224), batch_size=None)


def train(batch_size):
    try:
        model.fit(data.batch(batch_size), epochs=10)
    except tf.errors.ResourceExhaustedError:
        train(batch_size // 2)


train(256)
```

## Use instead

```python
import tensorflow as tf
from tensorflow import keras

model = keras.applications.ResNet50(weights=None, classes=10)
model.compile(optimizer="adam", loss="sparse_categorical_crossentropy")
data = keras.utils.image_dataset_from_directory("food", image_size=(224, 224), batch_size=None)
start = model.get_weights()

batch_size = 256
while batch_size >= 1:
    out_of_memory = False
    try:
        model.fit(data.batch(batch_size), epochs=10)
    except tf.errors.ResourceExhaustedError:
        out_of_memory = True
    if not out_of_memory:
        break
    batch_size //= 2
    model.set_weights(start)
```

A process of its own per attempt gives everything back, whatever the attempt did.

## Fix safety

Unsafe: the fix moves the handler's statements behind the `try` statement, where the traceback is gone. It is
offered where the attempt leaves the loop when it succeeds and the handler uses neither the exception nor a bare
`raise`. Resetting the weights between attempts, and building the model once, are for you to add.

## References

- <https://docs.python.org/3/reference/compound_stmts.html#except-clause>
- <https://www.tensorflow.org/api_docs/python/tf/errors/ResourceExhaustedError>
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import libcst as cst
from oomlint.rules.training_loop import attempts

from oomlint.dryrun.trace import Call, Handler, Loop
from oomlint.findings.model import Evidence, Finding, Fix, Rule, Safety, Severity
from oomlint.syntax.edits import MoveAfter
from oomlint.syntax.uses import uses

if TYPE_CHECKING:
    from oomlint.dryrun import Trace
    from oomlint.project.settings import Settings

RULE = Rule(
    code="OOM412",
    name="oom-retry-keeps-memory",
    severity=Severity.WARNING,
    fix=Safety.UNSAFE,
    literals=("fit", "fit_generator", "train_on_batch", "apply_gradients"),
)

RESETS = ("keras.Model.set_weights", "keras.Model.load_weights")


def check(trace: Trace, settings: Settings) -> Iterator[Finding]:
    """Each handler once, by the gravest of what it does."""
    tried: dict[int, attempts.Attempt] = {}
    for item in attempts.attempts(trace):
        tried.setdefault(id(item.facts.place.node), item)
    again: dict[int, Call] = {}
    for call in trace.calls(*attempts.TRAINS):
        for frame in call.context.all(Handler):
            again.setdefault(id(frame.facts.place.node), call)
    for key, item in tried.items():
        retry = again.get(key)
        if retry is not None and item.broad and attempts.same_batch(item.call, retry):
            continue  # an interrupted run that is resumed: what failed was not the batch
        finding = _in_handler(item, retry) if retry is not None else _in_loop(trace, item)
        if finding is not None:
            yield finding


# --- trained again in the handler ----------------------------------------------------------------------


def _in_handler(item: attempts.Attempt, call: Call) -> Finding:
    return RULE.finding(
        item.facts.place,
        "training is tried again inside the handler, while the failed attempt still holds its memory",
        evidence=[
            Evidence("the attempt that may fail", item.call.place),
            Evidence("tried again here, with the failed attempt's frames still alive", call.place),
        ],
        help="only note the failure in the handler, leave it, and train again after the `try` statement",
    )


# --- a loop of attempts ---------------------------------------------------------------------------------


def _in_loop(trace: Trace, item: attempts.Attempt) -> Finding | None:
    loop = attempts.loop_around(item)
    attempt = item.attempt.place.node
    if loop is None or not isinstance(attempt, cst.Try) or attempts.leaves(item.handler.body):
        return None
    if not attempts.ends_on_success(attempt, loop.place.node):
        return None
    prepared = attempts.assigned(item.handler.body)
    reads = [name for name in prepared if attempts.read_by_attempt(loop.place.node, attempt, name)]
    rebuilt = attempts.rebuilt_in(item.call, loop)
    if attempts.endless(item, loop, reads):
        return RULE.finding(
            item.facts.place,
            "this loop cannot end: an attempt that does not fit is made again for ever",
            evidence=[Evidence("the attempt", item.call.place)],
            help="raise when the smallest batch does not fit, and change something between the attempts",
            severity=Severity.ERROR,
        )
    if rebuilt is not None:
        return RULE.finding(
            item.facts.place,
            "every attempt builds its model anew, and what the failed ones built is not given back",
            evidence=[
                Evidence("built here, once per attempt", rebuilt.place),
                Evidence("`clear_session()`, `del` and `gc.collect()` do not free a model that was trained"),
            ],
            help="build and compile one model before the loop and reset its weights, or make each attempt a process",
        )
    if not reads:
        return None
    if attempts.only_numbers(item.handler.body, reads):
        return None if _weights_reset(trace, loop) else _weights_kept(item)
    return RULE.finding(
        item.facts.place,
        f"the next attempt is prepared inside the handler (`{reads[0]}`), which holds the failed one's memory, "
        "and it goes on from the weights that the failed one left",
        evidence=[Evidence("the attempt that may fail", item.call.place)],
        help="only note the failure in the handler; after the `try`, make the batch smaller and reset the weights "
        "(`set_weights`), or make each attempt a process of its own",
        fix=_fix(item, attempt),
    )


def _weights_kept(item: attempts.Attempt) -> Finding:
    return RULE.finding(
        item.facts.place,
        "the next attempt goes on from the weights that the failed one left: training starts with steps of another "
        "batch size",
        evidence=[Evidence("the attempt that may fail", item.call.place)],
        help="keep `model.get_weights()` from before, and `set_weights` after the `try`; do no more than this in the "
        "handler, where the failed attempt's memory is still held",
        severity=Severity.NOTE,
    )


def _weights_reset(trace: Trace, loop: Loop) -> bool:
    return any(loop in call.context.loops() for call in trace.calls(*RESETS))


def _fix(item: attempts.Attempt, attempt: cst.Try) -> Fix | None:
    """The handler's statements, moved behind the `try` statement."""
    handler = item.handler
    last = list(attempts.statements(attempt.orelse.body if attempt.orelse is not None else attempt.body))[-1:]
    if not last or not isinstance(last[0], cst.Break | cst.Return):
        return None  # a success would run them too
    if (
        len(attempt.handlers) != 1
        or attempt.finalbody is not None
        or not isinstance(handler.body, cst.IndentedBlock)
    ):
        return None
    if any(isinstance(node, cst.Raise) and node.exc is None for node in attempts.statements(handler.body)):
        return None
    if handler.name is not None and uses(handler.body, attempts.names_of(handler.name.name)[0]):
        return None
    source = item.facts.place.source
    first, behind = source.place(handler.body.body[0]), source.place(handler.body.body[-1])
    edits = (MoveAfter(first, behind, source.place(attempt)),)
    return Fix("prepare the next attempt after the handler", Safety.UNSAFE, edits)
