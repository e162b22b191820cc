"""GPUs by name, and amounts of memory as people write them.

What matters is not the label on the card but the pool that TensorFlow gets: free memory less
what it leaves to the system (225 to 1,800 MiB by compute capability: `MinSystemMemory` in
tensorflow/core/common_runtime/gpu/gpu_device.cc) and less the CUDA context.
"""

from __future__ import annotations

import difflib
import re
from dataclasses import dataclass

MIB = 1 << 20
GIB = 1 << 30


@dataclass(frozen=True, slots=True)
class Gpu:
    """A card: its name, and the bytes that TensorFlow can use on it."""

    name: str
    usable: int


class MemoryAmountError(ValueError):
    """Not an amount of memory and not a GPU's name."""


# The lowest pool seen in public logs, MiB ("Created device /job:localhost/... with N MB memory").
_OBSERVED = {
    "GTX-1080-Ti": 10_044,
    "T4": 13_584,
    "V100-16GB": 14_684,
    "L4": 20_549,
    "RTX-3090": 21_342,
    "A100-40GB": 38_068,
    "A100-80GB": 78_945,
    "H100-80GB": 78_763,
}

# No log at hand: the total that nvidia-smi shows (MiB), less what the cards above of the same generation lack.
_LACKING = {6: 1_150, 7: 1_800, 8: 2_500, 9: 2_800}
_TOTALS = {
    "P100": (16_280, 6),
    "V100-32GB": (32_510, 7),
    "RTX-2080-Ti": (11_264, 7),
    "RTX-3060": (12_288, 8),
    "RTX-3080": (10_240, 8),
    "RTX-4090": (24_564, 8),
    "A10": (23_028, 8),
    "A10G": (23_028, 8),
    "A6000": (49_140, 8),
    "L40S": (46_068, 8),
    "H200": (143_771, 9),
}

GPUS: dict[str, Gpu] = {
    name: Gpu(name, mib * MIB)
    for name, mib in sorted(
        {**_OBSERVED, **{name: total - _LACKING[cc] for name, (total, cc) in _TOTALS.items()}}.items()
    )
}

# The shorter names that people say, each for the smaller card of that name.
_ALSO = {"V100": "V100-16GB", "A100": "A100-40GB", "H100": "H100-80GB"}

_UNITS = {"b": 1, "kb": 10**3, "mb": 10**6, "gb": 10**9, "tb": 10**12}
_UNITS |= {"kib": 1 << 10, "mib": 1 << 20, "gib": 1 << 30, "tib": 1 << 40}
_AMOUNT = re.compile(r"(\d+(?:\.\d+)?)\s*([kmgt]?i?b)", re.IGNORECASE)


def _key(name: str) -> str:
    return re.sub(r"[\s_-]+", "-", name.strip()).lower().removeprefix("nvidia-").removeprefix("tesla-")


_BY_KEY = {_key(name): gpu for name, gpu in GPUS.items()}
_BY_KEY |= {_key(name): GPUS[full] for name, full in _ALSO.items()}


def find_gpu(name: str) -> Gpu | None:
    """The card of that name, written in any case, with blanks or hyphens."""
    return _BY_KEY.get(_key(name))


def parse_memory(value: str | int) -> int:
    """Bytes of `"16GB"` (decimal), `"24GiB"` (binary), a GPU's name, or a number of bytes."""
    if isinstance(value, int):
        if value <= 0:
            raise MemoryAmountError(f"{value} bytes is not an amount of memory")
        return value
    if amount := _AMOUNT.fullmatch(value.strip()):
        number = round(float(amount[1]) * _UNITS[amount[2].lower()])
        if number <= 0:
            raise MemoryAmountError(f"{value!r} is no memory at all")
        return number
    if gpu := find_gpu(value):
        return gpu.usable
    if re.fullmatch(r"\s*[\d.]+\s*[kmgt]?\s*", value, re.IGNORECASE):
        raise MemoryAmountError(f"{value!r} lacks a unit: write 16GB or 16GiB")
    near = difflib.get_close_matches(_key(value), _BY_KEY, n=1, cutoff=0.0)
    nearest = _BY_KEY[near[0]].name if near else "T4"
    raise MemoryAmountError(
        f"unknown GPU or amount of memory {value!r}: did you mean {nearest!r}, or 16GB or 24GiB?"
    )


def write_bytes(count: int) -> str:
    """An amount of memory in words: the unit it is round in, else binary with one decimal."""
    for unit in ("TB", "GB", "MB"):
        size = _UNITS[unit.lower()]
        if count >= size and count % (size // 10) == 0 and count % MIB:
            return f"{count / size:g} {unit}"
    for unit in ("TiB", "GiB", "MiB", "KiB"):
        size = _UNITS[unit.lower()]
        if count >= size:
            return f"{count / size:.1f}".removesuffix(".0") + f" {unit}"
    return f"{count} B"
