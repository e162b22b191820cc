"""What the server says of files while they are edited."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from command import oomlint
from editor import FIXTURES, Editor, cut
from lsprotocol import types as lsp

SHUFFLE = """\
import tensorflow as tf

N = 1_281_167
images = tf.data.Dataset.list_files("train/*.jpg").map(lambda path: tf.image.resize(
    tf.io.decode_jpeg(tf.io.read_file(path), channels=3), (224, 224))).shuffle(N).batch(32)
"""
SEVERITY = {"error": 1, "warning": 2, "note": 3}
SCRIPTS = [
    "OOM102-memory-growth-after-init/bad.py",
    "OOM106-gpu-claimed-by-two-frameworks/bad.py",
    "OOM203-array-grown-in-loop/bad.py",
    "OOM205-one-hot-large/bad.py",
    "OOM208-generator-fit-on-everything/bad.py",
    "OOM301-shuffle-buffer-large/bad_argparse.py",
    "OOM302-cache-in-memory/bad.py",
    "OOM303-prefetch-many-batches/bad.py",
    "OOM305-whole-array-to-device/bad.py",
    "OOM307-full-set-forward/bad.py",
    "OOM402-accumulation-unscaled/bad.py",
    "OOM403-tensors-kept/bad.py",
    "OOM405-persistent-tape/bad.py",
    "OOM406-model-built-in-loop/bad.py",
    "OOM408-function-made-in-loop/bad.py",
    "OOM410-graph-grows/bad.py",
    "OOM412-oom-retry-keeps-memory/bad.py",
    "OOM502-loss-not-scaled/bad.py",
    "OOM602-flatten-dense/bad.py",
    "OOM603-attention-quadratic/bad.py",
]


def test_the_same_findings_as_check(editor: Editor, folder: Path):
    for name in SCRIPTS:
        (folder / f"{name[:6].lower()}.py").write_text((FIXTURES / name).read_text("utf-8"), "utf-8")
    (folder / "idle.py").write_text("import keras  # noqa: OOM301\n")
    (folder / "broken.py").write_text("import keras\nx = (\n")
    told = json.loads(oomlint("check", "--output-format", "json", ".", cwd=folder).stdout)
    assert {one["code"] for one in told} >= {name[:6] for name in SCRIPTS} | {"OOM000", "OOM001"}
    for path in sorted(folder.glob("*.py")):
        expected = [one for one in told if one["filename"] == str(path)]
        found = editor.open(path.as_uri(), path.read_text("utf-8"))
        assert [_place(one) for one in found] == [
            (
                one["code"],
                one["location"]["row"],
                one["location"]["column"],
                one["end_location"]["row"],
                one["end_location"]["column"],
            )
            for one in expected
        ]
        for one, other in zip(found, expected):
            assert one.message.startswith(other["message"])
            assert other["help"] is None or one.message.endswith(f"help: {other['help']}")
            assert one.severity == (4 if one.code == "OOM000" else SEVERITY[other["severity"]])
            assert one.source == "oomlint"


def _place(one: lsp.Diagnostic) -> tuple[object, ...]:
    start, end = one.range.start, one.range.end
    return (one.code, start.line + 1, start.character + 1, end.line + 1, end.character + 1)


def test_evidence_is_related_information(editor: Editor, folder: Path):
    uri = (folder / "with space, 50% and #.py").as_uri()
    (found,) = editor.open(uri, SHUFFLE)
    related = [
        (one.message, one.location.uri, cut(SHUFFLE, one.location.range))
        for one in found.related_information or ()
    ]
    assert related[0] == ("a buffer of 1,281,167 elements, from N", uri, "1_281_167")
    assert related[1][0].startswith("602,112 B: (224, 224, 3) float32")
    assert cut(SHUFFLE, found.range) == "N"
    assert found.data == {"name": "shuffle-buffer-large", "fix": "unsafe"}


def test_idle_suppressions_are_shown_as_unnecessary(editor: Editor, folder: Path):
    (found,) = editor.open((folder / "a.py").as_uri(), "import keras  # noqa: OOM301\n")
    assert found.code == "OOM000"
    assert list(found.tags or ()) == [lsp.DiagnosticTag.Unnecessary]


def test_a_change_of_a_part_and_of_the_whole(editor: Editor, folder: Path):
    uri = (folder / "a.py").as_uri()
    (before,) = editor.open(uri, SHUFFLE)
    place = lsp.Range(lsp.Position(1, 0), lsp.Position(1, 0))
    # Two changes of one message: the second means the text after the first.
    editor.change(
        uri,
        lsp.TextDocumentContentChangePartial(range=place, text="\n\n"),
        lsp.TextDocumentContentChangePartial(
            range=lsp.Range(lsp.Position(4, 4), lsp.Position(4, 13)), text="1_281_168"
        ),
    )
    (after,) = editor.diagnostics(uri)
    assert after.range.start.line == before.range.start.line + 2
    assert "1,281,168 elements" in after.message
    assert editor.write(uri, SHUFFLE.replace("1_281_167", "100")) == []


def test_a_form_feed_ends_no_row(editor: Editor, folder: Path):
    uri = (folder / "a.py").as_uri()
    text = SHUFFLE.replace("\nN =", '\n\x0c\nS = "\u2028\x85"\nN =')
    (found,) = editor.open(uri, text)
    assert cut(text, found.range) == "N"
    row = found.range.start.line
    place = lsp.Range(lsp.Position(4, 0), lsp.Position(4, 0))  # behind the form feed and the odd string
    editor.change(uri, lsp.TextDocumentContentChangePartial(range=place, text="x = 1\n"))
    (found,) = editor.diagnostics(uri)
    assert found.range.start.line == row + 1


def test_what_does_not_parse_keeps_no_old_findings(editor: Editor, folder: Path):
    uri = (folder / "a.py").as_uri()
    editor.open(uri, SHUFFLE)
    assert editor.codes(uri) == ["OOM301"]
    editor.write(uri, SHUFFLE + "x = [\n")
    assert editor.codes(uri) == ["OOM001"]
    editor.write(uri, SHUFFLE)
    assert editor.codes(uri) == ["OOM301"]


def test_typing_fast_ends_with_what_is_true_of_the_last_text(editor: Editor, folder: Path):
    uri = (folder / "a.py").as_uri()
    editor.open(uri, SHUFFLE)
    before = len(editor.published[uri])
    for number in range(30):
        editor.change(
            uri,
            lsp.TextDocumentContentChangeWholeDocument(SHUFFLE.replace("1_281_167", f"9_{number:03}_000")),
        )
    (found,) = editor.diagnostics(uri)
    assert "9,029,000 elements" in found.message
    assert len(editor.published[uri]) - before < 10


def test_closing_takes_the_findings_back(editor: Editor, folder: Path):
    uri = (folder / "a.py").as_uri()
    assert editor.open(uri, SHUFFLE)
    editor.close(uri)
    editor.until(lambda: not editor.published[uri][-1].diagnostics)


def test_buffers_that_are_no_file_and_files_without_keras(editor: Editor, folder: Path):
    assert [one.code for one in editor.open("untitled:Untitled-1", SHUFFLE)] == ["OOM301"]
    assert editor.open((folder / "plain.py").as_uri(), "def f():\n    return 1\n") == []
    # What editors show of a library is nobody's to mend.
    library = folder / ".venv" / "lib" / "python3.11" / "site-packages" / "keras" / "a.py"
    assert editor.open(library.as_uri(), SHUFFLE) == []


def test_what_is_no_text_is_said_and_survived(editor: Editor, folder: Path):
    uri = (folder / "a.py").as_uri()
    (found,) = editor.open(uri, "import keras\nx = '\0'\n")
    assert (found.code, found.message) == (
        "OOM001",
        "oomlint cannot read this: contains NUL characters, so it is not Python source",
    )
    (found,) = editor.write(uri, "import keras\nx = '\ud83d'\n")
    assert found.message == "oomlint cannot read this: contains half a surrogate pair"
    assert found.range.start.line == 1
    assert [one.code for one in editor.write(uri, SHUFFLE)] == ["OOM301"]


HELPER = """\
import tensorflow as tf

SIDE = 224


def pictures(pattern, buffer):
    files = tf.data.Dataset.list_files(pattern)
    images = files.map(lambda path: tf.image.resize(tf.io.decode_jpeg(tf.io.read_file(path), channels=3), (SIDE, SIDE)))
    return images.shuffle(buffer).batch(32)
"""
TRAIN = (
    "from pictures import pictures\n\nfor batch in pictures('train/*.jpg', 1_281_167):\n    print(batch)\n"
)


def test_a_script_finds_mistakes_in_modules_that_are_not_open(editor: Editor, folder: Path):
    helper = folder / "pictures.py"
    helper.write_text(HELPER)
    uri = (folder / "train.py").as_uri()
    assert editor.open(uri, TRAIN) == []
    editor.until(lambda: editor.published[helper.as_uri()])
    (found,) = editor.published[helper.as_uri()][-1].diagnostics
    assert (found.code, found.range.start.line) == ("OOM301", 8)
    assert next(one.location.uri for one in found.related_information or ()) == uri
    editor.write(uri, TRAIN.replace("1_281_167", "1_000"))
    editor.until(lambda: not editor.published[helper.as_uri()][-1].diagnostics)


def test_unsaved_modules_count_and_closing_them_brings_the_file_back(editor: Editor, folder: Path):
    helper, sizes = folder / "pictures.py", folder / "sizes.py"
    helper.write_text(HELPER.replace("SIDE = 224", "from sizes import SIDE"))
    sizes.write_text("SIDE = 8\n")  # names no Keras
    train = (folder / "train.py").as_uri()
    editor.open(train, TRAIN)
    editor.open(helper.as_uri(), helper.read_text())
    assert editor.diagnostics(helper.as_uri()) == []  # 0.9 GiB
    editor.open(sizes.as_uri(), "SIDE = 8\n")
    editor.write(sizes.as_uri(), "SIDE = 224\n")
    last = editor.until(lambda: editor.published[helper.as_uri()][-1].diagnostics)
    assert [one.code for one in last] == ["OOM301"]
    assert "602,112 B" in last[0].message
    editor.close(sizes.as_uri())
    editor.until(lambda: not editor.published[helper.as_uri()][-1].diagnostics)


def test_modules_changed_on_disk(editor: Editor, folder: Path):
    helper = folder / "pictures.py"
    helper.write_text(HELPER.replace("224", "8"))
    editor.open((folder / "train.py").as_uri(), TRAIN)
    helper.write_text(HELPER)
    editor.saved_elsewhere(helper)
    editor.until(
        lambda: editor.published[helper.as_uri()] and editor.published[helper.as_uri()][-1].diagnostics
    )
    helper.unlink()
    editor.saved_elsewhere(helper)
    editor.until(lambda: not editor.published[helper.as_uri()][-1].diagnostics)


@pytest.mark.parametrize("method", [lsp.WORKSPACE_DID_CHANGE_WATCHED_FILES], ids=["watched files"])
def test_it_asks_to_be_told_of_files(editor: Editor, method: str):
    editor.until(lambda: method in editor.registered)
