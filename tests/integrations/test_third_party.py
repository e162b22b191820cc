"""Rules of other packages: the guide's example is installed by pip and used; broken ones cost only themselves."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from command import Done, process

HERE = Path(__file__).parent
PACKAGE = HERE / "third_party"
GUIDE = HERE.parent.parent / "docs" / "writing-rules.md"

SCRIPT = """\
from tensorflow import keras

model = keras.Sequential([keras.layers.Dense(1)])
model.compile("sgd", "mse")
model.fit(train, batch_size=1024, verbose=1)
"""
BATCH, BAR = ("ACM101", 5, 29), ("ACM102", 5, 43)


@pytest.fixture(scope="module")
def site(tmp_path_factory) -> Path:
    """A folder into which pip has installed the example."""
    folder = tmp_path_factory.mktemp("acme")
    source = shutil.copytree(PACKAGE, folder / "source")
    target = folder / "site"
    pip = [sys.executable, "-m", "pip", "install", "-q", "--no-index", "--no-deps", "--no-build-isolation"]
    subprocess.run([*pip, "--target", str(target), str(source)], check=True, timeout=300)
    return target


@pytest.fixture
def project(tmp_path) -> Path:
    """A project of one script."""
    (tmp_path / "pyproject.toml").write_text("[tool.oomlint]\n")
    (tmp_path / "train.py").write_text(SCRIPT)
    return tmp_path


def found(done: Done) -> list[tuple[str, int, int]]:
    """Codes and places."""
    return [(one["code"], *one["location"].values()) for one in json.loads(done.stdout)]


def check(project: Path, site: Path, *arguments: str) -> Done:
    """`oomlint check` with the package beside it."""
    return process(
        "check",
        "train.py",
        "--output-format=json",
        "--no-cache",
        *arguments,
        cwd=project,
        PYTHONPATH=str(site),
    )


def tool(name: str, *arguments: str, cwd: Path, site: Path) -> str:
    """What another program prints, with the package beside it."""
    done = subprocess.run(
        [sys.executable, "-m", name, *arguments],
        cwd=cwd,
        env={**os.environ, "PYTHONPATH": str(site)},
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    return done.stdout + done.stderr


def test_its_rules_run_beside_the_others(project, site):
    done = check(project, site)
    assert found(done) == [("OOM101", 5, 1), BATCH, BAR]
    assert (done.returncode, done.stderr) == (1, "")
    assert "batches of 1,024 are above the 256 of the cluster's guide" in done.stdout


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        (("--select=ACM102",), [BAR]),
        (("--select=OOM3,ACM",), [BATCH, BAR]),
        (("--ignore=ACM1,OOM101", "--extend-select=ACM101"), [BATCH]),
    ],
    ids=lambda value: " ".join(map(str, value)),
)
def test_selected_by_code_and_prefix(project, site, arguments, expected):
    assert found(check(project, site, *arguments)) == expected


def test_options_and_comments(project, site):
    text = SCRIPT.replace("1024", "512").replace("Dense(1)])", "Dense(1)])  # noqa: ACM101")
    (project / "train.py").write_text(f"{text}model.fit(train, verbose=1)  # oomlint: ignore[ACM]\n")
    (project / "pyproject.toml").write_text(
        "[tool.oomlint]\nselect = ['ACM', 'OOM000']\n[tool.oomlint.rules.ACM101]\nlargest = 512\n"
    )
    # Of no use is the comment in line 3, and only that one.
    assert found(check(project, site)) == [("OOM000", 3, 52), ("ACM102", 5, 42)]
    shown = process("config", cwd=project, PYTHONPATH=str(site)).stdout
    assert f"rules.ACM101.largest = 512  # {project / 'pyproject.toml'}\n" in shown
    assert "rules.OOM303.batches = 8  # default\n" in shown


@pytest.mark.parametrize(
    ("table", "said"),
    [
        ('ACM101.largest = "512"', "ACM101.largest: expected a whole number, 1 or more; got a string"),
        ("ACM101.largest = 0", "ACM101.largest: expected a whole number, 1 or more; got 0"),
        ("ACM101.larges = 1", "ACM101: unknown option 'larges': did you mean 'largest'?"),
        ("ACM102.largest = 1", "ACM102: progress-bar-in-log takes no options"),
        ("ACM111.largest = 1", "ACM111: no rule has that code: did you mean 'ACM101'?"),
        ("batch-above-limit.largest = 1", "batch-above-limit: no rule has that code: did you mean 'ACM101'?"),
    ],
)
def test_wrong_options_are_refused(project, site, table, said):
    (project / "pyproject.toml").write_text(f"[tool.oomlint]\nrules.{table}\n")
    done = check(project, site)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr == f"oomlint: {project / 'pyproject.toml'}: rules: {said}\n"


def test_its_page_and_its_options_are_shown(site):
    done = process("rule", "ACM101", PYTHONPATH=str(site))
    assert done.stdout.startswith(
        "# ACM101 batch-above-limit\n\n(warning, no fix)\n\nA batch is larger than our"
    )
    option = "- `largest` (a whole number, 1 or more; default: 256): the largest batch that is fine"
    assert done.stdout.endswith(f"## Options\n\nIn `[tool.oomlint.rules.ACM101]`:\n\n{option}\n")


def test_its_fix_is_applied(project, site):
    check(project, site, "--fix", "--select=ACM102")
    assert (project / "train.py").read_text() == SCRIPT.replace("verbose=1", "verbose=2")


def test_its_own_tests_pass(site, tmp_path):
    source = shutil.copytree(PACKAGE, tmp_path / "acme")
    output = tool("pytest", "-q", "-p", "no:cacheprovider", "tests", cwd=source, site=site)
    assert re.search(r"^8 passed in", output, flags=re.MULTILINE), output


def test_flake8_reports_them(project, site):
    found = tool("flake8", "--enable-extensions=OON", "--extend-ignore=OOM,F", cwd=project, site=site)
    assert re.findall(r":(\d+):(\d+): ([A-Z]+\d+)", found) == [("5", "29", "ACM101"), ("5", "43", "ACM102")]
    assert "acme-oomlint-rules: 1.2.0" in re.sub(
        r"\s+", " ", tool("flake8", "--version", cwd=project, site=site)
    )


RULE = """\
'''A page.'''
from oomlint.findings.model import Finding, Rule, Severity
RULE = Rule("{code}", "rule-{name}", Severity.WARNING, None, literals=("fit",))
def check(trace, settings):
    for call in trace.calls("keras.Model.fit"):
        {body}
"""
GOOD = "yield RULE.finding(call.place, 'found')"
BROKEN = {
    "bad_import": "import there_is_no_such_module\n",
    "bad_types": RULE.format(code="BAD102", name="b", body=GOOD).replace('("fit",)', '"fit"'),
    "bad_page": RULE.format(code="BAD103", name="c", body=GOOD).replace("'''A page.'''", ""),
    "clash": RULE.format(code="BAD100", name="d", body=GOOD),  # the good one has it already
    "taken": RULE.format(code="OOM301", name="e", body=GOOD),
    "a_good_one": RULE.format(code="BAD100", name="f", body=GOOD),
    "fails": RULE.format(code="BAD104", name="g", body="raise ValueError('no')"),
    "recurses": RULE.format(code="BAD105", name="h", body="check(trace, settings).__next__()"),
    "gives_text": RULE.format(code="BAD106", name="i", body="yield 'a text'"),
    "no_place": RULE.format(code="BAD107", name="j", body="yield RULE.finding(None, 'found')"),
}


@pytest.fixture
def broken(tmp_path_factory) -> Path:
    """Two packages as pip would leave them: one of broken modules and a good one, one that cannot be imported."""
    site = tmp_path_factory.mktemp("broken")
    for name, modules in {"bad_rules": BROKEN, "worse_rules": {"__init__": "raise SystemExit(3)\n"}}.items():
        (site / name).mkdir()
        for module, text in {"__init__": "", **modules}.items():
            (site / name / f"{module}.py").write_text(text)
        (site / f"{name}-1.0.dist-info").mkdir()
        (site / f"{name}-1.0.dist-info" / "METADATA").write_text(
            f"Metadata-Version: 2.1\nName: {name}\nVersion: 1.0\n"
        )
        (site / f"{name}-1.0.dist-info" / "entry_points.txt").write_text(f"[oomlint.rules]\nx = {name}\n")
    return site


def test_what_is_broken_costs_itself_alone(project, broken):
    done = check(project, broken)
    assert {one for one in found(done) if one[0] != "OOM002"} == {("OOM101", 5, 1), ("BAD100", 5, 1)}
    failed = [one["message"] for one in json.loads(done.stdout) if one["code"] == "OOM002"]
    assert [message.partition(" (")[0][:40] for message in failed] == [
        "rule BAD104 failed: ValueError: no",
        "rule BAD105 failed: RecursionError: maxi",
        "rule BAD106 failed: TypeError: check() g",
        "rule BAD107 failed: TypeError: a finding",
    ]
    assert done.returncode == 2
    assert sorted(line.partition(" are left out: ")[0] for line in done.stderr.splitlines()) == [
        f"oomlint: rules of {name}"
        for name in (
            "bad_rules.bad_import",
            "bad_rules.bad_page",
            "bad_rules.bad_types",
            "bad_rules.clash",
            "bad_rules.taken",
            "worse_rules",
        )
    ]
    for reason in (
        "No module named 'there_is_no_such_module'",
        "BAD100 is taken by bad_rules.a_good_one",
        "SystemExit: 3",
    ):
        assert reason in done.stderr


def test_a_rule_that_is_left_out_is_named_to_who_asks_for_it(project, broken):
    done = check(project, broken, "--select=BAD103")
    assert done.returncode == 2
    assert "unknown code 'BAD103'" in done.stderr
    assert "rules of bad_rules.bad_page are left out: it has no docstring" in done.stderr


def test_flake8_says_it_once_and_goes_on(project, broken):
    (project / "again.py").write_text(SCRIPT)
    output = tool("flake8", "-j1", "--extend-select=BAD", cwd=project, site=broken)
    assert output.count("OOM002 rules of bad_rules.bad_import are left out") == 1
    assert output.count("OOM002 rule BAD104 failed: ValueError: no") == 2
    assert output.count("BAD100 found") == 2
    assert "Traceback" not in output


def test_the_guide_is_this_package():
    """Its code blocks are the package's files; the tree that it draws has the others."""
    text = GUIDE.read_text("utf-8")
    blocks = dict(re.findall(r"<!-- file: (\S+) -->\n````\w+\n(.*?)````\n", text, flags=re.DOTALL))
    assert len(blocks) == text.count("<!-- file") == 5
    for name, block in blocks.items():
        assert block == (PACKAGE / name).read_text("utf-8"), name
    for path in PACKAGE.rglob("*.py"):
        assert path.name in text
