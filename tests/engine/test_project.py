"""Checking a project: modules that import each other, fixes across files, what cannot be read."""

from __future__ import annotations

from pathlib import Path

import engine_rules as rules
import pytest

from oomlint.engine.fixing import fix, unified_diff
from oomlint.engine.project import Run, check_paths
from oomlint.findings.model import Safety
from oomlint.project.configuration import Configurations
from oomlint.project.discovery import discover
from oomlint.syntax.gates import PARSES

# The element count is known only where the function is called.
HELPERS = """\
import tensorflow as tf


def dataset(count):
    return tf.data.Dataset.range(9).shuffle(count)
"""
SCRIPT = """\
from helpers import dataset

# keras
train = dataset({count})
"""


@pytest.fixture
def project(tmp_path: Path) -> Path:
    (tmp_path / "oomlint.toml").write_text("", encoding="utf-8")
    (tmp_path / "helpers.py").write_text(HELPERS, encoding="utf-8")
    (tmp_path / "a.py").write_text(SCRIPT.format(count=50), encoding="utf-8")
    (tmp_path / "b.py").write_text(SCRIPT.format(count=60), encoding="utf-8")
    return tmp_path


def _run(folder: Path) -> Run:
    found = Configurations()
    run = Run(found, rules=(rules.shuffles, rules.batches))
    run.add_files(discover([folder], lambda path: found.for_folder(path).settings))
    return run


def test_a_finding_in_a_module_is_reported_there_once(project):
    report = check_paths([project], Configurations(), rules=(rules.shuffles,))
    assert [(Path(d.filename).name, d.location.row) for d in report.diagnostics] == [("helpers.py", 5)]
    assert report.files == 3


def test_a_suppression_that_only_a_caller_uses_is_used(project):
    # In its own file nobody calls it, so there the suppression covers nothing.
    (project / "helpers.py").write_text(HELPERS.replace("(count)\n", "(count)  # noqa: OOM391\n"), "utf-8")
    report = check_paths([project], Configurations(), rules=(rules.shuffles,))
    assert report.diagnostics == ()


def test_fixes_go_to_the_file_they_are_for_until_nothing_changes(project):
    fixed = fix(_run(project), {Safety.SAFE, Safety.UNSAFE}, to_disk=True)
    assert (project / "helpers.py").read_text("utf-8") == HELPERS.replace("shuffle(count)", "shuffle(7)")
    assert (project / "a.py").read_text("utf-8") == SCRIPT.format(count=50)
    assert fixed.applied == 1
    assert fixed.report.diagnostics == ()
    assert fixed.left_out == []


def test_nothing_is_written_without_leave(project):
    run = _run(project)
    assert fix(run, {Safety.SAFE}, to_disk=True).changed == []
    fixed = fix(run, {Safety.SAFE, Safety.UNSAFE}, to_disk=False)
    assert (project / "helpers.py").read_text("utf-8") == HELPERS
    ((before, after),) = fixed.changed
    assert unified_diff(before, after, project).splitlines() == [
        "--- helpers.py",
        "+++ helpers.py",
        "@@ -2,4 +2,4 @@",
        " ",
        " ",
        " def dataset(count):",
        "-    return tf.data.Dataset.range(9).shuffle(count)",
        "+    return tf.data.Dataset.range(9).shuffle(7)",
    ]


def test_a_module_that_was_not_named_is_reported_and_not_changed(project):
    run = Run(Configurations(), rules=(rules.shuffles,))
    run.add_files([project / "a.py"])
    fixed = fix(run, {Safety.SAFE, Safety.UNSAFE}, to_disk=True)
    assert [Path(d.filename).name for d in fixed.report.diagnostics] == ["helpers.py"]
    assert (project / "helpers.py").read_text("utf-8") == HELPERS


def test_files_that_cannot_be_read_are_problems(project):
    (project / "broken.py").write_bytes(b"import keras\n# \xff\n")
    (project / "link.py").symlink_to(project / "nowhere.py")
    report = check_paths([project, project / "missing"], Configurations(), rules=(rules.shuffles,))
    assert len(report.problems) == 2
    assert report.files == 3  # those that were read
    assert any("missing: no such file or folder" in line for line in report.problems)
    assert any("broken.py" in line for line in report.problems)
    assert len(report.diagnostics) == 1


def test_each_folder_has_its_own_settings(project):
    inner = project / "inner"
    inner.mkdir()
    (inner / "oomlint.toml").write_text('ignore = ["OOM391"]\n', encoding="utf-8")
    (inner / "c.py").write_text(
        "import tensorflow as tf\ntf.data.Dataset.range(9).shuffle(8).batch(1)\n", "utf-8"
    )
    (inner / "helpers.py").write_text(HELPERS, "utf-8")
    report = check_paths([project], Configurations(), rules=(rules.shuffles, rules.batches))
    assert [(Path(d.filename).relative_to(project).as_posix(), d.code) for d in report.diagnostics] == [
        ("helpers.py", "OOM391"),
        ("inner/c.py", "OOM392"),
    ]


REACHING = {
    "train.py": "import json\nfrom trainer import run\n\nrun(200_000)\n",
    "trainer.py": "from lib import data\n\n\ndef run(buffer):\n    return data.make(buffer)\n",
    "lib/__init__.py": "",
    "lib/data.py": (
        "import tensorflow as tf\n\n\ndef read(path):\n"
        "    return tf.image.resize(tf.io.decode_png(tf.io.read_file(path), channels=3), (512, 512))\n\n\n"
        "def make(buffer):\n    return tf.data.Dataset.list_files('*').map(read).shuffle(buffer)\n"
    ),
    "other.py": "import os\nimport missing.module\n\nprint(os.name)\n",
}


@pytest.mark.parametrize("asked", ["train.py", "."])
def test_a_script_that_names_no_keras_is_followed_to_a_module_that_does(tmp_path, monkeypatch, asked):
    """Only the script knows the buffer; the finding stands where the shuffle does."""
    for name, text in REACHING.items():
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(text, encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    report = check_paths([Path(asked)], Configurations())
    assert not report.problems
    (found,) = report.diagnostics
    assert (found.code, found.location.row) == ("OOM301", 9)
    assert Path(found.filename).resolve() == (tmp_path / "lib/data.py").resolve()


def test_what_imports_no_keras_is_not_parsed(tmp_path):
    (tmp_path / "other.py").write_text(REACHING["other.py"], encoding="utf-8")
    PARSES.reset()
    check_paths([tmp_path / "other.py"], Configurations())
    assert (PARSES.ast, PARSES.libcst) == (0, 0)


def test_a_copy_of_a_library_is_not_followed_as_the_dry_run_does_not(tmp_path):
    """`keras` is the library's name, even where a `keras/` lies in the project: it leads to no work for a rule."""
    (tmp_path / "oomlint.toml").write_text("", encoding="utf-8")
    (tmp_path / "keras").mkdir()
    (tmp_path / "keras" / "data.py").write_text(HELPERS.replace("tf.data", "tf.keras.data"), encoding="utf-8")
    (tmp_path / "train.py").write_text("from keras.data import dataset\n\ndataset(50)\n", encoding="utf-8")
    PARSES.reset()
    check_paths([tmp_path / "train.py"], Configurations(), rules=(rules.shuffles,))
    assert (PARSES.ast, PARSES.libcst) == (1, 0)


def test_a_module_that_many_import_is_read_for_the_gate_once(tmp_path: Path) -> None:
    (tmp_path / "names.py").write_text("import keras\nKINDS = ['small', 'large']\n")
    for number in range(3):
        (tmp_path / f"asks_{number}.py").write_text(
            f"import keras\nfrom names import KINDS\nprint(KINDS[{number % 2}])\n"
        )
    run = Run(Configurations(isolated=True))
    run.add_files(sorted(tmp_path.glob("asks_*.py")))
    PARSES.reset()
    assert not run.check().diagnostics
    assert PARSES.ast == 4
