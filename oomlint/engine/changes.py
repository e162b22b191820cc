"""Which findings come from what changed since a git revision (`--changed-since`).

A finding counts when a row of its statement changed, or of the statement of one of its pieces of evidence: whoever
sets NUM_TRAIN to a million makes the shuffle three functions further down a mistake.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher
from pathlib import Path

from oomlint.documents.python_file import Document, DocumentError
from oomlint.documents.reading import document_of
from oomlint.findings.comments import Statement, read_comments
from oomlint.findings.diagnostic import Diagnostic
from oomlint.findings.own import INTERNAL_ERROR, SYNTAX_ERROR
from oomlint.project.git import Repository


@dataclass(slots=True)
class _Touched:
    """What changed in one version of a file. `gaps`: rows after which something was taken out."""

    document: Document
    rows: frozenset[int] | None  # None: all of them
    gaps: frozenset[int]
    statements: list[Statement]

    def touches(self, first: int, last: int) -> bool:
        if self.rows is None:
            return True
        index = bisect_right(self.statements, first, key=lambda statement: statement.first) - 1
        if index >= 0 and first <= self.statements[index].last:
            first = self.statements[index].first
            last = max(last, self.statements[index].last)
        return any(first <= row <= last for row in self.rows) or any(first <= gap < last for gap in self.gaps)


class Changes:
    """The working tree around `folder`, beside where it parted from a revision.

    `document_of` gives a file's text as the run has it.
    """

    def __init__(self, folder: Path, revision: str, current: Callable[[str], Document | None]) -> None:
        self._repository = Repository(folder)
        self._commit = self._repository.merge_base(revision)
        self._changed = self._repository.changed(self._commit)
        self._before = self._repository.files(self._commit)
        self._current = current
        self._known: dict[str, _Touched | None] = {}

    def keeps(self, diagnostics: Sequence[Diagnostic]) -> list[bool]:
        """For each of the findings whether it comes from the changes."""
        return [self._comes_from_them(diagnostic) for diagnostic in diagnostics]

    def _comes_from_them(self, diagnostic: Diagnostic) -> bool:
        if diagnostic.code == INTERNAL_ERROR.code:
            return True
        touched = self._touched(diagnostic.filename)
        if touched is not None:
            if diagnostic.code == SYNTAX_ERROR.code:
                return True  # what is wrong stands often above the row where the parser gives up
            lines, document = touched.document.lines, touched.document
            first = lines.row(document.offset(diagnostic.location))
            if touched.touches(first, lines.row(document.offset(diagnostic.end_location))):
                return True
        for note in diagnostic.evidence:
            if note.filename is not None and note.location is not None:
                touched = self._touched(note.filename)
                if touched is not None:
                    row = touched.document.lines.row(touched.document.offset(note.location))
                    if touched.touches(row, row):
                        return True
        return False

    def _touched(self, filename: str) -> _Touched | None:
        """What changed in a file; None where nothing did."""
        document = self._current(filename)
        if document is None:
            return None
        held = self._known.get(filename)
        if filename not in self._known or (held is not None and held.document is not document):
            held = self._known[filename] = self._compared(document)
        return held

    def _compared(self, document: Document) -> _Touched | None:
        path = self._repository.inside(document.path or Path(document.filename))
        if path is None:
            return None
        old = self._changed.get(path, path if path in self._before else None)
        if (
            old is not None
            and path not in self._changed
            and document.path is not None
            and self._is_on_disk(document)
        ):
            return None
        statements = read_comments(document, always=True).statements
        if old is None:
            return _Touched(document, None, frozenset(), statements)
        try:
            before = document_of(self._repository.content(self._commit, old), document.filename)
        except DocumentError:
            return _Touched(document, None, frozenset(), statements)
        rows, gaps = _differences(before, document)
        return _Touched(document, rows, gaps, statements) if rows or gaps else None

    @staticmethod
    def _is_on_disk(document: Document) -> bool:
        """Whether the run did not change the document (a fix that is not written yet)."""
        try:
            return document.path is not None and document.path.read_bytes() == document.raw
        except OSError:
            return False


def _differences(before: Document, after: Document) -> tuple[frozenset[int], frozenset[int]]:
    """The rows of `after` that are not in `before`, and the rows after which some of `before` are missing."""
    old, new = _rows(before), _rows(after)
    head = 0
    while head < min(len(old), len(new)) and old[head] == new[head]:
        head += 1
    tail = 0
    while tail < min(len(old), len(new)) - head and old[-1 - tail] == new[-1 - tail]:
        tail += 1
    matcher = SequenceMatcher(None, old[head : len(old) - tail], new[head : len(new) - tail], autojunk=False)
    rows: set[int] = set()
    gaps: set[int] = set()
    for tag, _, _, low, high in matcher.get_opcodes():
        if tag == "delete":
            gaps.add(head + low)
        elif tag != "equal":
            rows.update(range(head + low + 1, head + high + 1))
    return frozenset(rows), frozenset(gaps)


def _rows(document: Document) -> list[str]:
    lines = document.lines
    return [lines.text_of(row) for row in range(1, lines.count + 1)]
