"""What is found in a program and in a rewriting of it, in words in which the two must agree."""

from __future__ import annotations

import ast
import re
from collections import Counter
from collections.abc import Iterable
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

from fixture_files import FIXTURES, WITH_RECORDS, Fixture, modules
from metamorphic.code import Code, Rewriting, Traced
from metamorphic.notebook import notebook_of

from oomlint.documents.lines import LineIndex
from oomlint.documents.notebook import Notebook
from oomlint.documents.python_file import Document, document_from_text
from oomlint.findings.diagnostic import Diagnostic
from oomlint.findings.registry import RegisteredRule, load_rules
from oomlint.project.settings import Settings
from oomlint.syntax.parse import parse
from oomlint.testing import generation, run_rules


class Said(NamedTuple):
    """A finding. `statement`: the row of the first text where the innermost statement starts, with its text."""

    code: str
    severity: str
    statement: str
    message: str

    def __str__(self) -> str:
        return f"{self.code} {self.severity} at {self.statement}: {self.message}"


@cache
def rules() -> tuple[RegisteredRule, ...]:
    return tuple(load_rules())


class Neighbours:
    """The modules beside a script: those of a rewriting, else those of the folder."""

    def __init__(self, folder: Path, texts: dict[str, str]) -> None:
        self._folder = folder
        self._texts = texts
        self._parsed: dict[str, Any] = {}
        self._others = modules(folder)

    def peek(self, importer: Document, module: str, level: int) -> Document | None:
        if module in self._texts:
            path = self._folder / (module.replace(".", "/") + ".py")
            return document_from_text(self._texts[module], str(path))
        return self._others.peek(importer, module, level)

    def resolve(self, importer: Document, module: str, level: int) -> Any:
        if module not in self._texts:
            return self._others.resolve(importer, module, level)
        if module not in self._parsed:
            document = self.peek(importer, module, level)
            assert document is not None
            self._parsed[module] = parse(document)
        return self._parsed[module]


class Subject:
    """A script that is rewritten: its text, where it lies, and what is found in it as it is."""

    def __init__(self, path: Path, fixture: Fixture | None = None, text: str | None = None) -> None:
        self.path = path
        self.fixture = fixture
        self.text = path.read_text("utf-8") if text is None else text
        self.code = Code(Traced.first(self.text))
        wanted = generation(self.text)
        codes = tuple(entry.code for entry in rules())
        self.settings = Settings(
            root=FIXTURES,
            select=(*codes, "OOM001"),
            preview=True,
            target_keras=(wanted,) if wanted else None,
        )
        self._before: dict[bool, Counter[Said]] = {}
        self._statements = _statements(self.code)

    @property
    def name(self) -> str:
        return f"{self.path.parent.name}/{self.path.name}"

    def differences(self, rewriting: Rewriting) -> list[str]:
        """What is found in the script or in its rewriting, and not in the other one."""
        # An estimate's slice is made of files: those that there are.
        moved = len(rewriting.files) > 1
        estimated = not moved and not rewriting.notebook
        if estimated not in self._before:
            self._before[estimated] = self.found(estimated=estimated)
        before = self._before[estimated]
        after = self.found(rewriting, estimated=estimated)
        if moved:  # as `oomlint check .` does; by itself a module knows fewer numbers, and not its callers
            alone = {(one.code, one.severity, one.statement) for one in self._found_in_modules(rewriting)}
            after |= Counter(one for one in before if one[:3] in alone)
        return differences(before, after, moved=moved)

    def diagnostics(self) -> list[Diagnostic]:
        """The findings in the script as it is."""
        resolver: Any = Neighbours(self.path.parent, {})
        return run_rules(
            rules(), document_from_text(self.text, str(self.path)), settings=self.settings, resolver=resolver
        )

    def found(self, rewriting: Rewriting | None = None, *, estimated: bool = True) -> Counter[Said]:
        """The findings of all rules in the script, or in a rewriting of it."""
        if rewriting is None:
            rewriting = Rewriting({"script": self.code.traced})
        others = {name: text.text for name, text in rewriting.files.items() if name != "script"}
        script = rewriting.script.text
        document: Document = document_from_text(script, str(self.path))
        if rewriting.notebook:
            document = notebook_of(script, str(self.path.with_suffix(".ipynb")))
        resolver: Any = Neighbours(self.path.parent, others)
        estimate = None
        if self.fixture is not None and self.fixture.code in WITH_RECORDS and estimated:
            estimate = self.fixture.estimate
        diagnostics = run_rules(
            rules(), document, settings=self.settings, resolver=resolver, estimate=estimate
        )
        return Counter(set(self._said(diagnostics, document, rewriting)))

    def _found_in_modules(self, rewriting: Rewriting) -> Counter[Said]:
        found: Counter[Said] = Counter()
        texts = {name: text.text for name, text in rewriting.files.items() if name != "script"}
        resolver: Any = Neighbours(self.path.parent, texts)
        for name, text in texts.items():
            module = document_from_text(text, str(self.path.with_name(f"{name}.py")))
            diagnostics = run_rules(rules(), module, settings=self.settings, resolver=resolver)
            found |= Counter(set(self._said(diagnostics, module, rewriting)))
        return found

    def _said(
        self, diagnostics: Iterable[Diagnostic], document: Document, rewriting: Rewriting
    ) -> Iterable[Said]:
        own = {name if name != "script" else self.path.stem: name for name in rewriting.files}
        for found in diagnostics:
            name = own.get(Path(found.filename).stem)
            row = found.location.row
            if name is None:
                statement = f"{Path(found.filename).name}:{row}"
            else:
                text = rewriting.files[name]
                if isinstance(document, Notebook) and name == "script":
                    offset = document.offset(found.location)
                    inside = document.text
                    assert inside == text.text or rewriting.notebook
                    statement = self._statement_of_cell(document, found, text)
                else:
                    offset = LineIndex(text.text).offset(row, found.location.column)
                    statement = self._statement(text.origins[min(offset, len(text) - 1)])
            yield Said(
                found.code, str(found.severity), statement, _in_old_words(found.message, rewriting.names)
            )

    def _statement_of_cell(self, document: Notebook, found: Diagnostic, text: Traced) -> str:
        above = sum(
            source.count("\n")
            for number, source in document.sources().items()
            if number < found.location.cell
        )
        offset = LineIndex(text.text).offset(above + found.location.row, found.location.column)
        return self._statement(text.origins[offset])

    def _statement(self, origin: int) -> str:
        if origin < 0:
            return "nowhere"
        holders = [(end - start, start) for start, end in self._statements if start <= origin < end]
        if not holders:
            return f"offset {origin}"
        start = min(holders)[1]
        index = LineIndex(self.text)
        row = index.row(start)
        return f"{row}: {index.text_of(row).strip()[:60]}"


def _statements(code: Code) -> list[tuple[int, int]]:
    return [
        (code.row_start(code.first_row(node)) if getattr(node, "decorator_list", ()) else code.span(node)[0],
         code.span(node)[1])
        for node in code.of(ast.stmt)
    ]  # fmt: skip


def _in_old_words(message: str, names: dict[str, str]) -> str:
    message = message.replace('"', "'")  # code in messages has the script's quotes
    names = {new.replace('"', "'"): old.replace('"', "'") for new, old in names.items()}
    if not names:
        return message
    longest = sorted(names, key=len, reverse=True)
    pattern = "|".join(rf"(?<!\w){re.escape(name)}(?!\w)" for name in longest)
    return re.sub(pattern, lambda found: names[found[0]], message)


def differences(before: Counter[Said], after: Counter[Said], *, moved: bool = False) -> list[str]:
    """What one has and the other has not.

    What a process does with its GPUs is said in the script, at what leads to the mistake: where statements `moved`
    to another module, that is another statement than it was.
    """
    if moved:
        before, after = (
            Counter({said._replace(statement="") if said.code.startswith("OOM1") else said for said in found})
            for found in (before, after)
        )
    return [f"- {said}" for said in sorted(before - after)] + [f"+ {said}" for said in sorted(after - before)]
