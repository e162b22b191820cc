"""Colour, and only where it can be seen."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TextIO

from oomlint.findings.model import Severity

_SEVERITY = {Severity.ERROR: "31", Severity.WARNING: "33", Severity.NOTE: "36"}


@dataclass(frozen=True, slots=True)
class Style:
    """Paints text, or leaves it as it is."""

    colour: bool = False

    def _paint(self, text: str, codes: str) -> str:
        return f"\x1b[{codes}m{text}\x1b[0m" if self.colour and text else text

    def bold(self, text: str) -> str:
        """Paths, the summary."""
        return self._paint(text, "1")

    def faint(self, text: str) -> str:
        """The gutter of a source frame."""
        return self._paint(text, "2")

    def severity(self, text: str, severity: Severity) -> str:
        """Codes and underlines."""
        return self._paint(text, f"1;{_SEVERITY[severity]}")

    def good(self, text: str) -> str:
        """What can be mended, and clean results."""
        return self._paint(text, "32")


def wants_colour(stream: TextIO, environment: Mapping[str, str] = os.environ) -> bool:
    """NO_COLOR wins over FORCE_COLOR (no-color.org: set and not empty); else a terminal that is not dumb."""
    if environment.get("NO_COLOR"):
        return False
    if environment.get("FORCE_COLOR", "0") not in ("", "0"):
        return True
    return stream.isatty() and environment.get("TERM") != "dumb"
