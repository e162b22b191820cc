"""The plugin in the real flake8, in a process of its own, beside flake8-bugbear and flake8-noqa."""

from __future__ import annotations

import ast
import json
import os
import re
import subprocess
import sys
from argparse import Namespace
from pathlib import Path
from types import SimpleNamespace
from typing import NamedTuple

import pytest
from command import oomlint
from fixture_files import fixtures

from oomlint.engine.project import Run
from oomlint.flake8_plugin import Given, Plugin

LARGE = """\
import tensorflow as tf


def read(path):
    image = tf.io.decode_jpeg(tf.io.read_file(path), channels=3)
    return tf.image.resize(image, (224, 224))


paths = tf.data.Dataset.list_files("train/*.jpg")
ds = paths.map(read).shuffle(1_281_167)
"""
AT = "10:30"  # of the buffer's size
NOTE = """\
import tensorflow as tf

model = tf.keras.Sequential([tf.keras.Input((8,)), tf.keras.layers.Dense(1)])
model.compile("sgd", "mse")
model.fit(tf.zeros((64, 8)), tf.zeros((64, 1)))
"""
HELPER = LARGE.replace("ds = ", "\n\ndef make(count):\n    return ").replace("1_281_167", "count")


class Line(NamedTuple):
    """One line that flake8 printed."""

    path: str
    place: str
    code: str
    text: str


class Done(NamedTuple):
    """What flake8 left."""

    status: int
    lines: list[Line]
    output: str


def flake8(*arguments: str, cwd: Path, stdin: str = "", start: tuple[str, ...] = ("-m", "flake8")) -> Done:
    """Run it as a user does; in one process, which imports oomlint once, unless `-j` is among the arguments."""
    jobs = () if "-j2" in arguments else ("-j1",)
    done = subprocess.run(
        [sys.executable, *start, *jobs, *arguments],
        cwd=cwd,
        input=stdin,
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    found = re.findall(r"^(.+?):(\d+:\d+): ([A-Z]+\d+) (.*)$", done.stdout, flags=re.MULTILINE)
    return Done(done.returncode, [Line(*parts) for parts in found], done.stdout + done.stderr)


def project(folder: Path, **texts: str) -> Path:
    """A project of some modules; two underscores in a name are a folder."""
    (folder / "pyproject.toml").write_text("[tool.oomlint]\n")
    for name, text in texts.items():
        path = folder / (name.replace("__", "/") + ".py")
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return folder


# A rule of four families each; OOM501 has findings in a module that the script imports.
CHOSEN = ("OOM101", "OOM302", "OOM501", "OOM602")


def test_the_findings_are_those_of_the_command():
    paths = [str(one.path) for one in fixtures("bad") if one.code.startswith(CHOSEN)]
    here = Path(paths[0]).parent.parent
    told = json.loads(oomlint("check", *paths, "--output-format", "json", "--no-cache", cwd=here).stdout)
    said = {
        (
            os.path.relpath(one["filename"], here),
            f"{one['location']['row']}:{one['location']['column']}",
            one["code"],
            one["message"],
        )
        for one in told
    }
    assert len(said) > 50
    assert {str(one["severity"]) for one in told} == {"note", "warning", "error"}
    done = flake8("--isolated", "--select=OOM", "--enable-extensions=OON", "-j2", *paths, cwd=here)
    assert {_as_told(line, here) for line in done.lines} == said
    assert {line.path for line in done.lines} <= set(paths)


def _as_told(line: Line, here: Path) -> tuple[str, str, str, str]:
    """As the command has it: without the command that mends it; a finding in a module where it lies."""
    message = re.sub(r" \[oomlint check --fix( --unsafe-fixes)?\]$", "", line.text)
    if found := re.match(r"in (\S+\.py):(\d+:\d+): (.*)", message):
        return found[1], found[2], line.code, found[3]
    return os.path.relpath(line.path, here), line.place, line.code, message


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        ((), []),
        (("--enable-extensions=OON",), ["OOM101"]),
        (("--extend-select=OON",), ["OOM101"]),
        (("--oomlint-notes", "--enable-extensions=OON"), ["OOM101"]),
        (("--select=E,OOM101", "--enable-extensions=OON"), ["OOM101"]),
    ],
    ids=lambda value: " ".join(value),
)
def test_how_notes_are_asked_for(tmp_path, arguments, expected):
    project(tmp_path, train=NOTE)
    assert [line.code for line in flake8(*arguments, "train.py", cwd=tmp_path).lines] == expected


def test_a_note_that_the_project_makes_a_warning_is_one(tmp_path):
    project(tmp_path, train=NOTE)
    (tmp_path / "pyproject.toml").write_text('[tool.oomlint]\nseverity = {OOM101 = "warning"}\n')
    assert [line.code for line in flake8("train.py", cwd=tmp_path).lines] == ["OOM101"]


def test_options_in_the_files_that_flake8_reads(tmp_path):
    project(tmp_path, train=LARGE, src__data=LARGE, other=NOTE)
    quiet = "per-file-ignores =\n    src/*: OOM301\n"
    # 718 GiB are less than a quarter of four terabytes.
    (tmp_path / "oom.toml").write_text('host-memory = "4TiB"\nseverity = {OOM101 = "error"}\n')
    (tmp_path / ".flake8").write_text(f"[flake8]\nselect = OOM\noomlint-config = oom.toml\n{quiet}")
    assert [line[:3] for line in flake8(cwd=tmp_path).lines] == [("./other.py", "5:1", "OOM101")]
    (tmp_path / ".flake8").unlink()
    # What flake8 is told wins over the project's configuration.
    (tmp_path / "pyproject.toml").write_text('[tool.oomlint]\nhost-memory = "4TiB"\n')
    (tmp_path / "setup.cfg").write_text(f"[flake8]\nselect = OOM\noomlint_host_memory = 800GiB\n{quiet}")
    done = flake8(cwd=tmp_path)
    assert [line[:3] for line in done.lines] == [("./train.py", AT, "OOM301")]
    assert "budget: 800 GiB of host memory" in done.output
    assert done.status == 1
    (tmp_path / "setup.cfg").unlink()
    (tmp_path / "tox.ini").write_text("[flake8]\nselect = OOM101\noomlint-notes = true\n")
    assert [line[:3] for line in flake8(cwd=tmp_path).lines] == [("./other.py", "5:1", "OOM101")]


def test_the_gpu_is_an_option(tmp_path):
    text = (
        "import numpy as np\nfrom tensorflow import keras\n\n"
        "model = keras.Sequential([keras.Input((1000,)), keras.layers.Dense(1)])\n"
        'model.compile("sgd", "mse")\n'
        # 8 GB, of which the model sees float32: 4 GB
        "model.fit(np.zeros((1_000_000, 1000), np.float32), np.zeros((1_000_000, 1), np.float32))\n"
    )
    project(tmp_path, train=text)
    assert [line.code for line in flake8("train.py", "--select=OOM305", cwd=tmp_path).lines] == ["OOM305"]
    assert flake8("train.py", "--select=OOM305", "--oomlint-gpu=A100-80GB", cwd=tmp_path).lines == []


def test_comments(tmp_path):
    call = "ds = paths.map(read).shuffle(1_281_167)"
    ways = {
        "noqa": f"{call}  # noqa: OOM301",
        "own": f"{call}  # oomlint: ignore[OOM301] it is a large machine",
        "above": f"# oomlint: ignore[OOM301]\n{call}",
        "wrong": f"{call}  # noqa: OOM302",
        "idle": f"{call}  # noqa: OOM301,OOM302",
        "needless": "ds = paths  # noqa: OOM301",
    }
    project(tmp_path, **{name: LARGE.replace(call, text) for name, text in ways.items()})
    done = flake8("--select=OOM,NQA", cwd=tmp_path)
    # NQA102: "has no matching violations", NQA103: "has unmatched codes". None for those that are needed.
    assert [(line.path, line.code) for line in done.lines] == [
        ("./idle.py", "NQA103"),
        ("./needless.py", "NQA102"),
        ("./wrong.py", "OOM301"),
        ("./wrong.py", "NQA102"),
    ]
    disabled = flake8("--select=OOM", "--disable-noqa", "noqa.py", "own.py", cwd=tmp_path)
    assert [line[:3] for line in disabled.lines] == [("noqa.py", AT, "OOM301")]
    # With notes: what oomlint itself says of its comments, and of flake8's.
    project(tmp_path, spare="import tensorflow as tf\n\ntf.zeros(1)  # oomlint: ignore[OOM301]\n")
    notes = flake8("--select=OOM", "--enable-extensions=OON", "noqa.py", "own.py", "spare.py", cwd=tmp_path)
    assert [line[:3] for line in notes.lines] == [("spare.py", "3:14", "OOM000")]


def test_standard_input(tmp_path):
    project(tmp_path, train="")
    (tmp_path / "pyproject.toml").write_text('[tool.oomlint]\nper-file-ignores = {"quiet.py" = ["OOM301"]}\n')
    done = flake8("-", "--stdin-display-name=train.py", cwd=tmp_path, stdin=LARGE)
    assert [line[:3] for line in done.lines] == [("train.py", AT, "OOM301")]
    quiet = flake8("-", "--stdin-display-name=quiet.py", cwd=tmp_path, stdin=LARGE)
    assert quiet.output == ""


def test_windows_line_ends_a_mark_and_an_encoding(tmp_path):
    project(tmp_path)
    (tmp_path / "marked.py").write_bytes(b"\xef\xbb\xbf" + LARGE.replace("\n", "\r\n").encode())
    (tmp_path / "latin.py").write_bytes(("# coding: latin-1\n# größer\n" + LARGE).encode("latin-1"))
    found = flake8("--select=OOM", cwd=tmp_path).lines
    assert [line[:3] for line in found] == [
        ("./latin.py", AT.replace("10", "12"), "OOM301"),
        ("./marked.py", AT, "OOM301"),
    ]


def test_several_processes_and_other_plugins(tmp_path):
    bare = "\n\ntry:\n    print(ds)\nexcept:\n    print()\n"
    project(tmp_path, **{f"train{number}": LARGE + bare for number in range(4)}, broken="print 'x'\n")
    one, two = flake8("-j1", cwd=tmp_path), flake8("-j2", cwd=tmp_path)
    assert one == two
    assert [(line.place, line.code) for line in one.lines if line.path == "./train3.py"] == [
        (AT, "OOM301"),
        ("15:1", "B001"),
        ("15:1", "E722"),
    ]
    # What does not parse is flake8's own business.
    assert [line.code for line in one.lines if line.path == "./broken.py"] == ["E999"]


def test_what_pyflakes_leaves_on_the_trees_does_no_harm(tmp_path):
    # It writes on nodes that all trees of a process share. Nothing here is of interest to a rule.
    text = "import keras\n\nprint(keras.__version__ + '!', -1 < 2 and not 3)\n"
    assert flake8(cwd=project(tmp_path, a=text, b=text, c=text)).output == ""


def test_select_ignore_and_the_projects_own_lists(tmp_path):
    project(tmp_path, train=LARGE, old__train=LARGE, legacy__train=LARGE)
    assert flake8("--select=OOM", "--extend-ignore=OOM3", cwd=tmp_path).lines == []
    (tmp_path / "pyproject.toml").write_text(
        '[tool.oomlint]\nexclude = ["legacy"]\nper-file-ignores = {"old/*" = ["OOM301"]}\n'
    )
    assert [line.path for line in flake8(cwd=tmp_path).lines] == ["./train.py"]
    # As with `oomlint check`: what is named is checked.
    assert [line.path for line in flake8("legacy/train.py", cwd=tmp_path).lines] == ["legacy/train.py"]
    (tmp_path / "pyproject.toml").write_text('[tool.oomlint]\nexclude = ["legacy"]\nforce-exclude = true\n')
    assert flake8("legacy/train.py", cwd=tmp_path).lines == []


def test_a_finding_in_a_module_is_told_in_the_script_that_shows_it(tmp_path):
    script = "from lib.data import make\n\nCOUNT = 1_281_167\ntrain = make(COUNT)\n"
    project(tmp_path, lib__data=HELPER, train=script, other="from lib.data import make\n\nmake(16)\n")
    (tmp_path / "lib" / "__init__.py").write_text("")
    found = flake8(cwd=tmp_path).lines
    # In lib/data.py nobody knows how large the buffer is; train.py names neither Keras nor TensorFlow.
    assert [line[:3] for line in found] == [("./train.py", "3:9", "OOM301")]
    assert found[0].text.startswith(
        f"in {Path('lib/data.py')}:13:36: the shuffle buffer holds up to 1,281,167 elem"
    )
    # What the module shows by itself is told there, once.
    project(tmp_path, lib__data=HELPER.replace("shuffle(count)", "shuffle(1_281_167)"))
    assert [line[:3] for line in flake8(cwd=tmp_path).lines] == [("./lib/data.py", "13:36", "OOM301")]
    # A comment there counts for all.
    project(tmp_path, lib__data=HELPER.replace("shuffle(count)", "shuffle(count)  # noqa: OOM301"))
    assert [line.code for line in flake8("--select=OOM", cwd=tmp_path).lines] == []


@pytest.mark.parametrize(
    ("file", "content", "arguments", "message"),
    [
        ("pyproject.toml", "[tool.oomlint]\nselct = []\n", (), "unknown key 'selct': did you mean 'select'?"),
        ("pyproject.toml", '[tool.oomlint]\nselect = ["OOM390"]\n', (), "unknown code 'OOM390'"),
        (".flake8", "[flake8]\noomlint-gpu = T5\n", (), "unknown GPU or amount of memory 'T5'"),
        (".flake8", "[flake8]\n", ("--oomlint-config=gone.toml",), "gone.toml: no such configuration file"),
    ],
)
def test_a_wrong_configuration_is_one_line(tmp_path, file, content, arguments, message):
    project(tmp_path, a=LARGE, b=LARGE, c=LARGE)
    (tmp_path / file).write_text(content)
    done = flake8("-j2", *arguments, cwd=tmp_path)
    assert done.status == 1
    assert done.output.count("oomlint: ") == 1
    assert message in done.output
    assert "Traceback" not in done.output
    assert len(done.output.splitlines()) == 2  # the first is flake8's own


def test_of_processes_that_fail_one_ends_the_run_and_the_others_wait_for_that(monkeypatch):
    """A second one that tells of it as it is ended leaves a lock behind, and flake8 hangs: four runs of 1,362 did."""

    def given(jobs: int) -> Given:
        return Given(Namespace(jobs=SimpleNamespace(is_auto=False, n_jobs=jobs)))

    waited: list[float] = []
    monkeypatch.setattr("oomlint.flake8_plugin.time.sleep", waited.append)
    several = given(2)
    several.wait_for_the_end()
    assert waited == []
    several.wait_for_the_end()
    assert len(waited) == 1
    alone = given(1)
    alone.wait_for_the_end()
    alone.wait_for_the_end()
    assert len(waited) == 1


def test_files_without_keras_import_the_plugin_and_nothing_else(tmp_path):
    project(
        tmp_path,
        plain="import os\nimport json as data\n\nprint(os.sep, data)\n",
        user="from helper import one\n\nprint(one)\n",
        helper="import plain\n\none = plain\n",
        away="from .helper import one\nfrom . import plain\n\nprint(one, plain)\n",
    )
    assert _imported(tmp_path, "--select=F,OOM") == {"oomlint", "oomlint.flake8_plugin"}
    # A file that leads to one, however far away.
    project(tmp_path, away="from .helper import one\nfrom .deep.net import model\n\nprint(one, model)\n")
    project(tmp_path, deep__net="from .layers import model\n\nprint(model)\n", deep__layers=NOTE)
    assert "oomlint.flake8_checks" in _imported(tmp_path, "away.py")


def _imported(folder: Path, *arguments: str) -> set[str]:
    """What of oomlint flake8 has imported."""
    tell = "import sys; from flake8.main.cli import main; print(main(sys.argv[1:]), *sorted(sys.modules), sep='\\n')"
    done = flake8(*arguments, cwd=folder, start=("-c", tell))
    assert done.output.startswith("0\n")
    return set(re.findall(r"^oomlint(?:\.[\w.]+)?$", done.output, flags=re.MULTILINE))


@pytest.mark.parametrize("error", [RuntimeError("a bug"), RecursionError("maximum recursion depth exceeded")])
def test_an_error_of_oomlint_itself_costs_no_other_finding(tmp_path, monkeypatch, error):
    def fail(self, document):
        raise error

    monkeypatch.setattr(Run, "alone", fail)
    monkeypatch.setattr(Plugin, "given", Given())
    path = project(tmp_path, train=LARGE) / "train.py"
    found = list(Plugin(ast.parse(LARGE), str(path), LARGE.splitlines(keepends=True)).run())
    assert [one[:3] for one in found] == [(1, 0, f"OOM002 oomlint failed: {type(error).__name__}: {error}")]


def test_it_is_among_the_installed_plugins(tmp_path):
    assert re.search(r"oomlint:\s+\d+\.\d+", flake8("--version", cwd=tmp_path).output)
    help = flake8("--help", cwd=tmp_path).output
    assert {"--oomlint-gpu", "--oomlint-host-memory", "--oomlint-config", "--oomlint-notes"} <= set(
        re.findall(r"--[\w-]+", help)
    )
