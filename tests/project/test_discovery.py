"""Which files a run looks at."""

from __future__ import annotations

from pathlib import Path

import pytest

from oomlint.project.discovery import discover
from oomlint.project.settings import Settings


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    for name in (
        "train.py",
        "notes.txt",
        "pkg/model.py",
        "pkg/deep/data.py",
        ".venv/lib/site.py",
        "build/out.py",
        "node_modules/x/y.py",
        "gen/made.py",
        "tests/test_it.py",
    ):
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("x = 1\n", encoding="utf-8")
    return tmp_path


def _names(tree: Path, *paths: Path, **settings: object) -> list[str]:
    found = discover(paths or (tree,), lambda _: Settings(root=tree, **settings))  # type: ignore[arg-type]
    return [Path(path).relative_to(tree).as_posix() for path in found]


def test_a_folder_gives_its_python_files_sorted_without_what_is_never_the_projects_own(tree):
    assert _names(tree) == ["gen/made.py", "pkg/deep/data.py", "pkg/model.py", "tests/test_it.py", "train.py"]


def test_exclude_by_name_path_and_glob(tree):
    assert _names(tree, extend_exclude=("gen", "pkg/deep", "test_*.py")) == ["pkg/model.py", "train.py"]
    assert "build/out.py" in _names(tree, exclude=())


def test_what_is_named_is_looked_at_even_if_excluded(tree):
    assert _names(tree, tree / "build" / "out.py", tree / "notes.txt") == ["build/out.py", "notes.txt"]
    assert _names(tree, tree / "build") == ["build/out.py"]


def test_each_file_once(tree):
    assert _names(tree, tree / "pkg", tree / "pkg" / "model.py", tree / "pkg") == [
        "pkg/deep/data.py",
        "pkg/model.py",
    ]


def test_a_link_to_what_is_there_anyway_is_no_second_file(tree, tmp_path_factory):
    elsewhere = tmp_path_factory.mktemp("elsewhere") / "shared.py"
    elsewhere.write_text("x = 1\n", encoding="utf-8")
    for name, target in (("again.py", tree / "train.py"), ("one.py", elsewhere), ("two.py", elsewhere)):
        (tree / "pkg" / name).symlink_to(target)
    assert _names(tree, tree / "pkg") == ["pkg/again.py", "pkg/deep/data.py", "pkg/model.py", "pkg/one.py"]
    whole = ["gen/made.py", "pkg/deep/data.py", "pkg/model.py", "pkg/one.py", "tests/test_it.py", "train.py"]
    assert _names(tree) == whole
    assert "pkg/again.py" in _names(tree, tree, tree / "pkg" / "again.py")


def test_gitignore_of_every_level_counts(tree):
    (tree / ".gitignore").write_text("gen/\n*.gen.py\n", encoding="utf-8")
    (tree / "pkg" / "a.gen.py").write_text("", encoding="utf-8")
    (tree / "pkg" / ".gitignore").write_text("deep\n!a.gen.py\n", encoding="utf-8")
    assert _names(tree) == ["pkg/a.gen.py", "pkg/model.py", "tests/test_it.py", "train.py"]


def test_gitignore_above_counts_up_to_the_repository(tree):
    (tree / ".git").mkdir()
    (tree / ".gitignore").write_text("/pkg/deep\n", encoding="utf-8")
    assert _names(tree, tree / "pkg") == ["pkg/model.py"]
    # A folder that git ignores is looked at when it is named.
    assert _names(tree, tree / "pkg" / "deep") == ["pkg/deep/data.py"]


def test_notebooks_in_folders_and_documents_that_are_asked_for(tree):
    for name in (
        "train.ipynb",
        "pkg/.ipynb_checkpoints/train-checkpoint.ipynb",
        "docs/guide.md",
        "docs/old.rst",
    ):
        (tree / name).parent.mkdir(exist_ok=True)
        (tree / name).write_text("{}", encoding="utf-8")
    scripts = _names(tree)
    assert [name for name in scripts if not name.endswith(".py")] == ["train.ipynb"]
    assert set(_names(tree, extend_include=("docs/*.md",))) == {*scripts, "docs/guide.md"}
    assert set(_names(tree, extend_include=("*.md", "*.rst"))) == {*scripts, "docs/guide.md", "docs/old.rst"}
    assert set(_names(tree, extend_include=("*.md",), extend_exclude=("docs",))) == set(scripts)
    assert _names(tree, tree / "docs" / "old.rst") == ["docs/old.rst"]


def test_a_path_that_is_not_there_is_a_problem(tree):
    problems: list[str] = []
    assert discover([tree / "missing.py"], lambda _: Settings(root=tree), problems) == []
    assert problems == [f"{tree / 'missing.py'}: no such file or folder"]
