"""Dataclasses that nobody changes, without what it costs Python to see to it.

A frozen dataclass sets each field through `object.__setattr__`, which takes three times as long as setting it. The dry
run makes some twenty of them per statement: that was a third of its time. The type checker still holds them frozen.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, TypeVar

if TYPE_CHECKING:
    from typing_extensions import dataclass_transform
else:

    def dataclass_transform(**_options: Any) -> Any:
        """What the type checker reads (the library has it from Python 3.11 on)."""
        return lambda decorator: decorator


T = TypeVar("T")


@dataclass_transform(frozen_default=True, eq_default=False, field_specifiers=(field,))
def record(cls: type[T]) -> type[T]:
    """A dataclass that is equal to itself only."""
    return dataclass(slots=True, eq=False)(cls)


@dataclass_transform(frozen_default=True, eq_default=True, field_specifiers=(field,))
def plain_record(cls: type[T]) -> type[T]:
    """A dataclass that is equal to another with the same fields."""
    return dataclass(slots=True, unsafe_hash=True)(cls)
