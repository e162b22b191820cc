"""Several models are put under one strategy: every GPU holds all of them.

## What it does

Reports the second of several models that are made in the scope of one strategy with several replicas, each with an
optimizer of its own. Models that belong together are left alone: those that one step calls (a GAN, a teacher and its
student), parts and cuts of one model, a copy of the other's weights, a saved model that only gives its weights.

## Why is this bad?

It is a note, because it works. But a mirrored strategy splits the batch, never the model: each GPU keeps all the
weights, gradients and optimizer slots of every model in the scope. Two models that do not fit on one GPU do not fit on
two or eight of them this way. What saves memory is one model for each GPU, in processes of their own, or one
after the other.

## Example

```python
import tensorflow as tf
from tensorflow import keras

strategy = tf.distribute.MirroredStrategy()
with strategy.scope():
    first = keras.applications.ResNet50(weights=None)
    second = keras.applications.VGG16(weights=None)
    first.compile("adam", "categorical_crossentropy")
    second.compile("adam", "categorical_crossentropy")
```

## Use instead

```python
import sys

import tensorflow as tf
from tensorflow import keras

gpus = tf.config.list_physical_devices("GPU")
tf.config.set_visible_devices(gpus[int(sys.argv[1])], "GPU")
model = keras.applications.ResNet50(weights=None)
model.compile("adam", "categorical_crossentropy")
```

## Fix safety

There is no fix: how the models are to be shared out is a decision.

## References

- <https://www.tensorflow.org/api_docs/python/tf/distribute/MirroredStrategy>
- <https://github.com/fizyr/keras-retinanet/issues/1265>
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

import libcst as cst

from oomlint.dryrun.queries import replicas
from oomlint.dryrun.queries.trained_models import FIT
from oomlint.dryrun.trace import Body, Call, Trace
from oomlint.dryrun.values.arrays import Array
from oomlint.dryrun.values.base import Sequence, Unknown, Value, deref
from oomlint.dryrun.values.program import Instance
from oomlint.dryrun.values.training import Model, Optimizer, Strategy
from oomlint.findings.model import TENSORFLOW_BACKEND, Evidence, Finding, Rule, Safety, Severity
from oomlint.project.settings import Settings
from oomlint.syntax.place import Place

RULE = Rule(
    code="OOM506",
    name="replicas-do-not-split-the-model",
    severity=Severity.NOTE,
    fix=Safety.DISPLAY,
    literals=("scope",),
    backends=TENSORFLOW_BACKEND,
)

# What a function from elsewhere that makes a model is called, and what others are.
MAKES = ("make", "create", "build", "get", "define", "construct", "model", "net")
OTHERS = (
    "loss",
    "optim",
    "metric",
    "data",
    "iter",
    "config",
    "callback",
    "schedule",
    "path",
    "strategy",
    "logger",
)
USES = (*FIT, "keras.Model.compile", "keras.Model.evaluate", "keras.Model.__call__")


@dataclass(frozen=True, slots=True)
class Made:
    """A model made in a scope: what it is, the call that made it, the name it got."""

    value: Value
    call: Call
    name: str


def check(trace: Trace, settings: Settings) -> Iterator[Finding]:
    """The second model of each strategy."""
    for strategy in (call.result for call in replicas.strategies(trace)):
        assert isinstance(strategy, Strategy)
        groups: dict[int, list[Made]] = {}
        for made in _unrelated(trace, _models(trace, strategy)):
            groups.setdefault(id(replicas.scope_frame(made.call.context)), []).append(made)
        # Scopes entered one after another replace a model as often as they add one: one `with` has to make both.
        models = next((group for group in groups.values() if len(group) > 1), [])
        if not models or not _each_has_an_optimizer(trace, strategy, models):
            continue
        first, second = models[0], models[1]
        place, _ = replicas.site(second.call, _scope_call(trace, strategy) or second.call)
        count = strategy.replicas.value if strategy.replicas is not None else None
        every = f"each of the {count} replicas" if count else "every replica"
        yield RULE.finding(
            place,
            f"{len(models)} models are made in the scope of one {replicas.short(strategy)}: "
            f"{every} holds the weights, gradients and slots of all of them",
            evidence=[Evidence("the first model", _site(trace, strategy, first)), *_about(strategy)],
            help="a strategy splits the batch, not the models: train them in turn, or each in a process on its own GPU",
        )


def _about(strategy: Strategy) -> list[Evidence]:
    return [Evidence("the strategy", strategy.made_by.place)] if strategy.made_by is not None else []


def _site(trace: Trace, strategy: Strategy, made: Made) -> Place:
    return replicas.site(made.call, _scope_call(trace, strategy) or made.call)[0]


def _scope_call(trace: Trace, strategy: Strategy) -> Call | None:
    scopes = trace.calls("tf.distribute.Strategy.scope")
    return next((call for call in scopes if call.receiver is strategy), None)


def _models(trace: Trace, strategy: Strategy) -> list[Made]:
    """Models made in the strategy's scope: of Keras, of the program's classes, or by functions from elsewhere."""
    found: dict[int, Made] = {}
    # A function that only calls another one gives its value a name where it is called itself.
    names = {id(deref(assign.value)): assign.path for assign in trace.assigns()}
    for call in trace.all_calls():
        if replicas.of_scope(call.context) is not strategy:
            continue
        value = deref(call.result)
        if isinstance(value, Model) and value.made_by is call:
            found.setdefault(id(value), Made(value, call, call.targets[0] if call.targets else ""))
            continue
        name = call.targets[0] if call.targets else names.get(id(value))
        if isinstance(value, Unknown) and name and _makes_a_model(call, name):
            found.setdefault(id(value), Made(value, call, name))
    for assign in trace.assigns():
        value = deref(assign.value)
        facet = value.facet if isinstance(value, Instance) else None
        if isinstance(facet, Model) and replicas.of_scope(assign.context) is strategy:
            maker = replicas.maker(facet)
            if maker is not None:
                found.setdefault(id(facet), Made(facet, maker, assign.path))
    return list(found.values())


def _makes_a_model(call: Call, target: str) -> bool:
    """A call of something out of sight (`first = create_first()`) that is not named after anything else."""
    name = (call.path if call.name == "unresolved" else call.name) or ""
    if call.receiver is not None or name.startswith(("tf.", "keras.", "builtins.", "numpy.")):
        return False
    function = name.rpartition(".")[2].lower()
    words = f"{function} {target.lower()}"
    makes = function.startswith(MAKES) or function.endswith(("model", "net"))
    return makes and not any(word in words for word in OTHERS)


def _unrelated(trace: Trace, models: list[Made]) -> list[Made]:
    """Those that are not a part, a cut or a copy of another, and that no step uses together with another."""
    related: set[int] = set()
    for call in trace.calls("keras.Model.__call__"):
        if any(isinstance(value, Array) and value.library == "keras" for value in _values(call)):
            related.add(id(call.receiver))  # a layer of another model
    for call in trace.calls(
        "keras.Model.set_weights", "keras.models.clone_model", "keras.Model.load_weights"
    ):
        related |= {id(call.receiver), id(deref(call.result)), *(id(value) for value in _values(call))}
    inputs: set[int] = set()
    kept: list[Made] = []
    for made in models:
        model = made.value
        if isinstance(model, Model):
            related |= {id(layer) for layer in model.layers or ()}
            shared = {id(leaf) for leaf in _leaves(model.inputs)}
            if shared & inputs:
                continue
            inputs |= shared
        kept.append(made)
    related |= _used_together(trace, kept)
    return [made for made in kept if id(made.value) not in related and not _is_looked_at(trace, made)]


def _is_looked_at(trace: Trace, made: Made) -> bool:
    """Whether a loaded model is never called, compiled or trained: its weights are wanted, or what it predicts."""
    if not made.call.name.startswith("keras.models.load_model"):
        return False
    return not any(call.receiver is made.value for call in trace.calls(*USES))


def _values(call: Call) -> Iterable[Value]:
    for argument in call.arguments:
        yield from _leaves(argument.value)


def _leaves(value: Value | None) -> list[Value]:
    value = deref(value) if value is not None else None
    if isinstance(value, Sequence):
        return [deref(item) for item in value.items or ([value.element] if value.element is not None else [])]
    return [value] if value is not None else []


def _used_together(trace: Trace, models: list[Made]) -> set[int]:
    """Models that are called by the same function: one step trains them, or one feeds the other."""
    by_value = {id(made.value): made for made in models}
    by_name = {made.name: made for made in models if made.name}
    users: dict[int, dict[int, Made]] = {}
    for call in trace.calls("keras.Model.__call__", "unresolved"):
        made = by_value.get(id(call.receiver)) if call.receiver is not None else by_name.get(call.path or "")
        if made is not None and made.call is not call:
            body = next((one for one in call.context.all(Body) if not _is_an_expression(one)), None)
            users.setdefault(id(body.function) if body is not None else 0, {})[id(made.value)] = made
    return {key for group in users.values() if len(group) > 1 for key in group}


def _is_an_expression(body: Body) -> bool:
    """Whether a function only gives the value of an expression: what it calls, its caller uses."""
    node = body.function.node
    if isinstance(node, cst.Lambda):
        return True
    match node.body.body:
        case [cst.SimpleStatementLine(body=[cst.Return()])]:
            return True
    return False


def _each_has_an_optimizer(trace: Trace, strategy: Strategy, models: list[Made]) -> bool:
    """Whether the models are there to be trained: compiled, or with as many optimizers beside them."""
    compiled = sum(isinstance(made.value, Model) and bool(made.value.compiles) for made in models)
    optimizers = {
        id(call.result)
        for call in trace.calls_under("keras.optimizers.")
        if isinstance(call.result, Optimizer) and replicas.of_scope(call.context) is strategy
    }
    return compiled >= 2 or len(optimizers) >= 2
