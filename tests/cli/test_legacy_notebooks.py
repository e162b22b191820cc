"""Notebooks that are there already: comments in cells, baseline, changed cells."""

from __future__ import annotations

import json
from pathlib import Path

import nbformat
import pytest
from command import Done, oomlint
from git_repository import Repository

# Buffers of 1,281,167 float32 images of 224 x 224 x 3 (OOM301).
CELLS = [
    "%matplotlib inline\nimport tensorflow as tf",
    "names = tf.data.Dataset.range(10**9).map(lambda i: tf.zeros((224, 224, 3)))",
    "a = names.shuffle(1_281_167)\na",
    "b = (\n    names\n    .shuffle(1_281_167)  # all\n)\n!ls\nb;",
]
FLAGS = ("check", "--isolated", "--select", "OOM301", "--output-format", "concise")


def _write(path: Path, cells: list[str]) -> None:
    notebook = nbformat.v4.new_notebook()
    notebook.cells = [nbformat.v4.new_code_cell(source) for source in cells]
    for number, cell in enumerate(notebook.cells):
        cell["id"] = f"cell{number}"
        cell["outputs"] = [nbformat.v4.new_output("stream", text=f"out {number}\n")]
    nbformat.write(notebook, path)


@pytest.fixture
def repository(tmp_path: Path) -> Repository:
    made = Repository(tmp_path / "repository")
    made.write("pyproject.toml", "")
    _write(made.folder / "train.ipynb", CELLS)
    made.commit()
    made.git("branch", "base")
    return made


def _found(done: Done) -> list[str]:
    return [line.split(": ")[0] for line in done.stdout.splitlines() if line.startswith("train.ipynb")]


def test_comments_go_into_their_cells_and_outputs_stay(repository):
    before = json.loads((repository.folder / "train.ipynb").read_text("utf-8"))
    done = oomlint(*FLAGS, "--add-noqa=by hand", ".", cwd=repository.folder)
    assert (done.returncode, done.stdout) == (0, "Suppressed 2 findings in 1 file.\n")
    after = json.loads((repository.folder / "train.ipynb").read_text("utf-8"))
    assert ["".join(cell["source"]) for cell in after["cells"]] == [
        CELLS[0],
        CELLS[1],
        "a = names.shuffle(1_281_167)  # noqa: OOM301 by hand\na",
        "b = (\n    names\n    .shuffle(1_281_167)  # all  # noqa: OOM301 by hand\n)\n!ls\nb;",
    ]
    for cell, old in zip(after["cells"], before["cells"]):
        assert {**cell, "source": ""} == {**old, "source": ""}
    assert oomlint(*FLAGS, ".", cwd=repository.folder).stdout == "No findings in 1 file.\n"
    assert oomlint(*FLAGS, "--add-noqa", ".", cwd=repository.folder).stdout == "Suppressed 0 findings.\n"


def test_a_baseline_survives_a_cell_in_between(repository):
    oomlint("check", "--isolated", "--select", "OOM301", "--write-baseline", "b.json", cwd=repository.folder)
    _write(
        repository.folder / "train.ipynb",
        [CELLS[0], "# a new cell", *CELLS[1:], "c = names.shuffle(1_281_167)"],
    )
    done = oomlint(*FLAGS, "--baseline", "b.json", ".", cwd=repository.folder)
    assert _found(done) == ["train.ipynb:cell 6:1:19"]
    assert "2 more findings are in the baseline." in done.stdout


def test_what_changed_is_the_code_of_cells_and_not_their_outputs(repository):
    text = (repository.folder / "train.ipynb").read_text("utf-8")
    repository.write("train.ipynb", text.replace("out 2", "another output"))
    assert _found(oomlint(*FLAGS, "--changed-since", "base", ".", cwd=repository.folder)) == []
    _write(
        repository.folder / "train.ipynb",
        [CELLS[0], "# new", *CELLS[1:3], CELLS[3].replace("all", "all of it")],
    )
    done = oomlint(*FLAGS, "--changed-since", "base", ".", cwd=repository.folder)
    assert _found(done) == ["train.ipynb:cell 5:3:14"]
