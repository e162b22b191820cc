"""What SARIF says of the rules whose findings a report holds."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Any

from oomlint.findings.model import Rule, Severity
from oomlint.findings.own import PAGES
from oomlint.findings.registry import load_rules
from oomlint.report.pages import rule_url

_HEADING = re.compile(r"^## ", re.MULTILINE)
# GitHub's words for a rule that is not about security.
_PROBLEM = {Severity.ERROR: "error", Severity.WARNING: "warning", Severity.NOTE: "recommendation"}


def descriptors(codes: Iterable[str]) -> list[dict[str, Any]]:
    """The rules of some codes, in their order."""
    known = {rule.code: (rule, page, "oomlint") for rule, page in PAGES.items()}
    known |= {entry.code: (entry.rule, entry.page, _family(entry.module)) for entry in load_rules()}
    return [_descriptor(*known[code]) if code in known else {"id": code} for code in sorted(set(codes))]


def _family(module: str) -> str:
    """The folder that the rule's module lies in."""
    parts = module.split(".")
    return parts[-2] if len(parts) > 1 else parts[0]


def _descriptor(rule: Rule, page: str, family: str) -> dict[str, Any]:
    summary, _, body = page.strip().partition("\n")
    described: dict[str, Any] = {
        "id": rule.code,
        "name": rule.name,
        "shortDescription": {"text": summary},
        "fullDescription": {"text": _section(body, "What it does") or summary},
        "help": {"text": page.strip(), "markdown": f"# {rule.code} {rule.name}\n\n{page.strip()}"},
        "defaultConfiguration": {"level": str(rule.severity)},
        "properties": {
            "tags": ["memory", family.replace("_", "-"), *(["preview"] if rule.preview else [])],
            "problem.severity": _PROBLEM[rule.severity],
            "precision": "medium" if rule.preview else "high",
        },
    }
    address = rule_url(rule.code)
    if address:
        described["helpUri"] = address
    return described


def _section(body: str, title: str) -> str:
    for part in _HEADING.split(body)[1:]:
        heading, _, text = part.partition("\n")
        if heading.strip() == title:
            return " ".join(text.split())
    return ""
