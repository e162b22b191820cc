"""Python's builtins for numbers on abstract values: conversions, the least and the greatest, arithmetic."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from oomlint.dryrun.catalog.arrays.making import FEW_WORDS, VOCABULARY, tags_of_all, without_loads
from oomlint.dryrun.catalog.python.builtin_functions import (
    asked_for_keys,
    computed,
    items_of,
    one_of,
    positional,
)
from oomlint.dryrun.catalog.registry import function
from oomlint.dryrun.values.arrays import Array
from oomlint.dryrun.values.base import Const, Sequence, Unknown, Value, deref, tags_of
from oomlint.dryrun.values.devices import DeviceCount

if TYPE_CHECKING:
    from oomlint.dryrun.interpreter import Run
    from oomlint.dryrun.trace import Call

_TYPES: dict[str, Any] = {"int": int, "float": float, "bool": bool, "str": str}


@function("builtins.int", "builtins.float", "builtins.bool", "builtins.str", parameters="object base")
def convert(call: Call, run: Run) -> Value:
    """A constant of another type; of anything else, only the type is known."""
    name = call.name.rpartition(".")[2]
    value = call.value("object")
    if value is None:
        return Const(_TYPES[name]())
    if name == "int" and isinstance(value, Unknown) and value.type == "int":
        return value
    if isinstance(value, Const) and call.argument("base") is None:
        try:
            return computed(_TYPES[name](value.value), value)
        except (TypeError, ValueError, OverflowError):
            return Unknown(type=name)
    if name == "bool" and isinstance(value, Sequence) and value.items is not None:
        return Const(bool(value.items))
    if name == "str" and isinstance(getattr(value, "text", None), str):
        return computed(value.text)  # type: ignore[attr-defined]
    return Unknown(type=name, tags=without_loads(tags_of(value)))


@function("builtins.min", "builtins.max", "builtins.sum", parameters="object other")
def reduce(call: Call, run: Run) -> Value:
    """The least, the greatest, or all together, of constants."""
    name = call.name.rpartition(".")[2]
    given = positional(call)
    if name == "sum" and len(given) > 1:
        return Unknown(tags=tags_of_all(*given))
    items = given if len(given) > 1 else items_of(run, given[0]).items if given else None
    if len(given) == 1:
        asked_for_keys(call, run, given[0])
    if items is None or call.argument("key") is not None:
        inner = one_of(items_of(run, given[0]), given[0]) if given else Unknown()
        return Unknown(type=inner.type if isinstance(inner, Unknown) else None, tags=tags_of(inner))
    constants = [item for item in map(deref, items) if isinstance(item, Const)]
    counts = [item for item in map(deref, items) if isinstance(item, DeviceCount)]
    if name == "min" and len(counts) == len(constants) == 1 and len(items) == 2:
        limit = constants[0].value
        return counts[0].at_most(limit) if isinstance(limit, int) and limit > 0 else Unknown(type="int")
    if not items or len(constants) != len(items):
        kinds = {item.type if isinstance(item, Unknown) else type(item.value).__name__ for item in map(deref, items)
                 if isinstance(item, Unknown | Const)}  # fmt: skip
        kind = "int" if kinds == {"int"} else "float" if kinds <= {"int", "float"} else None
        tags = tags_of_all(*items)
        if name == "min" and any(isinstance(one.value, int) and one.value < FEW_WORDS for one in constants):
            tags -= {VOCABULARY}
        return Unknown(type=kind, tags=tags, operation=call if name == "min" else None)
    try:
        if name == "sum":
            return computed(sum(item.value for item in constants), *constants)
        chosen = (min if name == "min" else max)(constants, key=lambda item: item.value)
    except TypeError:
        return Unknown()
    return Const(chosen.value, chosen.trail, any(item.soft for item in constants))


@function("builtins.abs", "builtins.round", "builtins.pow", "builtins.divmod", parameters="number other")
def arithmetic(call: Call, run: Run) -> Value:
    """Arithmetic on constants; the absolute of an array is an array like it."""
    name = call.name.rpartition(".")[2]
    values = positional(call)
    if values and isinstance(values[0], Array) and name in ("abs", "round"):
        return values[0]
    constants = [value for value in values if isinstance(value, Const)]
    if len(constants) == len(values) and values:
        numbers = [item.value for item in constants]
        if all(isinstance(item, int | float) for item in numbers) and not (name == "pow" and _large(numbers)):
            try:
                result = {"abs": abs, "round": round, "pow": pow, "divmod": divmod}[name](*numbers)  # type: ignore[operator]
            except (TypeError, ValueError, OverflowError, ZeroDivisionError):
                return Unknown()
            if isinstance(result, tuple):
                return Sequence("tuple", items=[computed(part, *constants) for part in result])
            return computed(result, *constants)
    return Unknown(tags=tags_of_all(*values))


def _large(numbers: list[Any]) -> bool:
    return any(abs(item) > 10_000 for item in numbers)
