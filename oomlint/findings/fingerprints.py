"""Names for findings that last: they stay the same when lines move above them.

A baseline, SARIF's `partialFingerprints` and GitLab's code quality compare runs by them. So no row goes in, only
what the line says; the second of two equal lines is told apart by being the second.
"""

from __future__ import annotations

import hashlib
import os
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

from oomlint.findings.diagnostic import Diagnostic


def fingerprints(diagnostics: Sequence[Diagnostic], root: Path) -> list[str]:
    """A fingerprint for each of the diagnostics, in their order; paths count from `root`."""
    kinds = [
        (path_from(diagnostic.filename, root), diagnostic.code, _text(diagnostic))
        for diagnostic in diagnostics
    ]
    seen: Counter[tuple[str, str, str]] = Counter()
    made = [""] * len(kinds)
    # Counted by place and not by the caller's order, so that sorting a report otherwise changes nothing.
    for index in sorted(range(len(kinds)), key=lambda index: diagnostics[index].order):
        kind = kinds[index]
        seen[kind] += 1
        whole = "\0".join((*kind, str(seen[kind])))
        made[index] = hashlib.sha256(whole.encode("utf-8", "surrogatepass")).hexdigest()[:32]
    return made


def path_from(filename: str, root: Path) -> str:
    """The path from `root`, with forward slashes; a file on another drive than `root` keeps its whole path."""
    try:
        return Path(os.path.relpath(filename, root)).as_posix()
    except ValueError:
        return Path(filename).as_posix()


def _text(diagnostic: Diagnostic) -> str:
    """The first line of the finding, with blanks evened out: indenting it anew makes no new finding."""
    return " ".join(diagnostic.lines[0].split()) if diagnostic.lines else ""
