"""Which findings the comments of a file suppress, and which comments suppress nothing."""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from collections.abc import Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass

from oomlint.documents.python_file import Document
from oomlint.documents.text_edits import TextEdit
from oomlint.findings.comments import Comments, Directive, Kind, Selector, Statement, read_comments

CODE = "OOM000"
NAME = "unused-suppression"

_PREFIX = re.compile(r"[A-Z]+[0-9]*")


@dataclass(frozen=True, slots=True)
class Unused:
    """A comment, or a part of one, that suppresses nothing. `fix` says what `edits` do."""

    message: str
    start: int
    end: int
    fix: str
    edits: tuple[TextEdit, ...]


class Suppressions:
    """The suppressing comments of one document. Remembers which of them were needed.

    Without `noqa` those of that name suppress nothing, because the caller goes by them itself (flake8); which of
    them are needed is still known.
    """

    def __init__(self, document: Document, comments: Comments, *, noqa: bool = True) -> None:
        self._document = document
        self._noqa = noqa
        self._directives = comments.directives
        self._statements = comments.statements
        self._first_rows = [statement.first for statement in comments.statements]
        # Where each comment may apply, so that a finding asks its own and not those of the whole file.
        self._on_row: dict[int, list[Directive]] = {}
        self._switches: list[Directive] = []
        self._everywhere: list[Directive] = []
        for directive in comments.directives:
            if directive.kind in (Kind.DISABLE, Kind.ENABLE):
                self._switches.append(directive)
            elif directive.kind is Kind.SKIP_FILE:
                self._everywhere.append(directive)
            else:
                self._on_row.setdefault(directive.row, []).append(directive)
        self._rows = sorted(self._on_row)
        self._switched: dict[tuple[str, str], list[tuple[Directive, Selector | None]]] = {}
        self._above = self._by_row_below()
        self._used: set[tuple[Directive, Selector | None]] = set()

    @classmethod
    def of(cls, document: Document, *, noqa: bool = True, heeded: bool = True) -> Suppressions:
        """Read a document's comments; none of them if they are not to be heeded."""
        comments = read_comments(document) if heeded else Comments([], [])
        return cls(document, comments, noqa=noqa)

    @property
    def skip_file(self) -> bool:
        """Whether the file asks to be left out."""
        return any(directive.kind is Kind.SKIP_FILE for directive in self._directives)

    def covers(self, code: str, first_line: int, last_line: int, name: str = "") -> bool:
        """Whether a finding on these lines is suppressed. Marks what suppressed it as needed.

        A comment at the first or last line of the finding's statement counts, and one on the line where the
        finding starts; ``ignore[...]`` counts on any line of the statement.
        """
        if not self._directives:
            return False
        statement = self._statement(first_line)
        rows = {first_line, statement.first, statement.last}
        if last_line <= statement.last:
            rows.add(last_line)
        covered = False
        for directive in self._near(rows, statement):
            hits = _hits(directive, code, name)
            if hits:
                covered = covered or self._noqa or directive.kind is not Kind.NOQA
                self._used.update((directive, hit) for hit in hits)
        switch = self._switch(code, first_line, name)
        if switch is not None and switch[0].kind is Kind.DISABLE:
            covered = True
            self._used.add(switch)
        return covered

    def unused(self, active: AbstractSet[str], known: Mapping[str, str]) -> list[Unused]:
        """What suppressed nothing, to be asked when all findings have been.

        `active`: the codes that were looked for; only they can be missed. `known`: the name of each code that
        exists. A prefix is unused when all known codes it stands for were looked for.
        """
        found = []
        for directive in self._directives:
            if directive.kind in (Kind.SKIP_FILE, Kind.ENABLE):
                continue
            if directive.selectors is None:
                # A bare noqa may be there for another linter.
                idle = directive.kind is not Kind.NOQA and (directive, None) not in self._used
                if idle and active >= known.keys() - {CODE}:
                    found.append(self._whole(directive, f"{self._quoted(directive)} suppresses nothing"))
                continue
            unknown, idle_ones = self._idle(directive, directive.selectors, active, known)
            if unknown or idle_ones:
                found.append(self._report(directive, directive.selectors, unknown, idle_ones))
        return found

    def _statement(self, row: int) -> Statement:
        index = bisect_right(self._first_rows, row) - 1
        if index >= 0 and row <= self._statements[index].last:
            return self._statements[index]
        return Statement(row, row)

    def _near(self, rows: AbstractSet[int], statement: Statement) -> Iterator[Directive]:
        """The comments, switches left out, that speak of a finding of a statement; `rows` are those of its noqa."""
        yield from self._everywhere
        for row in rows:
            yield from (one for one in self._on_row.get(row, ()) if one.kind is Kind.NOQA)
        for row in self._rows[
            bisect_left(self._rows, statement.first) : bisect_right(self._rows, statement.last)
        ]:
            yield from (one for one in self._on_row[row] if one.kind is Kind.IGNORE)
        yield from self._above.get(statement.first, ())

    def _switch(self, code: str, row: int, name: str) -> tuple[Directive, Selector | None] | None:
        """The last word before a row of what switches a code off and on."""
        known = self._switched.get((code, name))
        if known is None:
            known = self._switched[code, name] = [
                (directive, hits[0]) for directive in self._switches if (hits := _hits(directive, code, name))
            ]
        index = bisect_right(known, row, key=lambda switch: switch[0].row)
        return known[index - 1] if index else None

    def _by_row_below(self) -> dict[int, list[Directive]]:
        """`ignore` comments that have their row for themselves, by the first row below that is no comment."""
        # Below such a comment no string is open, so that a row which starts with a # is a comment too.
        lines = self._document.lines
        found: dict[int, list[Directive]] = {}
        last, below = 0, 0
        for directive in sorted(self._directives, key=lambda directive: -directive.row):
            if directive.kind is not Kind.IGNORE or not directive.alone:
                continue
            row = last if directive.row == last else directive.row + 1
            while row != last and row <= lines.count and lines.text_of(row).lstrip().startswith("#"):
                row += 1
            below = below if row == last else row
            last = directive.row
            found.setdefault(below, []).append(directive)
        return found

    def _idle(
        self,
        directive: Directive,
        selectors: Sequence[Selector],
        active: AbstractSet[str],
        known: Mapping[str, str],
    ) -> tuple[list[Selector], list[Selector]]:
        """The selectors that name no rule, and those that suppressed nothing."""
        unknown, idle = [], []
        ours = {code[:3] for code in known}
        for selector in selectors:
            if directive.kind is Kind.NOQA and selector.text.upper()[:3] not in ours:
                continue  # another linter's
            meant = {code for code, name in known.items() if _selects(selector.text, code, name)}
            if not meant and not _selects(selector.text, CODE, NAME):
                unknown.append(selector)
            elif meant - {CODE} and (directive, selector) not in self._used and meant - {CODE} <= active:
                idle.append(selector)
        return unknown, idle

    def _report(
        self,
        directive: Directive,
        selectors: Sequence[Selector],
        unknown: list[Selector],
        idle: list[Selector],
    ) -> Unused:
        parts = []
        if unknown:
            parts.append(f"no rule is called {_listed(unknown)}")
        if len(idle) == len(selectors):
            parts.append(f"{self._quoted(directive)} suppresses nothing")
        elif idle:
            parts.append(f"{_listed(idle)} suppress{'es' if len(idle) == 1 else ''} nothing here")
        message = "; ".join(parts)
        message = message[0].upper() + message[1:]
        bad = sorted([*unknown, *idle], key=lambda selector: selector.start)
        kept = [selector for selector in selectors if selector not in bad]
        if not kept:
            return self._whole(directive, message)
        text = self._document.text
        between = text[selectors[0].end : selectors[1].start]
        edit = TextEdit(
            selectors[0].start, selectors[-1].end, between.join(selector.text for selector in kept)
        )
        return Unused(message, bad[0].start, bad[-1].end, f"Remove {_listed(bad)}", (edit,))

    def _whole(self, directive: Directive, message: str) -> Unused:
        edits = [self._removal(directive)]
        if directive.kind is Kind.DISABLE:
            edits += (self._removal(partner) for partner in self._ends(directive))
        return Unused(message, directive.start, directive.end, "Remove the comment", tuple(edits))

    def _ends(self, directive: Directive) -> list[Directive]:
        """The `enable` that ends a `disable` and has no other use."""
        wanted = _texts(directive)
        for other in self._directives[self._directives.index(directive) + 1 :]:
            if other.kind in (Kind.DISABLE, Kind.ENABLE) and _texts(other) == wanted:
                return [other] if other.kind is Kind.ENABLE else []
        return []

    def _removal(self, directive: Directive) -> TextEdit:
        lines, text = self._document.lines, self._document.text
        row_start, row_end = lines.start(directive.row), lines.end(directive.row)
        before, after = text[row_start : directive.start], text[directive.end : row_end]
        if after.strip():
            blanks = len(after) - len(after.lstrip())
            return TextEdit(directive.start, directive.end + blanks, "")
        if before.strip():
            return TextEdit(row_start + len(before.rstrip()), row_end, "")
        return TextEdit(row_start, lines.next_start(directive.row), "")

    def _quoted(self, directive: Directive) -> str:
        end = directive.end
        if directive.selectors:
            end = directive.selectors[-1].end
        text = self._document.text[directive.start : end]
        return f"`{text}{']' if '[' in text and ']' not in text else ''}`"


def _hits(directive: Directive, code: str, name: str) -> list[Selector | None]:
    if directive.selectors is None:
        # `ignore` must not hide that it is itself unused.
        return [None] if code != CODE or directive.kind is Kind.NOQA else []
    return [selector for selector in directive.selectors if _selects(selector.text, code, name)]


def _selects(text: str, code: str, name: str) -> bool:
    upper = text.upper()
    if code == CODE:
        # Said outright: a prefix would hide that it is itself unused.
        return upper == CODE or text.lower() == NAME
    if upper == "ALL":
        return True
    return bool(_PREFIX.fullmatch(upper) and code.startswith(upper)) or text.lower() == name != ""


def _texts(directive: Directive) -> frozenset[str] | None:
    if directive.selectors is None:
        return None
    return frozenset(selector.text.upper() for selector in directive.selectors)


def _listed(selectors: Sequence[Selector]) -> str:
    return ", ".join(f"`{selector.text}`" for selector in selectors)
