"""Mutated fixtures, many of them: internal errors, hangs, and fixes that break, are not stable or make it worse.

    python benchmarks/robustness/mutate.py [N [FIRST_SEED [SECONDS_IN_ALL]]]

What goes wrong is printed with its seed; `mutated(text, seed)` of tests/mutations.py makes the text again.
"""

from __future__ import annotations

import gc
import sys
import time
from collections import Counter
from pathlib import Path

ROOT = Path(__file__).parent.parent.parent
sys.path[:] = [str(ROOT / "tests"), *(entry for entry in sys.path if Path(entry or ".").resolve() != ROOT)]

from mutations import complaints, mutated  # noqa: E402

from oomlint.findings.registry import load_rules  # noqa: E402


def main() -> None:
    """Check and mend N texts, and count."""
    count, first, allowed = (
        int(word) for word in [*sys.argv[1:], *("1000", "0", "36000")[len(sys.argv) - 1 :]]
    )
    rules = tuple(load_rules())
    gc.set_threshold(100_000)
    files = sorted((ROOT / "fixtures").glob("OOM*/*.py"))
    kinds: Counter[str] = Counter()
    done = changed = fixed = wrong = 0
    slowest = (0.0, "")
    began = time.monotonic()
    for seed in range(first, first + count):
        if time.monotonic() - began > allowed:
            break
        path = files[seed * 7919 % len(files)]
        before = path.read_text("utf-8")
        text, names = mutated(before, seed)
        start = time.monotonic()
        problems, mended = complaints(rules, text)
        slowest = max(slowest, (time.monotonic() - start, f"{path.parent.name}/{path.name} seed {seed}"))
        done += 1
        changed += text != before
        fixed += mended
        kinds.update(names.split("+"))
        wrong += bool(problems)
        if done % 500 == 0:
            print(f"to seed {seed}", flush=True)
        for problem in problems:
            print(f"{path.parent.name}/{path.name} seed {seed} {names}: {problem}", flush=True)
    print(f"{done} texts, {changed} changed, {fixed} mended by fixes, {wrong} went wrong")
    print(f"{time.monotonic() - began:.0f} s; slowest {slowest[0]:.1f} s: {slowest[1]}")
    print(", ".join(f"{name or 'nothing'} {number}" for name, number in kinds.most_common()))


main()
