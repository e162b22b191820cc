"""Numbers in the pages that come from the benchmarks' recorded rows: `<!-- numbers: NAME -->` is replaced."""

from __future__ import annotations

import json
import re
import runpy
import statistics
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

BENCHMARKS = Path(__file__).resolve().parents[2] / "benchmarks" / "estimate"
WAYS = {
    "ours": "**oomlint's rules**",
    "formula": "the formula people copy",
    "grappler": "TensorFlow's own estimator",
    "liveness": "plain liveness",
}
SETS = {
    "HELD_OUT": "Models that the rules were not made for; what a first look at them showed was mended",
    "SECOND_LOOK": "A second set, written after the rules",
    "THIRD_LOOK": "A third set, written after the second",
}


def filled(text: str) -> str:
    """The text with its numbers."""
    return re.sub(r"<!-- numbers: ([\w-]+) -->", lambda part: NUMBERS[part[1]](), text)


def _rows(name: str) -> list[dict[str, Any]]:
    lines = (BENCHMARKS / name).read_text("utf-8").splitlines()
    return [json.loads(line) for line in lines if line.strip()]


def _table(head: Iterable[str], rows: Iterable[Iterable[object]]) -> str:
    lines = [[*head], ["---" for _ in head], *([str(cell) for cell in row] for row in rows)]
    return "\n".join("| " + " | ".join(line) + " |" for line in lines)


def published() -> str:
    """What was said of runs whose end is public, and what became of them."""
    judged = [row for row in _rows("published.jsonl") if row.get("judged")]
    died = [str(row["outcome"]).startswith("OOM") for row in judged]
    counts = [
        (words, sum(row["verdict"] == verdict and not end for row, end in zip(judged, died)),
         sum(row["verdict"] == verdict and end for row, end in zip(judged, died)))
        for verdict, words in (("fits", "fits"), ("tight", "too close to call"), ("does-not-fit", "does not fit"))
    ]  # fmt: skip
    right = sum(row["judged"] == "right" for row in judged)
    wrong = sum(row["judged"] == "wrong" for row in judged)
    rows = [*counts, ("all", len(judged) - sum(died), sum(died))]
    return (
        _table(("oomlint said", "of runs that fitted", "of runs that died"), rows)
        + f"\n\nOf {len(judged)} published runs {right} came out right, {wrong} wrong, and of "
        f"{len(judged) - right - wrong} nothing was claimed."
    )


def compiler() -> str:
    """Engine graph's rules for XLA beside XLA's own compiler, and other ways beside the same rows."""
    configurations = runpy.run_path(str(BENCHMARKS / "xla_configurations.py"))
    rows = {row["configuration"]: row for row in _rows("xla_rules.jsonl")}
    parts = []
    head = ("", "half within", "nine in ten within", "most under", "most over")
    for name, words in SETS.items():
        chosen = [rows[key] for key in configurations.get(name, ()) if key in rows]
        lines = []
        for way, about in WAYS.items():
            off = [row[way] / row["xla"] - 1 for row in chosen if row.get(way) is not None]
            if off:
                lines.append((about, *_errors(off)))
        if lines:
            parts += [f"{words} ({len(chosen)} compiled):", _table(head, lines)]
    return "\n\n".join(parts)


def _errors(off: list[float]) -> tuple[str, str, str, str]:
    sizes = sorted(map(abs, off))
    tenth = sizes[min(len(sizes) - 1, int(0.9 * len(sizes)))]
    low, high = min(off), max(off)
    return (
        f"{statistics.median(sizes):.0%}",
        f"{tenth:.0%}",
        f"{-low:.0%}" if low < 0 else "none",
        f"{high:.0%}" if high > 0 else "none",
    )


NUMBERS: dict[str, Callable[[], str]] = {"published": published, "compiler": compiler}
