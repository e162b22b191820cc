"""Engine graph beside the measured steps of cpu_truth.jsonl, in the order of a CPU with one thread.

    python benchmarks/estimate/compare_cpu.py [FILE] [NAME ...]

The weights, the optimizer's state and the inputs are there before the step; compared is what the step takes on top.
A step run operation by operation (`eager:`) has Python's order. Else each traced function of a line is simulated in the
order that it took (cpu_orders.py) and compared with its own peak: what is ready together runs in another order in each,
and the peaks differ with it. Of a line's errors the middle one is its own; how many of all are how far off is said at
the end.
Beside it, of the median peak: liveness without aliasing, forwarding or variables, and the formula that people copy
(twice the outputs of all layers). Both engines of the comparison know the same graph.
"""

from __future__ import annotations

import json
import os
import statistics
import sys
from pathlib import Path
from typing import Any

os.environ.setdefault("CUDA_VISIBLE_DEVICES", "-1")
os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
os.environ.setdefault("KERAS_BACKEND", "tensorflow")
HERE = Path(__file__).parent
FAR = 0.08  # what no line shall be off by
sys.path.insert(0, str(HERE))


def estimates(row: dict) -> dict[str, Any]:
    """How far each way of estimating is off; `draws`: ours, for each traced function."""
    import keras
    from cpu_orders import as_ran, unpacked
    from cpu_scratch import CPU_OVER, paged, scratch_of
    from measure_cpu import BY_HAND, EAGER, OPTIMIZERS, step_by_hand
    from subjects import subject

    from oomlint.estimate.worker.graph import order
    from oomlint.estimate.worker.graph.engine import eagerly, inside
    from oomlint.estimate.worker.graph.lives import simulate
    from oomlint.estimate.worker.graph.tracing import traced
    from oomlint.estimate.worker.graph.unrolled import unrolled

    made = eval(f"lambda: keras.optimizers.{OPTIMIZERS[row['optimizer']]}", {"keras": keras})
    what = subject(row["model"].removeprefix(BY_HAND).removeprefix(EAGER), row["batch"], made, row["policy"])
    if row["model"].startswith(BY_HAND):
        step = step_by_hand(what.model)
        what.model.train_step = lambda parts: step(*parts)
    resident, eager = row["by"] == "resident", row["model"].startswith(EAGER)
    if eager:
        program, one_order = eagerly(what)
        orders = [one_order]
    else:
        program = unrolled(traced(what, as_run=True, on_cpu=True))
        orders = [as_ran(program, names) for names in unpacked(row["orders"])]
    given = sum(sum(op.outputs) for op in program.operations if op.type == "Argument")
    if resident:
        program = paged(program)
    draws = []
    for one, truth in zip(orders, row["peaks"]):
        lives = simulate(
            program,
            one,
            scratch=scratch_of(program, resident),
            inside=inside,
            rounding=64,
            over=CPU_OVER,
            forwarding=not eager,
        )
        at = program.operations[lives.peak_at]
        draws.append(((lives.peak - given) / truth - 1, f"{at.name} {at.type}"))
    middle, where = sorted(draws)[len(draws) // 2]
    plain = simulate(program, order.queued(program), inside=inside, aliasing=False)
    outputs = 0
    for layer in what.model._flatten_layers(include_self=False):
        try:
            shape = layer.output.shape
        except (AttributeError, ValueError):
            continue
        size = row["batch"] * 4
        for dim in shape[1:]:
            size *= dim or 1
        outputs += size
    truth = row["step_bytes"]
    return {
        "ours": middle,
        "plain": (plain.peak - given) / truth - 1,
        "formula": 2 * outputs / truth - 1,
        "at": where,
        "draws": [error for error, _ in draws],
    }


def main(arguments: list[str]) -> None:
    file = HERE / "cpu_truth.jsonl"
    if arguments and arguments[0].endswith(".jsonl"):
        file = Path(arguments.pop(0))
    errors: dict[str, list[float]] = {"ours": [], "plain": [], "formula": []}
    draws: list[float] = []
    for line in file.read_text().splitlines():
        row = json.loads(line)
        if arguments and row["model"] not in arguments:
            continue
        found = estimates(row)
        draws += found["draws"]
        for name, values in errors.items():
            values.append(found[name])
        shown = "  ".join(f"{name} {errors[name][-1]:+7.1%}" for name in errors)
        where = (
            f"{row['model']:24} {row['batch']:5} {row['optimizer']:9} {row['step_bytes'] / 2**20:9.1f} MiB"
        )
        print(f"{where}  {shown}  at {found['at']}", flush=True)
    for name, values in errors.items():
        sizes = sorted(map(abs, values))
        if sizes:
            print(f"{name}: median {statistics.median(sizes):.1%}, worst {sizes[-1]:.1%}")
    far = [f"{error:+.1%}" for error in draws if abs(error) > FAR]
    print(f"of {len(draws)} runs {len(far)} are off by more than {FAR:.0%}: {' '.join(far)}")


if __name__ == "__main__":
    main(sys.argv[1:])
