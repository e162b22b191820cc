"""What imported modules define is taken when somebody looks at it: classes, functions, large literals.

A module of a library defines twenty things, of which a script that imports it uses one; and what a class derives from
is another module, which is found, parsed and run for its name. A table of model presets is thousands of strings. When a
definition is taken makes no difference, unless it calls something: a default that is a tensor makes the devices.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import libcst as cst

from oomlint.dryrun import statements
from oomlint.dryrun.flow import Flow
from oomlint.dryrun.imports import Deferred
from oomlint.dryrun.state import Scope
from oomlint.dryrun.values.base import Value
from oomlint.syntax.children import code_children

if TYPE_CHECKING:
    from collections.abc import Iterator

    from oomlint.dryrun.interpreter import Run
    from oomlint.syntax.source import Source

# Literals in a table that is worth a look by itself; a list of layer sizes is not.
_LARGE = 40

_LITERALS = (cst.SimpleString, cst.Integer, cst.Float, cst.ConcatenatedString)
_NAMED = ("True", "False", "None")


@dataclass(slots=True, eq=False, kw_only=True)
class Definition(Deferred):
    """What `class Name`, `def name` or `NAME = {...}` binds, that nobody has looked at yet."""

    statement: cst.SimpleStatementLine | cst.BaseCompoundStatement
    scope: Scope
    name: str

    def find(self, run: Run) -> Value:
        """Take the statement, in the state of its module."""
        before = run.scope, run.statement, run.targets, run.state.layers
        run.scope, run.state.layers = self.scope, run.state.layers[:1]
        try:
            statements.execute_block(run, (self.statement,))
            return run.state.layers[0][self.scope, self.name]
        finally:
            run.scope, run.statement, run.targets, run.state.layers = before


def execute_module(run: Run, source: Source) -> None:
    """The statements of an imported module, but for its definitions."""
    if source.definitions is None:
        source.definitions = dict(_definitions(source.module))
    for statement in source.module.body:
        name = source.definitions.get(id(statement))
        if name is not None:
            definition = Definition(
                source=source,
                context=run.context,
                at=len(run.trace.events),
                statement=statement,
                scope=run.scope,
                name=name,
            )
            run.state.bind(run.scope, name, definition)
        elif statements.execute_block(run, (statement,)) is not Flow.ON:
            return


def _definitions(module: cst.Module) -> Iterator[tuple[int, str]]:
    for statement in module.body:
        match statement:
            case cst.ClassDef(name=cst.Name(value=name)) if _calls_nothing(statement):
                yield id(statement), name
            case cst.FunctionDef(name=cst.Name(value=name), decorators=[] | ()) if _calls_nothing(statement):
                yield id(statement), name
            case cst.SimpleStatementLine(
                body=[cst.Assign(targets=[cst.AssignTarget(target=cst.Name(value=name))], value=value)]
            ) if isinstance(value, (cst.Dict, cst.List, cst.Tuple)):
                if _is_large_literal(value):
                    yield id(statement), name


def _calls_nothing(statement: cst.ClassDef | cst.FunctionDef) -> bool:
    """Whether it calls nothing while it is taken. What decorates a class is not given the class."""
    waiting: list[cst.CSTNode] = [statement]
    while waiting:
        node = waiting.pop()
        if type(node) is cst.Call:
            return False
        if type(node) is cst.FunctionDef:
            waiting += (node.params, *node.decorators)
        elif type(node) is cst.ClassDef:
            waiting += (*node.bases, *node.keywords, node.body)
        elif type(node) is not cst.Lambda:
            waiting += code_children(node)
    return True


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
