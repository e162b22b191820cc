"""What Python's garbage collector costs a check, and what it saves.

    python benchmarks/speed/collector.py FOLDER [EVERY]

checks every EVERYth file of a folder (default: all) in processes of their own, with Python's thresholds, with the
collector let loose where a document ends (`oomlint.engine.collecting`) and with no collector, and prints the processor
time and the memory of each.
"""

from __future__ import annotations

import gc
import subprocess
import sys
import time
from contextlib import nullcontext
from pathlib import Path

from measuring import peak

from oomlint.engine import pool
from oomlint.engine.project import Run
from oomlint.project.configuration import Configurations

WAYS = ("python's own", "after each", "never")


def check(way: str, folder: str, every: int) -> None:
    """Check, and print what it took."""
    if way == "python's own":
        pool.seldom_collected = nullcontext  # type: ignore[assignment]
    if way != "after each":
        pool.collected = Run.examined
    if way == "never":
        gc.disable()
    run = Run(Configurations(isolated=True))
    run.add_files(sorted(Path(folder).absolute().rglob("*.py"))[::every])
    before = time.process_time()
    found = len(run.check().diagnostics)
    took = time.process_time() - before
    most = peak()
    print(f"{way:>14} {took:7.2f} s {most:6,} MB {found:5} findings", flush=True)


if __name__ == "__main__":
    if sys.argv[1] in WAYS:
        check(sys.argv[1], sys.argv[2], int(sys.argv[3]))
    else:
        for one in WAYS:
            subprocess.run([sys.executable, __file__, one, sys.argv[1], *(sys.argv[2:] or ["1"])], check=True)
