"""Peak memory of real training steps on a GPU, against both engines' estimates. For anyone who has a GPU.

    python benchmarks/gpu/measure.py OUT.jsonl [--gpu NAME] [--only MODEL:BATCH:OPTIMIZER:POLICY ...] [--dry-run]

Each row is one configuration: `peak_bytes_in_use` of the device after three steps of Keras on JAX, with XLA's
autotuning on (as users have it) and off, and the estimates. Every measurement and estimate has a process of its own,
as a device's peak is never reset. The difference between the two measurements is the scratch memory of the kernels that
autotuning picks. `--dry-run` needs no GPU: the steps run on the CPU, where JAX counts no bytes, with a batch of 2.
Needs `pip install "oomlint[xla]"` and, to measure, the CUDA libraries (`pip install "jax[cuda13]"`).
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve()
sys.path[:0] = [str(HERE.parents[1] / "estimate"), str(HERE.parents[2])]

CONFIGURATIONS = (
    "mlp:4096:adam:float32",
    "alexnet:128:momentum:float32",
    "resnet18:128:momentum:float32",
    "resnet18:128:adam:mixed_float16",
    "keras:ResNet50:64:adam:float32",
    "keras:VGG16:32:momentum:float32",
    "keras:MobileNetV2:64:adam:float32",
    "unet:32:adam:float32",
    "unet_norm:16:adam:mixed_float16",
    "conv_autoencoder:128:adam:float32",
    "decoder_wide:8:adam:float32",
    "encoder_12:32:adamw:mixed_float16",
    "translator:64:adam:float32",
    "lstm_text:128:rmsprop:float32",
    "recommender:8192:adam:float32",
)


def _train(name: str, batch: int, optimizer: str, policy: str) -> dict[str, Any]:
    """Three steps on zeros; what the device says was its peak."""
    import jax
    import keras
    import models
    import numpy as np

    keras.config.set_dtype_policy(policy)
    case = models.case(name)
    chosen = keras.optimizers.SGD(0.1, momentum=0.9) if optimizer == "momentum" else optimizer
    case.model.compile(optimizer=chosen, loss=case.loss, jit_compile=True)
    xs, y = case.specs(batch)
    inputs = [np.zeros(*spec) for spec in xs]
    targets = None if y is None else np.zeros(*y)
    started = time.monotonic()
    for _ in range(3):
        case.model.train_on_batch(inputs if len(inputs) > 1 else inputs[0], targets)
    device = jax.local_devices()[0]
    stats = device.memory_stats() or {}
    return {
        "device": device.device_kind,
        "peak": stats.get("peak_bytes_in_use"),
        "pool": stats.get("bytes_limit"),
        "seconds": round(time.monotonic() - started, 1),
        "versions": f"jax {jax.__version__}, keras {keras.__version__}",
    }


def _estimate(engine: str, gpu: str, name: str, batch: int, optimizer: str, policy: str) -> dict[str, Any]:
    from subjects import subject

    from oomlint.estimate.worker.xla import compile as compilation

    os.environ.update(compilation.environment())
    made = subject(name, batch, optimizer, policy, jit=True)
    started = time.monotonic()
    if engine == "xla":
        from oomlint.estimate.worker.xla import engine as xla

        found = xla.footprint(made, gpu, 0)
    else:
        from oomlint.estimate.worker.graph import engine as graph

        found = graph.footprint(made, "xla")
    seconds = round(time.monotonic() - started, 1)
    return {"peak": found.peak, "parts": found.parts, "assumptions": found.assumptions, "seconds": seconds}


def _child(task: str, gpu: str, configuration: str, environment: dict[str, str]) -> dict[str, Any]:
    """Run one task in a process of its own; its error in place of a result."""
    run = subprocess.run(
        [sys.executable, str(HERE), os.devnull, "--task", task, "--gpu", gpu, "--only", configuration],
        env={**os.environ, **environment},
        capture_output=True,
        text=True,
    )
    lines = [line for line in run.stdout.splitlines() if line.startswith("{")]
    if run.returncode or not lines:
        return {"error": (run.stderr.strip().splitlines() or [f"status {run.returncode}"])[-1][:300]}
    found: dict[str, Any] = json.loads(lines[-1])
    return found


def _row(configuration: str, gpu: str, dry: bool) -> dict[str, Any]:
    cpu = {"JAX_PLATFORMS": "cpu", "CUDA_VISIBLE_DEVICES": "-1", "TF_CPP_MIN_LOG_LEVEL": "3"}
    measuring = {
        "KERAS_BACKEND": "jax",
        "XLA_PYTHON_CLIENT_PREALLOCATE": "false",
        "CUDA_DEVICE_ORDER": "PCI_BUS_ID",
    }
    if dry:
        measuring |= cpu
    row: dict[str, Any] = {"configuration": configuration}
    for name, level in (("autotuned", 4), ("not_autotuned", 0)):
        flags = {"XLA_FLAGS": f"--xla_gpu_autotune_level={level}"}
        row[name] = _child("train", gpu, configuration, measuring | flags)
    named = gpu or row["autotuned"].get("device", "")
    row["gpu"] = "H100-80GB" if dry and not gpu else named
    row["xla"] = _child("xla", row["gpu"], configuration, cpu | {"KERAS_BACKEND": "jax"})
    row["graph"] = _child("graph", row["gpu"], configuration, cpu | {"KERAS_BACKEND": "tensorflow"})
    return row


def _line(row: dict[str, Any]) -> str:
    truth = row["autotuned"].get("peak")

    def words(name: str) -> str:
        found = row[name]
        if "error" in found:
            return f"{name}: {found['error'][:60]}"
        if found["peak"] is None:
            return f"{name} ran, no bytes counted"
        off = f" ({found['peak'] / truth - 1:+.1%})" if truth and name != "autotuned" else ""
        return f"{name} {found['peak'] / 2**20:,.0f} MiB{off}"

    return f"{row['configuration']}: " + "; ".join(
        words(name) for name in ("autotuned", "not_autotuned", "xla", "graph")
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("out", type=Path)
    parser.add_argument("--gpu", default="", help="as oomlint names it; else as the device calls itself")
    parser.add_argument("--only", nargs="*", default=[])
    parser.add_argument("--dry-run", action="store_true")
    parser.add_argument("--task", choices=("train", "xla", "graph"), help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.task:
        name, batch, optimizer, policy = given.only[0].rsplit(":", 3)
        if given.task == "train":
            print(json.dumps(_train(name, int(batch), optimizer, policy)))
        else:
            print(json.dumps(_estimate(given.task, given.gpu, name, int(batch), optimizer, policy)))
        return
    for configuration in given.only or CONFIGURATIONS:
        if given.dry_run:
            name, _, optimizer, policy = configuration.rsplit(":", 3)
            configuration = f"{name}:2:{optimizer}:{policy}"
        row = _row(configuration, given.gpu, given.dry_run)
        with given.out.open("a") as stream:
            stream.write(json.dumps(row) + "\n")
        print(_line(row), flush=True)


if __name__ == "__main__":
    main()
