"""Markers: comments that say which finding starts on their line.

    ds = ds.shuffle(1_000_000)  # expect: OOM301 warning "1,000,000"

with the code, the severity, and parts of what is said: the message, the evidence (as `line 12: paths, from here`),
the help (`help: shuffle the paths`) or the fix (`unsafe fix: shuffle before map`).
"""

from __future__ import annotations

import io
import re
import tokenize
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from oomlint.findings.diagnostic import Diagnostic

_MARKER = re.compile(r"#\s*expect:\s*(.*)")
_ONE = re.compile(r'\s*([A-Z]{3}\d{3})\s+(note|warning|error)((?:\s+"[^"]*")*)\s*[;,]?')
_PART = re.compile(r'"([^"]*)"')


@dataclass(frozen=True, slots=True)
class Expectation:
    """One marker."""

    row: int
    code: str
    severity: str
    parts: tuple[str, ...] = ()

    def fits(self, diagnostic: Diagnostic) -> bool:
        """Whether this finding is the one that is expected."""
        said = "\n".join(_said(diagnostic))
        return (
            (self.row, self.code, self.severity)
            == (diagnostic.location.row, diagnostic.code, str(diagnostic.severity))
        ) and all(part in said for part in self.parts)

    def __str__(self) -> str:
        parts = "".join(f' "{part}"' for part in self.parts)
        return f"line {self.row}: {self.code} {self.severity}{parts}"


def _said(diagnostic: Diagnostic) -> Iterator[str]:
    yield diagnostic.message
    for note in diagnostic.evidence:
        yield f"line {note.location.row}: {note.text}" if note.location is not None else note.text
    yield f"help: {diagnostic.help}"
    if diagnostic.fix is not None:
        yield f"{diagnostic.fix.safety.value} fix: {diagnostic.fix.message}"


def expectations(text: str) -> list[Expectation]:
    """The markers of a text. Raises ValueError for one that cannot be read."""
    found = []
    for token in tokenize.generate_tokens(io.StringIO(text).readline):
        marker = _MARKER.match(token.string) if token.type == tokenize.COMMENT else None
        if marker is None:
            continue
        rest = marker[1]
        while rest.strip():
            one = _ONE.match(rest)
            if one is None:
                raise ValueError(f"line {token.start[0]}: not a marker: {rest!r}")
            found.append(Expectation(token.start[0], one[1], one[2], tuple(_PART.findall(one[3]))))
            rest = rest[one.end() :]
    return found


def mismatches(text: str, diagnostics: Iterable[Diagnostic]) -> list[str]:
    """Where markers and findings differ: what is missing, and what nobody expected."""
    wrong = []
    left = list(diagnostics)
    for expected in expectations(text):
        hit = next((diagnostic for diagnostic in left if expected.fits(diagnostic)), None)
        if hit is None:
            wrong.append(f"missing: {expected}")
        else:
            left.remove(hit)
    wrong += [f"not expected: {_told(diagnostic)}" for diagnostic in left]
    return wrong


def _told(diagnostic: Diagnostic) -> str:
    evidence = "".join(f"\n    - {note.text}" for note in diagnostic.evidence)
    return f"line {diagnostic.location.row}: {diagnostic.code} {diagnostic.severity}: {diagnostic.message}{evidence}"
