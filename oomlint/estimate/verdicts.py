"""Does it fit? The estimate's range against what TensorFlow can use."""

from __future__ import annotations

from oomlint.estimate.result import Estimate, Verdict
from oomlint.project.gpus import find_gpu, write_bytes

# Fragments are not a share to subtract: the runs that died with their allocator's statistics printed had used their
# pools up (tensorflow#36337: 7,509,992,704 of 7,510,566,502; #40024: 3,150,392,320 of 3,150,400,716).
_TIGHT_NOTE = "fragments of the pool, cuDNN's scratch memory or another process on the GPU decide"

# A range that is wider tells no card from another: of those in the table (project/gpus.py) the largest has 47 times
# the memory of the smallest.
_SAYS_NOTHING = 100

_UNITS = ("KiB", "MiB", "GiB", "TiB")

# The largest batch that is looked for: a small network would take millions, and nobody asks.
MOST_BATCH = 1 << 16


def range_of(peak: int, lower: float, upper: float) -> tuple[int, int]:
    """Where the true peak lies: the engine's own error, as fractions of the peak."""
    return round(peak * (1 - lower)), round(peak * (1 + upper))


def verdict(range_bytes: tuple[int, int], usable: int) -> Verdict:
    """`fits` where all of the range does, `does-not-fit` where none of it does, else `tight`: no claim."""
    low, high = range_bytes
    if high <= usable:
        return "fits"
    return "does-not-fit" if low > usable else "tight"


def headline(estimate: Estimate) -> str:
    """The answer in one sentence, for any report."""
    name = str(estimate.gpu.get("name") or "")
    where = f"on {name}" if find_gpu(name) else f"in {name}" if name else "on the GPU"
    where += ", with what is assumed below" if estimate.instead else ""
    usable = int(estimate.gpu["usable_bytes"])
    if estimate.verdict == "fits":
        return f"Fits {where}: {amount(usable - estimate.peak_bytes)} to spare"
    if estimate.verdict == "does-not-fit":
        return f"Does not fit {where}: {amount(estimate.peak_bytes - usable)} too much"
    low, high = estimate.range_bytes
    between = f"between {amount(low)} and {amount(high)}"
    if high <= usable:  # of models that are trained together one is left out
        return f"Cannot be told {where}: needs at least {amount(low)}, and there are {amount(usable)}"
    if estimate.instead and high > _SAYS_NOTHING * low:
        return f"Cannot be told {where}: the need hangs on what is assumed, which may be far from yours"
    words = "Cannot be told" if estimate.instead else "Too close to call"
    return f"{words} {where}: needs {between}, and there are {amount(usable)}"


def advice(estimate: Estimate) -> str:
    """What a verdict means for tonight; empty where it speaks for itself."""
    if estimate.verdict == "tight" and estimate.instead:
        return "Give what is assumed, and it can be told."
    if estimate.verdict == "tight":
        return f"It may run and still die later: {_TIGHT_NOTE}. Take a smaller batch."
    return ""


def amount(count: int) -> str:
    """Bytes for people: three digits that count, always binary units."""
    return write_bytes(count) if count < 1024 else _binary(count)


def _binary(count: int) -> str:
    size, unit = count / 1024, 0
    while size >= 999.5 and unit + 1 < len(_UNITS):
        size, unit = size / 1024, unit + 1
    digits = 2 if size < 9.995 else 1 if size < 99.95 else 0
    return f"{size:.{digits}f} {_UNITS[unit]}"
