"""Twenty scripts through every front end: the findings are the same ones, at the same places.

The hook of pre-commit is asked in test_precommit.py, where it is installed.
"""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path

import pytest
from command import oomlint
from editor import Editor
from twenty_scripts import CODES, Seen, as_notebook, cells, command, lay_out


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return lay_out(tmp_path_factory.mktemp("scripts"))


@pytest.fixture(scope="module")
def expected(folder: Path) -> set[Seen]:
    return command(folder)


def test_flake8(folder: Path, expected: set[Seen]) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "flake8", "-j1", "--select", "OOM,OON", "--enable-extensions", "OON", "."],
        cwd=folder,
        capture_output=True,
        text=True,
        check=False,
    )
    found = re.findall(r"^\./(.+?):(\d+):(\d+): OO[MN](\d+) ", done.stdout, flags=re.MULTILINE)
    assert done.stderr == ""
    assert {Seen(name, int(row), int(column), f"OOM{code}") for name, row, column, code in found} == expected


def test_sarif(folder: Path, expected: set[Seen]) -> None:
    done = oomlint("check", "--output-format", "sarif", cwd=folder)
    seen = set()
    for one in json.loads(done.stdout)["runs"][0]["results"]:
        (place,) = one["locations"]
        physical = place["physicalLocation"]
        start = physical["region"]
        seen.add(
            Seen(physical["artifactLocation"]["uri"], start["startLine"], start["startColumn"], one["ruleId"])
        )
    assert seen == expected


def test_language_server(folder: Path, expected: set[Seen]) -> None:
    editor = Editor(folder)
    seen = set()
    for code in CODES:
        path = folder / f"{code.lower()}.py"
        for one in editor.open(path.as_uri(), path.read_text("utf-8")):
            start = one.range.start
            seen.add(Seen(path.name, start.line + 1, start.character + 1, str(one.code)))
    assert editor.quit() == 0
    assert seen == expected


def test_notebook(folder: Path, expected: set[Seen], tmp_path: Path) -> None:
    (tmp_path / "pyproject.toml").write_text((folder / "pyproject.toml").read_text())
    above: dict[str, list[int]] = {}
    for script in folder.glob("*.py"):
        pieces = cells(script.read_text("utf-8"))
        assert len(pieces) > 1
        above[script.name] = [piece.above for piece in pieces]
        (tmp_path / script.with_suffix(".ipynb").name).write_text(as_notebook(pieces), encoding="utf-8")
    done = oomlint("check", "--output-format", "json", "--no-cache", cwd=tmp_path)
    seen = set()
    for one in json.loads(done.stdout):
        name = Path(one["filename"]).with_suffix(".py").name
        place = one["location"]
        seen.add(Seen(name, above[name][one["cell"] - 1] + place["row"], place["column"], one["code"]))
    assert seen == expected
