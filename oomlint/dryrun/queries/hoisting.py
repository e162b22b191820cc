"""What is made in a loop and could be made once, before it."""

from __future__ import annotations

from typing import TYPE_CHECKING

import libcst as cst

from oomlint.dryrun.loops import target_names
from oomlint.dryrun.trace import Body, Context, Loop
from oomlint.syntax.children import code_children
from oomlint.syntax.uses import names_in

if TYPE_CHECKING:
    from oomlint.dryrun.trace import Trace


def outermost_here(context: Context) -> Loop | None:
    """The outermost of the loops that stand in the same function as an event."""
    found: Loop | None = None
    for frame in context.frames():
        if isinstance(frame, Body):
            break
        if isinstance(frame, Loop):
            found = frame
    return found


def movable(trace: Trace, node: cst.CSTNode, loop: Loop) -> bool:
    """Whether an expression or definition in a loop means the same before it: it reads nothing that the loop binds."""
    bound = {assign.path for assign in trace.assigns() if loop in assign.context.loops()}
    bound |= _defined_in(loop.place.node, node)
    read = names_in(node)
    if isinstance(node, cst.FunctionDef):
        read -= _own_names(node)
    return not read & bound and not any(isinstance(part, _RUNS) for part in _parts(node, node))


_RUNS = (cst.Await, cst.Yield, cst.NamedExpr)


def _parts(node: cst.CSTNode, root: cst.CSTNode) -> list[cst.CSTNode]:
    """The nodes that run with an expression: what stands in a definition runs later."""
    found, stack = [], [node] if not isinstance(root, cst.FunctionDef) else []
    while stack:
        current = stack.pop()
        found.append(current)
        stack.extend(code_children(current))
    return found


def _defined_in(loop: cst.CSTNode, besides: cst.CSTNode) -> set[str]:
    """Functions and classes that a loop's body defines."""
    names: set[str] = set()
    stack = code_children(loop)
    while stack:
        current = stack.pop()
        if isinstance(current, cst.FunctionDef | cst.ClassDef):
            if current is not besides:
                names.add(current.name.value)
            continue
        stack.extend(code_children(current))
    return names


def _own_names(function: cst.FunctionDef) -> set[str]:
    """Names that a function binds itself."""
    names: set[str] = {function.name.value}
    stack: list[cst.CSTNode] = [function]
    while stack:
        current = stack.pop()
        match current:
            case cst.Param(name=cst.Name(value=name)):
                names.add(name)
            case (
                cst.AssignTarget(target=target) | cst.AnnAssign(target=target) | cst.AugAssign(target=target)
            ):
                names.update(target_names(target))
            case cst.For(target=target) | cst.CompFor(target=target):
                names.update(target_names(target))
            case cst.AsName(name=name):
                names.update(target_names(name))
        stack.extend(code_children(current))
    return {name for name in names if "." not in name}
