"""A run that goes on: its documents are edited, come and go, and the modules that they import change on disk.

Trees and modules are kept from one check to the next, and a document is checked again only where it, or a module
that its report rests on, is another than it was.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from oomlint.engine.merging import merged
from oomlint.engine.project import Run
from oomlint.syntax.gates import names_keras
from oomlint.syntax.reparse import Reparser

if TYPE_CHECKING:
    from oomlint.documents.python_file import Document
    from oomlint.engine.report import Report
    from oomlint.engine.resolver import Consulted
    from oomlint.findings.diagnostic import Diagnostic
    from oomlint.findings.registry import RegisteredRule
    from oomlint.project.configuration import Configurations
    from oomlint.syntax.source import Source


@dataclass(frozen=True, slots=True)
class _Grounds:
    """What a report rests on: the document, where its imports led, and what was read there."""

    document: Document
    root: Path
    asked: dict[tuple[Path, str, int], Path | None]
    read: dict[Path, Document | None]
    report: Report


class LiveRun(Run):
    """The open documents of a project. What they contain counts for each other, not what is on disk."""

    def __init__(
        self, configurations: Configurations, *, rules: Sequence[RegisteredRule] | None = None
    ) -> None:
        super().__init__(configurations, rules=rules)
        self.open: dict[str, Document] = {}
        self._grounds: dict[str, _Grounds] = {}
        self._last: Consulted | None = None
        self._reparsers: dict[str, Reparser] = {}
        self._sorted_out = False

    def put(self, document: Document) -> None:
        """Open a document, or set what it contains from now on."""
        self.open[document.filename] = document
        self._changed()
        super().put(document)
        self.open[document.filename] = self.documents.get(document.filename, document)

    def drop(self, filename: str) -> None:
        """Close a document: from now on its file counts, if it has one."""
        self.open.pop(filename, None)
        self.documents.pop(filename, None)
        self._grounds.pop(filename, None)
        self._reparsers.pop(filename, None)
        self._modules.pop(filename, None)
        self._changed()
        self._forget(filename)

    def look_again(self) -> None:
        """Take note of what changed on disk. Modules that are the same keep their trees."""
        self._changed()
        for resolver in self._resolvers.values():
            resolver.finder.forget()
        for filename, held in list(self._modules.items()):
            raw = None
            with suppress(OSError):
                raw = Path(filename).read_bytes()
            if held is None or held.raw != raw:
                del self._modules[filename]
                self._forget(filename)

    def outdated(self) -> list[str]:
        """The open documents that have to be checked, because they or what they import changed since."""
        self._sort_out()
        return [name for name, document in self.documents.items() if not self._holds(document)]

    def examined(self, document: Document) -> Report:
        """What one document gives, found out anew and kept."""
        report = super().examined(document)
        consulted = self._last
        assert consulted is not None
        found = {path: self._read(path) for path in consulted.asked.values() if path is not None}
        root = self._configuration(document).settings.root
        self._grounds[document.filename] = _Grounds(document, root, dict(consulted.asked), found, report)
        return report

    def findings(self) -> list[Diagnostic]:
        """What the last checks gave together, of all files: scripts find mistakes in modules, too."""
        for filename in self._grounds.keys() - self.documents.keys():
            del self._grounds[filename]
        return merged(self._grounds[filename].report for filename in sorted(self._grounds))

    def unsettled(self) -> set[str]:
        """The files of which outdated reports speak: what these found there may not be true any more."""
        outdated = {name for name in self.outdated() if name in self._grounds}
        return outdated | {
            one.filename for name in outdated for one in self._grounds[name].report.diagnostics
        }

    def document(self, filename: str) -> Document | None:
        """An open document, or a module that one of them imports."""
        return self.open.get(filename) or self._modules.get(filename)

    def beside(self, document: Document, rules: Sequence[RegisteredRule] | None = None) -> LiveRun:
        """A run over one document, for which the others are as they are here: fixes are tried out in it."""
        other = LiveRun(self._configurations, rules=rules)
        other.open.update(self.open)
        other._trees.update(self._trees)
        other._kept = self._kept
        other.put(document)
        return other

    def _changed(self) -> None:
        self._leading.clear()
        self._sorted_out = False

    def _sort_out(self) -> None:
        """A document that names no Keras counts as long as a module that it imports leads to it."""
        if self._sorted_out:
            return
        self._sorted_out = True
        for filename, document in self.open.items():
            if document.path is None or names_keras(document.raw):
                continue
            if self._reaches(document.path, document.raw):
                self.documents[filename] = document
            else:
                self.documents.pop(filename, None)
                self._grounds.pop(filename, None)

    def _holds(self, document: Document) -> bool:
        grounds = self._grounds.get(document.filename)
        if grounds is None or grounds.document is not document:
            return False
        finder = self._resolver(grounds.root).finder
        return all(finder.find(*key) == path for key, path in grounds.asked.items()) and all(
            self._read(path) is held for path, held in grounds.read.items()
        )

    def _parse(self, document: Document, imported: bool) -> Source:
        if document.filename not in self.open:
            return super()._parse(document, imported)
        return self._reparsers.setdefault(document.filename, Reparser()).parse(document)

    def _consulted(self, root: Path) -> Consulted:
        self._last = super()._consulted(root)
        return self._last

    def _read(self, path: Path) -> Document | None:
        return self.open.get(str(path)) or super()._read(path)

    def _bytes(self, path: Path) -> bytes:
        held = self.open.get(str(path))
        return super()._bytes(path) if held is None else held.raw
