"""`--changed-since REV`, in a real git repository."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest
from command import Done, oomlint, process
from git_repository import Repository

# A buffer of N float32 images of 224 x 224 x 3 is OOM301; 500 batches of them OOM303.
HEAD = """\
import tensorflow as tf

N = 1_281_167


def decode(path):
    image = tf.io.decode_jpeg(tf.io.read_file(path), channels=3)
    return tf.image.resize(image, (224, 224))


names = tf.data.Dataset.list_files("train/*.jpg").map(decode)
"""
BODY = """\
names = names.shuffle(N)
names = (
    names
    .batch(32)
    .prefetch(500)
)
"""
SMALL = HEAD.replace("1_281_167", "100")
ONE = ("check", "--isolated", "--select", "OOM301,OOM303", "--output-format", "concise")


@pytest.fixture
def repository(tmp_path: Path) -> Repository:
    made = Repository(tmp_path / "repository")
    made.write("src/train.py", HEAD + BODY)
    made.write("src/other.py", SMALL + BODY)
    made.write("pyproject.toml", "")
    made.commit("first")
    made.git("branch", "base")
    return made


def _check(repository: Repository, *arguments: str, since: str = "base", folder: str = ".") -> Done:
    return oomlint(*ONE, "--changed-since", since, *arguments, cwd=repository.folder / folder)


def _found(done: Done) -> list[str]:
    assert done.returncode in (0, 1), done.stderr
    rows = [line.split(": ")[:2] for line in done.stdout.splitlines() if ".py:" in line or ".ipynb:" in line]
    return [f"{where.rpartition(':')[0]} {what.split()[0]}" for where, what in rows]


def test_nothing_changed_nothing_reported(repository):
    done = _check(repository)
    assert (done.returncode, _found(done)) == (0, [])
    assert "3 more findings are on lines that did not change." in done.stdout.splitlines()


@pytest.mark.parametrize("state", ["committed", "staged", "uncommitted"])
def test_a_changed_line_counts_wherever_the_change_is(repository, state):
    repository.write("src/train.py", HEAD + BODY.replace("shuffle(N)", "shuffle(N, seed=1)"))
    if state != "uncommitted":
        repository.git("add", "-A")
    if state == "committed":
        repository.commit()
    assert _found(_check(repository)) == ["src/train.py:12 OOM301"]
    # The same from a folder below, and for a file by itself.
    assert _found(_check(repository, folder="src")) == ["train.py:12 OOM301"]
    assert _found(_check(repository, "train.py", folder="src")) == ["train.py:12 OOM301"]


def test_any_row_of_the_statement_counts_and_one_taken_out_of_it(repository):
    repository.write("src/train.py", HEAD + BODY.replace(".batch(32)", ".batch(33)"))
    assert _found(_check(repository)) == ["src/train.py:16 OOM303"]
    repository.write("src/train.py", HEAD + BODY.replace("    names\n", "    names  # all of it\n"))
    assert _found(_check(repository)) == ["src/train.py:16 OOM303"]
    repository.write("src/train.py", HEAD + BODY.replace("    names\n", "    names\n    .repeat()\n"))
    repository.commit()
    repository.git("branch", "-f", "base")
    repository.write("src/train.py", HEAD + BODY)
    assert _found(_check(repository)) == ["src/train.py:16 OOM303"]
    # Taken out next to it is not in it.
    repository.git("checkout", "-q", "--", ".")
    repository.write("src/train.py", HEAD + "print(1)\n" + BODY)
    repository.commit()
    repository.git("branch", "-f", "base")
    repository.write("src/train.py", HEAD + BODY)
    assert _found(_check(repository)) == []


def test_a_number_that_changed_makes_the_finding_it_leads_to_new(repository):
    repository.write("src/other.py", HEAD + BODY)
    assert _found(_check(repository)) == ["src/other.py:12 OOM301"]


def test_a_number_in_another_file_too(repository):
    repository.write("src/sizes.py", "N = 100\n")
    repository.write("src/train.py", HEAD.replace("N = 1_281_167", "from sizes import N") + BODY)
    repository.commit()
    repository.git("branch", "-f", "base")
    repository.write("src/sizes.py", "N = 1_281_167\n")
    assert _found(_check(repository)) == ["src/train.py:12 OOM301"]


def test_new_files_tracked_or_not(repository):
    repository.write("src/new.py", HEAD + BODY)
    both = ["src/new.py:12 OOM301", "src/new.py:16 OOM303"]
    assert _found(_check(repository)) == both
    repository.git("add", "src/new.py")
    assert _found(_check(repository)) == both
    repository.commit()
    assert _found(_check(repository)) == both


def test_a_renamed_file_is_not_new_and_its_changes_are(repository):
    repository.git("mv", "src/train.py", "src/größe und so.py")
    assert _found(_check(repository)) == []
    repository.write("src/größe und so.py", HEAD + BODY.replace("500", "900"))
    repository.commit()
    assert _found(_check(repository)) == ["src/größe und so.py:16 OOM303"]


def test_what_the_other_branch_changed_meanwhile_is_not_ours(repository):
    repository.git("checkout", "-q", "-b", "feature")
    repository.write("src/other.py", SMALL + BODY.replace("500", "900"))
    repository.commit("ours")
    repository.git("checkout", "-q", "base")
    repository.write("src/train.py", HEAD + "print(1)\n")
    repository.commit("theirs")
    repository.git("checkout", "-q", "feature")
    assert _found(_check(repository)) == ["src/other.py:16 OOM303"]


def test_a_pull_request_against_a_remote(repository, tmp_path):
    subprocess.run(["git", "clone", "-q", str(repository.folder), str(tmp_path / "clone")], check=True)
    clone = Repository(tmp_path / "clone")
    clone.write("src/other.py", HEAD + BODY)
    clone.commit()
    assert _found(_check(clone, since="origin/main")) == ["src/other.py:12 OOM301"]
    assert _found(_check(clone, since="HEAD~1")) == ["src/other.py:12 OOM301"]
    subprocess.run(
        ["git", "clone", "-q", "--depth", "1", clone.folder.as_uri(), str(tmp_path / "shallow")], check=True
    )
    shallow = Repository(tmp_path / "shallow")
    shallow.git("fetch", "-q", "--depth", "1", "origin", "HEAD")
    done = _check(shallow, since="HEAD~1")
    assert done.returncode == 2
    assert "git knows no revision 'HEAD~1'" in done.stderr


def test_line_ends_alone_are_no_change(repository):
    repository.git("config", "core.autocrlf", "true")
    (repository.folder / "src/train.py").write_bytes((HEAD + BODY).replace("\n", "\r\n").encode())
    assert _found(_check(repository)) == []


def test_a_repository_inside_is_another_one(repository):
    inner = Repository(repository.folder / "vendored")
    inner.write("train.py", HEAD + BODY)
    inner.commit()
    assert _found(_check(repository)) == []
    repository.git("-c", "protocol.file.allow=always", "submodule", "add", "-q", "./vendored", "sub")
    assert _found(_check(repository)) == []


def test_mending_touches_what_changed_and_nothing_else(repository):
    repository.write("src/new.py", HEAD + BODY)
    assert oomlint(*ONE, "--changed-since", "base", "--fix", ".", cwd=repository.folder).returncode == 1
    assert "prefetch(500)" in (repository.folder / "src/train.py").read_text("utf-8")
    assert "prefetch(tf.data.AUTOTUNE)" in (repository.folder / "src/new.py").read_text("utf-8")


def test_comments_only_where_something_changed(repository):
    repository.write("src/new.py", HEAD + BODY)
    done = oomlint(*ONE, "--changed-since", "base", "--add-noqa", ".", cwd=repository.folder)
    assert done.stdout == "Suppressed 2 findings in 1 file.\n"


def test_what_git_cannot_tell_is_status_2_with_a_reason(repository, tmp_path):
    done = _check(repository, since="bse")
    assert (done.returncode, done.stdout) == (2, "")
    assert "git knows no revision 'bse': did you mean 'base'?" in done.stderr
    (tmp_path / "plain").mkdir()
    (tmp_path / "plain" / "a.py").write_text("import keras\n", encoding="utf-8")
    ceiling = {"GIT_CEILING_DIRECTORIES": str(tmp_path)}
    done = process("check", "--changed-since", "main", cwd=tmp_path / "plain", **ceiling)
    assert (done.returncode, done.stdout) == (2, "")
    assert "not a git repository" in done.stderr
    done = process("check", "--changed-since", "main", cwd=repository.folder, PATH=os.devnull)
    assert (done.returncode, done.stdout) == (2, "")
    assert "git cannot be run" in done.stderr
    done = process(
        "check", "--changed-since", "main", cwd=repository.folder, GIT_TEST_ASSUME_DIFFERENT_OWNER="1"
    )
    assert (done.returncode, done.stdout) == (2, "")
    assert "dubious ownership" in done.stderr
    assert "safe.directory" in done.stderr
    repository.git("checkout", "-q", "--orphan", "unrelated")
    repository.commit()
    done = _check(repository)
    assert (done.returncode, done.stdout) == (2, "")
    assert "'base' and HEAD have no common commit here" in done.stderr
    empty = Repository(tmp_path / "empty")
    done = _check(empty, since="main")
    assert done.returncode == 2
    assert "it has no commit yet" in done.stderr
