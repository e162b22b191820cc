"""Tensors are collected in a list, dictionary or attribute, round after round.

## What it does

Reports tensors that a loop or a callback puts into a container which lives longer than the round, without
turning them into NumPy arrays or numbers first.

## Why is this bad?

Every kept tensor stays where it was computed, on the GPU, until the container goes: the predictions of a
whole data set next to the model. A kept scalar is small (1.7 KB on the host against 40 bytes for a float) and
does not hold the step's activations, so losses in a list are a note only. Callback `logs`, and what
`train_on_batch`, `test_on_batch`, `predict` and `predict_on_batch` return, are numbers and NumPy arrays already.

## Example

```python
import tensorflow as tf
from tensorflow import keras

model = keras.Sequential([keras.Input((256, 256, 3)), keras.layers.Conv2D(16, 3)])
photos = keras.utils.image_dataset_from_directory("photos", labels=None, batch_size=32)

maps = []
for batch in photos:
    maps.append(model(batch, training=False))
```

## Use instead

```python
import tensorflow as tf
from tensorflow import keras

model = keras.Sequential([keras.Input((256, 256, 3)), keras.layers.Conv2D(16, 3)])
photos = keras.utils.image_dataset_from_directory("photos", labels=None, batch_size=32)

maps = []
for batch in photos:
    maps.append(model(batch, training=False).numpy())
```

## Fix safety

Safe for a scalar of eager code that is only averaged, plotted or printed: `float()` keeps its value exactly.
Unsafe for tensors: `.numpy()` frees the GPU, not the host, and code that later needs tensors (a gradient, a
`tf.function`) must convert back. Not offered where the kept values are used as tensors (`.numpy()`, `tf.stack`).

## References

- <https://github.com/tensorflow/tensorflow/issues/34606>
- <https://www.tensorflow.org/api_docs/python/tf/Tensor#numpy>
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

import libcst as cst

from oomlint.dryrun.loops import target_names
from oomlint.dryrun.sizes import human
from oomlint.dryrun.trace import Body, Call, Context, Loop, Within
from oomlint.dryrun.values.arrays import Array, shape_text
from oomlint.dryrun.values.base import Const, Mapping, Sequence, Unknown, Value, deref
from oomlint.dryrun.values.data import Dataset
from oomlint.dryrun.values.training import Gradients, Tape
from oomlint.findings.model import Evidence, Finding, Fix, Rule, Safety, Severity
from oomlint.syntax.edits import Replace
from oomlint.syntax.uses import Use, uses

if TYPE_CHECKING:
    from oomlint.dryrun import Trace
    from oomlint.project.settings import Settings

RULE = Rule(
    code="OOM403",
    name="tensors-kept",
    severity=Severity.WARNING,
    fix=Safety.SAFE,
    literals=("append", "add", "insert", "GradientTape", "Sequential", "Model", "load_model"),
)

FEW = 10  # as many tensors are not a collection yet
DOZENS = 64  # rounds
LITTLE = 64 << 20  # bytes that no GPU misses
SMALL = 1024  # bytes of a tensor that weighs no more than the object around it
# Calls that give eager tensors worth keeping an eye on: models, losses, metrics. Data set elements are not theirs.
COMPUTES = ("keras.Model.", "keras.Layer.", "keras.losses.", "keras.metrics.")
# Methods that run before what fills a list; others that set it to an empty one start it again.
BEGINNINGS = frozenset(["__init__", "build", "setup", "on_train_begin", "on_test_begin", "on_predict_begin"])
AVERAGES = frozenset("mean average median plot nanmean sum min max".split())


@dataclass(frozen=True, slots=True)
class Kept:
    """A value put into a container: the event, the value's expression, the container and its name."""

    call: Call
    value: Value
    expression: cst.BaseExpression
    container: Sequence | Mapping
    name: str | None


def check(trace: Trace, settings: Settings) -> Iterator[Finding]:
    """Every append and item assignment, once per place."""
    targets = {
        id(deref(argument.value))
        for call in trace.calls("tf.GradientTape.gradient")
        if (argument := call.argument("target")) is not None
    }
    seen: set[int] = set()
    for kept in _puts(trace):
        if id(kept.expression) in seen or not (id(kept.value) in targets or _computed(trace, kept.value, 0)):
            continue
        rounds = _rounds(kept)
        if rounds is None or _is_bounded(trace, kept) or _is_reset(kept):
            continue
        seen.add(id(kept.expression))
        yield _finding(trace, kept, scalar=id(kept.value) in targets or _small(kept.value), rounds=rounds)


def _puts(trace: Trace) -> Iterator[Kept]:
    for call in trace.calls(
        "builtins.list.append", "builtins.list.add", "builtins.list.insert", "operator.setitem"
    ):
        container = deref(call.receiver) if call.receiver is not None else None
        if not isinstance(container, Sequence | Mapping) or not call.arguments:
            continue
        last = call.arguments[-1]
        value = deref(last.value)
        if call.name == "operator.setitem":
            key = deref(call.arguments[1].value)
            expression = _assigned(call)
            if expression is None or (isinstance(key, Const) and not key.soft):
                continue  # the same entry in every round
        elif last.arg is not None:
            expression = last.arg.value
        else:
            continue
        yield Kept(call, value, expression, container, call.path)


def _assigned(call: Call) -> cst.BaseExpression | None:
    """The right side of the statement that writes an item."""
    statement = call.statement.node if call.statement is not None else None
    match statement:
        case cst.SimpleStatementLine(body=[cst.Assign(targets=[_], value=value)]):
            return value
    return None


def _computed(trace: Trace, value: Value, depth: int) -> bool:
    """Whether a value is an eager tensor that a model, loss, metric or gradient gave, directly or by arithmetic."""
    value = deref(value)
    if isinstance(value, Gradients) or (
        isinstance(value, Array) and value.library == "variable" and depth > 0
    ):
        return True
    maker = trace.maker(value)
    if maker is None or depth > 8:
        return False
    tensor = isinstance(value, Array) and value.library == "tensor"
    if not tensor and not (isinstance(value, Unknown) and maker.name.startswith(("tf.", "keras.ops."))):
        return False
    if maker.name.startswith(COMPUTES):
        return True
    operands = [argument.value for argument in maker.arguments]
    if maker.receiver is not None:
        operands.append(maker.receiver)
    return any(_computed(trace, operand, depth + 1) for operand in operands)


def _small(value: Value) -> bool:
    if not isinstance(value, Array):
        return False
    return value.shape == () or (value.size is not None and value.size.bytes <= SMALL)


def _rounds(kept: Kept) -> tuple[Loop | None, int | None] | None:
    """The loop (None in a callback) that fills a container, and how often where that is known; None if nothing does."""
    context = kept.call.context
    function = context.function()
    if context.role("tf.function") is not None or any(
        body.function.name == "call" for body in context.all(Body)
    ):
        return None  # a list in a graph lives while the graph is traced
    made: Context | None = kept.container.context
    if made is None:
        return None
    before = {id(frame) for frame in made.frames()}
    for frame in made.frames():
        if isinstance(frame, Loop):
            return None  # a new container in every round
        if isinstance(frame, Body):
            break
    outside = list(context.frames())
    for index, frame in enumerate(outside):
        if isinstance(frame, Within) and isinstance(deref(frame.manager), Tape):
            outside = outside[index:]  # loops inside the tape make tensors that its gradient needs
            break
    loops = [frame for frame in outside if isinstance(frame, Loop) and id(frame) not in before]
    if loops and not _is_one_per_thing(kept, loops[0]):
        times: int | None = 1
        for loop in loops:
            trip = loop.trip.value if loop.trip is not None else None
            times = times * trip if times is not None and isinstance(trip, int) else None
        return None if times is not None and times <= FEW else (loops[0], times)
    if (
        function is not None
        and function.owner is not None
        and kept.name is not None
        and kept.name.startswith("self.")
    ):
        hook = function.name.startswith(
            ("on_epoch", "on_batch", "on_train_batch", "on_test_batch", "on_predict_batch")
        )
        if hook and "keras.callbacks.Callback" in function.owner.library_bases():
            return None, None
    return None


def _is_one_per_thing(kept: Kept, loop: Loop) -> bool:
    """Whether the loop goes over models, metrics or named things, of which there are a few, and not over data."""
    node = loop.place.node
    names = target_names(node.target) if isinstance(node, cst.For) else []
    if kept.call.name == "operator.setitem":
        counted = kept.call.arguments[1].value
        key = deref(counted)
        kind = type(key.value).__name__ if isinstance(key, Const) else getattr(key, "type", None)
        return kind != "int" and not isinstance(deref(loop.iterable or Unknown()), Dataset)
    made = kept.expression
    return isinstance(made, cst.Call) and any(uses(cst.Arg(made.func), name) for name in names)


def _block(kept: Kept) -> cst.CSTNode:
    """The code that can see the container's name."""
    function = kept.call.context.function()
    if (
        kept.name is not None
        and kept.name.startswith("self.")
        and function is not None
        and function.owner is not None
    ):
        return function.owner.node
    made: Context | None = kept.container.context
    outer = made.function() if made is not None else None
    return outer.node if outer is not None else kept.call.source.module


def _is_bounded(trace: Trace, kept: Kept) -> bool:
    """Whether the container drops its oldest elements: `deque(maxlen=...)`."""
    maker = trace.maker(kept.container)
    return maker is not None and maker.name == "collections.deque" and maker.argument("maxlen") is not None


def _is_reset(kept: Kept) -> bool:
    """Whether the container is emptied, or replaced by a new one, in a loop or a hook."""
    if kept.name is None:
        return False
    for use in uses(_block(kept), kept.name):
        match use.around:
            case [cst.Attribute(attr=cst.Name(value="clear" | "pop" | "popleft" | "popitem" | "remove")), *_]:
                return True
            case [cst.Subscript(), cst.Del(), *_] | [cst.Del(), *_]:
                return True
            case [cst.AssignTarget(), *_]:
                if any(isinstance(node, cst.For | cst.While) for node in use.around):
                    return True
                method = next((node for node in use.around if isinstance(node, cst.FunctionDef)), None)
                if (
                    kept.name.startswith("self.")
                    and method is not None
                    and method.name.value not in BEGINNINGS
                ):
                    return True
    return False


def _finding(trace: Trace, kept: Kept, scalar: bool, rounds: tuple[Loop | None, int | None]) -> Finding:
    loop, times = rounds
    node = kept.call.node
    receiver = (
        node.func.value if isinstance(node, cst.Call) and isinstance(node.func, cst.Attribute) else None
    )
    shown = kept.name or (kept.call.source.code(receiver) if receiver is not None else "")
    name = f"`{shown}`" if shown else "a container"
    what = "a scalar tensor" if scalar else "gradients" if isinstance(kept.value, Gradients) else "a tensor"
    if loop is None:
        how_often = "every call of the callback"
    else:
        how_often = f"each of {times:,} rounds" if times is not None else "every round of the loop"
    evidence = []
    if loop is not None:
        evidence.append(Evidence("the loop that fills it", loop.place))
    if isinstance(kept.value, Array) and kept.value.shape:
        size = kept.value.size
        text = f"each is {shape_text(kept.value.shape)} {kept.value.dtype or ''}".rstrip()
        if size is not None and times is not None:
            text += f", {size}; together {human(size.bytes * times)}"
        evidence.append(Evidence(text))
    help_ = "keep `float(...)` of it" if scalar else "keep `.numpy()` of it, so that it leaves the GPU"
    return RULE.finding(
        kept.call.place,
        f"{name} keeps {what} for {how_often}",
        evidence=evidence,
        help=help_,
        fix=_fix(trace, kept, scalar),
        severity=Severity.NOTE if scalar or _is_modest(kept, times) else Severity.WARNING,
    )


def _is_modest(kept: Kept, times: int | None) -> bool:
    """Whether a loop of known length keeps little, or of unknown size but only some dozens."""
    if times is None:
        return False
    size = kept.value.size if isinstance(kept.value, Array) else None
    return times <= DOZENS if size is None else size.bytes * times < LITTLE


def _fix(trace: Trace, kept: Kept, scalar: bool) -> Fix | None:
    if kept.name is None or isinstance(kept.value, Gradients):
        return None
    found = uses(_block(kept), kept.name)
    source = kept.call.source
    code, place = source.code(kept.expression), source.place(kept.expression)
    if scalar:
        if "." in kept.name or not all(_only_averaged(trace, use) for use in found):
            return None
        return Fix("keep the number", Safety.SAFE, (Replace(place, f"float({code})"),))
    if any(
        isinstance(node, cst.Attribute) and node.attr.value == "numpy" for use in found for node in use.around
    ):
        return None
    simple = isinstance(kept.expression, cst.Name | cst.Attribute | cst.Call | cst.Subscript)
    text = f"{code}.numpy()" if simple else f"({code}).numpy()"
    return Fix("keep the NumPy array", Safety.UNSAFE, (Replace(place, text),))


def _only_averaged(trace: Trace, use: Use) -> bool:
    """Whether a use of a list of numbers gives the same with floats as with scalar tensors."""
    match use.around:
        case [cst.AssignTarget(), *_] | [cst.AnnAssign(), *_]:
            return True
        case [cst.Attribute(attr=cst.Name(value="append" | "clear")), *_]:
            return True
        case [cst.Arg(), cst.Call(func=cst.Name(value="len" | "print")), *_]:
            return True
        case [cst.Arg(), cst.Call(func=cst.Attribute(attr=cst.Name(value=name))) as call, *_] if (
            name in AVERAGES
        ):
            return any(
                event.node is call
                for prefix in ("numpy.", "matplotlib.", "seaborn.")
                for event in trace.calls_under(prefix)
            )
        case [cst.Arg(), cst.Call(func=cst.Name(value="sum" | "min" | "max")), *rest]:
            return _is_shown(rest)
    return False


def _is_shown(around: list[cst.CSTNode]) -> bool:
    """Whether an expression is only formatted, printed or made a float."""
    for node in around:
        match node:
            case cst.Attribute() | cst.Assign() | cst.Return():
                return False
            case cst.FormattedStringExpression() | cst.Call(func=cst.Name(value="print" | "float" | "round")):
                return True
    return False
