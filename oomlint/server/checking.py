"""Checking what is open, in a thread of its own: everything here but `Stop` is used by that thread only."""

from __future__ import annotations

import sys
import traceback
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from threading import Event
from time import perf_counter
from typing import TYPE_CHECKING

from oomlint.documents.lines import Location
from oomlint.documents.python_file import DocumentError
from oomlint.engine.about_document import internal_error
from oomlint.engine.live_run import LiveRun
from oomlint.findings.diagnostic import Diagnostic
from oomlint.findings.own import SYNTAX_ERROR
from oomlint.findings.registry import RegisteredRule, load_rules
from oomlint.project.discovery import is_left_out
from oomlint.server.options import LiveConfigurations, Options

if TYPE_CHECKING:
    from oomlint.documents.python_file import Document
    from oomlint.dryrun import Trace
    from oomlint.findings.model import Finding
    from oomlint.project.settings import Settings
    from oomlint.server.opened import Opened


class Superseded(BaseException):
    """The work is not wanted any more. No Exception: rules that fail are caught, this is not."""


class Stop:
    """A wish, from any thread, that a piece of work ends."""

    def __init__(self) -> None:
        self._event = Event()

    def set(self) -> None:
        """Wish it."""
        self._event.set()

    def look(self) -> None:
        """End the work if it is wished."""
        if self._event.is_set():
            raise Superseded


@dataclass(frozen=True, slots=True)
class Checked:
    """What is known of one file or notebook. `opened` is None for a module that is not open."""

    filename: str
    opened: Opened | None
    document: Document | None
    diagnostics: tuple[Diagnostic, ...]


# What is known of files; the modules that are spoken of and not open; whether nothing remains to be checked.
Deliver = Callable[[Mapping[str, Checked], Mapping[str, "Document"], bool], None]


@dataclass(slots=True)
class Project:
    """One folder of the workspace, or what lies in none of them."""

    folder: Path | None
    options: Options
    configurations: LiveConfigurations
    run: LiveRun
    wrong: dict[str, Diagnostic] = field(default_factory=dict)  # what cannot be read


class Checker:
    """The projects of the workspace with their runs, and what was found so far."""

    def __init__(self, complain: Callable[[str], None]) -> None:
        self.complain = complain
        self.costs: dict[str, float] = {}  # seconds that the last check of each document took
        self._stop = Stop()
        self._rules: tuple[RegisteredRule, ...] = ()
        self._projects: list[Project] = []
        self._opened: dict[str, Opened] = {}
        self._recent: dict[str, None] = {}  # as they were changed, the newest last

    def configure(self, folders: Sequence[tuple[Path | None, Options]]) -> None:
        """Read all configuration anew. `folders` has None for what lies outside of all others."""
        if not self._rules:
            self._rules = tuple(self._stoppable(entry) for entry in load_rules())
        before = {project.folder: project for project in self._projects}
        self._projects = []
        for folder, options in folders:
            held = before.get(folder)
            found = LiveConfigurations(
                options, held.configurations if held is not None else None, self.complain
            )
            self._projects.append(Project(folder, options, found, LiveRun(found, rules=self._rules)))
        for opened in list(self._opened.values()):
            self.put(opened)

    def put(self, opened: Opened) -> None:
        """Something was opened or changed."""
        filename = opened.filename
        self._opened[filename] = opened
        self._recent.pop(filename, None)
        self._recent[filename] = None
        project = self.project(filename)
        project.wrong.pop(filename, None)
        try:
            if not project.options.enable or self._is_excluded(project, Path(filename)):
                project.run.drop(filename)
                return
            project.run.put(opened.document())
        except DocumentError as error:
            project.run.drop(filename)
            project.wrong[filename] = _unreadable(filename, error)

    def drop(self, filename: str) -> None:
        """Something was closed."""
        project = self.project(filename)
        project.run.drop(filename)
        project.wrong.pop(filename, None)
        self._opened.pop(filename, None)
        self.costs.pop(filename, None)
        self._recent.pop(filename, None)

    def look_again(self) -> None:
        """Files were saved, made or removed."""
        for project in self._projects:
            project.run.look_again()

    def project(self, filename: str) -> Project:
        """The innermost folder of the workspace that a file lies in."""
        path = Path(filename)
        around = [one for one in self._projects if one.folder is not None and path.is_relative_to(one.folder)]
        if around:
            return max(around, key=lambda one: len(str(one.folder)))
        return next(one for one in self._projects if one.folder is None)

    def work(self, stop: Stop, deliver: Deliver) -> None:
        """Check what has to be checked, what was changed last first. Raises Superseded."""
        self._stop = stop
        order = {filename: number for number, filename in enumerate(self._recent)}
        while True:
            stop.look()
            waiting = {name: one for one in self._projects for name in one.run.outdated()}
            found = self._known(waiting.keys())
            deliver(found, self._modules(found), not waiting)
            if not waiting:
                return
            name = max(waiting, key=lambda name: order.get(name, -1))
            self._check(waiting[name], name)

    def _check(self, project: Project, filename: str) -> None:
        document = project.run.documents[filename]
        start = perf_counter()
        try:
            project.run.examined(document)
        except Exception as error:  # the server lives on, and says what happened
            traceback.print_exc(file=sys.stderr)
            project.run.drop(filename)
            project.wrong[filename] = internal_error(document, "oomlint", error)
        self.costs[filename] = perf_counter() - start

    def _known(self, waiting: Iterable[str]) -> dict[str, Checked]:
        """What is known of every file, but of those that are to be checked or that such a check speaks of."""
        held_back = set(waiting)
        found: dict[str, list[Diagnostic]] = {name: [] for name in self._opened}
        for project in self._projects:
            held_back |= project.run.unsettled()
            for diagnostic in (*project.run.findings(), *project.wrong.values()):
                found.setdefault(diagnostic.filename, []).append(diagnostic)
        return {
            name: Checked(name, self._opened.get(name), self.document(name), tuple(diagnostics))
            for name, diagnostics in found.items()
            if name not in held_back
        }

    def _modules(self, found: Mapping[str, Checked]) -> dict[str, Document]:
        named = {one.filename for checked in found.values() for one in checked.diagnostics}
        named |= {
            note.filename
            for checked in found.values()
            for one in checked.diagnostics
            for note in one.evidence
            if note.filename is not None
        }
        documents = {name: self.document(name) for name in named - self._opened.keys()}
        return {name: document for name, document in documents.items() if document is not None}

    def document(self, filename: str) -> Document | None:
        """The document of a file, open or a module of a project."""
        for project in self._projects:
            held = project.run.document(filename)
            if held is not None:
                return held
        return None

    def opened(self, filename: str) -> Opened | None:
        """What is open under a name, as it was given here last."""
        return self._opened.get(filename)

    def alone(self, document: Document, stop: Stop) -> LiveRun:
        """A run over one document, to try fixes out."""
        self._stop = stop
        return self.project(document.filename).run.beside(document, self._rules)

    def _is_excluded(self, project: Project, path: Path) -> bool:
        """Whether it is none of the project's own: what an editor shows of a library is not checked."""
        settings = project.configurations.for_folder(path.parent).settings
        if is_left_out(path, settings):
            return True
        return project.folder is None and not {"site-packages", "dist-packages"}.isdisjoint(path.parts)

    def _stoppable(self, entry: RegisteredRule) -> RegisteredRule:
        def check(trace: Trace, settings: Settings) -> Iterable[Finding]:
            self._stop.look()
            return entry.check(trace, settings)

        return replace(entry, check=check)  # type: ignore[arg-type]


def _unreadable(filename: str, error: DocumentError) -> Diagnostic:
    at = Location(error.line or 1, 1)
    return Diagnostic(
        code=SYNTAX_ERROR.code,
        name=SYNTAX_ERROR.name,
        severity=SYNTAX_ERROR.severity,
        message=f"oomlint cannot read this: {error.message}",
        filename=filename,
        location=at,
        end_location=at,
    )
