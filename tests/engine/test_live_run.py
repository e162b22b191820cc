"""A run that goes on says at any time what a new one would say of the same texts."""

from __future__ import annotations

import random
from pathlib import Path

from oomlint.documents.python_file import Document, document_from_text
from oomlint.engine.live_run import LiveRun
from oomlint.findings.diagnostic import Diagnostic
from oomlint.project.configuration import Configurations

TEXTS = {
    "sizes.py": "SIDE = 224\nOTHER = 3\n",
    "helper.py": """\
import tensorflow as tf
from sizes import SIDE

def read(p):
    return tf.image.resize(tf.io.decode_jpeg(tf.io.read_file(p), channels=3), (SIDE, SIDE))


def pictures(pattern, buffer):
    ds = tf.data.Dataset.list_files(pattern).map(read)
    return ds.shuffle(buffer).batch(32).prefetch(500)
""",
    "train.py": """\
import os
from helper import pictures

N = 1_281_167


def main():
    for b in pictures("*.jpg", N):
        print(b)


main()
""",
}
BITS = ["x", "\n", "    ", "# c\n", "1", "0", ")", "'''", ":", "pass\n", "tensorflow", "  # noqa: OOM301"]


def _document(folder: Path, name: str, text: str) -> Document:
    document = document_from_text(text, str(folder / name))
    document.path = folder / name
    return document


def _said(run: LiveRun) -> list[Diagnostic]:
    while waiting := run.outdated():
        run.examined(run.documents[waiting[0]])
    return run.findings()


def test_any_edits_of_any_of_three_files(tmp_path: Path):
    rng = random.Random(5)
    texts = dict(TEXTS)
    live = LiveRun(Configurations())
    for name in texts:
        (tmp_path / name).write_text("")
    for name, text in texts.items():
        live.put(_document(tmp_path, name, text))
    codes: set[str] = set()
    for _ in range(60):
        name = rng.choice(list(texts))
        text = texts[name]
        at = rng.randrange(len(text) + 1)
        until = min(len(text), at + rng.choice((0, 0, 1, 1, 3)))
        texts[name] = text[:at] + rng.choice(BITS) * rng.choice((0, 1, 1)) + text[until:]
        if rng.random() < 0.4:
            texts[name] = TEXTS[name]
        live.put(_document(tmp_path, name, texts[name]))
        new = LiveRun(Configurations())
        for other, content in texts.items():
            new.put(_document(tmp_path, other, content))
        said = _said(live)
        assert said == _said(new), texts
        codes |= {one.code for one in said}
    assert codes >= {"OOM301", "OOM303", "OOM001"}


def test_a_change_checks_what_rests_on_it_and_nothing_else(tmp_path: Path):
    for name in TEXTS:
        (tmp_path / name).write_text("")
    live = LiveRun(Configurations())
    for name, text in TEXTS.items():
        live.put(_document(tmp_path, name, text))
    other = _document(tmp_path, "other.py", "import keras\nmodel = keras.Sequential([])\n")
    live.put(other)
    _said(live)
    live.put(_document(tmp_path, "sizes.py", "SIDE = 8\n"))
    assert sorted(Path(name).name for name in live.outdated()) == ["helper.py", "train.py"]
    _said(live)
    live.put(_document(tmp_path, "train.py", TEXTS["train.py"] + "# x\n"))
    assert [Path(name).name for name in live.outdated()] == ["train.py"]


def test_what_is_on_disk_counts_where_nothing_is_open(tmp_path: Path):
    for name, text in TEXTS.items():
        (tmp_path / name).write_text(text)
    live = LiveRun(Configurations())
    live.put(_document(tmp_path, "train.py", TEXTS["train.py"]))
    assert [(one.code, Path(one.filename).name) for one in _said(live)] == [
        ("OOM301", "helper.py"),
        ("OOM303", "helper.py"),
    ]
    (tmp_path / "sizes.py").write_text("SIDE = 1\n")
    assert live.outdated() == []
    live.look_again()
    assert _said(live) == []
    live.look_again()
    assert live.outdated() == []  # the same bytes
    live.put(_document(tmp_path, "sizes.py", "SIDE = 224\n"))
    assert [one.code for one in _said(live)] == ["OOM301", "OOM303"]
    live.drop(str(tmp_path / "sizes.py"))
    assert _said(live) == []
