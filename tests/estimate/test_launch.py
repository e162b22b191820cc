"""The child process: what it may not do, its limits, and what is said when it fails."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest

from oomlint.estimate import launch
from oomlint.estimate.errors import EstimateError
from oomlint.estimate.request import Request
from oomlint.estimate.worker.script.confinement import RefusedError, confined


def child(tmp_path: Path, code: str) -> str:
    """An "interpreter" that does something else in the child's place."""
    program = tmp_path / "interpreter"
    program.write_text(f"#!{sys.executable}\nimport sys, os, time\nanswer = sys.argv[3]\n{code}\n")
    program.chmod(0o755)
    return str(program)


def failure(tmp_path: Path, code: str, **options: object) -> EstimateError:
    with pytest.raises(EstimateError) as caught:
        launch.estimate(Request("keras:X"), python=child(tmp_path, code), **options)  # type: ignore[arg-type]
    return caught.value


pytestmark = pytest.mark.skipif(os.name != "posix", reason="the stand-in interpreter is a script")


def test_a_child_that_takes_too_long_is_ended(tmp_path: Path):
    pids = tmp_path / "pid"
    error = failure(
        tmp_path, f"open({str(pids)!r}, 'w').write(str(os.getpid())); time.sleep(60)", timeout=1.5
    )
    assert error.kind == "timeout"
    assert "--timeout" in error.hint
    with pytest.raises(ProcessLookupError):
        os.kill(int(pids.read_text()), 0)


@pytest.mark.skipif(sys.platform != "linux", reason="resident memory is read from /proc")
def test_a_child_that_takes_too_much_memory_is_ended(tmp_path: Path):
    error = failure(tmp_path, "held = b'x' * (300 << 20); time.sleep(60)", memory_limit=200 << 20, timeout=50)
    assert error.kind == "memory"
    assert "200 MiB" in error.message


def test_a_child_that_dies_is_said_to_have_died_with_its_last_words(tmp_path: Path):
    error = failure(tmp_path, "print('about to die', flush=True); os.abort()")
    assert error.kind == "internal"
    assert "signal 6" in error.message
    assert error.output == "about to die"


def test_the_childs_own_error_comes_through(tmp_path: Path):
    content = (
        '{"error": {"message": "no", "kind": "build", "file": "a.py", "line": 3, "hint": "so", "output": ""}}'
    )
    error = failure(tmp_path, f"open(answer, 'w').write({content!r})")
    assert (error.message, error.kind, error.file, error.line, error.hint) == ("no", "build", "a.py", 3, "so")
    assert str(error).startswith("a.py:3: no")


def test_an_interpreter_without_oomlint_is_told_what_to_install(tmp_path: Path):
    error = failure(tmp_path, "print(\"No module named 'oomlint'\")")
    assert error.kind == "extra"
    assert "oomlint[estimate]" in error.hint


def test_an_interpreter_that_is_not_there():
    with pytest.raises(EstimateError, match="cannot start"):
        launch.estimate(Request("keras:X"), python="/nowhere/python")


def test_the_child_sees_no_gpu_gets_no_input_and_works_in_a_folder_of_its_own(tmp_path: Path):
    code = (
        "sys.stdin.read()\n"
        "print(os.environ['CUDA_VISIBLE_DEVICES'], os.getcwd() == os.environ['OOMLINT_WORK'], repr(sys.stdin.read()))\n"
        "print(os.listdir('.'))"
    )
    assert failure(tmp_path, code).output.splitlines() == ["-1 True ''", "[]"]


def test_confined_code_writes_only_in_its_folder(tmp_path: Path):
    inside, outside = tmp_path / "inside", tmp_path / "outside"
    inside.mkdir()
    outside.mkdir()
    (outside / "there.txt").write_text("as it was")
    with confined(inside):
        (inside / "a.txt").write_text("fine")
        assert (outside / "there.txt").read_text() == "as it was"
        for wrong in (
            lambda: (outside / "b.txt").write_text("no"),
            lambda: (outside / "there.txt").open("a"),
            lambda: (outside / "there.txt").unlink(),
            lambda: (outside / "folder").mkdir(),
            lambda: (outside / "there.txt").rename(inside / "mine.txt"),
            lambda: os.system("true"),
        ):
            with pytest.raises(RefusedError):
                wrong()
    assert [path.name for path in outside.iterdir()] == ["there.txt"]
    (outside / "b.txt").write_text("allowed again")


def test_confined_code_has_no_network_and_starts_nothing(tmp_path: Path):
    import socket
    import subprocess

    with confined(tmp_path):
        with pytest.raises(RefusedError):
            socket.getaddrinfo("localhost", 80)
        with pytest.raises(RefusedError):
            subprocess.run([sys.executable, "-c", ""], check=False)


def test_bytecode_is_kept_for_libraries_and_not_for_the_users_own_modules(tmp_path: Path, monkeypatch):
    pytest.importorskip("tensorflow")
    from oomlint.estimate.worker.script import making

    monkeypatch.delenv("PYTHONDONTWRITEBYTECODE", raising=False)
    assert "PYTHONDONTWRITEBYTECODE" not in launch._environment(tmp_path, [], {})
    monkeypatch.setattr(sys, "dont_write_bytecode", False)
    (tmp_path / "their_models.py").write_text(
        "import keras\ndef build():\n    return keras.Sequential([keras.layers.Dense(1)])\n"
    )
    monkeypatch.setenv("OOMLINT_FOLDERS", str(tmp_path))
    monkeypatch.setenv("OOMLINT_WORK", str(tmp_path / "work"))
    making.make(Request("their_models:build"), [])
    assert [path.name for path in tmp_path.iterdir()] == ["their_models.py"]
