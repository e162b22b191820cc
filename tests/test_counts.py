"""Cost, counted: parses, dry runs and imports."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

import oomlint.dryrun
from oomlint.engine.project import Run
from oomlint.findings.registry import load_rules
from oomlint.project.configuration import Configurations
from oomlint.syntax.gates import PARSES

TRAINING = """\
import tensorflow as tf
from helpers import dataset

model = tf.keras.Sequential([tf.keras.layers.Dense(1)])
model.compile(optimizer="sgd", loss="mse")
model.fit(dataset(10), epochs=2)
"""
HELPERS = """\
import tensorflow as tf


def dataset(n):
    return tf.data.Dataset.range(n).shuffle(n).batch(2)
"""


@pytest.fixture
def project(tmp_path: Path) -> Path:
    (tmp_path / "oomlint.toml").write_text('select = ["ALL"]\n', encoding="utf-8")
    (tmp_path / "one.py").write_text(TRAINING, encoding="utf-8")
    (tmp_path / "two.py").write_text(TRAINING, encoding="utf-8")
    (tmp_path / "helpers.py").write_text(HELPERS, encoding="utf-8")
    return tmp_path


def _check(*paths: Path) -> None:
    run = Run(Configurations())
    run.add_files(paths)
    run.check()


@pytest.fixture
def walks(monkeypatch) -> list[str]:
    seen: list[str] = []
    real = oomlint.dryrun.dry_run

    def counted(source, resolver=None):
        seen.append(Path(source.document.filename).name)
        return real(source, resolver)

    monkeypatch.setattr(oomlint.dryrun, "dry_run", counted)
    return seen


def test_one_parse_and_one_walk_for_each_file_however_many_rules_run(project, walks):
    assert len(load_rules()) >= 25
    PARSES.reset()
    _check(project / "one.py", project / "two.py", project / "helpers.py")
    # LibCST parses what something is reported in: both scripts, and not the module.
    assert (PARSES.ast, PARSES.libcst) == (3, 2)
    assert sorted(walks) == ["helpers.py", "one.py", "two.py"]


def test_no_parse_for_a_file_that_names_no_keras(project, walks):
    plain = project / "plain.py"
    plain.write_text("import torch\nmodel.fit(x)\nds.shuffle(10)\n", encoding="utf-8")
    PARSES.reset()
    _check(plain)
    assert (PARSES.ast, PARSES.libcst, walks) == (0, 0, [])


def test_no_libcst_parse_for_a_file_without_a_candidate(project, walks):
    idle = project / "idle.py"
    idle.write_text("import tensorflow as tf\n\nVERSION = tf.__version__\n", encoding="utf-8")
    PARSES.reset()
    _check(idle)
    assert (PARSES.ast, PARSES.libcst, walks) == (1, 0, [])


def test_a_script_is_read_when_only_a_module_that_it_imports_has_a_candidate(project, walks):
    (project / "oomlint.toml").write_text('select = ["OOM301"]\n', encoding="utf-8")
    script = project / "three.py"
    script.write_text("import tensorflow\nimport helpers\n\nhelpers.dataset(3)\n", encoding="utf-8")
    _check(script)
    assert walks == ["three.py"]


def _modules_after(arguments: list[str], folder: Path) -> set[str]:
    code = (
        "import sys, json\n"
        "from oomlint.cli import main\n"
        "try:\n"
        f"    main({arguments!r})\n"
        "except SystemExit:\n"
        "    pass\n"
        "print('\\n' + json.dumps(sorted(sys.modules)))\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=folder, capture_output=True, text=True, check=True
    )
    return set(json.loads(done.stdout.splitlines()[-1]))


def test_a_check_loads_no_matchers_and_nothing_of_what_it_checks(project):
    loaded = _modules_after(["check", "one.py"], project)
    assert "libcst" in loaded
    assert "libcst.matchers" not in loaded
    assert not loaded & {"tensorflow", "keras", "numpy", "helpers"}


def test_no_metadata_provider_runs(project, monkeypatch):
    import libcst.metadata  # libcst loads these modules itself; what costs is to run them

    def refuse(self, *arguments, **keywords):
        raise AssertionError("a metadata wrapper was made")

    monkeypatch.setattr(libcst.metadata.MetadataWrapper, "__init__", refuse)
    run = Run(Configurations())
    run.add_files([project / "one.py"])
    assert not run.check().failed


@pytest.mark.parametrize("arguments", [["--version"], ["check", "--isolated", "plain.py"]])
def test_libcst_is_not_loaded_where_it_is_not_needed(project, arguments):
    (project / "plain.py").write_text("print(1)\n", encoding="utf-8")
    loaded = _modules_after(arguments, project)
    assert not {name for name in loaded if name.startswith("libcst")}
    assert "oomlint.dryrun" not in loaded
