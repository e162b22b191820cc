"""Plain records as JSON data and back, by the types of their fields, so that a field that is added is kept too.

JSON and not pickle: what lies in a checkout may come from a stranger, and reading a pickle runs code.
"""

from __future__ import annotations

import types
from collections.abc import Callable
from dataclasses import fields, is_dataclass
from enum import Enum
from functools import cache
from typing import Any, Union, get_args, get_origin, get_type_hints


class StoredError(ValueError):
    """Data that is no record of the wanted type."""


def to_data(value: object) -> Any:
    """A record (data class, named tuple, enumeration, tuple or dictionary of such) as what JSON can hold."""
    if isinstance(value, Enum):
        return value.value
    if is_dataclass(value):
        return [to_data(getattr(value, field.name)) for field in fields(value)]
    if isinstance(value, (tuple, list)):
        return [to_data(item) for item in value]
    if isinstance(value, dict):
        return {key: to_data(item) for key, item in value.items()}
    return value


def from_data(wanted: Any, data: Any) -> Any:
    """The record of type `wanted` that gave `data`; StoredError where it is none."""
    try:
        return _reader(wanted)(data)
    except (TypeError, ValueError, KeyError, AttributeError) as error:
        raise StoredError(str(error)) from None


@cache
def _reader(wanted: Any) -> Callable[[Any], Any]:
    origin, inner = get_origin(wanted), get_args(wanted)
    if origin in (Union, types.UnionType):
        (kind,) = (one for one in inner if one is not type(None))
        read = _reader(kind)
        return lambda data: None if data is None else read(data)
    if origin is tuple:
        return _tuple_of(_reader(inner[0]))
    if origin is dict:
        read = _reader(inner[1])
        return lambda data: {str(key): read(item) for key, item in data.items()}
    if isinstance(wanted, type) and issubclass(wanted, Enum):
        return wanted
    if is_dataclass(wanted):
        return _record(wanted, [field.name for field in fields(wanted)])
    if hasattr(wanted, "_fields"):
        return _record(wanted, list(wanted._fields))
    return _plain(wanted)


def _tuple_of(read: Callable[[Any], Any]) -> Callable[[Any], Any]:
    def items(data: Any) -> Any:
        if not isinstance(data, list):
            raise StoredError(f"a list was expected, not {data!r}")
        return tuple(map(read, data))

    return items


def _record(wanted: Any, names: list[str]) -> Callable[[Any], Any]:
    hints = get_type_hints(wanted)
    readers = [_reader(hints[name]) for name in names]

    def record(data: Any) -> Any:
        if not isinstance(data, list) or len(data) != len(readers):
            raise StoredError(f"{wanted.__name__} has {len(readers)} fields")
        return wanted(*(read(item) for read, item in zip(readers, data)))

    return record


def _plain(wanted: Any) -> Callable[[Any], Any]:
    def plain(data: Any) -> Any:
        if type(data) is not wanted:
            raise StoredError(f"{wanted.__name__} was expected, not {data!r}")
        return data

    return plain
