"""Files of installed packages, each checked by itself with both gates forced open, so that the dry run runs.

    python benchmarks/robustness/installed.py [--seconds N] [--limit N] [--shuffled] FOLDER ...

The first gate (does the file name Keras?) is not asked, as `examine` is called and not `check_document`; the
second (does it call what a rule needs?) is replaced by one that only parses. Every rule is run on every trace.
"""

from __future__ import annotations

import argparse
import gc
import random
import sys
import time
import warnings
from collections import Counter
from pathlib import Path

ROOT = Path(__file__).parent.parent.parent
sys.path[:] = [str(ROOT / "tests"), *(entry for entry in sys.path if Path(entry or ".").resolve() != ROOT)]

from mutations import TooLong, limit  # noqa: E402

from oomlint.documents.python_file import Document, DocumentError, read_document  # noqa: E402
from oomlint.engine import document as engine  # noqa: E402
from oomlint.findings.registry import load_rules  # noqa: E402
from oomlint.project.settings import Settings  # noqa: E402
from oomlint.syntax.gates import check_syntax  # noqa: E402


def _open(document: Document, literals: object, resolver: object) -> bool:
    check_syntax(document)
    return True


def main() -> None:
    """Check the files, and count."""
    options = argparse.ArgumentParser()
    options.add_argument("folders", nargs="+", type=Path)
    options.add_argument("--seconds", type=int, default=36000, help="for all")
    options.add_argument("--limit", type=int, default=30, help="seconds for one file")
    options.add_argument("--shuffled", action="store_true", help="a sample, if the time is short")
    given = options.parse_args()
    engine.is_relevant = _open
    warnings.simplefilter("ignore")
    rules = tuple(load_rules())
    settings = Settings(root=Path("/"), select=(*(entry.code for entry in rules), "OOM001"), preview=True)
    files = sorted({path for folder in given.folders for path in folder.rglob("*.py") if path.is_file()})
    if given.shuffled:
        random.Random(0).shuffle(files)
    counts: Counter[str] = Counter()
    took: list[tuple[float, Path]] = []
    began = time.monotonic()
    for path in files:
        if time.monotonic() - began > given.seconds:
            break
        start = time.monotonic()
        said = _check(path, settings, rules, given.limit)
        took.append((time.monotonic() - start, path))
        counts[said.partition(":")[0]] += 1
        if said.partition(":")[0] in ("internal error", "traceback", "too long"):
            print(f"{path}: {said}", flush=True)
        if len(took) % 200 == 0:
            gc.collect()
    print(f"{len(took)} of {len(files)} files in {time.monotonic() - began:.0f} s")
    print(", ".join(f"{what} {number}" for what, number in counts.most_common()))
    print("slowest:")
    for seconds, path in sorted(took, reverse=True)[:5]:
        print(f"  {seconds:5.1f} s  {path}")


def _check(path: Path, settings: Settings, rules: tuple[engine.RegisteredRule, ...], seconds: int) -> str:
    try:
        with limit(seconds):
            report = engine.examine(read_document(path), settings, None, rules)
    except DocumentError:
        return "no text"
    except TooLong as error:
        return f"too long: {error}"
    except Exception as error:
        return f"traceback: {type(error).__name__}: {error}"
    if report.failed:
        return f"internal error: {[d.message for d in report.diagnostics if d.code == 'OOM002']}"
    if any(found.code == "OOM001" for found in report.diagnostics):
        return "no Python"
    return "findings" if report.diagnostics else "nothing found"


main()
