"""What XLA does otherwise on other generations of cards."""

from __future__ import annotations

from dataclasses import dataclass

from oomlint.estimate.worker.xla.target_config import figures_of
from oomlint.project.gpus import find_gpu

# What cuBLAS is lent while it multiplies: kHopperWorkspace and kDefaultWorkspace in xla/service/gpu/matmul_utils.h.
_LENT_FROM_HOPPER_ON, _LENT = 32 << 20, 4 << 20
# Of each multiprocessor's first-level cache XLA counts on 2 KiB (xla/stream_executor/device_description.h), and on a
# microsecond for a kernel's start (kKernelLaunchOverhead in xla/service/gpu/model/gpu_performance_model_base.h).
_FIRST_LEVEL = 2 << 10
_START = 1e-6


@dataclass(frozen=True, slots=True)
class Card:
    """A generation of cards; Hopper by default."""

    # The layout of cuDNN's convolutions of float32 (xla/service/gpu/transforms/layout_assignment.cc).
    channels_first: bool = False
    # XLA has kernels of its own for matrix products and for softmax (xla/service/gpu/gpu_compiler.cc: from Ampere on).
    triton: bool = True
    lent_to_cublas: int = _LENT_FROM_HOPPER_ON
    start: float = 3352e9 * _START  # bytes that could be moved while a kernel is started
    cache: int = 50 << 20  # the second-level one, bytes
    near: int = 132 * _FIRST_LEVEL  # what the first-level ones hold
    multiprocessors: int = 132


HOPPER = Card()


def card_of(gpu: str) -> Card:
    """By the name of a card. An amount of memory stands for a card before Hopper."""
    found, figures = find_gpu(gpu), figures_of(gpu)
    before_hopper = found is None or found.capability < (9, 0)
    return Card(
        channels_first=before_hopper,
        triton=found is None or found.capability >= (8, 0),
        lent_to_cublas=_LENT if before_hopper else _LENT_FROM_HOPPER_ON,
        start=figures.bandwidth * 1e9 * _START,
        cache=figures.cache << 10,
        near=figures.multiprocessors * _FIRST_LEVEL,
        multiprocessors=figures.multiprocessors,
    )
