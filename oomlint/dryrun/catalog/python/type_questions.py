"""`isinstance` of plain data: how helpers of networks take one number or a pair of them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from oomlint.dryrun.catalog.registry import function
from oomlint.dryrun.values.base import Const, Mapping, Sequence, Unknown, Value, deref
from oomlint.dryrun.values.program import Class, Instance, Library

if TYPE_CHECKING:
    from oomlint.dryrun.interpreter import Run
    from oomlint.dryrun.trace import Call

PLAIN = frozenset(["int", "float", "bool", "str", "bytes", "complex", "list", "tuple", "dict", "set"])


def _types(value: Value) -> list[Value] | None:
    """The classes asked for, one or a tuple of them."""
    value = deref(value)
    if isinstance(value, Sequence):
        return None if value.items is None else [deref(item) for item in value.items]
    return [value]


def _name(value: Value) -> str | None:
    """The builtin type of plain data; the type of None is `NoneType`."""
    match value:
        case Const(value=inner):
            return type(inner).__name__
        case Sequence(kind=kind):
            return kind if kind in ("list", "tuple", "set") else None
        case Mapping():
            return "dict"
    return None


@function("builtins.isinstance", parameters="object classinfo")
def is_instance(call: Call, run: Run) -> Value:
    """Decided for plain data and builtin types, and for objects and classes of the program."""
    value, info = call.value("object"), call.value("classinfo")
    asked = None if info is None else _types(info)
    if value is None or asked is None or getattr(value, "perhaps", False):
        return Unknown(type="bool")
    soft = isinstance(value, Const) and value.soft
    if isinstance(value, Instance):
        classes = [item for item in asked if isinstance(item, Class)]
        if any(item in value.cls.ancestry() for item in classes):
            return Const(True)
        return Const(False) if len(classes) == len(asked) else Unknown(type="bool")
    own = _name(value)
    names = [item.name.removeprefix("builtins.") if isinstance(item, Library) else "" for item in asked]
    if own is None:
        return Unknown(type="bool")
    if own in names or (own == "bool" and "int" in names):
        return Const(True, (), soft)
    # Dicts, lists and strings are no layers or models either; numbers may be somebody's numbers.
    contains = own in ("dict", "list", "tuple", "set", "str")
    others = all(name in PLAIN or (contains and name.startswith("keras.")) for name in names)
    return Const(False, (), soft) if others else Unknown(type="bool")
