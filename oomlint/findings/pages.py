"""The rules that there are, oomlint's own codes and the installed ones, each with its page."""

from __future__ import annotations

import re
from typing import NamedTuple

from oomlint.findings.model import Rule
from oomlint.findings.own import PAGES
from oomlint.findings.registry import load_rules


class Page(NamedTuple):
    """A rule, its page as Markdown, and the module it comes from."""

    rule: Rule
    text: str
    module: str = "oomlint"


def pages() -> dict[str, Page]:
    """Every rule by its code, in the order of codes."""
    found = {rule.code: Page(rule, text) for rule, text in PAGES.items()}
    found |= {entry.code: Page(entry.rule, entry.page, entry.module) for entry in load_rules()}
    return dict(sorted(found.items()))


def section(text: str, title: str) -> str:
    """What stands on a page under a heading; nothing where it has none of that name."""
    for part in re.split(r"^## ", text, flags=re.MULTILINE)[1:]:
        heading, _, body = part.partition("\n")
        if heading.strip() == title:
            return body.strip()
    return ""
