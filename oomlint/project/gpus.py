"""GPUs by name, and amounts of memory as people write them.

What matters is not the label on the card but the pool that TensorFlow gets: free memory less what it leaves to the
system and less the CUDA context. `gpu_table.py` has the cards.
"""

from __future__ import annotations

import difflib
import re
from dataclasses import dataclass

from oomlint.project.gpu_table import ALSO, ROWS, Kind, Row, TotalFrom

MIB = 1 << 20
GIB = 1 << 30


@dataclass(frozen=True, slots=True)
class Gpu:
    """A card: its name, and the bytes that TensorFlow can use on it.

    `observed` is the lowest and the highest pool seen in public logs, where there are any; `usable` is the lowest,
    or worked out. `memory` is what the driver shows as the card's total.
    """

    name: str
    usable: int
    memory: int
    capability: tuple[int, int]
    kind: Kind
    observed: tuple[int, int] | None
    memory_from: TotalFrom

    @property
    def half_policy(self) -> str:
        """The mixed precision that its tensor cores compute: bfloat16 from compute capability 8.0 on."""
        return "mixed_bfloat16" if self.capability >= (8, 0) else "mixed_float16"


class MemoryAmountError(ValueError):
    """Not an amount of memory and not a GPU's name."""


# What TensorFlow leaves to the system, MiB by the major compute capability: `MinSystemMemory` in
# tensorflow/core/common_runtime/gpu/gpu_device.cc (500 up to 6, 1,050 for 7, 1,536 for 8, 1,800 above).
_LEFT_TO_THE_SYSTEM = {7: 1_050, 8: 1_536}
# What the pools of the logs lack beyond that: the CUDA context, and what the driver keeps of the total that it shows.
# MiB by the major capability, the largest gap of a server's card: P100 653, V100 484 and T4 726, A100 1,439 of 81,920
# (its smaller kin less: A6000 931, A5000 795), H100 996. A share of the largest: H200 lacks 3,438 of 143,771.
_CONTEXT = {6: 650, 7: 700}
_CONTEXT_OF_NEWER, _SHARE_OF_NEWER = 1_000, 0.016


def _worked_out(row: Row) -> int:
    major = row.capability[0]
    left = 500 if major <= 6 else _LEFT_TO_THE_SYSTEM.get(major, 1_800)
    context = _CONTEXT.get(major, max(_CONTEXT_OF_NEWER, round(row.total * _SHARE_OF_NEWER)))
    return row.total - left - context


def _gpu(row: Row) -> Gpu:
    low = row.pool[0] if row.pool else _worked_out(row)
    observed = (row.pool[0] * MIB, row.pool[1] * MIB) if row.pool else None
    return Gpu(row.name, low * MIB, row.total * MIB, row.capability, row.kind, observed, row.total_from)


GPUS: dict[str, Gpu] = {row.name: _gpu(row) for row in ROWS}

_UNITS = {"b": 1, "kb": 10**3, "mb": 10**6, "gb": 10**9, "tb": 10**12}
_UNITS |= {"kib": 1 << 10, "mib": 1 << 20, "gib": 1 << 30, "tib": 1 << 40}
_AMOUNT = re.compile(r"(\d+(?:\.\d+)?)\s*([kmgt]i?b|b)", re.IGNORECASE | re.ASCII)


# How nvidia-smi, clouds and people decorate names: "NVIDIA A100-SXM4-40GB", "Tesla V100-PCIE-16GB", "RTX A6000".
_MAKERS = ("nvidia", "tesla", "geforce")
_FORM = re.compile(r"(sxm|hbm)\d?e?|pcie?|laptop|gpu")


def _key(name: str) -> str:
    words = re.split(r"[\s_-]+", name.strip().lower())
    if len(words) > 1:
        words = [word for word in words if word not in _MAKERS and not _FORM.fullmatch(word)] or words
    key = "".join(words)
    key = re.sub(r"^rtx(?=a\d)", "", key)  # the workstation cards say both: "RTX A6000", "A6000"
    return re.sub(r"(?<=\d)g$", "gb", key)


_BY_KEY = {_key(name): gpu for name, gpu in GPUS.items()}
_BY_KEY |= {_key(name): GPUS[full] for name, full in ALSO.items()}
# "4090", "2080ti": only GeForce cards are called by their number alone.
_BY_KEY |= {
    key[3:]: gpu
    for key, gpu in list(_BY_KEY.items())
    if gpu.kind == "GeForce" and key.startswith(("gtx", "rtx"))
}


def find_gpu(name: str) -> Gpu | None:
    """The card of that name, in any case, with blanks or hyphens, or as nvidia-smi prints it."""
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
