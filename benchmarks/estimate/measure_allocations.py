"""Measures what a training step takes on the CPU from TensorFlow's own allocations: the same truth, sooner and exact.

    python benchmarks/estimate/measure_allocations.py mlp:512:adam unet:4:momentum ... >> cpu_truth.jsonl

With TF_CPU_ALLOCATOR_USE_BFC the CPU has the allocator of the GPU, which tells the profiler of every buffer that it
gives out and takes back, and for which operation. Here their bytes are added up over one step, as they were asked for
(a chunk may be larger, by what happens to be free). What measure_cpu.py sees of the process from outside is the same
within a few percent: pages blur it, what is not touched is not in it, and what Eigen packs for a product is. The order
in which the operations ran is told by the same profile. With --show the buffers at the peak are printed, too.
`eager:mlp:512:adam`: run operation by operation, as Python calls them.
"""

from __future__ import annotations

import json
import os
import sys
from collections import Counter
from functools import partial
from typing import Any

from cpu_orders import packed, profiled, ran
from measure_cpu import (
    BY_HAND,
    DRAWS,
    EAGER,
    ENVIRONMENT,
    one_thread,
    prepared,
    split,
    traced_anew,
    with_median,
)

ROUNDING = 64  # bytes: a CPU's buffers are aligned to as many


def events(space: Any) -> list[tuple[bool, int, int, str]]:
    """The allocations (True) and deallocations of a profiled step: address, bytes, operation."""
    found = []
    for plane in space.planes:
        kinds = {
            number: data.name
            for number, data in plane.event_metadata.items()
            if data.name in ("MemoryAllocation", "MemoryDeallocation")
        }
        names = {number: data.name for number, data in plane.stat_metadata.items()}
        for line in plane.lines:
            for event in line.events:
                kind = kinds.get(event.metadata_id)
                if kind is None:
                    continue
                stats = {
                    names[stat.metadata_id]: getattr(stat, stat.WhichOneof("value")) for stat in event.stats
                }
                operation = stats.get("tf_op", "")
                found.append(
                    (
                        line.timestamp_ns * 1000 + event.offset_ps,
                        kind == "MemoryAllocation",
                        stats["addr"],
                        -(-stats.get("requested_bytes", 0) // ROUNDING) * ROUNDING,
                        names.get(operation, str(operation)) if isinstance(operation, int) else operation,
                    )
                )
    return [event[1:] for event in sorted(found, key=lambda event: event[0])]


def peak_of(step: list[tuple[bool, int, int, str]]) -> tuple[int, Counter[str]]:
    """Bytes above those at the beginning, and whose they are."""

    def until(last: int) -> tuple[int, int, dict[int, tuple[int, str]]]:
        alive: dict[int, tuple[int, str]] = {}
        now, peak, at = 0, 0, -1
        for number, (given, address, size, operation) in enumerate(step[:last]):
            if given:
                alive[address] = size, operation
                now += size
                if now > peak:
                    peak, at = now, number
            else:
                now -= alive.pop(address, (size, ""))[0]
        return peak, at, alive

    peak, at, _ = until(len(step))
    sizes: Counter[str] = Counter()
    for size, operation in until(at + 1)[2].values():
        sizes[operation] += size
    return peak, sizes


def _eagerly(model: Any, *parts: Any) -> Any:
    model.run_eagerly = True
    return model.train_step(parts)


def one_step(configuration: str) -> tuple[dict[str, object], Counter[str]]:
    """A line, and the buffers at the last peak."""
    import keras

    keras.utils.clear_session()
    model, batch_of, about = prepared(*split(configuration))
    if configuration.startswith(EAGER):
        step = partial(_eagerly, model)
        step(*batch_of)
        peak, sizes = peak_of(events(profiled(partial(step, *batch_of))))
        return with_median(about, [peak], "allocations"), sizes
    peaks, orders = [], []
    for _ in range(DRAWS):
        step = traced_anew(model, configuration.startswith(BY_HAND))
        for _ in range(3):
            step(*batch_of)
        space = profiled(partial(step, *batch_of))
        peak, sizes = peak_of(events(space))
        peaks.append(peak)
        orders.append(ran(space))
    return with_median(about, peaks, "allocations") | {"orders": packed(orders)}, sizes


def main(configurations: list[str]) -> None:
    show = "--show" in configurations
    one_thread()
    for configuration in configurations:
        if configuration == "--show":
            continue
        line, sizes = one_step(configuration)
        print(json.dumps(line), flush=True)
        for operation, size in sizes.most_common(20 if show else 0):
            print(f"{size / 2**20:9.1f} MiB  {operation}", file=sys.stderr)


if __name__ == "__main__":
    if os.environ.get("TF_CPU_ALLOCATOR_USE_BFC") != "true":  # read when TensorFlow starts
        os.execve(
            sys.executable,
            [sys.executable, *sys.argv],
            os.environ | ENVIRONMENT | {"TF_CPU_ALLOCATOR_USE_BFC": "true"},
        )
    main(sys.argv[1:])
