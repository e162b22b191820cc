"""Editors that differ: in how they count columns, in what they understand, in how they end."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
from command import oomlint
from editor import Editor, applied, capabilities, cut
from lsprotocol import types as lsp

from oomlint.server.positions import Sheet, code_points, units
from oomlint.server.uris import filename_of, path_of, uri_of

TEXT = """\
import tensorflow as tf

read = lambda path: tf.image.resize(tf.io.decode_jpeg(tf.io.read_file(path), channels=3), (224, 224))
a = "é😋"; train = tf.data.Dataset.list_files("🐕/*.jpg").map(read).shuffle(1_281_167).batch(32).prefetch(999)
"""


def test_an_editor_that_counts_bytes_and_asks_for_diagnostics(tmp_path: Path):
    client = capabilities(
        general=lsp.GeneralClientCapabilities(position_encodings=[lsp.PositionEncodingKind.Utf8])
    )
    assert client.text_document is not None
    assert client.workspace is not None
    client.text_document.diagnostic = lsp.DiagnosticClientCapabilities()
    client.workspace.diagnostics = lsp.DiagnosticWorkspaceClientCapabilities(refresh_support=True)
    editor = Editor(tmp_path, options={"ignore": ["OOM101"]}, client=client)
    assert editor.initialized.capabilities.position_encoding == "utf-8"
    assert editor.initialized.capabilities.diagnostic_provider.inter_file_dependencies
    uri = (tmp_path / "a.py").as_uri()
    editor.open_only(uri, TEXT)
    report = editor.pull(uri)
    assert [(one.code, cut(TEXT, one.range, "utf-8")) for one in report.items] == [
        ("OOM301", "1_281_167"),
        ("OOM303", "999"),
    ]
    assert editor.pull(uri, report.result_id).kind == "unchanged"
    # The columns of a change are bytes as well.
    row = TEXT.splitlines()[3]
    start = len(row[: row.index("999")].encode())
    span = lsp.Range(lsp.Position(3, start), lsp.Position(3, start + 3))
    editor.change(uri, lsp.TextDocumentContentChangePartial(range=span, text="2"))
    assert [one.code for one in editor.pull(uri, report.result_id).items] == ["OOM301"]
    editor.configure({"ignore": ["OOM101", "OOM301"]})
    editor.until(lambda: editor.refreshed)
    assert editor.pull(uri).items == ()
    assert not editor.published
    assert editor.quit() == 0


def test_an_editor_that_counts_characters_and_understands_little(tmp_path: Path):
    client = lsp.ClientCapabilities(
        general=lsp.GeneralClientCapabilities(position_encodings=["utf-32"]),  # type: ignore[list-item]
    )
    editor = Editor(tmp_path, client=client)
    assert editor.initialized.capabilities.position_encoding == "utf-32"
    uri = (tmp_path / "a.py").as_uri()
    shuffle, _ = editor.open(uri, TEXT)
    assert cut(TEXT, shuffle.range, "utf-32") == "1_281_167"
    assert (shuffle.related_information, shuffle.data) == (None, None)
    # What it cannot show beside the message is in it.
    assert "\n- 602,112 B: (224, 224, 3) float32 from tf.image.resize" in shuffle.message
    # No versions and no second question: the edit is there at once.
    (action,) = editor.actions(uri, only=["source.fixAll.oomlint"])
    assert action.edit is not None
    assert list(action.edit.changes or ()) == [uri]
    expected = oomlint("check", "--fix", "--stdin-filename", "a.py", "-", stdin=TEXT, cwd=tmp_path).stdout
    assert expected != TEXT
    assert applied({uri: TEXT}, action.edit, "utf-32")[uri] == expected
    # It ends without a word of farewell: that is an error, says the protocol.
    editor.send(editor.client.exit, None)
    assert editor.ended() == 1


def test_the_end_of_its_input_ends_it_and_its_output_is_the_protocol_only(tmp_path: Path):
    command = [sys.executable, "-m", "oomlint", "server", "--stdio"]
    done = subprocess.run(command, input=b"", capture_output=True, cwd=tmp_path, timeout=60, check=False)
    assert (done.returncode, done.stdout) == (1, b"")


def test_without_the_extra_it_says_what_to_install(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setitem(sys.modules, "pygls.lsp.server", None)
    done = oomlint("server")
    assert done.returncode == 2
    assert done.stdout == ""
    assert done.stderr == 'oomlint: the language server needs pygls 2: pip install "oomlint[lsp]"\n'


@pytest.mark.parametrize(
    ("uri", "windows", "path"),
    [
        ("file:///home/me/a%20b/50%25%20%23.py", False, "/home/me/a b/50% #.py"),
        ("file:///home/me/a;b.py", False, "/home/me/a;b.py"),
        ("file://localhost/home/a.py", False, "/home/a.py"),
        ("file:///c%3A/Users/me/a.py", True, "c:\\Users\\me\\a.py"),
        ("file:///C:/Users/me/a.py", True, "c:\\Users\\me\\a.py"),
        ("file://server/share/a.py", True, "\\\\server\\share\\a.py"),
        ("untitled:Untitled-1", False, None),
        ("vscode-notebook-cell:/home/me/a.ipynb#W0", False, None),
    ],
)
def test_addresses_of_files(uri: str, windows: bool, path: str | None):
    assert path_of(uri, windows) == path


@pytest.mark.parametrize(
    "path", ["/home/me/a b/50% #.py", "c:\\Users\\me\\ä.py", "\\\\server\\share\\a.py", "/c/plain.py"]
)
def test_addresses_come_back(path: str):
    assert path_of(uri_of(path), windows="\\" in path) == path


def test_what_is_no_file_lies_in_the_workspace():
    assert filename_of("untitled:Untitled-1", Path("/work")) == ("/work/untitled-Untitled-1", None)
    assert filename_of("file:///a/../b/c.py", Path("/work")) == ("/b/c.py", Path("/b/c.py"))


@pytest.mark.parametrize("encoding", ["utf-8", "utf-16", "utf-32"])
def test_columns_are_those_of_the_encoded_text(encoding: str):
    codec = {"utf-8": "utf-8", "utf-16": "utf-16-le", "utf-32": "utf-32-le"}[encoding]
    width = {"utf-8": 1, "utf-16": 2, "utf-32": 4}[encoding]
    text = "aé€😋z"
    for index in range(len(text) + 1):
        expected = len(text[:index].encode(codec)) // width
        assert units(text[:index], encoding) == expected
        assert code_points(text, expected, encoding) == index
    assert code_points(text, 99, encoding) == len(text)


def test_changes_with_marks_and_all_kinds_of_rows():
    sheet = Sheet.of("a", 1, "\ufeffa\r\nb\rc\nd")
    assert sheet.position(1, 1, "utf-16") == lsp.Position(0, 1)  # behind the mark
    change = lsp.TextDocumentContentChangePartial(
        range=lsp.Range(lsp.Position(1, 1), lsp.Position(3, 99)), text="!"
    )
    assert sheet.changed(2, [change], "utf-16").text == "\ufeffa\r\nb!"
    assert sheet.offset(lsp.Position(99, 0), "utf-16") == len(sheet.text)
