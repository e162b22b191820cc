"""The rounds of loops: how many there are, and what happens in one of them only."""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING

import libcst as cst

from oomlint.dryrun.imports import dotted
from oomlint.dryrun.trace import Body, Context, Loop, Role, Try
from oomlint.dryrun.values.base import Opaque, Value, deref
from oomlint.dryrun.values.program import Library
from oomlint.syntax.blocks import leaves_early, nodes
from oomlint.syntax.children import code_children

if TYPE_CHECKING:
    from oomlint.dryrun.values.program import Function
    from oomlint.syntax.place import Place


def tries_until_it_works(context: Context, loop: Loop) -> bool:
    """Whether a loop around an event is left after the round in which what is tried did not fail."""
    tried = any(isinstance(frame, Try) and frame.handlers for frame in context.since(loop))
    return tried and loop.kind != "trials" and leaves_early(loop.place.node)


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


def site_in(context: Context, loop: Loop) -> Place | None:
    """The call in the loop's own body that leads to an event; None if the event itself stands there."""
    bodies = [frame for frame in context.since(loop) if isinstance(frame, Body)]
    sites = [body.site for body in bodies if body.called and body.site is not None]
    return sites[-1] if sites else None


def guarded(context: Context | None, loop: Loop | None, node: cst.CSTNode) -> bool:
    """Whether it happens on one pass only: `if model is None`, `if epoch == 5`, a builder that caches.

    The text is asked, not the branches taken: on the first pass such a test is often decided. Without a loop the
    passes are the calls of the outermost function.
    """
    frames = () if context is None else context.frames() if loop is None else context.since(loop)
    for frame in frames:
        if isinstance(frame, Body):
            if _guarded_in(frame.function, node):
                return True
            if frame.site is not None:
                node = frame.site.node
    return loop is not None and _under_guard(loop.place.node, node)


def _guarded_in(function: Function, node: cst.CSTNode) -> bool:
    """Whether not every call of a function comes to a node of it: it is cached, or a test lets it happen once."""
    cached = any(_name(decorator).endswith(CACHES) for decorator in function.decorators)
    return cached or _under_guard(function.node, node)


CACHES = ("functools.lru_cache", "functools.cache", "streamlit.cache_resource")


def _name(value: Value) -> str:
    value = deref(value)
    if isinstance(value, Library):
        return value.name
    return value.type if isinstance(value, Opaque) else ""


def _under_guard(container: cst.CSTNode, node: cst.CSTNode) -> bool:
    """Whether a node stands under a test that lets it happen once, or after one that returns early."""
    path = path_between(container, node)
    for outer, inner in pairwise(path):
        if isinstance(outer, cst.If) and inner is outer.body:
            if _once(outer.test) or _is_counter(outer.test, container):
                return True
        if isinstance(outer, cst.IndentedBlock | cst.Module):
            before = outer.body[: list(outer.body).index(inner)] if inner in outer.body else ()  # type: ignore[arg-type]
            if any(isinstance(item, cst.If) and _leaves_early(item) for item in before):
                return True
    return False


def path_between(container: cst.CSTNode, node: cst.CSTNode) -> list[cst.CSTNode]:
    """The nodes from a container down to one of its descendants; empty if it is none."""
    parents: dict[int, cst.CSTNode] = {}
    stack: list[cst.CSTNode] = [container]
    while stack:
        current = stack.pop()
        if current is node:
            path = [current]
            while path[-1] is not container:
                path.append(parents[id(path[-1])])
            return path[::-1]
        for child in code_children(current):
            parents[id(child)] = current
            stack.append(child)
    return []


def _once(test: cst.CSTNode) -> bool:
    match test:
        case cst.Comparison(comparisons=[cst.ComparisonTarget(operator=cst.Is() | cst.NotIn())]):
            return True
        case cst.Comparison(left=cst.Name(), comparisons=[cst.ComparisonTarget(operator=cst.Equal())]):
            return True
        case cst.UnaryOperation(operator=cst.Not(), expression=cst.Name() | cst.Attribute() | cst.Call()):
            return True
    return False


def _is_counter(test: cst.CSTNode, loop: cst.CSTNode) -> bool:
    """Whether an attribute that every round of a loop changes is compared with one number: `self.step == FIRST`."""
    match test:
        case cst.Comparison(
            left=cst.Attribute() as left,
            comparisons=[cst.ComparisonTarget(operator=cst.Equal(), comparator=other)],
        ):
            counted = {
                dotted(node.target) for node in nodes(loop) if isinstance(node, cst.For | cst.AugAssign)
            }
            return dotted(left) in counted and _stays(other, loop)
    return False


def _stays(node: cst.CSTNode, loop: cst.CSTNode) -> bool:
    """Whether it is a number, or a name or an entry of a table, which a loop does not bind anew."""
    if isinstance(node, cst.Integer):
        return True
    path = dotted(node.value if isinstance(node, cst.Subscript) else node)
    targets = cst.For | cst.AugAssign | cst.AnnAssign | cst.AssignTarget | cst.NamedExpr
    return bool(path) and all(
        dotted(part.target) != path for part in nodes(loop) if isinstance(part, targets)
    )


def _leaves_early(node: cst.If) -> bool:
    """`if self.model is not None: return self.model`, `if name in cache: return cache[name]`."""
    returns = any(
        isinstance(small, cst.Return)
        for line in node.body.body
        if isinstance(line, cst.SimpleStatementLine)
        for small in line.body
    )
    match node.test:
        case cst.Comparison(comparisons=[cst.ComparisonTarget(operator=cst.IsNot() | cst.In())]):
            return returns
        case cst.Attribute() | cst.Name():
            return returns
    return False
