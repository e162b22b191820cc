"""The GPU as XLA's compiler wants it described: its GpuTargetConfigProto as text.

What differs between cards decides little of the memory (how many multiprocessors a matrix product is split over,
the memory at which XLA begins to recompute), so figures are to the precision of data sheets.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

from oomlint.project.gpus import GPUS, Gpu, find_gpu


class Chip(NamedTuple):
    """By compute capability: CUDA C++ Programming Guide, "Technical Specifications per Compute Capability"."""

    shared: int  # KiB for each multiprocessor
    optin: int  # KiB that one block may ask for
    threads: int  # for each multiprocessor
    lanes: int  # of 32-bit floats


CHIPS: dict[tuple[int, int], Chip] = {
    (6, 0): Chip(64, 48, 2048, 64),
    (6, 1): Chip(96, 48, 2048, 128),
    (7, 0): Chip(96, 96, 2048, 64),
    (7, 5): Chip(64, 64, 1024, 64),
    (8, 0): Chip(164, 163, 2048, 64),
    (8, 6): Chip(100, 99, 1536, 128),
    (8, 9): Chip(100, 99, 1536, 128),
    (9, 0): Chip(228, 227, 2048, 128),
    (10, 0): Chip(228, 227, 2048, 128),
    (12, 0): Chip(100, 99, 1536, 128),
}


class Card(NamedTuple):
    """Multiprocessors, boost clock (GHz), memory bandwidth (GB/s), second-level cache (KiB)."""

    multiprocessors: int
    clock: float
    bandwidth: int
    cache: int


# P100, V100, A6000, A100, H100, H200, B200, GB200 and RTX PRO 6000: openxla/xla, xla/backends/gpu/target_config/specs/.
# The others: NVIDIA's data sheets and architecture white papers (Turing, GA102, Ada, Blackwell; T4, L4, A10, A30, A40).
CARDS: dict[str, Card] = {
    "P4": Card(20, 1.06, 192, 2048),
    "P40": Card(30, 1.53, 346, 3072),
    "P100": Card(56, 1.48, 732, 4096),
    "V100-16GB": Card(80, 1.53, 898, 6144),
    "V100-32GB": Card(80, 1.53, 898, 6144),
    "T4": Card(40, 1.59, 320, 4096),
    "A10": Card(72, 1.695, 600, 6144),
    "A10G": Card(80, 1.71, 600, 6144),
    "A30": Card(56, 1.44, 933, 24576),
    "A40": Card(84, 1.74, 696, 6144),
    "A100-40GB": Card(108, 1.41, 1555, 40960),
    "A100-80GB": Card(108, 1.41, 2039, 40960),
    "L4": Card(58, 2.04, 300, 49152),
    "L40": Card(142, 2.49, 864, 98304),
    "L40S": Card(142, 2.52, 864, 98304),
    "H20": Card(78, 1.98, 4000, 61440),
    "H100-80GB": Card(132, 1.98, 3352, 51200),
    "H100-NVL": Card(132, 1.785, 3938, 51200),
    "H200": Card(132, 1.98, 4800, 51200),
    "GH200": Card(132, 1.98, 4022, 51200),
    "B200": Card(148, 1.965, 7672, 129536),
    "GB200": Card(152, 2.062, 7928, 129536),
    "A4000": Card(48, 1.56, 448, 4096),
    "A5000": Card(64, 1.695, 768, 6144),
    "A6000": Card(84, 1.8, 768, 6144),
    "RTX-6000-Ada": Card(142, 2.505, 960, 98304),
    "RTX-PRO-6000": Card(188, 2.6, 1792, 131072),
    "TITAN-V": Card(80, 1.455, 653, 4608),
    "TITAN-RTX": Card(72, 1.77, 672, 6144),
    "GTX-1080": Card(20, 1.733, 320, 2048),
    "GTX-1080-Ti": Card(28, 1.582, 484, 2816),
    "RTX-2080-Ti": Card(68, 1.545, 616, 5632),
    "RTX-3060": Card(28, 1.777, 360, 3072),
    "RTX-3070": Card(46, 1.725, 448, 4096),
    "RTX-3080": Card(68, 1.71, 760, 5120),
    "RTX-3080-Ti": Card(80, 1.665, 912, 6144),
    "RTX-3090": Card(82, 1.695, 936, 6144),
    "RTX-4070": Card(46, 2.475, 504, 36864),
    "RTX-4080": Card(76, 2.505, 717, 65536),
    "RTX-4090": Card(128, 2.52, 1008, 73728),
    "RTX-5070": Card(48, 2.512, 672, 49152),
    "RTX-5080": Card(84, 2.617, 960, 65536),
    "RTX-5090": Card(170, 2.407, 1792, 98304),
}

# A GPU that is named by its memory alone is taken for a card of today's kind.
_UNNAMED = "A100-40GB"


@dataclass(frozen=True, slots=True)
class Target:
    """What to compile for; `assumption` says where that is not the card that was asked for."""

    name: str
    capability: tuple[int, int]
    proto: str
    assumption: str = ""


def target_for(gpu_name: str, usable_bytes: int) -> Target:
    """The description of a GPU by its name, or by its memory where the name is an amount (`16GB`)."""
    gpu = find_gpu(gpu_name)
    if gpu is None:
        stand_in = GPUS[_UNNAMED]
        memory = max(usable_bytes, 1 << 30)
        assumption = f"no card is named, so the step is compiled as for an {stand_in.name} with that memory"
        return Target(gpu_name, stand_in.capability, _proto(stand_in, memory), assumption)
    like = _described(gpu)
    assumption = ""
    if like.capability != gpu.capability:
        major, minor = gpu.capability
        assumption = (
            f"XLA no longer compiles for compute capability {major}.{minor}: compiled as for {like.name}"
        )
    return Target(gpu.name, like.capability, _proto(like, gpu.memory), assumption)


def figures_of(gpu_name: str) -> Card:
    """The figures of a card, or of the one that stands for it."""
    return CARDS[_described(find_gpu(gpu_name) or GPUS[_UNNAMED]).name]


def _described(gpu: Gpu) -> Gpu:
    """The card itself, else the one nearest in capability and then in memory whose figures are known.

    Cards that CUDA 13 gave up (before 7.5) are described too: XLA assigns buffers for them as ever, and only
    the making of machine code, which nobody waits for here, fails.
    """
    if gpu.name in CARDS:
        return gpu
    known = [GPUS[name] for name in CARDS if name in GPUS]

    def distance(other: Gpu) -> tuple[int, int]:
        (major, minor), (other_major, other_minor) = gpu.capability, other.capability
        return abs(10 * (major - other_major) + minor - other_minor), abs(gpu.memory - other.memory)

    return min(known, key=distance)


def _proto(gpu: Gpu, memory: int) -> str:
    chip, card = CHIPS[gpu.capability], CARDS[gpu.name]
    major, minor = gpu.capability
    return f"""gpu_device_info {{
  threads_per_block_limit: 1024
  threads_per_warp: 32
  shared_memory_per_block: {48 << 10}
  shared_memory_per_core: {chip.shared << 10}
  shared_memory_per_block_optin: {chip.optin << 10}
  threads_per_core_limit: {chip.threads}
  core_count: {card.multiprocessors}
  fpus_per_core: {chip.lanes}
  block_dim_limit_x: 2147483647
  block_dim_limit_y: 65535
  block_dim_limit_z: 65535
  memory_bandwidth: {card.bandwidth * 10**9}
  l2_cache_size: {card.cache << 10}
  clock_rate_ghz: {card.clock}
  device_memory_size: {memory}
  cuda_compute_capability {{ major: {major} minor: {minor} }}
  registers_per_core_limit: 65536
  registers_per_block_limit: 65536
}}
platform_name: "CUDA"
dnn_version_info {{ major: 9 minor: 10 patch: 0 }}
device_description_str: "{gpu.name}"
"""
