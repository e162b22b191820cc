"""Estimates for fixtures whose rules ask for one: `python tests/record_estimates.py [FILE ...]` makes them.

They are recorded so that the fixtures' tests need no child process; `tests/estimate/test_check.py` has real ones. The
fixed file is made by the rule's own fix, and estimated as well: a fix that does not fit shows at once. An estimate
that is recorded is kept unless its file is named; without the timeline it is small.
"""

from __future__ import annotations

import dataclasses
import json
import sys
from collections.abc import Sequence
from pathlib import Path

from fixture_files import FIXTURES, WITH_RECORDS, Fixture, fixtures, modules, settings
from test_meta import RULES, blocks_of

from oomlint.documents.python_file import document_from_text
from oomlint.dryrun import Trace
from oomlint.engine.estimating import Estimator, ask_child
from oomlint.estimate.request import Request
from oomlint.estimate.result import Estimate
from oomlint.findings.estimates import Estimated
from oomlint.project.settings import Settings
from oomlint.testing import fix_text, run_rules


class Recorder:
    """Estimates really, and writes down what comes."""

    def __init__(self, path: Path, fixed: Path | None = None) -> None:
        self.path = path
        self.fixed = fixed
        self.before = ""

    def __call__(self, trace: Trace, settings: Settings) -> Estimated | None:
        text = trace.source.document.text
        self.before = self.before or text
        path = self.path if text == self.before or self.fixed is None else self.fixed
        record = path.with_suffix(".json")

        def ask(request: Request, folders: Sequence[Path]) -> Estimate:
            if record.exists():
                return Estimate.from_json(record.read_text("utf-8"))
            found = dataclasses.replace(
                ask_child(request, folders), target=path.name, timeline=(), seconds=0.0, resident_bytes=0
            )
            record.write_text(json.dumps(dataclasses.asdict(found), indent=1) + "\n", encoding="utf-8")
            return found

        estimator = Estimator(lambda file: document_from_text(file.read_text("utf-8"), str(file), file), ask)
        found = estimator(trace, settings)
        print(path.name, *estimator.remarks, found and (found.estimate.verdict, found.estimate.max_batch))
        return found


def record(fixture: Fixture) -> None:
    """One fixture, and what it becomes."""
    document = fixture.document()
    its = settings(fixture.code, document.text)
    recorder = Recorder(fixture.path, fixture.fixed if fixture.kind == "bad" else None)
    resolver = modules(fixture.path.parent)
    text = fix_text(fixture.rules, document, settings=its, resolver=resolver, estimate=recorder)
    if text != document.text:
        fixture.fixed.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    for named in map(Path, sys.argv[1:]):
        named.with_suffix(".json").unlink(missing_ok=True)
    for one in fixtures("bad", "good", "like"):
        if one.code in WITH_RECORDS:
            record(one)
    for entry in RULES:
        for name, block in blocks_of(entry) if entry.code in WITH_RECORDS else ():
            path = FIXTURES / f"{entry.code}-{entry.rule.name}" / f"{name}.py"
            document = document_from_text(block, "example.py")
            run_rules([entry], document, settings=settings(entry.code, block), estimate=Recorder(path))
