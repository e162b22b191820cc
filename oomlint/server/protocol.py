"""The object that speaks the protocol, with what pygls has to know when it is made."""

from __future__ import annotations

import logging
from typing import Any

from lsprotocol import types as lsp
from pygls.exceptions import JsonRpcException
from pygls.lsp.server import LanguageServer

import oomlint
from oomlint.server.session import Session

_CELLS = lsp.NotebookDocumentSyncOptions(
    [
        lsp.NotebookDocumentFilterWithCells(
            cells=[lsp.NotebookCellLanguage("python")],
            notebook=lsp.NotebookDocumentFilterNotebookType("jupyter-notebook"),
        )
    ],
    save=True,
)


class OomlintServer(LanguageServer):
    """The server of one editor."""

    session: Session

    def __init__(self) -> None:
        super().__init__(
            "oomlint",
            oomlint.__version__,
            lsp.TextDocumentSyncKind.Incremental,
            _CELLS,
            max_workers=2,
        )
        self.was_shut_down = False
        # What a request is answered with is no failure of the server's, and pygls logs each with its traceback.
        logging.getLogger("pygls.protocol.json_rpc").addFilter(_is_failure)


def _is_failure(record: logging.LogRecord) -> bool:
    return record.exc_info is None or not isinstance(record.exc_info[1], JsonRpcException)


def plain(value: Any) -> Any:
    """Settings come as records of the protocol's library."""
    if hasattr(value, "_asdict"):
        value = value._asdict()
    elif hasattr(value, "__dict__"):
        value = vars(value)
    if isinstance(value, dict):
        return {str(key): plain(item) for key, item in value.items()}
    return [plain(item) for item in value] if isinstance(value, (list, tuple)) else value
