"""Constants that the text gives, there or by a name: `2`, `FACTOR`, `Settings.FACTOR`, `settings["factor"]`."""

from __future__ import annotations

from typing import TYPE_CHECKING

import libcst as cst

from oomlint.dryrun.imports import dotted
from oomlint.dryrun.values.base import Const, Mapping, deref

if TYPE_CHECKING:
    from collections.abc import Callable
    from collections.abc import Sequence as Items

    from oomlint.dryrun.trace import Assign

    Bindings = Callable[[str], Items[Assign]]


def constant(node: cst.CSTNode, bindings: Bindings) -> object:
    """What is written there, or what a name or an entry of a table is bound to, the same each time; else None."""
    key: object = None
    match node:
        case cst.Integer() | cst.SimpleString():
            return node.evaluated_value
        case cst.Subscript(
            value=whole, slice=[cst.SubscriptElement(slice=cst.Index(value=cst.SimpleString() as text))]
        ):
            path, key = dotted(whole), text.evaluated_value
        case _:
            path = dotted(node)
    bound = [deref(assign.value) for assign in bindings(path)] if path else []
    if not bound and "." in path:  # `Settings.FACTOR`: bound in the class, as FACTOR
        bound = [deref(assign.value) for assign in bindings(path.rpartition(".")[2])]
    if key is not None:
        tables = [value.entries if isinstance(value, Mapping) else {} for value in bound]
        bound = [deref(table[key]) if key in table else Const(None) for table in tables]
    values = [value.value if isinstance(value, Const) else None for value in bound]
    same = bool(values) and all(value == values[0] for value in values)
    return values[0] if same else None


def multiplies(assign: Assign, bindings: Bindings) -> bool:
    """Whether a whole number is doubled, halved or the like: after a few rounds nothing is left of it to change."""
    statement = assign.statement.node if assign.statement is not None else None
    match statement:
        case cst.SimpleStatementLine(
            body=[cst.AugAssign(operator=cst.MultiplyAssign() | cst.FloorDivideAssign(), value=by)]
        ):
            number = constant(by, bindings)
            return isinstance(number, int) and number > 1
        case cst.SimpleStatementLine(
            body=[cst.AugAssign(operator=cst.LeftShiftAssign() | cst.RightShiftAssign(), value=by)]
        ):
            return isinstance(constant(by, bindings), int)
    return False
