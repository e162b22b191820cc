"""Files of installed packages, each checked and mended by itself with both gates forced open.

    python benchmarks/robustness/installed.py [--seconds N] [--limit N] [--shuffled] [--done FILE] FOLDER ...

The first gate (does the file name Keras?) is not asked, as `examine` is called and not `check_document`; the
second (does it call what a rule needs?) is replaced by one that only parses. Every rule is run on every trace,
and all fixes of a file are applied: what comes out has to be Python, and to stay as it is when it is fixed again.
With `--done` a run goes on where the last one ended; a file that ended the process is said to have done so.
"""

from __future__ import annotations

import argparse
import ast
import gc
import os
import random
import sys
import time
import warnings
from collections import Counter
from pathlib import Path
from typing import TextIO

ROOT = Path(__file__).parent.parent.parent
sys.path[:] = [str(ROOT / "tests"), *(entry for entry in sys.path if Path(entry or ".").resolve() != ROOT)]

from mutations import TooLong, limit  # noqa: E402

from oomlint.documents.python_file import Document, DocumentError, read_document  # noqa: E402
from oomlint.engine import document as engine  # noqa: E402
from oomlint.findings.applying import fix_document  # noqa: E402
from oomlint.findings.diagnostic import Diagnostic  # noqa: E402
from oomlint.findings.model import Safety  # noqa: E402
from oomlint.findings.registry import RegisteredRule, load_rules  # noqa: E402
from oomlint.project.settings import Settings  # noqa: E402
from oomlint.syntax.gates import check_syntax  # noqa: E402
from oomlint.syntax.parse import parse  # noqa: E402

ALL = {Safety.SAFE, Safety.UNSAFE}
STARTED = "started"
FAILURES = ("internal error", "traceback", "too long", "ended the process", "fix")


def _open(document: Document, literals: object, resolver: object) -> bool:
    check_syntax(document)
    return True


class _Checks:
    def __init__(self, rules: tuple[RegisteredRule, ...], seconds: int) -> None:
        self.rules = rules
        self.seconds = seconds
        codes = (*(entry.code for entry in rules), "OOM001")
        self.settings = Settings(root=Path("/"), select=codes, preview=True)
        self.codes: Counter[str] = Counter()
        self.mended = 0

    def of(self, path: Path) -> str:
        """One word, and after a colon what there is to say of it."""
        try:
            with limit(self.seconds):
                return self._of(read_document(path))
        except DocumentError:
            return "no text"
        except TooLong as error:
            return f"too long: {error}"
        except _Failed as error:
            return f"internal error: {error}"
        except Exception as error:
            return f"traceback: {type(error).__name__}: {error}"

    def _of(self, document: Document) -> str:
        found = self._check(document)
        if any(one.code == "OOM001" for one in found):
            return "no Python"
        self.codes.update({one.code for one in found})
        if not any(one.edits for one in found):
            return "findings" if found else "nothing found"
        outcome = fix_document(document, self._check, ALL)
        if not outcome.changed:
            return "findings"
        self.mended += len(outcome.applied)
        try:
            ast.parse(outcome.document.text)
            parse(outcome.document)
        except Exception as error:
            return f"fix: no Python any more: {error}"
        if fix_document(outcome.document, self._check, ALL).changed:
            return "fix: fixing again changes it again"
        return "mended"

    def _check(self, document: Document) -> list[Diagnostic]:
        report = engine.examine(document, self.settings, None, self.rules)
        if report.failed:
            raise _Failed([d.message for d in report.diagnostics if d.code == "OOM002"])
        return list(report.diagnostics)


class _Failed(Exception):
    """A rule or the dry run failed."""


def main() -> None:
    """Check the files, and count."""
    options = argparse.ArgumentParser()
    options.add_argument("folders", nargs="+", type=Path)
    options.add_argument("--seconds", type=int, default=36000, help="for all")
    options.add_argument("--limit", type=int, default=30, help="seconds of the processor for one file")
    options.add_argument("--shuffled", action="store_true", help="a sample, if the time is short")
    options.add_argument("--done", type=Path, help="where is written which files are done")
    given = options.parse_args()
    engine.is_relevant = _open
    warnings.simplefilter("ignore")
    files = sorted({path for folder in given.folders for path in folder.rglob("*.py") if path.is_file()})
    if given.shuffled:
        random.Random(0).shuffle(files)
    said = _read(given.done)
    checks = _Checks(tuple(load_rules()), given.limit)
    took: list[tuple[float, Path]] = []
    began = time.monotonic()
    with (given.done or Path(os.devnull)).open("a", encoding="utf-8", errors="surrogateescape") as done:
        for path in files:
            if time.monotonic() - began > given.seconds:
                break
            if str(path) in said:
                continue
            _write(done, path, STARTED)
            start = time.process_time()
            said[str(path)] = checks.of(path)
            took.append((time.process_time() - start, path))
            _write(done, path, said[str(path)])
            if len(took) % 200 == 0:
                gc.collect()
    for name, what in said.items():
        if what.partition(":")[0] in FAILURES:
            print(f"{name}: {what}")
    counts = Counter(what.partition(":")[0] for what in said.values())
    print(f"{len(said)} of {len(files)} files, {len(took)} of them in {sum(t for t, _ in took):.0f} s now")
    print(", ".join(f"{what} {number}" for what, number in counts.most_common()))
    print(f"now: {checks.mended} fixes; files by code: {dict(sorted(checks.codes.items()))}")
    print("slowest:")
    for seconds, path in sorted(took, reverse=True)[:5]:
        print(f"  {seconds:5.1f} s  {path}")


def _read(done: Path | None) -> dict[str, str]:
    if done is None or not done.exists():
        return {}
    lines = done.read_text("utf-8", errors="surrogateescape").splitlines()
    said = dict(line.split("\t", 1) for line in lines)
    return {name: "ended the process" if what == STARTED else what for name, what in said.items()}


def _write(done: TextIO, path: Path, what: str) -> None:
    done.write(f"{path}\t{' '.join(what.split())}\n")
    done.flush()


main()
