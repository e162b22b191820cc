"""The project's own modules: found as the interpreter would, never outside the project."""

from __future__ import annotations

from pathlib import Path

import pytest

from oomlint.project.modules import ModuleFinder


@pytest.fixture
def root(tmp_path: Path) -> Path:
    root = tmp_path / "project"
    for name in (
        "train.py",
        "data/__init__.py",
        "data/load.py",
        "scripts/run.py",
        "scripts/helper.py",
        "src/lib/__init__.py",
        "src/lib/sub/__init__.py",
        "src/lib/sub/leaf.py",
        "src/lib/util.py",
        "../outside.py",
    ):
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("", encoding="utf-8")
    return root


@pytest.mark.parametrize(
    ("folder", "module", "level", "found"),
    [
        (".", "data.load", 0, "data/load.py"),
        (".", "data", 0, "data/__init__.py"),
        (".", "lib.util", 0, "src/lib/util.py"),
        ("scripts", "helper", 0, "scripts/helper.py"),
        ("scripts", "data.load", 0, "data/load.py"),
        ("data", "load", 1, "data/load.py"),
        ("src/lib/sub", "util", 2, "src/lib/util.py"),
        ("src/lib/sub", "", 2, "src/lib/__init__.py"),
        ("src/lib/sub", "lib.util", 0, "src/lib/util.py"),
        (".", "numpy", 0, None),
        (".", "outside", 2, None),
        (".", "data.missing", 0, None),
        (".", "../outside", 0, None),
    ],
)
def test_find(root, folder, module, level, found):
    path = ModuleFinder(root).find(root / folder, module, level)
    assert path == (None if found is None else root / found)


def test_a_link_out_of_the_project_is_not_followed(root):
    (root / "link.py").symlink_to(root.parent / "outside.py")
    assert ModuleFinder(root).find(root, "link", 0) is None
