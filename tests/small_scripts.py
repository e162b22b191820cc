"""Small scripts for one rule each, many to a file (`rules/*.txt`): a bound met and missed, one condition of several left out.

A script begins with a row `### OOM301 what it shows`. Under it may stand `# keras: 3.9`, `# host: 16 GB`, `# gpu: 24 GB`,
`# card: T4` (its name, or none). What must be found is marked as in the fixtures; a script without a mark must be silent.
Below a row `--- becomes` is what the fixes make of it.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

from oomlint.findings.diagnostic import Diagnostic
from oomlint.project.gpus import parse_memory
from oomlint.project.settings import Budget, Settings
from oomlint.testing import fix_text, mismatches, rules_named, run_rule

_TITLE = re.compile(r"^### (OOM\d{3}) (.+)\n", re.MULTILINE)
_HEADER = re.compile(r"^# (keras|host|gpu|card): (.+)$", re.MULTILINE)


@dataclass(frozen=True)
class Script:
    """One of them."""

    code: str
    title: str
    text: str
    fixed: str | None = None

    def settings(self) -> Settings:
        """What its header asks for."""
        said = dict(_HEADER.findall(self.text))
        sizes: dict[str, int] = {name: parse_memory(said[name]) for name in ("host", "gpu") if name in said}
        labels = {f"{name}_label": f"{name} memory" for name in sizes}
        named = {"gpu_name": said["card"] if said["card"] != "none" else None} if "card" in said else {}
        budget = Budget(**sizes, **labels, **named)  # type: ignore[arg-type]
        keras = tuple(map(int, said["keras"].split("."))) if "keras" in said else None
        return Settings(
            root=Path("/"), select=(self.code, "OOM001"), preview=True, budget=budget, target_keras=keras
        )

    def check(self) -> list[Diagnostic]:
        """What its rule says."""
        return run_rule(self.code, self.text, settings=self.settings())

    def wrong(self) -> list[str]:
        """Where that differs from the marks, or what the fixes make of it from what they should."""
        found = mismatches(self.text, self.check())
        if self.fixed is not None:
            mended = fix_text(rules_named([self.code]), self.text, settings=self.settings())
            if mended.rstrip() != self.fixed.rstrip():
                found.append(f"becomes:\n{mended}")
        return found

    def __str__(self) -> str:
        return f"{self.code} {self.title}"


def scripts(path: Path) -> list[Script]:
    """The scripts of a file."""
    parts = _TITLE.split(path.read_text("utf-8"))
    found = []
    for at in range(1, len(parts), 3):
        text, _, fixed = parts[at + 2].partition("--- becomes\n")
        found.append(Script(parts[at], parts[at + 1], text, fixed or None))
    return found
