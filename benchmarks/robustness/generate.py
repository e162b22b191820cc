"""Generated programs, many of them: internal errors, hangs, fixes that break, comments that do not silence.

    python benchmarks/robustness/generate.py [--count N] [--first SEED] [--seconds N] [--processes-every N]
        [--keep FOLDER]

The grammar is that of tests/robustness/grammar, the properties those of tests/robustness/properties.py. What goes
wrong is printed with its seed; `seeded(seed)` makes the program again as long as the grammar stays as it is.
Each so many programs, all since the last time are also checked as files, by one process and by two.
"""

from __future__ import annotations

import argparse
import gc
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).parent.parent.parent
sys.path[:] = [str(ROOT / "tests"), *(entry for entry in sys.path if Path(entry or ".").resolve() != ROOT)]

from robustness.grammar.program import parses, seeded  # noqa: E402
from robustness.properties import Checks  # noqa: E402

from oomlint.findings.registry import load_rules  # noqa: E402


def main() -> None:
    """Check and mend the programs, and count."""
    options = argparse.ArgumentParser()
    options.add_argument("--count", type=int, default=1000)
    options.add_argument("--first", type=int, default=0)
    options.add_argument("--seconds", type=int, default=36000, help="for all")
    options.add_argument("--processes-every", type=int, default=1000)
    options.add_argument("--keep", type=Path, help="where programs are written that go wrong")
    given = options.parse_args()
    signal.signal(signal.SIGTERM, lambda *_: sys.exit("ended"))
    gc.set_threshold(100_000)
    run = _Run(Checks(tuple(load_rules())), given.keep)
    waiting: list[tuple[int, str]] = []
    began = time.monotonic()
    try:
        for seed in range(given.first, given.first + given.count):
            if time.monotonic() - began > given.seconds:
                break
            text = seeded(seed)
            run.one(seed, text)
            waiting.append((seed, text))
            if len(waiting) == given.processes_every:
                print(_compared(waiting), flush=True)
                waiting = []
    finally:
        print(f"seeds from {given.first} to {seed}")
        run.summary()


class _Run:
    def __init__(self, checks: Checks, keep: Path | None) -> None:
        self.checks = checks
        self.keep = keep
        self.wrong = self.no_python = 0
        self.slowest = (0.0, 0)

    def one(self, seed: int, text: str) -> None:
        if not parses(text.removeprefix("\ufeff")):
            self.no_python += 1
            return
        start = time.process_time()
        problems = self.checks.complaints(text, silence=int(seed % 3 == 0), twice=seed % 4 == 1)
        self.slowest = max(self.slowest, (time.process_time() - start, seed))
        self.wrong += bool(problems)
        for problem in problems:
            print(f"seed {seed}: {problem}", flush=True)
        if problems and self.keep is not None:
            self.keep.mkdir(exist_ok=True)
            (self.keep / f"{seed}.py").write_bytes(text.encode())

    def summary(self) -> None:
        seen = self.checks.seen
        print(f"{seen.programs} programs, {self.wrong} went wrong, {self.no_python} were no Python")
        print(
            f"{time.process_time():.0f} s of the processor; slowest {self.slowest[0]:.1f} s, seed {self.slowest[1]}"
        )
        for title, counts in (
            ("findings", seen.found),
            ("fixes applied", seen.mended),
            ("silenced", seen.silenced),
            ("not mended", seen.dropped),
        ):
            print(f"{title} {sum(counts.values())}: {dict(sorted(counts.items()))}")


def _compared(programs: list[tuple[int, str]]) -> str:
    with tempfile.TemporaryDirectory() as folder:
        for seed, text in programs:
            (Path(folder) / f"p{seed}.py").write_bytes(text.encode())
        command = [
            sys.executable,
            "-m",
            "oomlint",
            "check",
            "--preview",
            "--no-cache",
            "--output-format",
            "json",
            ".",
        ]
        said = [
            subprocess.run([*command, "-j", jobs], capture_output=True, text=True, cwd=folder)
            for jobs in "12"
        ]
    if said[0].stdout != said[1].stdout or any(run.returncode not in (0, 1) for run in said):
        return f"two processes say something else: {[(r.returncode, len(r.stdout), r.stderr[-300:]) for r in said]}"
    return f"{len(programs)} programs as files: one process and two say the same, {len(said[0].stdout):,} characters"


main()
