"""Colour and hyperlinks, and only where they can be seen."""

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
    links: bool = False

    def link(self, text: str, target: str) -> str:
        """Text that a terminal opens when it is clicked (OSC 8)."""
        return f"\x1b]8;;{target}\x1b\\{text}\x1b]8;;\x1b\\" if self.links and text and target else text

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
    """NO_COLOR wins over FORCE_COLOR (no-color.org: set and not empty); else a terminal that is not dumb.

    The older CLICOLOR and CLICOLOR_FORCE come after these two.
    """
    if environment.get("NO_COLOR"):
        return False
    for name in ("FORCE_COLOR", "CLICOLOR_FORCE"):
        if environment.get(name, "0") not in ("", "0"):
            return True
    return environment.get("CLICOLOR") != "0" and stream.isatty() and environment.get("TERM") != "dumb"


# Terminals that are known to open links; others may print the sequence as it stands.
_LINKING_PROGRAMS = ("iTerm.app", "WezTerm", "vscode", "ghostty", "Hyper", "Tabby", "rio", "WarpTerminal")
_LINKING_TERMS = ("xterm-kitty", "alacritty", "foot", "xterm-ghostty", "contour")
_LINKING_MARKS = ("WT_SESSION", "KITTY_WINDOW_ID", "KONSOLE_VERSION", "DOMTERM", "WEZTERM_PANE")


def wants_links(stream: TextIO, environment: Mapping[str, str] = os.environ) -> bool:
    """FORCE_HYPERLINK decides where it is set; else a terminal that is known for it, and nobody's CI."""
    forced = environment.get("FORCE_HYPERLINK")
    if forced:
        return forced != "0"
    if not stream.isatty() or environment.get("CI") or environment.get("TERM") == "dumb":
        return False
    if environment.get("VTE_VERSION", "").isdecimal() and int(environment["VTE_VERSION"]) >= 5000:
        return True
    return (
        environment.get("TERM_PROGRAM") in _LINKING_PROGRAMS
        or environment.get("TERM", "").startswith(_LINKING_TERMS)
        or any(environment.get(name) for name in _LINKING_MARKS)
    )
