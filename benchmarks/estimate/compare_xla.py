"""Engine graph's rules for XLA beside XLA's own figures, and beside three other ways to estimate, on the same rows.

    KERAS_BACKEND=tensorflow python benchmarks/estimate/compare_xla.py ROWS.jsonl [MODEL ...] [OPTION] [--out FILE]

ROWS are what xla_points.py or xla_reference.py wrote. `--held-out`: only architectures that no rule was made for
(HELD_OUT in xla_configurations.py); `--second-look`: those that nobody had looked at when the former were mended for
(SECOND_LOOK); `--third-look`: those compiled before SECOND_LOOK was mended for (THIRD_LOOK); `--fourth-look`: kinds of
models that none of those has (FOURTH_LOOK); `--fifth-look`: others again, with steps of their own (FIFTH_LOOK);
`--sixth-look`: kinds that none of the five has (SIXTH_LOOK); `--seventh-look`: a small set that nothing was mended for
(SEVENTH_LOOK); `--eighth-look`: kinds that none of the seven has (EIGHTH_LOOK); `--ninth-look`: as users write them
(NINTH_LOOK); `--tenth-look`: the same, kinds that none of the nine has (TENTH_LOOK); `--eleventh-look`: what people
train every day (ELEVENTH_LOOK); `--twelfth-look`: ordinary models in users' styles (TWELFTH_LOOK); `--thirteenth-look`:
what people really train (THIRTEENTH_LOOK); `--fourteenth-look`: other models of the usual kinds (FOURTEENTH_LOOK);
`--fifteenth-look`: the forms that people train (FIFTEENTH_LOOK), `--sixteenth-look` what no earlier set has,
`--seventeenth-look` what public training scripts train (SEVENTEENTH_LOOK), `--eighteenth-look` ordinary sizes of
kinds that the others lack (EIGHTEENTH_LOOK).
Arguments (weights, slots, inputs) are exact, the same for all; compared is the whole, arguments and temporaries.
`formula`: twice the outputs of all layers and the weights, as people copy it; `grappler`:
TensorFlow's own estimator (tensorflow/core/grappler); `liveness`: the traced graph's tensors from maker to last reader,
without aliases, in the order of a queue.

xla_rules.jsonl holds what it wrote for those, the third, sixth, seventh and those from the eleventh on without
formula and Grappler, the latter without liveness, too; `first_look` is what engine graph said before anything was
mended for the set. Where ROWS has a configuration twice, TensorFlow's row counts: its program is the one that is
traced (JAX' scan keeps several times less than its loops).
"""

from __future__ import annotations

import json
import math
import os
import statistics
import sys
from pathlib import Path

os.environ.setdefault("CUDA_VISIBLE_DEVICES", "-1")
os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
os.environ.setdefault("KERAS_BACKEND", "tensorflow")
HERE = Path(__file__).resolve().parent
LOOKS = (
    "--held-out",
    *(
        f"--{number}-look"
        for number in (
            "second third fourth fifth sixth seventh eighth ninth tenth eleventh twelfth thirteenth fourteenth "
            "fifteenth sixteenth seventeenth eighteenth".split()
        )
    ),
)
sys.path[:0] = [str(HERE), str(HERE.parents[1])]


def estimates(row):
    """Bytes of the whole by each way; None where one has no answer."""
    from subjects import subject

    from oomlint.estimate.worker.graph import order
    from oomlint.estimate.worker.graph.cards import card_of
    from oomlint.estimate.worker.graph.compiled import compiled
    from oomlint.estimate.worker.graph.engine import inside
    from oomlint.estimate.worker.graph.lives import simulate
    from oomlint.estimate.worker.graph.tracing import traced

    what = subject(row["model"], row["batch"], row["optimizer"], row["policy"])
    program = traced(what)
    given = sum(sum(one.outputs) for one in program.operations if one.type == "Argument")
    rest = row["arguments"] - given
    plain = simulate(program, order.queued(program), inside=inside, aliasing=False)
    return {
        "ours": rest + compiled(program, card_of(row["gpu"]))[1].peak,
        "liveness": rest + plain.peak,
        "formula": _formula(what.model, row["batch"]),
        "grappler": _grappler(what),
    }


def _formula(model, batch):
    outputs = 0
    for layer in model._flatten_layers(include_self=False):
        try:
            shape = layer.output.shape
        except (AttributeError, ValueError):
            continue
        outputs += math.prod(size or 1 for size in shape[1:])
    return 4 * (2 * batch * outputs + model.count_params())


def _grappler(what):
    """The peak that TensorFlow's cost analyser sees, on the one device that there is."""
    from tensorflow.core.protobuf import meta_graph_pb2
    from tensorflow.python.framework import meta_graph
    from tensorflow.python.grappler import cluster, item

    from oomlint.estimate.worker.graph.tracing import _concrete

    graph = _concrete(what).graph
    described = meta_graph.create_meta_graph_def(graph=graph)
    nodes = meta_graph_pb2.CollectionDef()
    nodes.node_list.value.extend([tensor.op.name for tensor in graph.outputs])
    described.collection_def["train_op"].CopyFrom(nodes)
    try:
        found = cluster.Cluster(disable_detailed_stats=True).DeterminePeakMemoryUsage(item.Item(described))
    except Exception as error:
        print("grappler:", type(error).__name__, str(error)[:100], file=sys.stderr)
        return None
    return max((peak for peak, _ in found.values()), default=None)


def chosen(file, names, options):
    """The rows to compare, one for each configuration."""
    import xla_configurations as known

    looks = (known.HELD_OUT, known.SECOND_LOOK, known.THIRD_LOOK, known.FOURTH_LOOK, known.FIFTH_LOOK)
    looks += (known.SIXTH_LOOK, known.SEVENTH_LOOK, known.EIGHTH_LOOK, known.NINTH_LOOK, known.TENTH_LOOK)
    looks += (known.ELEVENTH_LOOK, known.TWELFTH_LOOK, known.THIRTEENTH_LOOK, known.FOURTEENTH_LOOK)
    looks += (known.FIFTEENTH_LOOK, known.SIXTEENTH_LOOK, known.SEVENTEENTH_LOOK)
    looks += (known.EIGHTEENTH_LOOK,)
    lists = dict(zip(LOOKS, looks, strict=True))
    keys = {key for option in options for key in lists[option]}
    rows = {}
    for line in Path(file).read_text().splitlines():
        row = json.loads(line)
        key = ":".join(str(row[part]) for part in ("model", "batch", "optimizer", "policy", "gpu"))
        wanted = row["model"] in names if names else not options or key in keys
        if wanted and (key not in rows or row.get("backend") == "tensorflow"):
            rows[key] = row
    return rows


def main(file, *names):
    names = list(names)
    out = Path(names.pop(names.index("--out") + 1)) if "--out" in names else None
    errors = {}
    models = [name for name in names if not name.startswith("--")]
    for key, row in chosen(file, models, set(LOOKS).intersection(names)).items():
        truth = row["arguments"] + row["temporaries"]
        try:
            found = estimates(row)
        except Exception as error:
            print(row["model"], type(error).__name__, str(error)[:200], file=sys.stderr)
            continue
        shown = []
        for name, value in found.items():
            if value is not None:
                errors.setdefault(name, []).append(value / truth - 1)
                shown.append(f"{name} {value / truth - 1:+6.1%}")
        print(f"{key:60} {truth / 2**20:9.1f} MiB  {'  '.join(shown)}", flush=True)
        if out is not None:
            with out.open("a") as stream:
                stream.write(json.dumps({"configuration": key, "xla": truth} | found) + "\n")
    for name, values in errors.items():
        sizes = sorted(map(abs, values))
        tenth = sizes[min(len(sizes) - 1, int(0.9 * len(sizes)))]
        print(f"{name}: {len(sizes)} rows, median {statistics.median(sizes):.1%}, 90th percentile {tenth:.1%}, "
              f"most under {min(values):+.1%}, most over {max(values):+.1%}")  # fmt: skip


if __name__ == "__main__":
    main(*sys.argv[1:])
