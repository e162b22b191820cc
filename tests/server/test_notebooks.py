"""Notebooks in the editor: the cells are one program, and each has findings of its own."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import count
from pathlib import Path

import pytest
from editor import Editor, applied, cut
from lsprotocol import types as lsp

READ = """\
import tensorflow as tf
!pip install -q tensorflow_datasets
N = 1_281_167
"""
DECODE = """\
def decode(path):
    image = tf.io.decode_jpeg(tf.io.read_file(path), channels=3)
    return tf.image.resize(image, (224, 224))
"""
TRAIN = """\
%matplotlib inline
train = tf.data.Dataset.list_files("train/*.jpg").map(decode).shuffle(N).batch(32)
"""


class Notebook:
    """A notebook in the editor. Its cells are known by their addresses; the server's answers, too."""

    def __init__(self, editor: Editor, path: Path, *sources: str) -> None:
        self.editor = editor
        self.uri = path.as_uri()
        self.version = 1
        self.numbers = count()
        self.texts: dict[str, str] = {}
        self.cells: list[lsp.NotebookCell] = []
        items = [self.cell(source) for source in sources]
        document = lsp.NotebookDocument(self.uri, "jupyter-notebook", 1, self.cells)
        params = lsp.DidOpenNotebookDocumentParams(document, items)
        editor.send(editor.client.notebook_document_did_open, params)

    def cell(self, source: str) -> lsp.TextDocumentItem:
        uri = f"vscode-notebook-cell:{self.uri.removeprefix('file:')}#W{next(self.numbers)}"
        self.texts[uri] = source
        self.cells.append(lsp.NotebookCell(lsp.NotebookCellKind.Code, uri))
        return lsp.TextDocumentItem(uri, "python", 1, source)

    def change(self, cells: lsp.NotebookDocumentCellChanges) -> None:
        self.version += 1
        identity = lsp.VersionedNotebookDocumentIdentifier(self.version, self.uri)
        params = lsp.DidChangeNotebookDocumentParams(identity, lsp.NotebookDocumentChangeEvent(cells=cells))
        self.editor.send(self.editor.client.notebook_document_did_change, params)

    def write(self, number: int, text: str) -> None:
        """Give a cell another text."""
        uri = self.cells[number].document
        self.texts[uri] = text
        change = lsp.NotebookDocumentCellContentChanges(
            lsp.VersionedTextDocumentIdentifier(2, uri), [lsp.TextDocumentContentChangeWholeDocument(text)]
        )
        self.change(lsp.NotebookDocumentCellChanges(text_content=[change]))

    def found(self, number: int, *codes: str) -> list[lsp.Diagnostic]:
        """Wait until the last word on a cell is this."""
        uri = self.cells[number].document

        def said() -> list[list[lsp.Diagnostic]]:
            last = self.editor.published[uri][-1:]
            return [list(one.diagnostics) for one in last if [d.code for d in one.diagnostics] == list(codes)]

        (diagnostics,) = self.editor.until(said)
        return diagnostics

    def close(self) -> None:
        params = lsp.DidCloseNotebookDocumentParams(
            lsp.NotebookDocumentIdentifier(self.uri),
            [lsp.TextDocumentIdentifier(cell.document) for cell in self.cells],
        )
        self.editor.send(self.editor.client.notebook_document_did_close, params)


@pytest.fixture
def notebook(editor: Editor, folder: Path) -> Iterator[Notebook]:
    notebook = Notebook(editor, folder / "a b.ipynb", READ, DECODE, TRAIN)
    yield notebook
    notebook.close()


def test_findings_are_those_of_their_cell(editor: Editor, notebook: Notebook):
    (found,) = notebook.found(2, "OOM301")
    notebook.found(0)
    notebook.found(1)
    assert cut(TRAIN, found.range) == "N"
    uris = [cell.document for cell in notebook.cells]
    places = [one.location for one in found.related_information or ()]
    assert [uris.index(one.uri) for one in places] == [0, 1]
    assert cut(READ, places[0].range) == "1_281_167"
    text = editor.hover(uris[2], 1, found.range.start.character)
    assert text is not None
    assert f"[cell 1:3]({uris[0]}#L3)" in text


def test_a_change_in_one_cell_counts_in_the_next(notebook: Notebook):
    notebook.found(2, "OOM301")
    notebook.write(0, READ.replace("1_281_167", "100"))
    notebook.found(2)
    notebook.write(0, READ)
    notebook.found(2, "OOM301")


def test_a_quick_fix_changes_its_cell(editor: Editor, notebook: Notebook):
    (found,) = notebook.found(2, "OOM301")
    uri = notebook.cells[2].document
    fix, ignore, *_ = editor.actions(uri, [found])
    after = applied(notebook.texts, fix.edit)
    assert after == notebook.texts | {
        uri: TRAIN.replace(".map(decode).shuffle(N)", ".shuffle(N).map(decode)")
    }
    after = applied(notebook.texts, ignore.edit)
    assert after == notebook.texts | {uri: TRAIN.replace("batch(32)", "batch(32)  # oomlint: ignore[OOM301]")}


def test_cells_come_go_and_move(editor: Editor, notebook: Notebook):
    notebook.found(2, "OOM301")
    # A cell in front, which is no code.
    text = "vscode-notebook-cell:text"
    array = lsp.NotebookCellArrayChange(0, 0, [lsp.NotebookCell(lsp.NotebookCellKind.Markup, text)])
    item = lsp.TextDocumentItem(text, "markdown", 1, "# Import keras")
    _restructure(notebook, array, opened=[item])
    notebook.cells.insert(0, lsp.NotebookCell(lsp.NotebookCellKind.Markup, text))
    notebook.write(3, "\n" + TRAIN)
    last = notebook.cells[3].document
    editor.until(lambda: [one.range.start.line for one in editor.published[last][-1].diagnostics] == [2])
    # The cell that defines N moves to the end: VS Code takes it out and puts it in again.
    first = notebook.cells[1]
    source = lsp.TextDocumentItem(
        first.document, "python", 1, READ.replace("N =", "tf.random.set_seed(1)\nN =")
    )
    _restructure(notebook, lsp.NotebookCellArrayChange(1, 1), closed=[first.document])
    notebook.cells.remove(first)
    notebook.found(2)
    _restructure(notebook, lsp.NotebookCellArrayChange(1, 0, [first]), opened=[source])
    notebook.cells.insert(1, first)
    notebook.found(3, "OOM301")
    # The cell with the finding goes.
    last = notebook.cells.pop()
    _restructure(notebook, lsp.NotebookCellArrayChange(3, 1), closed=[last.document])
    editor.until(lambda: not editor.published[last.document][-1].diagnostics)


def _restructure(
    notebook: Notebook,
    array: lsp.NotebookCellArrayChange,
    opened: Sequence[lsp.TextDocumentItem] = (),
    closed: Sequence[str] = (),
) -> None:
    structure = lsp.NotebookDocumentCellChangeStructure(
        array, list(opened), [lsp.TextDocumentIdentifier(uri) for uri in closed]
    )
    notebook.change(lsp.NotebookDocumentCellChanges(structure=structure))


def test_closing_takes_the_findings_back(editor: Editor, folder: Path):
    notebook = Notebook(editor, folder / "a.ipynb", READ + DECODE + TRAIN)
    notebook.found(0, "OOM301")
    notebook.close()
    notebook.found(0)
