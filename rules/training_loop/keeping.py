"""Values put into containers: what is kept, by which loop, and whether the container starts again."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import libcst as cst

from oomlint.dryrun.imports import dotted
from oomlint.dryrun.loops import target_names
from oomlint.dryrun.trace import Body, Branch, Call, Context, Loop, Role, Within
from oomlint.dryrun.values.arrays import Array
from oomlint.dryrun.values.base import Const, Mapping, Sequence, Unknown, Value, deref
from oomlint.dryrun.values.data import Dataset, leaves
from oomlint.dryrun.values.training import Gradients, Layer, Tape
from oomlint.syntax.uses import Use, uses

if TYPE_CHECKING:
    from oomlint.dryrun import Trace

FEW = 10  # as many tensors are not a collection yet
MAKERS = 256  # calls looked back at from a value
# Calls that give eager tensors worth keeping an eye on: models, losses, metrics. Data set elements are not theirs.
COMPUTES = ("keras.Model.", "keras.Layer.", "keras.losses.", "keras.metrics.")
_SIDE_BY_SIDE = ("builtins.zip", "builtins.enumerate")
# What a session of TF1 gives back is NumPy's.
SESSIONS = ("tf.Session.", "tf.InteractiveSession.")
# Functions of TF1 alone, whose results are operations of a graph.
OF_A_GRAPH = frozenset(
    ["tf.assign", "tf.assign_add", "tf.assign_sub", "tf.placeholder", "tf.get_variable", "tf.Print"]
)
CALLBACK = "keras.callbacks.Callback"
# What runs a function anew for each element of a data set.
PER_ELEMENT = frozenset(["tf.data.map", "tf.py_function", "tf.numpy_function"])


@dataclass(frozen=True, slots=True)
class Kept:
    """A value put into a container: the event, the value's expression, the container and its name.

    `nested`: the container is that of one round, for which that of all rounds stands; or this is part of a record.
    """

    call: Call
    value: Value
    expression: cst.BaseExpression
    container: Sequence | Mapping
    name: str | None
    nested: bool = False


def puts(trace: Trace) -> Iterator[Kept]:
    """Values that calls and item assignments put into lists and dictionaries, which may be put into others."""
    found = list(_puts(trace))
    holders = {id(kept.value): kept for kept in found if isinstance(kept.value, Sequence | Mapping)}
    for kept in found:
        holder, seen = kept, {id(kept.container)}
        while _of_one_round(holder.container) and id(holder.container) in holders:
            holder = holders[id(holder.container)]
            if id(holder.container) in seen:
                break
            seen.add(id(holder.container))
        if holder is kept or isinstance(kept.value, Sequence | Mapping):
            yield kept
        else:
            yield replace(kept, container=holder.container, name=holder.name, nested=True)


def _of_one_round(container: Sequence | Mapping) -> bool:
    """Whether a container is made anew in every round of a loop."""
    made: Context | None = container.context
    for frame in made.frames() if made is not None else ():
        if isinstance(frame, Loop | Body):
            return isinstance(frame, Loop)
    return False


def _puts(trace: Trace) -> Iterator[Kept]:
    for call in trace.calls(
        "builtins.list.append",
        "builtins.list.add",
        "builtins.list.insert",
        "builtins.list.extend",
        "operator.setitem",
    ):
        container = deref(call.receiver) if call.receiver is not None else None
        if not isinstance(container, Sequence | Mapping) or not call.arguments:
            continue
        last = call.arguments[-1]
        value = deref(last.value)
        if call.name == "builtins.list.extend":
            listed = last.place.node  # `losses += [loss]`, `maps.extend([a, b])`
            if (
                isinstance(value, Sequence)
                and value.items is not None
                and isinstance(listed, cst.List | cst.Tuple)
            ):
                for item, element in zip(value.items, listed.elements):
                    yield Kept(call, deref(item), element.value, container, call.path)
            elif isinstance(value, Array) and isinstance(listed, cst.BaseExpression):
                yield Kept(call, value, listed, container, call.path)  # row by row
            continue
        if call.name == "operator.setitem":
            key = deref(call.arguments[1].value)
            expression = _assigned(call)
            if expression is None or _is_fixed(key):
                continue  # the same entry in every round
        elif last.arg is not None:
            expression = last.arg.value
        else:
            continue
        yield Kept(call, value, expression, container, call.path)
        for part, item in _written_parts(expression, value):
            yield Kept(call, item, part, container, call.path, nested=True)


def _is_fixed(key: Value) -> bool:
    """Whether a key is the same in every round: a constant, or a tuple of nothing else."""
    if isinstance(key, Sequence):
        items = key.items if key.kind == "tuple" else None
        return items is not None and all(_is_fixed(deref(one)) for one in items)
    return isinstance(key, Const) and not key.soft


def _written_parts(
    expression: cst.BaseExpression, value: Value
) -> Iterator[tuple[cst.BaseExpression, Value]]:
    """The parts of a record that is put in whole: `kept.append((labels, model(x)))`, `kept[n] = {"maps": model(x)}`."""
    match expression, value:
        case cst.Tuple(elements=elements) | cst.List(elements=elements), Sequence(items=list(items)):
            if len(items) == len(elements) and all(isinstance(one, cst.Element) for one in elements):
                yield from ((one.value, deref(item)) for one, item in zip(elements, items))
        case cst.Dict(elements=entries), Mapping(entries=known, complete=True):
            if len(known) == len(entries) and all(isinstance(one, cst.DictElement) for one in entries):
                yield from ((one.value, deref(item)) for one, item in zip(entries, known.values()))


def _assigned(call: Call) -> cst.BaseExpression | None:
    """The right side of the statement that writes an item."""
    statement = call.statement.node if call.statement is not None else None
    match statement.body if isinstance(statement, cst.SimpleStatementLine) else ():
        case [cst.Assign(targets=[_], value=value) | cst.AnnAssign(value=value)]:
            return value
    return None


def taken_apart(trace: Trace, kept: Kept) -> Value | None:
    """The tensor whose rows a loop goes over, where a row is what is kept: `for row in maps: kept.append(row)`."""
    name = kept.expression.value if isinstance(kept.expression, cst.Name) else None
    for loop in kept.call.context.loops() if name is not None else ():
        node = loop.place.node
        if not isinstance(node, cst.For) or name not in target_names(node.target):
            continue
        if isinstance(node.target, cst.Name):
            return loop.iterable
        positions = [
            number
            for number, one in enumerate(node.target.elements if isinstance(node.target, cst.Tuple) else ())
            if isinstance(one.value, cst.Name) and one.value.value == name
        ]
        maker = trace.maker(loop.iterable) if loop.iterable is not None and positions else None
        at = positions[0] - (maker.name == "builtins.enumerate") if maker is not None else -1
        if maker is not None and maker.name in _SIDE_BY_SIDE and 0 <= at < len(maker.arguments):
            return maker.arguments[at].value
        return None
    return None


def is_computed(trace: Trace, value: Value, depth: int) -> bool:
    """Whether a value is an eager tensor that a model, loss, metric or gradient gave, directly or by arithmetic."""
    value = deref(value)
    if isinstance(value, Gradients) and ("numpy" in value.tags or _is_operation(value)):
        return False
    if isinstance(value, Gradients) or (
        isinstance(value, Array) and value.library == "variable" and depth > 0
    ):
        return True
    maker = trace.maker(value) or trace.subscript(value)
    if maker is None or depth > 8 or maker.name.startswith(SESSIONS) or maker.name in OF_A_GRAPH:
        return False
    if is_called_as_a_model(trace, maker):
        return True
    tensor = isinstance(value, Array) and value.library == "tensor"
    if not tensor and not (isinstance(value, Unknown) and maker.name.startswith(("tf.", "keras.ops."))):
        return False
    if maker.name.startswith(COMPUTES):
        return True
    operands = [argument.value for argument in maker.arguments]
    if maker.receiver is not None:
        operands.append(maker.receiver)
    return any(is_computed(trace, operand, depth + 1) for operand in operands)


def is_called_as_a_model(trace: Trace, maker: Call) -> bool:
    """Whether something that nothing here defines is called as a model is: `self.model(batch, training=False)`."""
    if maker.name != "unresolved" or "tf" not in trace.libraries or "torch" in trace.libraries:
        return False
    training = maker.argument("training")
    return training is not None and isinstance(training.const(), bool)


def _is_operation(value: Gradients) -> bool:
    """Whether it is what `minimize` gives: an operation of the graph, or nothing."""
    return value.made_by is not None and value.made_by.name.endswith(".minimize")


def before_a_session(trace: Trace, kept: Kept) -> bool:
    """Whether the function goes on to open a session: until then it built a graph."""
    body = kept.call.context.innermost(Body)
    sessions = trace.calls("tf.Session", "tf.InteractiveSession")
    return body is not None and any(call.context.innermost(Body) is body for call in sessions)


def is_text(kept: Kept) -> bool:
    """Whether strings are kept, which no GPU holds: a generated text, token by token."""
    items = (kept.container.items or []) if isinstance(kept.container, Sequence) else []
    return any(isinstance(one, Array) and one.dtype == "string" for one in (kept.value, *map(deref, items)))


def is_scalar(kept: Kept, targets: set[int]) -> bool:
    """Whether a value has no dimensions; a loss of unknown shape that a tape differentiates is taken for one."""
    if isinstance(kept.value, Array) and kept.value.shape is not None:
        return kept.value.shape == ()
    return id(kept.value) in targets


def rounds_of(trace: Trace, kept: Kept) -> tuple[Loop | None, int | None] | None:
    """The loop (None in a callback) that fills a container, and how often where that is known; None if nothing does."""
    context = kept.call.context
    function = context.function()
    if context.role("tf.function") is not None or any(_is_traced(body) for body in context.all(Body)):
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
    if any(isinstance(frame, Role) and frame.name in PER_ELEMENT for frame in made.frames()):
        return None  # a new container for every element of a data set
    outside = around = list(context.frames())
    for index, frame in enumerate(outside):
        if isinstance(frame, Within) and isinstance(deref(frame.manager), Tape):
            outside = outside[index:]  # loops inside the tape make tensors that its gradient needs
            break
    loops = [frame for frame in outside if isinstance(frame, Loop) and id(frame) not in before]
    if loops and not _is_one_per_thing(trace, kept, loops[0]):
        times: int | None = 1
        for loop in (frame for frame in around if isinstance(frame, Loop) and id(frame) not in before):
            trip = loop.trip.value if loop.trip is not None else None
            times = times * trip if times is not None and isinstance(trip, int) else None
        return None if times is not None and times <= FEW else (loops[0], times)
    if function is None:
        return None
    if function.owner is None:  # one that a LambdaCallback was given
        new = [frame for frame in around if isinstance(frame, Role) and id(frame) not in before]
        return (None, None) if any(frame.name == "callback" for frame in new) else None
    own = kept.name is not None and kept.name.startswith("self.")
    hook = function.name.startswith(
        ("on_epoch", "on_batch", "on_train_batch", "on_test_batch", "on_predict_batch")
    )
    return (None, None) if own and hook and CALLBACK in function.owner.library_bases() else None


def _is_traced(body: Body) -> bool:
    """Whether a body runs while a graph is traced: `call`, any method of a layer, a model's private ones."""
    name, owner = body.function.name, body.function.owner
    bases = owner.library_bases() if owner is not None else []
    kinds = (
        ("keras.Layer", "keras.layers.", "keras.Model")
        if name.startswith("_")
        else ("keras.Layer", "keras.layers.")
    )
    return name == "call" or any(base.startswith(kinds) for base in bases)


def sometimes(kept: Kept) -> bool:
    """Whether a condition decides in which rounds something is kept (`if step % 100 == 0`)."""
    made = kept.container.context
    before = {id(frame) for frame in made.frames()} if made is not None else set()
    return any(isinstance(frame, Branch) and id(frame) not in before for frame in kept.call.context.frames())


def _is_one_per_thing(trace: Trace, kept: Kept, loop: Loop) -> bool:
    """Whether the loop goes over models, metrics or named things, of which there are a few, and not over data."""
    node = loop.place.node
    names = target_names(node.target) if isinstance(node, cst.For) else []
    parts = isinstance(node, cst.For) and _is_over_parts(node, names) and not _is_data(loop)
    if parts and not _is_of_a_model(trace, kept.value):
        return True
    if kept.call.name == "operator.setitem":
        counted = kept.call.arguments[1].value
        key = deref(counted)
        named = [deref(one) for one in key.items] if isinstance(key, Sequence) and key.items else [key]
        return not any(_is_number(part) for part in named) and not _is_data(loop)
    made = kept.expression
    return isinstance(made, cst.Call) and any(uses(cst.Arg(made.func), name) for name in names)


def _is_number(key: Value) -> bool:
    kind = type(key.value).__name__ if isinstance(key, Const) else getattr(key, "type", None)
    return kind == "int" and not (isinstance(key, Const) and not key.soft)


def _is_data(loop: Loop) -> bool:
    return isinstance(deref(loop.iterable or Unknown()), Dataset)


def _is_of_a_model(trace: Trace, value: Value) -> bool:
    """Whether a whole model gave the tensor: levels and layers are its parts, what it is called on is data."""
    maker = trace.maker(value)
    return maker is not None and maker.name == "keras.Model.__call__"


def _is_over_parts(loop: cst.For, names: list[str]) -> bool:
    """Whether a loop goes over layers, which it calls, or over keys and levels, by which it finds all else."""
    found = [use for name in names for use in uses(loop.body, name)]
    if any(isinstance(use.parent, cst.Call) and use.parent.func is use.node for use in found):
        return True
    keys = [isinstance(use.parent, cst.Index) or _is_in_a_text(use) for use in found]
    match loop.iter:
        case cst.Call(func=cst.Name(value="range"), args=[cst.Arg(value=first), _]):
            return any(keys) and not isinstance(first, cst.Integer)
        case cst.Call(func=cst.Name(value="range")):
            return False
    return bool(keys) and all(keys)


def _is_in_a_text(use: Use) -> bool:
    """Whether a name becomes part of a text, as a key does: `"loss_%d" % level`, `f"loss_{level}"`."""
    match use.parent:
        case (
            cst.BinaryOperation(left=cst.SimpleString(), operator=cst.Modulo())
            | cst.FormattedStringExpression()
        ):
            return True
    return False


def is_part_of_one(trace: Trace, kept: Kept, loop: Loop | None) -> bool:
    """Whether slices of a tensor from before the loops are kept: together they are that tensor, and no more."""
    cut = trace.subscript(kept.value)
    rows = cut.receiver if cut is not None else taken_apart(trace, kept)
    whole = trace.maker(rows) if rows is not None else None
    if loop is None or whole is None:
        return False
    made: Context | None = kept.container.context
    before = {id(frame) for frame in made.frames()} if made is not None else set()
    filling = {id(frame) for frame in kept.call.context.loops()} - before
    return not any(id(frame) in filling for frame in whole.context.loops())


def is_building(trace: Trace, kept: Kept, loop: Loop | None) -> bool:
    """Whether the loop makes the layers that it calls: it builds a model, whatever that is built on."""
    pending, seen = [kept.value], 0
    while pending and loop is not None and seen < MAKERS:
        value, seen = pending.pop(0), seen + 1
        maker = trace.maker(value) or trace.subscript(value)
        if maker is None or loop not in maker.context.loops():
            continue
        called = deref(maker.receiver) if maker.receiver is not None else None
        if isinstance(called, Layer) and maker.name == "keras.Layer.__call__":
            at_once = isinstance(maker.node, cst.Call) and isinstance(maker.node.func, cst.Call)
            if at_once or (called.made_by is not None and loop in called.made_by.context.loops()):
                return True
        pending += [part for argument in maker.arguments for part in leaves(argument.value)]
        pending += [called] if called is not None else []
    return False


def is_bounded(trace: Trace, kept: Kept) -> bool:
    """Whether the container drops its oldest elements (`deque(maxlen=...)`), or is only filled up to some length."""
    loop = kept.call.context.innermost(Loop)
    inside = uses(loop.place.node, kept.name) if loop is not None and kept.name is not None else []
    if any(kept.call.node in use.around and _is_put_if_not_full(use, kept.name or "") for use in inside):
        return True
    maker = trace.maker(kept.container)
    return maker is not None and maker.name == "collections.deque" and maker.argument("maxlen") is not None


def _is_put_if_not_full(use: Use, name: str) -> bool:
    """Whether a use stands under `if len(container) < size:`."""
    for inner, outer in itertools.pairwise(use.around):
        match outer:
            case cst.If(
                test=cst.Comparison(
                    left=cst.Call(func=cst.Name(value="len"), args=[cst.Arg(value=counted)]),
                    comparisons=[cst.ComparisonTarget(operator=cst.LessThan() | cst.LessThanEqual())],
                ),
                body=body,
            ) if body is inner and dotted(counted) == name:
                return True
    return False
