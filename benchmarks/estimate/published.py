"""The verdict on published facts: which batch was said to fit which GPU, and which to run out of memory.

    python benchmarks/estimate/published.py FACTS.jsonl [ROW ...]

reads facts with the keys source, model, input_shape, batch, optimizer, dtype, framework, gpu, outcome, and writes
`published.jsonl` beside itself (rows that are there already are not estimated again) and the table to the screen.

A fact is one bit: it fitted or it did not. The verdict is right, wrong, or abstains (tight). The GPU's pool is the one
that TensorFlow of that time took: its allocator's limit where the source prints it, else what logs of the time show.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

HERE = Path(__file__).parent
RESULTS = HERE / "published.jsonl"
MODELS = HERE / "published_models.py"

# MiB that TensorFlow of the time could use, and where that is from.
POOLS = {
    "V100-SXM3-32GB": (30_976, "logs of V100-SXM2-32GB, TF 2.5 to 2.9"),
    "V100-SXM2-32GB": (30_976, "logs of V100-SXM2-32GB, TF 2.5 to 2.9"),
    "V100-32GB": (30_976, "logs of V100-SXM2-32GB, TF 2.5 to 2.9"),
    "V100-SXM2-16GB": (14_684, "logs of V100-SXM2-16GB"),
    "A100-SXM4-80GB": (78_945, "logs of A100-SXM4-80GB"),
    "A100-80GB": (78_945, "logs of A100-SXM4-80GB"),
    "A100-SXM4-40GB": (38_068, "logs of A100-SXM4-40GB"),
    "RTX 2080": (7_176, "log of RTX 2080, TF 1.x"),
    "8GB class": (7_176, "log of RTX 2080, TF 1.x"),
    "RTX 3080 / 11GB class": (9_104, "10,240 less 1,136: as the RTX 2080 of the same TF"),
    "12GB class": (11_152, "12,288 less 1,136"),
    "24GB class": (22_434, "log of TITAN RTX"),
    "48GB class": (47_168, "log of Quadro RTX 8000"),
    "GTX 970": (3_004, "the allocator's limit in the report, 3,150,400,716 B"),
    "Colab GPU": (13_970, "logs of Colab's T4, TF 2.4 to 2.6"),
    "RTX 2080 (11GB per reporter)": (10_312, "log of RTX 2080 Ti, TF 1.x"),
    "K80 (11GB usable)": (10_805, "logs of K80"),
    "GTX 1080": (7_398, "log of GTX 1080, TF 1.x"),
    "GTX TITAN Z (one die)": (5_700, "6,083 MiB; 5,876 in nvidia-smi when it was full, context included"),
}

RESNETS = {"ResNet50": 50, "ResNet101": 101, "ResNet152": 152, "ResNet200": 200}
SLIM = {"ResNet50 v2": "ResNet50V2", "ResNet101 v2": "ResNet101V2", "ResNet152 v2": "ResNet152V2"}


class NotBuilt(Exception):
    """Why a row is left out."""


def mapping(row: dict) -> tuple[str, dict[str, object], list[str], bool]:
    """Function, its arguments, further options, and whether Keras 2 builds it."""
    model, framework = row["model"], row.get("framework") or ""
    if row["gpu"] not in POOLS:
        raise NotBuilt(f"the pool of {row['gpu']} is not known")
    options = ["--batch-size", str(row["batch"])]
    if row.get("dtype") == "mixed_float16":
        options += ["--policy", "mixed_float16"]
    if model.startswith("BERT-Large"):
        what = "pretraining" if "pretraining" in model else "squad"
        return f"bert_large_{what}", {"length": row["input_shape"][0]}, [*options, "--jit", "on"], False
    if model.startswith("EfficientNet-B"):
        name, side = model.replace("-", ""), row["input_shape"][0]
        return "efficientnet", {"name": name, "side": side}, [*options, "--jit", "on"], False
    options += ["--jit", "off"]
    if model.startswith("U-Net 2D medical"):
        return "unet_medical", {}, options, True
    if "tf_cnn_benchmarks" in framework:
        optimizer = "momentum" if "momentum" in (row["optimizer"] or "") else "sgd"
        if model in RESNETS:
            return "resnet", {"depth": RESNETS[model], "optimizer": optimizer}, options, True
        if model == "InceptionV4":
            return "inception_v4", {"optimizer": optimizer}, options, True
        return (
            "application",
            {"name": model, "side": row["input_shape"][0], "optimizer": optimizer},
            options,
            True,
        )
    if "TITAN Z" in row["gpu"]:
        own = {"AlexNet": "alexnet", "GoogLeNet v1": "googlenet", "WRN-28-10": "wide_resnet"}
        if model in own:
            return own[model], {}, options, True
        return "application", {"name": SLIM.get(model, model), "optimizer": "momentum"}, options, True
    name = model.partition(" ")[0]
    if name in ("InceptionV3", "InceptionResNetV2", "EfficientNetB4", "EfficientNetB7"):
        optimizer = (row["optimizer"] or "adam").lower()
        arguments = {"name": name, "side": row["input_shape"][0], "optimizer": optimizer}
        return "application", arguments, options, True
    raise NotBuilt("the source does not describe the model well enough, or it needs libraries of its time")


def estimated(row: dict) -> dict:
    function, arguments, options, legacy = mapping(row)
    usable, pool_from = POOLS[row["gpu"]]
    command = [sys.executable, "-m", "oomlint", "estimate", f"{MODELS}:{function}", "--format", "json"]
    command += [part for key, value in arguments.items() for part in ("--arg", f"{key}={value}")]
    command += [*options, "--gpu", f"{usable}MiB"]
    environment = {**os.environ, "TF_USE_LEGACY_KERAS": "1" if legacy else "0"}
    done = subprocess.run(command, capture_output=True, text=True, env=environment, check=False)
    if not done.stdout.startswith("{"):
        return {"error": (done.stderr or done.stdout).strip()[:400]}
    answer = json.loads(done.stdout)
    keys = ("engine", "program", "peak_bytes", "range_bytes", "verdict", "seconds")
    return {key: answer[key] for key in keys} | {"usable_bytes": usable << 20, "pool_from": pool_from}


def judged(row: dict, verdict: str) -> str:
    fitted = not row["outcome"].startswith("OOM")  # "max_batch": that batch fitted
    if verdict == "tight":
        return "abstained"
    return "right" if fitted == (verdict == "fits") else "wrong"


def main() -> None:
    facts = [json.loads(line) for line in Path(sys.argv[1]).read_text("utf-8").splitlines()]
    wanted = [int(word) for word in sys.argv[2:]] or range(len(facts))
    known = {}
    if RESULTS.exists():
        known = {one["row"]: one for one in map(json.loads, RESULTS.read_text("utf-8").splitlines())}
    for index in wanted:
        row = facts[index]
        if "outcome" not in row:
            known[index] = {
                "row": index,
                "model": row["model"],
                "left_out": "no outcome: a measurement by an unknown tool",
            }
            continue
        if index in known and "verdict" in known[index]:
            continue
        about = {key: row.get(key) for key in ("model", "batch", "dtype", "gpu", "outcome", "source")}
        try:
            found = estimated(row)
        except NotBuilt as reason:
            found = {"left_out": str(reason)}
        if "verdict" in found:
            found["judged"] = judged(row, found["verdict"])
        known[index] = {"row": index, **about, **found}
        lines = (json.dumps(known[key]) for key in sorted(known))
        RESULTS.write_text("\n".join(lines) + "\n", encoding="utf-8")
        print(index, row["model"], row["batch"], row["outcome"], found.get("judged"), found, flush=True)
    table(list(known.values()))


def table(rows: list[dict]) -> None:
    """Right, wrong and abstained, for each source."""
    counts: dict[str, dict[str, int]] = {}
    for row in rows:
        kind = row.get("judged") or ("failed" if "error" in row else "left out")
        for group in ((row.get("source") or "").partition(" ")[0], "all"):
            counts.setdefault(group, {}).setdefault(kind, 0)
            counts[group][kind] += 1
    kinds = ("right", "abstained", "wrong", "failed", "left out")
    print("| source |", " | ".join(kinds), "|")
    print("|---|" + "---|" * len(kinds))
    for group, found in sorted(counts.items(), key=lambda item: item[0] == "all"):
        print(f"| {group} |", " | ".join(str(found.get(kind, 0)) for kind in kinds), "|")


if __name__ == "__main__":
    main()
