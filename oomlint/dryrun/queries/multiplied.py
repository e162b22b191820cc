"""Numbers that a loop doubles, halves or the like: `cells *= 2`, `side //= FACTOR`."""

from __future__ import annotations

from typing import TYPE_CHECKING

import libcst as cst

from oomlint.dryrun.imports import dotted
from oomlint.dryrun.values.base import Const, Mapping, deref

if TYPE_CHECKING:
    from collections.abc import Mapping as Table
    from collections.abc import Sequence as Items

    from oomlint.dryrun.trace import Assign


def multiplies(assign: Assign, assigns: Table[str, Items[Assign]]) -> bool:
    """Whether a whole number is doubled, halved or the like: after a few rounds nothing is left of it to change."""
    statement = assign.statement.node if assign.statement is not None else None
    match statement:
        case cst.SimpleStatementLine(
            body=[cst.AugAssign(operator=cst.MultiplyAssign() | cst.FloorDivideAssign(), value=by)]
        ):
            number = _number(by, assigns)
            return number is not None and number > 1
        case cst.SimpleStatementLine(
            body=[cst.AugAssign(operator=cst.LeftShiftAssign() | cst.RightShiftAssign(), value=by)]
        ):
            return _number(by, assigns) is not None
    return False


def _number(node: cst.BaseExpression, assigns: Table[str, Items[Assign]]) -> int | None:
    """The whole number that is written there, or that a name or an entry of a table is bound to, the same each time."""
    key: object = None
    match node:
        case cst.Integer():
            return node.evaluated_value
        case cst.Subscript(
            value=whole, slice=[cst.SubscriptElement(slice=cst.Index(value=cst.SimpleString() as text))]
        ):
            path, key = dotted(whole), text.evaluated_value
        case _:
            path = dotted(node)
    bound = [deref(assign.value) for assign in assigns.get(path, ())] if path else []
    if not bound and "." in path:  # `Settings.FACTOR`: bound in the class, as FACTOR
        bound = [deref(assign.value) for assign in assigns.get(path.rpartition(".")[2], ())]
    if key is not None:
        tables = [value.entries if isinstance(value, Mapping) else {} for value in bound]
        bound = [deref(table[key]) if key in table else Const(None) for table in tables]
    found = {value.value if isinstance(value, Const) else None for value in bound}
    only = found.pop() if len(found) == 1 else None
    return only if isinstance(only, int) else None
