"""What a start of oomlint costs above the interpreter's own.

    python benchmarks/speed/start.py [--runs 15]

Processor time of `oomlint --version`, of a check of one file without Keras and of `python -c pass`, which take turns;
the least of each counts, which other programs on the machine disturb the least.
Modules are compiled by the first run, as installers do it.
"""

from __future__ import annotations

import argparse
import tempfile
from pathlib import Path

from measuring import compiled_in, seconds

WAYS = {
    "python -c pass": ["-c", "pass"],
    "oomlint --version": ["-m", "oomlint", "--version"],
    "oomlint check app.py": ["-m", "oomlint", "check", "app.py"],
}


def main() -> None:
    """Print a line for each way."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--runs", type=int, default=15)
    runs = parser.parse_args().runs
    taken: dict[str, list[float]] = {name: [] for name in WAYS}
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        (folder / "app.py").write_text('"""An application."""\n\nimport json\n\nprint(json.dumps({}))\n')
        environment = compiled_in(folder / "compiled")
        for _ in range(runs):
            for way, arguments in WAYS.items():
                taken[way].append(seconds(arguments, folder, environment=environment))
    bare = min(taken["python -c pass"])
    for way, times in taken.items():
        print(f"{way:>22} {1000 * min(times):5.0f} ms, {1000 * (min(times) - bare):+4.0f} ms")


if __name__ == "__main__":
    main()
