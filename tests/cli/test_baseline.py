"""`--baseline` and `--write-baseline`, in a real git repository."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path

import pytest
from command import Done, oomlint
from git_repository import Repository

# A buffer of 1,281,167 float32 images of 224 x 224 x 3 (OOM301); 500 batches of them (OOM303).
HEAD = """\
import tensorflow as tf


def decode(path):
    image = tf.io.decode_jpeg(tf.io.read_file(path), channels=3)
    return tf.image.resize(image, (224, 224))


names = tf.data.Dataset.list_files("train/*.jpg").map(decode)
"""
SHUFFLE = "names = names.shuffle(1_281_167)\n"
PREFETCH = "names = names.batch(32).prefetch(500)\n"
LEGACY = HEAD + SHUFFLE + PREFETCH
FLAGS = ("check", "--select", "OOM301,OOM303", "--output-format", "concise")
FILE = ".oomlint-baseline.json"


@pytest.fixture
def legacy(tmp_path: Path) -> Repository:
    repository = Repository(tmp_path / "project")
    repository.write("pyproject.toml", '[tool.oomlint]\ntarget-keras = "3"\n')
    repository.write("src/train.py", LEGACY)
    repository.write("src/other.py", HEAD + SHUFFLE)
    repository.commit("legacy")
    done = oomlint("check", "--select", "OOM301,OOM303", "--write-baseline", ".", cwd=repository.folder)
    assert (done.returncode, done.stdout) == (
        0,
        f"{FILE}: 3 findings in 2 files (3 added, 0 removed).\n"
        f"Report only what is new: oomlint check --baseline {FILE}\n",
    ), done.stderr
    repository.commit("baseline")
    return repository


def _check(repository: Repository, *arguments: str, folder: str = ".") -> Done:
    there = repository.folder / folder
    baseline = Path(*[".."] * len(Path(folder).parts)) / FILE
    return oomlint(*FLAGS, "--baseline", str(baseline), *arguments, cwd=there)


def _found(done: Done) -> list[str]:
    """`path:row CODE` of each finding."""
    rows = [line.split(": ")[:2] for line in done.stdout.splitlines() if ".py:" in line]
    return [f"{where.rpartition(':')[0]} {what.split()[0]}" for where, what in rows]


def test_what_was_there_is_not_reported_and_what_is_new_is(legacy):
    quiet = _check(legacy)
    assert (quiet.returncode, _found(quiet)) == (0, [])
    assert "3 more findings are in the baseline." in quiet.stdout.splitlines()
    legacy.write("src/train.py", LEGACY + PREFETCH.replace("500", "900"))
    done = _check(legacy)
    assert (done.returncode, _found(done)) == (1, ["src/train.py:12 OOM303"])
    # The second of two equal lines is new as well.
    legacy.write("src/train.py", LEGACY + SHUFFLE)
    assert _found(_check(legacy)) == ["src/train.py:12 OOM301"]


def test_moved_lines_and_new_indentation_are_the_same_findings(legacy):
    moved = "# a comment\n\n" + HEAD + "\n\nif names:\n    " + SHUFFLE + "\n\n" + PREFETCH
    legacy.write("src/train.py", moved)
    assert (_check(legacy).returncode, _found(_check(legacy))) == (0, [])


@pytest.mark.parametrize("committed", [True, False])
def test_a_file_renamed_in_git_keeps_its_findings(legacy, committed):
    legacy.git("mv", "src/train.py", "src/fit.py")
    legacy.write("src/fit.py", "# moved\n" + LEGACY + PREFETCH.replace("500", "900"))
    if committed:
        legacy.commit("renamed")
    done = _check(legacy)
    assert _found(done) == ["src/fit.py:13 OOM303"]
    assert "3 more findings are in the baseline." in done.stdout
    # pre-commit names the changed files and no other.
    assert _found(_check(legacy, "src/fit.py")) == ["src/fit.py:13 OOM303"]


def test_a_folder_renamed_with_the_only_commit_of_a_shallow_clone_at_hand(legacy, tmp_path):
    legacy.git("mv", "src", "lib")
    legacy.commit("renamed")
    subprocess.run(
        ["git", "clone", "-q", "--depth", "1", legacy.folder.as_uri(), str(tmp_path / "clone")], check=True
    )
    clone = Repository(tmp_path / "clone")
    done = _check(clone)
    assert (done.returncode, _found(done)) == (0, [])
    assert "3 more findings are in the baseline." in done.stdout


def test_a_copy_is_new_and_a_move_into_another_file_is_not(legacy):
    legacy.write("src/copy.py", LEGACY)
    assert _found(_check(legacy)) == ["src/copy.py:10 OOM301", "src/copy.py:11 OOM303"]
    (legacy.folder / "src/train.py").unlink()
    assert _found(_check(legacy)) == []
    # Two files that took over one finding: one of them is new.
    legacy.write("src/second.py", LEGACY)
    assert _found(_check(legacy)) == ["src/second.py:10 OOM301", "src/second.py:11 OOM303"]


def test_entries_that_are_gone_are_counted_and_removed_by_writing_again(legacy):
    legacy.write("src/train.py", HEAD + PREFETCH)
    done = _check(legacy)
    assert done.returncode == 0
    assert "1 entry of the baseline is gone; --write-baseline removes it." in done.stdout.splitlines()
    # A run that did not look for it, or did not look there, does not call it gone.
    assert "gone" not in _check(legacy, "--select", "OOM303", "--ignore", "OOM301").stdout
    assert "gone" not in _check(legacy, "src/other.py").stdout
    written = oomlint("check", "--select", "OOM303", "--write-baseline", FILE, "src", cwd=legacy.folder)
    assert written.stdout == f"{FILE}: 3 findings in 2 files (0 added, 0 removed).\n"
    written = oomlint("check", "--select", "OOM30", "--write-baseline", "src/other.py", cwd=legacy.folder)
    assert written.stdout == f"{FILE}: 3 findings in 2 files (0 added, 0 removed).\n"
    written = oomlint("check", "--select", "OOM30", "--write-baseline", cwd=legacy.folder)
    assert written.stdout == f"{FILE}: 2 findings in 2 files (0 added, 1 removed).\n"
    legacy.write("src/train.py", LEGACY)
    assert _found(_check(legacy)) == ["src/train.py:10 OOM301"]


def test_it_is_the_same_from_any_folder_and_with_absolute_paths(legacy):
    assert _found(_check(legacy, folder="src")) == []
    absolute = oomlint(
        *FLAGS, "--baseline", str(legacy.folder / FILE), str(legacy.folder / "src"), cwd=legacy.folder.parent
    )
    assert (absolute.returncode, _found(absolute)) == (0, [])
    before = (legacy.folder / FILE).read_bytes()
    oomlint(
        "check", "--select", "OOM301,OOM303", "--write-baseline", "../" + FILE, ".", cwd=legacy.folder / "src"
    )
    assert (legacy.folder / FILE).read_bytes() == before


def test_mending_leaves_what_is_in_the_baseline(legacy):
    legacy.write("src/train.py", LEGACY + PREFETCH.replace("500", "900"))
    assert "-names = names.batch(32).prefetch(900)\n" in _check(legacy, "--diff").stdout
    done = _check(legacy, "--fix")
    assert done.returncode == 0
    text = (legacy.folder / "src/train.py").read_text("utf-8")
    assert text == LEGACY + "names = names.batch(32).prefetch(tf.data.AUTOTUNE)\n"


def test_two_branches_that_add_entries_merge(legacy):
    def add(branch: str, name: str) -> None:
        legacy.git("checkout", "-q", "-b", branch, "main")
        legacy.write(name, HEAD + SHUFFLE)
        oomlint("check", "--select", "OOM301,OOM303", "--write-baseline", cwd=legacy.folder)
        legacy.commit(branch)

    legacy.write(".gitattributes", f"{FILE} merge=union\n")
    legacy.commit("attributes")
    add("one", "src/zz1.py")
    add("two", "src/zz2.py")  # next to each other, at the very end
    legacy.git("merge", "-q", "-m", "both", "one")
    done = _check(legacy)
    assert (done.returncode, _found(done)) == (0, [])
    assert "5 more findings are in the baseline." in done.stdout
    before = (legacy.folder / FILE).read_bytes()
    oomlint("check", "--select", "OOM301,OOM303", "--write-baseline", cwd=legacy.folder)
    after = (legacy.folder / FILE).read_bytes()
    assert sorted(after.splitlines()) == sorted(before.splitlines())
    assert after.index(b"zz1.py") < after.index(b"zz2.py")


def test_the_file_is_sorted_json_that_people_can_read(legacy):
    data = json.loads((legacy.folder / FILE).read_text("utf-8"))
    *entries, last = data["findings"]
    assert last == {}
    assert [(entry["path"], entry["code"], entry["line"]) for entry in entries] == [
        ("src/other.py", "OOM301", SHUFFLE.strip()),
        ("src/train.py", "OOM301", SHUFFLE.strip()),
        ("src/train.py", "OOM303", PREFETCH.strip()),
    ]


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (None, "no such baseline; --write-baseline"),
        ("", "is no JSON"),
        ("{", "is no JSON"),
        ("[]", "is no baseline of oomlint"),
        ('{"version": 1, "results": {}}', "is no baseline of oomlint"),
        ('{"oomlint-baseline": 2, "findings": []}', "version 2"),
        ('{"oomlint-baseline": 1, "findings": [{"path": "a.py"}]}', "entry 1"),
        ("<<<<<<< HEAD\n=======\n>>>>>>> one\n", "conflict markers"),
    ],
)
def test_a_file_that_is_no_baseline_is_status_2_with_a_reason(tmp_path, content, said):
    if content is not None:
        (tmp_path / FILE).write_text(content, encoding="utf-8")
    done = oomlint("check", "--baseline", FILE, ".", cwd=tmp_path)
    assert done.returncode == 2
    assert said in done.stderr
    assert len(done.stderr.splitlines()) == 1


def test_python_2_files_can_be_in_it_and_unreadable_ones_stop_it(legacy):
    legacy.write("src/old.py", "import keras\nprint 'epoch', 1\n")
    args = ("check", "--select", "OOM0,OOM301,OOM303")
    assert oomlint(*args, "--baseline", FILE, ".", cwd=legacy.folder).returncode == 1
    done = oomlint(*args, "--write-baseline", ".", cwd=legacy.folder)
    assert done.stdout == f"{FILE}: 4 findings in 3 files (1 added, 0 removed).\n"
    assert oomlint(*args, "--baseline", FILE, ".", cwd=legacy.folder).returncode == 0
    (legacy.folder / "src/bad.py").write_bytes(b"import keras  # caf\xe9\n")
    before = (legacy.folder / FILE).read_bytes()
    done = oomlint(*args, "--write-baseline", ".", cwd=legacy.folder)
    assert done.returncode == 2
    assert "not written" in done.stderr
    assert (legacy.folder / FILE).read_bytes() == before
