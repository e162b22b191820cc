"""Loops that go over variables of a graph once, to give each what it begins with: `for v in vs: run(v.assign(...))`."""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING

import libcst as cst

from oomlint.dryrun.imports import dotted
from oomlint.dryrun.loops import target_names
from oomlint.syntax.blocks import nodes
from oomlint.syntax.uses import names_in

if TYPE_CHECKING:
    from oomlint.dryrun.trace import Loop, Trace

_METHODS = ("assign", "assign_add", "assign_sub")
_FUNCTIONS = ("tf.assign", "tf.assign_add", "tf.assign_sub", "keras.backend.update")
_LOOKED_UP = ("get_variable", "get_tensor_by_name", "getattr")


def goes_over_variables_once(trace: Trace, loops: list[Loop]) -> bool:
    """Whether loops inside one another, innermost first, only take what holds variables apart, to assign to each."""
    if not loops or not _assigns_to_its_own(trace, loops[0]):
        return False
    for inner, outer in pairwise(loops):
        inside, around = inner.place.node, outer.place.node
        if not isinstance(inside, cst.For) or not isinstance(around, cst.For):
            return False
        part = set(target_names(around.target)) & names_in(inside.iter)
        if not part or not any(node is inside for node in nodes(around.body)):
            return False  # the whole is gone over again in every round of another loop
    return True


def _assigns_to_its_own(trace: Trace, loop: Loop) -> bool:
    """Whether what a round assigns to is the loop's item, or is looked up by it."""
    node = loop.place.node
    if not isinstance(node, cst.For):
        return False
    items = set(target_names(node.target))
    own = set(items)
    for part in nodes(node.body):
        match part:
            case (
                cst.Assign(targets=[cst.AssignTarget(target=cst.Name(value=name))], value=value)
                | cst.AnnAssign(target=cst.Name(value=name), value=value)
            ):
                if value is not None and _looked_up(value, items):
                    own.add(name)
    functions = {id(call.node) for call in trace.calls(*_FUNCTIONS)}
    for part in nodes(node.body):
        match part:
            case cst.Call(args=[cst.Arg(value=variable), *_]) if id(part) in functions:
                pass
            case cst.Call(func=cst.Attribute(value=variable, attr=cst.Name(value=name))) if name in _METHODS:
                pass
            case _:
                continue
        if variable.value in own if isinstance(variable, cst.Name) else _looked_up(variable, items):
            return True
    return False


def _looked_up(value: cst.BaseExpression, items: set[str]) -> bool:
    """`variables[name]`, `tf.get_variable(name)`, `layer.kernel`."""
    match value:
        case cst.Subscript(slice=[cst.SubscriptElement(slice=cst.Index(value=index))]):
            return bool(names_in(index) & items)
        case cst.Attribute():
            return dotted(value).partition(".")[0] in items
        case cst.Call(func=func, args=arguments):
            named = dotted(func).rpartition(".")[2] in _LOOKED_UP
            return named and any(names_in(argument.value) & items for argument in arguments)
    return False
