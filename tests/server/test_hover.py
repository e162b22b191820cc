"""What the server shows where the mouse rests."""

from __future__ import annotations

from pathlib import Path

from editor import Editor

TEXT = """\
import tensorflow as tf

_N_ = 1_281_167
images = tf.data.Dataset.list_files("train/*.jpg").map(lambda path: tf.image.resize(
    tf.io.decode_jpeg(tf.io.read_file(path), channels=3), (224, 224))).shuffle(_N_).batch(32)
more = images.prefetch(2)  # oomlint: ignore[OOM303, OOM3, batched-twice] a reason
"""


def test_a_finding_with_its_numbers_and_its_rule(editor: Editor, folder: Path):
    uri = (folder / "a.py").as_uri()
    editor.open(uri, TEXT)
    text = editor.hover(uri, 4, 81)
    assert text is not None
    title, _, message, *_ = text.split("\n")
    assert title == "**OOM301** shuffle-buffer-large · error"
    assert "1,281,167 elements of 602,112 B: 718 GiB" in message
    # What would be Markdown is not: no emphasis for a name.
    assert f"- a buffer of 1,281,167 elements, from \\_N\\_ ([a.py:3]({uri}#L3))" in text
    assert "**Help:** shuffle the paths before `map` decodes them" in text
    assert "**Fix:** shuffle before `map` (unsafe fix)" in text
    assert "*A shuffle buffer holds more than the memory budget allows.*" in text
    assert "## Example" not in text


def test_a_suppression_says_which_rules_it_means(editor: Editor, folder: Path):
    uri = (folder / "a.py").as_uri()
    editor.open(uri, TEXT)
    text = editor.hover(uri, 5, 40)
    assert text is not None
    assert "**OOM303** prefetch-many-batches" in text
    assert "**OOM306** batched-twice" in text
    assert "**OOM3**: 11 rules, OOM301 to OOM311" in text


def test_elsewhere_there_is_nothing_to_say(editor: Editor, folder: Path):
    uri = (folder / "a.py").as_uri()
    editor.open(uri, TEXT)
    assert editor.hover(uri, 0, 3) is None
    assert editor.hover((folder / "not-open.py").as_uri(), 0, 3) is None
