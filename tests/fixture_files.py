"""The fixtures: where they are, what they are for, and how one is checked."""

from __future__ import annotations

import functools
import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from oomlint.documents.python_file import Document, document_from_text, read_document
from oomlint.dryrun import Trace
from oomlint.engine.estimating import Estimator
from oomlint.engine.resolver import Consulted, ProjectModules
from oomlint.estimate.request import Request
from oomlint.estimate.result import Estimate
from oomlint.findings.diagnostic import Diagnostic
from oomlint.findings.estimates import Estimated
from oomlint.findings.registry import RegisteredRule
from oomlint.project.settings import Settings
from oomlint.syntax.parse import parse
from oomlint.syntax.source import Source
from oomlint.testing import fix_text, generation, rules_named, run_rules

ROOT = Path(__file__).parent.parent
FIXTURES = ROOT / "fixtures"
_FOLDER = re.compile(r"(OOM\d{3})-[a-z0-9-]+")
WITH_RECORDS = ("OOM601",)  # rules whose fixtures have recorded estimates beside them
KINDS = ("bad", "good", "like", "fixed")


@dataclass(frozen=True)
class Fixture:
    """One file of a rule's folder that is checked; what it imports from beside it is not."""

    path: Path

    @property
    def code(self) -> str:
        """The rule it is for."""
        found = _FOLDER.fullmatch(self.path.parent.name)
        assert found is not None
        return found[1]

    @property
    def kind(self) -> str:
        """bad, good, like or fixed."""
        return self.path.stem.partition("_")[0]

    @property
    def id(self) -> str:
        """How pytest names it."""
        return f"{self.code}-{self.path.stem}"

    @property
    def fixed(self) -> Path:
        """What a bad one becomes."""
        return self.path.with_name(self.path.name.replace("bad", "fixed", 1))

    @property
    def rules(self) -> tuple[RegisteredRule, ...]:
        """Its rule, alone."""
        return rules_named([self.code])

    def estimate(self, trace: Trace, settings: Settings) -> Estimated | None:
        """The estimate that was recorded beside it: for a text that has become the fixed one, that one's."""
        path = self.path
        if self.kind == "bad" and self.fixed.exists():
            if trace.source.document.text == read_document(self.fixed).text:
                path = self.fixed
        return recorded(path.with_suffix(".json"), trace, settings)

    def document(self, text: str | None = None) -> Document:
        """As it lies on disk, or with another text in its place."""
        if text is None:
            return read_document(self.path)
        return document_from_text(text, str(self.path))

    def check(self, text: str | None = None) -> list[Diagnostic]:
        """The findings of its rule."""
        document = self.document(text)
        return run_rules(
            self.rules,
            document,
            settings=settings(self.code, document.text),
            resolver=modules(self.path.parent),
            estimate=self.estimate if self.code in WITH_RECORDS else None,
        )

    def mend(self, path: Path | None = None) -> str:
        """What its rule's fixes make of it."""
        document = read_document(path or self.path)
        return fix_text(
            self.rules,
            document,
            settings=settings(self.code, document.text),
            resolver=modules(self.path.parent),
            estimate=self.estimate if self.code in WITH_RECORDS else None,
        )


def recorded(path: Path, trace: Trace, settings: Settings) -> Estimated | None:
    """All of an estimate but the child process, whose answer `tests/record_estimates.py` wrote down."""

    def ask(request: Request, folders: Sequence[Path]) -> Estimate:
        return Estimate.from_json(path.read_text("utf-8"))

    estimator = Estimator(read_document, ask)
    found = estimator(trace, settings)
    assert not estimator.remarks, estimator.remarks
    return found


def settings(code: str, text: str) -> Settings:
    """The rule alone, for the Keras generation that the script's header names."""
    wanted = generation(text)
    return Settings(
        root=FIXTURES, select=(code, "OOM001"), preview=True, target_keras=(wanted,) if wanted else None
    )


@functools.cache
def modules(folder: Path) -> Consulted:
    """The modules beside a fixture."""

    @functools.cache
    def read(path: Path) -> Document:
        return read_document(path)

    @functools.cache
    def parsed(document: Document) -> Source:
        return parse(document)

    return Consulted(ProjectModules(folder, read, parsed))


def rule_folders() -> list[Path]:
    """The folders that belong to a rule."""
    return sorted(path for path in FIXTURES.iterdir() if _FOLDER.fullmatch(path.name))


def fixtures(*kinds: str) -> list[Fixture]:
    """All fixtures of some kinds, in order."""
    return [
        fixture
        for folder in rule_folders()
        for path in sorted(folder.glob("*.py"))
        if (fixture := Fixture(path)).kind in (kinds or KINDS)
    ]


def by_id(found: Sequence[Fixture]) -> dict[str, Sequence[object]]:
    """Arguments for `pytest.mark.parametrize`."""
    return {"argvalues": found, "ids": [fixture.id for fixture in found]}
