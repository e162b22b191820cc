"""What XLA does otherwise on other generations of cards."""

from __future__ import annotations

from dataclasses import dataclass

from oomlint.project.gpus import find_gpu

# What cuBLAS is lent while it multiplies: kHopperWorkspace and kDefaultWorkspace in xla/service/gpu/matmul_utils.h.
_LENT_FROM_HOPPER_ON, _LENT = 32 << 20, 4 << 20


@dataclass(frozen=True, slots=True)
class Card:
    """A generation of cards; Hopper by default."""

    # The layout of cuDNN's convolutions of float32 (xla/service/gpu/transforms/layout_assignment.cc).
    channels_first: bool = False
    # XLA has kernels of its own for matrix products and for softmax (xla/service/gpu/gpu_compiler.cc: from Ampere on).
    triton: bool = True
    lent_to_cublas: int = _LENT_FROM_HOPPER_ON


HOPPER = Card()


def card_of(gpu: str) -> Card:
    """By the name of a card. An amount of memory stands for a card before Hopper."""
    found = find_gpu(gpu)
    if found is None:
        return Card(channels_first=True, lent_to_cublas=_LENT)
    before_hopper = found.capability < (9, 0)
    return Card(
        channels_first=before_hopper,
        triton=found.capability >= (8, 0),
        lent_to_cublas=_LENT if before_hopper else _LENT_FROM_HOPPER_ON,
    )
