"""`--add-noqa`, `--add-ignore` and `--ignore-noqa`: the check is silent afterwards, and the program the same."""

from __future__ import annotations

import ast
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from command import oomlint
from fixture_files import FIXTURES

HEAD = """\
import tensorflow as tf


def decode(path):
    image = tf.io.decode_jpeg(tf.io.read_file(path), channels=3)
    return tf.image.resize(image, (224, 224))


names = tf.data.Dataset.list_files("train/*.jpg").map(decode)
"""
# Statement before, and after: the shuffle buffers (OOM301) and 500 batches (OOM303) are what is found.
CASES = [
    ("a = names.shuffle(1_281_167)", "a = names.shuffle(1_281_167)  # noqa: OOM301"),
    ("a = names.shuffle(1_281_167)   ", "a = names.shuffle(1_281_167)  # noqa: OOM301"),
    ("a = names.shuffle(1_281_167)  # why", "a = names.shuffle(1_281_167)  # why  # noqa: OOM301"),
    ("a = names.shuffle(1_281_167)  # noqa: E501", "a = names.shuffle(1_281_167)  # noqa: E501, OOM301"),
    (
        "a = names.shuffle(1_281_167)  # noqa: E501,W291 wide",
        "a = names.shuffle(1_281_167)  # noqa: E501,W291,OOM301 wide",
    ),
    (
        "a = names.shuffle(1_281_167)  # type: ignore  # noqa: E501",
        "a = names.shuffle(1_281_167)  # type: ignore  # noqa: E501, OOM301",
    ),
    (
        "a = names.shuffle(1_281_167)  # oomlint: ignore[OOM302]",
        "a = names.shuffle(1_281_167)  # oomlint: ignore[OOM302]  # noqa: OOM301",
    ),
    (
        "a = names.shuffle(1_281_167).batch(32).prefetch(500)",
        "a = names.shuffle(1_281_167).batch(32).prefetch(500)  # noqa: OOM301, OOM303",
    ),
    (
        "a = (\n    names\n    .shuffle(1_281_167)  # all\n    .batch(32)\n    .prefetch(500)\n)",
        "a = (\n    names\n    .shuffle(1_281_167)  # all  # noqa: OOM301\n    .batch(32)\n    .prefetch(500)  # noqa: OOM303\n)",
    ),
    (
        "a = names \\\n    .shuffle(1_281_167) \\\n    .batch(32)",
        "a = names \\\n    .shuffle(1_281_167) \\\n    .batch(32)  # noqa: OOM301",
    ),
    (
        'a = names.shuffle(1_281_167, name="""a\n# b""")',
        'a = names.shuffle(1_281_167, name="""a\n# b""")  # noqa: OOM301',
    ),
    (
        "a = names.shuffle(1_281_167, name=f'''{1}\n''')",
        "a = names.shuffle(1_281_167, name=f'''{1}\n''')  # noqa: OOM301",
    ),
    (
        "if names: a = names.shuffle(1_281_167); b = 1",
        "if names: a = names.shuffle(1_281_167); b = 1  # noqa: OOM301",
    ),
    (
        "for x in names.shuffle(1_281_167):\n    pass",
        "for x in names.shuffle(1_281_167):  # noqa: OOM301\n    pass",
    ),
]
ONE = ("check", "--isolated", "--select", "OOM301,OOM303")


@pytest.fixture
def scripts(tmp_path: Path) -> Path:
    for number, (before, _) in enumerate(CASES):
        end = "" if number == 0 else "\n"  # one file ends without a newline
        (tmp_path / f"s{number:02}.py").write_text(HEAD + before + end, encoding="utf-8")
    # The same with a mark and carriage returns.
    text = HEAD + "\n".join(before for before, _ in CASES) + "\n"
    (tmp_path / "windows.py").write_bytes(b"\xef\xbb\xbf" + text.replace("\n", "\r\n").encode())
    return tmp_path


def test_every_statement_gets_its_noqa_where_it_counts(scripts):
    before = {path.name: path.read_bytes() for path in scripts.glob("*.py")}
    done = oomlint(*ONE, "--add-noqa", ".", cwd=scripts)
    # Two of the cases have two findings; all of them are in one more file together.
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout == f"Suppressed {2 * (len(CASES) + 2)} findings in {len(CASES) + 1} files.\n"
    for number, (_, after) in enumerate(CASES):
        text = (scripts / f"s{number:02}.py").read_text("utf-8")
        assert text.removeprefix(HEAD) == after + ("" if number == 0 else "\n")
    windows = HEAD + "\n".join(after for _, after in CASES) + "\n"
    assert (scripts / "windows.py").read_bytes() == b"\xef\xbb\xbf" + windows.replace("\n", "\r\n").encode()
    for name, raw in before.items():
        assert ast.dump(ast.parse(raw)) == ast.dump(ast.parse((scripts / name).read_bytes()))
    silent = oomlint(*ONE, ".", cwd=scripts)
    assert (silent.returncode, silent.stdout) == (0, f"No findings in {len(CASES) + 1} files.\n")
    after = {path.name: path.read_bytes() for path in scripts.glob("*.py")}
    again = oomlint(*ONE, "--add-noqa", ".", cwd=scripts)
    assert again.stdout == "Suppressed 0 findings.\n"
    assert after == {path.name: path.read_bytes() for path in scripts.glob("*.py")}
    # All of it is still there for who asks.
    told = oomlint(*ONE, "--ignore-noqa", "--statistics", ".", cwd=scripts)
    assert told.returncode == 1
    assert sum(int(line.split()[0]) for line in told.stdout.splitlines()[:2]) == 2 * (len(CASES) + 2)
    # And flake8, which has rules of its own for where a noqa counts, is content too.
    flake8 = subprocess.run(
        [sys.executable, "-m", "flake8", "--isolated", "--select=OOM301,OOM303", "."],
        cwd=scripts, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert (flake8.returncode, flake8.stdout) == (0, "")


def test_a_reason_goes_with_it_and_own_comments_are_to_be_had(tmp_path):
    (tmp_path / "a.py").write_text(HEAD + CASES[0][0] + "\n", encoding="utf-8")
    (tmp_path / "b.py").write_text(HEAD + CASES[0][0] + "\n", encoding="utf-8")
    (tmp_path / "c.py").write_text(HEAD + CASES[7][0] + "  # oomlint: ignore[OOM302] so\n", encoding="utf-8")
    oomlint(*ONE, "--add-noqa=before our time", "a.py", cwd=tmp_path)
    # "T4" would be read as a code of some linter.
    oomlint(*ONE, "--add-noqa=T4 is long gone", "b.py", cwd=tmp_path)
    oomlint(*ONE, "--add-ignore", "c.py", cwd=tmp_path)
    assert (tmp_path / "a.py").read_text("utf-8").endswith("  # noqa: OOM301 before our time\n")
    assert (tmp_path / "b.py").read_text("utf-8").endswith("  # noqa: OOM301 - T4 is long gone\n")
    assert (tmp_path / "c.py").read_text("utf-8").endswith("  # oomlint: ignore[OOM302, OOM301, OOM303] so\n")
    assert oomlint(*ONE, ".", cwd=tmp_path).returncode == 0
    assert oomlint(*ONE, "--add-noqa=two\nlines", ".", cwd=tmp_path).returncode == 2


def test_what_no_comment_can_suppress_is_said(tmp_path):
    (tmp_path / "old.py").write_text("import keras\nprint 'epoch', 1\n", encoding="utf-8")
    done = oomlint("check", "--isolated", "--add-noqa", ".", cwd=tmp_path)
    assert done.stdout == "Suppressed 0 findings.\n"
    assert "old.py:2: OOM001 stays: a comment cannot suppress it" in done.stderr
    assert (tmp_path / "old.py").read_text("utf-8") == "import keras\nprint 'epoch', 1\n"


def test_a_module_without_keras_gets_its_comment_too_if_it_was_named(tmp_path):
    loader = "import pandas as pd\n\n\ndef load():\n    return pd.read_csv('train.csv')\n"
    (tmp_path / "loader.py").write_text(loader, encoding="utf-8")
    (tmp_path / "train.py").write_text(
        "from tensorflow import keras\nfrom loader import load\n\nmodel = keras.Sequential([keras.layers.Dense(1)])\n"
        "model.compile('sgd', 'mse')\nmodel.fit(load(), epochs=3)\n",
        encoding="utf-8",
    )
    one = ("check", "--isolated", "--select", "OOM201", "--fail-on", "note")
    assert oomlint(*one, ".", cwd=tmp_path).returncode == 1
    other = oomlint(*one, "--add-noqa", "train.py", cwd=tmp_path)
    assert "loader.py:5: OOM201 stays: its file was not named to be checked" in other.stderr
    assert oomlint(*one, "--add-noqa", ".", cwd=tmp_path).stdout == "Suppressed 1 finding in 1 file.\n"
    assert (tmp_path / "loader.py").read_text("utf-8") == loader.replace("')\n", "')  # noqa: OOM201\n")
    assert oomlint(*one, ".", cwd=tmp_path).returncode == 0


def test_ignore_noqa_heeds_no_comment_at_all(tmp_path):
    for name, text in {
        "skipped.py": f"# oomlint: skip-file\n{HEAD}a = names.shuffle(1_281_167)\n",
        "disabled.py": f"# oomlint: disable[OOM3]\n{HEAD}a = names.shuffle(1_281_167)\n",
        "ignored.py": f"{HEAD}a = names.shuffle(1_281_167)  # oomlint: ignore[OOM301]\n",
    }.items():
        (tmp_path / name).write_text(text, encoding="utf-8")
    assert oomlint(*ONE, "-q", ".", cwd=tmp_path).stdout == ""
    told = oomlint(*ONE, "-q", "--ignore-noqa", "--output-format", "concise", ".", cwd=tmp_path)
    assert [line.partition(":")[0] for line in told.stdout.splitlines()] == [
        "disabled.py",
        "ignored.py",
        "skipped.py",
    ]


def test_the_bad_fixture_of_every_rule_can_be_silenced(tmp_path):
    """Scripts as people write them, with findings of every rule in all sorts of statements."""
    originals = {}
    for path in sorted(FIXTURES.glob("OOM*/bad.py")):
        copy = tmp_path / f"{path.parent.name[:6]}.py"
        shutil.copy(path, copy)
        originals[copy] = ast.dump(ast.parse(path.read_bytes()))
    everything = (
        "check",
        "--isolated",
        "--select",
        "ALL",
        "--preview",
        "-q",
        "--output-format",
        "concise",
        ".",
    )
    assert len(oomlint(*everything, cwd=tmp_path).stdout.splitlines()) > len(originals)
    done = oomlint("check", "--isolated", "--select", "ALL", "--preview", "--add-noqa", ".", cwd=tmp_path)
    assert (done.returncode, done.stderr) == (0, "")
    silent = oomlint(*everything, cwd=tmp_path)
    assert (silent.returncode, silent.stdout) == (0, "")
    for path, program in originals.items():
        assert ast.dump(ast.parse(path.read_bytes())) == program
