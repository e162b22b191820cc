"""How many rows a sum takes together: few are summed by a kernel that writes what it sums, more in two steps."""

from __future__ import annotations

import math

ROWS = 4096


def summed_rows(given: tuple[int, ...], made: tuple[int, ...]) -> int:
    """How many rows a sum or mean takes together; 0 where it takes the last axis."""
    last = next((axis for axis in reversed(range(len(given))) if given[axis] > 1), -1)
    kept = made[last if len(made) == len(given) else -1 :][:1]
    if last < 0 or kept != given[last : last + 1]:
        return 0
    return math.prod(given) // max(math.prod(made), 1)
