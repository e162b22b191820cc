"""What a check costs over thousands of files that name no Keras, held against reading them.

    python benchmarks/speed/without_keras.py [FOLDER ...] [--files 5000] [--rounds 7]

The files are copies of those of the folders (default: what is installed beside this Python, and its own library).
Reading and checking take turns in one process; the least processor time of each counts.
"""

from __future__ import annotations

import argparse
import os
import sysconfig
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

from oomlint.engine.project import check_paths
from oomlint.project.configuration import Configurations
from oomlint.syntax.gates import names_keras


def copied(folders: list[Path], into: Path, wanted: int) -> int:
    """Copy files that name no Keras, in folders as they were; their bytes."""
    size = count = 0
    for folder in folders:
        for file in sorted(folder.rglob("*.py")):
            if count == wanted:
                return size
            raw = file.read_bytes()
            if names_keras(raw):
                continue
            # No folder is called `site-packages`, `build` or `dist`, which no check looks into.
            parts = (folder / file.relative_to(folder)).parts[len(folder.parts) - 1 :]
            place = into.joinpath(*(f"{part}_" for part in parts[:-1]), file.name)
            place.parent.mkdir(parents=True, exist_ok=True)
            place.write_bytes(raw)
            size, count = size + len(raw), count + 1
    assert count == wanted, f"only {count} files"
    return size


def read_all(folder: Path) -> int:
    """Find and read them, and do nothing else."""
    files = 0
    for top, _, names in os.walk(folder):
        for name in names:
            with open(os.path.join(top, name), "rb") as file:  # noqa: PTH118, PTH123 - as fast as it goes
                file.read()
            files += 1
    return files


def check(folder: Path) -> int:
    """Check them; how many there were."""
    return check_paths([folder], Configurations(isolated=True)).files


def seconds(work: Callable[[Path], int], folder: Path, files: int) -> float:
    """Processor time."""
    before = time.process_time()
    assert work(folder) == files
    return time.process_time() - before


def main() -> None:
    """Print both, and their ratio."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("folders", nargs="*", type=Path)
    parser.add_argument("--files", type=int, default=5000)
    parser.add_argument("--rounds", type=int, default=7)
    given = parser.parse_args()
    folders = given.folders or [Path(sysconfig.get_path(name)) for name in ("purelib", "stdlib")]
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        size = copied(folders, folder, given.files)
        taken = [
            [seconds(work, folder, given.files) for work in (read_all, check)] for _ in range(given.rounds)
        ]
    reading, checking = (min(times) for times in zip(*taken))
    print(
        f"{given.files:,} files, {size / 1e6:.0f} MB: reading {reading:.3f} s, checking {checking:.3f} s,"
        f" {checking / reading:.2f} times as much"
    )


if __name__ == "__main__":
    main()
