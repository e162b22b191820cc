"""What SARIF says of the rules whose findings a report holds."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from oomlint.findings.model import Severity
from oomlint.findings.pages import Page, pages, section
from oomlint.report.pages import rule_url

# GitHub's words for a rule that is not about security.
_PROBLEM = {Severity.ERROR: "error", Severity.WARNING: "warning", Severity.NOTE: "recommendation"}


def descriptors(codes: Iterable[str]) -> list[dict[str, Any]]:
    """The rules of some codes, in their order."""
    known = pages()
    return [_descriptor(known[code]) if code in known else {"id": code} for code in sorted(set(codes))]


def _family(module: str) -> str:
    """The folder that the rule's module lies in."""
    parts = module.split(".")
    return parts[-2] if len(parts) > 1 else parts[0]


def _descriptor(page: Page) -> dict[str, Any]:
    rule, text = page.rule, page.text.strip()
    summary = text.partition("\n")[0]
    what = " ".join(section(text, "What it does").split())
    described: dict[str, Any] = {
        "id": rule.code,
        "name": rule.name,
        "shortDescription": {"text": summary},
        "fullDescription": {"text": what or summary},
        "help": {"text": text, "markdown": f"# {rule.code} {rule.name}\n\n{text}"},
        "defaultConfiguration": {"level": str(rule.severity)},
        "properties": {
            "tags": [
                "memory",
                _family(page.module).replace("_", "-"),
                *(["preview"] if rule.preview else []),
            ],
            "problem.severity": _PROBLEM[rule.severity],
            "precision": "medium" if rule.preview else "high",
        },
    }
    address = rule_url(rule.code)
    if address:
        described["helpUri"] = address
    return described
