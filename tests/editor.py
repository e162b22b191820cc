"""An editor for the tests: pygls' own client, driving the real `oomlint server` over its standard input and output."""

from __future__ import annotations

import asyncio
import os
import sys
import threading
from collections import defaultdict
from collections.abc import Callable, Coroutine, Sequence
from pathlib import Path
from typing import Any

from lsprotocol import types as lsp
from pygls.exceptions import JsonRpcException
from pygls.lsp.client import LanguageClient

FIXTURES = Path(__file__).parent.parent / "fixtures"
TIMEOUT = 60  # seconds; for a machine that is busy, not for the server


def capabilities(**changes: Any) -> lsp.ClientCapabilities:
    """An editor that understands everything the server can say."""
    found = lsp.ClientCapabilities(
        general=lsp.GeneralClientCapabilities(position_encodings=[lsp.PositionEncodingKind.Utf16]),
        text_document=lsp.TextDocumentClientCapabilities(
            publish_diagnostics=lsp.PublishDiagnosticsClientCapabilities(
                related_information=True,
                code_description_support=True,
                data_support=True,
                version_support=True,
                tag_support=lsp.ClientDiagnosticsTagOptions([lsp.DiagnosticTag.Unnecessary]),
            ),
            code_action=lsp.CodeActionClientCapabilities(
                resolve_support=lsp.ClientCodeActionResolveOptions(["edit"])
            ),
        ),
        notebook_document=lsp.NotebookDocumentClientCapabilities(
            lsp.NotebookDocumentSyncClientCapabilities()
        ),
        window=lsp.WindowClientCapabilities(show_document=lsp.ShowDocumentClientCapabilities(True)),
        workspace=lsp.WorkspaceClientCapabilities(
            configuration=False,
            workspace_edit=lsp.WorkspaceEditClientCapabilities(document_changes=True),
            did_change_watched_files=lsp.DidChangeWatchedFilesClientCapabilities(dynamic_registration=True),
        ),
    )
    for name, value in changes.items():
        setattr(found, name, value)
    return found


class Editor:
    """An editor with the server that it started. Everything waits for messages, nothing for time."""

    def __init__(
        self,
        *folders: Path,
        options: Any = None,
        client: lsp.ClientCapabilities | None = None,
        settings: dict[str | None, Any] | None = None,
    ) -> None:
        self.messages: list[str] = []
        self.documents_shown: list[str] = []
        self.registered: list[str] = []
        self.refreshed = 0
        self.settings: dict[str | None, Any] = settings or {}
        self.published: dict[str, list[lsp.PublishDiagnosticsParams]] = defaultdict(list)
        self._news = threading.Condition()
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, daemon=True)
        self._thread.start()
        self._versions: dict[str, int] = {}
        self.client = LanguageClient("tests", "1")
        self._answer()
        self.run(
            self.client.start_io(
                sys.executable, "-m", "oomlint", "server", cwd=folders[0] if folders else None
            )
        )
        self.initialized = self.run(
            self.client.initialize_async(
                lsp.InitializeParams(
                    client or capabilities(),
                    process_id=os.getpid(),
                    initialization_options=options,
                    workspace_folders=[
                        lsp.WorkspaceFolder(folder.as_uri(), folder.name) for folder in folders
                    ],
                )
            )
        )
        self.client.initialized(lsp.InitializedParams())

    def _answer(self) -> None:
        feature = self.client.feature

        @feature(lsp.TEXT_DOCUMENT_PUBLISH_DIAGNOSTICS)
        def published(params: lsp.PublishDiagnosticsParams) -> None:
            with self._news:
                self.published[params.uri].append(params)
                self._news.notify_all()

        @feature(lsp.WINDOW_SHOW_MESSAGE)
        def message(params: lsp.ShowMessageParams) -> None:
            with self._news:
                self.messages.append(params.message)
                self._news.notify_all()

        @feature(lsp.WINDOW_SHOW_DOCUMENT)
        def show(params: lsp.ShowDocumentParams) -> lsp.ShowDocumentResult:
            self.documents_shown.append(params.uri)
            return lsp.ShowDocumentResult(True)

        @feature(lsp.CLIENT_REGISTER_CAPABILITY)
        def register(params: lsp.RegistrationParams) -> None:
            with self._news:
                self.registered += [one.method for one in params.registrations]
                self._news.notify_all()

        @feature(lsp.WORKSPACE_CONFIGURATION)
        def configuration(params: lsp.ConfigurationParams) -> list[Any]:
            return [self.settings.get(item.scope_uri) for item in params.items]

        @feature(lsp.WORKSPACE_DIAGNOSTIC_REFRESH)
        def refresh(params: None) -> None:
            with self._news:
                self.refreshed += 1
                self._news.notify_all()

    def run(self, work: Coroutine[Any, Any, Any]) -> Any:
        """What some work on the client's loop gives."""
        return asyncio.run_coroutine_threadsafe(work, self._loop).result(TIMEOUT)

    def until(self, seen: Callable[[], Any]) -> Any:
        """Wait for a message that makes this true."""
        with self._news:
            assert self._news.wait_for(seen, TIMEOUT), "the server did not say it"
            return seen()

    def send(self, notify: Callable[[Any], None], params: Any) -> None:
        """Send a notification."""
        self._loop.call_soon_threadsafe(notify, params)

    def open(self, uri: str, text: str, language: str = "python") -> list[lsp.Diagnostic]:
        """Open a file; what the server finds in it."""
        self.open_only(uri, text, language)
        return self.diagnostics(uri)

    def open_only(self, uri: str, text: str, language: str = "python") -> None:
        """Open a file."""
        self._versions[uri] = 1
        item = lsp.TextDocumentItem(uri, language, 1, text)
        self.send(self.client.text_document_did_open, lsp.DidOpenTextDocumentParams(item))

    def pull(self, uri: str, known: str | None = None) -> Any:
        """Ask for the diagnostics of a file."""
        params = lsp.DocumentDiagnosticParams(lsp.TextDocumentIdentifier(uri), previous_result_id=known)
        while True:
            try:
                return self.run(self.client.text_document_diagnostic_async(params))
            except JsonRpcException as error:
                if error.code != lsp.LSPErrorCodes.ServerCancelled or error.data != {
                    "retriggerRequest": True
                }:
                    raise  # else it is still checking: ask again

    def change(self, uri: str, *changes: lsp.TextDocumentContentChangeEvent) -> int:
        """Change a file; the version that it has then."""
        self._versions[uri] += 1
        item = lsp.VersionedTextDocumentIdentifier(self._versions[uri], uri)
        self.send(self.client.text_document_did_change, lsp.DidChangeTextDocumentParams(item, list(changes)))
        return self._versions[uri]

    def write(self, uri: str, text: str) -> list[lsp.Diagnostic]:
        """Give a file another text; what the server finds in it."""
        self.change(uri, lsp.TextDocumentContentChangeWholeDocument(text))
        return self.diagnostics(uri)

    def close(self, uri: str) -> None:
        """Close a file."""
        params = lsp.DidCloseTextDocumentParams(lsp.TextDocumentIdentifier(uri))
        self.send(self.client.text_document_did_close, params)

    def close_all(self) -> None:
        """Close every file and notebook."""
        for uri in list(self._versions):
            self.close(uri)
            del self._versions[uri]
        self.published.clear()

    def configure(self, settings: Any) -> None:
        """Send other settings."""
        params = lsp.DidChangeConfigurationParams({"oomlint": settings})
        self.send(self.client.workspace_did_change_configuration, params)

    def saved_elsewhere(self, *paths: Path) -> None:
        """Tell of files that changed on disk."""
        changes = [
            lsp.FileEvent(
                path.as_uri(), lsp.FileChangeType.Changed if path.exists() else lsp.FileChangeType.Deleted
            )
            for path in paths
        ]
        self.send(self.client.workspace_did_change_watched_files, lsp.DidChangeWatchedFilesParams(changes))

    def diagnostics(self, uri: str) -> list[lsp.Diagnostic]:
        """What the server says of the file as it is now."""
        version = self._versions.get(uri)

        def last() -> Any:
            found = [one for one in self.published[uri] if one.version == version]
            return [found[-1]] if found else None

        return list(self.until(last)[0].diagnostics)

    def codes(self, uri: str) -> list[str]:
        """The codes of what the server says of the file as it is now."""
        return sorted(str(one.code) for one in self.diagnostics(uri))

    def actions(
        self, uri: str, found: Sequence[lsp.Diagnostic] = (), only: Sequence[str] | None = None
    ) -> list[lsp.CodeAction]:
        """What the server offers for a finding, or for the whole file."""
        whole = lsp.Range(lsp.Position(0, 0), lsp.Position(10_000, 0))
        params = lsp.CodeActionParams(
            lsp.TextDocumentIdentifier(uri),
            found[0].range if found else whole,
            lsp.CodeActionContext(list(found), only=list(only) if only else None),
        )
        return list(self.run(self.client.text_document_code_action_async(params)) or ())

    def hover(self, uri: str, line: int, character: int) -> str | None:
        """What the server shows there."""
        params = lsp.HoverParams(lsp.TextDocumentIdentifier(uri), lsp.Position(line, character))
        found = self.run(self.client.text_document_hover_async(params))
        return None if found is None else found.contents.value

    def quit(self) -> int:
        """End the server as an editor does; its exit status."""
        self.run(self.client.shutdown_async(None))
        self.send(self.client.exit, None)
        return self.ended()

    def ended(self) -> int:
        """The server's exit status, when it has ended."""
        server = self.client._server
        assert server is not None
        self.run(asyncio.wait_for(server.wait(), TIMEOUT))
        self.run(self.client.stop())
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join(TIMEOUT)
        self._loop.close()
        assert server.returncode is not None
        return server.returncode


def applied(
    texts: dict[str, str], edit: lsp.WorkspaceEdit | None, encoding: str = "utf-16"
) -> dict[str, str]:
    """The texts after an edit, worked out on their encoded lines and so apart from the server's way."""
    assert edit is not None
    changes = dict(edit.changes or {})
    for one in edit.document_changes or ():
        assert isinstance(one, lsp.TextDocumentEdit)
        changes[one.text_document.uri] = list(one.edits)  # type: ignore[arg-type]
    result = dict(texts)
    for uri, edits in changes.items():
        raw = _encoded(result[uri], encoding)
        lines = [0]
        for match_end in _line_ends(result[uri]):
            lines.append(len(_encoded(result[uri][:match_end], encoding)))
        spans = sorted(
            (
                (
                    _at(lines, one.range.start, encoding),
                    _at(lines, one.range.end, encoding),
                    _encoded(one.new_text, encoding),
                )
                for one in edits
            ),
            reverse=True,
        )
        for start, end, new in spans:
            raw = raw[:start] + new + raw[end:]
        result[uri] = raw.decode(_CODEC[encoding])
    return result


_CODEC = {"utf-8": "utf-8", "utf-16": "utf-16-le", "utf-32": "utf-32-le"}
_UNIT = {"utf-8": 1, "utf-16": 2, "utf-32": 4}


def _encoded(text: str, encoding: str) -> bytes:
    return text.encode(_CODEC[encoding])


def _line_ends(text: str) -> list[int]:
    return [
        index + 1
        for index, char in enumerate(text)
        if char == "\n" or (char == "\r" and text[index + 1 : index + 2] != "\n")
    ]


def _at(lines: list[int], position: lsp.Position, encoding: str) -> int:
    return lines[position.line] + position.character * _UNIT[encoding]


def cut(text: str, span: lsp.Range, encoding: str = "utf-16") -> str:
    """What stands in a range."""
    raw = _encoded(text, encoding)
    lines = [0, *(len(_encoded(text[:end], encoding)) for end in _line_ends(text))]
    return raw[_at(lines, span.start, encoding) : _at(lines, span.end, encoding)].decode(_CODEC[encoding])
