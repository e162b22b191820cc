"""What a finding says beside its place: the evidence and where it stands, the help, the fix and how safe it is.

`words.txt` names fixtures, the row of a finding, and below it beginnings of sentences that have to be said there, each
for one fixture that shows it: `line 12: ...` is evidence that stands on that row, `help: ...`, `unsafe fix: ...`. What
comes after `never:` must not be said, after `once:` not twice. The rows and words were read beside the script.
"""

from __future__ import annotations

from pathlib import Path

import pytest
from fixture_files import Fixture, fixtures

from oomlint.findings.diagnostic import Diagnostic

BAD = {fixture.id: fixture for fixture in fixtures("bad")}


def _wanted() -> dict[str, dict[int, list[str]]]:
    found: dict[str, dict[int, list[str]]] = {}
    here: list[str] = []
    for line in Path(__file__).with_name("words.txt").read_text("utf-8").splitlines():
        if line.startswith("  "):
            here.append(line.strip())
        elif line:
            name, row = line.split()
            here = found.setdefault(name, {})[int(row)] = []
    return found


WANTED = _wanted()


def said(diagnostic: Diagnostic) -> list[str]:
    lines = [diagnostic.message, f"help: {diagnostic.help}"]
    for note in diagnostic.evidence:
        lines.append(f"line {note.location.row}: {note.text}" if note.location else note.text)
    if diagnostic.fix is not None:
        lines.append(f"{diagnostic.fix.safety.value} fix: {diagnostic.fix.message}")
    return lines


@pytest.mark.parametrize("fixture", [BAD[name] for name in WANTED], ids=WANTED)
def test_words(fixture: Fixture):
    lines: dict[int, list[str]] = {}
    for diagnostic in fixture.check():
        lines.setdefault(diagnostic.location.row, []).extend(said(diagnostic))
    for row, wanted in WANTED[fixture.id].items():
        for words in wanted:
            kind, _, rest = words.partition(" ")
            often = {"never:": 0, "once:": 1}.get(kind)
            found = [line for line in lines.get(row, []) if line.startswith(words if often is None else rest)]
            assert found if often is None else len(found) == often, (row, words, lines)
