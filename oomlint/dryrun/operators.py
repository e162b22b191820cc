"""Operators on constants, comparisons and truth."""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import libcst as cst

from oomlint.dryrun.trace import Argument, Call
from oomlint.dryrun.values.base import Const, Mapping, Sequence, Unknown, Value, deref, join, merge, tags_of
from oomlint.dryrun.values.program import Library

if TYPE_CHECKING:
    from oomlint.dryrun.interpreter import Run

BINARY: dict[type[cst.CSTNode], str] = {
    cst.Add: "add", cst.Subtract: "sub", cst.Multiply: "mul", cst.Divide: "truediv", cst.FloorDivide: "floordiv",
    cst.Modulo: "mod", cst.Power: "pow", cst.MatrixMultiply: "matmul", cst.BitAnd: "and_", cst.BitOr: "or_",
    cst.BitXor: "xor", cst.LeftShift: "lshift", cst.RightShift: "rshift",
    cst.AddAssign: "add", cst.SubtractAssign: "sub", cst.MultiplyAssign: "mul", cst.DivideAssign: "truediv",
    cst.FloorDivideAssign: "floordiv", cst.ModuloAssign: "mod", cst.PowerAssign: "pow",
    cst.MatrixMultiplyAssign: "matmul", cst.BitAndAssign: "and_", cst.BitOrAssign: "or_",
    cst.BitXorAssign: "xor", cst.LeftShiftAssign: "lshift", cst.RightShiftAssign: "rshift",
}  # fmt: skip
UNARY: dict[type[cst.CSTNode], str] = {
    cst.Minus: "neg", cst.Plus: "pos", cst.BitInvert: "invert", cst.Not: "not_",
}  # fmt: skip
COMPARE: dict[type[cst.CSTNode], str] = {
    cst.Equal: "eq", cst.NotEqual: "ne", cst.LessThan: "lt", cst.LessThanEqual: "le",
    cst.GreaterThan: "gt", cst.GreaterThanEqual: "ge", cst.Is: "is_", cst.IsNot: "is_not",
}  # fmt: skip

MAX_TEXT = 10_000  # longest string or list that an operator may make
MAX_BITS = 256  # largest integer kept: no size or count is near it


def fold(name: str, left: Any, right: Any) -> Any:
    """The result of an operator on two Python constants; raises what Python raises."""
    if isinstance(left, str | bytes) or isinstance(right, str | bytes):
        if name == "mul" and isinstance(left, str | bytes) and isinstance(right, int):
            if len(left) * right > MAX_TEXT:
                raise OverflowError
        elif name == "mod":
            raise ValueError  # formatting: its width could be anything
    elif isinstance(left, int) and isinstance(right, int):
        if name == "pow" and (right < 0 or left.bit_length() * right > MAX_BITS) and not (right < 0 and left):
            raise OverflowError
        if name == "lshift" and (right > MAX_BITS or left.bit_length() + right > MAX_BITS):
            raise OverflowError
    function: Callable[[Any, Any], Any] = getattr(operator, name)
    result = function(left, right)
    if isinstance(result, int) and result.bit_length() > MAX_BITS:
        raise OverflowError
    return result


def binary(
    run: Run, name: str, left: Value, right: Value, node: cst.CSTNode, paths: tuple[str | None, str | None]
) -> Value:
    """The value of `left <name> right`."""
    left, right = deref(left), deref(right)
    if isinstance(left, Const) and isinstance(right, Const):
        try:
            result = fold(name, left.value, right.value)
        except Exception:  # whatever Python raises on these constants, the value is not known
            return Unknown()
        return Const(result, merge(left.trail, right.trail), left.soft or right.soft)
    if isinstance(left, Sequence) and isinstance(right, Sequence | Const) and name in ("add", "mul"):
        return _sequences(name, left, right)
    if isinstance(right, Sequence) and isinstance(left, Const) and name == "mul":
        return _sequences(name, right, left)
    for operand in (left, right):
        handler = run.catalog.operators.get(type(operand))
        if handler is not None:
            place = run.place(node)
            call = Call(
                f"operator.{name}",
                place,
                run.context,
                receiver=left,
                arguments=(Argument(left, place, path=paths[0]), Argument(right, place, path=paths[1])),
                statement=run.statement,
                targets=run.targets[1] if run.targets[0] is node else (),
            )
            run.record(call)
            call.result = handler(call, run)
            return run.trace.made(call).result
    if isinstance(left, Mapping) and isinstance(right, Mapping) and name == "or_":
        return Mapping({**left.entries, **right.entries}, left.complete and right.complete)
    kind = "str" if name == "mod" and _text(left) else None
    if name == "add" and (_text(left) or _text(right)):
        kind = "str"
    if isinstance(left, Unknown | Const) and isinstance(right, Unknown | Const):
        kinds = {_type(left), _type(right)}
        if kinds == {"int"} and name != "truediv":
            kind = "int"
        elif kinds <= {"int", "float"}:
            kind = "float"
    result = Unknown(type=kind, tags=tags_of(left) | tags_of(right))
    operands = (
        Argument(left, run.place(node), path=paths[0]),
        Argument(right, run.place(node), path=paths[1]),
    )
    result.operation = Call(
        f"operator.{name}", run.place(node), run.context, left, operands, (), result, statement=run.statement
    )
    run.trace.operations.append(result.operation)
    return result


def _text(value: Value) -> bool:
    return _type(value) == "str"


def _type(value: Value) -> str | None:
    if isinstance(value, Const):
        return type(value.value).__name__
    return value.type if isinstance(value, Unknown) else None


def _sequences(name: str, left: Sequence, right: Value) -> Value:
    """Concatenation and repetition of lists and tuples."""
    if name == "add" and isinstance(right, Sequence):
        if (
            left.items is not None
            and right.items is not None
            and len(left.items) + len(right.items) <= MAX_TEXT
        ):
            return Sequence(left.kind, items=[*left.items, *right.items], tags=left.tags | right.tags)
        one, two = left.length, right.length
        count = Const(one.value + two.value, merge(one.trail, two.trail)) if one and two else None
        parts = [side.any for side in (left, right) if side.items != []]
        element = parts[0] if len(parts) == 1 else join(parts[0], parts[1])
        return Sequence(
            left.kind, element=element, count=count, tags=left.tags | right.tags, parts=(left, right)
        )
    if name == "mul" and isinstance(right, Const) and isinstance(right.value, int):
        times = max(0, right.value)
        if left.items is not None and len(left.items) * times <= 256:
            return Sequence(left.kind, items=left.items * times, tags=left.tags)
        length = left.length
        count = Const(length.value * times, merge(length.trail, right.trail)) if length else None
        return Sequence(left.kind, element=left.any, count=count, tags=left.tags)
    return Sequence(left.kind, element=left.any, tags=left.tags) if name == "mul" else Unknown(tags=left.tags)


def compare(name: str, left: Value, right: Value) -> Value:
    """The value of a comparison: a constant where both sides are, else unknown."""
    left, right = deref(left), deref(right)
    tags = tags_of(left) | tags_of(right)
    if name in ("is_", "is_not") and isinstance(right, Const) and right.value is None:
        if isinstance(left, Const):
            return Const((left.value is None) == (name == "is_"), left.trail, left.soft)
        if not isinstance(left, Unknown):
            # A value that stands for a join with None (see `join`) decides no branch.
            return Const(name == "is_not", (), getattr(left, "perhaps", False))
        return Unknown(type="bool", tags=tags)
    if isinstance(left, Sequence) and isinstance(right, Sequence) and name in ("eq", "ne"):
        same = _same_items(left, right)
        if same is not None:
            return Const((same.value is True) == (name == "eq"), (), same.soft)
    if isinstance(left, Const) and isinstance(right, Const):
        try:
            result = getattr(operator, name)(left.value, right.value)
        except Exception:
            return Unknown(type="bool")
        return Const(bool(result), merge(left.trail, right.trail), left.soft or right.soft)
    return Unknown(type="bool", tags=tags)


def _same_items(left: Sequence, right: Sequence) -> Const | None:
    """Whether two tuples or lists (two shapes) hold the same constants, where that can be told."""
    if left.items is None or right.items is None or left.kind != right.kind:
        return None
    pairs = [(deref(one), deref(two)) for one, two in zip(left.items, right.items)]
    known = [pair for pair in pairs if isinstance(pair[0], Const) and isinstance(pair[1], Const)]
    soft = any(item.soft for pair in known for item in pair if isinstance(item, Const))
    if len(left.items) != len(right.items) or any(one != two for one, two in known):
        return Const(False, (), soft)
    return Const(True, (), soft) if len(known) == len(pairs) else None


def contains(left: Value, right: Value) -> Value:
    """The value of `left in right`."""
    left, right = deref(left), deref(right)
    if isinstance(left, Const):
        if isinstance(right, Const) and isinstance(right.value, str) and isinstance(left.value, str):
            return Const(left.value in right.value, (), left.soft or right.soft)
        if isinstance(right, Mapping) and right.complete:
            try:
                inside = left.value in right.entries
            except TypeError:
                return Unknown(type="bool")
            return Const(inside, (), left.soft or getattr(right, "perhaps", False))
        if isinstance(right, Sequence) and right.items is not None:
            items = [deref(item) for item in right.items]
            if all(isinstance(item, Const) for item in items):
                return Const(any(left == item for item in items), (), left.soft)
    return Unknown(type="bool", tags=tags_of(left) | tags_of(right))


def truth(value: Value) -> bool | None:
    """Whether a test holds: decided only by constants that nothing can replace."""
    value = deref(value)
    if isinstance(value, Const):
        if value.soft:
            return None
        try:
            return bool(value.value)
        except Exception:
            return None
    if isinstance(value, Library) and value.name == "typing.TYPE_CHECKING":
        return False
    if (
        isinstance(value, Sequence)
        and value.kind == "tuple"
        and value.items
        and not getattr(value, "perhaps", False)
    ):
        # `if shape:` of a shape that was given; lists change in place, and an empty tuple is often a default.
        items = [deref(item) for item in value.items]
        if all(isinstance(item, Const) and not item.soft for item in items):
            return True
    return None
