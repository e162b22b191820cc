"""What the first check of some folders costs, and what the next one does, which finds nothing changed.

    python benchmarks/speed/cold_and_warm.py FOLDER ... [--every N] [--rounds 5]

Every Nth file of the folders is copied to a project of its own. Processor time of whole processes, `oomlint check`; the
warm runs' least counts. Modules are compiled before, as installers do it.
"""

from __future__ import annotations

import argparse
import tempfile
from pathlib import Path

from measuring import compiled_in, seconds


def copied(folders: list[Path], every: int, into: Path) -> int:
    """Copy the files, and make a project of them; how many."""
    files = [(folder, file) for folder in folders for file in sorted(folder.rglob("*.py"))][::every]
    for folder, file in files:
        place = into / folder.name / file.relative_to(folder)
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_bytes(file.read_bytes())
    (into / "oomlint.toml").write_text("")
    return len(files)


def checked(folder: Path) -> float:
    """Processor time of a check."""
    arguments = ["-m", "oomlint", "check", "-q", "-j", "1", "."]
    environment = compiled_in(folder.parent / "compiled")
    return seconds(arguments, folder, environment=environment, verdict=(0, 1))


def main() -> None:
    """Print both, and their ratio."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("folders", nargs="+", type=Path)
    parser.add_argument("--every", type=int, default=1)
    parser.add_argument("--rounds", type=int, default=5)
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        one = Path(name) / "one"
        one.mkdir()
        (one / "train.py").write_text("import keras\n\nkeras.Sequential().fit(x, y)\n")
        checked(one)
        folder = Path(name) / "project"
        files = copied([path.absolute() for path in given.folders], given.every, folder)
        cold = checked(folder)
        warm = min(checked(folder) for _ in range(given.rounds))
    print(f"{files:,} files: cold {cold:.2f} s, warm {warm:.2f} s, one in {cold / warm:.0f}")


if __name__ == "__main__":
    main()
