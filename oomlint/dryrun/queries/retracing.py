"""Calls of a `tf.function` in a loop with an argument that no graph traced before fits.

What counts as another argument was measured (tests/claims/test_tracing.py): Python numbers and strings by value,
functions and objects by identity, lists by length, tensors by dtype and shape, NumPy scalars not at all.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import libcst as cst

from oomlint.dryrun.imports import dotted
from oomlint.dryrun.queries.changing import MAX_DEPTH, Change, Changes, changes_of
from oomlint.dryrun.queries.python_values import (
    computed_by_library,
    drawn,
    is_number,
    may_be_tensor,
    python_type,
    set_anew,
)
from oomlint.dryrun.queries.rounds import guarded
from oomlint.dryrun.trace import Body, Context, Loop
from oomlint.dryrun.values.arrays import Array
from oomlint.dryrun.values.base import Const, Mapping, Sequence, Unknown, Value, deref
from oomlint.dryrun.values.program import Function, Instance, Method, Partial
from oomlint.syntax.children import code_children

if TYPE_CHECKING:
    from collections.abc import Iterator

    from oomlint.dryrun.trace import Argument, Call, Trace
    from oomlint.syntax.place import Place

_FILLED = frozenset("zeros ones fill full empty normal uniform rand randn random standard_normal".split())


@dataclass(frozen=True, slots=True)
class Retraced:
    """One argument that changes. `kind` is number, numbers, string, callable, object, list or shape."""

    name: str
    place: Place
    kind: str
    what: str
    change: Change
    traced: Place | None
    convertible: bool = False


def runs_eagerly(trace: Trace) -> bool:
    """Whether the script turns graph functions off."""
    return any(
        deref(argument.value) == Const(True)
        for call in trace.calls(
            "tf.config.run_functions_eagerly", "tf.config.experimental_run_functions_eagerly"
        )
        for argument in call.arguments[:1]
    )


def retraced(trace: Trace) -> Iterator[Retraced]:
    """Each argument once."""
    calls = [call for call in trace.calls("tf.function.call") if _counts(call)]
    if not calls or runs_eagerly(trace):
        return
    changes = changes_of(trace)
    seen: set[int] = set()
    for call in calls:
        for argument in _written_here(call):
            if id(argument.place.node) in seen:
                continue
            found = _argument(call, argument, changes)
            if found is not None:
                seen.add(id(argument.place.node))
                yield found
        found = _receiver(call, changes)
        if found is not None and id(found.place.node) not in seen:
            seen.add(id(found.place.node))
            yield found


def _written_here(call: Call) -> Iterator[Argument]:
    """The arguments whose expressions the call shows; those in `strategy.run(step, args=(x, y))`, too."""
    if not isinstance(call.node, cst.Call):
        return
    own = {id(argument) for argument in call.node.args}
    for argument in call.node.args:
        if argument.keyword is not None and argument.keyword.value == "args":
            if isinstance(argument.value, cst.Tuple | cst.List):
                parts = [element.value for element in argument.value.elements]
                given = [one for one in call.arguments if one.name is None][-len(parts) :]
                for part, one in zip(parts, given, strict=False):
                    yield replace(one, place=call.source.place(part))
                return
    yield from (one for one in call.arguments if one.arg is not None and id(one.arg) in own)


def _counts(call: Call) -> bool:
    """A call in a loop, from eager code, of a function without a signature, and not just in one of the rounds."""
    function = call.receiver
    if not isinstance(function, Function) or not call.context.loops() or call.context.role("tf.function"):
        return False
    made = function.traced
    if made is not None and made.argument("input_signature") is not None:
        return deref(made.value("input_signature") or Unknown()) == Const(None)
    return not guarded(call.context, call.context.loops()[0], call.node)


def _argument(call: Call, argument: Argument, changes: Changes) -> Retraced | None:
    node, value = argument.place.node, deref(argument.value)
    if isinstance(value, Array) and drawn(node, value, call.context, changes):
        value = Unknown(type="float")
    found = (
        _shape(call, argument, value, changes)
        if isinstance(value, Array)
        else _python(node, value, call.context, changes)
    )
    if found is None:
        return None
    kind, what, change = found
    function = call.receiver
    assert isinstance(function, Function)
    return Retraced(
        name=_name(call, function),
        place=argument.place,
        kind=kind,
        what=what,
        change=change,
        traced=None if function.traced is None else function.traced.place,
        convertible=kind == "number"
        and argument.arg is not None
        and is_number(value)
        and may_be_tensor(function, call, argument, value),
    )


def _name(call: Call, function: Function) -> str:
    path = dotted(call.node.func) if isinstance(call.node, cst.Call) else ""
    return function.name if path.endswith(".run") or not path else path


def _receiver(call: Call, changes: Changes) -> Retraced | None:
    """A method of an object that is made anew: `Agent().step(x)`."""
    function, node = call.receiver, call.node
    if not isinstance(function, Function) or function.owner is None or not call.arguments:
        return None
    instance = deref(call.arguments[0].value)
    if (
        not isinstance(instance, Instance)
        or not isinstance(node, cst.Call)
        or call.arguments[0].arg is not None
    ):
        return None
    loop = _made_in_loop(instance, call.context)
    if loop is None or instance.facet is not None:
        return None
    if instance.place is not None and guarded(None, loop, instance.place.node):
        return None  # made once, on the first pass
    if function.traced is not None and loop in function.traced.context.loops():
        return None  # each object makes a function of its own, of which OOM408 speaks
    change = Change(loop, instance.place or call.place)
    if _few(change):
        return None
    what = "every new object that it is a method of"
    traced = None if function.traced is None else function.traced.place
    return Retraced(_name(call, function), call.place, "object", what, change, traced)


# --- Python values ------------------------------------------------------------------------------------


Found = tuple[str, str, Change]


def _python(node: cst.CSTNode, value: Value, context: Context, changes: Changes) -> Found | None:
    """What changes about a Python value, or about a part of a list, tuple or dict."""
    value = deref(value)
    match value:
        case Sequence() | Mapping():
            return _structure(node, value, context, changes)
        case Function() | Method() | Partial() | Instance():
            return _identity(node, value, context, changes)
    kind = python_type(value)
    if kind is None or computed_by_library(node, context, changes):
        return None
    change = changes.of(node, context)
    if change is None or _few(change):
        return None
    if set_anew(value, context, changes) and not change.loop.unrolled:
        return None
    what = {"int": "every new Python number", "float": "every new Python number", "str": "every new string"}[
        kind
    ]
    return ("string" if kind == "str" else "number"), what, change


def _few(change: Change) -> bool:
    return change.values is not None and change.values <= 4


def _structure(node: cst.CSTNode, value: Value, context: Context, changes: Changes) -> Found | None:
    """A list that grows, or one with a number in it that changes."""
    path = dotted(node)
    if isinstance(value, Sequence) and value.kind == "list" and path:
        grown = changes.grown(path, context)
        if grown is not None and value.items is None and not _few(grown):
            return "list", "every new length of this list", grown
    if isinstance(value, Sequence) and value.kind == "list":
        filled = changes.filled(value, context)
        if filled is not None and not _few(filled):
            return "list", "every new length of this list", filled
    inner = node
    if path and (bound := changes.bound(path, context)) is not None:
        inner, context = bound
    match inner:
        case cst.Tuple(elements=elements) | cst.List(elements=elements):
            parts = [element.value for element in elements]
            values = value.items if isinstance(value, Sequence) else None
        case cst.Dict(elements=entries):
            parts = [entry.value for entry in entries]
            values = list(value.entries.values()) if isinstance(value, Mapping) else None
        case cst.ListComp(elt=element, for_in=walk) if isinstance(value, Sequence) and python_type(value.any):
            change = changes.of(walk.iter, context) or changes.of(element, context)
            return None if change is None else _found("numbers", "every new list of Python values", change)
        case _:
            return None
    if values is None or len(values) != len(parts):
        return None
    found = (_python(part, item, context, changes) for part, item in zip(parts, values, strict=True))
    return next((one for one in found if one is not None), None)


# --- functions and objects ----------------------------------------------------------------------------


def _identity(node: cst.CSTNode, value: Value, context: Context, changes: Changes) -> Found | None:
    """A function or object that is another one in every round."""
    where = context
    path = dotted(node)
    named = path and changes.bound(path, context)
    if named:
        node, where = named
    loop = _innermost_shared(where, context)
    if isinstance(value, Instance):
        loop = _made_in_loop(value, context)
        if loop is None or value.facet is not None or value.cls.flags & {"namedtuple", "dataclass"}:
            return None
        return _found("object", "every new object", Change(loop, value.place or loop.place))
    if isinstance(value, Function):
        around = _made_around(value.node, context)
        if around is None:
            return None
        what = "every new lambda" if value.name == "<lambda>" else "every new function"
        return _found("callable", what, Change(around, value.source.place(value.node)))
    if loop is None:
        return None
    place = loop.place.source.place(node)
    if isinstance(value, Partial):
        return (
            _found("callable", "every new partial", Change(loop, place))
            if isinstance(node, cst.Call)
            else None
        )
    if isinstance(value, Method) and value.function is not None and isinstance(node, cst.Attribute):
        # Python makes a new bound method each time one is asked for.
        return _found("callable", "every new bound method", Change(loop, place))
    return None


def _found(kind: str, what: str, change: Change) -> Found | None:
    return None if _few(change) else (kind, what, change)


def _innermost_shared(one: Context, other: Context) -> Loop | None:
    loops = other.loops()
    return next((loop for loop in one.loops() if loop in loops), None)


def _made_in_loop(instance: Instance, context: Context) -> Loop | None:
    if instance.place is None or not instance.constructed:
        return None
    return _made_around(instance.place.node, context)


def _made_around(node: cst.CSTNode, context: Context) -> Loop | None:
    """The innermost loop that makes what stands at a node in every round: in its body, or in functions called there."""
    inside = False
    for frame in context.frames():
        if isinstance(frame, Body):
            inside = inside or _contains(frame.function.node.body, node)
        elif isinstance(frame, Loop):
            body = getattr(frame.place.node, "body", frame.place.node)
            if inside or _contains(body, node):
                return frame
    return None


def _contains(container: cst.CSTNode, node: cst.CSTNode) -> bool:
    stack = [container]
    while stack:
        current = stack.pop()
        if current is node:
            return True
        stack.extend(code_children(current))
    return False


# --- shapes -------------------------------------------------------------------------------------------


def _shape(call: Call, argument: Argument, value: Array, changes: Changes) -> Found | None:
    """A slice that gets longer, or a tensor made with a size that changes."""
    function = call.receiver
    made = function.traced if isinstance(function, Function) else None
    if made is not None and any(
        deref(option.value) == Const(True)
        for option in made.arguments
        if option.name in ("reduce_retracing", "experimental_relax_shapes")
    ):
        return None
    node, context = argument.place.node, call.context
    path = dotted(node)
    if path and (bound := changes.bound(path, context)) is not None:
        node, context = bound
    change: Change | None = changes.joined(path, call.context) if path else None
    change = change or _length(node, context, changes)
    match node:
        case cst.Call():
            known = changes.call_at(node)
            if known is not None and known.name.rpartition(".")[2] in _FILLED and node.args:
                given = known.argument("shape") or known.argument("size")
                size = given.place.node if given is not None else node.args[0].value
                if isinstance(size, cst.Name) and (named := changes.bound(size.value, context)):
                    size, context = named
                change = changes.of(size, context)
    if change is None or _few(change) or change.loop not in call.context.loops():
        return None
    return "shape", "every new shape", change


# Calls whose result is as long as their first argument, or the list of rows in it.
_AS_LONG = frozenset(
    """tf.constant tf.convert_to_tensor tf.cast tf.identity tf.expand_dims tf.stack tf.concat numpy.array
    numpy.asarray numpy.concatenate numpy.expand_dims numpy.stack numpy.vstack numpy.float32 numpy.int32 array.astype
    array.copy""".split()
)


def _length(node: cst.CSTNode, context: Context, changes: Changes, depth: int = 0) -> Change | None:
    """How the length of an expression changes: `tf.constant(series[:t])[None]`."""
    path = dotted(node)
    if path and (bound := changes.bound(path, context)) is not None:
        node, context = bound
    if depth > MAX_DEPTH:
        return None
    match node:
        case cst.Subscript(value=inner, slice=elements):
            # `x[i:i + 32]` moves on and stays as long as it was.
            whole = True
            for part in (element.slice for element in elements):
                if isinstance(part, cst.Slice):
                    whole = whole and part.lower is None and part.upper is None
                    if part.upper is None or part.lower is None or _is_zero(part.lower):
                        end = part.upper or part.lower
                        change = changes.of(end, context) if end is not None else None
                        if change is not None:
                            return change
                elif isinstance(part, cst.Index) and dotted(part.value).rpartition(".")[2] not in (
                    "None",
                    "newaxis",
                ):
                    whole = whole and isinstance(part.value, cst.Ellipsis)
            return _length(inner, context, changes, depth + 1) if whole else None
        case cst.Call():
            known = changes.call_at(node)
            if known is None or known.name not in _AS_LONG:
                return None
            if known.receiver is not None and isinstance(node.func, cst.Attribute):
                return _length(node.func.value, context, changes, depth + 1)
            if not known.arguments:
                return None
            rows = deref(known.arguments[0].value)
            if isinstance(rows, Sequence) and rows.kind == "list" and rows.items is None:
                return changes.filled(rows, context)
            return _length(known.arguments[0].place.node, context, changes, depth + 1)
    return None


def _is_zero(node: cst.CSTNode | None) -> bool:
    return isinstance(node, cst.Integer) and node.value == "0"
