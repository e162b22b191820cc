"""What is changed in a document, as the edits of the protocol: as few lines as it takes."""

from __future__ import annotations

from collections.abc import Iterator
from difflib import SequenceMatcher
from typing import TYPE_CHECKING

from lsprotocol import types as lsp

from oomlint.documents.lines import LineIndex
from oomlint.server.positions import Sheet

if TYPE_CHECKING:
    from oomlint.documents.python_file import Document
    from oomlint.server.opened import Opened


def workspace_edit(
    opened: Opened, after: Document, encoding: str, *, versioned: bool
) -> lsp.WorkspaceEdit | None:
    """The edit that makes what is open into its changed document; None where nothing differs."""
    changed: list[tuple[Sheet, list[lsp.TextEdit]]] = []
    for number, text in opened.texts(after).items():
        sheet = opened.sheets[number]
        edits = list(_edits(sheet, text, encoding))
        if edits:
            changed.append((sheet, edits))
    if not changed:
        return None
    if not versioned:
        return lsp.WorkspaceEdit(changes={sheet.uri: edits for sheet, edits in changed})
    return lsp.WorkspaceEdit(
        document_changes=[
            lsp.TextDocumentEdit(
                lsp.OptionalVersionedTextDocumentIdentifier(sheet.uri, sheet.version), list(edits)
            )
            for sheet, edits in changed
        ]
    )


def _edits(sheet: Sheet, text: str, encoding: str) -> Iterator[lsp.TextEdit]:
    """The edits that make a text into another. Rows count from the sheet's own first one."""
    before = _rows(sheet.text.removeprefix("\ufeff"), sheet.lines if sheet.text[:1] != "\ufeff" else None)
    after = _rows(text.removeprefix("\ufeff"), None)
    matcher = SequenceMatcher(None, before, after, autojunk=False)
    for tag, low, high, new_low, new_high in matcher.get_opcodes():
        if tag == "equal":
            continue
        old, new = "".join(before[low:high]), "".join(after[new_low:new_high])
        start, end = _common(old, new)
        first, last = _after(low, old[:start]), _after(low, old[: len(old) - end])
        yield lsp.TextEdit(
            lsp.Range(sheet.position(*first, encoding), sheet.position(*last, encoding)),
            new[start : len(new) - end],
        )


def _rows(text: str, lines: LineIndex | None) -> list[str]:
    lines = lines or LineIndex(text)
    return [text[lines.start(row) : lines.next_start(row)] for row in range(1, lines.count + 1)]


def _common(old: str, new: str) -> tuple[int, int]:
    """How much of two texts is the same at their start and, besides, at their end. No `\\r\\n` is cut in two."""
    most = min(len(old), len(new))
    start = next((index for index in range(most) if old[index] != new[index]), most)
    while start and "\r\n" in (old[start - 1 : start + 1], new[start - 1 : start + 1]):
        start -= 1
    most -= start
    end = next((index for index in range(most) if old[-1 - index] != new[-1 - index]), most)
    while end and (old[len(old) - end - 1 :][:2] == "\r\n" or new[len(new) - end - 1 :][:2] == "\r\n"):
        end -= 1
    return start, end


def _after(row: int, text: str) -> tuple[int, int]:
    """Row and column (from 1) behind some text that starts at the start of a row (from 0)."""
    index = LineIndex(text)
    return row + index.count, len(text) - index.start(index.count) + 1
