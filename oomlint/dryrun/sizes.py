"""Sizes: bytes whose every factor knows its value and where it came from."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from oomlint.dryrun.values.base import Const, Trail


@dataclass(frozen=True, slots=True)
class Factor:
    """One factor of a product: its value, what it counts (`text`), the way it came, its unit."""

    value: int
    text: str
    trail: Trail
    unit: str = ""


@dataclass(frozen=True, slots=True)
class Size:
    """Bytes. `exact` is false when the true figure can only be larger (parts are unknown)."""

    bytes: int
    exact: bool
    factors: tuple[Factor, ...]

    def times(self, count: Const, text: str) -> Size:
        """`count` things of this size; `text` says what is counted ("elements in the buffer")."""
        number = int(count.value)
        factor = Factor(number, text, count.trail)
        return replace(self, bytes=self.bytes * number, factors=(factor, *self.factors))

    def plus(self, other: Size | None) -> Size:
        """The sum; an unknown part makes it a lower bound."""
        if other is None:
            return replace(self, exact=False)
        return Size(self.bytes + other.bytes, self.exact and other.exact, self.factors + other.factors)

    def __str__(self) -> str:
        return human(self.bytes) if self.exact else f"at least {human(self.bytes)}"


# An int of more bits is divided by none (`1 << 1024` is above the largest float); the text may have one: `10**400`.
_BITS_OF_FLOATS = 1023


def human(count: float) -> str:
    """Bytes for people: exact below 10 KiB, else three figures in binary units; a power of ten above all floats."""
    if count < 10 * 1024:
        return f"{int(count):,} B"
    if isinstance(count, int) and count.bit_length() > _BITS_OF_FLOATS:
        return f"10^{int(count.bit_length() * math.log10(2))} B"
    for unit in ("KiB", "MiB", "GiB", "TiB"):
        count /= 1024
        if count < 1000 or unit == "TiB":
            break
    return f"{count:,.0f} {unit}" if count >= 100 else f"{count:.3g} {unit}"
