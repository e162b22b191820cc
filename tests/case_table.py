"""The public reports and what became of each: the table in fixtures/cases/README.md, made from the fixtures.

Run as a script it writes the table.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from oomlint.testing import expectations

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

CASES = Path(__file__).parent.parent / "fixtures" / "cases"
README = CASES / "README.md"
SORTING = CASES / "sorting.toml"
BEGIN, END = "<!-- table: begin -->\n", "<!-- table: end -->\n"
_SOURCE = re.compile(r"# source: ([\w.-]+/[\w.-]+)#(\d+)\n")


@dataclass(frozen=True)
class Case:
    """One report: whether its mistake can be seen in the script, and what oomlint does about it."""

    number: int
    visible: str
    outcome: str
    codes: tuple[str, ...] = ()
    reason: str = ""

    @property
    def folder(self) -> Path:
        """Where it is retold."""
        return CASES / f"oom-{self.number:03}"


def sorting() -> dict[str, dict[str, object]]:
    """The file that says what the fixtures cannot: visibility, and the reasons where there is no fixture."""
    return tomllib.loads(SORTING.read_text("utf-8"))


def cases() -> Iterator[Case]:
    """Every report of the collection, in order."""
    sorted_out = sorting()
    visible = {number: how for how, numbers in sorted_out["visible"].items() for number in numbers}
    estimate, unseen = sorted_out["estimate"], sorted_out["unseen"]
    for number, how in sorted(visible.items()):
        folder = CASES / f"oom-{number:03}"
        bad, key = folder / "bad.py", str(number)
        if bad.exists():
            codes = {marker.code for marker in expectations(bad.read_text("utf-8"))}
            yield Case(number, how, "found", tuple(sorted(codes)))
        elif (folder / "silent.py").exists():
            yield Case(number, how, "silent")
        elif key in estimate:
            yield Case(number, how, "estimate", reason=estimate[key])
        elif key in unseen:
            yield Case(number, how, "unseen", reason=unseen[key])
        else:
            yield Case(number, how, "unsorted")


_WORDS = {"silent": "no mistake (any more): kept silent", "estimate": "only with `--estimate`"}


def table() -> str:
    """One row for each report."""
    rows = ["| report | visible | outcome |", "|---|---|---|"]
    for case in cases():
        texts = [path.read_text("utf-8") for path in sorted(case.folder.glob("*.py"))]
        source = next((found for text in texts if (found := _SOURCE.match(text))), None)
        name = (
            f"[{case.number:03}](oom-{case.number:03}) {source[1]}#{source[2]}"
            if source
            else f"{case.number:03}"
        )
        outcome = ", ".join(case.codes) or _WORDS.get(case.outcome, "not seen")
        rows.append(f"| {name} | {case.visible} | {outcome}{': ' if case.reason else ''}{case.reason} |")
    return "\n".join(rows) + "\n"


def with_table(text: str) -> str:
    """A README with the table as it is now."""
    before, _, rest = text.partition(BEGIN)
    _, _, after = rest.partition(END)
    return f"{before}{BEGIN}\n{table()}\n{END}{after}"


if __name__ == "__main__":
    README.write_text(with_table(README.read_text("utf-8")), "utf-8")
