"""Modules of the project: found by the resolver, run when a name from them is used, cycles cut."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from oomlint.documents.python_file import Document, document_from_text
from oomlint.dryrun import dry_run
from oomlint.dryrun.trace import Call
from oomlint.dryrun.values.base import Const, deref
from oomlint.dryrun.values.program import Library
from oomlint.syntax.parse import parse
from oomlint.syntax.source import Source


class Project:
    """A project in memory: file name to text. Notes which modules were asked to be parsed."""

    def __init__(self, files: dict[str, str]) -> None:
        self.sources = {name: parse(document_from_text(text, name)) for name, text in files.items()}
        self.opened: list[str] = []

    def resolve(self, importer: Document, module: str, level: int) -> Source | None:
        base = str(importer.filename).split("/")[:-1]
        if level > 1:
            base = base[: -(level - 1)]
        parts = [*(base if level else []), *(part for part in module.split(".") if part)]
        for name in ("/".join(parts) + ".py", "/".join([*parts, "__init__.py"])):
            if name in self.sources:
                self.opened.append(name)
                return self.sources[name]
        return None

    def probe(self, main: str) -> list[object]:
        trace = dry_run(self.sources[main], self)
        found = [call for call in trace.all_calls() if isinstance(call, Call) and call.path == "probe"]
        values = [deref(call.arguments[0].value) for call in found]
        return [value.value if isinstance(value, Const) else None for value in values]


def test_functions_and_constants_of_other_modules() -> None:
    project = Project(
        {
            "train.py": "import config\nfrom helpers.data import size, SCALE as S\nfrom helpers import more\n"
            "probe(size(config.BATCH) * S)\nprobe(more.three())\nimport helpers.more\nprobe(helpers.more.three())\n",
            "config.py": "BATCH = 32\n",
            "helpers/__init__.py": "",
            "helpers/data.py": "from . import more\nSCALE = 10\ndef size(n):\n    return n * more.three()\n",
            "helpers/more.py": "from .data import SCALE\ndef three():\n    return 3\n",
        }
    )
    assert project.probe("train.py") == [960, 3, 3]


def test_a_star_brings_what_a_module_binds_and_not_what_it_only_asks_for() -> None:
    project = Project(
        {
            "train.py": "from keras.layers import *\nfrom config import *\nprobe(Dense)\nprobe(size)\n",
            "config.py": "import sys\nif sys.argv:\n    print(Dense, size)\nsize = 4\n",
        }
    )
    trace = dry_run(project.sources["train.py"], project)
    first, second = (call.arguments[0].value for call in trace.all_calls() if call.path == "probe")
    assert isinstance(first, Library) and first.name == "keras.layers.Dense"
    assert isinstance(second, Const) and second.value == 4


def test_modules_are_not_opened_until_a_name_is_used() -> None:
    project = Project(
        {
            "train.py": "from used import a\nimport unused\nfrom unused import b\nprobe(a)\n",
            "used.py": "a = 1\nimport unused\n",
            "unused.py": "b = 2\n",
        }
    )
    assert project.probe("train.py") == [1]
    assert set(project.opened) == {"used.py"}


def test_libraries_are_never_taken_from_the_project() -> None:
    project = Project({"train.py": "import numpy as np\nprobe(np.pi2)\n", "numpy.py": "pi2 = 6\n"})
    assert project.probe("train.py") == [None]
    assert project.opened == []


def test_cycles_end() -> None:
    project = Project(
        {"a.py": "from b import y\nx = 1\nprobe(y)\n", "b.py": "from a import x\ny = 2\nz = x\n"}
    )
    assert project.probe("a.py") == [2]


def test_star_import_of_the_project() -> None:
    project = Project(
        {"train.py": "from config import *\nprobe(BATCH)\n", "config.py": "BATCH = 8\n_hidden = 1\n"}
    )
    assert project.probe("train.py") == [8]


def test_class_from_another_module() -> None:
    project = Project(
        {
            "train.py": "from model import Net\nclass Big(Net):\n    width = 9\nprobe(Big(2).area())\n",
            "model.py": "class Net:\n    width = 3\n    def __init__(self, d):\n        self.d = d\n    def area(self):\n        return self.d * self.width\n",
        }
    )
    assert project.probe("train.py") == [18]


# Fifty presets: a table of that size is taken when somebody looks at it, and what it says is what Python says.
_TABLE = (
    "PRESETS = {" + ", ".join(f"'m{i}': {{'batch': {i}, 'sides': [{i}, -{i}]}}" for i in range(50)) + "}\n"
)
_MODULES = {
    "presets.py": _TABLE,
    "changed.py": _TABLE + "PRESETS['m7']['batch'] = 70\nPRESETS.update({'new': {'batch': 5}})\n",
    "bound_again.py": _TABLE + "OTHER = PRESETS\nPRESETS = {'m7': {'batch': 1}}\n",
    "in_function.py": _TABLE + "def batch(name):\n    return PRESETS[name]['batch']\n"
    "def change():\n    PRESETS['m7']['batch'] = 9\n",
    "starred.py": "from presets import *\nSIDE = PRESETS['m7']['sides'][1]\n",
}
_SCRIPTS = (
    "from presets import PRESETS\nprobe(PRESETS['m7']['batch'])\nprobe(len(PRESETS))\n",
    "import presets\nprobe(presets.PRESETS['m49']['sides'][1])\n",
    "from changed import PRESETS\nprobe(PRESETS['m7']['batch'])\nprobe(PRESETS['new']['batch'])\n",
    "import bound_again as b\nprobe(b.PRESETS['m7']['batch'])\nprobe(b.OTHER['m7']['batch'])\n",
    "import in_function as f\nprobe(f.batch('m7'))\nf.change()\nprobe(f.batch('m7'))\n",
    "from starred import *\nprobe(SIDE)\nprobe(PRESETS['m3']['batch'])\n",
    "import presets\nif unknown():\n    presets.PRESETS['m7']['batch']\nprobe(presets.PRESETS['m7']['batch'])\n",
    "import presets\npresets.PRESETS = {'m7': 4}\nprobe(presets.PRESETS['m7'])\n",
)


@pytest.mark.parametrize("script", _SCRIPTS)
def test_tables_of_literals_say_what_python_says(
    script: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, text in _MODULES.items():
        (tmp_path / name).write_text(text)
    program = "results = []\nprobe, unknown = results.append, bool\n" + script + "print(results)\n"
    done = subprocess.run(
        [sys.executable, "-c", program], cwd=tmp_path, capture_output=True, text=True, check=True
    )
    found = Project({**_MODULES, "train.py": script}).probe("train.py")
    assert str(found) == done.stdout.strip()


def test_a_table_nobody_looks_at_is_not_taken() -> None:
    project = Project(
        {"presets.py": _TABLE + "SIDE = 3\n", "train.py": "from presets import SIDE\nprobe(SIDE)\n"}
    )
    trace = dry_run(project.sources["train.py"], project)
    assert not [event for event in trace.events if getattr(event, "path", None) == "PRESETS"]
    assert project.probe("train.py") == [3]


def test_a_class_nobody_looks_at_does_not_open_what_it_derives_from() -> None:
    project = Project(
        {
            "train.py": "from helpers import size\nprobe(size)\n",
            "helpers.py": "from base import Base\nsize = 3\nclass Reader(Base):\n    def read(self): pass\n",
            "base.py": "class Base:\n    pass\n",
        }
    )
    assert project.probe("train.py") == [3]
    assert project.opened == ["helpers.py"]


@pytest.mark.parametrize(
    "definition",
    [
        "def scale(x, by=tf.constant(2.0)):\n    return x * by\n",
        "class Scaler:\n    by = tf.constant(2.0)\n",
        "class Scaler:\n    def scale(self, x, by=tf.constant(2.0)):\n        return x * by\n",
    ],
)
def test_what_a_definition_calls_is_called_by_the_import(definition: str) -> None:
    project = Project(
        {
            "train.py": "from helpers import size\nprobe(size)\n",
            "helpers.py": f"import tensorflow as tf\nsize = 3\n{definition}",
        }
    )
    trace = dry_run(project.sources["train.py"], project)
    assert [call.name for call in trace.all_calls()] == ["tf.constant", "unresolved"]


DECORATED = (
    "import functools\ndef keep(f):\n    return functools.wraps(f)(f)\n@keep\ndef work(x):\n    probe(x)\n"
)


def test_what_a_module_decorates_is_entered_where_it_is_checked() -> None:
    project = Project(
        {"train.py": "from helpers import size\nprobe(size)\n", "helpers.py": f"size = 3\n{DECORATED}"}
    )
    assert project.probe("train.py") == [3]
    assert project.probe("helpers.py") == [None]


def test_what_a_script_gives_to_a_library_is_entered() -> None:
    files = {
        "train.py": "import keras\nfrom helpers import loss\nkeras.Sequential().compile(loss=loss)\n",
        "helpers.py": "def loss(true, predicted):\n    probe(4)\n",
    }
    assert 4 in Project(files).probe("train.py")


EXPLODES = "def tree():\n    if x: leaf()\n" + "".join(
    f"def f{i}():\n    for a in range(60):\n        f{i + 1}()\n        f{i + 1}()\n" for i in range(6)
)


def test_a_function_that_explodes_takes_nothing_from_the_others() -> None:
    text = f"{EXPLODES}def f6():\n    pass\ndef last():\n    seven()\ndef seven():\n    probe(7)\n"
    project = Project({"train.py": text})
    assert 7 in project.probe("train.py")


def test_functions_nobody_calls_do_not_go_far_into_other_modules() -> None:
    body = "".join(f"    use({number})\n" for number in range(400))
    project = Project(
        {
            "train.py": "from far import go\n" + "".join(f"def a{i}():\n    go()\n" for i in range(50)),
            "far.py": f"def use(n):\n    return n\ndef go():\n{body}",
        }
    )
    assert dry_run(project.sources["train.py"], project).steps < 4_000
    called = Project(
        {
            "far.py": f"def use(n):\n    return n\ndef go():\n{body}",
            "train.py": "from far import go\n" + "go()\n" * 5,
        }
    )
    assert dry_run(called.sources["train.py"], called).steps > 5 * 800
