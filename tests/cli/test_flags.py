"""The flags that say what is looked at, what is mended and what is printed."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
from command import oomlint

# OOM303 has a safe fix; 500 batches of 32 float32 images of 224 x 224 x 3.
PREFETCH = """\
import tensorflow as tf


def decode(path):
    image = tf.io.decode_jpeg(tf.io.read_file(path), channels=3)
    return tf.image.resize(image, (224, 224))


train = tf.data.Dataset.list_files("train/*.jpg").map(decode).batch(32).prefetch(500)
"""
MENDED = PREFETCH.replace("prefetch(500)", "prefetch(tf.data.AUTOTUNE)")
ONE = ("check", "--isolated", "--select", "OOM303")


@pytest.fixture
def project(tmp_path: Path) -> Path:
    (tmp_path / "pyproject.toml").write_text("", encoding="utf-8")
    (tmp_path / "train.py").write_text(PREFETCH, encoding="utf-8")
    for folder in ("old", "build"):
        (tmp_path / folder).mkdir()
        (tmp_path / folder / "train.py").write_text(PREFETCH, encoding="utf-8")
    return tmp_path


def _files(folder: Path, *arguments: str) -> list[str]:
    done = oomlint("check", "--show-files", *arguments, cwd=folder)
    assert done.returncode == 0, done.stderr
    return [Path(line).relative_to(folder.resolve()).as_posix() for line in done.stdout.splitlines()]


def test_show_files_lists_what_would_be_checked(project):
    # `build` is excluded by default.
    assert _files(project) == ["old/train.py", "train.py"]
    assert _files(project, "old") == ["old/train.py"]
    assert _files(project, "--exclude", "old") == ["build/train.py", "train.py"]
    assert _files(project, "--extend-exclude", "old") == ["train.py"]
    assert _files(project, "--extend-exclude", "old,train.py") == []


def test_a_pattern_with_a_slash_counts_from_here(project):
    (project / "old" / "deep").mkdir()
    (project / "old" / "deep" / "a.py").write_text(PREFETCH, encoding="utf-8")
    done = oomlint("check", "--show-files", "--extend-exclude", "./deep/a.py", ".", cwd=project / "old")
    assert [Path(line).name for line in done.stdout.splitlines()] == ["train.py"]


def test_force_exclude_holds_for_what_is_named(project):
    assert _files(project, "build/train.py") == ["build/train.py"]
    assert _files(project, "--force-exclude", "build/train.py", "build", "train.py") == ["train.py"]
    (project / "pyproject.toml").write_text("[tool.oomlint]\nforce-exclude = true\n", encoding="utf-8")
    assert _files(project, "build/train.py") == []
    assert _files(project, "--no-force-exclude", "build/train.py") == ["build/train.py"]


def test_what_git_ignores_is_left_out_unless_asked_for(project):
    (project / ".git").mkdir()
    (project / ".gitignore").write_text("old/\n", encoding="utf-8")
    assert _files(project) == ["train.py"]
    assert _files(project, "--no-respect-gitignore") == ["old/train.py", "train.py"]
    (project / "pyproject.toml").write_text("[tool.oomlint]\nrespect-gitignore = false\n", encoding="utf-8")
    assert _files(project) == ["old/train.py", "train.py"]
    assert _files(project, "--respect-gitignore") == ["train.py"]


def test_show_settings_are_those_of_the_file(project):
    (project / "old" / "oomlint.toml").write_text('gpu = "L4"\n', encoding="utf-8")
    done = oomlint("check", "--show-settings", "--host-memory", "1GiB", "old/train.py", cwd=project)
    assert done.returncode == 0
    lines = done.stdout.splitlines()
    assert f'gpu = "L4"  # {project / "old" / "oomlint.toml"}' in lines
    assert "host-memory = 1073741824  # --host-memory" in lines


def test_fix_only_mends_says_so_and_is_content(project):
    done = oomlint(*ONE, "--fix-only", "train.py", cwd=project)
    assert (done.returncode, done.stdout) == (0, "Fixed 1 finding.\n")
    assert (project / "train.py").read_text("utf-8") == MENDED
    again = oomlint(*ONE, "--fix-only", "train.py", cwd=project)
    assert (again.returncode, again.stdout) == (0, "Nothing to mend.\n")


def test_fix_only_leaves_what_it_cannot_mend_unsaid(project):
    (project / "pyproject.toml").write_text(
        '[tool.oomlint]\nselect = ["OOM303"]\nextend-unsafe-fixes = ["OOM303"]\n', encoding="utf-8"
    )
    done = oomlint("check", "--fix-only", "train.py", cwd=project)
    assert (done.returncode, done.stdout) == (0, "Nothing to mend.\n")
    data = oomlint("check", "--fix-only", "--output-format", "json", "train.py", cwd=project)
    assert (data.returncode, json.loads(data.stdout)) == (0, [])


@pytest.mark.parametrize("flag", ["--fix", "--fix-only"])
def test_exit_non_zero_on_fix(project, flag):
    assert oomlint(*ONE, flag, "--exit-non-zero-on-fix", "train.py", cwd=project).returncode == 1
    assert oomlint(*ONE, flag, "--exit-non-zero-on-fix", "train.py", cwd=project).returncode == 0


def test_quiet_is_the_findings_alone(project):
    loud = oomlint(*ONE, "--output-format", "concise", "train.py", cwd=project)
    quiet = oomlint(*ONE, "-q", "--output-format", "concise", "train.py", cwd=project)
    assert quiet.stdout == loud.stdout.splitlines(keepends=True)[0]
    assert quiet.returncode == loud.returncode == 1
    (project / "train.py").write_text(MENDED, encoding="utf-8")
    assert oomlint(*ONE, "--quiet", "train.py", cwd=project) == type(quiet)(0, "", "")


@pytest.mark.parametrize(
    ("arguments", "environment", "coloured"),
    [
        ([], {}, False),
        ([], {"FORCE_COLOR": "1"}, True),
        ([], {"CLICOLOR_FORCE": "1"}, True),
        (["--color", "always"], {}, True),
        (["--color", "always"], {"NO_COLOR": "1"}, True),
        (["--color", "never"], {"FORCE_COLOR": "1"}, False),
        (["--color=auto"], {"FORCE_COLOR": "0"}, False),
    ],
)
def test_colour_by_flag_then_by_environment(project, arguments, environment, coloured):
    done = oomlint(*ONE, *arguments, "train.py", cwd=project, **environment)
    assert ("\x1b[" in done.stdout) is coloured
    assert "\x1b]8" not in done.stdout


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["--fix", "--show-files"], "--fix and --show-files exclude each other"),
        (["--diff", "--show-settings"], "--diff and --show-settings exclude each other"),
        (["--ignore-noqa", "--add-noqa"], "--ignore-noqa and --add-noqa exclude each other"),
        (["--write-baseline", "--changed-since", "main"], "--write-baseline and --changed-since exclude"),
        (["-q", "-v"], "--quiet and --verbose exclude each other"),
        (["-", "train.py"], "goes with no other path"),
        (["--selct", "OOM3"], "did you mean '--select'?"),
        (["--unsafe-fix"], "did you mean '--unsafe-fixes'?"),
        (["--output", "json"], "did you mean '--output-file'?"),
        (["--color", "alway"], "did you mean 'always'?"),
    ],
)
def test_what_does_not_go_is_said_in_a_line(project, arguments, said):
    done = oomlint("check", *arguments, cwd=project)
    assert done.returncode == 2
    assert said in done.stderr
    assert len(done.stderr.splitlines()) <= 2


def test_a_mistyped_command_names_the_nearest(project):
    done = oomlint("chekc")
    assert done.returncode == 2
    assert "did you mean 'check'?" in done.stderr
    forgotten = oomlint("train.py", cwd=project)
    assert forgotten.returncode == 2
    assert "did you mean 'oomlint check train.py'?" in forgotten.stderr


def test_a_path_that_is_not_there_is_no_good_news(project):
    done = oomlint("check", "nowhere", cwd=project)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr == "oomlint: nowhere: no such file or folder\n"


def test_verbose_says_what_was_read_parsed_and_how_long_it_took(project):
    (project / "other.py").write_text("import torch\n", encoding="utf-8")
    (project / "idle.py").write_text("import keras\n\nprint(keras.__version__)\n", encoding="utf-8")
    (project / "oomlint.toml").write_text('select = ["OOM303"]\n', encoding="utf-8")
    done = oomlint("check", "-v", "-n", "-j1", "train.py", "other.py", "idle.py", cwd=project)
    lines = [line.split("] ", 1)[1] for line in done.stderr.splitlines()]
    assert lines[0].startswith("oomlint ")
    assert "configuration: oomlint.toml" in lines
    assert "read 3 files: 2 to look at, 1 that have nothing to do with Keras or TensorFlow" in lines
    (idle,) = [line for line in lines if line.startswith("idle.py: ")]
    assert re.fullmatch(r"idle\.py: nothing that a rule looks for \(\d+\.\d{3} s\), 0 findings", idle)
    (train,) = [line for line in lines if line.startswith("train.py: ")]
    assert re.fullmatch(r"train\.py: parsed and dry-run in \d+\.\d{3} s, 1 finding", train)
    assert done.stdout == oomlint("check", "train.py", "other.py", "idle.py", cwd=project).stdout
    again = oomlint("check", "-v", "train.py", cwd=project).stderr
    assert "train.py: as in an earlier run, 1 finding" in again


def test_an_unused_comment_is_only_one_for_what_was_looked_for(project):
    (project / "train.py").write_text(
        MENDED.replace("AUTOTUNE)\n", "AUTOTUNE)  # noqa: OOM303, OOM301, E501\n"), encoding="utf-8"
    )

    def unused(*arguments: str) -> list[str]:
        done = oomlint(
            "check", "--isolated", "-q", "--output-format", "concise", *arguments, "train.py", cwd=project
        )
        return [line.split("OOM000 [*] ")[1] for line in done.stdout.splitlines()]

    assert unused("--select", "OOM303") == []
    assert unused("--select", "OOM000,OOM303") == ["`OOM303` suppresses nothing here (note)"]
    assert unused("--select", "OOM0,OOM30") == ["`OOM303`, `OOM301` suppress nothing here (note)"]
    assert unused("--select", "OOM0,OOM30", "--ignore-noqa") == []
    assert unused("--ignore", "OOM303") == ["`OOM301` suppresses nothing here (note)"]


def test_a_key_of_the_configuration_on_the_command_line(project):
    def lines(*arguments: str) -> list[str]:
        return oomlint("config", *arguments, cwd=project).stdout.splitlines()

    assert 'gpu = "L4"  # --config' in lines("--config", "gpu = 'L4'")
    both = lines("--config", 'severity.OOM303 = "note"', "--config", 'severity.OOM301 = "error"')
    assert 'severity = {"OOM303": "note", "OOM301": "error"}  # --config' in both
    (project / "own.toml").write_text('gpu = "A100-40GB"\nhost-memory = "1GiB"\n', encoding="utf-8")
    given = lines("--config", "own.toml", "--config", "gpu = 'L4'")
    assert 'gpu = "L4"  # --config' in given
    assert f"host-memory = 1073741824  # {project / 'own.toml'}" in given
    # A flag of its own is more to the point.
    assert 'gpu = "T4"  # --gpu' in lines("--config", "gpu = 'L4'", "--gpu", "T4")


@pytest.mark.parametrize(
    ("value", "said"),
    [
        ("gpuu = 'L4'", "unknown key 'gpuu': did you mean 'gpu'?"),
        ("gpu = L4", "is neither a file nor TOML"),
        ("nowhere.toml", "no such configuration file"),
    ],
)
def test_a_wrong_configuration_on_the_command_line(project, value, said):
    done = oomlint("check", "--config", value, "train.py", cwd=project)
    assert done.returncode == 2
    assert said in done.stderr
