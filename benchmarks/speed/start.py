"""What a start of oomlint costs above the interpreter's own.

    python benchmarks/speed/start.py [--runs 15]

Processor time of `oomlint --version`, of a check of one file without Keras and of `python -c pass`, which take turns;
the least of each counts, which other programs on the machine disturb the least.
Modules are compiled by the first run, as installers do it.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
from pathlib import Path

WAYS = {
    "python -c pass": ["-c", "pass"],
    "oomlint --version": ["-m", "oomlint", "--version"],
    "oomlint check app.py": ["-m", "oomlint", "check", "app.py"],
}


def seconds(arguments: list[str], folder: Path) -> float:
    """Processor time of one run."""
    environment = {key: value for key, value in os.environ.items() if key != "PYTHONDONTWRITEBYTECODE"}
    environment["PYTHONPYCACHEPREFIX"] = str(folder / "compiled")
    process = subprocess.Popen(
        [sys.executable, *arguments], cwd=folder, env=environment, stdout=subprocess.DEVNULL
    )
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    assert process.returncode == 0, arguments
    return usage.ru_utime + usage.ru_stime


def main() -> None:
    """Print a line for each way."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--runs", type=int, default=15)
    runs = parser.parse_args().runs
    taken: dict[str, list[float]] = {name: [] for name in WAYS}
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        (folder / "app.py").write_text('"""An application."""\n\nimport json\n\nprint(json.dumps({}))\n')
        for _ in range(runs):
            for way, arguments in WAYS.items():
                taken[way].append(seconds(arguments, folder))
    bare = min(taken["python -c pass"])
    for way, times in taken.items():
        print(f"{way:>22} {1000 * min(times):5.0f} ms, {1000 * (min(times) - bare):+4.0f} ms")


if __name__ == "__main__":
    main()
