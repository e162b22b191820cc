"""Gradients divided by N and applied at every step: nothing accumulates.

## What it does

Reports gradients, or the loss they come from, that are divided by a number of accumulation steps and then
applied in every step. No sum over steps is ever taken.

## Why is this bad?

The memory of a small batch was wanted with the training of a large one. What is trained instead is the
small batch: with SGD the division is exactly a learning rate N times smaller; with Adam, AdamW, Nadam and
Lion it changes next to nothing, because they divide the size of the gradients out again.

## Example

```python
import tensorflow as tf
from tensorflow import keras

model = keras.Sequential([keras.Input((32,)), keras.layers.Dense(1)])
optimizer = keras.optimizers.SGD(0.01)
mse = keras.losses.MeanSquaredError()
data = tf.data.Dataset.from_tensor_slices((tf.zeros((64, 32)), tf.zeros((64, 1)))).batch(8)

for x, y in data:
    with tf.GradientTape() as tape:
        loss = mse(y, model(x, training=True))
    gradients = tape.gradient(loss, model.trainable_variables)
    gradients = [g / 4 for g in gradients]
    optimizer.apply_gradients(zip(gradients, model.trainable_variables))
```

## Use instead

```python
import tensorflow as tf
from tensorflow import keras

model = keras.Sequential([keras.Input((32,)), keras.layers.Dense(1)])
optimizer = keras.optimizers.SGD(0.01, gradient_accumulation_steps=4)
mse = keras.losses.MeanSquaredError()
data = tf.data.Dataset.from_tensor_slices((tf.zeros((64, 32)), tf.zeros((64, 1)))).batch(8)

for x, y in data:
    with tf.GradientTape() as tape:
        loss = mse(y, model(x, training=True))
    gradients = tape.gradient(loss, model.trainable_variables)
    optimizer.apply_gradients(zip(gradients, model.trainable_variables))
```

Where the optimizer has no such argument, sum the gradients of N steps in variables, apply their mean, and
set them to zero again.

## Fix safety

Unsafe: the run then trains what it was meant to, which is not what it trained before. The fix removes the
division (kept, it would divide twice) and gives the optimizer `gradient_accumulation_steps=N`. It is offered
where N is a number of at least two, the optimizer is made in the script, and Keras is 3.5 or later (before,
clipping, decay and the step count went by micro-batch; Keras 2 has no such argument). A
`LossScaleOptimizer` refuses the argument, so its inner optimizer gets it. It is not offered under a mirrored
strategy, where the argument raises.

## References

- <https://keras.io/api/optimizers/#optimizer>
- <https://github.com/keras-team/keras/issues/3556>
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import libcst as cst
from oomlint.rules.training_loop import updates

from oomlint.dryrun.queries.inverses import inverse_side
from oomlint.dryrun.queries.keras_version import keras_at_least
from oomlint.dryrun.trace import Call
from oomlint.dryrun.values.base import Const, Unknown, Value
from oomlint.dryrun.values.training import Division, Gradients, Optimizer
from oomlint.findings.model import Evidence, Finding, Fix, Rule, Safety, Severity
from oomlint.syntax.edits import AddArgument, Edit, RemoveStatement, Replace
from oomlint.syntax.uses import uses

if TYPE_CHECKING:
    from oomlint.dryrun import Trace
    from oomlint.project.settings import Settings

RULE = Rule(
    code="OOM401",
    name="accumulation-never-accumulates",
    severity=Severity.ERROR,
    fix=Safety.UNSAFE,
    literals=("apply_gradients", "apply", "minimize"),
)

ARGUMENT = "gradient_accumulation_steps"


def check(trace: Trace, settings: Settings) -> Iterator[Finding]:
    """Divided by N, never summed, applied at every step."""
    reported: set[int] = set()
    sizes = updates.batch_sizes(trace)
    for update in updates.updates(trace):
        for gradients in update.gradients:
            if not isinstance(gradients, Gradients) or gradients.summed or gradients.mixed:
                continue
            made = gradients.made_by
            if made is None or updates.conditional(update.call.context, made.context):
                continue
            found = _divisions(gradients, trace, sizes)
            if not found or id(found[0][0].call.node) in reported:
                continue
            reported.add(id(found[0][0].call.node))
            finding = _finding(trace, settings, update, found)
            if finding is not None:
                yield finding


def _divisions(
    gradients: Gradients, trace: Trace, sizes: list[Const]
) -> list[tuple[Division, Const | Unknown]]:
    """The divisions by a number of accumulation steps, those of the gradients first."""
    divisions = (*gradients.divisions, *(gradients.loss.divisions if gradients.loss is not None else ()))
    pairs = [(item, updates.accumulation_divisor(item, gradients, trace, sizes)) for item in divisions]
    return [(item, value) for item, value in pairs if value is not None]


def _finding(
    trace: Trace, settings: Settings, update: updates.Update, found: list[tuple[Division, Const | Unknown]]
) -> Finding | None:
    division, value = found[0]
    optimizer = update.optimizer
    text = updates.divisor_text(value, division)
    what = "the loss is" if division.of_loss else "gradients are"
    evidence = [
        *updates.divisor_evidence(value),
        Evidence("applied here, at every step", update.call.place),
    ]
    given = optimizer is not None and ARGUMENT in optimizer.config
    effect = _effect(optimizer, value, text)
    if given:
        if updates.kind(optimizer) in updates.SCALE_FREE and not updates.clipping(optimizer):
            return None  # divided once too often, which these optimizers do not notice
        message = (
            f"{what} divided by {text} although the optimizer averages over its accumulation steps itself"
        )
    else:
        message = f"{what} divided by {text} and applied at every step, so nothing is accumulated"
    if effect:
        evidence.append(
            Evidence(effect, optimizer.made_by.place if optimizer and optimizer.made_by else None)
        )
    return RULE.finding(
        division.call.place,
        message,
        evidence=evidence,
        help=_help(trace, settings, text, given),
        fix=_fix(trace, settings, optimizer, found, given),
    )


def _help(trace: Trace, settings: Settings, text: str, given: bool) -> str:
    """What to do, with what this script's Keras and strategy can take."""
    steps = text.strip("`")
    if given:
        return "do not divide: the optimizer takes the mean of its accumulation steps"
    by_hand = f"sum the gradients of {steps} steps in variables, apply their mean once, and set them to zero"
    if updates.mirrored(trace) is not None:
        return f"{by_hand}; `{ARGUMENT}` raises under a mirrored strategy"
    if not _has_argument(trace, settings):
        return f"{by_hand}; Keras 2 has no `{ARGUMENT}`"
    return f"give the optimizer `{ARGUMENT}={steps}` and do not divide, or {by_hand}"


def _has_argument(trace: Trace, settings: Settings) -> bool:
    """Whether the script's Keras averages over accumulation steps as it should (3.5 on)."""
    return keras_at_least(trace, settings, 3, 5)


def _effect(optimizer: Optimizer | None, value: Value, text: str) -> str:
    """What the division does to this optimizer, in numbers where they are known."""
    kind, rate, clip = updates.kind(optimizer), updates.learning_rate(optimizer), updates.clipping(optimizer)
    if kind in updates.SCALE_FREE:
        if clip:
            return f"{kind} divides the factor out, but `{clip}` now sees gradients {text} times smaller"
        return f"{kind} divides the factor out: the division changes next to nothing"
    if kind == "SGD" and rate is not None and isinstance(value, Const):
        return f"with SGD it is a learning rate of {rate:g} / {text} = {rate / value.value:g}"
    return f"with {kind} it is a smaller learning rate" if kind == "SGD" else ""


def _fix(
    trace: Trace,
    settings: Settings,
    optimizer: Optimizer | None,
    found: list[tuple[Division, Const | Unknown]],
    given: bool,
) -> Fix | None:
    """Delete the divisions and let the optimizer accumulate."""
    edits = [edit for division, _ in found if (edit := _undivided(division)) is not None]
    if len(edits) != len(found) or len({id(division.call.source) for division, _ in found}) != 1:
        return None
    edits += [edit for division, _ in found for edit in _times_again(division)]
    if given:
        return Fix("remove the division", Safety.UNSAFE, tuple(edits))
    value = found[0][1]
    made = optimizer.made_by if optimizer is not None else None
    if (
        made is None
        or len(found) != 1
        or made.source is not found[0][0].call.source
        or not isinstance(value, Const)
        or not _has_argument(trace, settings)
        or updates.mirrored(trace) is not None
        or made.opaque_arguments
        or not made.name.startswith("keras.optimizers.")
        or ".legacy." in made.spelled
    ):
        return None
    steps = int(value.value)
    # What the command line may replace is not written down as a number, which would not follow.
    text = _option(trace, found[0][0].call, made) if value.soft else str(steps)
    if text is None:
        return None
    argument = AddArgument(made.place, f"{ARGUMENT}={text}")
    return Fix(f"let the optimizer accumulate over {steps} steps", Safety.UNSAFE, (*edits, argument))


def _option(trace: Trace, division: Call, made: Call) -> str | None:
    """The divisor as written (`args.steps`), where the script has it at hand when it makes the optimizer."""
    path = division.arguments[1].path if len(division.arguments) == 2 else None
    if path is None or made.context.function() is not None or division.context.function() is not None:
        return None
    root = path.partition(".")[0]
    bound = any(
        assign.path == root and assign.index < made.index and assign.context.function() is None
        for assign in trace.assigns()
    )
    return path if bound else None


def _undivided(division: Division) -> Edit | None:
    """The edit that takes a division out; a list that only divided goes with it."""
    call, node = division.call, division.call.node
    code = call.source.code
    if isinstance(node, cst.AugAssign):
        return RemoveStatement(call.statement) if call.statement is not None else None
    inverse = inverse_side(call)
    factor = inverse[0] if inverse is not None else None
    if isinstance(node, cst.Call):
        operand: cst.BaseExpression = next(arg.value for arg in node.args if arg.value is not factor)
    elif isinstance(node, cst.BinaryOperation):
        divides = isinstance(node.operator, cst.Divide | cst.FloorDivide)
        operand = node.left if divides or node.left is not factor else node.right
    else:
        return None
    line = call.statement.node if call.statement is not None else None
    match line:
        case cst.SimpleStatementLine(
            body=[cst.Assign(targets=[target], value=(cst.ListComp() | cst.GeneratorExp()) as every)]
        ) if every.elt is node and not every.for_in.ifs and every.for_in.inner_for_in is None:
            if code(operand) == code(every.for_in.target):
                same = code(target.target) == code(every.for_in.iter)
                place = call.source.place(every)
                assert call.statement is not None
                return RemoveStatement(call.statement) if same else Replace(place, code(every.for_in.iter))
    return Replace(call.place, code(operand))


def _times_again(division: Division) -> Iterator[Edit]:
    """Where the script multiplies again what it had divided, to print it: `loss * steps`."""
    call, statement = division.call, division.call.statement
    match statement.node if statement is not None else None, call.node:
        case cst.SimpleStatementLine(
            body=[cst.Assign(targets=[cst.AssignTarget(target=cst.Name(value=name))], value=value)]
        ), cst.BinaryOperation(operator=cst.Divide(), right=divisor) if value is call.node:
            by = call.source.code(divisor)
        case _:
            return
    for use in uses(call.source.module, name):
        match use.parent:
            case cst.BinaryOperation(operator=cst.Multiply(), left=left, right=right):
                if call.source.code(right if left is use.node else left) == by:
                    yield Replace(call.source.place(use.parent), name)
