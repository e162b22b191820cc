"""Checking a project runs none of its code, through whichever front end: every module in it leaves a mark when it is run."""

from __future__ import annotations

import os
import subprocess
import sys
import sysconfig
from pathlib import Path

import pytest
from editor import Editor
from terminal import Terminal

# What a Python program imports, what Python itself and tools import by their names, and the libraries that a script names.
PLANTED = (
    *("sitecustomize", "usercustomize", "conftest", "setup", "noxfile", "__main__", "__init__"),
    *("keras", "tensorflow", "tf_keras", "numpy", "libcst", "pathspec", "tomli", "flake8_plugin", "rules"),
    *("pygls", "lsprotocol", "watchfiles", "pycodestyle", "pyflakes", "shtab"),
    *("__future__", "typing", "json", "re", "ast", "argparse", "dataclasses", "tempfile", "tomllib"),
    *("hashlib", "subprocess", "difflib", "bisect", "multiprocessing", "concurrent", "asyncio", "planted"),
)
SCRIPT = """\
import keras
import numpy as np
import data
from planted import anything

model = keras.Sequential([keras.Input((8,)), keras.layers.Dense(1)])
ds = data.frames().shuffle(1_281_167)
"""
DATA = """\
import tensorflow as tf

open({mark!r}, "a").write("data ")


def frames():
    return tf.data.Dataset.range(10**9).map(lambda i: tf.zeros((224, 224, 3)))
"""
ENTRY = "[oomlint.rules]\nplanted = planted\n[flake8.extension]\nPLA = planted:Plugin\n"
SCRIPTS = Path(sysconfig.get_path("scripts"))
OOMLINT = (str(SCRIPTS / "oomlint"),)
MODULE = (sys.executable, "-m", "oomlint")


@pytest.fixture
def mark(tmp_path: Path) -> Path:
    return tmp_path / "mark.txt"


@pytest.fixture
def project(tmp_path: Path, mark: Path) -> Path:
    folder = tmp_path / "project"
    folder.mkdir()
    for name in PLANTED:
        (folder / f"{name}.py").write_text(f"open({str(mark)!r}, 'a').write({name!r} + ' ')\n")
    (folder / "data.py").write_text(DATA.format(mark=str(mark)))
    (folder / "train.py").write_text(SCRIPT)
    (folder / "planted.pth").write_text(f"import os; open({str(mark)!r}, 'a').write('pth ')\n")
    (folder / "pyproject.toml").write_text(
        '[project]\nname = "planted"\nversion = "1"\n'
        '[project.entry-points."oomlint.rules"]\nplanted = "planted"\n'
        '[tool.oomlint]\nselect = ["OOM3"]\n'
    )
    (folder / "setup.cfg").write_text("[options.entry_points]\noomlint.rules =\n    planted = planted\n")
    installed = folder / "planted-1.dist-info"
    installed.mkdir()
    (installed / "METADATA").write_text("Metadata-Version: 2.1\nName: planted\nVersion: 1\n")
    (installed / "entry_points.txt").write_text(ENTRY)
    return folder


def ran(*command: str, cwd: Path) -> subprocess.CompletedProcess[str]:
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    return subprocess.run(
        command, cwd=cwd, env=environment, capture_output=True, text=True, timeout=120, check=False
    )


@pytest.mark.parametrize("program", [OOMLINT, MODULE], ids=["oomlint", "python -m oomlint"])
@pytest.mark.parametrize(
    ("arguments", "status", "said"),
    [
        (("check", "--fix", "--unsafe-fixes", "."), 1, "OOM301"),
        (("check", "--output-format", "sarif", "-j", "2", "--no-cache", "train.py"), 1, "OOM301"),
        (("config",), 0, "OOM3"),
        (("rule", "OOM301"), 0, "OOM301"),
        (("gpus",), 0, "T4"),
    ],
    ids=lambda given: given[0] if isinstance(given, tuple) else None,
)
def test_on_the_command_line(project, mark, program, arguments, status, said):
    done = ran(*program, *arguments, cwd=project)
    assert said in done.stdout, done.stderr
    assert done.returncode == status
    assert not mark.exists(), mark.read_text()


def test_the_mark_is_left_by_what_is_run(project, mark):
    ran(sys.executable, "train.py", cwd=project)
    assert mark.read_text().split()[0] == "keras"


def test_in_flake8(project, mark):
    done = ran(str(SCRIPTS / "flake8"), "--isolated", "--select", "OOM", "train.py", cwd=project)
    assert "train.py:7:" in done.stdout, done.stderr
    assert "OOM301" in done.stdout
    assert not mark.exists(), mark.read_text()


def test_in_an_editor(project, mark):
    editor = Editor(project)
    try:
        found = editor.open((project / "train.py").as_uri(), SCRIPT)
        assert [one.code for one in found] == ["OOM301"]
    finally:
        assert editor.quit() == 0
    assert not mark.exists(), mark.read_text()


def test_while_watching(project, mark):
    terminal = Terminal("", "check", "--watch", "--output-format", "concise", ".", cwd=project)
    try:
        assert "OOM301" in terminal.until("watching for changes; Ctrl-C ends it\r\n")
    finally:
        terminal.close()
    assert not mark.exists(), mark.read_text()


def test_a_program_of_ones_own_keeps_its_path(tmp_path):
    package = tmp_path / "training"
    package.mkdir()
    (package / "__init__.py").write_text("import oomlint, sys\nprint(sys.path[0])\n")
    (package / "__main__.py").write_text("")
    assert ran(sys.executable, "-m", "training", "oomlint", cwd=tmp_path).stdout.strip() == str(tmp_path)
