"""One server for most tests: it is started once, and every test has files of its own."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import count
from pathlib import Path

import pytest
from editor import Editor

_NUMBERS = count(1)


@pytest.fixture(scope="session")
def workspace(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("work space%20")
    (folder / "pyproject.toml").write_text('[tool.oomlint]\nignore = ["OOM101"]\n')
    return folder


@pytest.fixture(scope="session")
def shared_editor(workspace: Path) -> Iterator[Editor]:
    editor = Editor(workspace)
    yield editor
    assert editor.quit() == 0


@pytest.fixture
def editor(shared_editor: Editor) -> Iterator[Editor]:
    """The server, with nothing open."""
    yield shared_editor
    shared_editor.close_all()


@pytest.fixture
def folder(workspace: Path) -> Path:
    """A folder of the workspace for one test."""
    folder = workspace / f"test{next(_NUMBERS)}"
    folder.mkdir()
    return folder
