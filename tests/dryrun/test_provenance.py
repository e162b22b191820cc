"""A size is computed right, and its evidence names each place, whichever way its factors came."""

from __future__ import annotations

from oomlint.findings.diagnostic import Diagnostic
from oomlint.findings.model import Severity
from oomlint.testing import run_rule

# The element of all of them: 200 * 200 * 3 float32.
ELEMENT = 480_000

READ = """\
def read(path):
    image = tf.io.decode_jpeg(tf.io.read_file(path), channels=3)
    return tf.image.resize(image, (200, 200))
"""

ARGPARSE = (
    """\
import argparse
import tensorflow as tf

"""
    + READ
    + """
parser = argparse.ArgumentParser()
parser.add_argument("--files", default="*.jpg")
parser.add_argument("--window", type=int, default=20_000)
options = parser.parse_args()
ds = tf.data.Dataset.list_files(options.files).map(read).shuffle(options.window)
"""
)

DATACLASS = (
    """\
from dataclasses import dataclass, field
import tensorflow as tf

@dataclass
class Hyper:
    rate: float = 1e-3
    window: int = 20_000

"""
    + READ
    + """
hyper = Hyper(rate=1e-4)
buffer = hyper.window
ds = tf.data.Dataset.list_files("*.jpg").map(read).shuffle(buffer_size=buffer)
"""
)

HELPER = """\
import tensorflow as tf

SIDE = 200


def read(path):
    image = tf.io.decode_jpeg(tf.io.read_file(path), channels=3)
    return tf.image.resize(image, (SIDE, SIDE))


def mixed(ds, window):
    return ds.map(read).shuffle(window)
"""

IMPORTER = """\
import tensorflow as tf
from pipeline import mixed

EXAMPLES = 40_000
ds = mixed(tf.data.Dataset.list_files("*.jpg"), EXAMPLES // 2)
"""

METHOD = (
    """\
import tensorflow as tf

"""
    + READ
    + """

class Feeder:
    per_shard = 2_500

    def __init__(self, shards):
        self.shards = shards

    def window(self):
        return self.shards * self.per_shard

    def dataset(self):
        ds = tf.data.Dataset.list_files("*.jpg").map(read)
        return ds.shuffle(self.window())


ds = Feeder(shards=8).dataset()
"""
)


def only(diagnostics: list[Diagnostic]) -> Diagnostic:
    assert len(diagnostics) == 1, [diagnostic.message for diagnostic in diagnostics]
    return diagnostics[0]


def lines(text: str, *needles: str) -> set[int]:
    """The 1-based numbers of the lines that contain these, each once."""
    found = set()
    for needle in needles:
        rows = [number for number, row in enumerate(text.splitlines(), 1) if needle in row]
        assert len(rows) == 1, needle
        found.add(rows[0])
    return found


def places(diagnostic: Diagnostic, filename: str = "script.py") -> set[int]:
    return {
        note.location.row
        for note in diagnostic.evidence
        if note.filename == filename and note.location is not None
    }


def says(diagnostic: Diagnostic) -> None:
    """20,000 elements of 480,000 B are 9.6e9 B: 8.94 GiB, more than a quarter of 16 and less than all of it."""
    assert diagnostic.severity is Severity.WARNING
    told = diagnostic.message + "\n".join(note.text for note in diagnostic.evidence)
    assert "20,000" in told
    assert f"{ELEMENT:,} B" in told
    assert "8.94 GiB" in told


def test_argparse_default():
    found = only(run_rule("OOM301", ARGPARSE))
    says(found)
    assert lines(ARGPARSE, '"--window"', "tf.image.resize") <= places(found)


def test_argparse_type_and_another_default():
    found = run_rule("OOM301", ARGPARSE.replace("default=20_000", 'default="20000"'))
    says(only(found))


def test_dataclass_field():
    found = only(run_rule("OOM301", DATACLASS))
    says(found)
    assert lines(DATACLASS, "window: int", "buffer = hyper", "tf.image.resize") <= places(found)


def test_dataclass_field_given_by_the_caller():
    text = DATACLASS.replace("Hyper(rate=1e-4)", "Hyper(1e-4, 300)")
    assert run_rule("OOM301", text) == []


def test_helper_in_another_module():
    found = only(run_rule("OOM301", IMPORTER, modules={"pipeline": HELPER}))
    says(found)
    assert found.filename == "pipeline.py"
    assert lines(HELPER, "tf.image.resize", "SIDE = 200") <= places(found, "pipeline.py")
    assert lines(IMPORTER, "EXAMPLES = 40_000") <= places(found)


def test_method_of_a_class():
    found = only(run_rule("OOM301", METHOD))
    says(found)
    assert lines(METHOD, "per_shard = 2_500", "shards=8", "tf.image.resize") <= places(found)


def test_another_object_another_size():
    text = METHOD.replace("Feeder(shards=8)", "Feeder(shards=2)")
    assert run_rule("OOM301", text) == []


def test_what_is_not_known_stays_so():
    for text in (
        ARGPARSE.replace("default=20_000", "required=True"),
        METHOD.replace("per_shard = 2_500", "per_shard = int(open('n').read())"),
        HELPER,
        ARGPARSE.replace("(200, 200)", "tf.shape(image)[:2]"),
    ):
        assert run_rule("OOM301", text) == []
