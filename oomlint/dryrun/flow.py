"""How blocks end, and how the ways through a branching statement meet."""

from __future__ import annotations

from collections.abc import Callable
from enum import Enum
from typing import TYPE_CHECKING, Any

import libcst as cst

from oomlint.dryrun.state import Writes
from oomlint.syntax.light.later import unmade_statements

if TYPE_CHECKING:
    from oomlint.dryrun.interpreter import Run


class Flow(Enum):
    """How a block ended."""

    ON = 0  # falls through
    BREAK = 1  # leaves or goes on with the loop
    LEAVE = 2  # returns
    RAISE = 3


def count(code: cst.Module | cst.FunctionDef) -> int:
    """How many statements a module or function has (the measure of its size that bounds the run)."""
    total = 0
    stack: list[Any] = [code.body] if type(code) is cst.Module else blocks_of(code)
    while stack:
        block = stack.pop()
        for statement in block:
            total += 1
            if type(statement) is cst.SimpleStatementLine:  # (`isinstance` of LibCST's nodes is slow)
                total += len(statement.body) - 1
                continue
            unmade = unmade_statements(getattr(statement, "body", None))
            if unmade:
                total += unmade
            else:
                stack.extend(blocks_of(statement))
    return total


def blocks_of(statement: cst.CSTNode) -> list[Any]:
    """The blocks of a compound statement."""
    blocks: list[Any] = []
    body = getattr(statement, "body", None)
    if body is not None:
        blocks.append(body.body)
    one, many = _MORE.get(type(statement), ((), ()))
    for name in one:
        part = getattr(statement, name)
        if type(part) is cst.If:
            blocks.append((part,))
        elif part is not None:
            blocks.append(part.body.body)
    for name in many:
        blocks.extend(part.body.body for part in getattr(statement, name))
    return blocks


# What has blocks beside its body: the fields with one, and those with several.
_MORE: dict[type, tuple[tuple[str, ...], tuple[str, ...]]] = {
    cst.If: (("orelse",), ()),
    cst.For: (("orelse",), ()),
    cst.While: (("orelse",), ()),
    cst.Try: (("orelse", "finalbody"), ("handlers",)),
    cst.TryStar: (("orelse", "finalbody"), ("handlers",)),
    cst.Match: ((), ("cases",)),
}


class Ways:
    """The ways through a branching statement, each with what it wrote and how it ended."""

    def __init__(self, run: Run) -> None:
        self.run = run
        self.on: list[Writes] = []
        self.flows: list[Flow] = []

    def take(self, way: Callable[[], Flow]) -> Flow:
        """Take one way on an overlay."""
        self.run.state.push()
        try:
            flow = way()
        finally:
            writes = self.run.state.pop()
        self.flows.append(flow)
        if flow is Flow.LEAVE:
            self.run.activations[-1].leaving.append(writes)
        elif flow is not Flow.RAISE:
            self.on.append(writes)
        return flow

    def skip(self) -> None:
        """The way that takes none of the blocks."""
        self.on.append({})
        self.flows.append(Flow.ON)

    def meet(self) -> Flow:
        """Join the ways that go on; the flow of the whole statement."""
        if self.on:
            self.run.state.meet(self.on)
        if Flow.ON in self.flows:
            return Flow.ON
        if Flow.BREAK in self.flows:
            return Flow.BREAK
        return Flow.LEAVE if Flow.LEAVE in self.flows else Flow.RAISE
