"""Engine xla against compilations made another way: a line a configuration, then the errors' median and worst.

python benchmarks/estimate/compare_reference.py [xla_points.jsonl xla_reference.jsonl]
"""

from __future__ import annotations

import json
import statistics
import sys
from pathlib import Path
from typing import Any

HERE = Path(__file__).parent
KEYS = ("model", "batch", "optimizer", "policy", "gpu")


def rows(file: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in file.read_text("utf-8").splitlines()]


def main(
    points: str = str(HERE / "xla_points.jsonl"), references: str = str(HERE / "xla_reference.jsonl")
) -> None:
    known = {tuple(row[key] for key in KEYS): row["total"] for row in rows(Path(references))}
    errors: dict[str, list[float]] = {}
    for row in rows(Path(points)):
        total = known.get(tuple(row[key] for key in KEYS))
        if total is None:
            continue
        error = row["peak"] / total - 1
        errors.setdefault(row["backend"], []).append(abs(error))
        print(f"{error:+8.3%}  {row['backend']:10}", *(row[key] for key in KEYS), f"{total >> 20:,} MiB")
    for backend, found in errors.items():
        print(
            f"{backend}: {len(found)} configurations, median {statistics.median(found):.3%}, worst {max(found):.3%}"
        )


if __name__ == "__main__":
    main(*sys.argv[1:])
