"""`oomlint rule`: the page of a rule."""

from __future__ import annotations

import argparse
import json
import sys
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from oomlint.findings.model import Rule


def add_parser(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Describe the command."""
    parser = commands.add_parser("rule", help="explain a rule", description="Show a rule's page.")
    parser.set_defaults(run=run)
    which = parser.add_mutually_exclusive_group(required=True)
    which.add_argument("code", nargs="?", metavar="CODE", help="a code or a name, such as OOM301")
    which.add_argument("--all", action="store_true", help="all rules")
    parser.add_argument("--output-format", choices=("text", "json"), default="text", help="default: text")


def run(arguments: argparse.Namespace) -> int:
    """Print one page, or all."""
    from oomlint.findings.own import PAGES
    from oomlint.findings.registry import load_rules

    pages = dict(PAGES) | {entry.rule: entry.page for entry in load_rules()}
    wanted = sorted(pages, key=lambda rule: rule.code)
    if not arguments.all:
        wanted = [
            rule for rule in wanted if arguments.code.upper() == rule.code or arguments.code == rule.name
        ]
        if not wanted:
            from oomlint.project.options import nearest

            names = {name: rule for rule in pages for name in (rule.code, rule.name)}
            near = nearest(arguments.code, names)
            print(f"oomlint: no rule {arguments.code!r}: did you mean {near!r}?", file=sys.stderr)
            return 2
    if arguments.output_format == "json":
        records = [record(rule, pages[rule]) for rule in wanted]
        print(json.dumps(records if arguments.all else records[0], indent=2))
    else:
        print("\n\n".join(text(rule, pages[rule]) for rule in wanted))
    return 0


def fix_words(rule: Rule) -> str:
    """How the rule's findings can be mended."""
    if rule.fix is None:
        return "no fix"
    return {"safe": "safe fix", "unsafe": "unsafe fix", "display": "advice, no automatic fix"}[rule.fix.value]


def text(rule: Rule, page: str) -> str:
    """The page under its title."""
    preview = ", in preview" if rule.preview else ""
    return f"# {rule.code} {rule.name}\n\n({rule.severity}, {fix_words(rule)}{preview})\n\n{page.strip()}"


def record(rule: Rule, page: str) -> dict[str, Any]:
    """The same as data."""
    return {
        "code": rule.code,
        "name": rule.name,
        "summary": page.strip().partition("\n")[0],
        "severity": str(rule.severity),
        "fix": rule.fix.value if rule.fix else None,
        "preview": rule.preview,
        "explanation": page,
    }
