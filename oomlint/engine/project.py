"""Checking a project: many documents, each read and parsed once, one report.

Documents are independent of each other but for the modules they import, so :meth:`Run.report` is what several
processes share out (:mod:`oomlint.engine.pool`) and what a cache remembers (:mod:`oomlint.engine.cache`).
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from copy import copy
from dataclasses import dataclass, replace
from pathlib import Path
from time import perf_counter
from typing import TYPE_CHECKING, Any

from oomlint.documents.python_file import DocumentError
from oomlint.documents.reading import content, document_of, read
from oomlint.project.configuration import Configuration, Configurations
from oomlint.project.discovery import discover
from oomlint.syntax.gates import PARSES, concerns, names_keras

if TYPE_CHECKING:
    from oomlint.documents.python_file import Document
    from oomlint.engine.cache import Cache
    from oomlint.engine.estimating import Estimator
    from oomlint.engine.report import Report
    from oomlint.engine.resolver import Consulted, ProjectModules
    from oomlint.findings.diagnostic import Diagnostic
    from oomlint.findings.registry import RegisteredRule
    from oomlint.project.settings import Settings
    from oomlint.syntax.source import Source

    Estimating = Callable[[Callable[[Path], Document]], Estimator]
    # Told of each report when it is there: its number (0: it was kept from an earlier run), of how many.
    Watcher = Callable[[int, int, Report], None]

# Characters of text whose trees are kept for importers to come: about 30 MB, 26 bytes a character; of an imported
# module a quarter counts, since few of its functions are made. Neighbours import the same modules: over keras-hub 2,575
# trees are made where a module counts as much as a document, and 1,928 with four times as much kept.
_KEPT = 1_200_000
_OF_IMPORTED = 4

# Files up to which a run that met no Keras still asks what they import: a hook gets the changed files alone,
# a folder of thousands without Keras is done after its bytes are read.
_FEW = 50


@dataclass(frozen=True, slots=True)
class ProjectReport:
    """What a run gave. `problems` are files that could not be read; `failed`: a rule broke.

    `remarks` say which estimates could not be made: no finding is lost by that, and nothing went wrong.
    """

    diagnostics: tuple[Diagnostic, ...] = ()
    problems: tuple[str, ...] = ()
    remarks: tuple[str, ...] = ()
    files: int = 0
    failed: bool = False


def check_paths(
    paths: Iterable[Path],
    configurations: Configurations,
    *,
    rules: Sequence[RegisteredRule] | None = None,
    documents: Iterable[Document] = (),
    estimating: Estimating | None = None,
) -> ProjectReport:
    """Check files and folders, and documents that are on no disk (standard input)."""
    problems: list[str] = []
    found = discover(paths, lambda folder: configurations.for_folder(folder).settings, problems)
    run = Run(configurations, rules=rules, estimating=estimating)
    run.add_files(found)
    for document in documents:
        run.add(document)
    report = run.check()
    return replace(report, problems=(*problems, *report.problems))


class Run:
    """The state of one run: its documents, their trees, what each gave.

    `estimating` is :class:`oomlint.engine.estimating.Estimator` where the training steps are to be estimated.
    Without `noqa` findings are given that such a comment suppresses: flake8 goes by them itself.
    Without `heeded` no comment suppresses anything.
    """

    def __init__(
        self,
        configurations: Configurations,
        *,
        rules: Sequence[RegisteredRule] | None = None,
        estimating: Estimating | None = None,
        noqa: bool = True,
        heeded: bool = True,
        cached: bool = False,
        jobs: int | None = 1,
    ) -> None:
        self.documents: dict[str, Document] = {}
        self.problems: list[str] = []
        self.files = 0
        self._configurations = configurations
        self._rules = rules
        self._noqa = noqa
        self._heeded = heeded
        self._selected: dict[int, tuple[RegisteredRule, ...]] = {}
        self._resolvers: dict[Path, ProjectModules] = {}
        self._trees: OrderedDict[str, Source] = OrderedDict()
        self._kept = 0
        self._others: list[str | Path] = []  # read, and naming no Keras
        self._leading: dict[Path, bool] = {}  # whether a module leads to Keras
        self._modules: dict[str, Document | None] = {}  # imported, and not among the documents
        self._estimator = None if estimating is None else estimating(self._current)
        # What an estimate gives depends on more than the text.
        self._cached = cached and rules is None and estimating is None and noqa and heeded
        self._caches: dict[Path, Cache] = {}
        self._jobs = jobs
        self._examined = False  # whether any report was not kept from an earlier run
        self.watcher: Watcher | None = None

    def __getstate__(self) -> dict[str, Any]:
        """What a process needs that is not forked: the documents, and how to check them."""
        derived = ("_selected", "_resolvers", "_trees", "_caches")
        empty = {name: type(self.__dict__[name])() for name in derived}
        return self.__dict__ | empty | {"_kept": 0, "watcher": None}

    def add_files(self, paths: Iterable[str | Path]) -> None:
        """Take in what is relevant of some files. The rest costs a read and a byte search."""
        for path in paths:
            try:
                raw = content(path)
            except OSError as error:
                self.problems.append(f"{path}: {error.strerror or error}")
                continue
            self.files += 1
            if names_keras(raw):
                self._take(Path(path), raw)
            else:
                self._others.append(path)
        self._take_reaching()

    def _take(self, path: Path, raw: bytes) -> None:
        try:
            document = document_of(raw, str(path), path)
        except DocumentError as error:
            self.files -= 1  # it was not checked
            self.problems.append(problem(str(path), error))
            return
        if document.is_whole or concerns(document) or self._reaches(path, raw):
            self.documents[str(path)] = document

    def _take_reaching(self) -> None:
        """Take in scripts that name no Keras and import a module of their project that does."""
        others, self._others = self._others, []
        if self.documents or len(others) <= _FEW:
            for path in map(Path, others):
                # Read again: kept, those of a large project would be all of its memory.
                with suppress(OSError):
                    raw = path.read_bytes()
                    if self._reaches(path, raw):
                        self._take(path, raw)

    def _reaches(self, path: Path, raw: bytes) -> bool:
        from oomlint.engine.candidates import reaches

        folder = path.absolute().parent
        finder = self._resolver(self._configurations.for_folder(folder).settings.root).finder
        return reaches(raw, lambda module, level: finder.find(folder, module, level), self._leads_on)

    def _leads_on(self, path: Path) -> bool:
        """Whether a module names Keras, or imports one that does (asked once; a cycle of imports adds nothing)."""
        known = self._leading.get(path)
        if known is None:
            self._leading[path] = known = False
            with suppress(OSError):
                raw = self._bytes(path)
                known = self._leading[path] = names_keras(raw) or self._reaches(path, raw)
        return known

    def _bytes(self, path: Path) -> bytes:
        return path.read_bytes()

    def add(self, document: Document) -> None:
        """Take in a document that was read elsewhere."""
        self.files += 1
        self.put(document)

    def put(self, document: Document) -> None:
        """Set what a file contains from now on."""
        filename = document.filename
        held = self.documents.get(filename) or self._modules.get(filename)
        if held is not None and held.raw == document.raw:
            document = held  # its tree is there
        else:
            self._forget(filename)
        self._modules.pop(filename, None)
        if concerns(document) or (document.path is not None and self._reaches(document.path, document.raw)):
            self.documents[filename] = document
        else:
            self.documents.pop(filename, None)

    def _forget(self, filename: str) -> None:
        tree = self._trees.pop(filename, None)
        if tree is not None:
            self._kept -= _weight(tree)

    def check(self) -> ProjectReport:
        """Check every document."""
        return self.summed(self.reports())

    def unheeded(self) -> tuple[Diagnostic, ...]:
        """The findings that there would be if no comment suppressed any, found out anew."""
        other = copy(self)
        other._heeded = other._cached = False
        return other.check().diagnostics

    def reports(self) -> list[Report]:
        """What each document gives, in the order of their names."""
        found = {filename: self._remembered(document) for filename, document in self.documents.items()}
        missing = [self.documents[filename] for filename in sorted(found) if found[filename] is None]
        self._tell(0, found.values())
        if missing:
            self._examined = True
            from oomlint.engine.pool import shared_out

            there = len(found) - len(missing)
            for number, made in enumerate(shared_out(self, missing, self._jobs), there + 1):
                found[made.filename] = made
                self._tell(number, [made])
            for cache in self._caches.values():
                cache.prune()
        return [report for filename in sorted(found) if (report := found[filename]) is not None]

    def _tell(self, number: int, reports: Iterable[Report | None]) -> None:
        for report in reports:
            if self.watcher is not None and report is not None:
                self.watcher(number, len(self.documents), report)

    def summed(self, reports: Sequence[Report]) -> ProjectReport:
        """The report of the whole out of those of its documents."""
        if not reports:
            return ProjectReport((), tuple(self.problems), files=self.files)
        from oomlint.engine.merging import merged

        failed = any(report.failed for report in reports)
        remarks = () if self._estimator is None else tuple(self._estimator.remarks)
        if self._examined and self._rules is None:
            from oomlint.findings.registry import rule_problems

            failed = failed or bool(rule_problems())
            remarks = (*remarks, *rule_problems())
        return ProjectReport(tuple(merged(reports)), tuple(self.problems), remarks, self.files, failed)

    def report(self, document: Document) -> Report:
        """What one document gives."""
        return self._remembered(document) or self.examined(document)

    def examined(self, document: Document) -> Report:
        """What one document gives, found out anew."""
        from oomlint.engine.document import examine

        self._examined = True
        configuration = self._configuration(document)
        settings = configuration.settings
        rules = self._rules_of(configuration)
        consulted = self._consulted(settings.root)
        before, parses = perf_counter(), PARSES.libcst
        report = examine(
            document,
            settings,
            consulted,
            rules,
            self.tree,
            self._estimator,
            noqa=self._noqa,
            heeded=self._heeded,
            held=self._held(document) is not None,
        )
        cache = self._cache(document, settings)
        if cache is not None:
            cache.save(document, settings, consulted, report)
        return replace(report, seconds=perf_counter() - before, parsed=PARSES.libcst > parses)

    def _remembered(self, document: Document) -> Report | None:
        settings = self._configuration(document).settings
        cache = self._cache(document, settings)
        return None if cache is None else cache.load(document, settings, self._consulted)

    def _consulted(self, root: Path) -> Consulted:
        from oomlint.engine.resolver import Consulted

        return Consulted(self._resolver(root))

    def _cache(self, document: Document, settings: Settings) -> Cache | None:
        if not self._cached or document.path is None:
            return None
        from oomlint.engine.cache import FOLDER, Cache

        folder = settings.cache_dir or settings.root / FOLDER
        return self._caches.setdefault(folder, Cache(folder))

    def alone(self, document: Document) -> tuple[Diagnostic, ...]:
        """What a run over this document and no other would report. Modules that it imports are read once for all."""
        self.put(document)
        if document.filename not in self.documents:
            return ()
        return self.summed([self.report(document)]).diagnostics

    def tree(self, document: Document, *, imported: bool = False) -> Source:
        """The parsed document; parsed once in a run, unless very many came in between."""
        held = self._held(document)
        if held is None:
            self._forget(document.filename)
            held = self._trees[document.filename] = self._parse(document, imported)
            self._kept += _weight(held)
            while self._kept > _KEPT and len(self._trees) > 1:
                _, oldest = self._trees.popitem(last=False)
                self._kept -= _weight(oldest)
        self._trees.move_to_end(document.filename)
        return held

    def _held(self, document: Document) -> Source | None:
        """The tree of a document, if this run has it."""
        held = self._trees.get(document.filename)
        return held if held is not None and held.document is document else None

    def _parse(self, document: Document, imported: bool) -> Source:
        from oomlint.syntax.parse import parse

        return parse(document, imported=imported)

    def _configuration(self, document: Document) -> Configuration:
        place = document.path or Path(document.filename)
        return self._configurations.for_document(place.absolute().parent, document.requirements, place.name)

    def _rules_of(self, configuration: Configuration) -> tuple[RegisteredRule, ...]:
        selected = self._selected.get(id(configuration))
        if selected is None:
            from oomlint.findings.registry import load_rules
            from oomlint.findings.selection import check_codes, selected_rules

            rules = load_rules() if self._rules is None else self._rules
            check_codes(configuration, rules)
            selected = self._selected[id(configuration)] = selected_rules(rules, configuration.settings)
        return selected

    def _resolver(self, root: Path) -> ProjectModules:
        resolver = self._resolvers.get(root)
        if resolver is None:
            from oomlint.engine.resolver import ProjectModules

            resolver = self._resolvers[root] = ProjectModules(root, self._read, self._parsed)
        return resolver

    def _read(self, path: Path) -> Document | None:
        """A module that a document imports; read once in a run."""
        filename = str(path)
        if filename in self.documents:
            return self.documents[filename]
        if filename not in self._modules:
            try:
                self._modules[filename] = document_of(path.read_bytes(), filename, path)
            except (OSError, DocumentError):
                self._modules[filename] = None
        return self._modules[filename]

    def document(self, filename: str) -> Document | None:
        """A file as this run has it: one of its documents, or a module that one of them imports."""
        return self.documents.get(filename) or self._modules.get(filename)

    def _current(self, path: Path) -> Document:
        """A file as it is in this run, changes included that are not on disk."""
        for document in self.documents.values():
            own = document.path or Path(document.filename)
            if own.name == path.name and own.resolve() == path.resolve():
                return document
        return read(path)

    def _parsed(self, document: Document) -> Source | None:
        from oomlint.syntax.gates import SyntaxFault

        try:
            return self.tree(document, imported=True)
        except SyntaxFault:
            return None


def _weight(tree: Source) -> int:
    length = len(tree.document.text)
    return length // _OF_IMPORTED if tree.imported else length


def problem(filename: str, error: DocumentError) -> str:
    """A document error as a line for standard error."""
    where = f":{error.line}" if error.line is not None else ""
    return f"{filename}{where}: {error.message}"
