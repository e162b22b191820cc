"""The guides: what they show is what happens, and they leave no rule and no myth out."""

from __future__ import annotations

import ast
import html
import re
import shlex
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest
from command import oomlint
from page_examples import PAGES, RUN, as_it_is, blocks
from test_myths import MYTHS

from oomlint.cli.main import build_parser
from oomlint.findings.own import OWN_RULES
from oomlint.findings.registry import load_rules

ROOT = Path(__file__).parent.parent.parent
DOCS = ROOT / "docs"
# They build a model, wait for changes or speak to an editor; their own tests run them.
ELSEWHERE = {"estimate", "server"}
ELSEWHERE_FLAGS = {"--estimate", "--watch", "--changed-since"}


def _named(pages: list[Path]) -> dict[str, object]:
    return {"argvalues": pages, "ids": [path.stem for path in pages]}


WITH_OUTPUT = [
    path
    for path in PAGES
    if any(block.language == "console" for block in blocks(path.read_text("utf-8"))) or path.name in RUN
]


@pytest.mark.parametrize("path", **_named(WITH_OUTPUT))
def test_commands_print_what_the_page_says(path: Path):
    page = path.read_text("utf-8")
    assert as_it_is(page, python=path.name in RUN) == page, "run: python tests/page_examples.py"


def test_there_are_examples():
    assert {"first-steps.md", "sizes.md", "python.md"} <= {path.name for path in WITH_OUTPUT}


def _commands(page: str) -> Iterator[str]:
    """Lines that a reader would type: in shell blocks, and indented ones."""
    fenced = [block.text for block in blocks(page) if block.language in ("sh", "bash", "shell") and block.run]
    for line in "\n".join(fenced).splitlines() + re.findall(r"^    (oomlint .*)$", page, re.MULTILINE):
        for part in re.split(r"&&|\||;", line.partition("  #")[0]):
            words = shlex.split(part, comments=True) if "oomlint " in part else []
            if words and words[0] == "oomlint":
                yield part.strip()


# In the order of the page: what one writes the next may read.
COMMANDS = list(
    dict.fromkeys((path.name, line) for path in PAGES for line in _commands(path.read_text("utf-8")))
)


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A checkout with the names that the pages use."""
    folder = tmp_path_factory.mktemp("project")
    text = "import tensorflow as tf\n\ntrain = tf.data.Dataset.range(9).batch(3).prefetch(64)\n"
    for name in ("train.py", "src/train.py", "notebooks/train.py"):
        (folder / name).parent.mkdir(exist_ok=True)
        (folder / name).write_text(text, encoding="utf-8")
    subprocess.run(["git", "init", "-q", str(folder)], check=True)
    return folder


@pytest.mark.parametrize(("page", "line"), COMMANDS, ids=[f"{page}-{line[:50]}" for page, line in COMMANDS])
def test_commands_of_the_shell_blocks_work(page: str, line: str, project: Path):
    arguments = [word for word in shlex.split(line, comments=True)[1:] if word not in "<>"]
    parsed = build_parser().parse_args(arguments)
    assert callable(parsed.run)
    flags = {word.partition("=")[0] for word in arguments}
    if arguments[0] in ELSEWHERE or flags & ELSEWHERE_FLAGS:
        return
    done = oomlint(*arguments, cwd=project)
    assert done.returncode in (0, 1), done.stderr


def test_there_are_commands():
    assert len(COMMANDS) >= 15


def test_every_rule_is_the_answer_to_a_symptom():
    page = (DOCS / "which-cause.md").read_text("utf-8")
    rows = "\n".join(line for line in page.splitlines() if line.startswith("|"))
    assert {entry.code for entry in load_rules()} <= set(re.findall(r"OOM\d{3}", rows))


@pytest.mark.parametrize("number", MYTHS)
def test_each_myth_has_its_answer(number: int):
    page = (DOCS / "myths.md").read_text("utf-8")
    myth = MYTHS[number]
    sections = dict(re.findall(r'^### "([^\n]+)"\n(.*?)(?=^#|\Z)', page, re.MULTILINE | re.DOTALL))
    (said,) = [
        title for title in sections if re.search(myth.never, title, re.IGNORECASE) and title in myth.says
    ]
    assert {code for code, _, _ in myth.true} <= set(re.findall(r"OOM\d{3}", sections[said]))


def test_the_readmes_python(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
):
    readme = (ROOT / "README.md").read_text("utf-8")
    script = next(block for block in blocks(readme) if block.language == "python")
    (example,) = [
        block for block in blocks(readme.split("\n## From Python\n")[1]) if block.language == "python"
    ]
    (tmp_path / "train.py").write_text(script.text, encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    exec(example.text, {})
    assert capsys.readouterr().out.startswith("11 OOM301 the shuffle buffer holds up to 1,281,167 elements")


def test_the_comparison_counts_right():
    page = (DOCS / "comparison.md").read_text("utf-8")
    assert f"| rules that come with it | {len(load_rules()) + len(OWN_RULES)} |" in page


def _script_of_the_pictures() -> str:
    tree = ast.parse((DOCS / "pictures" / "make.py").read_text("utf-8"))
    (train,) = [
        node.value.value
        for node in tree.body
        if isinstance(node, ast.Assign) and isinstance(node.value, ast.Constant)
        if ast.unparse(node.targets[0]) == "TRAIN"
    ]
    return train


@pytest.mark.parametrize("name", ["check", "diff", "fix", "rule"])
def test_pictures_show_what_happens(name: str, tmp_path: Path):
    picture = (DOCS / "pictures" / f"{name}.svg").read_text("utf-8")
    lines: dict[float, str] = {}
    for y, text in re.findall(r'<text [^>]*y="([\d.]+)"[^>]*>(.*?)</text>', picture):
        lines[float(y)] = lines.get(float(y), "") + html.unescape(text)
    shown = [line.replace("\xa0", " ") for _, line in sorted(lines.items())]
    (tmp_path / "train.py").write_text(_script_of_the_pictures(), encoding="utf-8")
    expected = ""
    for command in [line[1:].strip() for line in shown if line.startswith("$")]:
        done = oomlint(*shlex.split(command)[1:], cwd=tmp_path)
        expected += f"$ {command}{done.stdout}{done.stderr}"
    # Where a line was folded is the terminal's affair.
    said = "".join("".join(shown).split())
    assert said == "".join(expected.split()), "run: python docs/pictures/make.py"
    assert expected
