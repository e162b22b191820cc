"""Rule pages and findings as Markdown, for hovers and for reading a page in the editor."""

from __future__ import annotations

import re
import tempfile
from collections.abc import Iterable, Iterator
from functools import cache
from pathlib import Path

import oomlint
from oomlint.documents.python_file import Document
from oomlint.findings.comments import Directive, read_comments
from oomlint.findings.model import Safety
from oomlint.findings.pages import Page, pages, section
from oomlint.findings.rule_options import described
from oomlint.report.pages import rule_url
from oomlint.server.diagnostics import FindSheet, Shown
from oomlint.server.uris import uri_of

_FIX = {
    Safety.SAFE: "safe fix",
    Safety.UNSAFE: "unsafe fix",
    Safety.DISPLAY: "to be mended by hand",
}
_CODE_SPAN = re.compile(r"(`[^`]*`)")


@cache
def rules() -> dict[str, Page]:
    """Every rule and its page, by code; a hover asks at each move of the mouse."""
    return pages()


def page(code: str) -> str | None:
    """The whole page of a rule."""
    if code not in rules():
        return None
    rule, text, _ = rules()[code]
    return f"# {code} {rule.name}\n\n{text.strip()}\n\n{described(rule)}".rstrip() + "\n"


def written_page(code: str) -> str | None:
    """The address of a rule's page: on the web where the documentation is there, else a file that is made for it."""
    address = rule_url(code)
    text = page(code)
    if address or text is None:
        return address
    folder = Path(tempfile.gettempdir()) / f"oomlint-{oomlint.__version__}-rules"
    folder.mkdir(mode=0o700, exist_ok=True)
    file = folder / f"{code}.md"
    file.write_text(text, encoding="utf-8")
    return uri_of(str(file))


def _title(code: str) -> str:
    address = rule_url(code)
    name = f"[{code}]({address})" if address else code
    return f"**{name}** {rules()[code].rule.name}"


def _short(code: str) -> str:
    """What a rule is about, without examples."""
    text = rules()[code].text
    summary = text.strip().partition("\n")[0]
    why = section(text, "Why is this bad?").partition("\n\n")[0]
    return f"*{summary}*\n\n{why}" if why else f"*{summary}*"


def escaped(text: str) -> str:
    """Text that Markdown shows as it is; what stands in backticks stays code."""
    parts = _CODE_SPAN.split(text)
    return "".join(
        part if odd else re.sub(r"([\\*_<\[\]#|~])", r"\\\1", part) for odd, part in _numbered(parts)
    )


def _numbered(parts: Iterable[str]) -> Iterator[tuple[bool, str]]:
    return ((index % 2 == 1, part) for index, part in enumerate(parts))


def about_finding(shown: Shown, find: FindSheet) -> str:
    """A finding with its evidence, and what its rule is about."""
    found = shown.diagnostic
    known = found.code in rules()
    title = _title(found.code) if known else f"**{found.code}**"
    lines = [f"{title} · {found.severity}", "", escaped(found.message), ""]
    for note in found.evidence:
        where = ""
        if note.filename is not None and note.location is not None:
            sheet = find(note.filename, note.location)
            label = f"{Path(note.filename).name}:{note.location.row}"
            if note.location.cell:
                label = f"cell {note.location.cell}:{note.location.row}"
            where = f" ([{label}]({sheet.uri}#L{note.location.row}))" if sheet else f" ({label})"
        lines.append(f"- {escaped(note.text)}{where}")
    if found.help:
        lines += ["", f"**Help:** {escaped(found.help)}"]
    if found.fix is not None:
        safety = found.fixable or Safety.DISPLAY
        lines += ["", f"**Fix:** {escaped(found.fix.message)} ({_FIX[safety]})"]
    if known:
        lines += ["", "---", "", _short(found.code)]
    return "\n".join(lines)


def about_comment(directive: Directive) -> str:
    """The rules that a suppression names."""
    if directive.selectors is None:
        return f"Suppresses every finding of oomlint here (`{directive.kind.value}`)."
    lines = []
    for selector in directive.selectors:
        wanted = selector.text.upper()
        meant = [
            code
            for code, found in rules().items()
            if code == wanted or found.rule.name == selector.text.lower()
        ]
        if meant:
            lines += [_title(meant[0]), "", _short(meant[0]), ""]
            continue
        under = sorted(code for code in rules() if code.startswith(wanted) or wanted == "ALL")
        if under:
            lines += [f"**{wanted}**: {len(under)} rules, {under[0]} to {under[-1]}", ""]
        elif wanted.startswith("OOM"):
            lines += [f"No rule is called `{selector.text}`.", ""]
    return "\n".join(lines).strip()


def comment_at(document: Document, offset: int) -> Directive | None:
    """The suppression comment at an offset."""
    return next((one for one in read_comments(document).directives if one.start <= offset <= one.end), None)
