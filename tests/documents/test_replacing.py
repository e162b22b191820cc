"""A file that is written is there whole, wherever its name leads."""

from __future__ import annotations

import os
import stat
import sys
import threading
from pathlib import Path

import pytest

from oomlint.documents.replacing import write_file


def test_a_new_file_and_another_content(tmp_path: Path) -> None:
    report = tmp_path / "report.md"
    write_file(report, b"first\r\n")
    assert report.read_bytes() == b"first\r\n"
    report.chmod(0o640)
    write_file(report, b"2\n")
    assert report.read_bytes() == b"2\n"
    assert stat.S_IMODE(report.stat().st_mode) == 0o640
    assert list(tmp_path.iterdir()) == [report]


def test_a_reader_sees_one_report_or_the_other(tmp_path: Path) -> None:
    report = tmp_path / "report.md"
    whole = [bytes([letter]) * 3_000_000 for letter in b"ab"]
    write_file(report, whole[0])
    written = threading.Event()

    def write() -> None:
        for number in range(20):
            write_file(report, whole[number % 2])
        written.set()

    writer = threading.Thread(target=write)
    writer.start()
    while not written.is_set():
        assert report.read_bytes() in whole
    writer.join()


def test_a_link_stays_one(tmp_path: Path) -> None:
    (tmp_path / "kept").mkdir()
    link = tmp_path / "report.md"
    link.symlink_to("kept/report.md")
    for content in (b"new\n", b"newer\n"):
        write_file(link, content)
        assert link.is_symlink()
        assert (tmp_path / "kept/report.md").read_bytes() == content


@pytest.mark.skipif(sys.platform == "win32", reason="Windows has no named pipes in folders")
def test_a_pipe_gets_it(tmp_path: Path) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    got: list[bytes] = []
    reader = threading.Thread(target=lambda: got.append(pipe.read_bytes()))
    reader.start()
    write_file(pipe, b"lines\n")
    reader.join()
    assert got == [b"lines\n"]
    assert stat.S_ISFIFO(pipe.stat().st_mode)
