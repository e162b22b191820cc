"""What a sliced script does in the estimate's own process: it leaves nothing behind outside of its folder and asks nobody."""

from __future__ import annotations

import os
import re
import socket
import threading
from pathlib import Path

import pytest

from oomlint.estimate.errors import EstimateError
from oomlint.estimate.launch import estimate
from oomlint.estimate.request import Request
from oomlint.estimate.worker.script.confinement import RefusedError, confined

HELPER = """\
import os, shutil, socket
from pathlib import Path

import tensorflow as tf

OUT = {outside!r}
TRIED = []


def attempt(name, act):
    try:
        act()
    except PermissionError as error:
        TRIED.append(f"{{name}}: {{str(error)[:5]}}")
    else:
        TRIED.append(f"{{name}}: done")


attempt("open", lambda: open(f"{{OUT}}/a", "w"))
attempt("append", lambda: open(f"{{OUT}}/there.txt", "a"))
attempt("os.open", lambda: os.open(f"{{OUT}}/b", os.O_CREAT | os.O_WRONLY))
attempt("mkdir", lambda: os.mkdir(f"{{OUT}}/c"))
attempt("unlink", lambda: Path(OUT, "there.txt").unlink())
attempt("rmtree", lambda: shutil.rmtree(OUT))
attempt("link", lambda: os.symlink(f"{{OUT}}/there.txt", f"{{OUT}}/d"))
attempt("through a link", lambda: (os.symlink(OUT, "out"), open("out/e", "w")))
attempt("gfile.mkdir", lambda: tf.io.gfile.mkdir(f"{{OUT}}/f"))
attempt("gfile.makedirs", lambda: tf.io.gfile.makedirs(f"file://{{OUT}}/f/g"))
attempt("gfile.GFile", lambda: tf.io.gfile.GFile(f"{{OUT}}/h", "w").write("x"))
attempt("gfile.remove", lambda: tf.io.gfile.remove(f"{{OUT}}/there.txt"))
attempt("gfile.rmtree", lambda: tf.io.gfile.rmtree(OUT))
attempt("gfile.copy", lambda: tf.io.gfile.copy(f"{{OUT}}/there.txt", f"{{OUT}}/i"))
attempt("gfile.rename", lambda: tf.io.gfile.rename(f"{{OUT}}/there.txt", "mine.txt"))
attempt("bucket", lambda: tf.io.gfile.exists("gs://bucket/data"))
attempt("connect", lambda: socket.create_connection(("127.0.0.1", {port}), 1))
attempt("sendto", lambda: socket.socket(type=socket.SOCK_DGRAM).sendto(b"x", ("127.0.0.1", {port})))
attempt("bind", lambda: socket.socket().bind(("127.0.0.1", 0)))
attempt("system", lambda: os.system("true"))
attempt("fork", os.fork)
attempt("own file", lambda: open("mine", "w").close())
attempt("own folder", lambda: tf.io.gfile.mkdir("own"))
attempt("reading", lambda: tf.io.gfile.GFile(f"{{OUT}}/there.txt").read())


def units():
    raise ValueError("|".join(TRIED))
"""
SCRIPT = """\
import keras
from helper import units


def build():
    return keras.Sequential([keras.Input((8,)), keras.layers.Dense(units())])
"""
ALLOWED = {"own file", "own folder", "reading"}


@pytest.fixture
def outside(tmp_path: Path) -> Path:
    folder = tmp_path / "outside"
    folder.mkdir()
    (folder / "there.txt").write_text("as it was")
    return folder


@pytest.fixture
def listening():
    """A server that notes who calls."""
    calls = []
    server = socket.create_server(("127.0.0.1", 0))

    def serve() -> None:
        try:
            while True:
                calls.append(server.accept())
        except OSError:
            return

    threading.Thread(target=serve, daemon=True).start()
    yield server.getsockname()[1], calls
    server.close()


def test_a_module_of_the_project_that_writes_and_calls(tmp_path, outside, listening):
    pytest.importorskip("tensorflow")
    port, calls = listening
    project = tmp_path / "project"
    project.mkdir()
    (project / "helper.py").write_text(HELPER.format(outside=str(outside), port=port))
    path = project / "train.py"
    path.write_text(SCRIPT)
    before = sorted(one.name for one in project.iterdir())
    with pytest.raises(EstimateError) as caught:
        estimate(Request("train:build", batch_size=8), folders=[project], timeout=120)
    said = f"{caught.value} {caught.value.output}"
    assert "open: " in said, said
    tried = dict(
        one.strip().split(": ", 1)
        for one in said[said.index("open: ") :].splitlines()[0].split("|")
        if ": " in one
    )
    assert len(tried) == HELPER.count("\nattempt(")
    for name, outcome in tried.items():
        assert outcome == ("done" if name in ALLOWED else "the s"), (name, outcome)  # "the script wants to"
    assert [one.name for one in outside.iterdir()] == ["there.txt"]
    assert (outside / "there.txt").read_text() == "as it was"
    assert sorted(one.name for one in project.iterdir()) == before
    assert calls == []


def test_datagrams_are_refused(tmp_path):
    with (
        confined(tmp_path),
        socket.socket(type=socket.SOCK_DGRAM) as sender,
        pytest.raises(RefusedError, match="use the network"),
    ):
        sender.sendto(b"x", ("127.0.0.1", 9))


GREEDY = """\
import os, time

HELD = []


def units():
    print("building in", os.getpid(), flush=True)
    while True:
        {act}
"""


@pytest.mark.parametrize(
    ("act", "limits", "kind"),
    [
        ("HELD.append(bytes(range(256)) * (1 << 16))", {"memory_limit": 3 << 30, "timeout": 240}, "memory"),
        ("time.sleep(0.1)", {"timeout": 40}, "timeout"),
    ],
)
def test_a_model_that_holds_or_takes_without_end(tmp_path, act, limits, kind):
    pytest.importorskip("tensorflow")
    (tmp_path / "helper.py").write_text(GREEDY.format(act=act))
    (tmp_path / "train.py").write_text(SCRIPT)
    with pytest.raises(EstimateError) as caught:
        estimate(Request("train:build", batch_size=8), folders=[tmp_path], **limits)
    assert caught.value.kind == kind
    assert "--memory-limit" in caught.value.hint if kind == "memory" else "--timeout" in caught.value.hint
    process = re.search(r"building in (\d+)", caught.value.output)
    assert process, caught.value.output
    with pytest.raises(ProcessLookupError):
        os.kill(int(process[1]), 0)
