"""Time and memory of the estimate itself: the command as a user runs it, and all its processes together.

    python benchmarks/estimate/timings.py OUT.jsonl [MODEL ...]

One row a model, engine and backend: seconds on the clock, seconds of CPU, and the most that the process, its worker and
the compiler's process held at one time (proportional set size: what they share counts once). Wants both extras.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent
OWN = "{here}/timings.py:{name}"
TARGETS: dict[str, list[str]] = {
    "ResNet50": ["keras:ResNet50", "--batch-size", "64"],
    "EfficientNetB0": ["keras:EfficientNetB0", "--batch-size", "64"],
    "encoder_12": [OWN.format(here=HERE, name="encoder_12"), "--batch-size", "32"],
    "decoder_6_7b": [OWN.format(here=HERE, name="decoder_6_7b"), "--batch-size", "1"],
}
ENGINES = (("xla", "jax"), ("xla", "tensorflow"), ("graph", "tensorflow"))


def _model(name: str) -> Any:
    sys.path.insert(0, str(HERE))
    import models

    case = models.case(name)
    case.model.compile(optimizer="adam", loss=case.loss)
    return case.model


def encoder_12() -> Any:
    """A text classifier of twelve transformer blocks of width 768."""
    return _model("encoder_12")


def decoder_6_7b() -> Any:
    """32 blocks of width 4096 over 2048 tokens."""
    return _model("decoder_6_7b")


def _tree(root: int) -> list[int]:
    """The processes that stand below a process, itself first."""
    parents: dict[int, list[int]] = {}
    for folder in Path("/proc").iterdir():
        if folder.name.isdigit():
            try:
                stat = (folder / "stat").read_text()
            except OSError:
                continue
            parents.setdefault(int(stat.rpartition(")")[2].split()[1]), []).append(int(folder.name))
    found = [root]
    for one in found:
        found += parents.get(one, [])
    return found


def _held(process: int) -> int:
    try:
        text = Path(f"/proc/{process}/smaps_rollup").read_text()
    except OSError:
        return 0
    found = re.search(r"^Pss:\s+(\d+) kB", text, re.MULTILINE)
    return int(found[1]) * 1024 if found else 0


def timed(target: list[str], engine: str, backend: str) -> dict[str, Any]:
    """One row."""
    with tempfile.TemporaryDirectory() as folder:
        out = Path(folder, "estimate.json")
        command = [sys.executable, "-m", "oomlint", "estimate", *target, "--gpu", "H100", "--format", "json"]
        command += ["--engine", engine, "--backend", backend, "--jit", "on", "--optimizer", "adam"]
        command += ["--output", str(out), "--timeout", "1200"]
        before, started, most = os.times(), time.monotonic(), 0
        process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
        while process.poll() is None:
            most = max(most, sum(map(_held, _tree(process.pid))))
            time.sleep(0.5)
        seconds, after = time.monotonic() - started, os.times()
        assert process.stderr is not None
        said = process.stderr.read()
        content = json.loads(out.read_text()) if out.exists() else {"error": said[-600:]}
    used = after.children_user - before.children_user + after.children_system - before.children_system
    return {
        "peak_mib": round(content.get("peak_bytes", 0) / 2**20, 1),
        "seconds": round(seconds, 1),
        "cpu_seconds": round(used, 1),
        "held_mib": most >> 20,
        "load": round(os.getloadavg()[0], 1),
        **({"error": content["error"]} if "error" in content else {}),
    }


def main(out: str, *names: str) -> None:
    for name in names or TARGETS:
        for engine, backend in ENGINES:
            row = {"model": name, "engine": engine, "backend": backend}
            row |= timed(TARGETS[name], engine, backend)
            print(row, flush=True)
            with Path(out).open("a") as output:
                output.write(json.dumps(row) + "\n")


if __name__ == "__main__":
    main(*sys.argv[1:])
