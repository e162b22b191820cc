"""What is made in a loop and could be made once, before it."""

from __future__ import annotations

from typing import TYPE_CHECKING

import libcst as cst

from oomlint.dryrun.loops import target_names
from oomlint.dryrun.trace import Body, Branch, Call, Context, Loop, Role
from oomlint.dryrun.values.base import Opaque, Value, deref
from oomlint.dryrun.values.program import Library
from oomlint.syntax.children import code_children
from oomlint.syntax.uses import names_in

if TYPE_CHECKING:
    from oomlint.dryrun.trace import Trace
    from oomlint.syntax.place import Place

CACHES = ("functools.lru_cache", "functools.cache", "streamlit.cache_resource")


def loops_around(context: Context) -> list[Loop]:
    """Loops around an event, innermost first, up to the process that it runs in."""
    loops: list[Loop] = []
    for frame in context.frames():
        if isinstance(frame, Role) and frame.name == "child-process":
            break
        if isinstance(frame, Loop):
            loops.append(frame)
    return loops


def rounds_of(loops: list[Loop]) -> int | None:
    """How often the body of loops inside one another runs; not known if one of them is not."""
    count = 1
    for loop in loops:
        if loop.trip is None or not isinstance(loop.trip.value, int):
            return None
        count *= loop.trip.value
    return count


def in_one_round(context: Context, loop: Loop | None = None) -> bool:
    """Whether something happens in one round only: `if step == 0`, `if graph is None`, a function that caches."""
    for frame in context.frames():
        if frame is loop or (loop is None and isinstance(frame, Loop)):
            return False
        if isinstance(frame, Body) and any(_name(one).endswith(CACHES) for one in frame.function.decorators):
            return True
        if isinstance(frame, Branch) and _once(frame):
            return True
    return False


def in_every_round(trace: Trace, call: Call, loop: Loop) -> bool:
    """Whether a call is made again and again by a loop, as far as the text says.

    Rounds that were taken one by one show it: a test that was decided in the first one leaves no branch.
    """
    times = 0
    for other in trace.calls(call.name):
        around = [one for one in other.context.loops() if one.place.node is loop.place.node]
        if other.node is call.node and around:
            times += around[0] is loop
            if in_one_round(other.context, around[0]):
                return False
    return not loop.unrolled or times > 1


def _once(branch: Branch) -> bool:
    match branch.test_node:
        case cst.Comparison(
            left=cst.Name() | cst.Attribute(),
            comparisons=[cst.ComparisonTarget(operator=cst.Equal(), comparator=cst.Integer())],
        ):
            return branch.taken
        case cst.Comparison(comparisons=[cst.ComparisonTarget(operator=cst.Is() | cst.NotIn())]):
            return branch.taken
        case cst.Comparison(comparisons=[cst.ComparisonTarget(operator=cst.IsNot() | cst.In())]):
            return not branch.taken
        case cst.UnaryOperation(operator=cst.Not(), expression=cst.Name() | cst.Attribute() | cst.Call()):
            return branch.taken
    return False


def _name(value: Value) -> str:
    value = deref(value)
    if isinstance(value, Library):
        return value.name
    return value.type if isinstance(value, Opaque) else ""


def site_in(context: Context, loop: Loop) -> Place | None:
    """The call in the loop's own body that leads to an event; None if the event itself stands there."""
    bodies = [frame for frame in context.since(loop) if isinstance(frame, Body)]
    sites = [body.site for body in bodies if body.called and body.site is not None]
    return sites[-1] if sites else None


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
