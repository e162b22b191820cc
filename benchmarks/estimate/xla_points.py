"""Engine xla on the configurations of the comparisons: one row each, with the parts and XLA's own totals.

    KERAS_BACKEND=jax python benchmarks/estimate/xla_points.py OUT.jsonl [MODEL:BATCH:OPTIMIZER:POLICY:GPU ...]

Without configurations it makes those of `xla_configurations.py` that OUT lacks for this backend.
"""

from __future__ import annotations

import json
import os
import sys
import time
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from oomlint.estimate.worker.subject import Spec, Subject
from oomlint.estimate.worker.weightless import without_memory
from oomlint.estimate.worker.xla import compile as compilation
from oomlint.estimate.worker.xla import engine

os.environ.update(compilation.environment())
BACKEND = os.environ.setdefault("KERAS_BACKEND", "tensorflow")


def subject(name: str, batch: int, optimizer: str, policy: str) -> Subject:
    """The model compiled and built, its variables without memory."""
    import keras
    import models

    keras.utils.clear_session()
    keras.config.set_dtype_policy(policy)
    with without_memory():
        case = models.case(name)
        chosen = keras.optimizers.SGD(0.1, momentum=0.9) if optimizer == "momentum" else optimizer
        case.model.compile(optimizer=chosen, loss=case.loss, jit_compile=True)
        case.model.optimizer.build(case.model.trainable_variables)
    xs, y = case.specs(batch)
    x = [Spec(*spec) for spec in xs]
    return Subject(case.model, (x if len(x) > 1 else x[0], Spec(*y)) if y else (x[0],))


def point(name: str, batch: int, optimizer: str, policy: str, gpu: str) -> dict[str, Any]:
    """One row."""
    import resource

    started = time.monotonic()
    made = subject(name, batch, optimizer, policy)
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
    from xla_configurations import POINTS

    file = Path(out)
    done = [json.loads(line) for line in file.read_text().splitlines()] if file.exists() else []
    keys = ("model", "batch", "optimizer", "policy", "gpu")
    have = {":".join(str(row[key]) for key in keys) for row in done if row["backend"] == BACKEND}
    for text in wanted or POINTS:
        if text in have:
            continue
        name, batch, optimizer, policy, gpu = text.rsplit(":", 4)
        try:
            row = point(name, int(batch), optimizer, policy, gpu)
        except Exception as error:
            print(text, type(error).__name__, str(error)[:400], file=sys.stderr, flush=True)
            continue
        with file.open("a") as stream:
            stream.write(json.dumps(row) + "\n")
        print(text, row["peak"] >> 20, "MiB", row["seconds"], "s", flush=True)


if __name__ == "__main__":
    main(*sys.argv[1:])
