"""What is printed on a terminal only: the progress bar, colour, hyperlinks."""

from __future__ import annotations

import io
from pathlib import Path

import pytest
from terminal import Terminal

from oomlint.cli.progress import Bar, is_watched
from oomlint.engine.report import Report
from oomlint.report.style import wants_colour, wants_links

# A document that takes longer than anybody waits without a sign of life; the last one takes the bar away.
SLOW = """
import sys, time
from oomlint.engine.project import Run
examined = Run.examined
def slow(self, document):
    time.sleep(0.4)
    return examined(self, document)
Run.examined = slow
from oomlint.cli import main
sys.exit(main(sys.argv[1:]))
"""
BAD = """\
import tensorflow as tf

names = tf.data.Dataset.range(10**9).map(lambda i: tf.zeros((224, 224, 3))).shuffle(1_281_167)
"""


@pytest.fixture
def project(tmp_path: Path) -> Path:
    for name in "abcde":
        (tmp_path / f"{name}.py").write_text(BAD, encoding="utf-8")
    return tmp_path


def _run(project: Path, *flags: str, **environment: str) -> str:
    arguments = ("check", "--isolated", "--select", "OOM301", "-n", "-j1", "--output-format", "concise")
    terminal = Terminal(SLOW, *arguments, *flags, ".", cwd=project, **environment)
    try:
        return terminal.rest()
    finally:
        terminal.close()


def test_a_bar_is_drawn_and_gone_before_the_report_and_links_open_files(project):
    output = _run(project, WT_SESSION="1")
    drawn, _, report = output.rpartition("\r\x1b[K")
    assert "3/5 c.py" in drawn
    assert "\n" not in drawn
    assert "\x1b[1m" in report
    # OSC 8: the address, the text, the end.
    assert f"\x1b]8;;{(project / 'a.py').as_uri()}\x1b\\" in report
    assert report.count("\n") == 7


def test_a_dumb_terminal_gets_neither(project):
    output = _run(project, TERM="dumb", WT_SESSION="1")
    assert "\x1b" not in output
    assert len(output.splitlines()) == 7


class _Stream(io.StringIO):
    def __init__(self, terminal: bool) -> None:
        super().__init__()
        self._terminal = terminal

    def isatty(self) -> bool:
        return self._terminal


@pytest.mark.parametrize(
    ("terminal", "environment", "bar", "colour", "links"),
    [
        (True, {"TERM": "xterm"}, True, True, False),
        (True, {"TERM": "xterm", "VTE_VERSION": "7200"}, True, True, True),
        (True, {"TERM": "xterm", "VTE_VERSION": "4900"}, True, True, False),
        (True, {"TERM": "xterm-kitty"}, True, True, True),
        (True, {"TERM_PROGRAM": "vscode"}, True, True, True),
        (True, {"TERM": "xterm", "CI": "true", "WT_SESSION": "1"}, False, True, False),
        (True, {"TERM": "dumb", "WT_SESSION": "1"}, False, False, False),
        (True, {"TERM": "xterm", "NO_COLOR": "1"}, True, False, False),
        (True, {"TERM": "xterm", "CLICOLOR": "0"}, True, False, False),
        (True, {"TERM": "xterm", "FORCE_HYPERLINK": "1"}, True, True, True),
        (True, {"WT_SESSION": "1", "FORCE_HYPERLINK": "0"}, True, True, False),
        (False, {"WT_SESSION": "1"}, False, False, False),
        (False, {"FORCE_COLOR": "1"}, False, True, False),
        (False, {"CLICOLOR_FORCE": "1", "NO_COLOR": "1"}, False, False, False),
    ],
)
def test_who_gets_what(terminal, environment, bar, colour, links):
    stream = _Stream(terminal)
    assert is_watched(stream, environment) is bar
    assert wants_colour(stream, environment) is colour
    assert wants_links(stream, environment) is links


def test_a_terminal_that_lacks_the_blocks_gets_plain_ones(monkeypatch):
    stream = _Stream(True)
    bar = Bar(stream)
    monkeypatch.setattr("oomlint.cli.progress._PATIENCE", 0.0)
    bar(1, 4, Report("a.py"))
    assert "######.................. 1/4 a.py" in stream.getvalue()
