"""`keras.applications`: how much of each sample waits for the backward pass, by architecture.

Printed by `benchmarks/application_activations.py`, which walks the real models.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from oomlint.dryrun.catalog.keras.dims import derived, known

if TYPE_CHECKING:
    from oomlint.dryrun.values.arrays import Dim, Shape

# The side of a square input, and the numbers kept for one sample of that size.
SAVED: dict[str, tuple[int, int]] = {
}  # fmt: skip

# Sides are rounded at each stride: the area's share is right to a few per cent at the sizes that people train on.
ROUNDING = 0.95


def saved_by_application(name: str, shape: Shape) -> Dim:
    """Numbers that one sample of an input shape leaves behind for the backward pass, at least."""
    height, width = known(shape[1]), known(shape[2])
    if name not in SAVED or height is None or width is None or min(height, width) < 64:
        return None
    side, kept = SAVED[name]
    exact = height == width == side
    number = kept if exact else int(kept * height * width / (side * side) * ROUNDING)
    return derived(number, shape[1], shape[2])
