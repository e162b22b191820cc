"""What the editor has open: files, and notebooks with their cells, as the editor's own notifications make them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path

from lsprotocol import types as lsp

from oomlint.documents.lines import Location
from oomlint.documents.notebook import Notebook, notebook_of_cells
from oomlint.documents.python_file import Document, document_from_text
from oomlint.server.positions import Sheet
from oomlint.server.uris import path_of


@dataclass(frozen=True, slots=True)
class Opened:
    """A file or a notebook at one moment. `sheets` are its texts by the number of their cell, 0 for a file."""

    uri: str
    filename: str
    path: Path | None
    version: int | None
    sheets: dict[int, Sheet]
    is_notebook: bool = False

    def document(self) -> Document:
        """The program that it is. Raises DocumentError."""
        if self.is_notebook:
            cells = [(number, sheet.text) for number, sheet in self.sheets.items()]
            return notebook_of_cells(cells, self.filename, self.path)
        document = document_from_text(self.sheets[0].text, self.filename)
        document.path = self.path
        return document

    def texts(self, document: Document) -> dict[int, str]:
        """The texts of a changed form of its document, by cell."""
        return document.sources() if isinstance(document, Notebook) else {0: document.text}

    def sheet(self, location: Location) -> Sheet:
        """The text that a place lies in."""
        return self.sheets.get(location.cell) or next(iter(self.sheets.values()))

    def cell_of(self, uri: str) -> int:
        """The number of the text with this address."""
        return next((number for number, sheet in self.sheets.items() if sheet.uri == uri), 0)


@dataclass(slots=True)
class _Notebook:
    version: int
    cells: list[lsp.NotebookCell]


class Desk:
    """All that is open. Every address is used as the editor wrote it, for it will compare."""

    def __init__(self) -> None:
        self.encoding = "utf-16"
        self._texts: dict[str, Sheet] = {}
        self._languages: dict[str, str] = {}
        self._notebooks: dict[str, _Notebook] = {}
        self._notebook_of: dict[str, str] = {}

    def open(self, item: lsp.TextDocumentItem) -> str:
        """A file was opened; the address of what has to be checked."""
        self._texts[item.uri] = Sheet.of(item.uri, item.version, item.text)
        self._languages[item.uri] = item.language_id
        return item.uri

    def change(
        self, item: lsp.VersionedTextDocumentIdentifier, changes: list[lsp.TextDocumentContentChangeEvent]
    ) -> str | None:
        """A file or a cell was changed; the address of what has to be checked."""
        held = self._texts.get(item.uri)
        if held is None:
            return None
        self._texts[item.uri] = held.changed(item.version, changes, self.encoding)
        return self._notebook_of.get(item.uri, item.uri)

    def close(self, uri: str) -> None:
        """A file was closed."""
        self._texts.pop(uri, None)
        self._languages.pop(uri, None)

    def open_notebook(self, params: lsp.DidOpenNotebookDocumentParams) -> str:
        """A notebook was opened with the texts of its cells."""
        notebook = params.notebook_document
        self._notebooks[notebook.uri] = _Notebook(notebook.version, list(notebook.cells))
        self._take(notebook.uri, params.cell_text_documents)
        return notebook.uri

    def change_notebook(self, params: lsp.DidChangeNotebookDocumentParams) -> tuple[str, list[str]] | None:
        """A notebook's cells or their texts were changed; its address, and the cells that are gone."""
        uri = params.notebook_document.uri
        held = self._notebooks.get(uri)
        if held is None:
            return None
        held.version = params.notebook_document.version
        gone: list[str] = []
        cells = params.change.cells
        if cells is None:
            return uri, gone
        if cells.structure is not None:
            array = cells.structure.array
            held.cells[array.start : array.start + array.delete_count] = array.cells or []
            self._take(uri, cells.structure.did_open or ())
            here = {cell.document for cell in held.cells}
            for closed in cells.structure.did_close or ():
                if closed.uri not in here:  # a cell that moved is closed and opened again
                    gone.append(closed.uri)
                    self._texts.pop(closed.uri, None)
                    self._notebook_of.pop(closed.uri, None)
        kinds = {cell.document: cell for cell in cells.data or ()}
        held.cells = [kinds.get(cell.document, cell) for cell in held.cells]
        for content in cells.text_content or ():
            self.change(content.document, list(content.changes))
        return uri, gone

    def close_notebook(self, params: lsp.DidCloseNotebookDocumentParams) -> list[str]:
        """A notebook was closed; the cells that it had."""
        held = self._notebooks.pop(params.notebook_document.uri, None)
        cells = [cell.document for cell in held.cells] if held is not None else []
        for uri in cells:
            self.close(uri)
            self._notebook_of.pop(uri, None)
        return cells

    def _take(self, notebook: str, items: object) -> None:
        assert isinstance(items, (list, tuple))
        for item in items:
            self.open(item)
            self._notebook_of[item.uri] = notebook

    def owner(self, uri: str) -> str:
        """The notebook of a cell; a file is its own."""
        return self._notebook_of.get(uri, uri)

    def all(self) -> Iterator[str]:
        """The addresses of files and notebooks."""
        yield from (uri for uri in self._texts if uri not in self._notebook_of)
        yield from self._notebooks

    def look(self, uri: str, filename: str, path: Path | None) -> Opened | None:
        """A file or notebook as it is now; None for what is not open or is no Python."""
        notebook = self._notebooks.get(uri)
        if notebook is not None:
            sheets = {
                number: self._texts[cell.document]
                for number, cell in enumerate(notebook.cells, 1)
                if cell.kind == lsp.NotebookCellKind.Code
                and cell.document in self._texts
                and self._languages.get(cell.document, "python") == "python"
            }
            return Opened(uri, filename, path, notebook.version, sheets, True)
        sheet = self._texts.get(uri)
        if sheet is None or not self._is_python(uri):
            return None
        return Opened(uri, filename, path, sheet.version, {0: sheet})

    def sheet(self, uri: str) -> Sheet | None:
        """The text of a file or cell."""
        return self._texts.get(uri)

    def _is_python(self, uri: str) -> bool:
        return self._languages.get(uri) == "python" or (path_of(uri) or "").endswith(".py")


def same_version(one: Opened, other: Opened) -> bool:
    """Whether two moments of one thing show the same texts."""
    return replace(one, version=None) == replace(other, version=None) if one.uri == other.uri else False
