"""Engine graph beside the measured steps of cpu_truth.jsonl, in the order of a CPU with one thread.

    python benchmarks/estimate/compare_cpu.py [FILE] [NAME ...]

The weights, the optimizer's state and the inputs are there before the step; compared is what the step takes on top.
Of a line with orders (cpu_orders.py), which all have by now, each traced function is simulated in the order that it
took; of one without it is the median of several that are drawn: what is ready together may run in any.
Beside it: liveness without aliasing, forwarding or variables, and the formula that people copy (twice the outputs of
all layers). Both engines of the comparison know the same graph.
"""

from __future__ import annotations

import json
import os
import statistics
import sys
from pathlib import Path

os.environ.setdefault("CUDA_VISIBLE_DEVICES", "-1")
os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
os.environ.setdefault("KERAS_BACKEND", "tensorflow")
HERE = Path(__file__).parent
DRAWS = 15
sys.path.insert(0, str(HERE))


def estimates(row: dict) -> dict[str, float]:
    """Bytes that the step takes by each way of estimating."""
    import keras
    from cpu_orders import as_ran, unpacked
    from cpu_scratch import CPU_OVER, paged, scratch_of
    from measure_cpu import BY_HAND, OPTIMIZERS, step_by_hand
    from subjects import subject

    from oomlint.estimate.worker.graph import order
    from oomlint.estimate.worker.graph.engine import inside
    from oomlint.estimate.worker.graph.lives import simulate
    from oomlint.estimate.worker.graph.tracing import traced
    from oomlint.estimate.worker.graph.unrolled import unrolled

    made = eval(f"lambda: keras.optimizers.{OPTIMIZERS[row['optimizer']]}", {"keras": keras})
    what = subject(row["model"].removeprefix(BY_HAND), row["batch"], made, row["policy"])
    if row["model"].startswith(BY_HAND):
        step = step_by_hand(what.model)
        what.model.train_step = lambda parts: step(*parts)
    program = unrolled(traced(what, as_run=True, on_cpu=True))
    given = sum(sum(op.outputs) for op in program.operations if op.type == "Argument")
    resident = row["by"] == "resident"
    if resident:
        program = paged(program)
    if "orders" in row:
        orders = [as_ran(program, names) for names in unpacked(row["orders"])]
    else:
        orders = [order.on_one_thread(program, draw) for draw in range(DRAWS)]
    tried = [
        simulate(
            program,
            one,
            scratch=scratch_of(program, resident),
            inside=inside,
            rounding=64,
            over=CPU_OVER,
        )
        for one in orders
    ]
    lives = sorted(tried, key=lambda one: one.peak)[len(tried) // 2]
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
    at = program.operations[lives.peak_at]
    return {
        "ours": lives.peak - given,
        "plain": plain.peak - given,
        "formula": 2 * outputs,
        "at": f"{at.name} {at.type}",
    }


def main(arguments: list[str]) -> None:
    file = HERE / "cpu_truth.jsonl"
    if arguments and arguments[0].endswith(".jsonl"):
        file = Path(arguments.pop(0))
    errors: dict[str, list[float]] = {"ours": [], "plain": [], "formula": []}
    for line in file.read_text().splitlines():
        row = json.loads(line)
        if arguments and row["model"] not in arguments:
            continue
        found = estimates(row)
        truth = row["step_bytes"]
        for name, values in errors.items():
            values.append(found[name] / truth - 1)
        shown = "  ".join(f"{name} {errors[name][-1]:+7.1%}" for name in errors)
        where = f"{row['model']:24} {row['batch']:5} {row['optimizer']:9} {truth / 2**20:9.1f} MiB"
        print(f"{where}  {shown}  at {found['at']}", flush=True)
    for name, values in errors.items():
        sizes = sorted(map(abs, values))
        if sizes:
            print(f"{name}: median {statistics.median(sizes):.1%}, worst {sizes[-1]:.1%}")


if __name__ == "__main__":
    main(sys.argv[1:])
