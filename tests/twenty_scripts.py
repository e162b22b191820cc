"""Twenty scripts of twenty rules, and what `oomlint check` says of them: every front end must say the same."""

from __future__ import annotations

import ast
import json
import shutil
from pathlib import Path
from typing import Any, NamedTuple

from command import oomlint
from fixture_files import fixtures

# Of every family; with suppressions, encodings, several findings in a file and notes among them.
CODES = (
    "OOM101", "OOM102", "OOM105", "OOM201", "OOM202", "OOM204", "OOM208", "OOM301", "OOM302", "OOM303",
    "OOM304", "OOM307", "OOM401", "OOM403", "OOM406", "OOM411", "OOM501", "OOM502", "OOM602", "OOM606",
)  # fmt: skip


class Seen(NamedTuple):
    """A finding, as far as every front end tells it."""

    name: str
    row: int
    column: int
    code: str


def lay_out(folder: Path) -> Path:
    """The scripts in a project of their own."""
    (folder / "pyproject.toml").write_text('[tool.oomlint]\nfail-on = "note"\n')
    for code in CODES:
        (script,) = (one.path for one in fixtures("bad") if one.code == code and one.path.stem == "bad")
        shutil.copy(script, folder / f"{code.lower()}.py")
    return folder


def command(folder: Path) -> set[Seen]:
    """What the command says."""
    done = oomlint("check", "--output-format", "json", "--no-cache", cwd=folder)
    assert done.returncode == 1, done.stderr
    found = {
        Seen(Path(one["filename"]).name, one["location"]["row"], one["location"]["column"], one["code"])
        for one in json.loads(done.stdout)
    }
    assert set(CODES) <= {one.code for one in found}
    assert {one.name for one in found} == {f"{code.lower()}.py" for code in CODES}
    return found


class Cell(NamedTuple):
    """A piece of a script, and the row of the script before it."""

    text: str
    above: int


def cells(text: str) -> list[Cell]:
    """A script cut where somebody would cut it: at blank lines between statements."""
    lines = text.splitlines(keepends=True)
    starts = [statement.lineno - 1 for statement in ast.parse(text).body]
    cuts = [0]
    for start, statement in zip(starts, ast.parse(text).body):
        above = min([start, *(one.lineno - 1 for one in getattr(statement, "decorator_list", ()))])
        while above > 0 and lines[above - 1].startswith("#"):
            above -= 1
        if above > cuts[-1] and not lines[above - 1].strip():
            cuts.append(above)
    return [Cell("".join(lines[low:high]), low) for low, high in zip(cuts, [*cuts[1:], len(lines)])]


def as_notebook(pieces: list[Cell]) -> str:
    """The cells as Jupyter saves them."""
    made: list[dict[str, Any]] = [
        {
            "cell_type": "code",
            "execution_count": None,
            "id": f"cell-{number}",
            "metadata": {},
            "outputs": [],
            "source": piece.text.splitlines(keepends=True),
        }
        for number, piece in enumerate(pieces)
    ]
    return json.dumps({"cells": made, "metadata": {}, "nbformat": 4, "nbformat_minor": 5}, indent=1)
