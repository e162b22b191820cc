"""What the settings make of findings: which are reported where, at what severity, with how safe a fix."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from oomlint.findings.diagnostic import Diagnostic
from oomlint.findings.model import Safety, Severity
from oomlint.findings.own import OWN_RULES, SYNTAX_ERROR
from oomlint.findings.registry import RegisteredRule, load_rules
from oomlint.findings.selection import ALL, ignored_for, is_selected, matches

if TYPE_CHECKING:
    from oomlint.project.settings import Settings


class Policy:
    """The settings of one document, as far as they concern findings."""

    def __init__(self, settings: Settings, rules: Sequence[RegisteredRule]) -> None:
        self.settings = settings
        self.literals = frozenset(literal for entry in rules for literal in entry.rule.literals)
        # All rules, selected or not: a suppression of a rule that does not run is no mistake.
        self.known = {entry.code: entry.rule.name for entry in (*load_rules(), *rules)}
        self.known |= {rule.code: rule.name for rule in OWN_RULES}
        self._codes = frozenset(entry.code for entry in rules)
        self._ignored: dict[str, tuple[str, ...]] = {}

    def _ignored_in(self, filename: str) -> tuple[str, ...]:
        if filename not in self._ignored:
            self._ignored[filename] = ignored_for(Path(filename), self.settings)
        return self._ignored[filename]

    def reports(self, code: str, filename: str) -> bool:
        """Whether a code is wanted in a file. Rules that run were selected already; own codes are asked here."""
        if any(matches(selector, code) for selector in self._ignored_in(filename)):
            return False
        return code in self._codes or is_selected(code, self.settings)

    def reports_unread(self, filename: str) -> bool:
        """Whether a file that no rule can look at is told of: unless it is ignored, whatever `select` names.

        "No findings" would be taken for a file that was checked.
        """
        if any(matches(selector, SYNTAX_ERROR.code) for selector in self._ignored_in(filename)):
            return False
        asked = (*self.settings.extend_select, ALL)
        return is_selected(SYNTAX_ERROR.code, replace(self.settings, extend_select=asked))

    def active(self, filename: str) -> frozenset[str]:
        """The codes that can occur in a file; a suppression of any other is nobody's business."""
        looked_for = self._codes | {rule.code for rule in OWN_RULES}
        return frozenset(code for code in looked_for if self.reports(code, filename))

    def adjusted(self, diagnostic: Diagnostic) -> Diagnostic:
        """The diagnostic with the severity and the fix safety that the settings give its code."""
        chosen = self.settings.severity.get(diagnostic.code)
        if chosen is not None:
            diagnostic = replace(diagnostic, severity=Severity[chosen.upper()])
        fix = diagnostic.fix
        if fix is not None and fix.safety is not Safety.DISPLAY:
            safety = self._safety(diagnostic.code, fix.safety)
            if safety is not fix.safety:
                diagnostic = replace(diagnostic, fix=replace(fix, safety=safety))
        return diagnostic

    def _safety(self, code: str, safety: Safety) -> Safety:
        if any(matches(selector, code) for selector in self.settings.extend_unsafe_fixes):
            return Safety.UNSAFE
        if any(matches(selector, code) for selector in self.settings.extend_safe_fixes):
            return Safety.SAFE
        return safety
