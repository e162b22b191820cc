"""A loss under a strategy is a mean of one replica's share, or is scaled twice.

## What it does

Follows the loss of a step that runs on replicas (`strategy.run`, a `train_step` under `fit`, a loss function given to
`compile`) backwards from its gradient, and reports what makes the update wrong:

- a mean over the batch that the replica sees, or a ratio of sums over it, such as Dice;
- a weight penalty, `sum(model.losses)`, that every replica adds in full;
- a Keras loss object, which Keras has scaled since 3.8, divided by the replicas again or averaged again;
- with Keras 2, a loss object with its default reduction, which raises inside `strategy.run`.

## Why is this bad?

Gradients of the replicas are summed. For the sum to be the gradient of the mean over the global batch, each replica
must divide by the global batch. A mean over its own share makes the step as many times too large as there
are replicas: with SGD two GPUs double the learning rate. Adam and its kin hide it, since their step does not depend on
the gradient's size, until clipping or a penalty makes it show. Dividing twice makes the step too small.

## Example

```python
import tensorflow as tf
from tensorflow import keras

strategy = tf.distribute.MirroredStrategy()
with strategy.scope():
    model = keras.Sequential([keras.Input((4,)), keras.layers.Dense(1)])
    optimizer = keras.optimizers.SGD(0.1)


def step(x, y):
    with tf.GradientTape() as tape:
        loss = tf.reduce_mean(tf.square(y - model(x)))
    gradients = tape.gradient(loss, model.trainable_variables)
    optimizer.apply_gradients(zip(gradients, model.trainable_variables))


data = tf.data.Dataset.from_tensor_slices((tf.zeros((64, 4)), tf.zeros((64, 1)))).batch(16)
for x, y in strategy.experimental_distribute_dataset(data):
    strategy.run(step, args=(x, y))
```

## Use instead

```python
import tensorflow as tf
from tensorflow import keras

strategy = tf.distribute.MirroredStrategy()
with strategy.scope():
    model = keras.Sequential([keras.Input((4,)), keras.layers.Dense(1)])
    optimizer = keras.optimizers.SGD(0.1)


def step(x, y):
    with tf.GradientTape() as tape:
        errors = tf.reduce_mean(tf.square(y - model(x)), axis=-1)
        loss = tf.nn.compute_average_loss(errors)
    gradients = tape.gradient(loss, model.trainable_variables)
    optimizer.apply_gradients(zip(gradients, model.trainable_variables))


data = tf.data.Dataset.from_tensor_slices((tf.zeros((64, 4)), tf.zeros((64, 1)))).batch(16)
for x, y in strategy.experimental_distribute_dataset(data):
    strategy.run(step, args=(x, y))
```

## Fix safety

Unsafe: the step gets smaller by the number of replicas, which is what it should have been; a learning rate that was
tuned around the mistake has to be tuned again. One value per sample becomes `tf.nn.compute_average_loss`; where
the rank is not known, the mean is divided by the replicas.

## References

- <https://www.tensorflow.org/tutorials/distribute/custom_training#define_the_loss_function>
- <https://www.tensorflow.org/api_docs/python/tf/nn/compute_average_loss>
- <https://github.com/keras-team/keras/commit/38b9b9ca86>
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace

import libcst as cst

from oomlint.dryrun.catalog.keras.losses import functions_in
from oomlint.dryrun.queries import replicas
from oomlint.dryrun.queries.keras_version import keras_at_least
from oomlint.dryrun.queries.losses import MEAN
from oomlint.dryrun.queries.replica_losses import Fault, faults, gradients_scaled, means_of, of_train_step
from oomlint.dryrun.trace import Call, Trace
from oomlint.dryrun.values.arrays import Array
from oomlint.dryrun.values.base import Unknown, deref
from oomlint.dryrun.values.training import Strategy
from oomlint.findings.model import TENSORFLOW_BACKEND, Evidence, Finding, Fix, Rule, Safety, Severity
from oomlint.project.settings import Settings
from oomlint.syntax.blocks import imports_of
from oomlint.syntax.edits import Edit, Replace, Wrap
from oomlint.syntax.place import Place

RULE = Rule(
    code="OOM502",
    name="loss-not-scaled",
    severity=Severity.ERROR,
    fix=Safety.UNSAFE,
    literals=("gradient", "compile"),
    backends=TENSORFLOW_BACKEND,
)

SUMMED = "gradients of the replicas are summed"


@dataclass(frozen=True, slots=True)
class Step:
    """Where a loss is differentiated, and on whose replicas."""

    trace: Trace
    strategy: Strategy
    evidence: tuple[Evidence, ...]

    @property
    def factor(self) -> str:
        """By how much the step gets too large."""
        known = self.strategy.replicas
        return f"by a factor of {known.value}" if known is not None else "by the number of replicas"


def check(trace: Trace, settings: Settings) -> Iterator[Finding]:
    """Losses of replicas, each wrong term once."""
    if not replicas.strategies(trace):
        return
    keras3 = keras_at_least(trace, settings, 3)
    seen: set[int] = set()
    for finding in (*_differentiated(trace, keras3), *(_compiled(trace) if keras3 else ())):
        if id(finding.place.node) not in seen:
            seen.add(id(finding.place.node))
            yield finding


def _differentiated(trace: Trace, keras3: bool) -> Iterator[Finding]:
    scaled = gradients_scaled(trace)
    if scaled is None:
        return
    for call in trace.calls("tf.GradientTape.gradient"):
        if id(call) in scaled:
            continue
        strategy = replicas.on_replicas(call.context) or of_train_step(call.context)
        target = call.value("target")
        if strategy is not None and replicas.may_replicate(strategy) and target is not None:
            evidence = (Evidence("its gradient is taken here, on every replica", call.place),)
            step = Step(trace, strategy, evidence)
            for fault in faults(trace, target, keras3):
                yield _weighed(strategy, FINDINGS[fault.kind](step, fault))


def _mean(step: Step, fault: Fault) -> Finding:
    call = fault.call
    return RULE.finding(
        call.place,
        f"this mean is over one replica's share of the batch, and {SUMMED}: the step is too large {step.factor}",
        evidence=step.evidence,
        help="divide by the global batch: tf.nn.compute_average_loss of one value per sample",
        fix=_average(call, per_sample=_one_per_sample(step.trace, call)),
    )


def _ratio(step: Step, fault: Fault) -> Finding:
    return RULE.finding(
        fault.call.place,
        f"this ratio of sums is over one replica's share of the batch, and {SUMMED}: "
        f"the step is too large {step.factor}",
        evidence=step.evidence,
        help="sum over all axes but the first, for one value per sample, and take tf.nn.compute_average_loss of these",
    )


def _one_per_sample(trace: Trace, call: Call) -> bool:
    """Whether what is averaged has one value for each sample."""
    values = deref(call.arguments[0].value) if call.arguments else Unknown()
    if isinstance(values, Array) and values.rank is not None:
        return values.rank == 1
    made = trace.maker(values)
    arguments = [deref(argument.value) for argument in made.arguments] if made is not None else []
    predicted = (
        arguments[1] if len(arguments) > 1 and made is not None and "keras.losses." in made.name else None
    )
    return isinstance(predicted, Array) and predicted.rank == 2


def _average(call: Call, per_sample: bool) -> Fix | None:
    """`tf.nn.compute_average_loss(x)`, or the mean divided by the number of replicas."""
    imports = imports_of(call.source, "tensorflow")
    node = call.node
    if imports is None or imports.name is None or not isinstance(node, cst.Call):
        return None
    edit: Edit
    if per_sample and len(node.args) == 1 and node.args[0].keyword is None:
        edit = Replace(Place(call.source, node.func), f"{imports.name}.nn.compute_average_loss")
    else:
        count = f"{imports.name}.distribute.get_strategy().num_replicas_in_sync"
        edit = Replace(call.place, f"{call.source.code(node)} / {count}")
    return Fix("take the mean over the global batch", Safety.UNSAFE, (edit,))


def _penalty(step: Step, fault: Fault) -> Finding:
    call, index = fault.call, fault.operand
    node = call.node
    operand: cst.CSTNode = node
    match node:
        case cst.BinaryOperation():
            operand = node.right if index else node.left
        case cst.AugAssign() if index:
            operand = node.value
    place = Place(call.source, operand)
    imports = imports_of(call.source, "tensorflow")
    fix = None
    if operand is not node and imports is not None and imports.name is not None:
        edit = Wrap(place, f"{imports.name}.nn.scale_regularization_loss(", ")")
        fix = Fix("count the penalty once", Safety.UNSAFE, (edit,))
    return RULE.finding(
        place,
        f"every replica adds the whole penalty, and {SUMMED}: it is too large {step.factor}, "
        "unless tf.nn.scale_regularization_loss divides it",
        evidence=step.evidence,
        help="wrap it in tf.nn.scale_regularization_loss",
        fix=fix,
    )


def _twice(step: Step, fault: Fault) -> Finding:
    call = fault.call
    node = call.node
    fix = None
    if isinstance(node, cst.BinaryOperation):
        edit = Replace(call.place, call.source.code(node.left))
        fix = Fix("drop the division", Safety.UNSAFE, (edit,))
    return RULE.finding(
        call.place,
        "Keras has divided the value of a loss object by the number of replicas already (since 3.8): "
        f"dividing again makes the step too small {step.factor}",
        evidence=step.evidence,
        help="leave the division out",
        fix=fix,
    )


def _averaged_again(step: Step, fault: Fault) -> Finding:
    call = fault.call
    return RULE.finding(
        call.place,
        "compute_average_loss raises ValueError on the value of a Keras loss object: "
        "it is one number already, scaled by Keras",
        evidence=step.evidence,
        help='use the value as it is, or make the loss with reduction="none"',
    )


def _raises(step: Step, fault: Fault) -> Finding:
    call = fault.call
    return RULE.finding(
        call.place,
        "Keras 2 raises ValueError here: a loss object with its default reduction cannot be used on replicas",
        evidence=step.evidence,
        help='make the loss with reduction="none" and use tf.nn.compute_average_loss',
    )


FINDINGS: dict[str, Callable[[Step, Fault], Finding]] = {
    "mean": _mean,
    "ratio": _ratio,
    "penalty": _penalty,
    "scaled twice": _twice,
    "averaged again": _averaged_again,
    "raises": _raises,
}


def _compiled(trace: Trace) -> Iterator[Finding]:
    """Loss functions given to `compile` that return one number: Keras 3 has nothing left to scale."""
    for call in trace.calls("keras.Model.compile"):
        strategy = replicas.of_model(call.receiver, call)
        if strategy is None or not replicas.may_replicate(strategy):
            continue
        evidence = (Evidence("compile is given the function here", call.place),)
        for function in functions_in(call.value("loss")):
            result = function.result
            for mean, linear in (means_of(trace, result) if result is not None else None) or ():
                step = Step(trace, strategy, evidence)
                number = "mean" if mean.name in MEAN else "ratio of sums"
                finding = RULE.finding(
                    mean.place,
                    f"this loss function returns one replica's {number}, and {SUMMED}: "
                    f"the step is too large {step.factor}",
                    evidence=evidence,
                    help="return one value per sample (axis=-1): Keras averages and scales it"
                    if number == "mean"
                    else "sum over all axes but the first, for one value per sample: Keras averages and scales it",
                    fix=_average(mean, per_sample=False) if linear else None,
                )
                yield _weighed(strategy, finding)


def _weighed(strategy: Strategy, finding: Finding) -> Finding:
    """Less grave where the script takes the strategy on some of its ways only."""
    if not strategy.alternative:
        return finding
    place = strategy.made_by.place if strategy.made_by is not None else None
    some = Evidence(
        "this strategy is taken on some ways through the script: on the others the step is right", place
    )
    return replace(finding, severity=Severity.WARNING, evidence=(*finding.evidence, some))
