"""`oomlint check --watch`: the real process, on a terminal and without one."""

from __future__ import annotations

import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from terminal import Terminal

BAD = """\
import tensorflow as tf

names = tf.data.Dataset.range(10**9).map(lambda i: tf.zeros((224, 224, 3))).shuffle(1_281_167)
"""
GOOD = BAD.replace("1_281_167", "100")
FLAGS = ("check", "--watch", "--select", "OOM0,OOM301", "--output-format", "concise")
CLEAR = "\x1b[H\x1b[2J\x1b[3J"
WAITS = "watching for changes; Ctrl-C ends it\r\n"
WITHOUT = (
    "import sys; sys.modules['watchfiles'] = None; from oomlint.cli import main; sys.exit(main(sys.argv[1:]))"
)


def _save(path: Path, text: str) -> None:
    """As many editors do: write another file and rename it."""
    other = path.with_name(f".{path.name}.swp")
    other.write_text(text, encoding="utf-8")
    other.replace(path)


@pytest.fixture
def project(tmp_path: Path) -> Path:
    (tmp_path / "pyproject.toml").write_text("", encoding="utf-8")
    (tmp_path / "train.py").write_text(BAD, encoding="utf-8")
    return tmp_path


@pytest.fixture(params=["", WITHOUT], ids=["watchfiles", "polling"])
def watched(project: Path, request: pytest.FixtureRequest) -> Iterator[Terminal]:
    terminal = Terminal(request.param, *FLAGS, "-o", "report.md", ".", cwd=project)
    yield terminal
    terminal.close()


def test_it_checks_again_on_every_change_and_survives_what_is_broken(project, watched):
    report = project / "report.md"
    first = watched.until(WAITS)
    assert first.startswith(CLEAR)
    assert "train.py:3:" in report.read_text("utf-8")
    _save(project / "train.py", GOOD)
    assert watched.until(WAITS).startswith(CLEAR)
    assert report.read_text("utf-8") == "No findings in 1 file.\n"
    (project / "new.py").write_text("import keras\nx = (\n", encoding="utf-8")
    watched.until(WAITS)
    assert "new.py:2:5: OOM001" in report.read_text("utf-8")
    (project / "pyproject.toml").write_text("[tool.oomlint]\nslect = []\n", encoding="utf-8")
    assert "unknown key 'slect': did you mean 'select'?" in watched.until(WAITS)
    (project / "pyproject.toml").write_text("", encoding="utf-8")
    (project / "new.py").unlink()
    # The changes may come in one round or in several, of which one may be writing its report.
    deadline = time.monotonic() + 60
    while report.read_text("utf-8") != "No findings in 1 file.\n":
        assert time.monotonic() < deadline, report.read_text("utf-8")
        time.sleep(0.05)
    watched.until(WAITS)
    assert watched.interrupt() == 130


def test_without_a_terminal_nothing_is_cleared_and_a_file_by_itself_is_enough(project):
    import subprocess
    import sys

    with subprocess.Popen(
        [sys.executable, "-m", "oomlint", *FLAGS, "train.py"],
        cwd=project, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, bufsize=1,
    ) as process:  # fmt: skip
        assert process.stdout is not None
        lines = []
        try:
            for line in process.stdout:
                lines.append(line)
                if line.endswith("Ctrl-C ends it\n"):
                    if any(line.startswith("No findings") for line in lines):
                        break
                    _save(project / "train.py", GOOD)
        finally:
            process.terminate()
    assert "\x1b" not in "".join(lines)
    assert any(line.startswith("train.py:3:") for line in lines)
