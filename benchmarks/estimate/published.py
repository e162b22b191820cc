"""The verdict on published facts: which batch was said to fit which GPU, and which to run out of memory.

    python benchmarks/estimate/published.py FACTS.jsonl [--to FILE] [ROW ...]

reads facts with the keys source, model, input_shape, batch, optimizer, dtype, framework, gpu, outcome, and writes
`published.jsonl` beside itself, or FILE (rows that are there already are not estimated again; each is written when it
is ready), and the table to the screen.

A fact is one bit: it fitted or it did not. The verdict is right, wrong, or abstains (tight). The GPU's pool is the one
that TensorFlow of that time took: its allocator's limit where the source prints it, else what logs of the time show.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

from oomlint.estimate.verdicts import verdict

HERE = Path(__file__).parent

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

# Trained in a loop by hand whose pieces TensorFlow's auto-clustering gives to XLA, by a switch of the source's own.
CLUSTERED = ("bert_large_pretraining", "bert_large_squad")
CLUSTERING = "tf.config.optimizer.set_jit"

RESNETS = {"ResNet50": 50, "ResNet101": 101, "ResNet152": 152, "ResNet200": 200}
SLIM = {"ResNet50 v2": "ResNet50V2", "ResNet101 v2": "ResNet101V2", "ResNet152 v2": "ResNet152V2"}


UNBUILT = {
    "SSD300": "the fact gives a name and no layers",
    "DeepLabV3+": "the fact gives backbone and stride only, and the source contradicts itself",
    "MultiResUNet3D": "the fact gives neither filters nor depth",
    "3D U-Net": "channels, depth and filters are not in the fact",
    "EfficientDet": "a detector whose heads, losses and anchors are code of its own repository",
    "Mask R-CNN": "its region proposals have sizes that only a run decides",
    "BERT pretraining": "four GPUs under Horovod, and no data type is given",
}


# What is likely behind the wrong ones, which died although the step as estimated fits.
WHY_WRONG = {
    (
        "InceptionV3 (keras 2.3.1)",
        80,
    ): "its largest allocation was 2.1 GiB, more than any tensor of the step: scratch of a convolution",
    (
        "WRN-28-10",
        128,
    ): "scratch of convolutions, in a pool that grew by doubling (the source's figures are 1.2, 2.3 and "
    "4.3 GiB)",
    ("AlexNet", 500): "scratch of convolutions of 11x11 and 5x5, in a pool that grew by doubling",
}


class NotBuilt(Exception):
    """Why a row is left out."""


def mapping(row: dict) -> tuple[str, dict[str, object], str, bool]:
    """A function of published_models.py, its arguments, `jit`, and whether Keras 2 builds the model."""
    model, framework = row["model"], row.get("framework") or ""
    if "Keras 3" in framework:
        raise NotBuilt("a model of keras-hub or keras-cv, without its input shape")
    for name, why in UNBUILT.items():
        if model.startswith(name):
            raise NotBuilt(why)
    if row["gpu"] not in POOLS:
        raise NotBuilt(f"the pool of {row['gpu']} is not known")
    if model.startswith("BERT-Large"):
        what = "pretraining" if "pretraining" in model else "squad"
        return f"bert_large_{what}", {"length": row["input_shape"][0]}, "off", True
    if model.startswith("EfficientNet-B"):
        return "efficientnet", {"name": model.replace("-", ""), "side": row["input_shape"][0]}, "off", True
    if model.startswith("U-Net 2D medical"):
        return "unet_medical", {}, "off", True
    if "tf_cnn_benchmarks" in framework:
        optimizer = "momentum" if "momentum" in (row["optimizer"] or "") else "sgd"
        if model in RESNETS:
            return "resnet", {"depth": RESNETS[model], "optimizer": optimizer}, "off", True
        if model == "InceptionV4":
            return "inception_v4", {"optimizer": optimizer}, "off", True
        return (
            "application",
            {"name": model, "side": row["input_shape"][0], "optimizer": optimizer},
            "off",
            True,
        )
    if "TITAN Z" in row["gpu"]:
        own = {"AlexNet": "alexnet", "GoogLeNet v1": "googlenet", "WRN-28-10": "wide_resnet"}
        if model in own:
            return own[model], {}, "off", True
        return "application", {"name": SLIM.get(model, model), "optimizer": "momentum"}, "off", True
    name = model.partition(" ")[0]
    if name in ("InceptionV3", "InceptionResNetV2", "EfficientNetB4", "EfficientNetB7"):
        optimizer = (row["optimizer"] or "adam").lower()
        return (
            "application",
            {"name": name, "side": row["input_shape"][0], "optimizer": optimizer},
            "off",
            True,
        )
    raise NotBuilt("the source does not describe the model well enough")


def estimated(questions: list[dict]) -> None:
    """In a process of its own: the answers to several batches of one model, a line of JSON each."""
    import time

    import published_models
    from tensorflow import keras

    from oomlint.estimate.request import Request
    from oomlint.estimate.worker.keras.weightless import without_memory
    from oomlint.estimate.worker.main import measured
    from oomlint.estimate.worker.subject import Spec, Subject

    function, arguments, jit, legacy = questions[0]["mapping"]
    if questions[0]["policy"] == "mixed_float16":
        keras.mixed_precision.set_global_policy("mixed_float16")
    with without_memory():
        model = getattr(published_models, function)(**arguments)
        model.optimizer.build(model.trainable_variables)

    def specs(tensors, batch, dtype=None):
        if isinstance(tensors, dict):
            return {key: specs(one, batch, dtype) for key, one in tensors.items()}
        if isinstance(tensors, list):
            return [specs(one, batch, dtype) for one in tensors]
        shape = tuple(tensors.shape)[1 : None if dtype is None else -1]
        name = str(getattr(tensors.dtype, "name", tensors.dtype))
        return Spec((batch, *shape), dtype or name)

    for question in questions:
        started, batch = time.monotonic(), question["batch"]
        inputs = model.inputs if len(model.inputs) > 1 else model.inputs[0]
        if function == "unet_medical":  # one-hot masks
            targets = Spec((batch, 388, 388, 2), "float32")
        else:
            outputs = model.output if isinstance(model.output, dict) else model.outputs[0]
            targets = specs(outputs, batch, "int32")
        subject = Subject(model, (specs(inputs, batch), targets))
        request = Request(
            function, batch_size=batch, jit=jit, engine="graph" if legacy else "auto",
            gpu="48GB", usable_bytes=48 << 30, names={"clustering": CLUSTERING} if function in CLUSTERED else {},
        )  # fmt: skip
        answer = measured(subject, request, started)
        keys = ("engine", "program", "peak_bytes", "range_bytes", "seconds")
        found = {"rows": question["rows"], **{key: getattr(answer, key) for key in keys}}
        print("ANSWER", json.dumps(found), flush=True)


def ask(questions: list[dict]) -> Iterator[tuple[list[int], dict]]:
    """The answers of a child process, each with its rows; what went wrong for those that it does not answer."""
    legacy = questions[0]["mapping"][3]
    environment = {**os.environ, "TF_USE_LEGACY_KERAS": "1" if legacy else "0", "CUDA_VISIBLE_DEVICES": "-1"}
    with tempfile.TemporaryFile("w+") as said:
        child = subprocess.Popen(
            [sys.executable, __file__, "--estimate"],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=said, text=True, env=environment,
        )  # fmt: skip
        assert child.stdin is not None
        assert child.stdout is not None
        child.stdin.write(json.dumps(questions))
        child.stdin.close()
        waiting = {row for one in questions for row in one["rows"]}
        for line in child.stdout:
            if line.startswith("ANSWER "):
                answer = json.loads(line.partition(" ")[2])
                rows = answer.pop("rows")
                waiting -= set(rows)
                yield rows, answer
        child.wait()
        if waiting:
            said.seek(0)
            last = (said.read().strip().splitlines() or ["nothing was said"])[-1][:300]
            yield sorted(waiting), {"error": last}


def judged(row: dict, verdict: str) -> str:
    fitted = not row["outcome"].startswith("OOM")  # "max_batch": that batch fitted
    if verdict == "tight":
        return "abstained"
    return "right" if fitted == (verdict == "fits") else "wrong"


def main(words: list[str]) -> None:
    facts = [json.loads(line) for line in Path(words.pop(0)).read_text("utf-8").splitlines()]
    results = HERE / "published.jsonl"
    if "--to" in words:
        place = words.index("--to")
        results = Path(words[place + 1])
        del words[place : place + 2]
    wanted = [int(word) for word in words] or list(range(len(facts)))
    known = {}
    if results.exists():
        known = {one["row"]: one for one in map(json.loads, results.read_text("utf-8").splitlines())}
    groups: dict[str, dict[str, dict]] = {}
    for index in wanted:
        row = facts[index]
        if index in known and "verdict" in known[index]:
            known[index]["judged"] = judged(row, known[index]["verdict"])
            continue
        about = {key: row.get(key) for key in ("model", "batch", "dtype", "gpu", "outcome", "source")}
        known[index] = {"row": index, **about}
        if "outcome" not in row:
            known[index]["left_out"] = "no outcome: a measurement by an unknown tool"
            continue
        try:
            chosen = mapping(row)
        except NotBuilt as reason:
            known[index]["left_out"] = str(reason)
            continue
        usable, pool_from = POOLS[row["gpu"]]
        if row["model"].startswith("BERT-Large"):
            usable -= 2_048 - (1_536 if row["gpu"].startswith("A100") else 1_050)
            pool_from += (
                ", less what their Dockerfile leaves to the system: TF_DEVICE_MIN_SYS_MEMORY_IN_MB=2048"
            )
        known[index] |= {"usable_bytes": usable << 20, "pool_from": pool_from}
        policy = "mixed_float16" if row.get("dtype") == "mixed_float16" else "float32"
        question = {"mapping": chosen, "policy": policy, "batch": row["batch"]}
        # Without XLA the step is the same on every card: only the verdict differs.
        same = groups.setdefault(json.dumps([chosen, policy]), {})
        same.setdefault(json.dumps(question), question | {"rows": []})["rows"].append(index)
    write(known, results)
    for questions in groups.values():
        for rows, answer in ask(list(questions.values())):
            for index in rows:
                known[index] |= answer
                if "range_bytes" in answer:
                    known[index]["verdict"] = verdict(answer["range_bytes"], known[index]["usable_bytes"])
                    known[index]["judged"] = judged(facts[index], known[index]["verdict"])
                print(json.dumps(known[index]), flush=True)
            write(known, results)
    table(list(known.values()))


def write(known: dict[int, dict], results: Path) -> None:
    lines = (json.dumps(known[index]) for index in sorted(known))
    results.write_text("\n".join(lines) + "\n", encoding="utf-8")


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
    for row in rows:
        if row.get("judged") == "wrong":
            why = WHY_WRONG.get((row["model"], row["batch"]), "not explained")
            print(f"wrong: {row['model']}, batch {row['batch']}, {row['gpu']} ({row['outcome']}): {why}")
    reasons: dict[str, list[str]] = {}
    for row in rows:
        why = row.get("left_out") or ("" if "range_bytes" in row else row.get("error"))
        if why:
            reasons.setdefault(why, []).append(row["model"])
    for why, models in reasons.items():
        print(f"not estimated: {', '.join(dict.fromkeys(models))}: {why}")


if __name__ == "__main__":
    if sys.argv[1] == "--estimate":
        estimated(json.load(sys.stdin))
    else:
        main(sys.argv[1:])
