"""One editor's session: what is open, what was found, and who waits for it. Lives in the event loop's thread."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from lsprotocol import types as lsp

from oomlint.documents.lines import Location
from oomlint.server.checking import Checked, Checker, Stop
from oomlint.server.diagnostics import Shown, Speaker, module_sheet
from oomlint.server.opened import Desk, Opened
from oomlint.server.options import Options, read_options
from oomlint.server.positions import Sheet
from oomlint.server.scheduling import Scheduler
from oomlint.server.uris import filename_of, path_of

if TYPE_CHECKING:
    from pygls.lsp.server import LanguageServer

    from oomlint.documents.python_file import Document


@dataclass(slots=True)
class Folder:
    """A folder of the workspace with its settings; `path` is None for what lies in no folder."""

    uri: str | None
    path: Path | None
    options: Options


class Session:
    """Everything that is known between two messages."""

    def __init__(self, server: LanguageServer) -> None:
        self.desk = Desk()
        self.speaker = Speaker()
        self.pulls = False
        self.refreshes = False
        self.folders: list[Folder] = [Folder(None, None, Options())]
        self._server = server
        self._checker = Checker(self._complain_from_thread)
        self._loop = asyncio.get_running_loop()
        self._scheduler = Scheduler(self._checker, self._deliver)
        self._checked: dict[str, Checked] = {}
        self._shown: dict[str, dict[str, list[Shown]]] = {}  # by file, by address
        self._modules: Mapping[str, Document] = {}
        self._published: dict[str, tuple[int | None, list[lsp.Diagnostic]]] = {}
        self._waiting: dict[str, list[asyncio.Future[None]]] = {}
        self._last = ""  # what was changed last
        self._reloading = False
        self._said: set[str] = set()  # mistakes that the user knows of
        self._heard: set[str] = set()  # mistakes that are there since the last reload

    # What the editor says.

    def begin(self, params: lsp.InitializeParams, encoding: str) -> None:
        """Take in what the editor is and what its workspace is."""
        capabilities = params.capabilities
        self.speaker = Speaker.of(capabilities, encoding)
        self.desk.encoding = encoding
        document = capabilities.text_document
        self.pulls = document is not None and document.diagnostic is not None
        asks_again = capabilities.workspace.diagnostics if capabilities.workspace is not None else None
        self.refreshes = self.pulls and asks_again is not None and bool(asks_again.refresh_support)
        options = read_options(params.initialization_options, self.complain)
        folders = [(one.uri, path_of(one.uri)) for one in params.workspace_folders or ()]
        if not folders and params.root_uri:
            folders = [(params.root_uri, path_of(params.root_uri))]
        self.folders = [Folder(uri, Path(path), options) for uri, path in folders if path is not None]
        self.folders.append(Folder(None, None, options))

    def set_options(self, given: Mapping[str | None, object]) -> None:
        """Settings by folder; None for what lies in no folder, and for folders that are not named."""
        self._start_over()
        for folder in self.folders:
            raw = given.get(folder.uri, given.get(None)) if folder.uri is not None else given.get(None)
            if raw is not None:
                folder.options = read_options(raw, self.complain)

    def change_folders(self, event: lsp.WorkspaceFoldersChangeEvent) -> None:
        """Folders came or went."""
        gone = {one.uri for one in event.removed}
        loose = self.folders[-1]
        kept = [one for one in self.folders[:-1] if one.uri not in gone]
        for one in event.added:
            path = path_of(one.uri)
            if path is not None:
                kept.append(Folder(one.uri, Path(path), loose.options))
        self.folders = [*kept, loose]

    def reload(self) -> None:
        """Read all configuration anew and check everything."""
        self._start_over()
        self._last = ""
        folders = [(one.path, one.options) for one in self.folders]
        self._scheduler.tell(lambda checker: checker.configure(folders), at_once=True)

    def _start_over(self) -> None:
        if not self._reloading:
            self._reloading, self._heard = True, set()

    def look_again(self) -> None:
        """Files were saved, made or removed."""
        self._scheduler.tell(Checker.look_again)

    def changed(self, uri: str | None, *, at_once: bool = False) -> None:
        """Something that is open is another now."""
        opened = None if uri is None else self.opened(uri)
        if opened is not None:
            self._last = opened.filename
            self._scheduler.tell(lambda checker: checker.put(opened), opened.filename, at_once=at_once)

    def closed(self, uri: str, texts: Sequence[str]) -> None:
        """A file or notebook, with these texts, is not open any more."""
        filename = self.filename(uri)
        self._checked.pop(filename, None)
        self._shown.pop(filename, None)
        for text in texts:
            self.clear(text)
        self._wake(filename)
        self._scheduler.tell(lambda checker: checker.drop(filename))

    def clear(self, uri: str) -> None:
        """Take back what the editor shows of a text."""
        _, diagnostics = self._published.pop(uri, (None, []))
        if diagnostics:
            self._publish(uri, None, [])

    def close(self) -> None:
        """End all work."""
        self._scheduler.close()

    # What it asks for.

    def filename(self, uri: str) -> str:
        """The name that the runs have for a file, a notebook or a buffer."""
        return self._name(uri)[0]

    def _name(self, uri: str) -> tuple[str, Path | None]:
        here = next((one.path for one in self.folders if one.path is not None), None) or Path.cwd()
        return filename_of(self.desk.owner(uri), here)

    def opened(self, uri: str) -> Opened | None:
        """What is open under an address, as it is now."""
        return self.desk.look(self.desk.owner(uri), *self._name(uri))

    async def current(self, uri: str) -> Checked | None:
        """What was found in a file or notebook as it is now; None if it is closed meanwhile."""
        filename = self.filename(uri)
        while True:
            opened = self.opened(uri)
            if opened is None:
                return None
            checked = self._checked.get(filename)
            if checked is not None and checked.opened == opened:
                return checked
            self._scheduler.hurry()
            future: asyncio.Future[None] = self._loop.create_future()
            self._waiting.setdefault(filename, []).append(future)
            await future

    def known(self, uri: str) -> Checked | None:
        """What was found in a file or notebook, perhaps as it was some changes ago."""
        return self._checked.get(self.filename(uri))

    def shown(self, uri: str) -> list[Shown]:
        """What the editor was told of a text, or would have been."""
        return self._shown.get(self.filename(uri), {}).get(uri, [])

    def options(self, filename: str) -> Options:
        """The settings for a file."""
        path = Path(filename)
        around = [one for one in self.folders[:-1] if one.path is not None and path.is_relative_to(one.path)]
        return max(around, key=lambda one: len(str(one.path)), default=self.folders[-1]).options

    async def ask(
        self, work: Callable[[Checker, Stop], lsp.WorkspaceEdit | None]
    ) -> lsp.WorkspaceEdit | None:
        """What some work in the checker's thread gives."""
        return await self._scheduler.ask(work)

    # What is found.

    def find(self, filename: str, location: Location) -> Sheet | None:
        """The text of a place: of what is open as it was when it was checked, of others as they were read."""
        checked = self._checked.get(filename)
        if checked is not None and checked.opened is not None:
            return checked.opened.sheet(location) if checked.opened.sheets else None
        module = self._modules.get(filename)
        return None if module is None else module_sheet(filename, module.text)

    def _deliver(self, found: Mapping[str, Checked], modules: Mapping[str, Document], complete: bool) -> None:
        """Take over from the checker's thread what it knows now."""
        self._modules = modules
        if complete and self._reloading:
            self._reloading = False
            self._said &= self._heard
        for filename in self._checked.keys() - found.keys() if complete else ():
            self._forget(filename)
        present = {
            name: one
            for name, one in found.items()
            if one.opened is None or self.opened(one.opened.uri) is not None
        }
        changed = [filename for filename, checked in present.items() if self._show(filename, checked)]
        if self.refreshes and any(name != self._last for name in changed):
            self._server.workspace_diagnostic_refresh(None)
        for filename in present:
            self._wake(filename)

    def _show(self, filename: str, checked: Checked) -> bool:
        """Work out what the editor is told, and tell it unless it asks itself; whether that is something new."""
        before = self._shown.get(filename, {})
        if filename in self._shown and _same(self._checked.get(filename), checked):
            return False
        self._checked[filename] = checked
        texts = self._shown[filename] = self.speaker.shown(checked, self.find)
        for uri in before.keys() - texts.keys():
            self.clear(uri)
        if not self.pulls or checked.opened is None:
            self._push(checked, texts)
        return {uri: [one.sent for one in shown] for uri, shown in before.items()} != {
            uri: [one.sent for one in shown] for uri, shown in texts.items()
        }

    def _push(self, checked: Checked, texts: Mapping[str, list[Shown]]) -> None:
        versions: dict[str, int | None] = {}
        if checked.opened is not None:
            if self.opened(checked.opened.uri) != checked.opened:
                return  # there is a newer text, whose check is to come
            versions = {one.uri: one.version for one in checked.opened.sheets.values()}
        for uri, shown in texts.items():
            told = (versions.get(uri), [one.sent for one in shown])
            if self._published.get(uri) != told:
                self._published[uri] = told
                self._publish(uri, *told)

    def _forget(self, filename: str) -> None:
        self._checked.pop(filename, None)
        for uri in self._shown.pop(filename, {}):
            self.clear(uri)

    def _publish(self, uri: str, version: int | None, diagnostics: list[lsp.Diagnostic]) -> None:
        self._server.text_document_publish_diagnostics(
            lsp.PublishDiagnosticsParams(uri, diagnostics, version)
        )

    def _wake(self, filename: str) -> None:
        for future in self._waiting.pop(filename, ()):
            if not future.done():
                future.set_result(None)

    # What went wrong.

    def complain(self, message: str) -> None:
        """Tell the user, once for each mistake until it is mended."""
        self._heard.add(message)
        if message not in self._said:
            self._said.add(message)
            self._server.window_show_message(
                lsp.ShowMessageParams(lsp.MessageType.Error, f"oomlint: {message}")
            )

    def _complain_from_thread(self, message: str) -> None:
        self._loop.call_soon_threadsafe(self.complain, message)


def _same(one: Checked | None, other: Checked) -> bool:
    return one is not None and (one.opened, one.diagnostics) == (other.opened, other.diagnostics)
