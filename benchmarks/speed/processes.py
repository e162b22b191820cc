"""What a second process can save, counted where the clock on the wall says little.

    python benchmarks/speed/processes.py FOLDER ... [--every N]

Every Nth file of the folders is checked by one process and by two, whose processor time is counted: what the run
itself does (finding, reading, gathering; nobody shares that), and what each of the two does. On two processors of their
own the run takes its own part and the longer of the two shares. Also the peak of memory of each process, and how many
trees LibCST makes, since a module that both need is parsed twice.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from measuring import compiled_in, peak

from oomlint.engine import pool
from oomlint.engine.project import Run
from oomlint.project.configuration import Configurations
from oomlint.project.discovery import discover
from oomlint.syntax.gates import PARSES


def check(jobs: int, every: int, folders: list[Path]) -> None:
    """Check, and print a line for this process and for each other one."""
    started = time.process_time()
    pool._next_share = _counted  # type: ignore[assignment]
    configurations = Configurations(isolated=True)
    run = Run(configurations, jobs=jobs)
    run.add_files(discover(folders, lambda folder: configurations.for_folder(folder).settings)[::every])
    findings = len(run.check().diagnostics)
    _tell("run", os.getpid(), time.process_time() - started, PARSES.libcst, peak(), findings)


def _tell(*words: object) -> None:
    """A line in one piece, whoever writes beside."""
    os.write(1, f"{' '.join(map(str, words))}\n".encode())


_next_share = pool._next_share


def _counted() -> object:
    """What a process of the pool does, and what it has taken so far; the last line of each counts."""
    made = _next_share()
    _tell("share", os.getpid(), time.process_time(), PARSES.libcst, peak())
    return made


def measured(jobs: int, given: argparse.Namespace) -> tuple[list[str], dict[str, list[str]]]:
    """The line of the run, and the last one of each other process."""
    done = subprocess.run(
        [
            sys.executable,
            __file__,
            "--check",
            str(jobs),
            "--every",
            str(given.every),
            *map(str, given.folders),
        ],
        env=compiled_in(given.compiled),
        stdout=subprocess.PIPE,
        text=True,
        check=True,
    )
    lines = [line.split() for line in done.stdout.splitlines()]
    (own,) = (line for line in lines if line[0] == "run")
    return own, {line[1]: line for line in lines if line[0] == "share"}


def main() -> None:
    """Print what one and two processes take."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("folders", nargs="+", type=Path)
    parser.add_argument("--every", type=int, default=1)
    parser.add_argument("--check", type=int, help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.check is not None:
        check(given.check, given.every, given.folders)
        return
    with tempfile.TemporaryDirectory() as given.compiled:
        compare(given)


def compare(given: argparse.Namespace) -> None:
    """Check with one process and with two."""
    measured(1, argparse.Namespace(**(vars(given) | {"every": 100 * given.every})))  # compiles the modules
    (_, _, alone, trees, peak, findings), _ = measured(1, given)
    print(f"one process: {float(alone):.1f} s, {trees} trees, peak {peak} MB, {findings} findings")
    (_, _, own, _, own_peak, same), shares = measured(2, given)
    assert same == findings
    took = [float(line[2]) for line in shares.values()]
    for line, seconds in zip(shares.values(), took):
        print(f"a share of two: {seconds:.1f} s, {line[3]} trees, peak {line[4]} MB")
    longest = float(own) + max(took)
    print(
        f"the run beside them: {float(own):.2f} s ({float(own) / longest:.0%} of the time), peak {own_peak} MB;"
        f" together {(sum(took) + float(own)) / float(alone):.2f} times the work of one;"
        f" {float(alone) / longest:.2f} times as fast on two processors"
    )


if __name__ == "__main__":
    main()
