"""How the cost of a check grows with what is checked: programs of growing size, processor time, pictures.

    python benchmarks/speed/growth.py [--seconds S] [--only SHAPE,...] [--draw]

Each kind of growth of `programs.py` is checked with all rules, each size twice the one before, until a check takes S
seconds (default 0.8) or the language ends (Python takes a hundred blocks inside one another). What was measured goes
into growth.jsonl beside this file, the pictures into docs/pictures/growth-*.svg, and a line per kind to the terminal:
the exponent (1: twice the size costs twice as much) fitted over the last three doublings. `--draw` draws what is there.
"""

from __future__ import annotations

import argparse
import gc
import json
import math
import sys
import tempfile
import time
import warnings
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, field
from html import escape
from pathlib import Path
from typing import Any

from programs import HEAD, SHAPES, TRAINING, Shape, sizes

from oomlint.engine import document as engine
from oomlint.engine.project import Run
from oomlint.findings.registry import RegisteredRule, load_rules
from oomlint.project.configuration import Configurations
from oomlint.syntax import parse as parsing

HERE = Path(__file__).resolve().parent
RESULTS = HERE / "growth.jsonl"
PICTURES = HERE.parents[1] / "docs" / "pictures"
LINEAR = 1.2  # an exponent above it is told; a tenth is noise on a machine with other work
DOUBLINGS = 3


@dataclass(slots=True)
class Curve:
    """What one kind of growth took: sizes, seconds, and of these LibCST's parse."""

    name: str
    group: str
    unit: str
    end: bool  # the language ends there
    sizes: list[int] = field(default_factory=list)
    seconds: list[float] = field(default_factory=list)
    parse: list[float] = field(default_factory=list)

    @property
    def exponent(self) -> float:
        """The slope over the last doublings, by least squares."""
        points = list(zip(map(math.log, self.sizes), map(math.log, self.seconds)))[-DOUBLINGS - 1 :]
        middle_x = sum(x for x, _ in points) / len(points)
        middle_y = sum(y for _, y in points) / len(points)
        across = sum((x - middle_x) ** 2 for x, _ in points)
        return sum((x - middle_x) * (y - middle_y) for x, y in points) / across if across else math.nan


class Meter:
    """Checks programs, and knows what of the time was LibCST's parse."""

    def __init__(self) -> None:
        self.rules = tuple(load_rules())
        self._parse = 0.0
        self._real = parsing.parse
        engine.parse = parsing.parse = self._timed

    def _timed(self, document: Any, **how: Any) -> Any:
        before = time.process_time()
        try:
            return self._real(document, **how)
        finally:
            self._parse += time.process_time() - before

    def check(
        self, files: dict[str, str], whole: bool, rules: Sequence[RegisteredRule]
    ) -> tuple[float, float, bool]:
        """The seconds of a check, of its parse, and whether the program could be read."""
        with tempfile.TemporaryDirectory() as folder:
            for name, text in files.items():
                (Path(folder) / name).write_text(text, encoding="utf-8")
            names = list(files) if whole else list(files)[:1]
            gc.collect()
            self._parse, before = 0.0, time.process_time()
            run = Run(Configurations(isolated=True), rules=rules)
            run.add_files([Path(folder) / name for name in names])
            report = run.check()
            took = time.process_time() - before
        read = not report.failed and all(found.code != "OOM001" for found in report.diagnostics)
        return took, self._parse, read

    def best(
        self, files: dict[str, str], whole: bool, rules: Sequence[RegisteredRule]
    ) -> tuple[float, float, bool]:
        """The lesser of two times, if they are short: what disturbs a measurement makes it longer."""
        first = self.check(files, whole, rules)
        return first if first[0] > 2 else min(first, self.check(files, whole, rules))


def measured(shape: Shape, meter: Meter, seconds: float) -> Curve:
    """One kind of growth."""
    curve = Curve(shape.name, shape.group, shape.unit, shape.top is not None)
    for size in sizes(shape):
        took, parse, read = meter.best(shape.make(size), shape.whole, meter.rules)
        if not read:
            curve.end = True
            break
        curve.sizes.append(size)
        curve.seconds.append(took)
        curve.parse.append(parse)
        # A short script may take 20,000 steps whatever it is: what grows shows beyond them.
        if took > (seconds if len(curve.sizes) > DOUBLINGS else 5 * seconds) or len(curve.sizes) > 9:
            break
    return curve


def by_rules(meter: Meter) -> Curve:
    """One program, and more and more rules."""
    curve = Curve("rules", "code", "rules, over 500 lines", True)
    program = {"train.py": HEAD + "".join(TRAINING.replace("{n}", str(n)) for n in range(16))}
    size = 1
    while size <= len(meter.rules):
        took, parse, _ = meter.best(program, False, meter.rules[:size])
        curve.sizes.append(size)
        curve.seconds.append(took)
        curve.parse.append(parse)
        size *= 2
    return curve


# --- pictures ---------------------------------------------------------------------------------------

WIDE, HIGH, COLUMNS = 232, 176, 4
LEFT, TOP, RIGHT, BOTTOM = 14, 40, 14, 26


def picture(group: str, curves: Sequence[Curve]) -> str:
    """The curves of a group, a panel each, both axes in doublings."""
    rows = -(-len(curves) // COLUMNS)
    width, height = WIDE * min(COLUMNS, len(curves)), HIGH * rows
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" width="{width}" height="{height}"'
        ' font-family="system-ui, sans-serif" font-size="11">',
        f"<title>Processor time of a check as {escape(group)} grow</title>",
        f'<rect width="{width}" height="{height}" fill="#fff"/>',
    ]
    for number, curve in enumerate(curves):
        x, y = WIDE * (number % COLUMNS), HIGH * (number // COLUMNS)
        parts.append(f'<g transform="translate({x} {y})">{"".join(panel(curve))}</g>')
    return "\n".join([*parts, "</svg>", ""])


def panel(curve: Curve) -> list[str]:
    """One curve: the whole check, LibCST's part of it, and a dotted line that would be linear."""
    across, up = WIDE - LEFT - RIGHT, HIGH - TOP - BOTTOM
    steps = max(len(curve.sizes) - 1, 1)
    last = math.log2(curve.seconds[-1])
    doublings = max(steps, last - math.log2(min(curve.seconds)))

    def line(values: Sequence[float]) -> str:
        """The points that are not below the panel's foot."""
        heights = [(last - math.log2(max(value, 1e-6))) / doublings for value in values]
        points = [(LEFT + across * at / steps, TOP + up * y) for at, y in enumerate(heights) if y <= 1.001]
        return " ".join(f"{x:.1f},{y:.1f}" for x, y in points)

    straight = [curve.seconds[-1] / 2 ** (steps - at) for at in range(len(curve.sizes))]
    colour = "#0f766e" if curve.exponent <= LINEAR else "#c2410c"
    name = curve.unit.replace("`", "")
    foot = HIGH - BOTTOM
    return [
        f'<text x="{LEFT}" y="16" font-weight="600" fill="#111">{escape(name)}</text>',
        f'<text x="{LEFT}" y="31" fill="{colour}">exponent {abs(curve.exponent):.2f}</text>',
        f'<path d="M{LEFT} {TOP}V{foot}H{WIDE - RIGHT}" fill="none" stroke="#999"/>',
        f'<polyline points="{line(straight)}" fill="none" stroke="#999" stroke-dasharray="2 3"/>',
        f'<polyline points="{line(curve.parse)}" fill="none" stroke="#94a3b8" stroke-width="1.5"/>',
        f'<polyline points="{line(curve.seconds)}" fill="none" stroke="{colour}" stroke-width="2"/>',
        f'<text x="{LEFT}" y="{foot + 16}" fill="#444">{curve.sizes[0]:,} to {curve.sizes[-1]:,}:</text>',
        f'<text x="{WIDE - RIGHT}" y="{foot + 16}" fill="#444" text-anchor="end">'
        f"{1000 * curve.seconds[0]:,.0f} to {1000 * curve.seconds[-1]:,.0f} ms</text>",
    ]


def draw(curves: Sequence[Curve]) -> None:
    """A picture for each group."""
    groups: dict[str, list[Curve]] = {}
    for curve in curves:
        groups.setdefault(curve.group, []).append(curve)
    for group, members in groups.items():
        (PICTURES / f"growth-{group}.svg").write_text(picture(group, members), encoding="utf-8")


def kept() -> dict[str, Curve]:
    """What was measured before."""
    if not RESULTS.exists():
        return {}
    rows = map(json.loads, RESULTS.read_text(encoding="utf-8").splitlines())
    return {row["name"]: Curve(**row) for row in rows}


def rounded(curve: Curve) -> dict[str, Any]:
    """A row of the results."""
    row = asdict(curve)
    return row | {name: [round(value, 4) for value in row[name]] for name in ("seconds", "parse")}


def main() -> None:
    """Measure, and draw."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--seconds", type=float, default=0.8, help="what the largest check of a kind takes")
    parser.add_argument("--only", default="", metavar="SHAPE,...")
    parser.add_argument("--draw", action="store_true", help="draw what was measured before")
    given = parser.parse_args()
    curves = kept()
    if not given.draw:
        warnings.simplefilter("ignore")
        meter = Meter()
        meter.check(SHAPES[0].make(2), True, meter.rules)  # what is loaded once
        wanted = given.only.split(",") if given.only else ["rules", *(shape.name for shape in SHAPES)]
        makers: dict[str, Callable[[], Curve]] = {"rules": lambda: by_rules(meter)}
        for shape in SHAPES:
            makers[shape.name] = lambda shape=shape: measured(shape, meter, given.seconds)  # type: ignore[misc]
        order = ["rules", *(shape.name for shape in SHAPES)]
        for name in wanted:
            curve = curves[name] = makers[name]()
            told = "" if curve.exponent <= LINEAR else "  <- more than linear"
            print(
                f"{curve.exponent:5.2f}  {curve.sizes[-1]:>9,} {curve.unit}: {curve.seconds[-1]:.2f} s,"
                f" {curve.parse[-1]:.2f} s of it LibCST's parse{told}",
                flush=True,
            )
            curves = {name: curves[name] for name in order if name in curves}
            rows = (json.dumps(rounded(curve)) for curve in curves.values())
            RESULTS.write_text("".join(f"{row}\n" for row in rows), encoding="utf-8")
    draw(list(curves.values()))
    steep = [curve.name for curve in curves.values() if curve.exponent > LINEAR]
    print(
        f"{len(curves)} kinds of growth, {len(steep)} more than linear: {', '.join(steep)}", file=sys.stderr
    )


if __name__ == "__main__":
    main()
