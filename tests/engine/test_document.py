"""Checking one document: gates, failures, doubles, suppressions, what settings change."""

from __future__ import annotations

from pathlib import Path

import engine_rules as rules
import pytest

import oomlint.dryrun
import oomlint.syntax.light.pairing
from oomlint.documents.lines import Location
from oomlint.documents.python_file import document_from_bytes, document_from_text
from oomlint.engine.document import check_document
from oomlint.findings.model import Safety, Severity
from oomlint.project.settings import Settings
from oomlint.syntax.light.nodes import Unlike

SCRIPT = """\
import tensorflow as tf

ds = tf.data.Dataset.range(100)
ds = ds.shuffle(50).batch(10)
"""
ALL = (rules.shuffles, rules.batches)


def check(text: str, using=ALL, filename: str = "/p/train.py", **settings):
    document = document_from_text(text, filename)
    return check_document(document, Settings(root=Path("/p"), **settings), None, using)


def codes(report) -> list[tuple[str, int]]:
    return [(found.code, found.location.row) for found in report.diagnostics]


def test_findings_are_located_with_their_evidence_and_fix():
    report = check(SCRIPT)
    shuffle, batch = report.diagnostics
    assert (shuffle.code, shuffle.severity, shuffle.message) == ("OOM391", Severity.WARNING, "shuffles 50")
    assert shuffle.location == Location(4, 17)
    assert shuffle.end_location == Location(4, 19)
    assert shuffle.lines == ("ds = ds.shuffle(50).batch(10)",)
    call, nowhere = shuffle.evidence
    assert (call.text, call.filename, call.location) == ("the call", "/p/train.py", Location(4, 6))
    assert (nowhere.filename, nowhere.location) == (None, None)
    (edit,) = shuffle.fix.edits
    assert (edit.edit.text, edit.location, edit.end_location) == ("7", Location(4, 17), Location(4, 19))
    assert SCRIPT[edit.edit.start : edit.edit.end] == "50"
    assert (batch.code, batch.severity, batch.fix) == ("OOM392", Severity.NOTE, None)
    assert not report.failed


def test_positions_hold_with_crlf_bom_and_tabs():
    text = SCRIPT.replace("ds = ds.shuffle", "if ds:\n\tds = ds.shuffle").replace("\n", "\r\n")
    document = document_from_bytes(b"\xef\xbb\xbf" + text.encode(), "/p/train.py")
    found = check_document(document, Settings(root=Path("/p")), None, ALL).diagnostics
    assert [(one.location, one.end_location) for one in found] == [
        (Location(5, 18), Location(5, 20)),
        (Location(5, 28), Location(5, 30)),
    ]


def test_a_rule_that_fails_costs_itself_only():
    report = check(SCRIPT, (rules.shuffles, rules.fails))
    assert report.failed
    internal, shuffle = report.diagnostics
    assert (internal.code, internal.location, internal.severity) == ("OOM002", Location(1, 1), Severity.ERROR)
    assert internal.message.startswith("rule OOM392 failed: KeyError: 'shape' (_fails, line ")
    assert shuffle.code == "OOM391"


def test_where_a_rule_failed_no_suppression_is_called_unused():
    text = SCRIPT.replace("range(100)", "range(100)  # noqa: OOM391")
    assert codes(check(text, (rules.shuffles, rules.fails))) == [("OOM002", 1), ("OOM391", 4)]


def test_a_rule_that_points_elsewhere_failed(capsys):
    report = check(SCRIPT, (rules.shuffles, rules.strange))
    assert report.failed
    assert codes(report) == [("OOM002", 1), ("OOM391", 4)]


def test_a_dry_run_that_fails_is_an_internal_error(monkeypatch):
    def broken(source, resolver=None):
        raise RecursionError("maximum recursion depth exceeded")

    monkeypatch.setattr(oomlint.dryrun, "dry_run", broken)
    report = check(SCRIPT)
    assert report.failed
    assert codes(report) == [("OOM002", 1)]
    assert "the dry run failed: RecursionError" in report.diagnostics[0].message


def test_of_doubles_the_most_severe_and_of_these_the_first():
    report = check(SCRIPT, (rules.twice,))
    assert [(found.severity, found.message) for found in report.diagnostics] == [
        (Severity.ERROR, "first error")
    ]


@pytest.mark.parametrize(
    ("text", "found"),
    [
        (SCRIPT.replace("batch(10)", "batch(10)  # noqa: OOM391"), [("OOM392", 4)]),
        (SCRIPT.replace("batch(10)", "batch(10)  # noqa: OOM"), []),
        (SCRIPT.replace("batch(10)", "batch(10)  # oomlint: ignore[OOM391, OOM392] small"), []),
        (SCRIPT.replace("batch(10)", "batch(10)  # noqa: OOM391, OOM392, E501"), []),
        ("# oomlint: skip-file\n" + SCRIPT, []),
        (
            SCRIPT.replace("range(100)", "range(100)  # noqa: OOM391"),
            [("OOM000", 3), ("OOM391", 4), ("OOM392", 4)],
        ),
    ],
)
def test_suppressions(text, found):
    assert codes(check(text)) == found


def test_an_unused_suppression_comes_with_a_safe_fix():
    text = SCRIPT.replace("range(100)", "range(100)  # noqa: OOM391")
    unused = check(text).diagnostics[0]
    assert (unused.code, unused.severity, unused.fixable) == ("OOM000", Severity.NOTE, Safety.SAFE)
    (edit,) = unused.edits
    assert text[: edit.start] + edit.text + text[edit.end :] == SCRIPT


def test_suppressions_are_judged_where_no_rule_has_work_left():
    text = "import tensorflow as tf\n\nVERSION = tf.__version__  # noqa: OOM391\n"
    assert codes(check(text)) == [("OOM000", 3)]


def test_a_suppression_of_a_rule_that_does_not_run_is_left_alone():
    text = SCRIPT.replace("range(100)", "range(100)  # noqa: OOM391")
    assert codes(check(text.replace("OOM391", "OOM301"), (rules.batches,))) == [("OOM392", 4)]
    assert codes(check(text.replace("OOM391", "OOM399"), (rules.batches,))) == [("OOM000", 3), ("OOM392", 4)]
    assert codes(check(text, ignore=("OOM000",))) == [("OOM391", 4), ("OOM392", 4)]
    ignoring = check(text, per_file_ignores={"train.py": ("OOM391",)})
    assert codes(ignoring) == [("OOM392", 4)]


def test_severity_and_fix_safety_follow_the_settings():
    (found,) = check(SCRIPT, (rules.shuffles,), severity={"OOM391": "error"}).diagnostics
    assert found.severity is Severity.ERROR
    assert found.fixable is Safety.UNSAFE
    (found,) = check(SCRIPT, (rules.shuffles,), extend_safe_fixes=("OOM39",)).diagnostics
    assert found.fixable is Safety.SAFE


@pytest.mark.parametrize(
    ("pattern", "ignored"),
    [
        ("train.py", True),
        ("/p/train.py", False),
        ("*.py", True),
        ("other.py", False),
        ("!other.py", True),
        ("!train.py", False),
    ],
)
def test_per_file_ignores(pattern, ignored):
    report = check(SCRIPT, per_file_ignores={pattern: ("OOM391",)})
    assert (("OOM391", 4) not in codes(report)) is ignored


def test_what_only_libcst_cannot_read_is_a_warning():
    # The inner block begins with a tab and four blanks: deeper than four blanks for Python, not for LibCST.
    text = "import keras\ndef f():\n    for t in x:\n\t    y = ds.shuffle(t)\n    z = 2\n"
    compile(text, "script.py", "exec")
    assert check(text).diagnostics == ()  # the rules have seen it all the same
    (found,) = check(f"{text}{SCRIPT}").diagnostics
    assert (found.code, found.severity) == ("OOM001", Severity.WARNING)
    assert found.message.startswith("oomlint cannot read this file: ")
    assert found.location.row == 4  # where tabs and blanks mix: LibCST itself names the file's first row


def test_a_light_tree_that_is_unlike_costs_nothing_but_another_run(monkeypatch):
    asked = []

    def unlike(light, whole):
        asked.append(light)
        raise Unlike("a planted difference")

    expected = check(SCRIPT).diagnostics
    monkeypatch.setattr(oomlint.syntax.light.pairing, "paired", unlike)
    assert check(SCRIPT).diagnostics == expected
    assert len(asked) == 1


def test_syntax_errors():
    report = check("import keras\n\ndef f(:\n    pass\n")
    (found,) = report.diagnostics
    assert (found.code, found.location.row, found.severity) == ("OOM001", 3, Severity.ERROR)
    assert found.lines == ("def f(:",)
    assert not report.failed
    assert codes(check("import torch\n\ndef f(:\n    pass\n")) == []
    assert codes(check("import keras\n\ndef f(:\n    pass\n", ignore=("OOM001",))) == []
    assert codes(check("import keras\n\ndef f(:\n    pass\n", ignore=("OOM",))) == []


def test_a_file_that_no_rule_can_look_at_is_told_of_whatever_is_selected():
    broken = "import keras\n\ndef f(:\n    pass\n"
    assert codes(check(broken, select=("OOM301",))) == [("OOM001", 3)]
    assert codes(check(broken, select=("OOM301",), ignore=("OOM0",))) == []
    assert codes(check(broken, select=("OOM301",), per_file_ignores={"*.py": ("OOM001",)})) == []
    assert codes(check(broken, select=("OOM301", "OOM001"), ignore=("OOM0",))) == [("OOM001", 3)]
