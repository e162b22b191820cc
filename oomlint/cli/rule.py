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
    from oomlint.findings.pages import pages
    from oomlint.findings.registry import rule_problems

    texts = {page.rule: page.text for page in pages().values()}
    wanted = list(texts)
    if not arguments.all:
        wanted = [
            rule for rule in wanted if arguments.code.upper() == rule.code or arguments.code == rule.name
        ]
        if not wanted:
            from oomlint.project.options import nearest

            names = {name: rule for rule in texts for name in (rule.code, rule.name)}
            near = nearest(arguments.code, names)
            print(f"oomlint: no rule {arguments.code!r}: did you mean {near!r}?", file=sys.stderr)
            _complain(rule_problems())
            return 2
    if arguments.output_format == "json":
        records = [record(rule, texts[rule]) for rule in wanted]
        print(json.dumps(records if arguments.all else records[0], indent=2))
    else:
        print("\n\n".join(_shown(text(rule, texts[rule])) for rule in wanted))
    if arguments.all:
        _complain(rule_problems())
        return 2 if rule_problems() else 0
    return 0


def _shown(page: str) -> str:
    """As it is, or for the terminal that it is read on."""
    from oomlint.report.style import Style, wants_colour

    if not wants_colour(sys.stdout):
        return page
    import shutil

    from oomlint.report.page_text import render

    return render(page, Style(True), shutil.get_terminal_size().columns)


def _complain(problems: tuple[str, ...]) -> None:
    for problem in problems:
        print(f"oomlint: {problem}", file=sys.stderr)


def fix_words(rule: Rule) -> str:
    """How the rule's findings can be mended."""
    if rule.fix is None:
        return "no fix"
    return {"safe": "safe fix", "unsafe": "unsafe fix", "display": "advice, no automatic fix"}[rule.fix.value]


def text(rule: Rule, page: str) -> str:
    """The page under its title."""
    from oomlint.findings.rule_options import described

    preview = ", in preview" if rule.preview else ""
    title = f"# {rule.code} {rule.name}\n\n({rule.severity}, {fix_words(rule)}{preview})"
    return "\n\n".join(part.strip() for part in (title, page, described(rule)) if part)


def record(rule: Rule, page: str) -> dict[str, Any]:
    """The same as data."""
    return {
        "code": rule.code,
        "name": rule.name,
        "summary": page.strip().partition("\n")[0],
        "severity": str(rule.severity),
        "fix": rule.fix.value if rule.fix else None,
        "preview": rule.preview,
        "options": [
            {"name": one.name, "takes": one.takes, "default": one.default, "about": one.about}
            for one in rule.options
        ],
        "explanation": page,
    }
