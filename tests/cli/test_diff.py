"""`--diff` is a patch that git applies, and means the same as `--fix`."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest
from command import oomlint, process
from git_repository import Repository

HEAD = """\
import tensorflow as tf


def decode(path):
    image = tf.io.decode_jpeg(tf.io.read_file(path), channels=3)
    return tf.image.resize(image, (224, 224))


names = tf.data.Dataset.list_files("train/*.jpg").map(decode)
"""
TEXTS = {
    "plain.py": HEAD + "a = names.batch(32).prefetch(500)\n",
    "no newline at the end.py": HEAD + "a = names.batch(32).prefetch(500)",
    "below/größe.py": "# größe\f\n" + HEAD + "a = names.batch(32).prefetch(500)\nprint('größe')\n",
    "windows.py": (HEAD + "a = names.batch(32).prefetch(500)\n").replace("\n", "\r\n"),
    "two.py": HEAD
    + "a = names.batch(32).prefetch(500)\n"
    + "print()\n" * 20
    + "b = names.batch(32).prefetch(600)\n",
}
ONE = ("check", "--isolated", "--select", "OOM303")


@pytest.fixture
def repository(tmp_path: Path) -> Repository:
    made = Repository(tmp_path / "repository")
    for name, text in TEXTS.items():
        made.write(name, "").write_bytes(text.encode())
    return made


def test_git_applies_it_and_gets_what_fix_makes(repository, tmp_path):
    done = process(*ONE, "--diff", ".", cwd=repository.folder)
    assert done.returncode == 1
    assert done.stderr == "Would mend 6 findings.\n"
    for name, text in TEXTS.items():
        assert (repository.folder / name).read_bytes() == text.encode()
    mended = tmp_path / "mended"
    shutil.copytree(repository.folder, mended, ignore=shutil.ignore_patterns(".git"))
    assert oomlint(*ONE, "--fix", ".", cwd=mended).returncode == 0
    (tmp_path / "it.patch").write_bytes(done.stdout.encode())
    repository.git("apply", "-p0", str(tmp_path / "it.patch"))
    for name, text in TEXTS.items():
        assert (mended / name).read_bytes() == (repository.folder / name).read_bytes() != text.encode()


def test_statuses_and_output_file(repository):
    quiet = oomlint(*ONE, "--diff", "--exit-zero", "-q", "-o", "it.patch", ".", cwd=repository.folder)
    assert (quiet.returncode, quiet.stdout, quiet.stderr) == (0, "", "")
    repository.git("apply", "-p0", "it.patch")
    clean = oomlint(*ONE, "--diff", ".", cwd=repository.folder)
    assert (clean.returncode, clean.stdout, clean.stderr) == (0, "", "Nothing to mend.\n")


def test_standard_input_has_a_diff_too(tmp_path):
    done = process(*ONE, "--diff", "--stdin-filename", "a.py", "-", cwd=tmp_path, stdin=TEXTS["plain.py"])
    assert done.returncode == 1
    assert done.stdout.startswith("--- a.py\n+++ a.py\n")
    assert "+a = names.batch(32).prefetch(tf.data.AUTOTUNE)\n" in done.stdout
