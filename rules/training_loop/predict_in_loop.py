"""`predict` is called on one item after another in a loop.

## What it does

Reports `model.predict` on a single item (`x[None]`, `np.expand_dims(x, 0)`, `x[i:i + 1]`) in every round of a loop.
It does not report the prediction of batches, of a fixed item once per epoch, `predict_on_batch`, a few rounds,
rounds that wait for `input()`, or rounds that each ask another model of an ensemble. With TensorFlow's Keras before 2.4
it is a warning, for batches too.

## Why is this bad?

`predict` is made for a whole data set: every call makes a pipeline and runs callbacks for it, which for one item
takes many times as long as the model itself. The memory of the process does not grow with it on current versions
(0.02 MB a call; older ones did leak), so `clear_session()` after each call frees nothing: `predict` returns NumPy
arrays.

Where all items are there, one `predict` of all of them is the remedy. Where each depends on the one before (a game, a
generated text, a camera), call the model itself. That is no remedy in general: `model(x)` takes everything at once
and is only for what fits into one batch.

## Example

```python
import numpy as np
from tensorflow import keras

model = keras.models.load_model("classifier.keras")
classes = []
for image in np.load("images.npy", mmap_mode="r"):
    classes.append(model.predict(np.expand_dims(image, 0)).argmax())
```

## Use instead

```python
import numpy as np
from tensorflow import keras

model = keras.models.load_model("classifier.keras")
classes = model.predict(np.load("images.npy", mmap_mode="r"), batch_size=32).argmax(axis=-1)
```

## Fix safety

Unsafe: the call becomes `model(x, training=False).numpy()`, which is right for a model with one output whose input
fits one batch. In graph mode (TensorFlow 1, a `tf.function`, a graph or session) there is no fix: what comes out of the
model has no `.numpy()` there. `predict_on_batch` takes its place.

## References

- <https://keras.io/getting_started/faq/#whats-the-difference-between-model-methods-predict-and-call>
- <https://github.com/tensorflow/tensorflow/issues/33030>
- <https://github.com/tensorflow/tensorflow/issues/44711>
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import TYPE_CHECKING

import libcst as cst

from oomlint.dryrun.loops import target_names
from oomlint.dryrun.queries.graph_growth import in_graph_mode
from oomlint.dryrun.queries.keras_version import keras_at_least
from oomlint.dryrun.queries.model_rounds import CLEARING
from oomlint.dryrun.queries.rounds import loops_around, rounds_of
from oomlint.dryrun.queries.single_items import SingleItems
from oomlint.dryrun.trace import Body, Branch, Call, Loop, Trace
from oomlint.dryrun.values.arrays import Array
from oomlint.dryrun.values.base import Mapping, Sequence, Value, deref
from oomlint.dryrun.values.training import Model
from oomlint.findings.model import TENSORFLOW_BACKEND, Evidence, Finding, Fix, Rule, Safety, Severity
from oomlint.syntax.blocks import names_bound
from oomlint.syntax.edits import Replace
from oomlint.syntax.uses import names_in, uses

if TYPE_CHECKING:
    from oomlint.project.settings import Settings

RULE = Rule(
    code="OOM411",
    name="predict-in-loop",
    severity=Severity.NOTE,
    fix=Safety.UNSAFE,
    literals=("predict",),
    backends=TENSORFLOW_BACKEND,
)

FEW = 10  # rounds
LARGE = 1 << 20  # numbers in an item: beside the model's work on so many, what the call costs is nothing
FITS = ("keras.Model.fit", "keras.Model.fit_generator")
STEPS = ("keras.Model.train_on_batch", "keras.Optimizer.apply_gradients")
# Where the rounds of a loop are an environment's steps, learning in between does not make them epochs.
ENVIRONMENTS = frozenset(["gym", "gymnasium", "pettingzoo", "pygame", "unityagents", "vizdoom"])


def check(trace: Trace, settings: Settings) -> Iterator[Finding]:
    """Each call of `predict` once."""
    calls = [call for call in trace.calls("keras.Model.predict") if _item_loops(call)]
    if not calls:
        return
    single = SingleItems(trace)
    # Keras' own package left nothing: 3,000 calls with 2.2.4 on TensorFlow 1.15 took no memory.
    own = trace.libraries.get("keras", "").startswith("keras")
    old = not own and not keras_at_least(trace, settings, 2, 4)
    seen: set[int] = set()
    for call in calls:
        loop = _item_loops(call)[0]
        if id(call.node) in seen or loop.kind == "trials" or _few(call.context.loops()):
            continue
        argument = call.argument("x") or (call.arguments[0] if call.arguments else None)
        alone = argument is not None and single.holds(argument.value)
        if argument is None or not (alone or old):
            continue
        if (
            _is_large(deref(argument.value))
            or _is_fixed(trace, call, loop)
            or _is_epoch(trace, single, call, loop)
            or _asks_somebody(loop)
        ):
            continue
        seen.add(id(call.node))
        yield _finding(trace, call, loop, alone, old)


def _item_loops(call: Call) -> list[Loop]:
    """The loops around, innermost first, without those inside that go over the models of an ensemble."""
    loops = loops_around(call.context)
    callee = call.node.func if isinstance(call.node, cst.Call) else None
    models = names_in(callee.value) if isinstance(callee, cst.Attribute) else frozenset()
    while loops and models & _targets(loops[0]):
        loops = loops[1:]
    return loops


def _targets(loop: Loop) -> set[str]:
    """What the loop binds anew in every round."""
    match loop.place.node:
        case cst.For(target=target) | cst.BaseComp(for_in=cst.CompFor(target=target)):
            return set(target_names(target))
    return set()


def _few(loops: list[Loop]) -> bool:
    """Whether the text counts out no more than some rounds in all."""
    rounds = rounds_of(loops)
    return rounds is not None and rounds <= FEW


def _is_large(item: Value) -> bool:
    dims = item.shape if isinstance(item, Array) and item.shape is not None else ()
    return bool(math.prod(dim.value for dim in dims if dim is not None) >= LARGE)


def _is_fixed(trace: Trace, call: Call, loop: Loop) -> bool:
    """Whether every round predicts the same item, made before the loop: to watch the training."""
    argument = call.argument("x") or next(iter(call.arguments), None)
    given = None if argument is None else deref(argument.value)
    inputs = given.items if isinstance(given, Sequence) and given.kind == "list" else [given]
    makers = [None if one is None else trace.maker(one) for one in inputs or [None]]
    if argument is None or any(made is None or loop in made.context.loops() for made in makers):
        return False
    names = names_in(argument.place.node)
    if any(isinstance(frame, Body) for frame in call.context.since(loop)):
        return isinstance(argument.place.node, cst.Attribute) and "self" in names
    # What is made anew on the object is known by its maker: another attribute may be.
    return not (names - {"self"}) & names_bound(loop.place.node)


def _is_epoch(trace: Trace, single: SingleItems, predicted: Call, loop: Loop) -> bool:
    """Whether the rounds of a loop train, and a prediction is only a look at how the training gets on."""
    fits = [call for call in trace.calls(*FITS, *STEPS) if loop in call.context.loops()]
    if any(name.partition(".")[0] in ENVIRONMENTS for name, _ in trace.imports):
        return False
    if fits and any(isinstance(frame, Branch) for frame in predicted.context.since(loop)):
        return True  # every so many rounds
    for call in fits:
        data = call.value("x") or call.value("generator")
        if loops_around(call.context)[:1] != [loop]:
            return True
        if call.name in FITS and not (data is not None and single.holds(data)):
            return True
    return False


def _asks_somebody(loop: Loop) -> bool:
    """Whether every round waits for somebody to type something: beside that no call takes long."""
    found = uses(loop.place.node, "input") if loop.kind in ("for", "while") else []
    return any(isinstance(use.parent, cst.Call) and use.parent.func is use.node for use in found)


def _finding(trace: Trace, call: Call, loop: Loop, alone: bool, old: bool) -> Finding:
    evidence = [Evidence("the loop", loop.place)]
    for clearing in trace.calls(*CLEARING):
        if loop in clearing.context.loops():
            text = (
                "clear_session() frees nothing here: predict gives NumPy arrays and keeps no graph of its own"
            )
            evidence.append(Evidence(text, clearing.place))
            break
    how = "in every round of a loop"
    # A list of one in a loop that goes on (the hands in a camera's picture) is not one round.
    if loop.trip is not None and isinstance(loop.trip.value, int) and loop.trip.value > 1:
        how = f"in each of {loop.trip.value:,} rounds of a loop"
    costs = "each call sets up a pipeline for it, which takes longer than the model"
    if old:
        costs = "before Keras 2.4 each call leaves memory behind"
    graph = in_graph_mode(trace, call.context)
    alternative = "use `predict_on_batch`" if graph else "call the model itself, `model(x, training=False)`"
    return RULE.finding(
        call.place,
        f"`predict` runs {'on a single item ' if alone else ''}{how}: {costs}",
        evidence=evidence,
        help=f"predict all items with one call; where each depends on the one before, {alternative}, "
        "which is for inputs that fit one batch",
        fix=_fix(call) if alone and not graph else None,  # no value has `.numpy()` there
        severity=Severity.WARNING if old else Severity.NOTE,
    )


def _fix(call: Call) -> Fix | None:
    """The model called itself, where one array comes out and no other argument matters."""
    node, model = call.node, call.receiver
    if not isinstance(node, cst.Call) or not isinstance(node.func, cst.Attribute) or not call.arguments:
        return None
    first, *rest = node.args
    if first.star or (first.keyword is not None and first.keyword.value != "x"):
        return None
    if any(
        arg.keyword is None or arg.keyword.value not in ("verbose", "batch_size", "workers") for arg in rest
    ):
        return None
    outputs = deref(model.outputs) if isinstance(model, Model) and model.outputs is not None else None
    one = outputs is not None
    if "" in call.targets or isinstance(outputs, Sequence | Mapping) or _is_taken_apart(call, one):
        return None  # several outputs
    source = call.source
    text = f"{source.code(node.func.value)}({source.code(first.value)}, training=False).numpy()"
    return Fix("call the model itself", Safety.UNSAFE, (Replace(call.place, text),))


def _is_taken_apart(call: Call, one: bool) -> bool:
    """Whether the result is a dictionary, or several, as what follows uses it (`found["boxes"]`, `a, b = found`).

    Where it is not known to be one array, going through it or counting it looks like several, too.
    """
    function = call.context.function()
    block = function.node if function is not None else call.source.module
    for use in uses(block, call.targets[0]) if call.targets else ():
        match use.around:
            case [cst.Subscript(slice=[cst.SubscriptElement(slice=cst.Index(value=cst.SimpleString()))]), *_]:
                return True
            case [cst.Assign(targets=[cst.AssignTarget(target=cst.Tuple() | cst.List())]), *_]:
                return True
            case [cst.Subscript(slice=[cst.SubscriptElement(slice=cst.Index(value=cst.Name()))]), *_] if (
                not one
            ):
                return True
            case [cst.Call(func=cst.Name(value="len" | "zip" | "enumerate")), *_] if not one:
                return True
            case [cst.Arg(), cst.Call(func=cst.Name(value="len" | "zip" | "enumerate")), *_] if not one:
                return True
            case [(cst.For() | cst.CompFor()) as loop, *_] if not one and loop.iter is use.node:
                return True
    return False
