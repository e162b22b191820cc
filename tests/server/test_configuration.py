"""Settings: the project's files, the editor's, and both while they change."""

from __future__ import annotations

from pathlib import Path

from editor import Editor, capabilities
from lsprotocol import types as lsp

TEXT = """\
import tensorflow as tf
from tensorflow import keras

images = tf.data.Dataset.list_files("train/*.jpg").map(lambda path: tf.image.resize(
    tf.io.decode_jpeg(tf.io.read_file(path), channels=3), (224, 224))).shuffle(60_000).batch(32)
for images in images.prefetch(1_000):
    print(images)
"""


def _wait(editor: Editor, uri: str, *codes: str) -> None:
    editor.until(lambda: [one.code for one in editor.published[uri][-1].diagnostics] == list(codes))


def test_the_projects_file(editor: Editor, folder: Path):
    uri, settings = (folder / "a.py").as_uri(), folder / "oomlint.toml"
    editor.open(uri, TEXT)
    assert editor.codes(uri) == ["OOM301", "OOM303"]
    settings.write_text('ignore = ["OOM3"]\n')
    editor.saved_elsewhere(settings)
    _wait(editor, uri)
    settings.write_text('ignore = ["OOM301"]\n')
    editor.saved_elsewhere(settings)
    _wait(editor, uri, "OOM303")
    # A broken one is complained about once, however often it is read, and the last good one counts.
    before = len(editor.messages)
    for text in ('ignore = ["OOM301"]\nslect = ["OOM3"]\n', 'ignore = ["OOM301"]\nslect = ["OOM3"] \n'):
        settings.write_text(text)
        editor.saved_elsewhere(settings)
        editor.write(uri, f"{TEXT}{'#' * len(text)}\n")
        _wait(editor, uri, "OOM303")
    (message,) = editor.messages[before:]
    assert message == f"oomlint: {settings}: unknown key 'slect': did you mean 'select'?"
    settings.write_text('ignore = ["OOM303"]\n')
    editor.saved_elsewhere(settings)
    _wait(editor, uri, "OOM301")
    # Once it was mended the same mistake is news again.
    settings.write_text('slect = ["OOM3"]\n')
    editor.saved_elsewhere(settings)
    editor.until(lambda: editor.messages[before:] == [message, message])
    _wait(editor, uri, "OOM301")


def test_the_editors_settings(editor: Editor, folder: Path):
    uri = (folder / "a.py").as_uri()
    editor.open(uri, TEXT)
    editor.configure({"ignore": ["OOM303"], "hostMemory": "64GB"})
    _wait(editor, uri, "OOM301")
    editor.until(lambda: editor.published[uri][-1].diagnostics[0].severity == lsp.DiagnosticSeverity.Warning)
    assert "(budget: 64 GB of host memory)" in editor.published[uri][-1].diagnostics[0].message
    before = len(editor.messages)
    editor.configure({"ignore": ["OOM301"], "gpus": "T4", "gpu": "T5000"})
    _wait(editor, uri, "OOM303")
    editor.until(lambda: len(editor.messages) >= before + 2)
    said = sorted(editor.messages[before:])
    assert said[0].startswith("oomlint: the editor's settings: gpu: ")
    assert said[1] == "oomlint: the editor's settings: unknown key 'gpus': did you mean 'gpu'?"
    editor.configure({"enable": False})
    _wait(editor, uri)
    editor.configure({"enable": True})
    _wait(editor, uri, "OOM301", "OOM303")


def test_folders_of_a_workspace_have_their_own(tmp_path: Path):
    """An editor that is asked for its settings, and one of whose folders gets others."""
    one, two = tmp_path / "one", tmp_path / "two"
    for folder in (one, two):
        folder.mkdir()
    (two / "oomlint.toml").write_text('ignore = ["OOM101"]\n')
    client = capabilities()
    assert client.workspace is not None
    client.workspace.configuration = True
    editor = Editor(
        one,
        two,
        options={"settings": {"ignore": ["OOM3", "OOM101"]}},
        client=client,
        settings={
            one.as_uri(): {"ignore": ["OOM101", "OOM303"]},
        },
    )
    first, second, outside = (one / "a.py").as_uri(), (two / "a.py").as_uri(), (tmp_path / "a.py").as_uri()
    for uri in (first, second, outside):
        editor.open(uri, TEXT)
    _wait(editor, first, "OOM301")
    _wait(editor, second)
    _wait(editor, outside)
    editor.settings = {two.as_uri(): {"ignore": ["OOM101", "OOM301"]}}
    editor.send(editor.client.workspace_did_change_configuration, lsp.DidChangeConfigurationParams(None))
    _wait(editor, second, "OOM303")
    assert editor.quit() == 0
