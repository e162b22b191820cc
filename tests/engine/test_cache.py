"""Reports kept between runs: never stale, never trusted blindly, never in the way."""

from __future__ import annotations

import json
import os
import pickle
import subprocess
import sys
import time
from pathlib import Path

import pytest

from oomlint.engine import cache
from oomlint.engine.document import check_document
from oomlint.engine.project import Run
from oomlint.engine.report import Report
from oomlint.engine.stored import StoredError, from_data, to_data
from oomlint.project.configuration import Configurations

HELPER = """import tensorflow as tf

def pipeline(pattern):
    return tf.data.Dataset.list_files(pattern, shuffle=False).map(load)

def load(path):
    return tf.image.resize(tf.io.decode_jpeg(tf.io.read_file(path), channels=3), (224, 224))
"""
# 1,281,167 elements of 224 * 224 * 3 * 4 B
TRAIN = """from data import pipeline

ds = pipeline("/data/*.jpg")
ds = ds.shuffle(1_281_167).batch(32)
"""


@pytest.fixture
def project(tmp_path: Path) -> Path:
    (tmp_path / "oomlint.toml").write_text('select = ["OOM3"]\n')
    (tmp_path / "data.py").write_text(HELPER)
    (tmp_path / "train.py").write_text(TRAIN)
    return tmp_path


def found(project: Path, **options: object) -> list[tuple[str, str, int]]:
    run = Run(Configurations(), **{"cached": True, **options})  # type: ignore[arg-type]
    run.add_files(sorted(project.glob("*.py")))
    report = run.check()
    return [(d.code, Path(d.filename).name, d.location.row) for d in report.diagnostics]


SHUFFLE = [("OOM301", "train.py", 4)]


@pytest.fixture
def examined(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The names of the documents that were checked and not remembered."""
    names: list[str] = []
    whole = Run.examined

    def examine(self: Run, document: object) -> Report:
        names.append(Path(document.filename).name)  # type: ignore[attr-defined]
        return whole(self, document)  # type: ignore[arg-type]

    monkeypatch.setattr(Run, "examined", examine)
    return names


def test_what_did_not_change_is_not_checked_again(project: Path, examined: list[str]) -> None:
    assert found(project) == SHUFFLE
    assert examined == ["data.py", "train.py"]
    examined.clear()
    os.utime(project / "train.py")  # a checkout writes every file anew
    assert found(project) == SHUFFLE
    assert examined == []


@pytest.mark.parametrize(
    ("name", "before", "after", "result"),
    [
        ("train.py", "shuffle(1_281_167)", "shuffle(1_00)", []),
        ("data.py", "(224, 224)", "(1, 1)", []),  # only imported: 1,281,167 elements of 12 B are 15 MB
        ("oomlint.toml", "OOM3", "OOM4", []),
    ],
)
def test_a_change_of_what_a_report_rests_on_is_seen(
    project: Path, name: str, before: str, after: str, result: list[object]
) -> None:
    assert found(project) == SHUFFLE
    text = (project / name).read_text()
    assert before in text
    (project / name).write_text(text.replace(before, after))
    assert found(project) == result
    (project / name).write_text(text)
    assert found(project) == SHUFFLE


def test_a_module_that_appears_or_goes_is_seen(project: Path) -> None:
    helper = (project / "data.py").read_text()
    (project / "data.py").unlink()
    assert found(project) == []
    (project / "data.py").write_text(helper)
    assert found(project) == SHUFFLE


def test_other_rules_or_another_release_start_anew(
    project: Path, examined: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    found(project)
    examined.clear()
    monkeypatch.setattr(cache, "installation", lambda: "another one")
    assert found(project) == SHUFFLE
    assert examined == ["data.py", "train.py"]


def test_the_installation_changes_with_any_file_of_the_program(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "oomlint").mkdir()
    module = tmp_path / "oomlint" / "__init__.py"
    module.write_text("one = 1\n")
    monkeypatch.setattr(cache.oomlint, "__file__", str(module))
    names = set()
    for text in ("one = 1\n", "one = 12\n"):
        module.write_text(text)
        cache.installation.cache_clear()
        names.add(cache.installation())
    cache.installation.cache_clear()
    assert len(names) == 2


@pytest.mark.parametrize("garbage", [b"", b"{", b"[]", b'{"key": 1}', b"\xff\xfe", b"[" * 100_000])
def test_a_corrupt_entry_is_as_if_it_were_not_there(project: Path, garbage: bytes) -> None:
    found(project)
    entries = list((project / cache.FOLDER).glob("*.json"))
    assert len(entries) == 2
    for entry in entries:
        entry.write_bytes(garbage)
    assert found(project) == SHUFFLE


def test_an_entry_with_another_report_in_it_is_not_believed(project: Path) -> None:
    found(project)
    for entry in (project / cache.FOLDER).glob("*.json"):
        held = json.loads(entry.read_text())
        held["report"][1] = [["OOM301", 1]]  # no diagnostic has two fields
        entry.write_text(json.dumps(held))
    assert found(project) == SHUFFLE


def test_git_and_backups_leave_the_folder_out(project: Path) -> None:
    found(project)
    folder = project / cache.FOLDER
    assert (folder / ".gitignore").read_text() == "*\n"
    # the first 43 bytes that https://bford.info/cachedir/ asks for
    assert (folder / "CACHEDIR.TAG").read_bytes()[:43] == b"Signature: 8a477f597d28d172789f06886806bc55"


def test_where_nothing_can_be_written_nothing_is_lost(project: Path) -> None:
    (project / cache.FOLDER).write_text("a file in its place")
    assert found(project) == SHUFFLE
    assert (project / cache.FOLDER).read_text() == "a file in its place"


def test_what_nobody_asked_for_in_a_month_is_removed(project: Path) -> None:
    found(project)
    folder = project / cache.FOLDER
    old = folder / "0123456789abcdef.json"
    old.write_text("{}")
    day = 24 * 60 * 60
    os.utime(old, (time.time() - 31 * day, time.time() - 31 * day))
    (project / "train.py").write_text(TRAIN + "\n")
    found(project)
    assert not old.exists()
    assert len(list(folder.glob("*.json"))) == 2


def test_a_failed_rule_is_asked_again(
    project: Path, examined: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(*_: object) -> object:
        raise RuntimeError("no")

    with monkeypatch.context() as patch:
        patch.setattr("oomlint.engine.document._findings", broken)
        assert {code for code, _, _ in found(project)} == {"OOM002"}
    examined.clear()
    assert found(project) == SHUFFLE
    assert examined == ["data.py", "train.py"]


def test_two_processes_find_what_one_finds(project: Path) -> None:
    for number in range(6):
        (project / f"train_{number}.py").write_text(TRAIN)
    one = found(project, cached=False)
    assert len(one) == 7
    assert found(project, cached=False, jobs=2) == one
    assert found(project, jobs=2) == one  # the processes keep their reports
    assert len(list((project / cache.FOLDER).glob("*.json"))) == 8


def test_a_process_that_dies_costs_nothing(project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for number in range(6):
        (project / f"train_{number}.py").write_text(TRAIN)
    parent, whole = os.getpid(), Run.examined

    def examine(self: Run, document: object) -> Report:
        if os.getpid() != parent and Path(document.filename).name == "train_3.py":  # type: ignore[attr-defined]
            os._exit(9)
        return whole(self, document)  # type: ignore[arg-type]

    monkeypatch.setattr(Run, "examined", examine)
    assert len(found(project, cached=False, jobs=2)) == 7


def test_a_run_can_be_sent_to_a_process_that_is_not_forked(project: Path) -> None:
    run = Run(Configurations())
    run.add_files(sorted(project.glob("*.py")))
    here = run.check().diagnostics
    assert pickle.loads(pickle.dumps(run)).check().diagnostics == here


def test_every_field_of_a_report_is_kept() -> None:
    from oomlint.documents.python_file import document_from_text
    from oomlint.findings.registry import load_rules
    from oomlint.project.settings import Settings

    text = "import tensorflow as tf\nx = tf.zeros((224, 224, 3))\nds = tf.data.Dataset.range(9000).map(lambda i: x)"
    text += ".batch(64).prefetch(100)\n"
    report = check_document(document_from_text(text, "x.py"), Settings(), None, load_rules())
    assert [d.code for d in report.diagnostics] == ["OOM303"]
    assert report.diagnostics[0].fix is not None
    assert from_data(Report, json.loads(json.dumps(to_data(report)))) == report


@pytest.mark.parametrize(
    "data", [None, 3, [], ["x"], ["x", [], {}, "no"], ["x", {}, {}, False], [3, [], {}, False]]
)
def test_what_is_no_report_is_refused(data: object) -> None:
    with pytest.raises(StoredError):
        from_data(Report, data)


def test_a_run_that_finds_nothing_changed_imports_neither_libcst_nor_rules(project: Path) -> None:
    (project / "oomlint.toml").write_text("")  # codes that a configuration names are held against the rules
    assert SHUFFLE[0] in found(project)
    program = (
        "import sys\n"
        "from oomlint.cli import main\n"
        "status = main(['check', '-q', '.'])\n"
        "heavy = {name.partition('.')[0] for name in sys.modules if name.startswith('libcst')}\n"
        "heavy |= {name for name in sys.modules if name.startswith(('oomlint.rules', 'oomlint.dryrun'))}\n"
        "print(status, sorted(heavy), file=sys.stderr)\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", program], cwd=project, capture_output=True, text=True, check=True
    )
    assert done.stderr == "1 []\n"
    assert "OOM301" in done.stdout
