"""The functions that `import oomlint` offers, and the harness for rule authors."""

from __future__ import annotations

import pytest

import oomlint
from oomlint.project.settings import Settings
from oomlint.testing import expectations, mismatches, run_rule

# 60,000 x 8,192 float32: 1,966,080,000 B, buffered after a cast.
SCRIPT = """\
import numpy as np
import tensorflow as tf

x = np.zeros((60_000, 8_192), "uint8")
ds = tf.data.Dataset.from_tensor_slices(x).map(lambda row: tf.cast(row, tf.float32))
ds = ds.shuffle(60_000){marker}
"""


def test_check_source():
    settings = Settings(select=("OOM301",))
    assert oomlint.check_source(SCRIPT.format(marker=""), settings=settings) == []
    small = Settings(select=("OOM301",), budget=Settings().budget.__class__(host=4_000_000_000))
    (found,) = oomlint.check_source(SCRIPT.format(marker=""), filename="a/b.py", settings=small)
    assert (found.code, found.location.row, found.filename) == ("OOM301", 6, "a/b.py")
    assert str(found.severity) == "warning"


def test_check_source_follows_the_projects_modules_from_its_filename(tmp_path):
    (tmp_path / "pipeline.py").write_text(
        "import tensorflow as tf\n\n\ndef feed(n):\n"
        "    return tf.data.Dataset.range(10**6).map(lambda i: tf.zeros((1024, 1024))).shuffle(n)\n",
        encoding="utf-8",
    )
    text = "import keras\nfrom pipeline import feed\n\nds = feed(50_000)\n"
    found = oomlint.check_source(text, filename=str(tmp_path / "train.py"))
    # 50,000 x 4 MiB
    assert [(one.code, one.filename, one.location.row) for one in found] == [
        ("OOM301", str(tmp_path / "pipeline.py"), 5)
    ]
    places = {(note.filename, note.location.row) for note in found[0].evidence if note.location}
    assert (str(tmp_path / "train.py"), 4) in places


def test_check_paths(tmp_path):
    (tmp_path / "oomlint.toml").write_text('select = ["OOM001"]\n', encoding="utf-8")
    (tmp_path / "broken.py").write_text("import keras\nx = (\n", encoding="utf-8")
    assert [found.code for found in oomlint.check_paths(tmp_path)] == ["OOM001"]
    assert oomlint.check_paths(str(tmp_path / "broken.py"), isolated=True)[0].code == "OOM001"
    with pytest.raises(OSError, match="no such file"):
        oomlint.check_paths(tmp_path / "nothing.py")


def test_markers():
    marked = SCRIPT.format(marker='  # expect: OOM301 warning "60,000" "32,768 B"')
    (expected,) = expectations(marked)
    assert (expected.row, expected.code, expected.severity) == (6, "OOM301", "warning")
    assert expected.parts == ("60,000", "32,768 B")
    settings = Settings(select=("OOM301",), budget=Settings().budget.__class__(host=4_000_000_000))
    found = run_rule("OOM301", marked, settings=settings)
    assert mismatches(marked, found) == []
    assert mismatches(marked, []) == ['missing: line 6: OOM301 warning "60,000" "32,768 B"']
    assert mismatches(marked.replace("warning", "error"), found)[0].startswith(
        "missing: line 6: OOM301 error"
    )
    assert mismatches(marked.replace("32,768", "32,769"), found)[0].startswith("missing")
    assert mismatches(SCRIPT.format(marker=""), found)[0].startswith("not expected: line 6: OOM301 warning")


def test_a_marker_that_cannot_be_read_is_an_error():
    with pytest.raises(ValueError, match="not a marker"):
        expectations("x = 1  # expect: OOM301 maybe\n")
    assert expectations("x = '# expect: OOM301 warning'\n") == []


def test_modules_of_a_script_can_be_texts():
    found = run_rule(
        "OOM301",
        "import keras\nimport sizes\nimport tensorflow as tf\n\n"
        "ds = tf.data.Dataset.range(10**6).map(lambda i: tf.zeros((1024, 1024))).shuffle(sizes.BUFFER)\n",
        modules={"sizes": "BUFFER = 10_000\n"},
    )
    assert [one.location.row for one in found] == [5]
    assert any(note.filename == "sizes.py" for note in found[0].evidence)
