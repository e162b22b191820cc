"""Whether a script has asked first if what it calls is there: it is written for old and new versions."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise
from typing import TYPE_CHECKING

import libcst as cst

from oomlint.dryrun.imports import dotted
from oomlint.dryrun.queries.changing import value_of
from oomlint.dryrun.queries.rounds import path_between
from oomlint.dryrun.trace import Body, Branch, Handler, Try
from oomlint.dryrun.values.base import Const, Mapping, Value, deref
from oomlint.dryrun.values.program import Class, Library
from oomlint.syntax.blocks import last_statement, nodes
from oomlint.syntax.uses import names_in, uses

if TYPE_CHECKING:
    from oomlint.dryrun.trace import Call, Context, HandlerFacts, Trace
    from oomlint.syntax.source import Source

# What a script catches that has a way for both the old library and the new one.
ABSENCE = ("ImportError", "ModuleNotFoundError", "AttributeError", "Exception", "BaseException", "NameError")

_LEAVING = cst.Return | cst.Raise | cst.Continue | cst.Break


def is_provided_for(trace: Trace, call: Call, instead: str = "") -> bool:
    """Whether what surrounds a call expects that it may fail, or comes to it on the old version only.

    `instead` is the name of what took its place, for `if hasattr(strategy, "run")`.
    """
    return _is_caught(call.context) or any(
        _asks(trace, call, source, test, instead) for source, test in _tests(call)
    )


def _is_caught(context: Context) -> bool:
    for frame in context.frames():
        if isinstance(frame, Try) and any(map(_tells_absence, frame.handlers)):
            return True
        if isinstance(frame, Body) and not frame.called:
            return False
    return False


def _tells_absence(facts: HandlerFacts) -> bool:
    return facts.bare or any(map(_is_absence, facts.types))


def _is_absence(kind: Value) -> bool:
    kind = deref(kind)
    if isinstance(kind, Library):
        return kind.name.removeprefix("builtins.") in ABSENCE
    return isinstance(kind, Class) and bool(
        set(kind.library_bases()) & {f"builtins.{name}" for name in ABSENCE}
    )


def _tests(call: Call) -> Iterator[tuple[Source, cst.CSTNode]]:
    """The tests that decided whether a call is made, also those that leave before it."""
    node: cst.CSTNode = call.node
    for frame in call.context.frames():
        if isinstance(frame, Branch) and frame.test_node is not None:
            yield frame.place.source, frame.test_node
        if isinstance(frame, Body):
            source = frame.function.source
            yield from ((source, test) for test in _left_before(frame.function.node, node))
            if frame.site is None:
                return
            node = frame.site.node


def _left_before(container: cst.CSTNode, node: cst.CSTNode) -> Iterator[cst.CSTNode]:
    """`if hasattr(strategy, "run"): return ...` before the statement that holds a node."""
    for outer, inner in pairwise(path_between(container, node)):
        if isinstance(outer, cst.IndentedBlock):
            for statement in outer.body:
                if statement is inner:
                    break
                if isinstance(statement, cst.If) and isinstance(last_statement(statement.body), _LEAVING):
                    yield statement.test


def _asks(trace: Trace, call: Call, source: Source, test: cst.CSTNode, instead: str) -> bool:
    """Whether a test is about the version, or about the very thing that is called."""
    text = source.words(test)
    if "__version__" in text:
        return True
    quoted = {call.name.rpartition(".")[2], *call.name.split(".")[1:2], instead} - {""}
    if "hasattr" in text and (
        any(f"{mark}{name}{mark}" in text for name in quoted for mark in "\"'")
        or not quoted.isdisjoint(_bound_texts(trace, test))
    ):
        return True
    path = dotted(call.node.func) if isinstance(call.node, cst.Call) else ""
    if path and uses(cst.Arg(test), path):  # type: ignore[arg-type]
        return True
    return any(_is_flag(trace, name) for name in names_in(test))


def _bound_texts(trace: Trace, test: cst.CSTNode) -> Iterator[str]:
    """The texts that the names in a test stand for: `hasattr(strategy, NEW)`, `hasattr(strategy, NAMES["new"])`."""
    names = {node.value for node in nodes(test) if isinstance(node, cst.Name)}
    for assign in trace.assigns():
        if assign.path.rpartition(".")[2] in names:
            value = deref(assign.value)
            for one in value.entries.values() if isinstance(value, Mapping) else (value,):
                text = deref(one)
                if isinstance(text, Const) and isinstance(text.value, str):
                    yield text.value


def _is_flag(trace: Trace, name: str) -> bool:
    """Whether a name says what there is: `HAS_IT = False` after an ImportError, `OLD = tf.__version__ < "2.4"`."""
    for assign in trace.assigns():
        if assign.path != name:
            continue
        if any(_tells_absence(frame.facts) for frame in assign.context.all(Handler)):
            return True
        value = value_of(assign)
        if value is not None and "__version__" in assign.place.source.words(value):
            return True
    return False
