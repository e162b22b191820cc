"""What a light tree costs beside LibCST's parse, and whether it is the tree that LibCST makes.

    python benchmarks/speed/trees.py FOLDER ... [--every N]

Processor time over every Nth Python file: the standard library's parse, the light tree made of it, LibCST's parse as it
is and as oomlint asks for it (without validation). Files whose light tree has another shape are named; oomlint finds
that out by itself and runs them on LibCST's.
"""

from __future__ import annotations

import argparse
import time
import warnings
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import libcst as cst

from oomlint.documents.python_file import DocumentError
from oomlint.documents.reading import read
from oomlint.engine.pool import seldom_collected
from oomlint.syntax.gates import SyntaxFault, check_syntax
from oomlint.syntax.light.nodes import Unlike
from oomlint.syntax.light.pairing import paired
from oomlint.syntax.light.statements import light_module
from oomlint.syntax.parse import whole_module

_taken: Counter[str] = Counter()


def _timed(part: str, work: Callable[[], Any]) -> Any:
    before = time.process_time()
    try:
        return work()
    finally:
        _taken[part] += time.process_time() - before  # type: ignore[assignment]


def _compare(path: Path) -> str:
    """What became of one file."""
    try:
        document = read(path)
        tree = _timed("ast", lambda: check_syntax(document))
        light = _timed("light tree", lambda: light_module(tree, document.text))
    except (DocumentError, SyntaxFault):
        return "no Python"
    except (Unlike, RecursionError):
        return "left to LibCST"
    try:
        _timed("LibCST", lambda: cst.parse_module(document.text))
        whole = _timed("LibCST without validation", lambda: whole_module(document))
    except (cst.ParserSyntaxError, SyntaxFault):
        return "refused by LibCST alone"
    try:
        paired(light, whole)
    except Unlike as difference:
        print(f"{path}: {difference}")
        return "unlike"
    return "alike"


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("folders", nargs="+", type=Path)
    parser.add_argument("--every", type=int, default=1)
    given = parser.parse_args()
    warnings.simplefilter("ignore")
    became: Counter[str] = Counter()
    with seldom_collected():
        for folder in given.folders:
            became.update(map(_compare, sorted(folder.rglob("*.py"))[:: given.every]))
    print(", ".join(f"{count:,} {what}" for what, count in became.most_common()))
    for part, seconds in _taken.items():
        print(f"{part:26} {seconds:6.2f} s {seconds / _taken['LibCST']:5.2f} of LibCST's parse")


if __name__ == "__main__":
    main()
