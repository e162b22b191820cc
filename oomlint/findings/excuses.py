"""Comments that suppress findings, written into a file: where they count and where Python allows a comment.

`# noqa: CODE` counts on the row where a finding starts and on the first and last row of its statement; an own
`# oomlint: ignore[CODE]` on any row of it. A row can take a comment unless a string or a backslash carries it on.
flake8 and ruff want a noqa on the row where the finding starts, or where a string or backslashes there end, so that
is tried first.
"""

from __future__ import annotations

import ast
import re
import tokenize
from collections import defaultdict
from collections.abc import Container, Sequence
from dataclasses import dataclass, field

from oomlint.documents.python_file import Document, DocumentError
from oomlint.documents.python_syntax import SyntaxFault, parsed
from oomlint.documents.text_edits import TextEdit
from oomlint.findings.comments import Directive, Kind, Statement, read_comments, tokens
from oomlint.findings.diagnostic import Diagnostic
from oomlint.findings.own import INTERNAL_ERROR, SYNTAX_ERROR, UNUSED_SUPPRESSION
from oomlint.findings.suppressions import Suppressions

# A comment cannot answer these: the file's tokens are in doubt, a rule is broken, another comment is idle.
NOT_EXCUSABLE = frozenset({SYNTAX_ERROR.code, INTERNAL_ERROR.code, UNUSED_SUPPRESSION.code})

_WHY_NOT = {
    SYNTAX_ERROR.code: "a comment cannot suppress it; per-file-ignores and a baseline can",
    INTERNAL_ERROR.code: "a rule is broken",
    UNUSED_SUPPRESSION.code: "--fix removes that comment",
}

_LIKE_A_CODE = re.compile(r"[A-Za-z]+[0-9]+\b")


@dataclass(slots=True)
class Excused:
    """A document with comments added. `left`: findings that no comment of this kind can suppress, and why."""

    document: Document
    added: int = 0
    left: list[tuple[Diagnostic, str]] = field(default_factory=list)


def excuse(document: Document, diagnostics: Sequence[Diagnostic], kind: Kind, reason: str = "") -> Excused:
    """Add comments of a kind (NOQA or IGNORE) for findings of this document."""
    rows = _Rows(document)
    chosen: dict[tuple[int, Kind], set[str]] = defaultdict(set)
    outcome = Excused(document)
    spans = [_span(document, diagnostic) for diagnostic in diagnostics]
    wanted: list[tuple[Diagnostic, int, int]] = []
    for diagnostic, (first, last) in zip(diagnostics, spans):
        place = None
        if diagnostic.code not in NOT_EXCUSABLE:
            # Where a noqa has no place that counts (inside a long decorator), an own comment has.
            place = rows.place(first, last, kind) or rows.place(first, last, Kind.IGNORE)
        if place is None:
            outcome.left.append((diagnostic, _WHY_NOT.get(diagnostic.code, "no comment would count")))
        else:
            chosen[place].add(diagnostic.code)
            wanted.append((diagnostic, first, last))
    if not wanted:
        return outcome
    edits = [
        rows.comment(row, sorted(chosen[row, how]), how, reason) for row, how in sorted(chosen, key=_order)
    ]
    try:
        after = document.with_edits(edits)
    except (DocumentError, ValueError) as error:
        outcome.left += ((diagnostic, str(error)) for diagnostic, _, _ in wanted)
        return outcome
    sheet = Suppressions.of(after)
    # The promise is kept by looking, not by trust: the same program, and every finding answered.
    unanswered = [one for one, first, last in wanted if not sheet.covers(one.code, first, last, one.name)]
    if not _same_program(document, after) or unanswered:
        outcome.left += ((one, "a comment there would not count") for one in unanswered or diagnostics)
        return outcome
    outcome.document, outcome.added = after, len(wanted)
    return outcome


def _span(document: Document, diagnostic: Diagnostic) -> tuple[int, int]:
    """The rows of a finding in the text (those of its place may be rows of a notebook's cell)."""
    lines = document.lines
    return (
        lines.row(document.offset(diagnostic.location)),
        lines.row(document.offset(diagnostic.end_location)),
    )


def _order(place: tuple[int, Kind]) -> tuple[int, str]:
    return place[0], place[1].value


class _Rows:
    """Which rows of a document belong together, and what stands at their ends."""

    def __init__(self, document: Document) -> None:
        self.document = document
        comments = read_comments(document, always=True)
        self._statements = comments.statements
        self._directives = comments.directives
        self._logical: list[Statement] = []
        self._closed: set[int] = set()  # rows that a string or a backslash carries on
        self._comments: set[int] = set()
        self._read()

    def _read(self) -> None:
        lines = self.document.lines
        first = depth = 0
        opened = 0
        for token in tokens(self.document):
            row, last = token.start[0], token.end[0]
            name = tokenize.tok_name[token.type]
            if token.type == tokenize.COMMENT:
                self._comments.add(row)
            elif name in ("FSTRING_START", "TSTRING_START"):  # from Python 3.12 on they come in parts
                depth += 1
                opened = opened or row
            elif name in ("FSTRING_END", "TSTRING_END"):
                depth -= 1
                if not depth:
                    self._closed.update(range(opened, last))
                    opened = 0
            elif token.type == tokenize.STRING:
                self._closed.update(range(row, last))
            if token.type == tokenize.NEWLINE and first:
                self._logical.append(Statement(first, row))
                first = 0
            elif not first and token.type not in _BETWEEN:
                first = row
        for row in range(1, lines.count + 1):
            if row not in self._comments and lines.text_of(row).endswith("\\"):
                self._closed.add(row)

    def place(self, first: int, last: int, kind: Kind) -> tuple[int, Kind] | None:
        """The row whose comment suppresses a finding on these rows."""
        whole = _around(self._statements, first)
        logical = _around(self._logical, first)
        joined = first
        while joined in self._closed:
            joined += 1
        if kind is Kind.IGNORE:
            counting: Container[int] = range(whole.first, whole.last + 1)
            wishes: tuple[int, ...] = (joined, logical.last, whole.last)
        else:
            counting = {first, whole.first, whole.last} | ({last} if last <= whole.last else set())
            # A decorator is a statement of its own for other linters.
            wishes = tuple(
                row for row in (joined, logical.last, logical.first) if logical.first <= row <= logical.last
            )
        found = next((row for row in wishes if row in counting and row not in self._closed), None)
        return None if found is None else (found, kind)

    def comment(self, row: int, codes: Sequence[str], kind: Kind, reason: str) -> TextEdit:
        """The edit that names the codes at the end of a row: in the comment of this kind there, or in a new one."""
        held = next((one for one in self._directives if one.row == row and _takes_codes(one, kind)), None)
        if held is not None and held.selectors:
            between = ", "
            if len(held.selectors) > 1:
                between = self.document.text[held.selectors[0].end : held.selectors[1].start]
            end = held.selectors[-1].end
            return TextEdit(end, end, "".join(f"{between}{code}" for code in codes))
        lines = self.document.lines
        text = lines.text_of(row)
        start = lines.start(row) + len(text.rstrip())
        listed = ", ".join(codes)
        comment = f"# noqa: {listed}" if kind is Kind.NOQA else f"# oomlint: ignore[{listed}]"
        if reason:
            # A reason that starts like a code would be read as one.
            comment += f" - {reason}" if _LIKE_A_CODE.match(reason) else f" {reason}"
        return TextEdit(start, lines.end(row), f"  {comment}" if text.strip() else f"{text}{comment}")


_BETWEEN = frozenset((tokenize.NL, tokenize.INDENT, tokenize.DEDENT, tokenize.COMMENT, tokenize.ENDMARKER))


def _takes_codes(directive: Directive, kind: Kind) -> bool:
    return directive.kind is kind and bool(directive.selectors) and not directive.alone


def _around(statements: Sequence[Statement], row: int) -> Statement:
    return next((one for one in statements if one.first <= row <= one.last), Statement(row, row))


def _same_program(before: Document, after: Document) -> bool:
    try:
        return ast.dump(parsed(before.text)) == ast.dump(parsed(after.text))
    except (SyntaxFault, RecursionError, MemoryError):
        # Newer syntax than this Python's: the tokens have to say it.
        return _words(before) == _words(after)


def _words(document: Document) -> list[tuple[int, str]]:
    skipped = (tokenize.COMMENT, tokenize.NL)
    return [(token.type, token.string) for token in tokens(document) if token.type not in skipped]
