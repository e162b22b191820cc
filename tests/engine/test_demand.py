"""What of a script has to be run: functions that nobody calls, and all that their findings rest on."""

from __future__ import annotations

import textwrap
from pathlib import Path

import pytest

from oomlint.documents.python_file import Document, document_from_text
from oomlint.engine.demand import Demand, demanded
from oomlint.engine.document import check_document
from oomlint.findings.model import Rule, Severity
from oomlint.findings.needs import Needs
from oomlint.findings.registry import RegisteredRule, load_rules
from oomlint.project.settings import Settings

SETTINGS = Settings(root=Path("/"))
HEADER = "import numpy as np\nimport tensorflow as tf\nfrom tensorflow import keras\n"


def entry(needs: Needs, literals: tuple[str, ...] = ("shuffle",)) -> RegisteredRule:
    rule = Rule("OOM399", "a-rule", Severity.NOTE, None, literals, needs=needs)
    return RegisteredRule(rule, lambda trace, settings: iter(()), __name__, "")


def wanted(text: str, needs: Needs, name: str = "script.py", others: dict[str, str] | None = None) -> object:
    """The functions that are run for a rule: their names, None for no run at all, "all" for all."""
    document = document_from_text(HEADER + textwrap.dedent(text), name)
    modules = {
        module: document_from_text(source, f"{module}.py") for module, source in (others or {}).items()
    }

    class Modules:
        def peek(self, importer: Document, module: str, level: int) -> Document | None:
            return modules.get(module)

    found = demanded(document, (entry(needs),), Modules())
    if not isinstance(found, Demand):
        return None
    if found.functions is None:
        return "all"
    return {f"{owner}.{name}" if owner else name for owner, name in found.functions}


ALONE = Needs(also=(("64+",),), beside=("environ",))


@pytest.mark.parametrize(
    ("text", "functions"),
    [
        ("def a(d):\n    d.shuffle(100)\ndef b(d):\n    d.batch(100)\n", {"a"}),
        ("def a(d):\n    d.shuffle(10)\n", None),
        ("def a(d):\n    d.shuffle(2 ** 20)\n", {"a"}),
        ("def a(d):\n    d.shuffle(1 << 20)\n", {"a"}),
        ("def a(d):\n    d.shuffle(24 * 60)\n", {"a"}),
        ("def a(d):\n    d.shuffle(int('100'))\n", {"a"}),
        # by its default, its decorator, a function that it calls, a global, an attribute of its object
        ("def a(d, n=100):\n    d.shuffle(n)\n", {"a"}),
        ("def a(d):\n    b(d)\ndef b(d):\n    d.shuffle(100)\n", {"a", "b"}),
        ("N = 100\ndef a(d):\n    d.shuffle(N)\n", {"a"}),
        ("class A:\n    def __init__(self):\n        self.n = 100\n    def a(self, d):\n        d.shuffle(self.n)\n",
         {"A.a", "A.__init__"}),
        ("class A:\n    n = 100\n    def a(self, d):\n        d.shuffle(self.n)\n", {"A.a"}),
        ("class A:\n    n = 100\nclass B(A):\n    def a(self, d):\n        d.shuffle(self.n)\n", {"B.a"}),
        ("class A:\n    def a(self, d):\n        self.b(d, 100)\n    def b(self, d, n):\n        d.shuffle(n)\n", {"A.a"}),
        ("def a(d):\n    def b():\n        d.shuffle(100)\n    return b\n", {"a"}),
        ("def a(d):\n    return d.apply(lambda x: x.shuffle(100))\n", {"a"}),
        ("def a(d):\n    getattr(d, 'shuffle')(100)\n", {"a"}),
        ("if True:\n    def a(d):\n        d.shuffle(100)\n", {"a"}),
        # what another method leaves on the object, another function in a global
        ("class A:\n    def put(self):\n        self.n = 100\n    def a(self, d):\n        d.shuffle(self.n)\n",
         {"A.a", "A.put"}),
        ("def put():\n    global N\n    N = 100\ndef a(d):\n    d.shuffle(N)\n", {"a", "put"}),
        ("SIZES = []\ndef put():\n    SIZES.append(100)\ndef a(d):\n    d.shuffle(SIZES[0])\n", {"a", "put"}),
        # who makes the object, with what numbers
        ("class A:\n    def __init__(self, n):\n        self.n = n\n    def a(self, d):\n        d.shuffle(self.n)\n"
         "def make():\n    return A(100)\n", {"A.a", "A.__init__", "make"}),
        # what says in which mode the script runs
        ("import os\ndef a(d):\n    d.shuffle(100)\ndef b():\n    os.environ['A'] = '1'\n", {"a", "b"}),
        # the module's body alone
        ("tf.data.Dataset.range(9).shuffle(100)\ndef b(d):\n    d.batch(100)\n", set()),
        ("def a(d):\n    d.shuffle(100)\ntf.py_function(a, [], [])\n", {"a"}),
    ],
)  # fmt: skip
def test_functions_that_lead_to_all_that_a_rule_needs(text: str, functions: set[str] | None) -> None:
    assert wanted(text, ALONE) == functions


def test_without_needs_one_literal_runs_the_whole_script() -> None:
    assert wanted("def a(d):\n    d.shuffle(1)\ndef b():\n    pass\n", Needs()) == "all"
    assert wanted("def a(d):\n    d.batch(1)\n", Needs()) is None


def test_what_runs_with_the_script_is_followed_from_its_body() -> None:
    needs = Needs(also=((".shuffle",),), in_scripts=True)
    assert wanted("def a(d):\n    d.shuffle(1)\n", needs) is None
    assert wanted("def a(d):\n    d.shuffle(1)\na(1)\n", needs) == "all"
    assert wanted("def a(d):\n    d.shuffle(1)\nregister(a)\n", needs) == "all"
    assert wanted("class A:\n    def a(self, d):\n        d.shuffle(1)\nA().a(1)\n", needs) == "all"


def test_tests_and_layers() -> None:
    text = "def test_a(d):\n    d.shuffle(100)\n"
    assert wanted(text, ALONE) == {"test_a"}
    assert wanted(text, Needs(in_tests=False, beside=())) is None
    assert wanted("def a(d):\n    d.shuffle(100)\n", Needs(in_tests=False, beside=()), "test_a.py") is None
    layer = "class A(keras.layers.{}):\n    def a(self, d):\n        d.shuffle(100)\n"
    assert wanted(layer.format("Layer"), Needs(in_layers=False, beside=())) is None
    assert wanted("class A(keras.Model):\n    def a(self, d):\n        d.shuffle(1)\n",
                  Needs(in_layers=False, beside=())) == {"A.a"}  # fmt: skip


def test_modules_of_the_project() -> None:
    sizes = {"sizes": "N = 100\nM = 1\n", "again": "from sizes import N\nfrom data import *\n",
             "data": "def give(d, n=1):\n    return d.shuffle(n)\n\ndef other(d):\n    return d\n"}  # fmt: skip
    text = "{}\ndef a(d):\n    d.shuffle({})\n"
    assert wanted(text.format("from sizes import N", "N"), ALONE, others=sizes) == {"a"}
    assert wanted(text.format("import sizes", "sizes.N"), ALONE, others=sizes) == {"a"}
    assert wanted(text.format("from again import N", "N"), ALONE, others=sizes) == {"a"}
    assert wanted(text.format("from sizes import *", "N"), ALONE, others=sizes) == {"a"}
    calling = "from {} import give, other\ndef a(d):\n    {}(d, 100)\n"
    assert wanted(calling.format("data", "give"), ALONE, others=sizes) == {"a"}
    assert wanted(calling.format("again", "give"), ALONE, others=sizes) == {"a"}
    assert wanted(calling.format("data", "other"), ALONE, others=sizes) is None
    here = Needs(also=(("64+",),), here=((".shuffle",),), beside=())
    assert wanted(calling.format("data", "give"), here, others=sizes) is None
    assert wanted(calling.format("data", "give") + "a(1)\n", here, others=sizes) == set()


# A function that trains, and elsewhere what makes the alarm a false one: none of these may be said anything of.
SILENT = {
    "growth in another function": """
        def setup():
            for gpu in tf.config.list_physical_devices("GPU"):
                tf.config.experimental.set_memory_growth(gpu, True)

        def main():
            model = keras.Sequential([keras.layers.Dense(1)])
            model.compile("sgd", "mse")
            model.fit(np.ones((8, 4)), np.ones(8))

        main()
    """,
    "graph mode in another function": """
        def setup():
            tf.compat.v1.disable_eager_execution()

        def collect():
            model = keras.models.load_model("a.keras")
            kept = []
            for batch in keras.utils.image_dataset_from_directory("slides", labels=None, image_size=(64, 64)):
                kept.append(model(batch))
            return kept
    """,
}


@pytest.mark.parametrize("name", SILENT)
def test_what_silences_a_rule_is_run_wherever_it_stands(name: str) -> None:
    document = document_from_text(HEADER + textwrap.dedent(SILENT[name]), "script.py")
    report = check_document(document, SETTINGS, None, load_rules())
    assert [one.code for one in report.diagnostics if one.code in ("OOM101", "OOM403")] == []


def test_the_same_without_it_is_found() -> None:
    text = textwrap.dedent(SILENT["graph mode in another function"]).replace(
        "tf.compat.v1.disable_eager_execution()", "pass"
    )
    report = check_document(document_from_text(HEADER + text, "script.py"), SETTINGS, None, load_rules())
    assert "OOM403" in [one.code for one in report.diagnostics]
