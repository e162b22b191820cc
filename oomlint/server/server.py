"""The server: which message goes where."""

from __future__ import annotations

import asyncio
import os
import sys

from lsprotocol import types as lsp
from pygls.exceptions import JsonRpcException

from oomlint.project.configuration import CONFIGURATION_FILES
from oomlint.server.actions import SHOW_RULE
from oomlint.server.diagnostics import SOURCE
from oomlint.server.pages import written_page
from oomlint.server.protocol import OomlintServer, plain
from oomlint.server.requests import answer
from oomlint.server.session import Session

# What a check rests on besides open files: modules, configuration, and what pins Keras.
_CONFIGURATION = "{" + ",".join(CONFIGURATION_FILES) + "}"
_PINS = (
    "{*requirements*.txt,*constraints*.txt,*requirements*.in,*.lock,pylock.toml,setup.cfg,environment.y*ml}"
)
# Seconds after which an editor that asks for diagnostics is told to ask again: some wait for two and then never ask.
_PATIENCE = 1.5
_WATCHED = ("**/*.py", f"**/{_CONFIGURATION}", f"**/{_PINS}")


def serve() -> int:
    """Serve one editor on standard input and output; the exit status."""
    server = make_server()
    # The checks run in a thread beside the event loop's, and a message passes through several hands: with the usual
    # five milliseconds for each turn a hover would wait for a tenth of a second.
    sys.setswitchinterval(0.001)
    # What a rule prints must not get between the messages.
    out = os.fdopen(os.dup(sys.stdout.fileno()), "wb")
    os.dup2(sys.stderr.fileno(), sys.stdout.fileno())
    server.start_io(sys.stdin.buffer, out)
    if hasattr(server, "session"):
        server.session.close()
    return 0 if server.was_shut_down else 1


def make_server() -> OomlintServer:
    """The server with all that it answers to."""
    server = OomlintServer()
    _life(server)
    _files(server)
    _notebooks(server)
    _workspace(server)
    answer(server)
    return server


def _life(server: OomlintServer) -> None:
    @server.feature(lsp.INITIALIZE)
    def initialize(params: lsp.InitializeParams) -> None:
        server.session = Session(server)
        server.session.begin(params, _encoding(server))
        server.session.reload()
        if server.session.pulls:
            _pulled(server)

    @server.feature(lsp.INITIALIZED)
    async def initialized(params: lsp.InitializedParams) -> None:
        await _register(server)
        if await _asked_settings(server):
            server.session.reload()

    @server.feature(lsp.SHUTDOWN)
    def shutdown(params: None) -> None:
        server.was_shut_down = True
        if hasattr(server, "session"):
            server.session.close()


def _encoding(server: OomlintServer) -> str:
    encoding = server.workspace.position_encoding
    return encoding.value if isinstance(encoding, lsp.PositionEncodingKind) else str(encoding)


def _files(server: OomlintServer) -> None:
    @server.feature(lsp.TEXT_DOCUMENT_DID_OPEN)
    def opened(params: lsp.DidOpenTextDocumentParams) -> None:
        server.session.changed(server.session.desk.open(params.text_document), at_once=True)

    @server.feature(lsp.TEXT_DOCUMENT_DID_CHANGE)
    def changed(params: lsp.DidChangeTextDocumentParams) -> None:
        server.session.changed(server.session.desk.change(params.text_document, list(params.content_changes)))

    @server.feature(lsp.TEXT_DOCUMENT_DID_SAVE)
    def saved(params: lsp.DidSaveTextDocumentParams) -> None:
        _saved(server, params.text_document.uri)

    @server.feature(lsp.TEXT_DOCUMENT_DID_CLOSE)
    def closed(params: lsp.DidCloseTextDocumentParams) -> None:
        uri = params.text_document.uri
        server.session.closed(uri, [uri])
        server.session.desk.close(uri)


def _saved(server: OomlintServer, uri: str) -> None:
    """Editors that watch no files tell at least what they save themselves."""
    if _is_configuration(uri):
        server.session.reload()
    else:
        server.session.look_again()


def _is_configuration(uri: str) -> bool:
    return not uri.endswith((".py", ".ipynb"))


def _notebooks(server: OomlintServer) -> None:
    @server.feature(lsp.NOTEBOOK_DOCUMENT_DID_OPEN)
    def opened(params: lsp.DidOpenNotebookDocumentParams) -> None:
        server.session.changed(server.session.desk.open_notebook(params), at_once=True)

    @server.feature(lsp.NOTEBOOK_DOCUMENT_DID_CHANGE)
    def changed(params: lsp.DidChangeNotebookDocumentParams) -> None:
        found = server.session.desk.change_notebook(params)
        if found is not None:
            uri, gone = found
            for cell in gone:
                server.session.clear(cell)
            server.session.changed(uri)

    @server.feature(lsp.NOTEBOOK_DOCUMENT_DID_SAVE)
    def saved(params: lsp.DidSaveNotebookDocumentParams) -> None:
        server.session.look_again()

    @server.feature(lsp.NOTEBOOK_DOCUMENT_DID_CLOSE)
    def closed(params: lsp.DidCloseNotebookDocumentParams) -> None:
        cells = server.session.desk.close_notebook(params)
        server.session.closed(params.notebook_document.uri, cells)


def _workspace(server: OomlintServer) -> None:
    @server.feature(lsp.WORKSPACE_DID_CHANGE_CONFIGURATION)
    async def configured(params: lsp.DidChangeConfigurationParams) -> None:
        if params.settings:
            server.session.set_options({None: plain(params.settings)})
        else:  # "ask me", says the editor
            await _asked_settings(server)
        server.session.reload()

    @server.feature(lsp.WORKSPACE_DID_CHANGE_WATCHED_FILES)
    def watched(params: lsp.DidChangeWatchedFilesParams) -> None:
        if any(_is_configuration(change.uri) for change in params.changes):
            server.session.reload()
        else:
            server.session.look_again()

    @server.feature(lsp.WORKSPACE_DID_CHANGE_WORKSPACE_FOLDERS)
    async def folders(params: lsp.DidChangeWorkspaceFoldersParams) -> None:
        server.session.change_folders(params.event)
        await _asked_settings(server)
        server.session.reload()

    @server.command(SHOW_RULE)
    async def show_rule(code: str) -> None:
        address = await asyncio.to_thread(written_page, code)
        if address is not None:
            web = not address.startswith("file:")
            await server.window_show_document_async(
                lsp.ShowDocumentParams(address, external=web, take_focus=True)
            )


async def _asked_settings(server: OomlintServer) -> bool:
    """Ask the editor for its settings, if it wants to be asked; whether it gave any."""
    workspace = server.client_capabilities.workspace
    if workspace is None or not workspace.configuration:
        return False
    uris = [folder.uri for folder in server.session.folders]
    items = [lsp.ConfigurationItem(scope_uri=uri, section=SOURCE) for uri in uris]
    try:
        found = await server.workspace_configuration_async(lsp.ConfigurationParams(items))
    except Exception as error:  # an editor that does not answer as it promised
        print(f"oomlint: no settings from the editor: {error}", file=sys.stderr)
        return False
    given = {uri: plain(one) for uri, one in zip(uris, found) if one}
    server.session.set_options(given)
    return bool(given)


async def _register(server: OomlintServer) -> None:
    """Ask to be told of changed files and settings, where the editor wants to be asked."""
    workspace = server.client_capabilities.workspace
    wanted: list[lsp.Registration] = []
    files = workspace.did_change_watched_files if workspace is not None else None
    if files is not None and files.dynamic_registration:
        watchers = [lsp.FileSystemWatcher(pattern) for pattern in _WATCHED]
        options = lsp.DidChangeWatchedFilesRegistrationOptions(watchers)
        wanted.append(lsp.Registration("oomlint-files", lsp.WORKSPACE_DID_CHANGE_WATCHED_FILES, options))
    settings = workspace.did_change_configuration if workspace is not None else None
    if settings is not None and settings.dynamic_registration:
        about = lsp.DidChangeConfigurationRegistrationOptions(section=SOURCE)
        wanted.append(lsp.Registration("oomlint-settings", lsp.WORKSPACE_DID_CHANGE_CONFIGURATION, about))
    if wanted:
        try:
            await server.client_register_capability_async(lsp.RegistrationParams(wanted))
        except Exception as error:
            print(f"oomlint: the editor does not tell of changed files: {error}", file=sys.stderr)


def _pulled(server: OomlintServer) -> None:
    options = lsp.DiagnosticOptions(
        inter_file_dependencies=True, workspace_diagnostics=False, identifier=SOURCE
    )

    @server.feature(lsp.TEXT_DOCUMENT_DIAGNOSTIC, options)
    async def diagnostic(params: lsp.DocumentDiagnosticParams) -> lsp.DocumentDiagnosticReport:
        uri = params.text_document.uri
        try:
            await asyncio.wait_for(server.session.current(uri), _PATIENCE)
        except asyncio.TimeoutError:
            again = {"retriggerRequest": True}
            raise JsonRpcException("still checking", lsp.LSPErrorCodes.ServerCancelled, again) from None
        items = [one.sent for one in server.session.shown(uri)]
        mark = f"{hash(repr(items)):x}"
        if mark == params.previous_result_id:
            return lsp.RelatedUnchangedDocumentDiagnosticReport(mark)
        return lsp.RelatedFullDocumentDiagnosticReport(items, result_id=mark)
