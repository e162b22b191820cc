"""Every fixture and program, rewritten in every way that leaves its meaning: what is found must be the same.

    python benchmarks/robustness/rewritings.py [--only PART_OF_A_NAME] [--path PART_OF_A_PATH] \\
        [--every N [--first K]] [--seconds N]

Prints each difference, and a table: pairs that say the same, that differ, and where a rewriting does not apply.
"""

from __future__ import annotations

import argparse
import ast
import sys
import time
from collections import Counter
from pathlib import Path

ROOT = Path(__file__).parent.parent.parent
sys.path[:] = [str(ROOT / "tests"), *(entry for entry in sys.path if Path(entry or ".").resolve() != ROOT)]

from metamorphic.everything import TRANSFORMATIONS  # noqa: E402
from metamorphic.subjects import exception, subjects  # noqa: E402


def main() -> None:
    """Compare all pairs."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--only", default="")
    parser.add_argument("--path", default="")
    parser.add_argument("--every", type=int, default=1)
    parser.add_argument("--first", type=int, default=0)
    parser.add_argument("--seconds", type=float, default=float("inf"))
    asked = parser.parse_args()
    counts: dict[str, Counter[str]] = {name: Counter() for name in TRANSFORMATIONS if asked.only in name}
    began = time.process_time()
    chosen = [subject for subject in subjects() if asked.path in subject.name][asked.first :: asked.every]
    start, done = time.monotonic(), 0
    for subject in chosen:
        if time.monotonic() - start > asked.seconds:
            break
        done += 1
        for name in counts:
            try:
                rewriting = TRANSFORMATIONS[name](subject.code)
                for text in rewriting.files.values() if rewriting else ():
                    ast.parse(text.text)
            except Exception as error:
                counts[name]["broken"] += 1
                print(f"{subject.name} | {name}\n    the rewriting is broken: {error!r}", flush=True)
                continue
            if rewriting is None:
                counts[name]["inapplicable"] += 1
                continue
            differ = subject.differences(rewriting)
            excused = exception(rewriting, name, differ) if differ else None
            counts[name]["explained" if excused else "differ" if differ else "same"] += 1
            if differ and not excused:
                print(f"{subject.name} | {name}", *differ, sep="\n    ", flush=True)
    columns = ("same", "differ", "explained", "inapplicable", "broken")
    width = max(map(len, counts), default=0)
    print(f"{'':{width}}  {'  '.join(columns)}")
    for name, one in [*counts.items(), ("all", sum(counts.values(), Counter()))]:
        print(f"{name:{width}}  {'  '.join(f'{one[column]:{len(column)}}' for column in columns)}")
    print(f"{done} scripts of {len(chosen)}, {time.process_time() - began:.0f} s of processor time")


main()
