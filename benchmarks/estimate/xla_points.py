"""Engine xla on the configurations of the comparisons: one row each, with the parts and XLA's own totals.

    KERAS_BACKEND=jax python benchmarks/estimate/xla_points.py OUT.jsonl [MODEL:BATCH:OPTIMIZER:POLICY:GPU ...]

Without configurations it makes those of `xla_configurations.py` that OUT lacks for this backend.
"""

from __future__ import annotations

import os
import sys
import time
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from oomlint.estimate.worker.xla import compile as compilation
from oomlint.estimate.worker.xla import engine

os.environ.update(compilation.environment())
BACKEND = os.environ.setdefault("KERAS_BACKEND", "tensorflow")


def point(name: str, batch: int, optimizer: str, policy: str, gpu: str) -> dict[str, Any]:
    """One row."""
    import resource

    from subjects import subject

    started = time.monotonic()
    made = subject(name, batch, optimizer, policy, jit=True)
    built = time.monotonic()
    seen: list[Any] = []
    whole = engine._footprint
    engine._footprint = lambda *given: seen.append(given[2]) or whole(*given)
    try:
        found = engine.footprint(made, gpu, 0)
    finally:
        engine._footprint = whole
    assignment = seen[0]
    largest = sorted(found.layers, key=lambda layer: -layer.saved_bytes)[:5]
    return {
        "model": name,
        "batch": batch,
        "optimizer": optimizer,
        "policy": policy,
        "gpu": gpu,
        "backend": BACKEND,
        "peak": found.peak,
        "parts": found.parts,
        "peak_at": found.peak_at,
        "arguments": assignment.arguments,
        "temporaries": assignment.temporaries,
        "results": assignment.results,
        "constants": assignment.constants,
        "largest_layers": [[layer.name, layer.saved_bytes] for layer in largest],
        "assumptions": found.assumptions,
        "build_seconds": round(built - started, 1),
        "seconds": round(time.monotonic() - started, 1),
        "resident_mib": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss >> 10,
        "compiler_resident_mib": resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss >> 10,
    }


def main(out: str, *wanted: str) -> None:
    from xla_configurations import HELD_OUT, POINTS, SECOND_LOOK, write_rows

    write_rows(Path(out), wanted or [*POINTS, *HELD_OUT, *SECOND_LOOK], point, "peak", {"backend": BACKEND})


if __name__ == "__main__":
    main(*sys.argv[1:])
