"""`jit_compile=True` asks for XLA under a strategy with several replicas, where Keras itself leaves it off.

## What it does

Reports an explicit `jit_compile=True`, in `compile` for a model made in the scope of a strategy, or in a
`tf.function` that the strategy runs on its replicas or that calls `strategy.run`.

## Why is this bad?

With its default, `jit_compile="auto"`, Keras turns XLA off as soon as a strategy with several replicas is around. Asked
for all the same, the step may not compile: on two logical CPUs it stops with InvalidArgumentError, a variable on
a different device. Where it does, XLA takes scratch memory of its own on each GPU while it tries out kernels, and
compiles again for every new shape of a batch. TPUs always use XLA and are not meant here.

## Example

```python
import tensorflow as tf
from tensorflow import keras

strategy = tf.distribute.MirroredStrategy()
with strategy.scope():
    model = keras.applications.ResNet50(weights=None, classes=10)
    model.compile(optimizer="adam", loss="sparse_categorical_crossentropy", jit_compile=True)
```

## Use instead

```python
import tensorflow as tf
from tensorflow import keras

strategy = tf.distribute.MirroredStrategy()
with strategy.scope():
    model = keras.applications.ResNet50(weights=None, classes=10)
    model.compile(optimizer="adam", loss="sparse_categorical_crossentropy", jit_compile=False)
```

## Fix safety

Unsafe: the script runs without XLA, which may be slower and rounds differently.

## References

- <https://keras.io/api/models/model_training_apis/#compile-method>
- <https://github.com/keras-team/keras-cv/pull/2406>
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import libcst as cst

from oomlint.dryrun.queries import replicas
from oomlint.dryrun.trace import Body, Call, Trace
from oomlint.dryrun.values.base import Opaque, Value, deref
from oomlint.dryrun.values.program import Function, Method
from oomlint.dryrun.values.training import Strategy
from oomlint.findings.model import TENSORFLOW_BACKEND, Evidence, Finding, Fix, Rule, Safety, Severity
from oomlint.syntax.edits import Replace

if TYPE_CHECKING:
    from oomlint.project.settings import Settings

RULE = Rule(
    code="OOM507",
    name="jit-with-strategy",
    severity=Severity.NOTE,
    fix=Safety.UNSAFE,
    literals=("jit_compile", "experimental_compile"),
    preview=True,
    backends=TENSORFLOW_BACKEND,
)

NAMES = ("jit_compile", "experimental_compile")  # the second until TensorFlow 2.4
ALWAYS_XLA = "tf.distribute.TPUStrategy"


def check(trace: Trace, settings: Settings) -> Iterator[Finding]:
    """Compiled models first, then functions; each place once."""
    seen: set[int] = set()
    for call, strategy in (*_compiled(trace), *_functions(trace)):
        if id(call.node) not in seen and _splits(strategy):
            seen.add(id(call.node))
            yield _finding(call, strategy)


def _splits(strategy: Strategy) -> bool:
    return replicas.may_replicate(strategy) and strategy.type != ALWAYS_XLA


def _asks(call: Call) -> bool:
    return any(call.const(name, False) is True for name in NAMES)


def _compiled(trace: Trace) -> Iterator[tuple[Call, Strategy]]:
    for call in trace.calls("keras.Model.compile"):
        strategy = replicas.of_model(call.receiver, call) if _asks(call) else None
        if strategy is not None:
            yield call, strategy


def _functions(trace: Trace) -> Iterator[tuple[Call, Strategy]]:
    """Functions compiled by XLA that run on the replicas, or around `strategy.run`."""
    asking = [call for call in trace.calls("tf.function") if _asks(call)]
    if not asking:
        return
    wrapped = {id(function): call for call in asking if (function := _function(call.result))}
    for run in trace.calls("tf.distribute.Strategy.run", "tf.distribute.Strategy.experimental_run_v2"):
        given = run.value("fn")
        functions = [_function(given), *(body.function for body in run.context.all(Body))]
        strategy = deref(run.receiver) if run.receiver is not None else None
        for function in functions:
            call = _jit(function, wrapped)
            if call is not None and isinstance(strategy, Strategy):
                yield call, strategy
    for event in trace.all_calls():
        strategy = replicas.on_replicas(event.context)
        if strategy is not None:
            for body in event.context.all(Body):
                call = _jit(body.function, wrapped)
                if call is not None:
                    yield call, strategy


def _function(value: Value | None) -> Function | None:
    value = deref(value) if value is not None else None
    if isinstance(value, Method):
        return value.function
    return value if isinstance(value, Function) else None


def _jit(function: Function | None, wrapped: dict[int, Call]) -> Call | None:
    """The `tf.function(..., jit_compile=True)` that a function went through, as decorator or as argument."""
    for decorator in function.decorators if function is not None else ():
        made = deref(decorator)
        if isinstance(made, Opaque) and made.type == "tf.function" and made.made_by and _asks(made.made_by):
            return made.made_by
    return wrapped.get(id(function))


def _finding(call: Call, strategy: Strategy) -> Finding:
    evidence = [
        Evidence('"auto", the default of `compile`, leaves XLA off under a strategy with several replicas'),
    ]
    if strategy.made_by is not None:
        evidence.insert(0, Evidence("the strategy", strategy.made_by.place))
    argument = next(argument for name in NAMES if (argument := call.argument(name)) is not None)
    return RULE.finding(
        call.place,
        f"XLA is asked for under {replicas.short(strategy)}, where Keras leaves it off: the step may fail to compile, "
        "and compiling takes memory of its own on every GPU",
        evidence=evidence,
        help=f"write `{argument.name or NAMES[0]}=False`, or leave it out, unless it was seen to fit on these GPUs",
        fix=_fix(call),
    )


def _fix(call: Call) -> Fix | None:
    for name in NAMES:
        argument = call.argument(name)
        if argument is not None and isinstance(argument.place.node, cst.Name):
            if argument.place.node.value == "True":
                return Fix("leave XLA off", Safety.UNSAFE, (Replace(argument.place, "False"),))
    return None
