"""The output formats, on findings made by hand."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from oomlint.documents.lines import Location
from oomlint.documents.text_edits import TextEdit
from oomlint.findings.diagnostic import Diagnostic, EvidenceNote, LocatedEdit, ProposedFix
from oomlint.findings.model import Safety, Severity
from oomlint.report import concise, full, json_report, statistics
from oomlint.report.style import Style, wants_colour
from oomlint.report.summary import summary

HERE = Path("/srv/project")
PLAIN = Style()


def finding(**changes: object) -> Diagnostic:
    values: dict[str, object] = {
        "code": "OOM301",
        "name": "shuffle-buffer-large",
        "severity": Severity.WARNING,
        "message": "the buffer holds 5 GiB",
        "filename": "/srv/project/src/train.py",
        "location": Location(4, 14),
        "end_location": Location(4, 18),
        "lines": ("ds = ds.shuffle(SIZE)",),
    }
    return Diagnostic(**{**values, **changes})  # type: ignore[arg-type]


def fix(safety: Safety) -> ProposedFix:
    edit = LocatedEdit(TextEdit(40, 44, "100"), Location(4, 14), Location(4, 18))
    return ProposedFix("shuffle the paths", safety, (edit,))


def test_full():
    shown = full.render(
        [
            finding(
                evidence=(
                    EvidenceNote("100,000 elements, from SIZE", "/srv/project/src/config.py", Location(2, 1)),
                    EvidenceNote("element 50 KiB"),
                ),
                help="Shuffle the paths, before they are decoded.",
                fix=fix(Safety.UNSAFE),
                location=Location(4, 17),
                end_location=Location(4, 21),
            )
        ],
        HERE,
        PLAIN,
    )
    assert shown == (
        "src/train.py:4:17: OOM301 [*] the buffer holds 5 GiB\n"
        "    |\n"
        "  4 | ds = ds.shuffle(SIZE)\n"
        "    |                 ^^^^\n"
        "  warning: shuffle-buffer-large\n"
        "  - 100,000 elements, from SIZE (src/config.py:2)\n"
        "  - element 50 KiB\n"
        "  help: Shuffle the paths, before they are decoded.\n"
        "  fix: shuffle the paths (--fix --unsafe-fixes)\n"
        "\n"
    )


def test_a_span_of_several_lines_is_underlined_line_by_line_and_cut():
    lines = ("x = f(", "    a,", "    b,", "    c,", ")")
    shown = full.render(
        [finding(location=Location(9, 5), end_location=Location(13, 2), lines=lines)], HERE, PLAIN
    ).splitlines()
    assert shown[1:8] == [
        "     |",
        "   9 | x = f(",
        "     |     ^^",
        "  10 |     a,",
        "     |     ^^",
        "  11 |     b,",
        "     |     ^^",
    ]
    assert shown[8] == "     :"


@pytest.mark.parametrize(
    ("line", "start", "end", "marks"),
    [
        ("\tds.shuffle(n)", 2, 4, "    |     ^^"),  # a tab is shown as four blanks
        ("名前 = ds.shuffle(n)", 6, 8, "    |        ^^"),  # two wide characters: four columns
        ("a\x1b[31m = ds", 10, 12, "    |          ^^"),  # an escape is shown, not obeyed
    ],
)
def test_underlines_stand_under_what_they_mean(line, start, end, marks):
    shown = full.render(
        [finding(location=Location(4, start), end_location=Location(4, end), lines=(line,))], HERE, PLAIN
    )
    assert shown.splitlines()[3] == marks
    assert "\x1b" not in shown


def test_concise_and_paths_outside_of_here():
    assert concise.render([finding(), finding(filename="/elsewhere/a.py")], HERE, PLAIN) == (
        "src/train.py:4:14: OOM301 the buffer holds 5 GiB (warning)\n"
        "/elsewhere/a.py:4:14: OOM301 the buffer holds 5 GiB (warning)\n"
    )


def test_json():
    (record,) = json.loads(json_report.render([finding(fix=fix(Safety.SAFE), help="Do it.")]))
    assert record["fix"] == {
        "applicability": "safe",
        "message": "shuffle the paths",
        "edits": [
            {"content": "100", "location": {"row": 4, "column": 14}, "end_location": {"row": 4, "column": 18}}
        ],
    }
    assert record["location"] == {"row": 4, "column": 14}
    assert record["end_location"] == {"row": 4, "column": 18}
    assert (record["severity"], record["help"], record["evidence"]) == ("warning", "Do it.", [])
    assert json.loads(json_report.render([])) == []


@pytest.mark.parametrize(
    ("found", "fixed", "said"),
    [
        ([], 0, "No findings in 3 files."),
        ([], 2, "Fixed 2 findings.\nNo findings left in 3 files."),
        ([finding()], 0, "1 finding: 1 warning."),
        (
            [
                finding(severity=Severity.NOTE),
                finding(severity=Severity.ERROR),
                finding(severity=Severity.NOTE),
            ],
            1,
            "Fixed 1 finding.\n3 findings left: 1 error, 2 notes.",
        ),
        (
            [
                finding(fix=fix(Safety.SAFE)),
                finding(fix=fix(Safety.UNSAFE)),
                finding(fix=fix(Safety.DISPLAY)),
            ],
            0,
            "3 findings: 3 warnings.\n[*] 1 can be mended with --fix, 1 more with --fix --unsafe-fixes.",
        ),
        (
            [finding(fix=fix(Safety.UNSAFE)), finding(fix=ProposedFix("by hand", Safety.UNSAFE))],
            0,
            "2 findings: 2 warnings.\n[*] 1 can be mended with --fix --unsafe-fixes.",
        ),
    ],
)
def test_summary(found, fixed, said):
    assert summary(found, files=3, fixed=fixed, style=PLAIN) == said


def test_statistics_put_the_most_frequent_first():
    other = finding(code="OOM101", name="missing-memory-growth", fix=fix(Safety.UNSAFE))
    assert statistics.render_text([other, finding(), finding(fix=fix(Safety.SAFE))]) == (
        "2  OOM301  [-]  shuffle-buffer-large\n1  OOM101  [*]  missing-memory-growth\n"
    )


class _Terminal:
    def __init__(self, tty: bool) -> None:
        self._tty = tty

    def isatty(self) -> bool:
        return self._tty


@pytest.mark.parametrize(
    ("tty", "environment", "colour"),
    [
        (True, {}, True),
        (False, {}, False),
        (True, {"TERM": "dumb"}, False),
        (True, {"NO_COLOR": "1"}, False),
        (True, {"NO_COLOR": ""}, True),
        (False, {"FORCE_COLOR": "1"}, True),
        (False, {"FORCE_COLOR": "0"}, False),
        (False, {"FORCE_COLOR": "1", "NO_COLOR": "1"}, False),
    ],
)
def test_colour(tty, environment, colour):
    assert wants_colour(_Terminal(tty), environment) is colour  # type: ignore[arg-type]
