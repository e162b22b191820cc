"""Patterns of files: as ruff reads them, and on the paths of Windows."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path, PurePosixPath, PureWindowsPath

import pytest

from oomlint.findings.selection import ignored_for
from oomlint.project.patterns import is_covered
from oomlint.project.settings import Settings
from oomlint.report.paths import shown

FILES = ["a.py", "src/a.py", "src/deep/a.py", "src/deep/test_b.py", "test_b.py", "notebooks/c.py"]
PATTERNS = [
    "a.py",
    "./a.py",
    "src/*",
    "src/*.py",
    "src/**",
    "src/**/*.py",
    "src/**/test_*.py",
    "**/test_*.py",
    "**/deep/*",
    "*.py",
    "test_?.py",
    "[at]*.py",
    "{src,notebooks}/*.py",
    "*_b.py",
    "!src/**",
    "!src/*.py",
    "!a.py",
    "nowhere/*",
]


def test_per_file_ignores_fit_what_ruff_says_they_fit(tmp_path: Path):
    """The real ruff: an unused import in every file, ignored by each pattern in turn."""
    for name in FILES:
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text("import os\n", encoding="utf-8")
    for pattern in PATTERNS:
        (tmp_path / "ruff.toml").write_text(
            f'[lint]\nselect = ["F401"]\n[lint.per-file-ignores]\n{json.dumps(pattern)} = ["F401"]\n', "utf-8"
        )
        done = subprocess.run(
            [sys.executable, "-m", "ruff", "check", "-n", "--output-format", "json", "."],
            cwd=tmp_path, capture_output=True, text=True, check=False,
        )  # fmt: skip
        reported = {
            Path(one["filename"]).relative_to(tmp_path.resolve()).as_posix()
            for one in json.loads(done.stdout)
        }
        settings = Settings(root=tmp_path, per_file_ignores={pattern: ("OOM3",)})
        ours = {name for name in FILES if not ignored_for(tmp_path / name, settings)}
        assert ours == reported, pattern


ROOT = PureWindowsPath(r"C:\Users\me\project")


@pytest.mark.parametrize(
    ("path", "pattern", "covered"),
    [
        (r"C:\Users\me\project\notebooks\a.py", "notebooks/*", True),
        (r"C:\Users\me\project\notebooks\a.py", r"notebooks\*", True),
        (r"c:\users\ME\Project\Notebooks\A.py", "notebooks/a.py", True),
        (r"\\?\C:\Users\me\project\notebooks\a.py", "notebooks/*", True),
        (r"C:\Users\me\project\src\a.py", "notebooks/*", False),
        (r"D:\notebooks\a.py", "notebooks/*", False),
        (r"D:\notebooks\a.py", "D:/notebooks/*", True),
        (r"D:\notebooks\a.py", r"D:\notebooks\*", True),
        (r"\\server\share\a.py", "//server/share/*", True),
        (r"\\?\UNC\server\share\a.py", "//server/share/*", True),
    ],
)
def test_patterns_on_windows(path, pattern, covered):
    assert is_covered(PureWindowsPath(path), ROOT, [pattern]) is covered
    settings = Settings(root=ROOT, per_file_ignores={pattern: ("OOM3",)})  # type: ignore[arg-type]
    assert bool(ignored_for(PureWindowsPath(path), settings)) is covered


def test_a_backslash_is_a_character_elsewhere():
    root = PurePosixPath("/project")
    assert not is_covered(root / "notebooks" / "a.py", root, [r"notebooks\*"])
    assert not is_covered(root / "Notebooks" / "a.py", root, ["notebooks/*"])


def test_paths_of_windows_are_shown_from_here():
    assert shown(r"C:\Users\me\project\src\a.py", ROOT) == r"src\a.py"
    assert shown(r"\\?\c:\users\me\project\src\a.py", ROOT) == r"src\a.py"
    assert shown(r"D:\data\a.py", ROOT) == r"D:\data\a.py"
    assert shown("-", ROOT) == "-"
