"""A model or optimizer is made outside `strategy.scope()` and trained by the strategy.

## What it does

Reports, for strategies with several replicas:

- a model that is made outside the scope and compiled, trained or called inside it;
- with Keras 3, an optimizer with slots (Adam, RMSprop, SGD with momentum, or its name given to `compile`) that is
  made outside the scope while the model's weights are in it;
- a model from outside that is a layer of a model made inside (with Keras 3 unless it is frozen);
- a script that makes a strategy, never enters its scope, and trains: a warning; and, with Keras 3, one that only
  compiles in it.

With Keras 2, models that get their weights when they are first called may be made anywhere for `strategy.run`.

## Why is this bad?

The variables of a model that a strategy trains have a copy on every GPU, which only those that are made in the scope
have. Keras checks: a model from outside raises, and slots of another strategy than the weights raise "Mixing
different tf.distribute.Strategy objects" when training starts. If nothing is in the scope, nothing raises: one GPU
does all the work with the whole batch, and the others idle.

`fit` may stand inside or outside, and so may losses, schedules, callbacks and data. SGD without momentum has no slots;
metrics made outside are an error with Keras 2 only.

## Example

```python
import tensorflow as tf
from tensorflow import keras

strategy = tf.distribute.MirroredStrategy()
model = keras.Sequential([keras.Input((8,)), keras.layers.Dense(1)])
with strategy.scope():
    model.compile("adam", "mse")
model.fit(tf.zeros((64, 8)), tf.zeros((64, 1)))
```

## Use instead

```python
import tensorflow as tf
from tensorflow import keras

strategy = tf.distribute.MirroredStrategy()
with strategy.scope():
    model = keras.Sequential([keras.Input((8,)), keras.layers.Dense(1)])
    model.compile("adam", "mse")
model.fit(tf.zeros((64, 8)), tf.zeros((64, 1)))
```

## Fix safety

Unsafe, and offered only where the statement stands directly before or after the `with`: it is moved into it. The
run then trains on all GPUs.

## References

- <https://www.tensorflow.org/guide/distributed_training>
- <https://www.tensorflow.org/api_docs/python/tf/distribute/Strategy#scope>
"""

from __future__ import annotations

from collections.abc import Iterator

import libcst as cst

from oomlint.dryrun.catalog.keras.training import slots_of
from oomlint.dryrun.queries import gpu_setup, replicas
from oomlint.dryrun.queries.device_makers import has_input
from oomlint.dryrun.queries.keras_version import keras_at_least
from oomlint.dryrun.trace import Body, Call, Context, Trace
from oomlint.dryrun.values.base import Const, Opaque, Sequence, Value, deref
from oomlint.dryrun.values.training import Model, Optimizer, Strategy
from oomlint.findings.model import TENSORFLOW_BACKEND, Evidence, Finding, Fix, Rule, Safety, Severity
from oomlint.project.settings import Settings
from oomlint.syntax.blocks import index_of
from oomlint.syntax.edits import Edit, MoveAfter, MoveBefore
from oomlint.syntax.place import Place

RULE = Rule(
    code="OOM503",
    name="built-outside-scope",
    severity=Severity.ERROR,
    fix=Safety.UNSAFE,
    literals=("scope", "run", "MirroredStrategy", "MultiWorkerMirroredStrategy", "TPUStrategy"),
    backends=TENSORFLOW_BACKEND,
)

HELP = "make the model and its optimizer inside `with strategy.scope():`"


def check(trace: Trace, settings: Settings) -> Iterator[Finding]:
    """Models and optimizers from outside, and scopes that nobody enters."""
    made = replicas.strategies(trace)
    if not made:
        return
    seen: set[int] = set()
    keras3 = keras_at_least(trace, settings, 3)
    parts = _optimizers(trace) if keras3 else _metrics(trace)
    for finding in (*_models(trace, keras3), *_parts(trace, keras3), *parts, *_never_entered(trace, made)):
        if id(finding.place.node) not in seen:
            seen.add(id(finding.place.node))
            yield finding


def _models(trace: Trace, keras3: bool) -> Iterator[Finding]:
    for call in trace.calls("keras.Model.compile", "keras.Model.fit", "keras.Model.__call__"):
        inside = replicas.of_scope(call.context) if not call.name.endswith("__call__") else None
        strategy = inside or replicas.on_replicas(call.context)
        model = call.receiver
        if strategy is None or not replicas.replicates(strategy) or not isinstance(model, Model):
            continue
        maker = replicas.maker(model)
        if maker is None or _in_strategy(model.context):
            continue
        if inside is None and (_of_another(call) or not (keras3 or _has_weights(model))):
            continue
        place, statement = replicas.site(maker, call)
        if keras3 and call.name.endswith("compile") and _all_outside(trace, call):
            yield RULE.finding(
                place,
                f"this model and its optimizer are made outside the scope of {replicas.short(strategy)} and only "
                "compiled inside: one GPU trains on the whole batch",
                evidence=[Evidence("compiled inside", call.place)],
                help=HELP,
                severity=Severity.WARNING,
            )
            continue
        where = "inside the scope" if inside is not None else "by strategy.run"
        evidence = [Evidence(f"{call.name.rpartition('.')[2].strip('_')} {where}", call.place)]
        yield RULE.finding(
            place,
            f"this model is made outside the scope of {replicas.short(strategy)} and trained {where}: Keras raises",
            evidence=evidence,
            help=HELP,
            fix=_move_in(trace, statement, strategy),
        )


def _of_another(call: Call) -> bool:
    """Whether a model is called by the `call` of another one, which is what the finding is about."""
    return any(
        body.function.name == "call" and body.function.owner is not None for body in call.context.all(Body)
    )


def _has_weights(model: Model) -> bool:
    """Whether a model has them before it is called. Those of the others Keras 2 makes on the replicas, then."""
    if model.kind == "sequential":
        return has_input(model.layers[0]) if model.layers else False
    return model.kind != "subclassed"


def _all_outside(trace: Trace, compile: Call) -> bool:
    """Whether the strategy has no part in a model that is compiled in its scope (measured with Keras 3.15)."""
    given = compile.value("optimizer")
    optimizer = deref(given) if given is not None else None
    maker = optimizer.made_by if isinstance(optimizer, Optimizer) else None
    if maker is None or _in_strategy(maker.context):
        return False
    fits = [call for call in trace.calls("keras.Model.fit") if call.receiver is compile.receiver]
    return not any(replicas.of_scope(call.context) for call in fits)


def _parts(trace: Trace, keras3: bool) -> Iterator[Finding]:
    """Models from outside as layers of one in the scope (Keras 3 lets frozen ones pass: they get no slots)."""
    freezes = any(
        item.path.endswith(".trainable") and not (isinstance(item.value, Const) and item.value.value is True)
        for item in trace.assigns()
    )
    for call in trace.calls("keras.Model.compile"):
        whole = call.receiver
        if not isinstance(whole, Model) or _is_outside(whole):
            continue
        strategy = replicas.of_model(whole)
        if strategy is None or not replicas.replicates(strategy):
            continue
        for part in map(deref, whole.layers or ()):
            maker = replicas.maker(part) if isinstance(part, Model) else None
            if not isinstance(part, Model) or maker is None or not _is_outside(part):
                continue
            if keras3 and (freezes or not slots_of(call.value("optimizer"))):
                continue
            place, statement = replicas.site(maker, call)
            yield RULE.finding(
                place,
                f"this model is made outside the scope of {replicas.short(strategy)} and is part of one that is made "
                "inside: Keras raises ValueError",
                evidence=[Evidence("the model that it is part of is compiled here", call.place)],
                help=HELP,
                fix=_move_in(trace, statement, strategy),
            )


def _optimizers(trace: Trace) -> Iterator[Finding]:
    """With Keras 3. Keras 2 enters the scope of the model's own strategy when it compiles."""
    for call in trace.calls(
        "keras.Model.compile", "keras.Optimizer.apply_gradients", "keras.Optimizer.apply"
    ):
        if isinstance(call.receiver, Model):
            strategy = replicas.of_model(call.receiver) if not _is_outside(call.receiver) else None
            optimizer = call.value("optimizer")
        else:
            strategy, optimizer = replicas.on_replicas(call.context), call.receiver
        if strategy is None or not replicas.replicates(strategy) or not slots_of(optimizer):
            continue
        maker = _maker(optimizer, call)
        if maker is None or _in_strategy(maker.context):
            continue
        place, statement = replicas.site(maker, call)
        scope = replicas.scope_statement(trace, strategy)
        yield RULE.finding(
            place,
            f"{_name(optimizer)} gets its slots outside the scope of {replicas.short(strategy)} that has the weights: "
            'Keras 3 raises RuntimeError, "Mixing different tf.distribute.Strategy objects"',
            evidence=[Evidence("the scope in which the model is made", scope[0])]
            if scope is not None
            else [],
            help=HELP,
            fix=_move_in(trace, statement, strategy),
        )


def _metrics(trace: Trace) -> Iterator[Finding]:
    """With Keras 2: metric objects have variables, which `compile` wants in the model's strategy."""
    for call in trace.calls("keras.Model.compile"):
        strategy = replicas.of_model(call.receiver, call)
        metrics = call.value("metrics")
        if not replicas.replicates(strategy) or strategy is None or not isinstance(metrics, Sequence):
            continue
        for metric in map(deref, metrics.items or ()):
            maker = metric.made_by if isinstance(metric, Opaque) else None
            if maker is None or not maker.name.startswith("keras.metrics.") or _in_strategy(maker.context):
                continue
            place, statement = replicas.site(maker, call)
            yield RULE.finding(
                place,
                f"this metric is made outside the scope of {replicas.short(strategy)} and compiled into its model: "
                "Keras 2 raises ValueError",
                evidence=[Evidence("compile is given it here", call.place)],
                help="make metrics inside `with strategy.scope():`",
                fix=_move_in(trace, statement, strategy),
            )


def _maker(optimizer: Value | None, call: Call) -> Call | None:
    """What makes the slots: the optimizer's constructor, or the compile that is given its name."""
    optimizer = deref(optimizer) if optimizer is not None else None
    if isinstance(optimizer, Optimizer):
        return optimizer.made_by
    return call if isinstance(optimizer, Const) else None


def _name(optimizer: Value | None) -> str:
    if isinstance(optimizer, Optimizer):
        return optimizer.type.rpartition(".")[2]
    return f'the optimizer "{optimizer.value}"' if isinstance(optimizer, Const) else "the optimizer"


def _is_outside(model: Model) -> bool:
    return replicas.maker(model) is not None and not _in_strategy(model.context)


def _in_strategy(context: Context | None) -> bool:
    """Whether something is made in a scope, or on the replicas (or nobody knows where)."""
    return (
        context is None or replicas.of_scope(context) is not None or replicas.on_replicas(context) is not None
    )


def _never_entered(trace: Trace, made: list[Call]) -> Iterator[Finding]:
    """A strategy that is made and never used, in a script that trains."""
    if trace.exhausted or len(made) > 1:
        return
    strategy, call = made[0].result, made[0]
    assert isinstance(strategy, Strategy)
    kept = bool(call.targets) or any(deref(assign.value) is strategy for assign in trace.assigns())
    if gpu_setup.uncalled(call.context) is not None or not kept:
        return
    for other in trace.all_calls():
        values = (other.receiver, *(argument.value for argument in other.arguments))
        if any(value is not None and _may_be(deref(value), call) for value in values):
            return
    for fit in trace.calls("keras.Model.fit"):
        if (
            isinstance(fit.receiver, Model)
            and _is_outside(fit.receiver)
            and not gpu_setup.uncalled(fit.context)
        ):
            yield RULE.finding(
                fit.place,
                f"{replicas.short(strategy)} is made but its scope is never entered: one GPU trains on the whole batch",
                severity=Severity.WARNING,
                evidence=[Evidence("the strategy that nothing uses", call.place)],
                help=HELP,
            )
            return


def _may_be(value: Value, made: Call) -> bool:
    """Whether a value is the strategy that a call made, or that on some of the ways to it."""
    return isinstance(value, Strategy) and (value.made_by is made or value.alternative)


def _move_in(trace: Trace, statement: Place | None, strategy: Strategy) -> Fix | None:
    """Move a statement that stands directly before or after the `with` into it."""
    found = replicas.scope_statement(trace, strategy)
    if statement is None or found is None or statement.source is not trace.source:
        return None
    scope, block = found
    at, here = index_of(block, scope.node), index_of(block, statement.node)
    if at is None or here is None or block[here] is not statement.node or block[at] is not scope.node:
        return None
    place, inner = trace.source.place, _inside(scope.node)
    edits: tuple[Edit, ...] = ()
    if inner and here == at - 1:
        edits = (MoveBefore(statement, statement, place(inner[0])),)
    elif inner and here == at + 1 and isinstance(statement.node, cst.SimpleStatementLine):
        edits = (MoveAfter(statement, statement, place(inner[-1])),)
    return Fix("move it into the scope", Safety.UNSAFE, edits) if edits else None


def _inside(node: cst.CSTNode) -> tuple[cst.CSTNode, ...]:
    """The statements under a `with` (none for one on a single line)."""
    body = node.body if isinstance(node, cst.With) else None
    return tuple(body.body) if isinstance(body, cst.IndentedBlock) else ()
