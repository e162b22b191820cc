"""What must hold of any program that is checked and mended."""

from __future__ import annotations

import ast
import tokenize
import warnings
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from io import StringIO
from pathlib import Path

from mutations import TooLong, limit

from oomlint.documents.python_file import Document, document_from_text
from oomlint.findings.applying import fix_document
from oomlint.findings.diagnostic import Diagnostic
from oomlint.findings.model import Safety
from oomlint.findings.registry import RegisteredRule
from oomlint.project.settings import Settings
from oomlint.syntax.parse import parse
from oomlint.testing import run_rules

ALL = {Safety.SAFE, Safety.UNSAFE}


@dataclass(slots=True)
class Seen:
    """What came of programs, all together. `dropped`: fixes that the engine did not take, by code and reason."""

    programs: int = 0
    found: Counter[str] = field(default_factory=Counter)
    mended: Counter[str] = field(default_factory=Counter)
    dropped: Counter[str] = field(default_factory=Counter)
    silenced: Counter[str] = field(default_factory=Counter)


class Checks:
    """All rules, previews among them, asked of one text at a time."""

    def __init__(self, rules: Sequence[RegisteredRule], seconds: int = 20) -> None:
        self.rules = rules
        self.seconds = seconds
        codes = (*(entry.code for entry in rules), "OOM001")
        self.settings = Settings(root=Path("/"), select=codes, preview=True)
        self.seen = Seen()

    def complaints(self, text: str, *, silence: int = 1, twice: bool = True) -> list[str]:
        """What is wrong with how a program is checked and mended; up to `silence` findings get a comment each."""
        try:
            with limit(self.seconds), warnings.catch_warnings():
                warnings.simplefilter("ignore")
                return self._complaints(text, silence, twice)
        except TooLong as error:
            return [f"took longer than {error}"]
        except AssertionError as error:
            return [f"internal error: {error}"]
        except Exception as error:
            return [f"{type(error).__name__}: {error}"]

    def check(self, document: Document) -> list[Diagnostic]:
        """What is found; an internal error is raised."""
        return run_rules(self.rules, document, settings=self.settings)

    def _complaints(self, text: str, silence: int, twice: bool) -> list[str]:
        document = document_from_text(text, "program.py")
        found = self.check(document)
        self.seen.programs += 1
        self.seen.found.update(one.code for one in found)
        wrong = [f"no Python: {one.message}" for one in found if one.code == "OOM001"]
        if twice and self.check(document_from_text(text, "program.py")) != found:
            wrong.append("another answer when it is asked again")
        for one in found:
            wrong += self._alone(document, one)
        offered = {one.fixable for one in found} - {None}
        for allowed in [{Safety.SAFE}] * (Safety.SAFE in offered) + [ALL] * (Safety.UNSAFE in offered):
            wrong += self._fixed(document, found, allowed)
        for one in found[:silence]:
            wrong += self._silenced(document, found, one)
        return wrong

    def _alone(self, document: Document, one: Diagnostic) -> list[str]:
        """One fix: the text is what splicing its edits gives, and is Python."""
        if not one.fixable:
            return []
        text, after = document.text, document.with_edits(list(one.edits)).text
        for edit in sorted(one.edits, reverse=True):
            text = text[: edit.start] + edit.text + text[edit.end :]
        if sorted(text) != sorted(after):  # what is put at one place may be put in another order
            return [f"{one.code}: more was changed than its edits"]
        try:
            spread = _spread(after) - _spread(document.text)
        except SyntaxError as error:
            return [f"{one.code}: its fix alone gives no Python: {error}"]
        # `**options` may go as a whole; that it becomes `**0` cannot be meant.
        return [f"{one.code}: its fix spreads out a {kind.__name__}" for kind in spread - {ast.Call}]

    def _fixed(self, document: Document, found: list[Diagnostic], allowed: set[Safety]) -> list[str]:
        def check(changed: Document) -> list[Diagnostic]:
            return found if changed is document else self.check(changed)

        outcome = fix_document(document, check, allowed)
        self.seen.mended.update(one.code for one in outcome.applied)
        wrong = []
        for dropped in outcome.dropped:
            self.seen.dropped[f"{dropped.finding.code} {dropped.reason[:50]}"] += 1
            if "would not parse" in dropped.reason or dropped.finding.safety is Safety.SAFE:
                wrong.append(f"{dropped.finding.code} was not mended: {dropped.reason}")
        if not outcome.changed:
            return wrong
        try:
            ast.parse(outcome.document.text)
            parse(outcome.document)
        except Exception as error:
            return [*wrong, f"the mended text is no Python: {error}"]
        if fix_document(outcome.document, self.check, allowed).changed:
            wrong.append("mended again it changes again")
        return wrong

    def _silenced(self, document: Document, found: list[Diagnostic], one: Diagnostic) -> list[str]:
        """A comment on the finding's row: it is silent, and nothing of another code is."""
        row = one.location.row
        text = commented(document.text, row, f"  # noqa: {one.code}")
        if text is None:
            return []
        self.seen.silenced[one.code] += 1
        after = Counter(
            (two.code, two.location, two.message)
            for two in self.check(document_from_text(text, "program.py"))
        )
        before = Counter((two.code, two.location, two.message) for two in found)
        gone = before - after
        if (one.code, one.location, one.message) not in gone:
            return [f"{one.code} in row {row} speaks in spite of its comment"]
        others = [code for code, _, _ in gone if code != one.code]
        if others or after - before:
            return [
                f"the comment for {one.code} in row {row} changed {others} and brought {list(after - before)}"
            ]
        return []


def _spread(text: str) -> set[type[ast.expr]]:
    """What kinds of expressions calls spread out with `*` and `**`."""
    calls = [node for node in ast.walk(ast.parse(text)) if isinstance(node, ast.Call)]
    starred = [part.value for call in calls for part in call.args if isinstance(part, ast.Starred)]
    return {
        type(one)
        for one in (*starred, *(word.value for call in calls for word in call.keywords if word.arg is None))
    }


def commented(text: str, row: int, comment: str) -> str | None:
    """The text with a comment at the end of a row; None where no comment can stand there, or one does."""
    rows = list(StringIO(text, newline=""))
    bare = text.removeprefix("\ufeff")
    try:
        tokens = list(
            tokenize.generate_tokens(StringIO(bare.replace("\r\n", "\n").replace("\r", "\n")).readline)
        )
    except (tokenize.TokenError, SyntaxError):
        return None
    inner = any(one.start[0] <= row < one.end[0] for one in tokens)
    if inner or any(one.type == tokenize.COMMENT and one.start[0] == row for one in tokens):
        return None
    if row > len(rows):
        return None
    line = rows[row - 1]
    body = line.rstrip("\r\n")
    if body.endswith("\\"):
        return None
    rows[row - 1] = body + comment + line[len(body) :]
    return "".join(rows)
