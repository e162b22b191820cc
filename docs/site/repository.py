"""Pages made of files that lie elsewhere in the checkout: the README, the changelog, the table of reports."""

from __future__ import annotations

import functools
import re
from pathlib import Path

from rule_pages import rules

ROOT = Path(__file__).resolve().parents[2]
# What the checkout's files link to, and where that is on the site.
_LINKS = {
    "fixtures/cases/README.md": "reports.md",
    "CONTRIBUTING.md": "contributing.md",
    "CHANGELOG.md": "changelog.md",
    "README.md": "index.md",
}
_LINK = re.compile(r"\]\((?!https?:|#)([^)#\s]+)(#[^)\s]*)?\)")
_REPORT = re.compile(r"\| (?:\[(\d+)\]\([^)]*\)|(\d+))((?: [\w.-]+/[\w.-]+#\d+)?) \| (\w+) \| (.*) \|")


def pages() -> dict[str, str]:
    """All of them."""
    return {
        "index.md": home(),
        "contributing.md": _moved((ROOT / "CONTRIBUTING.md").read_text("utf-8")),
        "changelog.md": _moved((ROOT / "CHANGELOG.md").read_text("utf-8")),
        "reports.md": reports(),
    }


def _moved(text: str) -> str:
    """Links between files of the checkout become links between pages."""

    def moved(part: re.Match[str]) -> str:
        target, anchor = part[1], part[2] or ""
        return f"]({_LINKS.get(target, target.removeprefix('docs/'))}{anchor})"

    return _LINK.sub(moved, text)


def titled(text: str) -> str:
    """The name of a file in a comment before its block becomes the block's title."""
    return re.sub(r"<!-- file: (\S+) -->\n(`{3,})(\w+)\n", r'\2\3 title="\1"\n', text)


def home() -> str:
    """The README; its table of rules is a page of its own here."""
    text = (ROOT / "README.md").read_text("utf-8")
    text = re.sub(
        r"<details>\n<summary>All rules</summary>\n\n<!-- rules -->\n.*?<!-- end -->\n\n</details>",
        f"[All {len(rules())} rules](rules/index.md), by family, each with its page.",
        text,
        flags=re.DOTALL,
    )
    assert "<!-- rules -->" not in text
    return _moved(text)


@functools.cache
def _rows() -> tuple[tuple[str, str, str, str], ...]:
    """Number, report, visible, outcome."""
    text = (ROOT / "fixtures" / "cases" / "README.md").read_text("utf-8")
    return tuple(
        (found[1] or found[2], found[3].strip(), found[4], found[5]) for found in _REPORT.finditer(text)
    )


def _cited(report: str) -> str:
    repository, _, number = report.partition("#")
    return f"[{report}](https://github.com/{repository}/issues/{number})"


def reports_of(code: str) -> list[str]:
    """Links to the public reports that a rule's fixtures retell."""
    return [_cited(report) for _, report, _, outcome in _rows() if report and code in outcome.split(", ")]


def reports() -> str:
    """The table of public reports."""
    text = (ROOT / "fixtures" / "cases" / "README.md").read_text("utf-8")
    head, _, rest = text.partition("<!-- table: begin -->")
    lines = [
        f"| {number} | {_cited(report) if report else ''} | {visible} | {outcome} |"
        for number, report, visible, outcome in _rows()
    ]
    table = "\n".join(["| | report | visible | outcome |", "|---|---|---|---|", *lines])
    return f"{head.strip()}\n\n{table}\n\n{rest.partition('<!-- table: end -->')[2].strip()}\n"
