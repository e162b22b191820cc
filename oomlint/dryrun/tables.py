"""Large literals at the top of imported modules are taken when somebody looks at them.

A table of model presets is thousands of strings and numbers, of which a script that imports the module reads a few
or none; such tables took half of the dry run of keras-hub. Nothing in a literal depends on when it is taken.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, cast

import libcst as cst

from oomlint.dryrun import statements
from oomlint.dryrun.flow import Flow
from oomlint.dryrun.imports import Deferred
from oomlint.dryrun.state import Scope
from oomlint.dryrun.values.base import Value

if TYPE_CHECKING:
    from collections.abc import Iterator

    from oomlint.dryrun.interpreter import Run
    from oomlint.syntax.source import Source

# Literals in a table that is worth a look by itself; a list of layer sizes is not.
_LARGE = 40

_LITERALS = (cst.SimpleString, cst.Integer, cst.Float, cst.ConcatenatedString)
_NAMED = ("True", "False", "None")


@dataclass(slots=True, eq=False, kw_only=True)
class Table(Deferred):
    """The value of `NAME = {...}` that nobody has looked at yet."""

    line: cst.SimpleStatementLine
    scope: Scope
    name: str

    def find(self, run: Run) -> Value:
        """Take the statement, in the state of its module."""
        before = run.scope, run.statement, run.targets, run.state.layers
        run.scope, run.state.layers = self.scope, run.state.layers[:1]
        try:
            statements.execute(run, self.line.body[0], self.line)
            return run.state.layers[0][self.scope, self.name]
        finally:
            run.scope, run.statement, run.targets, run.state.layers = before


def execute_module(run: Run, source: Source) -> None:
    """The statements of an imported module, but for its tables."""
    if source.tables is None:
        source.tables = frozenset(map(id, _tables(source.module)))
    for statement in source.module.body:
        if id(statement) in source.tables:
            line = cast("cst.SimpleStatementLine", statement)
            name = cst.ensure_type(
                cst.ensure_type(line.body[0], cst.Assign).targets[0].target, cst.Name
            ).value
            events = len(run.trace.events)
            table = Table(
                source=source, context=run.context, at=events, line=line, scope=run.scope, name=name
            )
            run.state.set((run.scope, name), table)
        elif statements.execute_block(run, (statement,)) is not Flow.ON:
            return


def _tables(module: cst.Module) -> Iterator[cst.CSTNode]:
    for statement in module.body:
        match statement:
            case cst.SimpleStatementLine(
                body=[cst.Assign(targets=[cst.AssignTarget(target=cst.Name())], value=value)]
            ) if isinstance(value, (cst.Dict, cst.List, cst.Tuple)):
                if _is_large_literal(value):
                    yield statement


def _is_large_literal(value: cst.CSTNode) -> bool:
    literals = 0
    waiting = [value]
    while waiting:
        match waiting.pop():
            case cst.Dict(elements=elements):
                for element in elements:
                    if not isinstance(element, cst.DictElement):
                        return False
                    waiting += (element.key, element.value)
            case cst.List(elements=parts) | cst.Tuple(elements=parts):
                for part in parts:
                    if not isinstance(part, cst.Element):
                        return False
                    waiting.append(part.value)
            case cst.UnaryOperation(operator=cst.Minus(), expression=inner):
                waiting.append(inner)
            case cst.Name(value=name) if name in _NAMED:
                literals += 1
            case node if isinstance(node, _LITERALS):
                literals += 1
            case _:
                return False
    return literals >= _LARGE
