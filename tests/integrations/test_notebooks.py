"""Notebooks and documents through the command line, and what Jupyter's own library says of the files."""

from __future__ import annotations

import ast
import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import nbformat
import pytest
from command import oomlint
from fixture_files import Fixture, fixtures
from nbformat.v4 import new_code_cell, new_markdown_cell, new_notebook, new_output

from oomlint import check_source
from oomlint.documents.lines import Location
from oomlint.documents.notebook import notebook_from_bytes
from oomlint.documents.python_file import document_from_text
from oomlint.documents.reading import read
from oomlint.findings.diagnostic import Diagnostic
from oomlint.project.configuration import Configurations
from oomlint.testing import fix_text, run_rules

SETUP = """\
%matplotlib inline
!pip install -q tensorflow
import tensorflow as tf
from tensorflow import keras"""
LOAD = """\
N = 1_281_167

def load(path):
    image = tf.io.decode_jpeg(tf.io.read_file(path), channels=3)
    return tf.image.resize(image, (224, 224))"""
PIPELINE = """\
%%time
ds = tf.data.Dataset.list_files('images/*.jpg').map(load)
ds = ds.shuffle(N).batch(64).prefetch(256);
ds.take(1)"""
# Cells are counted with those that are text.
SHUFFLE, PREFETCH = "cell 4:3:17: OOM301", "cell 4:3:39: OOM303"


def write_notebook(path: Path, *cells: str, **metadata: Any) -> Path:
    book = new_notebook(cells=[new_markdown_cell("# Training with é")], metadata=metadata)
    book.cells += [new_code_cell(source, execution_count=1, outputs=[picture()]) for source in cells]
    nbformat.write(book, path)
    return path


def picture() -> Any:
    return new_output("display_data", {"image/png": "iVBORw0KGgo=\n", "text/plain": "<keras é>"})


@pytest.fixture
def train(tmp_path: Path) -> Path:
    return write_notebook(tmp_path / "train.ipynb", SETUP, LOAD, PIPELINE)


def test_findings_are_named_by_cell_with_their_evidence(train: Path) -> None:
    done = oomlint("check", "train.ipynb", cwd=train.parent)
    assert done.returncode == 1
    assert (
        f"train.ipynb:{SHUFFLE} the shuffle buffer holds up to 1,281,167 elements of 602,112 B: 718 GiB"
        in done.stdout
    )
    assert "  3 | ds = ds.shuffle(N).batch(64).prefetch(256);\n" in done.stdout
    assert "  - a buffer of 1,281,167 elements, from N (train.ipynb:cell 3:1)\n" in done.stdout
    # 256 batches of 64 images of 224 x 224 x 3 floats
    assert f"{256 * 64 * 224 * 224 * 3 * 4 / 2**30:.2f} GiB" in done.stdout
    assert oomlint("check", ".", cwd=train.parent).stdout == done.stdout
    machine = json.loads(oomlint("check", ".", "--output-format", "json", cwd=train.parent).stdout)
    assert [(one["cell"], one["location"]) for one in machine] == [
        (4, {"row": 3, "column": 17}),
        (4, {"row": 3, "column": 39}),
    ]


def test_fixing_changes_the_source_of_one_cell_and_nothing_else(train: Path) -> None:
    before = train.read_bytes()
    patch = oomlint("check", "--diff", "train.ipynb", cwd=train.parent)
    assert patch.returncode == 1
    assert patch.stdout == (
        "--- train.ipynb:cell 4\n"
        "+++ train.ipynb:cell 4\n"
        "@@ -1,4 +1,4 @@\n"
        " %%time\n"
        " ds = tf.data.Dataset.list_files('images/*.jpg').map(load)\n"
        "-ds = ds.shuffle(N).batch(64).prefetch(256);\n"
        "+ds = ds.shuffle(N).batch(64).prefetch(tf.data.AUTOTUNE);\n"
        " ds.take(1)\n"
    )
    assert train.read_bytes() == before
    done = oomlint("check", "--fix", "train.ipynb", cwd=train.parent)
    assert PREFETCH not in done.stdout
    assert train.read_bytes() == before.replace(b"prefetch(256)", b"prefetch(tf.data.AUTOTUNE)")
    nbformat.validate(nbformat.read(train, as_version=nbformat.NO_CONVERT))
    after = train.read_bytes()
    oomlint("check", "--fix", "--unsafe-fixes", "train.ipynb", cwd=train.parent)
    assert train.read_bytes() == after


def test_standard_input_is_a_notebook_by_its_name(train: Path) -> None:
    text = train.read_text("utf-8")
    done = oomlint("check", "-", "--stdin-filename", "train.ipynb", cwd=train.parent, stdin=text)
    assert SHUFFLE in done.stdout


def test_python_code_gives_a_notebook_as_text(train: Path) -> None:
    found = check_source(train.read_text("utf-8"), filename="train.ipynb")
    assert [(one.code, one.location) for one in found] == [
        ("OOM301", Location(3, 17, 4)),
        ("OOM303", Location(3, 39, 4)),
    ]


def test_comments_in_cells_and_patterns_suppress(tmp_path: Path) -> None:
    noted = PIPELINE.replace("256);", "256);  # noqa: OOM301, OOM303 as it was")
    write_notebook(tmp_path / "noqa.ipynb", SETUP, LOAD, noted)
    write_notebook(tmp_path / "skipped.ipynb", "# oomlint: skip-file\n" + SETUP, LOAD, PIPELINE)
    write_notebook(tmp_path / "old.ipynb", SETUP, LOAD, PIPELINE)
    (tmp_path / "oomlint.toml").write_text('[per-file-ignores]\n"old.ipynb" = ["OOM3"]\n', encoding="utf-8")
    done = oomlint("check", ".", cwd=tmp_path)
    assert (done.returncode, done.stdout) == (0, "No findings in 3 files.\n")


def test_a_cell_that_does_not_parse_is_a_finding_in_that_cell(tmp_path: Path) -> None:
    write_notebook(tmp_path / "a.ipynb", SETUP, "model = = 1", LOAD, PIPELINE)
    done = oomlint("check", "a.ipynb", "--output-format", "concise", cwd=tmp_path)
    assert "a.ipynb:cell 3:1:9: OOM001 Python cannot parse this cell: invalid syntax (note)" in done.stdout
    assert "cell 5:3:17: OOM301" in done.stdout


def test_what_is_no_keras_or_no_python_is_silent(tmp_path: Path) -> None:
    write_notebook(tmp_path / "plain.ipynb", "x = = 1")  # Keras in an output only
    write_notebook(
        tmp_path / "r.ipynb",
        "library(keras)\nx <- 1",
        kernelspec={"name": "ir", "language": "R", "display_name": "R"},
    )
    (tmp_path / ".ipynb_checkpoints").mkdir()
    write_notebook(tmp_path / ".ipynb_checkpoints" / "a.ipynb", SETUP, LOAD, PIPELINE)
    done = oomlint("check", ".", cwd=tmp_path)
    assert (done.returncode, done.stdout) == (0, "No findings in 2 files.\n")


def test_a_broken_file_is_an_error_that_says_where(train: Path) -> None:
    train.write_text(
        train.read_text("utf-8").replace('"metadata": {},', '"metadata": {', 1), encoding="utf-8"
    )
    done = oomlint("check", "train.ipynb", cwd=train.parent)
    assert done.returncode == 2
    assert done.stderr.startswith("oomlint: train.ipynb:")
    assert "is not valid JSON, so it is no notebook" in done.stderr


def test_a_notebook_imports_modules_of_its_project_and_names_no_keras(tmp_path: Path) -> None:
    (tmp_path / "data.py").write_text(SETUP.split("\n", 2)[2] + "\n\n" + LOAD + "\n", encoding="utf-8")
    write_notebook(tmp_path / "a.ipynb", "from data import *\nfrom data import tf", PIPELINE)
    done = oomlint("check", "a.ipynb", "--output-format", "concise", cwd=tmp_path)
    assert "cell 3:3:17: OOM301" in done.stdout


def test_a_script_that_is_run_gives_its_names(tmp_path: Path) -> None:
    (tmp_path / "data.py").write_text(SETUP.split("\n", 2)[2] + "\n\n" + LOAD + "\n", encoding="utf-8")
    write_notebook(tmp_path / "a.ipynb", "import tensorflow as tf\n%run data.py", PIPELINE)
    done = oomlint("check", "a.ipynb", cwd=tmp_path)
    assert f"a.ipynb:{SHUFFLE.replace('cell 4', 'cell 3')}" in done.stdout
    assert "  - a buffer of 1,281,167 elements, from N (data.py:4)" in done.stdout


def test_a_kernel_that_stays_makes_oom101_a_warning(tmp_path: Path) -> None:
    fit = (
        "model = keras.Sequential([keras.Input((8,)), keras.layers.Dense(1)])\nmodel.compile('adam', 'mse')\n"
    )
    fit += "%time history = model.fit(tf.zeros((64, 8)), tf.zeros((64, 1)))"
    write_notebook(tmp_path / "own.ipynb", SETUP, fit)
    write_notebook(tmp_path / "colab.ipynb", SETUP, fit, colab={"provenance": []})
    write_notebook(tmp_path / "env.ipynb", SETUP, "%env TF_FORCE_GPU_ALLOW_GROWTH=true", fit)
    for number, code in enumerate(
        (
            "from google.colab import drive\ndrive.mount('/content/drive')",
            "FOLDER = '/kaggle/input/leaves'",
            "FOLDER = '/data/content/driven'",
        )
    ):
        write_notebook(tmp_path / f"plain{number}.ipynb", SETUP, code, fit)
    done = oomlint("check", ".", "--output-format", "concise", cwd=tmp_path)
    places = {
        row.split(": ")[0]: row.rpartition("(")[2] for row in done.stdout.split("\n") if "OOM101" in row
    }
    assert places == {
        "own.ipynb:cell 3:3:17": "warning)",
        "colab.ipynb:cell 3:3:17": "note)",
        "plain0.ipynb:cell 4:3:17": "note)",
        "plain1.ipynb:cell 4:3:17": "note)",
        "plain2.ipynb:cell 4:3:17": "warning)",
    }


@pytest.mark.parametrize(
    ("install", "version"),
    [
        ("!pip install -q tensorflow==2.6.2", (2, 6)),
        ("%tensorflow_version 1.x", (2, 2)),
        ("!pip3 install 'tensorflow==2.16.*'", (3,)),
        ("!pip install tensorflow==2.4 keras==2.3.1", (2, 3)),
    ],
)
def test_what_a_notebook_installs_says_which_keras_it_runs_on(
    tmp_path: Path, install: str, version: tuple[int, ...]
) -> None:
    (tmp_path / "requirements.txt").write_text("keras==3.5\n", encoding="utf-8")
    document = read(write_notebook(tmp_path / "a.ipynb", install, "import keras"))
    found = Configurations().for_document(tmp_path, document.requirements, "a.ipynb")
    assert found.settings.target_keras == version
    assert found.origins["target-keras"].startswith("a.ipynb: ")
    assert Configurations().for_document(tmp_path).settings.target_keras == (3, 5)
    (tmp_path / "oomlint.toml").write_text('target-keras = "3.1"\n', encoding="utf-8")
    assert Configurations().for_document(tmp_path, document.requirements).settings.target_keras == (3, 1)


def test_a_pinned_notebook_is_checked_for_its_own_keras(tmp_path: Path) -> None:
    fit = (
        "model = keras.Sequential([keras.Input((8,)), keras.layers.Dense(1)])\nmodel.compile('adam', 'mse')\n"
    )
    fit += "model.fit(keras.utils.timeseries_dataset_from_array(range(99), None, 8), workers=2)"
    old = SETUP.replace("install -q tensorflow", "install -q tensorflow==2.10")
    write_notebook(tmp_path / "new.ipynb", SETUP.replace("q tensorflow", "q tensorflow==2.18"), fit)
    write_notebook(tmp_path / "old.ipynb", old, fit)
    done = oomlint("check", ".", "--output-format", "concise", cwd=tmp_path)
    (found,) = [row for row in done.stdout.split("\n") if "OOM209" in row]
    assert found.startswith("new.ipynb:cell 3:3:")
    assert "fit of Keras 3 takes no workers=" in found


def test_an_example_in_a_document_has_no_gpu_to_set_up(tmp_path: Path) -> None:
    code = (
        "import tensorflow as tf\nfrom tensorflow import keras\n"
        "model = keras.Sequential([keras.Input((8,)), keras.layers.Dense(1)])\nmodel.compile('adam', 'mse')\n"
        "model.fit(tf.zeros((64, 8)), tf.zeros((64, 1)))\n"
    )
    (tmp_path / "train.py").write_text(code, encoding="utf-8")
    (tmp_path / "guide.md").write_text(f"```python\n{code}```\n", encoding="utf-8")
    assert "OOM101" in oomlint("check", "train.py", cwd=tmp_path).stdout
    assert oomlint("check", "guide.md", cwd=tmp_path).stdout == "No findings in 1 file.\n"


def test_estimate_slices_the_program_of_a_notebook(tmp_path: Path) -> None:
    build = (
        "model = keras.Sequential([keras.Input((8,)), keras.layers.Dense(1)])\nmodel.compile('adam', 'mse')"
    )
    write_notebook(
        tmp_path / "a.ipynb", SETUP, "x = tf.zeros((64, 8))\ny = tf.zeros((64, 1))", build, "model.fit(x, y)"
    )
    done = oomlint("estimate", "a.ipynb", "--show-slice", cwd=tmp_path)
    assert done.returncode == 0
    assert "keras.layers.Dense(1)" in done.stdout
    assert "pip" not in done.stdout
    done = oomlint("estimate", "a.ipynb", "--model", "net", cwd=tmp_path)
    assert "There is model (cell 5:1)." in done.stderr


MARKDOWN = """\
# How to train

1. Set up:

   ```python
   {setup}
   ```

2. Read, with what was set up above:

   ~~~py
   {load}

   {pipeline}
   ~~~

Not Python: `prefetch(256)`

```console
ds.prefetch(256)
```
"""


def test_documents_are_checked_where_they_are_asked_for(tmp_path: Path) -> None:
    blocks = {"setup": SETUP.split("\n", 2)[2], "load": LOAD, "pipeline": PIPELINE.split("\n", 1)[1]}
    text = MARKDOWN.format(**{name: code.replace("\n", "\n   ") for name, code in blocks.items()})
    guide = tmp_path / "guide.md"
    guide.write_text(text, encoding="utf-8")
    assert oomlint("check", ".", cwd=tmp_path).stdout == "No findings in 0 files.\n"
    named = oomlint("check", "guide.md", "--output-format", "concise", cwd=tmp_path)
    row = text.split("\n").index("   ds = ds.shuffle(N).batch(64).prefetch(256);") + 1
    assert f"guide.md:{row}:20: OOM301" in named.stdout
    assert f"guide.md:{row}:42: OOM303" in named.stdout
    (tmp_path / "oomlint.toml").write_text('extend-include = ["*.md"]\n', encoding="utf-8")
    assert oomlint("check", ".", "--output-format", "concise", cwd=tmp_path).stdout == named.stdout
    oomlint("check", ".", "--fix", cwd=tmp_path)
    assert guide.read_text("utf-8") == text.replace("prefetch(256);", "prefetch(tf.data.AUTOTUNE);")


def _cells(text: str) -> list[tuple[int, str]]:
    """A script cut at empty rows between its statements: the first row of each cell, and its text."""
    rows = text.split("\n")
    starts = [1]
    for node in ast.parse(text).body[1:]:
        first = min([node.lineno, *(one.lineno for one in getattr(node, "decorator_list", []))])
        while rows[first - 2].startswith("#"):
            first -= 1
        if not rows[first - 2].strip():
            starts.append(first)
    ends = [*(start - 1 for start in starts[1:]), len(rows)]
    return [(start, "\n".join(rows[start - 1 : end])) for start, end in zip(starts, ends, strict=True)]


def _seen(diagnostics: list[Diagnostic], rows: dict[int, int]) -> list[object]:
    """Findings by the rows of the script; `rows` says how many stand above a cell."""
    return [
        (
            one.code,
            str(one.severity),
            one.message,
            rows[one.location.cell] + one.location.row,
            one.location.column,
            [
                (note.text, note.location and rows[note.location.cell] + note.location.row)
                for note in one.evidence
            ],
        )
        for one in diagnostics
    ]


# One script of each of these rules, those with fixes among them.
TWENTY = [
    f
    for f in fixtures()
    if f.kind == "bad" and f.path.name == "bad.py" and f.code not in ("OOM601", "OOM101")
][2:42:2]


@pytest.mark.parametrize("fixture", TWENTY, ids=[fixture.id for fixture in TWENTY])
def test_a_script_cut_into_cells_has_the_same_findings_and_fixes(fixture: Fixture) -> None:
    text = fixture.path.read_text("utf-8")
    cells = _cells(text)
    assert len(cells) > 1
    book = new_notebook(cells=[new_code_cell(source) for _, source in cells])
    notebook = notebook_from_bytes(nbformat.writes(book).encode(), "script.ipynb")
    script = document_from_text(text, "script.py")
    found = run_rules(fixture.rules, notebook)
    assert found
    assert _seen(found, {n: first - 1 for n, (first, _) in enumerate(cells, 1)}) == _seen(
        run_rules(fixture.rules, script), {0: 0}
    )
    if fixture.fixed.exists():
        mended = fix_text(fixture.rules, notebook)
        assert ast.dump(ast.parse(mended)) == ast.dump(ast.parse(fixture.fixed.read_text("utf-8")))


def test_the_code_of_a_mended_notebook_runs(tmp_path: Path) -> None:
    count = (
        "ds = tf.data.Dataset.range(2000).map(lambda n: tf.zeros((64, 64)))\nds = ds.batch(2).prefetch(1000)"
    )
    collect = "losses = []\nfor batch in ds:\n    losses.append(tf.reduce_sum(batch))"
    path = write_notebook(
        tmp_path / "a.ipynb",
        "import tensorflow as tf",
        count,
        collect,
        "print(len(losses), float(sum(losses)))",
    )
    done = oomlint("check", "--fix", "--unsafe-fixes", "a.ipynb", cwd=tmp_path)
    assert "Fixed" in done.stdout
    book = nbformat.read(path, as_version=4)
    nbformat.validate(book)
    code = "\n".join(cell.source for cell in book.cells if cell.cell_type == "code")
    assert "tf.data.AUTOTUNE" in code
    ran = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=120
    )
    assert ran.stdout.strip() == "1000 0.0"
