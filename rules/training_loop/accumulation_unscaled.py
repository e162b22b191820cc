"""Gradients are summed over N steps and applied without a division by N, or never set to zero.

## What it does

Reports gradient accumulation that applies the sum of N steps where the mean was meant; accumulators that
are applied and never set to zero again; and, under a mirrored strategy, `gradient_accumulation_steps` or an
update inside a condition of the graph.

## Why is this bad?

With SGD the sum is a learning rate N times larger. Adam and its kin divide the factor out, unless gradients
are clipped: clipping sees the sum. An accumulator that is never reset applies every gradient since the start
of the run, over and over. And under `MirroredStrategy` or `MultiWorkerMirroredStrategy` the optimizer's own
argument ends in "`merge_call` called while defining a new graph", even on one GPU; so does an update that
`tf.cond`, or an `if` on a tensor, makes every N steps.

## Example

```python
import tensorflow as tf
from tensorflow import keras

model = keras.Sequential([keras.Input((32,)), keras.layers.Dense(1)])
optimizer = keras.optimizers.SGD(0.01)
mse = keras.losses.MeanSquaredError()
data = tf.data.Dataset.from_tensor_slices((tf.zeros((64, 32)), tf.zeros((64, 1)))).batch(8)

sums = [tf.zeros_like(v) for v in model.trainable_variables]
for step, (x, y) in enumerate(data):
    with tf.GradientTape() as tape:
        loss = mse(y, model(x, training=True))
    gradients = tape.gradient(loss, model.trainable_variables)
    sums = [s + g for s, g in zip(sums, gradients)]
    if (step + 1) % 4 == 0:
        optimizer.apply_gradients(zip(sums, model.trainable_variables))
        sums = [tf.zeros_like(v) for v in model.trainable_variables]
```

## Use instead

```python
import tensorflow as tf
from tensorflow import keras

model = keras.Sequential([keras.Input((32,)), keras.layers.Dense(1)])
optimizer = keras.optimizers.SGD(0.01)
mse = keras.losses.MeanSquaredError()
data = tf.data.Dataset.from_tensor_slices((tf.zeros((64, 32)), tf.zeros((64, 1)))).batch(8)

sums = [tf.zeros_like(v) for v in model.trainable_variables]
for step, (x, y) in enumerate(data):
    with tf.GradientTape() as tape:
        loss = mse(y, model(x, training=True))
    gradients = tape.gradient(loss, model.trainable_variables)
    sums = [s + g for s, g in zip(sums, gradients)]
    if (step + 1) % 4 == 0:
        optimizer.apply_gradients(zip([s / 4 for s in sums], model.trainable_variables))
        sums = [tf.zeros_like(v) for v in model.trainable_variables]
```

## Fix safety

Unsafe: dividing by N makes every update N times smaller with SGD; a learning rate that was tuned for the sum
must then be raised. Accumulators that are never reset and the argument under a strategy are reported only:
where the reset belongs, and what replaces the argument, depends on the loop.

## References

- <https://keras.io/api/optimizers/#optimizer>
- <https://www.tensorflow.org/tutorials/distribute/custom_training>
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import libcst as cst
from oomlint.rules.training_loop import batches, rounds, updates

from oomlint.dryrun.queries.losses import unwrapped
from oomlint.dryrun.trace import Body, Branch, Loop
from oomlint.dryrun.values.arrays import Array
from oomlint.dryrun.values.base import Sequence, Value, deref
from oomlint.dryrun.values.training import Gradients, Optimizer, Strategy, StrategyScope
from oomlint.findings.model import Evidence, Finding, Fix, Rule, Safety, Severity
from oomlint.syntax.edits import Replace

if TYPE_CHECKING:
    from oomlint.dryrun import Trace
    from oomlint.project.settings import Settings

RULE = Rule(
    code="OOM402",
    name="accumulation-unscaled",
    severity=Severity.WARNING,
    fix=Safety.UNSAFE,
    literals=("apply_gradients", "apply", "gradient_accumulation_steps"),
)

ARGUMENT = "gradient_accumulation_steps"


def check(trace: Trace, settings: Settings) -> Iterator[Finding]:
    """The optimizer's own accumulation under a strategy, then the sums made by hand."""
    yield from _under_a_strategy(trace)
    yield from _conditional_under_a_strategy(trace)
    over: set[int] | None = None
    for update in updates.updates(trace):
        found = _accumulated(trace, update)
        if found is None:
            continue
        accumulator, gradients = found
        if over is None:  # most scripts have no such update, and this looks at every loop
            over = _batch_loops(trace)
        each = _round(gradients, over)
        if each is None:
            continue
        around = each if each.loop is None else rounds.Round(rounds.innermost(update.call.context))
        counted = each.loop is None or around.loop is not None
        if counted and not _is_reset(trace, update, accumulator, around):
            yield _never_reset(update, gradients, each)
        elif not _averaged(gradients):
            steps = rounds.steps_of(trace, update, each)
            if steps is not None:
                yield _unscaled(update, gradients, each, steps)


def _round(gradients: Gradients, over: set[int]) -> rounds.Round | None:
    """What brings a new batch for these gradients, if it is known that something does."""
    made = gradients.made_by
    if made is None:
        return None
    loop = rounds.innermost(made.context)
    if loop is not None and id(loop.place.node) in over:
        return rounds.Round(loop)
    return rounds.Round(None) if rounds.in_train_step(made.context) else None


# --- the optimizer's argument under a mirrored strategy --------------------------------------------------


def _under_a_strategy(trace: Trace) -> Iterator[Finding]:
    """`merge_call` inside the condition that the argument makes: it raises in fit and in a tf.function."""
    trained = {
        id(deref(argument.value))
        for call in trace.calls("keras.Model.compile")
        if (argument := call.argument("optimizer")) is not None
    }
    for call in trace.calls(*updates.APPLY):
        if call.context.role("strategy.run") is not None and call.context.role("tf.function") is not None:
            trained.add(id(deref(call.receiver)) if call.receiver is not None else 0)
    seen: set[int] = set()
    for call in trace.calls_under("keras.optimizers."):
        optimizer = deref(call.result)
        scope = call.context.manager(StrategyScope)
        argument = call.argument(ARGUMENT)
        if not isinstance(optimizer, Optimizer) or argument is None or scope is None or id(call.node) in seen:
            continue
        strategy = scope.strategy.made_by if scope.strategy is not None else None
        if argument.const() is None or id(optimizer) not in trained or "Mirrored" not in scope.strategy.type:
            continue
        seen.add(id(call.node))
        yield RULE.finding(
            argument.place,
            f"`{ARGUMENT}` under a mirrored strategy raises (`merge_call` called while defining a new graph), "
            "also on one GPU",
            evidence=[Evidence("the strategy", strategy.place)] if strategy is not None else (),
            help="sum the gradients of the steps in variables and call the update from Python every N steps, "
            "or train without the strategy",
            severity=Severity.ERROR,
        )


def _conditional_under_a_strategy(trace: Trace) -> Iterator[Finding]:
    """An update in `tf.cond`, or in an `if` on a tensor that AutoGraph makes one, inside `strategy.run`."""
    seen: set[int] = set()
    for call in trace.calls(*updates.APPLY):
        role = call.context.role("strategy.run")
        strategy = deref(role.value) if role is not None and role.value is not None else None
        if not isinstance(strategy, Strategy) or "Mirrored" not in strategy.type or id(call.node) in seen:
            continue
        if role is None or call.context.role("tf.function") is None:
            continue
        for frame in call.context.since(role):
            if isinstance(frame, Branch) and (
                isinstance(frame.place.node, cst.Call) or _is_tensor(frame.test)
            ):
                seen.add(id(call.node))
                yield RULE.finding(
                    call.place,
                    "an update inside a condition of the graph raises under a mirrored strategy "
                    "(`merge_call` called while defining a new graph)",
                    evidence=[Evidence("the condition", frame.place)],
                    help="decide in Python: one tf.function that adds up, another that also applies",
                    severity=Severity.ERROR,
                )
                break


def _is_tensor(value: Value) -> bool:
    value = deref(value)
    return isinstance(value, Array) and value.library in ("tensor", "variable")


# --- sums made by hand ----------------------------------------------------------------------------------


def _batch_loops(trace: Trace) -> set[int]:
    """The nodes of loops that give the model a new batch in every round."""
    fed = batches.fed_to_losses(trace)
    found: set[int] = set()
    for call in trace.calls(*batches.FORWARD):
        elsewhere = False
        for frame in call.context.frames():
            if isinstance(frame, Body):
                elsewhere = True
            elif isinstance(frame, Loop) and id(frame.place.node) not in found:
                if batches.over_batches(trace, call, frame, elsewhere, id(deref(call.result)) in fed):
                    found.add(id(frame.place.node))
    return found


def _accumulated(trace: Trace, update: updates.Update) -> tuple[Value, Gradients] | None:
    """What is applied, if it is a sum over steps: a list of sums, or variables with `assign_add`."""
    for value in update.gradients:
        if isinstance(value, Gradients) and value.summed and not value.mixed:
            return value, value
        value = unwrapped(value, trace) if isinstance(value, Array) else value
        if isinstance(value, Array) and value.library == "variable":
            for call in trace.calls("array.assign_add"):
                added = deref(call.arguments[0].value) if call.arguments else None
                if call.receiver is value and isinstance(added, Gradients) and not added.mixed:
                    return value, added
    return None


def _averaged(gradients: Gradients) -> bool:
    """Whether anything was divided, weighted, or summed over the whole batch on purpose."""
    loss = gradients.loss
    if gradients.divisions or gradients.factors or loss is None:
        return True
    return bool(loss.divisions or loss.factors) or loss.reduction not in ("mean", "")


def _list_name(update: updates.Update) -> cst.BaseExpression | None:
    """The expression of the gradients in `zip(sums, variables)` or `apply(sums, variables)`."""
    arg = update.argument.arg
    node = arg.value if arg is not None and not arg.star else None  # `*arguments` are several
    if (
        isinstance(node, cst.Call)
        and isinstance(node.func, cst.Name)
        and node.func.value == "zip"
        and node.args
    ):
        node = node.args[0].value
    return node if isinstance(node, cst.Name | cst.Attribute) else None


def _is_reset(trace: Trace, update: updates.Update, accumulator: Value, around: rounds.Round) -> bool:
    """Whether the sums start again somewhere in the loop of the updates (or may, where we cannot see)."""
    if isinstance(accumulator, Array):
        maker = trace.maker(accumulator)
        if maker is None or around.surrounds(maker.context):
            return True
        for call in trace.all_calls():
            if call.name == "array.assign" and call.receiver is accumulator:
                return True
            if call.name in ("array.assign_add", "operator.getitem", *updates.APPLY):
                continue
            if any(deref(argument.value) is accumulator for argument in call.arguments):
                return True  # handed to code that may reset it
        return False
    names = accumulator.sums if isinstance(accumulator, Gradients) else ()
    if not names:
        return True
    for assign in trace.assigns():
        if assign.path not in names or _summed(assign.value):
            continue
        function = assign.context.function()
        fresh = assign.path.startswith("self.") and function is not None and function.name != "__init__"
        if fresh or around.surrounds(assign.context):
            return True
    return rounds.part_by_part(update.call.source.module, names)


def _summed(value: Value) -> bool:
    value = deref(value)
    if isinstance(value, Sequence):
        value = deref(value.any)
    return isinstance(value, Gradients) and value.summed


def _never_reset(update: updates.Update, gradients: Gradients, each: rounds.Round) -> Finding:
    return RULE.finding(
        update.call.place,
        "these sums are never set to zero: every update applies all gradients since the loop began",
        evidence=[
            *(
                [Evidence("the gradients that are added", gradients.made_by.place)]
                if gradients.made_by
                else []
            ),
            *([Evidence("the loop over batches", each.loop.place)] if each.loop is not None else []),
        ],
        help="set the sums to zero after the update",
        severity=Severity.ERROR,
    )


def _unscaled(
    update: updates.Update, gradients: Gradients, each: rounds.Round, steps: rounds.Steps
) -> Finding:
    optimizer = update.optimizer
    kind, clip = updates.kind(optimizer), updates.clipping(optimizer)
    count = f"{steps.number}" if steps.number is not None else f"`{steps.text}`" if steps.text else "all"
    adaptive = kind in updates.SCALE_FREE
    if adaptive and clip:
        effect, severity = f"{kind} divides the factor out, but `{clip}` sees the sum", Severity.WARNING
    elif adaptive:
        effect, severity = f"{kind} divides the factor out, so little changes", Severity.NOTE
    elif kind:
        rate = updates.learning_rate(optimizer)
        effect = f"with {kind} it is a learning rate {'as many' if count == 'all' else count} times larger"
        if rate is not None and steps.number is not None and kind == "SGD":
            effect = f"with SGD it is a learning rate of {rate:g} x {count} = {rate * steps.number:g}"
        severity = Severity.WARNING
    else:
        effect, severity = "with SGD it is a learning rate as many times larger", Severity.NOTE
    made = optimizer.made_by.place if optimizer is not None and optimizer.made_by is not None else None
    evidence = [Evidence(effect, made)]
    if gradients.made_by is not None:
        evidence.append(Evidence("the gradients that are summed", gradients.made_by.place))
    if each.loop is not None:
        evidence.append(Evidence("the loop over batches", each.loop.place))
    return RULE.finding(
        update.call.place,
        f"the gradients of {count} steps are summed and applied without dividing them by {count}"
        if count != "all"
        else "the gradients of all rounds are summed and applied without dividing them by their number",
        evidence=evidence,
        help="divide the sums by the number of steps (or each loss), or lower the learning rate if the sum is meant",
        fix=_fix(update, steps),
        severity=severity,
    )


def _fix(update: updates.Update, steps: rounds.Steps) -> Fix | None:
    node = _list_name(update)
    divisor = steps.text or (f"{steps.number}" if steps.number is not None else None)
    if node is None or divisor is None:
        return None
    source = update.call.source
    text = f"[g / {divisor} for g in {source.code(node)}]"
    return Fix(f"divide by {divisor}", Safety.UNSAFE, (Replace(source.place(node), text),))
