"""Quick fixes, fix all, and comments that suppress: what the editor offers for findings."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from lsprotocol import types as lsp

from oomlint.documents.python_file import Document, DocumentError
from oomlint.engine.fixing import fix
from oomlint.engine.live_run import LiveRun
from oomlint.findings.comments import Kind
from oomlint.findings.diagnostic import Diagnostic
from oomlint.findings.excuses import NOT_EXCUSABLE, excuse
from oomlint.findings.model import Safety
from oomlint.server.checking import Checked
from oomlint.server.diagnostics import SOURCE, Shown
from oomlint.server.edits import workspace_edit
from oomlint.server.options import Options

FIX_ALL = "source.fixAll.oomlint"
SHOW_RULE = "oomlint.showRule"
KINDS = [lsp.CodeActionKind.QuickFix, FIX_ALL]


@dataclass(frozen=True, slots=True)
class Offer:
    """What the offers for one file rest on."""

    checked: Checked
    options: Options
    encoding: str
    versioned: bool
    shows_pages: bool

    def quick_fixes(self, shown: Sequence[Shown], sent: Sequence[lsp.Diagnostic]) -> Iterator[lsp.CodeAction]:
        """For each finding its fix, a comment, and its rule's page. `sent` is what the editor asked about."""
        for one in shown:
            about = [other for other in sent if _same(other, one.sent)] or [one.sent]
            action = self._fix(one.diagnostic, about)
            if action is not None:
                yield action
        excused: set[tuple[str, int]] = set()
        for one in shown:
            key = (one.diagnostic.code, one.diagnostic.location.row)
            if one.diagnostic.code in NOT_EXCUSABLE or key in excused:
                continue
            excused.add(key)
            about = [other for other in sent if _same(other, one.sent)] or [one.sent]
            action = self._comment(one.diagnostic, about)
            if action is not None:
                yield action
        for code in dict.fromkeys(one.diagnostic.code for one in shown) if self.shows_pages else ():
            command = lsp.Command(f"Show the page of {code}", SHOW_RULE, arguments=[code])
            yield lsp.CodeAction(
                f"oomlint: show the page of {code}", lsp.CodeActionKind.QuickFix, command=command
            )

    def _fix(self, diagnostic: Diagnostic, about: list[lsp.Diagnostic]) -> lsp.CodeAction | None:
        safety = diagnostic.fixable
        if safety is None or diagnostic.fix is None:
            return None
        if safety is Safety.UNSAFE and not self.options.unsafe_fixes:
            return None
        edit = self._edit(lambda document: document.with_edits(diagnostic.edits))
        if edit is None:
            return None
        safe = safety is Safety.SAFE
        return lsp.CodeAction(
            f"{diagnostic.code}: {diagnostic.fix.message} ({'safe' if safe else 'unsafe'} fix)",
            lsp.CodeActionKind.QuickFix,
            diagnostics=about,
            is_preferred=safe or None,
            edit=edit,
        )

    def _comment(self, diagnostic: Diagnostic, about: list[lsp.Diagnostic]) -> lsp.CodeAction | None:
        kind = Kind.NOQA if self.options.comment == "noqa" else Kind.IGNORE
        edit = self._edit(lambda document: excuse(document, [diagnostic], kind).document)
        if edit is None:
            return None
        comment = f"noqa: {diagnostic.code}" if kind is Kind.NOQA else f"oomlint: ignore[{diagnostic.code}]"
        title = f"{diagnostic.code}: ignore on this line (# {comment})"
        return lsp.CodeAction(title, lsp.CodeActionKind.QuickFix, diagnostics=about, edit=edit)

    def _edit(self, change: Callable[[Document], Document]) -> lsp.WorkspaceEdit | None:
        if self.checked.opened is None or self.checked.document is None:
            return None
        try:
            after = change(self.checked.document)
        except (DocumentError, ValueError):
            return None
        return workspace_edit(self.checked.opened, after, self.encoding, versioned=self.versioned)

    def fix_all(self, run: LiveRun) -> lsp.WorkspaceEdit | None:
        """All safe fixes, tried out as `check --fix` does. `run` is over this document alone."""
        fixed = fix(run, frozenset((Safety.SAFE,)), to_disk=False)
        if not fixed.changed:
            return None
        return self._edit(lambda document: fixed.changed[0][1])


def _same(one: lsp.Diagnostic, other: lsp.Diagnostic) -> bool:
    return one.source == SOURCE and (one.range, one.code, one.message) == (
        other.range,
        other.code,
        other.message,
    )
