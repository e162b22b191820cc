"""Running rules, and their fixes, on a text."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from oomlint.documents.python_file import document_from_text
from oomlint.engine.document import check_document
from oomlint.findings.applying import fix_document
from oomlint.findings.model import Safety
from oomlint.findings.registry import RegisteredRule, load_rules
from oomlint.project.settings import Settings
from oomlint.syntax.parse import parse

if TYPE_CHECKING:
    from oomlint.documents.python_file import Document
    from oomlint.dryrun.modules import ModuleResolver
    from oomlint.engine.document import Estimate
    from oomlint.findings.diagnostic import Diagnostic
    from oomlint.syntax.source import Source


@dataclass(slots=True)
class MemoryModules:
    """A project whose modules are texts: for scripts that import their helpers."""

    texts: Mapping[str, str]
    _parsed: dict[str, Source] = field(default_factory=dict)

    def peek(self, importer: Document, module: str, level: int) -> Document | None:
        """The module of that dotted name; dots in front are taken as the project's root."""
        if module not in self.texts:
            return None
        return document_from_text(self.texts[module], module.replace(".", "/") + ".py")

    def resolve(self, importer: Document, module: str, level: int) -> Source | None:
        """The same, parsed once."""
        if module not in self._parsed:
            document = self.peek(importer, module, level)
            if document is None:
                return None
            self._parsed[module] = parse(document)
        return self._parsed[module]


def rules_named(codes: Iterable[str]) -> tuple[RegisteredRule, ...]:
    """The installed rules with these codes; KeyError for one that is not there."""
    installed = {entry.code: entry for entry in load_rules()}
    return tuple(installed[code] for code in codes)


def run_rules(
    rules: Sequence[RegisteredRule],
    document: Document | str,
    *,
    filename: str = "script.py",
    settings: Settings | None = None,
    resolver: ModuleResolver | None = None,
    estimate: Estimate | None = None,
) -> list[Diagnostic]:
    """What some rules say of a document; an internal error is raised, not reported.

    `estimate` is what makes an estimate of the script, as `check --estimate` would.
    """
    if isinstance(document, str):
        document = document_from_text(document, filename)
    report = check_document(document, settings or _only(rules), resolver, rules, estimate=estimate)
    if report.failed:
        raise AssertionError("\n".join(d.message for d in report.diagnostics if d.code == "OOM002"))
    return list(report.diagnostics)


def run_rule(
    code: str,
    document: Document | str,
    *,
    filename: str = "script.py",
    settings: Settings | None = None,
    modules: Mapping[str, str] | None = None,
) -> list[Diagnostic]:
    """What one rule says of a text. `modules` are the texts of modules that it imports, by dotted name."""
    resolver = MemoryModules(modules) if modules else None
    return run_rules(rules_named([code]), document, filename=filename, settings=settings, resolver=resolver)


def fix_text(
    rules: Sequence[RegisteredRule],
    document: Document | str,
    *,
    unsafe: bool = True,
    filename: str = "script.py",
    settings: Settings | None = None,
    resolver: ModuleResolver | None = None,
    estimate: Estimate | None = None,
) -> str:
    """What the rules' fixes make of a text, applied until nothing changes."""
    if isinstance(document, str):
        document = document_from_text(document, filename)
    allowed = {Safety.SAFE, Safety.UNSAFE} if unsafe else {Safety.SAFE}

    def check(changed: Document) -> list[Diagnostic]:
        found = run_rules(rules, changed, settings=settings, resolver=resolver, estimate=estimate)
        return [diagnostic for diagnostic in found if diagnostic.filename == changed.filename]

    return fix_document(document, check, allowed).document.text


def _only(rules: Sequence[RegisteredRule]) -> Settings:
    """Settings that ask for these rules, preview or not, and for none of the own codes but syntax errors."""
    return Settings(root=Path("/"), select=(*(entry.code for entry in rules), "OOM001"), preview=True)
