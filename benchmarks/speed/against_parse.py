"""What a check costs, held against LibCST's parse of the files that name Keras, and its peak of memory.

    python benchmarks/speed/against_parse.py FOLDER ... [--every N]

Each folder has a process of its own, in which every Nth file is checked, and then those that pass the first gate are
parsed and let go. Processor time; beside it what the check spends on the second gate, its own parses, the dry
runs, the rules and the places of what they find, each as a part of LibCST's parse.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any

import libcst as cst
from measuring import peak

import oomlint.dryrun
from oomlint.engine import document
from oomlint.engine.pool import seldom_collected
from oomlint.engine.project import Run
from oomlint.findings.registry import load_rules
from oomlint.project.configuration import Configurations
from oomlint.syntax import parse
from oomlint.syntax.gates import PARSES

PARTS: tuple[tuple[str, ModuleType, str], ...] = (
    ("second gate", document, "is_relevant"),
    ("parses", parse, "parse"),
    ("dry runs", oomlint.dryrun, "dry_run"),
    ("rules", document, "_findings"),
    ("places", document, "locate"),
)


def measure(folder: Path, every: int) -> None:
    """Print the line of a folder."""
    load_rules()
    run = Run(Configurations(isolated=True))
    run.add_files(sorted(folder.absolute().rglob("*.py"))[::every])
    taken: Counter[str] = Counter()
    for part, module, name in PARTS:
        setattr(module, name, _timed(getattr(module, name), part, taken))
    PARSES.reset()
    before = time.process_time()
    report = run.check()
    checking = time.process_time() - before
    most = peak()  # before the parse of whole files
    trees = PARSES.libcst
    with seldom_collected():
        before = time.process_time()
        for one in run.documents.values():
            cst.parse_module(one.text)
        parsing = time.process_time() - before
    print(
        f"{folder.name}: {len(run.documents):,} files, LibCST's parse {parsing:.1f} s, check {checking:.1f} s:"
        f" {checking / parsing:.2f} times ({trees:,} trees, {len(report.diagnostics)} findings, {most} MB)"
    )
    print(
        "   of it",
        ", ".join(f"{part} {seconds / parsing:.2f}" for part, seconds in taken.items()),
        flush=True,
    )


_inner: list[float] = []


def _timed(work: Callable[..., Any], part: str, taken: Counter[str]) -> Callable[..., Any]:
    """Count the time of some work without that of other parts inside it."""

    def timed(*arguments: Any, **keywords: Any) -> Any:
        before = time.process_time()
        _inner.append(0.0)
        try:
            return work(*arguments, **keywords)
        finally:
            whole = time.process_time() - before
            taken[part] += whole - _inner.pop()  # type: ignore[assignment]
            if _inner:
                _inner[-1] += whole

    return timed


def main() -> None:
    """Measure each folder in a process of its own."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("folders", nargs="+", type=Path)
    parser.add_argument("--every", type=int, default=1)
    given = parser.parse_args()
    if len(given.folders) == 1:
        measure(given.folders[0], given.every)
        return
    for folder in given.folders:
        subprocess.run([sys.executable, __file__, str(folder), "--every", str(given.every)], check=True)


if __name__ == "__main__":
    main()
