"""Counts by code."""

from __future__ import annotations

import json
from collections.abc import Iterable
from itertools import groupby

from oomlint.findings.diagnostic import Diagnostic


def _rows(diagnostics: Iterable[Diagnostic]) -> list[tuple[int, str, str, int]]:
    """Count, code, name, fixable: most frequent first."""
    by_code = sorted(diagnostics, key=lambda diagnostic: diagnostic.code)
    rows = []
    for code, group in groupby(by_code, key=lambda diagnostic: diagnostic.code):
        found = list(group)
        rows.append((len(found), code, found[0].name, sum(bool(one.fixable) for one in found)))
    return sorted(rows, key=lambda row: (-row[0], row[1]))


def render_text(diagnostics: Iterable[Diagnostic]) -> str:
    """One line for each code."""
    rows = _rows(diagnostics)
    width = max((len(str(row[0])) for row in rows), default=0)
    return "".join(
        f"{count:>{width}}  {code}  {'[*]' if fixable == count else '[-]' if fixable else '   '}  {name}\n"
        for count, code, name, fixable in rows
    )


def render_json(diagnostics: Iterable[Diagnostic]) -> str:
    """The same as data."""
    return json.dumps(_records(diagnostics), indent=2) + "\n"


def render_json_lines(diagnostics: Iterable[Diagnostic]) -> str:
    """The same, a line for each code."""
    return "".join(f"{json.dumps(record)}\n" for record in _records(diagnostics))


def _records(diagnostics: Iterable[Diagnostic]) -> list[dict[str, str | int]]:
    return [
        {"code": code, "name": name, "count": count, "fixable": fixable}
        for count, code, name, fixable in _rows(diagnostics)
    ]
