"""`oomlint check` as a user runs it."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from command import oomlint, process

# 1,281,167 float32 images of 224 x 224 x 3: 602,112 B each.
SHUFFLE = """\
import tensorflow as tf

NUM_TRAIN = 1_281_167


def decode(path):
    image = tf.io.decode_jpeg(tf.io.read_file(path), channels=3)
    return tf.image.resize(image, (224, 224))


train = tf.data.Dataset.list_files("train/*.jpg").map(decode).shuffle(NUM_TRAIN).batch(32).prefetch(500)
"""
CLEAN = """\
import tensorflow as tf

train = tf.data.Dataset.range(100).shuffle(100).batch(10).prefetch(tf.data.AUTOTUNE)
"""


@pytest.fixture
def script(tmp_path: Path) -> Path:
    path = tmp_path / "train.py"
    path.write_text(SHUFFLE, encoding="utf-8")
    return path


def test_full_report_shows_the_span_the_evidence_and_what_to_do(script):
    done = process("check", "--isolated", "--select", "OOM301", "train.py", cwd=script.parent)
    assert done.returncode == 1, done.stderr
    lines = done.stdout.splitlines()
    head = lines[0].split(": ", 1)
    assert head[0].startswith("train.py:11:")
    assert head[1].startswith("OOM301 [*] ")
    column = int(head[0].rpartition(":")[2])
    code = next(line for line in lines if line.startswith("  11 | "))
    marks = lines[lines.index(code) + 1]
    # The underline begins under the column that the headline names.
    assert marks.index("^") - len("  11 | ") == column - 1
    assert any("1,281,167" in line and "train.py:3" in line for line in lines if line.startswith("  - "))
    assert any("602,112 B" in line for line in lines)
    assert any(line.startswith("  help: ") for line in lines)
    assert "1 finding: 1 error." in done.stdout
    assert "can be mended with --fix --unsafe-fixes" in done.stdout
    assert "\x1b[" not in done.stdout


def test_concise_is_one_line_for_each_finding_in_order(script):
    done = oomlint(
        "check", "--isolated", "--select", "OOM30", "--output-format", "concise", ".", cwd=script.parent
    )
    rows = [line for line in done.stdout.splitlines() if line.startswith("train.py:")]
    assert [row.split(": ")[1].split()[0] for row in rows] == ["OOM301", "OOM303"]
    assert rows[0].endswith(" (error)")
    assert rows[1].endswith(" (warning)")


def test_json_has_ruffs_fields_and_ours(script):
    done = oomlint(
        "check", "--isolated", "--select", "OOM301", "--output-format", "json", str(script), cwd=script.parent
    )
    assert done.returncode == 1
    (found,) = json.loads(done.stdout)
    assert found["code"] == "OOM301"
    assert found["name"] == "shuffle-buffer-large"
    assert found["severity"] == "error"
    assert found["filename"] == str(script)
    assert found["location"]["row"] == 11
    assert found["end_location"]["row"] == 11
    assert found["end_location"]["column"] > found["location"]["column"] >= 1
    assert found["fix"]["applicability"] == "unsafe"
    assert found["fix"]["message"]
    for edit in found["fix"]["edits"]:
        assert set(edit) == {"content", "location", "end_location"}
    assert "url" in found
    at = [(note["filename"], note["location"]) for note in found["evidence"]]
    assert any(where == str(script) and location["row"] == 3 for where, location in at)
    assert all(set(note) == {"text", "filename", "location"} for note in found["evidence"])


@pytest.mark.parametrize(
    ("arguments", "status"),
    [
        (["--select", "OOM301"], 1),
        (["--select", "OOM301", "--fail-on", "error"], 1),
        (["--select", "OOM301", "--fail-on", "never"], 0),
        (["--select", "OOM301", "--exit-zero"], 0),
        (["--select", "OOM4"], 0),
        (["--ignore", "OOM"], 0),
        (["--select", "ALL", "--ignore", "OOM3,OOM1"], 0),
        (["--select", "OOM303", "--fail-on", "error"], 0),
        (["--select", "OOM303", "--fail-on", "warning"], 1),
    ],
)
def test_exit_status_says_whether_something_reaches_fail_on(script, arguments, status):
    assert oomlint("check", "--isolated", *arguments, ".", cwd=script.parent).returncode == status


def test_clean_or_irrelevant_files_are_fine(tmp_path):
    (tmp_path / "clean.py").write_text(CLEAN, encoding="utf-8")
    (tmp_path / "other.py").write_text("import torch\nloader.shuffle(10**9)\n", encoding="utf-8")
    # Not valid UTF-8, and none of our business.
    (tmp_path / "latin.py").write_bytes(b"# caf\xe9\nprint(1)\n")
    done = oomlint("check", "--isolated", cwd=tmp_path)
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout == "No findings in 3 files.\n"


def test_an_empty_folder_is_fine(tmp_path):
    done = oomlint("check", "--isolated", cwd=tmp_path)
    assert (done.returncode, done.stdout) == (0, "No findings in 0 files.\n")


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["missing.py"], "missing.py: no such file or folder"),
        (["--select", "OOM3O1", "."], "did you mean 'OOM301'"),
        (["--select", "shuffle-buffer-large", "."], "did you mean 'OOM301'"),
        (["--gpu", "T44", "."], "did you mean 'T4'"),
        (["--fail-on", "warn", "."], "did you mean 'warning'"),
        (["--config", "none.toml", "."], "no such configuration file"),
        (["--no-such-flag"], "unrecognized arguments"),
        (["--output-format", "xml"], "did you mean 'full'?"),
    ],
)
def test_what_cannot_be_done_is_status_2_with_a_line_that_helps(script, arguments, said):
    done = oomlint("check", *arguments, cwd=script.parent)
    assert done.returncode == 2
    assert said in done.stderr
    assert "Traceback" not in done.stderr


def test_an_unreadable_file_is_status_2_and_the_others_are_still_checked(script):
    (script.parent / "bad.py").write_bytes(b"# -*- coding: utf-8 -*-\nimport keras  # caf\xe9\n")
    done = oomlint("check", "--isolated", "--select", "OOM301", ".", cwd=script.parent)
    assert done.returncode == 2
    assert "bad.py" in done.stderr
    assert "OOM301" in done.stdout


def test_a_syntax_error_is_a_finding(tmp_path):
    (tmp_path / "old.py").write_text("import keras\nprint 'epoch', 1\n", encoding="utf-8")
    done = oomlint("check", "--isolated", "--output-format", "json", cwd=tmp_path)
    (found,) = json.loads(done.stdout)
    assert done.returncode == 1
    assert (found["code"], found["location"]["row"], found["severity"]) == ("OOM001", 2, "error")


def test_fix_mends_what_is_safe_and_says_what_is_left(script):
    before = script.read_text("utf-8")
    safe = oomlint("check", "--isolated", "--select", "OOM301,OOM303", "--fix", ".", cwd=script.parent)
    assert safe.returncode == 1
    # OOM303's fix is safe, OOM301's is not.
    assert script.read_text("utf-8") == before.replace("prefetch(500)", "prefetch(tf.data.AUTOTUNE)")
    assert "Fixed 1 finding." in safe.stdout
    both = oomlint(
        "check", "--isolated", "--select", "OOM301,OOM303", "--fix", "--unsafe-fixes", ".", cwd=script.parent
    )
    assert both.returncode == 0
    assert "Fixed 1 finding." in both.stdout
    after = script.read_text("utf-8")
    assert after.index(".shuffle(") < after.index(".map(")
    again = oomlint(
        "check", "--isolated", "--select", "OOM301,OOM303", "--fix", "--unsafe-fixes", ".", cwd=script.parent
    )
    assert (again.returncode, script.read_text("utf-8")) == (0, after)


def test_diff_changes_nothing_and_exits_1_if_there_is_one(script):
    before = script.read_text("utf-8")
    done = oomlint("check", "--isolated", "--select", "OOM303", "--diff", ".", cwd=script.parent)
    assert done.returncode == 1
    assert script.read_text("utf-8") == before
    lines = done.stdout.splitlines()
    assert lines[:2] == ["--- train.py", "+++ train.py"]
    assert [line for line in lines[3:] if line[:1] in "+-"] == [
        "-" + before.splitlines()[10],
        "+" + before.splitlines()[10].replace("500", "tf.data.AUTOTUNE"),
    ]
    assert (
        oomlint("check", "--isolated", "--select", "OOM301", "--diff", ".", cwd=script.parent).returncode == 0
    )


def test_stdin(tmp_path):
    done = process(
        "check", "--isolated", "--select", "OOM301", "--output-format", "json", "--stdin-filename", "src/t.py", "-",
        cwd=tmp_path, stdin=SHUFFLE,
    )  # fmt: skip
    assert done.returncode == 1
    assert [found["filename"] for found in json.loads(done.stdout)] == ["src/t.py"]


@pytest.mark.parametrize(
    ("given", "back"),
    [
        (SHUFFLE, SHUFFLE.replace("prefetch(500)", "prefetch(tf.data.AUTOTUNE)")),
        ("\ufeff" + SHUFFLE.replace("\n", "\r\n"), None),
        (CLEAN, CLEAN),
        ("print('nothing of ours')\n", "print('nothing of ours')\n"),
        ("import keras\nx = (\n", "import keras\nx = (\n"),
        ("", ""),
    ],
)
def test_fixing_stdin_gives_all_of_it_back(tmp_path, given, back):
    if back is None:
        back = given.replace("prefetch(500)", "prefetch(tf.data.AUTOTUNE)")
    done = process("check", "--isolated", "--select", "OOM303", "--fix", "-", cwd=tmp_path, stdin=given)
    assert done.stdout == back


def test_statistics(script):
    done = oomlint("check", "--isolated", "--select", "OOM30", "--statistics", ".", cwd=script.parent)
    assert "1  OOM301  [*]  shuffle-buffer-large" in done.stdout.splitlines()
    data = oomlint(
        "check",
        "--isolated",
        "--select",
        "OOM301",
        "--statistics",
        "--output-format",
        "json",
        ".",
        cwd=script.parent,
    )
    assert json.loads(data.stdout) == [
        {"code": "OOM301", "name": "shuffle-buffer-large", "count": 1, "fixable": 1}
    ]


def test_output_file(script):
    done = oomlint(
        "check", "--isolated", "--select", "OOM301", "-o", "out.txt", ".", cwd=script.parent, FORCE_COLOR="1"
    )
    assert done.stdout == ""
    assert (script.parent / "out.txt").read_text("utf-8").startswith("train.py:11:")


def test_colour_only_when_forced_and_never_with_no_color(script):
    arguments = ("check", "--isolated", "--select", "OOM301", ".")
    assert "\x1b[1m" in oomlint(*arguments, cwd=script.parent, FORCE_COLOR="1").stdout
    assert "\x1b[" not in oomlint(*arguments, cwd=script.parent, FORCE_COLOR="1", NO_COLOR="1").stdout


def test_host_memory_moves_the_line(script):
    def severity(memory: str) -> list[str]:
        done = oomlint(
            "check", "--isolated", "--select", "OOM301", "--output-format", "json", "--host-memory", memory, ".",
            cwd=script.parent,
        )  # fmt: skip
        return [found["severity"] for found in json.loads(done.stdout)]

    # 1,281,167 x 602,112 B = 771,406,024,704 B
    assert severity("700GB") == ["error"]
    assert severity("800GB") == ["warning"]
    assert severity("3000GB") == ["warning"]
    assert severity("3086GB") == []


def test_configuration_of_the_project_counts(script):
    folder = script.parent
    (folder / "pyproject.toml").write_text(
        '[tool.oomlint]\nselect = ["OOM301"]\n[tool.oomlint.severity]\nOOM301 = "note"\n', encoding="utf-8"
    )
    done = oomlint("check", "--output-format", "json", ".", cwd=folder)
    assert done.returncode == 0
    assert [found["severity"] for found in json.loads(done.stdout)] == ["note"]
    (folder / "pyproject.toml").write_text(
        '[tool.oomlint.per-file-ignores]\n"tr*.py" = ["OOM"]\n', encoding="utf-8"
    )
    assert json.loads(oomlint("check", "--output-format", "json", ".", cwd=folder).stdout) == []


def test_output_is_the_same_from_run_to_run(script):
    (script.parent / "b.py").write_text(SHUFFLE, encoding="utf-8")
    runs = {
        process("check", "--isolated", ".", cwd=script.parent, PYTHONHASHSEED=seed).stdout for seed in "12"
    }
    assert len(runs) == 1
