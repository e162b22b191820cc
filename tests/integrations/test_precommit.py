"""The hooks in the real pre-commit: in a repository of their own, installed from this checkout, by `git commit`."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest
import yaml
from fixture_files import ROOT
from twenty_scripts import Seen, command, lay_out

README = (ROOT / "README.md").read_text("utf-8")
BAD = re.search(r"<!-- example script -->\n```python\n(.*?)```", README, re.DOTALL)[1]  # type: ignore[index]
SAFE = """\
import tensorflow as tf

ds = tf.data.Dataset.list_files("*.jpg").map(tf.io.read_file).batch(32).prefetch(1000)
"""
MENDED = SAFE.replace("prefetch(1000)", "prefetch(tf.data.AUTOTUNE)")
# What pip brings into the hook's environment. TensorFlow is not among it, and neither is NumPy.
LIGHT = {"libcst", "oomlint", "packaging", "pathspec", "pip", "pyyaml", "setuptools", "tomli", "typing-extensions",
         "wheel", "pyyaml-ft"}  # fmt: skip


@dataclass(frozen=True)
class Done:
    """What a command left."""

    status: int
    output: str


def _environment(home: Path) -> dict[str, str]:
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("GIT_", "PRE_COMMIT"))}
    return {
        **kept,
        "GIT_AUTHOR_EMAIL": "a@example.org",
        "GIT_AUTHOR_NAME": "A",
        "GIT_COMMITTER_EMAIL": "a@example.org",
        "GIT_COMMITTER_NAME": "A",
        "GIT_CONFIG_GLOBAL": os.devnull,
        "GIT_CONFIG_NOSYSTEM": "1",
        "NO_COLOR": "1",
        "PATH": os.pathsep.join((str(Path(sys.executable).parent), os.environ["PATH"])),
        "PIP_NO_COMPILE": "1",  # what is used is compiled when it is used
        "PRE_COMMIT_COLOR": "never",
        "PRE_COMMIT_HOME": str(home),
    }


class Repository:
    """A repository that somebody works in."""

    def __init__(self, folder: Path, home: Path) -> None:
        self.folder = folder
        self._environment = _environment(home)
        folder.mkdir(parents=True)
        self.git("init", "-q", "-b", "main")

    def run(self, *command: str) -> Done:
        done = subprocess.run(
            command,
            cwd=self.folder,
            env=self._environment,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            timeout=600,
            check=False,
        )
        return Done(done.returncode, done.stdout)

    def git(self, *arguments: str) -> str:
        done = self.run("git", *arguments)
        assert done.status == 0, done.output
        return done.output.strip()

    def pre_commit(self, *arguments: str) -> Done:
        return self.run(sys.executable, "-m", "pre_commit", *arguments)

    def write(self, **texts: str) -> None:
        for name, text in texts.items():
            self.put(f"{name}.py", text)

    def put(self, name: str, text: str) -> None:
        path = self.folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")

    def commit(self) -> Done:
        """Stage everything and commit."""
        self.git("add", "-A")
        return self.run("git", "commit", "-q", "-m", "change")

    def reset(self, *hooks: dict[str, object]) -> None:
        """Start anew with these hooks."""
        for path in self.folder.iterdir():
            if path.name != ".git":
                shutil.rmtree(path) if path.is_dir() else path.unlink()
        self.put(
            ".pre-commit-config.yaml", yaml.safe_dump({"repos": [{**self.source, "hooks": list(hooks)}]})
        )
        self.git("add", "-A")
        self.git("commit", "-q", "-m", "anew", "--no-verify", "--allow-empty")

    source: dict[str, str]


@pytest.fixture(scope="module")
def installed(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Repository]:
    """A repository with the hooks; their environment is made once."""
    home = tmp_path_factory.mktemp("pre-commit-home")
    ours = Repository(tmp_path_factory.mktemp("hooks") / "oomlint", home)
    for name in (".pre-commit-hooks.yaml", "pyproject.toml", "README.md", "LICENSE"):
        shutil.copy(ROOT / name, ours.folder)
    for name in ("oomlint", "rules"):
        shutil.copytree(ROOT / name, ours.folder / name, ignore=shutil.ignore_patterns("__pycache__"))
    ours.git("add", "-A", "-f")
    ours.git("commit", "-q", "-m", "hooks")
    ours.git("tag", "v0.1.0")

    theirs = Repository(tmp_path_factory.mktemp("work") / "their project", home)
    theirs.source = {"repo": ours.folder.as_posix(), "rev": "v0.1.0"}
    theirs.reset({"id": "oomlint"}, {"id": "oomlint-fix"})
    done = theirs.pre_commit("install", "--install-hooks")
    assert done.status == 0, done.output
    yield theirs
    shutil.rmtree(home, ignore_errors=True)


@pytest.fixture
def repository(installed: Repository) -> Repository:
    """The same repository with nothing in it but the hook that checks."""
    installed.reset({"id": "oomlint"})
    return installed


def _hook_python(repository: Repository) -> str:
    (python,) = Path(repository._environment["PRE_COMMIT_HOME"]).glob("repo*/py_env-*/bin/python")
    return str(python)


def test_the_environment_of_the_hooks_is_light(repository):
    python = _hook_python(repository)
    listed = repository.run(python, "-m", "pip", "list", "--format=freeze", "--disable-pip-version-check")
    names = {line.partition("==")[0].lower().replace("_", "-") for line in listed.output.split()}
    assert {"oomlint", "libcst"} <= names <= LIGHT
    assert repository.run(python, "-c", "import tensorflow").status != 0


def test_a_bad_commit_is_stopped(repository):
    repository.put("src/with blanks/train model.py", BAD)
    before = repository.git("rev-parse", "HEAD")
    done = repository.commit()
    assert done.status != 0
    assert "src/with blanks/train model.py:11:71: OOM301 [*] the shuffle buffer holds" in done.output
    assert "718 GiB" in done.output
    assert repository.git("rev-parse", "HEAD") == before

    repository.put(
        "src/with blanks/train model.py", BAD.replace("NUM_TRAIN = 1_281_167", "NUM_TRAIN = 1_000")
    )
    assert repository.commit().status == 0
    assert repository.git("rev-parse", "HEAD") != before


def test_a_fix_is_applied_and_the_commit_stopped_for_a_look(repository):
    repository.reset({"id": "oomlint-fix"})
    repository.write(train=SAFE)
    done = repository.commit()
    assert done.status != 0
    assert "files were modified by this hook" in done.output
    assert (repository.folder / "train.py").read_text("utf-8") == MENDED
    assert repository.commit().status == 0
    assert repository.git("show", "HEAD:train.py") == MENDED.strip()


def test_an_unsafe_fix_is_left_to_its_user(repository):
    repository.reset({"id": "oomlint-fix"})
    repository.write(train=BAD)
    done = repository.commit()
    assert done.status != 0
    assert "OOM301" in done.output
    assert (repository.folder / "train.py").read_text("utf-8") == BAD
    repository.reset({"id": "oomlint-fix", "args": ["--unsafe-fixes"]})
    repository.write(train=BAD)
    assert repository.commit().status != 0
    assert "shuffle(NUM_TRAIN).map(decode)" in (repository.folder / "train.py").read_text("utf-8")


def test_unrelated_commits_pass(repository):
    repository.put("notes.txt", "tensorflow keras\n")
    done = repository.commit()
    assert done.status == 0
    assert re.search(r"^oomlint\.*\(no files to check\)Skipped$", done.output, re.MULTILINE)
    repository.write(other="import os\nprint(os.getcwd())\n")
    done = repository.commit()
    assert done.status == 0
    assert re.search(r"^oomlint\.*Passed$", done.output, re.MULTILINE)


def test_a_file_without_keras_costs_next_to_nothing(repository):
    """Of what takes time to import nothing is: neither LibCST nor a rule."""
    repository.write(other="import os\nprint(os.getcwd())\n")
    entry = [
        _hook_python(repository),
        "-X",
        "importtime",
        "-m",
        "oomlint",
        "check",
        "--force-exclude",
        "other.py",
    ]
    done = repository.run(*entry)
    imported = {
        line.rpartition("|")[2].strip() for line in done.output.splitlines() if "import time:" in line
    }
    assert done.status == 0
    assert "oomlint.engine.project" in imported
    assert not {
        name for name in imported if name.split(".")[0] == "libcst" or name.startswith("oomlint.rules")
    }


def test_no_files_at_all(repository):
    done = repository.pre_commit("run", "--files", "nothing")
    assert (done.status, done.output.count("Skipped")) == (0, 1)
    assert repository.pre_commit("run", "--all-files").status == 0


def test_what_the_configuration_excludes_is_not_meant(repository):
    repository.put("old/train.py", BAD)
    repository.put("pyproject.toml", '[tool.oomlint]\nextend-exclude = ["old"]\n')
    assert repository.commit().status == 0
    repository.put("pyproject.toml", '[tool.oomlint]\ngpu = "A100-40GB"\n')
    repository.put("old/train.py", f"{BAD}\n")
    assert repository.commit().status != 0


def test_findings_that_need_another_file(repository):
    """Pre-commit names the changed files only; what they import is read all the same."""
    repository.write(
        data=BAD.replace("train = ", "def make(n):\n    return ").replace("shuffle(NUM_TRAIN)", "shuffle(n)")
    )
    assert repository.commit().status == 0
    repository.write(main="from data import make\n\nds = make(1_281_167)\n")
    done = repository.commit()
    assert done.status != 0
    assert "data.py:12:" in done.output


def notebook(*cells: str) -> str:
    """A notebook as Jupyter writes it, with an output that has to stay."""
    made: list[dict[str, object]] = [
        {
            "cell_type": "code",
            "execution_count": number,
            "id": f"cell{number}",
            "metadata": {},
            "outputs": [{"name": "stdout", "output_type": "stream", "text": ["epoch 1\n"]}],
            "source": cell.splitlines(keepends=True),
        }
        for number, cell in enumerate(cells, 1)
    ]
    return json.dumps({"cells": made, "metadata": {}, "nbformat": 4, "nbformat_minor": 5}, indent=1) + "\n"


def test_notebooks(repository):
    repository.reset({"id": "oomlint-fix"})
    imports, rest = SAFE.split("\n\n")
    repository.put("my book.ipynb", notebook("%matplotlib inline\n" + imports, rest))
    done = repository.commit()
    assert done.status != 0
    assert "files were modified by this hook" in done.output
    mended = notebook("%matplotlib inline\n" + imports, MENDED.split("\n\n")[1])
    assert (repository.folder / "my book.ipynb").read_text("utf-8") == mended
    assert repository.commit().status == 0

    imports, rest = BAD.split("\n\n", 1)
    repository.put("my book.ipynb", notebook(imports, rest))
    done = repository.commit()
    assert done.status != 0
    assert re.search(r"^my book\.ipynb:cell 2:\d+:\d+: OOM301 ", done.output, re.MULTILINE)


def test_twenty_scripts_give_what_the_command_gives(repository):
    repository.reset({"id": "oomlint", "args": ["--output-format", "json-lines"]})
    expected = command(lay_out(repository.folder))
    done = repository.commit()
    assert done.status != 0
    found = [json.loads(line) for line in done.output.splitlines() if line.startswith("{")]
    seen = {
        Seen(Path(one["filename"]).name, one["location"]["row"], one["location"]["column"], one["code"])
        for one in found
    }
    assert seen == expected
    assert len(found) == len(expected)


def test_the_configuration_in_the_readme(repository):
    """What the README shows is what runs, but for where the hooks come from."""
    block = README.split("### pre-commit")[1].split("```yaml\n")[1].split("```")[0]
    config = yaml.safe_load(block)
    (source,) = config["repos"]
    ids = [hook["id"] for hook in source["hooks"]]
    manifest = yaml.safe_load((ROOT / ".pre-commit-hooks.yaml").read_text("utf-8"))
    assert set(ids) <= {hook["id"] for hook in manifest}
    source.update(repository.source)
    repository.put(".pre-commit-config.yaml", yaml.safe_dump(config))
    repository.write(train=SAFE)
    assert repository.commit().status != 0
    assert repository.commit().status == 0
    assert repository.git("show", "HEAD:train.py") == MENDED.strip()


def test_estimates_in_the_environment_that_one_works_in(repository):
    """The hook's own would have TensorFlow installed; `language: system` takes the one that is there."""
    repository.reset({"id": "oomlint-estimate", "language": "system", "additional_dependencies": []})
    repository.put("pyproject.toml", '[tool.oomlint]\ngpu-memory = "100MB"\n')
    repository.write(
        train="import tensorflow as tf\n\n"
        "model = tf.keras.Sequential([tf.keras.Input((4096,)), tf.keras.layers.Dense(4096)])\n"
        'model.compile("adam", "mse")\n'
        "model.fit(tf.zeros((64, 4096)), tf.zeros((64, 4096)), batch_size=32)\n"
    )
    done = repository.commit()
    assert done.status != 0
    assert re.search(r"^train\.py:\d+:\d+: OOM601 ", done.output, re.MULTILINE)


def test_twenty_scripts_give_the_findings_of_the_command(repository):
    lay_out(repository.folder)
    expected = command(repository.folder)
    repository.reset({"id": "oomlint", "args": ["--output-format", "concise"]})
    lay_out(repository.folder)
    done = repository.commit()
    assert done.status != 0
    found = re.findall(r"^(\w+\.py):(\d+):(\d+): (OOM\d+) ", done.output, flags=re.MULTILINE)
    assert {Seen(name, int(row), int(column), code) for name, row, column, code in found} == expected
