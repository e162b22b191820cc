"""Files that are broken, deep, no files at all, or oddly named: each is told of once, and the others are done."""

from __future__ import annotations

import ast
import json
import os
import re
import socket
import xml.etree.ElementTree as ElementTree
from pathlib import Path

import pytest
from command import Done, oomlint, process, within

BAD = """\
import tensorflow as tf

frames = tf.data.Dataset.range(10**9).map(lambda i: tf.zeros((224, 224, 3)))
frames = frames.shuffle(1_281_167)
"""
FLAGS = ("--isolated", "--select", "OOM0,OOM301")


def check(folder: Path, *arguments: str) -> Done:
    return oomlint("check", *FLAGS, "--output-format", "concise", *arguments, ".", cwd=folder)


def told(done: Done) -> list[str]:
    """Code and file of what is reported."""
    return [
        f"{found[2]} {found[1]}"
        for found in re.finditer(r"^(.+?):\d+:\d+: (OOM\d+)", done.stdout, re.MULTILINE)
    ]


@pytest.fixture
def project(tmp_path: Path) -> Path:
    (tmp_path / "a.py").write_text(BAD)
    (tmp_path / "z.py").write_text(BAD)
    return tmp_path


def test_files_that_are_no_python_are_told_of_and_the_others_checked(project):
    raw = BAD.encode()
    contents = {
        "cookie.py": b"# -*- coding: nonsense -*-\n" + raw,
        "latin.py": raw + b"# caf\xe9\n",
        "nul.py": raw + b"x = '\0'\n",
        "wide.py": BAD.encode("utf-16"),
        "wrong.py": b"# -*- coding: ascii -*-\n" + raw + "# café\n".encode(),
        "cells.ipynb": b'["tensorflow"]',
        "cut.ipynb": b'{"cells": [{"source": "import tensorflow',
        "deep.ipynb": b'{"tensorflow": ' + b"[" * 100_000,
    }
    for name, content in contents.items():
        (project / name).write_bytes(content)
    done = check(project)
    assert done.returncode == 2
    assert told(done) == ["OOM301 a.py", "OOM301 z.py"]
    assert "2 findings: 2 errors." in done.stdout
    lines = {line.split(":")[1].strip(): line for line in done.stderr.splitlines()}
    assert sorted(lines) == sorted(contents)
    assert len(done.stderr.splitlines()) == len(contents)
    assert "cookie.py:1: unknown encoding 'nonsense'" in lines["cookie.py"]
    assert "latin.py:5: byte 0xe9 is not valid utf-8" in lines["latin.py"]
    assert "nul.py:5: contains NUL bytes" in lines["nul.py"]
    assert "UTF-16" in lines["wide.py"]
    assert "wrong.py:6: byte 0xc3 is not valid ascii" in lines["wrong.py"]
    assert all("notebook" in lines[name] for name in contents if name.endswith(".ipynb"))
    assert all((project / name).read_bytes() == content for name, content in contents.items())


def test_python_2_is_told_once_as_such(project):
    (project / "old.py").write_text(BAD + 'print "done"\nprint "again"\nraise ValueError, "no"\n')
    done = check(project)
    assert told(done) == ["OOM301 a.py", "OOM001 old.py", "OOM301 z.py"]
    assert "Python 2" in done.stdout
    assert done.returncode == 1
    assert done.stderr == ""


def nested(depth: int) -> dict[str, str]:
    """Expressions and blocks that are this deep, one for each kind of nesting."""
    return {
        "attribute": "x = a" + ".b()" * depth,
        "bracket": "x = " + "[" * depth + "]" * depth,
        "call": "x = " + "f(" * depth + ")" * depth,
        "if": "".join(f"{' ' * level}if x:\n" for level in range(depth)) + " " * depth + "pass",
        "lambda": "x = " + "lambda: " * depth + "0",
        "not": "x = " + "not " * depth + "1",
        "sum": "x = " + " + ".join(["a"] * (depth + 1)),
    }


def test_nesting_to_the_parsers_limit_and_beyond(project):
    # 1,971: a file of a public package that ends flake8 and ruff.
    for depth in (95, 1971):
        for kind, text in nested(depth).items():
            (project / f"{kind}{depth}.py").write_text(f"{BAD}{text}\n")
    done = process("check", *FLAGS, "--output-format", "concise", ".", cwd=project)
    assert done.stderr == ""
    assert done.returncode == 1
    # One finding for each: what there is to find, or that nothing else can be found.
    found = {line.split()[1]: line.split()[0] for line in told(done)}
    assert len(found) == len(told(done)) == 2 + 2 * len(nested(1))
    assert found["a.py"] == found["z.py"] == "OOM301"
    for kind in ("attribute", "sum", "not", "if", "lambda"):
        assert found[f"{kind}95.py"] == "OOM301", kind
    for kind in ("bracket", "call", "if"):
        assert found[f"{kind}1971.py"] == "OOM001", kind


def test_what_only_python_itself_can_parse_is_checked_or_told_once(project):
    # A form feed that starts a line inside a block, and a line joined to an empty last one.
    texts = {
        "joined.py": f"{BAD}x = 1\\\n\n",
        "feed.py": f"{BAD}if x:\n    y = 1\n\f    z = 2\n",
        "star.py": f"{BAD}for x in *a, *b:\n    pass\n",
        "walrus.py": f"{BAD}x = a[b := 0]\n",
        "except.py": f"{BAD}try:\n    pass\nexcept* OSError:\n    pass\n",
        "tabs.py": f"{BAD}if x:\n\ty = 1\n\tif y:\n\t    z = 2\n",
    }
    known = []
    for name, text in texts.items():
        try:
            ast.parse(text)
        except SyntaxError:
            continue
        (project / name).write_text(text)
        known.append(name)
    done = check(project)
    assert done.returncode == 1
    assert [line.split()[1] for line in told(done)] == sorted(["a.py", "z.py", *known])
    assert done.stderr == ""


@pytest.mark.parametrize(
    "text",
    [
        f"TABLE = [{', '.join(str(number) for number in range(10_000))}]\n",
        "TABLE = {" + ", ".join(f"'k{number}': [{number}, {number}]" for number in range(10_000)) + "}\n",
        "x = 1\n" * 50_000,
    ],
    ids=["list", "dict", "rows"],
)
def test_large_files(tmp_path, text):
    (tmp_path / "train.py").write_text(f"{text}{BAD}")
    done = check(tmp_path)
    assert told(done) == ["OOM301 train.py"]
    assert done.returncode == 1


def test_a_large_notebook(tmp_path):
    cell = {"cell_type": "code", "metadata": {}, "execution_count": None, "outputs": [], "source": "x = 1\n"}
    picture = {"output_type": "display_data", "metadata": {}, "data": {"image/png": "A" * 4_000_000}}
    last = {**cell, "outputs": [picture], "source": BAD}
    notebook = {"cells": [cell] * 2000 + [last], "metadata": {}, "nbformat": 4, "nbformat_minor": 5}
    (tmp_path / "long.ipynb").write_text(json.dumps(notebook))
    assert "long.ipynb:cell 2001:4:25: OOM301" in check(tmp_path).stdout


def test_links_pipes_sockets_and_folders_with_a_files_name(project):
    (project / "one.py").symlink_to("two.py")
    (project / "two.py").symlink_to("one.py")
    (project / ".#a.py").symlink_to("somebody@host.1234")  # an editor's lock
    (project / "again").symlink_to(".", target_is_directory=True)
    os.mkfifo(project / "pipe.py")
    (project / "folder.py").mkdir()
    (project / "folder.py" / "inner.py").write_text(BAD)
    with socket.socket(socket.AF_UNIX) as listening, within(project):
        listening.bind("socket.py")  # by a relative path: the whole one may be too long
        done = check(project)
        named = check(project, "socket.py", "one.py")
    assert told(done) == ["OOM301 a.py", "OOM301 folder.py/inner.py", "OOM301 z.py"]
    assert done.returncode == 2
    told_of = "Too many levels of symbolic links"
    assert done.stderr.splitlines() == [f"oomlint: one.py: {told_of}", f"oomlint: two.py: {told_of}"]
    assert told(named) == told(done)
    assert "socket.py: " in named.stderr
    assert named.returncode == 2


def test_a_folder_that_may_not_be_read(project, monkeypatch):
    closed = project / "closed"
    closed.mkdir()
    (closed / "inner.py").write_text(BAD)
    closed.chmod(0)
    real = os.scandir

    def scandir(path):  # the superuser may read everything
        if os.fspath(path) == str(closed):
            raise PermissionError(13, "Permission denied", str(path))
        return real(path)

    monkeypatch.setattr(os, "scandir", scandir)
    try:
        done = check(project)
    finally:
        closed.chmod(0o700)
    assert told(done) == ["OOM301 a.py", "OOM301 z.py"]
    assert done.stderr == "oomlint: closed: Permission denied\n"
    assert done.returncode == 2


def test_a_file_in_a_folder_that_may_not_be_searched(project, monkeypatch):
    real = Path.is_dir

    def is_dir(self, **options):
        if self.name == "inner.py":
            raise PermissionError(13, "Permission denied", str(self))
        return real(self, **options)

    monkeypatch.setattr(Path, "is_dir", is_dir)
    done = check(project, "closed/inner.py")
    assert told(done) == ["OOM301 a.py", "OOM301 z.py"]
    assert done.stderr == "oomlint: closed/inner.py: Permission denied\n"
    assert done.returncode == 2


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (b"select = [\n", "Invalid value"),
        (b"select = 3\n", "select: expected a list of strings, got a number"),
        (b'extend = "oomlint.toml"\n', "`extend` comes back to this file"),
        (b'extend = "nowhere.toml"\n', "No such file or directory"),
        (b"\xff\xfe", "can't decode byte 0xff"),
        (b"select = " + b"[" * 5000, "is nested too deeply"),
    ],
)
def test_a_broken_configuration_is_one_line_and_status_2(project, content, said):
    (project / "oomlint.toml").write_bytes(content)
    done = oomlint("check", "--select", "OOM301", ".", cwd=project)
    assert done.returncode == 2
    assert done.stdout == ""
    assert len(done.stderr.splitlines()) == 1
    assert said in done.stderr


def test_a_broken_gitignore(project):
    """Git passes over what it does not understand, and so the other lines hold."""
    ignores = project / ".gitignore"
    ignores.write_text("\\\n***/\n!\n/\nz.py\n")
    assert told(check(project)) == ["OOM301 a.py"]
    ignores.unlink()
    os.mkfifo(ignores)
    assert told(check(project)) == ["OOM301 a.py", "OOM301 z.py"]


NAMES = (b"new\nline.py", b"no\xfftext.py", b"esc\x1b[2J.py", "z\u0308\U0001f600.py".encode())
FORMATS = ("full", "concise", "grouped", "json", "json-lines", "github", "gitlab", "sarif", "junit")


@pytest.fixture
def names(tmp_path: Path) -> Path:
    for name in NAMES:
        (tmp_path / os.fsdecode(name)).write_text(BAD)
    return tmp_path


@pytest.mark.parametrize("chosen", FORMATS)
def test_any_name_in_any_format(names, tmp_path_factory, chosen):
    report = tmp_path_factory.mktemp("report") / "report"
    done = oomlint("check", *FLAGS, "--output-format", chosen, ".", cwd=names)
    written = oomlint("check", *FLAGS, "--output-format", chosen, "-o", str(report), ".", cwd=names)
    assert (done.returncode, written.returncode) == (1, 1), written.stderr
    assert done.stderr == written.stderr == ""
    text = report.read_bytes().decode("utf-8")
    assert text.splitlines()[:1] == done.stdout.splitlines()[:1]
    assert len([line for line in text.splitlines() if "no" in line and "text.py" in line]) >= 1
    if chosen == "concise":
        assert [line.split(":")[0] for line in text.splitlines()[:4]] == [
            *("esc\\x1b[2J.py", "new\\nline.py", "no\\udcfftext.py", "z\u0308\U0001f600.py")
        ]
    elif chosen == "junit":
        assert len(ElementTree.fromstring(text).findall(".//failure")) == len(NAMES)
    elif chosen == "json-lines":
        found = {Path(json.loads(line)["filename"]).name for line in text.splitlines()}
        assert {os.fsencode(name) for name in found} == set(NAMES)
    elif chosen in ("json", "gitlab", "sarif"):
        json.loads(text)
    if chosen != "github":  # it takes a name as it is
        assert "\x1b" not in text


def test_any_name_in_a_baseline_and_mended(names):
    first = oomlint("check", *FLAGS, "--write-baseline=known.json", ".", cwd=names)
    assert first.returncode == 0, first.stderr
    again = oomlint("check", *FLAGS, "--baseline=known.json", ".", cwd=names)
    assert again.returncode == 0, again.stderr
    assert "4 more findings are in the baseline." in again.stdout
    mended = oomlint("check", *FLAGS, "--fix", "--unsafe-fixes", ".", cwd=names)
    assert mended.returncode == 0, mended.stderr
    for name in NAMES:
        assert (names / os.fsdecode(name)).read_text() != BAD


def test_what_python_warns_of_in_a_file_is_not_said(project):
    """An invalid escape, which Python 3.12 warns of wherever it reads it: here, in a module, in setup.py."""
    escaped = 'import re\n\nDIGITS = re.compile("\\d+")\n'
    (project / "a.py").write_text(f"from names import DIGITS\n{escaped}{BAD}")
    (project / "names.py").write_text(escaped + "import keras\n")
    (project / "long.py").write_text(escaped + "DIGITS = '\\d'\n" * 6_000 + BAD)
    (project / "setup.py").write_text(
        f"from setuptools import setup\n\n{escaped}setup(install_requires=['keras>=3'])\n"
    )
    flags = (
        "--select",
        "OOM209,OOM301",
        "--config",
        f"cache-dir = {str(project / 'kept')!r}",
        "--output-format",
        "concise",
    )
    for command in (("--exit-zero",), ("--add-noqa",)):
        done = process("check", *flags, *command, ".", cwd=project, PYTHONWARNINGS="always")
        assert "invalid escape" not in done.stderr, done.stderr
    assert all("# noqa: OOM301" in (project / name).read_text() for name in ("a.py", "long.py", "z.py"))
