"""Runs that are killed, run out of disk, or find somebody else at work: each file is the old one or the new one."""

from __future__ import annotations

import errno
import os
import resource
import signal
import subprocess
import sys
import time
from pathlib import Path
from unittest import mock

import pytest
from command import oomlint, process

from oomlint.documents import replacing
from oomlint.engine.cache import FOLDER

BAD = """\
import tensorflow as tf

frames = tf.data.Dataset.range(10**9).map(lambda i: tf.zeros((224, 224, 3)))
frames = frames.shuffle(1_281_167)
"""
FLAGS = ("check", "--isolated", "--select", "OOM0,OOM301")
FIX = (*FLAGS, "--fix", "--unsafe-fixes")


def texts(folder: Path) -> dict[str, str]:
    return {path.name: path.read_text() for path in sorted(folder.glob("*.py"))}


@pytest.fixture
def project(tmp_path: Path) -> Path:
    return filled(tmp_path, 3)


def filled(folder: Path, count: int) -> Path:
    for number in range(count):
        (folder / f"train{number:03}.py").write_text(f"{BAD}seed = {number}\n")
    return folder


@pytest.fixture(scope="module")
def mended(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """What fixing makes of each, where nothing goes wrong."""
    folder = filled(tmp_path_factory.mktemp("mended"), 24)
    before = texts(folder)
    assert oomlint(*FIX, ".", cwd=folder).returncode == 0
    after = texts(folder)
    assert not set(before.values()) & set(after.values())
    return after


def test_killed_while_it_fixes(tmp_path, mended):
    folder = filled(tmp_path, 24)
    before = texts(folder)
    counts = set()
    for _ in range(3):
        written = sum(text != before[name] for name, text in texts(folder).items())
        running = subprocess.Popen(
            [sys.executable, "-m", "oomlint", *FIX, "--no-cache", "."],
            cwd=folder,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        while running.poll() is None:
            if sum(text != before[name] for name, text in texts(folder).items()) > written:
                running.send_signal(signal.SIGKILL)
                break
            time.sleep(0.001)
        running.wait()
        now = texts(folder)
        assert all(text in (before[name], mended[name]) for name, text in now.items())
        counts.add(sum(now[name] == mended[name] for name in now))
    assert any(0 < count < 24 for count in counts)
    # What was left beside them (a file that was not renamed yet) is in nobody's way.
    last = process(*FIX, ".", cwd=folder)
    assert last.returncode == 0, last.stderr
    assert texts(folder) == mended
    assert process(*FLAGS, ".", cwd=folder).stdout == "No findings in 24 files.\n"


@pytest.mark.parametrize("step", ["mkstemp", "fsync", "chmod", "replace"])
def test_killed_at_every_step_of_writing(project, mended, step):
    where = {
        "mkstemp": "import tempfile as module; name = 'mkstemp'",
        "fsync": "import os as module; name = 'fsync'",
        "chmod": "import pathlib; module = pathlib.Path; name = 'chmod'",
        "replace": "import pathlib; module = pathlib.Path; name = 'replace'",
    }[step]
    code = f"""if True:
        import os, signal, sys
        from oomlint.cli import main
        {where}
        real = getattr(module, name)
        calls = []
        def die(*given, **options):
            calls.append(given)
            if len(calls) == 2:
                os.kill(os.getpid(), signal.SIGKILL)
            return real(*given, **options)
        setattr(module, name, die)
        sys.exit(main(sys.argv[1:]))"""
    before = texts(project)
    done = subprocess.run([sys.executable, "-c", code, *FIX, "--no-cache", "."], cwd=project, check=False)
    assert done.returncode == -signal.SIGKILL
    now = texts(project)
    assert [now[name] == mended[name] for name in now] == [True, False, False]
    assert [now[name] == before[name] for name in now] == [False, True, True]
    again = oomlint(*FIX, ".", cwd=project)
    assert again.returncode == 0, again.stderr
    assert texts(project) == {name: mended[name] for name in now}


def test_no_room_while_it_fixes(project, mended):
    """The limit of a process on the size of a file is met in the middle of it, as the end of a disk is."""
    large = project / "train001.py"
    large.write_text(f"{large.read_text()}{'# a comment that takes room' * 40}\n")
    before = texts(project)
    limit = 1000
    assert len(before["train001.py"]) > limit > len(mended["train000.py"])
    done = limited(limit, *FIX, "--no-cache", ".", cwd=project)
    assert done.returncode == 2, done.stderr
    assert "train001.py: cannot be written: File too large" in done.stderr
    now = texts(project)
    assert now["train000.py"] == mended["train000.py"]
    assert now["train001.py"] == before["train001.py"]
    assert now["train002.py"] == mended["train002.py"]
    assert sorted(path.name for path in project.iterdir()) == sorted(now)
    assert "train001.py:4:25: OOM301" in done.stdout


def limited(size: int, *arguments: str, cwd: Path) -> subprocess.CompletedProcess[str]:
    def limit() -> None:
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        resource.setrlimit(resource.RLIMIT_FSIZE, (size, size))

    return subprocess.run(
        [sys.executable, "-m", "oomlint", *arguments],
        cwd=cwd,
        env={**os.environ, "PYTHONDONTWRITEBYTECODE": "1"},
        preexec_fn=limit,
        capture_output=True,
        text=True,
        check=False,
    )


@pytest.mark.parametrize("existing", [None, "what was there before\n" * 3])
def test_no_room_for_a_report(project, tmp_path_factory, existing):
    report = tmp_path_factory.mktemp("report") / "report.json"
    if existing is not None:
        report.write_text(existing)
    done = limited(100, *FLAGS, "--no-cache", "--output-format", "json", "-o", str(report), ".", cwd=project)
    assert done.returncode == 2
    assert done.stderr == f"oomlint: {report}: File too large\n"
    assert "Traceback" not in done.stdout


def test_no_room_for_a_baseline(project):
    baseline = project / "known.json"
    done = limited(100, *FLAGS, "--no-cache", f"--write-baseline={baseline}", ".", cwd=project)
    assert done.returncode == 2
    assert done.stderr == f"oomlint: {baseline}: File too large\n"
    assert not baseline.exists()  # half of one would stop the next run
    assert oomlint(*FLAGS, f"--write-baseline={baseline}", ".", cwd=project).returncode == 0
    held = baseline.read_bytes()
    (project / "more.py").write_text(BAD)
    done = limited(100, *FLAGS, "--no-cache", f"--write-baseline={baseline}", ".", cwd=project)
    assert done.returncode == 2
    assert baseline.read_bytes() == held
    assert [path.name for path in project.iterdir() if path.suffix == ".tmp"] == []


def test_no_room_for_the_cache(project):
    done = limited(100, *FLAGS, "--output-format", "concise", ".", cwd=project)
    assert done.returncode == 1
    assert done.stderr == ""
    assert done.stdout.count("OOM301") == 3
    assert list((project / FOLDER).glob("*.json")) == list((project / FOLDER).glob("*.tmp")) == []


def test_no_room_on_standard_output(project):
    with Path("/dev/full").open("w") as full:
        done = subprocess.run(
            [sys.executable, "-m", "oomlint", *FLAGS, "."],
            cwd=project,
            stdout=full,
            stderr=subprocess.PIPE,
            text=True,
            check=False,
        )
    assert done.returncode == 2
    assert done.stderr == "oomlint: standard output: No space left on device\n"


def test_read_only_files_and_folders(project, mended, monkeypatch):
    """As everybody but the superuser sees them, who may write everywhere."""
    real = os.access
    monkeypatch.setattr(
        os, "access", lambda path, mode: Path(path).name != "train001.py" and real(path, mode)
    )
    before = texts(project)
    done = oomlint(*FIX, ".", cwd=project)
    assert done.returncode == 2
    assert done.stderr == "oomlint: train001.py: cannot be written: the file is read-only\n"
    assert "train001.py:4:25: OOM301" in done.stdout
    expected = {name: mended[name] for name in before} | {"train001.py": before["train001.py"]}
    assert texts(project) == expected


def test_a_folder_that_takes_no_new_file(project, mended, monkeypatch):
    monkeypatch.setattr(
        replacing.tempfile,
        "mkstemp",
        mock.Mock(side_effect=PermissionError(errno.EACCES, "Permission denied")),
    )
    done = oomlint(*FIX, "--no-cache", ".", cwd=project)
    assert done.returncode == 0, done.stderr
    assert texts(project) == {name: mended[name] for name in texts(project)}


def test_a_folder_that_takes_no_new_file_and_no_room(tmp_path):
    """Where it has to be written in place and the new content finds no room, the old one is put back."""
    path = tmp_path / "train.txt"
    room = 1000
    for before, after in ((b"a" * 1200, b"b" * 1500), (b"a" * 900, b"b" * 1500), (b"a" * 1200, b"b" * 1100)):
        path.write_bytes(before)
        code = f"""if True:
            import resource, signal, sys, tempfile
            from pathlib import Path
            from oomlint.documents import replacing
            def refused(**options):
                raise PermissionError(13, "Permission denied")
            tempfile.mkstemp = refused
            signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
            resource.setrlimit(resource.RLIMIT_FSIZE, ({room}, {room}))
            replacing.replace_file(Path({str(path)!r}), {before!r}, {after!r})"""
        done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
        assert done.stderr.splitlines()[-1] == "OSError: [Errno 27] File too large"
        assert path.read_bytes() == before


def test_a_single_file_that_cannot_be_written_is_told_of(tmp_path, monkeypatch):
    (tmp_path / "train.py").write_text(BAD)
    monkeypatch.setattr(os, "access", lambda path, mode: False)
    done = oomlint(*FIX, ".", cwd=tmp_path)
    assert done.returncode == 2
    assert done.stderr == "oomlint: train.py: cannot be written: the file is read-only\n"
    assert "train.py:4:25: OOM301" in done.stdout


def test_changed_by_somebody_else_meanwhile(project, mended, monkeypatch):
    from oomlint.engine import fixing

    real = fixing.fix_document

    def slow(document, *given):
        if document.filename.endswith("train001.py"):
            (project / "train001.py").write_text("# mine\n")
        return real(document, *given)

    monkeypatch.setattr(fixing, "fix_document", slow)
    done = oomlint(*FIX, ".", cwd=project)
    assert done.returncode == 2
    assert done.stderr.startswith("oomlint: train001.py: was changed by somebody else meanwhile")
    assert texts(project) == {name: mended[name] for name in texts(project)} | {"train001.py": "# mine\n"}


def test_two_at_once(tmp_path, mended):
    folder = filled(tmp_path, 12)
    before = texts(folder)
    command = [sys.executable, "-m", "oomlint", *FIX, "."]
    running = [
        subprocess.Popen(command, cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        for _ in range(2)
    ]
    ended = [(*one.communicate(), one.returncode) for one in running]
    assert texts(folder) == {name: mended[name] for name in before}
    for _, said, status in ended:
        assert status == (2 if said else 0), said
        assert all("was changed by somebody else meanwhile" in line for line in said.splitlines()), said
    assert list(folder.glob(".*.tmp")) == []
    assert oomlint(*FLAGS, ".", cwd=folder).stdout == "No findings in 12 files.\n"
