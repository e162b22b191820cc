"""What the plugin costs a flake8 run over files that have nothing to do with Keras.

    python benchmarks/flake8/overhead.py [--runs 15]

flake8 cannot leave out a plugin that is installed, so it is hidden from flake8's own search for plugins. The two ways
take turns; what counts is the least processor time, which other programs on the machine disturb the least.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1] / "speed"))
from measuring import seconds

START = """\
import sys
from flake8.plugins import finder

if sys.argv.pop(1) == "without":
    found = finder._find_importlib_plugins
    finder._find_importlib_plugins = lambda: (plugin for plugin in found() if plugin.package != "oomlint")
from flake8.main.cli import main

sys.exit(main(sys.argv[1:]))
"""
MODULE = '''\
"""A module of a web application."""

import json
import logging

from app import settings, {other}
from app.{other} import handle as handle_next

logger = logging.getLogger(__name__)


def handle(request):
    """Answer a request."""
    logger.info("%s %s", settings.NAME, {other})
    if request.get("next"):
        return handle_next(request)
    return json.dumps(dict(request))
'''


def write(folder: Path, modules: int) -> Path:
    """An application of so many modules, each of which imports two others."""
    package = folder / f"of-{modules}" / "app"
    package.mkdir(parents=True)
    (package / "__init__.py").write_text('"""An application."""\n')
    (package / "settings.py").write_text('"""Settings."""\n\nNAME = "app"\n')
    for number in range(modules):
        (package / f"part{number}.py").write_text(MODULE.format(other=f"part{(number + 1) % modules}"))
    return package.parent


def main() -> None:
    """Print a line for each size."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--runs", type=int, default=15)
    runs = parser.parse_args().runs
    with tempfile.TemporaryDirectory() as name:
        for modules in (1, 100):
            folder = write(Path(name), modules)
            taken: dict[str, list[float]] = {"without": [], "with": []}
            for _ in range(runs):
                for way, times in taken.items():
                    times.append(seconds(["-c", START, way, "-j1", "."], folder))
            without, with_it = (1000 * min(times) for times in taken.values())
            print(
                f"{modules + 2} files: {without:.0f} ms without the plugin, {with_it:.0f} ms with it:"
                f" {with_it - without:+.0f} ms (best of {runs} each)"
            )


if __name__ == "__main__":
    main()
